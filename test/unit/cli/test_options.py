"""Options that cannot apply are wrong usage; errors name the file; reproducers get files of their own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gedialect.cli import ge_compile, ge_opt, ge_run

T = "tensor<?x3xf32>"
TEXT = (
    f'func.func @main(%x: {T} {{ge.name = "x"}}) -> ({T} {{ge.name = "y"}}) {{\n'
    f"  %y = ge.exp(%x) : ({T}) -> {T}\n  func.return %y : {T}\n}}\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """open.mlir and open.onnx with an unknown size, fixed.mlir, in.npz; the current folder. Temporary files go to tmp."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "open.mlir").write_text(TEXT)
    (tmp_path / "fixed.mlir").write_text(TEXT.replace("?", "2"))
    info = helper.make_tensor_value_info
    for name, nodes, sizes in [
        ("open", [helper.make_node("Exp", ["x"], ["e"], name="n1"), helper.make_node("Neg", ["e"], ["y"])], ["n", 3]),
        ("bad", [helper.make_node("MatMul", ["x", "x"], ["y"], name="mm")], [2, 3]),
    ]:
        graph = helper.make_graph(
            nodes, "g", [info("x", TensorProto.FLOAT, sizes)], [info("y", TensorProto.FLOAT, None)]
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), f"{name}.onnx")
    np.savez("in.npz", x=np.ones((2, 3), np.float32))
    return tmp_path


@pytest.mark.parametrize(
    ("main", "arguments", "says"),
    [
        (ge_opt.main, "--verify-rules --instances -3", "--instances"),
        (ge_opt.main, "--verify-rules --instances 0", "--instances"),
        (ge_opt.main, "--verify-rules --instances x", "--instances"),
        (ge_opt.main, "fixed.mlir --disable cse", "--disable"),
        (ge_opt.main, "fixed.mlir -p cse --enable cse", "--enable"),
        (ge_opt.main, "fixed.mlir --strict-numerics", "--strict-numerics"),
        (ge_opt.main, "fixed.mlir --max-fusion-ops 3", "--max-fusion-ops"),
        (ge_opt.main, "fixed.mlir --input-shape z:2,3", "has no input 'z'"),
        (ge_opt.main, "fixed.mlir -O2 --input-shape z:2,3", "has no input 'z'"),
        (ge_compile.main, "open.mlir -o o.om --input-shape z:2,3", "has no input 'z'"),
        (ge_run.main, "fixed.mlir --inputs in.npz --sanitize", "--sanitize"),
        (ge_run.main, "fixed.mlir --inputs in.npz --trace t.json", "--trace"),
        (ge_run.main, "fixed.mlir --inputs in.npz --time", "--time"),
        (ge_run.main, "fixed.mlir --inputs in.npz --model open.onnx", "--model"),
        (ge_run.main, "fixed.mlir --inputs in.npz --model open.onnx --check npz", "--model"),
    ],
)
def test_options_that_cannot_apply(folder, capsys, main, arguments: str, says: str):
    before = sorted(p.name for p in folder.rglob("*"))
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert sorted(p.name for p in folder.rglob("*")) == before


def test_the_shape_of_an_input_of_text(folder, capsys):
    assert ge_opt.main(["open.mlir", "-O2", "--input-shape", "x:2,3"]) == 0
    assert "tensor<2x3xf32>" in capsys.readouterr().out
    assert ge_opt.main(["fixed.mlir", "--input-shape", "x:4,3"]) == 1
    assert capsys.readouterr().err.startswith("fixed.mlir: error GE1004: ")


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ("open.mlir -O0", "open.mlir: error GE1014: "),
        ("open.mlir -O2", "open.mlir: error GE1014: "),
        ("open.onnx -O2 --disable group-kernels", "open.onnx: node n1: error GE1014: "),
        ("open.onnx -p plan-memory", "open.onnx: node n1: error GE1014: "),
        ("bad.onnx", "bad.onnx: node mm: error GE1005: "),
    ],
)
def test_errors_name_the_file(folder, capsys, arguments: str, start: str):
    assert ge_opt.main(arguments.split()) == 1
    assert capsys.readouterr().err.startswith(start)


def test_each_failure_has_a_reproducer_of_its_own(folder, capsys):
    paths: list[str] = []
    for _ in range(2):
        assert ge_opt.main(["open.mlir", "-O2"]) == 1
        found = re.search(r"in pass [a-z-]+; reproducer: (\S+)$", capsys.readouterr().err)
        assert found is not None
        paths.append(found[1])
    assert len(set(paths)) == 2
    for path in map(Path, paths):
        assert path.parent == folder / "tmp"
        assert path.read_text().startswith(f"// ge-opt {path} -p ")


@pytest.mark.parametrize("option", ["none/r.mlir", "tmp"])
def test_a_reproducer_that_cannot_be_written_is_told(folder, capsys, option: str):
    assert ge_opt.main(["open.mlir", "-O2", "--reproducer", option]) == 1
    error = capsys.readouterr().err
    assert "error GE1014" in error
    assert f"no reproducer: {option}: cannot write: " in error


def test_wrong_usage_found_by_a_pass_has_no_reproducer(folder, capsys):
    arguments = ["fixed.mlir", "-p", 'specialize-shapes{shapes="z:1"}', "--reproducer", "r.mlir"]
    assert ge_opt.main(arguments) == 2
    error = capsys.readouterr().err
    assert "in pass specialize-shapes" in error
    assert "reproducer" not in error
    assert not (folder / "r.mlir").exists()
    assert list((folder / "tmp").iterdir()) == []


def test_text_ends_with_one_newline(folder, capsys):
    assert ge_opt.main(["fixed.mlir", "-O2", "-o", "o.mlir"]) == 0
    assert ge_opt.main(["fixed.mlir", "-O2"]) == 0
    text = (folder / "o.mlir").read_text()
    assert text == capsys.readouterr().out
    assert text.endswith("}\n")
    assert ge_opt.main(["o.mlir", "-o", "again.mlir"]) == 0
    assert (folder / "again.mlir").read_text() == text


@pytest.mark.parametrize(
    ("main", "arguments", "left_out"),
    [
        (ge_opt.main, "-O2 fixed.mlir --disable plan-memory", "plan-memory"),
        (ge_compile.main, "fixed.mlir -o o.om --disable plan-memory", "plan-memory"),
        (ge_compile.main, "fixed.mlir -o o.om --disable plan-memory,verify-plan", "plan-memory"),
        (ge_compile.main, "fixed.mlir -o o.om --disable select-kernels", "select-kernels"),
        (ge_compile.main, "fixed.mlir -o o.om --option ge.optimizationSwitch=select-kernels:off", "select-kernels"),
        (ge_compile.main, "open.mlir -o o.om --dynamic-batch-size 1,2 --disable select-kernels", "select-kernels"),
        (
            ge_compile.main,
            "open.mlir -o o.om --dynamic-batch-size 1,2 --disable plan-memory,verify-plan",
            "plan-memory",
        ),
    ],
)
def test_a_pass_that_a_switch_leaves_out_is_named(
    main, arguments: str, left_out: str, folder: Path, capfd: pytest.CaptureFixture[str]
):
    assert main(arguments.split()) == 1
    assert f"; {left_out} is left out by a switch (--disable or its like): take it out" in capfd.readouterr().err
    assert not (folder / "o.om").exists()


@pytest.mark.parametrize("arguments", ["", "-p cse", "-O0", "--print-pipeline", "-p apply-rules"])
def test_unknown_rule_to_debug(arguments: str, folder: Path, capfd: pytest.CaptureFixture[str]):
    assert ge_opt.main(["fixed.mlir", "--debug-rule", "conv_scale", *arguments.split()]) == 2
    found = capfd.readouterr()
    assert found.out == ""
    assert found.err.startswith("ge-opt: error GE1107: no rule named conv_scale; did you mean conv")


def test_known_rule_to_debug_without_passes(folder: Path):
    assert ge_opt.main(["fixed.mlir", "--debug-rule", "conv2d_scale"]) == 0


RULE = {
    "RuleName": "ExpIsAbs",
    "OuterInputs": [{"name": "x"}],
    "OuterOutputs": [{"name": "y"}],
    "OriginGraph": {"Nodes": [{"name": "e", "type": ["Exp"]}], "Edges": [{"src": "x", "dst": "e"}, {"src": "e", "dst": "y"}]},
    "FusionGraph": {"Nodes": [{"name": "a", "type": ["Abs"]}], "Edges": [{"src": "x", "dst": "a"}, {"src": "a", "dst": "y"}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "applied"),
    [
        ("-O2 --strict-numerics", False),
        ("-O2 --strict-numerics --enable ExpIsAbs", True),
        ("-O2 --strict-numerics --enable own", True),
        ("-O2 --strict-numerics --enable own --disable ExpIsAbs", False),
        ("-O2 --strict-numerics --enable ExpIsAbs --disable own", True),
        ("-O1", False),
        ("-O1 --enable ExpIsAbs", True),
        ("-O2", True),
        ("-O2 --disable ExpIsAbs", False),
    ],
)
def test_rules_of_files_are_switched_by_name(
    arguments: str, applied: bool, folder: Path, capfd: pytest.CaptureFixture[str]
):
    (folder / "own.json").write_text(json.dumps({"Rules": [RULE]}))
    assert ge_opt.main(["fixed.mlir", "--rules", "own.json", *arguments.split()]) == 0
    assert ("ge.abs" in capfd.readouterr().out) == applied
    if arguments.startswith("-O2"):
        words = arguments.split()
        assert ge_compile.main(["fixed.mlir", "-o", "o.om", "--rules", "own.json", *words]) == 0
        assert ge_run.main(["o.om", "--inputs", "in.npz", "--outputs", "out.npz"]) == 0
        expected = np.ones((2, 3), np.float32) if applied else np.full((2, 3), np.exp(np.float32(1)))
        np.testing.assert_allclose(np.load("out.npz")["y"], expected, rtol=1e-5)
