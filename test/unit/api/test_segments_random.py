"""Random graphs whose sizes, branches and loops come from data, against onnxruntime (graph optimisation off)."""

from __future__ import annotations

import random

import numpy as np
import onnx
import pytest
from late_models import X, branches, loop, model, node, reference, same

import gedialect

WEIGHTS = {
    "one": np.array([1]),
    "three": np.array(3),
    "end": np.array([1000]),
    "zero": np.float32(0),
    "ax0": np.array([0]),
    "ax1": np.array([1]),
}


class Graph:
    """Steps on one matrix, each of which may change its sizes by its elements."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.value = "x"

    def add(self, op: str, *inputs: str, **attrs: object) -> str:
        output = f"v{len(self.nodes)}"
        self.nodes.append(node(op, inputs, [output], **attrs))
        return output

    def positive(self, value: str) -> str:
        return self.add("Greater", value, "zero")

    def step(self) -> None:
        x, number = self.value, len(self.nodes)
        match self.random.randrange(9):
            case 0:
                rows = self.positive(self.add("ReduceSum", x, "ax1", keepdims=0))
                self.value = self.add("Compress", x, rows, axis=0)
            case 1:
                count = self.add("ReduceSum", self.add("Cast", self.positive(x), to=7), keepdims=0)
                times = self.add("Unsqueeze", self.add("Mod", count, "three"), "ax0")
                self.value = self.add("Tile", x, self.add("Concat", times, "one", axis=0))
            case 2:
                self.value = self.add("Slice", x, "p", "end", "ax1")
            case 3:
                self.value = self.add("Transpose", x, perm=[1, 0])
            case 4:
                self.value = self.add(self.random.choice(["Relu", "Exp", "Tanh", "Neg"]), x)
            case 5:
                some = self.positive(self.add("ReduceMax", x, keepdims=0))
                other = [node("Neg", [x], [f"n{number}"]), node("Concat", [f"n{number}", x], [f"e{number}"], axis=0)]
                self.value = self.add("If", some, **branches([node("Relu", [x], [f"t{number}"])], other))
            case 6:
                size = self.add("ReduceProd", self.add("Shape", x), keepdims=1)
                self.value = self.add("Reshape", x, self.add("Concat", size, "one", axis=0))
            case 7:
                body = [node("Add", ["a", x], [f"b{number}"]), node("Identity", ["go_in"], ["go"])]
                self.value = self.add("Loop", "m", "", x, body=loop(body, {"a": f"b{number}"}))
            case _:
                self.value = self.add("Concat", x, x, axis=self.random.randrange(2))


@pytest.mark.parametrize("seed", range(24))
def test_random_graphs(seed: int):
    graph = Graph(seed)
    for _ in range(graph.random.randint(2, 6)):
        graph.step()
    m = model(graph.nodes, {"x": X, "p": np.array([1]), "m": np.array(2)}, [graph.value], WEIGHTS)
    if graph.value == "x":
        return
    executable = gedialect.compile(m, level=["O0", "O2"][seed % 2])
    rng = np.random.default_rng(seed)
    for _ in range(2):
        inputs = {
            "x": rng.standard_normal(X.shape).astype(np.float32),
            "p": rng.integers(0, 3, 1),
            "m": np.array(rng.integers(0, 4)),
        }
        (got,) = executable.run(inputs, sanitize=True).values()
        same(got, reference(m, inputs)[0])
