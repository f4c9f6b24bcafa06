"""Pooling, local response normalisation and resizing against onnxruntime."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx_check import ge_run, onnx_run, same, static_dims_agree, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

RNG = np.random.default_rng(3)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def last(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def pool_attrs(k: Any, s: Any, p: Any, d: Any, ceil: bool) -> dict[str, Any]:
    return {
        "ksize": k,
        "strides": s,
        "pads": p,
        "dilations": d,
        "ceil_mode": ceil,
        "data_format": "NCHW" if len(k) == 2 else "NCDHW",
    }


def to_onnx(attrs: dict[str, Any]) -> dict[str, Any]:
    names = {"ksize": "kernel_shape"}
    return {
        names.get(k, k): list(v) if isinstance(v, tuple) else int(v) for k, v in attrs.items() if k != "data_format"
    }


def channels_last(attrs: dict[str, Any]) -> dict[str, Any]:
    return attrs | {"data_format": "NHWC" if len(attrs["ksize"]) == 2 else "NDHWC"}


GEOMETRY = [
    ((2, 3, 8, 9), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1)),
    ((1, 2, 7, 7), (3, 3), (2, 2), (1, 1, 1, 1), (1, 1)),
    ((1, 2, 7, 8), (3, 2), (2, 3), (1, 0, 0, 1), (1, 1)),
    ((1, 2, 9, 11), (3, 2), (3, 2), (0, 1, 2, 0), (2, 3)),
    ((1, 1, 4, 4), (2, 2), (3, 3), (0, 0, 1, 1), (1, 1)),
    ((1, 1, 5, 5), (4, 4), (1, 1), (3, 3, 3, 3), (1, 1)),
    ((1, 2, 5, 6, 7), (2, 3, 2), (2, 1, 3), (1, 0, 0, 0, 1, 1), (1, 1, 1)),
    ((1, 1, 6, 6, 6), (2, 2, 2), (2, 2, 2), (0, 0, 0, 0, 0, 0), (1, 2, 1)),
]


@pytest.mark.parametrize(("shape", "k", "s", "p", "d"), GEOMETRY)
@pytest.mark.parametrize("ceil", [False, True])
def test_max_pool(shape: Any, k: Any, s: Any, p: Any, d: Any, ceil: bool) -> None:
    x, attrs = floats(*shape), pool_attrs(k, s, p, d, ceil)
    n = len(k)
    want = onnx_run("MaxPool", [x], to_onnx(attrs), outputs=2)
    same(ge_run(f"max_pool{n}d", [x], attrs), want[:1])
    same(ge_run(f"max_pool{n}d", [last(x)], channels_last(attrs)), [last(want[0])])
    static_dims_agree(unknown(f"max_pool{n}d", [x], attrs), want[:1])
    if n == 2:
        same(ge_run("max_pool2d_with_argmax", [x], attrs), want)
        same(ge_run("max_pool2d_with_argmax", [last(x)], channels_last(attrs)), [last(w) for w in want])


def mean_by_definition(x: Any, attrs: dict[str, Any]) -> Any:
    """ONNX AveragePool-22 cell by cell, 2-D: windows divide by the cells inside the (padded) input."""
    (kh, kw), (sh, sw), (dh, dw) = attrs["ksize"], attrs["strides"], attrs["dilations"]
    top, left, bottom, right = attrs["pads"]
    h, w = x.shape[2:]
    (spec,) = op_class("avg_pool2d").infer(Attrs(attrs), Spec(dtypes.F32, x.shape))
    y = np.zeros(spec.shape, np.float32)
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        total, count = np.zeros(x.shape[:2]), 0
        for a, b in itertools.product(range(kh), range(kw)):
            r, c = i * sh - top + a * dh, j * sw - left + b * dw
            inside = 0 <= r < h and 0 <= c < w
            padded = -top <= r < h + bottom and -left <= c < w + right
            total += x[:, :, r, c] if inside else 0
            count += padded if attrs["count_include_pad"] else inside
        y[:, :, i, j] = total / count
    return y


@pytest.mark.parametrize(("shape", "k", "s", "p", "d"), GEOMETRY)
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_avg_pool(shape: Any, k: Any, s: Any, p: Any, d: Any, ceil: bool, include: bool) -> None:
    x = floats(*shape)
    attrs = pool_attrs(k, s, p, d, ceil) | {"count_include_pad": include}
    n = len(k)
    got = ge_run(f"avg_pool{n}d", [x], attrs)
    want = onnx_run("AveragePool", [x], to_onnx(attrs))
    same(got, want, 1e-5)
    if n == 2:
        same(got, [mean_by_definition(x, attrs)], 1e-5)
    same(ge_run(f"avg_pool{n}d", [last(x)], channels_last(attrs)), [last(got[0])], 1e-6)
    half = ge_run(f"avg_pool{n}d", [x.astype(np.float16)], attrs)
    same(half, [got[0].astype(np.float16)], 2e-3)
    if d == (1,) * n:
        plain = {a: v for a, v in attrs.items() if a != "dilations"}
        same(ge_run(f"avg_pool{n}d", [x], plain), got)


def test_integer_and_empty_pools() -> None:
    attrs = pool_attrs((2, 2), (1, 1), (1, 1, 0, 0), (1, 1), False)
    for dtype in (np.int8, np.uint8):
        x = RNG.integers(-128 if dtype is np.int8 else 0, 127, (1, 2, 5, 5)).astype(dtype)
        same(ge_run("max_pool2d", [x], attrs), onnx_run("MaxPool", [x], to_onnx(attrs)))
    assert ge_run("max_pool2d", [floats(0, 2, 5, 5)], attrs)[0].shape == (0, 2, 5, 5)
    assert ge_run("avg_pool2d", [floats(0, 2, 5, 5)], attrs | {"count_include_pad": True})[0].shape == (0, 2, 5, 5)


def test_overhanging_window_of_the_case_book() -> None:
    """A ceil_mode window over the padded edge divides by the cells inside the padded input only."""
    x = np.ones((1, 1, 4, 4), np.float32)
    attrs = pool_attrs((3, 3), (2, 2), (0, 0, 0, 0), (1, 1), True) | {"count_include_pad": True}
    np.testing.assert_array_equal(ge_run("avg_pool2d", [x], attrs)[0], np.ones((1, 1, 2, 2), np.float32))


def test_pool_bad_attributes() -> None:
    cls, x = op_class("max_pool2d"), Spec(dtypes.F32, (1, 2, 5, 5))
    good = pool_attrs((2, 2), (1, 1), (0, 0, 0, 0), (1, 1), False)
    for bad in [{"ksize": (2,)}, {"pads": (0, 0)}, {"strides": (0, 1)}, {"ksize": (6, 2)}, {"pads": (0, -1, 0, 0)}]:
        with pytest.raises(GeError) as e:
            cls.infer(Attrs(good | bad), x)
        assert e.value.code == "GE1005"
    with pytest.raises(GeError):
        cls.infer(Attrs(good), Spec(dtypes.F32, (1, 2, 5)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_lrn(size: int) -> None:
    x = floats(2, 7, 3, 4)
    if size % 2:
        want = onnx_run("LRN", [x], {"size": size, "alpha": 0.3, "beta": 0.7, "bias": 2.0})
    else:  # onnxruntime refuses even sizes: the sum by the words of the specification
        low, high = (size - 1) // 2, size // 2
        sums = [np.square(x[:, max(0, c - low) : c + high + 1]).sum(1) for c in range(7)]
        want = [x / (2.0 + 0.3 / size * np.stack(sums, 1)) ** np.float32(0.7)]
    before, after = (size - 1) // 2, size // 2
    attrs = {"depth_radius": before, "bias": 2.0, "alpha": 0.3 / size, "beta": 0.7, "data_format": "NCHW"}
    if after != before:
        attrs["depth_radius_end"] = after
    same(ge_run("lrn", [x], attrs), want, 1e-5)
    same(ge_run("lrn", [last(x)], attrs | {"data_format": "NHWC"}), [last(want[0])], 1e-5)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp_pool(p: int) -> None:
    x = floats(1, 2, 7, 8)
    attrs = {"p": p, "ksize": (3, 2), "strides": (2, 1), "pads": (1, 0, 0, 1), "data_format": "NCHW"}
    want = onnx_run("LpPool", [x], {"p": p, "kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]})
    same(ge_run("lp_pool2d", [x], attrs), want, 1e-5)
    dilated = attrs | {"dilations": (2, 3), "ceil_mode": True}
    want = onnx_run("LpPool", [x], to_onnx(dilated))
    same(ge_run("lp_pool2d", [x], dilated), want, 1e-5)


def test_adaptive_avg_pool() -> None:
    x = floats(2, 3, 7, 10)
    for out in [(1, 1), (7, 10), (3, 4), (5, 20)]:
        want = np.zeros((2, 3, *out), np.float32)
        for i, j in itertools.product(range(out[0]), range(out[1])):
            rows = slice(i * 7 // out[0], -(-(i + 1) * 7 // out[0]))
            columns = slice(j * 10 // out[1], -(-(j + 1) * 10 // out[1]))
            want[:, :, i, j] = x[:, :, rows, columns].mean((2, 3))
        same(ge_run("adaptive_avg_pool2d", [x], {"output_size": out}), [want], 1e-5)
        nhwc = {"output_size": out, "data_format": "NHWC"}
        same(ge_run("adaptive_avg_pool2d", [last(x)], nhwc), [last(want)], 1e-5)


COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
SCALES = [(1.0, 1.0, 2.0, 3.0), (1.0, 1.0, 0.6, 1.3), (1.0, 1.0, 0.5, 0.2), (1.0, 1.0, 1.0, 2.5)]


def resize(x: Any, attrs: dict[str, Any], tolerance: float = 1e-5, opset: int = 19) -> None:
    """The same from attributes, from operands, and in onnxruntime."""
    rest = {k: int(v) if isinstance(v, bool) else v for k, v in attrs.items() if k not in ("scales", "sizes", "roi")}
    rest = {k: list(v) if isinstance(v, tuple) else v for k, v in rest.items()}
    roi = np.array(attrs["roi"], np.float32) if "roi" in attrs else None
    scales = np.array(attrs["scales"], np.float32) if "scales" in attrs else None
    sizes = np.array(attrs["sizes"], np.int64) if "sizes" in attrs else None
    want = onnx_run("Resize", [x, roi, scales, sizes], rest, opset=opset)
    same(ge_run("resize", [x, None, None, None], attrs), want, tolerance)
    free = {k: v for k, v in attrs.items() if k not in ("scales", "sizes", "roi")}
    same(ge_run("resize", [x, roi, scales, sizes], free), want, tolerance)
    static_dims_agree(unknown("resize", [x, None, None, None], attrs), want)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_nearest(scales: Any, coordinates: str, rounding: str) -> None:
    attrs = {
        "mode": "nearest",
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": rounding,
        "scales": scales,
    }
    resize(floats(1, 2, 6, 5), attrs, 0)


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_interpolated(scales: Any, coordinates: str, mode: str) -> None:
    attrs = {"mode": mode, "coordinate_transformation_mode": coordinates, "scales": scales}
    resize(floats(2, 2, 6, 5), attrs)
    if mode == "cubic":
        resize(floats(1, 1, 6, 5), attrs | {"cubic_coeff_a": -0.5, "exclude_outside": True})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("size", [(9, 4), (1, 1), (6, 7), (3, 10)])
def test_resize_to_sizes(mode: str, size: Any) -> None:
    for coordinates in COORDINATES:
        if coordinates == "half_pixel_symmetric" and mode == "nearest":
            continue
        attrs = {"mode": mode, "coordinate_transformation_mode": coordinates, "sizes": (1, 2, *size)}
        resize(floats(1, 2, 6, 5), attrs)
        resize(floats(1, 2, 6, 5), attrs | {"sizes": size, "axes": (2, 3)})


def test_resize_policies() -> None:
    for policy in ("not_larger", "not_smaller"):
        attrs = {
            "mode": "linear",
            "coordinate_transformation_mode": "half_pixel",
            "sizes": (9, 4),
            "axes": (2, 3),
            "keep_aspect_ratio_policy": policy,
        }
        resize(floats(1, 2, 6, 5), attrs)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_crop(mode: str) -> None:
    attrs = {
        "mode": mode,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "sizes": (1, 1, 5, 4),
        "roi": (0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2),
        "extrapolation_value": 10.0,
    }
    resize(floats(1, 1, 6, 7), attrs)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("scales", [(1.0, 1.0, 0.6, 0.4), (1.0, 1.0, 0.3, 2.0)])
def test_resize_antialias(mode: str, exclude: bool, scales: Any) -> None:
    attrs = {"mode": mode, "coordinate_transformation_mode": "half_pixel", "scales": scales, "antialias": True}
    attrs["exclude_outside"] = exclude
    resize(floats(1, 1, 12, 11), attrs)


def test_resize_types() -> None:
    attrs = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "scales": (1, 1, 2.0, 2.0)}
    for dtype in (np.uint8, np.int32, np.int8):
        resize(RNG.integers(0, 100, (1, 1, 3, 4)).astype(dtype), attrs, 0)
    attrs = attrs | {"mode": "linear"}
    x = floats(1, 2, 3, 4)
    wide = ge_run("resize", [x, None, None, None], attrs)[0]
    same(ge_run("resize", [x.astype(np.float16), None, None, None], attrs), [wide.astype(np.float16)], 2e-3)


def test_resize_bad() -> None:
    cls = op_class("resize")
    base = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    x = Spec(dtypes.F32, (1, 1, 4, 4))
    for more in [
        {},
        {"scales": (1.0, 2.0)},
        {"scales": (1.0,) * 4, "sizes": (1,) * 4},
        {"sizes": (1,) * 4, "mode": "x"},
    ]:
        with pytest.raises(GeError):
            cls.infer(Attrs(base | more), x, None, None, None)
    unknown_scales = cls.infer(Attrs(base), x, None, Spec(dtypes.F32, (4,)), None)
    assert unknown_scales[0].shape == (DYNAMIC,) * 4
