"""Pooling: sliding windows on the vector unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.layouts import LAYOUTS, channel_axis, channels_back, channels_first, spatial_axes
from gedialect.dialects.ge.numeric import np, require_kinds, wide, widen
from gedialect.dialects.ge.reproducible import matmul
from gedialect.dialects.ge.shapes import mismatch
from gedialect.dialects.ge.windows import cell_counts, dilations_of, lowest, pooled_sizes, taps
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


class PoolOp(GeOp):
    """A window op on [N, C, *spatial] in ``data_format``."""

    FUSION_CLASS: ClassVar = FusionClass.WINDOW
    RANK: ClassVar[int] = 4
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if x.rank != cls.RANK:
            raise mismatch(f"{cls.name} needs rank {cls.RANK}, not {x.rank}")
        require_kinds(cls.name, "fiu", x)
        shape = list(x.shape)
        axes = spatial_axes(attrs.data_format, x.rank)
        for axis, size in zip(axes, pooled_sizes(attrs, [shape[a] for a in axes]), strict=True):
            shape[axis] = size
        return [x.with_shape(shape)]


class MaxPoolOp(PoolOp):
    """Largest element of each window; padding never wins."""

    ksize = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    ceil_mode = prop_def(BOOL)
    data_format = prop_def(words(*LAYOUTS))

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        y: Any = None
        for _, cells in taps(x, attrs, lowest(x.dtype)):
            y = cells.copy() if y is None else np.maximum(y, cells, out=y)
        return channels_back(y, attrs.data_format)


class AvgPoolOp(PoolOp):
    """Mean of each window over the cells inside the input, or inside the padded input (count_include_pad).

    A window that hangs over the padded end (ceil_mode) divides by the cells that are inside it. Half
    precision sums in f32.
    """

    ksize = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = opt_prop_def(INTS)
    ceil_mode = prop_def(BOOL)
    count_include_pad = prop_def(BOOL)
    data_format = prop_def(words(*LAYOUTS))

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        y: Any = None
        for _, cells in taps(wide(x), attrs, 0):
            y = cells.copy() if y is None else np.add(y, cells, out=y)
        y = y / cell_counts(attrs, x.shape[2:]).astype(y.dtype)
        return channels_back(y.astype(x.dtype), attrs.data_format)


@irdl_op_definition
class MaxPool2dOp(MaxPoolOp):
    """2-D max pooling."""

    name = "ge.max_pool2d"
    GE_TYPES: ClassVar = ("MaxPoolV3", "MaxPool", "MaxPoolV2", "MaxPoolExt2", "Pooling")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return _by_axis(b, attrs, operands[0], "max_pool2d")


def _in_planes(b: GeBuilder, attrs: Attrs, x: SSAValue, mnemonic: str) -> SSAValue:
    """3-D pooling as pooling over rows and columns, then over depth: both kinds separate by axis."""
    spec, y = b.spec(x), attrs.shape
    last = channel_axis(attrs.data_format, 5) == 4
    n, c, d, h, w = (spec.shape[i] for i in ((0, 4, 1, 2, 3) if last else (0, 1, 2, 3, 4)))
    oh, ow = (y[2], y[3]) if last else (y[3], y[4])
    dilations, pads = dilations_of(attrs), attrs.pads
    common: dict[str, Any] = {"ceil_mode": attrs.ceil_mode, "data_format": "NHWC" if last else "NCHW"}
    if attrs.count_include_pad is not None:
        common["count_include_pad"] = attrs.count_include_pad
    pool = getattr(b, mnemonic)
    planes = pool(
        b.reshape(x, shape=(n * d, h, w, c) if last else (n, c * d, h, w)),
        ksize=attrs.ksize[1:],
        strides=attrs.strides[1:],
        dilations=dilations[1:],
        pads=(pads[1], pads[2], pads[4], pads[5]),
        **common,
    )
    columns = pool(
        b.reshape(planes, shape=(n, d, oh * ow, c) if last else (n, c, d, oh * ow)),
        ksize=(attrs.ksize[0], 1),
        strides=(attrs.strides[0], 1),
        dilations=(dilations[0], 1),
        pads=(pads[0], 0, pads[3], 0),
        **common,
    )
    return b.reshape(columns, shape=y)


def _by_axis(b: GeBuilder, attrs: Attrs, x: SSAValue, mnemonic: str) -> SSAValue:
    """2-D pooling of a large window over columns, then over rows; GE1205 for a window that is a line already."""
    if 1 in attrs.ksize:
        raise UnsupportedError(f"a window of {attrs.ksize[0]} x {attrs.ksize[1]} is a line already", code="GE1205")
    common: dict[str, Any] = {"ceil_mode": attrs.ceil_mode, "data_format": attrs.data_format}
    if attrs.count_include_pad is not None:
        common["count_include_pad"] = attrs.count_include_pad
    for axis in (1, 0):

        def alone(values: Sequence[int], other: int, axis: int = axis) -> tuple[int, int]:
            return (values[0], other) if axis == 0 else (other, values[1])

        x = getattr(b, mnemonic)(
            x,
            ksize=alone(attrs.ksize, 1),
            strides=alone(attrs.strides, 1),
            dilations=alone(dilations_of(attrs), 1),
            pads=(*alone(attrs.pads[:2], 0), *alone(attrs.pads[2:], 0)),
            **common,
        )
    return x


@irdl_op_definition
class MaxPool3dOp(MaxPoolOp):
    """3-D max pooling."""

    name = "ge.max_pool3d"
    GE_TYPES: ClassVar = ("MaxPool3D",)
    RANK: ClassVar = 5

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return _in_planes(b, attrs, operands[0], "max_pool2d")


@irdl_op_definition
class AvgPool2dOp(AvgPoolOp):
    """2-D average pooling."""

    name = "ge.avg_pool2d"
    GE_TYPES: ClassVar = ("AvgPoolV2", "AvgPool", "AvgPool1D", "Pooling")

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return b.cast(_by_axis(b, attrs, widen(b, operands[0]), "avg_pool2d"), attrs.dtype)


@irdl_op_definition
class AvgPool3dOp(AvgPoolOp):
    """3-D average pooling."""

    name = "ge.avg_pool3d"
    GE_TYPES: ClassVar = ("AvgPool3D", "AvgPool3DD")
    RANK: ClassVar = 5

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return b.cast(_in_planes(b, attrs, widen(b, operands[0]), "avg_pool2d"), attrs.dtype)


@irdl_op_definition
class MaxPool2dWithArgmaxOp(PoolOp):
    """2-D max pooling and where each maximum was found.

    ``argmax`` (i64) is ONNX's index: the position of the (first) maximum in the tensor flattened in NCHW
    order, also when ``data_format`` is NHWC. GE's own form of argmax differs.
    """

    name = "ge.max_pool2d_with_argmax"
    GE_TYPES: ClassVar = ("MaxPoolWithArgmaxV2", "MaxPoolWithArgmax", "MaxPoolWithArgmaxV1")
    ksize = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    ceil_mode = prop_def(BOOL)
    data_format = prop_def(words(*LAYOUTS))
    y = result_def(TENSOR)
    argmax = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (y,) = super().infer(attrs, *operands)
        return [y, y.with_dtype(dtypes.I64)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        number = np.arange(x.size, dtype=np.int64).reshape(x.shape)
        y: Any = None
        where: Any = None
        for (_, cells), (_, numbers) in zip(taps(x, attrs, lowest(x.dtype)), taps(number, attrs, -1), strict=True):
            if y is None:
                y, where = cells.copy(), numbers.copy()
            else:
                # -1 marks padding: any real cell replaces it
                better = (numbers >= 0) & ((cells > y) | (where < 0))
                y, where = np.where(better, cells, y), np.where(better, numbers, where)
        return channels_back(y, attrs.data_format), channels_back(where, attrs.data_format)


@irdl_op_definition
class LpPool2dOp(PoolOp):
    """``(sum |x|^p)^(1/p)`` of each window; padding counts as 0."""

    name = "ge.lp_pool2d"
    GE_TYPES: ClassVar = ()
    p = prop_def(INT)
    ksize = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = opt_prop_def(INTS)
    ceil_mode = opt_prop_def(BOOL)
    data_format = opt_prop_def(words(*LAYOUTS))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        if attrs.p < 1:
            raise mismatch(f"{cls.name} has no norm of order {attrs.p}")
        return super().infer(attrs, *operands)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        y: Any = None
        for _, cells in taps(np.abs(wide(x)) ** attrs.p, attrs, 0):
            y = cells.copy() if y is None else np.add(y, cells, out=y)
        return channels_back((y ** (1 / attrs.p)).astype(x.dtype), attrs.data_format)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Means over the padded input times the cells they divide by."""
        x, p = b.abs(widen(b, operands[0])), attrs.p
        powers = x if p == 1 else b.mul(x, x) if p == 2 else b.pow(x, float(p))
        layout = attrs.data_format or "NCHW"
        given = {k: attrs[k] for k in ("ksize", "strides", "pads", "dilations") if attrs.get(k) is not None}
        pool = Attrs({**given, "ceil_mode": bool(attrs.ceil_mode), "count_include_pad": True, "data_format": layout})
        shape = b.spec(x).shape
        cells = cell_counts(pool, [shape[a] for a in spatial_axes(layout, 4)])
        if cells.min() == cells.max():
            sums = b.mul(b.avg_pool2d(powers, **pool), float(cells.max()))
        else:
            last = channel_axis(layout, 4) == 3
            factors = cells[:, :, None] if last else cells
            sums = b.mul(b.avg_pool2d(powers, **pool), b.array(factors.astype(b.spec(x).dtype.numpy)))
        y = sums if p == 1 else b.sqrt(sums) if p == 2 else b.pow(sums, 1 / p)
        return b.cast(y, attrs.dtype)


@irdl_op_definition
class AdaptiveAvgPool2dOp(GeOp):
    """Mean over ``output_size`` windows that cover x evenly: row i takes floor(i H / out) to ceil((i + 1) H / out)."""

    name = "ge.adaptive_avg_pool2d"
    GE_TYPES: ClassVar = ("AdaptiveAvgPool2d", "AdaptiveAvgPool")
    FUSION_CLASS: ClassVar = FusionClass.WINDOW
    x = operand_def(TENSOR)
    output_size = prop_def(INTS)
    data_format = opt_prop_def(words(*LAYOUTS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if x.rank != 4 or len(attrs.output_size) != 2 or min(attrs.output_size) < 1:
            raise mismatch(f"{cls.name} needs rank 4 and two positive sizes")
        shape = list(x.shape)
        for axis, size in zip(spatial_axes(attrs.data_format, 4), attrs.output_size, strict=True):
            shape[axis] = size
        return [x.with_shape(shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = channels_first(operands[0], attrs.data_format)
        y = wide(x)
        rows, columns = (_window_means(s, o, y.dtype) for s, o in zip(x.shape[2:], attrs.output_size, strict=True))
        y = matmul(matmul(rows, y), columns.T)
        return channels_back(y.astype(x.dtype), attrs.data_format)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Average pooling where all windows are alike, else products with the weights of rows and of columns."""
        x = operands[0]
        layout = attrs.data_format or "NCHW"
        shape, out = b.spec(x).shape, attrs.output_size
        n, h, w, c = (shape[i] for i in ((0, 1, 2, 3) if channel_axis(layout, 4) == 3 else (0, 2, 3, 1)))
        if h % out[0] == 0 and w % out[1] == 0:
            size = (h // out[0], w // out[1])
            pool: dict[str, Any] = {"ksize": size, "strides": size, "pads": (0, 0, 0, 0), "data_format": layout}
            return b.avg_pool2d(x, ceil_mode=False, count_include_pad=False, **pool)
        x = widen(b, x)
        dtype = b.spec(x).dtype.numpy
        rows, columns = b.array(_window_means(h, out[0], dtype)), b.array(_window_means(w, out[1], dtype))
        flags = {"transpose_x1": False, "transpose_x2": False}
        if channel_axis(layout, 4) == 3:
            y = b.matmul(rows, b.reshape(x, shape=(n, h, w * c)), **flags)
            y = b.matmul(columns, b.reshape(y, shape=(n, out[0], w, c)), **flags)
        else:
            y = b.matmul(b.matmul(rows, x, **flags), columns, transpose_x1=False, transpose_x2=True)
        return b.cast(y, attrs.dtype)


def _window_means(size: int, count: int, dtype: Any) -> Any:
    """[count, size]: the weights of each element in the mean of each window."""
    first = np.arange(count) * size // count
    last = -(-(np.arange(count) + 1) * size // count)
    at = np.arange(size)
    inside = (at >= first[:, None]) & (at < last[:, None])
    return (inside / (last - first)[:, None]).astype(dtype)
