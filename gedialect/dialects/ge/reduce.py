"""Reductions, softmax and searches along axes.

Sums and products of f16 and bf16 accumulate in f32 and are rounded once; integers keep their type and wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, prop_def

from gedialect.dialects.ge import functions as fn
from gedialect.dialects.ge.base import BOOL, FLOAT, INTS, Array, Attrs, FusionClass, Results
from gedialect.dialects.ge.elementwise import FloatOp, UnaryOp, truncated_quotient
from gedialect.dialects.ge.numeric import expand_in_f32, np, wide, widen
from gedialect.dialects.ge.shapes import mismatch, normalize_axes, reduced
from gedialect.errors import UnsupportedError
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


class ReduceOp(UnaryOp):
    """``y`` = x reduced over ``axes`` (empty: over none); reduced axes stay as 1 if ``keep_dims``."""

    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    axes = prop_def(INTS)
    keep_dims = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        return [x.with_shape(reduced(x.shape, attrs.axes, attrs.keep_dims))]


def over(attrs: Attrs) -> dict[str, Any]:
    """numpy's arguments for ``axes`` and ``keep_dims``."""
    return {"axis": tuple(attrs.axes), "keepdims": bool(attrs.keep_dims)}


def total(attrs: Attrs, x: Array) -> Array:
    """Sum over the axes in x's own type, at least f32; not rounded to a half type."""
    x = wide(x)
    return np.asarray(np.sum(x, dtype=x.dtype, **over(attrs)))


def extreme(name: str, sign: int) -> staticmethod[..., Results]:
    """``evaluate`` by np.max or np.min; over no elements the least value of the type times ``sign``."""

    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        if x.dtype.kind == "b":
            start: Any = sign < 0
        elif x.dtype.kind in "iu":
            limits = np.iinfo(x.dtype)
            start = limits.min if sign > 0 else limits.max
        else:
            start = -sign * np.inf
        return np.asarray(getattr(np, name)(x, initial=np.asarray(start).astype(x.dtype)[()], **over(attrs)))

    return staticmethod(evaluate)


def count(b: GeBuilder, x: SSAValue, axes: Sequence[int]) -> int:
    """Number of elements reduced; UnsupportedError GE1205 while a size is unknown."""
    spec = b.spec(x)
    sizes = [spec.shape[a] for a in normalize_axes(axes, spec.rank)]
    if DYNAMIC in sizes:
        raise UnsupportedError(
            f"{spec} is reduced over an unknown size", code="GE1205", hint="fix the input shapes (--input-shape)"
        )
    return int(np.prod(sizes, dtype=np.int64))


def mean(b: GeBuilder, x: SSAValue, axes: Sequence[int], keep_dims: bool = True) -> SSAValue:
    """Mean of an f32 (or f64, or integer) value in primitive ops."""
    return b.div(b.reduce_sum(x, axes=axes, keep_dims=keep_dims), count(b, x, axes))


def drop_axes(b: GeBuilder, attrs: Attrs, y: SSAValue) -> SSAValue:
    """``y``, whose reduced axes have size 1, without them unless ``keep_dims``."""
    return y if attrs.keep_dims else b.reduce_max(y, axes=attrs.axes, keep_dims=False)


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """Sum."""

    name = "ge.reduce_sum"
    GE_TYPES: ClassVar = ("ReduceSum", "ReduceSumD")
    PRIMITIVE: ClassVar = "vreduce_sum"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return total(attrs, operands[0]).astype(operands[0].dtype, copy=False)


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """Product."""

    name = "ge.reduce_prod"
    GE_TYPES: ClassVar = ("ReduceProd", "ReduceProdD")
    PRIMITIVE: ClassVar = "vreduce_prod"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = wide(operands[0])
        return np.asarray(np.prod(x, dtype=x.dtype, **over(attrs))).astype(operands[0].dtype, copy=False)


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """Largest value; NaN if one is NaN, the least value of the type (-inf) over no elements."""

    name = "ge.reduce_max"
    GE_TYPES: ClassVar = ("ReduceMax", "ReduceMaxD")
    PRIMITIVE: ClassVar = "vreduce_max"
    KINDS: ClassVar = "fiub"
    evaluate = extreme("max", 1)


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """Smallest value; NaN if one is NaN, the greatest value of the type (inf) over no elements."""

    name = "ge.reduce_min"
    GE_TYPES: ClassVar = ("ReduceMin", "ReduceMinD")
    PRIMITIVE: ClassVar = "vreduce_min"
    KINDS: ClassVar = "fiub"
    evaluate = extreme("min", -1)


@irdl_op_definition
class ReduceAllOp(ReduceOp):
    """Whether all are true."""

    name = "ge.reduce_all"
    GE_TYPES: ClassVar = ("ReduceAll", "ReduceAllD")
    PRIMITIVE: ClassVar = "vreduce_all"
    KINDS: ClassVar = "b"
    evaluate = extreme("min", -1)


@irdl_op_definition
class ReduceAnyOp(ReduceOp):
    """Whether one is true."""

    name = "ge.reduce_any"
    GE_TYPES: ClassVar = ("ReduceAny", "ReduceAnyD")
    PRIMITIVE: ClassVar = "vreduce_any"
    KINDS: ClassVar = "b"
    evaluate = extreme("max", 1)


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """Mean; of integers rounded toward zero."""

    name = "ge.reduce_mean"
    GE_TYPES: ClassVar = ("ReduceMean", "ReduceMeanD", "GlobalAveragePool")
    expand = expand_in_f32(lambda b, attrs, x: mean(b, x, attrs.axes, attrs.keep_dims))

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        n = np.prod([x.shape[a] for a in attrs.axes], dtype=np.int64)
        divide = truncated_quotient if x.dtype.kind in "iu" else np.divide
        y = total(attrs, x)
        return np.asarray(divide(y, n.astype(y.dtype))).astype(x.dtype, copy=False)


@irdl_op_definition
class ReduceSumSquareOp(ReduceOp):
    """Sum of squares."""

    name = "ge.reduce_sum_square"
    GE_TYPES: ClassVar = ("SquareSumV1",)
    expand = expand_in_f32(lambda b, attrs, x: b.reduce_sum(b.mul(x, x), axes=attrs.axes, keep_dims=attrs.keep_dims))

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return total(attrs, np.square(wide(operands[0]))).astype(operands[0].dtype, copy=False)


@irdl_op_definition
class ReduceLogSumExpOp(ReduceOp):
    """log(sum(exp(x))) without overflow."""

    name = "ge.reduce_log_sum_exp"
    GE_TYPES: ClassVar = ("ReduceLogSumExp",)
    KINDS: ClassVar = "f"

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = wide(operands[0])
        top = np.max(x, initial=-np.inf, axis=tuple(attrs.axes), keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        sums = np.log(np.sum(np.exp(x - top), axis=tuple(attrs.axes), keepdims=True)) + top
        shape = reduced(x.shape, attrs.axes, attrs.keep_dims)
        return np.asarray(sums).reshape(shape).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x = widen(b, operands[0])
        top = b.reduce_max(x, axes=attrs.axes, keep_dims=True)
        finite = b.equal(b.sub(top, top), 0.0)
        top = fn.choose(b, finite, top, 0.0)
        sums = b.reduce_sum(b.exp(b.sub(x, top)), axes=attrs.axes, keep_dims=True)
        return b.cast(drop_axes(b, attrs, b.add(b.log(sums), top)), b.spec(operands[0]).dtype)


@irdl_op_definition
class LpNormOp(ReduceOp):
    """(sum |x|^p)^(1/p), at least ``epsilon``; p = inf: max |x|."""

    name = "ge.lp_norm"
    GE_TYPES: ClassVar = ("LpNormV2", "LpNorm")
    KINDS: ClassVar = "fiu"
    FLOAT_ATTRS: ClassVar = frozenset({"p", "epsilon"})
    p = prop_def(FLOAT)
    epsilon = prop_def(FLOAT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        if attrs.p == 0:
            raise mismatch(f"{cls.name} has no norm of order 0")
        return super().infer(attrs, *operands)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        a = np.abs(x.astype(np.float64) if x.dtype.kind in "iu" else wide(x))
        if attrs.p == np.inf:
            y = np.max(a, initial=0, **over(attrs))
        elif attrs.p == 1:
            y = np.sum(a, **over(attrs))
        elif attrs.p == 2:
            y = np.sqrt(np.sum(a * a, **over(attrs)))
        else:
            y = np.power(np.sum(np.power(a, attrs.p), **over(attrs)), 1 / attrs.p)
        return np.asarray(np.maximum(y, attrs.epsilon)).astype(x.dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        dtype = b.spec(operands[0]).dtype
        x = operands[0] if dtype.is_float else b.cast(operands[0], F32)
        a = b.abs(widen(b, x))
        axes = {"axes": attrs.axes, "keep_dims": attrs.keep_dims}
        if attrs.p == float("inf"):
            y = b.reduce_max(a, **axes)
        elif attrs.p == 1:
            y = b.reduce_sum(a, **axes)
        elif attrs.p == 2:
            y = b.sqrt(b.reduce_sum(b.mul(a, a), **axes))
        else:
            y = b.pow(b.reduce_sum(b.pow(a, attrs.p), **axes), 1 / attrs.p)
        return b.cast(b.maximum(y, attrs.epsilon) if attrs.epsilon > 0 else y, dtype)


# ---------------------------------------------------------------------- softmax
class SoftmaxLikeOp(FloatOp):
    """Normalises over ``axes``: same shape and type as x."""

    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    axes = prop_def(INTS)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        normalize_axes(attrs.axes, x.rank)
        return [x]


def _shifted(attrs: Attrs, x: Array) -> tuple[Array, dict[str, Any]]:
    """(x in f32 less its greatest value, numpy's arguments for the axes)."""
    x = wide(x)
    axes = {"axis": tuple(attrs.axes), "keepdims": True}
    return x - np.max(x, initial=-np.inf, **axes), axes


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """exp(x) / sum(exp(x)) without overflow."""

    name = "ge.softmax"
    GE_TYPES: ClassVar = ("SoftmaxV2",)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        shifted, axes = _shifted(attrs, operands[0])
        e = np.exp(shifted)
        return np.asarray(e / np.sum(e, **axes)).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x = widen(b, operands[0])
        e = b.exp(b.sub(x, b.reduce_max(x, axes=attrs.axes, keep_dims=True)))
        return b.cast(b.div(e, b.reduce_sum(e, axes=attrs.axes, keep_dims=True)), b.spec(operands[0]).dtype)


@irdl_op_definition
class LogSoftmaxOp(SoftmaxLikeOp):
    """x - log(sum(exp(x))) without overflow."""

    name = "ge.log_softmax"
    GE_TYPES: ClassVar = ("LogSoftmaxV2",)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        shifted, axes = _shifted(attrs, operands[0])
        y = shifted - np.log(np.sum(np.exp(shifted), **axes))
        return np.asarray(y).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x = widen(b, operands[0])
        shifted = b.sub(x, b.reduce_max(x, axes=attrs.axes, keep_dims=True))
        sums = b.log(b.reduce_sum(b.exp(shifted), axes=attrs.axes, keep_dims=True))
        return b.cast(b.sub(shifted, sums), b.spec(operands[0]).dtype)
