"""Reductions, softmax and search along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.shape import flattened
from gedialect.frontends.onnx.registry import Converter, add, onnx_op
from gedialect.frontends.onnx.values import Value
from gedialect.ir.dtypes import F64, DType

REDUCTIONS = {
    "ReduceSum": ("reduce_sum", 13),
    "ReduceMean": ("reduce_mean", 18),
    "ReduceMax": ("reduce_max", 18),
    "ReduceMin": ("reduce_min", 18),
    "ReduceProd": ("reduce_prod", 18),
    "ReduceLogSumExp": ("reduce_log_sum_exp", 18),
    "ReduceSumSquare": ("reduce_sum_square", 18),
    "ReduceL1": ("lp_norm", 18),
    "ReduceL2": ("lp_norm", 18),
    "ReduceLogSum": ("reduce_sum", 18),
}
"""ONNX op -> (ge op, the opset from which axes are an input)."""

FINISHED_EMPTY = ("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum")


def _reduction(op: str, mnemonic: str, attribute: bool) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x = node.input(0)
        if attribute:
            axes = node.ints_or_none("axes")
        else:
            given = node.optional(1)
            axes = None if given is None else ctx.need_ints(given, "axes")
        rank = ctx.rank(x)
        keep = bool(node.int("keepdims", 1))
        if not axes:
            if not attribute and node.int("noop_with_empty_axes", 0):
                # nothing is reduced, but what is done to each element still is
                return _of_each(ctx, op, x)
            axes = list(range(rank))
        axes = ctx.axes(axes, rank)
        if op in ("ReduceL1", "ReduceL2"):
            p = 1.0 if op == "ReduceL1" else 2.0
            return ctx("lp_norm", x, p=p, axes=axes, keep_dims=keep, epsilon=0.0)
        if op == "ReduceLogSumExp":
            return ctx.cast(ctx(mnemonic, ctx.cast(x, _wide(ctx, x)), axes=axes, keep_dims=keep), ctx.dtype(x))
        y = ctx(mnemonic, x, axes=axes, keep_dims=keep)
        return ctx.cast(ctx("log", ctx.cast(y, _wide(ctx, x))), ctx.dtype(x)) if op == "ReduceLogSum" else y

    return convert


def _wide(ctx: Context, x: Value) -> DType:
    """The type logarithms are taken in: of integers in double precision, cut to integers afterwards, as onnxruntime
    does."""
    return F64 if ctx.dtype(x).is_int else ctx.dtype(x)


def _of_each(ctx: Context, op: str, x: Value) -> Value:
    match op:
        case "ReduceSumSquare":
            return ctx("mul", x, x)
        case "ReduceL1" | "ReduceL2":
            return ctx("abs", x)
        case "ReduceLogSum":
            return ctx.cast(ctx("log", ctx.cast(x, _wide(ctx, x))), ctx.dtype(x))
        case _:
            return x


for _op, (_mnemonic, _since) in REDUCTIONS.items():
    add(_op, _reduction(_op, _mnemonic, True))
    add(_op, _reduction(_op, _mnemonic, False), since=_since)


def _softmax(mnemonic: str, coerced: bool) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x = node.input(0)
        rank = ctx.rank(x)
        if not coerced:
            return ctx(mnemonic, x, axes=[ctx.axis(node.int("axis", -1), rank)])
        axis = ctx.axis(node.int("axis", 1), max(rank, 1)) if rank != 1 else 0
        # flattened to a matrix at the axis: one softmax over the remaining axes together
        return ctx(mnemonic, x, axes=list(range(axis, rank)))

    return convert


for _op, _mnemonic in {"Softmax": "softmax", "LogSoftmax": "log_softmax"}.items():
    add(_op, _softmax(_mnemonic, True))
    add(_op, _softmax(_mnemonic, False), since=13)


@onnx_op("Hardmax")
def hardmax_coerced(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    rank = ctx.rank(x)
    axis = ctx.axis(node.int("axis", 1), rank) if rank != 1 else 0
    if axis == rank - 1:
        return ctx("hardmax", x, axis=axis)
    if not ctx.spec(x).is_static:
        raise UnsupportedError("Hardmax over several axes needs a known shape", code="GE1205")
    return ctx.reshape(ctx("hardmax", flattened(ctx, x, axis), axis=1), ctx.shape(x))


@onnx_op("Hardmax", since=13)
def hardmax(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    return ctx("hardmax", x, axis=ctx.axis(node.int("axis", -1), ctx.rank(x)))


def _arg(mnemonic: str) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x = node.input(0)
        return ctx(
            mnemonic,
            x,
            dimension=ctx.axis(node.int("axis", 0), ctx.rank(x)),
            keep_dims=bool(node.int("keepdims", 1)),
            select_last_index=bool(node.int("select_last_index", 0)),
        )

    return convert


add("ArgMax", _arg("arg_max"))
add("ArgMin", _arg("arg_min"))


def _topk(ctx: Context, node: Node, k: Value | int) -> Sequence[Value]:
    x = node.input(0)
    attrs: dict[str, Any] = {
        "dim": ctx.axis(node.int("axis", -1), ctx.rank(x)),
        "largest": bool(node.int("largest", 1)),
        "sorted": bool(node.int("sorted", 1)),
    }
    if isinstance(k, int):
        return ctx("topk", x, None, k=k, **attrs)
    return ctx("topk", x, ctx.reshape(k, []) if ctx.rank(k) == 1 else k, **attrs)


@onnx_op("TopK")
def topk_attribute(ctx: Context, node: Node) -> Sequence[Value]:
    return _topk(ctx, node, node.int("k"))


@onnx_op("TopK", since=10)
def topk(ctx: Context, node: Node) -> Sequence[Value]:
    known = ctx.known_ints(node.input(1))
    return _topk(ctx, node, node.input(1) if known is None else known[0])


@onnx_op("CumSum", since=11)
def cumsum(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    return ctx(
        "cumsum",
        x,
        axis=ctx.axis(ctx.need_ints(node.input(1), "axis")[0], ctx.rank(x)),
        exclusive=bool(node.int("exclusive", 0)),
        reverse=bool(node.int("reverse", 0)),
    )


def _global_pool(mnemonic: str) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x = node.input(0)
        if ctx.rank(x) < 3:
            raise GeError(f"x has rank {ctx.rank(x)}, at least 3 is needed", code="GE1005")
        return ctx(mnemonic, x, axes=list(range(2, ctx.rank(x))), keep_dims=True)

    return convert


add("GlobalAveragePool", _global_pool("reduce_mean"))
add("GlobalMaxPool", _global_pool("reduce_max"))


@onnx_op("GlobalLpPool")
def global_lp_pool(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    p = node.number("p", 2)
    return ctx("lp_norm", x, p=p, axes=list(range(2, ctx.rank(x))), keep_dims=True, epsilon=0.0)


@onnx_op("LpNormalization")
def lp_normalization(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    axis = ctx.axis(node.int("axis", -1), ctx.rank(x))
    norm = ctx("lp_norm", x, p=float(node.int("p", 2)), axes=[axis], keep_dims=True, epsilon=0.0)
    # a row of zeros stays zeros
    zero = ctx("equal", norm, ctx.scalar_like(norm, 0))
    return ctx("div", x, ctx("select", zero, ctx.scalar_like(norm, 1), norm))
