"""Normalisations.

Statistics of f16 and bf16 are taken in f32, and result values rounded once. Results that are statistics have
element type f32 (f64 for f64), as ONNX's ``stash_type`` has it. Variances are those of the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.activation import within
from gedialect.dialects.ge.base import FLOAT, INT, INTS, TENSOR, Array, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.elementwise import FloatOp
from gedialect.dialects.ge.layouts import CHANNELS_LAST, LAYOUTS
from gedialect.dialects.ge.numeric import expand_in_f32, in_f32, is_half, np, require_kinds, wide, widen
from gedialect.dialects.ge.reduce import mean
from gedialect.dialects.ge.shapes import mismatch, normalize_axes, normalize_axis
from gedialect.ir.dtypes import F32, DType
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


class NormOp(GeOp):
    """Base of normalisations: reductions over axes of ``x``."""

    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    FLOAT_ATTRS: ClassVar = frozenset({"epsilon"})
    epsilon = prop_def(FLOAT)


def stat_type(dtype: DType) -> DType:
    """Element type of statistics."""
    return F32 if is_half(dtype) else dtype


def moments(x: Array, axes: Sequence[int]) -> tuple[Array, Array, Array]:
    """(x - mean, mean, variance); the latter two keep the axes as 1."""
    middle = np.mean(x, axis=tuple(axes), keepdims=True)
    away = x - middle
    return away, middle, np.mean(away * away, axis=tuple(axes), keepdims=True)


def expand_moments(b: GeBuilder, x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue, SSAValue]:
    """``moments`` in primitive ops."""
    middle = mean(b, x, axes)
    away = b.sub(x, middle)
    return away, middle, mean(b, b.mul(away, away), axes)


# ---------------------------------------------------------------------- per channel
NORM_LAYOUTS = (*LAYOUTS, "NC")


def channels(attrs: Attrs, rank: int) -> int:
    """The axis of C in ``data_format``, which may name more or fewer spatial axes than there are."""
    if attrs.data_format not in NORM_LAYOUTS:
        raise mismatch(f"data_format {attrs.data_format} is not one of {', '.join(NORM_LAYOUTS)}")
    return rank - 1 if attrs.data_format in CHANNELS_LAST else 1


def check_channels(name: str, attrs: Attrs, x: Spec, *parameters: Spec) -> int:
    """The axis of C; GE1005 unless x and the parameters are floats and each parameter is [C]."""
    require_kinds(name, "f", x, *parameters)
    if x.rank < 2:
        raise mismatch(f"{name} needs a batch and a channel axis, x is {x}")
    axis = channels(attrs, x.rank)
    for p in parameters:
        if p.rank != 1 or (p.shape[0] != x.shape[axis] and DYNAMIC not in (p.shape[0], x.shape[axis])):
            raise mismatch(f"{name} needs parameters of {x.shape[axis]} elements, got {p}")
    return axis


def per_channel(attrs: Attrs, x: Array, p: Array) -> Array:
    """``p`` [C] shaped to broadcast along the channels of ``x``."""
    return wide(p).reshape([-1 if i == channels(attrs, x.ndim) else 1 for i in range(x.ndim)])


def expand_per_channel(b: GeBuilder, attrs: Attrs, x: SSAValue, p: SSAValue) -> SSAValue:
    """``p`` [C] as a view that broadcasts along the channels of ``x``, widened."""
    rank = b.spec(x).rank
    after = rank - 1 - channels(attrs, rank)
    return widen(b, b.unsqueeze(p, axes=list(range(1, after + 1))) if after else p)


class BatchOp(NormOp):
    """Normalises by statistics of the batch; scale, offset, mean and variance are [C]."""

    x = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    offset = operand_def(TENSOR)
    mean = operand_def(TENSOR)
    variance = operand_def(TENSOR)
    y = result_def(TENSOR)
    data_format = prop_def(words(*NORM_LAYOUTS))


@irdl_op_definition
class BatchNormOp(BatchOp):
    """(x - mean) / sqrt(variance + epsilon) scale + offset; parameters are [C]."""

    name = "ge.batch_norm"
    GE_TYPES: ClassVar = ("BNInfer", "BatchNorm", "BNInference", "BNInferenceD", "BatchNormV3")
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        check_channels(cls.name, attrs, *operands)
        return [operands[0]]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, scale, offset, middle, variance = operands
        factor = wide(scale) / np.sqrt(wide(variance) + attrs.epsilon)
        y = (wide(x) - per_channel(attrs, x, middle)) * per_channel(attrs, x, factor) + per_channel(attrs, x, offset)
        return y.astype(x.dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, *parameters = operands
        scale, offset, middle, variance = (expand_per_channel(b, attrs, x, p) for p in parameters)
        factor = b.div(scale, b.sqrt(b.add(variance, attrs.epsilon)))
        y = b.add(b.mul(b.sub(widen(b, x), middle), factor), offset)
        return b.cast(y, b.spec(x).dtype)


@irdl_op_definition
class BatchNormTrainingOp(BatchOp):
    """Batch normalisation by the batch's own statistics, which also move the given ones.

    batch_mean = mean (1 - exponential_avg_factor) + (mean of the batch) exponential_avg_factor, batch_variance alike.
    """

    name = "ge.batch_norm_training"
    GE_TYPES: ClassVar = ("BatchNorm", "BatchNormExt2", "FusedBatchNormV2")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    FLOAT_ATTRS: ClassVar = frozenset({"epsilon", "exponential_avg_factor"})
    batch_mean = result_def(TENSOR)
    batch_variance = result_def(TENSOR)
    exponential_avg_factor = prop_def(FLOAT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        check_channels(cls.name, attrs, *operands)
        return [operands[0], operands[3], operands[4]]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, scale, offset, *running = operands
        axes = [i for i in range(x.ndim) if i != channels(attrs, x.ndim)]
        away, *batch = moments(wide(x), axes)
        y = away / np.sqrt(batch[1] + attrs.epsilon) * per_channel(attrs, x, scale) + per_channel(attrs, x, offset)
        f = attrs.exponential_avg_factor
        moved = [(wide(r) * (1 - f) + s.reshape(-1) * f).astype(r.dtype) for r, s in zip(running, batch, strict=True)]
        return y.astype(x.dtype, copy=False), *moved


class ChannelNormOp(NormOp):
    """Normalises each sample by itself; gamma and beta are [C]."""

    x = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    beta = operand_def(TENSOR)
    y = result_def(TENSOR)
    mean = result_def(TENSOR)
    variance = result_def(TENSOR)


@irdl_op_definition
class InstanceNormOp(ChannelNormOp):
    """Normalises each channel of each sample over the spatial axes; mean and variance keep them as 1."""

    name = "ge.instance_norm"
    GE_TYPES: ClassVar = ("InstanceNorm", "InstanceNormV2", "INInferV2")
    data_format = prop_def(words(*NORM_LAYOUTS))

    @staticmethod
    def axes(attrs: Attrs, rank: int) -> tuple[int, ...]:
        """The spatial axes."""
        return tuple(i for i in range(1, rank) if i != channels(attrs, rank))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x = operands[0]
        check_channels(cls.name, attrs, *operands)
        axes = cls.axes(attrs, x.rank)
        stats = Spec(stat_type(x.dtype), tuple(1 if i in axes else d for i, d in enumerate(x.shape)))
        return [x, stats, stats]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, gamma, beta = operands
        away, middle, variance = moments(wide(x), InstanceNormOp.axes(attrs, x.ndim))
        y = away / np.sqrt(variance + attrs.epsilon) * per_channel(attrs, x, gamma) + per_channel(attrs, x, beta)
        return y.astype(x.dtype, copy=False), middle, variance

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, gamma, beta = operands
        away, middle, variance = expand_moments(b, widen(b, x), InstanceNormOp.axes(attrs, b.spec(x).rank))
        scaled = b.mul(b.div(away, b.sqrt(b.add(variance, attrs.epsilon))), expand_per_channel(b, attrs, x, gamma))
        y = b.add(scaled, expand_per_channel(b, attrs, x, beta))
        return b.cast(y, b.spec(x).dtype), middle, variance


@irdl_op_definition
class GroupNormOp(ChannelNormOp):
    """Normalises ``num_groups`` groups of channels of each sample; mean and variance are [N, num_groups]."""

    name = "ge.group_norm"
    GE_TYPES: ClassVar = ("GroupNorm", "GroupNormV2")
    num_groups = prop_def(INT)
    data_format = prop_def(words(*NORM_LAYOUTS))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x = operands[0]
        axis = check_channels(cls.name, attrs, *operands)
        if attrs.num_groups < 1 or (x.shape[axis] != DYNAMIC and x.shape[axis] % attrs.num_groups):
            raise mismatch(f"{x.shape[axis]} channels do not divide into {attrs.num_groups} groups")
        stats = Spec(stat_type(x.dtype), (x.shape[0], attrs.num_groups))
        return [x, stats, stats]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, gamma, beta = operands
        shape, axes = grouped(attrs, x.shape)
        away, middle, variance = moments(wide(x).reshape(shape), axes)
        y = (away / np.sqrt(variance + attrs.epsilon)).reshape(x.shape)
        y = y * per_channel(attrs, x, gamma) + per_channel(attrs, x, beta)
        stats = (x.shape[0], attrs.num_groups)
        return y.astype(x.dtype, copy=False), middle.reshape(stats), variance.reshape(stats)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, gamma, beta = operands
        spec = b.spec(x)
        shape, axes = grouped(attrs, spec.shape)
        away, middle, variance = expand_moments(b, widen(b, b.reshape(x, shape=shape)), axes)
        split = channels(attrs, spec.rank)
        after = len(shape) - split - 2
        halves = [attrs.num_groups, shape[split + 1], *[1] * after]
        scale, offset = (widen(b, b.reshape(p, shape=halves)) for p in (gamma, beta))
        y = b.add(b.mul(b.div(away, b.sqrt(b.add(variance, attrs.epsilon))), scale), offset)
        stats = [spec.shape[0], attrs.num_groups]
        y = b.reshape(b.cast(y, spec.dtype), shape=spec.shape)
        return y, b.reshape(middle, shape=stats), b.reshape(variance, shape=stats)


def grouped(attrs: Attrs, shape: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """(shape with C split into groups and channels of a group, axes to reduce)."""
    c = channels(attrs, len(shape))
    split = [*shape[:c], attrs.num_groups, shape[c] // attrs.num_groups, *shape[c + 1 :]]
    return split, tuple(i for i in range(1, len(split)) if i != c)


# ---------------------------------------------------------------------- trailing axes
def trailing(x: Spec, first: int) -> Spec:
    """Statistics of ``x`` over the axes from ``first``, which stay as 1."""
    return Spec(stat_type(x.dtype), (*x.shape[:first], *[1] * (x.rank - first)))


def layer_normalised(attrs: Attrs, first: int, x: Array, gamma: Array, beta: Array | None) -> Results:
    """y, mean and 1 / sqrt(variance + epsilon) over the axes from ``first``."""
    away, middle, variance = moments(wide(x), range(first, x.ndim))
    rstd = 1 / np.sqrt(variance + attrs.epsilon)
    y = away * rstd * wide(gamma)
    y = y if beta is None else y + wide(beta)
    return y.astype(x.dtype, copy=False), np.asarray(middle), np.asarray(rstd)


def expand_layer_norm(
    b: GeBuilder, attrs: Attrs, first: int, x: SSAValue, gamma: SSAValue, beta: SSAValue | None
) -> tuple[SSAValue, SSAValue, SSAValue]:
    """``layer_normalised`` in primitive ops."""
    spec = b.spec(x)
    away, middle, variance = expand_moments(b, widen(b, x), range(first, spec.rank))
    rstd = b.rsqrt(b.add(variance, attrs.epsilon))
    y = b.mul(b.mul(away, rstd), widen(b, gamma))
    y = y if beta is None else b.add(y, widen(b, beta))
    return b.cast(y, spec.dtype), middle, rstd


@irdl_op_definition
class LayerNormOp(NormOp):
    """(x - mean) rstd gamma + beta over the axes from ``begin_norm_axis``, rstd = 1 / sqrt(variance + epsilon).

    mean and rstd keep the axes as 1; gamma and beta broadcast to the normalised axes.
    """

    name = "ge.layer_norm"
    GE_TYPES: ClassVar = ("LayerNormV3", "LayerNorm", "LayerNormV4")
    x = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    beta = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    mean = result_def(TENSOR)
    rstd = result_def(TENSOR)
    begin_norm_axis = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        x, gamma, beta = operands
        assert x is not None
        require_kinds(cls.name, "f", x)
        within(x, gamma, beta)
        stats = trailing(x, normalize_axis(attrs.begin_norm_axis, x.rank))
        return [x, stats, stats]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return layer_normalised(attrs, normalize_axis(attrs.begin_norm_axis, operands[0].ndim), *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return expand_layer_norm(b, attrs, normalize_axis(attrs.begin_norm_axis, b.spec(operands[0]).rank), *operands)


@irdl_op_definition
class AddLayerNormOp(NormOp):
    """x = x1 + x2 (+ bias), rounded as ``ge.add`` does, and its layer_norm over the last axis."""

    name = "ge.add_layer_norm"
    GE_TYPES: ClassVar = ("AddLayerNorm", "InplaceAddLayerNorm")
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    beta = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    mean = result_def(TENSOR)
    rstd = result_def(TENSOR)
    x = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        x, *others = operands
        assert x is not None
        require_kinds(cls.name, "f", x)
        stats = trailing(within(x, *others), normalize_axis(-1, x.rank))
        return [x, stats, stats, x]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2, gamma, beta, bias = operands
        x = np.asarray(x1 + x2 if bias is None else x1 + x2 + bias)
        return *layer_normalised(attrs, x.ndim - 1, x, gamma, beta), x

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x1, x2, gamma, beta, bias = operands
        x = b.add(x1, x2)
        x = x if bias is None else b.add(x, bias)
        return *expand_layer_norm(b, attrs, b.spec(x).rank - 1, x, gamma, beta), x


def rms_normalised(attrs: Attrs, x: Array, gamma: Array) -> tuple[Array, Array]:
    """y and 1 / sqrt(mean(x²) + epsilon) over as many last axes as gamma has."""
    wider = wide(x)
    axes = tuple(range(x.ndim - gamma.ndim, x.ndim))
    rstd = 1 / np.sqrt(np.mean(wider * wider, axis=axes, keepdims=True) + attrs.epsilon)
    return (wider * rstd * wide(gamma)).astype(x.dtype, copy=False), np.asarray(rstd)


def expand_rms_norm(b: GeBuilder, attrs: Attrs, x: SSAValue, gamma: SSAValue) -> tuple[SSAValue, SSAValue]:
    """``rms_normalised`` in primitive ops."""
    spec = b.spec(x)
    wider = widen(b, x)
    axes = range(spec.rank - b.spec(gamma).rank, spec.rank)
    rstd = b.rsqrt(b.add(mean(b, b.mul(wider, wider), axes), attrs.epsilon))
    return b.cast(b.mul(b.mul(wider, rstd), widen(b, gamma)), spec.dtype), rstd


@irdl_op_definition
class RmsNormOp(NormOp):
    """x rstd gamma over as many last axes as gamma has, rstd = 1 / sqrt(mean(x²) + epsilon)."""

    name = "ge.rms_norm"
    GE_TYPES: ClassVar = ("RmsNorm",)
    x = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    y = result_def(TENSOR)
    rstd = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x, gamma = operands
        require_kinds(cls.name, "f", x)
        return [within(x, gamma), trailing(x, x.rank - gamma.rank)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return rms_normalised(attrs, *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return expand_rms_norm(b, attrs, *operands)


@irdl_op_definition
class AddRmsNormOp(NormOp):
    """x = x1 + x2, rounded as ``ge.add`` does, and its rms_norm."""

    name = "ge.add_rms_norm"
    GE_TYPES: ClassVar = ("AddRmsNorm", "InplaceAddRmsNorm")
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    gamma = operand_def(TENSOR)
    y = result_def(TENSOR)
    rstd = result_def(TENSOR)
    x = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x, _, gamma = operands
        require_kinds(cls.name, "f", x)
        return [within(*operands), trailing(x, x.rank - gamma.rank), x]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2, gamma = operands
        x = np.asarray(x1 + x2)
        return *rms_normalised(attrs, x, gamma), x

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x1, x2, gamma = operands
        x = b.add(x1, x2)
        return *expand_rms_norm(b, attrs, x, gamma), x


# ---------------------------------------------------------------------- others
@irdl_op_definition
class MvnOp(FloatOp):
    """(x - mean) / (sqrt(variance) + epsilon) over ``axes``."""

    name = "ge.mvn"
    GE_TYPES: ClassVar = ("MVNV2",)
    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    FLOAT_ATTRS: ClassVar = frozenset({"epsilon"})
    axes = prop_def(INTS)
    epsilon = prop_def(FLOAT)
    evaluate = in_f32(lambda attrs, x: _mvn(attrs, x))
    expand = expand_in_f32(lambda b, attrs, x: _expand_mvn(b, attrs, x))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        normalize_axes(attrs.axes, operands[0].rank)
        return super().infer(attrs, *operands)


def _mvn(attrs: Attrs, x: Array) -> Array:
    away, _, variance = moments(x, attrs.axes)
    return away / (np.sqrt(variance) + attrs.epsilon)


def _expand_mvn(b: GeBuilder, attrs: Attrs, x: SSAValue) -> SSAValue:
    away, _, variance = expand_moments(b, x, attrs.axes)
    return b.div(away, b.add(b.sqrt(variance), attrs.epsilon))


@irdl_op_definition
class LrnOp(FloatOp):
    """x / (bias + alpha sum(x²))^beta, the sum over the channels from ``depth_radius`` before to as many after.

    ``depth_radius_end``, if given, is the number after; GE has no such form.
    """

    name = "ge.lrn"
    GE_TYPES: ClassVar = ("LRN",)
    FUSION_CLASS: ClassVar = FusionClass.WINDOW
    FLOAT_ATTRS: ClassVar = frozenset({"bias", "alpha", "beta"})
    depth_radius = prop_def(INT)
    depth_radius_end = opt_prop_def(INT)
    bias = prop_def(FLOAT)
    alpha = prop_def(FLOAT)
    beta = prop_def(FLOAT)
    data_format = prop_def(words(*NORM_LAYOUTS))
    evaluate = in_f32(lambda attrs, x: _lrn(attrs, x))

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        check_channels(cls.name, attrs, operands[0])
        return super().infer(attrs, *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """The sums as average pooling: over rows of all pixels, or along the rows of channels."""
        spec = b.spec(operands[0])
        axis = channels(attrs, spec.rank)
        before, after = _lrn_reach(attrs)
        size = before + after + 1
        c = spec.shape[axis]
        if axis == spec.rank - 1:
            shape, layout, ksize, pads = (1, spec.size // c, 1, c), "NCHW", (1, size), (0, before, 0, after)
        else:
            n = spec.shape[0]
            shape, layout, ksize, pads = (n, c, 1, spec.size // (n * c)), "NHWC", (size, 1), (before, 0, after, 0)
        x = b.reshape(widen(b, operands[0]), shape=shape)
        pool = {"ksize": ksize, "strides": (1, 1), "pads": pads, "ceil_mode": False, "count_include_pad": True}
        means = b.avg_pool2d(b.mul(x, x), **pool, data_format=layout)
        y = b.div(x, b.pow(b.add(b.mul(means, attrs.alpha * size), attrs.bias), attrs.beta))
        return b.cast(b.reshape(y, shape=spec.shape), spec.dtype)


def _lrn_reach(attrs: Attrs) -> tuple[int, int]:
    """Channels before and after."""
    return attrs.depth_radius, attrs.depth_radius if attrs.depth_radius_end is None else attrs.depth_radius_end


def _lrn(attrs: Attrs, x: Array) -> Array:
    axis = channels(attrs, x.ndim)
    _, after = _lrn_reach(attrs)
    sums = np.zeros_like(x)
    to, of = np.moveaxis(sums, axis, 0), np.moveaxis(x * x, axis, 0)
    for shift in range(-attrs.depth_radius, after + 1):
        kept = max(len(of) - abs(shift), 0)
        to[max(-shift, 0) :][:kept] += of[max(shift, 0) :][:kept]
    return x / np.power(attrs.bias + attrs.alpha * sums, attrs.beta)
