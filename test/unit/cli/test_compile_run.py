"""ge-compile and ge-run: results, exit codes, and nothing left behind on an error."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gedialect.cli import ge_compile, ge_opt, ge_run

TEXT = """func.func @main(%a: tensor<2x3xf32> {ge.name = "a"}) -> (tensor<2x3xf32> {ge.name = "y"}) {
  %e = ge.exp(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = ge.add(%e, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Exp", ["a:0"], ["e"]), helper.make_node("Add", ["e", "a:0"], ["y"])],
        "g",
        [info("a:0", TensorProto.FLOAT, ["n", 3])],
        [info("y", TensorProto.FLOAT, ["n", 3])],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(tmp_path / "in.npz", **{"in:a:0": a, "out:y": np.exp(a) + a})
    return tmp_path / "in.npz"


def compiled(tmp_path: Path, model: Path) -> Path:
    out = tmp_path / "m.om"
    assert ge_compile.main([str(model), "-o", str(out), "--input-shape", "a:0:2,3"]) == 0
    return out


def test_compile_run_and_check(tmp_path: Path, model: Path, inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    om = compiled(tmp_path, model)
    result = tmp_path / "out.npz"
    arguments = [str(om), "--inputs", str(inputs), "--outputs", str(result), "--sanitize"]
    assert ge_run.main([*arguments, "--check", "npz"]) == 0
    assert ge_run.main([*arguments, "--check", "onnxruntime", "--model", str(model)]) == 0
    with np.load(result) as z:
        assert z["y"].shape == (2, 3)
    assert "ok" in capsys.readouterr().out


def test_a_model_runs_without_a_file_between(model: Path, inputs: Path) -> None:
    assert ge_run.main([str(model), "--inputs", str(inputs), "--check", "onnxruntime"]) == 0


def test_text_runs_in_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(TEXT)
    a = np.ones((2, 3), np.float32)
    np.savez(tmp_path / "in.npz", **{"a": a, "out:y": np.exp(a) + a})
    assert ge_run.main([str(tmp_path / "m.mlir"), "--inputs", str(tmp_path / "in.npz"), "--check", "npz"]) == 0


def test_a_difference_is_exit_code_3(tmp_path: Path, model: Path) -> None:
    a = np.ones((2, 3), np.float32)
    np.savez(tmp_path / "bad.npz", **{"in:a:0": a, "out:y": a})
    assert ge_run.main([str(model), "--inputs", str(tmp_path / "bad.npz"), "--check", "npz"]) == 3


@pytest.mark.parametrize("emit", ["ge", "npu"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_text_of_the_steps(tmp_path: Path, model: Path, emit: str, level: str) -> None:
    out = tmp_path / "m.mlir"
    arguments = [str(model), "-o", str(out), "--emit", emit, level, "--input-shape", "a:0:2,3"]
    assert ge_compile.main(arguments) == 0
    text = out.read_text()
    assert ("ge.fusion" if emit == "ge" else "npu.kernel") in text
    again = tmp_path / "again.mlir"
    assert ge_opt.main([str(out), "-o", str(again)]) == 0
    assert again.read_text().rstrip() == text.rstrip()


def test_the_report_is_json(tmp_path: Path, model: Path) -> None:
    report = tmp_path / "r.json"
    arguments = [str(model), "-o", str(tmp_path / "m.om"), "--input-shape", "a:0:2,3", "--report", str(report)]
    assert ge_compile.main(arguments) == 0
    assert json.loads(report.read_text())["kernels"] == 1


def test_unknown_sizes_come_with_a_ready_option(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ge_compile.main([str(model), "-o", str(tmp_path / "m.om")]) == 1
    printed = capsys.readouterr().err
    assert '--input-shape "a:0:1,3"' in printed and f"{model}: error GE1014" in printed
    assert not (tmp_path / "m.om").exists()


def test_no_host_fallback_names_the_ops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mlir").write_text(
        """func.func @main(%a: tensor<4xf32>) -> tensor<1x?xi64> {
          %y = ge.nonzero(%a) : (tensor<4xf32>) -> tensor<1x?xi64>
          func.return %y : tensor<1x?xi64> }"""
    )
    out = tmp_path / "m.om"
    assert ge_compile.main([str(tmp_path / "m.mlir"), "-o", str(out), "--no-host-fallback"]) == 1
    error = capsys.readouterr().err
    assert "nonzero" in error
    assert "error GE" in error
    assert not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["m.onnx"],
        ["m.onnx", "-o", "m.om", "--no-such-option"],
        ["m.onnx", "-o", "m.om", "-O7"],
        ["m.txt", "-o", "m.om"],
        ["m.onnx", "-o", "m.om", "--precision", "fp8"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert ge_compile.main(arguments) == 2
    assert f"error {'GE1013' if 'm.txt' in arguments else 'GE1001'}" in capsys.readouterr().err


def test_damaged_models_leave_nothing(tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = model.read_bytes()
    for damaged in (b"", data[:20], data[: len(data) // 2], b"\xff" * 200, data[:-3]):
        bad = tmp_path / "bad.onnx"
        bad.write_bytes(damaged)
        out = tmp_path / "bad.om"
        code = ge_compile.main([str(bad), "-o", str(out), "--input-shape", "a:0:2,3"])
        error = capsys.readouterr().err
        assert code == 1, error
        assert "error GE1" in error
        assert "Traceback" not in error
        assert "GE19" not in error, error
        assert not out.exists()


def test_damaged_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("func.func @main(", TEXT.replace("ge.exp", "ge.expp"), TEXT.replace("%e,", "%zz,"), TEXT[:100]):
        (tmp_path / "bad.mlir").write_text(text)
        assert ge_compile.main([str(tmp_path / "bad.mlir"), "-o", str(tmp_path / "bad.om")]) == 1
        error = capsys.readouterr().err
        assert "bad.mlir:" in error
        assert "error GE11" in error
        assert not (tmp_path / "bad.om").exists()


def test_om_files_cut_short(tmp_path: Path, model: Path, inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = compiled(tmp_path, model).read_bytes()
    capsys.readouterr()
    for damaged in (data[:0], data[:100], data[:300], data[: len(data) // 2], data[:-1], b"IMOD" + data[4:250] * 3):
        bad = tmp_path / "bad.om"
        bad.write_bytes(damaged)
        assert ge_run.main([str(bad), "--inputs", str(inputs)]) == 1
        error = capsys.readouterr().err
        assert "error GE1" in error
        assert "GE19" not in error, error


def test_inputs_that_are_no_npz(tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.npz").write_bytes(b"nothing of the kind")
    assert ge_run.main([str(model), "--inputs", str(tmp_path / "in.npz")]) == 1
    assert "error GE1003" in capsys.readouterr().err
    assert ge_run.main([str(model), "--inputs", str(tmp_path / "none.npz")]) == 1
    assert "error GE1002" in capsys.readouterr().err
