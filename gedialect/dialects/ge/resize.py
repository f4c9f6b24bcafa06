"""``ge.resize`` as ONNX Resize-19 defines it: every axis is interpolated by itself."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from gedialect.dialects.ge.base import BOOL, FLOAT, FLOATS, INTS, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words, given
from gedialect.dialects.ge.numeric import np, wide, widen
from gedialect.dialects.ge.shapes import mismatch, normalize_axis
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
TIE = 1e-6
"""Rounding error that a position between two elements may have (2 * 7 / 4 by a scale of 4 / 7 is 3.4999998); measured
on onnxruntime, which takes the same 1e-6 for small and for large positions."""
POLICIES = ("stretch", "not_larger", "not_smaller")


@irdl_op_definition
class ResizeOp(GeOp):
    """x resampled to ``sizes``, or by ``scales`` (size: floor(size * scale) in f32), along ``axes`` (absent: all).

    ``mode`` nearest, linear or cubic; ``coordinate_transformation_mode`` maps a result position to x;
    ``nearest_mode`` rounds it. Absent optional attributes stand for ONNX's defaults: nearest_mode
    round_prefer_floor, cubic_coeff_a -0.75, exclude_outside false, extrapolation_value 0, antialias false,
    keep_aspect_ratio_policy stretch. ``roi`` (starts, then ends, relative) is for tf_crop_and_resize.
    Integers are interpolated in f32 and truncated. exclude_outside has no effect on nearest, nor on linear
    without antialias (as in onnxruntime).
    """

    name = "ge.resize"
    GE_TYPES: ClassVar = ("Resize", "ResizeBilinearV2", "ResizeNearestNeighborV2", "ResizeD", "ResizeV2")
    FUSION_CLASS: ClassVar = FusionClass.WINDOW
    CONST_OPERANDS: ClassVar = (("roi", "roi"), ("scales", "scales"), ("sizes", "sizes"))
    FLOAT_ATTRS: ClassVar = frozenset({"roi", "scales", "cubic_coeff_a", "extrapolation_value"})
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    roi = opt_operand_def(TENSOR)
    scales = opt_operand_def(TENSOR)
    sizes = opt_operand_def(TENSOR)
    roi_attr = opt_prop_def(FLOATS, prop_name="roi")
    scales_attr = opt_prop_def(FLOATS, prop_name="scales")
    sizes_attr = opt_prop_def(INTS, prop_name="sizes")
    axes = opt_prop_def(INTS)
    mode = prop_def(words("nearest", "linear", "cubic"))
    coordinate_transformation_mode = prop_def(words(*COORDINATES))
    nearest_mode = opt_prop_def(words(*ROUNDINGS))
    cubic_coeff_a = opt_prop_def(FLOAT)
    exclude_outside = opt_prop_def(BOOL)
    extrapolation_value = opt_prop_def(FLOAT)
    antialias = opt_prop_def(BOOL)
    keep_aspect_ratio_policy = opt_prop_def(words(*POLICIES))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, _, scales, sizes = operands
        check_words(cls, attrs)
        by_scale = attrs.scales is not None or scales is not None
        if by_scale == (attrs.sizes is not None or sizes is not None):
            raise mismatch("resize takes either scales or sizes")
        if attrs.scales is None and attrs.sizes is None:
            return [x.with_shape(attrs.shape if attrs.results else (DYNAMIC,) * x.rank)]
        shape = list(x.shape)
        for axis, (size, _) in resized(attrs, x.shape, attrs.scales, attrs.sizes).items():
            shape[axis] = size
        return [x.with_shape(shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, roi, scales, sizes = operands
        plan = resized(attrs, x.shape, given(attrs, "scales", scales), given(attrs, "sizes", sizes))
        window = given(attrs, "roi", roi)
        y: Any = (
            x if attrs.mode == "nearest" else wide(x if dtypes.from_numpy(x.dtype).is_float else x.astype(np.float32))
        )
        steps, outside = resampled_axes(attrs, x.shape, plan, window)
        for axis, at, scale in steps:
            y = _resample(attrs, y, axis, at, scale)
        if outside is not None:
            y = np.where(outside, np.asarray(attrs.extrapolation_value or 0.0, y.dtype), y)
        return np.asarray(y.astype(x.dtype, copy=False))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Elements picked along each axis, for linear and cubic in a weighted sum; all positions are constants."""
        x, *sides = operands
        if any(s is not None for s in sides):
            raise UnsupportedError("resize by sizes known at run time", code="GE1205")
        spec = b.spec(x)
        plan = resized(attrs, spec.shape, attrs.scales, attrs.sizes)
        if any(size > MOST_POSITIONS for size, _ in plan.values()):
            raise UnsupportedError("resize to so many elements with a table of them", code="GE1205")
        steps, outside = resampled_axes(attrs, spec.shape, plan, attrs.roi)
        if attrs.mode == "nearest":
            y = _pick_all(b, x, {a: _nearest_taps(attrs, at, spec.shape[a]) for a, at, _ in steps})
        else:
            y = widen(b, x) if spec.dtype.is_float else b.cast(x, dtypes.F32)
            for axis, at, scale in steps:
                y = _weighted(b, attrs, y, axis, at, scale)
        if outside is not None:
            fill = b.splat(attrs.extrapolation_value or 0.0, b.spec(y).dtype)
            y = b.select(b.array(np.ascontiguousarray(outside)), fill, y)
        return b.cast(y, spec.dtype)


MOST_POSITIONS = 1 << 24
"""Elements of an axis whose positions are written down as constants."""


def resampled_axes(
    attrs: Attrs, shape: Sequence[int], plan: dict[int, tuple[int, float]], roi: Any
) -> tuple[list[tuple[int, Any, float]], Any]:
    """(axis, where its positions lie in x, scale) of each axis that changes, and where the result lies outside x
    (None: nowhere), which only ``tf_crop_and_resize`` fills."""
    steps: list[tuple[int, Any, float]] = []
    outside: Any = None
    for i, (axis, (size, scale)) in enumerate(plan.items()):
        crop = (roi[i], roi[len(plan) + i]) if roi else (0.0, 1.0)
        at = coordinates(attrs.coordinate_transformation_mode, size, shape[axis], scale, crop)
        if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
            beyond = ((at < 0) | (at > shape[axis] - 1)).reshape([-1 if a == axis else 1 for a in range(len(shape))])
            outside = beyond if outside is None else outside | beyond
        elif scale == 1 and size == shape[axis]:
            continue
        steps.append((axis, at, scale))
    return steps, outside


def _pick_all(b: GeBuilder, x: SSAValue, places: dict[int, list[int]]) -> SSAValue:
    """Elements of x along several axes: one repetition where each element is repeated equally often."""
    spec = b.spec(x)
    times = {a: len(p) // spec.shape[a] for a, p in places.items() if len(p) >= spec.shape[a]}
    even = {a: t for a, t in times.items() if places[a] == [i // t for i in range(t * spec.shape[a])]}
    split: list[int] = []
    wide: list[int] = []
    for axis, n in enumerate(spec.shape):
        split += [n, 1] if axis in even else [n]
        wide += [n, even[axis]] if axis in even else [n]
    if split != wide:
        x = b.expand(b.reshape(x, shape=split), shape=wide)
        x = b.reshape(x, shape=[n * even.get(i, 1) for i, n in enumerate(spec.shape)])
    for axis, p in places.items():
        if axis not in even:
            x = _pick(b, x, axis, p)
    return x


def _pick(b: GeBuilder, x: SSAValue, axis: int, places: Sequence[int]) -> SSAValue:
    """Elements of x along one axis at constant places: a slice if they are evenly spaced, else a gather."""
    n = b.spec(x).shape[axis]
    step = places[1] - places[0] if len(places) > 1 else 1
    if step and all(j - i == step for i, j in pairwise(places)):
        if len(places) == n and step == 1:
            return x
        end = places[-1] + step
        return b.slice(x, begin=[places[0]], end=[end if end >= 0 else -n - 1], axes=[axis], strides=[step])
    return b.gather(x, b.array(np.array(places, np.int32)), axis=axis, batch_dims=0)


def _weighted(b: GeBuilder, attrs: Attrs, x: SSAValue, axis: int, at: Any, scale: float) -> SSAValue:
    """``_resample`` of linear and cubic, in the same order of operations."""
    spec = b.spec(x)
    taps, weights = _taps(attrs, spec.shape[axis], at, scale)
    weights = weights.astype(spec.dtype.numpy)
    y: Any = None
    for j in range(taps.shape[1]):
        factor = b.array(np.ascontiguousarray(weights[:, j].reshape(-1, *[1] * (spec.rank - 1 - axis))))
        part = b.mul(_pick(b, x, axis, taps[:, j].tolist()), factor)
        y = part if y is None else b.add(y, part)
    return y


def _f32(value: float) -> float:
    """The f32 nearest to a number (numpy is not loaded for inference)."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def resized(attrs: Attrs, shape: Sequence[int], scales: Any, sizes: Any) -> dict[int, tuple[int, float]]:
    """axis -> (new size, scale) of the axes named; GE1005 if the lists do not fit."""
    axes = attrs.axes if attrs.axes is not None else tuple(range(len(shape)))
    axes = [normalize_axis(a, len(shape)) for a in axes]
    values = scales if scales is not None else sizes
    if values is None or len(values) != len(axes) or min(values, default=1) < 0:
        raise mismatch(f"scales or sizes {values} do not fit axes {axes}")
    out: dict[int, tuple[int, float]] = {}
    if scales is not None:
        for axis, scale in zip(axes, scales, strict=True):
            size = DYNAMIC if shape[axis] == DYNAMIC else int(_f32(_f32(scale) * shape[axis]))
            out[axis] = (size, _f32(scale))
        return out
    policy = attrs.keep_aspect_ratio_policy
    if policy in (None, "stretch"):
        return {a: (n, n / shape[a] if shape[a] > 0 else 1.0) for a, n in zip(axes, sizes, strict=True)}
    if any(shape[a] == DYNAMIC for a in axes):
        return {a: (DYNAMIC, 1.0) for a in axes}
    ratios = [n / shape[a] for a, n in zip(axes, sizes, strict=True) if shape[a]]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return {a: (int(ratio * shape[a] + 0.5), ratio) for a in axes}


def coordinates(mode: str, size: int, old: int, scale: float, crop: tuple[float, float]) -> Any:
    """Where result positions 0..size-1 lie in x, in f32 as onnxruntime computes them."""
    at, s = np.arange(size, dtype=np.float32), np.float32(scale)
    half = np.float32(0.5)
    match mode:
        case "asymmetric":
            return at / s
        case "align_corners":
            return at * np.float32(old - 1) / np.float32(size - 1) if size > 1 else np.zeros(size, np.float32)
        case "tf_half_pixel_for_nn":
            return (at + half) / s
        case "pytorch_half_pixel":
            return (at + half) / s - half if size > 1 else np.zeros(size, np.float32)
        case "half_pixel_symmetric":
            adjust = np.float32(size) / (s * np.float32(old))
            offset = np.float32(old / 2) * (1 - adjust)
            return (offset + (at + half).astype(np.float64) / s - half).astype(np.float32)
        case "tf_crop_and_resize":
            start, end = np.float32(crop[0]), np.float32(crop[1])
            if size <= 1:
                return np.full(size, half * (start + end) * np.float32(old - 1))
            return start * np.float32(old - 1) + at * (end - start) * np.float32(old - 1) / np.float32(size - 1)
        case _:
            return (at + half) / s - half


def nearest(at: Any, rounding: str | None) -> Any:
    """Positions rounded to elements. A position between two elements but for rounding errors is between them."""
    half, low = np.float32(0.5), np.floor(at)
    between = np.abs(at - low - half) < np.float32(TIE)
    match rounding:
        case "floor":
            return low
        case "ceil":
            return np.ceil(at)
        case "round_prefer_ceil":
            return np.where(between, low + 1, np.floor(at + half))
        case _:
            return np.where(between, low, np.ceil(at - half))


def _resample(attrs: Attrs, x: Any, axis: int, at: Any, scale: float) -> Any:
    """x interpolated along one axis at positions ``at``."""
    last = x.shape[axis] - 1
    if last < 0:
        if len(at):
            raise mismatch("an empty axis cannot be resized")
        return x
    if attrs.mode == "nearest":
        return np.take(x, np.array(_nearest_taps(attrs, at, last + 1), np.int64), axis)
    taps, weights = _taps(attrs, last + 1, at, scale)
    weights = weights.astype(x.dtype)
    trailing = [1] * (x.ndim - 1 - axis)
    y: Any = None
    for j in range(taps.shape[1]):
        part = np.take(x, taps[:, j], axis) * weights[:, j].reshape(-1, *trailing)
        y = part if y is None else y + part
    return y


def _nearest_taps(attrs: Attrs, at: Any, size: int) -> list[int]:
    """The element of x that each position takes."""
    return np.clip(nearest(at, attrs.nearest_mode), 0, size - 1).astype(np.int64).tolist()


def _taps(attrs: Attrs, size: int, at: Any, scale: float) -> tuple[Any, Any]:
    """Elements of an axis of ``size`` that meet at each position of ``at``, and their weights: [positions, taps]."""
    last = size - 1
    stretch = min(scale, 1.0) if attrs.antialias else 1.0
    antialias = stretch < 1
    reach = (1 if attrs.mode == "linear" else 2) / stretch
    base = np.floor(at)
    steps = np.arange(int(np.floor(-reach)) + 1, int(np.ceil(reach)) + 1)
    distance = (steps - (at - base)[:, None]).astype(np.float64) * stretch
    weights = _linear(distance) if attrs.mode == "linear" else _cubic(distance, attrs.cubic_coeff_a)
    taps = base[:, None].astype(np.int64) + steps
    exclude = attrs.exclude_outside and (antialias or attrs.mode == "cubic")
    if exclude:
        weights = np.where((taps >= 0) & (taps <= last), weights, 0)
    if antialias or exclude:
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(taps, 0, last), weights


def _linear(distance: Any) -> Any:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: Any, a: float | None) -> Any:
    a = -0.75 if a is None else a
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))
