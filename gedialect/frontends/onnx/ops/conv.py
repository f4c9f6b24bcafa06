"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.windows import DATA_FORMAT, Window, padded_window, same_pads
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value
from gedialect.ir import dtypes


def _kernel(ctx: Context, node: Node, w: Value) -> list[int]:
    kernel = list(ctx.shape(w)[2:])
    given = node.ints("kernel_shape", kernel)
    if -1 in kernel:
        raise UnsupportedError("a filter of unknown size is not supported", code="GE1205")
    if given != kernel:
        raise GeError(f"kernel_shape is {given}, the filter is {list(ctx.shape(w))}", code="GE1005")
    return kernel


Maker: TypeAlias = "Callable[[Value, Value, Value | None, dict[str, Any]], Value]"


def convolution(ctx: Context, node: Node, x: Value, w: Value, bias: Value | None, make: Maker | None = None) -> Value:
    """``x`` convolved by ``w`` with the attributes of the node; ``make`` builds it from x, w, bias and attributes."""
    x, window = padded_window(ctx, node, x, _kernel(ctx, node, w), 0)
    groups = node.int("group", 1)
    flat = len(window.ksize) == 1
    if flat:
        window = window.widened()
        x, w = ctx("unsqueeze", x, axes=[2]), ctx("unsqueeze", w, axes=[2])
    attrs: dict[str, Any] = {
        "strides": window.strides,
        "pads": window.pads,
        "dilations": window.dilations,
        "groups": groups,
        "data_format": DATA_FORMAT[len(window.ksize) + 2],
    }
    mnemonic = _mnemonic(window, "conv2d", "conv3d")
    y = ctx(mnemonic, x, w, bias, **attrs) if make is None else make(x, w, bias, attrs)
    return ctx("squeeze", y, axes=[2]) if flat else y


def _mnemonic(window: Window, two: str, three: str) -> str:
    match len(window.ksize):
        case 2:
            return two
        case 3:
            return three
        case n:
            raise UnsupportedError(f"windows over {n} spatial dims are not supported", code="GE1205")


@onnx_op("Conv")
def conv(ctx: Context, node: Node) -> Value:
    return convolution(ctx, node, node.input(0), node.input(1), node.optional(2))


def shifted(ctx: Context, x: Value, zero: Value | None, axis: int | None = None) -> Value:
    """``x - zero`` as i16, which holds it exactly for 8-bit ``x``; ``zero`` may have one entry along ``axis``."""
    wide = ctx.cast(x, dtypes.I16)
    if zero is None:
        return wide
    known = ctx.known(zero)
    if known is not None and not known.any():
        return wide
    if ctx.rank(zero) == 1 and axis is not None:
        trailing = ctx.rank(x) - 1 - axis % ctx.rank(x)
        if trailing:
            zero = unsqueezed(ctx, zero, list(range(1, 1 + trailing)))
    return ctx("sub", wide, ctx.cast(zero, dtypes.I16))


def unsqueezed(ctx: Context, x: Value, axes: list[int]) -> Value:
    """``ge.unsqueeze``."""
    return ctx("unsqueeze", x, axes=axes)


@onnx_op("ConvTranspose")
def conv_transpose(ctx: Context, node: Node) -> Value:
    x, w = node.input(0), node.input(1)
    kernel = _kernel(ctx, node, w)
    n = len(kernel)
    if ctx.rank(x) != n + 2:
        raise GeError(f"x has rank {ctx.rank(x)}, the filter {n + 2}", code="GE1005")
    strides = node.ints("strides", [1] * n)
    dilations = node.ints("dilations", [1] * n)
    extra = node.ints("output_padding", [0] * n)
    pads = node.ints("pads", [0] * 2 * n)
    output_shape = node.ints_or_none("output_shape")
    if not len(strides) == len(dilations) == len(extra) == n or len(pads) != 2 * n:
        raise GeError(f"strides, dilations, output_padding or pads do not have {n} spatial dims", code="GE1005")
    auto_pad = node.str("auto_pad", "NOTSET")
    span = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    if output_shape is not None:
        output_shape = output_shape[-n:]
        sizes = ctx.shape(x)[2:]
        if -1 in sizes:
            raise UnsupportedError("output_shape needs the size of its input", code="GE1205")
        total = [
            s * (size - 1) + e + k - o
            for s, size, e, k, o in zip(strides, sizes, extra, span, output_shape, strict=True)
        ]
        # a result larger than the full one is padded at its end
        extra = [e - min(t, 0) for e, t in zip(extra, total, strict=True)]
        # the specification gives the odd pad to the beginning unless SAME_UPPER
        pads = same_pads([max(t, 0) for t in total], auto_pad != "SAME_UPPER")
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        # the result is stride times the input, whatever the input's size
        total = [k + e - s for k, e, s in zip(span, extra, strides, strict=True)]
        extra = [e - min(t, 0) for e, t in zip(extra, total, strict=True)]
        pads = same_pads([max(t, 0) for t in total], auto_pad == "SAME_LOWER")
    elif auto_pad == "VALID":
        pads = [0] * 2 * n
    window = Window(kernel, strides, pads, dilations)
    flat = n == 1
    if flat:
        window, extra = window.widened(), [0, *extra]
        x, w = ctx("unsqueeze", x, axes=[2]), ctx("unsqueeze", w, axes=[2])
    y = ctx(
        _mnemonic(window, "conv2d_transpose", "conv3d_transpose"),
        x,
        w,
        node.optional(2),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        groups=node.int("group", 1),
        output_padding=extra,
        data_format=DATA_FORMAT[len(window.ksize) + 2],
    )
    return ctx("squeeze", y, axes=[2]) if flat else y
