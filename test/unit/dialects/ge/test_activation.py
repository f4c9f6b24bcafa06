"""Activations against onnxruntime, and erf against math."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_check import ge_run, onnx_run, same

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, I32
from gedialect.ir.spec import Spec

RANDOM = np.random.default_rng(5)

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("leaky_relu", {"negative_slope": 0.1}, "LeakyRelu", {"alpha": 0.1}),
    ("elu", {"alpha": 1.5, "scale": 1.0}, "Elu", {"alpha": 1.5}),
    ("elu", {"alpha": 1.5, "scale": 1.25}, "Selu", {"alpha": 1.5, "gamma": 1.25}),
    ("selu", {}, "Selu", {}),
    ("celu", {"alpha": 2.0}, "Celu", {"alpha": 2.0}),
    ("gelu", {"approximate": "none"}, "Gelu", {"approximate": "none"}),
    ("gelu", {"approximate": "tanh"}, "Gelu", {"approximate": "tanh"}),
    ("hard_swish", {}, "HardSwish", {}),
    ("hard_sigmoid", {"alpha": 0.3, "beta": 0.4}, "HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("sigmoid", {}, "Sigmoid", {}),
    ("tanh", {}, "Tanh", {}),
    ("softsign", {}, "Softsign", {}),
    ("erf", {}, "Erf", {}),
    ("mish", {}, "Mish", {}),
    ("softplus", {}, "Softplus", {}),
    ("thresholded_relu", {"alpha": 0.7}, "ThresholdedRelu", {"alpha": 0.7}),
    ("shrink", {"lambd": 0.5, "bias": 0.25}, "Shrink", {"lambd": 0.5, "bias": 0.25}),
]


@pytest.mark.parametrize("shape", [(4, 25), (), (0, 3)], ids=str)
@pytest.mark.parametrize(("op", "attrs", "onnx_op", "onnx_attrs"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_against_onnxruntime(op: str, attrs: Any, onnx_op: str, onnx_attrs: Any, shape: tuple[int, ...]) -> None:
    x = np.asarray(RANDOM.standard_normal(shape) * 4, np.float32)
    same(ge_run(op, [x], attrs), onnx_run(onnx_op, [x], onnx_attrs), 2e-6)


SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-30, 100.0, -100.0, 1e20, -1e20]
LIMITS = {
    "sigmoid": [1, 0, 0.5, 0.5, 0.5, 1, 0, 1, 0],
    "tanh": [1, -1, 0, 0, 1e-30, 1, -1, 1, -1],
    "erf": [1, -1, 0, 0, 1e-30 * 2 / math.sqrt(math.pi), 1, -1, 1, -1],
    "softplus": [math.inf, 0, math.log(2), math.log(2), math.log(2), 100, 0, 1e20, 0],
    "log_sigmoid": [0, -math.inf, -math.log(2), -math.log(2), -math.log(2), 0, -100, 0, -1e20],
    "relu6": [6, 0, 0, 0, 1e-30, 6, 0, 6, 0],
}


@pytest.mark.parametrize("op", LIMITS)
def test_limits(op: str) -> None:
    (got,) = ge_run(op, [np.asarray(SPECIAL, np.float32)], {})
    assert np.isnan(got[0])
    np.testing.assert_allclose(got[1:], np.asarray(LIMITS[op], np.float32), rtol=1e-6, atol=1e-40)


def test_erf_is_within_an_ulp() -> None:
    x = np.concatenate([np.linspace(-6, 6, 20001), 10.0 ** np.linspace(-40, 0, 500)]).astype(np.float32)
    want = np.asarray([math.erf(v) for v in x.tolist()])
    (got,) = ge_run("erf", [x], {})
    assert (np.abs(got - want) <= np.spacing(np.abs(want).astype(np.float32))).all()
    (exact,) = ge_run("erf", [x.astype(np.float64)], {})
    np.testing.assert_array_equal(exact, want)


@pytest.mark.parametrize("scale", [1.0, 1.702])
def test_swish(scale: float) -> None:
    x = np.asarray(RANDOM.standard_normal(100) * 4, np.float32)
    want = [v / (1 + math.exp(-scale * v)) for v in x.tolist()]
    np.testing.assert_allclose(ge_run("swish", [x], {"scale": scale})[0], want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype: Any) -> None:
    x = np.asarray(RANDOM.standard_normal(200) * 3, dtype)
    want = np.asarray([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float).tolist()]).astype(dtype)
    (got,) = ge_run("gelu", [x], {"approximate": "none"})
    np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=2**-7, atol=1e-4)
    assert (got == want)[x > -2].mean() > 0.98  # below, 1 + erf cancels


@pytest.mark.parametrize("bounds", [(-1.0, 2.0), (None, 2.0), (-1.0, None), (None, None), (2.0, -1.0)])
def test_clip(bounds: tuple[float | None, float | None]) -> None:
    for dtype in (np.float32, np.int32, np.int64, np.uint8):
        x = (RANDOM.standard_normal((3, 5)) * 4).astype(np.int8).astype(dtype)
        low, high = (None if v is None else np.asarray(abs(v) if dtype is np.uint8 else v, dtype) for v in bounds)
        same(ge_run("clip", [x, low, high], {}), onnx_run("Clip", [x, low, high], {}))


def test_prelu() -> None:
    x = np.asarray(RANDOM.standard_normal((2, 3, 4, 5)), np.float32)
    for shape in ((3, 1, 1), (1,), (2, 3, 4, 5), (5,)):
        slope = np.asarray(RANDOM.standard_normal(shape), np.float32)
        same(ge_run("prelu", [x, slope], {}), onnx_run("PRelu", [x, slope], {}), 1e-7)


def test_rejects() -> None:
    with pytest.raises(GeError, match="does not broadcast"):
        op_class("prelu").infer(Attrs(), Spec(F32, (1, 3)), Spec(F32, (2, 3)))
    with pytest.raises(GeError, match="approximate"):
        op_class("gelu").infer(Attrs({"approximate": "fast"}), Spec(F32, (3,)))
    with pytest.raises(GeError, match="element types differ"):
        op_class("clip").infer(Attrs(), Spec(F32, (3,)), Spec(I32, ()), None)
    with pytest.raises(GeError, match="takes floats"):
        op_class("sigmoid").infer(Attrs(), Spec(I32, (3,)))
