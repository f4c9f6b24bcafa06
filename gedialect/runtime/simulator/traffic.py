"""How often a kernel's instructions run, and what they move through global memory: counted, not executed.

Trip counts are affine, so they are computed for all blocks at once. Only a loop whose variable an inner bound needs
is unrolled, as one more axis of the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...binary.kernel import BLOCK_IDX, FIRST_LOOP, SUB_BLOCK_IDX, Function, Inst, Kernel, Linear, Loop
from ...errors import GeError

Array = npt.NDArray[Any]
MAX_POINTS = 1 << 22
"""Iterations of loops with dependent bounds that are looked at together; above it the kernel is refused."""


@dataclass
class ArgTraffic:
    """Bytes one launch moves between one argument and the chip."""

    read: int = 0
    written: int = 0

    @property
    def moved(self) -> int:
        return self.read + self.written


def gm_traffic(kernel: Kernel) -> int:
    """Exact bytes one launch moves between global memory and the chip, all blocks together.

    Every element of a load, store, fixpipe or gather counts each time it is moved, also one that a stride of 0
    repeats; padding of bursts does not count. An atomic store counts once (the combination happens in L2), a scatter
    that combines counts its rows twice.
    """
    return sum(a.moved for a in arg_traffic(kernel).values())


def arg_traffic(kernel: Kernel) -> dict[int, ArgTraffic]:
    """The bytes per argument number that one launch moves; arguments that are never touched are left out."""
    found: dict[int, ArgTraffic] = {}
    for function, subs in functions(kernel):
        for sub in subs:
            _Counter(kernel.blocks, sub, found).visit(function)
    return found


def functions(kernel: Kernel) -> list[tuple[Function, tuple[int, ...]]]:
    """The functions of a block with the sub-block numbers that run them: a mix runs its vector function twice."""
    found: list[tuple[Function, tuple[int, ...]]] = []
    if kernel.cube is not None:
        found.append((kernel.cube, (0,)))
    if kernel.vector is not None:
        found.append((kernel.vector, (0, 1) if kernel.kind == "mix" else (0,)))
    return found


def signatures(kernel: Kernel) -> list[bytes]:
    """One key per block: blocks with equal keys run all their loops equally often, so they take equally long."""
    parts: list[list[bytes]] = [[] for _ in range(kernel.blocks)]
    for function, subs in functions(kernel):
        for sub in subs:
            counter = _Counter(kernel.blocks, sub, {})
            counter.visit(function)
            for block, trips in counter.trips:
                if len(trips) == kernel.blocks:
                    pieces = [t.tobytes() for t in trips]
                else:
                    pieces = [t.tobytes() for t in np.split(trips, np.searchsorted(block, range(1, kernel.blocks)))]
                for part, piece in zip(parts, pieces, strict=True):
                    part.append(piece)
    return [b"|".join(p) for p in parts]


def moved(inst: Inst) -> list[tuple[int, int, int]]:
    """(argument, bytes read, bytes written) of each global operand of one execution of ``inst``."""
    views = inst.views
    match inst.op.name:
        case "gather_rows":
            return [(views[1].arg, views[0].elements * views[0].dtype.itemsize, 0)]
        case "scatter_rows":
            nbytes = views[1].elements * views[1].dtype.itemsize
            return [(views[0].arg, 0 if inst.attr("mode") == "set" else nbytes, nbytes)]
        case _:
            out: list[tuple[int, int, int]] = []
            for operand, view in zip(inst.op.operands, views, strict=False):
                if view.space == "gm":
                    nbytes = view.elements * view.dtype.itemsize
                    out.append((view.arg, nbytes if operand.reads else 0, nbytes if operand.writes else 0))
            return out


def bound_variables(body: tuple[Inst | Loop, ...]) -> set[int]:
    """Index variables that bounds of loops in ``body`` name, at any depth."""
    names: set[int] = set()
    for item in body:
        if isinstance(item, Loop):
            names.update(v for form in (item.lo, item.hi) for v, _ in form.terms)
            names |= bound_variables(item.body)
    return names


@dataclass
class _Counter:
    """Goes through a function for all blocks; a point is a block with values of the unrolled loops' variables."""

    blocks: int
    sub: int
    traffic: dict[int, ArgTraffic]
    trips: list[tuple[Array, Array]] = field(default_factory=list[tuple[Array, Array]])
    """Per loop: the block of each point (in order) and the trip count there."""

    def visit(self, function: Function) -> None:
        block = np.arange(self.blocks, dtype=np.int64)
        values: dict[int, Array] = {BLOCK_IDX: block, SUB_BLOCK_IDX: np.full_like(block, self.sub)}
        self.body(function.body, 0, block, values, np.ones_like(block))

    def body(
        self, body: tuple[Inst | Loop, ...], depth: int, block: Array, values: Mapping[int, Array], times: Array
    ) -> None:
        total: int | None = None
        for item in body:
            if not isinstance(item, Loop):
                for arg, read, written in moved(item):
                    if total is None:
                        total = int(times.sum())
                    entry = self.traffic.setdefault(arg, ArgTraffic())
                    entry.read += read * total
                    entry.written += written * total
                continue
            lo, hi = _values(item.lo, values, block), _values(item.hi, values, block)
            trips = np.maximum(-((lo - hi) // item.step), 0)
            self.trips.append((block, trips))
            if FIRST_LOOP + depth not in bound_variables(item.body):
                self.body(item.body, depth + 1, block, values, times * trips)
                continue
            count = int(trips.sum())
            if count > MAX_POINTS:
                raise GeError(f"a loop of {count} iterations bounds another: too many to count", code="GE1307")
            at = np.repeat(np.arange(len(block)), trips)
            number = np.arange(count) - np.repeat(np.cumsum(trips) - trips, trips)
            inner = {v: a[at] for v, a in values.items()}
            inner[FIRST_LOOP + depth] = lo[at] + number * item.step
            self.body(item.body, depth + 1, block[at], inner, times[at])


def _values(form: Linear, values: Mapping[int, Array], like: Array) -> Array:
    out = np.full(len(like), form.const, np.int64)
    for var, coef in form.terms:
        out = out + values[var] * coef
    return out
