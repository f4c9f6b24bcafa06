"""Ops of com.microsoft through the whole path against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import Array, floats, model, node, reference, same

import gedialect

MS = {"com.microsoft": 1}
RANDOM = np.random.default_rng(5)


def check(nodes: list[onnx.NodeProto], inputs: dict[str, Array], outputs: list[str], **given: Any) -> None:
    weights: dict[str, Array] = given.get("weights", {})
    m = model(nodes, inputs, outputs, weights=weights, domains=MS)
    want = reference(m, inputs)
    for level in ("O0", "O2"):
        executable = gedialect.compile(m, level=level)
        got = executable.run(inputs, sanitize=True)
        assert executable.report.host_ops == []
        for g, w in zip(got.values(), want, strict=True):
            if w.dtype.kind in "iu":
                assert g.dtype == w.dtype
                assert np.abs(g.astype(int) - w).max() <= 1  # a rounding may fall on the other side
            else:
                same(g, w, given.get("tolerance", 2e-5))


def ms(op_type: str, inputs: list[str], outputs: list[str], **attrs: Any) -> onnx.NodeProto:
    return node(op_type, inputs, outputs, domain="com.microsoft", **attrs)


MASKS = {
    "none": None,
    "lengths": np.array([3, 5], np.int32),
    "keys": np.array([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]], np.int32),
    "pairs": (RANDOM.random((2, 5, 5)) < 0.7).astype(np.int32) | np.eye(5, dtype=np.int32),
}


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS)
def test_attention(mask: str, causal: int) -> None:
    weights = {"w": floats(16, 48, seed=1) * np.float32(0.3), "b": floats(48, seed=2)}
    inputs = {"x": floats(2, 5, 16)}
    names = ["x", "w", "b"]
    given = MASKS[mask]
    if given is not None:
        inputs["mask"] = given
        names.append("mask")
    check([ms("Attention", names, ["y"], num_heads=4, unidirectional=causal)], inputs, ["y"], weights=weights)


@pytest.mark.parametrize("form", ["plain", "bias", "mask", "shift", "past"])
def test_multi_head_attention(form: str) -> None:
    inputs = {"q": floats(2, 4, 16), "k": floats(2, 6, 16, seed=1), "v": floats(2, 6, 24, seed=2)}
    names, outputs = ["q", "k", "v"], ["y"]
    match form:
        case "bias":
            inputs["b"] = floats(56, seed=3)
            names += ["b"]
        case "mask":
            inputs["m"] = np.array([[1, 1, 1, 0, 1, 1], [1, 1, 1, 1, 0, 0]], np.int32)
            names += ["", "m"]
        case "shift":
            inputs["s"] = floats(1, 4, 4, 6, seed=4)
            names += ["", "", "s"]
        case "past":
            inputs |= {
                "v": floats(2, 6, 16, seed=2),
                "pk": floats(2, 4, 3, 4, seed=5),
                "pv": floats(2, 4, 3, 4, seed=6),
            }
            names += ["", "", "", "pk", "pv"]
            outputs = ["y", "nk", "nv"]
        case _:
            pass
    check([ms("MultiHeadAttention", names, outputs, num_heads=4, scale=0.4)], inputs, outputs)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("offset", [True, False])
def test_rotary_embedding(interleaved: int, offset: bool) -> None:
    positions = np.array([3], np.int64) if offset else np.array([[0, 4, 2], [5, 1, 3]], np.int64)
    tables = {"c": floats(9, 4, seed=1), "s": floats(9, 4, seed=2)}
    nodes = [ms("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], interleaved=interleaved)]
    check(nodes, {"x": floats(2, 3, 16), "p": positions}, ["y"], weights=tables)


@pytest.mark.parametrize("zeros", [True, False])
def test_matmul_nbits(zeros: bool) -> None:
    n, k, block = 6, 64, 32
    weights: dict[str, Array] = {
        "w": RANDOM.integers(0, 256, (n, k // block, block // 2)).astype(np.uint8),
        "s": RANDOM.uniform(0.01, 0.1, (n, k // block)).astype(np.float32),
    }
    names = ["x", "w", "s"]
    if zeros:
        weights["z"] = RANDOM.integers(0, 256, (n, 1)).astype(np.uint8)
        names.append("z")
    nodes = [ms("MatMulNBits", names, ["y"], K=k, N=n, bits=4, block_size=block)]
    check(nodes, {"x": floats(3, k)}, ["y"], weights=weights, tolerance=1e-4)


SCALES = {"a": 0.02, "b": 0.05, "c": 0.07}
ZEROS = {"a": 120, "b": 7, "c": 90}


@pytest.mark.parametrize(
    "op",
    ["QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearConcat"],
)
def test_qlinear(op: str) -> None:
    weights: dict[str, Array] = {f"s{n}": np.asarray(np.float32(v)) for n, v in SCALES.items()}
    weights |= {f"z{n}": np.asarray(np.uint8(v)) for n, v in ZEROS.items()}
    x = RANDOM.integers(0, 256, (1, 3, 4, 5)).astype(np.uint8)
    inputs = {"xa": x}
    names = ["xa", "sa", "za"]
    attrs: dict[str, Any] = {}
    if op in ("QLinearAdd", "QLinearMul", "QLinearConcat"):
        inputs["xb"] = x[:, :, ::-1].copy()
        names += ["xb", "sb", "zb"]
    if op == "QLinearConcat":
        names, attrs = ["sc", "zc", *names], {"axis": 1}
    else:
        names += ["sc", "zc"]
    check([ms(op, names, ["y"], **attrs)], inputs, ["y"], weights=weights)
