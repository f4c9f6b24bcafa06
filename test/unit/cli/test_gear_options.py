"""--dynamic-batch-size and --dynamic-dims of ge-compile, and OMs with gears in ge-run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gedialect.cli import ge_compile, ge_run


def saved(name: str, op: str, x: list[int | str], **attributes: object) -> None:
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="n1"),
        helper.make_node(op, ["e"], ["y"], name="n2", **attributes),
    ]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, x)], [onnx.ValueInfoProto(name="y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    saved("m.onnx", "Neg", ["n", 6])
    saved("both.onnx", "Neg", ["n", "m"])
    saved("fixed.onnx", "Neg", [2, 6])
    for n, m in ((1, 6), (2, 6), (3, 6), (2, 8)):
        np.savez(f"{n}x{m}.npz", x=np.random.default_rng(n).standard_normal((n, m)).astype(np.float32))
    return tmp_path


@pytest.mark.parametrize(
    ("model", "gears", "sizes"),
    [
        ("m.onnx", ["--dynamic-batch-size", "1,2"], ["1x6", "2x6"]),
        ("m.onnx", ["--dynamic-batch-size", " 2 , 1 ", "--input-shape", "x:-1,6"], ["1x6", "2x6"]),
        ("both.onnx", ["--dynamic-batch-size", "1,2", "--input-shape", "x:?,6"], ["1x6", "2x6"]),
        ("both.onnx", ["--dynamic-dims", "1,6;2,8"], ["1x6", "2x8"]),
        ("both.onnx", ["--dynamic-dims", "6;8;", "--input-shape", "x:2,-1"], ["2x6", "2x8"]),
    ],
)
def test_every_gear_runs_and_agrees(folder: Path, model: str, gears: list[str], sizes: list[str]) -> None:
    assert ge_compile.main([model, "-o", "m.om", *gears]) == 0
    for size in sizes:
        checked = ["m.om", "--inputs", f"{size}.npz", "--check", "onnxruntime", "--model", model, "--sanitize"]
        assert ge_run.main(checked) == 0


def test_time_and_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["m.onnx", "-o", "m.om", "--dynamic-batch-size", "1,2", "--time", "--report", "r.json"]
    assert ge_compile.main([*arguments, "--fusion-report", "f.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["batch size 1", "batch size 2"]
    report = json.loads((folder / "r.json").read_text())
    assert [g["name"] for g in report["gears"]] == ["batch size 1", "batch size 2"]
    assert f"latency {report['gears'][1]['latency_us']:,.1f} us" in lines[1]
    assert report["latency_us"] == max(g["latency_us"] for g in report["gears"])
    assert {k["gear"] for k in json.loads((folder / "f.json").read_text())["kernels"]} == {
        "batch size 1",
        "batch size 2",
    }
    assert ge_run.main(["m.om", "--inputs", "2x6.npz", "--time", "--trace", "t.json"]) == 0
    out = capsys.readouterr().out
    assert "gear batch size 2" in out
    assert f"latency {report['gears'][1]['latency_us']:,.1f} us" in out
    assert json.loads((folder / "t.json").read_text())["traceEvents"]


def test_a_run_takes_sizes_of_gears_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ge_compile.main(["m.onnx", "-o", "m.om", "--dynamic-batch-size", "1,2"]) == 0
    assert ge_run.main(["m.om", "--inputs", "3x6.npz", "--outputs", "out.npz"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("3x6.npz: error GE1004: no gear takes x [3, 6]; the model has batch sizes 1, 2; ")
    assert not (folder / "out.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "status", "words"),
    [
        (["m.onnx", "--dynamic-batch-size", ""], "GE1001", 2, "a size is missing"),
        (["m.onnx", "--dynamic-batch-size", "1,,2"], "GE1001", 2, "a size is missing in '1,,2'"),
        (["m.onnx", "--dynamic-batch-size", "1,b"], "GE1001", 2, "'b' is no size"),
        (["m.onnx", "--dynamic-batch-size", "1;2"], "GE1001", 2, "'1;2' is no size"),
        (["m.onnx", "--dynamic-batch-size", "1.5"], "GE1001", 2, "'1.5' is no size"),
        (["m.onnx", "--dynamic-batch-size", "٣"], "GE1001", 2, "is no size"),
        (["m.onnx", "--dynamic-batch-size", "9" * 40], "GE1001", 2, "is no size"),
        (["m.onnx", "--dynamic-batch-size=-1"], "GE1001", 2, "sizes are 1 or more"),
        (["m.onnx", "--dynamic-batch-size", "0,1"], "GE1001", 2, "gear 1 (batch size 0) has the size 0"),
        (["m.onnx", "--dynamic-batch-size", "1,2,1"], "GE1001", 2, "batch size 1 is given twice"),
        (["m.onnx", "--dynamic-batch-size", ",".join(map(str, range(1, 102)))], "GE1001", 2, "at most 100"),
        (["both.onnx", "--dynamic-dims", "1,2;;3,4"], "GE1001", 2, "gear 2 is empty"),
        (["both.onnx", "--dynamic-dims", ""], "GE1001", 2, "gear 1 is empty"),
        (["both.onnx", "--dynamic-dims", "1,2;3"], "GE1001", 2, "gear 2 (dims 3) has 1 value"),
        (["both.onnx", "--dynamic-dims", "1,2,3"], "GE1004", 2, "x[0] (n), x[1] (m)"),
        (["both.onnx", "--dynamic-batch-size", "1"], "GE1004", 2, "size 1 of input x (-1,-1) is unknown as well"),
        (
            ["both.onnx", "--dynamic-batch-size", "1", "--input-shape", "x:2,-1"],
            "GE1004",
            2,
            "size 1 of input x (2,-1)",
        ),
        (["fixed.onnx", "--dynamic-batch-size", "1,2"], "GE1014", 2, 'write -1 for it: --input-shape "x:-1,6"'),
        (["m.onnx", "--dynamic-batch-size", "1", "--dynamic-dims", "1"], "GE1001", 2, "not allowed with"),
        (["m.onnx", "--dynamic-batch-size", "1", "--emit", "ge"], "GE1001", 2, "text of one graph"),
        (["m.onnx", "--dynamic-batch-size", "1", "--emit", "npu"], "GE1001", 2, "text of one graph"),
        (["m.onnx", "--dynamic-batch-size", "1,999999999999999"], "GE1009", 1, "with batch size 999999999999999"),
        (["none.onnx", "--dynamic-batch-size", "1"], "GE1002", 1, "no such file"),
    ],
)
def test_mistakes(
    folder: Path, arguments: list[str], code: str, status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ge_compile.main([*arguments, "-o", "bad.om"]) == status
    error = capsys.readouterr().err
    assert f"error {code}: " in error
    assert words in error
    assert not (folder / "bad.om").exists()


def test_the_node_and_the_gear_at_fault_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved("bad.onnx", "DepthToSpace", ["n", "c", 2, 2], blocksize=2)
    assert ge_compile.main(["bad.onnx", "-o", "bad.om", "--dynamic-dims", "1,4;1,8;1,6"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("bad.onnx: node n2: error GE1005: with dims 1,6: ")
    assert not (folder / "bad.om").exists()


def test_ops_without_kernel_are_named_with_their_gear(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.mlir").write_text(
        """func.func @main(%x: tensor<?x3x3xf32> {ge.name = "x"}) -> (tensor<?xf32> {ge.name = "y"}) {
          %y = ge.det(%x) : (tensor<?x3x3xf32>) -> tensor<?xf32>
          func.return %y : tensor<?xf32> }"""
    )
    assert ge_compile.main(["m.mlir", "-o", "m.om", "--dynamic-batch-size", "1,2", "--no-host-fallback"]) == 1
    error = capsys.readouterr().err
    assert "error GE1206: 2 ops have no kernel" in error
    assert "of gear batch size 1" in error
    assert "of gear batch size 2" in error
    assert ge_compile.main(["m.mlir", "-o", "m.om", "--dynamic-batch-size", "1,2"]) == 0


def test_the_model_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "m.onnx").read_bytes()
    assert ge_compile.main(["m.onnx", "-o", "m.onnx", "--dynamic-batch-size", "1,2"]) == 2
    assert (folder / "m.onnx").read_bytes() == before
