"""Activation functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import pi, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from gedialect.dialects.ge import functions as fn
from gedialect.dialects.ge.base import FLOAT, TENSOR, Array, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.elementwise import FloatOp, UnaryOp
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import expand_in_f32, in_f32, np, require_kinds, wide, widen
from gedialect.dialects.ge.shapes import broadcast, mismatch, same_dtype
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

SELU_ALPHA, SELU_SCALE = 1.67326319217681884765625, 1.05070102214813232421875
"""Defaults of ONNX Selu."""

# ---------------------------------------------------------------------- numpy forms used by several ops
ERF_NEAR = (
    1.1283791670955092, -0.37612638903130186, 0.1128379166932296, -0.026866170446007625, 0.005223976338864783,
    -0.0008548277226884108, 0.00012054103544640767, -1.490573163722322e-05, 1.6249972659538769e-06,
    -1.4919665742860755e-07, 8.917683875024692e-09,
)  # fmt: skip
"""erf(x) = x p(x²) below 1; printed by tools/fit_functions.py."""
ERFC_FAR = (
    -1.1550480526690472e-06, 0.2821322703789046, 0.2815405758071467, 0.25177070185148687, 0.14680811805156957,
    0.20807600473617907, -0.3821524646316881, 0.7711998243639177, -1.333491209264054, 1.3105245516428725,
    -0.7214805748971524, 0.20964384882695553, -0.024563399494349478,
)  # fmt: skip
"""1 - erf(x) = exp(-x²) p(1 / (1 + x / 2)) from 1; printed by tools/fit_functions.py."""


@cache
def _erf64() -> Any:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])


def erf(x: Array) -> Array:
    """The error function: f32 within 1 ulp (computed in f64), f64 by ``math.erf``."""
    if x.dtype == np.float64:
        return _erf64()(x) if x.size else x
    flat = x.reshape(-1)
    y = np.empty_like(flat)
    for i in range(0, flat.size, 16384):  # in parts, so that the f64 steps take little memory
        y[i : i + 16384] = _erf_part(flat[i : i + 16384].astype(np.float64))
    return y.reshape(x.shape)


def _erf_part(x: Array) -> Array:
    a = np.abs(x)
    near = np.minimum(a, 1.0)
    far = np.clip(a, 1.0, 6.0)
    below = near * np.polyval(ERF_NEAR[::-1], near * near)
    above = 1 - np.exp(-far * far) * np.polyval(ERFC_FAR[::-1], 1 / (1 + far / 2))
    return np.copysign(np.where(a < 1, below, above), x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    e: Array = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    tail: Array = np.log1p(np.exp(-np.abs(x)))
    return np.maximum(x, 0) + tail


def gelu(x: Array, approximate: str) -> Array:
    """x / 2 (1 + erf(x / sqrt 2)), or with tanh."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + erf(x * sqrt(0.5)))


def expand_gelu(b: GeBuilder, x: SSAValue, approximate: str) -> SSAValue:
    """``gelu`` in primitive ops; the tanh form as x sigmoid(2u), which needs no tanh."""
    if approximate == "tanh":
        inner = b.mul(b.mul(x, x), -2 * sqrt(2 / pi) * 0.044715)
        return b.div(x, b.add(b.exp(b.mul(x, b.add(inner, -2 * sqrt(2 / pi)))), 1.0))
    return b.mul(b.mul(x, 0.5), b.add(fn.erf(b, b.mul(x, sqrt(0.5))), 1.0))


def _exponential(attrs: Attrs, x: Array) -> Array:
    grown: Array = np.expm1(np.minimum(x, 0))
    return np.where(x > 0, x, attrs.alpha * grown) * attrs.scale


def _expand_exponential(b: GeBuilder, x: SSAValue, alpha: float, scale: float, inner: float = 1.0) -> SSAValue:
    """scale x for x > 0, else scale alpha (exp(x inner) - 1)."""
    grown = b.exp(b.minimum(x, 0.0) if inner == 1.0 else b.mul(b.minimum(x, 0.0), inner))
    below = b.mul(b.sub(grown, 1.0), alpha * scale)
    return fn.choose(b, b.greater(x, 0.0), x if scale == 1.0 else b.mul(x, scale), below)


def _expand_mish(b: GeBuilder, x: SSAValue) -> SSAValue:
    """With e = exp(x): tanh(log(1 + e)) = n / (n + 2), n = e (e + 2); 1 in f32 from x = 20."""
    e = b.exp(b.minimum(x, 20.0))
    n = b.mul(e, b.add(e, 2.0))
    return b.mul(x, b.div(n, b.add(n, 2.0)))


# ---------------------------------------------------------------------- ops
@irdl_op_definition
class Relu6Op(UnaryOp):
    """min(max(x, 0), 6)."""

    name = "ge.relu6"
    GE_TYPES: ClassVar = ("Relu6", "Relu6D")

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        zero, six = np.asarray((0, 6)).astype(operands[0].dtype)
        return np.asarray(np.minimum(np.maximum(operands[0], zero), six))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return b.minimum(b.relu(operands[0]), 6)


@irdl_op_definition
class LeakyReluOp(FloatOp):
    """x, times ``negative_slope`` where x < 0."""

    name = "ge.leaky_relu"
    GE_TYPES: ClassVar = ("LeakyRelu",)
    FLOAT_ATTRS: ClassVar = frozenset({"negative_slope"})
    negative_slope = prop_def(FLOAT)
    evaluate = in_f32(lambda attrs, x: np.where(x < 0, x * attrs.negative_slope, x))
    expand = expand_in_f32(lambda b, attrs, x: fn.choose(b, b.less(x, 0.0), b.mul(x, attrs.negative_slope), x))


@irdl_op_definition
class PReluOp(GeOp):
    """x, times ``weight`` where x < 0; ``weight`` broadcasts to x."""

    name = "ge.prelu"
    GE_TYPES: ClassVar = ("PRelu",)
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x, weight = operands
        require_kinds(cls.name, "f", x)
        return [within(x, weight)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, weight = wide(operands[0]), wide(operands[1])
        return np.asarray(np.where(x < 0, x * weight, x)).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, weight = (widen(b, v) for v in operands)
        return b.cast(fn.choose(b, b.less(x, 0.0), b.mul(x, weight), x), b.spec(operands[0]).dtype)


def within(x: Spec, *others: Spec | None) -> Spec:
    """``x``; GE1005 unless the others have its element type and broadcast to its shape."""
    same_dtype(x, *others)
    for other in others:
        if other is not None:
            shape = broadcast(x.shape, other.shape)
            if len(shape) != x.rank or any(b > 1 and a == 1 for a, b in zip(x.shape, shape, strict=True)):
                raise mismatch(f"{other} does not broadcast to {x}")
    return x


@irdl_op_definition
class EluOp(FloatOp):
    """scale x for x > 0, else scale alpha (exp(x) - 1)."""

    name = "ge.elu"
    GE_TYPES: ClassVar = ("Elu",)
    FLOAT_ATTRS: ClassVar = frozenset({"alpha", "scale"})
    alpha = prop_def(FLOAT)
    scale = prop_def(FLOAT)
    evaluate = in_f32(_exponential)
    expand = expand_in_f32(lambda b, attrs, x: _expand_exponential(b, x, attrs.alpha, attrs.scale))


@irdl_op_definition
class SeluOp(FloatOp):
    """ELU with alpha 1.67326319217681884765625 and scale 1.05070102214813232421875."""

    name = "ge.selu"
    GE_TYPES: ClassVar = ("Selu",)
    evaluate = in_f32(lambda attrs, x: _exponential(Attrs({"alpha": SELU_ALPHA, "scale": SELU_SCALE}), x))
    expand = expand_in_f32(lambda b, attrs, x: _expand_exponential(b, x, SELU_ALPHA, SELU_SCALE))


@irdl_op_definition
class CeluOp(FloatOp):
    """max(x, 0) + min(0, alpha (exp(x / alpha) - 1))."""

    name = "ge.celu"
    GE_TYPES: ClassVar = ("CeluV2", "Celu")
    FLOAT_ATTRS: ClassVar = frozenset({"alpha"})
    alpha = prop_def(FLOAT)
    evaluate = in_f32(
        lambda attrs, x: np.maximum(x, 0) + np.minimum(0, attrs.alpha * np.expm1(np.minimum(x / attrs.alpha, 50)))
    )
    expand = expand_in_f32(
        lambda b, attrs, x: b.add(
            b.relu(x), b.minimum(b.mul(b.sub(b.exp(b.minimum(b.mul(x, 1 / attrs.alpha), 50.0)), 1.0), attrs.alpha), 0.0)
        )
    )


@irdl_op_definition
class GeluOp(FloatOp):
    """x / 2 (1 + erf(x / sqrt 2)); ``approximate = "tanh"``: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³)))."""

    name = "ge.gelu"
    GE_TYPES: ClassVar = ("GeluV2", "Gelu")
    approximate = prop_def(words("none", "tanh"))
    evaluate = in_f32(lambda attrs, x: gelu(x, attrs.approximate))
    expand = expand_in_f32(lambda b, attrs, x: expand_gelu(b, x, attrs.approximate))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        check_words(cls, attrs)
        return super().infer(attrs, *operands)


@irdl_op_definition
class SwishOp(FloatOp):
    """x sigmoid(scale x)."""

    name = "ge.swish"
    GE_TYPES: ClassVar = ("Swish",)
    FLOAT_ATTRS: ClassVar = frozenset({"scale"})
    scale = prop_def(FLOAT)
    evaluate = in_f32(lambda attrs, x: x * sigmoid(attrs.scale * x))
    expand = expand_in_f32(lambda b, attrs, x: b.div(x, b.add(b.exp(b.mul(x, -attrs.scale)), 1.0)))


@irdl_op_definition
class HardSwishOp(FloatOp):
    """x max(0, min(1, x / 6 + 1 / 2))."""

    name = "ge.hard_swish"
    GE_TYPES: ClassVar = ("HardSwish",)
    evaluate = in_f32(lambda attrs, x: x * np.clip(x / 6 + 0.5, 0, 1))
    expand = expand_in_f32(lambda b, attrs, x: b.mul(x, fn.clamp(b, b.add(b.mul(x, 1 / 6), 0.5), 0.0, 1.0)))


@irdl_op_definition
class HardSigmoidOp(FloatOp):
    """max(0, min(1, alpha x + beta))."""

    name = "ge.hard_sigmoid"
    GE_TYPES: ClassVar = ("HardSigmoid",)
    FLOAT_ATTRS: ClassVar = frozenset({"alpha", "beta"})
    alpha = prop_def(FLOAT)
    beta = prop_def(FLOAT)
    evaluate = in_f32(lambda attrs, x: np.clip(x * attrs.alpha + attrs.beta, 0, 1))
    expand = expand_in_f32(lambda b, attrs, x: fn.clamp(b, b.add(b.mul(x, attrs.alpha), attrs.beta), 0.0, 1.0))


@irdl_op_definition
class SigmoidOp(FloatOp):
    """1 / (1 + exp(-x))."""

    name = "ge.sigmoid"
    GE_TYPES: ClassVar = ("Sigmoid",)
    evaluate = in_f32(lambda attrs, x: sigmoid(x))
    expand = expand_in_f32(lambda b, attrs, x: fn.sigmoid(b, x))


@irdl_op_definition
class TanhOp(FloatOp):
    """Hyperbolic tangent."""

    name = "ge.tanh"
    GE_TYPES: ClassVar = ("Tanh",)
    evaluate = in_f32("tanh")
    expand = expand_in_f32(lambda b, attrs, x: fn.tanh(b, x))


@irdl_op_definition
class SoftsignOp(FloatOp):
    """x / (1 + |x|)."""

    name = "ge.softsign"
    GE_TYPES: ClassVar = ("Softsign",)
    evaluate = in_f32(lambda attrs, x: x / (1 + np.abs(x)))
    expand = expand_in_f32(lambda b, attrs, x: b.div(x, b.add(b.abs(x), 1.0)))


@irdl_op_definition
class ErfOp(FloatOp):
    """The error function."""

    name = "ge.erf"
    GE_TYPES: ClassVar = ("Erf",)
    evaluate = in_f32(lambda attrs, x: erf(x))
    expand = expand_in_f32(lambda b, attrs, x: fn.erf(b, x))


@irdl_op_definition
class MishOp(FloatOp):
    """x tanh(log(1 + exp(x)))."""

    name = "ge.mish"
    GE_TYPES: ClassVar = ("Mish",)
    evaluate = in_f32(lambda attrs, x: x * np.tanh(softplus(x)))

    expand = expand_in_f32(lambda b, attrs, x: _expand_mish(b, x))


@irdl_op_definition
class LogSigmoidOp(FloatOp):
    """log(sigmoid(x)) = -softplus(-x)."""

    name = "ge.log_sigmoid"
    GE_TYPES: ClassVar = ("LogSigmoid",)
    evaluate = in_f32(lambda attrs, x: -softplus(-x))
    expand = expand_in_f32(lambda b, attrs, x: b.neg(fn.softplus(b, b.neg(x))))


@irdl_op_definition
class SoftplusOp(FloatOp):
    """log(1 + exp(x))."""

    name = "ge.softplus"
    GE_TYPES: ClassVar = ("Softplus", "SoftplusV2")
    evaluate = in_f32(lambda attrs, x: softplus(x))
    expand = expand_in_f32(lambda b, attrs, x: fn.softplus(b, x))


@irdl_op_definition
class ThresholdedReluOp(FloatOp):
    """x where x > alpha, else 0."""

    name = "ge.thresholded_relu"
    GE_TYPES: ClassVar = ("ThresholdedRelu",)
    FLOAT_ATTRS: ClassVar = frozenset({"alpha"})
    alpha = prop_def(FLOAT)
    evaluate = in_f32(lambda attrs, x: np.where(x > attrs.alpha, x, 0))
    expand = expand_in_f32(lambda b, attrs, x: fn.choose(b, b.greater(x, attrs.alpha), x, 0.0))


@irdl_op_definition
class ShrinkOp(FloatOp):
    """x + bias below -lambd, x - bias above lambd, 0 between."""

    name = "ge.shrink"
    GE_TYPES: ClassVar = ("Shrink",)
    FLOAT_ATTRS: ClassVar = frozenset({"lambd", "bias"})
    lambd = prop_def(FLOAT)
    bias = prop_def(FLOAT)
    evaluate = in_f32(
        lambda attrs, x: np.where(x < -attrs.lambd, x + attrs.bias, np.where(x > attrs.lambd, x - attrs.bias, 0))
    )
    expand = expand_in_f32(
        lambda b, attrs, x: fn.choose(
            b,
            b.less(x, -attrs.lambd),
            b.add(x, attrs.bias),
            fn.choose(b, b.greater(x, attrs.lambd), b.sub(x, attrs.bias), 0.0),
        )
    )


@irdl_op_definition
class ClipOp(GeOp):
    """min(max(x, clip_value_min), clip_value_max), either bound optional; bounds broadcast to x."""

    name = "ge.clip"
    GE_TYPES: ClassVar = ("ClipByValue", "ClipByValueV2")
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    clip_value_min = opt_operand_def(TENSOR)
    clip_value_max = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        x, low, high = operands
        assert x is not None
        require_kinds(cls.name, "fiu", x)
        return [within(x, low, high)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        y, low, high = operands
        y = y if low is None else np.maximum(y, low)
        return np.asarray(y if high is None else np.minimum(y, high))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        y, low, high = operands
        y = y if low is None else b.maximum(y, low)
        return y if high is None else b.minimum(y, high)
