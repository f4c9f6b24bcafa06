"""``pack-weights``: weights in the order in which cube kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from gedialect.analysis.constness import is_const_derived
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.ir.access import row_major
from gedialect.ir.spec import spec_of
from lowering.kernels import conv, matmul, mix
from lowering.kernels.cube import Read, analyse
from lowering.kernels.generators import generator_of


@dataclass(frozen=True)
class PackWeightsPass(ModulePass):
    """Put the columns of a cube kernel's weights innermost, and its inner channels next to them.

    The matrix unit takes [k, n]; a load that turns a matrix of 32-bit elements on its way moves them one by one. So
    a constant that only this kernel reads is transposed at compile time, and the kernel reads it through the inverse
    transpose, which is free. 16-bit types turn between L1 and L0 at no cost and stay as they are.
    """

    name: ClassVar[str] = "pack-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fusion in list(op.walk()):
            if isinstance(fusion, FusionOp):
                _pack(fusion)


def _pack(fusion: FusionOp) -> None:
    generator = generator_of(fusion)
    if generator is mix:
        found = mix.parts(fusion).problems
    elif generator is matmul:
        found = matmul.problems(analyse(fusion))
    elif generator is conv:
        found = conv.problems(analyse(fusion))
    else:
        return
    if not found:
        return
    weights = found[0].b
    value = fusion.operands[weights.arg]
    if weights.dtype.itemsize == 2 or not value.has_one_use() or not is_const_derived(value):
        return
    perm = packed_order(weights, spec_of(value.type).shape)
    if perm is not None:
        _turn(fusion, weights.arg, value, perm)


def packed_order(weights: Read, shape: tuple[int, ...]) -> list[int] | None:
    """The axes of the argument in packed order, or None if its columns are innermost or are no axis of it."""
    steps = row_major(shape)
    channel, column = weights.access.strides[-2:]
    if column in (0, 1) or weights.access.shape[-1] == 1:
        return None
    axes = {step: axis for axis, step in enumerate(steps) if shape[axis] > 1}
    if column not in axes:
        return None
    last = [axes[column]]
    if channel in axes and channel != column:
        last.insert(0, axes[channel])
    return [*(a for a in range(len(shape)) if a not in last), *last]


def _turn(fusion: FusionOp, number: int, value: SSAValue, perm: list[int]) -> None:
    packed = GeBuilder(InsertPoint.before(fusion), fusion.location).transpose(value, perm=perm)
    packed.name_hint = value.name_hint
    fusion.operands[number] = packed
    block = fusion.body.block
    old = block.args[number]
    new = block.insert_arg(packed.type, number)
    new.name_hint = old.name_hint
    first = block.first_op
    assert first is not None
    inverse = sorted(range(len(perm)), key=perm.__getitem__)
    back = GeBuilder(InsertPoint.before(first), fusion.location).transpose(new, perm=inverse)
    old.replace_all_uses_with(back)
    block.erase_arg(old)
