"""Small models whose sizes and branches come from data, and what onnxruntime (graph optimisation off) makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)


def info(name: str, dtype: int, shape: Sequence[int | str | None] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, list(inputs), list(outputs), name=f"n_{outputs[0]}", **attrs)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    weights: Mapping[str, Any] = {},
    opset: int = 21,
) -> onnx.ModelProto:
    infos = [info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in inputs.items()]
    graph = helper.make_graph(
        list(nodes),
        "g",
        infos,
        [onnx.ValueInfoProto(name=o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def reference(m: onnx.ModelProto, inputs: Mapping[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(
        None, dict(inputs)
    )


def same(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert isinstance(got, list)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def branches(then_nodes: Sequence[onnx.NodeProto], else_nodes: Sequence[onnx.NodeProto]) -> dict[str, Any]:
    return {
        f"{name}_branch": helper.make_graph(list(nodes), name, [], [onnx.ValueInfoProto(name=nodes[-1].output[0])])
        for name, nodes in (("then", then_nodes), ("else", else_nodes))
    }


def loop(body: Sequence[onnx.NodeProto], carried: Mapping[str, str], scans: Sequence[str] = ()) -> onnx.GraphProto:
    inputs = [info("i", I64, []), info("go_in", BOOL, []), *(info(n, F32, None) for n in carried)]
    outputs = [onnx.ValueInfoProto(name=n) for n in ("go", *carried.values(), *scans)]
    return helper.make_graph(list(body), "body", inputs, outputs)
