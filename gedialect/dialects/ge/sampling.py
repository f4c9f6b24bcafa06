"""Sampling at computed positions in ops that have kernels: rows of a table picked by index, weighted, added."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

Taps = list[tuple[Any, Any]]
"""(whole positions as floats, weights) of the elements that make up a value along one axis."""


class Table:
    """The elements of x [*lead, C, *spatial] as rows of C, picked by lead index and spatial position."""

    def __init__(self, b: GeBuilder, x: SSAValue, leads: int):
        spec = b.spec(x)
        self.b = b
        self.lead = spec.shape[:leads]
        self.sizes = spec.shape[leads + 1 :]
        self.channels = spec.shape[leads]
        last = b.transpose(x, perm=[*range(leads), *range(leads + 1, spec.rank), leads])
        self.rows = b.reshape(last, shape=[prod(self.lead) * prod(self.sizes), self.channels])

    def first(self, rank: int) -> SSAValue | None:
        """The row of position 0 of each lead index, shaped [*lead, 1, ..] of ``rank``; None if there is one."""
        count, step = prod(self.lead), prod(self.sizes)
        if count == 1:
            return None
        b = self.b
        at = b.range(start=0, limit=count * step, delta=step, results=[Spec(dtypes.I32, (count,))])
        return b.reshape(at, shape=[*self.lead, *[1] * (rank - len(self.lead))])

    def pick(self, places: Sequence[SSAValue], first: SSAValue | None) -> SSAValue:
        """[*index, C] of x at i32 places along each spatial axis, ``first`` being added to the row number."""
        b = self.b
        at = places[0]
        for place, size in zip(places[1:], self.sizes[1:], strict=True):
            at = b.add(b.mul(at, b.splat(size, dtypes.I32)), place)
        if first is not None:
            at = b.add(at, first)
        return b.gather(self.rows, at, axis=0, batch_dims=0)

    def weighted(self, taps: Sequence[Sequence[tuple[Any, Any]]], first: SSAValue | None) -> Any:
        """The sum over all combinations of (i32 place, weight) of each axis, [*index, C]."""
        b = self.b
        total: Any = None
        for chosen in product(*taps):
            weight: Any = None
            for share in (w for _, w in chosen if w is not None):
                weight = share if weight is None else b.mul(weight, share)
            part = self.pick([place for place, _ in chosen], first)
            if weight is not None:
                part = b.mul(part, b.unsqueeze(weight, axes=[b.spec(weight).rank]))
            total = part if total is None else b.add(total, part)
        return total


def bilinear_taps(b: GeBuilder, at: SSAValue) -> Taps:
    """Both neighbours of each position."""
    base = b.floor(at)
    t = b.sub(at, base)
    one = b.splat(1.0, b.spec(at).dtype)
    return [(base, b.sub(one, t)), (b.add(base, one), t)]


def cubic_taps(b: GeBuilder, at: SSAValue, a: float = -0.75) -> Taps:
    """Four neighbours, weighted by Keys' cubic."""
    base = b.floor(at)
    t = b.sub(at, base)
    one = b.splat(1.0, b.spec(at).dtype)
    rest = b.sub(one, t)

    def near(d: Any) -> Any:
        return b.add(b.mul(b.mul(b.add(b.mul(d, a + 2), -(a + 3)), d), d), 1.0)

    def far(d: Any) -> Any:
        return b.add(b.mul(b.add(b.mul(b.add(b.mul(d, a), -5 * a), d), 8 * a), d), -4 * a)

    return [
        (b.sub(base, one), far(b.add(t, one))),
        (base, near(t)),
        (b.add(base, one), near(rest)),
        (b.add(base, 2.0), far(b.add(rest, one))),
    ]


def inside_or_zero(b: GeBuilder, at: SSAValue, weight: Any, size: int) -> tuple[SSAValue, SSAValue]:
    """(i32 place, weight): nothing outside 0 .. size - 1."""
    dtype = b.spec(at).dtype
    inside = b.logical_and(b.greater_equal(at, 0.0), b.less_equal(at, float(size - 1)))
    zero = b.splat(0.0, dtype)
    place = b.cast(b.select(inside, at, zero), dtypes.I32)
    return place, b.cast(inside, dtype) if weight is None else b.select(inside, weight, zero)


def clamped(b: GeBuilder, at: SSAValue, size: int) -> SSAValue:
    """The i32 place nearest to a position; NaN is 0."""
    at = b.select(b.equal(at, at), at, b.splat(0.0, b.spec(at).dtype))
    return b.cast(b.minimum(b.maximum(at, 0.0), float(size - 1)), dtypes.I32)


def reflected(b: GeBuilder, at: SSAValue, low: float, high: float) -> SSAValue:
    """Positions folded back into [low, high] at its ends."""
    span = high - low
    if span <= 0:
        return b.mul(at, 0.0)
    away = b.add(at, -low)
    away = b.sub(away, b.mul(b.floor(b.div(away, 2 * span)), 2 * span))
    back = b.sub(b.splat(2 * span, b.spec(at).dtype), away)
    return b.add(b.minimum(away, back), low)
