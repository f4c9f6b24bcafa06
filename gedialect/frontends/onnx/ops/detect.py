"""Ops of detectors, and others with results whose sizes depend on data."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.windows import padded_window
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value


@onnx_op("NonMaxSuppression", since=10)
def non_max_suppression(ctx: Context, node: Node) -> Value:
    operands = [node.input(0), node.input(1), *(node.optional(i) for i in range(2, 5))]
    return ctx("non_max_suppression", *operands, center_point_box=bool(node.int("center_point_box", 0)))


@onnx_op("RoiAlign", since=10)
def roi_align(ctx: Context, node: Node) -> Value:
    default = "output_half_pixel" if node.version < 16 else "half_pixel"
    transform = node.str("coordinate_transformation_mode", default)
    if transform not in ("half_pixel", "output_half_pixel"):
        raise GeError(f"coordinate_transformation_mode {transform!r} does not exist", code="GE1005")
    return ctx(
        "roi_align",
        node.input(0),
        node.input(1),
        node.input(2),
        mode=node.str("mode", "avg"),
        output_height=node.int("output_height", 1),
        output_width=node.int("output_width", 1),
        sampling_ratio=node.int("sampling_ratio", 0),
        spatial_scale=node.float("spatial_scale", 1.0),
        half_pixel=transform == "half_pixel",
    )


@onnx_op("Unique", since=11)
def unique(ctx: Context, node: Node) -> Sequence[Value]:
    x = node.input(0)
    axis = ctx.axis(node.int("axis"), ctx.rank(x)) if node.has("axis") else None
    return ctx("unique", x, axis=axis, sorted=bool(node.int("sorted", 1)))


@onnx_op("Det", since=11)
def det(ctx: Context, node: Node) -> Value:
    return ctx("det", node.input(0))


@onnx_op("DeformConv", since=19)
def deform_conv(ctx: Context, node: Node) -> Value:
    x, w = node.input(0), node.input(1)
    if ctx.rank(x) != 4:
        raise UnsupportedError(f"DeformConv over {ctx.rank(x) - 2} spatial dims is not supported", code="GE1205")
    x, window = padded_window(ctx, node, x, list(ctx.shape(w)[2:]), None)
    return ctx(
        "deform_conv",
        x,
        w,
        node.input(2),
        node.optional(3),
        node.optional(4),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        groups=node.int("group", 1),
        offset_groups=node.int("offset_group", 1),
    )


@onnx_op("TfIdfVectorizer", since=9)
def tf_idf(ctx: Context, node: Node) -> Value:
    if node.has("pool_strings"):
        raise UnsupportedError("n-grams of strings are not supported", code="GE1203")
    return ctx(
        "tf_idf",
        node.input(0),
        mode=node.str("mode"),
        min_gram_length=node.int("min_gram_length"),
        max_gram_length=node.int("max_gram_length"),
        max_skip_count=node.int("max_skip_count"),
        ngram_counts=node.ints("ngram_counts"),
        ngram_indexes=node.ints("ngram_indexes"),
        pool=node.ints("pool_int64s"),
        weights=node.floats("weights") or None,
    )
