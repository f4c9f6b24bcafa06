"""Ops of detectors, and others whose results depend on the data: most run on the host."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from gedialect.dialects.ge import sampling
from gedialect.dialects.ge.base import BOOL, FLOAT, INT, INTS, TENSOR, Attrs, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np, require_kinds, wide, widen
from gedialect.dialects.ge.reproducible import einsum, matmul
from gedialect.dialects.ge.shapes import mismatch, normalize_axis, same_dtype
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


@irdl_op_definition
class NonMaxSuppressionOp(GeOp):
    """Boxes [batch, n, 4] kept per class by scores [batch, classes, n]: rows (batch, class, box), i64.

    In order of their scores, above ``score_threshold``, at most ``max_output_size`` of a class, none overlapping one
    before by more than ``iou_threshold``. Boxes are two corners (y1, x1, y2, x2), or with ``center_point_box``
    (x, y, width, height).
    """

    name = "ge.non_max_suppression"
    GE_TYPES: ClassVar = ("NonMaxSuppressionV6",)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    boxes = operand_def(TENSOR)
    scores = operand_def(TENSOR)
    max_output_size = opt_operand_def(TENSOR)
    iou_threshold = opt_operand_def(TENSOR)
    score_threshold = opt_operand_def(TENSOR)
    center_point_box = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        boxes, scores = operands[:2]
        if boxes.rank != 3 or scores.rank != 3 or boxes.shape[2] not in (4, DYNAMIC):
            raise mismatch(f"boxes {boxes} and scores {scores} should be [batch, n, 4] and [batch, classes, n]")
        for a, b in ((boxes.shape[0], scores.shape[0]), (boxes.shape[1], scores.shape[2])):
            if a != b and DYNAMIC not in (a, b):
                raise mismatch(f"boxes {boxes} and scores {scores} do not fit together")
        return [Spec(dtypes.I64, (DYNAMIC, 3))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        boxes, scores, most, overlap, least = operands
        most = 0 if most is None else int(most.reshape(-1)[0])
        overlap = np.float32(0) if overlap is None else overlap.reshape(-1)[0]
        least = None if least is None else least.reshape(-1)[0]
        found: list[tuple[int, int, int]] = []
        for n in range(len(boxes) if most > 0 else 0):
            low, high = _corners(boxes[n], attrs.center_point_box)
            area = np.prod(high - low, axis=1)
            for c in range(scores.shape[1]):
                order = np.argsort(-scores[n, c], kind="stable")
                if least is not None:
                    order = order[scores[n, c, order] > least]
                kept: list[int] = []
                for i in order:
                    if len(kept) == most:
                        break
                    others = np.array(kept, np.int64)
                    sides = np.minimum(high[others], high[i]) - np.maximum(low[others], low[i])
                    shared = np.prod(np.maximum(sides, 0), axis=1)
                    union = area[others] + area[i] - shared
                    counts = (shared > 0) & (area[others] > 0) & (area[i] > 0) & (union > 0)
                    if not np.any(counts & (shared / np.where(counts, union, 1) > overlap)):
                        kept.append(int(i))
                found += [(n, c, i) for i in kept]
        return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes: Any, centred: bool) -> tuple[Any, Any]:
    """(smallest, largest) coordinates [n, 2]."""
    if centred:
        half = boxes[:, 2:] / boxes.dtype.type(2)
        return boxes[:, :2] - half, boxes[:, :2] + half
    return np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])


@irdl_op_definition
class RoiAlignOp(GeOp):
    """x [batch, C, H, W] averaged (or its maxima) over cells of regions ``rois`` [n, 4] (x1, y1, x2, y2) of x's
    ``batch_indices`` [n], sampled bilinearly; the result is [n, C, output_height, output_width].

    ``sampling_ratio`` samples a side of each cell, 0: as many as it has pixels. With ``half_pixel`` coordinates are
    those of pixel centres.
    """

    name = "ge.roi_align"
    GE_TYPES: ClassVar = ("ROIAlign",)
    x = operand_def(TENSOR)
    rois = operand_def(TENSOR)
    batch_indices = operand_def(TENSOR)
    mode = prop_def(words("avg", "max"))
    output_height = prop_def(INT)
    output_width = prop_def(INT)
    sampling_ratio = prop_def(INT)
    spatial_scale = prop_def(FLOAT)
    half_pixel = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, rois, batches = operands
        check_words(cls, attrs)
        require_kinds(cls.name, "f", x, rois)
        require_kinds(cls.name, "iu", batches)
        if x.rank != 4 or rois.rank != 2 or rois.shape[1] not in (4, DYNAMIC) or batches.rank != 1:
            raise mismatch(f"{x}, rois {rois} and batches {batches} do not fit together")
        if min(attrs.output_height, attrs.output_width) < 1 or attrs.sampling_ratio < 0:
            raise mismatch(f"sizes of {cls.name} are negative")
        return [x.with_shape((rois.shape[0], x.shape[1], attrs.output_height, attrs.output_width))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, rois, batches = operands
        value, boxes = wide(x), wide(rois)
        real = boxes.dtype.type
        offset = real(0.5 if attrs.half_pixel else 0.0)
        out = (attrs.output_height, attrs.output_width)
        y = np.zeros((len(rois), x.shape[1], *out), value.dtype)
        for n, (box, batch) in enumerate(zip(boxes * real(attrs.spatial_scale) - offset, batches, strict=True)):
            lines: list[tuple[Any, Any]] = []
            for axis, cells in enumerate(out):
                start, end = box[1 - axis], box[3 - axis]
                size = end - start if attrs.half_pixel else max(end - start, real(1))
                cell = size / real(cells)
                count = attrs.sampling_ratio or int(np.ceil(cell))
                taps = np.arange(cells)[:, None] * cell + (np.arange(count) + real(0.5)) * cell / real(max(count, 1))
                lines.append(_line((start + taps).astype(boxes.dtype), x.shape[2 + axis]))
            # matrices [cells, samples, size] of each axis
            rows, columns = (w for w, _ in lines)
            if attrs.mode == "avg":
                weights = [w.sum(axis=1) / real(max(w.shape[1], 1)) for w in (rows, columns)]
                y[n] = einsum("ih,jw,chw->cij", [*weights, value[batch]])
            else:
                y[n] = _largest(lines, value[batch])
        return y.astype(x.dtype)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Averages of a fixed number of samples, from rows of channels picked around each."""
        x, rois, batches = operands
        spec, count = b.spec(x), attrs.sampling_ratio
        if attrs.mode != "avg" or not count or spec.dtype.name == "f64" or b.spec(rois).dtype.name == "f64":
            raise UnsupportedError(f"roi_align of {spec} with {count} samples", code="GE1205")
        n = attrs.shape[0]
        boxes = b.add(b.mul(widen(b, rois), attrs.spatial_scale), -0.5 if attrs.half_pixel else 0.0)
        table = sampling.Table(b, widen(b, x), 1)
        size = prod(spec.shape[2:])
        first = b.mul(b.cast(batches, dtypes.I32), b.splat(size, dtypes.I32))
        first = b.reshape(first, shape=[n, 1, 1, 1, 1])
        taps: list[list[tuple[Any, Any]]] = []
        for axis, cells in enumerate((attrs.output_height, attrs.output_width)):
            start, end = (b.slice(boxes, begin=[i], end=[i + 1], axes=[1], strides=[1]) for i in (1 - axis, 3 - axis))
            length = b.sub(end, start)
            if not attrs.half_pixel:
                length = b.maximum(length, 1.0)
            cell = b.div(length, float(cells))
            at = np.arange(cells)[:, None] + (np.arange(count) + 0.5) / count
            place = b.add(start, b.mul(cell, b.array(at.reshape(1, -1).astype(np.float32))))
            taps.append(_line_in_ops(b, place, spec.shape[2 + axis], axis, cells, count))
        y = table.weighted(taps, first)  # [n, oh, count, ow, count, C]
        y = b.div(b.reduce_sum(y, axes=[2, 4], keep_dims=False), float(count * count))
        return b.cast(b.transpose(y, perm=[0, 3, 1, 2]), spec.dtype)


def _line_in_ops(b: GeBuilder, at: Any, size: int, axis: int, cells: int, count: int) -> list[tuple[Any, Any]]:
    """``_line`` in ops: (place, weight) of both neighbours, shaped to broadcast over [n, oh, count, ow, count]."""
    dtype = b.spec(at).dtype
    zero, one = b.splat(0.0, dtype), b.splat(1.0, dtype)
    inside = b.logical_and(b.greater_equal(at, -1.0), b.less_equal(at, float(size)))
    at = b.maximum(b.select(inside, at, zero), 0.0)
    low = b.minimum(b.floor(at), float(size - 1))
    high = b.minimum(b.add(low, 1.0), float(size - 1))
    far = b.select(b.less(low, float(size - 1)), b.sub(at, low), zero)
    shape = [-1, cells, count, 1, 1] if axis == 0 else [-1, 1, 1, cells, count]
    pairs = [(low, b.sub(one, far)), (high, far)]
    return [
        (b.reshape(b.cast(p, dtypes.I32), shape=shape), b.reshape(b.select(inside, w, zero), shape=shape))
        for p, w in pairs
    ]


def _line(at: Any, size: int) -> tuple[Any, Any]:
    """(bilinear weights [cells, samples, size], [cells, samples, 2] places and their weights) along one axis."""
    inside = (at >= -1) & (at <= size)
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    far = np.where(low >= size - 1, 0, at - low).astype(at.dtype)
    near = (1 - far).astype(at.dtype)
    near, far = np.where(inside, near, 0), np.where(inside, far, 0)
    weights = np.zeros((*at.shape, size), at.dtype)
    np.put_along_axis(weights, low[..., None], near[..., None], -1)
    extra = np.zeros_like(weights)
    np.put_along_axis(extra, high[..., None], far[..., None], -1)
    return weights + extra, (np.stack([low, high], -1), np.stack([near, far], -1))


def _largest(lines: Sequence[tuple[Any, Any]], value: Any) -> Any:
    """Largest weighted corner of any sample, as onnxruntime has it, not the largest interpolated value."""
    (rows, row_weights), (columns, column_weights) = (places for _, places in lines)
    best: Any = None
    for a in range(2):
        for b in range(2):
            weight = row_weights[..., a][:, :, None, None] * column_weights[..., b][None, None]
            cells = value[:, rows[..., a][:, :, None, None], columns[..., b][None, None]] * weight
            part = cells.max(axis=(2, 4), initial=-np.inf)
            best = part if best is None else np.maximum(best, part)
    return np.where(np.isinf(best) & (best < 0), 0, best)


@irdl_op_definition
class UniqueOp(GeOp):
    """The different elements (slices along ``axis``) of x, sorted or in order of appearance; i64 indices of the
    first of each, for each element the place of its like, and counts."""

    name = "ge.unique"
    GE_TYPES: ClassVar = ("UniqueWithCountsAndSorting", "UniqueWithCountsExt2")
    x = operand_def(TENSOR)
    axis = opt_prop_def(INT)
    sorted = prop_def(BOOL)
    y = result_def(TENSOR)
    indices = result_def(TENSOR)
    inverse = result_def(TENSOR)
    counts = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        some = Spec(dtypes.I64, (DYNAMIC,))
        if attrs.axis is None:
            shape = [DYNAMIC]
            each = Spec(dtypes.I64, (x.size if x.is_static else DYNAMIC,))
        else:
            axis = normalize_axis(attrs.axis, x.rank)
            shape = [DYNAMIC if i == axis else d for i, d in enumerate(x.shape)]
            each = Spec(dtypes.I64, (x.shape[axis],))
        return [x.with_shape(shape), some, each, some]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        axis = attrs.axis
        y, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
        inverse = inverse.reshape(-1)
        if not attrs.sorted:
            order = np.argsort(first, kind="stable")
            y, first, counts = np.take(y, order, axis=axis or 0), first[order], counts[order]
            inverse = np.argsort(order)[inverse]
        return (np.ascontiguousarray(y), *(a.astype(np.int64) for a in (first, inverse, counts)))


@irdl_op_definition
class DetOp(GeOp):
    """Determinants of square matrices along the last two axes, computed in f64."""

    name = "ge.det"
    GE_TYPES: ClassVar = ("MatrixDeterminant",)
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        require_kinds(cls.name, "f", x)
        if x.rank < 2 or (x.shape[-1] != x.shape[-2] and DYNAMIC not in x.shape[-2:]):
            raise mismatch(f"x of {cls.name} is {x}, square matrices are needed")
        return [x.with_shape(x.shape[:-2])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        n = x.shape[-1]
        a = x.astype(np.float64).reshape(-1, n, n).copy()
        y = np.ones(len(a))
        every = np.arange(len(a))
        for i in range(n):  # elimination with the largest pivot of each column
            pivot = i + np.argmax(np.abs(a[:, i:, i]), axis=1)
            a[every, i], a[every, pivot] = a[every, pivot].copy(), a[every, i].copy()
            top = a[:, i, i]
            y *= np.where(pivot != i, -top, top)
            factor = a[:, i + 1 :, i] / np.where(top == 0, 1, top)[:, None]
            a[:, i + 1 :, i:] -= factor[:, :, None] * a[:, None, i, i:]
        return np.asarray(y.reshape(x.shape[:-2]).astype(x.dtype))


@irdl_op_definition
class DeformConvOp(GeOp):
    """A 2-D convolution of x [N, C, H, W] whose taps are moved by ``offset`` [N, 2 * taps * offset_groups, oH, oW]
    (pairs y, x) and weighted by ``mask`` [N, taps * offset_groups, oH, oW]; bilinear, zeros outside."""

    name = "ge.deform_conv"
    GE_TYPES: ClassVar = ("DeformableConv2D",)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    filter = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    mask = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    offset_groups = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, kernel, offset, bias, mask = operands
        same_dtype(x, kernel, offset, bias, mask)
        require_kinds(cls.name, "f", x)
        specs = [s for s in operands if s is not None]
        if x.rank != 4 or kernel.rank != 4 or not all(s.is_static for s in specs):
            raise mismatch(f"{cls.name} needs known sizes of rank 4, not {x} and {kernel}")
        taps, groups, moved = prod(kernel.shape[2:]), attrs.groups, attrs.offset_groups
        sizes = [
            (x.shape[2 + i] + attrs.pads[i] + attrs.pads[2 + i] - (kernel.shape[2 + i] - 1) * attrs.dilations[i] - 1)
            // attrs.strides[i]
            + 1
            for i in range(2)
        ]
        want: list[tuple[Spec | None, tuple[int, ...]]] = [
            (offset, (x.shape[0], 2 * taps * moved, *sizes)),
            (mask, (x.shape[0], taps * moved, *sizes)),
            (bias, (kernel.shape[0],)),
        ]
        for side, shape in want:
            if side is not None and side.shape != shape:
                raise mismatch(f"{side} of {cls.name} should have the shape {list(shape)}")
        if x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups or x.shape[1] % moved:
            raise mismatch(f"{x} and the filter {kernel} do not fit {groups} groups")
        return [x.with_shape((x.shape[0], kernel.shape[0], *sizes))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, kernel, offset, bias, mask = operands
        value = wide(x)
        n, channels, height, width = x.shape
        kh, kw = kernel.shape[2:]
        oh, ow = offset.shape[2:]
        moved = attrs.offset_groups
        offset = wide(offset).reshape(n, moved, kh * kw, 2, oh, ow)
        columns = np.empty((n, channels, kh * kw, oh, ow), value.dtype)
        batch = np.arange(n).reshape(-1, 1, 1, 1)
        for tap in range(kh * kw):
            i, j = divmod(tap, kw)
            rows = np.arange(oh) * attrs.strides[0] - attrs.pads[0] + i * attrs.dilations[0]
            cols = np.arange(ow) * attrs.strides[1] - attrs.pads[1] + j * attrs.dilations[1]
            at_y = rows[:, None].astype(value.dtype) + offset[:, :, tap, 0]
            at_x = cols.astype(value.dtype) + offset[:, :, tap, 1]
            part = _bilinear(value.reshape(n, moved, -1, height, width), at_y, at_x, batch)
            if mask is not None:
                part = part * wide(mask).reshape(n, moved, kh * kw, oh, ow)[:, :, tap, None]
            columns[:, :, tap] = part.reshape(n, channels, oh, ow)
        groups = attrs.groups
        rows = wide(kernel).reshape(groups, kernel.shape[0] // groups, -1)
        y = matmul(rows, columns.reshape(n, groups, rows.shape[2], oh * ow)).reshape(n, -1, oh, ow)
        if bias is not None:
            y = y + wide(bias).reshape(-1, 1, 1)
        return y.astype(x.dtype)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Rows of channels picked around each moved tap, then one product with the filter."""
        x, kernel, offset, bias, mask = operands
        spec = b.spec(x)
        if spec.dtype.name == "f64":
            raise UnsupportedError("deform_conv of f64", code="GE1205")
        x, kernel, offset, bias, mask = (widen(b, v) for v in operands)
        n, channels, *sizes = spec.shape
        out, _, kh, kw = b.spec(kernel).shape
        oh, ow = attrs.shape[2:]
        moved, groups = attrs.offset_groups, attrs.groups
        each = channels // moved
        table = sampling.Table(b, b.reshape(x, shape=[n, moved, each, *sizes]), 2)
        first = table.first(4)
        offset = b.reshape(offset, shape=[n, moved, kh * kw, 2, oh, ow])
        weights = None if mask is None else b.reshape(mask, shape=[n, moved, kh * kw, oh, ow])
        columns: list[Any] = []
        for tap in range(kh * kw):
            at: list[Any] = []
            for axis, (cells, cell) in enumerate(zip((oh, ow), divmod(tap, kw), strict=True)):
                start = cell * attrs.dilations[axis] - attrs.pads[axis]
                line = np.arange(cells, dtype=np.float32) * attrs.strides[axis] + np.float32(start)
                shift = b.slice(offset, begin=[tap, axis], end=[tap + 1, axis + 1], axes=[2, 3], strides=[1, 1])
                shift = b.reshape(shift, shape=[n, moved, oh, ow])
                at.append(b.add(shift, b.array(line.reshape(-1, 1) if axis == 0 else line)))
            taps = [
                [sampling.inside_or_zero(b, p, w, size) for p, w in sampling.bilinear_taps(b, place)]
                for place, size in zip(at, sizes, strict=True)
            ]
            part = table.weighted(taps, first)  # [N, moved, oh, ow, each]
            if weights is not None:
                factor = b.slice(weights, begin=[tap], end=[tap + 1], axes=[2], strides=[1])
                part = b.mul(part, b.reshape(factor, shape=[n, moved, oh, ow, 1]))
            columns.append(b.reshape(b.transpose(part, perm=[0, 1, 4, 2, 3]), shape=[n, channels, 1, oh * ow]))
        rows = columns[0] if len(columns) == 1 else b.concat(columns, concat_dim=2)
        rows = b.reshape(rows, shape=[n, groups, channels // groups * kh * kw, oh * ow])
        filters = b.reshape(kernel, shape=[1, groups, out // groups, channels // groups * kh * kw])
        y = b.matmul(filters, rows, None, transpose_x1=False, transpose_x2=False)
        y = b.reshape(y, shape=list(attrs.shape))
        if bias is not None:
            y = b.add(y, b.reshape(bias, shape=[-1, 1, 1]))
        return b.cast(y, spec.dtype)


def _bilinear(x: Any, at_y: Any, at_x: Any, batch: Any) -> Any:
    """x [N, g, c, H, W] at positions [N, g, oh, ow], zero outside: [N, g, c, oh, ow]."""
    height, width = x.shape[3:]
    top, left = np.floor(at_y), np.floor(at_x)
    group = np.arange(x.shape[1]).reshape(1, -1, 1, 1)
    y: Any = 0
    for dy in range(2):
        for dx in range(2):
            row, col = top + dy, left + dx
            weight = (1 - np.abs(at_y - row)) * (1 - np.abs(at_x - col))
            inside = (row >= 0) & (row < height) & (col >= 0) & (col < width)
            r, c = (np.where(inside, v, 0).astype(np.int64) for v in (row, col))
            cells = np.moveaxis(x[batch, group, :, r, c], -1, 2)
            y = y + cells * np.where(inside, weight, 0)[:, :, None]
    return y
