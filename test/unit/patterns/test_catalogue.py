"""Every rule of the catalogue is proved on random instances, and finds its form in every alternative."""

from __future__ import annotations

import pytest

from gedialect.errors import UsageError
from gedialect.patterns import Rule
from gedialect.patterns.catalogue import all_rules, find_rule, select, topics
from gedialect.testing import check_rule


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_rule_holds(rule: Rule):
    proof = check_rule(rule, instances=6)
    assert proof.holds, str(proof)


def test_names_are_unique_and_documented():
    rules = all_rules()
    assert len({r.name for r in rules}) == len(rules)
    assert [r.name for r in rules if not r.doc] == []
    assert {r.topic for r in rules} == set(topics())


def test_levels_follow_exactness():
    """Level 1 keeps values; what changes rounding is level 2."""
    assert [r.name for r in all_rules() if r.level == 1 and r.exact == "tolerance"] == []


def test_select():
    canonical = select(level=1)
    assert canonical and all(r.level == 1 for r in canonical)
    assert {r.name for r in select(rules=["gelu_erf"], level=1)} == {"gelu_erf"}
    assert {r.topic for r in select(topic=["softmax", "matmul"])} == {"softmax", "matmul"}
    without = select(disable=["gelu_erf", "convolution"])
    assert not any(r.name == "gelu_erf" or r.topic == "convolution" for r in without)


@pytest.mark.parametrize(
    "options", [{"rules": ["gelu_err"]}, {"topic": ["softmaks"]}, {"disable": ["nothing"]}], ids=lambda o: next(iter(o))
)
def test_select_unknown(options: dict):
    with pytest.raises(UsageError, match="GE1107"):
        select(**options)


def test_find_rule_suggests():
    with pytest.raises(UsageError, match="did you mean gelu_erf"):
        find_rule("gelu_erff")
