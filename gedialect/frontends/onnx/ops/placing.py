"""Ops that put elements in place: made of scatter, gather, pad and add."""

from __future__ import annotations

from math import prod

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, LateError, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value, check_table, dtype_of
from gedialect.ir import dtypes


def _static(ctx: Context, x: Value, what: str) -> tuple[int, ...]:
    spec = ctx.spec(x)
    if not spec.is_static:
        raise UnsupportedError(f"{what} needs known sizes", code="GE1205", hint="give them with --input-shape")
    return spec.shape


@onnx_op("EyeLike", since=9)
def eye_like(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    if not ctx.spec(x).is_static:
        raise LateError("EyeLike of an unknown shape", code="GE1205", hint="give it with --input-shape")
    if ctx.rank(x) != 2:
        raise GeError(f"EyeLike needs rank 2, not {ctx.rank(x)}", code="GE1005")
    dtype = dtype_of(node.int("dtype")) if node.has("dtype") else ctx.dtype(x)
    check_table(*ctx.shape(x))
    return ctx.const(np.eye(*ctx.shape(x), k=node.int("k", 0)), dtype)


@onnx_op("BitCast", since=26)
def bit_cast(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    return ctx("bit_cast", x, results=[ctx.spec(x).with_dtype(dtype_of(node.int("to")))])


@onnx_op("Compress", since=9)
def compress(ctx: Context, node: Node) -> Value:
    """The places where the condition holds, picked."""
    x, condition = node.input(0), node.input(1)
    if node.has("axis"):
        axis = ctx.axis(node.int("axis"), ctx.rank(x))
    else:
        x, axis = ctx.reshape(x, [-1]), 0
    known = ctx.known(condition)
    if known is not None:
        at: Value = ctx.const(np.flatnonzero(known), dtypes.I64)
    else:
        at = ctx("squeeze", ctx("nonzero", condition), axes=[0])
    return ctx("gather", x, at, axis=axis, batch_dims=0)


@onnx_op("CumProd", since=26)
def cumprod(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    axis = ctx.axis(ctx.need_ints(node.input(1), "axis")[0], ctx.rank(x))
    return ctx("cumprod", x, axis=axis, exclusive=bool(node.int("exclusive", 0)), reverse=bool(node.int("reverse", 0)))


@onnx_op("Col2Im", since=18)
def col2im(ctx: Context, node: Node) -> Value:
    image = ctx.need_ints(node.input(1), "image_shape")
    block = ctx.need_ints(node.input(2), "block_shape")
    n = len(block)
    return ctx(
        "col2im",
        node.input(0),
        output_size=image,
        ksize=block,
        strides=node.ints("strides", [1] * n),
        pads=node.ints("pads", [0] * 2 * n),
        dilations=node.ints("dilations", [1] * n),
    )


@onnx_op("MaxUnpool", since=9)
def max_unpool(ctx: Context, node: Node) -> Value:
    """x written at the indices of a tensor of zeros; a larger ``output_shape`` adds zeros at the ends."""
    x, indices, given = node.input(0), node.input(1), node.optional(2)
    shape = _static(ctx, x, "MaxUnpool")
    ksize = node.ints("kernel_shape")
    n = len(ksize)
    strides, pads = node.ints("strides", [1] * n), node.ints("pads", [0] * 2 * n)
    if len(shape) != n + 2 or len(strides) != n or len(pads) != 2 * n:
        raise GeError(f"x has rank {len(shape)}, a window of {n} dims needs {n + 2}", code="GE1005")
    sizes = [(d - 1) * strides[i] - pads[i] - pads[n + i] + ksize[i] for i, d in enumerate(shape[2:])]
    full = [*shape[:2], *sizes]
    wanted = full if given is None else ctx.need_ints(given, "output_shape")
    if len(wanted) != len(full) or any(w < f for w, f in zip(wanted, full, strict=True)):
        raise UnsupportedError(f"output_shape {wanted} is smaller than {full}", code="GE1205")
    zeros = ctx.full(0, ctx.spec(x).with_shape([prod(full)]))
    flat = ctx("scatter_elements", zeros, ctx.reshape(indices, [-1]), ctx.reshape(x, [-1]), axis=0, reduction="none")
    y = ctx.reshape(flat, full)
    if wanted == full:
        return y
    paddings = [0] * len(full) + [w - f for w, f in zip(wanted, full, strict=True)]
    return ctx("pad", y, None, None, paddings=paddings, mode="constant")


@onnx_op("TensorScatter", since=24)
def tensor_scatter(ctx: Context, node: Node) -> Value:
    """``update`` written into the cache from ``write_indices`` on, an index for each batch."""
    cache, update, start = node.input(0), node.input(1), node.optional(2)
    shape, part = _static(ctx, cache, "TensorScatter"), _static(ctx, update, "TensorScatter")
    axis = ctx.axis(node.int("axis", -2), len(shape))
    if axis == 0:
        raise GeError("the axis of TensorScatter is the batch", code="GE1005")
    lead = [1] * len(part)
    lead[axis] = part[axis]
    check_table(part[axis])
    at: Value = ctx.const(np.arange(part[axis]).reshape(lead), dtypes.I64)
    if start is not None:
        at = ctx("add", at, ctx.reshape(ctx.cast(start, dtypes.I64), [shape[0], *[1] * (len(part) - 1)]))
    match mode := node.str("mode", "linear"):
        case "linear":
            pass
        case "circular":
            at = ctx("mod", at, ctx.const(shape[axis], dtypes.I64), fmod=False)
        case _:
            raise GeError(f"mode {mode!r} does not exist", code="GE1005")
    if ctx.shape(at) != part:
        at = ctx("expand", at, None, shape=part)
    return ctx("scatter_elements", cache, at, update, axis=axis, reduction="none")
