"""A cube kernel from the products of its group: the choice written down, and the code."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.ir.spec import spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Arg, KernelBuilder
from lowering.kernels.cube import Problem
from lowering.kernels.cube_nest import Nest
from lowering.kernels.cube_plan import choose, fit


def kernel_attr(problems: Sequence[Problem], target: Target) -> KernelAttr:
    """The largest tile [m, n, k] over the products, and as many blocks as the one with the most tiles uses."""
    plans = [choose(p, target, target.cores.cube) for p in problems]
    tile = [max(p.r * p.q for p in plans), max(p.n for p in plans), max(p.k for p in plans)]
    return KernelAttr.get("cube", tile, max(p.blocks for p in plans))


def write_kernel(
    fusion: FusionOp, name: str, kernel: KernelAttr, target: Target, problems: Sequence[Problem]
) -> KernelOp:
    """The kernel; GE1402 if the tile does not fit on chip."""
    tile = kernel.tile.values
    if len(tile) != 3 or min(tile) < 1:
        raise GeError(f"a cube kernel's tile is [m, n, k], not {list(tile)}", code="GE1402")
    blocks = kernel.blocks.data
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
    ]
    k = KernelBuilder(name, kind="cube", blocks=blocks, args=args)
    names = [a.name for a in args]
    with k.cube():
        for problem in problems:
            plan = fit(problem, target, (tile[0], tile[1], tile[2]), blocks)
            if plan is None:
                raise GeError(f"tile {list(tile)} does not fit on chip", code="GE1402", where=name)
            Nest(k, problem, plan, target, names).write()
    return k.finish()
