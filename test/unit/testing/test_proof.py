"""What the proof of rules draws, how it judges, and what it says where it can draw nothing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gedialect.ir import dtypes
from gedialect.ir.spec import Spec
from gedialect.patterns import attr, const, ge, number, rule
from gedialect.patterns.language import number as written
from gedialect.testing import check_rule
from gedialect.testing.closeness import difference
from gedialect.testing.proof import draw_instance
from gedialect.testing.samples import Sampler, values

F16, F32, F64 = dtypes.F16, dtypes.F32, dtypes.F64


# ---------------------------------------------------------------- what is drawn
@rule(exact="bits")
def de_morgan(x, y):
    return ge.bitwise_not(ge.bitwise_and(x, y)), ge.bitwise_or(ge.bitwise_not(x), ge.bitwise_not(y))


@rule(exact="bits")
def xor_twice(x, y):
    return ge.bitwise_xor(ge.bitwise_xor(x, y), y), x


@rule(exact="bits", where={"signed": lambda x: x.dtype.kind == "i"})
def arithmetic_shifts(x, c):
    return ge.bitwise_not(ge.right_shift(ge.bitwise_not(x), c)), ge.right_shift(x, c)


@rule(exact="bits")
def both_true(x):
    return ge.logical_and(x, x), x


@rule(exact="bits")
def twice_reversed(x, a: attr):
    """A running sum the other way round, by reversing x."""

    def turned(v):
        return ge.slice(v, begin=[-1], end=[-(2**62)], axes=lambda a: [a], strides=[-1])

    return ge.cumsum(x, axis=a, exclusive=False, reverse=True), turned(
        ge.cumsum(turned(x), axis=a, exclusive=False, reverse=False)
    )


@rule(exact="bits")
def gather_of_gather(x, i, j):
    inner = ge.gather(x, i, axis=0, batch_dims=0)
    return ge.gather(inner, j, axis=0, batch_dims=0), ge.gather(
        x, ge.gather(i, j, axis=0, batch_dims=0), axis=0, batch_dims=0
    )


@rule(exact="bits")
def mixed_types(c, x, y):
    """A condition and the values it chooses from have types of their own."""
    return ge.select(ge.logical_not(c), x, y), ge.select(c, y, x)


@pytest.mark.parametrize(
    "r",
    [de_morgan, xor_twice, arithmetic_shifts, both_true, twice_reversed, gather_of_gather, mixed_types],
    ids=lambda r: r.name,
)
def test_element_types_come_from_the_ops(r):
    proof = check_rule(r, instances=30)
    assert proof.holds, str(proof)
    assert proof.matched == 30


def test_a_condition_does_not_decide_the_type_of_what_is_chosen():
    rng = np.random.default_rng(0)
    seen = Counter[str]()
    for _ in range(20):
        module = draw_instance(mixed_types, mixed_types.variants[0], rng, F32)
        if module is not None:
            (function,) = module.ops
            seen.update(str(t).rsplit("x", 1)[-1].rstrip(">") for t in function.function_type.outputs)  # type: ignore
    assert {t.removeprefix("tensor<") for t in seen} == {"f32"}


@pytest.mark.parametrize("name", ["f16", "f32", "f64", "bf16"])
def test_special_values_take_turns_in_one_element(name: str):
    seen: set[str] = set()
    for turn in range(60):
        s = Sampler(np.random.default_rng(turn), dtypes.BY_NAME[name], 3, turn=turn)
        x = values(s, Spec(dtypes.BY_NAME[name], (1,)))
        seen.add(str(float(x[0])) if not np.isfinite(x[0]) or x[0] in (0, 1) else "large" if abs(x[0]) > 100 else "x")
    assert seen >= {"nan", "inf", "-inf", "x"} | ({"large"} if name != "f64" else set())


def test_special_values_have_elements_of_their_own():
    """All of the values of one draw are there, in a tensor that has just room for them."""
    most = 0
    for seed in range(200):
        s = Sampler(np.random.default_rng(seed), F32, 3)
        x = values(s, Spec(F32, (4,)))
        most = max(most, len({str(v) for v in x if not np.isfinite(v) or v > 1e10}))
    assert most == 4


# ---------------------------------------------------------------- constants within a tolerance
def test_constants_are_tried_at_both_ends():
    """Right at 9, at 10.8 far from what 9 gives."""

    @rule(exact="tolerance", where=lambda x: x.dtype.name == "f64")
    def power(x):
        return x ** written(9.0, tol=0.2), x**9

    assert check_rule(power, instances=30).counterexample is not None

    @rule(exact="value", where=lambda x: x.dtype.is_float)
    def not_exact(x):
        return -(x * 0.1), x * -0.1

    assert "other values" in str(check_rule(not_exact, instances=30))


def test_a_constant_may_be_as_wrong_as_it_says():
    @rule(exact="tolerance", where=lambda x: x.dtype.is_float)
    def scaled(x):
        return -(x * written(1.7, tol=1e-2)), x * -1.7

    assert check_rule(scaled, instances=40).holds


# ---------------------------------------------------------------- NaN and infinities within rounding
def test_rules_within_rounding_keep_nan_and_infinities():
    @rule(exact="tolerance")
    def cancels(x, y):
        return (x + y) - y, x

    wrong = check_rule(cancels, instances=40).counterexample
    assert wrong is not None and wrong.reason in ("NaN on one side only", "infinite on one side only")

    @rule(exact="tolerance", samples={"infinite": False})
    def root_of_square(x):
        return ge.sqrt(x * x), ge.abs(x)

    proof = check_rule(root_of_square, instances=60)
    assert proof.holds, str(proof)  # the square overflows on the left only: |x| is right


def test_a_rule_may_leave_infinities_out():
    @rule(exact="tolerance")
    def distributed(x, y, z):
        return x * y + x * z, x * (y + z)

    assert check_rule(distributed, instances=60).counterexample is not None
    distributed.samples = {"infinite": False}
    proof = check_rule(distributed, instances=60)
    assert proof.holds, str(proof)


# ---------------------------------------------------------------- how results are compared
@pytest.mark.parametrize(
    ("before", "after", "double", "said"),
    [
        ([1.0, 2.0], [1.0, 2.0001], None, None),
        ([1.0, 2.0], [1.0, 2.5], None, "differs by"),
        ([1.0, 2.0], [1.0, 2.5], [1.0, 2.0], "differs by"),  # the left side is right
        ([1.0, 2.0], [1.0, 2.5], [1.0, 2.5], None),  # the right side is
        ([1.0, 2.0], [1.0, 2.5], [1.0, 2.3], None),  # both are off, the right side less
        ([1.0, 2.0], [1.0, 3.5], [1.0, 2.3], "differs by"),  # and too much
        ([np.inf, 2.0], [300.0, 2.0], [300.0, 2.0], None),  # overflow on the left
        ([np.inf, 2.0], [3.0, 2.0], [300.0, 2.0], "infinite on one side"),
        ([300.0, 2.0], [np.inf, 2.0], [300.0, 2.0], "infinite on one side"),  # overflow on the right
        ([np.inf, 2.0], [np.inf, 2.0], [1e9, 2.0], None),  # beyond f16
        ([np.nan, 2.0], [1.5, 2.0], [np.nan, 2.0], "NaN on one side"),
        ([np.nan, 2.0], [1.5, 2.0], [1.5, 2.0], None),  # inf / inf of steps that overflowed
        ([1.5, 2.0], [np.nan, 2.0], [1.5, 2.0], "NaN on one side"),
        ([np.nan, 2.0], [np.nan, 2.0], None, None),
    ],
)
def test_double_precision_decides(before, after, double, said):
    a, b = np.array(before, np.float16), np.array(after, np.float16)
    got = difference(a, b, "tolerance", 0.0, 0.0, None if double is None else np.array(double))
    assert (got is None) if said is None else (got is not None and got.startswith(said))


def test_layer_norm_in_half_precision_is_no_alarm():
    from gedialect.patterns.catalogue import find_rule

    proof = check_rule(find_rule("layer_norm"), instances=40, seed=3)
    assert proof.holds, str(proof)


# ---------------------------------------------------------------- no instance
def test_what_refused_is_said():
    @rule(exact="bits")
    def contraction(x, y, q: attr):
        return ge.einsum(x, y, equation=q), ge.einsum(y, x, equation=q)

    text = str(check_rule(contraction, instances=2))
    assert "forms without an instance: [0]" in text
    assert 'ge.einsum: no values are known for equation; capture it, and give samples={"q": lambda rng: …}' in text

    @rule(exact="bits")
    def shifted_floats(x, y):
        return ge.left_shift(ge.exp(x), y), x

    text = str(check_rule(shifted_floats, instances=2))
    assert "ge.left_shift takes signed integers, unsigned integers, not " in text and "(given " in text
    assert 'hint: say what to draw with samples={"x": lambda shapes: (2, 3), "dtypes": ["i32"]}' in text


def test_conditions_that_never_hold_are_said():
    @rule(exact="bits", where={"forty axes": lambda x: x.rank == 40})
    def never(x):
        return ge.abs(ge.abs(x)), ge.abs(x)

    text = str(check_rule(never, instances=1))
    assert "times the condition did not hold: forty axes" in text


def test_sides_may_use_numbers_beside_a_condition():
    """The type of a number is that of the other value, not of the condition."""

    @rule(exact="bits")
    def relu_of_comparison(x):
        return ge.select(ge.less(x, 0), 0, x), ge.select(ge.greater_equal(x, 0), x, 0)

    assert check_rule(relu_of_comparison, instances=3).matched > 0


def test_captured_constants_and_numbers_are_drawn():
    @rule(exact="tolerance", where={"not zero": lambda c: c != 0})
    def through(x, w: const, c: number):
        return (x * w) * c, x * (w * c)

    assert check_rule(through, instances=20).matched == 20
