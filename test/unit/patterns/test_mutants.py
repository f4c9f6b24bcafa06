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
SAME = {
    # max(min(0, x), …) is max(min(x, 0), …) where x is a number
    "hard_swish: ge.clip before: operands 0 and 1 swapped",
}


@pytest.mark.parametrize("name", CHOSEN)
def test_mutants_are_caught(name: str):
    made = list(mutants(find_rule(name)))
    assert made
    verdicts = [judge(m, instances=8) for m in made]
    verdicts = [v if v.caught else judge(v.mutant, instances=60, seed=1, attempts=60) for v in verdicts]
    survived = {v.mutant.what for v in verdicts if not v.caught} - SAME
    assert not survived
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
