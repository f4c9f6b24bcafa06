"""Composites of language models: rotary embedding and gated units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from gedialect.dialects.ge.activation import expand_gelu, gelu, sigmoid, within
from gedialect.dialects.ge.base import BOOL, INT, TENSOR, Array, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.elementwise import FloatOp
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np, require_kinds, wide, widen
from gedialect.dialects.ge.shapes import mismatch, normalize_axis
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


@irdl_op_definition
class RotaryEmbeddingOp(GeOp):
    """x cos + turned(x) sin over the last axis, cos and sin broadcast to x.

    turned(x) is (-second half, first half) in mode 0; in mode 1 each pair (a, b) becomes (-b, a).
    """

    name = "ge.rotary_embedding"
    GE_TYPES: ClassVar = ("RotaryPositionEmbedding", "RotaryMul")
    x = operand_def(TENSOR)
    cos = operand_def(TENSOR)
    sin = operand_def(TENSOR)
    y = result_def(TENSOR)
    mode = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        x = operands[0]
        require_kinds(cls.name, "f", x)
        if attrs.mode not in (0, 1):
            raise mismatch(f"mode of {cls.name} is 0 (halves) or 1 (pairs), not {attrs.mode}")
        if x.rank == 0 or (x.shape[-1] != DYNAMIC and x.shape[-1] % 2):
            raise mismatch(f"{cls.name} needs an even last axis, x is {x}")
        return [within(*operands)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, cos, sin = (wide(v) for v in operands)
        half = x.shape[-1] // 2
        if attrs.mode == 0:
            turned = np.concatenate([-x[..., half:], x[..., :half]], -1)
        else:
            turned = np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        return np.asarray(x * cos + turned * sin).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, cos, sin = (widen(b, v) for v in operands)
        spec = b.spec(x)
        n = spec.shape[-1]
        split = b.reshape(x, shape=(*spec.shape[:-1], *((2, n // 2) if attrs.mode == 0 else (n // 2, 2))))
        axis = spec.rank - 1 if attrs.mode == 0 else spec.rank
        first = b.slice(split, begin=[0], end=[1], axes=[axis])
        second = b.slice(split, begin=[1], end=[2], axes=[axis])
        swapped = b.reshape(b.concat([second, first], concat_dim=axis), shape=spec.shape)
        signs = np.ones(n, spec.dtype.numpy)
        signs[: n // 2 if attrs.mode == 0 else None : 1 if attrs.mode == 0 else 2] = -1
        sin = b.mul(sin, b.array(signs))  # the sign belongs to the table: often nothing is left to do in the run
        return b.cast(b.add(b.mul(x, cos), b.mul(swapped, sin)), attrs.dtype)


class GatedOp(FloatOp):
    """Half of x along ``dim``, activated, times the other half.

    The expansion reads the halves as slices of x.
    """

    FUSION_CLASS: ClassVar = FusionClass.REDUCTION
    dim = prop_def(INT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        (x,) = super().infer(attrs, *operands)
        axis = normalize_axis(attrs.dim, x.rank)
        if x.rank == 0 or (x.shape[axis] != DYNAMIC and x.shape[axis] % 2):
            raise mismatch(f"{cls.name} needs an even axis {attrs.dim}, x is {x}")
        return [x.with_shape([d // 2 if i == axis and d != DYNAMIC else d for i, d in enumerate(x.shape)])]


def halves(attrs: Attrs, x: Array) -> tuple[Array, Array]:
    """The two halves along ``dim`` in f32 at least."""
    first, second = np.split(wide(x), 2, attrs.dim)
    return first, second


def expand_halves(b: GeBuilder, attrs: Attrs, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """``halves`` as slices."""
    spec = b.spec(x)
    axis = normalize_axis(attrs.dim, spec.rank)
    size = spec.shape[axis]
    first = b.slice(x, None, None, None, begin=[0], end=[size // 2], axes=[axis], strides=[1])
    second = b.slice(x, None, None, None, begin=[size // 2], end=[size], axes=[axis], strides=[1])
    return widen(b, first), widen(b, second)


@irdl_op_definition
class SwiGluOp(GatedOp):
    """a sigmoid(a) b, a and b the first and second half of x along ``dim``."""

    name = "ge.swi_glu"
    GE_TYPES: ClassVar = ("SwiGlu",)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        first, second = halves(attrs, operands[0])
        return np.asarray(first * sigmoid(first) * second).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        first, second = expand_halves(b, attrs, operands[0])
        gate = b.div(first, b.add(b.exp(b.neg(first)), 1.0))
        return b.cast(b.mul(gate, second), b.spec(operands[0]).dtype)


@irdl_op_definition
class GeGluOp(GatedOp):
    """gelu(a) b; a is the second half of x along ``dim``, the first if ``activate_left``."""

    name = "ge.ge_glu"
    GE_TYPES: ClassVar = ("GeGluV2",)
    approximate = prop_def(words("none", "tanh"))
    activate_left = prop_def(BOOL)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        check_words(cls, attrs)
        return super().infer(attrs, *operands)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        first, second = halves(attrs, operands[0])
        gate, other = (first, second) if attrs.activate_left else (second, first)
        return np.asarray(gelu(gate, attrs.approximate) * other).astype(operands[0].dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        first, second = expand_halves(b, attrs, operands[0])
        gate, other = (first, second) if attrs.activate_left else (second, first)
        return b.cast(b.mul(expand_gelu(b, gate, attrs.approximate), other), b.spec(operands[0]).dtype)
