"""Ops that pick, place and pad elements."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, LateError, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC


@onnx_op("Gather")
def gather(ctx: Context, node: Node) -> Value:
    x, indices = node.input(0), node.input(1)
    axis = ctx.axis(node.int("axis", 0), ctx.rank(x))
    elements, at = ctx.partial_ints(x), ctx.known_ints(indices)
    if elements is not None and at is not None and axis == 0 and ctx.rank(x) == 1 and ctx.rank(indices) <= 1:
        if any(not -len(elements) <= i < len(elements) for i in at):
            raise GeError(f"index {at} is out of range for {len(elements)} elements", code="GE1005")
        picked = [elements[i] for i in at]
        if not any(e is None for e in picked):
            return (
                ctx.cast(ctx.const([e for e in picked if e is not None], dtypes.I64), ctx.dtype(x))
                if (ctx.rank(indices))
                else ctx.const(picked[0], ctx.dtype(x))
            )
        return ctx.note(ctx("gather", x, indices, axis=0, batch_dims=0), picked)
    return ctx("gather", x, indices, axis=axis, batch_dims=0)


@onnx_op("GatherElements", since=11)
def gather_elements(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    return ctx("gather_elements", x, node.input(1), dim=ctx.axis(node.int("axis", 0), ctx.rank(x)))


@onnx_op("GatherND", since=11)
def gather_nd(ctx: Context, node: Node) -> Value:
    return ctx("gather_nd", node.input(0), node.input(1), batch_dims=node.int("batch_dims", 0))


@onnx_op("Scatter", since=9)
@onnx_op("ScatterElements", since=11)
def scatter_elements(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    axis = ctx.axis(node.int("axis", 0), ctx.rank(x))
    reduction = node.str("reduction", "none")
    return ctx("scatter_elements", x, node.input(1), node.input(2), axis=axis, reduction=reduction)


@onnx_op("ScatterND", since=11)
def scatter_nd(ctx: Context, node: Node) -> Value:
    reduction = node.str("reduction", "none")
    return ctx("scatter_nd", node.input(0), node.input(1), node.input(2), reduction=reduction)


@onnx_op("Slice")
def slice_attributes(ctx: Context, node: Node) -> Value:
    begin, end = node.ints("starts"), node.ints("ends")
    return _slice(ctx, node.input(0), begin, end, node.ints("axes", list(range(len(begin)))), [1] * len(begin))


@onnx_op("Slice", since=10)
def slice_(ctx: Context, node: Node) -> Value:
    x, begin, end = node.input(0), node.input(1), node.input(2)
    count = ctx.shape(begin)[0] if ctx.rank(begin) == 1 else DYNAMIC
    if count == DYNAMIC:
        raise LateError("the number of axes of a slice is computed at run time", code="GE1205")
    axes = node.optional(3)
    axis_list = list(range(count)) if axes is None else ctx.need_ints(axes, "axes")
    axis_list = [ctx.axis(a, ctx.rank(x)) for a in axis_list]
    steps = node.optional(4)
    known = [ctx.known_ints(v) for v in (begin, end)]
    step_list = [1] * count if steps is None else ctx.known_ints(steps)
    if known[0] is not None and known[1] is not None and step_list is not None:
        return _slice(ctx, x, known[0], known[1], axis_list, step_list)
    shape = [DYNAMIC if i in axis_list else d for i, d in enumerate(ctx.shape(x))]
    attrs = {"begin": known[0], "end": known[1], "strides": step_list}
    operands = [v if attrs[n] is None else None for n, v in (("begin", begin), ("end", end), ("strides", steps))]
    return ctx("slice", x, *operands, axes=axis_list, results=[ctx.spec(x).with_shape(shape)], **attrs)


def _slice(
    ctx: Context, x: Value, begin: Sequence[int], end: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> Value:
    if not len(begin) == len(end) == len(axes) == len(steps):
        raise GeError("starts, ends, axes and steps have different lengths", code="GE1005")
    if 0 in steps:
        raise GeError("a slice with step 0 does not end", code="GE1005")
    axes = [ctx.axis(a, ctx.rank(x)) for a in axes]
    elements = ctx.partial_ints(x)
    part = None
    if elements is not None and ctx.rank(x) == 1 and list(axes) == [0]:
        # python's slices clamp as ONNX does, but for a negative end with a negative step
        stop = None if steps[0] < 0 and end[0] < -len(elements) else end[0]
        part = elements[begin[0] : stop : steps[0]]
        if None not in part:
            return ctx.const([e for e in part if e is not None], ctx.dtype(x))
    y = ctx("slice", x, None, None, None, begin=list(begin), end=list(end), axes=list(axes), strides=list(steps))
    return ctx.note(y, part)


@onnx_op("Pad")
def pad_attributes(ctx: Context, node: Node) -> Value:
    pads = node.ints("pads" if node.version >= 2 else "paddings")
    return _pad(ctx, node, pads, ctx.scalar_like(node.input(0), node.float("value", 0.0)))


@onnx_op("Pad", since=11)
def pad(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    value = node.optional(2)
    pads = ctx.known_ints(node.input(1))
    axes = node.optional(3)
    if pads is None:
        if axes is not None:
            raise LateError("pads with axes are computed at run time", code="GE1205")
        if value is None:
            value = ctx.scalar_like(x, 0)
        return ctx("pad", x, node.input(1), value, mode=node.str("mode", "constant"))
    if axes is not None:
        rank = ctx.rank(x)
        listed = [ctx.axis(a, rank) for a in ctx.need_ints(axes, "axes")]
        full = [0] * 2 * rank
        if len(pads) != 2 * len(listed):
            raise GeError(f"{len(pads)} pads do not fit {len(listed)} axes", code="GE1005")
        for i, axis in enumerate(listed):
            full[axis], full[rank + axis] = pads[i], pads[len(listed) + i]
        pads = full
    return _pad(ctx, node, pads, value)


def _pad(ctx: Context, node: Node, pads: list[int], value: Value | None) -> Value:
    """Pads, all begins then all ends; negative ones cut, first."""
    x = node.input(0)
    rank = ctx.rank(x)
    mode = node.str("mode", "constant")
    if len(pads) != 2 * rank:
        raise GeError(f"{len(pads)} pads do not fit rank {rank}", code="GE1005")
    if min(pads, default=0) < 0:
        axes = [i for i in range(rank) if pads[i] < 0 or pads[rank + i] < 0]
        begin = [max(-pads[i], 0) for i in axes]
        end = [min(pads[rank + i], 0) or 2**31 - 1 for i in axes]
        x = _slice(ctx, x, begin, end, axes, [1] * len(axes))
        pads = [max(p, 0) for p in pads]
    if not any(pads):
        return x
    known = ctx.known(value)
    if mode != "constant" or (known is not None and not known.any()):
        value = None
    elif value is not None and ctx.rank(value) == 1:
        value = ctx.reshape(value, [])
    return ctx("pad", x, None, value, paddings=pads, mode=mode)


@onnx_op("OneHot", since=9)
def one_hot(ctx: Context, node: Node) -> Value:
    indices, depth, values = node.input(0), node.input(1), node.input(2)
    axis = ctx.axis(node.int("axis", -1), ctx.rank(indices) + 1)
    if not ctx.dtype(indices).is_int:
        indices = ctx.cast(indices, dtypes.I64)
    off, on = (
        ctx.reshape(ctx("slice", values, None, None, None, begin=[i], end=[i + 1], axes=[0], strides=[1]), [])
        for i in (0, 1)
    )
    depth = ctx.cast(depth, dtypes.I64)
    known = ctx.known_ints(depth)
    if known is not None:
        return ctx("one_hot", indices, None, on, off, depth=known[0], axis=axis)
    depth = ctx.reshape(depth, [])
    return ctx("one_hot", indices, depth, on, off, axis=axis)


@onnx_op("Trilu", since=14)
def trilu(ctx: Context, node: Node) -> Value:
    k = node.optional(1)
    diagonal = 0 if k is None else ctx.need_ints(k, "k")[0]
    return ctx("triu" if node.int("upper", 1) else "tril", node.input(0), diagonal=diagonal)


@onnx_op("NonZero", since=9)
def nonzero(ctx: Context, node: Node) -> Value:
    return ctx("nonzero", node.input(0))


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(ctx: Context, node: Node) -> Value:
    return ctx(
        "reverse_sequence",
        node.input(0),
        node.input(1),
        seq_dim=node.int("time_axis", 0),
        batch_dim=node.int("batch_axis", 1),
    )
