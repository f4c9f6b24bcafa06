"""Switches through ``compile``, and the report of what fused: checked by running what was compiled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest

import gedialect
from gedialect.api import Settings, compile_module, import_source
from gedialect.api.fusion_report import FusionLog
from gedialect.cli.ge_compile import main
from gedialect.switches import Switches

F32 = onnx.TensorProto.FLOAT


def block_model() -> onnx.ModelProto:
    """A residual block as PyTorch exports it: a product with bias, an erf-gelu, a second product, a sum, its norm."""
    rng = np.random.default_rng(3)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return onnx.numpy_helper.from_array((rng.standard_normal(shape) / 8).astype(np.float32), name)

    weights = [weight("w", 64, 128), weight("b", 128), weight("v", 128, 64), weight("g", 64), weight("o", 64)]
    scalars = [onnx.numpy_helper.from_array(np.float32(v), n) for n, v in (("r", 2**0.5), ("one", 1), ("half", 0.5))]
    steps = [
        ("MatMul", "x w", "fc"),
        ("Add", "fc b", "h"),
        ("Div", "h r", "d"),
        ("Erf", "d", "e"),
        ("Add", "e one", "f"),
        ("Mul", "h f", "m"),
        ("Mul", "m half", "gelu"),
        ("MatMul", "gelu v", "p"),
        ("Add", "p x", "s"),
        ("LayerNormalization", "s g o", "y"),
    ]
    nodes = [oh.make_node(op, i.split(), [o], name=f"/{o}") for op, i, o in steps]
    x, y = (oh.make_tensor_value_info(n, F32, [16, 64]) for n in "xy")
    graph = oh.make_graph(nodes, "block", [x], [y], [*weights, *scalars])
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=9)


X = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)


def run(**options: Any) -> tuple[Any, Any]:
    executable = gedialect.compile(block_model(), **options)
    return executable.report, executable.run({"x": X}, sanitize=True)["y"]


@pytest.fixture(scope="module")
def expected() -> Any:
    session = pytest.importorskip("onnxruntime")
    plain = session.SessionOptions()
    plain.graph_optimization_level = session.GraphOptimizationLevel.ORT_DISABLE_ALL
    return session.InferenceSession(block_model().SerializeToString(), plain).run(None, {"x": X})[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"disable": ["gelu_erf"]},
        {"disable": ["GraphFusion"]},
        {"disable": ["UBFusion"]},
        {"fusion_modes": ["memory"]},
        {"max_fusion_ops": 1},
        {"strict_numerics": True},
        {"options": {"ge.graph_fusion_patterns.disable": "matmul_gelu"}},
        {"level": 1, "enable": ["gelu_erf"]},
    ],
    ids=str,
)
def test_every_choice_computes_the_same(options: dict[str, Any], expected: Any):
    _, y = run(**options)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_switches_have_their_effect():
    everything = run()[0].kernels
    label = "matmul_gelu"
    without = run(options={"ge.graph_fusion_patterns.disable": label})[0]
    assert without.kernels == everything + 1
    assert not any(label in k["name"] for k in without.kernel_list)
    assert run(max_fusion_ops=1)[0].kernels == run(disable=["UBFusion"])[0].kernels > everything


def report(**switches: Any) -> dict[str, Any]:
    log = FusionLog()
    compile_module(import_source(block_model()), Settings(switches=Switches(**switches)), fusion_log=log)
    return json.loads(log.json())


def test_report_says_what_where_and_how_much():
    found = report()
    fired = {entry["rule"]: entry for entry in found["rules"]}
    assert {"gelu_erf", "matmul_bias", "ffn_gelu", "add_layer_norm"} <= set(fired)
    gelu = fired["gelu_erf"]
    assert {"/d", "/e", "/f", "/m", "/gelu"} <= set(gelu["nodes"]) and gelu["after"] == ["ge.gelu"]
    assert gelu["saved_kernels"] == 4  # five ops are one
    assert gelu["saved_bytes"] == 4 * 2 * 16 * 128 * 4  # four values of f32, each written and read once
    (mixed,) = [k for k in found["kernels"] if k["label"] == "matmul_gelu"]
    assert mixed["saved_kernels"] == 1 and mixed["saved_bytes"] == 2 * 16 * 128 * 4
    assert all(entry["before"] or entry["after"] for entry in found["rules"])
    assert all(len(k["ops"]) > 1 for k in found["kernels"])
    entries = [*found["rules"], *found["kernels"]]
    assert found["total"]["saved_bytes"] == sum(e["saved_bytes"] for e in entries)


def test_report_says_where_a_kernel_was_cut():
    found = report(max_fusion_ops=1, disable=("RequantFusionPass",))
    assert {"max_fusion_ops=1"} == {c["cut"] for c in found["cuts"]}
    assert not found["kernels"]  # none has two ops
    assert found["switches"]["without_counterpart"] == ["RequantFusionPass"]
    assert not report()["cuts"]


def test_command_line(tmp_path: Path):
    model, om, out, switches = (str(tmp_path / n) for n in ("m.onnx", "m.om", "f.json", "fusion_switch.cfg"))
    onnx.save(block_model(), model)
    Path(switches).write_text("AddLayerNormFusionPass:off\n")
    arguments = [model, "-o", om, "--fusion-report", out, "--fusion-switch-file", switches, "--disable", "gelu_erf"]
    assert main(arguments) == 0
    fired = {entry["rule"] for entry in json.loads(Path(out).read_text())["rules"]}
    assert "matmul_bias" in fired and not fired & {"gelu_erf", "add_layer_norm", "add_add_layer_norm"}
    assert main([model, "-o", om, "--disable", "gelu_errf"]) == 2
