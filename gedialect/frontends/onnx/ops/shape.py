"""Shapes and views, and the arithmetic on sizes that exporters write around them.

Where a size is unknown at import, what is known of the others still gives types: see ``Context.partial``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node, Partial
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

MAX_PARTIAL = 128
"""Elements of a tensor whose values are followed while some are unknown: shapes are short."""


def sizes(elements: Sequence[int | None]) -> tuple[int, ...]:
    """A shape from partly known elements."""
    return tuple(DYNAMIC if e is None else e for e in elements)


@onnx_op("Shape")
def shape(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    rank = ctx.rank(x)
    start, end = node.int("start", 0), node.int("end", rank)
    part = ctx.shape(x)[slice(start, end)]
    if DYNAMIC not in part:
        return ctx.const(part, dtypes.I64)
    bounds: dict[str, Any] = {} if len(part) == rank else {"start": start, "end": end}
    return ctx.note(ctx("shape", x, **bounds), [None if d == DYNAMIC else d for d in part])


@onnx_op("Size")
def size(ctx: Context, node: Node) -> Value:
    spec = ctx.spec(node.input(0))
    return ctx.const(spec.size, dtypes.I64) if spec.is_static else ctx("size", node.input(0))


@onnx_op("Reshape")
def reshape_attribute(ctx: Context, node: Node) -> Value:
    return ctx("reshape", node.input(0), shape=node.ints("shape"))


@onnx_op("Reshape", since=5)
def reshape(ctx: Context, node: Node) -> Value:
    x, target = node.input(0), node.input(1)
    allowzero = bool(node.int("allowzero", 0))
    elements = ctx.partial_ints(target)
    if elements is not None and elements.count(None) <= (0 if -1 in elements else 1):
        wanted = sizes(elements)
        # one size that is only known at run time is what the others leave
        if None not in elements or 0 not in wanted:
            y = ctx("reshape", x, None, shape=wanted, allowzero=True if allowzero and 0 in wanted else None)
            return ctx.note(y, _view_elements(ctx, x, y))
    results = None
    if elements is not None:
        old = ctx.shape(x)
        new = [
            old[i] if e == 0 and not allowzero and i < len(old) else DYNAMIC if e is None or e < 0 else e
            for i, e in enumerate(elements)
        ]
        results = [ctx.spec(x).with_shape(new)]
    return ctx("reshape", x, target, results=results, allowzero=True if allowzero else None)


def _view_elements(ctx: Context, x: Value, y: Value) -> Partial | None:
    return ctx.partial_ints(x) if ctx.rank(y) <= 1 else None


@onnx_op("Flatten")
def flatten(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    axis = node.int("axis", 1)
    rank = ctx.rank(x)
    if not -rank <= axis <= rank:
        raise GeError(f"axis {axis} is out of range for rank {rank}", code="GE1005")
    return flattened(ctx, x, axis % rank if axis < 0 else axis)


def flattened(ctx: Context, x: Value, axis: int) -> Value:
    """``x`` as a matrix, rows being the axes before ``axis``."""
    head, tail = ctx.shape(x)[:axis], ctx.shape(x)[axis:]
    rows = DYNAMIC if DYNAMIC in head else prod(head)
    columns = DYNAMIC if DYNAMIC in tail else prod(tail)
    if rows == columns == DYNAMIC:
        if axis == 1:
            return ctx("reshape", x, None, shape=[0, DYNAMIC])  # 0 copies the batch
        if len(tail) == 1:
            raise UnsupportedError("flatten with unknown sizes on both sides is not supported", code="GE1205")
        raise UnsupportedError(
            "flatten with unknown sizes on both sides is not supported",
            code="GE1205",
            hint="give them with --input-shape",
        )
    return ctx.reshape(x, [rows, columns])


@onnx_op("Squeeze")
def squeeze_attribute(ctx: Context, node: Node) -> Value:
    return _squeeze(ctx, node.input(0), node.ints_or_none("axes"))


@onnx_op("Squeeze", since=13)
def squeeze(ctx: Context, node: Node) -> Value:
    axes = node.optional(1)
    return _squeeze(ctx, node.input(0), None if axes is None else ctx.need_ints(axes, "axes"))


def _squeeze(ctx: Context, x: Value, axes: list[int] | None) -> Value:
    shape = ctx.shape(x)
    if axes is None:
        if DYNAMIC in shape:
            raise UnsupportedError(
                "squeeze of all axes of size 1 needs a known shape", code="GE1205", hint="give it with --input-shape"
            )
        axes = [i for i, d in enumerate(shape) if d == 1]
    if not axes:
        return x
    y = ctx("squeeze", x, axes=ctx.axes(axes, len(shape)))
    return ctx.note(y, _view_elements(ctx, x, y))


@onnx_op("Unsqueeze")
def unsqueeze_attribute(ctx: Context, node: Node) -> Value:
    return _unsqueeze(ctx, node.input(0), node.ints("axes"))


@onnx_op("Unsqueeze", since=13)
def unsqueeze(ctx: Context, node: Node) -> Value:
    return _unsqueeze(ctx, node.input(0), ctx.need_ints(node.input(1), "axes"))


def _unsqueeze(ctx: Context, x: Value, axes: list[int]) -> Value:
    if not axes:
        return x
    y = ctx("unsqueeze", x, axes=ctx.axes(axes, ctx.rank(x) + len(axes)))
    return ctx.note(y, _view_elements(ctx, x, y))


@onnx_op("Transpose")
def transpose(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    perm = node.ints("perm", list(range(ctx.rank(x)))[::-1])
    return x if perm == list(range(ctx.rank(x))) else ctx("transpose", x, perm=perm)


@onnx_op("Expand", since=8)
def expand(ctx: Context, node: Node) -> Value:
    x, target = node.input(0), node.input(1)
    elements = ctx.partial_ints(target)
    shape = ctx.shape(x)
    if elements is not None and None not in elements:
        if all(e == 1 for e in elements) and len(elements) <= len(shape):
            return x
        y = ctx("expand", x, None, shape=sizes(elements))
        return ctx.note(y, _expanded_elements(ctx, x, y))
    results = None
    if elements is not None:
        rank = max(len(elements), len(shape))
        left = [1] * (rank - len(shape)) + list(shape)
        right = [1] * (rank - len(elements)) + list(elements)
        # a size above 1 is the result's whatever the other one is; an unknown one may still turn out to be 1
        results = [ctx.spec(x).with_shape([_broadcast_size(a, b) for a, b in zip(left, right, strict=True)])]
    return ctx("expand", x, target, results=results)


def _broadcast_size(a: int, b: int | None) -> int:
    if b is not None and b != 1:
        return b
    return a if b == 1 or a not in (1, DYNAMIC) else DYNAMIC


def _expanded_elements(ctx: Context, x: Value, y: Value) -> Partial | None:
    elements = ctx.partial_ints(x)
    if elements is None or len(elements) != 1 or ctx.rank(y) > 1 or not ctx.spec(y).is_static:
        return None
    if ctx.spec(y).size > MAX_PARTIAL:
        return None
    return elements * ctx.spec(y).size


@onnx_op("Tile")
def tile_1(ctx: Context, node: Node) -> Value:
    (tiles,), (axis,) = ctx.need_ints(node.input(1), "tiles"), ctx.need_ints(node.input(2), "axis")
    rank = ctx.rank(node.input(0))
    multiples = [tiles if i == ctx.axis(axis, rank) else 1 for i in range(rank)]
    return ctx("tile", node.input(0), None, multiples=multiples)


@onnx_op("Tile", since=6)
def tile(ctx: Context, node: Node) -> Value:
    x, repeats = node.input(0), node.input(1)
    elements = ctx.partial_ints(repeats)
    if elements is None:
        return ctx("tile", x, repeats)
    if None not in elements:
        return x if all(e == 1 for e in elements) else ctx("tile", x, None, multiples=sizes(elements))
    shape = [DYNAMIC if e is None or d == DYNAMIC else d * e for d, e in zip(ctx.shape(x), elements, strict=True)]
    return ctx("tile", x, repeats, results=[ctx.spec(x).with_shape(shape)])


@onnx_op("ConstantOfShape", since=9)
def constant_of_shape(ctx: Context, node: Node) -> Value:
    value = node.tensor("value")
    one = np.zeros((), np.float32) if value is None else ctx.reader.read(value).array
    if one.size != 1:
        raise GeError(f"value has {one.size} elements, one is needed", code="GE1005")
    scalar = ctx.const(one.reshape(()))
    dims = node.input(0)
    elements = ctx.partial_ints(dims)
    if elements is not None and None not in elements:
        if any(e is not None and e < 0 for e in elements):
            raise GeError(f"the shape {list(elements)} has a negative size", code="GE1009")
        return ctx.full(one.item(), Spec(scalar.spec.dtype, sizes(elements)))
    results = None if elements is None else [Spec(scalar.spec.dtype, sizes(elements))]
    return ctx("fill", dims, scalar, results=results)


@onnx_op("Range", since=11)
def range_(ctx: Context, node: Node) -> Value:
    names = ("start", "limit", "delta")
    bounds = [node.input(i) for i in range(3)]
    dtype = ctx.dtype(bounds[0])
    known = [ctx.known(b) for b in bounds]
    numbers = [None if k is None else k.reshape(-1)[0].item() for k in known]
    attrs = {n: v for n, v in zip(names, numbers, strict=True) if v is not None}
    if len(attrs) < 3:
        bounds = [ctx.reshape(b, []) if ctx.rank(b) == 1 else b for b in bounds]
        # one of the bounds must stay an operand for the element type: the unknown ones do
        operands = [None if n in attrs else b for n, b in zip(names, bounds, strict=True)]
        return ctx("range", *operands, **attrs)
    start, limit, delta = (v for v in numbers if v is not None)
    if delta == 0:
        raise GeError("a range with delta 0 does not end", code="GE1005")
    count = max(0, int(np.ceil((limit - start) / delta)) if dtype.is_float else -((start - limit) // delta))
    return ctx("range", results=[Spec(dtype, (count,))], **attrs)


@onnx_op("Concat")
def concat(ctx: Context, node: Node) -> Value:
    values = [node.input(i) for i in range(len(node.inputs))]
    if not values:
        raise GeError("at least one input is needed", code="GE1005")
    axis = node.int("axis", 1) if node.version < 4 else node.int("axis")
    axis = ctx.axis(axis, ctx.rank(values[0]))
    if all(ctx.rank(v) == ctx.rank(values[0]) for v in values):
        # what is empty along another axis still adds to the size of this one
        values = [v for v in values if ctx.shape(v)[axis] != 0] or values[:1]
    if len(values) == 1:
        return values[0]
    y = ctx("concat", values, concat_dim=axis)
    if ctx.rank(y) != 1:
        return y
    elements: list[int | None] = []
    for value in values:
        part = ctx.partial_ints(value)
        length = ctx.shape(value)[0]
        if part is None and not 0 <= length <= MAX_PARTIAL:
            return y
        elements += part if part is not None else [None] * length
    return ctx.note(y, elements)


@onnx_op("Split")
def split_1(ctx: Context, node: Node) -> Sequence[Value]:
    return _split(ctx, node, node.ints_or_none("split"))


@onnx_op("Split", since=13)
def split(ctx: Context, node: Node) -> Sequence[Value]:
    given = node.optional(1)
    return _split(ctx, node, None if given is None else ctx.need_ints(given, "split"))


def _split(ctx: Context, node: Node, parts: list[int] | None) -> Sequence[Value]:
    x = node.input(0)
    axis = ctx.axis(node.int("axis", 0), ctx.rank(x))
    if parts is None:
        count = node.int("num_outputs", len(node.outputs))
        if count != len(node.outputs):
            raise GeError(f"num_outputs is {count}, the node has {len(node.outputs)} results", code="GE1005")
        total = ctx.shape(x)[axis]
        if total == DYNAMIC:
            raise UnsupportedError(
                f"split into {count} equal parts needs the size of axis {axis}",
                code="GE1205",
                hint="give it with --input-shape",
            )
        each = -(-total // count)
        parts = [each] * (count - 1) + [total - each * (count - 1)]
        if parts[-1] < 0 or (node.version < 18 and total % count):
            raise GeError(f"{total} elements do not split into {count} parts", code="GE1005")
    if len(parts) == 1:
        return [x]
    if 0 in parts and ctx.spec(x).is_static:
        pieces: list[Value] = []
        for i, size in enumerate(parts):
            first = sum(parts[:i])
            whole = size == ctx.shape(x)[axis]
            bounds: dict[str, Any] = {"begin": [first], "end": [first + size], "axes": [axis], "strides": [1]}
            pieces.append(x if whole else ctx("slice", x, None, None, None, **bounds))
        return pieces
    return ctx("split", x, size_splits=parts, split_dim=axis)


@onnx_op("DepthToSpace")
def depth_to_space(ctx: Context, node: Node) -> Value:
    return ctx(
        "depth_to_space",
        node.input(0),
        block_size=node.int("blocksize"),
        mode=node.str("mode", "DCR"),
        data_format="NCHW",
    )


@onnx_op("SpaceToDepth")
def space_to_depth(ctx: Context, node: Node) -> Value:
    return ctx(
        "space_to_depth",
        node.input(0),
        block_size=node.int("blocksize"),
        mode=node.str("mode", "DCR"),
        data_format="NCHW",
    )


@onnx_op("Constant")
def constant(ctx: Context, node: Node) -> Value:
    readers: dict[str, tuple[Callable[[str], Any], Any]] = {
        "value_float": (node.float, np.float32),
        "value_int": (node.int, np.int64),
        "value_floats": (node.floats, np.float32),
        "value_ints": (node.ints, np.int64),
    }
    for name, (read, dtype) in readers.items():
        if node.has(name):
            return ctx.const(np.asarray(read(name), dtype))
    if (value := node.tensor("value")) is not None:
        return ctx.read(value, node.outputs[0])
    raise UnsupportedError("only constants of numbers are supported", code="GE1203")
