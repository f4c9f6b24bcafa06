"""Matrix products, bias and einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    var_operand_def,
)

from gedialect.dialects.ge.base import BOOL, STR, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.contraction import contract
from gedialect.dialects.ge.convolve import einsum, einsum_shape, matmul, product_dtype
from gedialect.dialects.ge.layouts import LAYOUTS, channel_axis
from gedialect.dialects.ge.nn import check_bias
from gedialect.dialects.ge.numeric import np, widen
from gedialect.dialects.ge.quant import limits
from gedialect.dialects.ge.shapes import broadcast, mismatch, same_dtype
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


def _product_shape(attrs: Attrs, x1: Spec, x2: Spec) -> tuple[int, ...]:
    if x1.rank < 2 or x2.rank < 2:
        raise mismatch(f"a matrix product needs operands of rank 2 or more, not {x1} and {x2}")
    m, k1 = x1.shape[:-3:-1] if attrs.transpose_x1 else x1.shape[-2:]
    k2, n = x2.shape[:-3:-1] if attrs.transpose_x2 else x2.shape[-2:]
    if k1 != k2 and DYNAMIC not in (k1, k2):
        raise mismatch(f"{x1} and {x2} do not multiply: {k1} against {k2}")
    return (*broadcast(x1.shape[:-2], x2.shape[:-2]), m, n)


def _sides(attrs: Attrs, x1: Any, x2: Any) -> tuple[Any, Any]:
    return (
        x1.swapaxes(-1, -2) if attrs.transpose_x1 else x1,
        x2.swapaxes(-1, -2) if attrs.transpose_x2 else x2,
    )


@irdl_op_definition
class MatmulOp(GeOp):
    """``x1 @ x2 + bias`` over the last two axes; leading axes broadcast, bias is [n]."""

    name = "ge.matmul"
    GE_TYPES: ClassVar = (
        "MatMulV2",
        "BatchMatMulV2",
        "MatMul",
        "BatchMatMul",
        "GEMM",
        "FullyConnection",
    )
    FUSION_CLASS: ClassVar = FusionClass.CUBE
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    transpose_x1 = prop_def(BOOL)
    transpose_x2 = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x1, x2, bias = operands
        shape, dtype = _product_shape(attrs, x1, x2), product_dtype(x1, x2)
        if bias is not None:
            check_bias(bias, dtype, shape[-1])
        return [Spec(dtype, shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2, bias = operands
        return matmul(*_sides(attrs, x1, x2), bias)


@irdl_op_definition
class QuantMatmulOp(GeOp):
    """``(x1 @ x2 + bias) * scale + offset`` of i8 operands with an i32 accumulator.

    scale (f32) and offset are scalars or [n]; bias is i32 or f32 [n]. The result type says the element type:
    a float, or i8 (rounded half to even, then saturated).
    """

    name = "ge.quant_matmul"
    GE_TYPES: ClassVar = ("QuantBatchMatmulV3", "QuantBatchMatmul", "QuantBatchMatmulV4")
    FUSION_CLASS: ClassVar = FusionClass.CUBE
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x1 = operand_def(TENSOR)
    x2 = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    offset = opt_operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    transpose_x1 = prop_def(BOOL)
    transpose_x2 = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x1, x2, scale, offset, bias = operands
        shape = _product_shape(attrs, x1, x2)
        if product_dtype(x1, x2).name != "i32":
            raise mismatch(f"{cls.name} multiplies narrow integers, not {x1.dtype} and {x2.dtype}")
        for side in (scale, offset, bias):
            if side is not None:
                broadcast(side.shape, shape[-1:])
        if not attrs.results:
            raise GeError("quant_matmul needs its result type", code="GE1903")
        return [Spec(attrs.dtype, shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x1, x2, scale, offset, bias = operands
        integer = bias is not None and bias.dtype.kind == "i"
        y = matmul(*_sides(attrs, x1, x2), bias if integer else None).astype(np.float32)
        if bias is not None and not integer:
            y = y + bias.astype(np.float32)
        y = y * scale.astype(np.float32)
        if offset is not None:
            y = y + offset.astype(np.float32)
        out = attrs.dtype
        if out.is_int:
            y = np.clip(np.rint(y), *limits(out))
        return y.astype(out.numpy)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x1, x2, scale, offset, bias = operands
        integer = bias is not None and not b.spec(bias).dtype.is_float
        flags = {"transpose_x1": attrs.transpose_x1, "transpose_x2": attrs.transpose_x2}
        y = b.cast(b.matmul(x1, x2, bias if integer else None, **flags), F32)
        if bias is not None and not integer:
            y = b.add(y, b.cast(bias, F32))
        y = b.mul(y, b.cast(scale, F32))
        if offset is not None:
            y = b.add(y, b.cast(offset, F32))
        if attrs.dtype.is_int:
            low, high = limits(attrs.dtype)
            y = b.minimum(b.maximum(b.round(y), float(low)), float(high))
        return b.cast(y, attrs.dtype)


@irdl_op_definition
class BiasAddOp(GeOp):
    """``x + bias`` along the channels of ``data_format``; bias is [C]."""

    name = "ge.bias_add"
    GE_TYPES: ClassVar = ("BiasAdd", "Bias")
    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    x = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    data_format = prop_def(words(*LAYOUTS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, bias = operands
        channels = x.shape[_bias_axis(attrs, x.rank)]
        if bias.rank != 1 or (bias.shape[0] != channels and DYNAMIC not in (bias.shape[0], channels)):
            raise mismatch(f"bias is {bias}, a vector of {channels} is needed")
        return [same_dtype(x, bias).with_shape(x.shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, bias = operands
        return x + bias.reshape(-1, *[1] * (x.ndim - 1 - _bias_axis(attrs, x.ndim)))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, bias = operands
        rank = b.spec(x).rank
        trailing = rank - 1 - _bias_axis(attrs, rank)
        if trailing:
            bias = b.reshape(bias, shape=[-1, *[1] * trailing])
        return b.add(x, bias)


def _bias_axis(attrs: Attrs, rank: int) -> int:
    """NCHW and NHWC stand for channels at axis 1 and last at any rank from 2, as in TensorFlow."""
    if rank < 2:
        raise mismatch(f"bias_add needs rank 2 or more, not {rank}")
    if attrs.data_format in ("NCHW", "NHWC"):
        return 1 if attrs.data_format == "NCHW" else rank - 1
    return channel_axis(attrs.data_format, rank)


@irdl_op_definition
class EinsumOp(GeOp):
    """Sum of products by ``equation`` (numpy's notation: letters, one ellipsis a term, implicit results)."""

    name = "ge.einsum"
    GE_TYPES: ClassVar = ("Einsum",)
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = var_operand_def(TENSOR)
    equation = prop_def(STR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (specs,) = operands
        if not specs:
            raise mismatch("einsum needs an operand")
        return [Spec(same_dtype(*specs).dtype, einsum_shape(attrs.equation, [s.shape for s in specs]))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return einsum(attrs.equation, operands[0])

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Matrix products of two operands at a time; halves keep f32 between."""
        values = [widen(b, v) for v in operands[0]] if len(operands[0]) > 2 else operands[0]
        return b.cast(contract(b, attrs.equation, values), attrs.dtype)
