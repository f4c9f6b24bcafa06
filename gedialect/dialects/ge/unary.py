"""Mathematical functions of one operand that the vector unit has no instruction for, and tests of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, prop_def

from gedialect.dialects.ge import functions as fn
from gedialect.dialects.ge.base import BOOL, Attrs, Results
from gedialect.dialects.ge.elementwise import FloatOp, UnaryOp
from gedialect.dialects.ge.numeric import expand_in_f32, in_f32, native, np
from gedialect.ir.dtypes import I1
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

INF = float("inf")


@irdl_op_definition
class SquareOp(UnaryOp):
    """x x; integers wrap."""

    name = "ge.square"
    GE_TYPES: ClassVar = ("Square",)
    evaluate = native("square")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return b.mul(operands[0], operands[0])


@irdl_op_definition
class Log1pOp(FloatOp):
    """log(1 + x), exact near 0; NaN below -1."""

    name = "ge.log1p"
    GE_TYPES: ClassVar = ("Log1p",)
    evaluate = in_f32("log1p")
    expand = expand_in_f32(lambda b, attrs, x: fn.log1p(b, x))


@irdl_op_definition
class Expm1Op(FloatOp):
    """exp(x) - 1, exact near 0."""

    name = "ge.expm1"
    GE_TYPES: ClassVar = ("Expm1",)
    evaluate = in_f32("expm1")
    expand = expand_in_f32(lambda b, attrs, x: fn.expm1(b, x))


@irdl_op_definition
class SinOp(FloatOp):
    """Sine. The kernel reduces its argument by multiples of pi in f32: it is meant for |x| up to 1e5."""

    name = "ge.sin"
    GE_TYPES: ClassVar = ("Sin",)
    evaluate = in_f32("sin")
    expand = expand_in_f32(lambda b, attrs, x: fn.sin(b, x))


@irdl_op_definition
class CosOp(FloatOp):
    """Cosine. The kernel reduces its argument by multiples of pi in f32: it is meant for |x| up to 1e5."""

    name = "ge.cos"
    GE_TYPES: ClassVar = ("Cos",)
    evaluate = in_f32("cos")
    expand = expand_in_f32(lambda b, attrs, x: fn.cos(b, x))


@irdl_op_definition
class TanOp(FloatOp):
    """Tangent. The kernel reduces its argument by multiples of pi in f32: it is meant for |x| up to 1e5."""

    name = "ge.tan"
    GE_TYPES: ClassVar = ("Tan",)
    evaluate = in_f32("tan")
    expand = expand_in_f32(lambda b, attrs, x: b.div(fn.sin(b, x), fn.cos(b, x)))


@irdl_op_definition
class AsinOp(FloatOp):
    """Inverse sine; NaN outside [-1, 1]."""

    name = "ge.asin"
    GE_TYPES: ClassVar = ("Asin",)
    evaluate = in_f32("arcsin")
    expand = expand_in_f32(lambda b, attrs, x: fn.asin(b, x))


@irdl_op_definition
class AcosOp(FloatOp):
    """Inverse cosine; NaN outside [-1, 1]."""

    name = "ge.acos"
    GE_TYPES: ClassVar = ("Acos",)
    evaluate = in_f32("arccos")
    expand = expand_in_f32(lambda b, attrs, x: fn.acos(b, x))


@irdl_op_definition
class AtanOp(FloatOp):
    """Inverse tangent."""

    name = "ge.atan"
    GE_TYPES: ClassVar = ("Atan",)
    evaluate = in_f32("arctan")
    expand = expand_in_f32(lambda b, attrs, x: fn.atan(b, x))


@irdl_op_definition
class SinhOp(FloatOp):
    """Hyperbolic sine."""

    name = "ge.sinh"
    GE_TYPES: ClassVar = ("Sinh",)
    evaluate = in_f32("sinh")
    expand = expand_in_f32(lambda b, attrs, x: fn.sinh(b, x))


@irdl_op_definition
class CoshOp(FloatOp):
    """Hyperbolic cosine."""

    name = "ge.cosh"
    GE_TYPES: ClassVar = ("Cosh",)
    evaluate = in_f32("cosh")
    expand = expand_in_f32(lambda b, attrs, x: fn.cosh(b, x))


@irdl_op_definition
class AsinhOp(FloatOp):
    """Inverse hyperbolic sine."""

    name = "ge.asinh"
    GE_TYPES: ClassVar = ("Asinh",)
    evaluate = in_f32("arcsinh")
    expand = expand_in_f32(lambda b, attrs, x: fn.asinh(b, x))


@irdl_op_definition
class AcoshOp(FloatOp):
    """Inverse hyperbolic cosine; NaN below 1."""

    name = "ge.acosh"
    GE_TYPES: ClassVar = ("Acosh",)
    evaluate = in_f32("arccosh")
    expand = expand_in_f32(lambda b, attrs, x: fn.acosh(b, x))


@irdl_op_definition
class AtanhOp(FloatOp):
    """Inverse hyperbolic tangent; NaN outside [-1, 1]."""

    name = "ge.atanh"
    GE_TYPES: ClassVar = ("Atanh",)
    evaluate = in_f32("arctanh")
    expand = expand_in_f32(lambda b, attrs, x: fn.atanh(b, x))


class FloatTestOp(FloatOp):
    """A question about each float: result i1."""

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        return [x.with_dtype(I1) for x in super().infer(attrs, *operands)]


@irdl_op_definition
class IsNanOp(FloatTestOp):
    """Whether x is NaN."""

    name = "ge.is_nan"
    GE_TYPES: ClassVar = ("IsNan",)
    evaluate = native("isnan")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return b.not_equal(operands[0], operands[0])


@irdl_op_definition
class IsInfOp(FloatTestOp):
    """Whether x is an infinity of a sign that is asked for."""

    name = "ge.is_inf"
    GE_TYPES: ClassVar = ("IsInf",)
    detect_negative = prop_def(BOOL)
    detect_positive = prop_def(BOOL)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        y = np.isinf(x)
        y = y if attrs.detect_negative else y & (x > 0)
        return np.asarray(y if attrs.detect_positive else y & (x < 0))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x = operands[0]
        if attrs.detect_negative and attrs.detect_positive:
            return b.equal(b.abs(x), INF)
        if not attrs.detect_negative and not attrs.detect_positive:
            return b.less(x, x)  # false everywhere
        return b.equal(x, INF if attrs.detect_positive else -INF)
