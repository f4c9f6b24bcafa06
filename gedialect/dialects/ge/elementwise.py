"""Bases of element-wise ops and the primitive arithmetic, which maps to vector instructions one to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative

from gedialect.dialects.ge.base import TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.shapes import broadcast, same_dtype
from gedialect.ir.lazy import np
from gedialect.ir.spec import Spec


class UnaryOp(GeOp):
    """``y = f(x)``, element by element, same type."""

    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        return [operands[0]]


class BinaryOp(GeOp):
    """``y = f(x1, x2)`` with numpy broadcasting; both operands have one element type."""

    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x1, x2 = operands
        return [Spec(same_dtype(x1, x2).dtype, broadcast(x1.shape, x2.shape))]


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum."""

    name = "ge.add"
    GE_TYPES: ClassVar = ("Add", "AddV2")
    PRIMITIVE: ClassVar = "vadd"
    traits = traits_def(Commutative())

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.add(operands[0], operands[1])


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power x."""

    name = "ge.exp"
    GE_TYPES: ClassVar = ("Exp",)
    PRIMITIVE: ClassVar = "vexp"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.exp(operands[0])
