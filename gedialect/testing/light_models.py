"""The ``light_*`` graphs of the onnx package with random weights.

As shipped, their weights are one constant each and their outputs one repeated value, which proves nothing.
Here each such weight is normal with standard deviation sqrt(2 / fan_in) (He et al. 2015; sqrt(1 / fan_in) in
residual nets, whose sums grow), batch-norm scales and variances are uniform in 0.5..1.5, biases and means small.
"""

from __future__ import annotations

import os
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from gedialect.errors import GeError


def light_model(name: str) -> tuple[onnx.ModelProto, dict[str, npt.NDArray[Any]]]:
    """``light_resnet50`` and the like: (model, random inputs), the same at every call; GE1002 for an unknown name."""
    path = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"{name}.onnx")
    if not os.path.isfile(path):
        raise GeError("the onnx package has no such light model", code="GE1002", where=name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    with open(path, "rb") as file:
        model = onnx.ModelProto.FromString(file.read())
    _randomize(model.graph, rng)
    known = {t.name for t in model.graph.initializer}
    inputs: dict[str, npt.NDArray[Any]] = {}
    for value in model.graph.input:
        if value.name not in known:
            shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            inputs[value.name] = rng.normal(0, 1, shape).astype(np.float32)
    return model, inputs


def _randomize(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    shapes = {t.name: t for t in graph.initializer}
    role: dict[str, tuple[str, int]] = {}
    for node in graph.node:
        for i, name in enumerate(node.input):
            role[name] = (node.op_type, i)
    for node in graph.node:  # Caffe2's affine after a batch norm: weight -> Unsqueeze -> Mul
        if node.op_type == "Unsqueeze" and role.get(node.output[0], ("", 0))[0] == "Mul":
            role[node.input[0]] = ("Mul", 1)
    residual = any(n.op_type == "Sum" for n in graph.node)
    normalised = any(n.op_type == "BatchNormalization" for n in graph.node)

    def weight(name: str, shape: tuple[int, ...]) -> onnx.TensorProto:
        op, index = role.get(name, ("", 0))
        if (op == "BatchNormalization" and index in (1, 4)) or op == "Mul":
            values = rng.uniform(0.5, 1.5, shape)
        elif len(shape) < 2:
            values = rng.normal(0, 0.1, shape)
        else:
            scale = np.sqrt((1 if residual else 2) / np.prod(shape[1:]))
            values = rng.normal(0, scale * (0.05 if op == "Gemm" and normalised else 1), shape)
        return numpy_helper.from_array(values.astype(np.float32), name)

    kept: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            shape = tuple(int(d) for d in numpy_helper.to_array(shapes[node.input[0]]))
            graph.initializer.append(weight(node.output[0], shape))
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in graph.node for name in node.input}
    left = [t for t in graph.initializer if t.name in used]
    gone = {t.name for t in graph.initializer} - {t.name for t in left}
    del graph.initializer[:]
    graph.initializer.extend(left)
    inputs = [v for v in graph.input if v.name not in gone]
    del graph.input[:]
    graph.input.extend(inputs)
