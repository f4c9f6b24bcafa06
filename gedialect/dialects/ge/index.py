"""Gather, scatter and other ops that take positions as data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from gedialect.dialects.ge.base import INT, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import broadcast, mismatch, normalize_axis, same_dtype
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

REDUCTIONS = ("none", "add", "mul", "max", "min")


def _integers(spec: Spec, what: str) -> None:
    if not spec.dtype.is_int:
        raise mismatch(f"{what} are {spec.dtype}, integers are needed")


def positions(indices: Any, size: int) -> Any:
    """Indices as i64 in 0..size - 1, negative ones counted from the end; GE1006 if one is out of range."""
    at = indices.astype(np.int64)
    bad = (at < -size) | (at >= size)
    if bad.any():
        raise GeError(
            f"index {at[bad][0]} is out of range for {size} elements",
            code="GE1006",
            hint="check the index tensor of the model or the input",
        )
    return np.where(at < 0, at + size, at)


def _wrapped(b: GeBuilder, indices: SSAValue, size: int) -> SSAValue:
    """i64 indices with negative ones counted from the end."""
    at = b.cast(indices, dtypes.I64)
    return b.select(b.less(indices, 0), b.add(at, size), at)


def _numbers(b: GeBuilder, n: int, step: int, trailing: int) -> SSAValue:
    """0, step, 2 step, .. as [n, 1, ..] with ``trailing`` axes of size 1; i64, known when compiled."""
    at = b.range(start=0, limit=n * step, delta=step, results=[Spec(dtypes.I64, (n,))])
    return b.unsqueeze(at, axes=list(range(1, trailing + 1))) if trailing else at


def _flat(b: GeBuilder, indices: SSAValue, sizes: Sequence[int]) -> SSAValue:
    """Row numbers among prod(``sizes``) rows from positions along each axis, which the last axis of indices holds."""
    spec = b.spec(indices)
    total: Any = None
    for j, size in enumerate(sizes):
        column = indices
        if len(sizes) > 1:
            column = b.slice(indices, begin=[j], end=[j + 1], axes=[spec.rank - 1])
        column = _wrapped(b, b.reshape(column, shape=spec.shape[:-1]), size)
        step = prod(sizes[j + 1 :])
        column = b.mul(column, step) if step != 1 else column
        total = column if total is None else b.add(total, column)
    return total


@irdl_op_definition
class GatherOp(GeOp):
    """Slices of x along ``axis`` at ``indices`` (negative ones count from the end).

    The first ``batch_dims`` axes of both operands are common: [*batch, *outer, *indices, *inner].
    """

    name = "ge.gather"
    GE_TYPES: ClassVar = ("GatherV2", "Gather", "GatherV2D")
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    axis = prop_def(INT)
    batch_dims = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, indices = operands
        _integers(indices, "indices")
        if x.rank == 0:
            raise mismatch("gather needs rank 1 or more")
        axis, batch = normalize_axis(attrs.axis, x.rank), attrs.batch_dims
        if not 0 <= batch <= min(axis, indices.rank):
            raise mismatch(f"batch_dims {batch} do not fit axis {axis} and indices {indices}")
        common = broadcast(x.shape[:batch], indices.shape[:batch])
        return [x.with_shape([*common, *x.shape[batch:axis], *indices.shape[batch:], *x.shape[axis + 1 :]])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, indices = operands
        axis, batch = attrs.axis % x.ndim, attrs.batch_dims
        at = positions(indices, x.shape[axis])
        if batch == 0:
            return np.take(x, at, axis)
        rest = at.shape[batch:]
        flat_x = x.reshape(prod(x.shape[:batch]), *x.shape[batch:])
        flat_at = at.reshape(len(flat_x), *rest)
        parts = [np.take(a, i, axis - batch) for a, i in zip(flat_x, flat_at, strict=True)]
        shape = (*x.shape[:axis], *rest, *x.shape[axis + 1 :])
        return np.stack(parts).reshape(shape) if parts else np.zeros(shape, x.dtype)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """All batches as one table whose rows are numbered through; other integer types as i64."""
        x, indices = operands
        s, t = b.spec(x), b.spec(indices)
        axis: int = attrs.axis % s.rank
        batch: int = attrs.batch_dims
        if batch == 0 and t.dtype in (dtypes.I32, dtypes.I64):
            raise UnsupportedError("gather has no expansion", code="GE1205")
        if batch == 0:
            return b.gather(x, b.cast(indices, dtypes.I64), axis=axis, batch_dims=0)
        if s.shape[:batch] != t.shape[:batch]:
            raise UnsupportedError("batches that broadcast", code="GE1205")
        lead, size = s.shape[:axis], s.shape[axis]
        at = _wrapped(b, b.reshape(indices, shape=(prod(t.shape[:batch]), 1, prod(t.shape[batch:]))), size)
        first = b.reshape(_numbers(b, prod(lead), size, 0), shape=(prod(t.shape[:batch]), prod(lead[batch:]), 1))
        rows = b.reshape(x, shape=(prod(lead) * size, *s.shape[axis + 1 :]))
        return b.reshape(b.gather(rows, b.add(at, first), axis=0, batch_dims=0), shape=attrs.shape)


@irdl_op_definition
class GatherElementsOp(GeOp):
    """``y[i, j, k] = x[index[i, j, k], j, k]`` for dim 0, and so on; y has index's shape."""

    name = "ge.gather_elements"
    GE_TYPES: ClassVar = ("GatherElements", "GatherD")
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    index = operand_def(TENSOR)
    dim = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, index = operands
        _integers(index, "indices")
        check_elements(x, index, attrs.dim)
        return [x.with_shape(index.shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, index = operands
        return x[element_places(index, x.shape, attrs.dim)]

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Of the part of x that index covers beside ``dim``; other integer types as i64."""
        x, index = operands
        s, t = b.spec(x), b.spec(index)
        dim: int = attrs.dim % s.rank
        cut = [i for i in range(s.rank) if i != dim and t.shape[i] != s.shape[i]]
        if not cut and t.dtype in (dtypes.I32, dtypes.I64):
            raise UnsupportedError("gather_elements has no expansion", code="GE1205")
        if cut:
            x = b.slice(x, begin=[0] * len(cut), end=[t.shape[i] for i in cut], axes=cut)
        at = index if t.dtype in (dtypes.I32, dtypes.I64) else b.cast(index, dtypes.I64)
        return b.gather_elements(x, at, dim=dim)


def check_elements(x: Spec, index: Spec, axis: int) -> None:
    """Ranks are equal and index fits into x beside ``axis``; GE1005 otherwise."""
    if x.rank != index.rank or x.rank == 0:
        raise mismatch(f"{x} and indices {index} need equal ranks of 1 or more")
    at = normalize_axis(axis, x.rank)
    for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != at and DYNAMIC not in (a, b) and b > a:
            raise mismatch(f"indices {index} do not fit into {x}")


def element_places(index: Any, shape: Sequence[int], axis: int) -> tuple[Any, ...]:
    """numpy's index tuple of the elements that ``index`` names along ``axis``."""
    places: list[Any] = list(np.ogrid[tuple(slice(s) for s in index.shape)])
    axis %= len(shape)
    places[axis] = positions(index, shape[axis])
    return tuple(places)


@irdl_op_definition
class GatherNdOp(GeOp):
    """``y[i] = x[indices[i]]``: the last axis of indices holds positions along the first axes of x.

    The first ``batch_dims`` axes of both are common.
    """

    name = "ge.gather_nd"
    GE_TYPES: ClassVar = ("GatherNd",)
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    batch_dims = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, indices = operands
        _integers(indices, "indices")
        batch = attrs.batch_dims
        depth = tuple_length(attrs, x, indices, batch)
        common = broadcast(x.shape[:batch], indices.shape[:batch])
        return [x.with_shape([*common, *indices.shape[batch:-1], *x.shape[batch + depth :]])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, indices = operands
        batch = attrs.batch_dims
        lead = [g.reshape(*g.shape, *[1] * (indices.ndim - 1 - batch)) for g in np.ogrid[_slices(x.shape[:batch])]]
        columns = [positions(indices[..., j], x.shape[batch + j]) for j in range(indices.shape[-1])]
        y = x[(*lead, *columns)]
        return y.reshape(*indices.shape[:-1], *x.shape[batch + len(columns) :])

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Rows of the table that x is when its indexed axes are one."""
        x, indices = operands
        s, t = b.spec(x), b.spec(indices)
        batch, depth = attrs.batch_dims, t.shape[-1]
        if depth == 0 or s.shape[:batch] != t.shape[:batch]:
            raise UnsupportedError("gather_nd of whole tensors, or batches that broadcast", code="GE1205")
        sizes = s.shape[batch : batch + depth]
        at = _flat(b, indices, sizes)
        if batch:
            first = _numbers(b, prod(s.shape[:batch]), prod(sizes), 0)
            at = b.add(at, b.reshape(first, shape=(*s.shape[:batch], *[1] * (t.rank - 1 - batch))))
        rows = b.reshape(x, shape=(prod(s.shape[: batch + depth]), *s.shape[batch + depth :]))
        return b.gather(rows, at, axis=0, batch_dims=0)


def _slices(shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(s) for s in shape)


def tuple_length(attrs: Attrs, x: Spec, indices: Spec, batch: int) -> int:
    """How many axes of x one entry of indices names; GE1005 if they do not fit, or if the result cannot tell."""
    if indices.rank == 0 or not 0 <= batch < indices.rank or batch > x.rank:
        raise mismatch(f"indices {indices} do not fit {x} with batch_dims {batch}")
    depth = indices.shape[-1]
    if depth == DYNAMIC:
        if not attrs.results:
            raise mismatch("the last size of indices must be known")
        depth = x.rank + indices.rank - 1 - batch - len(attrs.shape)
    if not 0 <= depth <= x.rank - batch:
        raise mismatch(f"indices {indices} name {depth} axes of {x}")
    return depth


@irdl_op_definition
class ScatterElementsOp(GeOp):
    """A copy of x with ``y[indices[i, j], j] = updates[i, j]`` for axis 0, and so on.

    ``reduction`` none (the last update wins), add, mul, max, min.
    """

    name = "ge.scatter_elements"
    GE_TYPES: ClassVar = ("ScatterElements",)
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    axis = prop_def(INT)
    reduction = prop_def(words(*REDUCTIONS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, indices, updates = operands
        check_words(cls, attrs)
        _integers(indices, "indices")
        check_elements(x, indices, attrs.axis)
        _fits(updates, indices.shape)
        return [same_dtype(x, updates)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, indices, updates = operands
        y = np.array(x)
        scatter(y, element_places(indices, x.shape, attrs.axis), updates, attrs.reduction)
        return y


def _fits(updates: Spec, shape: Sequence[int]) -> None:
    if updates.rank != len(shape) or any(
        a != b and DYNAMIC not in (a, b) for a, b in zip(updates.shape, shape, strict=True)
    ):
        raise mismatch(f"updates are {updates}, {list(shape)} is needed")


def scatter(y: Any, places: tuple[Any, ...], updates: Any, reduction: str) -> None:
    """Writes updates into y in place, in order."""
    match reduction:
        case "none":
            y[places] = updates
        case "add":
            np.add.at(y, places, updates)
        case "mul":
            np.multiply.at(y, places, updates)
        case "max":
            np.maximum.at(y, places, updates)
        case _:
            np.minimum.at(y, places, updates)


@irdl_op_definition
class ScatterNdOp(GeOp):
    """A copy of x with ``y[indices[i]] = updates[i]``; reductions as in ``scatter_elements``."""

    name = "ge.scatter_nd"
    GE_TYPES: ClassVar = ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    updates = operand_def(TENSOR)
    reduction = prop_def(words(*REDUCTIONS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, indices, updates = operands
        check_words(cls, attrs)
        _integers(indices, "indices")
        if indices.rank and indices.shape[-1] != DYNAMIC:
            depth = tuple_length(attrs, x, indices, 0)
            _fits(updates, [*indices.shape[:-1], *x.shape[depth:]])
        return [same_dtype(x, updates)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, indices, updates = operands
        y = np.array(x)
        columns = tuple(positions(indices[..., j], x.shape[j]) for j in range(indices.shape[-1]))
        scatter(y, columns if columns else (...,), updates, attrs.reduction)
        return y

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Rows of the table that x is when its indexed axes are one."""
        x, indices, updates = operands
        s, t = b.spec(x), b.spec(indices)
        depth = t.shape[-1]
        rows, width = prod(s.shape[:depth]), prod(s.shape[depth:])
        count = prod(t.shape[:-1])
        if depth == 0 or (depth == 1 and (s.rank, t.rank) == (2, 2) and t.dtype is dtypes.I64):
            raise UnsupportedError("scatter_nd has no expansion", code="GE1205")
        at = b.reshape(_flat(b, indices, s.shape[:depth]), shape=(count, 1))
        table = b.reshape(x, shape=(rows, width))
        y = b.scatter_nd(table, at, b.reshape(updates, shape=(count, width)), reduction=attrs.reduction)
        return b.reshape(y, shape=s.shape)


@irdl_op_definition
class OneHotOp(GeOp):
    """``on_value`` where the new axis equals x, ``off_value`` elsewhere.

    The new axis is ``axis`` of the result and has ``depth`` sizes; negative x count from its end, others match nothing.
    """

    name = "ge.one_hot"
    GE_TYPES: ClassVar = ("OneHot", "OneHotD")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    CONST_OPERANDS: ClassVar = (("depth", "depth"),)
    x = operand_def(TENSOR)
    depth = opt_operand_def(TENSOR)
    on_value = operand_def(TENSOR)
    off_value = operand_def(TENSOR)
    depth_attr = opt_prop_def(INT, prop_name="depth")
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, depth, on, off = operands
        if depth is None and attrs.depth is None:
            raise mismatch("depth is given neither as an attribute nor as an operand")
        size = attrs.depth if attrs.depth is not None else DYNAMIC
        at = normalize_axis(attrs.axis, x.rank + 1)
        return [same_dtype(on, off).with_shape([*x.shape[:at], size, *x.shape[at:]])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, depth, on, off = operands
        size = attrs.depth if attrs.depth is not None else int(depth.reshape(()))
        at = attrs.axis % (x.ndim + 1)
        index = np.where(x < 0, x.astype(np.int64) + size, x.astype(np.int64))
        numbers = np.arange(size).reshape(-1, *[1] * (x.ndim - at))
        return np.where(np.expand_dims(index, at) == numbers, on.reshape(()), off.reshape(()))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, depth, on, off = operands
        if depth is not None:
            raise UnsupportedError("one_hot of a depth known at run time", code="GE1205")
        rank = b.spec(x).rank
        axis = attrs.axis % (rank + 1)
        index = b.unsqueeze(_wrapped(b, x, attrs.depth), axes=[axis])
        numbers = _numbers(b, attrs.depth, 1, rank - axis)
        on, off = (b.reshape(v, shape=[]) if b.spec(v).rank else v for v in (on, off))
        return b.select(b.equal(index, numbers), on, off)


@irdl_op_definition
class NonzeroOp(GeOp):
    """Positions of the elements that are not zero: [rank, count] i64, in row-major order. A scalar counts as [1]."""

    name = "ge.nonzero"
    GE_TYPES: ClassVar = ("NonZero", "Where", "NonZeroWithValue")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        return [Spec(dtypes.I64, (max(operands[0].rank, 1), DYNAMIC))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.array(np.nonzero(np.atleast_1d(operands[0])), np.int64)
