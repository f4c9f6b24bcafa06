"""Rules of the catalogue broken in one detail are caught by the proof; a bounded choice (all: bench/mutants.py)."""

from __future__ import annotations

import pytest

from gedialect.patterns import ge, rule
from gedialect.patterns.catalogue import find_rule
from gedialect.testing import check_rule
from gedialect.testing.mutation import judge, mutants

CHOSEN = (
    "gelu_erf",
    "softmax",
    "layer_norm",
    "conv2d_scale",
    "conv2d_batch_norm",
    "matmul_transpose_x2",
    "transpose_transpose",
    "hard_swish",
    "div_power_of_two",
    "swish",
    "matmul_bias",
    "batch_norm_affine",
)


@pytest.mark.parametrize("name", CHOSEN)
def test_mutants_are_caught(name: str):
    made = list(mutants(find_rule(name)))
    assert made
    verdicts = [judge(m, instances=8) for m in made]
    verdicts = [judge(v.mutant, instances=60, seed=1, attempts=60) if v.outcome == "survived" else v for v in verdicts]
    assert [v.mutant.what for v in verdicts if v.outcome == "survived"] == []
    assert any(v.outcome == "counterexample" for v in verdicts)


def test_what_a_mutant_changes():
    @rule(exact="value")
    def r(x):
        return ge.clip(x, 0, 6) - ge.softmax(x, axes=[1]), ge.reduce_sum(x, axes=[0, 1], keep_dims=True)

    assert [m.what for m in mutants(r)] == [
        "r: ge.sub before: operands 0 and 1 swapped",
        "r: ge.clip before: 0 is 1",
        "r: ge.clip before: 6 is 7",
        "r: ge.clip before: operands 0 and 1 swapped",
        "r: ge.softmax before: axes [1] is [2]",
        "r: ge.reduce_sum after: axes [0, 1] is [1, 0]",
        "r: ge.reduce_sum after: keep_dims True is False",
    ]


def test_the_original_stays():
    r = find_rule("softmax")
    assert list(mutants(r))
    assert check_rule(r, instances=2).holds


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        ("relu6: ge.clip before: operands 0 and 1 swapped", "equivalent"),  # max(x, 0) is max(0, x)
        ("relu6: ge.clip before: 6 is 7", "counterexample"),
        ("add_rms_norm: ge.add_rms_norm after: operands 0 and 1 swapped", "equivalent"),
        ("leaky_relu_select: ge.select before: operands 0 and 1 swapped", "never rewrites"),  # the other forms do
    ],
)
def test_outcomes(what: str, outcome: str):
    found = [judge(m, instances=20) for m in mutants(find_rule(what.split(":")[0])) if m.what == what]
    assert found and {v.outcome for v in found} == {outcome}
    assert all(v.caught == (outcome != "equivalent") for v in found)
