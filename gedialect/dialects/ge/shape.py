"""Views, and ops that transpose, join or split tensors."""

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
    var_operand_def,
    var_result_def,
)

from gedialect.dialects.ge.base import BOOL, INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.given import required, unknown_shape
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch, normalize_axes, normalize_axis, same_dtype
from gedialect.errors import UnsupportedError
from gedialect.ir.access import Access
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


# ---------------------------------------------------------------------- views


class ViewOp(GeOp):
    """The same bytes under another shape."""

    FUSION_CLASS: ClassVar = FusionClass.VIEW
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        same = x.reshape(attrs.results[0].shape)
        return None if same is None else (same,)


@irdl_op_definition
class ReshapeOp(ViewOp):
    """Another shape: -1 stands for what is left, 0 for x's size at that axis unless ``allowzero``."""

    name = "ge.reshape"
    GE_TYPES: ClassVar = ("Reshape", "Flatten", "FlattenV2")
    CONST_OPERANDS: ClassVar = (("shape", "shape"),)
    x = operand_def(TENSOR)
    shape = opt_operand_def(TENSOR)
    shape_attr = opt_prop_def(INTS, prop_name="shape")
    allowzero = opt_prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, shape = operands
        if attrs.get("shape") is None:
            return [x.with_shape(unknown_shape(attrs, shape, "shape"))]
        return [x.with_shape(reshaped(x.shape, attrs["shape"], bool(attrs.allowzero)))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, shape = operands
        return x.reshape(reshaped(x.shape, required(attrs, "shape", shape), bool(attrs.allowzero)))


def reshaped(old: Sequence[int], target: Sequence[int], allowzero: bool) -> tuple[int, ...]:
    """The shape that ``target`` asks for; GE1005 if the numbers of elements differ."""
    if min(target, default=0) < -1:
        raise mismatch(f"shape {list(target)} has a negative size")
    new: list[int] = []
    for i, size in enumerate(target):
        if size == 0 and not allowzero:
            if i >= len(old):
                raise mismatch(f"shape {list(target)} copies axis {i} of a tensor of rank {len(old)}")
            size = old[i]
            new.append(size if size != DYNAMIC else -2)  # -2: a copied unknown size, not one to work out
        else:
            new.append(size)
    loose = [i for i, size in enumerate(new) if size == -1]
    if len(loose) > 1 or (loose and allowzero and 0 in target):
        raise mismatch(f"shape {list(target)} leaves more than one size open")
    # a copied unknown size cancels the unknown size it copies
    old_sizes, new_sizes = list(old), [s for s in new if s != -1]
    for size in [s for s in new if s == -2]:
        old_sizes.remove(DYNAMIC)
        new_sizes.remove(size)
    if DYNAMIC in old_sizes:
        return tuple(DYNAMIC if s < 0 else s for s in new)
    have, want = prod(old_sizes), prod(new_sizes)
    if loose:
        if want == 0 or have % want:
            raise mismatch(f"{list(old)} does not reshape to {list(target)}")
        new[loose[0]] = have // want
    elif have != want:
        raise mismatch(f"{list(old)} does not reshape to {list(target)}")
    return tuple(DYNAMIC if s < 0 else s for s in new)


@irdl_op_definition
class SqueezeOp(ViewOp):
    """Drops axes of size 1 (all of them if ``axes`` is absent, which needs a static shape)."""

    name = "ge.squeeze"
    GE_TYPES: ClassVar = ("Squeeze", "SqueezeV2", "SqueezeV3")
    axes = opt_prop_def(INTS)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        return [x.with_shape(_squeezed(attrs, x.shape))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return operands[0].reshape(_squeezed(attrs, operands[0].shape))


def _squeezed(attrs: Attrs, shape: Sequence[int]) -> tuple[int, ...]:
    if attrs.axes is None:
        if DYNAMIC in shape:
            raise mismatch("squeeze without axes needs a known shape")
        return tuple(s for s in shape if s != 1)
    axes = normalize_axes(attrs.axes, len(shape))
    bad = [a for a in axes if len(shape) == 0 or shape[a] not in (1, DYNAMIC)]
    if bad:
        raise mismatch(f"axis {bad[0]} of {list(shape)} is not 1")
    return tuple(s for i, s in enumerate(shape) if i not in axes)


@irdl_op_definition
class UnsqueezeOp(ViewOp):
    """Adds axes of size 1; ``axes`` count in the result."""

    name = "ge.unsqueeze"
    GE_TYPES: ClassVar = ("Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ExpandDims")
    axes = prop_def(INTS)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        return [x.with_shape(_unsqueezed(attrs, x.shape))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return operands[0].reshape(_unsqueezed(attrs, operands[0].shape))


def _unsqueezed(attrs: Attrs, shape: Sequence[int]) -> tuple[int, ...]:
    rank = len(shape) + len(attrs.axes)
    axes = normalize_axes(attrs.axes, rank)
    rest = iter(shape)
    return tuple(1 if i in axes else next(rest) for i in range(rank))


# ---------------------------------------------------------------------- moving


class MoveOp(GeOp):
    """Moves elements of one tensor without computing."""

    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    y = result_def(TENSOR)


@irdl_op_definition
class TransposeOp(MoveOp):
    """Result axis i is axis ``perm[i]`` of x."""

    name = "ge.transpose"
    GE_TYPES: ClassVar = ("Transpose", "TransposeD", "Permute")
    perm = prop_def(INTS)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if sorted(attrs.perm) != list(range(x.rank)):
            raise mismatch(f"perm {list(attrs.perm)} is no permutation of {x.rank} axes")
        return [x.with_shape([x.shape[p] for p in attrs.perm])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.ascontiguousarray(operands[0].transpose(attrs.perm)).reshape(
            [operands[0].shape[p] for p in attrs.perm]
        )

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        return (x.transpose(attrs.perm),)


@irdl_op_definition
class ConcatOp(GeOp):
    """Tensors joined along ``concat_dim``."""

    name = "ge.concat"
    GE_TYPES: ClassVar = ("ConcatD", "ConcatV2", "Concat", "ConcatV2D")
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = var_operand_def(TENSOR)
    concat_dim = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        specs: list[Spec] = operands[0]
        shape = joined(specs, "concat")
        if not shape:
            raise mismatch("concat needs rank 1 or more")
        axis = normalize_axis(attrs.concat_dim, len(shape))
        sizes: list[int] = [s.shape[axis] for s in specs]
        merged = _agree([s.shape[:axis] + s.shape[axis + 1 :] for s in specs])
        merged.insert(axis, DYNAMIC if DYNAMIC in sizes else sum(sizes))
        return [specs[0].with_shape(merged)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.concatenate(operands[0], attrs.concat_dim)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Without the operands that have no elements."""
        (values,) = operands
        full = [v for v in values if 0 not in b.spec(v).shape]
        if len(full) == len(values):
            raise UnsupportedError("concat has no expansion", code="GE1205")
        return full[0] if len(full) == 1 else b.concat(full, concat_dim=attrs.concat_dim)


def joined(specs: Sequence[Spec], what: str) -> tuple[int, ...]:
    """The first shape; GE1005 unless there are operands, all of one type and rank."""
    if not specs:
        raise mismatch(f"{what} needs an operand")
    same_dtype(*specs)
    if len({s.rank for s in specs}) > 1:
        raise mismatch(f"ranks differ: {', '.join(str(s) for s in specs)}")
    return specs[0].shape


def _agree(shapes: Sequence[Sequence[int]]) -> list[int]:
    out: list[int] = []
    for sizes in zip(*shapes, strict=True):
        known = {s for s in sizes if s != DYNAMIC}
        if len(known) > 1:
            raise mismatch(f"sizes differ: {', '.join(str(list(s)) for s in shapes)}")
        out.append(known.pop() if known else DYNAMIC)
    return out


@irdl_op_definition
class PackOp(GeOp):
    """Tensors of one shape stacked along a new ``axis``."""

    name = "ge.pack"
    GE_TYPES: ClassVar = ("Pack",)
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = var_operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (specs,) = operands
        joined(specs, "pack")
        shape = _agree([s.shape for s in specs])
        shape.insert(normalize_axis(attrs.axis, len(shape) + 1), len(specs))
        return [specs[0].with_shape(shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.stack(operands[0], attrs.axis)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        axis = attrs.axis % len(attrs.shape)
        return b.concat([b.unsqueeze(v, axes=[axis]) for v in operands[0]], concat_dim=axis)


@irdl_op_definition
class UnpackOp(GeOp):
    """The slices of x along ``axis``, which disappears."""

    name = "ge.unpack"
    GE_TYPES: ClassVar = ("Unpack",)
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    axis = prop_def(INT)
    y = var_result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if x.rank == 0:
            raise mismatch("unpack needs rank 1 or more")
        axis = normalize_axis(attrs.axis, x.rank)
        count = x.shape[axis] if x.shape[axis] != DYNAMIC else len(attrs.results)
        return [x.with_shape(x.shape[:axis] + x.shape[axis + 1 :])] * count

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return tuple(np.moveaxis(operands[0], attrs.axis, 0))

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        axis = attrs.axis % len(x.shape)
        parts = [x.slice(axis, i, 1).reshape(r.shape) for i, r in enumerate(attrs.results)]
        return tuple(p for p in parts if p is not None)


@irdl_op_definition
class SplitOp(GeOp):
    """Parts of ``size_splits`` elements along ``split_dim``; one size may be -1, the rest."""

    name = "ge.split"
    GE_TYPES: ClassVar = ("SplitV", "Split", "SplitD", "SplitVD")
    RESULTS_FROM: ClassVar = "size_splits"
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    x = operand_def(TENSOR)
    size_splits = prop_def(INTS)
    split_dim = prop_def(INT)
    y = var_result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if x.rank == 0:
            raise mismatch("split needs rank 1 or more")
        axis = normalize_axis(attrs.split_dim, x.rank)
        sizes = _split_sizes(attrs.size_splits, x.shape[axis])
        return [x.with_shape([*x.shape[:axis], s, *x.shape[axis + 1 :]]) for s in sizes]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        sizes: list[int] = _split_sizes(attrs.size_splits, x.shape[attrs.split_dim])
        return tuple(np.split(x, np.cumsum(sizes[:-1], dtype=np.int64), attrs.split_dim))

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        axis: int = attrs.split_dim % len(x.shape)
        sizes = [r.shape[axis] for r in attrs.results]
        return tuple(x.slice(axis, sum(sizes[:i]), n) for i, n in enumerate(sizes))


def _split_sizes(sizes: Sequence[int], size: int) -> list[int]:
    out = list(sizes)
    rest = size - sum(s for s in out if s >= 0)
    if out.count(-1) == 1 and min(out) == -1 and (size == DYNAMIC or rest >= 0):
        out[out.index(-1)] = DYNAMIC if size == DYNAMIC else rest
    elif not out or min(out) < 0 or (size != DYNAMIC and rest != 0):
        raise mismatch(f"sizes {list(sizes)} do not split {size} elements")
    return out
