"""Small ONNX models, and what onnxruntime (graph optimisation off) and the ge interpreter make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from gedialect.frontends.onnx import import_model
from gedialect.interpreter import run

Array = npt.NDArray[Any]


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array | onnx.ValueInfoProto],
    outputs: Sequence[str],
    *,
    opset: int = 21,
    weights: Mapping[str, Array] = {},
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] = {},
) -> onnx.ModelProto:
    """A model; inputs are given by example arrays (static shapes) or by their value info."""
    infos = [
        v
        if isinstance(v, onnx.ValueInfoProto)
        else helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in inputs.items()
    ]
    graph = helper.make_graph(
        list(nodes),
        "g",
        infos,
        [onnx.ValueInfoProto(name=o) for o in outputs],
        [numpy_helper.from_array(v, n) for n, v in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains.items())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=list(functions))


def node(op_type: str, inputs: Sequence[str], outputs: Sequence[str] = ("y",), **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, list(inputs), list(outputs), **attrs)


def reference(m: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(inputs))


def check(m: onnx.ModelProto, inputs: Mapping[str, Array], tolerance: float = 1e-5) -> list[str]:
    """The imported model gives onnxruntime's results, in type and shape too; names of its ge ops."""
    module = import_model(m)
    module.verify()
    got = run(module, inputs)
    want = reference(m, inputs)
    assert list(got) == [o.name for o in m.graph.output]
    for g, w in zip(got.values(), want, strict=True):
        same(g, w, tolerance)
    return ops(module)


def same(got: Array, want: Array, tolerance: float = 1e-5) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
    else:
        scale = float(np.abs(want[np.isfinite(want)]).max(initial=0.0)) or 1.0
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale)


def ops(module: Any) -> list[str]:
    """Names of the ops but constants, without ``ge.``."""
    return [o.name[3:] for o in module.walk() if o.name.startswith("ge.") and o.name != "ge.constant"]


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def i64(*values: int) -> Array:
    return np.array(values, np.int64)
