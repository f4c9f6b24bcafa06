"""Comparisons, logic and bits: primitive element-wise ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Commutative

from gedialect.dialects.ge.base import Attrs
from gedialect.dialects.ge.elementwise import BinaryOp, CommutativeOp, UnaryOp
from gedialect.dialects.ge.numeric import native
from gedialect.ir.dtypes import I1
from gedialect.ir.spec import Spec


class CompareOp(BinaryOp):
    """A comparison: result i1, false where an operand is NaN (not_equal: true)."""

    KINDS: ClassVar[str] = "fiub"
    PRIMITIVE: ClassVar = "vcmp"
    MODE: ClassVar[str]
    """The instruction's mode."""

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        return [spec.with_dtype(I1) for spec in super().infer(attrs, *operands)]


@irdl_op_definition
class EqualOp(CompareOp):
    """x1 = x2."""

    name = "ge.equal"
    GE_TYPES: ClassVar = ("Equal",)
    MODE: ClassVar = "eq"
    traits = traits_def(Commutative())
    evaluate = native("equal")


@irdl_op_definition
class NotEqualOp(CompareOp):
    """x1 != x2."""

    name = "ge.not_equal"
    GE_TYPES: ClassVar = ("NotEqual",)
    MODE: ClassVar = "ne"
    traits = traits_def(Commutative())
    evaluate = native("not_equal")


@irdl_op_definition
class GreaterOp(CompareOp):
    """x1 > x2."""

    name = "ge.greater"
    GE_TYPES: ClassVar = ("Greater",)
    MODE: ClassVar = "gt"
    evaluate = native("greater")


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """x1 >= x2."""

    name = "ge.greater_equal"
    GE_TYPES: ClassVar = ("GreaterEqual",)
    MODE: ClassVar = "ge"
    evaluate = native("greater_equal")


@irdl_op_definition
class LessOp(CompareOp):
    """x1 < x2."""

    name = "ge.less"
    GE_TYPES: ClassVar = ("Less",)
    MODE: ClassVar = "lt"
    evaluate = native("less")


@irdl_op_definition
class LessEqualOp(CompareOp):
    """x1 <= x2."""

    name = "ge.less_equal"
    GE_TYPES: ClassVar = ("LessEqual",)
    MODE: ClassVar = "le"
    evaluate = native("less_equal")


# ---------------------------------------------------------------------- logic and bits
class LogicalOp(CommutativeOp):
    """A binary op of bools."""

    KINDS: ClassVar[str] = "b"


class BitwiseOp(BinaryOp):
    """A binary op of integers."""

    KINDS: ClassVar[str] = "iu"


@irdl_op_definition
class LogicalAndOp(LogicalOp):
    """Whether both are true."""

    name = "ge.logical_and"
    GE_TYPES: ClassVar = ("LogicalAnd",)
    PRIMITIVE: ClassVar = "vand"
    evaluate = native("logical_and")


@irdl_op_definition
class LogicalOrOp(LogicalOp):
    """Whether one is true."""

    name = "ge.logical_or"
    GE_TYPES: ClassVar = ("LogicalOr",)
    PRIMITIVE: ClassVar = "vor"
    evaluate = native("logical_or")


@irdl_op_definition
class LogicalXorOp(LogicalOp):
    """Whether just one is true; GE says it by NotEqual."""

    name = "ge.logical_xor"
    GE_TYPES: ClassVar = ("NotEqual",)
    PRIMITIVE: ClassVar = "vxor"
    evaluate = native("logical_xor")


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """Whether x is false."""

    name = "ge.logical_not"
    GE_TYPES: ClassVar = ("LogicalNot",)
    PRIMITIVE: ClassVar = "vnot"
    KINDS: ClassVar = "b"
    evaluate = native("logical_not")


@irdl_op_definition
class BitwiseAndOp(BitwiseOp):
    """Bitwise and."""

    name = "ge.bitwise_and"
    GE_TYPES: ClassVar = ("BitwiseAnd",)
    PRIMITIVE: ClassVar = "vand"
    traits = traits_def(Commutative())
    evaluate = native("bitwise_and")


@irdl_op_definition
class BitwiseOrOp(BitwiseOp):
    """Bitwise or."""

    name = "ge.bitwise_or"
    GE_TYPES: ClassVar = ("BitwiseOr",)
    PRIMITIVE: ClassVar = "vor"
    traits = traits_def(Commutative())
    evaluate = native("bitwise_or")


@irdl_op_definition
class BitwiseXorOp(BitwiseOp):
    """Bitwise exclusive or."""

    name = "ge.bitwise_xor"
    GE_TYPES: ClassVar = ("BitwiseXor",)
    PRIMITIVE: ClassVar = "vxor"
    traits = traits_def(Commutative())
    evaluate = native("bitwise_xor")


@irdl_op_definition
class BitwiseNotOp(UnaryOp):
    """Every bit inverted."""

    name = "ge.bitwise_not"
    GE_TYPES: ClassVar = ("Invert",)
    PRIMITIVE: ClassVar = "vnot"
    KINDS: ClassVar = "iu"
    evaluate = native("invert")


@irdl_op_definition
class LeftShiftOp(BitwiseOp):
    """x1 << x2; 0 when x2 is not below the width."""

    name = "ge.left_shift"
    GE_TYPES: ClassVar = ("LeftShift",)
    PRIMITIVE: ClassVar = "vshl"
    evaluate = native("left_shift")


@irdl_op_definition
class RightShiftOp(BitwiseOp):
    """x1 >> x2, arithmetic for signed integers; all sign bits when x2 is not below the width."""

    name = "ge.right_shift"
    GE_TYPES: ClassVar = ("RightShift",)
    PRIMITIVE: ClassVar = "vshr"
    evaluate = native("right_shift")
