"""Bases of element-wise ops, and arithmetic that maps to vector instructions one to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative

from gedialect.dialects.ge.base import BOOL, TENSOR, Array, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.numeric import in_f32, native, np, require_kinds, wide
from gedialect.dialects.ge.shapes import broadcast, same_dtype
from gedialect.errors import GeError
from gedialect.ir.access import Access
from gedialect.ir.spec import Spec


class UnaryOp(GeOp):
    """``y = f(x)``, element by element, same type."""

    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    KINDS: ClassVar[str] = "fiu"
    """Kinds of element types it takes."""
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        require_kinds(cls.name, cls.KINDS, operands[0])
        return [operands[0]]


class FloatOp(UnaryOp):
    """A unary op of floats."""

    KINDS: ClassVar[str] = "f"


class BinaryOp(GeOp):
    """``y = f(x1, x2)`` with numpy broadcasting; both operands have one element type."""

    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    KINDS: ClassVar[str] = "fiu"
    """Kinds of element types it takes."""
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x1, x2 = operands
        require_kinds(cls.name, cls.KINDS, x1, x2)
        return [Spec(same_dtype(x1, x2).dtype, broadcast(x1.shape, x2.shape))]


class CommutativeOp(BinaryOp):
    """A binary op whose operands may be exchanged."""

    traits = traits_def(Commutative())


# ---------------------------------------------------------------------- arithmetic
@irdl_op_definition
class AddOp(CommutativeOp):
    """Sum; integers wrap."""

    name = "ge.add"
    GE_TYPES: ClassVar = ("Add", "AddV2")
    PRIMITIVE: ClassVar = "vadd"
    evaluate = native("add")


@irdl_op_definition
class SubOp(BinaryOp):
    """Difference x1 - x2; integers wrap."""

    name = "ge.sub"
    GE_TYPES: ClassVar = ("Sub",)
    PRIMITIVE: ClassVar = "vsub"
    evaluate = native("subtract")


@irdl_op_definition
class MulOp(CommutativeOp):
    """Product; integers wrap."""

    name = "ge.mul"
    GE_TYPES: ClassVar = ("Mul",)
    PRIMITIVE: ClassVar = "vmul"
    evaluate = native("multiply")


def truncated_quotient(x1: Array, x2: Array) -> Array:
    """Integer quotient rounded toward zero; 0 where x2 = 0."""
    floor = np.floor_divide(x1, x2)
    if x1.dtype.kind == "u":
        return floor
    inexact = (floor * x2 != x1) & (x2 != 0) & ((x1 < 0) != (x2 < 0))
    return floor + inexact.astype(x1.dtype)


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient x1 / x2; of integers rounded toward zero (0 where x2 = 0), by the instruction ``vidiv``."""

    name = "ge.div"
    GE_TYPES: ClassVar = ("RealDiv", "TruncateDiv", "Div")
    PRIMITIVE: ClassVar = "vdiv"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2 = operands
        integers = np.issubdtype(x1.dtype, np.integer)
        return np.asarray(truncated_quotient(x1, x2) if integers else np.divide(x1, x2))


@irdl_op_definition
class ModOp(BinaryOp):
    """Remainder of x1 / x2 with the sign of x2, or of x1 if ``fmod``; 0 where an integer x2 = 0.

    The instruction's mode is floor, or trunc if ``fmod``.
    """

    name = "ge.mod"
    GE_TYPES: ClassVar = ("FloorMod", "TruncateMod", "Mod")
    PRIMITIVE: ClassVar = "vmod"
    fmod = prop_def(BOOL)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.asarray(np.fmod(*operands) if attrs.fmod else np.remainder(*operands))


@irdl_op_definition
class PowOp(BinaryOp):
    """x1 to the power x2.

    Integers are exact (and wrap); a negative x2 gives 1/x1 rounded toward zero, 0 for x1 = 0.
    """

    name = "ge.pow"
    GE_TYPES: ClassVar = ("Pow",)
    PRIMITIVE: ClassVar = "vpow"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2 = operands
        if x1.dtype.kind != "i" or not (x2 < 0).any():
            return np.asarray(np.power(wide(x1), wide(x2) if x2.dtype == x1.dtype else x2)).astype(x1.dtype, copy=False)
        odd = np.where(x2 % 2 == 0, x1 * x1, x1)
        unit = np.where(np.abs(x1) == 1, odd, 0)
        return np.where(x2 < 0, unit, np.power(x1, np.maximum(x2, 0))).astype(x1.dtype)


@irdl_op_definition
class MaximumOp(CommutativeOp):
    """The larger value; NaN if either is NaN."""

    name = "ge.maximum"
    GE_TYPES: ClassVar = ("Maximum",)
    PRIMITIVE: ClassVar = "vmax"
    KINDS: ClassVar = "fiub"
    evaluate = native("maximum")


@irdl_op_definition
class MinimumOp(CommutativeOp):
    """The smaller value; NaN if either is NaN."""

    name = "ge.minimum"
    GE_TYPES: ClassVar = ("Minimum",)
    PRIMITIVE: ClassVar = "vmin"
    KINDS: ClassVar = "fiub"
    evaluate = native("minimum")


@irdl_op_definition
class AbsOp(UnaryOp):
    """Absolute value."""

    name = "ge.abs"
    GE_TYPES: ClassVar = ("Abs",)
    PRIMITIVE: ClassVar = "vabs"
    evaluate = native("abs")


@irdl_op_definition
class NegOp(UnaryOp):
    """-x; integers wrap."""

    name = "ge.neg"
    GE_TYPES: ClassVar = ("Neg",)
    PRIMITIVE: ClassVar = "vneg"
    evaluate = native("negative")


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1; NaN stays NaN."""

    name = "ge.sign"
    GE_TYPES: ClassVar = ("Sign",)
    PRIMITIVE: ClassVar = "vsign"
    evaluate = native("sign")


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); NaN stays NaN."""

    name = "ge.relu"
    GE_TYPES: ClassVar = ("Relu", "ReluV2")
    PRIMITIVE: ClassVar = "vrelu"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.asarray(np.maximum(operands[0], np.zeros((), operands[0].dtype)))


@irdl_op_definition
class ExpOp(FloatOp):
    """e to the power x."""

    name = "ge.exp"
    GE_TYPES: ClassVar = ("Exp",)
    PRIMITIVE: ClassVar = "vexp"
    evaluate = native("exp")


@irdl_op_definition
class LogOp(FloatOp):
    """Natural logarithm; NaN below 0."""

    name = "ge.log"
    GE_TYPES: ClassVar = ("Log",)
    PRIMITIVE: ClassVar = "vln"
    evaluate = native("log")


@irdl_op_definition
class SqrtOp(FloatOp):
    """Square root; NaN below 0."""

    name = "ge.sqrt"
    GE_TYPES: ClassVar = ("Sqrt",)
    PRIMITIVE: ClassVar = "vsqrt"
    evaluate = native("sqrt")


@irdl_op_definition
class RsqrtOp(FloatOp):
    """1 / sqrt(x)."""

    name = "ge.rsqrt"
    GE_TYPES: ClassVar = ("Rsqrt",)
    PRIMITIVE: ClassVar = "vrsqrt"
    evaluate = in_f32(lambda attrs, x: np.reciprocal(np.sqrt(x)))


@irdl_op_definition
class ReciprocalOp(FloatOp):
    """1 / x."""

    name = "ge.reciprocal"
    GE_TYPES: ClassVar = ("Reciprocal", "Inv")
    PRIMITIVE: ClassVar = "vrec"
    evaluate = native("reciprocal")


@irdl_op_definition
class FloorOp(FloatOp):
    """Rounded down."""

    name = "ge.floor"
    GE_TYPES: ClassVar = ("Floor",)
    PRIMITIVE: ClassVar = "vfloor"
    evaluate = native("floor")


@irdl_op_definition
class CeilOp(FloatOp):
    """Rounded up."""

    name = "ge.ceil"
    GE_TYPES: ClassVar = ("Ceil",)
    PRIMITIVE: ClassVar = "vceil"
    evaluate = native("ceil")


@irdl_op_definition
class RoundOp(FloatOp):
    """Rounded to the nearest integer, halves to even."""

    name = "ge.round"
    GE_TYPES: ClassVar = ("Round", "Rint")
    PRIMITIVE: ClassVar = "vrint"
    evaluate = native("rint")


@irdl_op_definition
class TruncOp(FloatOp):
    """Rounded toward zero."""

    name = "ge.trunc"
    GE_TYPES: ClassVar = ("Trunc",)
    PRIMITIVE: ClassVar = "vtrunc"
    evaluate = native("trunc")


# ---------------------------------------------------------------------- choice and type
@irdl_op_definition
class SelectOp(GeOp):
    """x1 where ``condition`` (i1), else x2; all three broadcast."""

    name = "ge.select"
    GE_TYPES: ClassVar = ("SelectV2", "Select")
    PRIMITIVE: ClassVar = "vsel"
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    condition = operand_def(TENSOR)
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    y = result_def(TENSOR)
    evaluate = native("where")

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        condition, x1, x2 = operands
        require_kinds(f"condition of {cls.name}", "b", condition)
        return [Spec(same_dtype(x1, x2).dtype, broadcast(condition.shape, x1.shape, x2.shape))]


@irdl_op_definition
class CastOp(UnaryOp):
    """x as the result's element type.

    Floats become integers by dropping the fraction (outside the range: undefined), bool by comparison with 0.
    """

    name = "ge.cast"
    GE_TYPES: ClassVar = ("Cast",)
    PRIMITIVE: ClassVar = "vcast"

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        if not attrs.results:
            raise GeError("a cast needs its result type", code="GE1903")
        return [operands[0].with_dtype(attrs.dtype)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.asarray(operands[0]).astype(attrs.dtype.numpy)


@irdl_op_definition
class IdentityOp(UnaryOp):
    """x itself; canonicalize removes it."""

    name = "ge.identity"
    GE_TYPES: ClassVar = ("Identity", "Dropout", "TensorMove")
    FUSION_CLASS: ClassVar = FusionClass.VIEW
    KINDS: ClassVar = "fiubc"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return operands[0]

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        return (x,)
