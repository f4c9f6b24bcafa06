"""When the bytes of each value are needed, for ops that run one after another in the order of the block.

Position p is the p-th op of the block; the terminator, which hands out the results, is the last. Intervals include
both ends: while an op runs, its operands and its results need separate room, and so does a result nobody reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from gedialect.analysis.aliasing import roots
from gedialect.analysis.graph import read_by

BEFORE = -1
"""Where graph inputs begin to live."""


@dataclass
class Interval:
    """The bytes of ``value``, which owns them, live from position ``start`` to ``end``, both included."""

    value: SSAValue
    start: int
    end: int

    def overlaps(self, other: Interval) -> bool:
        return self.start <= other.end and other.start <= self.end


@dataclass
class Liveness:
    """Positions of ops and live intervals of the values that own bytes (views extend their owner's)."""

    positions: dict[Operation, int]
    intervals: dict[SSAValue, Interval]
    roots: dict[SSAValue, SSAValue]
    outputs: list[SSAValue] = field(default_factory=list[SSAValue])
    """Operands of the terminator, in order, repeats included."""

    def of(self, value: SSAValue) -> Interval:
        """The interval of the bytes of ``value``."""
        return self.intervals[self.roots[value]]

    def last_reader(self, value: SSAValue) -> int:
        """Position of the last op that reads ``value`` or a view of its bytes."""
        return self.of(value).end


def liveness(block: Block) -> Liveness:
    """Live intervals of ``block``: arguments from BEFORE, results from their op; both to the last op that reads them
    or a view of them, at least through the op that makes them. Constants are included like any result."""
    owners = roots(block)
    positions: dict[Operation, int] = {}
    intervals: dict[SSAValue, Interval] = {a: Interval(a, BEFORE, BEFORE) for a in block.args}
    outputs: list[SSAValue] = []
    for position, op in enumerate(block.ops):
        positions[op] = position
        for value in read_by(op):
            owner = owners.get(value)
            if owner is not None:
                intervals[owner].end = position
        for result in op.results:
            owner = owners[result]
            if owner is result:
                intervals[result] = Interval(result, position, position)
            elif owner in intervals:
                intervals[owner].end = position
        if op is block.last_op:
            outputs = list(op.operands)
    return Liveness(positions, intervals, owners, outputs)
