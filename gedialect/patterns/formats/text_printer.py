"""Rules as text (``.rules``), where that form can say them: conditions and computed values are expressions there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gedialect.errors import GeError
from gedialect.ir.dtypes import DType
from gedialect.patterns.formats.expressions import SAFE, text_of
from gedialect.patterns.language import (
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
    children,
    number,
)
from gedialect.patterns.rule import Rule
from gedialect.patterns.values import shown

INFIX = {"ge.add": ("+", 1), "ge.sub": ("-", 1), "ge.mul": ("*", 2), "ge.div": ("/", 2)}
CALL = 9
OWN_WORDS = frozenset(["any_order", "choice", "optional", "given", "number", "None", "where", "rule", *SAFE])


def print_rules(rules: Sequence[Rule]) -> str:
    """The text of several rules; GE1116 for the first that cannot be said."""
    return "\n".join(print_rule(r) for r in rules)


def print_rule(rule: Rule) -> str:
    """The text of one rule; GE1116 if a condition or a computed value is a Python function and no expression."""
    return _Printer(rule).text()


def _unsayable(rule: Rule, what: str) -> GeError:
    return GeError(
        f"{rule.name} cannot be written as text: {what}",
        code="GE1116",
        where=rule.where,
        hint="write it as a lambda of captures that uses nothing else, or keep the rule in Python",
    )


class _Printer:
    def __init__(self, rule: Rule):
        self.rule = rule
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        """shared pattern -> the name it has"""
        self.taken = {*rule.params, *OWN_WORDS}
        self.choices: dict[int, str] = {}
        roots = [*rule.outputs, *rule.replacements]
        self.uses: Counter[int] = Counter()
        seen: set[int] = set()
        for p in roots:
            self.count(p, seen)

    def count(self, p: Pattern | None, seen: set[int]) -> None:
        if p is None:
            return
        if isinstance(p, ResultOf | AllResults):
            self.uses[id(p.node)] += 2  # its results are told apart, so it needs a name
        self.uses[id(p)] += 1
        if id(p) not in seen:
            seen.add(id(p))
            for child in children(p):
                self.count(child, seen)

    # ------------------------------------------------------------ lines
    def text(self) -> str:
        r = self.rule
        options = [f"exact={r.exact}", f"level={r.level}", f"topic={r.topic}"]
        if r.own_benefit is not None:
            options.append(f"benefit={r.own_benefit}")
        finite = not r.samples.get("infinite", True)
        options += [word for word, on in (("shared", r.shared), ("ordered", r.ordered), ("finite", finite)) if on]
        head = f"rule {r.name}({', '.join(map(self.param, r.params.values()))}) {' '.join(options)}:"
        before = ", ".join(self.value(p, 0, top=True) for p in r.outputs)
        after = ", ".join(self.value(p, 0, top=True) for p in r.replacements)
        doc = [f'"{" ".join(r.doc.split())}"'.replace("\\", "\\\\")] if r.doc else []
        if doc and '"' in doc[0][1:-1]:
            doc = [repr(" ".join(r.doc.split()))]
        where: list[str] = []
        for check in r.checks:
            condition = self.expression(check.function, f"the condition {check.name!r}")
            label = "" if check.name == condition else f' "{check.name}":'
            where.append(f"where{label} {condition}")
        body = [*doc, *self.lines, before, f"    => {after}", *where]
        return "\n".join([head, *(f"    {line}" for line in body)]) + "\n"

    def param(self, p: Any) -> str:
        match p:
            case RestCapture():
                return f"**{p.name}"
            case ManyCapture():
                return f"*{p.name}"
            case AttrCapture():
                return f"{p.name}: attr"
            case _:
                return p.name if p.kind == "value" else f"{p.name}: {p.kind}"

    def name(self, wanted: str) -> str:
        found, n = wanted, 1
        while found in self.taken:
            n += 1
            found = f"{wanted}_{n}"
        self.taken.add(found)
        return found

    # ------------------------------------------------------------ values
    def value(self, p: Pattern | None, strength: int, *, top: bool = False) -> str:
        """The text of a pattern where operators of ``strength`` or less need brackets; shared ones get a line."""
        if p is None:
            return "None"
        if id(p) in self.names:
            return self.names[id(p)]
        named = p.name if isinstance(p, Node) else None
        shared = self.uses[id(p)] > 1 and isinstance(p, Node | OneOf | Given)
        if not shared and named is None:
            return self.spell(p, strength)
        spelled = self.spell(p, 0)
        if named is not None and named in self.taken:
            raise _unsayable(self.rule, f"the name {named} is taken")
        base = "y" if not isinstance(p, Node) else p.cls.name.removeprefix("ge.")[:1]
        self.names[id(p)] = name = self.name(named or base)
        self.lines.append(f"{name} = {spelled}")
        return name

    def spell(self, p: Pattern, strength: int) -> str:
        match p:
            case Capture() | ManyCapture():
                return p.name
            case Number():
                return self.number(p)
            case Computed():
                return "{" + self.expression(p.function, "a computed constant") + "}"
            case ResultOf():
                return f"{self.value(p.node, CALL)}[{p.index}]"
            case Given():
                parts = (p.capture, p.then, p.otherwise)
                return f"given({', '.join(self.value(a, 0) for a in parts)})"
            case OneOf():
                return self.alternatives(p)
            case Node():
                return self.node(p, strength)
            case _:
                raise _unsayable(self.rule, f"a {type(p).__name__}")

    def number(self, p: Number) -> str:
        value = p.value
        if value != value or (abs(value) >= 1 << 1024 and not isinstance(value, float)):
            raise _unsayable(self.rule, f"the number {shown(value)}")
        text = repr(value).replace("inf", "1e999")  # a number too large for a float is infinite
        if p.tol is not None or isinstance(p, number):
            return f"number({text}{'' if p.tol is None else f', tol={p.tol!r}'})"
        return text

    def alternatives(self, p: OneOf) -> str:
        parts = [self.value(a, 0) for a in p.alternatives]
        if p.choice is not None:
            if p.key not in self.choices:
                self.choices[p.key] = self.name("choice_of")
            return f"choice({', '.join([self.choices[p.key], *parts])})"
        if len(parts) == 1:
            return parts[0]
        return f"({' | '.join(parts)})"

    def node(self, p: Node, strength: int) -> str:
        infix = INFIX.get(p.cls.name)
        if infix is not None and not p.attrs and p.rest is None and p.dtype is None and self.both(p.args):
            sign, own = infix
            left, right = self.value(p.args[0], own - 1), self.value(p.args[1], own)
            text = f"{left} {sign} {right}"
            return f"({text})" if own <= strength else text
        operands: list[str] = []
        for a in p.args:
            if isinstance(a, AllResults):
                operands.append(f"*{self.value(a.node, CALL)}")
            else:
                operands.append(("*" if isinstance(a, ManyCapture) else "") + self.value(a, 0))
        for key, want in p.attrs.items():
            operands.append(f"{key}={self.attribute(want, key)}")
        if p.dtype is not None:
            operands.append(f"dtype={self.attribute(p.dtype, 'dtype')}")
        if p.rest is not None:
            operands.append(f"**{p.rest.name}")
        return f"{p.cls.name.removeprefix('ge.')}({', '.join(operands)})"

    def both(self, args: Sequence[Pattern | None]) -> bool:
        """Two operands, not both numbers, which would be computed."""
        return len(args) == 2 and None not in args and not all(isinstance(a, Number) for a in args)

    def attribute(self, value: Any, key: str) -> str:
        match value:
            case AttrCapture() | Capture():
                return value.name
            case DType():
                return repr(value.name)
            case _ if callable(value):
                return self.expression(value, f"the attribute {key}")
            case list() | tuple() | int() | float() | str() | bool():
                return repr(list(value)) if isinstance(value, tuple) else repr(value)  # pyright: ignore[reportUnknownArgumentType]
            case _:
                raise _unsayable(self.rule, f"the attribute {key} = {value}")

    def expression(self, function: Callable[..., Any], what: str) -> str:
        found = text_of(function)
        if found is None:
            raise _unsayable(self.rule, f"{what} is a Python function")
        if "\n" in found or len(ast.unparse(ast.parse(found, mode="eval"))) > 2000:
            raise _unsayable(self.rule, f"{what} is too long")
        return found
