"""Ops of onnxruntime's domain ``com.microsoft`` that its optimiser and its exporters write."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value

MS = "com.microsoft"


def _biased(ctx: Context, node: Node) -> Value:
    bias = node.optional(1)
    return node.input(0) if bias is None else ctx("add", node.input(0), bias)


@onnx_op("Gelu", domain=MS)
@onnx_op("BiasGelu", domain=MS)
def gelu(ctx: Context, node: Node) -> Value:
    return ctx("gelu", _biased(ctx, node), approximate="none")


@onnx_op("FastGelu", domain=MS)
def fast_gelu(ctx: Context, node: Node) -> Value:
    """The tanh form (GE's op of this name is another)."""
    return ctx("gelu", _biased(ctx, node), approximate="tanh")


@onnx_op("QuickGelu", domain=MS)
def quick_gelu(ctx: Context, node: Node) -> Value:
    """x sigmoid(alpha x)."""
    return ctx("swish", node.input(0), scale=node.float("alpha", 1.702))


@onnx_op("SimplifiedLayerNormalization")
@onnx_op("SimplifiedLayerNormalization", domain=MS)
def rms_norm(ctx: Context, node: Node) -> Sequence[Value]:
    """onnxruntime keeps this one in ONNX's own domain."""
    x, gamma = node.input(0), node.input(1)
    axis = ctx.axis(node.int("axis", -1), ctx.rank(x))
    if ctx.rank(gamma) != ctx.rank(x) - axis:
        raise UnsupportedError("a scale of other dims than are normalised is not supported", code="GE1205")
    return ctx("rms_norm", x, gamma, epsilon=node.float("epsilon", 1e-5))


@onnx_op("SkipSimplifiedLayerNormalization", domain=MS)
def add_rms_norm(ctx: Context, node: Node) -> Sequence[Value | None]:
    x, skip, gamma, bias = node.input(0), node.input(1), node.input(2), node.optional(3)
    if bias is not None:
        x = ctx("add", x, bias)
    y, rstd, total = ctx("add_rms_norm", x, skip, gamma, epsilon=node.float("epsilon", 1e-5))
    return [y, None, rstd, total]


@onnx_op("SkipLayerNormalization", domain=MS)
def add_layer_norm(ctx: Context, node: Node) -> Sequence[Value]:
    x, skip, gamma, beta, bias = node.input(0), node.input(1), node.input(2), node.optional(3), node.optional(4)
    if beta is None:
        beta = ctx.full(0.0, ctx.spec(gamma))
    return ctx("add_layer_norm", x, skip, gamma, beta, bias, epsilon=node.float("epsilon", 1e-12))


@onnx_op("FusedMatMul", domain=MS)
def fused_matmul(ctx: Context, node: Node) -> Value:
    if node.int("transBatchA", 0) or node.int("transBatchB", 0):
        raise UnsupportedError("transposed batches are not supported", code="GE1205")
    trans_a, trans_b = bool(node.int("transA", 0)), bool(node.int("transB", 0))
    y = ctx("matmul", node.input(0), node.input(1), None, transpose_x1=trans_a, transpose_x2=trans_b)
    alpha = node.float("alpha", 1.0)
    return y if alpha == 1.0 else ctx("mul", y, ctx.scalar_like(y, alpha))
