"""``tune-kernels``: try other tile sizes and block counts for each ``ge.fusion`` and keep what the timing model likes.

A hill climb from what ``select-kernels`` chose: one size of the tile, or the number of blocks, is halved, doubled or
cut into one part more; a kernel that is predicted to be faster becomes the next start. Steps are counted, not timed,
so equal models give equal kernels on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

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
    best, least = kernel, predicted(fusion, kernel, target)
    tried = {kernel}
    climbing = least is not None
    while climbing:
        climbing = False
        for step in neighbours(best, target):
            other = fitted(fusion, step, target)
            if other is None or other in tried:
                continue
            if len(tried) > budget:
                return best
            tried.add(other)
            cycles = predicted(fusion, other, target)
            if cycles is not None and least is not None and cycles < least * (1 - WORTH):
                best, least, climbing = other, cycles, True
                break
    return best


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


def predicted(fusion: FusionOp, kernel: KernelAttr, target: Target) -> float | None:
    """Cycles of the group's kernel with its operands in L2, or None if it does not fit on chip."""
    from gedialect.runtime.simulator.timing import kernel_time

    before = fusion.attributes.get("kernel")
    fusion.attributes["kernel"] = kernel
    try:
        timed = kernel_time(kernel_program(fusion, "candidate", target), target)
    except GeError as error:
        if error.code == DOES_NOT_FIT:
            return None
        raise
    finally:
        if before is not None:
            fusion.attributes["kernel"] = before
    return max(float(timed.cycles), target.chip_cycles(timed.gm_bytes, l2=True))
