"""Every rule has a case of its own in the FileCheck tests, a function of its name, and fires there beside the others
of its topic; and every topic fires on the small models of the tests that have its forms."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from gedialect.ir.context import GeContext
from gedialect.patterns import Rule, RuleSet
from gedialect.patterns.catalogue import all_rules

CASES = Path(__file__).parents[2] / "filecheck" / "patterns"


@cache
def cases() -> dict[str, str]:
    """Name of a function -> the module it is in."""
    found: dict[str, str] = {}
    for path in sorted(CASES.glob("*.mlir")):
        for part in path.read_text(encoding="utf-8").split("// -----"):
            for name in re.findall(r"func\.func @(\w+)\(", part):
                found.setdefault(name, part)
    return found


@cache
def rules_of(topic: str) -> RuleSet:
    return RuleSet([r for r in all_rules() if r.topic == topic])


def module_of(name: str) -> ModuleOp:
    module = Parser(GeContext(), cases()[name]).parse_module()
    for op in list(module.ops):
        if op.properties["sym_name"].data != name:  # type: ignore[attr-defined]
            op.detach()
            op.erase(safe_erase=False)
    return module


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_fires_on_its_case(rule: Rule):
    assert rule.name in cases(), f"test/filecheck/patterns has no function @{rule.name}"
    assert rule.name in rules_of(rule.topic).apply(module_of(rule.name)).rewrites


def test_enough():
    assert len(all_rules()) >= 70
