"""Random ONNX models over the operator table, made node by node: each node runs in onnxruntime as it is added, so that
types and shapes are known and what onnxruntime refuses is left out.

``random_model(seed)`` gives a model and its inputs, the same for the same seed and version of onnxruntime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from gedialect.testing.differential import ReferenceFailed, session_outputs, tensor

Array = npt.NDArray[Any]
SIZES = (500, 4000, 4000, 4000, 30000)
"""Elements of the largest value, one of these for each model."""
LARGEST = {"float16": 300.0, "float32": 1e5, "float64": 1e5}
"""Values beyond are not read any further: what overflows later tells nothing."""
EMPTY = (0.0, 0.0, 0.01, 0.01, 0.15)
"""How likely a size is 0, one of these for each model."""
TINY = 1e-30
"""Smaller values than this onnxruntime may call 0, and what is rounded up from them is 1 or 0."""
OPSETS = (13, 17, 18, 20, 21)
DIMS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 8, 16, 17, 33, 64, 100, 129)
FLOATS = ("float32", "float32", "float32", "float16")
DTYPES = (*FLOATS, "int32", "int64", "int8", "uint8", "bool")


@dataclass(frozen=True)
class Value:
    """A value of the graph under construction, and what it is for the model's inputs."""

    name: str
    array: Array
    constant: bool = False

    @property
    def dtype(self) -> str:
        return self.array.dtype.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim


@dataclass
class Graph:
    """A model under construction. ``counts`` has how often each operator was added."""

    rng: np.random.Generator
    opset: int
    size: int = 4000
    """Elements of the largest value."""
    empty: float = 0.01
    """How likely a size is 0."""
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])
    values: list[Value] = field(default_factory=list[Value])
    used: set[str] = field(default_factory=set[str])
    refused: list[str] = field(default_factory=list[str])
    """Operators that onnxruntime did not take in the form tried."""

    # ---- choices
    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def dim(self) -> int:
        return 0 if self.chance(self.empty) else int(self.pick(DIMS))

    def shape(self, low: int = 0, high: int = 5) -> tuple[int, ...]:
        """Sizes of a rank from ``low`` to ``high``, not too many elements."""
        while True:
            shape = tuple(self.dim() for _ in range(self.integer(low, high)))
            if int(np.prod(shape)) <= self.size // 2:
                return shape

    def numbers(self, dtype: str, shape: Sequence[int]) -> Array:
        """Random contents of a type."""
        if dtype == "bool":
            return self.rng.random(tuple(shape)) < 0.5
        if dtype.startswith("float"):
            return np.asarray(self.rng.normal(size=tuple(shape)) * self.pick([0.5, 1, 1, 3])).astype(dtype)
        low = 0 if dtype.startswith("u") else -9
        return np.asarray(self.rng.integers(low, 10, tuple(shape))).astype(dtype)

    # ---- values
    def fresh(self, dtype: str, shape: Sequence[int], constant: bool | None = None) -> Value:
        """A new input or weight."""
        return self.put(self.numbers(dtype, shape), constant)

    def put(self, array: Array, constant: bool | None = None) -> Value:
        """An array as a new weight (or, by chance, input)."""
        array = np.asarray(array)
        is_weight = self.chance(0.5) if constant is None else constant
        name = f"w{len(self.weights)}" if is_weight else f"x{len(self.inputs)}"
        (self.weights if is_weight else self.inputs)[name] = array
        value = Value(name, array, is_weight)
        self.values.append(value)
        return value

    def ints(self, *numbers: int) -> Value:
        """A weight of i64 numbers, as shapes and axes are given."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(numbers, np.int64)
        return Value(name, self.weights[name], True)

    def any(
        self,
        dtypes: Sequence[str] = DTYPES,
        ranks: tuple[int, int] = (0, 5),
        where: Callable[[Value], bool] = lambda v: True,
    ) -> Value:
        """A value of one of the types, with a rank in the range; a new one if there is none that fits."""
        fits = [v for v in self.values if v.dtype in dtypes and ranks[0] <= v.rank <= ranks[1] and where(v)]
        results = [v for v in fits if not v.constant and v.name not in self.inputs]
        if results and self.chance(0.85):
            unused = [v for v in results if v.name not in self.used]
            return self.pick(unused if unused and self.chance(0.7) else results)
        if fits and self.chance(0.6):
            return self.pick(fits)
        for _ in range(50):
            made = Value("", self.numbers(self.pick(dtypes), self.shape(*ranks)))
            if where(made):
                return self.put(made.array, False if not self.inputs else None)
        raise Refused("no value fits")

    def like(self, value: Value, shape: Sequence[int] | None = None) -> Value:
        """A value of the type and shape of ``value`` (or ``shape``), there already or new."""
        wanted = tuple(value.shape if shape is None else shape)
        same = [v for v in self.values if v.dtype == value.dtype and v.shape == wanted]
        return self.pick(same) if same and self.chance(0.7) else self.fresh(value.dtype, wanted)

    def broadcastable(self, value: Value) -> Value:
        """A value of the type of ``value`` that broadcasts with it."""
        same = [v for v in self.values if v.dtype == value.dtype and _broadcasts(v.shape, value.shape)]
        if same and self.chance(0.6):
            return self.pick(same)
        shape = [1 if self.chance(0.25) else d for d in value.shape]
        return self.fresh(value.dtype, shape[self.integer(0, len(shape)) if self.chance(0.3) else 0 :])

    # ---- nodes
    def node(
        self, op: str, inputs: Sequence[Value | None], outputs: int = 1, domain: str = "", **attrs: Any
    ) -> list[Value]:
        """Add a node and run it; ``Refused`` if onnxruntime does not take it or its values tell nothing."""
        names = [f"v{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        read = ["" if v is None else v.name for v in inputs]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        made = helper.make_node(op, read, names, name=f"n{len(self.nodes)}_{op}", domain=domain, **attrs)
        given = {v.name: v.array for v in inputs if v is not None}
        try:
            results = session_outputs(_model([made], given, {}, dict.fromkeys(names), self.opset), given)
        except ReferenceFailed:
            self.refused.append(op)
            raise Refused(op) from None
        arrays = [tensor(results[n]) for n in names]
        if any(a is None or a.size > self.size or not _tells(a) for a in arrays):
            raise Refused(op)
        self.nodes.append(made)
        self.used.update(given)
        found = [Value(n, a) for n, a in zip(names, arrays, strict=True) if a is not None]
        self.values += found
        return found

    def model(self) -> onnx.ModelProto:
        """The graph with all results that nobody reads as outputs, and some that are read."""
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output]
        arrays = {v.name: v.array for v in self.values}
        outputs = {n: arrays[n] for n in made if n not in read or self.chance(0.1)}
        weights = {n: w for n, w in self.weights.items() if n in read}
        inputs = {n: x for n, x in self.inputs.items() if n in read}
        return _model(self.nodes, inputs, weights, outputs, self.opset)


class Refused(Exception):
    """A node that cannot be added."""


def _broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    pairs = zip(reversed(a), reversed(b), strict=False)
    return all(x == y or 1 in (x, y) for x, y in pairs) and len(a) + len(b) < 11


def _tells(array: Array) -> bool:
    """Whether a result is small and finite enough to be read further."""
    limit = LARGEST.get(array.dtype.name)
    if limit is None or array.size == 0:
        return array.dtype.kind != "i" or array.size == 0 or int(np.abs(array.astype(np.float64)).max()) < 1 << 30
    with np.errstate(all="ignore"):
        size = np.abs(array.astype(np.float64))
        wild = ~(size <= limit)
    if array.dtype != np.float16 and bool(((size > 0) & (size < TINY)).any()):
        return False
    # f16 beyond its range: onnxruntime computes it in f32 and does not round in between
    return float(wild.mean()) <= (0.25 if array.dtype != np.float16 else 0.0)


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Array],
    weights: dict[str, Array],
    outputs: Mapping[str, Array | None],
    opset: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "random",
        [_info(n, x) for n, x in inputs.items()],
        [onnx.ValueInfoProto(name=n) if y is None else _info(n, y) for n, y in outputs.items()],
        [numpy_helper.from_array(w, n) for n, w in weights.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    if any(n.domain for n in nodes):
        opsets.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _info(name: str, array: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))


@dataclass(frozen=True)
class RandomModel:
    """A model, the inputs it was made with, and the operators in it."""

    seed: int
    model: onnx.ModelProto
    inputs: dict[str, Array]
    refused: tuple[str, ...]

    @property
    def operators(self) -> list[str]:
        return sorted({node.op_type for node in self.model.graph.node})


def _runs(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> bool:
    try:
        session_outputs(model, inputs)
    except ReferenceFailed:
        return False
    return True


def random_model(seed: int, nodes: int | None = None, only: Sequence[str] = ()) -> RandomModel:
    """A model of about ``nodes`` nodes (2 to 24 by chance); ``only`` these operators, if given, else all of
    ``random_forms.OPERATORS``."""
    from gedialect.testing.random_forms import OPERATORS, WEIGHTS

    graph = Graph(np.random.default_rng(seed), 21)
    graph.opset, graph.size, graph.empty = graph.pick(OPSETS), graph.pick(SIZES), graph.pick(EMPTY)
    count = graph.integer(2, 24) if nodes is None else nodes
    names = list(only) if only else list(OPERATORS)
    chances = np.array([WEIGHTS.get(n, 1.0) for n in names])
    for _ in range(20 * count):
        if len(graph.nodes) >= count:
            break
        name = names[int(graph.rng.choice(len(names), p=chances / chances.sum()))]
        try:
            OPERATORS[name](graph)
        except Refused:
            continue
    model = graph.model()
    while len(graph.nodes) > 1 and not _runs(model, graph.inputs):  # each node did, alone
        del graph.nodes[len(graph.nodes) // 2 :]
        model = graph.model()
    wanted = {i.name for i in model.graph.input}
    return RandomModel(seed, model, {n: x for n, x in graph.inputs.items() if n in wanted}, tuple(graph.refused))
