"""Attention, from its products and softmax to one op over merged projections, step by step.

Exporters differ in where they scale, how they mask and how they move heads: each rule takes one such choice in.
"""
# pyright: basic

from __future__ import annotations

from gedialect.ir.dtypes import DType
from gedialect.patterns import NoMatch, Value, attr, ge, number, one_of, optional, rule
from gedialect.patterns.catalogue._ranges import normal

LAST = {"softmax over the last axis": lambda a: tuple(a) in ((-1,), (3,))}
HEADS = {
    "float": lambda q: q.dtype.is_float,
    "the scale is a number": lambda q, c, d: scales(q.dtype, c, d),
    "[batch, heads, sequence, size]": lambda q, k, v: same_heads(q, k, v),
    **LAST,
}
NEW = {
    "num_heads": lambda q: q.shape[1],
    "num_key_value_heads": lambda k: k.shape[1],
    "input_layout": "BNSD",
    "nan_value": lambda z: None if z is None else float(z),
}


def same_heads(q: Value, k: Value, v: Value) -> bool:
    """Whether query, key and value are [B, N, S, D] with equal, known B, and equal N or one head for all."""
    if not q.rank == k.rank == v.rank == 4 or -1 in q.shape[:2]:
        return False
    return k.shape[:2] == v.shape[:2] and k.shape[:2] in (q.shape[:2], (q.shape[0], 1))


def _scores(q, k, c, d, t):
    """Scaled by a factor, by a divisor, or not."""
    s = ge.matmul(q, k, transpose_x1=False, transpose_x2=t)
    return one_of(s * c, s / d, s)


def factor(c: float | None, d: float | None) -> float:
    """The scale that ``_scores`` found."""
    if d == 0:
        raise NoMatch("the scores are divided by 0")
    return c if c is not None else 1.0 if d is None else 1.0 / d


def scales(dtype: DType, c: float | None, d: float | None) -> bool:
    """Whether scores may be scaled in one step."""
    return d != 0 and normal(dtype, factor(c, d))


def _weighted(scores, v, a, z):
    """The product of softmax and values; weights that are no numbers (rows without a score) may be replaced."""
    weights = ge.softmax(scores, axes=a)
    weights = one_of(ge.select(ge.is_nan(weights), z, weights), weights)
    return ge.matmul(weights, v, transpose_x1=False, transpose_x2=False)


def _keys(k):
    """``k`` as [B, N, S, D]."""
    return ge.transpose(k, perm=lambda t: [0, 1, 2, 3] if t else [0, 1, 3, 2])


SHAPES = {
    "q": lambda shapes: (2, 3, 4, 3),
    "k": lambda shapes, rng: (2, int(rng.choice([1, 3])), 3, 3),
    "v": lambda shapes: (2, shapes["k"][1] if "k" in shapes else 3, 3, 2),
    "a": lambda rng: [-1],
}
"""For the proof: heads of their own, or one for all."""


@rule(exact="tolerance", where=HEADS, samples=SHAPES)
def attention(q, k, v, m, c: number, d: number, z: number, t: attr, a: attr):
    """softmax(scale · q kᵀ + mask) v; the mask, if there is one, is added."""
    s = _scores(q, k, c, d, t)
    return (
        _weighted(one_of(s + m, s), v, a, z),
        ge.attention(q, _keys(k), v, m, None, scale=lambda c, d: factor(c, d), **NEW),
    )


@rule(exact="tolerance", where={**HEADS, "masks are known": lambda n: abs(n) > 0}, samples=SHAPES)
def attention_masked(q, k, v, b, c: number, d: number, n: number, z: number, t: attr, a: attr):
    """softmax(where(mask, n, scale · q kᵀ)) v: a mask that takes out."""
    return (
        _weighted(ge.select(b, n, _scores(q, k, c, d, t)), v, a, z),
        ge.attention(q, _keys(k), v, None, b, scale=lambda c, d: factor(c, d), mask_value=lambda n: float(n), **NEW),
    )


@rule(exact="tolerance", where={**HEADS, "masks are known": lambda n: abs(n) > 0}, samples=SHAPES)
def attention_kept(q, k, v, b, c: number, d: number, n: number, z: number, t: attr, a: attr):
    """softmax(where(mask, scale · q kᵀ, n)) v: a mask that keeps."""
    return (
        _weighted(ge.select(b, _scores(q, k, c, d, t), n), v, a, z),
        ge.attention(
            q,
            _keys(k),
            v,
            None,
            ge.logical_not(b),
            scale=lambda c, d: factor(c, d),
            mask_value=lambda n: float(n),
            **NEW,
        ),
    )


def flat_heads(q: Value, k: Value, v: Value) -> bool:
    """Whether query, key and value are [B · N, S, D] of as many heads."""
    known = all(x.rank == 3 and x.is_static and 0 not in x.shape for x in (q, k, v))
    return known and q.shape[0] == k.shape[0] == v.shape[0]


def with_heads(x: Value, heads: tuple[int, ...]) -> list[int]:
    """The shape of ``x`` [B · N, S, D] as [B, N, S, D]."""
    return [*heads, *x.shape[1:]]


FLAT = {
    "float": lambda q: q.dtype.is_float,
    "the scale is a number": lambda q, c, d: scales(q.dtype, c, d),
    "[batch · heads, sequence, size]": lambda q, k, v: flat_heads(q, k, v),
}
FLAT_SAMPLES = {"q": lambda shapes: (6, 3, 4), "k": lambda shapes: (6, 4, 4), "v": lambda shapes: (6, 4, 2)}


@rule(
    exact="tolerance",
    where={**FLAT, "softmax over the last axis": lambda a: tuple(a) in ((-1,), (2,))},
    samples={**FLAT_SAMPLES, "a": lambda rng: [-1]},
)
def attention_flat(q, k, v, c: number, d: number, z: number, t: attr, a: attr):
    """Attention with the heads in the batch: one head each, until ``attention_flat_heads`` sees more."""
    y = ge.attention(
        ge.reshape(q, shape=lambda q: with_heads(q, (q.shape[0], 1))),
        _keys(ge.reshape(k, shape=lambda k: with_heads(k, (k.shape[0], 1)))),
        ge.reshape(v, shape=lambda v: with_heads(v, (v.shape[0], 1))),
        None,
        None,
        scale=lambda c, d: factor(c, d),
        **{**NEW, "num_heads": 1, "num_key_value_heads": 1},
    )
    return _weighted(_scores(q, k, c, d, t), v, a, z), ge.reshape(y, shape=lambda out: list(out.shape))


@rule(
    exact="tolerance",
    where={
        **FLAT,
        "scores are told apart by head": lambda wide, q, v: (
            wide.rank == 4 and wide.shape[2:] == (q.shape[1], v.shape[1])
        ),
        "a mask of scores": lambda wide, masked: wide.shape == masked.shape,
        "softmax over the last axis": lambda a, w: len(a) == 1 and a[0] % w.rank == w.rank - 1,
    },
    samples={
        **FLAT_SAMPLES,
        "m": lambda shapes: (2, 1, 3, 4),
        "h": lambda rng: [2, 3, 3, 4],
        "f": lambda rng: [6, 3, 4],
        "a": lambda rng: [-1],
    },
)
def attention_flat_masked(q, k, v, m, c: number, d: number, t: attr, a: attr, h: attr, f: attr):
    """The same with a mask, for which the scores are told apart by head."""
    masked = (ge.reshape(_scores(q, k, c, d, t), shape=h).named("wide") + m).named("masked")
    weights = one_of(
        ge.softmax(ge.reshape(masked, shape=f), axes=a).named("w"),
        ge.reshape(ge.softmax(masked, axes=a).named("w"), shape=f),
    )
    y = ge.attention(
        ge.reshape(q, shape=lambda q, wide: with_heads(q, wide.shape[:2])),
        _keys(ge.reshape(k, shape=lambda k, wide: with_heads(k, wide.shape[:2]))),
        ge.reshape(v, shape=lambda v, wide: with_heads(v, wide.shape[:2])),
        m,
        None,
        scale=lambda c, d: factor(c, d),
        num_heads=lambda wide: wide.shape[1],
        num_key_value_heads=lambda wide: wide.shape[1],
        input_layout="BNSD",
    )
    return (
        ge.matmul(weights, v, transpose_x1=False, transpose_x2=False),
        ge.reshape(y, shape=lambda out: list(out.shape)),
    )


def in_batch(x: Value, flat: Value) -> bool:
    """Whether ``flat`` [B · N, 1, S, D] is ``x`` [B, N, S, D]."""
    return x.rank == 4 and x.is_static and flat.shape == (x.shape[0] * x.shape[1], 1, *x.shape[2:])


@rule(
    exact="tolerance",
    where={
        "heads in the batch": lambda q, qf, k, kf, v, vf: in_batch(q, qf) and in_batch(k, kf) and in_batch(v, vf),
        "equal heads": lambda q, k, v: q.shape[:2] == k.shape[:2] == v.shape[:2],
    },
    samples={
        **dict.fromkeys("qkv", lambda shapes: (2, 3, 4, 5)),
        **dict.fromkeys("abc", lambda rng: [6, 1, 4, 5]),
    },
)
def attention_flat_heads(q, k, v, a: attr, b: attr, c: attr, s: attr, z: attr):
    """Heads that a reshape put into the batch are heads."""
    flat = ge.attention(
        ge.reshape(q, shape=a).named("qf"),
        ge.reshape(k, shape=b).named("kf"),
        ge.reshape(v, shape=c).named("vf"),
        None,
        None,
        num_heads=1,
        num_key_value_heads=1,
        input_layout="BNSD",
        scale=s,
        nan_value=z,
    )
    y = ge.attention(
        q,
        k,
        v,
        None,
        None,
        num_heads=lambda q: q.shape[1],
        num_key_value_heads=lambda q: q.shape[1],
        input_layout="BNSD",
        scale=s,
        nan_value=z,
    )
    return flat, ge.reshape(y, shape=lambda out: list(out.shape))


SCALED = {"the scale is a number": lambda q, s, c: normal(q.dtype, s * c)}


@rule(exact="tolerance", where=SCALED)
def attention_scaled_query(q, k, v, m, b, c: number, s: attr, **attrs):
    """A factor of the query is part of the scale."""
    return (
        ge.attention(q * c, k, v, optional(m), optional(b), scale=s, **attrs),
        ge.attention(q, k, v, m, b, scale=lambda s, c: s * c, **attrs),
    )


@rule(exact="tolerance", where=SCALED)
def attention_scaled_key(q, k, v, m, b, c: number, s: attr, **attrs):
    """A factor of the key is part of the scale."""
    return (
        ge.attention(q, k * c, v, optional(m), optional(b), scale=s, **attrs),
        ge.attention(q, k, v, m, b, scale=lambda s, c: s * c, **attrs),
    )


@rule(exact="tolerance", where=SCALED)
def attention_scaled_moved_query(q, k, v, m, b, c: number, p: attr, s: attr, **attrs):
    """A factor of the query before its heads are moved."""
    return (
        ge.attention(ge.transpose(q * c, perm=p), k, v, optional(m), optional(b), scale=s, **attrs),
        ge.attention(ge.transpose(q, perm=p), k, v, m, b, scale=lambda s, c: s * c, **attrs),
    )


@rule(exact="tolerance", where=SCALED)
def attention_scaled_moved_key(q, k, v, m, b, c: number, p: attr, s: attr, **attrs):
    """A factor of the key before its heads are moved."""
    return (
        ge.attention(q, ge.transpose(k * c, perm=p), v, optional(m), optional(b), scale=s, **attrs),
        ge.attention(q, ge.transpose(k, perm=p), v, m, b, scale=lambda s, c: s * c, **attrs),
    )


def repeats(x: Value, between: Value, wide: Value, out: Value) -> bool:
    """Whether [B, G, S, D] became [B, G · r, S, D] by way of [B, G, 1, S, D] and [B, G, r, S, D]: each head r times."""
    if x.rank != 4 or wide.rank != 5 or not x.is_static:
        return False
    b, g, s, d = x.shape
    r = wide.shape[2]
    return between.shape == (b, g, 1, s, d) and wide.shape == (b, g, r, s, d) and out.shape == (b, g * r, s, d)


def _repeated(x, between, wide, out, e, f, h):
    one = one_of(ge.unsqueeze(x, axes=[2]).named(between), ge.reshape(x, shape=h).named(between))
    return ge.reshape(ge.expand(one, shape=e).named(wide), shape=f).named(out)


@rule(
    exact="tolerance",
    where={
        "heads of key repeat": lambda k, kb, kw, ko: repeats(k, kb, kw, ko),
        "heads of value repeat": lambda v, vb, vw, vo: repeats(v, vb, vw, vo),
        "as often": lambda k, v: k.shape[1] == v.shape[1],
    },
    samples={
        "q": lambda shapes: (2, 4, 5, 2),
        **dict.fromkeys("kv", lambda shapes: (2, 2, 3, 2)),
        "e": lambda rng: [2, 2, 2, 3, 2],
        "f": lambda rng: [2, 4, 3, 2],
        "h": lambda rng: [2, 2, 1, 3, 2],
    },
)
def attention_grouped(q, k, v, m, b, n: attr, g: attr, s: attr, w: attr, z: attr, e: attr, f: attr, h: attr):
    """Grouped-query attention: heads of key and value that are repeated need no copies."""
    more = {"num_heads": n, "scale": s, "input_layout": "BNSD", "mask_value": w, "nan_value": z}
    return (
        ge.attention(
            q,
            _repeated(k, "kb", "kw", "ko", e, f, h),
            _repeated(v, "vb", "vw", "vo", e, f, h),
            optional(m),
            optional(b),
            num_key_value_heads=g,
            **more,
        ),
        ge.attention(q, k, v, m, b, num_key_value_heads=lambda k: k.shape[1], **more),
    )


def joined(x: Value) -> list[int]:
    """The shape with the last two axes as one."""
    return [*x.shape[:-2], x.shape[-2] * x.shape[-1]]


@rule(
    exact="tolerance",
    where={
        "static": lambda q, k, v: q.is_static and k.is_static and v.is_static,
    },
    samples={"q": lambda shapes: (2, 3, 4, 2), **dict.fromkeys("kv", lambda shapes: (2, 5, 4, 2))},
)
def attention_bsh(q, k, v, m, b, n: attr, g: attr, s: attr, w: attr, z: attr):
    """Attention between transposes of heads and sequence works on the projections as they are."""
    more = {"num_heads": n, "num_key_value_heads": g, "scale": s, "mask_value": w, "nan_value": z}
    swap = {"perm": [0, 2, 1, 3]}
    before = ge.attention(
        ge.transpose(q, **swap),
        ge.transpose(k, **swap),
        ge.transpose(v, **swap),
        optional(m),
        optional(b),
        input_layout="BNSD",
        **more,
    )
    after = ge.attention(
        ge.reshape(q, shape=lambda q: joined(q)),
        ge.reshape(k, shape=lambda k: joined(k)),
        ge.reshape(v, shape=lambda v: joined(v)),
        m,
        b,
        input_layout="BSH",
        **more,
    )
    return ge.transpose(before, **swap), ge.reshape(after, shape=lambda out: list(out.shape))


@rule(
    exact="tolerance",
    where={
        "along the last axis": lambda x, p: p % x.rank == 2 if x.rank == 3 else False,
        "query, key, value": lambda u, n, g, x: tuple(u) == merged(x.shape[-1], n, g),
    },
    samples={
        "x": lambda shapes: (2, 3, 16),
        "u": lambda rng: [8, 4, 4],
        "p": lambda rng: 2,
        "n": lambda rng: 4,
        "g": lambda rng: 2,
    },
)
def attention_merged(x, m, b, u: attr, p: attr, n: attr, g: attr, s: attr, w: attr, z: attr):
    """Attention on the three parts of a merged projection takes it whole."""
    more = {
        "num_heads": n,
        "num_key_value_heads": g,
        "scale": s,
        "mask_value": w,
        "nan_value": z,
        "input_layout": "BSH",
    }
    parts = ge.split(x, size_splits=u, split_dim=p)
    return (
        ge.attention(parts[0], parts[1], parts[2], optional(m), optional(b), **more),
        ge.attention(x, None, None, m, b, **more),
    )


def merged(size: int, n: int, g: int) -> tuple[int, ...]:
    """Columns of query, key and value in a merged projection of ``size`` columns."""
    d = size // (n + 2 * g)
    return n * d, g * d, g * d


def _packed(parts, x, m, b, more):
    """Attention whose operands are the three parts of one value [B, S, 3, N, D], heads moved in front."""
    swap = {"perm": [0, 2, 1, 3]}
    before = ge.attention(*parts, optional(m), optional(b), input_layout="BNSD", **more)
    after = ge.attention(
        ge.reshape(x, shape=lambda x: [*x.shape[:2], x.shape[2] * x.shape[3] * x.shape[4]]),
        None,
        None,
        m,
        b,
        input_layout="BSH",
        **more,
    )
    return ge.transpose(before, **swap), ge.reshape(after, shape=lambda out: list(out.shape))


THREE_PARTS = {"static": lambda x: x.is_static, "three parts": lambda x: x.rank == 5 and x.shape[2] == 3}
PACKED = {"x": lambda shapes: (2, 3, 3, 2, 2)}


@rule(exact="tolerance", where=THREE_PARTS, samples=PACKED)
def attention_packed_split(x, m, b, n: attr, g: attr, s: attr, w: attr, z: attr):
    """Query, key and value as three parts of one projection, taken apart by a split."""
    parts = ge.split(ge.transpose(x, perm=[2, 0, 3, 1, 4]), size_splits=[1, 1, 1], split_dim=0)
    more = {"num_heads": n, "num_key_value_heads": g, "scale": s, "mask_value": w, "nan_value": z}
    return _packed([ge.squeeze(parts[i], axes=[0]) for i in range(3)], x, m, b, more)


@rule(exact="tolerance", where=THREE_PARTS, samples=PACKED)
def attention_packed_slices(x, m, b, n: attr, g: attr, s: attr, w: attr, z: attr):
    """Query, key and value as three parts of one projection, taken apart by slices."""
    t = ge.transpose(x, perm=[2, 0, 3, 1, 4])
    parts = [ge.squeeze(ge.slice(t, begin=[i], end=[i + 1], axes=[0], strides=[1]), axes=[0]) for i in range(3)]
    more = {"num_heads": n, "num_key_value_heads": g, "scale": s, "mask_value": w, "nan_value": z}
    return _packed(parts, x, m, b, more)
