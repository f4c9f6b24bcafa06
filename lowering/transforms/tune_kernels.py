"""``tune-kernels``: try other tile sizes and block counts for each ``ge.fusion`` and keep what the timing model likes.

A hill climb from what ``select-kernels`` chose: one size of the tile, or the number of blocks, is halved, doubled or
cut into one part more; a kernel that is predicted to be faster becomes the next start. Steps are counted, not timed,
so equal models give equal kernels on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.binary.kernel import Inst, Loop
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.errors import GeError
from gedialect.targets import Target, load_target
from lowering.kernels.generators import kernel_program, signature

WORTH = 0.01
"""Share of a kernel's time that a change must save."""
DEEP = 4
"""Slots in the rings of mixed kernels, which hide more of a tile's way to the vectors than two do."""
DOES_NOT_FIT = "GE1402"
"""Of a kernel whose tiles find no room."""
PASSES = 4
"""Most reductions, one after the other, along rows that the search cuts into parts."""
GROWTH, LEAST, MOST = 24, 1500, 15000
"""Instructions a search may write: so many times those of the first kernel, within these bounds. Writing them is what
takes time; a tile that cuts the rows of many reductions, for instance, needs a pass for each of them."""


@dataclass(frozen=True)
class TuneKernelsPass(ModulePass):
    """Search kernels of decided groups for ``target``; ``budget`` is the number of kernels written per distinct group.
    A mixed kernel gets the scratch of its new tile; others with scratch are left alone."""

    name: ClassVar[str] = "tune-kernels"
    target: str = "ascend910b1"
    budget: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = load_target(self.target)
        best: dict[str, KernelAttr] = {}
        for fusion in list(op.walk()):
            if not isinstance(fusion, FusionOp):
                continue
            kernel = fusion.attributes.get("kernel")
            if not isinstance(kernel, KernelAttr) or (kernel.scratch.data and kernel.kind.data != "mix"):
                continue
            key = signature(fusion)
            if key not in best:
                best[key] = tune(fusion, kernel, target, self.budget)
            fusion.attributes["kernel"] = best[key]


def tune(fusion: FusionOp, kernel: KernelAttr, target: Target, budget: int) -> KernelAttr:
    """The best kernel found for a group from ``kernel`` on, writing at most ``budget`` others."""
    best, (least, written) = kernel, predicted(fusion, kernel, target)
    tried, limit = {kernel}, min(max(GROWTH * written, LEAST), MOST)
    whole = _whole_rows(fusion, kernel)
    climbing = least is not None
    while climbing:
        climbing = False
        for step in neighbours(best, target):
            other = fitted(fusion, step, target)
            if other is None or other in tried or any(other.tile.values[i] < size for i, size in whole.items()):
                continue
            if len(tried) > budget or written > limit:
                return best
            tried.add(other)
            cycles, size = predicted(fusion, other, target)
            written += size
            if cycles is not None and least is not None and cycles < least * (1 - WORTH):
                best, least, climbing = other, cycles, True
                break
    return best


def _whole_rows(fusion: FusionOp, kernel: KernelAttr) -> dict[int, int]:
    """The axes of a tile that stay whole, and their sizes: those that many reductions go along, each of which would
    need a pass of its own over the parts."""
    if kernel.kind.data != "vector" or len(list(fusion.body.block.ops)) <= PASSES:
        return {}
    from lowering.kernels.vector_program import analyse

    program = analyse(fusion)
    if max(program.stage.values(), default=0) <= PASSES:
        return {}
    sizes = {i: program.shape[i] for i in range(program.kept, len(program.shape))}
    return {i: n for i, n in sizes.items() if i < len(kernel.tile.values) and kernel.tile.values[i] == n}


def neighbours(kernel: KernelAttr, target: Target) -> Iterator[KernelAttr]:
    """Kernels one step away, in a fixed order: more blocks and smaller tiles before larger ones."""
    tile, blocks = kernel.tile.values, kernel.blocks.data
    cores = target.cores.cube if kernel.kind.data in ("cube", "mix") else target.cores.vector
    if kernel.kind.data == "mix":
        yield kernel
    counts = [n for n in (cores, 2 * blocks, -(-blocks // 2)) if 1 <= n <= cores and n != blocks]
    for n in counts:
        yield KernelAttr.get(kernel.kind.data, tile, n)
    for axis in sorted(range(len(tile)), key=lambda i: -tile[i]):
        size = tile[axis]
        for changed in (-(-size // 2), -(-size * 2 // 3), 2 * size):
            if changed not in (0, size):
                smaller = changed < size
                new = [*tile[:axis], changed, *tile[axis + 1 :]]
                yield KernelAttr.get(kernel.kind.data, new, blocks)
                if smaller and blocks < cores:
                    yield KernelAttr.get(kernel.kind.data, new, min(cores, 2 * blocks))


def fitted(fusion: FusionOp, kernel: KernelAttr, target: Target) -> KernelAttr | None:
    """``kernel`` with the scratch its tile needs, or None if it finds no room."""
    if kernel.kind.data != "mix":
        return kernel
    from lowering.kernels import mix

    try:
        return mix.resized(fusion, kernel, target, DEEP)
    except GeError as error:
        if error.code == DOES_NOT_FIT:
            return None
        raise


def predicted(fusion: FusionOp, kernel: KernelAttr, target: Target) -> tuple[float | None, int]:
    """Cycles of the group's kernel with its operands in L2, None if it does not fit on chip; and its instructions."""
    from gedialect.runtime.simulator.timing import kernel_time

    before = fusion.attributes.get("kernel")
    fusion.attributes["kernel"] = kernel
    try:
        program = kernel_program(fusion, "candidate", target)
    except GeError as error:
        if error.code == DOES_NOT_FIT:
            return None, 0
        raise
    finally:
        if before is not None:
            fusion.attributes["kernel"] = before
    timed = kernel_time(program, target)
    size = sum(_instructions(f.body) for f in (program.cube, program.vector) if f is not None)
    return max(float(timed.cycles), target.chip_cycles(timed.gm_bytes, l2=True)), size


def _instructions(body: Sequence[Inst | Loop]) -> int:
    return sum(_instructions(part.body) if isinstance(part, Loop) else 1 for part in body)
