"""Constants of rules: infinities and NaN, numbers that a type cannot hold, constants as the whole right side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.context import GeContext
from gedialect.patterns import NoMatch, Rule, RuleSet, Value, const, ge, number, rule
from gedialect.patterns.formats import load_rules
from gedialect.patterns.formats.pdl_export import dump_pdl, rule_to_pdl
from gedialect.patterns.formats.text_printer import print_rule
from gedialect.patterns.values import holds, shown
from gedialect.testing import check_rule

FLOAT = {"float": lambda x: x.dtype.is_float}


def applied(made: Rule, body: str, type_: str = "4xf32") -> str:
    """The module after the rule, of a function of ``%x`` that returns ``%y``."""
    t = f"tensor<{type_}>"
    text = f"func.func @main(%x: {t}) -> {t} {{\n{body.replace('TYPE', t)}\nfunc.return %y : {t}\n}}"
    module = Parser(GeContext(), text).parse_module()
    RuleSet([made]).apply(module)
    module.verify()
    return str(module)


def minimum(made: Rule, constant: str, type_: str = "f32") -> bool:
    """Whether the minimum of a value and a constant is still there after the rule."""
    c = f"%c = ge.constant {constant} : tensor<{type_}>\n"
    return "minimum" in applied(made, f"{c}%y = ge.minimum(%x, %c) : (TYPE, tensor<{type_}>) -> TYPE", "2xf32")


# ---------------------------------------------------------------- infinities and NaN
@rule(exact="value", where=FLOAT)
def no_limit(x):
    return ge.minimum(x, float("inf")), x


@rule(exact="value", where=FLOAT)
def masked(b, x):
    return ge.select(ge.logical_not(b), x, float("-inf")), ge.select(b, float("-inf"), x)


@rule(exact="value", where=FLOAT)
def undefined(x):
    return ge.minimum(x, float("nan")), x * float("nan")


@pytest.mark.parametrize("made", [no_limit, masked, undefined], ids=lambda r: r.name)
def test_rules_with_infinities_and_nan_are_proved(made: Rule):
    proof = check_rule(made)
    assert proof.holds, str(proof)


def test_infinities_and_nan_match_themselves_only():
    infinite = ['dense<"0x0000807F">', "#ge.splat<bits 0x7ff0000000000000>"]
    nan = ['dense<"0x0000C07F">', "#ge.splat<bits 0x7ff8000000000000>"]
    for c in infinite:
        assert not minimum(no_limit, c)
        assert minimum(undefined, c)
    for c in nan:
        assert minimum(no_limit, c)
        assert not minimum(undefined, c)
    for c in ('dense<"0x000080FF">', "dense<3.0e38>"):
        assert minimum(no_limit, c)
        assert minimum(undefined, c)


def test_nan_everywhere_is_one_value():
    assert not minimum(undefined, 'dense<"0x0000C07F0000C0FF">', "2xf32")
    assert minimum(undefined, 'dense<"0x0000C07F0000803F">', "2xf32")


def test_what_a_set_of_rules_has_seen_does_not_hide_infinities_and_nan():
    rules = [rule(name=f"r{i}")(_minimum_of(n)) for i, n in enumerate([1, 2, 3, 4, 5, float("inf"), float("nan")])]
    every = RuleSet(rules)
    for c in ("dense<7.0>", 'dense<"0x0000C07F">', 'dense<"0x0000807F">', 'dense<"0x000080FF">'):
        text = f"""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
          %c = ge.constant {c} : tensor<f32>
          %y = ge.minimum(%x, %c) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
          func.return %y : tensor<2xf32>
        }}"""
        every.apply(Parser(GeContext(), text).parse_module())
    assert {n: s.matched for n, s in every.stats.items() if s.matched} == {"r5": 1, "r6": 1}


def _minimum_of(n: float):
    return lambda x: (ge.minimum(x, n), x)


def test_a_tolerance_does_not_reach_from_infinity():
    @rule(exact="value")
    def wide(x):
        return ge.minimum(x, number(float("inf"), tol=0.5)), x

    assert minimum(wide, "dense<1.0>")
    assert not minimum(wide, 'dense<"0x0000807F">')


# ---------------------------------------------------------------- numbers that a type cannot hold
@rule(exact="value")
def low(x):
    return ge.maximum(ge.relu(x), -3.0e38), ge.relu(x)


RELU = "%y = ge.relu(%x) : (TYPE) -> TYPE"


def test_the_proof_leaves_out_types_that_cannot_hold_a_number():
    assert check_rule(low).holds
    proof = check_rule(replace(low, samples={"dtypes": ["f16", "i64"]}), instances=2)
    assert not proof.matched
    assert any(what in ("ge.constant: -3e+38 is no f16", "ge.constant: -3e+38 is no i64") for what in proof.refused)


def test_a_number_that_the_type_cannot_hold_is_no_match():
    @rule(exact="value")
    def large(x):
        return ge.relu(x), ge.maximum(x, 70000.0)

    for type_ in ("4xf16", "4xi16", "4xi8"):
        assert "relu" in applied(large, RELU, type_)
    for type_ in ("4xf32", "4xbf16", "4xi32", "4xui64"):
        assert "relu" not in applied(large, RELU, type_)


@pytest.mark.parametrize("digits", [400, 5000])
def test_an_integer_that_no_type_holds(digits: int):
    @rule(exact="value")
    def right(x):
        return ge.relu(x), ge.maximum(x, 10**digits)

    @rule(exact="value")
    def left(x):
        return ge.minimum(x, 10**digits), x

    assert "relu" in applied(right, RELU)
    assert minimum(left, "dense<1.0>")
    proof = check_rule(left, instances=2)
    assert not proof.holds
    assert any("ge.constant: 0x" in what for what in proof.refused)
    assert "PDL cannot say it" in dump_pdl([left])


def test_what_types_hold():
    t = dtypes.BY_NAME
    inside = {"f16": [65504, 1e-9, float("-inf"), float("nan")], "i8": [-128, 127.0], "ui64": [2**64 - 1]}
    inside |= {"i4": [7], "bf16": [3.3e38], "f8E4M3FN": [448.0, float("nan")], "i1": [True]}
    outside = {"f16": [65520.0, 10**400], "i8": [128, -129, 0.5, float("inf"), float("nan")], "ui64": [-1, 2**64]}
    outside |= {"i4": [8], "bf16": [3.4028235e38], "f8E4M3FN": [1000.0, float("inf")], "i1": [0.5]}
    assert [(n, v) for n, values in inside.items() for v in values if not holds(t[n], v)] == []
    assert [(n, v) for n, values in outside.items() for v in values if holds(t[n], v)] == []
    assert shown(1.5) == "1.5"
    assert shown(10**5000).startswith("0x")


# ---------------------------------------------------------------- constants in place of a value
WHOLE = {"whole numbers": lambda x: x.dtype.kind in "iu"}
SUB = "%y = ge.sub(%x, %x) : (TYPE, TYPE) -> TYPE"


@rule(exact="bits", where=WHOLE)
def nothing_left(x):
    return x - x, 0


@rule(exact="bits", where=WHOLE)
def nothing_left_computed(x):
    return x - x, lambda x: x.rank * 0


@rule(exact="bits")
def folded(x: const):
    return ge.relu(x), lambda x: _array(x).clip(0)


def _array(x: Value) -> np.ndarray:
    if x.array is None:
        raise NoMatch("it is computed")
    return x.array


@rule(exact="bits", where=WHOLE)
def two_outputs(x, y):
    s = x - x
    return (s + y, s * y), (y, 0)


@pytest.mark.parametrize("made", [nothing_left, nothing_left_computed, folded], ids=lambda r: r.name)
def test_rules_whose_right_side_is_a_constant_are_proved(made: Rule):
    proof = check_rule(made)
    assert proof.holds, str(proof)


def test_a_wrong_constant_is_found():
    proof = check_rule(rule(exact="bits", where=WHOLE, name="r")(lambda x: (x - x, 1)))
    assert proof.counterexample is not None


def test_a_constant_has_the_type_of_what_it_replaces():
    for made in (nothing_left, nothing_left_computed):
        assert "%y = ge.constant #ge.splat<0> : tensor<2x3xi16>" in applied(made, SUB, "2x3xi16")
        assert "ge.sub" in applied(made, SUB, "2x?xi16")
        assert "ge.sub" in applied(made, SUB, "2xf32")
    ones = rule(name="ones")(lambda x: (x / x, 1))
    text = applied(ones, "%y = ge.div(%x, %x) : (TYPE, TYPE) -> TYPE", "2x3xbf16")
    assert "%y = ge.constant #ge.splat<1.0> : tensor<2x3xbf16>" in text


def test_an_array_replaces_a_value_of_its_type_only():
    body = "%c = ge.constant dense<[-1, 2]> : tensor<2xi32>\n%y = ge.relu(%c) : (TYPE) -> TYPE"
    assert "dense<[0, 2]> : tensor<2xi32>" in applied(folded, body, "2xi32")
    other = rule(name="r")(lambda x: (ge.relu(x), lambda: np.zeros((1, 2), np.int32)))
    assert "ge.relu" in applied(other, body, "2xi32")


def test_a_constant_in_place_of_one_of_several_values():
    body = """%s = ge.sub(%x, %x) : (TYPE, TYPE) -> TYPE
    %a = ge.add(%s, %x) : (TYPE, TYPE) -> TYPE
    %b = ge.mul(%s, %x) : (TYPE, TYPE) -> TYPE
    %y = ge.maximum(%a, %b) : (TYPE, TYPE) -> TYPE"""
    text = applied(two_outputs, body, "2xi32")
    assert "%b = ge.constant #ge.splat<0> : tensor<2xi32>" in text
    assert "%y = ge.maximum(%x, %b)" in text
    assert "ge.sub" not in text


def test_a_constant_that_the_type_cannot_hold_replaces_nothing():
    large = rule(name="r")(lambda x: (x - x, 300))
    assert "ge.sub" in applied(large, SUB, "2xi8")
    assert "ge.sub" not in applied(large, SUB, "2xi16")


def test_mistakes_of_a_constant_are_at_its_line():
    with pytest.raises(GeError, match=r"test_constants.py:\d+: error GE1105: a function of r asks for z"):
        rule(name="r")(lambda x: (x - x, lambda z: 0))
    none = rule(name="r")(lambda x: (x - x, lambda x: x.array))
    with pytest.raises(GeError, match=r"test_constants.py:\d+: error GE1105: r: None is no constant.*NoMatch"):
        applied(none, SUB, "2xi16")


def test_a_constant_in_text(tmp_path: Path):
    text = "rule r(x) exact=bits level=2 topic=t:\n    x - x\n        => {0}\n"
    (tmp_path / "t.rules").write_text(text + text.replace("rule r", "rule s").replace("{0}", "0"))
    read = load_rules(tmp_path / "t.rules")
    assert [print_rule(r) for r in read] == [text, text.replace("rule r", "rule s").replace("{0}", "0")]
    for r in read:
        assert "ge.splat<0>" in applied(r, SUB, "2xi16")
        with pytest.raises(GeError, match="a new constant takes its type from what it replaces"):
            rule_to_pdl(r)


def test_infinities_in_text(tmp_path: Path):
    (tmp_path / "t.rules").write_text(print_rule(no_limit) + print_rule(masked))
    assert "minimum(x, 1e999)" in print_rule(no_limit)
    assert "-1e999" in print_rule(masked)
    again, other = load_rules(tmp_path / "t.rules")
    assert not minimum(again, 'dense<"0x0000807F">')
    assert print_rule(other) == print_rule(load_rules(tmp_path / "t.rules")[1])
    assert check_rule(other, instances=3).holds
    for n in (float("nan"), 10**5000):
        with pytest.raises(GeError, match="cannot be written as text: the number"):
            print_rule(_limit(n))


def _limit(n: float) -> Rule:
    return rule(name="r")(lambda x: (ge.minimum(x, n), x))
