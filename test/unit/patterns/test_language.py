"""Mistakes in a rule are errors when it is defined, at its line; forms and captures."""

from __future__ import annotations

import inspect

import pytest

from gedialect.errors import GeError
from gedialect.patterns import any_order, attr, const, ge, given, number, one_of, optional, rule

FLAGS = {"transpose_x1": False, "transpose_x2": False}


def line_of(function) -> int:
    return inspect.getsourcelines(function)[1]


def unknown_op():
    @rule()
    def r(x):
        return ge.adds(x, 0), x


def unbound_right():
    @rule()
    def r(x, y):
        return ge.relu(x), y


def unused_left():
    @rule()
    def r(x, y):
        return ge.relu(x), x


def wrong_attribute():
    @rule()
    def r(x):
        return ge.softmax(x, axis=1), x


def attribute_of_another_kind():
    @rule()
    def r(x):
        return ge.leaky_relu(x, negative_slope="steep"), x


def missing_attribute():
    @rule()
    def r(x):
        return ge.relu(x), ge.softmax(x)


def too_many_operands():
    @rule()
    def r(x, y):
        return ge.relu(x, y), x


def too_few_operands():
    @rule()
    def r(x):
        return ge.add(x), x


def unknown_condition():
    @rule(where=lambda z: True)
    def r(x):
        return ge.relu(x), x


def unknown_in_function():
    @rule()
    def r(x, p: attr):
        return ge.transpose(x, perm=p), ge.transpose(x, perm=lambda q: q)


def alternatives_right():
    @rule()
    def r(x):
        return ge.relu(x), one_of(ge.abs(x), x)


def no_pair():
    @rule()
    def r(x):
        return ge.relu(x)


def not_as_many():
    @rule()
    def r(x):
        return ge.relu(x), (x, x)


def left_is_no_op():
    @rule()
    def r(x):
        return x, ge.relu(x)


def computed_left():
    @rule()
    def r(x):
        return ge.add(x, lambda x: 1), x


def bad_exactness():
    rule(exact="roughly")


def truth_of_a_pattern():
    @rule()
    def r(x):
        return ge.relu(x), x if ge.abs(x) else ge.neg(x)


MISTAKES = {
    unknown_op: "the ge dialect has no op adds; did you mean add",
    unbound_right: "y on the right side of r is bound nowhere on the left",
    unused_left: "r does not use its parameter y",
    wrong_attribute: "ge.softmax has no attribute axis; it has: axes",
    attribute_of_another_kind: "ge.leaky_relu takes no negative_slope = 'steep'",
    missing_attribute: "ge.softmax on the right side needs attribute axes",
    too_many_operands: "ge.relu takes 1 operands, not 2",
    too_few_operands: "ge.add needs 2 operands, not 1",
    unknown_condition: "asks for z, which r does not have",
    unknown_in_function: "asks for q, which the rule does not have",
    alternatives_right: "alternatives belong to the left side",
    no_pair: "before and after",
    not_as_many: "replaces 1 values by 2",
    left_is_no_op: "is made by an op, in every alternative",
    computed_left: "a computed constant belongs to the right side",
    bad_exactness: "exact is bits or value or tolerance",
    truth_of_a_pattern: "a pattern has no truth value",
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda f: f.__name__)
def test_mistake_is_reported_at_its_line(mistake):
    with pytest.raises(GeError) as caught:
        mistake()
    e = caught.value
    assert e.code == "GE1105"
    assert MISTAKES[mistake] in str(e)
    assert e.where is not None
    file, line = e.where.rsplit(":", 1)
    assert file == __file__
    assert line_of(mistake) <= int(line) <= line_of(mistake) + 6


def test_forms_of_alternatives():
    @rule()
    def r(x, w, b):
        inner = ge.matmul(x, w, optional(b), **FLAGS)
        return one_of(ge.relu(inner), ge.relu6(inner)), given(b, ge.add(x, b), x)

    assert len(r.variants) == 4
    assert [v.absent for v in r.variants].count(frozenset({"b"})) == 2
    assert {c.name for c in r.root_classes} == {"ge.relu", "ge.relu6"}


def test_any_order_has_every_association():
    @rule()
    def three(x, y, z):
        return any_order(ge.mul, x, y, z), x

    @rule()
    def four(x, y, z, w):
        return any_order(ge.mul, x, y, z, w), x

    assert len(three.variants) == 3
    assert len(four.variants) == 15


def test_parameters():
    @rule(level=1, topic="mine", exact="bits")
    def r(x, w: const, c: number, _p, **attrs):
        """What it does."""
        return ge.add(ge.transpose(x, perm=_p), ge.mul(w, c)) + ge.softmax(x, **attrs), x

    assert list(r.params) == ["x", "w", "c", "p", "attrs"]
    assert (r.doc, r.level, r.topic, r.exact, r.name) == ("What it does.", 1, "mine", "bits", "r")
    assert r.benefit == 5
    assert r.where.startswith(__file__)
