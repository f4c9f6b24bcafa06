"""What each instruction computes, on numpy views: the parts that are more than one ufunc call.

Functions take the operands' arrays, destination first. All element types are those of the table; L0 tiles of half
and byte types are held as float32 (every value of those types is exact there).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

INT_CHUNK = 512
"""Columns of an int8 product that float32 sums exactly: 512 * 255 * 128 < 2^24."""


def as_scalar(value: float, dtype: np.dtype[Any]) -> Any:
    """A scalar attribute in the element type of its instruction; integers wrap."""
    if dtype.kind in "iu" and isinstance(value, int):
        bits = dtype.itemsize * 8
        value &= (1 << bits) - 1
        if dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    return np.asarray(value).astype(dtype)[()]


# conversions


def _range(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _is_float(a: Array) -> bool:
    return a.dtype.kind in "fV" or a.dtype.name == "bfloat16"


def _rounded(src: Array, mode: str) -> Array:
    if mode == "round":
        whole = np.trunc(src)
        return np.where(np.abs(src - whole) >= 0.5, whole + np.sign(src), whole)
    return {"rint": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}[mode](src)


def cast(dst: Array, src: Array, mode: str, saturate: bool) -> None:
    """vcast: see the table."""
    if dst.dtype == np.bool_:
        np.not_equal(src, src.dtype.type(0), out=dst)
        return
    if dst.dtype.kind not in "iu" or src.dtype == np.bool_:
        np.copyto(dst, src, casting="unsafe")
        return
    if _is_float(src):
        wide = src.astype(np.float64 if src.dtype.itemsize > 2 else np.float32)
        if mode != "trunc":
            wide = _rounded(wide, mode)
        if saturate:
            to_integer(dst, wide)
            return
        # out of range wraps: go through the widest integer, as the vector unit's emulation does
        np.copyto(dst, wide.astype(np.int64 if dst.dtype != np.uint64 else np.uint64), casting="unsafe")
        return
    if saturate:
        low, high = _range(dst.dtype)
        slow, shigh = _range(src.dtype)
        src = np.clip(src, max(low, slow), min(high, shigh))
    np.copyto(dst, src, casting="unsafe")


def to_integer(dst: Array, whole: Array) -> None:
    """Rounded floats into integers, clamped to their range; NaN becomes 0."""
    low, high = _range(dst.dtype)
    top = np.nextafter(whole.dtype.type(high), whole.dtype.type(0)) if float(whole.dtype.type(high)) > high else high
    np.copyto(dst, np.clip(np.nan_to_num(whole, nan=0.0, posinf=np.inf, neginf=-np.inf), low, top), casting="unsafe")
    if top != high:
        np.copyto(dst, dst.dtype.type(high), where=whole > top)


# integer arithmetic


def idiv_trunc(dst: Array, a: Array, b: Array) -> None:
    if dst.dtype.kind == "u":
        np.floor_divide(a, b, out=dst)
        return
    q = np.floor_divide(a, b)
    q += (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    dst[...] = q


def power(dst: Array, a: Array, b: Array) -> None:
    if dst.dtype.kind != "i":
        np.power(a, b, out=dst)
        return
    negative = b < 0
    r = np.power(a, np.where(negative, 0, b))
    dst[...] = np.where(negative, np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0)), r)


def lrelu(dst: Array, a: Array, slope: Any) -> None:
    dst[...] = np.where(a >= 0, a, a * slope)


def sign(dst: Array, a: Array) -> None:
    if a.dtype.kind in "iu":
        np.sign(a, out=dst)
        return
    dst[...] = np.where(np.isnan(a), a, np.sign(a.astype(np.float64)).astype(a.dtype))


def select(dst: Array, cond: Array, a: Array, b: Array) -> None:
    dst[...] = np.where(cond, a, b)


# reductions


def reduce(dst: Array, src: Array, ufunc: np.ufunc, accumulate: bool, wide: bool) -> None:
    """``ufunc`` over the last axis; ``wide`` works in float32 and rounds once."""
    if wide:
        r = ufunc.reduce(src.astype(np.float32), axis=-1)
        if accumulate:
            r = ufunc(dst.astype(np.float32), r)
        np.copyto(dst, r, casting="unsafe")
    elif accumulate:
        ufunc(dst, ufunc.reduce(src, axis=-1, dtype=src.dtype), out=dst)
    else:
        ufunc.reduce(src, axis=-1, dtype=src.dtype, out=dst)


def arg_reduce(dst: Array, src: Array, pick: Any, last: bool) -> None:
    if src.dtype.name == "bfloat16":
        src = src.astype(np.float32)
    if last:
        dst[...] = src.shape[-1] - 1 - pick(src[..., ::-1], axis=-1)
    else:
        dst[...] = pick(src, axis=-1)


def cumsum(dst: Array, a: Array, exclusive: bool, reverse: bool) -> None:
    if reverse:
        a, dst = a[..., ::-1], dst[..., ::-1]
    r = np.add.accumulate(a, axis=-1, dtype=a.dtype)
    if exclusive:
        dst[..., 1:] = r[..., :-1]
        dst[..., :1] = 0
    else:
        dst[...] = r


def sort(dst: Array, index: Array, src: Array, descending: bool) -> None:
    if src.dtype.name == "bfloat16":
        order = _order(src.astype(np.float32), descending)
    else:
        order = _order(src, descending)
    dst[...] = np.take_along_axis(src, order, axis=-1)
    index[...] = order


def _order(src: Array, descending: bool) -> Array:
    if not descending:
        return np.argsort(src, axis=-1, kind="stable")
    return (src.shape[-1] - 1 - np.argsort(src[..., ::-1], axis=-1, kind="stable"))[..., ::-1]


# rows


def gather_rows(dst: Array, table: Array, index: Array) -> None:
    dst[...] = np.take(table, index, axis=0)


def gather_elems(dst: Array, table: Array, index: Array) -> None:
    dst[...] = np.take_along_axis(table, index, axis=-1)


def scatter_rows(table: Array, src: Array, index: Array, mode: str) -> None:
    if mode == "set":
        table[index] = src
    else:
        {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[mode].at(table, index, src)


# cube


def img2col(dst: Array, src: Array, a: dict[str, Any]) -> None:
    """load3d: ``dst`` [m, k] from ``src`` [H, W, C]; ``a`` are its attributes."""
    (_, kw), (sh, sw), (dh, dw) = a["kernel"], a["strides"], a["dilations"]
    top, _, left, _ = a["pads"]
    t0, t1 = a["taps"]
    wide, oh0, ow0 = a["out_w"], a["h_out0"], a["w_out0"]
    h, w, c = src.shape
    high = dst.shape[0] // wide
    out = np.lib.stride_tricks.as_strided(
        dst,
        (high, wide, t1 - t0, c),
        (dst.strides[0] * wide, dst.strides[0], dst.strides[1] * c, dst.strides[1]),
    )
    full = True
    spans: list[tuple[int, int, int, int, int, int]] = []
    for tap in range(t0, t1):
        y, x = oh0 * sh - top + tap // kw * dh, ow0 * sw - left + tap % kw * dw
        # output rows i with 0 <= y + i * sh < h
        i0, i1 = max(0, -(y // sh)), min(high, -((y - h) // sh))
        j0, j1 = max(0, -(x // sw)), min(wide, -((x - w) // sw))
        full = full and i0 == j0 == 0 and i1 == high and j1 == wide
        spans.append((i0, i1, j0, j1, y, x))
    if not full:
        out[...] = 0
    for n, (i0, i1, j0, j1, y, x) in enumerate(spans):
        if i0 < i1 and j0 < j1:
            rows = slice(y + i0 * sh, y + (i1 - 1) * sh + 1, sh)
            columns = slice(x + j0 * sw, x + (j1 - 1) * sw + 1, sw)
            np.copyto(out[i0:i1, j0:j1, n], src[rows, columns], casting="unsafe")


def mmad(dst: Array, a: Array, b: Array, bias: Array | None, init: bool, scratch: Array) -> None:
    """dst[m,n] (+)= a @ b; a and b are float32, dst float32 or int32; ``scratch`` is float32 [m, n]."""
    if dst.dtype == np.int32:
        if init:
            dst[...] = 0 if bias is None else bias
        for k in range(0, a.shape[1], INT_CHUNK):
            np.matmul(a[:, k : k + INT_CHUNK], b[k : k + INT_CHUNK], out=scratch)
            np.add(dst, scratch, out=dst, casting="unsafe")
    elif not init:
        np.matmul(a, b, out=scratch)
        np.add(dst, scratch, out=dst)
    else:
        np.matmul(a, b, out=dst)
        if bias is not None:
            np.add(dst, bias, out=dst)


def fixpipe(dst: Array, src: Array, a: dict[str, Any]) -> None:
    """dst = cast(relu(src * scale)); ``a`` are the attributes."""
    r = src
    if a["scale"] != 1.0:
        r = r * np.float32(a["scale"]) if r.dtype == np.float32 else r.astype(np.float64) * a["scale"]
    if a["relu"] == "relu":
        r = np.maximum(r, r.dtype.type(0))
    elif a["relu"] == "leaky":
        r = np.where(r >= 0, r, r * r.dtype.type(a["slope"]))
    atomic = a["atomic"]
    if atomic != "none":
        old = dst.copy()
    if dst.dtype.kind in "iu" and dst.dtype != r.dtype:
        to_integer(dst, np.rint(r) if r.dtype.kind == "f" else r.astype(np.float64))
    else:
        np.copyto(dst, r, casting="unsafe")
    if atomic != "none":
        combine(dst, old, atomic)  # pyright: ignore[reportPossiblyUnboundVariable]


def combine(dst: Array, other: Array, how: str) -> None:
    """``dst`` = dst + other, or the maximum or minimum of both."""
    {"add": np.add, "max": np.maximum, "min": np.minimum}[how](dst, other, out=dst)
