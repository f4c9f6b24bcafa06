"""Searches and running sums along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.elementwise import UnaryOp
from gedialect.dialects.ge.numeric import np, require_kinds, wide
from gedialect.dialects.ge.shapes import mismatch, normalize_axis, reduced
from gedialect.errors import UnsupportedError
from gedialect.ir.dtypes import I32, I64, DType
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


def index_type(name: str, attrs: Attrs, result: int = 0) -> DType:
    """The element type of a result of indices: as given, i64 if it is not."""
    dtype = attrs.results[result].dtype if attrs.results else I64
    if dtype not in (I32, I64):
        raise mismatch(f"indices of {name} are i32 or i64, not {dtype.name}")
    return dtype


class ArgOp(UnaryOp):
    """Index along ``dimension`` of an extreme value (of a NaN if there is one): the first such, or the last."""

    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    dimension = prop_def(INT)
    keep_dims = prop_def(BOOL)
    select_last_index = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        axis = normalize_axis(attrs.dimension, x.rank)
        if x.rank and x.shape[axis] == 0:
            raise mismatch(f"{cls.name} over no elements")
        shape = reduced(x.shape, (axis,), attrs.keep_dims) if x.rank else ()
        return [Spec(index_type(cls.name, attrs), shape)]


CHUNK = 8192
"""Elements of the pieces that a search goes through where a line is too long to hold."""


def in_chunks(b: GeBuilder, attrs: Attrs, x: SSAValue, name: str) -> SSAValue:
    """The search along a long line: in each piece, then among the extremes of the pieces, then in what is left.

    GE1205 for a line that is short, which comes apart no further.
    """
    spec, largest = b.spec(x), name == "arg_max"
    axis = normalize_axis(attrs.dimension, spec.rank)
    n = spec.shape[axis]
    if n < 2 * CHUNK:
        raise UnsupportedError(f"a line of {n} elements is searched at once", code="GE1205")
    others = [i for i in range(spec.rank) if i != axis]
    lines = b.reshape(b.transpose(x, perm=(*others, axis)), shape=(prod(spec.shape[i] for i in others), n))
    count, rest = divmod(n, CHUNK)
    whole = count * CHUNK

    def search(v: SSAValue) -> SSAValue:
        """Along the last axis, which stays."""
        last = b.spec(v).rank - 1
        return getattr(b, name)(v, dimension=last, keep_dims=True, select_last_index=attrs.select_last_index)

    def extreme(v: SSAValue) -> SSAValue:
        return (b.reduce_max if largest else b.reduce_min)(v, axes=(b.spec(v).rank - 1,), keep_dims=True)

    def part(first: int, end: int) -> SSAValue:
        return b.slice(lines, None, None, None, begin=(first,), end=(end,), axes=(1,), strides=(1,))

    rows = b.spec(lines).shape[0]
    pieces = b.reshape(part(0, whole) if rest else lines, shape=(rows, count, CHUNK))
    inside = b.reshape(search(pieces), shape=(rows, count))
    extremes = b.reshape(extreme(pieces), shape=(rows, count))
    piece = search(extremes)
    at = b.add(b.mul(piece, CHUNK), b.gather_elements(inside, piece, dim=1))
    if rest:
        tail, best, more = part(whole, n), extreme(extremes), extreme(part(whole, n))
        beats = {(True, False): b.greater, (True, True): b.greater_equal, (False, False): b.less}
        better = beats.get((largest, bool(attrs.select_last_index)), b.less_equal)(more, best)
        if spec.dtype.is_float:  # a NaN is what is searched for
            none = b.is_nan(more)
            again = none if attrs.select_last_index else b.logical_and(none, b.logical_not(b.is_nan(best)))
            better = b.logical_or(better, again)
        at = b.select(better, b.add(search(tail), whole), at)
    return b.cast(b.reshape(at, shape=attrs.shape), attrs.dtype)


def arg_extreme(name: str) -> staticmethod[..., Results]:
    """``evaluate`` by np.argmax or np.argmin."""

    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        keep = bool(attrs.keep_dims) and x.ndim > 0
        dtype = (attrs.dtype if attrs.results else I64).numpy
        if not x.ndim:
            return np.zeros((), dtype)
        if not attrs.select_last_index:
            return np.asarray(getattr(np, name)(x, axis=attrs.dimension, keepdims=keep)).astype(dtype)
        from_end = getattr(np, name)(np.flip(x, attrs.dimension), axis=attrs.dimension, keepdims=keep)
        return np.asarray(x.shape[attrs.dimension] - 1 - from_end).astype(dtype)

    return staticmethod(evaluate)


@irdl_op_definition
class ArgMaxOp(ArgOp):
    """Index of the largest value along ``dimension``; i64 or i32."""

    name = "ge.arg_max"
    GE_TYPES: ClassVar = ("ArgMaxV2", "ArgMaxD")
    PRIMITIVE: ClassVar = "vargmax"
    evaluate = arg_extreme("argmax")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return in_chunks(b, attrs, operands[0], "arg_max")


@irdl_op_definition
class ArgMinOp(ArgOp):
    """Index of the smallest value along ``dimension``; i64 or i32."""

    name = "ge.arg_min"
    GE_TYPES: ClassVar = ("ArgMin", "ArgMinD")
    PRIMITIVE: ClassVar = "vargmin"
    evaluate = arg_extreme("argmin")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return in_chunks(b, attrs, operands[0], "arg_min")


@irdl_op_definition
class TopKOp(GeOp):
    """The ``k`` largest (or smallest) values along ``dim``, in order, and their indices (i64 or i32).

    Equal values keep the order of their indices; NaN counts as largest. Without ``sorted`` the order is free; it is
    the same here.
    """

    name = "ge.topk"
    GE_TYPES: ClassVar = ("TopK", "TopKV2", "TopKD")
    CONST_OPERANDS: ClassVar = (("k", "k"),)
    x = operand_def(TENSOR)
    k = opt_operand_def(TENSOR)
    values = result_def(TENSOR)
    indices = result_def(TENSOR)
    k_attr = opt_prop_def(INT, prop_name="k")
    dim = prop_def(INT)
    largest = prop_def(BOOL)
    sorted = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        x, k = operands
        assert x is not None
        require_kinds(cls.name, "fiu", x)
        require_kinds(f"k of {cls.name}", "iu", k)
        if (k is None) == (attrs.k is None):
            raise mismatch(f"{cls.name} takes k either as operand or as attribute")
        axis = normalize_axis(attrs.dim, x.rank)
        if attrs.k is not None and (
            x.rank == 0 or attrs.k < 0 or (x.shape[axis] != DYNAMIC and attrs.k > x.shape[axis])
        ):
            raise mismatch(f"k = {attrs.k} does not fit axis {axis} of {x}")
        size = DYNAMIC if attrs.k is None else attrs.k
        shape = tuple(size if i == axis else d for i, d in enumerate(x.shape))
        return [x.with_shape(shape), Spec(index_type(cls.name, attrs, 1), shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, k = operands
        k = attrs.k if k is None else int(k.reshape(-1)[0])
        axis = attrs.dim
        if not 0 <= k <= x.shape[axis]:
            raise mismatch(f"k = {k} does not fit axis {axis} of {x.shape}")
        keys = np.flip(wide(x), axis) if attrs.largest else wide(x)
        order = np.argsort(keys, axis=axis, kind="stable")
        if attrs.largest:  # ascending in reversed order, reversed: descending, equal values in order
            order = np.flip(x.shape[axis] - 1 - order, axis)
        order = np.take(order, np.arange(k), axis=axis)
        dtype = (attrs.results[1].dtype if attrs.results else I64).numpy
        return np.take_along_axis(x, order, axis), order.astype(dtype)


@irdl_op_definition
class CumsumOp(UnaryOp):
    """Running sum along ``axis``, without the element itself if ``exclusive``, from the end if ``reverse``.

    f16 and bf16 add in f32; integers wrap.
    """

    name = "ge.cumsum"
    GE_TYPES: ClassVar = ("Cumsum", "CumsumD")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    axis = prop_def(INT)
    exclusive = prop_def(BOOL)
    reverse = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        if not x.rank:
            raise mismatch(f"{cls.name} needs an axis, x is {x}")
        normalize_axis(attrs.axis, x.rank)
        return [x]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, axis = wide(operands[0]), attrs.axis
        x = np.flip(x, axis) if attrs.reverse else x
        y = np.cumsum(x, axis=axis, dtype=x.dtype)
        if attrs.exclusive and x.shape[axis]:
            first = np.zeros_like(np.take(y, [0], axis=axis))
            y = np.concatenate([first, np.take(y, np.arange(x.shape[axis] - 1), axis=axis)], axis)
        y = np.flip(y, axis) if attrs.reverse else y
        return y.astype(operands[0].dtype, copy=False)


@irdl_op_definition
class HardmaxOp(UnaryOp):
    """1 at the first of the largest values along ``axis``, else 0."""

    name = "ge.hardmax"
    GE_TYPES: ClassVar = ("HardMax",)
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    KINDS: ClassVar = "f"
    axis = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        normalize_axis(attrs.axis, operands[0].rank)
        return super().infer(attrs, *operands)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        y = np.zeros_like(operands[0])
        if y.size:
            np.put_along_axis(y, np.argmax(operands[0], axis=attrs.axis, keepdims=True), 1, attrs.axis)
        return y

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        spec = b.spec(operands[0])
        axis: int = attrs.axis % spec.rank
        n = spec.shape[axis]
        kept = spec.with_dtype(I32).with_shape([1 if i == axis else d for i, d in enumerate(spec.shape)])
        first = b.arg_max(operands[0], dimension=axis, keep_dims=True, select_last_index=False, results=[kept])
        at = b.range(start=0, limit=n, delta=1, results=[Spec(I32, (n,))])
        if axis < spec.rank - 1:
            at = b.unsqueeze(at, axes=list(range(1, spec.rank - axis)))
        return b.cast(b.equal(at, first), spec.dtype)
