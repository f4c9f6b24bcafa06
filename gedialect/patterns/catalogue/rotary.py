"""Rotary position embedding from slices, negation and concat."""
# pyright: basic

from __future__ import annotations

from gedialect.patterns import Value, attr, ge, rule


def span(x: Value, begin, end, axes, strides) -> tuple[int, int]:
    """First and one past the last index that a slice with stride 1 takes along the last axis; (-1, -1) otherwise."""
    n = x.shape[-1]
    if len(begin) != 1 or axes is None or axes[0] % x.rank != x.rank - 1 or (strides is not None and strides[0] != 1):
        return -1, -1
    first, last = (min(v + n if v < 0 else v, n) for v in (begin[0], end[0]))
    return first, last


@rule(
    exact="tolerance",
    where={
        "float": lambda x: x.dtype.is_float,
        "halves of the last axis": lambda x, lb, le, hb, he, la, ha, ls, hs, c: (
            x.rank > 0
            and x.shape[-1] > 0
            and x.shape[-1] % 2 == 0
            and c % x.rank == x.rank - 1
            and span(x, lb, le, la, ls) == (0, x.shape[-1] // 2)
            and span(x, hb, he, ha, hs) == (x.shape[-1] // 2, x.shape[-1])
        ),
    },
    samples={
        "x": lambda shapes: (3, 2, 4),
        **dict.fromkeys(("la", "ha"), lambda rng: [-1]),
        **dict.fromkeys(("ls", "hs"), lambda rng: [1]),
        "lb": lambda rng: [0],
        "le": lambda rng: [2],
        "hb": lambda rng: [2],
        "he": lambda rng: [4],
        "c": lambda rng: -1,
    },
)
def rotary_halves(x, cos, sin, lb: attr, le: attr, la: attr, ls: attr, hb: attr, he: attr, ha: attr, hs: attr, c: attr):
    """x cos + (-second half, first half) sin, with slices."""
    low = ge.slice(x, begin=lb, end=le, axes=la, strides=ls)
    high = ge.slice(x, begin=hb, end=he, axes=ha, strides=hs)
    return x * cos + ge.concat(-high, low, concat_dim=c) * sin, ge.rotary_embedding(x, cos, sin, mode=0)


@rule(
    exact="tolerance",
    where={
        "float": lambda x: x.dtype.is_float,
        "halves of the last axis": lambda x, z, p, c: (
            x.rank > 0 and p % x.rank == c % x.rank == x.rank - 1 and tuple(z) == (x.shape[-1] // 2,) * 2
        ),
    },
)
def rotary_halves_split(x, cos, sin, z: attr, p: attr, c: attr):
    """x cos + (-second half, first half) sin, with a split."""
    half = ge.split(x, size_splits=z, split_dim=p)
    return x * cos + ge.concat(-half[1], half[0], concat_dim=c) * sin, ge.rotary_embedding(x, cos, sin, mode=0)


def halves(x: Value, part, low, high) -> bool:
    """Whether ``low`` and ``high`` are the halves of the range ``part`` of the last axis; each as a slice has it."""
    if x.rank == 0:
        return False
    (first, last), (a, b), (c, d) = (span(x, *s) for s in (part, low, high))
    return (a, d) == (first, last) and b == c and 2 * b == first + last and 0 <= first < last


@rule(
    exact="tolerance",
    where={
        "float": lambda x: x.dtype.is_float,
        "halves of a part": lambda x, b, e, a, s, lb, le, la, ls, hb, he, ha, hs, c: (
            c % x.rank == x.rank - 1 and halves(x, (b, e, a, s), (lb, le, la, ls), (hb, he, ha, hs))
        ),
    },
    samples={
        "x": lambda shapes: (3, 2, 5),
        **dict.fromkeys(("a", "la", "ha"), lambda rng: [-1]),
        **dict.fromkeys(("s", "ls", "hs"), lambda rng: [1]),
        **dict.fromkeys(("b", "lb"), lambda rng: [0]),
        **dict.fromkeys(("e", "he"), lambda rng: [4]),
        **dict.fromkeys(("le", "hb"), lambda rng: [2]),
        "c": lambda rng: -1,
    },
)
def rotary_part(
    x, cos, sin, b: attr, e: attr, a: attr, s: attr, lb: attr, le: attr, la: attr, ls: attr, hb: attr, he: attr,
    ha: attr, hs: attr, c: attr,
):  # fmt: skip
    """The same of a part of each head, as Phi and GPT-NeoX have it: both halves are slices of the whole."""
    part = ge.slice(x, begin=b, end=e, axes=a, strides=s)
    low = ge.slice(x, begin=lb, end=le, axes=la, strides=ls)
    high = ge.slice(x, begin=hb, end=he, axes=ha, strides=hs)
    return part * cos + ge.concat(-high, low, concat_dim=c) * sin, ge.rotary_embedding(part, cos, sin, mode=0)
