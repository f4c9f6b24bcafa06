"""Edits of ONNX models. Values that become inputs keep the numbers they had, as far as onnxruntime can tell them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, helper, numpy_helper

from gedialect.errors import GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec
from gedialect.testing.agree import random_array
from gedialect.testing.differential import ReferenceFailed, all_values, tensor
from gedialect.testing.reduction.driver import Step, digest

Array = npt.NDArray[Any]
SIZES = 8
"""Integers in a weight that may be sizes or axes."""


@dataclass(frozen=True)
class OnnxState:
    """A model with arrays for its inputs."""

    model: onnx.ModelProto
    inputs: Mapping[str, Array]

    def key(self) -> object:
        return digest(self.model.SerializeToString(deterministic=True), self.inputs)

    def cost(self) -> tuple[int, ...]:
        graph = self.model.graph
        weights = [numpy_helper.to_array(w) for w in graph.initializer]
        return (
            _node_count(graph),
            len(graph.output),
            sum(len(n.attribute) for n in graph.node),
            sum(1 for n in graph.node for name in n.input if name),
            len(graph.input),
            len(weights),
            sum(int(w.size) for w in weights) + sum(int(x.size) for x in self.inputs.values()),
            sum(1 for w in weights if not _is_simple(w)),
            len(self.model.functions),
        )

    @cached_property
    def values(self) -> Mapping[str, Array]:
        """Arrays for the values of the graph: what onnxruntime computes, or random ones of the inferred types."""
        found = {**{w.name: numpy_helper.to_array(w) for w in self.model.graph.initializer}, **self.inputs}
        try:
            for name, value in all_values(self.model, self.inputs).items():
                if (array := tensor(value)) is not None:
                    found[name] = array
            return found
        except ReferenceFailed:
            return {**_random_values(self.model), **found}

    @property
    def nodes(self) -> int:
        return _node_count(self.model.graph)


def _node_count(graph: onnx.GraphProto) -> int:
    return sum(1 + sum(_node_count(inner) for inner in _subgraphs(n)) for n in graph.node)


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]


def _random_values(model: onnx.ModelProto) -> dict[str, Array]:
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:
        return {}
    found: dict[str, Array] = {}
    rng = np.random.default_rng(0)
    for info in [*graph.value_info, *graph.output]:
        kind = info.type.tensor_type
        if not info.type.HasField("tensor_type") or not kind.elem_type or not kind.HasField("shape"):
            continue
        shape = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        if all(d >= 0 for d in shape) and np.prod(shape) < 1 << 24:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
            numbers = rng.normal(size=shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
            found[info.name] = np.asarray(numbers).astype(dtype)
    return found


def _is_simple(array: Array) -> bool:
    """Whether all elements are equal, or few enough to be sizes or axes."""
    few = array.size <= (SIZES if array.dtype.kind in "iu" else 1)
    return few or bool((array == array.reshape(-1)[0]).all())


def state_of(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> OnnxState:
    """The model without what is not needed to run it: doc strings, types of values inside, unread weights."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    del copy.metadata_props[:]
    copy.doc_string = copy.graph.doc_string = ""
    weights = {w.name for w in copy.graph.initializer}
    inner = [i for i in copy.graph.input if i.name not in weights]  # old models name weights among the inputs
    del copy.graph.input[:]
    copy.graph.input.extend(inner)
    for node in copy.graph.node:
        node.doc_string = ""
        _constant_to_weight(copy, node)
    kept = [n for n in copy.graph.node if not _is_constant(n)]
    del copy.graph.node[:]
    copy.graph.node.extend(kept)
    return OnnxState(copy, dict(inputs))


def _is_constant(node: onnx.NodeProto) -> bool:
    return node.op_type == "Constant" and node.domain == "" and any(a.name == "value" for a in node.attribute)


def _constant_to_weight(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
    if _is_constant(node):
        weight = model.graph.initializer.add()
        weight.CopyFrom(next(a.t for a in node.attribute if a.name == "value"))
        weight.name = node.output[0]


def reads(node: onnx.NodeProto) -> Iterable[str]:
    """Values a node reads, also those its subgraphs read of the outside."""
    yield from (name for name in node.input if name)
    for graph in _subgraphs(node):
        own = {i.name for i in graph.input} | {w.name for w in graph.initializer}
        own |= {name for n in graph.node for name in n.output}
        for n in graph.node:
            yield from (name for name in reads(n) if name not in own)
        yield from (o.name for o in graph.output if o.name not in own)


def _rebuilt(
    state: OnnxState,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[str],
    *,
    weights: Mapping[str, Array] | None = None,
    inputs: Mapping[str, Array] | None = None,
) -> OnnxState | None:
    """The model of these nodes: dead ones go, values that nobody computes become inputs with the arrays they had.

    ``weights`` replaces some of the weights, ``inputs`` some of the arrays. None if there is nothing left or a type is
    not known.
    """
    graph = state.model.graph
    alive: set[str] = set(outputs)
    kept: list[onnx.NodeProto] = []
    for node in reversed(nodes):
        if any(name in alive for name in node.output):
            kept.append(node)
            alive.update(reads(node))
    kept.reverse()
    if not kept:
        return None
    made = {name for node in kept for name in node.output}
    outputs = [o for o in dict.fromkeys(outputs) if o in made]
    if not outputs:
        return None
    needed = list(dict.fromkeys(name for node in kept for name in reads(node) if name not in made))
    arrays = {**state.values, **(inputs or {})}
    old = {w.name: w for w in graph.initializer}
    changed = weights or {}
    model = onnx.ModelProto()
    model.CopyFrom(state.model)
    new = model.graph
    del new.node[:], new.input[:], new.output[:], new.initializer[:], new.sparse_initializer[:]
    new.node.extend(kept)
    given: dict[str, Array] = {}
    was_input = {i.name: i for i in graph.input}
    for name in needed:
        if name in changed:
            new.initializer.append(numpy_helper.from_array(changed[name], name))
        elif name in old:
            new.initializer.append(old[name])
        elif name in arrays:
            given[name] = arrays[name]
            new.input.append(_info(name, arrays[name]))
        elif name in was_input:
            new.input.append(was_input[name])
        else:
            return None
    was_output = {o.name: o for o in graph.output}
    for name in outputs:
        if name in state.values:
            new.output.append(_info(name, state.values[name], sizes=False))  # the edit may change them
        elif name in was_output:
            new.output.append(was_output[name])
        else:
            return None
    called = {(n.domain, n.op_type) for n in kept}
    functions = [f for f in model.functions if (f.domain, f.name) in called or len(model.functions) > 8]
    if len(functions) < len(model.functions) and not any(_calls(f, model) for f in functions):
        del model.functions[:]
        model.functions.extend(functions)
    try:
        check(model)
    except Exception:
        return None
    return OnnxState(model, given)


def load(path: str) -> onnx.ModelProto:
    """The model of a file, with weights that lie outside of it; GE1002, GE1003."""
    try:
        return cast(Any, onnx).load(path)
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror}", code="GE1002", where=path, hint="check the path") from None
    except Exception as error:  # protobuf's errors and those of onnx share no base class
        raise GeError(f"no ONNX model: {str(error)[:200]}", code="GE1003", where=path) from None


def check_inputs(model: onnx.ModelProto, inputs: Mapping[str, Array], where: str) -> None:
    """GE1004 unless there is an array for every input of the model, and no other."""
    weights = {w.name for w in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in weights]
    missing, unknown = [n for n in names if n not in inputs], [n for n in inputs if n not in names]
    if missing or unknown:
        raise GeError(
            f"inputs do not match: missing {missing or 'none'}, unknown {unknown or 'none'}",
            code="GE1004",
            where=where,
            hint=f"the inputs are {', '.join(names)}",
        )


def random_inputs(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]], seed: int) -> dict[str, Array]:
    """Random arrays for the inputs; ``shapes`` says the sizes the model leaves open. GE1014 for sizes nobody says,
    GE1203 for inputs that are no tensors."""
    rng = np.random.default_rng(seed)
    weights = {w.name for w in model.graph.initializer}
    found: dict[str, Array] = {}
    for info in (i for i in model.graph.input if i.name not in weights):
        kind = info.type.tensor_type
        try:
            dtype = dtypes.from_numpy(helper.tensor_dtype_to_np_dtype(kind.elem_type))
        except KeyError:
            text = f"input {info.name} is no tensor of a type that has random numbers"
            raise UnsupportedError(text, code="GE1203", hint="give --inputs IN.npz") from None
        sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        shape = tuple(shapes.get(info.name, sizes))
        if any(d < 0 for d in shape) or not kind.HasField("shape"):
            raise GeError(
                f"no random inputs: sizes are unknown: {info.name}",
                code="GE1014",
                hint="give --inputs IN.npz, or the sizes with --input-shape",
            )
        found[info.name] = random_array(rng, Spec(dtype, shape))
    return found


def check(model: onnx.ModelProto) -> None:
    """Raises unless onnx's checker takes the model."""
    cast(Any, onnx.checker).check_model(model)


def _calls(function: onnx.FunctionProto, model: onnx.ModelProto) -> bool:
    names = {(f.domain, f.name) for f in model.functions}
    return any((n.domain, n.op_type) in names for n in function.node)


def _info(name: str, array: Array, *, sizes: bool = True) -> onnx.ValueInfoProto:
    shape = list(array.shape) if sizes else [None] * array.ndim
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def finished(state: OnnxState) -> onnx.ModelProto:
    """The model with the sizes of its outputs, where they are known."""
    model = onnx.ModelProto()
    model.CopyFrom(state.model)
    for output in model.graph.output:
        if output.name in state.values:
            output.CopyFrom(_info(output.name, state.values[output.name]))
    return model


def _outputs(state: OnnxState) -> list[str]:
    return [o.name for o in state.model.graph.output]


def _node_units(state: OnnxState) -> list[str]:
    """Nodes by the first value they make, which no edit changes."""
    return [_id(n) for n in state.model.graph.node]


def _id(node: onnx.NodeProto) -> str:
    return next((name for name in node.output if name), "")


# ---------------------------------------------------------------- edits
def drop_outputs(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    left = [o for o in _outputs(state) if o not in units]
    return _rebuilt(state, state.model.graph.node, left)


def drop_nodes(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """Without some nodes: what they made becomes inputs, what they read outputs."""
    gone = [n for n in state.model.graph.node if _id(n) in units]
    left = [n for n in state.model.graph.node if _id(n) not in units]
    made = {name for node in left for name in node.output if name}
    frontier = [name for node in gone for name in reads(node) if name in made]
    return _rebuilt(state, left, [*(o for o in _outputs(state) if o in made), *frontier])


def bypass(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """Without some nodes: who reads their results reads one of their operands, of the same type and shape."""
    instead: dict[str, str] = {}
    left: list[onnx.NodeProto] = []
    for node in state.model.graph.node:
        other = _operand_like(state, node) if _id(node) in units else None
        if other is None:
            left.append(node)
        else:
            instead[node.output[0]] = instead.get(other, other)
    if not instead:
        return None
    renamed = [_renamed(n, instead) for n in left]
    return _rebuilt(state, renamed, [instead.get(o, o) for o in _outputs(state)])


def _operand_like(state: OnnxState, node: onnx.NodeProto) -> str | None:
    result = state.values.get(_id(node))
    if result is None or sum(bool(o) for o in node.output) != 1:
        return None
    for name in node.input:
        operand = state.values.get(name)
        if operand is not None and operand.dtype == result.dtype and operand.shape == result.shape:
            return name
    return None


def _renamed(node: onnx.NodeProto, instead: Mapping[str, str]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for i, name in enumerate(node.input):
        copy.input[i] = instead.get(name, name)
    for graph in _subgraphs(copy):
        nodes = [_renamed(n, instead) for n in graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
    return copy


def _with_node(state: OnnxState, index: int, node: onnx.NodeProto) -> OnnxState | None:
    nodes = list(state.model.graph.node)
    nodes[index] = node
    return _rebuilt(state, nodes, _outputs(state))


def _attribute_units(state: OnnxState) -> list[tuple[str, str]]:
    return [(_id(n), a.name) for n in state.model.graph.node for a in n.attribute]


def drop_attributes(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    nodes: list[onnx.NodeProto] = []
    for node in state.model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        left = [a for a in node.attribute if (_id(node), a.name) not in units]
        del copy.attribute[:]
        copy.attribute.extend(left)
        nodes.append(copy)
    return _rebuilt(state, nodes, _outputs(state))


def _operand_units(state: OnnxState) -> list[tuple[str, int]]:
    return [(_id(n), i) for n in state.model.graph.node for i, name in reversed(list(enumerate(n.input))) if name]


def drop_operand(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """Without an operand that may be absent, or one of any number."""
    ((name, at),) = cast("Sequence[tuple[str, int]]", units)
    index = next(i for i, n in enumerate(state.model.graph.node) if _id(n) == name)
    node = onnx.NodeProto()
    node.CopyFrom(state.model.graph.node[index])
    if at >= len(node.input):
        return None
    if at == len(node.input) - 1:
        del node.input[at]
        while node.input and not node.input[-1]:
            del node.input[-1]
    else:
        node.input[at] = ""
    return _with_node(state, index, node)


def _weight_units(state: OnnxState) -> list[str]:
    return [w.name for w in state.model.graph.initializer]


def _read_units(state: OnnxState) -> list[str]:
    return [*(i.name for i in state.model.graph.input), *_weight_units(state)]


def merge(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """Another input or weight of the same type and shape in place of some."""
    instead: dict[str, str] = {}
    names = _read_units(state)
    for name in (n for n in names if n in units):
        for other in names:
            a, b = state.values.get(name), state.values.get(other)
            if other == name or other in instead or a is None or b is None:
                continue
            if a.dtype == b.dtype and a.shape == b.shape:
                instead[name] = other
                break
    if not instead:
        return None
    return _rebuilt(state, [_renamed(n, instead) for n in state.model.graph.node], _outputs(state))


def simple_weights(number: int, state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """One number everywhere in some weights."""
    weights = {w.name: numpy_helper.to_array(w) for w in state.model.graph.initializer if w.name in units}
    changed = {n: np.full_like(w, number) for n, w in weights.items() if not _is_simple(w)}
    return _rebuilt(state, state.model.graph.node, _outputs(state), weights=changed) if changed else None


def _sizes(state: OnnxState) -> list[tuple[int, int, bool]]:
    """(size, smaller size, from the end) for every size of inputs and weights."""
    arrays = [*state.inputs.values(), *(numpy_helper.to_array(w) for w in state.model.graph.initializer)]
    sizes = sorted({int(d) for a in arrays for d in a.shape if d > 1}, reverse=True)
    smaller = [(d, s) for d in sizes for s in dict.fromkeys((1, 2, 3, d // 4, d // 2, d - d // 4, d - 1)) if 0 < s < d]
    return [(d, s, last) for d, s in smaller for last in (False, True)]


def shrink_size(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """All axes of one size made shorter, in inputs and weights; also numbers in small weights of shapes."""
    ((size, smaller, last),) = cast("Sequence[tuple[int, int, bool]]", units)
    kept = slice(size - smaller, size) if last else slice(0, smaller)

    def cut(array: Array) -> Array:
        whole = tuple(kept if d == size else slice(None) for d in array.shape)
        part = array[whole]
        if array.dtype == np.int64 and array.ndim <= 1 and array.size <= SIZES:
            part = np.where(part == size, smaller, part)
        return np.ascontiguousarray(part).reshape(part.shape)

    weights = {w.name: numpy_helper.to_array(w) for w in state.model.graph.initializer}
    changed = {n: cut(w) for n, w in weights.items()}
    inputs = {n: cut(x) for n, x in state.inputs.items()}
    nodes = [_with_ints(n, size, smaller) for n in state.model.graph.node]
    return _rebuilt(state, nodes, _outputs(state), weights=changed, inputs=inputs)


def _with_ints(node: onnx.NodeProto, size: int, smaller: int) -> onnx.NodeProto:
    """A node whose shape attributes name the smaller size."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for attr in copy.attribute:
        if attr.name in ("shape", "split", "kernel_shape", "output_shape") and attr.type == AttributeProto.INTS:
            for i, n in enumerate(attr.ints):
                if n == size:
                    attr.ints[i] = smaller
    return copy


def _branch_units(state: OnnxState) -> list[tuple[str, str]]:
    return [(_id(n), a.name) for n in state.model.graph.node if n.op_type == "If" for a in n.attribute]


def inline_branch(state: OnnxState, units: Sequence[object]) -> OnnxState | None:
    """The nodes of one branch in place of an If."""
    ((name, branch),) = cast("Sequence[tuple[str, str]]", units)
    nodes: list[onnx.NodeProto] = []
    copy = onnx.ModelProto()
    copy.CopyFrom(state.model)
    for node in state.model.graph.node:
        if _id(node) != name:
            nodes.append(node)
            continue
        graph = next(a.g for a in node.attribute if a.name == branch)
        instead = {o.name: n for o, n in zip(graph.output, node.output, strict=True)}
        copy.graph.initializer.extend(graph.initializer)
        for inner in graph.node:
            renamed = _renamed(inner, instead)
            for i, o in enumerate(inner.output):
                renamed.output[i] = instead.get(o, o)
            nodes.append(renamed)
    return _rebuilt(OnnxState(copy, state.inputs), nodes, _outputs(state))


STEPS: tuple[Step[OnnxState], ...] = (
    Step("outputs", _outputs, drop_outputs),
    Step("nodes", _node_units, drop_nodes),
    Step("bypassed nodes", _node_units, bypass),
    Step("branches", _branch_units, inline_branch, grouped=False),
    Step("outputs", _outputs, drop_outputs),
    Step("attributes", _attribute_units, drop_attributes),
    Step("operands", _operand_units, drop_operand, grouped=False),
    Step("inputs", _read_units, merge),
    Step("sizes", _sizes, shrink_size, grouped=False),
    Step("weights of ones", _weight_units, lambda s, u: simple_weights(1, s, u)),
    Step("weights of zeros", _weight_units, lambda s, u: simple_weights(0, s, u)),
)
