"""Matrix products, pooling, normalisation, resampling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.windows import DATA_FORMAT, Window, padded_window
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC

FORMATS = {2: "ND", 3: "NCL", **DATA_FORMAT}
"""Channels at axis 1, by rank."""


def format_of(ctx: Context, x: Value) -> str:
    """data_format of an ONNX tensor [N, C, ...]; UnsupportedError for ranks without one."""
    rank = ctx.rank(x)
    if rank not in FORMATS:
        raise UnsupportedError(f"channels in a tensor of rank {rank} are not supported", code="GE1205")
    return FORMATS[rank]


# ---------------------------------------------------------------------- products
def product(ctx: Context, x1: Value, x2: Value) -> Value:
    """numpy's matmul: operands of rank 1 are a row or a column whose axis the result lacks."""
    drop: list[int] = []
    if ctx.rank(x1) == 0 or ctx.rank(x2) == 0:
        raise GeError("a matrix product needs rank 1 or more", code="GE1005")
    if ctx.rank(x2) == 1:
        x2 = ctx("unsqueeze", x2, axes=[1])
        drop.append(-1)
    if ctx.rank(x1) == 1:
        x1 = ctx("unsqueeze", x1, axes=[0])
        drop.append(-2)
    y = ctx("matmul", x1, x2, None, transpose_x1=False, transpose_x2=False)
    return ctx("squeeze", y, axes=[ctx.rank(y) + d for d in sorted(drop)]) if drop else y


@onnx_op("MatMul")
def matmul(ctx: Context, node: Node) -> Value:
    return product(ctx, node.input(0), node.input(1))


@onnx_op("Gemm")
def gemm(ctx: Context, node: Node) -> Value:
    """``alpha * A' @ B' + beta * C``; C is the bias if it is a row, else added."""
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if ctx.rank(a) != 2 or ctx.rank(b) != 2:
        raise GeError(f"A and B have ranks {ctx.rank(a)} and {ctx.rank(b)}, 2 is needed", code="GE1005")
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    trans_a, trans_b = bool(node.int("transA", 0)), bool(node.int("transB", 0))
    columns = ctx.shape(b)[0 if trans_b else 1]
    if c is not None and beta == 0.0:
        c = None
    if c is not None and beta != 1.0:
        c = ctx("mul", c, ctx.scalar_like(c, beta))
    bias = None
    if c is not None and alpha == 1.0 and columns != DYNAMIC and not ctx.dtype(c).is_int:
        if ctx.shape(c) == (columns,):
            bias, c = c, None
        elif ctx.shape(c) == (1, columns):
            bias, c = ctx("squeeze", c, axes=[0]), None
    y = ctx("matmul", a, b, bias, transpose_x1=trans_a, transpose_x2=trans_b)
    if alpha != 1.0:
        y = ctx("mul", y, ctx.scalar_like(y, alpha))
    return y if c is None else ctx("add", y, c)


@onnx_op("Einsum", since=12)
def einsum(ctx: Context, node: Node) -> Value:
    return ctx("einsum", [node.input(i) for i in range(len(node.inputs))], equation=node.str("equation"))


# ---------------------------------------------------------------------- pooling
def _pool_window(
    ctx: Context, node: Node, fill: float | None = None, x: Value | None = None
) -> tuple[Value, Window, bool]:
    """(x, window, whether it is 1-D made 2-D); ``fill`` is what padding of an unknown amount may hold."""
    x, window = padded_window(ctx, node, node.input(0) if x is None else x, node.ints("kernel_shape"), fill)
    n = len(window.ksize)
    if n == 1:
        return ctx("unsqueeze", x, axes=[2]), window.widened(), True
    if n > 3:
        raise UnsupportedError(f"windows over {n} spatial dims are not supported", code="GE1205")
    return x, window, False


def _unwiden(ctx: Context, y: Value, flat: bool) -> Value:
    return ctx("squeeze", y, axes=[2]) if flat else y


@onnx_op("MaxPool")
def max_pool(ctx: Context, node: Node) -> Value | Sequence[Value]:
    lowest = -np.inf if ctx.dtype(node.input(0)).is_float else None
    x, window, flat = _pool_window(ctx, node, None if node.wants(1) else lowest)
    attrs: dict[str, Any] = {
        "ksize": window.ksize,
        "strides": window.strides,
        "pads": window.pads,
        "dilations": window.dilations,
        "ceil_mode": bool(node.int("ceil_mode", 0)),
        "data_format": DATA_FORMAT[len(window.ksize) + 2],
    }
    three = len(window.ksize) == 3
    if not node.wants(1):
        return _unwiden(ctx, ctx("max_pool3d" if three else "max_pool2d", x, **attrs), flat)
    if three:
        raise UnsupportedError("MaxPool over 3 spatial dims with Indices is not supported", code="GE1205")
    y, argmax = ctx("max_pool2d_with_argmax", x, **attrs)
    if node.int("storage_order", 0):
        argmax = _column_major(ctx, argmax, ctx.shape(x))
    return [_unwiden(ctx, y, flat), _unwiden(ctx, argmax, flat)]


def _column_major(ctx: Context, index: Value, shape: Sequence[int]) -> Value:
    """The index within each H x W plane counted down the columns, for storage_order = 1."""
    height, width = shape[2:]
    if DYNAMIC in (height, width):
        raise UnsupportedError("storage_order = 1 needs the size of its input", code="GE1205")
    plane, w, h = (ctx.scalar_like(index, n) for n in (height * width, width, height))
    inside = ctx("mod", index, plane, fmod=False)
    base = ctx("sub", index, inside)
    row, column = ctx("div", inside, w), ctx("mod", inside, w, fmod=False)
    return ctx("add", base, ctx("add", ctx("mul", column, h), row))


@onnx_op("AveragePool")
def average_pool(ctx: Context, node: Node) -> Value:
    return average_pooled(ctx, node, node.input(0))


def average_pooled(ctx: Context, node: Node, x: Value) -> Value:
    """``x`` pooled with the attributes of the node."""
    x, window, flat = _pool_window(ctx, node, None, x)
    y = ctx(
        "avg_pool3d" if len(window.ksize) == 3 else "avg_pool2d",
        x,
        ksize=window.ksize,
        strides=window.strides,
        pads=window.pads,
        dilations=None if all(d == 1 for d in window.dilations) else window.dilations,
        ceil_mode=bool(node.int("ceil_mode", 0)),
        count_include_pad=bool(node.int("count_include_pad", 0)),
        data_format=DATA_FORMAT[len(window.ksize) + 2],
    )
    return _unwiden(ctx, y, flat)


@onnx_op("LpPool")
def lp_pool(ctx: Context, node: Node) -> Value:
    x, window, flat = _pool_window(ctx, node)
    if len(window.ksize) != 2:
        return _lp_pool3d(ctx, node, x, window)
    y = ctx(
        "lp_pool2d",
        x,
        p=int(node.number("p", 2)),
        ksize=window.ksize,
        strides=window.strides,
        pads=window.pads,
        dilations=None if all(d == 1 for d in window.dilations) else window.dilations,
        ceil_mode=bool(node.int("ceil_mode", 0)),
        data_format="NCHW",
    )
    return _unwiden(ctx, y, flat)


def _lp_pool3d(ctx: Context, node: Node, x: Value, window: Window) -> Value:
    """As a mean times the number of cells, which must be the same for each window."""
    if node.int("ceil_mode", 0):
        raise UnsupportedError("LpPool over 3 spatial dims with ceil_mode is not supported", code="GE1205")
    p = node.number("p", 2)
    mean = ctx(
        "avg_pool3d",
        ctx("pow", ctx("abs", x), ctx.scalar_like(x, p)),
        ksize=window.ksize,
        strides=window.strides,
        pads=window.pads,
        dilations=None if all(d == 1 for d in window.dilations) else window.dilations,
        ceil_mode=False,
        count_include_pad=True,
        data_format="NCDHW",
    )
    total = ctx("mul", mean, ctx.scalar_like(mean, prod(window.ksize)))
    return ctx("pow", total, ctx.scalar_like(total, 1 / p))


# ---------------------------------------------------------------------- normalisation
@onnx_op("BatchNormalization")
def batch_norm(ctx: Context, node: Node) -> Value | Sequence[Value]:
    operands = [node.input(i) for i in range(5)]
    if node.version < 9 and not node.int("spatial", 1):
        raise UnsupportedError("BatchNormalization with spatial = 0 is not supported", code="GE1205")
    attrs: dict[str, Any] = {"epsilon": node.float("epsilon", 1e-5), "data_format": format_of(ctx, operands[0])}
    if node.int("training_mode", 0) if node.version >= 14 else node.wants(1):
        momentum = node.float("momentum", 0.9)
        return ctx("batch_norm_training", *operands, exponential_avg_factor=1.0 - momentum, **attrs)
    if node.version < 7 and not node.int("is_test", 0):
        raise UnsupportedError("BatchNormalization in training mode is not supported", code="GE1205")
    return ctx("batch_norm", *operands, **attrs)


@onnx_op("LayerNormalization")  # before 17 it is onnxruntime's, in ONNX's domain
def layer_norm(ctx: Context, node: Node) -> Sequence[Value]:
    x, gamma, beta = node.input(0), node.input(1), node.optional(2)
    axis = ctx.axis(node.int("axis", -1), ctx.rank(x))
    return ctx("layer_norm", x, gamma, beta, begin_norm_axis=axis, epsilon=node.float("epsilon", 1e-5))


@onnx_op("RMSNormalization", since=23)
def rms_norm(ctx: Context, node: Node) -> Value:
    x, gamma = node.input(0), node.input(1)
    rank = ctx.rank(x)
    axis = ctx.axis(node.int("axis", -1), rank)
    if ctx.rank(gamma) != rank - axis:
        if rank - axis < ctx.rank(gamma):
            raise UnsupportedError("a scale of more dims than are normalised is not supported", code="GE1205")
        gamma = ctx("unsqueeze", gamma, axes=list(range(rank - axis - ctx.rank(gamma))))
    if ctx.shape(gamma) != ctx.shape(x)[axis:]:
        gamma = ctx("expand", gamma, None, shape=ctx.shape(x)[axis:])
    return ctx("rms_norm", x, gamma, epsilon=node.float("epsilon", 1e-5))[0]


@onnx_op("InstanceNormalization", since=6)
def instance_norm(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    attrs: dict[str, Any] = {"epsilon": node.float("epsilon", 1e-5), "data_format": format_of(ctx, x)}
    return ctx("instance_norm", x, node.input(1), node.input(2), **attrs)[0]


@onnx_op("GroupNormalization", since=18)
def group_norm(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    groups = node.int("num_groups")
    sides = [node.input(1), node.input(2)]
    if node.version < 21:  # one scale a group
        channels = ctx.shape(x)[1]
        if channels == DYNAMIC or channels % groups:
            raise GeError(f"{channels} channels do not split into {groups} groups", code="GE1005")
        sides = [
            ctx.reshape(
                ctx("expand", ctx("unsqueeze", s, axes=[1]), None, shape=[groups, channels // groups]), [channels]
            )
            for s in sides
        ]
    attrs: dict[str, Any] = {"num_groups": groups, "epsilon": node.float("epsilon", 1e-5)}
    attrs["data_format"] = format_of(ctx, x)
    return ctx("group_norm", x, *sides, **attrs)[0]


@onnx_op("LRN")
def lrn(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    size = node.int("size")
    if size < 1:
        raise GeError(f"LRN over {size} channels", code="GE1005", hint="size is 1 or more")
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    if (channels := ctx.shape(x)[1]) > 0:  # more than there are take in no more
        before, after = min(before, channels), min(after, channels)
    return ctx(
        "lrn",
        x,
        depth_radius=before,
        depth_radius_end=None if after == before else after,
        bias=node.float("bias", 1.0),
        alpha=node.float("alpha", 1e-4) / size,
        beta=node.float("beta", 0.75),
        data_format=format_of(ctx, x),
    )


@onnx_op("MeanVarianceNormalization", since=9)
def mvn(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    return ctx("mvn", x, axes=ctx.axes(node.ints("axes", [0, 2, 3]), ctx.rank(x)), epsilon=1e-9)


# ---------------------------------------------------------------------- resampling


@onnx_op("Upsample")
def upsample(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    if node.version >= 9:
        scales = [float(s) for s in ctx.need(node.input(1), "scales").reshape(-1)]
    elif node.version >= 7:
        scales = node.floats("scales")
    else:
        scales = [1.0, 1.0, node.float("height_scale"), node.float("width_scale")]
    return _asymmetric(ctx, node, x, scales)


@onnx_op("Resize", since=10)
def resize_10(ctx: Context, node: Node) -> Value:
    scales = [float(s) for s in ctx.need(node.input(1), "scales").reshape(-1)]
    return _asymmetric(ctx, node, node.input(0), scales)


def _asymmetric(ctx: Context, node: Node, x: Value, scales: list[float]) -> Value:
    """Before opset 11: the coordinate is divided by the scale, nearest is floor."""
    mode = node.str("mode", "nearest")
    return ctx(
        "resize",
        x,
        None,
        None,
        None,
        scales=scales,
        mode="linear" if mode == "bilinear" else mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
        cubic_coeff_a=-0.75,
        exclude_outside=False,
        extrapolation_value=0.0,
    )


@onnx_op("Resize", since=11)
def resize(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    transform = node.str("coordinate_transformation_mode", "half_pixel")
    roi = node.optional(1) if transform == "tf_crop_and_resize" else None
    given = {"scales": node.optional(2), "sizes": node.optional(3)}
    for name, value in given.items():
        if value is not None and ctx.shape(value) == (0,):
            given[name] = None
    attrs: dict[str, Any] = {}
    for name, value in given.items():
        array = ctx.known(value)
        if array is not None:
            attrs[name] = [float(s) if name == "scales" else int(s) for s in array.reshape(-1)]
            given[name] = None
    if not attrs and given["scales"] is None and given["sizes"] is None:
        raise GeError("neither scales nor sizes are given", code="GE1005")
    if node.has("axes"):
        order = [ctx.axis(a, ctx.rank(x)) for a in node.ints("axes")]
        attrs["axes"] = ctx.axes(order, ctx.rank(x))
        if order != attrs["axes"]:
            at = [order.index(a) for a in attrs["axes"]]
            attrs = {n: [v[i] for i in at] if n in given else v for n, v in attrs.items()}
            given = {n: None if v is None else _picked(ctx, v, at) for n, v in given.items()}
            roi = None if roi is None else _picked(ctx, roi, [*at, *(i + len(at) for i in at)])
    if transform == "align_corners" and "sizes" not in attrs and given["sizes"] is None:
        scales = attrs.get("scales")
        _check_whole(ctx, x, attrs, ctx.need(given["scales"], "scales").tolist() if scales is None else scales)
    return ctx(
        "resize",
        x,
        roi,
        given["scales"],
        given["sizes"],
        mode=node.str("mode", "nearest"),
        coordinate_transformation_mode=transform,
        nearest_mode=node.str("nearest_mode", "round_prefer_floor"),
        cubic_coeff_a=node.float("cubic_coeff_a", -0.75),
        exclude_outside=bool(node.int("exclude_outside", 0)),
        extrapolation_value=node.float("extrapolation_value", 0.0),
        antialias=True if node.int("antialias", 0) else None,
        keep_aspect_ratio_policy=node.str("keep_aspect_ratio_policy", "stretch")
        if node.has("keep_aspect_ratio_policy")
        else None,
        **attrs,
    )


def _check_whole(ctx: Context, x: Value, attrs: dict[str, Any], scales: Sequence[float]) -> None:
    """With align_corners ONNX's own cases divide by ``scale * size - 1``, onnxruntime and PyTorch by the size it is
    rounded down to, less 1: they must agree."""
    sizes = ctx.shape(x)
    axes: Sequence[int] = attrs.get("axes", range(len(sizes)))
    for axis, scale in zip(axes, scales, strict=False):
        scaled = sizes[axis] * scale
        if sizes[axis] != DYNAMIC and scaled >= 2 and abs(scaled - round(scaled)) > 1e-4:
            raise UnsupportedError(
                f"align_corners with a scale of {scale:g} for {sizes[axis]} elements is not supported",
                code="GE1205",
                hint="give sizes: implementations differ where the scaled size is no whole number",
            )


def _picked(ctx: Context, x: Value, at: list[int]) -> Value:
    return ctx("gather", x, ctx.const(at, dtypes.I64), axis=0, batch_dims=0)


@onnx_op("GridSample", since=16)
def grid_sample(ctx: Context, node: Node) -> Value:
    mode = node.str("mode", "bilinear" if node.version < 20 else "linear")
    return ctx(
        "grid_sample",
        node.input(0),
        node.input(1),
        interpolation_mode={"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode),
        padding_mode=node.str("padding_mode", "zeros"),
        align_corners=bool(node.int("align_corners", 0)),
    )
