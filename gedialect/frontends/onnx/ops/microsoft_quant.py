"""Quantised ops of ``com.microsoft``: the real op between dequantisation and quantisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from gedialect.errors import UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.microsoft import MS
from gedialect.frontends.onnx.ops.nn import average_pooled
from gedialect.frontends.onnx.registry import Converter, add, onnx_op
from gedialect.frontends.onnx.values import Value

Real: TypeAlias = "Callable[[Context, Node, Sequence[Value]], Value]"


def _scalar(ctx: Context, x: Value) -> Value:
    if ctx.rank(x) and ctx.shape(x) != (1,):
        raise UnsupportedError("more than one scale is not supported here", code="GE1205")
    return ctx.reshape(x, []) if ctx.rank(x) else x


def _real(ctx: Context, x: Value, scale: Value, zero: Value | None) -> Value:
    scale = _scalar(ctx, scale)
    zero = None if zero is None else _scalar(ctx, zero)
    return ctx("dequantize", x, scale, zero, axis=0, results=[ctx.spec(x).with_dtype(ctx.dtype(scale))])


def _quantised(ctx: Context, y: Value, scale: Value, zero: Value | None, like: Value) -> Value:
    zero = ctx.const(np.zeros(()), ctx.dtype(like)) if zero is None else _scalar(ctx, zero)
    return ctx("quantize", y, _scalar(ctx, scale), zero, axis=0, results=[ctx.spec(y).with_dtype(ctx.dtype(zero))])


def _through(real: Real, operands: int) -> Converter:
    """A converter for inputs (x, scale, zero point) for each operand, then scale and zero point of the result."""

    def convert(ctx: Context, node: Node) -> Value:
        if node.int("channels_last", 0):
            raise UnsupportedError("channels_last is not supported", code="GE1205")
        values = [
            _real(ctx, node.input(3 * i), node.input(3 * i + 1), node.optional(3 * i + 2)) for i in range(operands)
        ]
        y = real(ctx, node, values)
        return _quantised(ctx, y, node.input(3 * operands), node.optional(3 * operands + 1), node.input(0))

    return convert


def _global_average(ctx: Context, node: Node, values: Sequence[Value]) -> Value:
    (x,) = values
    return ctx("reduce_mean", x, axes=list(range(2, ctx.rank(x))), keep_dims=True)


def _leaky(ctx: Context, node: Node, values: Sequence[Value]) -> Value:
    return ctx("leaky_relu", values[0], negative_slope=node.float("alpha", 0.01))


add("QLinearAdd", _through(lambda ctx, node, v: ctx("add", *v), 2), domain=MS)
add("QLinearMul", _through(lambda ctx, node, v: ctx("mul", *v), 2), domain=MS)
add("QLinearSigmoid", _through(lambda ctx, node, v: ctx("sigmoid", *v), 1), domain=MS)
add("QLinearLeakyRelu", _through(_leaky, 1), domain=MS)
add("QLinearGlobalAveragePool", _through(_global_average, 1), domain=MS)
add("QLinearAveragePool", _through(lambda ctx, node, v: average_pooled(ctx, node, v[0]), 1), domain=MS)


@onnx_op("QLinearSoftmax", domain=MS)
def qlinear_softmax(ctx: Context, node: Node) -> Value:
    x = _real(ctx, node.input(0), node.input(1), node.optional(2))
    rank = ctx.rank(x)
    axis = ctx.axis(node.int("axis", -1), rank)
    axes = list(range(axis, rank)) if node.int("opset") < 13 else [axis]
    return _quantised(ctx, ctx("softmax", x, axes=axes), node.input(3), node.optional(4), node.input(0))


@onnx_op("QLinearConcat", domain=MS)
def qlinear_concat(ctx: Context, node: Node) -> Value:
    """Scale and zero point of the result come first."""
    parts = [
        _real(ctx, node.input(i), node.input(i + 1), node.optional(i + 2)) for i in range(2, len(node.inputs) - 1, 3)
    ]
    axis = ctx.axis(node.int("axis"), ctx.rank(parts[0]))
    y = ctx("concat", parts, concat_dim=axis) if len(parts) > 1 else parts[0]
    return _quantised(ctx, y, node.input(0), node.optional(1), node.input(2))


@onnx_op("QLinearWhere", domain=MS)
def qlinear_where(ctx: Context, node: Node) -> Value:
    x, y = (_real(ctx, node.input(i), node.input(i + 1), node.optional(i + 2)) for i in (1, 4))
    picked = ctx("select", node.input(0), x, y)
    return _quantised(ctx, picked, node.input(7), node.optional(8), node.input(1))


@onnx_op("QuantizeLinear", domain=MS)
def quantize(ctx: Context, node: Node) -> Value:
    """As ONNX's own of one scale."""
    return _quantised(ctx, node.input(0), node.input(1), node.input(2), node.input(2))


@onnx_op("DequantizeLinear", domain=MS)
def dequantize(ctx: Context, node: Node) -> Value:
    return _real(ctx, node.input(0), node.input(1), node.optional(2))
