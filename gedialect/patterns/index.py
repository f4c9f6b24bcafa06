"""Which forms of rules may match at an op, without running their matchers.

What all rules test first is tested once for all of them: the class of the root, the classes that make its operands
and, where many forms are left, the constants among them, and classes and constants one level deeper. Answers are kept
by these features, so a hundred rules on ``add`` cost what those cost that may match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from math import inf
from typing import Generic, Protocol, TypeVar, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from gedialect.dialects.ge.constant import ConstantOp
from gedialect.patterns.language import Capture, Node, Number, Pattern, ResultOf
from gedialect.patterns.rule import Variant, node_of, nodes
from gedialect.patterns.values import in_range, number_is, number_of

MANY = 4
"""Forms from which on looking deeper pays."""
DEPTH = 4
"""Levels below the root that are looked at, at most."""
MAX_KEPT = 1 << 14
"""Answers kept in one place; a model has some hundred kinds of surroundings."""


class HasVariant(Protocol):
    """What is indexed."""

    variant: Variant
    needs: frozenset[type[Operation]]


T = TypeVar("T", bound=HasVariant)


class Entry(Generic[T]):
    """Forms that are left after looking at some levels; ``finer`` are those for what lies one level deeper."""

    __slots__ = ("finer", "forms")

    def __init__(self, forms: list[T], depth: int):
        self.forms = forms
        self.finer: dict[Hashable, Entry[T]] | None = {} if len(forms) > MANY and depth < DEPTH else None


class Index(Generic[T]):
    """Forms by the class of their root, in the order given."""

    def __init__(self, forms: Iterable[T]):
        self.by_root: dict[type[Operation], list[T]] = {}
        numbers: dict[tuple[type, float, float | None], None] = {}
        for form in forms:
            self.by_root.setdefault(node_of(form.variant.before[0]).cls, []).append(form)
            for node in nodes(form.variant.before):
                for a in node.args:
                    if isinstance(a, Number) and in_range(a.value):
                        numbers[type(a.value), a.value, a.tol] = None
        self.numbers = sorted([(value, tol) for _, value, tol in numbers], key=lambda n: (n[0], n[1] or 0.0))
        """Finite constants of all patterns, by value."""
        self.values = [float(value) for value, _ in self.numbers]
        self.reach = max([COARSE, *(tol for _, tol in self.numbers if tol is not None)])
        """The largest relative tolerance among them."""
        self.entries: dict[Hashable, Entry[T]] = {}
        self.known: dict[Hashable, Hashable] = {}
        """number and element type -> which of ``numbers`` it is"""

    def candidates(self, op: Operation) -> Sequence[T]:
        """Forms that may match at ``op``, whose class is a root's."""
        operands = op._operands  # pyright: ignore[reportPrivateUsage]
        made = [type(v.owner) for v in operands]
        key: Hashable = (type(op), *made) if len(made) < WIDE else (type(op), frozenset(made))
        entry = self.entries.get(key)
        if entry is None:
            around = set(made)
            entry = self.entries[key] = Entry([f for f in self.by_root[type(op)] if f.needs <= around], 1)
        depth = 1
        while entry.finer is not None:
            depth += 1
            deep = self.features(operands, depth - 1)
            found = entry.finer.get(deep)
            if found is None:
                if len(entry.finer) >= MAX_KEPT:
                    entry.finer.clear()
                left = [f for f in entry.forms if admits(node_of(f.variant.before[0]), op, depth)]
                found = entry.finer[deep] = Entry(left, depth)
            entry = found
        return entry.forms

    def features(self, operands: Sequence[SSAValue], depth: int) -> Hashable:
        """What patterns may ask of operands, ``depth`` levels deep."""
        found = [self.feature(v, depth) for v in operands]
        return tuple(found) if len(found) < WIDE else frozenset(found)

    def feature(self, value: SSAValue, depth: int) -> Hashable:
        owner = value.owner
        cls = type(owner)
        if cls is ConstantOp:
            return self.constant(value)
        if depth <= 0 or not isinstance(owner, Operation):
            return cls
        return cls, self.features(owner._operands, depth - 1)  # pyright: ignore[reportPrivateUsage]

    def constant(self, value: SSAValue) -> Hashable:
        """Which of the patterns' constants a constant is."""
        number = number_of(value)
        if number is None:
            return ConstantOp
        if number != number:
            return "nan"
        if not in_range(number):
            return number
        type_ = cast("TensorType[Attribute]", value.type)
        key = (number, type(number), type(type_.element_type))
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= MAX_KEPT:
                self.known.clear()
            far = self.reach * abs(float(number)) / (1.0 - self.reach) if self.reach < 1.0 else inf
            low = bisect_left(self.values, number - far)
            high = bisect_right(self.values, number + far)
            same = tuple([i for i in range(low, high) if number_is(value, *self.numbers[i])])
            found = self.known[key] = same or ConstantOp
        return found


COARSE = 2.0**-7
"""Rounding of bfloat16, the widest default tolerance."""
WIDE = 4
"""Operands from which on their order is not told apart."""


def admits(node: Node, op: Operation, depth: int) -> bool:
    """Whether operands of ``op`` can be those of ``node`` as far as ``depth`` levels tell, in any order."""
    operands = op._operands  # pyright: ignore[reportPrivateUsage]
    return all(any(_fits(a, v, depth - 1) for v in operands) for a in node.args if a is not None)


def _fits(p: Pattern, value: SSAValue, depth: int) -> bool:
    match p:
        case Number():
            return number_is(value, p.value, p.tol)
        case Capture():
            return p.kind != "number" or type(value.owner) is ConstantOp
        case Node() | ResultOf():
            node = node_of(p)
            owner = value.owner
            if type(owner) is not node.cls:
                return False
            return depth <= 0 or admits(node, cast(Operation, owner), depth)
        case _:
            return True
