"""``@rule``: what a rewrite looks like before and after, with its switches, checked where it is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

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
    OneOf,
    Pattern,
    RestCapture,
    ResultOf,
    as_pattern,
    attr,
    const,
    number,
    rule_error,
)

EXACTNESS = ("bits", "value", "tolerance")
MAX_VARIANTS = 128

Condition: TypeAlias = "Callable[..., Any]"
Where: TypeAlias = "Condition | Sequence[Condition] | Mapping[str, Condition]"


@dataclass(frozen=True)
class Check:
    """A condition of a rule: ``name`` is what an explanation says when it fails."""

    name: str
    function: Condition
    params: tuple[str, ...]


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
    as function of the shapes so far (name -> shape); ``dtypes``: names of element types; ``infinite``: False for a rule
    that promises nothing about infinities."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

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


def rule(
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
) -> Callable[[Callable[..., Any]], Rule]:
    """Makes a ``Rule`` of a function from captures to ``(before, after)``, each a value or a tuple of values.

    Parameters: ``x`` any value, ``w: const`` a value known before the model runs, ``c: number`` a constant with one
    value everywhere, ``_p`` or ``p: attr`` an attribute, ``*xs`` the remaining operands, ``**attrs`` the remaining
    attributes of a node. ``where`` holds conditions (one, several, or name -> condition) whose parameters are
    captures: values come as ``patterns.Value``, numbers and attributes as Python values, absent ones as None;
    ``out`` is the value that is replaced.
    """
    if exact not in EXACTNESS:
        raise rule_error(f"exact is {' or '.join(EXACTNESS)}, not {exact!r}")

    def make(function: Callable[..., Any]) -> Rule:
        place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
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
            checks=_checks(where),
            file=function.__code__.co_filename,
            line=function.__code__.co_firstlineno,
            exact=exact,
            level=level,
            topic=topic or function.__module__.rsplit(".", 1)[-1],
            benefit=benefit,
            shared=shared,
            ordered=ordered,
            samples=samples,
        )

    return make


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
) -> Rule:
    """A checked rule from its two sides, for readers of other forms; see ``rule`` for what it means. GE1105."""
    if exact not in EXACTNESS:
        raise rule_error(f"exact is {' or '.join(EXACTNESS)}, not {exact!r}")
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
    )
    check_definition(made)
    return made


def _side(side: Any, place: str) -> tuple[Pattern, ...]:
    items = cast("tuple[Any, ...]", side if isinstance(side, tuple) else (side,))
    found = [as_pattern(i) for i in items]
    if any(f is None for f in found):
        raise rule_error("a side of a rule is a value or a tuple of values", where=place)
    return tuple(f for f in found if f is not None)


def _params(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for p in inspect.signature(function).parameters.values():
        kind = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        kind = kind.rsplit(".", 1)[-1]
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
    try:
        return function(*positional, **keywords)
    except (TypeError, ValueError, AttributeError, IndexError, KeyError) as error:
        code, line = function.__code__, function.__code__.co_firstlineno
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == code.co_filename:
                line = trace.tb_lineno
            trace = trace.tb_next
        raise rule_error(f"{function.__name__}: {error}", None, f"{code.co_filename}:{line}") from error


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Parameter names without leading underscores."""
    return tuple(
        p.name.lstrip("_")
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty
    )


def _checks(where: Where) -> tuple[Check, ...]:
    named: list[tuple[str, Condition]] = []
    if isinstance(where, Mapping):
        named += cast("Mapping[str, Condition]", where).items()
    else:
        several = cast("Sequence[Condition]", where if isinstance(where, Sequence) else [where])
        named += [(_label(f), f) for f in several]
    return tuple(Check(n, f, parameters(f)) for n, f in named)


def _label(function: Condition) -> str:
    doc = inspect.getdoc(function)
    name = getattr(function, "__name__", "condition")
    return doc.splitlines()[0].rstrip(".") if doc else name.replace("_", " ") if name != "<lambda>" else "condition"


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
            before = [_resolve(o, chosen, memo, None, r.where) for o in r.outputs]
        except _Undecided as e:
            queue[:0] = [{**chosen, e.choice.key: i} for i in range(len(e.choice.alternatives))]
            continue
        made += 1
        if made > MAX_VARIANTS:
            raise rule_error(
                f"the alternatives of {r.name} combine to more than {MAX_VARIANTS} forms", "split the rule", r.where
            )
        outputs: list[Node | ResultOf] = []
        for b in before:
            if not isinstance(b, Node | ResultOf):
                raise rule_error(f"the left side of {r.name} must be an op in every alternative", where=r.where)
            outputs.append(b)
        bound = _bound(outputs)
        absent = frozenset(n for n in r.params if n not in bound)
        after = [_resolve(a, chosen, memo, absent, r.where) for a in r.replacements]
        if any(a is None for a in after):
            raise rule_error(f"the right side of {r.name} may be absent", where=r.where)
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
                        "alternatives belong to the left side", "use given, or any_op on both sides", place
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
    if len(r.outputs) != len(r.replacements):
        raise rule_error(
            f"{r.name} replaces {len(r.outputs)} values by {len(r.replacements)}", "give as many as there are", r.where
        )
    _check_bound(r, mentioned(r.outputs))
    for check in r.checks:
        for p in check.params:
            if p not in r.names:
                raise rule_error(
                    f"the condition {check.name!r} asks for {p}, which the rule does not have", None, r.where
                )
    for v in r.variants:
        left = {id(n) for n in nodes(v.before)}
        for node in nodes(v.before):
            _check_operands(node, left=True)
        for node in nodes(v.after):
            if id(node) not in left:
                _check_right(r, v, node)
            for a in [node, *node.args]:
                if isinstance(a, Computed):
                    _check_function(r, a.function, r.where)


def _check_bound(r: Rule, bound: set[str]) -> None:
    """Every parameter is bound on the left; what the right side uses is a parameter."""
    unbound = [n for n in r.params if n not in bound]
    if not unbound:
        return
    if unbound[0] in mentioned(r.replacements):
        raise rule_error(f"{unbound[0]} on the right side of {r.name} is bound nowhere on the left", None, r.where)
    raise rule_error(f"{r.name} does not use its parameter {unbound[0]} on the left side", None, r.where)


def mentioned(roots: Sequence[Pattern | None]) -> set[str]:
    """Names of all captures under ``roots``, in every alternative."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        p = todo.pop()
        match p:
            case Capture() | ManyCapture():
                found.add(p.name)
            case Node():
                todo += p.args
                found |= {v.name for v in p.attrs.values() if isinstance(v, AttrCapture)}
                if p.rest is not None:
                    found.add(p.rest.name)
            case ResultOf() | AllResults():
                todo.append(p.node)
            case OneOf():
                todo += p.alternatives
            case Given():
                todo += [p.then, p.otherwise]
            case _:
                pass
    return found


def _check_function(r: Rule, function: Callable[..., Any], place: str) -> None:
    for p in parameters(function):
        if p not in r.names:
            raise rule_error(f"a function of {r.name} asks for {p}, which the rule does not have", where=place)


def _check_operands(node: Node, *, left: bool) -> None:
    if left and callable(node.dtype):
        raise rule_error("an element type on the left side is a name", "use where= for a condition", node.where)
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
    if node.rest is not None:
        return
    for name in node.cls.attr_names():
        definition = props[name]
        if name not in node.attrs and not isinstance(definition, OptPropertyDef) and definition.default_value is None:
            raise rule_error(f"{node.cls.name} on the right side needs attribute {name}", where=node.where)


def error_of(function: Callable[[], Any]) -> GeError | None:
    """The error a definition raises, if any; for tests and tools that check rule files."""
    try:
        function()
    except GeError as e:
        return e
    return None
