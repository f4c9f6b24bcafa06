"""Rewrite rules: the language they are written in, the engine that applies them, and the catalogue of those we have.

A rule is a function from what it matches to ``(before, after)``::

    from gedialect.patterns import rule, ge

    @rule(exact="value")
    def add_zero(x):
        return ge.add(x, 0), x
"""

from gedialect.patterns.engine import Outcome, RuleSet, RuleStats
from gedialect.patterns.language import any_op, any_order, attr, const, ge, given, number, one_of, optional
from gedialect.patterns.rule import Rule, rule
from gedialect.patterns.values import NoMatch, Value

__all__ = [
    "NoMatch",
    "Outcome",
    "Rule",
    "RuleSet",
    "RuleStats",
    "Value",
    "any_op",
    "any_order",
    "attr",
    "const",
    "ge",
    "given",
    "number",
    "one_of",
    "optional",
    "rule",
]
