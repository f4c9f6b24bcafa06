"""Quantisation: affine, per tensor or along one axis.

Integer products are ``ge.matmul`` and ``ge.conv2d`` with narrow integer operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch, normalize_axis
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


def limits(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of a quantised integer type; GE1203 for other types."""
    if not dtype.is_int or dtype.name not in ("i2", "ui2", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32"):
        raise UnsupportedError(f"quantisation to {dtype} is not supported", code="GE1203", hint="use i8 or ui8")
    bits = int(dtype.name.lstrip("ui"))
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _check(attrs: Attrs, x: Spec, scales: Spec, zeros: Spec | None) -> None:
    """scales and zero points are both single elements or both vectors along ``axis``; GE1005 otherwise."""
    if not scales.dtype.is_float:
        raise mismatch(f"scales are {scales.dtype}, floats are needed")
    if scales.is_static and scales.size == 1 and scales.rank <= 1:
        size = 1
    elif scales.rank == 1:
        size = x.shape[normalize_axis(attrs.axis, x.rank)] if x.rank else 1
    else:
        raise UnsupportedError(f"scales {scales}: only per tensor or per axis quantisation is supported", code="GE1205")
    for side in (scales, zeros):
        if side is not None and side.shape not in ((), (size,), (DYNAMIC,)) and size != DYNAMIC:
            raise mismatch(f"{side} does not fit axis {attrs.axis} of {x}")


def along(side: Any, axis: int, rank: int) -> Any:
    """Scales or zero points (an array) shaped to broadcast along ``axis`` of a tensor of ``rank``."""
    if side.size == 1:
        return side.reshape(())
    return side.reshape(-1, *[1] * (rank - 1 - axis % rank))


def _along(b: GeBuilder, side: Any, axis: int, rank: int) -> Any:
    """``along`` for a value."""
    spec = b.spec(side)
    if spec.is_static and spec.size == 1:
        return b.reshape(side, shape=[]) if spec.rank else side
    trailing = rank - 1 - axis % rank
    return b.reshape(side, shape=[-1, *[1] * trailing]) if trailing else side


@irdl_op_definition
class QuantizeOp(GeOp):
    """``saturate(round_half_even(x / scales) + zero_points)`` computed in f32.

    The element type is that of the zero points, else the result type's, else ui8.
    """

    name = "ge.quantize"
    GE_TYPES: ClassVar = ("Quantize", "AscendQuantV2", "AscendQuant")
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    scales = operand_def(TENSOR)
    zero_points = opt_operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, scales, zeros = operands
        _check(attrs, x, scales, zeros)
        dtype = zeros.dtype if zeros is not None else attrs.dtype if attrs.results else dtypes.UI8
        limits(dtype)
        return [x.with_dtype(dtype)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, scales, zeros = operands
        dtype = dtypes.from_numpy(zeros.dtype) if zeros is not None else attrs.dtype
        y = np.rint(x.astype(np.float32) / along(scales, attrs.axis, x.ndim).astype(np.float32))
        if zeros is not None:
            y = y + along(zeros, attrs.axis, x.ndim).astype(np.float32)
        return np.asarray(np.clip(y, *limits(dtype)).astype(np.int32).astype(dtype.numpy))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, scales, zeros = operands
        rank = b.spec(x).rank
        dtype = b.spec(zeros).dtype if zeros is not None else attrs.dtype
        low, high = limits(dtype)
        scales = b.cast(_along(b, scales, attrs.axis, rank), dtypes.F32)
        y = b.round(b.div(b.cast(x, dtypes.F32), scales))
        if zeros is not None:
            y = b.add(y, b.cast(_along(b, zeros, attrs.axis, rank), dtypes.F32))
        return b.cast(b.minimum(b.maximum(y, float(low)), float(high)), dtype)


@irdl_op_definition
class DequantizeOp(GeOp):
    """``(x - zero_points) * scales``, in the type of the scales (half precision: computed in f32)."""

    name = "ge.dequantize"
    GE_TYPES: ClassVar = ("AscendAntiQuantV2", "AscendAntiQuant")
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    scales = operand_def(TENSOR)
    zero_points = opt_operand_def(TENSOR)
    axis = prop_def(INT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, scales, zeros = operands
        _check(attrs, x, scales, zeros)
        limits(x.dtype)
        if zeros is not None and zeros.dtype is not x.dtype:
            raise mismatch(f"zero points are {zeros.dtype}, x is {x.dtype}")
        return [x.with_dtype(scales.dtype)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, scales, zeros = operands
        y = x.astype(np.int32)
        if zeros is not None:
            y = y - along(zeros, attrs.axis, x.ndim).astype(np.int32)
        y = y.astype(np.float32) * along(scales, attrs.axis, x.ndim).astype(np.float32)
        return np.asarray(y.astype(scales.dtype))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, scales, zeros = operands
        spec, dtype = b.spec(x), b.spec(scales).dtype
        # differences of up to 17 bits are exact in f32
        exact = dtypes.F32 if spec.dtype is not dtypes.I32 else dtypes.I32
        y = b.cast(x, exact)
        if zeros is not None:
            y = b.sub(y, b.cast(_along(b, zeros, attrs.axis, spec.rank), exact))
        scales = b.cast(_along(b, scales, attrs.axis, spec.rank), dtypes.F32)
        return b.cast(b.mul(b.cast(y, dtypes.F32), scales), dtype)


@irdl_op_definition
class DynamicQuantizeOp(GeOp):
    """ui8 quantisation by the range of x, widened to hold 0 (ONNX DynamicQuantizeLinear).

    ``scale = (max - min) / 255`` (1 if x is all zero), ``zero_point = saturate(round(-min / scale))``.
    """

    name = "ge.dynamic_quantize"
    GE_TYPES: ClassVar = ()
    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    x = operand_def(TENSOR)
    y = result_def(TENSOR)
    scale = result_def(TENSOR)
    zero_point = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if x.dtype is not dtypes.F32:
            raise mismatch(f"{cls.name} takes f32, not {x.dtype}")
        return [x.with_dtype(dtypes.UI8), Spec(dtypes.F32, ()), Spec(dtypes.UI8, ())]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        high = np.maximum(x.max(initial=-np.inf), np.float32(0))
        low = np.minimum(x.min(initial=np.inf), np.float32(0))
        scale = np.float32((high - low) / np.float32(255)) if high > low else np.float32(1)
        zero = np.clip(np.rint(-low / scale), 0, 255)
        y = np.clip(np.rint(x / scale) + zero, 0, 255)
        return np.asarray(y.astype(np.uint8)), np.array(scale, np.float32), np.array(zero, np.uint8)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        (x,) = operands
        axes = list(range(b.spec(x).rank))
        high = b.maximum(b.reduce_max(x, axes=axes, keep_dims=False), 0.0)
        low = b.minimum(b.reduce_min(x, axes=axes, keep_dims=False), 0.0)
        width = b.div(b.sub(high, low), 255.0)
        one = b.splat(1.0, dtypes.F32)
        scale = b.select(b.greater(high, low), width, one)
        zero = b.minimum(b.maximum(b.round(b.div(b.neg(low), scale)), 0.0), 255.0)
        y = b.minimum(b.maximum(b.add(b.round(b.div(x, scale)), zero), 0.0), 255.0)
        return b.cast(y, dtypes.UI8), scale, b.cast(zero, dtypes.UI8)


@irdl_op_definition
class CastScaleOp(GeOp):
    """x >= 0 as a power of two (f8E8M0FNU): of the next ones the upper, lower or nearest, by ``round_mode``.

    Infinity and NaN become NaN; with ``saturate`` values beyond 2^127 become that, else NaN. Zero becomes 2^-127.
    """

    name = "ge.cast_scale"
    GE_TYPES: ClassVar = ()
    x = operand_def(TENSOR)
    saturate = prop_def(BOOL)
    round_mode = prop_def(words("up", "down", "nearest"))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        check_words(cls, attrs)
        if not x.dtype.is_float:
            raise mismatch(f"{cls.name} takes floats, not {x.dtype}")
        return [x.with_dtype(dtypes.BY_NAME["f8E8M0FNU"])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        bits = np.asarray(operands[0].astype(np.float32)).view(np.uint32)
        exponent = (bits >> 23 & 0xFF).astype(np.int32)
        fraction = bits & 0x7FFFFF
        if attrs.round_mode == "up":
            more = fraction > 0
        elif attrs.round_mode == "nearest":  # a tie goes up, but for the smallest
            more = (fraction > 0x400000) | ((fraction == 0x400000) & (exponent > 0))
        else:
            more = np.zeros(bits.shape, bool)
        special = exponent == 0xFF
        y = exponent + (more & ~special)
        if attrs.saturate:
            y = np.where(special, y, np.minimum(y, 0xFE))
        return y.astype(np.uint8).view(dtypes.BY_NAME["f8E8M0FNU"].numpy)
