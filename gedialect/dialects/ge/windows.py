"""Sliding windows of the pooling ops: sizes as ONNX defines them and their numpy walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from gedialect.dialects.ge.base import Attrs
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC


def dilations_of(attrs: Attrs) -> tuple[int, ...]:
    """Dilations; absent ones are 1."""
    return attrs.dilations if attrs.dilations is not None else (1,) * len(attrs.ksize)


def pooled_size(size: int, kernel: int, stride: int, begin: int, end: int, dilation: int, ceil: bool) -> int:
    """Number of windows over ``size`` elements between ``begin`` and ``end`` pads.

    With ``ceil`` a last window may hang over the padded end, but must start inside the input or the
    begin padding (ONNX 1.16 MaxPool-22, AveragePool-22). GE1005 if no window fits.
    """
    if size == DYNAMIC:
        return DYNAMIC
    room = size + begin + end - (kernel - 1) * dilation - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= size + begin:
        count -= 1
    if count < 1:
        raise mismatch(f"a window of {(kernel - 1) * dilation + 1} does not fit into {size} + {begin + end} elements")
    return count


def pooled_sizes(attrs: Attrs, sizes: Sequence[int]) -> list[int]:
    """``pooled_size`` of each spatial dimension; GE1005 if an attribute has the wrong length."""
    n, dilations = len(sizes), dilations_of(attrs)
    for name, values, want in (
        ("ksize", attrs.ksize, n),
        ("strides", attrs.strides, n),
        ("pads", attrs.pads, 2 * n),
        ("dilations", dilations, n),
    ):
        if len(values) != want:
            raise mismatch(f"{name} has {len(values)} entries, {want} are needed")
    if min((*attrs.ksize, *attrs.strides, *dilations)) < 1 or min(attrs.pads) < 0:
        raise mismatch("ksize, strides and dilations are positive, pads are not negative")
    return [
        pooled_size(
            s,
            attrs.ksize[i],
            attrs.strides[i],
            attrs.pads[i],
            attrs.pads[n + i],
            dilations[i],
            bool(attrs.ceil_mode),
        )
        for i, s in enumerate(sizes)
    ]


def taps(x: Any, attrs: Attrs, fill: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """For each position of the kernel, (position, the element it meets in every window [N, C, *out]).

    ``x`` is [N, C, *spatial]; cells outside it hold ``fill``.
    """
    n, dilations = x.ndim - 2, dilations_of(attrs)
    out = pooled_sizes(attrs, x.shape[2:])
    widths: list[tuple[int, int]] = [(0, 0), (0, 0)]
    for i in range(n):
        last = (out[i] - 1) * attrs.strides[i] + (attrs.ksize[i] - 1) * dilations[i] + 1
        widths.append((attrs.pads[i], max(last - attrs.pads[i] - x.shape[2 + i], 0)))
    if any(w != (0, 0) for w in widths):
        x = np.pad(x, widths, constant_values=fill)
    for at in product(*(range(k) for k in attrs.ksize)):
        place = [
            slice(p * d, p * d + (o - 1) * s + 1, s)
            for p, d, o, s in zip(at, dilations, out, attrs.strides, strict=True)
        ]
        yield at, x[(slice(None), slice(None), *place)]


def cell_counts(attrs: Attrs, sizes: Sequence[int]) -> Any:
    """Cells each window divides by, [*out] in f64: those inside the input, or inside the padded input.

    Cells of a window that hangs over the padded end (ceil_mode) never count.
    """
    n, dilations = len(sizes), dilations_of(attrs)
    counts = np.ones((1,) * n)
    for i, (size, o) in enumerate(zip(sizes, pooled_sizes(attrs, sizes), strict=True)):
        low, high = (-attrs.pads[i], size + attrs.pads[n + i]) if attrs.count_include_pad else (0, size)
        at = (np.arange(o) * attrs.strides[i] - attrs.pads[i])[:, None] + np.arange(attrs.ksize[i]) * dilations[i]
        inside = ((at >= low) & (at < high)).sum(1)
        counts = counts * inside.reshape([-1 if j == i else 1 for j in range(n)])
    return counts


def lowest(dtype: Any) -> Any:
    """The identity of maximum: -inf, or the smallest integer."""
    kind = dtypes.from_numpy(dtype)
    return kind.numpy.type(-np.inf) if kind.is_float else np.iinfo(dtype).min
