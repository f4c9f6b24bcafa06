"""The rule language: what a pattern is made of.

A rule is a function from captures to ``(before, after)``; calling it once with symbols gives both sides as graphs::

    @rule(exact="value")
    def add_zero(x):
        return ge.add(x, 0), x

``ge.<mnemonic>(operands, attribute=...)`` makes a node of either side, ``+ - * / **`` are short for the arithmetic
ops, numbers are constants. One Python object is one value: a node used twice must be the same value in the model,
and a node of the left side used on the right is the value that was matched.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from gedialect.errors import GeError

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from gedialect.dialects.ge.base import GeOp

Operand: TypeAlias = "Pattern | float | int | Callable[..., Any] | None"

REST = "_rest"
"""Keyword under which ``**attrs`` of a rule function travels."""
DTYPE = "dtype"
"""Keyword of the right side: element type of an op whose type its operands do not tell (``cast``)."""


_place: ContextVar[str | None] = ContextVar("place", default=None)


@contextmanager
def at_place(place: str) -> Generator[None]:
    """Mistakes found meanwhile are at ``place`` (``FILE:line``): for rules read from files that are no Python."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def rule_error(message: str, hint: str | None = None, where: str | None = None) -> GeError:
    """A mistake in a rule (GE1105), at the line of the rule that is being written."""
    if where is None:
        where = _place.get()
    if where is None:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        here = __file__.rsplit("language", 1)[0]
        ours = (here + "language.py", here + "rule.py", functools.__file__)
        while frame.f_back is not None and frame.f_code.co_filename in ours:
            frame = frame.f_back
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return GeError(message, code="GE1105", where=where, hint=hint)


tracing: ContextVar[bool] = ContextVar("tracing", default=False)
"""Whether the function of a rule is being called."""


class Symbol:
    """What stands in a rule for something that is not there yet. Equality is identity."""

    def __eq__(self, other: object) -> bool:
        if self is not other and other is not None and tracing.get():
            raise rule_error(
                "== in a rule compares what it is made of, now, and not values of the model",
                "the op is ge.equal(a, b); conditions go in where=, and two uses of one parameter are one value",
            )
        return self is other

    __hash__ = object.__hash__


class Pattern(Symbol):
    """A value in a rule."""

    def __add__(self, other: Operand) -> Node:
        return ge.add(self, other)

    def __radd__(self, other: Operand) -> Node:
        return ge.add(other, self)

    def __sub__(self, other: Operand) -> Node:
        return ge.sub(self, other)

    def __rsub__(self, other: Operand) -> Node:
        return ge.sub(other, self)

    def __mul__(self, other: Operand) -> Node:
        return ge.mul(self, other)

    def __rmul__(self, other: Operand) -> Node:
        return ge.mul(other, self)

    def __truediv__(self, other: Operand) -> Node:
        return ge.div(self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return ge.div(other, self)

    def __pow__(self, other: Operand) -> Node:
        return ge.pow(self, other)

    def __neg__(self) -> Node:
        return ge.neg(self)

    def __bool__(self) -> bool:
        raise rule_error("a pattern has no truth value", "use where=, one_of, optional or given")


class Capture(Pattern):
    """A parameter of the rule: any value, or with ``kind`` "const" (known before the model runs) or "number"
    (a constant with one value everywhere, on the right and in conditions a Python number)."""

    def __init__(self, name: str, kind: str = "value"):
        self.name = name
        self.kind = kind


class ManyCapture(Pattern):
    """``*xs`` of the rule function: all operands that are left."""

    def __init__(self, name: str):
        self.name = name


class AttrCapture(Symbol):
    """A parameter that stands for an attribute (``_p``, or annotated ``attr``)."""

    def __init__(self, name: str):
        self.name = name


class RestCapture:
    """``**attrs`` of the rule function: all attributes of a node that are not named."""

    def __init__(self, name: str):
        self.name = name


class Number(Pattern):
    """A constant with one value everywhere, of any element type and shape; see ``number``."""

    def __init__(self, value: float | bool, tol: float | None = None):
        for what, given_ in (("a constant", value), ("tol", tol)):
            if not isinstance(given_, int | float) and not (given_ is None and what == "tol"):
                raise rule_error(f"{what} is a number, not {given_!r}", "number(1.702, tol=1e-3)")
        self.value = value
        self.tol = tol


class Computed(Pattern):
    """Right side only: a constant computed from captures by a Python function (number or array)."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function


class Node(Pattern):
    """An op. As an operand it stands for its first result; ``node[1]`` and unpacking give the others, all at once
    where their number is not stated."""

    def __init__(self, cls: type[GeOp], args: Sequence[Pattern | None], attrs: dict[str, Any], where: str):
        self.cls = cls
        self.args = list(args)
        self.rest: RestCapture | None = attrs.pop(REST, None)
        self.dtype: Any = None if DTYPE in cls.attr_names() else attrs.pop(DTYPE, None)
        self.attrs = attrs
        self.where = where
        self.name: str | None = None
        self.type_of: Pattern | Attribute | None = None
        """Right side: the result type, or a value that has it, for ops whose operands do not tell."""
        self._results: dict[int, ResultOf] = {}

    def named(self, name: str) -> Node:
        """The same node; conditions and functions of the rule may ask for its first result by ``name``."""
        self.name = name
        return self

    def result_count(self) -> int | None:
        """Number of results; None if neither the op nor a written attribute states it."""
        count = result_count(self.cls)
        if count is None and self.cls.RESULTS_FROM is not None:
            stated = self.attrs.get(self.cls.RESULTS_FROM)
            return len(cast("Sequence[Any]", stated)) if isinstance(stated, list | tuple) else None
        return count

    def __getitem__(self, index: int) -> Pattern:
        count = self.result_count()
        if index < 0 or (count is not None and index >= count):
            raise IndexError(index)
        return self if index == 0 else self._results.setdefault(index, ResultOf(self, index))

    def __iter__(self) -> Iterator[Pattern]:
        """The results one by one; all at once where their number varies: ``ge.concat(*ge.split(x, ...))``."""
        count = self.result_count()
        if count is None:
            yield AllResults(self)
        else:
            yield from (self[i] for i in range(count))

    @property
    def used_results(self) -> dict[int, ResultOf]:
        """Results beyond the first that the rule names."""
        return self._results


def result_count(cls: type[GeOp]) -> int | None:
    """Number of results of an op; None if it varies."""
    from xdsl.irdl import VarResultDef

    results = cls.get_irdl_definition().results
    return None if any(isinstance(d, VarResultDef) for _, d in results) else len(results)


class ResultOf(Pattern):
    """A result of a node other than the first."""

    def __init__(self, node: Node, index: int):
        self.node = node
        self.index = index


class AllResults(Pattern):
    """All results of a node, in order, as operands."""

    def __init__(self, node: Node):
        self.node = node


class OneOf(Pattern):
    """Alternatives; None among them means an absent operand. ``choice`` ties several together: one decision."""

    def __init__(self, alternatives: Sequence[Pattern | None], choice: object | None = None):
        self.alternatives = tuple(alternatives)
        self.choice = choice

    @property
    def key(self) -> int:
        """What the decision is filed under."""
        return id(self if self.choice is None else self.choice)


class AnyOp:
    """One of several ops, the same wherever it is used in the rule; see ``any_op``."""

    def __init__(self, *ops: Callable[..., Any]):
        if (wrong := next((op for op in ops if not callable(op)), None)) is not None:
            raise rule_error(f"{wrong!r} is no op", "any_op takes ops: any_op(ge.relu, ge.sigmoid)")
        self.ops = ops

    def __call__(self, *operands: Operand) -> OneOf:
        args = [as_pattern(o) for o in operands]
        return OneOf([as_pattern(op(*args)) for op in self.ops], self)


class Given(Pattern):
    """Right side only: ``then`` if the optional capture was matched, else ``otherwise``."""

    def __init__(self, capture: Pattern, then: Pattern | None, otherwise: Pattern | None):
        self.capture = capture
        self.then = then
        self.otherwise = otherwise


def children(p: Pattern) -> Iterator[Pattern | None]:
    """What a pattern is made of."""
    match p:
        case Node():
            yield from p.args
        case ResultOf() | AllResults():
            yield p.node
        case OneOf():
            yield from p.alternatives
        case Given():
            yield from (p.capture, p.then, p.otherwise)
        case _:
            pass


class const(Capture):
    """Annotation: a value known before the model runs (a constant, or computed from constants only)."""


class number(Number):
    """As annotation: a constant with one value everywhere. As call: ``number(1.702, tol=1e-3)``, a constant
    matched with a relative tolerance of its own.

    Without ``tol``, values that bfloat16 can hold (0, 1, 0.5, 6 …) must be equal; others may differ by 1e-5 or by
    one rounding of the constant's type, whichever is more, since exporters round them.
    """


class attr(AttrCapture):
    """Annotation: an attribute."""


def as_pattern(value: Any) -> Pattern | None:
    """An operand as written in a rule: pattern, number, function computing a constant, or None (absent)."""
    match value:
        case None | Pattern():
            return value
        case bool() | int() | float():
            return Number(value)
        case AttrCapture():
            raise rule_error(f"the attribute {value.name} cannot be an operand", f"write NAME={value.name}")
        case dict():
            raise rule_error("attributes cannot be an operand", "write **attrs, with the stars")
        case _ if callable(value):
            return Computed(value)
        case _:
            hint = "give a capture, a node, a number, or on the right side a function that computes a constant"
            raise rule_error(f"{value!r} cannot be an operand", hint)


def one_of(*alternatives: Operand) -> OneOf:
    """Any of these; tried in order."""
    return OneOf([as_pattern(a) for a in alternatives])


def any_op(*ops: Callable[..., Any]) -> AnyOp:
    """One of these ops (or functions from values to values), the same on both sides:
    ``act = any_op(ge.relu, ge.sigmoid)`` and then ``act(x + b), act(...)``."""
    return AnyOp(*ops)


def optional(pattern: Operand, otherwise: Operand = None) -> OneOf:
    """An operand that may be absent, or with ``otherwise`` a step that may be left out: ``optional(x * s, x)``."""
    return one_of(pattern, otherwise)


def given(capture: Pattern, then: Operand, otherwise: Operand) -> Given:
    """On the right side: ``then`` if ``capture`` was matched, else ``otherwise``."""
    return Given(capture, as_pattern(then), as_pattern(otherwise))


def any_order(op: Callable[..., Node], *terms: Operand) -> Pattern:
    """All ways to join ``terms`` two at a time with a commutative op, in any association: for three terms
    (ab)c, (ac)b and a(bc); the operand orders come from the op's trait. At most four terms."""
    if not 2 <= len(terms) <= 4:
        raise rule_error(f"any_order takes two to four terms, not {len(terms)}")

    def trees(part: tuple[int, ...]) -> list[Pattern]:
        if len(part) == 1:
            leaf = as_pattern(terms[part[0]])
            assert leaf is not None
            return [leaf]
        found: list[Pattern] = []
        first, rest = part[0], part[1:]
        for size in range(len(rest)):
            for others in itertools.combinations(rest, size):
                right = tuple(i for i in rest if i not in others)
                found += [op(a, b) for a in trees((first, *others)) for b in trees(right)]
        return found

    return OneOf(trees(tuple(range(len(terms)))))


class _Ge:
    """``ge.<mnemonic>`` makes a node of the op; an unknown op is a GE1105 at the line of the rule."""

    def __getattr__(self, mnemonic: str) -> Callable[..., Node]:
        if mnemonic.startswith("__"):
            raise AttributeError(mnemonic)
        from gedialect.dialects.ge import op_class

        try:
            cls = op_class(mnemonic.rstrip("_"))
        except GeError:
            raise rule_error(f"the ge dialect has no op {mnemonic}", _close(mnemonic)) from None

        def node(*operands: Operand, **attrs: Any) -> Node:
            place = str(rule_error("").where)
            _check_attrs(cls, attrs, place)
            args = [as_pattern(o) for o in operands]
            kinds = cls.operand_kinds()
            if len(args) > len(kinds) and not any(k == "variadic" for _, k in kinds):
                raise rule_error(f"{cls.name} takes {len(kinds)} operands, not {len(args)}", where=place)
            return Node(cls, args, dict(attrs), place)

        return node


def _check_attrs(cls: type[GeOp], attrs: Mapping[str, Any], place: str) -> None:
    names = cls.attr_names()
    for name in attrs:
        if name not in names and name not in (REST, DTYPE):
            known = ", ".join(names) if names else "none"
            raise rule_error(f"{cls.name} has no attribute {name}", f"it has: {known}", where=place)
    for name, value in attrs.items():
        if name in names and value is not None:
            check_value(cls, name, value, place)
    if DTYPE not in names and attrs.get(DTYPE) is not None:
        _check_dtype(attrs[DTYPE], place)


def check_value(cls: type[GeOp], name: str, value: Any, place: str) -> None:
    """A written attribute has a value the op takes: it would never match otherwise, or fail far from the rule."""
    from xdsl.ir import Attribute

    from gedialect.dialects.ge.base import to_python
    from gedialect.patterns.attributes import converted, expected

    match value:
        case AttrCapture():
            return
        case Capture() if value.kind == "number":
            return
        case Pattern():
            what = f"the value {value.name}" if isinstance(value, Capture) else "a value"
            hint = f"declare it as {value.name}: number" if isinstance(value, Capture) else "compute it with a function"
            raise rule_error(f"{what} cannot be the attribute {name} of {cls.name}", hint, where=place)
        case RestCapture():
            raise rule_error(f"{value.name} stands for several attributes", f"write **{value.name}", where=place)
        case _ if callable(value):
            return
        case _:
            if converted(cls, name, value) is None:
                shown = to_python(value) if isinstance(value, Attribute) else value
                hint = expected(cls, name, shown)
                raise rule_error(f"{cls.name} takes no {name} = {shown!r}", hint, where=place)


def _check_dtype(value: Any, place: str) -> None:
    from gedialect.ir.dtypes import BY_NAME, DType

    if isinstance(value, DType | Capture) or callable(value):
        return
    if not isinstance(value, str) or value not in BY_NAME:
        raise rule_error(f"{value!r} is no element type", element_type_hint(str(value)), where=place)


def element_type_hint(name: str) -> str:
    """What somebody meant by the name of an element type that there is not."""
    from gedialect.ir.dtypes import BY_NAME

    close = _LONG_NAMES.get(name) or " or ".join(get_close_matches(name, BY_NAME, 3))
    return f"did you mean {close}?" if close else f"types are {', '.join(BY_NAME)}"


_LONG_NAMES = (
    {"float64": "f64", "double": "f64", "float32": "f32", "float": "f32", "float16": "f16", "half": "f16"}
    | {"bfloat16": "bf16", "bool": "i1", **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)}}
    | {f"uint{n}": f"ui{n}" for n in (8, 16, 32, 64)}
)
"""What others call element types."""


def _close(mnemonic: str) -> str | None:
    from gedialect.dialects.ge import op_classes

    close = get_close_matches(mnemonic, [c.name.removeprefix("ge.") for c in op_classes()], 3)
    return f"did you mean {' or '.join(close)}?" if close else None


ge = _Ge()
