"""``ge-import``: what it writes, and how it fails."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gedialect.cli.ge_import import main
from gedialect.interpreter import run
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.weights import STORE

W = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((2, 32)).astype(np.float32)


def save(path: Path, tensor: TensorProto) -> Path:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a:x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("a:x", 1, ["N", 32])],
        [helper.make_tensor_value_info("y", 1, None)],
        [tensor],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save(tmp_path / "m.onnx", numpy_helper.from_array(W, "w"))


def result(text: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    monkeypatch.setattr(STORE, "search", [str(text.parent)])
    module = parse_module(GeContext(), text.read_text(encoding="utf-8"), str(text))
    module.verify()
    return run(module, {"a:x": x})["y"]


def test_text_refers_to_the_model_beside_it(model: Path, monkeypatch: pytest.MonkeyPatch):
    out = model.parent / "m.mlir"
    assert main([str(model), "-o", str(out), "--input-shape", "a:x:2,32"]) == 0
    text = out.read_text()
    assert '#ge.weight<"m.onnx", ' in text
    assert 'tensor<2x32xf32> {ge.name = "a:x"}' in text
    np.testing.assert_allclose(result(out, X, monkeypatch), X @ W, rtol=1e-5, atol=1e-5)
    assert sorted(os.listdir(model.parent)) == ["m.mlir", "m.onnx"]


def test_text_elsewhere_names_the_model_absolutely(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "other"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["m.onnx", "-o", "other/m.mlir"]) == 0
    assert f'#ge.weight<"{os.path.realpath(model)}", ' in (folder / "m.mlir").read_text()
    monkeypatch.chdir(folder)
    np.testing.assert_allclose(result(folder / "m.mlir", X, monkeypatch), X @ W, rtol=1e-5, atol=1e-5)


def test_other_encodings_go_to_a_weights_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    half = W.astype(np.float16)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT16, dims=half.shape)
    tensor.int32_data.extend(half.reshape(-1).view(np.uint16).tolist())
    path = save(tmp_path / "m.onnx", tensor)
    m = onnx.load(path)
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(m, path)
    assert main([str(path), "-o", str(tmp_path / "m.mlir")]) == 0
    assert '#ge.weight<"m.weights.bin", 0, 2048>' in (tmp_path / "m.mlir").read_text()
    assert (tmp_path / "m.weights.bin").read_bytes() == half.tobytes()
    got = result(tmp_path / "m.mlir", X.astype(np.float16), monkeypatch)
    np.testing.assert_allclose(got, X @ W, rtol=2e-2, atol=2e-2)


def test_text_on_stdout(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main([str(model)]) == 0
    assert capsys.readouterr().out.startswith("builtin.module {")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{model}", "--input-shape", "a:x:2,33"], 1, ["m.onnx: error GE1004", "a:x:2,33"]),
        (["{model}", "--input-shape", "b:2"], 1, ["GE1004", "its inputs are a:x"]),
        (["{model}", "--input-shape", "a:x"], 2, ["GE1001", "x:1,3,224,224"]),
        (["missing.onnx"], 1, ["missing.onnx: error GE1002"]),
        (["m.txt"], 2, ["unknown kind of model", ".onnx"]),
        (["{model}", "--colour"], 2, ["--colour"]),
        ([], 2, ["MODEL"]),
    ],
)
def test_errors(model: Path, arguments: list[str], code: int, words: list[str], capsys: pytest.CaptureFixture[str]):
    out = model.parent / "out.mlir"
    assert main([a.format(model=model) for a in arguments] + ["-o", str(out)]) == code
    captured = capsys.readouterr()
    for word in words:
        assert word in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert os.listdir(model.parent) == ["m.onnx"]


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "ge-import model.onnx" in capsys.readouterr().out
