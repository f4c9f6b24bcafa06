"""Fourier transforms and the matrix of mel bands."""

from __future__ import annotations

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value, check_table, dtype_of
from gedialect.ir.spec import DYNAMIC


@onnx_op("DFT", since=17)
def dft_attribute(ctx: Context, node: Node) -> Value:
    return _dft(ctx, node, node.int("axis", 1))


@onnx_op("DFT", since=20)
def dft(ctx: Context, node: Node) -> Value:
    axis = node.optional(2)
    return _dft(ctx, node, -2 if axis is None else ctx.need_ints(axis, "axis")[0])


def _dft(ctx: Context, node: Node, axis: int) -> Value:
    x = node.input(0)
    axis = ctx.axis(axis, ctx.rank(x))
    inverse, onesided = bool(node.int("inverse", 0)), bool(node.int("onesided", 0))
    given = node.optional(1)
    if given is not None:
        length = ctx.need_ints(given, "dft_length")[0]
    else:
        length = ctx.shape(x)[axis]
        if length == DYNAMIC:
            raise UnsupportedError("the size of the transformed axis is unknown", code="GE1205")
        if inverse and onesided:
            length = 2 * (length - 1)
    return ctx("dft", x, axis=axis, length=length, inverse=inverse, onesided=onesided)


@onnx_op("STFT", since=17)
def stft(ctx: Context, node: Node) -> Value:
    x, window, given = node.input(0), node.optional(2), node.optional(3)
    if ctx.rank(x) == 2:
        x = ctx("unsqueeze", x, axes=[2])
    if given is not None:
        length = ctx.need_ints(given, "frame_length")[0]
    elif window is not None:
        length = ctx.shape(window)[0]
    else:
        raise GeError("neither window nor frame_length is given", code="GE1005")
    return ctx(
        "stft",
        x,
        window,
        frame_step=ctx.need_ints(node.input(1), "frame_step")[0],
        frame_length=length,
        onesided=bool(node.int("onesided", 1)),
    )


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(ctx: Context, node: Node) -> Value:
    """A matrix [dft_length / 2 + 1, bands] of triangles, evenly spaced on the mel scale (HTK's)."""
    names = ("num_mel_bins", "dft_length", "sample_rate")
    bands, length, rate = (ctx.need_ints(node.input(i), n)[0] for i, n in enumerate(names))
    low, high = (float(ctx.need(node.input(i), "an edge").reshape(-1)[0]) for i in (3, 4))
    if bands < 1 or length < 1 or rate < 1:
        raise GeError("bands, length and rate are positive", code="GE1005")
    check_table(length // 2 + 1, bands)
    mel = 2595 * np.log10(1 + np.array([low, high]) / 700)
    places = mel[0] + np.arange(bands + 2) * (mel[1] - mel[0]) / (bands + 2)
    edges = ((length + 1) * (700 * (10 ** (places / 2595) - 1)) // rate).astype(np.int64)
    if edges.min() < 0 or edges.max() > length // 2:
        raise GeError(f"the upper edge {high} lies above half of the sample rate {rate}", code="GE1005")
    y = np.zeros((length // 2 + 1, bands))
    at = np.arange(length // 2 + 1)
    for i, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        rising = (at >= left) & (at <= centre)
        y[rising, i] = (at[rising] - left) / (centre - left) if centre > left else 1
        falling = (at >= centre) & (at < right)
        y[falling, i] = (right - at[falling]) / max(right - centre, 1)
    return ctx.const(y, dtype_of(node.int("output_datatype", 1)))
