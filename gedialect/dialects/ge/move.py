"""Ops that cut, pad, mask or reorder the elements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from gedialect.dialects.ge.base import INT, INTS, STR, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words, given, required
from gedialect.dialects.ge.layouts import LAYOUTS, channel_axis, channels_back, channels_first, spatial_axes
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shape import MoveOp
from gedialect.dialects.ge.shapes import mismatch, normalize_axes, normalize_axis, same_dtype
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.access import Access
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


@irdl_op_definition
class SliceOp(GeOp):
    """``x[begin:end:strides]`` along ``axes`` with ONNX's clamping; strides may be negative (absent: 1)."""

    name = "ge.slice"
    GE_TYPES: ClassVar = ("StridedSliceV2", "Slice", "SliceD", "StridedSlice", "StridedSliceD", "StridedSliceV3")
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    CONST_OPERANDS: ClassVar = (("begin", "begin"), ("end", "end"), ("strides", "strides"))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    begin = opt_operand_def(TENSOR)
    end = opt_operand_def(TENSOR)
    strides = opt_operand_def(TENSOR)
    begin_attr = opt_prop_def(INTS, prop_name="begin")
    end_attr = opt_prop_def(INTS, prop_name="end")
    axes = opt_prop_def(INTS)
    strides_attr = opt_prop_def(INTS, prop_name="strides")
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, begin, end, strides = operands
        lists = [attrs.begin, attrs.end, attrs.strides]
        if (begin is None and lists[0] is None) or (end is None and lists[1] is None):
            raise mismatch("begin and end are each an operand or an attribute")
        sides = (begin, end, strides)
        unknown = [s is not None and v is None for s, v in zip(sides, lists, strict=True)]
        if not any(unknown):
            axes, bounds = slice_bounds(attrs, x.rank, *lists)
            shape = list(x.shape)
            for axis, bound in zip(axes, bounds, strict=True):
                shape[axis] = sliced_size(shape[axis], *bound)
            return [x.with_shape(shape)]
        if attrs.results:
            return [x.with_shape(attrs.shape)]
        count = next((len(v) for v in lists if v is not None), None)
        if count is None:
            count = next((s.shape[0] for s in sides if s is not None and s.rank == 1), DYNAMIC)
        if attrs.axes is not None:
            moved = normalize_axes(attrs.axes, x.rank)
        else:
            moved = tuple(range(x.rank if count == DYNAMIC else count))
        return [x.with_shape([DYNAMIC if i in moved else d for i, d in enumerate(x.shape)])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, begin, end, strides = operands
        lists = [required(attrs, "begin", begin), required(attrs, "end", end), given(attrs, "strides", strides)]
        axes, bounds = slice_bounds(attrs, x.ndim, *lists)
        place = [slice(None)] * x.ndim
        for axis, (b, e, s) in zip(axes, bounds, strict=True):
            first, last, step = slice(b, e, s).indices(x.shape[axis])
            place[axis] = slice(first, None if last < 0 else last, step)
        return np.ascontiguousarray(x[tuple(place)]).reshape(x[tuple(place)].shape)

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        axes, bounds = slice_bounds(attrs, len(x.shape), attrs.begin, attrs.end, attrs.strides)
        for axis, (b, e, s) in zip(axes, bounds, strict=True):
            picked = range(x.shape[axis])[slice(b, e, s)]
            x = x.slice(axis, picked.start, len(picked), picked.step)
        return (x,)


def slice_bounds(
    attrs: Attrs, rank: int, begin: Sequence[int], end: Sequence[int], strides: Sequence[int] | None
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """(axes, (begin, end, stride) of each); GE1005 if the lists do not fit."""
    axes = list(attrs.axes) if attrs.axes is not None else list(range(len(begin)))
    steps = list(strides) if strides is not None else [1] * len(begin)
    if not len(axes) == len(begin) == len(end) == len(steps) or len(axes) > rank:
        raise mismatch(f"begin, end, axes and strides have {len(begin)}, {len(end)}, {len(axes)}, {len(steps)} entries")
    if 0 in steps:
        raise mismatch("a stride of 0 does not move")
    out = [normalize_axis(a, rank) for a in axes]
    normalize_axes(axes, rank)  # refuses an axis given twice
    return out, list(zip(begin, end, steps, strict=True))


def sliced_size(size: int, begin: int, end: int, stride: int) -> int:
    """Number of elements of ``[begin:end:stride]``; of an unknown size only an empty slice is known."""
    if size != DYNAMIC:
        return len(range(*slice(begin, end, stride).indices(size)))
    same_side = (begin < 0) == (end < 0)
    if same_side and (end - begin if stride > 0 else begin - end) <= 0:
        return 0
    return DYNAMIC


@irdl_op_definition
class PadOp(GeOp):
    """Elements added before and after each axis; negative paddings cut.

    ``paddings`` are all begins, then all ends. ``mode``: constant (by ``constant_values``, absent: 0), reflect
    (without the edge), edge, wrap.
    """

    name = "ge.pad"
    GE_TYPES: ClassVar = ("PadV3", "Pad", "PadD", "PadV2", "PadV3D", "MirrorPad")
    FUSION_CLASS: ClassVar = FusionClass.DATA_MOVEMENT
    CONST_OPERANDS: ClassVar = (("paddings", "paddings"),)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    paddings = opt_operand_def(TENSOR)
    constant_values = opt_operand_def(TENSOR)
    paddings_attr = opt_prop_def(INTS, prop_name="paddings")
    mode = prop_def(words("constant", "reflect", "edge", "wrap"))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, paddings, value = operands
        check_words(cls, attrs)
        same_dtype(x, value)
        if attrs.paddings is None:
            if paddings is None:
                raise mismatch("paddings is given neither as an attribute nor as an operand")
            return [x.with_shape(attrs.shape if attrs.results else (DYNAMIC,) * x.rank)]
        n = x.rank
        if len(attrs.paddings) != 2 * n:
            raise mismatch(f"paddings has {len(attrs.paddings)} entries, {2 * n} are needed")
        shape = [d if d == DYNAMIC else d + attrs.paddings[i] + attrs.paddings[n + i] for i, d in enumerate(x.shape)]
        if any(a != DYNAMIC and b < 0 for a, b in zip(x.shape, shape, strict=True)):
            raise mismatch(f"paddings {list(attrs.paddings)} cut more than {list(x.shape)} has")
        return [x.with_shape(shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, paddings, value = operands
        widths = required(attrs, "paddings", paddings)
        n = x.ndim
        if n == 0:
            return x
        cut = [(max(-widths[i], 0), max(-widths[n + i], 0)) for i in range(n)]
        grow = [(max(widths[i], 0), max(widths[n + i], 0)) for i in range(n)]
        # cut first, as ONNX does: what is reflected or repeated is what is left
        x = x[tuple(slice(b, max(s - e, 0)) for (b, e), s in zip(cut, x.shape, strict=True))]
        if attrs.mode != "constant":
            if any(max(g) > 0 and s == 0 for g, s in zip(grow, x.shape, strict=True)):
                raise mismatch(f"there is nothing to pad from in an empty axis of {list(x.shape)}")
            return np.pad(x, grow, mode=attrs.mode)
        fill = value.reshape(()) if value is not None else np.zeros((), x.dtype)
        shape = [s + b + e for (b, e), s in zip(grow, x.shape, strict=True)]
        y = np.full(shape, fill, x.dtype)
        y[tuple(slice(b, b + s) for (b, _), s in zip(grow, x.shape, strict=True))] = x
        return y

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Negative paddings as a slice; a fill value known at run time only as a selection."""
        x, paddings, value = operands
        widths, shape = attrs.paddings, b.spec(x).shape
        if paddings is not None or widths is None:
            raise UnsupportedError("pad by sizes known at run time", code="GE1205")
        n = len(shape)
        if min(widths) < 0:
            cut = [i for i in range(n) if min(widths[i], widths[n + i]) < 0]
            begin = [max(-widths[i], 0) for i in cut]
            end = [shape[i] - max(-widths[n + i], 0) for i in cut]
            kept = b.slice(x, begin=begin, end=end, axes=cut)
            return b.pad(kept, None, value, paddings=[max(w, 0) for w in widths], mode=attrs.mode)
        if value is None:
            raise UnsupportedError("pad has no expansion", code="GE1205")
        inside = b.pad(b.splat(True, dtypes.I1, shape), paddings=widths, mode=attrs.mode)
        value = b.reshape(value, shape=[]) if b.spec(value).rank else value
        return b.select(inside, b.pad(x, paddings=widths, mode=attrs.mode), value)


def _either_side(b: GeBuilder, x: SSAValue, mnemonic: str, diagonal: int) -> SSAValue:
    """x where column - row compares to ``diagonal`` as ``mnemonic`` says, else 0."""
    spec = b.spec(x)
    rows, columns = (b.range(start=0, limit=n, delta=1, results=[Spec(dtypes.I32, (n,))]) for n in spec.shape[-2:])
    kept = getattr(b, mnemonic)(columns, b.add(b.unsqueeze(rows, axes=[1]), diagonal))
    return b.select(kept, x, b.splat(0, spec.dtype))


class TriangleOp(MoveOp):
    """Zeros one side of a diagonal of the last two axes."""

    diagonal = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        if operands[0].rank < 2:
            raise mismatch(f"{cls.name} needs rank 2 or more")
        return [operands[0]]


@irdl_op_definition
class TrilOp(TriangleOp):
    """Keeps elements on and below diagonal ``diagonal`` (0: the main one, positive: above it)."""

    name = "ge.tril"
    GE_TYPES: ClassVar = ("Tril",)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.tril(operands[0], attrs.diagonal)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return _either_side(b, operands[0], "less_equal", attrs.diagonal)


@irdl_op_definition
class TriuOp(TriangleOp):
    """Keeps elements on and above diagonal ``diagonal``."""

    name = "ge.triu"
    GE_TYPES: ClassVar = ("Triu",)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.triu(operands[0], attrs.diagonal)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return _either_side(b, operands[0], "greater_equal", attrs.diagonal)


def _blocked(attrs: Attrs, x: Spec, grow: bool) -> Spec:
    if x.rank != 4 or attrs.block_size < 1:
        raise mismatch("rank 4 and a positive block_size are needed")
    block: int = attrs.block_size
    shape = list(x.shape)
    c = channel_axis(attrs.data_format, 4)
    factors: dict[int, int] = {c: block * block}
    for axis in spatial_axes(attrs.data_format, 4):
        factors[axis] = block
    for axis, factor in factors.items():
        if shape[axis] == DYNAMIC:
            continue
        if (axis == c) == grow:
            if shape[axis] % factor:
                raise mismatch(f"{shape[axis]} is no multiple of {factor}")
            shape[axis] //= factor
        else:
            shape[axis] *= factor
    return x.with_shape(shape)


@irdl_op_definition
class DepthToSpaceOp(MoveOp):
    """Channels become blocks of pixels; ``mode`` DCR: channel = (row, column, depth), CRD: (depth, row, column)."""

    name = "ge.depth_to_space"
    GE_TYPES: ClassVar = ("DepthToSpace",)
    block_size = prop_def(INT)
    mode = prop_def(words("DCR", "CRD"))
    data_format = prop_def(words(*LAYOUTS))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        check_words(cls, attrs)
        return [_blocked(attrs, operands[0], grow=True)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        n, c, h, w = x.shape
        block = attrs.block_size
        depth = c // (block * block)
        if attrs.mode == "DCR":
            y = x.reshape(n, block, block, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            y = x.reshape(n, depth, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
        return channels_back(y.reshape(n, depth, h * block, w * block), attrs.data_format)

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        last = channel_axis(attrs.data_format, 4) == 3
        n, c, h, w = (x.transpose((0, 3, 1, 2)) if last else x).shape
        block, depth = attrs.block_size, c // attrs.block_size**2
        inner = (block, block, depth) if attrs.mode == "DCR" else (depth, block, block)
        # axes of the split access: n, the parts of c, h, w in memory order
        split = x.reshape((n, h, w, *inner) if last else (n, *inner, h, w))
        if split is None:
            return None
        hh, ww, first = (1, 2, 3) if last else (4, 5, 1)
        d, by, bx = (first + 2, first, first + 1) if attrs.mode == "DCR" else (first, first + 1, first + 2)
        return (split.transpose((0, hh, by, ww, bx, d) if last else (0, d, hh, by, ww, bx)),)


@irdl_op_definition
class SpaceToDepthOp(MoveOp):
    """Blocks of pixels become channels: the inverse of ``depth_to_space`` (absent mode: DCR, as ONNX)."""

    name = "ge.space_to_depth"
    GE_TYPES: ClassVar = ("SpaceToDepth",)
    block_size = prop_def(INT)
    mode = opt_prop_def(words("DCR", "CRD"))
    data_format = prop_def(words(*LAYOUTS))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        check_words(cls, attrs)
        return [_blocked(attrs, operands[0], grow=False)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        n, c, h, w = x.shape
        block = attrs.block_size
        y = x.reshape(n, c, h // block, block, w // block, block)
        y = y.transpose(0, 1, 3, 5, 2, 4) if attrs.mode == "CRD" else y.transpose(0, 3, 5, 1, 2, 4)
        return channels_back(y.reshape(n, c * block * block, h // block, w // block), attrs.data_format)

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        last = channel_axis(attrs.data_format, 4) == 3
        n, c, h, w = (x.transpose((0, 3, 1, 2)) if last else x).shape
        block = attrs.block_size
        blocks = (h // block, block, w // block, block)
        split = x.reshape((n, *blocks, c) if last else (n, c, *blocks))
        if split is None:
            return None
        hh, by, ww, bx, d = (1, 2, 3, 4, 5) if last else (2, 3, 4, 5, 1)
        parts = (d, by, bx) if attrs.mode == "CRD" else (by, bx, d)
        return (split.transpose((0, hh, ww, *parts) if last else (0, *parts, hh, ww)),)


@irdl_op_definition
class ReverseSequenceOp(MoveOp):
    """The first ``seq_lengths[b]`` elements along ``seq_dim`` reversed, for each b along ``batch_dim``."""

    name = "ge.reverse_sequence"
    GE_TYPES: ClassVar = ("ReverseSequence",)
    x = operand_def(TENSOR)
    seq_lengths = operand_def(TENSOR)
    seq_dim = prop_def(INT)
    batch_dim = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, lengths = operands
        seq, batch = normalize_axis(attrs.seq_dim, x.rank), normalize_axis(attrs.batch_dim, x.rank)
        fits = lengths.rank == 1 and (
            lengths.shape[0] == x.shape[batch] or DYNAMIC in (lengths.shape[0], x.shape[batch])
        )
        if seq == batch or not fits or not lengths.dtype.is_int:
            raise mismatch(f"seq_lengths {lengths} do not fit axis {batch} of {x}")
        return [x]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, lengths = operands
        y = np.array(x)
        source, target = (np.moveaxis(a, (attrs.batch_dim, attrs.seq_dim), (0, 1)) for a in (x, y))
        for b, length in enumerate(lengths.tolist()):
            if not 0 <= length <= source.shape[1]:
                raise mismatch(f"sequence length {length} is not within 0..{source.shape[1]}")
            target[b, :length] = source[b, :length][::-1]
        return y


@irdl_op_definition
class TransDataOp(MoveOp):
    """Another storage format of the same tensor: ``dst_format`` becomes the result's encoding (none for ND).

    The shape and the elements, as everyone but memory sees them, do not change.
    """

    name = "ge.trans_data"
    GE_TYPES: ClassVar = ("TransData",)
    src_format = prop_def(STR)
    dst_format = prop_def(STR)
    groups = opt_prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        from gedialect.dialects.ge.attrs import LayoutAttr

        (x,) = operands
        blocked = attrs.dst_format.startswith("FRACTAL") or attrs.dst_format in ("NC1HWC0", "NDC1HWC0")
        return [Spec(x.dtype, x.shape, LayoutAttr(StringAttr(attrs.dst_format)) if blocked else None)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return operands[0]
