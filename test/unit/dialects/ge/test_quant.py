"""Quantisation against onnxruntime; expansions against ``evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_check import expanded, ge_run, onnx_run, same, static_dims_agree, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

RNG = np.random.default_rng(2)


# halves test the rounding, large values the saturation
X = np.concatenate([np.arange(-300, 300, 2.5), [0.5, 1.5, 2.5, -0.5, -1.5, 1e30, -1e30]]).astype(np.float32)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("scale", [1.0, 0.5, 1.7])
def test_quantize_per_tensor(dtype: Any, scale: float) -> None:
    s = np.array(scale, np.float32)
    for zero in (None, np.array(3, dtype), np.array(np.iinfo(dtype).max, dtype)):
        if zero is None and dtype is not np.uint8:
            continue
        want = onnx_run("QuantizeLinear", [X, s, zero], {})
        operands = [X, s, zero]
        same(ge_run("quantize", operands, {"axis": 0}, [Spec(dtypes.from_numpy(dtype), X.shape)]), want)
        same(expanded("quantize", operands, {"axis": 0}), want)
    vector = [X, s.reshape(1), np.array([3], dtype)]
    same(ge_run("quantize", vector, {"axis": 0}), ge_run("quantize", [X, s, np.array(3, dtype)], {"axis": 0}))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_per_axis(axis: int) -> None:
    x = (RNG.standard_normal((3, 4, 5)) * 50).astype(np.float32)
    n = x.shape[axis]
    scale = RNG.uniform(0.1, 2, n).astype(np.float32)
    zero = RNG.integers(-20, 20, n).astype(np.int8)
    attrs = {"axis": axis}
    want = onnx_run("QuantizeLinear", [x, scale, zero], attrs)
    same(ge_run("quantize", [x, scale, zero], attrs), want)
    same(expanded("quantize", [x, scale, zero], attrs), want)
    static_dims_agree(unknown("quantize", [x, scale, zero], attrs), want)
    back = onnx_run("DequantizeLinear", [want[0], scale, zero], attrs)
    same(ge_run("dequantize", [want[0], scale, zero], attrs), back)
    same(expanded("dequantize", [want[0], scale, zero], attrs), back)


def test_half() -> None:
    x = (RNG.standard_normal((3, 40)) * 50).astype(np.float16)
    scale, zero = np.array(0.37, np.float16), np.array(7, np.uint8)
    want = onnx_run("QuantizeLinear", [x, scale, zero], {})
    got = ge_run("quantize", [x, scale, zero], {"axis": 0})
    assert np.abs(got[0].astype(int) - want[0]).max() <= 1  # onnxruntime divides in f16
    exact = np.clip(np.rint(x.astype(np.float32) / np.float32(scale)) + 7, 0, 255).astype(np.uint8)
    same(got, [exact])
    same(expanded("quantize", [x, scale, zero], {"axis": 0}), got)
    back = onnx_run("DequantizeLinear", [got[0], scale, zero], {})
    same(ge_run("dequantize", [got[0], scale, zero], {"axis": 0}), back, 1e-3)
    same(
        expanded("dequantize", [got[0], scale, zero], {"axis": 0}),
        ge_run("dequantize", [got[0], scale, zero], {"axis": 0}),
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.int32])
def test_dequantize(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    x = RNG.integers(limits.min, limits.max, (6, 5), endpoint=True).astype(dtype)
    scale = np.array(0.013, np.float32)
    for zero in (None, np.array(limits.max // 3, dtype)):
        if dtype is np.int32 and zero is not None:
            continue
        want = onnx_run("DequantizeLinear", [x, scale, zero], {})
        same(ge_run("dequantize", [x, scale, zero], {"axis": 1}), want)
        same(expanded("dequantize", [x, scale, zero], {"axis": 1}), want)


@pytest.mark.parametrize(
    "x", [RNG.standard_normal((3, 7)), RNG.uniform(2, 9, (20,)), -RNG.uniform(2, 9, (2, 2, 2)), np.zeros((3,))]
)
def test_dynamic_quantize(x: Any) -> None:
    x = x.astype(np.float32)
    want = onnx_run("DynamicQuantizeLinear", [x], {}, outputs=3)
    same(ge_run("dynamic_quantize", [x], {}), want)
    same(expanded("dynamic_quantize", [x], {}), want)


def test_bad_operands() -> None:
    f32, i8 = dtypes.F32, dtypes.I8
    quantize, dequantize = op_class("quantize"), op_class("dequantize")
    with pytest.raises(GeError, match="does not fit axis"):
        quantize.infer(Attrs({"axis": 1}), Spec(f32, (2, 3)), Spec(f32, (2,)), Spec(i8, (2,)))
    with pytest.raises(UnsupportedError, match="per tensor or per axis"):
        quantize.infer(Attrs({"axis": 0}), Spec(f32, (4, 3)), Spec(f32, (2, 3)), Spec(i8, (2, 3)))
    with pytest.raises(UnsupportedError, match="quantisation to f32"):
        dequantize.infer(Attrs({"axis": 0}), Spec(f32, (2, 3)), Spec(f32, ()), None)
    with pytest.raises(GeError, match="zero points are ui8"):
        dequantize.infer(Attrs({"axis": 0}), Spec(i8, (2, 3)), Spec(f32, ()), Spec(dtypes.UI8, ()))
