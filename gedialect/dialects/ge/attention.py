"""Attention and the feed-forward block of transformers, as one op each; both expand to products that have kernels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
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

from gedialect.dialects.ge.activation import gelu, sigmoid, within
from gedialect.dialects.ge.base import FLOAT, INT, TENSOR, Array, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.convolve import matmul
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.nn import check_bias
from gedialect.dialects.ge.numeric import np, require_kinds, wide
from gedialect.dialects.ge.reproducible import matmul as matmul_of
from gedialect.dialects.ge.shapes import mismatch
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

LAYOUTS = ("BNSD", "BSND", "BSH")
"""B batch, N heads, S sequence, D size of a head, H = N D."""
RANKS = {"BNSD": 4, "BSND": 4, "BSH": 3}


@irdl_op_definition
class AttentionOp(GeOp):
    """softmax(scale · query keyᵀ + pse_shift) value for each head, in ``input_layout`` BNSD, BSND or BSH.

    Heads of key and value serve ``num_heads / num_key_value_heads`` heads of query each, in order. ``pse_shift`` is
    added to the scaled scores; where ``atten_mask`` (bool) is true the score is ``mask_value`` (as in GE true masks
    out, the reverse of ONNX). Both broadcast to [B, N, Sq, Sk]. Weights that are no numbers, as in rows with every
    score -inf, become ``nan_value`` where it is given. Without key and value, in BSH, query holds the
    heads of query, key and value one after another along its last axis, as a merged projection makes them.
    """

    name = "ge.attention"
    GE_TYPES: ClassVar = ("FusedInferAttentionScore", "PromptFlashAttention", "IncreFlashAttention")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    FLOAT_ATTRS: ClassVar = frozenset({"scale", "mask_value", "nan_value"})
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    query = operand_def(TENSOR)
    key = opt_operand_def(TENSOR)
    value = opt_operand_def(TENSOR)
    pse_shift = opt_operand_def(TENSOR)
    atten_mask = opt_operand_def(TENSOR)
    y = result_def(TENSOR)
    num_heads = prop_def(INT)
    num_key_value_heads = prop_def(INT)
    scale = prop_def(FLOAT)
    input_layout = prop_def(words(*LAYOUTS))
    mask_value = opt_prop_def(FLOAT)
    nan_value = opt_prop_def(FLOAT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        query, key, value, shift, mask = operands
        assert query is not None
        layout, heads, groups = attrs.input_layout, attrs.num_heads, attrs.num_key_value_heads
        check_words(cls, attrs)
        if heads < 1 or groups < 1 or heads % groups:
            raise mismatch(f"{heads} heads do not divide among {groups} of key and value")
        require_kinds(cls.name, "f", *(s for s in (query, key, value, shift) if s is not None))
        if (key is None) != (value is None) or (key is None and layout != "BSH"):
            raise mismatch(f"{cls.name} takes key and value, or neither in layout BSH")
        if (mask is None) != (attrs.mask_value is None) or (mask is not None and mask.dtype.name != "i1"):
            raise mismatch(f"{cls.name} takes a mask of i1 together with mask_value")
        parts = [s for s in (query, key, value) if s is not None]
        if any(s.rank != RANKS[layout] or s.dtype is not query.dtype for s in parts):
            raise mismatch(f"operands of {cls.name} are {layout} of one type, not {', '.join(map(str, parts))}")
        q, k, v = (_sizes(layout, s, n) for s, n in _split_heads(heads, groups, query, key, value))
        for what, a, b in (
            ("batch", q[0], k[0]),
            ("batch", q[0], v[0]),
            ("sequence", k[2], v[2]),
            ("head", q[3], k[3]),
        ):
            if a != b and DYNAMIC not in (a, b):
                raise mismatch(f"{what} sizes of {cls.name} differ: {a} and {b}")
        if layout != "BSH" and (q[1] not in (heads, DYNAMIC) or {k[1], v[1]} - {groups, DYNAMIC}):
            raise mismatch(f"{cls.name} has {q[1]} heads on {k[1]} and {v[1]}, not {heads} on {groups}")
        for side in (shift, mask):
            if side is not None:
                within(side.with_shape((q[0], heads, q[2], k[2])), side)
        shapes = {
            "BNSD": (q[0], heads, q[2], v[3]),
            "BSND": (q[0], q[2], heads, v[3]),
            "BSH": (q[0], q[2], heads * v[3] if v[3] != DYNAMIC else DYNAMIC),
        }
        return [query.with_shape(shapes[layout])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        query, key, value, shift, mask = operands
        heads, groups = attrs.num_heads, attrs.num_key_value_heads
        if key is None:
            d = query.shape[-1] // (heads + 2 * groups)
            query, key, value = np.split(query, [heads * d, (heads + groups) * d], -1)
        q, k, v = (_bnsd(attrs, wide(x), n) for x, n in ((query, heads), (key, groups), (value, groups)))
        k, v = (np.repeat(x, heads // groups, 1) for x in (k, v))
        scores = matmul_of(q, k.swapaxes(-1, -2)) * attrs.scale
        if shift is not None:
            scores = scores + wide(shift)
        if mask is not None:
            scores = np.where(mask, np.asarray(attrs.mask_value, scores.dtype), scores)
        weights = np.exp(scores - np.max(scores, -1, keepdims=True)) if scores.shape[-1] else scores
        weights = weights / np.sum(weights, -1, keepdims=True)
        if attrs.nan_value is not None:
            weights = np.where(np.isnan(weights), np.asarray(attrs.nan_value, weights.dtype), weights)
        y = matmul_of(weights, v)
        if attrs.input_layout != "BNSD":
            y = y.transpose(0, 2, 1, 3)
        y = y.reshape(*y.shape[:2], -1) if attrs.input_layout == "BSH" else y
        return np.asarray(y).astype(query.dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Two products around a softmax. Heads that share a key read it in place, without copies of it."""
        query, key, value, shift, mask = operands
        heads, groups = attrs.num_heads, attrs.num_key_value_heads
        layout, share = attrs.input_layout, heads // groups
        if key is None:
            query, key, value = _parts(b, query, heads, groups)
            layout = "BSND"
        size, _, sq, d = _sizes(layout, b.spec(query), heads)
        sk, dv = _sizes(layout, b.spec(key), groups)[2], _sizes(layout, b.spec(value), groups)[3]
        if share == 1:
            q, k, v = (_heads(b, layout, x, heads) for x in (query, key, value))
        elif layout == "BNSD" or sq == 1:  # heads that share a key are rows of one product
            q = b.reshape(query, shape=(size, groups, share * sq, d))
            k, v = (_heads(b, layout, x, groups) for x in (key, value))
        else:
            q = b.transpose(b.reshape(query, shape=(size, sq, groups, share, d)), perm=(0, 2, 3, 1, 4))
            k = b.transpose(b.reshape(key, shape=(size, sk, groups, 1, d)), perm=(0, 2, 3, 1, 4))
            v = b.transpose(b.reshape(value, shape=(size, sk, groups, 1, dv)), perm=(0, 2, 3, 1, 4))
        product = b.matmul(q, k, transpose_x1=False, transpose_x2=True)
        scores = product if share == 1 else b.reshape(product, shape=(size, heads, sq, sk))
        if attrs.scale != 1.0:
            scores = b.mul(scores, attrs.scale)
        if shift is not None:
            scores = b.add(scores, shift)
        if mask is not None:
            scores = b.select(mask, b.splat(attrs.mask_value, b.spec(scores).dtype, ()), scores)
        weights = b.softmax(scores, axes=[-1])
        if attrs.nan_value is not None:
            weights = b.select(b.is_nan(weights), b.splat(attrs.nan_value, b.spec(weights).dtype, ()), weights)
        if share > 1:
            weights = b.reshape(weights, shape=b.spec(product).shape)
        y = b.matmul(weights, v, transpose_x1=False, transpose_x2=False)
        if layout != "BNSD" and sq != 1:
            y = b.transpose(y, perm=(0, 2, 1, 3) if share == 1 else (0, 3, 1, 2, 4))
        return y if b.spec(y).shape == attrs.shape else b.reshape(y, shape=attrs.shape)


def _split_heads(heads: int, groups: int, query: Spec, key: Spec | None, value: Spec | None) -> list[tuple[Spec, int]]:
    """(spec, heads) of query, key and value; a merged one taken apart."""
    if key is not None and value is not None:
        return [(query, heads), (key, groups), (value, groups)]
    size, parts = query.shape[-1], heads + 2 * groups
    if size != DYNAMIC and size % parts:
        raise mismatch(f"{size} columns do not divide among {parts} heads")
    d = DYNAMIC if size == DYNAMIC else size // parts
    return [(query.with_shape((*query.shape[:-1], d if d == DYNAMIC else d * n)), n) for n in (heads, groups, groups)]


def _sizes(layout: str, s: Spec, heads: int) -> tuple[int, int, int, int]:
    """(B, N, S, D)."""
    if layout == "BSH":
        b, n, h = s.shape
        if h != DYNAMIC and h % heads:
            raise mismatch(f"{h} columns do not divide among {heads} heads")
        return b, heads, n, DYNAMIC if h == DYNAMIC else h // heads
    b, n, m, d = s.shape
    return (b, n, m, d) if layout == "BNSD" else (b, m, n, d)


def _bnsd(attrs: Attrs, x: Array, heads: int) -> Array:
    if attrs.input_layout == "BSH":
        x = x.reshape(*x.shape[:2], heads, -1)
    return x if attrs.input_layout == "BNSD" else x.transpose(0, 2, 1, 3)


def _parts(b: GeBuilder, x: SSAValue, heads: int, groups: int) -> list[SSAValue]:
    """Query, key and value [B, S, N, D] of a merged projection: whole heads, so that readers can move them."""
    size, sequence, columns = b.spec(x).shape
    total = heads + 2 * groups
    split = b.reshape(x, shape=(size, sequence, total, columns // total))
    ends = (0, heads, heads + groups, total)
    return [b.slice(split, None, None, None, begin=[i], end=[j], axes=[2], strides=[1]) for i, j in pairwise(ends)]


def _heads(b: GeBuilder, layout: str, x: SSAValue, heads: int) -> SSAValue:
    """``x`` as [B, N, S, D]."""
    if layout == "BNSD":
        return x
    size, n, sequence, d = _sizes(layout, b.spec(x), heads)
    split = b.reshape(x, shape=(size, sequence, n, d)) if layout == "BSH" else x
    return b.transpose(split, perm=(0, 2, 1, 3))


ACTIVATIONS = ("relu", "gelu", "fastgelu", "silu")
"""Activations of ``ge.ffn`` by GE's names: gelu is exact, fastgelu its form with tanh."""


@irdl_op_definition
class FfnOp(GeOp):
    """activation(x @ weight1 + bias1) @ weight2 + bias2: the feed-forward block; weights are [K, N] and [N, M]."""

    name = "ge.ffn"
    GE_TYPES: ClassVar = ("FFN",)
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    weight1 = operand_def(TENSOR)
    weight2 = operand_def(TENSOR)
    bias1 = opt_operand_def(TENSOR)
    bias2 = opt_operand_def(TENSOR)
    activation = prop_def(words(*ACTIVATIONS))
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec | None) -> Sequence[Spec]:
        x, first, second, *biases = operands
        assert x is not None and first is not None and second is not None
        check_words(cls, attrs)
        require_kinds(cls.name, "f", x, first, second)
        if x.rank < 2 or first.rank != 2 or second.rank != 2:
            raise mismatch(f"{cls.name} needs x of rank 2 or more and matrices, not {x}, {first}, {second}")
        for a, w in ((x.shape[-1], first), (first.shape[1], second)):
            if a != w.shape[0] and DYNAMIC not in (a, w.shape[0]):
                raise mismatch(f"{cls.name} cannot multiply {a} columns by {w}")
        for bias, w in zip(biases, (first, second), strict=True):
            if bias is not None:
                check_bias(bias, x.dtype, w.shape[1])
        return [x.with_shape((*x.shape[:-1], second.shape[1]))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, first, second, bias1, bias2 = operands
        inner = matmul(x, first, bias1)
        activated = _activated(attrs.activation, wide(inner)).astype(inner.dtype, copy=False)
        return matmul(activated, second, bias2)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x, first, second, bias1, bias2 = operands
        flags = {"transpose_x1": False, "transpose_x2": False}
        inner = b.matmul(x, first, bias1, **flags)
        match attrs.activation:
            case "relu":
                inner = b.relu(inner)
            case "silu":
                inner = b.swish(inner, scale=1.0)
            case other:
                inner = b.gelu(inner, approximate="tanh" if other == "fastgelu" else "none")
        return b.matmul(inner, second, bias2, **flags)


def _activated(name: str, x: Array) -> Array:
    match name:
        case "relu":
            return np.maximum(x, 0)
        case "silu":
            return x * sigmoid(x)
        case _:
            return gelu(x, "tanh" if name == "fastgelu" else "none")
