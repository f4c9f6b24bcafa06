"""Quantisation: affine, per tensor, along an axis or in blocks; products of 8-bit values (``ge.integer``)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.integer import NARROW, integer_conv, integer_matmul, requantized
from gedialect.dialects.ge.quant import limits
from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.conv import convolution, shifted
from gedialect.frontends.onnx.ops.elementwise import cast_to
from gedialect.frontends.onnx.ops.nn import product
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value, dtype_of
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC


def _operands(ctx: Context, node: Node, x: Value) -> tuple[Value, Value | None, int, bool]:
    """(scale, zero point, axis, whether both have x's shape); one scale is a scalar, and its axis 0."""
    scale, zero = node.input(1), node.optional(2)
    block = node.int("block_size", 0)
    rank = ctx.rank(x)
    if block:
        axis = ctx.axis(node.int("axis", 1), rank)
        return (
            _spread(ctx, scale, x, axis, block),
            None if zero is None else _spread(ctx, zero, x, axis, block),
            axis,
            True,
        )
    if ctx.shape(scale) == (1,):
        return ctx.reshape(scale, []), None if zero is None else ctx.reshape(zero, []), 0, False
    if ctx.rank(scale) > 1:
        raise GeError(f"the scale has rank {ctx.rank(scale)} and there is no block_size", code="GE1005")
    return scale, zero, ctx.axis(node.int("axis", 1), rank) if ctx.rank(scale) else 0, False


def _spread(ctx: Context, side: Value, x: Value, axis: int, block: int) -> Value:
    """Scales or zero points of blocks along ``axis`` as a tensor of x's shape."""
    shape, want = list(ctx.shape(side)), list(ctx.shape(x))
    if DYNAMIC in shape or DYNAMIC in want:
        raise UnsupportedError("blocks of an unknown size are not supported", code="GE1205")
    rest = [d for i, d in enumerate(want) if i != axis]
    if len(shape) != len(want) or rest != [d for i, d in enumerate(shape) if i != axis]:
        raise GeError(f"the scale of shape {shape} does not fit blocks of {want}", code="GE1005")
    count = shape[axis]
    if block < 1 or count != -(-want[axis] // block):
        raise GeError(f"{count} blocks of {block} do not cover {want[axis]} elements", code="GE1005")
    side = ctx("unsqueeze", side, axes=[axis + 1])
    side = ctx("expand", side, None, shape=[*shape[: axis + 1], block, *shape[axis + 1 :]])
    side = ctx.reshape(side, [*shape[:axis], count * block, *shape[axis + 1 :]])
    if count * block == want[axis]:
        return side
    return ctx("slice", side, None, None, None, begin=[0], end=[want[axis]], axes=[axis], strides=[1])


def _along(ctx: Context, side: Value, axis: int, rank: int) -> Value:
    trailing = rank - 1 - axis if ctx.rank(side) == 1 else 0
    return ctx("unsqueeze", side, axes=list(range(1, 1 + trailing))) if trailing > 0 else side


@onnx_op("QuantizeLinear", since=10)
def quantize_linear(ctx: Context, node: Node) -> Value:
    """Integers: ``saturate(round(x / scale) + zero)``; narrow floats: ``x / scale`` in the narrow type."""
    x = node.input(0)
    scale, zero, axis, whole = _operands(ctx, node, x)
    given = node.int("output_dtype", 0)
    dtype = ctx.dtype(zero) if zero is not None else dtype_of(given or dtypes.UI8.onnx)
    if given and zero is not None and dtype_of(given) is not dtype:
        raise GeError(f"output_dtype is {dtype_of(given)}, the zero point {dtype}", code="GE1005")
    if not ctx.dtype(x).is_float:
        x = ctx.cast(x, dtypes.F32)
    if dtype.is_int and not whole and not node.int("precision", 0):
        return ctx("quantize", x, scale, zero, axis=axis, results=[ctx.spec(x).with_dtype(dtype)])
    number = node.int("precision", 0)
    wide = dtype_of(number) if number else dtypes.F32
    if wide.itemsize < 4:
        raise UnsupportedError(f"quantisation computed in {wide} is not supported", code="GE1203")
    y = ctx("div", ctx.cast(x, wide), ctx.cast(_along(ctx, scale, axis, ctx.rank(x)), wide))
    if dtype.is_int:
        y = ctx("round", y)
    if zero is not None:
        y = ctx("add", y, ctx.cast(_along(ctx, zero, axis, ctx.rank(x)), wide))
    if not dtype.is_int:
        return cast_to(ctx, y, dtype, bool(node.int("saturate", 1)))
    low, high = limits(dtype)
    return ctx.cast(ctx("clip", y, ctx.scalar_like(y, low), ctx.scalar_like(y, high)), dtype)


@onnx_op("DequantizeLinear", since=10)
def dequantize_linear(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    scale, zero, axis, whole = _operands(ctx, node, x)
    number = node.int("output_dtype", 0)
    dtype = dtype_of(number) if number else ctx.dtype(scale)
    if ctx.dtype(x).is_int and not whole and dtype is ctx.dtype(scale):
        return ctx("dequantize", x, scale, zero, axis=axis, results=[ctx.spec(x).with_dtype(dtype)])
    y = ctx.cast(x, dtypes.F32)
    if zero is not None:
        y = ctx("sub", y, ctx.cast(_along(ctx, zero, axis, ctx.rank(x)), dtypes.F32))
    return ctx.cast(ctx("mul", y, ctx.cast(_along(ctx, scale, axis, ctx.rank(x)), dtypes.F32)), dtype)


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize(ctx: Context, node: Node) -> Sequence[Value]:
    return ctx("dynamic_quantize", node.input(0))


# ---------------------------------------------------------------------- products
def _builder(ctx: Context) -> GeBuilder:
    return GeBuilder(ctx.block, ctx.location)


def _static(ctx: Context, *values: Value | None) -> bool:
    return all(v is None or ctx.spec(v).is_static for v in values)


def _matmul(ctx: Context, a: Value, a_zero: Value | None, b: Value, b_zero: Value | None) -> Value:
    """The product of ``a - a_zero`` (one entry, or one a row) and ``b - b_zero`` (one, or one a column) in i32."""
    if {ctx.dtype(a).name, ctx.dtype(b).name} <= NARROW and min(ctx.rank(a), ctx.rank(b)) > 1 and _static(ctx, a, b):
        if a_zero is not None and ctx.rank(a_zero) == 1 and ctx.shape(a_zero) != (1,):
            a_zero = ctx("unsqueeze", a_zero, axes=[1])
        zeros = [None if z is None else ctx.ssa(z) for z in (a_zero, b_zero)]
        return integer_matmul(_builder(ctx), ctx.ssa(a), zeros[0], ctx.ssa(b), zeros[1])
    left = shifted(ctx, a, a_zero, axis=-2 if ctx.rank(a) > 1 else None)
    return product(ctx, left, shifted(ctx, b, b_zero, axis=-1))


def _convolution(
    ctx: Context, node: Node, x: Value, x_zero: Value | None, w: Value, w_zero: Value | None, bias: Value | None
) -> Value:
    """The convolution of ``x - x_zero`` by ``w - w_zero`` (one entry, or one a channel) in i32."""
    if {ctx.dtype(x).name, ctx.dtype(w).name} <= NARROW and _static(ctx, x, w):

        def make(x: Value, w: Value, bias: Value | None, attrs: dict[str, object]) -> Value:
            side: list[SSAValue | None] = [None if v is None else ctx.ssa(v) for v in (x_zero, w_zero, bias)]
            return integer_conv(_builder(ctx), ctx.ssa(x), side[0], ctx.ssa(w), side[1], side[2], attrs)

        return convolution(ctx, node, x, w, bias, make)
    return convolution(ctx, node, shifted(ctx, x, x_zero), shifted(ctx, w, w_zero, 0), bias)


@onnx_op("MatMulInteger", since=10)
def matmul_integer(ctx: Context, node: Node) -> Value:
    return _matmul(ctx, node.input(0), node.optional(2), node.input(1), node.optional(3))


@onnx_op("ConvInteger", since=10)
def conv_integer(ctx: Context, node: Node) -> Value:
    return _convolution(ctx, node, node.input(0), node.optional(2), node.input(1), node.optional(3), None)


def _requantize(ctx: Context, total: Value, scale: Value, y_scale: Value, y_zero: Value) -> Value:
    if ctx.rank(y_scale) == 1:
        if ctx.shape(y_scale) != (1,):
            raise UnsupportedError("a result scale of more than one entry is not supported", code="GE1205")
        y_scale, y_zero = ctx.reshape(y_scale, []), ctx.reshape(y_zero, [])
    scale = ctx.cast(ctx("div", scale, y_scale), dtypes.F32)
    low, high = limits(ctx.dtype(y_zero))
    return requantized(_builder(ctx), ctx.ssa(total), ctx.ssa(scale), ctx.ssa(y_zero), low, high)


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(ctx: Context, node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.input(i) for i in range(8))
    total = _matmul(ctx, a, a_zero, b, b_zero)
    if ctx.rank(a_scale) == 1 and ctx.rank(a) > 1 and ctx.shape(a_scale) != (1,):
        a_scale = ctx("unsqueeze", a_scale, axes=[1])
    return _requantize(ctx, total, ctx("mul", a_scale, b_scale), y_scale, y_zero)


@onnx_op("QLinearConv", since=10)
def qlinear_conv(ctx: Context, node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.input(i) for i in range(8))
    total = _convolution(ctx, node, x, x_zero, w, w_zero, node.optional(8))
    scale = ctx("mul", ctx.reshape(x_scale, []) if ctx.rank(x_scale) else x_scale, w_scale)
    if ctx.shape(scale) == (1,):
        scale = ctx.reshape(scale, [])
    elif ctx.rank(scale) == 1:  # one a channel
        if ctx.rank(x) < 3:
            raise GeError(f"x has rank {ctx.rank(x)}, at least 3 is needed", code="GE1005")
        scale = ctx("unsqueeze", scale, axes=list(range(1, ctx.rank(x) - 1)))
    return _requantize(ctx, total, scale, y_scale, y_zero)
