"""Which bytes an instruction touches, and whether two accesses can meet.

Everything is affine, so the tests are exact for accesses that move alike (equal coefficients); others are compared by
the ranges they can reach, which can only err on the safe side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor

from xdsl.ir import SSAValue

from gedialect.binary.isa import Pipe
from gedialect.binary.kernel import FIRST_LOOP, Linear, Rotation, View

Bounds = Mapping[int, tuple[int, int]]
"""Least and greatest value of each index variable in scope."""

_MOD_STEPS = 64
"""Iterations looked at one by one when strided accesses interleave."""


@dataclass(frozen=True)
class Access:
    """Bytes [lo, hi) + sum of terms of a space (``key`` of on-chip ones) or kernel argument, read or written.

    ``rows`` are (modulus, width): every byte touched lies, modulo that, within ``width`` bytes from ``base``.
    ``plain`` says that no loop variable was folded into the range.
    """

    pipe: Pipe
    instr: str
    write: bool
    key: str | int
    root: SSAValue
    lo: int
    hi: int
    base: int
    terms: tuple[tuple[int, int], ...] = ()
    rows: tuple[tuple[int, int], ...] = ()
    rotation: Rotation | None = None
    plain: bool = True

    def whole(self) -> tuple[int, int]:
        """Range over all slots."""
        extra = 0 if self.rotation is None else (self.rotation.slots - 1) * self.rotation.slot_bytes
        return self.lo, self.hi + extra

    def fold(self, var: int, bounds: tuple[int, int], step: int) -> Access:
        """The access over all iterations of the loop of ``var``."""
        result = self
        if self.rotation is not None and FIRST_LOOP + self.rotation.depth == var:
            lo, hi = self.whole()
            result = replace(result, lo=lo, hi=hi, rotation=None, rows=())
        coef = dict(self.terms).get(var)
        if coef is None:
            return result
        low, high = sorted((coef * bounds[0], coef * bounds[1]))
        rows: list[tuple[int, int]] = []
        for modulus, width in result.rows:
            if coef % modulus == 0:
                rows.append((modulus, width))
            elif width + high - low < modulus:
                rows.append((modulus, width + high - low))
        return replace(
            result,
            lo=result.lo + low,
            hi=result.hi + high,
            base=result.base + low,
            terms=tuple(t for t in self.terms if t[0] != var),
            rows=tuple(rows),
            plain=False,
        )

    def reach(self, bounds: Bounds) -> tuple[int, int]:
        """Range over all values of all variables."""
        lo, hi = self.whole()
        for var, coef in self.terms:
            low, high = sorted((coef * bounds[var][0], coef * bounds[var][1]))
            lo, hi = lo + low, hi + high
        return lo, hi


def access_of(view: View, root: SSAValue, pipe: Pipe, instr: str, write: bool, region: str | None) -> Access:
    """The access of one operand; ``region`` names the group of tiles that share bytes with it (on chip)."""
    low, high = view.extent
    base = view.base.const
    key: str | int = view.arg if region is None else region
    rows = _rows(view) if view.base.terms or low == 0 else ()
    return Access(pipe, instr, write, key, root, base + low, base + high, base, view.base.terms, rows, view.rotation)


def _rows(view: View) -> tuple[tuple[int, int], ...]:
    item = view.dtype.itemsize
    dims = [(n, s * item) for n, s in zip(view.shape, view.strides, strict=True) if n > 1 and s != 0]
    if any(s < 0 for _, s in dims):
        return ()
    rows: list[tuple[int, int]] = []
    for modulus in sorted({s for _, s in dims}):
        width = item + sum((n - 1) * s for n, s in dims if s < modulus)
        if width < modulus and all(s % modulus == 0 for _, s in dims if s >= modulus):
            rows.append((modulus, width))
    return tuple(rows)


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _meet_shifted(j: Access, i: Access, shift: int) -> bool:
    """Whether ``i`` moved by ``shift`` bytes meets ``j``; both with the same terms, in the same slot."""
    if not (j.lo < i.hi + shift and i.lo + shift < j.hi):
        return False
    other = dict(i.rows)
    for modulus, width in j.rows:
        if modulus in other:
            delta = (i.base + shift - j.base) % modulus
            if delta >= width and modulus - delta >= other[modulus]:
                return False
    return True


def _comparable(j: Access, i: Access) -> bool:
    return j.terms == i.terms and (j.rotation == i.rotation if j.root is i.root else j.rotation is i.rotation is None)


def same_iteration(j: Access, i: Access, bounds: Bounds) -> bool:
    """Whether the two can touch a common byte while all common variables have one value."""
    if _comparable(j, i):
        return _meet_shifted(j, i, 0)
    return _meet(j.reach(bounds), i.reach(bounds))


def carried(j: Access, i: Access, loop: LoopInfo, bounds: Bounds) -> int:
    """Least distance in iterations of ``loop`` at which a later ``i`` meets an earlier ``j``; 0 if never."""
    if not loop.repeats:
        return 0
    if not _comparable(j, i):
        return 1 if _meet(j.reach(bounds), i.reach(bounds)) else 0
    slots = 1
    if j.rotation is not None and FIRST_LOOP + j.rotation.depth == loop.var:
        slots = j.rotation.slots
    shift = dict(j.terms).get(loop.var, 0) * loop.step
    if shift == 0:
        return slots if (loop.again or slots < loop.trips) and _meet_shifted(j, i, 0) else 0
    # i moves by shift per iteration: the iterations at which the ranges meet are consecutive
    ends = sorted(((j.lo - i.hi) / shift, (j.hi - i.lo) / shift))
    first = max(slots, -(-(floor(ends[0]) + 1) // slots) * slots)
    last = min(loop.trips - 1, ceil(ends[1]) - 1)
    for n, distance in enumerate(range(first, last + 1, slots)):
        if n >= _MOD_STEPS or _meet_shifted(j, i, shift * distance):
            return distance
    return 0


@dataclass(frozen=True)
class LoopInfo:
    """A loop's variable, step, and greatest number of iterations; ``again`` if an outer loop runs it repeatedly, so
    that its last iteration is followed by a first one."""

    var: int
    step: int
    trips: int
    again: bool = False

    @cached_property
    def repeats(self) -> bool:
        return self.trips > 1 or self.again


def linear_bounds(form: Linear, bounds: Bounds) -> tuple[int, int]:
    """Least and greatest value of ``form``."""
    lo = hi = form.const
    for var, coef in form.terms:
        low, high = sorted((coef * bounds[var][0], coef * bounds[var][1]))
        lo, hi = lo + low, hi + high
    return lo, hi


def loop_info(var: int, lo: Linear, hi: Linear, step: int, bounds: Bounds) -> tuple[LoopInfo, tuple[int, int]]:
    """The loop and the range of its variable."""
    if lo.terms == hi.terms:
        span = hi.const - lo.const
    else:
        span = linear_bounds(hi, bounds)[1] - linear_bounds(lo, bounds)[0]
    low, high = linear_bounds(lo, bounds)[0], linear_bounds(hi, bounds)[1] - 1
    return LoopInfo(var, step, max(0, -(-span // step))), (low, max(low, high))
