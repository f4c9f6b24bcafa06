"""``@rule``: what a rewrite looks like before and after, with its switches, checked where it is written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, TypeAlias, cast, overload

from xdsl.irdl import OptPropertyDef

from gedialect.dialects.ge.base import GeOp
from gedialect.errors import GeError
from gedialect.patterns.language import (
    REST,
    AllResults,
    AttrCapture,
    Capture,
    Computed,
    Given,
    ManyCapture,
    Node,
    Number,
    OneOf,
    Pattern,
    RestCapture,
    ResultOf,
    as_pattern,
    attr,
    children,
    const,
    number,
    rule_error,
    tracing,
)
from gedialect.patterns.places import code_of, failing_line, parameter_line, place_of, return_line
from gedialect.patterns.sampling import check_samples

EXACTNESS = ("bits", "value", "tolerance")
LEVELS = (1, 2)
MAX_VARIANTS = 128
MAX_LEVELS = 100
"""What walks over patterns does so by recursion."""
UNNAMED = "condition"
"""Name of a condition that has none."""

Condition: TypeAlias = "Callable[..., Any]"
Where: TypeAlias = "Condition | Sequence[Condition] | Mapping[str, Condition]"


@dataclass(frozen=True)
class Check:
    """A condition of a rule: ``name`` is what an explanation says when it fails."""

    name: str
    function: Condition
    params: tuple[str, ...]
    where: str | None = None
    """Where it is written, if that is known."""


@dataclass
class Variant:
    """One choice of alternatives: plain graphs without ``one_of``, ``optional`` and ``given``."""

    before: list[Node | ResultOf]
    after: list[Pattern]
    absent: frozenset[str]
    """Captures this variant does not bind; None wherever they are used."""


@dataclass(eq=False)
class Rule:
    """A rewrite rule; ``exact`` says how the two sides agree.

    "bits": all bits; "value": equal values, but signs of zero and payloads of NaN may differ; "tolerance": rounding
    may differ. ``level`` 1 is canonical forms, 2 fusion and raising. Higher ``benefit`` is tried first; the default
    is the number of ops of the left side. ``shared`` rules apply although values inside the match have other users.
    """

    name: str
    doc: str
    exact: str
    level: int
    topic: str
    shared: bool
    checks: tuple[Check, ...]
    file: str
    line: int
    params: dict[str, Any]
    outputs: tuple[Pattern, ...]
    replacements: tuple[Pattern, ...]
    own_benefit: int | None = None
    ordered: bool = False
    """Operands match in the order written only, also of commutative ops."""
    samples: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Hints for the proof, by capture: an attribute or number as function of a random generator, the shape of a value
    as function of the shapes so far (name -> shape), and of a random generator if it takes two; ``dtypes``: names of
    element types; ``infinite``: False for a rule that promises nothing about infinities."""
    sides_at: str | None = None
    """Where the two sides are written, if that is known."""
    code: CodeType | None = None
    """The function it was made of, if it was."""
    pdl: str | None = None
    """The PDL pattern it was read from."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def sides(self) -> str:
        """Where mistakes of the sides as a whole are."""
        return self.sides_at or self.where

    @cached_property
    def variants(self) -> list[Variant]:
        """All choices of alternatives, in the order written."""
        return list(_variants(self))

    @cached_property
    def names(self) -> frozenset[str]:
        """What conditions and functions of the rule may ask for."""
        found = {n.name for v in self.variants for n in nodes(v.before) if n.name is not None}
        return frozenset([*self.params, *found, "out"])

    @cached_property
    def root_classes(self) -> tuple[type[GeOp], ...]:
        """Op classes at which a match starts."""
        return tuple(dict.fromkeys(node_of(v.before[0]).cls for v in self.variants))

    @cached_property
    def benefit(self) -> int:
        """What orders rules of one root: larger patterns first unless the rule says otherwise."""
        if self.own_benefit is not None:
            return self.own_benefit
        return max(len(list(nodes(v.before))) for v in self.variants)

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


@overload
def rule(function: Callable[..., Any], /) -> Rule: ...


@overload
def rule(
    *,
    exact: str = ...,
    level: int = ...,
    topic: str | None = ...,
    where: Where = ...,
    benefit: int | None = ...,
    shared: bool = ...,
    ordered: bool = ...,
    name: str | None = ...,
    samples: Mapping[str, Any] | None = ...,
) -> Callable[[Callable[..., Any]], Rule]: ...


def rule(
    function: Callable[..., Any] | None = None,
    /,
    *,
    exact: str = "value",
    level: int = 2,
    topic: str | None = None,
    where: Where = (),
    benefit: int | None = None,
    shared: bool = False,
    ordered: bool = False,
    name: str | None = None,
    samples: Mapping[str, Any] | None = None,
) -> Rule | Callable[[Callable[..., Any]], Rule]:
    """Makes a ``Rule`` of a function from captures to ``(before, after)``, each a value or a tuple of values.

    Parameters: ``x`` any value, ``w: const`` a value known before the model runs, ``c: number`` a constant with one
    value everywhere, ``_p`` or ``p: attr`` an attribute, ``*xs`` the remaining operands, ``**attrs`` the remaining
    attributes of a node. ``where`` holds conditions (one, several, or name -> condition) whose parameters are
    captures: values come as ``patterns.Value``, numbers and attributes as Python values, absent ones as None;
    ``out`` is the value that is replaced.
    """
    words = {"topic": topic, "name": name}
    check_options(exact, level, benefit, {"shared": shared, "ordered": ordered}, words, samples)
    if function is not None and not isinstance(function, FunctionType):
        raise rule_error(f"{function!r} is no function", "options have names: @rule(exact=...)")

    def make(function: Callable[..., Any]) -> Rule:
        code = function.__code__
        place = f"{code.co_filename}:{return_line(code)}"
        params = _params(function)
        sides = _trace(function, params)
        if not isinstance(sides, tuple) or len(sides) != 2:  # pyright: ignore[reportUnknownArgumentType]
            raise rule_error("a rule returns what it looks like before and after", "return before, after", place)
        before, after = (_side(s, place) for s in sides)  # pyright: ignore[reportUnknownVariableType]
        return make_rule(
            name=name or function.__name__,
            doc=inspect.getdoc(function) or "",
            params=params,
            before=before,
            after=after,
            checks=_checks(where, code.co_filename),
            file=code.co_filename,
            line=code.co_firstlineno,
            sides_at=place,
            code=code,
            exact=exact,
            level=level,
            topic=topic or function.__module__.rsplit(".", 1)[-1],
            benefit=benefit,
            shared=shared,
            ordered=ordered,
            samples=samples,
        )

    return make if function is None else make(function)


def check_options(
    exact: object,
    level: object,
    benefit: object,
    switches: Mapping[str, object],
    names: Mapping[str, object],
    samples: object,
) -> None:
    """GE1105 for an option of another kind than it has: it would be taken for something else without a word."""
    if exact not in EXACTNESS:
        raise rule_error(f"exact is {' or '.join(EXACTNESS)}, not {exact!r}")
    if type(level) is not int or level not in LEVELS:
        raise rule_error(f"level is 1 or 2, not {level!r}", "1 are canonical forms that keep values, 2 everything else")
    if benefit is not None and (not isinstance(benefit, int) or isinstance(benefit, bool)):
        raise rule_error(f"benefit is an integer, not {benefit!r}")
    for key, value in switches.items():
        if not isinstance(value, bool):
            raise rule_error(f"{key} is True or False, not {value!r}")
    for key, value in names.items():
        if value is not None and not (isinstance(value, str) and re.fullmatch(r"\w+", value)):
            raise rule_error(f"{key} is a word, not {value!r}")
    if samples is not None and not isinstance(samples, Mapping):
        raise rule_error(f"samples go by the name of a capture, not {samples!r}", 'samples={"x": ...}')


def make_rule(
    *,
    name: str,
    params: dict[str, Any],
    before: tuple[Pattern, ...],
    after: tuple[Pattern, ...],
    file: str,
    line: int,
    topic: str,
    doc: str = "",
    checks: tuple[Check, ...] = (),
    exact: str = "value",
    level: int = 2,
    benefit: int | None = None,
    shared: bool = False,
    ordered: bool = False,
    samples: Mapping[str, Any] | None = None,
    sides_at: str | None = None,
    code: CodeType | None = None,
    pdl: str | None = None,
) -> Rule:
    """A checked rule from its two sides, for readers of other forms; see ``rule`` for what it means. GE1105."""
    check_options(exact, level, benefit, {"shared": shared, "ordered": ordered}, {"topic": topic}, samples)
    made = Rule(
        name=name,
        doc=doc,
        exact=exact,
        level=level,
        topic=topic,
        shared=shared,
        checks=checks,
        file=file,
        line=line,
        params=params,
        outputs=before,
        replacements=after,
        own_benefit=benefit,
        ordered=ordered,
        samples=samples or {},
        sides_at=sides_at,
        code=code,
        pdl=pdl,
    )
    check_definition(made)
    check_samples(name, params, made.samples, file, line)
    return made


def _side(side: Any, place: str) -> tuple[Pattern, ...]:
    items = cast("tuple[Any, ...]", side if isinstance(side, tuple) else (side,))
    found = [as_pattern(i) for i in items]
    if any(f is None for f in found):
        raise rule_error("a side of a rule is a value or a tuple of values", where=place)
    return tuple(f for f in found if f is not None)


KINDS = (const.__name__, number.__name__, attr.__name__, "Value", "Any", "_empty")
"""Annotations of parameters; the last three say nothing."""


def _params(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for p in inspect.signature(function).parameters.values():
        kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", repr(p.annotation))
        kind = kind.rsplit(".", 1)[-1]
        code = function.__code__
        wrong, hint = None, None
        if kind not in KINDS:
            wrong, hint = f"{kind} is no kind of parameter", f"kinds are {', '.join(KINDS[:3])}; without one: any value"
        elif p.default is not p.empty:
            wrong, hint = f"the parameter {p.name} has a default", "bind the value in a function around the rule"
        elif p.name.lstrip("_") in found or p.name.lstrip("_") in ("", "out"):
            wrong, hint = f"the parameter name {p.name} is taken", "rename it; out is the value that is replaced"
        if wrong is not None:
            raise rule_error(wrong, hint, f"{code.co_filename}:{parameter_line(code, p.name.lstrip('_'))}")
        if p.kind is p.VAR_KEYWORD:
            found[p.name] = RestCapture(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            found[p.name] = ManyCapture(p.name)
        elif p.name.startswith("_") or kind == attr.__name__:
            found[p.name.lstrip("_")] = AttrCapture(p.name.lstrip("_"))
        else:
            known = {const.__name__: "const", number.__name__: "number"}
            found[p.name] = Capture(p.name, known.get(kind, "value"))
    return found


def _trace(function: Callable[..., Any], params: Mapping[str, Any]) -> Any:
    """What the function returns for its parameters as symbols."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for p, symbol in zip(inspect.signature(function).parameters.values(), params.values(), strict=True):
        if p.kind is p.VAR_KEYWORD:
            keywords[REST] = symbol
        elif p.kind is p.KEYWORD_ONLY:
            keywords[p.name] = symbol
        else:
            positional.append(symbol)
    token = tracing.set(True)
    try:
        return function(*positional, **keywords)
    except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
        code = function.__code__
        line = failing_line(error.__traceback__, code.co_filename) or code.co_firstlineno
        message = str(error) if isinstance(error, TypeError | ValueError | AttributeError) else repr(error)
        raise rule_error(f"{function.__name__}: {message}", _advice(error), f"{code.co_filename}:{line}") from error
    finally:
        tracing.reset(token)


def _advice(error: Exception) -> str | None:
    """What somebody probably wanted who got this exception while a rule was written down."""
    text = str(error)
    if "unpack" in text:
        return "the number of results is not stated: parts = ge.split(...), then parts[0], parts[1]"
    if "operand type" in text or "not supported between" in text or "operand for unary" in text:
        return "operators are + - * / ** and unary -; other ops go by name, as ge.greater(x, 0) or ge.matmul(x, w)"
    if isinstance(error, AttributeError) and isinstance(error.obj, Pattern | AttrCapture | RestCapture):
        return "there are no values yet: ask for them in where=, or in a lambda that computes an attribute"
    if isinstance(error, IndexError):
        return "the op has no such result"
    return None


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Parameter names without leading underscores."""
    return tuple(
        p.name.lstrip("_")
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
    )


def _checks(where: Where, file: str) -> tuple[Check, ...]:
    named: list[tuple[str, Condition]] = []
    if isinstance(where, Mapping):
        named += cast("Mapping[str, Condition]", where).items()
    else:
        several = cast("Sequence[Condition]", where if isinstance(where, Sequence) else [where])
        named += [(_label(f), f) for f in several]
    found: list[Check] = []
    for name, f in named:
        if not callable(f) or isinstance(f, type):
            raise rule_error(
                f"{f!r} is no condition", "where= takes functions of captures: where=lambda x: x.rank == 2"
            )
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise rule_error(f"{name!r} is no name of a condition", 'write where={"what must hold": lambda x: ...}')
        code = code_of(f)
        place = f"{file}:{code.co_firstlineno}" if code is not None and code.co_filename == file else None
        found.append(Check(name, f, parameters(f), place))
    return tuple(found)


def _label(function: Condition) -> str:
    doc = inspect.getdoc(function)
    name = getattr(function, "__name__", "condition")
    return doc.splitlines()[0].rstrip(".") if doc else name.replace("_", " ") if name != "<lambda>" else UNNAMED


# ---------------------------------------------------------------- graphs
def node_of(pattern: Pattern) -> Node:
    """The node of an output."""
    assert isinstance(pattern, Node | ResultOf | AllResults)
    return pattern if isinstance(pattern, Node) else pattern.node


def nodes(roots: Sequence[Pattern | None]) -> Iterator[Node]:
    """Nodes under ``roots``, each once, operands before users."""
    seen: set[int] = set()

    def visit(p: Pattern | None) -> Iterator[Node]:
        if isinstance(p, ResultOf | AllResults):
            p = p.node
        if p is None or id(p) in seen:
            return
        seen.add(id(p))
        if isinstance(p, Node):
            for a in p.args:
                yield from visit(a)
            yield p

    for r in roots:
        yield from visit(r)


def _walk(roots: Sequence[Pattern | None]) -> Iterator[Pattern]:
    """All that ``roots`` are made of, in every alternative, each once: nested alternatives share it, and there are many
    more paths than nodes."""
    todo = list(roots)
    seen: set[int] = set()
    while todo:
        p = todo.pop()
        if p is not None and id(p) not in seen:
            seen.add(id(p))
            yield p
            todo += children(p)


def every_node(root: Pattern | None) -> Iterator[Node]:
    """Nodes under ``root``, in every alternative, each once."""
    return (p for p in _walk([root]) if isinstance(p, Node))


def _levels(roots: Sequence[Pattern]) -> int:
    """The longest way down from ``roots``."""
    levels: dict[int, int] = {}
    todo: list[tuple[Pattern, bool]] = [(r, False) for r in roots]
    while todo:
        p, below = todo.pop()
        if id(p) in levels:
            continue
        inner = [c for c in children(p) if c is not None]
        if below:
            levels[id(p)] = 1 + max((levels[id(c)] for c in inner), default=0)
        else:
            todo.append((p, True))
            todo += [(c, False) for c in inner]
    return max((levels[id(r)] for r in roots), default=0)


class _Undecided(Exception):
    def __init__(self, choice: OneOf):
        self.choice = choice


def _variants(r: Rule) -> Iterator[Variant]:
    queue: list[dict[int, int]] = [{}]
    made = 0
    while queue:
        chosen = queue.pop(0)
        memo: dict[int, Pattern | None] = {}
        try:
            before = [_resolve(o, chosen, memo, None, r.sides) for o in r.outputs]
        except _Undecided as e:
            queue[:0] = [{**chosen, e.choice.key: i} for i in range(len(e.choice.alternatives))]
            continue
        made += 1
        if made > MAX_VARIANTS:
            raise rule_error(
                f"the alternatives of {r.name} combine to more than {MAX_VARIANTS} forms", "split the rule", r.sides
            )
        outputs: list[Node | ResultOf] = []
        for b in before:
            if not isinstance(b, Node | ResultOf):
                what = "a capture" if isinstance(b, Capture) else "no op"
                raise rule_error(
                    f"the left side of {r.name} is {what}",
                    "what is replaced is made by an op, in every alternative",
                    r.sides,
                )
            outputs.append(b)
        bound = _bound(outputs)
        absent = frozenset(n for n in r.params if n not in bound)
        after = [_resolve(a, chosen, memo, absent, r.sides) for a in r.replacements]
        if any(a is None for a in after):
            raise rule_error(
                f"the right side of {r.name} may be absent", "say what else it becomes: given(b, ..., ...)", r.sides
            )
        yield Variant(outputs, [a for a in after if a is not None], absent)


def _resolve(
    p: Pattern | None,
    chosen: Mapping[int, int],
    memo: dict[int, Pattern | None],
    absent: frozenset[str] | None,
    place: str,
) -> Pattern | None:
    """``p`` without alternatives; ``absent`` is given on the right side only."""
    if p is None:
        return None
    if id(p) in memo:
        return memo[id(p)]
    match p:
        case OneOf():
            if p.key not in chosen:
                if absent is not None:
                    raise rule_error(
                        "alternatives belong to the left side",
                        "use given, or any_op (in text: choice) on both sides",
                        place,
                    )
                raise _Undecided(p)
            out = _resolve(p.alternatives[chosen[p.key]], chosen, memo, absent, place)
        case Given():
            if absent is None:
                raise rule_error("given belongs to the right side", "use one_of or optional on the left", place)
            there = not (isinstance(p.capture, Capture | ManyCapture) and p.capture.name in absent)
            out = _resolve(p.then if there else p.otherwise, chosen, memo, absent, place)
        case ResultOf():
            node = _resolve(p.node, chosen, memo, absent, place)
            assert isinstance(node, Node)
            out = node[p.index]
        case AllResults():
            node = _resolve(p.node, chosen, memo, absent, place)
            assert isinstance(node, Node)
            out = p if node is p.node else AllResults(node)
        case Node():
            args = [_resolve(a, chosen, memo, absent, place) for a in p.args]
            if all(a is b for a, b in zip(args, p.args, strict=True)):
                out = p
            else:
                out = Node(p.cls, args, {**p.attrs, **({REST: p.rest} if p.rest is not None else {})}, p.where)
                out.dtype, out.name, out.type_of = p.dtype, p.name, p.type_of
        case Capture() if absent is not None and p.name in absent:
            out = None
        case _:
            out = p
    memo[id(p)] = out
    return out


def _bound(outputs: Sequence[Pattern]) -> set[str]:
    found: set[str] = set()
    for node in nodes(outputs):
        for a in node.args:
            if isinstance(a, Capture | ManyCapture):
                found.add(a.name)
        found |= {v.name for v in node.attrs.values() if isinstance(v, AttrCapture)}
        if node.rest is not None:
            found.add(node.rest.name)
    return found


# ---------------------------------------------------------------- checks where the rule is written
def check_definition(r: Rule) -> None:
    if _levels([*r.outputs, *r.replacements]) > MAX_LEVELS:
        raise rule_error(f"{r.name} is more than {MAX_LEVELS} ops deep", "split the rule", r.sides)
    if len(r.outputs) != len(r.replacements):
        raise rule_error(
            f"{r.name} replaces {len(r.outputs)} values by {len(r.replacements)}", "give as many as there are", r.sides
        )
    for p in r.replacements:
        if isinstance(p, ManyCapture | AllResults):
            name = p.name if isinstance(p, ManyCapture) else p.node.cls.name
            raise rule_error(f"{name} on the right side of {r.name} is several values", "name one of them", r.sides)
    _check_bound(r, mentioned(r.outputs))
    for check in r.checks:
        for p in check.params:
            if p not in r.names:
                raise rule_error(
                    f"the condition {check.name!r} asks for {p}, which {r.name} does not have",
                    names_hint(r, p),
                    check.where or r.where,
                )
    for v in r.variants:
        left = {id(n) for n in nodes(v.before)}
        for node in nodes(v.before):
            _check_operands(node, left=True)
        for a in v.after:
            if isinstance(a, Computed):
                _check_function(r, a.function, place_of(a.function, r.file, r.sides))
        for node in nodes(v.after):
            if id(node) not in left:
                _check_right(r, v, node)
            for a in node.args:
                if isinstance(a, Computed):
                    _check_function(r, a.function, place_of(a.function, r.file, node.where))


def _check_bound(r: Rule, bound: set[str]) -> None:
    """Every parameter is bound on the left; what the right side uses is a parameter."""
    unbound = [n for n in r.params if n not in bound]
    if not unbound:
        return
    first = unbound[0]
    if first in mentioned(r.replacements):
        users = (n.where for p in r.replacements for n in every_node(p) if first in mentioned([n]) - mentioned(n.args))
        direct = (n.where for p in r.replacements for n in every_node(p) if any(_is(a, first) for a in n.args))
        place = next(users, None) or next(direct, None) or r.sides
        message = f"{first} on the right side of {r.name} is bound nowhere on the left"
        raise rule_error(message, f"use {first} on the left side too", place)
    line = r.line if r.code is None else parameter_line(r.code, first)
    raise rule_error(
        f"{r.name} does not use its parameter {first} on the left side",
        "use it there, or take it away",
        f"{r.file}:{line}",
    )


def _is(p: Pattern | None, name: str) -> bool:
    return isinstance(p, Capture | ManyCapture) and p.name == name


def mentioned(roots: Sequence[Pattern | None]) -> set[str]:
    """Names of all captures under ``roots``, in every alternative."""
    found: set[str] = set()
    for p in _walk(roots):
        if isinstance(p, Capture | ManyCapture):
            found.add(p.name)
        elif isinstance(p, Node):
            found |= {v.name for v in p.attrs.values() if isinstance(v, AttrCapture)}
            if p.rest is not None:
                found.add(p.rest.name)
    return found


def _check_function(r: Rule, function: Callable[..., Any], place: str) -> None:
    for p in parameters(function):
        if p not in r.names:
            raise rule_error(
                f"a function of {r.name} asks for {p}, which the rule does not have", names_hint(r, p), place
            )


def names_hint(r: Rule, name: str) -> str:
    """What a function may have meant by a name that the rule does not have."""
    close = get_close_matches(name, r.names, 1)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(r.names))}"


def _check_operands(node: Node, *, left: bool) -> None:
    if left and (callable(node.dtype) or isinstance(node.dtype, Capture)):
        raise rule_error("an element type on the left side is a name", "use where= for a condition", node.where)
    for key, value in node.attrs.items():
        if left and (isinstance(value, Capture) or (callable(value) and not isinstance(value, AttrCapture))):
            raise rule_error(
                f"the attribute {key} on the left side is computed",
                f"capture it ({key[:1]}: attr, {key}={key[:1]}) and compare in where=",
                node.where,
            )
    for a in node.args:
        if not left and isinstance(a, AllResults):
            raise rule_error("all results at once belong to the left side", "index them: node[0], node[1]", node.where)
        if left and isinstance(a, Computed):
            raise rule_error("a computed constant belongs to the right side", "use where= for a condition", node.where)
    kinds = node.cls.operand_kinds()
    required = sum(k == "one" for _, k in kinds)
    if len(node.args) < required and not any(isinstance(a, ManyCapture | AllResults) for a in node.args):
        raise rule_error(f"{node.cls.name} needs {required} operands, not {len(node.args)}", where=node.where)
    for (name, kind), a in zip(kinds, node.args, strict=False):
        if kind == "one" and a is None:
            raise rule_error(f"operand {name} of {node.cls.name} cannot be absent", where=node.where)
        if kind == "variadic":
            break


def _check_right(r: Rule, v: Variant, node: Node) -> None:
    _check_operands(node, left=False)
    if any(isinstance(a, Number | Computed) for a in node.args) and all(
        a is None or isinstance(a, Number | Computed) for a in node.args
    ):
        raise rule_error(
            f"{node.cls.name} on the right side joins constants only",
            "write the result as one constant, a number or a function; its type is that of an operand beside it",
            node.where,
        )
    props = node.cls.get_irdl_definition().properties
    for name, value in node.attrs.items():
        if isinstance(value, AttrCapture):
            if r.params.get(value.name) is not value:
                raise rule_error(f"attribute {value.name} is no parameter of {r.name}", where=node.where)
            if value.name in v.absent and not isinstance(props[name], OptPropertyDef):
                raise rule_error(f"attribute {value.name} is not bound in every alternative", where=node.where)
        elif callable(value):
            _check_function(r, value, node.where)
    if callable(node.dtype):
        _check_function(r, node.dtype, node.where)
    given = {*node.attrs, *_brought(v, node)}
    for name in node.cls.attr_names():
        definition = props[name]
        if name not in given and not isinstance(definition, OptPropertyDef) and definition.default_value is None:
            raise rule_error(
                f"{node.cls.name} on the right side needs attribute {name}", f"write {name}=...", where=node.where
            )


def _brought(v: Variant, node: Node) -> set[str]:
    """Attributes that ``**attrs`` brings to a new op, all of which it has to have."""
    rest = node.rest
    found: set[str] = set()
    for source in nodes(v.before):
        if source.rest is rest and rest is not None:
            names = set(source.cls.attr_names()) - set(source.attrs)
            if strange := sorted(names - set(node.cls.attr_names())):
                raise rule_error(
                    f"{node.cls.name} has no attribute {strange[0]}, which **{rest.name} of {source.cls.name} brings",
                    f"name {strange[0]} on the left side, so that **{rest.name} leaves it out",
                    node.where,
                )
            found |= names
    return found


def error_of(function: Callable[[], Any]) -> GeError | None:
    """The error a definition raises, if any; for tests and tools that check rule files."""
    try:
        function()
    except GeError as e:
        return e
    return None
