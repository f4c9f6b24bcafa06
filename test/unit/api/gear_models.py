"""Small models with open sizes for the tests of gears, and what onnxruntime (graph optimisation off) makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from late_models import F32, I64, info, node, reference
from onnx import helper, numpy_helper

Array = np.ndarray[Any, np.dtype[Any]]


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    weights: Mapping[str, Any] = {},
    opset: int = 17,
) -> onnx.ModelProto:
    """As ``late_models.model``, with inputs of open sizes."""
    tensors = [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()]
    graph = helper.make_graph(list(nodes), "g", list(inputs), [onnx.ValueInfoProto(name=o) for o in outputs], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> Array:
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def cnn(batch: int | str = "n", width: int = 24) -> onnx.ModelProto:
    """Convolutions, a residual, pooling and a product: layouts change, things fuse, weights are relaid."""
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n1"]),
        node("Relu", ["n1"], ["r1"]),
        node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r1"], ["a"]),
        node("Relu", ["a"], ["r2"]),
        node("MaxPool", ["r2"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["p"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "fc", "fb"], ["y"], transB=1),
    ]
    c = width
    weights = {
        "w1": numbers(c, 3, 3, 3, seed=1, scale=0.3), "w2": numbers(c, c, 3, 3, seed=2, scale=0.1),
        "b2": numbers(c, seed=3), "s": numbers(c, seed=4), "b": numbers(c, seed=5), "m": numbers(c, seed=6),
        "v": np.abs(numbers(c, seed=7)) + 0.5, "fc": numbers(10, c, seed=8), "fb": numbers(10, seed=9),
    }  # fmt: skip
    return model(nodes, [info("x", F32, [batch, 3, 12, 14])], ["y"], weights)


def transformer() -> onnx.ModelProto:
    """A block over ids and a mask of open batch and length: embedding, positions cut to the length, layer norm,
    attention of two heads by the mask, and a product that ends in gelu."""
    d, heads, words, places = 16, 2, 32, 24
    weights: dict[str, Any] = {
        "emb": numbers(words, d, seed=1), "pos": numbers(1, places, d, seed=2), "g": numbers(d, seed=3),
        "b": numbers(d, seed=4), "wo": numbers(d, d, seed=5, scale=0.3), "w1": numbers(d, 2 * d, seed=6, scale=0.3),
        "w2": numbers(2 * d, d, seed=7, scale=0.3), "zero": np.array([0]), "one": np.array([1]),
        "split": np.array([0, 0, heads, d // heads]), "merge": np.array([0, 0, d]), "two": np.float32(2**0.5),
        "half": np.float32(0.5), "onef": np.float32(1), "scale": np.float32((d // heads) ** -0.5),
        "minus": np.float32(-1e4), "axes": np.array([1, 2]), "last": np.array(1),
    }  # fmt: skip
    for n, name in enumerate("qkv"):
        weights[f"w{name}"] = numbers(d, d, seed=10 + n, scale=0.3)
    nodes = [
        node("Gather", ["emb", "ids"], ["e"]),
        node("Shape", ["ids"], ["sh"]),
        node("Gather", ["sh", "last"], ["len0"]),
        node("Unsqueeze", ["len0", "zero"], ["len"]),
        node("Slice", ["pos", "zero", "len", "one"], ["p"]),
        node("Add", ["e", "p"], ["x"]),
        node("LayerNormalization", ["x", "g", "b"], ["n"], axis=-1, epsilon=1e-5),
    ]
    for name in "qkv":
        nodes += [
            node("MatMul", ["n", f"w{name}"], [f"{name}0"]),
            node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [name], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]),
        ]
    nodes += [
        node("MatMul", ["q", "k"], ["s0"]),
        node("Mul", ["s0", "scale"], ["s1"]),
        node("Cast", ["mask"], ["m0"], to=F32),
        node("Sub", ["onef", "m0"], ["m1"]),
        node("Mul", ["m1", "minus"], ["m2"]),
        node("Unsqueeze", ["m2", "axes"], ["m3"]),
        node("Add", ["s1", "m3"], ["s2"]),
        node("Softmax", ["s2"], ["pr"], axis=-1),
        node("MatMul", ["pr", "v"], ["o0"]),
        node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        node("Reshape", ["o1", "merge"], ["o2"]),
        node("MatMul", ["o2", "wo"], ["o3"]),
        node("Add", ["o3", "x"], ["h"]),
        node("MatMul", ["h", "w1"], ["u"]),
        node("Div", ["u", "two"], ["u1"]),
        node("Erf", ["u1"], ["u2"]),
        node("Add", ["u2", "onef"], ["u3"]),
        node("Mul", ["u", "u3"], ["u4"]),
        node("Mul", ["u4", "half"], ["u5"]),
        node("MatMul", ["u5", "w2"], ["y"]),
    ]
    inputs = [info("ids", I64, ["batch", "len"]), info("mask", I64, ["batch", "len"])]
    return model(nodes, inputs, ["y", "h"], weights)


def feed(shapes: Mapping[str, tuple[int, ...]], m: onnx.ModelProto, seed: int = 0) -> dict[str, Array]:
    """Random inputs of these shapes."""
    rng = np.random.default_rng(seed)
    types = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in m.graph.input}
    found: dict[str, Array] = {}
    for name, shape in shapes.items():
        if types[name].kind == "f":
            found[name] = rng.standard_normal(shape).astype(types[name])
        else:
            found[name] = rng.integers(0, 2 if name == "mask" else 30, shape).astype(types[name])
    for mask in (v for n, v in found.items() if n == "mask"):
        mask[..., 0] = 1
    return found


def expected(m: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    return dict(zip([o.name for o in m.graph.output], reference(m, inputs), strict=True))


__all__ = ["F32", "I64", "Array", "cnn", "expected", "feed", "info", "model", "node", "numbers", "transformer"]
