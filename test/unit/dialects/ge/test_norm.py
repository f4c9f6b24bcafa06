"""Normalisations and gated units against onnxruntime, the ONNX reference and numpy in f64."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx_check import ge_run, onnx_run, same

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir.dtypes import F16, F32
from gedialect.ir.spec import DYNAMIC, Spec

RANDOM = np.random.default_rng(11)


def normal(*shape: int) -> Any:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


def reference(op: str, inputs: list[Any], attrs: dict[str, Any], outputs: int = 1, opset: int = 23) -> list[Any]:
    """Results of a one-node model in ONNX's Python reference."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    outs = [helper.make_tensor_value_info(f"y{i}", 1, None) for i in range(outputs)]
    graph = helper.make_graph([node], "g", infos, outs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 6), (4, 3), (2, 3, 2, 2, 2)], ids=str)
def test_batch_norm(shape: tuple[int, ...]) -> None:
    x, parameters = normal(*shape), [normal(3), normal(3), normal(3), np.abs(normal(3))]
    form = {4: "NCHW", 3: "NCL", 2: "ND", 5: "NCDHW"}[len(shape)]
    attrs = {"epsilon": 1e-3, "data_format": form}
    want = onnx_run("BatchNormalization", [x, *parameters], {"epsilon": 1e-3})
    same(ge_run("batch_norm", [x, *parameters], attrs), want, 1e-6)
    if len(shape) == 4:
        (last,) = ge_run("batch_norm", [np.moveaxis(x, 1, -1), *parameters], {**attrs, "data_format": "NHWC"})
        same([np.moveaxis(last, -1, 1)], want, 1e-6)


def test_batch_norm_mixes_types() -> None:
    x = normal(2, 3, 4, 4).astype(np.float16)
    parameters = [normal(3), normal(3), normal(3), np.abs(normal(3))]
    (got,) = ge_run("batch_norm", [x, *parameters], {"epsilon": 1e-3, "data_format": "NCHW"})
    (want,) = onnx_run("BatchNormalization", [x.astype(np.float32), *parameters], {"epsilon": 1e-3})
    assert (got == want.astype(np.float16)).mean() > 0.98


def test_batch_norm_training() -> None:
    inputs = [normal(3, 4, 5, 6), normal(4), normal(4), normal(4), np.abs(normal(4))]
    attrs = {"epsilon": 1e-3, "exponential_avg_factor": 0.1, "data_format": "NCHW"}
    onnx_attrs = {"epsilon": 1e-3, "momentum": 0.9, "training_mode": 1}
    same(ge_run("batch_norm_training", inputs, attrs), reference("BatchNormalization", inputs, onnx_attrs, 3), 1e-5)


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm(axis: int, bias: bool) -> None:
    x = normal(2, 3, 8) * np.float32(3) + np.float32(1)
    inputs = [x, normal(*x.shape[axis:]), *([normal(*x.shape[axis:])] if bias else [])]
    attrs = {"begin_norm_axis": axis, "epsilon": 1e-5}
    want = onnx_run("LayerNormalization", inputs, {"axis": axis, "epsilon": 1e-5}, outputs=3)
    same(ge_run("layer_norm", [*inputs, None][:3], attrs), want, 2e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_layer_norm_of_halves_is_rounded_once(dtype: Any) -> None:
    x, gamma, beta = (v.astype(dtype) for v in (normal(20, 300) + np.float32(2), normal(300), normal(300)))
    wide = x.astype(np.float64)
    away = wide - wide.mean(1, keepdims=True)
    rstd = 1 / np.sqrt((away * away).mean(1, keepdims=True) + 1e-5)
    want = (away * rstd * gamma.astype(np.float64) + beta.astype(np.float64)).astype(dtype)
    y, mean, got_rstd = ge_run("layer_norm", [x, gamma, beta], {"begin_norm_axis": 1, "epsilon": 1e-5})
    assert (y != want).mean() < 0.02
    assert mean.dtype == got_rstd.dtype == np.float32
    np.testing.assert_allclose(got_rstd, rstd, rtol=1e-5)


def test_rms_norm() -> None:
    for shape in ((8,), (3, 8)):
        x, gamma = normal(2, 3, 8), normal(*shape)
        want = reference("RMSNormalization", [x, gamma], {"axis": -len(shape), "epsilon": 1e-6})
        same(ge_run("rms_norm", [x, gamma], {"epsilon": 1e-6})[:1], want, 2e-6)
        axes = tuple(range(3 - len(shape), 3))
        rstd = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(axes, keepdims=True) + 1e-6)
        np.testing.assert_allclose(ge_run("rms_norm", [x, gamma], {"epsilon": 1e-6})[1], rstd, rtol=1e-6)


def test_added_norms_equal_their_parts() -> None:
    x1, x2, gamma, beta, bias = (v.astype(np.float16) for v in (normal(2, 5, 8), normal(2, 5, 8), *normal(3, 8)))
    total = x1 + x2
    y, rstd, x = ge_run("add_rms_norm", [x1, x2, gamma], {"epsilon": 1e-6})
    same([y, rstd, x], [*ge_run("rms_norm", [total, gamma], {"epsilon": 1e-6}), total])
    for extra, summed in ((None, total), (bias, total + bias)):
        got = ge_run("add_layer_norm", [x1, x2, gamma, beta, extra], {"epsilon": 1e-5})
        parts = ge_run("layer_norm", [summed, gamma, beta], {"begin_norm_axis": -1, "epsilon": 1e-5})
        same(got, [*parts, summed])


def test_skip_layer_norm() -> None:
    inputs = [normal(2, 5, 8), normal(2, 5, 8), normal(8), normal(8)]
    (want,) = onnx_run("SkipLayerNormalization", inputs, {"epsilon": 1e-5}, domain="com.microsoft")
    same(ge_run("add_layer_norm", [*inputs, None], {"epsilon": 1e-5})[:1], [want], 2e-6)


def test_instance_norm() -> None:
    for shape, form in (((2, 3, 4, 5), "NCHW"), ((2, 3, 7), "NCL")):
        inputs = [normal(*shape), normal(3), normal(3)]
        want = onnx_run("InstanceNormalization", inputs, {"epsilon": 1e-5})
        got = ge_run("instance_norm", inputs, {"epsilon": 1e-5, "data_format": form})
        same(got[:1], want, 2e-6)
        axes = tuple(range(2, len(shape)))
        np.testing.assert_allclose(got[1], inputs[0].astype(np.float64).mean(axes, keepdims=True), atol=1e-6)
        np.testing.assert_allclose(got[2], inputs[0].astype(np.float64).var(axes, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups: int) -> None:
    inputs = [normal(2, 6, 4, 5), normal(6), normal(6)]
    attrs = {"num_groups": groups, "epsilon": 1e-5, "data_format": "NCHW"}
    want = reference("GroupNormalization", inputs, {"num_groups": groups, "epsilon": 1e-5}, opset=21)
    got = ge_run("group_norm", inputs, attrs)
    same(got[:1], want, 2e-6)
    np.testing.assert_allclose(got[1], inputs[0].reshape(2, groups, -1).mean(-1), atol=1e-6)
    np.testing.assert_allclose(got[2], inputs[0].reshape(2, groups, -1).var(-1), rtol=1e-5)
    last = ge_run("group_norm", [np.moveaxis(inputs[0], 1, -1), *inputs[1:]], {**attrs, "data_format": "NHWC"})
    same([np.moveaxis(last[0], -1, 1), *last[1:]], got, 2e-6)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_lrn(size: int) -> None:
    x = normal(2, 6, 3, 4)
    onnx_attrs = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    attrs = {"depth_radius": (size - 1) // 2, "bias": 1.5, "alpha": 0.3 / size, "beta": 0.6, "data_format": "NCHW"}
    same(ge_run("lrn", [x], attrs), onnx_run("LRN", [x], onnx_attrs), 1e-6)
    (last,) = ge_run("lrn", [np.moveaxis(x, 1, -1)], {**attrs, "data_format": "NHWC"})
    same([np.moveaxis(last, -1, 1)], onnx_run("LRN", [x], onnx_attrs), 1e-6)


def test_lrn_of_even_size() -> None:
    x = normal(1, 5, 1, 1)
    attrs = {"depth_radius": 0, "depth_radius_end": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.75, "data_format": "NCHW"}
    squares = np.append((x * x).reshape(-1), 0)
    want = x.reshape(-1) / (1 + 0.5 * (squares[:-1] + squares[1:])) ** 0.75
    np.testing.assert_allclose(ge_run("lrn", [x], attrs)[0].reshape(-1), want, rtol=1e-6)


def test_mvn() -> None:
    x = normal(3, 4, 5, 6) + np.float32(1)
    for axes in ((0, 2, 3), (1,)):
        want = onnx_run("MeanVarianceNormalization", [x], {"axes": axes})
        same(ge_run("mvn", [x], {"axes": axes, "epsilon": 1e-9}), want, 5e-6)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved: int) -> None:
    x, angles = normal(2, 3, 4, 8), RANDOM.uniform(-3, 3, (4, 4)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    batch = [np.stack([v, v]) for v in (cos, sin)]
    want = reference("RotaryEmbedding", [x, *batch], {"interleaved": interleaved})
    whole = [np.repeat(v, 2, -1) if interleaved else np.concatenate([v, v], -1) for v in (cos, sin)]
    same(ge_run("rotary_embedding", [x, *whole], {"mode": interleaved}), want, 1e-6)


def test_gated_units() -> None:
    x = normal(3, 8)
    a, b = (v.astype(np.float64) for v in np.split(x, 2, 1))
    np.testing.assert_allclose(ge_run("swi_glu", [x], {"dim": -1})[0], a / (1 + np.exp(-a)) * b, rtol=1e-5)
    gelu = np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))
    for left, want in ((True, gelu(a) * b), (False, gelu(b) * a)):
        attrs = {"dim": 1, "approximate": "none", "activate_left": left}
        np.testing.assert_allclose(ge_run("ge_glu", [x], attrs)[0], want, atol=1e-6)


def test_unknown_sizes() -> None:
    x = Spec(F16, (DYNAMIC, DYNAMIC, 8))
    results = op_class("layer_norm").infer(Attrs({"begin_norm_axis": -1, "epsilon": 1e-5}), x, Spec(F16, (8,)), None)
    assert results == [x, Spec(F32, (DYNAMIC, DYNAMIC, 1)), Spec(F32, (DYNAMIC, DYNAMIC, 1))]
    attrs = Attrs({"num_groups": 2, "epsilon": 1e-5, "data_format": "NCL"})
    assert op_class("group_norm").infer(attrs, x, Spec(F16, (DYNAMIC,)), Spec(F16, (4,)))[1] == Spec(F32, (DYNAMIC, 2))


@pytest.mark.parametrize(
    ("op", "attrs", "shapes"),
    [
        ("batch_norm", {"epsilon": 1e-3, "data_format": "NCHW"}, [(1, 3, 2, 2), (3,), (3,), (3,), (4,)]),
        ("batch_norm", {"epsilon": 1e-3, "data_format": "CHWN"}, [(1, 3, 2, 2), (3,), (3,), (3,), (3,)]),
        ("layer_norm", {"epsilon": 1e-3, "begin_norm_axis": 3}, [(2, 3), (3,), (3,)]),
        ("layer_norm", {"epsilon": 1e-3, "begin_norm_axis": 1}, [(2, 3), (4,), (3,)]),
        ("group_norm", {"epsilon": 1e-3, "num_groups": 2, "data_format": "NCHW"}, [(1, 3, 2, 2), (3,), (3,)]),
        ("rotary_embedding", {"mode": 0}, [(2, 5), (2, 5), (2, 5)]),
        ("rotary_embedding", {"mode": 2}, [(2, 4), (2, 4), (2, 4)]),
        ("swi_glu", {"dim": 0}, [(3, 4)]),
    ],
)
def test_rejects(op: str, attrs: Any, shapes: Any) -> None:
    with pytest.raises(GeError) as e:
        op_class(op).infer(Attrs(attrs), *(Spec(F32, s) for s in shapes))
    assert e.value.code == "GE1005"
