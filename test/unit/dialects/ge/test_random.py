"""Random generators: distributions, seeds, and that no pass may merge or drop them; sampling on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_check import ge_run, onnx_run, same
from xdsl.traits import Pure, is_side_effect_free

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

RNG = np.random.default_rng(5)
N = 20000
F32 = Spec(dtypes.F32, (N,))


def draw(name: str, operands: list[Any], attrs: dict[str, Any], result: Spec) -> Any:
    return ge_run(name, operands, attrs, [result])[0]


def test_random_uniform_and_normal() -> None:
    uniform = {"low": -2.0, "high": 6.0, "shape": (N,)}
    y = draw("random_uniform", [None], uniform, F32)
    assert y.min() >= -2
    assert y.max() < 6
    assert abs(y.mean() - 2) < 0.1
    assert abs(y.var() - 64 / 12) < 0.2
    normal = {"mean": 3.0, "scale": 0.5, "shape": (N,)}
    y = draw("random_normal", [None], normal, F32)
    assert abs(y.mean() - 3) < 0.03
    assert abs(y.std() - 0.5) < 0.02
    like = draw("random_normal", [np.zeros((2, 3), np.float16)], {"mean": 0.0, "scale": 1.0}, Spec(dtypes.F16, (2, 3)))
    assert like.shape == (2, 3)
    for attrs in (uniform | {"seed": 7.5},):
        same([draw("random_uniform", [None], attrs, F32)], [draw("random_uniform", [None], attrs, F32)])
    first = draw("random_uniform", [None], uniform, F32)
    assert (first != draw("random_uniform", [None], uniform, F32)).any()


def test_bernoulli_and_multinomial() -> None:
    p = np.repeat(np.array([0, 0.25, 1], np.float32), N)
    y = draw("bernoulli", [p], {}, Spec(dtypes.I1, p.shape)).reshape(3, N).mean(1)
    np.testing.assert_allclose(y, [0, 0.25, 1], atol=0.02)
    logits = np.log(np.array([[1, 2, 1], [0, 1, 0]], np.float32) + np.float32(1e-20))
    y = draw("multinomial", [logits], {"sample_size": N}, Spec(dtypes.I64, (2, N)))
    np.testing.assert_allclose(np.bincount(y[0], minlength=3) / N, [0.25, 0.5, 0.25], atol=0.02)
    assert (y[1] == 1).all()


def test_generators_have_an_effect() -> None:
    for name in ("random_uniform", "random_normal", "bernoulli", "multinomial"):
        assert not op_class(name).has_trait(Pure)
    op = op_class("random_uniform").make([], {"low": 0.0, "high": 1.0, "shape": (2,)})
    op.verify()
    assert not is_side_effect_free(op)
    assert op_class("matmul").has_trait(Pure)
    with pytest.raises(GeError):
        op_class("random_uniform").infer(Attrs({"low": 0.0, "high": 1.0}), None)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(mode: str, padding: str, align: bool) -> None:
    x = RNG.standard_normal((2, 3, 5, 6)).astype(np.float32)
    grid = RNG.uniform(-1.6, 1.6, (2, 4, 7, 2)).astype(np.float32)
    attrs = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": align}
    onnx_mode = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[mode]
    given = {"mode": onnx_mode, "padding_mode": padding, "align_corners": int(align)}
    same(ge_run("grid_sample", [x, grid], attrs), onnx_run("GridSample", [x, grid], given, opset=20), 1e-5)
    if mode != "bicubic":
        x = RNG.standard_normal((1, 2, 3, 4, 5)).astype(np.float32)
        grid = RNG.uniform(-1.6, 1.6, (1, 2, 4, 3, 3)).astype(np.float32)
        same(ge_run("grid_sample", [x, grid], attrs), onnx_run("GridSample", [x, grid], given, opset=20), 1e-5)
