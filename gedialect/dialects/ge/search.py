"""Searches and running sums along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.elementwise import UnaryOp
from gedialect.dialects.ge.numeric import np, require_kinds, wide, widen
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
"""Elements of the pieces in which a line is worked on that is too long to hold."""
SORTED_CHUNK = 4096
"""The same where it is sorted, which takes more room."""


class Pieces:
    """The lines of ``x`` along ``axis`` as rows, cut into ``count`` pieces of ``size`` elements and what is left.

    GE1205 for a line that is short, which comes apart no further.
    """

    def __init__(self, b: GeBuilder, x: SSAValue, axis: int, size: int):
        spec = b.spec(x)
        self.b, self.size = b, size
        self.axis = normalize_axis(axis, spec.rank)
        self.n = spec.shape[self.axis]
        if self.n < 2 * size:
            raise UnsupportedError(f"a line of {self.n} elements is worked on at once", code="GE1205")
        self.others = [i for i in range(spec.rank) if i != self.axis]
        self.lengths = [spec.shape[i] for i in self.others]
        self.rows = prod(self.lengths)
        self.lines = b.reshape(b.transpose(x, perm=(*self.others, self.axis)), shape=(self.rows, self.n))
        self.count, self.rest = divmod(self.n, size)
        self.whole = self.count * size

    def part(self, first: int, end: int) -> SSAValue:
        """Elements of the rows."""
        return self.b.slice(self.lines, None, None, None, begin=(first,), end=(end,), axes=(1,), strides=(1,))

    def pieces(self) -> SSAValue:
        """[rows, count, size]"""
        whole = self.part(0, self.whole) if self.rest else self.lines
        return self.b.reshape(whole, shape=(self.rows, self.count, self.size))

    def tail(self) -> SSAValue:
        """[rows, rest]"""
        return self.part(self.whole, self.n)

    def back(self, lines: SSAValue, dtype: DType) -> SSAValue:
        """Rows of any length under the axes that x had."""
        b, length = self.b, self.b.spec(lines).shape[1]
        order = [*self.others, self.axis]
        wide = b.reshape(lines, shape=(*self.lengths, length))
        return b.cast(b.transpose(wide, perm=tuple(order.index(i) for i in range(len(order)))), dtype)


def arg_in_pieces(b: GeBuilder, attrs: Attrs, x: SSAValue, name: str) -> SSAValue:
    """The search in each piece, then among the extremes of the pieces, then in what is left."""
    largest, p = name == "arg_max", Pieces(b, x, attrs.dimension, CHUNK)

    def search(v: SSAValue) -> SSAValue:
        """Along the last axis, which stays."""
        last = b.spec(v).rank - 1
        return getattr(b, name)(v, dimension=last, keep_dims=True, select_last_index=attrs.select_last_index)

    def extreme(v: SSAValue) -> SSAValue:
        return (b.reduce_max if largest else b.reduce_min)(v, axes=(b.spec(v).rank - 1,), keep_dims=True)

    pieces = p.pieces()
    inside = b.reshape(search(pieces), shape=(p.rows, p.count))
    extremes = b.reshape(extreme(pieces), shape=(p.rows, p.count))
    piece = search(extremes)
    at = b.add(b.mul(piece, CHUNK), b.gather_elements(inside, piece, dim=1))
    if p.rest:
        best, more = extreme(extremes), extreme(p.tail())
        beats = {(True, False): b.greater, (True, True): b.greater_equal, (False, False): b.less}
        better = beats.get((largest, bool(attrs.select_last_index)), b.less_equal)(more, best)
        if b.spec(x).dtype.is_float:  # a NaN is what is searched for
            none = b.is_nan(more)
            again = none if attrs.select_last_index else b.logical_and(none, b.logical_not(b.is_nan(best)))
            better = b.logical_or(better, again)
        at = b.select(better, b.add(search(p.tail()), p.whole), at)
    return b.reshape(p.back(at, attrs.dtype), shape=attrs.shape)


def topk_in_pieces(b: GeBuilder, attrs: Attrs, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The k first of each piece and of what is left, then the k first of those; their order keeps that of equals."""
    p, k = Pieces(b, x, attrs.dim, SORTED_CHUNK), attrs.k
    if 2 * k > SORTED_CHUNK:
        raise UnsupportedError(f"the {k} first are half a piece or more", code="GE1205")
    common = {"largest": attrs.largest, "sorted": True}
    values, at = b.topk(p.pieces(), None, k=k, dim=2, **common)
    firsts = b.array(np.arange(p.count, dtype=np.int64).reshape(1, p.count, 1) * p.size)
    at = b.reshape(b.add(at, firsts), shape=(p.rows, p.count * k))
    values = b.reshape(values, shape=(p.rows, p.count * k))
    if p.rest:
        more, where = b.topk(p.tail(), None, k=min(k, p.rest), dim=1, **common)
        values = b.concat([values, more], concat_dim=1)
        at = b.concat([at, b.add(where, p.whole)], concat_dim=1)
    values, places = b.topk(values, None, k=k, dim=1, **common)
    return p.back(values, attrs.results[0].dtype), p.back(b.gather_elements(at, places, dim=1), attrs.results[1].dtype)


def cumsum_in_pieces(b: GeBuilder, attrs: Attrs, x: SSAValue) -> SSAValue:
    """Running sums of each piece and of what is left, each on top of the sum of those before it (behind it)."""
    dtype = b.spec(x).dtype
    p = Pieces(b, widen(b, x), attrs.axis, CHUNK)
    inner = {"exclusive": attrs.exclusive, "reverse": attrs.reverse}
    pieces = p.pieces()
    sums = b.reshape(b.reduce_sum(pieces, axes=(2,), keep_dims=True), shape=(p.rows, p.count))
    before = b.cumsum(sums, axis=1, exclusive=True, reverse=attrs.reverse)
    after_tail = b.reduce_sum(p.tail(), axes=(1,), keep_dims=True) if p.rest and attrs.reverse else None
    if after_tail is not None:
        before = b.add(before, after_tail)
    head = b.add(b.cumsum(pieces, axis=2, **inner), b.reshape(before, shape=(p.rows, p.count, 1)))
    lines = b.reshape(head, shape=(p.rows, p.whole))
    if p.rest:
        tail = b.cumsum(p.tail(), axis=1, **inner)
        if not attrs.reverse:
            tail = b.add(tail, b.reduce_sum(sums, axes=(1,), keep_dims=True))
        lines = b.concat([lines, tail], concat_dim=1)
    return p.back(lines, dtype)


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
        return arg_in_pieces(b, attrs, operands[0], "arg_max")


@irdl_op_definition
class ArgMinOp(ArgOp):
    """Index of the smallest value along ``dimension``; i64 or i32."""

    name = "ge.arg_min"
    GE_TYPES: ClassVar = ("ArgMin", "ArgMinD")
    PRIMITIVE: ClassVar = "vargmin"
    evaluate = arg_extreme("argmin")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return arg_in_pieces(b, attrs, operands[0], "arg_min")


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

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        if attrs.k is None:
            raise UnsupportedError("k is an operand", code="GE1205")
        return topk_in_pieces(b, attrs, operands[0])


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

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return cumsum_in_pieces(b, attrs, operands[0])


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
