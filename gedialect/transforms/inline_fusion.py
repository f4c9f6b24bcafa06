"""``inline-fusion``: the ops of every ``ge.fusion`` back in the graph; undoes ``group-kernels`` exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp


@dataclass(frozen=True)
class InlineFusionPass(ModulePass):
    """Decisions written on the fusions go with them; constants that a kernel held join the graph's."""

    name: ClassVar[str] = "inline-fusion"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for fusion in [f for f in op.walk() if isinstance(f, FusionOp)]:
            inline(fusion)


def inline(fusion: FusionOp) -> None:
    """Replace one fusion by its ops."""
    block = fusion.body.block
    graph = fusion.parent
    assert graph is not None
    outer: dict[SSAValue, SSAValue] = dict(zip(block.args, fusion.operands, strict=True))
    known = {(c.value, c.y.type): c.y for c in graph.ops if isinstance(c, ConstantOp)}
    for op in list(block.ops):
        op.operands = [outer.get(v, v) for v in op.operands]
        if isinstance(op, YieldOp):
            for result, value in zip(fusion.results, op.operands, strict=True):
                if value.name_hint is None:
                    value.name_hint = result.name_hint
                result.replace_all_uses_with(value)
            break
        if isinstance(op, ConstantOp):
            if (op.value, op.y.type) in known:
                outer[op.y] = known[op.value, op.y.type]
                continue
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(graph))
            continue
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(fusion))
    fusion.detach()
    fusion.erase()
