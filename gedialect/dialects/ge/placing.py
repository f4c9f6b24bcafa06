"""Running products, columns back to images, bits under another type."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.elementwise import UnaryOp
from gedialect.dialects.ge.numeric import np, wide, widen
from gedialect.dialects.ge.shapes import mismatch, normalize_axis
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

UNROLLED = 128
"""Most cells of a block that ``col2im`` adds one by one in kernels."""


@irdl_op_definition
class BitCastOp(GeOp):
    """The bits of x as another element type of the same width."""

    name = "ge.bit_cast"
    GE_TYPES: ClassVar = ("Bitcast",)
    FUSION_CLASS: ClassVar = FusionClass.VIEW
    x = operand_def(TENSOR)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        if not attrs.results:
            raise GeError("a bit cast needs its result type", code="GE1903")
        # narrow types take a whole byte in memory, and a bool is 0 or 1 there
        if x.dtype.itemsize != attrs.dtype.itemsize or (attrs.dtype.kind == "b" and x.dtype.kind != "b"):
            raise mismatch(f"the bits of {x.dtype} are no {attrs.dtype}")
        if x.dtype.bits != attrs.dtype.bits or (x.dtype.bits < 8 and x.dtype is not attrs.dtype):
            raise mismatch(f"bits of {x.dtype} as {attrs.dtype}")
        return [x.with_dtype(attrs.dtype)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.ascontiguousarray(operands[0]).view(attrs.dtype.numpy).reshape(operands[0].shape)


@irdl_op_definition
class CumprodOp(UnaryOp):
    """Running product along ``axis``, without the element itself if ``exclusive``, from the end if ``reverse``.

    f16 and bf16 multiply in f32; integers wrap.
    """

    name = "ge.cumprod"
    GE_TYPES: ClassVar = ("Cumprod", "CumprodD")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    axis = prop_def(INT)
    exclusive = prop_def(BOOL)
    reverse = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        if not x.rank:
            raise mismatch(f"{cls.name} needs an axis, x is {x}")
        normalize_axis(attrs.axis, x.rank)
        return [x]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, axis = wide(operands[0]), attrs.axis
        x = np.flip(x, axis) if attrs.reverse else x
        y = np.cumprod(x, axis=axis, dtype=x.dtype)
        if attrs.exclusive and x.shape[axis]:
            first = np.ones_like(np.take(y, [0], axis=axis))
            y = np.concatenate([first, np.take(y, np.arange(x.shape[axis] - 1), axis=axis)], axis)
        y = np.flip(y, axis) if attrs.reverse else y
        return y.astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Products of 2, 4, 8, .. neighbours: each step multiplies by itself, moved on."""
        spec = b.spec(operands[0])
        axis: int = attrs.axis % spec.rank
        n = spec.shape[axis]
        y = widen(b, operands[0])
        dtype = b.spec(y).dtype

        def moved(x: Any, by: int) -> Any:
            begin, end = (by, n) if attrs.reverse else (0, n - by)
            kept = b.slice(x, None, None, None, begin=[begin], end=[end], axes=[axis], strides=[1])
            paddings = [0] * 2 * spec.rank
            paddings[spec.rank + axis if attrs.reverse else axis] = by
            return b.pad(kept, None, b.splat(1, dtype), paddings=paddings, mode="constant")

        if attrs.exclusive:
            y = moved(y, 1)
        step = 1
        while step < n:
            y = b.mul(y, moved(y, step))
            step *= 2
        return b.cast(y, spec.dtype)


@irdl_op_definition
class Col2imOp(GeOp):
    """x [N, C * cells, blocks] as an image [N, C, *output_size]: overlapping blocks add up.

    Blocks of ``ksize`` cells lie ``strides`` apart, their cells ``dilations``; ``pads`` are cut off.
    """

    name = "ge.col2im"
    GE_TYPES: ClassVar = ("Col2im", "Col2ImV2")
    x = operand_def(TENSOR)
    output_size = prop_def(INTS)
    ksize = prop_def(INTS)
    strides = prop_def(INTS)
    pads = prop_def(INTS)
    dilations = prop_def(INTS)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        n = len(attrs.ksize)
        lists = (attrs.output_size, attrs.strides, attrs.dilations)
        if x.rank != 3 or any(len(a) != n for a in lists) or len(attrs.pads) != 2 * n or not x.is_static:
            raise mismatch(f"{x} has no blocks of {n} dims")
        if min(*attrs.ksize, *attrs.strides, *attrs.dilations, *attrs.output_size) < 1:
            raise mismatch("sizes, strides and dilations are positive")
        blocks = _blocks(attrs)
        if min(blocks) < 1 or x.shape[2] != prod(blocks) or x.shape[1] % prod(attrs.ksize):
            raise mismatch(f"{x} does not hold {blocks} blocks of {list(attrs.ksize)} cells")
        return [x.with_shape((x.shape[0], x.shape[1] // prod(attrs.ksize), *attrs.output_size))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = wide(operands[0])
        blocks, n = _blocks(attrs), len(attrs.ksize)
        x = x.reshape(len(x), -1, *attrs.ksize, *blocks)
        room = [s + attrs.pads[i] + attrs.pads[n + i] for i, s in enumerate(attrs.output_size)]
        y = np.zeros((*x.shape[:2], *room), x.dtype)
        every = (slice(None), slice(None))
        for cell in product(*map(range, attrs.ksize)):
            place = [
                slice(c * d, c * d + (count - 1) * s + 1, s)
                for c, d, s, count in zip(cell, attrs.dilations, attrs.strides, blocks, strict=True)
            ]
            y[(*every, *place)] += x[(*every, *cell)]
        crop = [slice(attrs.pads[i], attrs.pads[i] + s) for i, s in enumerate(attrs.output_size)]
        return np.ascontiguousarray(y[(*every, *crop)]).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """One cell of all blocks at a time: spread by the stride, moved to its place, added."""
        spec = b.spec(operands[0])
        cells, blocks, n = prod(attrs.ksize), _blocks(attrs), len(attrs.ksize)
        if cells > UNROLLED:
            raise UnsupportedError(f"blocks of {cells} cells are not written out", code="GE1205")
        batch, channels = spec.shape[0], spec.shape[1] // cells
        x = b.reshape(widen(b, operands[0]), shape=[batch * channels, cells, *blocks])
        dtype = b.spec(x).dtype
        lead = batch * channels
        total: Any = None
        for index, cell in enumerate(product(*map(range, attrs.ksize))):
            part = b.slice(x, None, None, None, begin=[index], end=[index + 1], axes=[1], strides=[1])
            spread = [1, *(v for count in blocks for v in (count, 1))]
            part = b.reshape(part, shape=[lead, *spread[1:]])
            if any(s > 1 for s in attrs.strides):
                paddings = [0] * 2 * (1 + 2 * n)
                for i, s in enumerate(attrs.strides):
                    paddings[1 + 2 * n + 2 + 2 * i] = s - 1
                part = b.pad(part, None, b.splat(0, dtype), paddings=paddings, mode="constant")
            sizes = [count * s for count, s in zip(blocks, attrs.strides, strict=True)]
            part = b.reshape(part, shape=[lead, *sizes])
            before = [c * d - attrs.pads[i] for i, (c, d) in enumerate(zip(cell, attrs.dilations, strict=True))]
            after = [o - f - s for o, f, s in zip(attrs.output_size, before, sizes, strict=True)]
            begin, end = [max(-f, 0) for f in before], [s + min(a, 0) for s, a in zip(sizes, after, strict=True)]
            if any(f >= o or s <= g for f, o, s, g in zip(before, attrs.output_size, end, begin, strict=True)):
                continue  # all of it is cut off
            if begin != [0] * n or end != sizes:
                axes = list(range(1, 1 + n))
                part = b.slice(part, None, None, None, begin=begin, end=end, axes=axes, strides=[1] * n)
            paddings = [0, *(max(f, 0) for f in before), 0, *(max(a, 0) for a in after)]
            if any(paddings):
                part = b.pad(part, None, b.splat(0, dtype), paddings=paddings, mode="constant")
            total = part if total is None else b.add(total, part)
        if total is None:
            return b.splat(0, spec.dtype, attrs.shape)
        return b.cast(b.reshape(total, shape=list(attrs.shape)), spec.dtype)


def _blocks(attrs: Attrs) -> list[int]:
    """How many blocks there are along each dim."""
    n = len(attrs.ksize)
    return [
        (attrs.output_size[i] + attrs.pads[i] + attrs.pads[n + i] - attrs.dilations[i] * (attrs.ksize[i] - 1) - 1)
        // attrs.strides[i]
        + 1
        for i in range(n)
    ]
