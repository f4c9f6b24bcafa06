"""Executes ge modules with the numpy semantics of each op; decisions in the text are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from gedialect.analysis.graph import graph_function, read_by
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.control import IfOp, LateOp, LoopOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.errors import GeError, UnsupportedError, check_input_names
from gedialect.interpreter.loops import iterate, truth
from gedialect.ir.spec import DYNAMIC, spec_of

Array = npt.NDArray[Any]


def _names(attrs: Any, count: int, prefix: str) -> list[str]:
    names = [f"{prefix}{i}" for i in range(count)]
    if attrs is not None:
        for i, entry in enumerate(attrs.data):
            name = cast(DictionaryAttr, entry).data.get("ge.name")
            if isinstance(name, StringAttr):
                names[i] = name.data
    return names


def input_names(function: FuncOp) -> list[str]:
    """Model names of the arguments, in order."""
    return _names(function.arg_attrs, len(function.function_type.inputs), "arg")


def output_names(function: FuncOp) -> list[str]:
    """Model names of the results, in order."""
    return _names(function.res_attrs, len(function.function_type.outputs), "result")


def bind_inputs(function: FuncOp, inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """Arrays in argument order, checked against the argument types (GE1004 on a mismatch); for ``!ge.value`` what is
    given."""
    names = input_names(function)
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise GeError(f"{len(names)} inputs are needed, got {len(inputs)}", code="GE1004")
        inputs = dict(zip(names, inputs, strict=True))
    check_input_names(inputs, names)
    arrays: list[Any] = []
    for name, type_ in zip(names, function.function_type.inputs, strict=True):
        if isinstance(type_, ON_HOST):
            arrays.append(inputs[name])
            continue
        spec = spec_of(type_)
        array = np.asarray(inputs[name])
        fits = array.ndim == spec.rank and all(d in (DYNAMIC, s) for d, s in zip(spec.shape, array.shape, strict=True))
        if array.dtype != spec.dtype.numpy or not fits:
            raise GeError(
                f"input {name} is {array.dtype}{list(array.shape)}, the model takes {spec}",
                code="GE1004",
            )
        arrays.append(array)
    return arrays


def run(module: ModuleOp, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, Array]:
    """Results of the graph by output name; every value is freed after its last use."""
    function = graph_function(module)
    block = function.body.block
    results = run_block(block, bind_inputs(function, inputs))
    return dict(zip(output_names(function), results, strict=True))


def run_block(block: Block, arguments: Sequence[Any], outer: Mapping[SSAValue, Any] = {}) -> list[Any]:
    """Values of the block's terminator for the given block arguments; ``outer`` has those of the outside it reads."""
    values: dict[SSAValue, Any] = {**outer, **dict(zip(block.args, arguments, strict=True))}
    last_use: dict[SSAValue, Operation] = {}
    for op in block.ops:
        for operand in read_by(op):
            last_use[operand] = op
    for op in block.ops:
        if isinstance(op, ReturnOp | YieldOp):
            return [values[v] for v in op.operands]
        for result, array in zip(op.results, run_op(op, values), strict=True):
            values[result] = array
        for operand in read_by(op):
            if last_use[operand] is op:
                values.pop(operand, None)
    raise GeError("the block has no terminator", code="GE1109")


def run_op(op: Operation, values: Mapping[SSAValue, Any]) -> list[Array]:
    """Results of one op given the arrays of its operands."""
    if isinstance(op, FusionOp):
        return run_block(op.body.block, [values[v] for v in op.operands])
    if isinstance(op, IfOp):
        body = op.then_body if truth(values[op.condition]) else op.else_body
        return run_block(body.block, (), {v: values[v] for v in read_by(op)})
    if isinstance(op, LoopOp):
        outside = {v: values[v] for v in read_by(op)}
        return iterate(op, values, lambda arguments: run_block(op.body.block, arguments, outside))
    if isinstance(op, LateOp):
        raise UnsupportedError("the interpreter reads no model formats", code="GE1204", hint="run it with ge-run")
    if not isinstance(op, GeOp):
        raise UnsupportedError(f"the interpreter does not know {op.name}", code="GE1204")
    operands = [
        None if g is None else values[g] if isinstance(g, SSAValue) else [values[v] for v in g]
        for g in op.operand_groups()
    ]
    results = type(op).evaluated(op.attrs(), *operands)
    return list(cast("tuple[Array, ...]", results)) if isinstance(results, tuple) else [results]
