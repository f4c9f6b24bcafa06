"""Attention as exporters write it: raised as far as it goes, and run on kernels against onnxruntime."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import pytest
from xdsl.utils.arg_spec import parse_pipeline

import gedialect
from gedialect.api import compile_module, import_source
from gedialect.api.fusion_report import FusionLog
from gedialect.ir.context import GeContext
from gedialect.ir.registry import pass_factories
from gedialect.pipelines import OPTIMISE, specs

F32 = onnx.TensorProto.FLOAT
RNG = np.random.default_rng(5)
B, S, N, D = 2, 6, 4, 8
H = N * D


class Graph:
    """Collects nodes and weights; ``add`` returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def random(self, *shape: int) -> str:
        return self.weight((RNG.standard_normal(shape) / 4).astype(np.float32))

    def add(self, op: str, *inputs: str, **attrs: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(oh.make_node(op, list(inputs), [name], name=f"/{name}", **attrs))
        return name

    def model(self, result: str, shape: list[int]) -> onnx.ModelProto:
        self.nodes.append(oh.make_node("Identity", [result], ["y"]))
        x, y = oh.make_tensor_value_info("x", F32, [B, S, H]), oh.make_tensor_value_info("y", F32, shape)
        graph = oh.make_graph(self.nodes, "attention", [x], [y], self.weights)
        return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=9)

    def heads(self, x: str, n: int) -> str:
        split = self.add("Reshape", x, self.weight(np.asarray([B, S, n, D], np.int64)))
        return self.add("Transpose", split, perm=[0, 2, 1, 3])

    def rotated(self, x: str, cos: str, sin: str) -> str:
        """The rotary embedding of Hugging Face's LLaMA."""

        def part(begin: int, end: int) -> str:
            bounds = [self.weight(np.asarray([v], np.int64)) for v in (begin, end, 3)]
            return self.add("Slice", x, *bounds)

        turned = self.add("Concat", self.add("Neg", part(D // 2, 2**62)), part(0, D // 2), axis=-1)
        return self.add("Add", self.add("Mul", x, cos), self.add("Mul", turned, sin))


def bert(scale_query: bool, mask: bool) -> onnx.ModelProto:
    """Three projections with biases; scale on the scores or on the query; an additive mask or none."""
    g = Graph()
    q, k, v = (g.heads(g.add("Add", g.add("MatMul", "x", g.random(H, H)), g.random(H)), N) for _ in range(3))
    factor = g.weight(np.float32(D**-0.5))
    if scale_query:
        q = g.add("Mul", q, factor)
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
    if not scale_query:
        scores = g.add("Mul", scores, factor)
    if mask:
        scores = g.add("Add", scores, g.weight(np.where(RNG.random((B, 1, 1, S)) < 0.3, -1e4, 0).astype(np.float32)))
    y = g.add("Transpose", g.add("MatMul", g.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return g.model(g.add("Reshape", y, g.weight(np.asarray([B, S, H], np.int64))), [B, S, H])


def llama() -> onnx.ModelProto:
    """Two heads of key and value for four of query, rotary embedding, a causal mask that is added."""
    g = Graph()
    q, k, v = (g.heads(g.add("MatMul", "x", g.random(H, n * D)), n) for n in (N, 2, 2))
    angles = RNG.random((S, D // 2)).astype(np.float32)
    cos, sin = (g.weight(np.concatenate([f(angles)] * 2, -1)) for f in (np.cos, np.sin))
    q, k = g.rotated(q, cos, sin), g.rotated(k, cos, sin)

    def repeated(x: str) -> str:
        wide = g.add("Unsqueeze", x, g.weight(np.asarray([2], np.int64)))
        wide = g.add("Expand", wide, g.weight(np.asarray([B, 2, 2, S, D], np.int64)))
        return g.add("Reshape", wide, g.weight(np.asarray([B, N, S, D], np.int64)))

    scores = g.add("MatMul", q, g.add("Transpose", repeated(k), perm=[0, 1, 3, 2]))
    scores = g.add("Div", scores, g.weight(np.float32(D**0.5)))
    scores = g.add("Add", scores, g.weight(np.triu(np.full((S, S), -1e9, np.float32), 1)))
    y = g.add("Transpose", g.add("MatMul", g.add("Softmax", scores, axis=-1), repeated(v)), perm=[0, 2, 1, 3])
    return g.model(g.add("Reshape", y, g.weight(np.asarray([B, S, H], np.int64))), [B, S, H])


MODELS = {
    "bert": (bert(False, True), {"ge.matmul": 1, "ge.attention": 1}),
    "bert_no_mask": (bert(False, False), {"ge.matmul": 1, "ge.attention": 1}),
    "bert_scaled_query": (bert(True, True), {"ge.matmul": 1, "ge.attention": 1}),
    "llama": (llama(), {"ge.matmul": 1, "ge.rotary_embedding": 2, "ge.attention": 1}),
}


@pytest.mark.parametrize("name", MODELS)
def test_raised_and_right(name: str):
    model, wanted = MODELS[name]
    session = pytest.importorskip("onnxruntime")
    plain = session.SessionOptions()
    plain.graph_optimization_level = session.GraphOptimizationLevel.ORT_DISABLE_ALL
    x = RNG.standard_normal((B, S, H)).astype(np.float32)
    expected = session.InferenceSession(model.SerializeToString(), plain).run(None, {"x": x})[0]
    executable = gedialect.compile(model)
    assert not executable.report.host_ops
    np.testing.assert_allclose(executable.run({"x": x}, sanitize=True)["y"], expected, rtol=1e-4, atol=1e-5)
    assert kinds(model, wanted) == wanted


def kinds(model: onnx.ModelProto, of: dict[str, int]) -> dict[str, int]:
    """How many ops of these kinds there are after the optimising half of O2."""
    module, ctx, factories = import_source(model), GeContext(), pass_factories()
    for text in specs(OPTIMISE):
        (spec,) = parse_pipeline(text)
        if spec.name in factories:
            factories[spec.name]().from_spec(spec).apply(ctx, module)
    found = Counter(op.name for op in module.walk())
    return {k: found[k] for k in of}


def test_attention_is_no_slower_than_its_parts():
    model = MODELS["llama"][0]
    raised = gedialect.compile(model, time=True).report
    parts = gedialect.compile(model, time=True, disable=["attention", "projection", "rotary"]).report
    assert raised.kernels < parts.kernels
    assert raised.latency_us < parts.latency_us and raised.gm_bytes <= parts.gm_bytes


def test_report_names_the_nodes():
    log = FusionLog()
    compile_module(import_source(MODELS["bert"][0]), fusion_log=log)
    (entry,) = [e for e in log.rules if e["rule"] == "attention"]
    assert any(n.startswith("/Softmax") for n in entry["nodes"]) and entry["saved_bytes"] > 0
