"""How many ops a graph has, as reports count them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.traits import IsTerminator

from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_block
from gedialect.dialects.ge.base import is_view
from gedialect.dialects.ge.fusion import FusionOp


def count_ops(module: ModuleOp) -> int:
    """Ops of the graph that compute or move something: no constants, const-derived ops, views or terminators. A
    fusion counts as its ops; an op with another region counts as itself and the ops of its regions."""
    return count_block(graph_block(module))


def count_block(block: Block) -> int:
    """``count_ops`` of one block."""
    return _count(block, const_derived(block))


def _count(block: Block, constant: set[SSAValue]) -> int:
    total = 0
    for op in block.ops:
        if op.has_trait(IsTerminator) or (op.results and all(r in constant for r in op.results)) or is_view(type(op)):
            continue
        if isinstance(op, FusionOp):
            body = op.body.block
            bound = [a for a, v in zip(body.args, op.operands, strict=True) if v in constant]
            total += _count(body, const_derived(body, bound))
            continue
        total += 1
        for region in op.regions:
            total += sum(count_block(inner) for inner in region.blocks)
    return total
