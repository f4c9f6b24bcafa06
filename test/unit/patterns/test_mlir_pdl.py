"""Rules without native parts, run by mlir-opt's PDL too: the same IR. Skipped where mlir-opt is not installed."""

from __future__ import annotations

import pytest
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.patterns import Rule, ge, rule
from gedialect.patterns.catalogue import all_rules
from gedialect.patterns.formats.pdl_export import rule_to_pdl
from gedialect.testing.mlir_pdl import canonical, compare_with_mlir, find_mlir_opt, run_pdl

MLIR_OPT = find_mlir_opt()
needs_mlir_opt = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")


def sayable() -> list[Rule]:
    found: list[Rule] = []
    for r in all_rules():
        try:
            rule_to_pdl(r)
        except GeError:
            continue
        found.append(r)
    return found


def test_some_rules_are_without_native_parts():
    assert len(sayable()) >= 15


@needs_mlir_opt
@pytest.mark.parametrize("r", sayable(), ids=lambda r: r.name)
def test_mlir_opt_gives_the_same(r: Rule):
    assert MLIR_OPT is not None
    found = compare_with_mlir(r, MLIR_OPT, instances=1)
    assert found.compared > 0
    assert not found.differences, str(found.differences[0])


@needs_mlir_opt
def test_a_difference_is_seen():
    """Patterns of another rule rewrite the module to something else."""
    assert MLIR_OPT is not None

    @rule()
    def other(x):
        return ge.relu(ge.relu(x)), ge.abs(x)

    module = Parser(
        GeContext(),
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n%a = ge.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
        "%b = ge.relu(%a) : (tensor<2xf32>) -> tensor<2xf32>\nfunc.return %b : tensor<2xf32>\n}",
    ).parse_module()
    theirs = run_pdl(rule_to_pdl(other), module, MLIR_OPT)
    assert "ge.abs" in canonical(theirs) and "ge.relu" not in canonical(theirs)
