"""Quantised products through the whole path against onnxruntime: results equal, nothing on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import Array, model, node, reference

import gedialect

RANDOM = np.random.default_rng(3)
TYPES = {"i8": np.int8, "ui8": np.uint8}


def narrow(dtype: Any, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max + 1, shape).astype(dtype)


def agree(m: onnx.ModelProto, inputs: dict[str, Array], off_by: int = 0) -> None:
    """Equal at every level, integers but for ``off_by``; no host tasks."""
    want = reference(m, inputs)[0]
    for level in ("O0", "O2"):
        executable = gedialect.compile(m, level=level)
        got = next(iter(executable.run(inputs, sanitize=True).values()))
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        assert executable.report.host_ops == []
        if want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
        else:
            assert np.abs(got.astype(np.int64) - want).max() <= off_by


@pytest.mark.parametrize("zeros", [(None, None), (7, None), (None, "column"), (200, "column"), (200, 3)])
@pytest.mark.parametrize("kinds", [("ui8", "i8"), ("ui8", "ui8"), ("i8", "i8")])
def test_matmul_integer(kinds: tuple[str, str], zeros: tuple[Any, Any]) -> None:
    a, b = narrow(TYPES[kinds[0]], 2, 5, 33), narrow(TYPES[kinds[1]], 33, 17)
    za = None if zeros[0] is None else np.array(zeros[0] % 128 if kinds[0] == "i8" else zeros[0], a.dtype)
    zb = None if zeros[1] is None else narrow(b.dtype, 17) if zeros[1] == "column" else np.array(zeros[1], b.dtype)
    weights = {"b": b} | ({} if za is None else {"za": za}) | ({} if zb is None else {"zb": zb})
    names = ["a", "b", "" if za is None else "za", "" if zb is None else "zb"]
    while not names[-1]:
        names.pop()
    agree(model([node("MatMulInteger", names)], {"a": a}, ["y"], weights=weights), {"a": a})


def test_matmul_integer_of_two_inputs() -> None:
    a, b = narrow(np.uint8, 3, 4, 9), narrow(np.uint8, 3, 9, 6)
    inputs = {"a": a, "b": b, "za": np.array(3, np.uint8), "zb": np.array(130, np.uint8)}
    agree(model([node("MatMulInteger", ["a", "b", "za", "zb"])], inputs, ["y"]), inputs)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize(
    "attrs",
    [
        {"pads": [1, 1, 1, 1]},
        {"strides": [2, 2], "pads": [0, 1, 2, 1]},
        {"group": 2, "dilations": [2, 1]},
        {"group": 4, "pads": [1, 1, 1, 1]},
    ],
    ids=str,
)
def test_conv_integer(attrs: dict[str, Any], fixed: bool) -> None:
    group = attrs.get("group", 1)
    x, w = narrow(np.uint8, 2, 4, 9, 8), narrow(np.uint8, 8, 4 // group, 3, 3)
    zero = {"zx": np.array(131, np.uint8)}
    weights = {"w": w, "zw": np.array(0 if group == 2 else 120, np.uint8)}
    inputs = {"x": x} | ({} if fixed else zero)
    m = model(
        [node("ConvInteger", ["x", "w", "zx", "zw"], **attrs)],
        inputs,
        ["y"],
        weights=weights | zero if fixed else weights,
    )
    agree(m, inputs)


@pytest.mark.parametrize("kind", ["ui8", "i8"])
def test_qlinear_conv(kind: str) -> None:
    dtype: Any = TYPES[kind]
    x, w = narrow(dtype, 1, 3, 7, 7), narrow(np.int8, 5, 3, 3, 3)
    weights = {
        "sx": np.float32(0.02),
        "zx": np.array(17, dtype),
        "w": w,
        "sw": RANDOM.uniform(0.01, 0.03, 5).astype(np.float32),
        "zw": np.zeros(5, np.int8),
        "sy": np.float32(0.09),
        "zy": np.array(9, dtype),
        "b": RANDOM.integers(-2000, 2000, 5).astype(np.int32),
    }
    names = ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"]
    weights = {k: np.asarray(v) for k, v in weights.items()}
    agree(model([node("QLinearConv", names, pads=[1, 1, 1, 1])], {"x": x}, ["y"], weights=weights), {"x": x})


def test_qlinear_matmul() -> None:
    a, b = narrow(np.uint8, 6, 40), narrow(np.uint8, 40, 9)
    given = [0.02, 131, 0.01, 120, 0.13, 7]
    types = [np.float32, np.uint8] * 3
    weights = {n: np.asarray(t(v)) for n, t, v in zip(("sa", "za", "sb", "zb", "sy", "zy"), types, given, strict=True)}
    m = model(
        [node("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"])],
        {"a": a},
        ["y"],
        weights={**weights, "b": b},
    )
    agree(m, {"a": a})


def test_dequantised_product_and_back() -> None:
    """Quantise, dequantise, product, quantise: one rounding may fall on the other side."""
    x = RANDOM.standard_normal((4, 64)).astype(np.float32)
    weights = {
        "s": np.asarray(np.float32(0.03)), "z": np.asarray(np.uint8(120)),
        "w": narrow(np.int8, 64, 32), "sw": RANDOM.uniform(0.01, 0.02, 32).astype(np.float32),
        "zw": np.zeros(32, np.int8), "bias": RANDOM.standard_normal(32).astype(np.float32),
        "sy": np.asarray(np.float32(0.4)), "zy": np.asarray(np.uint8(128)),
    }  # fmt: skip
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "sw", "zw"], ["wd"], axis=1),
        node("MatMul", ["d", "wd"], ["p"]),
        node("Add", ["p", "bias"], ["a"]),
        node("QuantizeLinear", ["a", "sy", "zy"], ["y"]),
    ]
    m = model(nodes, {"x": x}, ["y"], weights=weights)
    agree(m, {"x": x}, off_by=1)
    from gedialect.api.decide import decide
    from gedialect.api.sources import import_source

    module = import_source(m)
    decide(module)
    assert "tensor<4x64xui8>, tensor<64x32xi8>" in str(module)


@pytest.mark.parametrize("axis", [0, 1])
def test_blocks(axis: int) -> None:
    x = narrow(np.int8, 6, 10)
    shape = [2, 10] if axis == 0 else [6, 4]
    weights = {"s": RANDOM.uniform(0.1, 1, shape).astype(np.float32), "z": narrow(np.int8, *shape)}
    m = model([node("DequantizeLinear", ["x", "s", "z"], axis=axis, block_size=3)], {"x": x}, ["y"], weights=weights)
    agree(m, {"x": x})
