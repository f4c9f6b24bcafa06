"""Kernels that write elements or rows by index into a copy of their first operand.

Updates meet in the order of their indices, so a line (``scatter_elements``), or a range of columns of all rows
(``scatter_nd`` of rows), is written by one core: first the copy, then the updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.ir.spec import spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Affine, Arg, KernelBuilder
from lowering.kernels.tiles import deal

MODES = {"none": "set", "add": "add", "mul": "mul", "max": "max", "min": "min"}
SCATTERS = ("ge.scatter_elements", "ge.scatter_nd")


def _op(fusion: FusionOp) -> GeOp:
    return next(o for o in fusion.body.block.ops if isinstance(o, GeOp) and o.name in SCATTERS)


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """``scatter_nd``: ``tile`` = [rows, columns]; ``scatter_elements``: ``tile`` = [elements of a line]."""
    op = _op(fusion)
    x = spec_of(op.operands[0].type)
    room = target.size("ub") // 8 // max(x.dtype.itemsize, 8)
    cores = target.cores.vector
    if op.name == "ge.scatter_elements":
        axis: int = op.attrs().axis % x.rank
        lines = max(prod(x.shape[:axis]), prod(x.shape[axis + 1 :]))
        return KernelAttr.get(
            "move", [min(room, max(x.shape[axis], spec_of(op.operands[1].type).shape[axis]))], min(cores, lines)
        )
    width = min(x.shape[1], room, max(1, -(-x.shape[1] // cores), 64 // x.dtype.itemsize))
    return KernelAttr.get("move", [max(1, room // width), width], min(cores, -(-x.shape[1] // width)))


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel; see ``vector.lower`` for its arguments."""
    op = _op(fusion)
    order: dict[SSAValue, int] = {v: i for i, v in enumerate(fusion.body.block.args)}
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        Arg("y0", spec_of(fusion.results[0].type).dtype, spec_of(fusion.results[0].type).nbytes, "out"),
    ]
    k = KernelBuilder(name, kind="vector", blocks=kernel.blocks.data, args=args)
    with k.vector():
        write = _elements if op.name == "ge.scatter_elements" else _rows
        write(k, op, [f"x{order[v]}" for v in op.operands], kernel.tile.values)
    return k.finish()


def _parts(n: int, size: int) -> list[tuple[int, int]]:
    """(start, length) of the parts of ``n``; for loops short enough to be written out."""
    return [(at, min(size, n - at)) for at in range(0, n, size)]


def _rows(k: KernelBuilder, op: GeOp, names: Sequence[str], tile: Sequence[int]) -> None:
    """x [rows, width], indices [count, 1], updates [count, width]."""
    x, indices = spec_of(op.operands[0].type), spec_of(op.operands[1].type)
    rows, width = x.shape
    count = indices.shape[0]
    mode = MODES[op.attrs().reduction]
    step, columns = tile

    def body(at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        (w,) = size

        def copy(first: Affine, n: int, buffers: int) -> None:
            t = k.alloc("ub", (n, w), x.dtype, buffers=buffers, name="x")
            k.load(t, k.gm(names[0]).view(first * width + at[0], (n, w), (width, 1)))
            k.store(k.gm("y0").view(first * width + at[0], (n, w), (width, 1)), t)

        def update(first: Affine, n: int, buffers: int) -> None:
            ids = k.alloc("ub", (n,), indices.dtype, buffers=buffers, name="ids")
            k.load(ids, k.gm(names[1]).view(first, (n,)))
            t = k.alloc("ub", (n, w), x.dtype, buffers=buffers, name="updates")
            k.load(t, k.gm(names[2]).view(first * width + at[0], (n, w), (width, 1)))
            k.scatter_rows(k.gm("y0").view(at[0], (rows, w), (width, 1)), t, ids, mode=mode)

        for write, n in ((copy, rows), (update, count)):
            whole, tail = divmod(n, step)
            if whole:
                with k.loop(0, whole) as i:
                    write(i * step, step, 2)
            if tail:
                write(Affine(whole * step), tail, 1)

    deal(k, (width,), (columns,), body)


def _elements(k: KernelBuilder, op: GeOp, names: Sequence[str], tile: Sequence[int]) -> None:
    """x as [outer, n, inner], indices and updates as [outer, count, inner]."""
    x, indices = spec_of(op.operands[0].type), spec_of(op.operands[1].type)
    axis: int = op.attrs().axis % x.rank
    outer, n, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    count = indices.shape[axis]
    mode = MODES[op.attrs().reduction]
    (most,) = tile

    def body(at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        line = at[0] * (n * inner) + at[1]
        for first, m in _parts(n, most):
            t = k.alloc("ub", (m,), x.dtype, name="x")
            k.load(t, k.gm(names[0]).view(line + first * inner, (m,), (inner,)))
            k.store(k.gm("y0").view(line + first * inner, (m,), (inner,)), t)
        start = at[0] * (count * inner) + at[1]
        for first, m in _parts(count, most):
            ids = k.alloc("ub", (m,), indices.dtype, name="ids")
            k.load(ids, k.gm(names[1]).view(start + first * inner, (m,), (inner,)))
            t = k.alloc("ub", (m,), x.dtype, name="updates")
            k.load(t, k.gm(names[2]).view(start + first * inner, (m,), (inner,)))
            k.scatter_rows(k.gm("y0").view(line, (n,), (inner,)), t, ids, mode=mode)

    deal(k, (outer, inner), (1, 1), body)
