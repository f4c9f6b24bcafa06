"""The graph function of a module and its ops in execution order."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from gedialect.errors import GeError


def graph_function(module: ModuleOp) -> FuncOp:
    """``@main``, or the only function; it has one block. GE1109 if there is none."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    for function in functions:
        if function.sym_name.data == "main" or len(functions) == 1:
            if len(function.body.blocks) != 1:
                raise GeError(f"@{function.sym_name.data} must have one block", code="GE1109")
            return function
    raise GeError("the module has no function @main", code="GE1109", hint="write the graph as func.func @main")


def graph_block(module: ModuleOp) -> Block:
    """The block of the graph function."""
    return graph_function(module).body.block


def read_by(op: Operation) -> Iterator[SSAValue]:
    """Values ``op`` reads: its operands, and what ops of its regions read of the outside."""
    yield from op.operands
    if not op.regions or op.has_trait(IsolatedFromAbove):
        return
    inside: set[SSAValue] = set()
    for inner in op.walk():
        for region in inner.regions:
            for block in region.blocks:
                inside.update(block.args)
        inside.update(inner.results)
    for inner in op.walk():
        if inner is not op:
            yield from (v for v in inner.operands if v not in inside)
