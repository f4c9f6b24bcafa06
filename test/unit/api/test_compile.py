"""compile, run, save and load: the forms of the interface, and what they promise."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import gedialect
from gedialect.cli.ge_run import difference
from gedialect.errors import GeError, UnsupportedError, UsageError
from gedialect.testing.agree import parse

DATA = Path(__file__).parents[2] / "data" / "ppocr_cls"


def small_cnn(batch: int | str = 2) -> onnx.ModelProto:
    """Conv, batch norm, relu, residual add, pooling, a matrix product and softmax."""
    rng = np.random.default_rng(7)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array(rng.normal(0, 0.3, shape).astype(np.float32), name)

    one = onnx.numpy_helper.from_array(np.abs(rng.normal(1, 0.1, 8)).astype(np.float32), "var")
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c1", "s", "b", "m", "var"], ["n1"], "bn1"),
        helper.make_node("Relu", ["n1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"], "add"),
        helper.make_node("Relu", ["a"], ["r2"], "relu2"),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"], "gap"),
        helper.make_node("Flatten", ["g"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "fc", "fb"], ["l"], "fc", transB=1),
        helper.make_node("Softmax", ["l"], ["y"], "soft", axis=1),
    ]
    weights = [
        weight("w1", 8, 3, 3, 3), weight("w2", 8, 8, 3, 3), weight("b2", 8), weight("s", 8), weight("b", 8),
        weight("m", 8), one, weight("fc", 5, 8), weight("fb", 5),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "cnn",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 18, 20])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 5])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def reference(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True))


def x(batch: int = 2) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(batch, 3, 18, 20)).astype(np.float32)


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_every_level_agrees_with_onnxruntime(level: str) -> None:
    model = small_cnn()
    exe = gedialect.compile(model, level=level)
    outputs = exe.run({"x": x()}, sanitize=True)
    assert difference(outputs["y"], reference(model, {"x": x()})["y"]) < 1e-5


def test_a_trained_model_from_a_file(tmp_path: Path) -> None:
    with np.load(DATA / "ppocr_cls.npz") as z:
        inputs = {k[3:]: z[k] for k in z.files if k.startswith("in:")}
        stored = {k[4:]: z[k] for k in z.files if k.startswith("out:")}
    exe = gedialect.compile(DATA / "ppocr_cls.onnx", input_shapes={k: v.shape for k, v in inputs.items()})
    exe.save(tmp_path / "m.om")
    outputs = gedialect.load(tmp_path / "m.om").run(inputs)
    for name, want in stored.items():
        assert difference(outputs[name], want) < 1e-4


def test_the_model_given_is_not_changed() -> None:
    model = small_cnn()
    before = model.SerializeToString()
    gedialect.compile(model)
    assert model.SerializeToString() == before


def test_a_ge_module_is_not_changed_and_inputs_may_be_a_list() -> None:
    module = parse(
        """func.func @main(%a: tensor<4xf32> {ge.name = "a"}, %b: tensor<4xf32> {ge.name = "b"}) -> (tensor<4xf32> {ge.name = "c"}) {
          %c = ge.sub(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          func.return %c : tensor<4xf32> }"""
    )
    before = str(module)
    exe = gedialect.compile(module)
    assert str(module) == before
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    assert list(exe.run([a, b])) == ["c"]
    assert np.array_equal(exe.run([a, b])["c"], a - b)


def test_unknown_sizes_compile_at_the_first_run_and_stay_cached(tmp_path: Path) -> None:
    model = small_cnn("batch")
    exe = gedialect.compile(model)
    with pytest.raises(GeError, match="sizes are unknown") as error:
        exe.save(tmp_path / "m.om")
    assert error.value.code == "GE1014"
    assert '--input-shape "x:1,3,18,20"' in str(error.value)
    for batch in (1, 3, 1):
        want = reference(model, {"x": x(batch)})["y"]
        assert difference(exe.run({"x": x(batch)})["y"], want) < 1e-5
    assert exe.variants == 2
    assert exe.report.kernels > 0


def test_sizes_given_make_it_fixed(tmp_path: Path) -> None:
    exe = gedialect.compile(small_cnn("batch"), input_shapes={"x": (2, 3, 18, 20)})
    exe.save(tmp_path / "m.om")
    assert (tmp_path / "m.om").stat().st_size > 256


def test_half_precision_keeps_the_types_at_the_border() -> None:
    model = small_cnn()
    exe = gedialect.compile(model, precision="fp16")
    got = exe.run({"x": x()})["y"]
    assert got.dtype == np.float32
    error = difference(got, reference(model, {"x": x()})["y"])
    assert 0 < error < 2e-2
    assert exe.report.precision == "fp16"


def test_the_report_says_what_was_done_and_travels_in_the_file(tmp_path: Path) -> None:
    exe = gedialect.compile(small_cnn())
    report = exe.report
    assert report.kernels == len(report.kernel_list) > 0
    assert {"name", "kind", "nodes", "blocks"} <= set(report.kernel_list[0])
    assert report.stages[0]["stage"] == "import"
    assert report.workspace_lower_bound <= report.workspace_bytes <= report.workspace_bytes_no_reuse
    assert report.weight_bytes > 0
    assert report.latency_us is None
    exe.save(tmp_path / "m.om")
    assert json.loads(gedialect.load(tmp_path / "m.om").report.json()) == json.loads(report.json())


def test_node_names_reach_the_kernels() -> None:
    named = {n for k in gedialect.compile(small_cnn()).report.kernel_list for n in k["nodes"]}
    assert {"conv1", "bn1", "relu1", "conv2", "add", "soft"} <= named


def test_equal_input_gives_equal_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(small_cnn(), path)
    digests = set()
    for seed in ("1", "2"):
        out = tmp_path / f"{seed}.om"
        subprocess.run(
            [sys.executable, "-m", "gedialect.cli.ge_compile", path, "-o", out],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_inputs_that_do_not_fit_are_named() -> None:
    exe = gedialect.compile(small_cnn())
    with pytest.raises(GeError, match="float64") as error:
        exe.run({"x": x().astype(np.float64)})
    assert error.value.code == "GE1004"
    with pytest.raises(GeError, match="missing"):
        exe.run({"z": x()})


@pytest.mark.parametrize(
    ("options", "code"),
    [({"level": "O9"}, "GE1001"), ({"target": "ascend1"}, "GE1010"), ({"precision": "fp8"}, "GE1001")],
)
def test_wrong_options(options: dict[str, str], code: str) -> None:
    with pytest.raises(UsageError) as error:
        gedialect.compile(small_cnn(), **options)
    assert error.value.code == code


def test_unsupported_ops_are_listed_together() -> None:
    nodes = [
        helper.make_node("NoSuchOp", ["x"], ["a"], "first", domain="my.domain"),
        helper.make_node("NoSuchOp", ["a"], ["b"], "second", domain="my.domain"),
        helper.make_node("OtherOp", ["b"], ["y"], "third", domain="my.domain"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", 1, [2])], [info("y", 1, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)])
    with pytest.raises(UnsupportedError) as error:
        gedialect.compile(model)
    text = str(error.value)
    assert "NoSuchOp" in text
    assert "OtherOp" in text
    assert "2" in text
