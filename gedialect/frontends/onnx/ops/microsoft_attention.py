"""Attention of onnxruntime's domain ``com.microsoft``, rotary embedding, and products with n-bit weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.ops.microsoft import MS
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value, check_table
from gedialect.ir import dtypes

LOWEST = -1e30
"""What is added to scores that causality hides: their weights become zero."""


def _static(ctx: Context, x: Value, what: str) -> tuple[int, ...]:
    spec = ctx.spec(x)
    if not spec.is_static:
        raise UnsupportedError(f"{what} needs known sizes", code="GE1205", hint="give them with --input-shape")
    return spec.shape


def _heads(ctx: Context, x: Value, heads: int) -> Value:
    """[B, S, heads * size] as [B, heads, S, size]."""
    batch, length, width = _static(ctx, x, "attention")
    if width % heads:
        raise GeError(f"a width of {width} does not split into {heads} heads", code="GE1005")
    return ctx("transpose", ctx.reshape(x, [batch, length, heads, width // heads]), perm=[0, 2, 1, 3])


def _part(ctx: Context, x: Value, axis: int, begin: int, end: int) -> Value:
    return ctx("slice", x, None, None, None, begin=[begin], end=[end], axes=[axis], strides=[1])


def _sum(ctx: Context, *values: Value | None) -> Value | None:
    total = None
    for value in values:
        if value is not None:
            total = value if total is None else ctx("add", total, value)
    return total


def _hidden(ctx: Context, seen: Value, like: Value, penalty: float) -> Value:
    """0 where ``seen`` is true, ``penalty`` elsewhere."""
    return ctx("select", seen, ctx.scalar_like(like, 0), ctx.scalar_like(like, penalty))


def _causal(ctx: Context, like: Value, rows: int, columns: int) -> Value:
    """[1, 1, rows, columns]: the last row sees all."""
    check_table(rows, columns)
    seen = np.tri(rows, columns, columns - rows, bool)
    lowest = max(LOWEST, float(np.finfo(np.float16).min)) if ctx.dtype(like).itemsize == 2 else LOWEST
    return ctx.const(np.where(seen, 0.0, lowest)[None, None], ctx.dtype(like))


def _mask(ctx: Context, mask: Value, like: Value, batch: int, columns: int, penalty: float) -> Value:
    """Lengths [B], or [B, T] or [B, S, T] of what counts, as an addend of the scores."""
    match ctx.shape(mask):
        case (n,) if n == batch:
            check_table(columns)
            at = ctx.const(np.arange(columns).reshape(1, columns), dtypes.I32)
            lengths = ctx("unsqueeze", ctx.cast(mask, dtypes.I32), axes=[1])
            return ctx("unsqueeze", _hidden(ctx, ctx("less", at, lengths), like, penalty), axes=[1, 2])
        case (_, t) if t == columns:
            seen = ctx("greater", mask, ctx.scalar_like(mask, 0))
            return ctx("unsqueeze", _hidden(ctx, seen, like, penalty), axes=[1, 2])
        case (_, _, t) if t == columns:
            seen = ctx("greater", mask, ctx.scalar_like(mask, 0))
            return ctx("unsqueeze", _hidden(ctx, seen, like, penalty), axes=[1])
        case shape:
            raise UnsupportedError(f"an attention mask of shape {list(shape)} is not supported", code="GE1205")


def _attend(
    ctx: Context, node: Node, q: Value, k: Value, v: Value, addend: Value | None, scale: float, causal: bool
) -> Value:
    """Attention of heads [B, N, S, size], merged to [B, S, N * size]."""
    batch, heads, rows, size = ctx.shape(q)
    columns = ctx.shape(k)[2]
    if causal and rows > 1:
        addend = _sum(ctx, addend, _causal(ctx, q, rows, columns))
    y = ctx(
        "attention",
        q,
        k,
        v,
        addend,
        None,
        num_heads=heads,
        num_key_value_heads=heads,
        scale=scale or size**-0.5,
        input_layout="BNSD",
    )
    width = ctx.shape(v)[3]
    return ctx.reshape(ctx("transpose", y, perm=[0, 2, 1, 3]), [batch, rows, heads * width])


@onnx_op("Attention", domain=MS)
def attention(ctx: Context, node: Node) -> Sequence[Value | None]:
    """Projection and self-attention: mask_index as lengths or a mask of keys; past keys and values in one tensor."""
    x, weights, bias = node.input(0), node.input(1), node.optional(2)
    mask, past, shift = node.optional(3), node.optional(4), node.optional(5)
    if node.int("do_rotary", 0) or node.optional(6) is not None:
        raise UnsupportedError("rotary embedding or shared past in Attention is not supported", code="GE1205")
    heads = node.int("num_heads")
    batch = _static(ctx, x, "Attention")[0]
    total = _static(ctx, weights, "Attention")[1]
    sizes = node.ints("qkv_hidden_sizes", [total // 3] * 3)
    if len(sizes) != 3 or sum(sizes) != total:
        raise GeError(f"qkv_hidden_sizes {sizes} do not add up to {total}", code="GE1005")
    merged = ctx("matmul", x, weights, None, transpose_x1=False, transpose_x2=False)
    merged = ctx("add", merged, bias) if bias is not None else merged
    ends = [sizes[0], sizes[0] + sizes[1], total]
    q, k, v = (_heads(ctx, _part(ctx, merged, 2, e - s, e), heads) for s, e in zip(sizes, ends, strict=True))
    if past is not None:
        before = [ctx("squeeze", _part(ctx, past, 0, i, i + 1), axes=[0]) for i in (0, 1)]
        k, v = (ctx("concat", [b, new], concat_dim=2) for b, new in zip(before, (k, v), strict=True))
    columns = ctx.shape(k)[2]
    addend = shift
    if mask is not None:
        penalty = node.float("mask_filter_value", -10000.0)
        addend = _sum(ctx, shift, _mask(ctx, mask, q, batch, columns, penalty))
    causal = bool(node.int("unidirectional", 0))
    y = _attend(ctx, node, q, k, v, addend, node.float("scale", 0.0), causal)
    if not node.wants(1):
        return [y]
    return [y, ctx("concat", [ctx("unsqueeze", k, axes=[0]), ctx("unsqueeze", v, axes=[0])], concat_dim=0)]


@onnx_op("MultiHeadAttention", domain=MS)
def multi_head_attention(ctx: Context, node: Node) -> Sequence[Value | None]:
    """Query [B, S, D]; key and value [B, T, D], or already [B, N, T, size]."""
    query, key, value, bias = node.input(0), node.optional(1), node.optional(2), node.optional(3)
    mask, shift, past_k, past_v = (node.optional(i) for i in range(4, 8))
    if key is None or value is None or ctx.rank(query) != 3 or len(node.inputs) > 8:
        raise UnsupportedError("packed query, key and value are not supported", code="GE1205")
    heads = node.int("num_heads")
    if bias is not None:
        widths = [ctx.shape(query)[2]] * 2
        widths.append(ctx.shape(bias)[0] - sum(widths))
        if ctx.rank(key) != 3:
            raise UnsupportedError("a bias of separated heads is not supported", code="GE1205")
        ends = [widths[0], widths[0] + widths[1], sum(widths)]
        parts = [_part(ctx, bias, 0, e - w, e) for w, e in zip(widths, ends, strict=True)]
        query, key, value = (ctx("add", t, p) for t, p in zip((query, key, value), parts, strict=True))
    q = _heads(ctx, query, heads)
    k, v = (_heads(ctx, t, heads) if ctx.rank(t) == 3 else t for t in (key, value))
    if past_k is not None and past_v is not None:
        k, v = (ctx("concat", [b, new], concat_dim=2) for b, new in ((past_k, k), (past_v, v)))
    batch, columns = ctx.shape(q)[0], ctx.shape(k)[2]
    addend = shift
    if mask is not None:
        penalty = node.float("mask_filter_value", -10000.0)
        addend = _sum(ctx, shift, _mask(ctx, mask, q, batch, columns, penalty))
    causal = bool(node.int("unidirectional", 0))
    y = _attend(ctx, node, q, k, v, addend, node.float("scale", 0.0), causal)
    return [y, k if node.wants(1) else None, v if node.wants(2) else None]


@onnx_op("RotaryEmbedding", domain=MS)
def rotary_embedding(ctx: Context, node: Node) -> Value:
    """x [B, S, N * size] or [B, N, S, size]; positions [B, S], or one number the first position has."""
    x, positions, cos, sin = (node.input(i) for i in range(4))
    if node.int("is_packed_batching", 0) or node.float("scale", 1.0) != 1.0:
        raise UnsupportedError("packed batches and scales in RotaryEmbedding are not supported", code="GE1205")
    half = _static(ctx, cos, "RotaryEmbedding")[1]
    size = 2 * half
    partial = node.int("rotary_embedding_dim", 0)
    shape = _static(ctx, x, "RotaryEmbedding")
    if len(shape) == 3:
        heads = node.int("num_heads", 0)
        if partial and not heads:
            raise GeError("num_heads is needed with rotary_embedding_dim", code="GE1005")
        y = _heads(ctx, x, heads or shape[2] // size)
    else:
        y = x
    width = ctx.shape(y)[3]
    if (partial or width) != size:
        raise GeError(f"{size} numbers are turned of {width}", code="GE1005")
    length = ctx.shape(y)[2]
    if ctx.spec(positions).size == 1 and ctx.rank(positions) == 1:
        check_table(length)
        positions = ctx("add", ctx.const(np.arange(length)[None], ctx.dtype(positions)), positions)
    tables: list[Value] = []
    for table in (cos, sin):
        rows = ctx("gather", table, positions, axis=0, batch_dims=0)  # [B, S, half]
        if node.int("interleaved", 0):
            pairs = ctx("unsqueeze", rows, axes=[3])
            rows = ctx.reshape(ctx("concat", [pairs, pairs], concat_dim=3), [*ctx.shape(rows)[:2], size])
        else:
            rows = ctx("concat", [rows, rows], concat_dim=2)
        tables.append(ctx("unsqueeze", rows, axes=[1]))
    turned = y if width == size else _part(ctx, y, 3, 0, size)
    turned = ctx("rotary_embedding", turned, *tables, mode=node.int("interleaved", 0))
    if width != size:
        turned = ctx("concat", [turned, _part(ctx, y, 3, size, width)], concat_dim=3)
    return turned if len(shape) == 4 else ctx.reshape(ctx("transpose", turned, perm=[0, 2, 1, 3]), shape)


@onnx_op("MatMulNBits", domain=MS)
def matmul_nbits(ctx: Context, node: Node) -> Value:
    """A [.., K] by B' of [N, blocks, bytes] packed numbers, low bits first, a scale and zero point for each block."""
    a, packed, scales = node.input(0), node.input(1), node.input(2)
    zeros, order, bias = node.optional(3), node.optional(4), node.optional(5)
    k, n, bits, block = node.int("K"), node.int("N"), node.int("bits", 4), node.int("block_size")
    if bits not in (2, 4, 8) or order is not None:
        raise UnsupportedError(f"{bits}-bit weights{' in another order' if order is not None else ''}", code="GE1205")
    blocks = -(-k // block)
    weights = ctx.reshape(_unpacked(ctx, ctx.reshape(packed, [n, blocks, block * bits // 8]), bits), [n, blocks, block])
    if zeros is None:
        zero: Value = ctx.const(float(1 << bits - 1), dtypes.F32)
    elif ctx.dtype(zeros).is_float:
        zero = ctx.cast(ctx.reshape(zeros, [n, blocks, 1]), dtypes.F32)
    else:
        each = _unpacked(ctx, ctx.reshape(zeros, [n, 1, -(-blocks * bits // 8)]), bits)
        zero = ctx.reshape(_part(ctx, each, 2, 0, blocks), [n, blocks, 1])
    scale = ctx.cast(ctx.reshape(scales, [n, blocks, 1]), dtypes.F32)
    real = ctx.reshape(ctx("mul", ctx("sub", weights, zero), scale), [n, blocks * block])
    real = real if blocks * block == k else _part(ctx, real, 1, 0, k)
    y = ctx("matmul", a, ctx.cast(real, ctx.dtype(a)), None, transpose_x1=False, transpose_x2=True)
    return y if bias is None else ctx("add", y, bias)


def _unpacked(ctx: Context, x: Value, bits: int) -> Value:
    """[a, b, bytes] of ui8 as [a, b, 8 / bits * bytes] of f32."""
    if bits == 8:
        return ctx.cast(x, dtypes.F32)
    parts: list[Value] = []
    for shift in range(0, 8, bits):
        moved = ctx("right_shift", x, ctx.const(shift, dtypes.UI8)) if shift else x
        low = ctx("bitwise_and", moved, ctx.const((1 << bits) - 1, dtypes.UI8))
        parts.append(ctx("unsqueeze", low, axes=[3]))
    a, b, count = ctx.shape(x)
    return ctx.cast(ctx.reshape(ctx("concat", parts, concat_dim=3), [a, b, count * 8 // bits]), dtypes.F32)
