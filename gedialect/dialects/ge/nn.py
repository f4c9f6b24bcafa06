"""Convolutions: matrix unit.

``x`` lies in ``data_format`` (NCHW or NHWC, NCDHW or NDHWC); ``filter`` is always logically
[Cout, Cin / groups, *kernel] ([Cin, Cout / groups, *kernel] when transposed), whatever the format, so that
a change of layout leaves weights alone and packing them is the matter of ``ge.trans_data``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.base import INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.convolve import convolve, convolve_transposed, product_dtype
from gedialect.dialects.ge.layouts import LAYOUTS, channel_axis, spatial_axes
from gedialect.dialects.ge.shapes import mismatch, window
from gedialect.ir.spec import DYNAMIC, Spec


def _check(cls: type[GeOp], attrs: Attrs, x: Spec, kernel: Spec, rank: int, lists: Sequence[str]) -> None:
    """Ranks and lengths of the attribute lists; GE1005 on a mismatch."""
    if x.rank != rank or kernel.rank != rank:
        raise mismatch(f"{cls.name} needs x and filter of rank {rank}, not {x.rank} and {kernel.rank}")
    for name in lists:
        values = attrs.get(name)
        want = (rank - 2) * (2 if name == "pads" else 1)
        if values is not None and len(values) != want:
            raise mismatch(f"{name} has {len(values)} entries, {want} are needed")
        if name in ("strides", "dilations") and values is not None and min(values) < 1:
            raise mismatch(f"{name} are {list(values)}, each is 1 or more")
    if not kernel.is_static:
        raise mismatch("the shape of the filter must be known")
    if attrs.groups < 1 or kernel.shape[0] % attrs.groups:
        raise mismatch(f"groups = {attrs.groups} does not divide {kernel.shape[0]}")


def _result(attrs: Attrs, x: Spec, kernel: Spec, bias: Spec | None, channels: int, sizes: Sequence[int]) -> Spec:
    dtype = product_dtype(x, kernel)
    if bias is not None:
        check_bias(bias, dtype, channels)
    shape = list(x.shape)
    shape[channel_axis(attrs.data_format, x.rank)] = channels
    for axis, size in zip(spatial_axes(attrs.data_format, x.rank), sizes, strict=True):
        shape[axis] = size
    return Spec(dtype, tuple(shape))


def check_bias(bias: Spec, dtype: Any, channels: int) -> None:
    """A bias is [channels], of the result's type, or f32 for a float result; GE1005 otherwise."""
    if bias.rank != 1 or (bias.shape[0] != channels and DYNAMIC not in (bias.shape[0], channels)):
        raise mismatch(f"bias is {bias}, a vector of {channels} is needed")
    if bias.dtype is not dtype and not (dtype.is_float and bias.dtype.name == "f32"):
        raise mismatch(f"bias is {bias.dtype}, the result {dtype}")


class ConvOp(GeOp):
    """Convolution with any stride, dilation, group and pad; integers of up to 16 bits give i32."""

    FUSION_CLASS: ClassVar = FusionClass.CUBE
    RANK: ClassVar[int] = 4
    x = operand_def(TENSOR)
    filter = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    data_format = prop_def(words(*LAYOUTS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, kernel, bias = operands
        _check(cls, attrs, x, kernel, cls.RANK, ("strides", "pads", "dilations"))
        channels = x.shape[channel_axis(attrs.data_format, x.rank)]
        if channels not in (DYNAMIC, kernel.shape[1] * attrs.groups):
            raise mismatch(
                f"x has {channels} channels, the filter takes {kernel.shape[1]} in each of {attrs.groups} groups"
            )
        n = cls.RANK - 2
        sizes = [
            window(x.shape[axis], kernel.shape[2 + i], attrs.strides[i], attrs.pads[i] + attrs.pads[n + i], d)
            for i, (axis, d) in enumerate(zip(spatial_axes(attrs.data_format, x.rank), attrs.dilations, strict=True))
        ]
        return [_result(attrs, x, kernel, bias, kernel.shape[0], sizes)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, kernel, bias = operands
        return convolve(attrs, x, kernel, bias)


class ConvTransposeOp(GeOp):
    """Transposed convolution.

    The result's size is ``stride * (size - 1) + output_padding + dilation * (kernel - 1) + 1 - pads``.
    ``output_shape`` (spatial), where present, is that size instead and makes end pads and output_padding void.
    """

    FUSION_CLASS: ClassVar = FusionClass.CUBE
    RANK: ClassVar[int] = 4
    x = operand_def(TENSOR)
    filter = operand_def(TENSOR)
    bias = opt_operand_def(TENSOR)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    groups = prop_def(INT)
    output_padding = prop_def(INTS)
    output_shape = opt_prop_def(INTS)
    data_format = prop_def(words(*LAYOUTS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, kernel, bias = operands
        _check(cls, attrs, x, kernel, cls.RANK, ("strides", "pads", "dilations", "output_padding", "output_shape"))
        if min(attrs.pads) < 0:
            raise mismatch("pads of a transposed convolution are not negative")
        channels = x.shape[channel_axis(attrs.data_format, x.rank)]
        if channels not in (DYNAMIC, kernel.shape[0]):
            raise mismatch(f"x has {channels} channels, the filter takes {kernel.shape[0]}")
        sizes = [x.shape[a] for a in spatial_axes(attrs.data_format, x.rank)]
        return [_result(attrs, x, kernel, bias, kernel.shape[1] * attrs.groups, transposed_sizes(attrs, sizes, kernel))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, kernel, bias = operands
        return convolve_transposed(attrs, x, kernel, bias, transposed_sizes)


def transposed_sizes(attrs: Attrs, sizes: Sequence[int], kernel: Any) -> list[int]:
    """Spatial sizes of the result of a transposed convolution (``kernel``: array or spec)."""
    if attrs.output_shape is not None:
        return list(attrs.output_shape)
    n = len(sizes)
    out = [
        DYNAMIC
        if size == DYNAMIC
        else attrs.strides[i] * (size - 1)
        + attrs.output_padding[i]
        + attrs.dilations[i] * (kernel.shape[2 + i] - 1)
        + 1
        - attrs.pads[i]
        - attrs.pads[n + i]
        for i, size in enumerate(sizes)
    ]
    if any(o < 0 for o in out if o != DYNAMIC) or prod(attrs.strides) < 1:
        raise mismatch(f"the pads {list(attrs.pads)} leave a result of {out}")
    return out


@irdl_op_definition
class Conv2dOp(ConvOp):
    """2-D convolution."""

    name = "ge.conv2d"
    GE_TYPES: ClassVar = ("Conv2D", "Conv2DCompress")


@irdl_op_definition
class Conv3dOp(ConvOp):
    """3-D convolution."""

    name = "ge.conv3d"
    GE_TYPES: ClassVar = ("Conv3D",)
    RANK: ClassVar = 5


@irdl_op_definition
class Conv2dTransposeOp(ConvTransposeOp):
    """2-D transposed convolution."""

    name = "ge.conv2d_transpose"
    GE_TYPES: ClassVar = ("Conv2DTranspose", "Conv2DTransposeD", "Deconvolution", "Conv2DBackpropInput")


@irdl_op_definition
class Conv3dTransposeOp(ConvTransposeOp):
    """3-D transposed convolution."""

    name = "ge.conv3d_transpose"
    GE_TYPES: ClassVar = ("Conv3DTranspose", "Conv3DTransposeD")
    RANK: ClassVar = 5
