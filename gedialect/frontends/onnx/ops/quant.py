"""Quantisation: 8-bit products run in i16 with the zero points taken off, which is exact, and sum in i32."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.conv import convolution, shifted
from gedialect.frontends.onnx.ops.nn import product
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value, dtype_of
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType


def _scale(ctx: Context, node: Node, x: Value) -> tuple[Value, Value | None, int]:
    """(scale, zero point, axis); one scale is a scalar, and its axis 0."""
    scale, zero = node.input(1), node.optional(2)
    if node.int("block_size", 0) or ctx.rank(scale) > 1:
        raise UnsupportedError("blocked quantisation is not supported", code="GE1205")
    if ctx.shape(scale) == (1,):
        return ctx.reshape(scale, []), None if zero is None else ctx.reshape(zero, []), 0
    return scale, zero, ctx.axis(node.int("axis", 1), ctx.rank(x)) if ctx.rank(scale) else 0


def quantize(ctx: Context, x: Value, scale: Value, zero: Value | None, dtype: DType, axis: int = 0) -> Value:
    """``saturate(round_half_to_even(x / scale) + zero)``."""
    return ctx("quantize", x, scale, zero, axis=axis, results=[ctx.spec(x).with_dtype(dtype)])


@onnx_op("QuantizeLinear", since=10)
def quantize_linear(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    scale, zero, axis = _scale(ctx, node, x)
    dtype = ctx.dtype(zero) if zero is not None else dtype_of(node.int("output_dtype", 0) or dtypes.UI8.onnx)
    return quantize(ctx, x, scale, zero, dtype, axis)


@onnx_op("DequantizeLinear", since=10)
def dequantize_linear(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    scale, zero, axis = _scale(ctx, node, x)
    number = node.int("output_dtype", 0)
    dtype = dtype_of(number) if number else ctx.dtype(scale)
    return ctx("dequantize", x, scale, zero, axis=axis, results=[ctx.spec(x).with_dtype(dtype)])


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize(ctx: Context, node: Node) -> Sequence[Value]:
    return ctx("dynamic_quantize", node.input(0))


@onnx_op("MatMulInteger", since=10)
def matmul_integer(ctx: Context, node: Node) -> Value:
    a, b = node.input(0), node.input(1)
    return product(ctx, _rows(ctx, a, node.optional(2)), _columns(ctx, b, node.optional(3)))


def _rows(ctx: Context, a: Value, zero: Value | None) -> Value:
    """A less its zero point, which may have one entry a row."""
    return shifted(ctx, a, zero, axis=-2 if ctx.rank(a) > 1 else None)


def _columns(ctx: Context, b: Value, zero: Value | None) -> Value:
    """B less its zero point, which may have one entry a column."""
    return shifted(ctx, b, zero, axis=-1)


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(ctx: Context, node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.input(i) for i in range(8))
    total = product(ctx, _rows(ctx, a, a_zero), _columns(ctx, b, b_zero))
    if ctx.rank(a_scale) == 1 and ctx.rank(a) > 1 and ctx.shape(a_scale) != (1,):
        a_scale = ctx("unsqueeze", a_scale, axes=[1])
    return _requantize(ctx, total, ctx("mul", a_scale, b_scale), y_scale, y_zero)


def _requantize(ctx: Context, total: Value, scale: Value, y_scale: Value, y_zero: Value) -> Value:
    real = ctx("mul", ctx.cast(total, ctx.dtype(scale)), scale)
    if ctx.rank(y_scale) == 1:
        if ctx.shape(y_scale) != (1,):
            raise UnsupportedError("a result scale of more than one entry is not supported", code="GE1205")
        y_scale, y_zero = ctx.reshape(y_scale, []), ctx.reshape(y_zero, [])
    return quantize(ctx, real, y_scale, y_zero, ctx.dtype(y_zero))


@onnx_op("QLinearConv", since=10)
def qlinear_conv(ctx: Context, node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.input(i) for i in range(8))
    total = convolution(ctx, node, shifted(ctx, x, x_zero), shifted(ctx, w, w_zero, 0), node.optional(8))
    scale = ctx("mul", ctx.reshape(x_scale, []) if ctx.rank(x_scale) else x_scale, w_scale)
    if ctx.rank(scale) == 1:  # one a channel
        if ctx.rank(x) < 3:
            raise GeError(f"x has rank {ctx.rank(x)}, at least 3 is needed", code="GE1005")
        scale = ctx("unsqueeze", scale, axes=list(range(1, ctx.rank(x) - 1)))
    return _requantize(ctx, total, scale, y_scale, y_zero)
