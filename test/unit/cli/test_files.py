"""No command overwrites what it reads, and an output that cannot be written leaves none of the others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gedialect.cli import ge_compile, ge_import, ge_opt, ge_run

WEIGHTS = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """m.onnx with its weights in w.bin, a link to each, and in.npz; the current folder."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 32])],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    monkeypatch.chdir(tmp_path)
    onnx.save(model, "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "link.onnx").symlink_to("m.onnx")
    (tmp_path / "link.bin").symlink_to("w.bin")
    np.savez("in.npz", x=np.ones((2, 32), np.float32))
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (ge_compile.main, "m.onnx -o m.onnx"),
        (ge_compile.main, "m.onnx -o ./m.onnx"),
        (ge_compile.main, "m.onnx -o link.onnx"),
        (ge_compile.main, "link.onnx -o m.onnx"),
        (ge_compile.main, "m.onnx -o w.bin"),
        (ge_compile.main, "m.onnx -o link.bin"),
        (ge_compile.main, "m.onnx -o o.om --report o.om"),
        (ge_compile.main, "m.onnx -o o.om --report ./o.om"),
        (ge_compile.main, "m.onnx -o o.om --report m.onnx"),
        (ge_compile.main, "m.onnx -o o.om --report w.bin"),
        (ge_compile.main, "m.onnx -o o.om --report r --fusion-report r"),
        (ge_compile.main, "m.onnx -o w.bin --emit ge"),
        (ge_import.main, "m.onnx -o m.onnx"),
        (ge_import.main, "m.onnx -o link.onnx"),
        (ge_import.main, "m.onnx -o w.bin"),
        (ge_opt.main, "m.onnx -o m.onnx"),
        (ge_opt.main, "m.onnx -o link.onnx"),
        (ge_run.main, "m.onnx --inputs in.npz --outputs in.npz"),
        (ge_run.main, "m.onnx --inputs in.npz --outputs m.onnx"),
        (ge_run.main, "m.onnx --inputs in.npz --time --trace link.onnx"),
        (ge_run.main, "m.onnx --inputs in.npz --outputs o --trace o"),
    ],
)
def test_files_that_are_read_are_not_written(folder, capsys, main, arguments: str):
    before = contents(folder)
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert "error GE1001" in error
    assert "are the same file" in error
    assert contents(folder) == before


@pytest.mark.parametrize("report", ["none/r.json", "folder", "round"])
@pytest.mark.parametrize("option", ["--report", "--fusion-report"])
@pytest.mark.parametrize("emit", ["om", "ge", "npu"])
def test_a_report_that_cannot_be_written_leaves_no_output(folder, capsys, report: str, option: str, emit: str):
    (folder / "folder").mkdir()
    (folder / "round").symlink_to("round")
    before = sorted(os.listdir(folder))
    assert ge_compile.main(["m.onnx", "-o", "o.om", "--emit", emit, option, report]) == 1
    assert capsys.readouterr().err.startswith(f"{report}: error GE1012: cannot write: ")
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("emit", ["om", "ge", "npu"])
def test_all_outputs_appear(folder, emit: str):
    reports = ["--report", "r", "--fusion-report", "f"]
    before = set(os.listdir(folder))
    assert ge_compile.main(["m.onnx", "-o", "o.mlir", "--emit", emit, *reports]) == 0
    assert set(os.listdir(folder)) - before == {"o.mlir", "r", "f"}
    assert all((folder / name).stat().st_size for name in ("o.mlir", "r", "f"))


def test_an_output_may_go_over_an_old_one(folder):
    for _ in range(2):
        assert ge_compile.main(["m.onnx", "-o", "o.om", "--report", "r.json"]) == 0
        assert ge_run.main(["o.om", "--inputs", "in.npz", "--outputs", "out.npz"]) == 0
    with np.load("out.npz") as z:
        assert np.allclose(z["y"], np.ones((2, 32)) @ WEIGHTS, rtol=1e-3, atol=1e-3)
