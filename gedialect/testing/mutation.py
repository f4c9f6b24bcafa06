"""Rules broken on purpose, one detail at a time: does the proof notice?

A mutant changes a constant, an attribute (axis, flag, permutation, epsilon, also computed ones) or the operand order of
an op that is not commutative, on either side. A mutant is caught if ``check_rule`` finds a counterexample, or if the
forms it changes never rewrite anything (their types no longer agree, or it can no longer be defined). One whose
operands may be exchanged after all, since the op expands to the same graph of commutative ops, is no mutant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Block, SSAValue

from gedialect.dialects.ge.base import Attrs, GeOp, OperandGroup
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.dtypes import F32
from gedialect.patterns.engine import RuleSet
from gedialect.patterns.language import (
    REST,
    AllResults,
    AttrCapture,
    Computed,
    Given,
    Node,
    Number,
    OneOf,
    Pattern,
    ResultOf,
)
from gedialect.patterns.matching import is_commutative
from gedialect.patterns.rule import Rule, Variant, make_rule, nodes, parameters
from gedialect.testing.proof import check_rule, draw_instance

MUTATED = " (mutated)"
"""Marks the place of the node that was changed."""


@dataclass
class Mutant:
    """A broken rule: ``what`` was changed; ``rule`` is None if the change is refused when the rule is defined;
    ``swapped``: the operands exchanged."""

    what: str
    rule: Rule | None
    swapped: tuple[int, int] | None = None


@dataclass
class Verdict:
    """``outcome``: "counterexample", "never rewrites", "refused", "equivalent" or "survived"."""

    mutant: Mutant
    outcome: str

    @property
    def caught(self) -> bool:
        return self.outcome in ("counterexample", "never rewrites", "refused")


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Every mutant of a rule, in the order of its nodes."""
    for i, (what, target, change) in enumerate(_sites(rule)):
        swapped = (change.keywords["i"], change.keywords["j"]) if change.func is _swap else None
        try:
            yield Mutant(f"{rule.name}: {what}", _rebuilt(rule, target, change, i), swapped)
        except GeError:
            yield Mutant(f"{rule.name}: {what}", None)


def judge(mutant: Mutant, *, instances: int = 12, seed: int = 0, attempts: int = 25) -> Verdict:
    """Whether the proof catches a mutant."""
    if mutant.rule is None:
        return Verdict(mutant, "refused")
    try:
        proof = check_rule(mutant.rule, instances=instances, seed=seed, attempts=attempts)
        changed = [i for i, v in enumerate(mutant.rule.variants) if any(_mutated(n) for n in _of_form(v))]
    except GeError:
        return Verdict(mutant, "refused")
    if proof.counterexample is not None:
        return Verdict(mutant, "counterexample")
    if all(i in proof.unmatched_forms for i in changed):
        return Verdict(mutant, "never rewrites")
    if mutant.swapped is not None and _exchangeable(mutant.rule, changed, mutant.swapped):
        return Verdict(mutant, "equivalent")
    return Verdict(mutant, "survived")


def _of_form(variant: Variant) -> Iterator[Node]:
    yield from nodes(variant.before)
    yield from nodes(variant.after)


def _mutated(node: Node) -> bool:
    return node.where.endswith(MUTATED)


# ---------------------------------------------------------------- operands that may be exchanged
def _exchangeable(rule: Rule, forms: Sequence[int], swapped: tuple[int, int]) -> bool:
    """Whether the changed op is one graph of commutative ops with its operands as they were and exchanged, on an
    instance of every form changed."""
    rng = np.random.default_rng(0)
    rules = RuleSet([rule])
    for form in forms:
        variant = rule.variants[form]
        target = next(n for n in _of_form(variant) if _mutated(n))
        for _ in range(400):
            module = draw_instance(rule, variant, rng, F32, dynamic=False)
            if module is None or not rules.apply(copy := module.clone()).rewrites:
                continue
            before = any(n is target for n in nodes(variant.before))
            found = [op for op in (module if before else copy).walk() if type(op) is target.cls]
            if len(found) != 1:
                continue
            if not _same_swapped(found[0], swapped):
                return False
            break
        else:
            return False
    return bool(forms)


def _same_swapped(op: GeOp, swapped: tuple[int, int]) -> bool:
    groups = op.operand_groups()
    i, j = swapped
    if max(i, j) >= len(groups) or any(not isinstance(g, SSAValue) for g in (groups[i], groups[j])):
        return False
    other = list(groups)
    other[i], other[j] = groups[j], groups[i]
    try:
        return _normal_forms(op, groups) == _normal_forms(op, other)
    except GeError:
        return False


def _normal_forms(op: GeOp, groups: Sequence[OperandGroup]) -> list[Hashable]:
    """Each result as a term: expanded as far as it goes, with the operands of commutative ops sorted."""
    block = Block(arg_types=[v.type for v in op.operands])
    inside = dict(zip(op.operands, block.args, strict=True))
    leaves: dict[SSAValue, Hashable] = {a: ("value", id(v)) for v, a in inside.items()}
    b = GeBuilder(block)

    def within(group: OperandGroup) -> Any:
        return [inside[v] for v in group] if isinstance(group, list) else None if group is None else inside[group]

    def expanded(cls: type[GeOp], attrs: Attrs, operands: Sequence[Any]) -> Sequence[SSAValue]:
        made: Any = cls.expand(b, attrs, *operands)
        return cast("Sequence[SSAValue]", made) if isinstance(made, tuple) else (made,)

    def term(value: SSAValue) -> Hashable:
        if value in leaves:
            return leaves[value]
        owner = value.owner
        assert isinstance(owner, GeOp)
        index = list(owner.results).index(cast(Any, value))
        if owner.has_expansion() and type(owner).PRIMITIVE is None:
            try:
                return term(expanded(type(owner), owner.attrs(), owner.operand_groups())[index])
            except UnsupportedError:
                pass
        operands = [term(v) for v in owner.operands]
        if is_commutative(type(owner)):
            operands.sort(key=repr)
        properties = tuple(sorted((k, str(v)) for k, v in owner.properties.items()))
        return (owner.name, index, properties, str(value.type), tuple(operands))

    made = type(op).make([within(g) for g in groups], {k: v for k, v in op.attrs().items()}, results=op.attrs().results)
    b.insert(made)
    return [term(r) for r in made.results]


Change = functools.partial[Node]
"""A function from a node to the changed one."""


def _sites(rule: Rule) -> Iterator[tuple[str, Node, Change]]:
    for side, roots in (("before", rule.outputs), ("after", rule.replacements)):
        for node in _nodes(roots):
            if side == "after" and any(node is n for n in _nodes(rule.outputs)):
                continue
            name = f"{node.cls.name} {side}"
            for i, a in enumerate(node.args):
                if isinstance(a, Number):
                    yield f"{name}: {a.value} is {_other(a.value)}", node, functools.partial(_number, i=i)
                elif isinstance(a, Computed):
                    yield f"{name}: computed operand {i} doubled", node, functools.partial(_computed, i=i)
            for key, want in node.attrs.items():
                if isinstance(want, AttrCapture) or want is None:
                    continue
                if callable(want):
                    yield f"{name}: computed {key} changed", node, functools.partial(_function, key=key)
                elif (new := _other(want)) != want:
                    yield f"{name}: {key} {want} is {new}", node, functools.partial(_literal, key=key, value=new)
            present = [i for i, a in enumerate(node.args) if a is not None]
            if (
                len(present) >= 2
                and not is_commutative(node.cls)
                and node.args[present[0]] is not node.args[present[1]]
            ):
                swap = functools.partial(_swap, i=present[0], j=present[1])
                yield f"{name}: operands {present[0]} and {present[1]} swapped", node, swap


def _other(value: Any) -> Any:
    """Another value of the kind, as a careless hand would write."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1 if value >= 0 else value - 1
        case float():
            return value * 1.25 if value else 1.0
        case str():
            others = {"NCHW": "NHWC", "NHWC": "NCHW", "none": "tanh", "tanh": "none"}
            return others.get(value, value)
        case list() | tuple():
            items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
            if len(items) > 1 and items[::-1] != items:
                return items[::-1]
            return [_other(v) for v in items]
        case _:
            return value


def _copy(node: Node, args: Sequence[Pattern | None], attrs: dict[str, Any]) -> Node:
    rest = {REST: node.rest} if node.rest is not None else {}
    made = Node(node.cls, args, {**attrs, **rest}, node.where)
    made.dtype, made.name, made.type_of = node.dtype, node.name, node.type_of
    return made


def _number(node: Node, i: int) -> Node:
    a = node.args[i]
    assert isinstance(a, Number)
    return _copy(node, [*node.args[:i], Number(_other(a.value), a.tol), *node.args[i + 1 :]], node.attrs)


def _computed(node: Node, i: int) -> Node:
    a = node.args[i]
    assert isinstance(a, Computed)
    wrong = Computed(_wrapped(a.function, lambda v: v * 2 if v is not True and v is not False else not v))
    return _copy(node, [*node.args[:i], wrong, *node.args[i + 1 :]], node.attrs)


def _function(node: Node, key: str) -> Node:
    return _copy(node, node.args, {**node.attrs, key: _wrapped(node.attrs[key], _other)})


def _literal(node: Node, key: str, value: Any) -> Node:
    return _copy(node, node.args, {**node.attrs, key: value})


def _swap(node: Node, i: int, j: int) -> Node:
    args = list(node.args)
    args[i], args[j] = args[j], args[i]
    return _copy(node, args, node.attrs)


def _wrapped(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """``function`` with its result changed, under the same parameter names."""
    import inspect

    def wrong(*args: Any) -> Any:
        return change(function(*args))

    names = parameters(function)
    setattr(
        wrong,
        "__signature__",
        inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]),
    )
    return wrong


# ---------------------------------------------------------------- graphs with alternatives
def _children(p: Pattern) -> Sequence[Pattern | None]:
    match p:
        case Node():
            return p.args
        case ResultOf() | AllResults():
            return (p.node,)
        case OneOf():
            return p.alternatives
        case Given():
            return (p.capture, p.then, p.otherwise)
        case _:
            return ()


def _nodes(roots: Sequence[Pattern]) -> list[Node]:
    found: dict[int, Node] = {}
    seen: set[int] = set()
    todo: list[Pattern | None] = [*reversed(roots)]
    while todo:
        p = todo.pop()
        if p is None or id(p) in seen:
            continue
        seen.add(id(p))
        if isinstance(p, Node):
            found[id(p)] = p
        todo += _children(p)[::-1]
    return list(found.values())


def _rebuilt(rule: Rule, target: Node, change: Change, index: int) -> Rule:
    """The rule with one node changed; what does not hold it stays the same object."""
    memo: dict[int, Pattern] = {}

    def copy(p: Pattern) -> Pattern:
        if id(p) not in memo:
            memo[id(p)] = fresh(p)
        return memo[id(p)]

    def opt(p: Pattern | None) -> Pattern | None:
        return None if p is None else copy(p)

    def fresh(p: Pattern) -> Pattern:
        parts = [opt(c) for c in _children(p)]
        same = all(a is b for a, b in zip(parts, _children(p), strict=True))
        if p is target:
            changed = change(_copy(target, parts, target.attrs))
            changed.where += MUTATED
            return changed
        if same:
            return p
        match p:
            case Node():
                return _copy(p, parts, p.attrs)
            case ResultOf():
                node = parts[0]
                assert isinstance(node, Node)
                return node[p.index]
            case AllResults():
                node = parts[0]
                assert isinstance(node, Node)
                return AllResults(node)
            case OneOf():
                return OneOf(parts, p if p.choice is None else p.choice)
            case Given():
                capture, then, otherwise = parts
                assert capture is not None
                return Given(capture, then, otherwise)
            case _:
                return p

    return make_rule(
        name=f"{rule.name}_mutant_{index}",
        params=rule.params,
        before=tuple(copy(p) for p in rule.outputs),
        after=tuple(copy(p) for p in rule.replacements),
        file=rule.file,
        line=rule.line,
        topic=rule.topic,
        checks=rule.checks,
        exact=rule.exact,
        level=rule.level,
        benefit=rule.own_benefit,
        shared=rule.shared,
        ordered=rule.ordered,
        samples=rule.samples,
    )
