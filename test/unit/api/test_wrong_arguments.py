"""What is no model, shape, option or input is a GeError with a code, never an exception of Python or a library."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import onnx
import pytest

import gedialect
from gedialect.errors import GeError, UsageError

X = np.ones((2, 3), np.float32)


@pytest.fixture(params=["2", "?"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    t = f"tensor<{request.param}x3xf32>"
    path = tmp_path / "m.mlir"
    path.write_text(
        f'func.func @main(%x: {t} {{ge.name = "x"}}) -> ({t} {{ge.name = "y"}}) {{\n'
        f"  %y = ge.exp(%x) : ({t}) -> {t}\n  func.return %y : {t}\n}}\n"
    )
    return str(path)


@pytest.mark.parametrize("model", [None, 3, io.BytesIO(), b"m.onnx", [], object(), onnx.GraphProto(), int])
def test_no_model(model: object):
    with pytest.raises(UsageError, match="a model is a path") as caught:
        gedialect.compile(model)  # type: ignore[arg-type]
    assert caught.value.code == "GE1013"


@pytest.mark.parametrize(
    "shapes",
    [
        [1], 3, "x:2,3", {"x": 3}, {"x": None}, {1: [2, 3]}, {"x": "23"}, {"x": [1.5, 3]}, {"x": [None, 3]},
        {"x": [[2], 3]}, {"x": np.int64(2)}, {"x": np.array([2.0, 3.0])},
    ],
)  # fmt: skip
def test_no_shapes(model: str, shapes: object):
    with pytest.raises(UsageError) as caught:
        gedialect.compile(model, input_shapes=shapes)  # type: ignore[arg-type]
    assert caught.value.code == "GE1001"
    assert caught.value.hint is not None


@pytest.mark.parametrize("shapes", [{"x": np.array([2, 3])}, {"x": (np.int64(2), 3)}, {"x": range(2, 4)}])
def test_sizes_are_whatever_counts_as_an_integer(model: str, shapes: object):
    exe = gedialect.compile(model, input_shapes=shapes)  # type: ignore[arg-type]
    np.testing.assert_allclose(exe.run([X])["y"], np.exp(X), rtol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"target": None}, {"target": 3}, {"rules": "my.py"}, {"rules": 3}, {"rules": [3]}, {"rules": None},
        {"disable": "cse"}, {"disable": None}, {"disable": [3]}, {"enable": [None]}, {"fusion_modes": 3},
        {"fusion_modes": "memory"}, {"max_fusion_ops": "x"}, {"options": 3}, {"options": {3: 1}}, {"level": None},
        {"precision": None}, {"strict_numerics": 3}, {"strict_numerics": "no"}, {"max_fusion_ops": True},
        {"options": {"ge.max_fusion_ops": "x"}}, {"options": {"ge.strict_numerics": "maybe"}},
    ],
)  # fmt: skip
def test_options_of_another_kind(model: str, options: dict[str, object]):
    with pytest.raises(UsageError) as caught:
        gedialect.compile(model, **options)  # type: ignore[arg-type]
    assert caught.value.code == "GE1001"


@pytest.mark.parametrize(
    "inputs",
    [
        None,
        3,
        "x",
        b"x",
        [],
        [X, X],
        {},
        {1: X},
        {"x": None},
        [None],
        {"x": [[1], [1, 2]]},
        {"x": "a"},
        {"x": object()},
    ],
)
def test_no_inputs(model: str, inputs: object):
    exe = gedialect.compile(model)
    with pytest.raises(GeError) as caught:
        exe.run(inputs)  # type: ignore[arg-type]
    assert caught.value.code == "GE1004"
    np.testing.assert_allclose(exe.run({"x": X})["y"], np.exp(X), rtol=1e-5)
