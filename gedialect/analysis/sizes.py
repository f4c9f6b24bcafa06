"""Sizes no memory holds."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from gedialect.analysis.graph import graph_block
from gedialect.errors import GeError
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of

MOST_BYTES = 1 << 46
"""64 TiB: more than any device has, less than sizes overflow at."""


def check_sizes(module: ModuleOp) -> None:
    """GE1009 for the first tensor of the graph that no memory could hold."""
    block = graph_block(module)
    for value in block.args:
        _check(value, f"input {value.name_hint or value.index}")
    for op in block.ops:
        for result in op.results:
            _check(result, f"node {names(op)[0]}" if names(op) else op.name)


def _check(value: SSAValue, what: str) -> None:
    type_: Attribute = value.type
    if isinstance(value.type, TensorType):
        spec = spec_of(type_)
        if spec.is_static and spec.nbytes > MOST_BYTES:
            raise GeError(f"a tensor of {spec} has {spec.nbytes:.1e} bytes", code="GE1009", where=what)
