"""Which operands a kernel may write over with a result."""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue

from gedialect.analysis.aliasing import root
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.ir.spec import spec_of


def may_overwrite(op: Operation, result: SSAValue) -> list[SSAValue]:
    """Operands of a kernel whose bytes ``result`` may take over if nothing reads them later.

    Only in fusions of element-wise ops: element i of the result then depends on element i of the operand alone, so
    a tile is read before the same bytes are written, whatever the tiling. The operand must have the result's shape
    and element size (so it is not repeated), and must not be read under another shape or be the operand's bytes
    through a second view.
    """
    if not isinstance(op, FusionOp) or not isinstance(result, OpResult) or result.op is not op:
        return []
    body = [inner for inner in op.body.block.ops if not isinstance(inner, YieldOp)]
    if not all(isinstance(i, GeOp) and _plain(i) for i in body):
        return []
    last = op.body.block.last_op
    if last is None or not isinstance(last.operands[result.index].owner, Operation):
        return []  # a copy of an operand: its bytes must not be another operand's
    want = spec_of(result.type)
    found: list[SSAValue] = []
    for operand in op.operands:
        spec = spec_of(operand.type)
        if spec.shape != want.shape or spec.dtype.itemsize != want.dtype.itemsize or spec.encoding != want.encoding:
            continue
        same = [v for v in op.operands if root(v) is root(operand)]
        if all(v is operand for v in same) and all(spec_of(r.type).shape == want.shape for r in op.results):
            found.append(operand)
    return found


def _plain(op: GeOp) -> bool:
    return op.FUSION_CLASS in (FusionClass.ELEMENTWISE, FusionClass.CONSTANT)
