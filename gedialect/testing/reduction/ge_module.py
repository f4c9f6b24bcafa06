"""Edits of ge text. Values that become arguments keep the numbers they had, as far as the interpreter can tell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from gedialect import interpreter
from gedialect.analysis.graph import graph_block, graph_function, read_by
from gedialect.dialects.ge.attrs import ON_HOST, SplatAttr, WeightAttr
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.ir.verifier import verify
from gedialect.ir.weights import STORE
from gedialect.testing.agree import random_array
from gedialect.testing.reduction.driver import Step, digest
from gedialect.transforms.infer_shapes import InferShapes
from gedialect.transforms.inline_fusion import inline

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class GeState:
    """A module with arrays for the arguments of its graph, by name."""

    module: ModuleOp
    inputs: Mapping[str, Array]
    ids: tuple[int, ...]
    """A number per op of the graph that edits keep."""

    @cached_property
    def text(self) -> str:
        return str(self.module)

    def key(self) -> object:
        return digest(self.text.encode(), self.inputs)

    def cost(self) -> tuple[int, ...]:
        ops = self.ops
        function = graph_function(self.module)
        constants = [op for op in self.module.walk() if isinstance(op, ConstantOp)]
        return (
            self.nodes,
            sum(isinstance(op, FusionOp) for op in ops),
            len(function.function_type.outputs),
            sum(len(op.attributes) + len(op.properties) for op in self.module.walk()),
            sum(len(op.operands) for op in ops),
            len(function.function_type.inputs),
            len(constants),
            sum(_size(v) for op in ops for v in op.results) + sum(_size(a) for a in self.block.args),
            sum(1 for c in constants if not isinstance(c.value, SplatAttr)),
            len(list(self.module.ops)),
        )

    @property
    def block(self) -> Block:
        return graph_block(self.module)

    @property
    def ops(self) -> list[Operation]:
        """The ops of the graph but its return."""
        return [op for op in self.block.ops if not isinstance(op, ReturnOp)]

    @property
    def nodes(self) -> int:
        """Ops that compute: no constants, no ends of regions."""
        function = graph_function(self.module)
        quiet = (ConstantOp, ReturnOp, FuncOp, FusionOp)
        return sum(1 for op in function.walk() if not isinstance(op, quiet) and op.name != "ge.yield")

    @cached_property
    def arrays(self) -> dict[int, dict[int, Array]]:
        """Index of an op of the graph -> index of a result -> its array, as the interpreter computes it."""
        found: dict[int, dict[int, Array]] = {}
        try:
            values: dict[SSAValue, Any] = dict(
                zip(self.block.args, interpreter.bind_inputs(graph_function(self.module), self.inputs), strict=True)
            )
            for i, op in enumerate(self.ops):
                results = interpreter.run_op(op, values)
                found[i] = {j: r for j, r in enumerate(results) if isinstance(cast("object", r), np.ndarray)}
                values.update(zip(op.results, results, strict=True))
        except Exception:  # a module that fails is what is being reduced
            return found
        return found


def _size(value: SSAValue) -> int:
    spec = _spec(value)
    return spec.size if spec is not None and spec.is_static else 0


def _spec(value: SSAValue) -> Spec | None:
    if isinstance(value.type, ON_HOST):
        return None
    try:
        return spec_of(value.type)
    except GeError:
        return None


class _Draft:
    """A copy of a state's module under edit."""

    def __init__(self, state: GeState):
        self.state = state
        self.module = state.module.clone()
        self.function = graph_function(self.module)
        self.block = graph_block(self.module)
        self.ops = [op for op in self.block.ops if not isinstance(op, ReturnOp)]
        self.ids: dict[Operation, int] = dict(zip(self.ops, state.ids, strict=True))
        names = interpreter.input_names(self.function)
        self.names: dict[SSAValue, str] = dict(zip(self.block.args, names, strict=True))
        self.given: dict[SSAValue, Array] = {a: state.inputs[n] for a, n in self.names.items() if n in state.inputs}
        last = self.block.last_op
        self.outputs: list[tuple[str, SSAValue]] = []
        if isinstance(last, ReturnOp):
            self.outputs = list(zip(interpreter.output_names(self.function), last.operands, strict=True))
            last.detach()
            last.erase()

    def argument(self, value: SSAValue, array: Array | None) -> SSAValue | None:
        """A new argument in place of a value, None if its type is not known."""
        spec = _spec(value)
        if spec is None or not spec.is_static:
            return None
        if array is None or array.shape != spec.shape:
            array = random_array(np.random.default_rng(0), spec)
        taken = set(self.names.values())
        hint = value.name_hint or "a"
        name = next(n for n in (hint, *(f"{hint}_{i}" for i in range(1, 1 << 20))) if n not in taken)
        arg = self.block.insert_arg(value.type, len(self.block.args))
        arg.name_hint = value.name_hint
        self.names[arg], self.given[arg] = name, array
        return arg

    def finish(self) -> GeState | None:
        """The new state: dead ops and arguments go, and the function gets the types of its block. None if there is
        nothing left or it does not verify."""
        if not self.outputs:
            return None
        self.block.add_op(ReturnOp(*(v for _, v in self.outputs)))
        for op in reversed([op for op in self.block.ops if not isinstance(op, ReturnOp)]):
            if not any(r.uses for r in op.results):
                op.detach()
                op.erase()
        for arg in list(self.block.args):
            if not arg.uses:
                self.block.erase_arg(arg)
        if not list(self.block.ops)[:-1]:
            return None
        names = {a: self.names[a] for a in self.block.args}
        self.function.properties["function_type"] = FunctionType.from_lists(
            [a.type for a in self.block.args], [v.type for _, v in self.outputs]
        )
        self.function.properties["arg_attrs"] = _named(names.values())
        self.function.properties["res_attrs"] = _named(n for n, _ in self.outputs)
        try:
            verify(self.module)
        except GeError:
            return None
        given = {n: self.given[a] for a, n in names.items() if a in self.given}
        new = max(self.state.ids, default=0) + 1
        ops = [op for op in self.block.ops if not isinstance(op, ReturnOp)]
        return GeState(self.module, given, tuple(self.ids.get(op, new + i) for i, op in enumerate(ops)))


def _named(names: Any) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"ge.name": StringAttr(n)}) for n in names])


def state_of(module: ModuleOp, inputs: Mapping[str, Array]) -> GeState:
    """The module with its arrays."""
    clone = module.clone()
    count = sum(1 for op in graph_block(clone).ops if not isinstance(op, ReturnOp))
    return GeState(clone, dict(inputs), tuple(range(count)))


def portable(module: ModuleOp) -> ModuleOp:
    """A copy whose weights are in the text, so that it can be read anywhere."""
    copy = module.clone()
    for op in copy.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr):
            spec = spec_of(op.y.type)
            data = bytes(STORE.span(op.value.file.data, op.value.offset.data, op.value.length.data))
            if spec.dtype.kind == "b":
                data = (np.frombuffer(data, np.int8) * -1).astype(np.int8).tobytes()
            op.properties["value"] = DenseIntOrFPElementsAttr(tensor_type(spec), BytesAttr(data))
    return copy


# ---------------------------------------------------------------- edits
def _output_units(state: GeState) -> list[str]:
    return interpreter.output_names(graph_function(state.module))


def drop_outputs(state: GeState, units: Sequence[object]) -> GeState | None:
    draft = _Draft(state)
    draft.outputs = [(n, v) for n, v in draft.outputs if n not in units]
    return draft.finish()


def _op_units(state: GeState) -> list[int]:
    return [i for i, op in zip(state.ids, state.ops, strict=True) if not isinstance(op, ConstantOp)]


def _chosen(draft: _Draft, units: Sequence[object]) -> list[tuple[int, Operation]]:
    """(index, op) of the ops of these numbers."""
    return [(i, op) for i, op in enumerate(draft.ops) if draft.ids[op] in units]


def drop_ops(state: GeState, units: Sequence[object]) -> GeState | None:
    """Without some ops: what they made becomes arguments, what they read results of the function."""
    draft = _Draft(state)
    gone = _chosen(draft, units)
    dropped = {op for _, op in gone}
    made = {v for op in draft.ops if op not in dropped for v in op.results}
    frontier = [v for _, op in gone for v in read_by(op) if v in made and not isinstance(v.owner, ConstantOp)]
    outputs = [(n, v) for n, v in draft.outputs if v in made]
    names = {n for n, _ in draft.outputs}
    for v in dict.fromkeys(frontier):
        if not any(v is o for _, o in outputs):
            name = next(f"r{i}" for i in range(1 << 20) if f"r{i}" not in names)
            names.add(name)
            outputs.append((name, v))
    draft.outputs = outputs
    for index, op in reversed(gone):
        for j, result in enumerate(op.results):
            if not result.uses:
                continue
            arg = draft.argument(result, state.arrays.get(index, {}).get(j))
            if arg is None:
                return None
            result.replace_all_uses_with(arg)
        op.detach()
        op.erase()
    return draft.finish()


def bypass(state: GeState, units: Sequence[object]) -> GeState | None:
    """Without some ops: who reads their result reads an operand of the same type."""
    draft = _Draft(state)
    done = False
    for _, op in _chosen(draft, units):
        if len(op.results) != 1:
            continue
        (result,) = op.results
        other = next((v for v in op.operands if v.type == result.type), None)
        if other is None:
            continue
        result.replace_all_uses_with(other)
        draft.outputs = [(n, other if v is result else v) for n, v in draft.outputs]
        draft.outputs = [(n, v) for n, v in draft.outputs if v not in draft.names]
        op.detach()
        op.erase()
        done = True
    return draft.finish() if done else None


def inline_fusions(state: GeState, units: Sequence[object]) -> GeState | None:
    """The ops of some fusions in their place, without the decisions."""
    draft = _Draft(state)
    fusions = [op for _, op in _chosen(draft, units) if isinstance(op, FusionOp)]
    for fusion in fusions:
        last = fusion.body.block.last_op
        if last is None or any(v in fusion.body.block.args for v in last.operands):
            return None
        values: dict[SSAValue, SSAValue] = dict(zip(fusion.results, last.operands, strict=True))
        draft.outputs = [(n, values.get(v, v)) for n, v in draft.outputs]
        inline(fusion)
    return draft.finish() if fusions else None


def _attribute_units(state: GeState) -> list[tuple[int, str]]:
    pairs = zip(state.ids, state.ops, strict=True)
    return [(i, name) for i, op in pairs for name in (*op.attributes, *op.properties)]


def drop_attributes(state: GeState, units: Sequence[object]) -> GeState | None:
    draft = _Draft(state)
    for op in draft.ops:
        for name in [*op.attributes, *op.properties]:
            if (draft.ids[op], name) in units:
                op.attributes.pop(name, None)
                op.properties.pop(name, None)
    return draft.finish()


def _argument_units(state: GeState) -> list[str]:
    return interpreter.input_names(graph_function(state.module))


def merge_arguments(state: GeState, units: Sequence[object]) -> GeState | None:
    """One argument for several of the same type."""
    draft = _Draft(state)
    kept: dict[Attribute, SSAValue] = {}
    done = False
    for arg in list(draft.block.args):
        if arg.type in kept and draft.names[arg] in units:
            arg.replace_all_uses_with(kept[arg.type])
            done = True
        else:
            kept.setdefault(arg.type, arg)
    return draft.finish() if done else None


def _constant_units(state: GeState) -> list[int]:
    return [i for i, op in zip(state.ids, state.ops, strict=True) if isinstance(op, ConstantOp)]


def simple_constants(number: int) -> Callable[[GeState, Sequence[object]], GeState | None]:
    """One number everywhere in some constants."""

    def edit(state: GeState, units: Sequence[object]) -> GeState | None:
        draft = _Draft(state)
        done = False
        for _, op in _chosen(draft, units):
            spec = spec_of(op.results[0].type)
            if isinstance(op, ConstantOp) and not isinstance(op.value, SplatAttr):
                op.properties["value"] = SplatAttr.get(float(number) if spec.dtype.is_float else number)
                done = True
        return draft.finish() if done else None

    return edit


def _sizes(state: GeState) -> list[tuple[int, int, bool]]:
    """(size, smaller size, from the end) for every size of arguments and constants."""
    values = [*state.block.args, *(op.results[0] for op in state.ops if isinstance(op, ConstantOp))]
    specs = [s for v in values if (s := _spec(v)) is not None]
    sizes = sorted({d for s in specs for d in s.shape if d > 1}, reverse=True)
    smaller = [(d, s) for d in sizes for s in dict.fromkeys((1, 2, 3, d // 4, d // 2, d - d // 4, d - 1)) if 0 < s < d]
    return [(d, s, last) for d, s in smaller for last in (False, True)]


def shrink_size(state: GeState, units: Sequence[object]) -> GeState | None:
    """All axes of one size made shorter in arguments and constants; the types of the rest follow."""
    ((size, smaller, last),) = cast("Sequence[tuple[int, int, bool]]", units)
    kept = slice(size - smaller, size) if last else slice(0, smaller)
    draft = _Draft(state)
    if any(op.regions for op in draft.ops):
        return None

    def cut(array: Array) -> Array:
        whole = tuple(kept if d == size else slice(None) for d in array.shape)
        return np.ascontiguousarray(array[whole]).reshape([smaller if d == size else d for d in array.shape])

    for arg in list(draft.block.args):
        spec = _spec(arg)
        if spec is None:
            return None
        small = Spec(spec.dtype, tuple(smaller if d == size else d for d in spec.shape))
        new = draft.block.insert_arg(tensor_type(small), len(draft.block.args))
        new.name_hint = arg.name_hint
        draft.names[new] = draft.names.pop(arg)
        if arg in draft.given:
            draft.given[new] = cut(draft.given.pop(arg))
        arg.replace_all_uses_with(new)
        draft.block.erase_arg(arg)
    for op in draft.ops:
        for name in ("shape", "dims", "size_splits"):
            value = op.properties.get(name)
            if value is not None and str(size) in str(value):
                op.properties[name] = _smaller(value, size, smaller)
        if not isinstance(op, ConstantOp):
            continue
        spec = spec_of(op.results[0].type)
        if size not in spec.shape:
            continue
        array: Any = ConstantOp.evaluate(op.attrs())
        made = GeBuilder(InsertPoint.before(op)).array(cut(array))
        op.results[0].replace_all_uses_with(made)
        draft.outputs = [(n, made if v is op.results[0] else v) for n, v in draft.outputs]
        op.detach()
        op.erase()
    draft.block.add_op(ReturnOp(*(v for _, v in draft.outputs)))
    draft.function.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in draft.block.args], [v.type for _, v in draft.outputs]
    )
    InferShapes().apply(GeContext(), draft.module)
    end = draft.block.last_op
    assert isinstance(end, ReturnOp)
    draft.outputs = [(n, v) for (n, _), v in zip(draft.outputs, end.operands, strict=True)]
    end.detach()
    end.erase()
    return draft.finish()


def _smaller(value: Attribute, size: int, smaller: int) -> Attribute:
    """An attribute of sizes with one of them changed."""
    if not isinstance(value, DenseArrayBase):
        return value
    numbers: list[int] = [smaller if n == size else n for n in cast("Any", value).get_values()]
    return DenseArrayBase.from_list(cast("Any", value).elt_type, numbers)


STEPS: tuple[Step[GeState], ...] = (
    Step("outputs", _output_units, drop_outputs),
    Step("ops", _op_units, drop_ops),
    Step("bypassed ops", _op_units, bypass),
    Step("fusions", _op_units, inline_fusions),
    Step("outputs", _output_units, drop_outputs),
    Step("attributes", _attribute_units, drop_attributes),
    Step("arguments", _argument_units, merge_arguments),
    Step("sizes", _sizes, shrink_size, grouped=False),
    Step("constants of ones", _constant_units, simple_constants(1)),
    Step("constants of zeros", _constant_units, simple_constants(0)),
)
