"""Moves of data that are not needed, or are one: splits, concats, slices, pads, casts, quantisation."""
# pyright: basic

from __future__ import annotations

from math import copysign

from gedialect.patterns import Value, any_op, attr, ge, number, one_of, rule
from gedialect.patterns.catalogue._shapes import known_shape

LARGEST = 2**62
"""Ends of slices beyond this mean the end of the axis."""


def along(axis, rank: int) -> int:
    """An axis counted from the front."""
    return axis % rank if rank else 0


@rule(exact="bits", level=1, where={"one axis": lambda x, p, c: along(p, x.rank) == along(c, x.rank)})
def split_concat(x, z: attr, p: attr, c: attr):
    """The pieces of a split joined again."""
    return ge.concat(*ge.split(x, size_splits=z, split_dim=p), concat_dim=c), x


def range_of(x: Value, begin, end, axes, strides) -> tuple[int, int, int] | None:
    """(axis, first, one past the last) of a slice along one axis with stride 1 of a known size; None otherwise."""
    if begin is None or len(begin) != 1 or (strides is not None and strides[0] != 1):
        return None
    axis = (axes[0] if axes is not None else 0) % x.rank
    n = x.shape[axis]
    if n < 0:
        return None
    first, last = (min(max(v + n if v < 0 else v, 0), n) for v in (begin[0], end[0]))
    return axis, first, max(first, last)


def adjacent(x: Value, a, b, c) -> bool:
    """Whether slices ``a`` and ``b`` are the two parts of ``x`` along axis ``c``."""
    if a is None or b is None:
        return False
    axis = along(c, x.rank)
    return a[0] == b[0] == axis and a[1] == 0 and a[2] == b[1] and b[2] == x.shape[axis]


@rule(
    exact="bits",
    level=1,
    where={
        "two parts of one axis": lambda x, c, ab, ae, aa, as_, bb, be, ba, bs: adjacent(
            x, range_of(x, ab, ae, aa, as_), range_of(x, bb, be, ba, bs), c
        )
    },
    samples={
        "c": lambda rng: 0,
        "aa": lambda rng: [0],
        "ba": lambda rng: [0],
        "ab": lambda rng: [0],
        "bb": lambda rng: [1],
        "ae": lambda rng: [1],
        "be": lambda rng: [100],
    },
)
def concat_slices(x, ab: attr, ae: attr, aa: attr, as_: attr, bb: attr, be: attr, ba: attr, bs: attr, c: attr):
    """Two slices that are the whole, joined again."""
    return (
        ge.concat(
            ge.slice(x, begin=ab, end=ae, axes=aa, strides=as_),
            ge.slice(x, begin=bb, end=be, axes=ba, strides=bs),
            concat_dim=c,
        ),
        x,
    )


@rule(exact="bits", level=1, where={"c is empty": lambda c, x, a: c.rank == x.rank and c.shape[along(a, x.rank)] == 0})
def concat_empty(x, c, a: attr):
    """A concat of a value and one without elements, such as the cache of a model's first token."""
    return one_of(ge.concat(x, c, concat_dim=a), ge.concat(c, x, concat_dim=a)), x


@rule(
    exact="bits",
    level=1,
    where={
        "whole axes": lambda x, b, e, a, s: whole(x, b, e, a, s),
    },
    samples={"b": lambda rng: [0], "e": lambda rng: [2**62], "a": lambda rng: [0], "s": lambda rng: [1]},
)
def slice_all(x, b: attr, e: attr, a: attr, s: attr):
    """A slice of all there is."""
    return ge.slice(x, begin=b, end=e, axes=a, strides=s), x


def whole(x: Value, begin, end, axes, strides) -> bool:
    """Whether a slice takes everything."""
    if begin is None or (strides is not None and any(v != 1 for v in strides)):
        return False
    at = range(len(begin)) if axes is None else axes
    return all(
        v == 0 and (w >= LARGEST or (0 <= x.shape[i % x.rank] <= w)) for v, w, i in zip(begin, end, at, strict=True)
    )


@rule(
    exact="bits",
    where={
        "one axis, stride 1": lambda x, ib, ie, ia, is_, mid, ob, oe, oa, os_: (
            inner_range(x, range_of(x, ib, ie, ia, is_), range_of(mid, ob, oe, oa, os_)) is not None
        )
    },
    samples={
        "ib": lambda rng: [int(rng.integers(-2, 3))],
        "ie": lambda rng: [int(rng.choice([2**62, -1, 2, 3, 4]))],
        "ia": lambda rng: [int(rng.integers(-1, 2))],
        "is_": lambda rng: [1],
        "ob": lambda rng: [int(rng.integers(-2, 2))],
        "oe": lambda rng: [int(rng.choice([2**62, -1, 1, 2, 3]))],
        "oa": lambda rng: [int(rng.integers(-1, 2))],
        "os_": lambda rng: [1],
    },
    shared=True,
)
def slice_slice(x, ib: attr, ie: attr, ia: attr, is_: attr, ob: attr, oe: attr, oa: attr, os_: attr):
    """A slice of a slice along one axis is one."""
    inner = ge.slice(x, begin=ib, end=ie, axes=ia, strides=is_).named("mid")

    def part(i: int):
        def value(x, ib, ie, ia, is_, mid, ob, oe, oa, os_):
            found = inner_range(x, range_of(x, ib, ie, ia, is_), range_of(mid, ob, oe, oa, os_))
            return [found[i]] if found is not None else []

        return value

    return (
        ge.slice(inner, begin=ob, end=oe, axes=oa, strides=os_),
        ge.slice(x, begin=part(1), end=part(2), axes=part(0), strides=[1]),
    )


def inner_range(x: Value, inner, outer):
    """(axis, first, one past the last) of a slice of a slice in terms of the first."""
    if inner is None or outer is None or inner[0] != outer[0]:
        return None
    return inner[0], inner[1] + outer[1], inner[1] + outer[2]


@rule(
    exact="bits",
    where={
        "inside one operand": lambda x, y, b, e, a, s, c, mid: piece(x, y, c, range_of(mid, b, e, a, s)) is not None,
    },
    samples={
        "b": lambda rng: [0],
        "e": lambda rng: [1],
        "a": lambda rng: [0],
        "s": lambda rng: [1],
        "c": lambda rng: 0,
    },
    shared=True,
)
def slice_concat_first(x, y, b: attr, e: attr, a: attr, s: attr, c: attr):
    """A slice of a concat that lies in its first operand."""
    whole = ge.concat(x, y, concat_dim=c).named("mid")
    return (
        ge.slice(whole, begin=b, end=e, axes=a, strides=s),
        ge.slice(
            x,
            begin=b,
            end=lambda x, y, b, e, a, s, c, mid: piece(x, y, c, range_of(mid, b, e, a, s)),
            axes=a,
            strides=[1],
        ),
    )


def piece(x: Value, y: Value, c: int, found):
    """End of a slice of concat(x, y) that lies in x; None if it does not."""
    if found is None or found[0] != along(c, x.rank) or x.shape[found[0]] < found[2]:
        return None
    return [found[2]]


def same_number(v: float | None, w: float | None) -> bool:
    """Whether both are absent, or one number: -0.0 is another than 0.0."""
    if v is None or w is None:
        return v is w
    return v == w and copysign(1, v) == copysign(1, w)


@rule(
    exact="bits",
    where={
        "pads by the same number": lambda v, w: same_number(v, w),
        "cuts pads at most": lambda p, q: all(a >= 0 and a + b >= 0 for a, b in zip(p, q, strict=True)),
    },
)
def pad_pad(x, v: number, w: number, p: attr, q: attr):
    """Two pads by one value are one."""

    def both(p, q):
        return [a + b for a, b in zip(p, q, strict=True)]

    return (
        ge.pad(ge.pad(x, None, v, paddings=p, mode="constant"), None, w, paddings=q, mode="constant"),
        ge.pad(x, None, v, paddings=both, mode="constant"),
    )


SIGNIFICAND = {"bf16": 8, "f16": 11, "f32": 24, "f64": 24}
"""Bits of a product of ``dequantize``, which computes in f32."""


@rule(
    exact="bits",
    where={
        "nothing overflows": lambda s: 2.0**-12 <= s <= 2.0**8,
        "products are off by less than half a step": lambda x, real: x.dtype.bits <= SIGNIFICAND[real.dtype.name] - 2,
    },
)
def quantize_dequantize_quantize(x, s: number, z, a: attr):
    """Quantising what was dequantised with one positive scale gives it back."""
    return ge.quantize(ge.dequantize(x, s, z, axis=a).named("real"), s, z, axis=a), x


@rule(
    exact="bits",
    where={
        "one known index": lambda i, n: i >= 0 and i == int(i) and n == 0,
        "static": lambda x: x.is_static,
        "in range": lambda x, i, a: i < x.shape[a % x.rank],
    },
)
def gather_one(x, i: number, a: attr, n: attr):
    """A gather of one known index is a slice: the first token of a sequence."""
    first = ge.slice(
        x,
        begin=lambda i: [int(i)],
        end=lambda i: [int(i) + 1],
        axes=lambda a: [a],
        strides=[1],
    )
    return ge.gather(x, i, axis=a, batch_dims=n), ge.reshape(first, shape=lambda out: known_shape(out))


@rule(exact="bits", samples={"f": lambda rng: "tanh"})
def view_activation_view(x, f: attr, s: attr):
    """An activation between two reshapes works on what the first one read: a feed-forward block of flat tokens."""
    act = any_op(
        lambda y: ge.gelu(y, approximate=f), lambda y: ge.swish(y, scale=s), ge.relu, ge.tanh, ge.sigmoid, ge.hard_swish
    )
    return ge.reshape(act(ge.reshape(x))), ge.reshape(act(x), shape=lambda out: known_shape(out))


def parts(moved: Value, out: Value) -> list[list[int]] | None:
    """The sizes of ``out`` that each axis of ``moved`` became; None if axes were joined."""
    sizes, found = list(out.shape), list[list[int]]()
    for d in moved.shape:
        group, product = list[int](), 1
        while sizes and (product != d or sizes[0] == 1):
            product *= sizes[0]
            group.append(sizes.pop(0))
        if product != d:
            return None
        found.append(group)
    return None if sizes else found


def split_before(moved: Value, out: Value, p) -> tuple[list[int], list[int]]:
    """Shape and permutation that move the parts of the axes instead of the axes."""
    groups = parts(moved, out) or []
    before = [groups[p.index(i)] for i in range(len(p))]
    first = [sum(map(len, before[:i])) for i in range(len(p))]
    return [d for g in before for d in g], [first[i] + k for i in p for k in range(len(before[i]))]


@rule(
    exact="bits",
    where={
        "static": lambda x: x.is_static and 0 not in x.shape,
        "joins axes first": lambda x, moved: x.rank > moved.rank,
        "splits them last": lambda moved, out: parts(moved, out) is not None,
    },
    samples={
        "x": lambda shapes: (2, 2, 2, 3),
        "s": lambda rng: [4, 2, 3],
        "p": lambda rng: [[0, 2, 1], [1, 0, 2], [2, 0, 1], [2, 1, 0]][int(rng.integers(4))],
        "t": lambda rng: [[2, 2, 3, 2], [2, 4, 1, 3], [3, 1, 4, 2], [3, 2, 2, 2], [4, 3, 2, 1]][int(rng.integers(5))],
    },
)
def split_transposed(x, s: attr, p: attr, t: attr):
    """A transpose between a reshape that joins axes and one that splits them: of the split axes, in one step."""
    moved = ge.transpose(ge.reshape(x, shape=s), perm=p).named("moved")
    split = ge.reshape(x, shape=lambda moved, out, p: split_before(moved, out, p)[0])
    return ge.reshape(moved, shape=t), ge.transpose(split, perm=lambda moved, out, p: split_before(moved, out, p)[1])
