"""Tied alternatives, all results of an op, exact operand order, mistakes that show when a rule runs, the index."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.patterns import RuleSet, any_op, attr, const, ge, number, one_of, optional, rule
from gedialect.patterns.catalogue import all_rules
from gedialect.patterns.compiler import compile_variant
from gedialect.patterns.index import Index
from gedialect.patterns.session import RuleSession, session_of, set_session
from gedialect.testing import check_rule

T = "tensor<2x3xf32>"


def graph(body: str, result: str = T, arguments: str = f"%x: {T}, %y: {T}") -> ModuleOp:
    return Parser(GeContext(), f"func.func @main({arguments}) -> ({result}) {{\n{body}\n}}").parse_module()


def ops(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("ge.")]


# ---------------------------------------------------------------- any_op
def test_any_op_is_one_decision():
    act = any_op(ge.relu, ge.sigmoid)

    @rule()
    def r(x, y):
        return act(x) + act(y), act(x + y)

    assert len(r.variants) == 2
    both = f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.{{}}(%y) : ({T}) -> {T}\n%c = ge.add(%a, %b) : ({T}, {T}) -> {T}\nfunc.return %c : {T}"
    module = graph(both.format("relu"))
    assert RuleSet([r]).apply(module).changed
    assert ops(module) == ["ge.add", "ge.relu"]
    assert not RuleSet([r]).apply(graph(both.format("sigmoid"))).changed


def test_any_op_may_wrap_any_function():
    act = any_op(ge.relu, lambda x: x * ge.sigmoid(x))

    @rule(exact="tolerance")
    def r(x):
        return ge.neg(ge.neg(act(x))), act(x)

    assert check_rule(r, instances=4).holds


# ---------------------------------------------------------------- all results
SPLIT = "%p, %q = ge.split(%x) {size_splits = [1, 1], split_dim = 0} : (tensor<2x3xf32>) -> (tensor<1x3xf32>, tensor<1x3xf32>)\n"
PART = "tensor<1x3xf32>"


@rule(exact="bits")
def split_concat(x, n: attr, d: attr):
    return ge.concat(*ge.split(x, size_splits=n, split_dim=d), concat_dim=d), x


@pytest.mark.parametrize(
    ("operands", "same"), [("%p, %q", True), ("%q, %p", False), ("%p, %p", False), ("%p, %o", False)]
)
def test_all_results_in_order(operands: str, same: bool):
    module = graph(
        SPLIT + f"%y = ge.concat({operands}) {{concat_dim = 0}} : ({PART}, {PART}) -> {T}\nfunc.return %y : {T}",
        arguments=f"%x: {T}, %o: {PART}",
    )
    assert RuleSet([split_concat]).apply(module).changed == same


def test_results_used_elsewhere_block():
    module = graph(
        SPLIT
        + f"%y = ge.concat(%p, %q) {{concat_dim = 0}} : ({PART}, {PART}) -> {T}\nfunc.return %y, %p : {T}, {PART}",
        f"{T}, {PART}",
        f"%x: {T}",
    )
    assert not RuleSet([split_concat]).apply(module).changed


def test_results_are_unpacked_where_their_number_is_stated():
    @rule(exact="bits")
    def halves(x):
        a, b = ge.split(x, size_splits=[1, 1], split_dim=0)
        return ge.concat(a, b, concat_dim=0), x

    text = (
        f"%a, %b = ge.split(%x) {{size_splits = [1, 1], split_dim = 0}} : ({T}) -> (tensor<1x2xf32>, tensor<1x2xf32>)\n"
    )
    text += (
        f"%c = ge.concat(%a, %b) {{concat_dim = 0}} : (tensor<1x2xf32>, tensor<1x2xf32>) -> {T}\nfunc.return %c : {T}"
    )
    assert RuleSet([halves]).apply(graph(text)).changed
    with pytest.raises(GeError, match=r"GE1105: r: not enough values.*parts = ge\.split") as caught:

        @rule()
        def r(x, n: attr):
            a, _ = ge.split(x, size_splits=n, split_dim=0)
            return a, x

    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    assert "size_splits=n, split_dim=0" in lines[int(str(caught.value.where).rpartition(":")[2]) - 1]


# ---------------------------------------------------------------- order, regions
def test_ordered_rules_match_as_written():
    @rule(ordered=True)
    def r(x):
        return ge.add(x, 0), x

    zero = "%z = ge.constant #ge.splat<0.0> : tensor<f32>\n"
    first = graph(zero + f"%a = ge.add(%z, %x) : (tensor<f32>, {T}) -> {T}\nfunc.return %a : {T}")
    second = graph(zero + f"%a = ge.add(%x, %z) : ({T}, tensor<f32>) -> {T}\nfunc.return %a : {T}")
    assert not RuleSet([r]).apply(first).changed
    assert RuleSet([r]).apply(second).changed


# ---------------------------------------------------------------- mistakes that show late
def test_mistake_in_a_condition_is_at_its_line():
    @rule(where={"rank": lambda x: x.rnk == 2})
    def r(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    module = graph(f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.relu(%a) : ({T}) -> {T}\nfunc.return %b : {T}")
    with pytest.raises(GeError) as caught:
        RuleSet([r]).apply(module)
    assert caught.value.code == "GE1105"
    assert "AttributeError" in str(caught.value) and "the condition 'rank' of r failed" in str(caught.value)
    assert caught.value.where is not None and caught.value.where.startswith(f"{__file__}:")


def test_condition_without_answer_does_not_hold():
    @rule(where={"third axis": lambda x: x.shape[2] == 2})
    def r(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    module = graph(f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.relu(%a) : ({T}) -> {T}\nfunc.return %b : {T}")
    rules = RuleSet([r])
    assert not rules.apply(module).changed
    assert rules.stats["r"].rejected == {"third axis": 1}


# ---------------------------------------------------------------- index
class Form:
    def __init__(self, rule_, variant):
        from gedialect.patterns.compiler import needed_classes

        self.rule, self.variant = rule_, variant
        self.needs = needed_classes(variant)


def random_module(rng: random.Random, length: int) -> ModuleOp:
    """Elementwise ops on few values and constants, so that patterns nearly match often."""
    lines, values = [], ["%x", "%y"]
    for i in range(length):
        values = values[-5:]
        kind = rng.choice(["constant", "add", "mul", "relu", "exp", "sigmoid", "sub"])
        if kind == "constant":
            lines.append(f"%v{i} = ge.constant #ge.splat<{rng.choice(['0.0', '1.0', '0.5', '1.702', '3.0'])}> : {T}")
        elif kind in ("relu", "exp", "sigmoid"):
            lines.append(f"%v{i} = ge.{kind}({rng.choice(values)}) : ({T}) -> {T}")
        else:
            a, b = rng.choice(values), rng.choice(values)
            lines.append(f"%v{i} = ge.{kind}({a}, {b}) : ({T}, {T}) -> {T}")
        values.append(f"%v{i}")
    return graph("\n".join([*lines, f"func.return %v{length - 1} : {T}"]))


@rule(exact="tolerance")
def swish_like(x):
    return x * ge.sigmoid(x * number(1.702, tol=1e-2)), ge.swish(x, scale=1.0)


@rule(exact="tolerance", shared=True)
def nested(x, y, c: number, w: const):
    return (ge.relu(x + 0.5) * c) + one_of(ge.exp(y * w), ge.exp(y)), x


@rule(exact="tolerance", shared=True)
def repeated(x):
    return (x + 1) * (x + 1), x


def test_index_leaves_out_nothing_that_matches():
    """What a matcher accepts, the index offers: for the catalogue and rules with constants at several depths."""
    from collections import Counter

    rules = [*all_rules(), swish_like, nested, repeated]
    forms = [Form(r, v) for r in rules for v in r.variants if any(c.name in KINDS for c in r.root_classes)]
    index = Index(forms)
    compiled = {id(f): compile_variant(f.rule, f.variant, Counter()) for f in forms}
    rng = random.Random(0)
    matched: set[str] = set()
    for _ in range(60):
        for op in random_module(rng, 40).walk():
            if type(op) not in index.by_root:
                continue
            offered = {id(f) for f in index.candidates(op)}
            for f in index.by_root[type(op)]:
                if compiled[id(f)](op) is not None:
                    matched.add(f.rule.name)
                    assert id(f) in offered, f"{f.rule.name} at {op}"
    assert len(matched) >= 5


KINDS = ("ge.add", "ge.mul", "ge.relu", "ge.exp", "ge.sigmoid", "ge.sub")


def test_many_rules_of_one_root_are_told_apart_by_their_constants():
    def make(i: int):
        @rule(name=f"add_{i}")
        def made(x):
            return x + (2.0 + i), x

        return made

    rules = RuleSet([make(i) for i in range(40)])
    module = graph(
        f"%c = ge.constant #ge.splat<7.0> : {T}\n%a = ge.add(%x, %c) : ({T}, {T}) -> {T}\nfunc.return %a : {T}"
    )
    assert rules.apply(module).rewrites == {"add_5": 1}
    assert sum(s.tried for s in rules.stats.values()) == 1


# ---------------------------------------------------------------- sessions
def test_session_belongs_to_its_context():
    ctx = GeContext()
    session = RuleSession(debug=("a",))
    set_session(ctx, session)
    assert session_of(ctx) is session
    assert session_of(ctx.clone()) is session
    assert session_of(GeContext()).debug == ()


def test_optional_operand_in_the_middle():
    @rule(exact="bits")
    def r(x, v):
        return ge.relu(ge.pad(x, None, optional(v), paddings=[0, 0, 0, 0], mode="constant")), ge.relu(x)

    assert len(r.variants) == 2
