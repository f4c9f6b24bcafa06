"""Part of ``group-kernels``: values that several kernels read and that are cheaper to compute again than to store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from gedialect.analysis.fusibility import Group, merge_vector
from gedialect.analysis.recompute import compare
from gedialect.dialects.ge.base import GeOp
from gedialect.targets import Target

if TYPE_CHECKING:
    from collections.abc import MutableMapping

MAX_READERS = 64
"""Kernels that compute one value again, at most: compile time."""


class Recompute:
    """Works on the groups that joining has made; ``fits`` says whether a group may stand as it is."""

    def __init__(
        self,
        ops: list[Operation],
        position: MutableMapping[Operation, float],
        group_of: dict[Operation, Group],
        fits: Callable[[Group], bool],
        target: Target,
    ):
        self.ops = ops
        self.position = position
        self.group_of = group_of
        self.fits = fits
        self.target = target
        self.times = 0
        """Values that are computed again."""

    def run(self) -> None:
        """Try every value that leaves a vector kernel for other vector kernels, later ones first: what they need may
        then be worth computing again too."""
        for group in list(dict.fromkeys(self.group_of.values()))[::-1]:
            if group.kind == "vector" and not group.fixed:
                for op in list(group.ops)[::-1]:
                    for result in op.results:
                        self._try(group, result)

    def _try(self, group: Group, value: SSAValue) -> None:
        inside: set[Operation] = set(group.ops)
        outside = [u.operation for u in value.uses if u.operation not in inside]
        readers = list(dict.fromkeys(self.group_of.get(o) for o in outside))
        if not readers or len(readers) > MAX_READERS:
            return
        targets = [r for r in readers if r is not None and r.kind == "vector" and not r.fixed]
        if len(targets) != len(readers):
            return  # someone reads it from memory anyway
        makers = _makers(value, inside)
        alone = len(makers) == len(group.ops) and all(
            r is value or not any(u.operation not in inside for u in r.uses) for o in group.ops for r in o.results
        )
        used_inside = any(u.operation in inside for u in value.uses)
        costs = compare(
            value,
            makers,
            group.domain,
            [(t.domain, {v for o in t.ops for v in o.operands}) for t in targets],
            kernel_saved=alone and not used_inside,
            target=self.target,
        )
        if not costs.worth_it:
            return
        undo: list[Callable[[], None]] = []
        merged: list[Group] = []
        for reader in targets:
            new = self._into(value, makers, reader, undo)
            if new is None:
                for step in reversed(undo):
                    step()
                return
            merged.append(new)
        for new in merged:
            new.ops.sort(key=self.position.__getitem__)
            for op in new.ops:
                self.group_of[op] = new
        self.times += 1
        self._drop_dead(group)

    def _into(self, value: SSAValue, makers: list[GeOp], reader: Group, undo: list[Callable[[], None]]) -> Group | None:
        """``reader`` with copies of ``makers`` in front; None if they do not fit in one kernel."""
        first = min(reader.ops, key=self.position.__getitem__)
        at = self.position[first] - 0.5
        copies: list[GeOp] = []
        mapped: dict[SSAValue, SSAValue] = {}
        for i, op in enumerate(makers):
            copy = op.clone(value_mapper=dict(mapped))
            assert isinstance(copy, GeOp)
            mapped.update(zip(op.results, copy.results, strict=True))
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
            copy.location = op.location
            copies.append(copy)
            self.position[copy] = at + 0.4 * (i + 1) / len(makers)
        parent = first.parent
        assert parent is not None
        parent.insert_ops_before(copies, first)
        index = self.ops.index(first)
        self.ops[index:index] = copies
        users = [(u.operation, u.index) for u in value.uses if u.operation in set(reader.ops)]
        for op, i in users:
            op.operands[i] = mapped[value]
        before = {op: self.group_of.get(op) for op in copies}

        def back() -> None:
            for op, i in users:
                op.operands[i] = value
            for op in reversed(copies):
                self.ops.remove(op)
                self.position.pop(op, None)
                if before[op] is None:
                    self.group_of.pop(op, None)
                op.detach()
                op.erase()

        undo.append(back)
        part = Group.of(copies[0], "vector")
        for op in copies[1:]:
            joined = merge_vector(part, Group.of(op, "vector"))
            if joined is None:
                return None
            part = joined
        new = merge_vector(part, reader)
        return new if new is not None and self.fits(new) else None

    def _drop_dead(self, group: Group) -> None:
        for op in list(group.ops)[::-1]:
            if not any(r.first_use is not None for r in op.results):
                group.ops.remove(op)
                self.group_of.pop(op, None)
                self.ops.remove(op)
                op.detach()
                op.erase()


def _makers(value: SSAValue, inside: set[Operation]) -> list[GeOp]:
    """The ops of a group that ``value`` depends on, in an order they can stand in."""
    found: dict[GeOp, None] = {}

    def visit(v: SSAValue) -> None:
        op = v.owner
        if isinstance(op, GeOp) and op in inside and op not in found:
            for operand in op.operands:
                visit(operand)
            found[op] = None

    visit(value)
    return list(found)
