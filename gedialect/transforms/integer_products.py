"""``integer-products``: products of dequantised values become products of the 8-bit values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from gedialect.analysis.fusibility import is_depthwise
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.integer import NARROW, integer_conv, integer_matmul
from gedialect.dialects.ge.layouts import channel_axis
from gedialect.dialects.ge.matmul import MatmulOp
from gedialect.dialects.ge.nn import Conv2dOp, Conv3dOp
from gedialect.dialects.ge.quant import DequantizeOp
from gedialect.dialects.ge.shape import ReshapeOp, TransposeOp, UnsqueezeOp
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.context import count
from gedialect.ir.spec import spec_of
from gedialect.transforms._propagate import functions


@dataclass(frozen=True)
class IntegerProductsPass(ModulePass):
    """Turns ``conv2d(dequantize x, dequantize w)`` into the convolution of x and w in i32, times both scales.

    So for conv3d and matmul; zero points are taken off the sums, exactly. x has one scale, w one or one for each
    channel (column) of the result. The i32 sums are exact where f32 ones were rounded: ``strict=true`` leaves them.
    """

    name: ClassVar[str] = "integer-products"
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strict:
            return
        for function in functions(op):
            for inner in list(function.body.block.ops):
                if isinstance(inner, Conv2dOp | Conv3dOp | MatmulOp) and _rewrite(inner):
                    count(ctx, self.name, inner.name)


@dataclass(frozen=True)
class Quantised:
    """``(value - zero) * scale``."""

    value: SSAValue
    scale: SSAValue
    zero: SSAValue | None
    axis: int | None
    """Axis of several scales; None for one."""
    views: tuple[GeOp, ...] = ()
    """What is done to the value after it was dequantised, in order."""

    def viewed(self, b: GeBuilder) -> SSAValue:
        """``value`` as its views have it."""
        value = self.value
        for view in self.views:
            attrs: dict[str, Any] = {k: v for k, v in view.attrs().items() if v is not None}
            value = b.create(type(view), [value], attrs).results[0]
        return value


def _quantised(value: SSAValue) -> Quantised | None:
    op = value.owner
    if isinstance(op, UnsqueezeOp | TransposeOp | ReshapeOp) and len(op.operands) == 1:
        inner = _quantised(op.operands[0])
        if inner is None:
            return None
        axis = inner.axis
        match op:
            case UnsqueezeOp() if axis is not None:
                inserted = [a % spec_of(value.type).rank for a in op.attrs().axes]
                axis = [i for i in range(spec_of(value.type).rank) if i not in inserted][axis]
            case TransposeOp() if axis is not None:
                axis = op.attrs().perm.index(axis)
            case ReshapeOp() if axis is not None:
                return None
            case _:
                pass
        return Quantised(inner.value, inner.scale, inner.zero, axis, (*inner.views, op))
    if not isinstance(op, DequantizeOp) or spec_of(value.type).dtype is not dtypes.F32:
        return None
    x, scale, zero = op.single_operands()
    assert x is not None
    assert scale is not None
    spec, side = spec_of(x.type), spec_of(scale.type)
    if spec.dtype.name not in NARROW or not spec.is_static or not side.is_static or side.dtype is not dtypes.F32:
        return None
    along: int = op.attrs().axis
    return Quantised(x, scale, zero, None if side.size == 1 else along % spec.rank)


def _rewrite(op: GeOp) -> bool:
    x1, x2, bias = op.single_operands()
    assert x1 is not None
    assert x2 is not None
    x, w = _quantised(x1), _quantised(x2)
    if x is None or w is None or x.axis is not None or is_depthwise(op):
        return False
    attrs = op.attrs()
    rank = spec_of(op.results[0].type).rank
    if isinstance(op, MatmulOp):
        columns = spec_of(x2.type).rank - (2 if attrs.transpose_x2 else 1)
        if w.axis not in (None, columns):
            return False
        trailing = 0
    else:
        if w.axis not in (None, 0):
            return False
        trailing = rank - 1 - channel_axis(attrs.data_format, rank)
    b = GeBuilder(InsertPoint.before(op), op.location)
    try:
        if isinstance(op, MatmulOp):
            sides = (attrs.transpose_x1, attrs.transpose_x2)
            total = integer_matmul(b, x.viewed(b), x.zero, w.viewed(b), w.zero, sides)
        else:
            total = integer_conv(b, x.viewed(b), x.zero, w.viewed(b), w.zero, None, dict(attrs))
        scale = b.mul(_row(b, x.scale, 0), _row(b, w.scale, trailing))
        y = b.mul(b.cast(total, dtypes.F32), scale)
        if bias is not None:
            y = b.add(y, _row(b, bias, trailing))
    except GeError:
        y = None
    if y is None or y.type != op.results[0].type:
        for made in reversed(b.created):
            made.detach()
            made.erase()
        return False
    y.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(y)
    op.detach()
    op.erase()
    for value in (x1, x2):
        _drop_unused(value.owner)
    return True


def _drop_unused(op: object) -> None:
    """Erase an op nobody reads, and then what made its operands."""
    if isinstance(op, GeOp) and op.parent is not None and not any(r.uses for r in op.results):
        owners = [v.owner for v in op.operands]
        op.detach()
        op.erase()
        for owner in owners:
            _drop_unused(owner)


def _row(b: GeBuilder, side: Any, trailing: int) -> SSAValue:
    """Scales or a bias: a scalar, or a vector with ``trailing`` axes after it."""
    spec = b.spec(side)
    if spec.size == 1:
        return b.reshape(side, shape=[]) if spec.rank else side
    return b.reshape(side, shape=[-1, *[1] * trailing]) if trailing else side
