"""numpy semantics of products: what the matrix unit computes, at the speed of BLAS.

Half precision accumulates in f32 and is rounded once; integers of up to 16 bits accumulate in i32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

from gedialect.dialects.ge.base import Attrs
from gedialect.dialects.ge.layouts import channels_back, channels_first
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.reproducible import einsum as einsum_of
from gedialect.dialects.ge.reproducible import matmul as matmul_of
from gedialect.dialects.ge.shapes import mismatch, same_dtype
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec

COLUMN_LIMIT = 1 << 25
"""Bytes of img2col columns made at once; larger convolutions go a few output rows at a time."""


def product_type(a: DType, b: DType) -> DType:
    """Element type of a product: i32 for integers of up to 16 bits, else the operands' own (GE1005 if they differ)."""
    if a.is_int and b.is_int and max(a.itemsize, b.itemsize) <= 2:
        return dtypes.I32
    return same_dtype(Spec(a, ()), Spec(b, ())).dtype


def product_dtype(a: Spec, b: Spec) -> DType:
    """``product_type`` of two specs."""
    return product_type(a.dtype, b.dtype)


def operand_types(a: Any, b: Any) -> tuple[Any, Any]:
    """(dtype to multiply in, dtype of the result) for two arrays.

    Narrow integers multiply as f64: exact below 2^53, and BLAS has no integers.
    """
    first, second = dtypes.from_numpy(a.dtype), dtypes.from_numpy(b.dtype)
    out = product_type(first, second)
    if first.is_int and max(first.itemsize, second.itemsize) <= 2:
        return np.float64, out.numpy
    if out.is_float and out.itemsize < 4:
        return np.float32, out.numpy
    return out.numpy, out.numpy


def finish(y: Any, bias: Any, dtype: Any) -> Any:
    """``y + bias`` in the accumulator's type, then the result's type."""
    if bias is not None:
        y = y + bias.astype(y.dtype)
    if y.dtype == np.float64 and np.issubdtype(dtype, np.integer):
        y = y.astype(np.int64)  # wraps around 2^32 in the next step, as an accumulator does
    return y.astype(dtype, copy=False)


def matmul(x1: Any, x2: Any, bias: Any) -> Any:
    """``x1 @ x2 + bias`` with batch broadcasting."""
    wide, out = operand_types(x1, x2)
    return finish(matmul_of(x1.astype(wide, copy=False), x2.astype(wide, copy=False)), bias, out)


def pad_spatial(x: Any, pads: Sequence[int], value: Any = 0) -> Any:
    """Pads [N, C, *spatial] by begin and end pads; negative ones crop."""
    n: int = x.ndim - 2
    if any(p < 0 for p in pads):
        crop = [slice(max(-pads[i], 0), x.shape[2 + i] - max(-pads[n + i], 0)) for i in range(n)]
        x = x[(slice(None), slice(None), *crop)]
    if not any(p > 0 for p in pads):
        return x
    widths = [(0, 0), (0, 0), *((max(pads[i], 0), max(pads[n + i], 0)) for i in range(n))]
    return np.pad(x, widths, constant_values=value)


def _columns(x: Any, kernel: Sequence[int], attrs: Attrs) -> Any:
    """img2col of padded [N, C, *spatial]: a strided view [N, C, *kernel, *out]."""
    n = len(kernel)
    spans = tuple((k - 1) * d + 1 for k, d in zip(kernel, attrs.dilations, strict=True))
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + n)))
    steps = [slice(None, None, s) for s in (*attrs.strides, *attrs.dilations)]
    windows = windows[(slice(None), slice(None), *steps)]
    return windows.transpose(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))


def _out_sizes(x: Any, kernel: Sequence[int], attrs: Attrs) -> list[int]:
    """Spatial sizes of the result for padded x."""
    return [
        (s - (k - 1) * d - 1) // step + 1
        for s, k, d, step in zip(x.shape[2:], kernel, attrs.dilations, attrs.strides, strict=True)
    ]


def convolve(attrs: Attrs, x: Any, kernel: Any, bias: Any) -> Any:
    """``ge.conv2d`` and ``ge.conv3d`` as img2col and matrix products per sample and group."""
    wide, out = operand_types(x, kernel)
    x = pad_spatial(channels_first(x, attrs.data_format), attrs.pads).astype(wide, copy=False)
    groups, size = attrs.groups, kernel.shape[2:]
    rows = kernel.reshape(groups, kernel.shape[0] // groups, -1).astype(wide, copy=False)

    def product_of(part: Any) -> Any:
        columns = _columns(part, size, attrs)
        sizes = columns.shape[2 + len(size) :]
        y = matmul_of(rows, columns.reshape(len(part), groups, rows.shape[2], prod(sizes)))
        return y.reshape(len(part), kernel.shape[0], *sizes)

    step, span = attrs.strides[0], (size[0] - 1) * attrs.dilations[0] + 1
    count, *others = _out_sizes(x, size, attrs)
    row_bytes = prod(x.shape[1:2] + x.shape[3:]) * prod(size) // prod(attrs.strides[1:]) * x.itemsize
    if len(x) * count * row_bytes <= COLUMN_LIMIT or (prod(size) == 1 and prod(attrs.strides) == 1):
        y = product_of(x)
    else:
        y = np.empty((len(x), kernel.shape[0], count, *others), wide)
        chunk = max(COLUMN_LIMIT // max(row_bytes, 1), 1)
        for n in range(len(x)):
            for first in range(0, count, chunk):
                last = min(first + chunk, count)
                part = x[n : n + 1, :, first * step : (last - 1) * step + span]
                y[n : n + 1, :, first:last] = product_of(part)
    return channels_back(finish(y, along_channels(bias, y.ndim), out), attrs.data_format)


def along_channels(bias: Any, rank: int) -> Any:
    """A bias vector shaped to add to [N, C, *spatial]."""
    return None if bias is None else bias.reshape(-1, *[1] * (rank - 2))


def convolve_transposed(
    attrs: Attrs, x: Any, kernel: Any, bias: Any, sizes_of: Callable[[Attrs, Sequence[int], Any], list[int]]
) -> Any:
    """``ge.conv2d_transpose`` and ``ge.conv3d_transpose``: one matrix product, then the columns are added in place."""
    wide, out = operand_types(x, kernel)
    x = channels_first(x, attrs.data_format).astype(wide, copy=False)
    batch, groups, sizes, size = len(x), attrs.groups, x.shape[2:], kernel.shape[2:]
    target = sizes_of(attrs, sizes, kernel)
    rows = kernel.reshape(groups, kernel.shape[0] // groups, -1).astype(wide, copy=False)
    columns = matmul_of(rows.swapaxes(1, 2), x.reshape(batch, groups, rows.shape[1], prod(sizes)))
    columns = columns.reshape(batch, groups * kernel.shape[1], *size, *sizes)
    room = [
        max(attrs.pads[i] + t, (s - 1) * attrs.strides[i] + attrs.dilations[i] * (k - 1) + 1)
        for i, (t, s, k) in enumerate(zip(target, sizes, size, strict=True))
    ]
    full = np.zeros((batch, groups * kernel.shape[1], *room), columns.dtype)
    if x.size:
        for at in product(*(range(k) for k in size)):
            begin = [p * d for p, d in zip(at, attrs.dilations, strict=True)]
            place = [
                slice(b, b + (s - 1) * step + 1, step) for b, s, step in zip(begin, sizes, attrs.strides, strict=True)
            ]
            full[(slice(None), slice(None), *place)] += columns[(slice(None), slice(None), *at)]
    crop = [slice(attrs.pads[i], attrs.pads[i] + t) for i, t in enumerate(target)]
    y = full[(slice(None), slice(None), *crop)]
    return channels_back(finish(y, along_channels(bias, y.ndim), out), attrs.data_format)


def einsum(equation: str, arrays: Sequence[Any]) -> Any:
    """``ge.einsum``; half precision in f32, rounded once."""
    dtype = arrays[0].dtype
    own = dtypes.from_numpy(dtype)
    wide = np.float32 if own.is_float and own.itemsize < 4 else dtype
    return einsum_of(equation, [a.astype(wide, copy=False) for a in arrays]).astype(dtype, copy=False)


def einsum_shape(equation: str, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Shape of an einsum's result; GE1005 if the equation does not fit the operands."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise mismatch(f"equation {equation} has {len(terms)} terms for {len(shapes)} operands")
    sizes: dict[str, int] = {}
    ellipsis: tuple[int, ...] = ()
    for term, shape in zip(terms, shapes, strict=True):
        head, dots, tail = term.partition("...")
        loose = len(shape) - len(head) - len(tail)
        if loose < 0 or (loose and not dots) or (not (head + tail).isalpha() and head + tail):
            raise mismatch(f"term {term} of the equation does not fit rank {len(shape)}")
        for label, size in zip(head + tail, [*shape[: len(head)], *shape[len(head) + loose :]], strict=True):
            known = sizes.get(label, -1)
            if known not in (-1, 1) and size not in (-1, 1, known):
                raise mismatch(f"label {label} of {equation} is both {known} and {size}")
            sizes[label] = size if known in (-1, 1) and (size != -1 or known == -1) else known
        if dots:
            from gedialect.dialects.ge.shapes import broadcast

            ellipsis = broadcast(ellipsis, shape[len(head) : len(head) + loose])
    if not arrow:
        labels = [c for c in left if c.isalpha()]
        once = sorted({c for c in labels if labels.count(c) == 1})
        right = ("..." if "..." in left else "") + "".join(once)
    head, dots, tail = right.partition("...")
    unknown = [c for c in head + tail if c not in sizes]
    if unknown:
        raise mismatch(f"label {unknown[0]} of {equation} is in no operand")
    return (*(sizes[c] for c in head), *(ellipsis if dots else ()), *(sizes[c] for c in tail))
