"""Products of quantised operands: the cube multiplies 8-bit values as they are, zero points are taken off the sums.

``sum (a - p)(b - q) = sum a b - q sum a - p (sum b - q n)`` holds exactly in i32, which wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import SSAValue

from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.layouts import channel_axis, spatial_axes
from gedialect.ir import dtypes
from gedialect.ir.dtypes import I32
from gedialect.ir.spec import DYNAMIC, Spec, spec_of

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

NARROW = frozenset(("i8", "ui8"))
EXACT_TAPS = (1 << 24) // (255 * 255)
"""Products of 8-bit differences that f32 adds up exactly."""


def constant_array(value: SSAValue) -> Any:
    """The numpy array of a ``ge.constant``, None for other values."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return None
    from gedialect.ir.weights import read_constant

    return read_constant(owner.value, spec_of(value.type))


def is_zero(zero: SSAValue | None) -> bool:
    """Whether a zero point is absent or known to be zero everywhere."""
    if zero is None:
        return True
    array = constant_array(zero)
    return array is not None and not array.any()


def _size(b: GeBuilder, value: SSAValue) -> int:
    spec = b.spec(value)
    return spec.size if spec.is_static else DYNAMIC


def _scalar(b: GeBuilder, value: SSAValue) -> SSAValue:
    """A zero point of one element as an i32 scalar."""
    value = b.cast(value, I32)
    return b.reshape(value, shape=[]) if b.spec(value).rank else value


def _sum(b: GeBuilder, x: SSAValue, axes: Sequence[int], keep: bool) -> SSAValue:
    return b.reduce_sum(b.cast(x, I32), axes=list(axes), keep_dims=keep)


def integer_matmul(
    b: GeBuilder,
    x1: SSAValue,
    zero1: SSAValue | None,
    x2: SSAValue,
    zero2: SSAValue | None,
    transpose: tuple[bool, bool] = (False, False),
) -> SSAValue:
    """``(x1 - zero1) @ (x2 - zero2)`` in i32 for i8 and ui8 operands of rank 2 or more.

    zero1 is one element, or broadcasts against [.., m, 1]; zero2 one element, [n], or broadcasts against [.., 1, n].
    """
    s1, s2 = b.spec(x1), b.spec(x2)
    k_axes = (s1.rank - (2 if transpose[0] else 1), s2.rank - (1 if transpose[1] else 2))
    q = None if is_zero(zero2) else b.cast(cast(SSAValue, zero2), I32)
    bias = columns = None
    if not is_zero(zero1):
        assert zero1 is not None
        columns = _sum(b, x2, [k_axes[1]], True)  # [.., 1, n], or [.., n, 1] if transposed
        if transpose[1]:
            columns = b.transpose(columns, perm=[*range(s2.rank - 2), s2.rank - 1, s2.rank - 2])
        if q is not None:
            depth = b.splat(s1.shape[k_axes[0]], I32)
            columns = b.sub(columns, b.mul(_row(b, q), depth))
        if s2.rank == 2 and _size(b, zero1) == 1 and b.spec(columns).rank == 2:
            n = s2.shape[0 if transpose[1] else 1]
            bias = b.reshape(b.neg(b.mul(columns, _scalar(b, zero1))), shape=[n])
            columns = None
    y: SSAValue = b.matmul(x1, x2, bias, transpose_x1=transpose[0], transpose_x2=transpose[1])
    if columns is not None:
        p = _scalar(b, cast(SSAValue, zero1)) if _size(b, cast(SSAValue, zero1)) == 1 else b.cast(zero1, I32)  # pyright: ignore[reportArgumentType]
        y = b.sub(y, b.mul(columns, p))
    if q is not None:
        rows = _sum(b, x1, [k_axes[0]], True)
        if transpose[0]:
            rows = b.transpose(rows, perm=[*range(s1.rank - 2), s1.rank - 1, s1.rank - 2])
        y = b.sub(y, b.mul(rows, _row(b, q)))
    return y


def _row(b: GeBuilder, q: SSAValue) -> SSAValue:
    """A zero point of x2, in i32, as a scalar or [.., 1, n]."""
    if _size(b, q) == 1:
        return _scalar(b, q)
    return b.unsqueeze(q, axes=[0]) if b.spec(q).rank == 1 else q


def integer_conv(
    b: GeBuilder,
    x: SSAValue,
    zero_x: SSAValue | None,
    w: SSAValue,
    zero_w: SSAValue | None,
    bias: SSAValue | None,
    attrs: Mapping[str, Any],
) -> SSAValue:
    """The convolution of ``x - zero_x`` by ``w - zero_w``, in i32, for i8 and ui8 operands; attributes of ge.conv2d.

    zero_x is one element, zero_w one or [channels]; bias is i32 [channels]. Pads stand for ``zero_x``.
    """
    xs, ws = b.spec(x), b.spec(w)
    groups = int(attrs["groups"])
    mnemonic = "conv2d" if xs.rank == 4 else "conv3d"
    n = xs.rank - 2
    along = channel_axis(str(attrs["data_format"]), xs.rank)
    taps = prod(ws.shape[1:])
    depthwise = groups > 1 and ws.shape[1] == 1 and ws.shape[0] == groups
    if depthwise and taps <= EXACT_TAPS:
        return _on_floats(b, mnemonic, x, zero_x, w, zero_w, bias, attrs)
    pads = tuple(attrs["pads"])
    fixed = None if is_zero(zero_x) or zero_x is None else constant_array(zero_x)
    if fixed is not None and any(p > 0 for p in pads) and min(pads) >= 0:
        x = _padded(b, x, pads, int(fixed.reshape(-1)[0]), str(attrs["data_format"]))
        xs = b.spec(x)
        pads = (0,) * 2 * n
    attrs = {**attrs, "pads": list(pads)}
    sums = None  # of the filter's values that meet x
    if not is_zero(zero_x):
        assert zero_x is not None
        if any(pads):
            sums = getattr(b, mnemonic)(b.splat(1, dtypes.I8, (1, *xs.shape[1:])), w, None, **attrs)
        else:
            sums = _sum(b, w, range(1, ws.rank), False)
            sums = _channels(b, sums, xs.rank, attrs)
    q = None if is_zero(zero_w) else b.cast(cast(SSAValue, zero_w), I32)
    if q is not None:
        q = _scalar(b, q) if _size(b, q) == 1 else _channels(b, q, xs.rank, attrs)
    # sum (x - p)(w - q) = sum x w - p (sum w - q n) - q sum x
    correction = None
    if sums is not None:
        assert zero_x is not None
        if q is not None:
            ones = b.splat(1, dtypes.I8, (groups, *ws.shape[1:]))
            if any(pads):
                count = getattr(b, mnemonic)(b.splat(1, dtypes.I8, (1, *xs.shape[1:])), ones, None, **attrs)
                count = _repeated(b, count, ws.shape[0] // groups, along) if groups > 1 else count
            else:
                count = b.splat(taps, I32)
            sums = b.sub(sums, b.mul(q, count))
        correction = b.neg(b.mul(sums, _scalar(b, zero_x)))
    operand = bias
    if correction is not None and not any(pads):
        flat = b.reshape(correction, shape=[ws.shape[0]])
        operand = flat if bias is None else b.add(flat, bias)
        correction = None
    y: SSAValue = getattr(b, mnemonic)(x, w, operand, **attrs)
    if correction is not None:
        y = b.add(y, correction)
    if q is not None:
        exact = groups > 1 and ws.shape[1] == 1  # then the vector unit adds them up, in f32
        ones = b.splat(1, dtypes.F32 if exact else dtypes.I8, (groups, *ws.shape[1:]))
        total = getattr(b, mnemonic)(b.cast(x, dtypes.F32) if exact else x, ones, None, **attrs)
        total = b.cast(total, I32)
        if groups > 1:
            total = _repeated(b, total, ws.shape[0] // groups, along)
        y = b.sub(y, b.mul(total, q))
    return y


def _repeated(b: GeBuilder, x: SSAValue, times: int, axis: int) -> SSAValue:
    """Each slice along ``axis`` repeated ``times`` times in a row."""
    if times == 1:
        return x
    shape = list(b.spec(x).shape)
    x = b.expand(b.unsqueeze(x, axes=[axis + 1]), None, shape=[*shape[: axis + 1], times, *shape[axis + 1 :]])
    shape[axis] *= times
    return b.reshape(x, shape=shape)


def _channels(b: GeBuilder, value: SSAValue, rank: int, attrs: Mapping[str, Any]) -> SSAValue:
    """[channels] shaped to broadcast along the channels of the result."""
    trailing = rank - 1 - channel_axis(str(attrs["data_format"]), rank)
    shape = [1] * rank
    shape[rank - 1 - trailing] = b.spec(value).size
    return b.reshape(value, shape=shape)


def _padded(b: GeBuilder, x: SSAValue, pads: Sequence[int], value: int, data_format: str) -> SSAValue:
    spec = b.spec(x)
    full = [0] * 2 * spec.rank
    n = spec.rank - 2
    for i, axis in enumerate(spatial_axes(data_format, spec.rank)):
        full[axis], full[spec.rank + axis] = pads[i], pads[n + i]
    return b.pad(x, None, b.splat(value, spec.dtype), paddings=full, mode="constant")


def _less(b: GeBuilder, x: SSAValue, zero: SSAValue | None, dtype: dtypes.DType, filter_rank: int = 0) -> SSAValue:
    """``x - zero`` in ``dtype``; a vector of zero points goes along the first of ``filter_rank`` axes."""
    wide = b.cast(x, dtype)
    if is_zero(zero) or zero is None:
        return wide
    if _size(b, zero) == 1:
        z = b.cast(zero, dtype)
        return b.sub(wide, b.reshape(z, shape=[]) if b.spec(z).rank else z)
    return b.sub(wide, b.reshape(b.cast(zero, dtype), shape=[-1, *[1] * (filter_rank - 1)]))


def _on_floats(
    b: GeBuilder,
    mnemonic: str,
    x: SSAValue,
    zero_x: SSAValue | None,
    w: SSAValue,
    zero_w: SSAValue | None,
    bias: SSAValue | None,
    attrs: Mapping[str, Any],
) -> SSAValue:
    """In f32, which holds sums of so few products exactly."""
    rank = b.spec(w).rank
    left, right = _less(b, x, zero_x, dtypes.F32), _less(b, w, zero_w, dtypes.F32, rank)
    y = b.cast(getattr(b, mnemonic)(left, right, None, **attrs), I32)
    return y if bias is None else b.add(y, _channels(b, bias, rank, attrs))


def requantized(b: GeBuilder, total: SSAValue, scale: SSAValue, zero: SSAValue, low: int, high: int) -> SSAValue:
    """``saturate(round_half_even(total * scale) + zero)`` of i32 sums; ``scale`` (f32) broadcasts.

    One product in f32 and one rounding, as onnxruntime does it.
    """
    result: Spec = b.spec(zero)
    y = b.round(b.mul(b.cast(total, dtypes.F32), scale))
    if not is_zero(zero):
        z = b.cast(zero, dtypes.F32)
        y = b.add(y, b.reshape(z, shape=[]) if _size(b, z) == 1 and b.spec(z).rank else z)
    return b.cast(b.minimum(b.maximum(y, float(low)), float(high)), result.dtype)
