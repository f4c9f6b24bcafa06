"""Ops that repeat tensors, or make them from sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
)

from gedialect.dialects.ge.base import INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.given import required, unknown_shape
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shape import MoveOp
from gedialect.dialects.ge.shapes import broadcast, mismatch, same_dtype
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.access import Access
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

NUMBER = BaseAttr(IntegerAttr) | BaseAttr(FloatAttr)


@irdl_op_definition
class ExpandOp(GeOp):
    """x repeated to the shape it and ``shape`` broadcast to (both ways: a 1 in ``shape`` keeps x's size)."""

    name = "ge.expand"
    GE_TYPES: ClassVar = ("Expand", "BroadcastTo", "ExpandD", "BroadcastToD")
    FUSION_CLASS: ClassVar = FusionClass.BROADCAST
    CONST_OPERANDS: ClassVar = (("shape", "shape"),)
    x = operand_def(TENSOR)
    shape = opt_operand_def(TENSOR)
    shape_attr = opt_prop_def(INTS, prop_name="shape")
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, shape = operands
        if attrs.get("shape") is not None:
            return [x.with_shape(broadcast(x.shape, attrs["shape"]))]
        unknown = unknown_shape(attrs, shape, "shape")
        return [x.with_shape(unknown if attrs.results else broadcast(x.shape, unknown))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, shape = operands
        return np.broadcast_to(x, broadcast(x.shape, required(attrs, "shape", shape)))

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        return (x.broadcast(attrs.results[0].shape),)


@irdl_op_definition
class TileOp(MoveOp):
    """x repeated ``multiples[i]`` times along axis i."""

    name = "ge.tile"
    GE_TYPES: ClassVar = ("Tile", "TileD", "TileWithAxis")
    CONST_OPERANDS: ClassVar = (("multiples", "multiples"),)
    x = operand_def(TENSOR)
    multiples = opt_operand_def(TENSOR)
    multiples_attr = opt_prop_def(INTS, prop_name="multiples")

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, multiples = operands
        if attrs.multiples is None:
            if multiples is None:
                unknown_shape(attrs, multiples, "multiples")
            return [x.with_shape(attrs.shape if attrs.results else (DYNAMIC,) * x.rank)]
        if len(attrs.multiples) != x.rank or min(attrs.multiples, default=0) < 0:
            raise mismatch(f"multiples {list(attrs.multiples)} do not fit rank {x.rank}")
        return [x.with_shape([d if d == DYNAMIC else d * m for d, m in zip(x.shape, attrs.multiples, strict=True)])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, multiples = operands
        return np.tile(x, required(attrs, "multiples", multiples))

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        # every repeated axis becomes two, the outer one with stride 0
        shape: list[int] = []
        strides: list[int] = []
        for n, step, m in zip(x.shape, x.strides, attrs.multiples, strict=True):
            shape += [m, n] if m != 1 else [n]
            strides += [0, step] if m != 1 else [step]
        return (Access(tuple(shape), tuple(strides), x.offset),)


@irdl_op_definition
class FillOp(GeOp):
    """A tensor of shape ``dims`` full of ``value`` (one element)."""

    name = "ge.fill"
    GE_TYPES: ClassVar = ("Fill", "FillD", "FillV2")
    FUSION_CLASS: ClassVar = FusionClass.BROADCAST
    CONST_OPERANDS: ClassVar = (("dims", "dims"),)
    dims = opt_operand_def(TENSOR)
    value = operand_def(TENSOR)
    dims_attr = opt_prop_def(INTS, prop_name="dims")
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        dims, value = operands
        if value.is_static and value.size != 1:
            raise mismatch(f"value is {value}, one element is needed")
        if attrs.dims is None:
            return [value.with_shape(unknown_shape(attrs, dims, "dims"))]
        if min(attrs.dims, default=0) < 0:
            raise mismatch(f"dims {list(attrs.dims)} are negative")
        return [value.with_shape(attrs.dims)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        dims, value = operands
        return np.broadcast_to(value.reshape(()), tuple(required(attrs, "dims", dims)))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        _, value = operands
        return b.expand(b.reshape(value, shape=[]) if b.spec(value).rank else value, shape=attrs.shape)


@irdl_op_definition
class ShapeOp(GeOp):
    """The sizes of x from axis ``start`` up to ``end`` (i64, or i32 if the result type says so)."""

    name = "ge.shape"
    GE_TYPES: ClassVar = ("Shape", "ShapeN")
    x = operand_def(TENSOR)
    start = opt_prop_def(INT)
    end = opt_prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        count = len(range(operands[0].rank)[attrs.start : attrs.end])
        return [Spec(index_dtype(attrs), (count,))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.array(operands[0].shape[attrs.start : attrs.end], index_dtype(attrs).numpy)


def index_dtype(attrs: Attrs) -> dtypes.DType:
    """Element type of an integer result that no operand tells: i64 unless the result type says another."""
    return attrs.dtype if attrs.results else dtypes.I64


@irdl_op_definition
class SizeOp(GeOp):
    """The number of elements of x, rank 0."""

    name = "ge.size"
    GE_TYPES: ClassVar = ("Size",)
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        return [Spec(index_dtype(attrs), ())]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.array(operands[0].size, index_dtype(attrs).numpy)


@irdl_op_definition
class RangeOp(GeOp):
    """``start, start + delta, ...`` up to but without ``limit``; each bound is an operand (rank 0) or an attribute."""

    name = "ge.range"
    GE_TYPES: ClassVar = ("Range", "RangeD")
    CONST_OPERANDS: ClassVar = (("start", "start"), ("limit", "limit"), ("delta", "delta"))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    start = opt_operand_def(TENSOR)
    limit = opt_operand_def(TENSOR)
    delta = opt_operand_def(TENSOR)
    start_attr = opt_prop_def(NUMBER, prop_name="start")
    limit_attr = opt_prop_def(NUMBER, prop_name="limit")
    delta_attr = opt_prop_def(NUMBER, prop_name="delta")
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        present = [s for s in operands if s is not None]
        if not present and not attrs.results:
            raise GeError("a range of attributes needs its result type", code="GE1903")
        dtype = same_dtype(*present).dtype if present else attrs.dtype
        bounds = [attrs.start, attrs.limit, attrs.delta]
        if any(b is None and s is None for b, s in zip(bounds, operands, strict=True)):
            raise mismatch("start, limit and delta are each an operand or an attribute")
        return [Spec(dtype, (DYNAMIC if None in bounds else _range_count(*bounds),))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        names = ("start", "limit", "delta")
        start, limit, delta = (
            v if (v := attrs.get(n)) is not None else o.reshape(()).item() for n, o in zip(names, operands, strict=True)
        )
        dtype = next((o.dtype for o in operands if o is not None), None) or attrs.dtype.numpy
        count = _range_count(start, limit, delta)
        return (np.arange(count) * delta + start).astype(dtype)


def _range_count(start: float, limit: float, delta: float) -> int:
    if delta == 0:
        raise mismatch("a range with delta 0 does not end")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return max(-((start - limit) // delta), 0)
    return max(ceil((limit - start) / delta), 0)
