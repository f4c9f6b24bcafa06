"""Plausible wrong rules: the proof must find a counterexample to each."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

from gedialect.patterns import Rule, any_order, attr, const, ge, given, number, optional, rule
from gedialect.patterns.catalogue._shapes import channels, compose, per_channel
from gedialect.patterns.catalogue.normalisation import first_axis
from gedialect.testing import check_rule

tolerance = rule(exact="tolerance")


@tolerance
def gelu_as_quick_gelu(x):
    return any_order(ge.mul, x, 0.5, 1 + ge.erf(x / sqrt(2))), ge.swish(x, scale=1.702)


@tolerance
def gelu_other_constant(x):
    return x * 0.5 * (1 + ge.erf(x / 1.5)), ge.gelu(x, approximate="none")


@tolerance
def gelu_tanh_other_cubic(x):
    return 0.5 * x * (1 + ge.tanh(sqrt(2 / pi) * (x + 0.054715 * x**3))), ge.gelu(x, approximate="tanh")


@tolerance
def gelu_erf_as_tanh(x):
    return x * 0.5 * (1 + ge.erf(x / sqrt(2))), ge.gelu(x, approximate="tanh")


@rule(exact="value")
def relu6_as_relu(x):
    return ge.clip(x, 0, 6), ge.relu(x)


@rule(exact="value")
def relu_after_negation(x):
    return ge.relu(-x), -ge.relu(x)


@rule(exact="bits")
def add_zero_bits(x):
    """-0.0 + 0 is +0.0: equal in value, not in bits."""
    return x + 0, x


@rule(exact="value")
def mul_zero(x):
    """inf · 0 is NaN."""
    return x * 0, ge.minimum(ge.abs(x), 0)


@rule(exact="value")
def sub_swapped(x, y):
    return x - y, y - x


@tolerance
def batch_norm_over_input_channels(x, w: const, s: const, o: const, m: const, v: const, e: attr, f: attr, **attrs):
    factor = s / ge.sqrt(v + (lambda e: e))
    return (
        ge.batch_norm(ge.conv2d(x, w, **attrs), s, o, m, v, epsilon=e, data_format=f),
        ge.conv2d(x, w * ge.reshape(factor, shape=[1, -1, 1, 1]), o - m * factor, **attrs),
    )


@rule(exact="tolerance", where={"layout": lambda f, attrs: f == attrs.data_format})
def batch_norm_without_epsilon(x, w: const, s: const, o: const, m: const, v: const, e: attr, f: attr, **attrs):
    factor = s / ge.sqrt(v)
    return (
        ge.batch_norm(ge.conv2d(x, w, **attrs), s, o, m, v, epsilon=e, data_format=f),
        ge.conv2d(x, w * ge.reshape(factor, shape=[-1, 1, 1, 1]), o - m * factor, **attrs),
    )


@rule(exact="tolerance", where={"layout": lambda f, attrs: f == attrs.data_format})
def batch_norm_drops_bias(x, w: const, b: const, s: const, o: const, m: const, v: const, e: attr, f: attr, **attrs):
    factor = s / ge.sqrt(v + (lambda e: e))
    return (
        ge.batch_norm(ge.conv2d(x, w, optional(b), **attrs), s, o, m, v, epsilon=e, data_format=f),
        ge.conv2d(x, w * ge.reshape(factor, shape=[-1, 1, 1, 1]), o - m * factor, **attrs),
    )


@rule(exact="tolerance", where={"per channel": lambda c, out, attrs: per_channel(c, out, attrs)})
def transposed_conv_groups_interleaved(x, w: const, c: const, **attrs):
    per_group = ge.reshape(
        ge.expand(ge.reshape(c, shape=[-1]), shape=lambda out, attrs: [channels(out, attrs)]),
        shape=lambda w, attrs: [1, attrs.groups, w.shape[1], 1, 1],
    )
    by_group = ge.reshape(w, shape=lambda w, attrs: [-1, attrs.groups, *w.shape[1:]])
    return ge.conv2d_transpose(x, w, **attrs) * c, ge.conv2d_transpose(
        x, ge.reshape(by_group * per_group, shape=lambda w: list(w.shape)), **attrs
    )


@rule(exact="tolerance", where={"per channel": lambda c, out, attrs: per_channel(c, out, attrs)})
def conv_scale_forgets_bias(x, w: const, b: const, c: const, **attrs):
    flat = ge.reshape(c, shape=[-1])
    scaled = w * ge.reshape(flat, shape=[-1, 1, 1, 1])
    return ge.conv2d(x, w, optional(b), **attrs) * c, ge.conv2d(x, scaled, given(b, b, None), **attrs)


@tolerance
def layer_norm_over_another_axis(x, e: number, a: attr):
    d = x - ge.reduce_mean(x, axes=a, keep_dims=True)
    s = ge.reduce_mean(d * d, axes=a, keep_dims=True) + e
    return d / ge.sqrt(s), ge.layer_norm(
        x, lambda x: np.ones((), x.dtype.numpy), begin_norm_axis=-1, epsilon=lambda e: e
    )


@rule(exact="tolerance", where={"last axes": lambda x, a: first_axis(a, x.rank) is not None})
def layer_norm_as_rms_norm(x, g, e: number, a: attr):
    d = x - ge.reduce_mean(x, axes=a, keep_dims=True)
    s = ge.reduce_mean(d * d, axes=a, keep_dims=True) + e
    return (d / ge.sqrt(s)) * g, ge.rms_norm(x, g, epsilon=lambda e: e)


@rule(
    exact="tolerance",
    where={"right size": lambda b, out: b.rank > 0 and b.spec.size == out.shape[-1]},
    samples={"x": lambda shapes: (3, 2), "w": lambda shapes: (2, 3), "b": lambda shapes: (3, 1)},
)
def rank_raising_bias(x, w, b, **attrs):
    """A column of m values has as many as a row of n if the product is square."""
    return ge.matmul(x, w, **attrs) + b, ge.matmul(x, w, ge.reshape(b, shape=[-1]), **attrs)


@tolerance
def matmul_transpose_any(a, b, p: attr, t: attr, u: attr):
    return (
        ge.matmul(ge.transpose(a, perm=p), b, transpose_x1=t, transpose_x2=u),
        ge.matmul(a, b, transpose_x1=lambda t: not t, transpose_x2=u),
    )


@tolerance
def softmax_axis_after_transpose(x, p: attr, a: attr):
    return ge.softmax(ge.transpose(x, perm=p), axes=a), ge.transpose(ge.softmax(x, axes=a), perm=p)


@tolerance
def softmax_over_one_axis(x, a: attr):
    e = ge.exp(x)
    return e / ge.reduce_sum(e, axes=a, keep_dims=True), ge.softmax(x, axes=[-1])


@rule(exact="bits")
def transposes_composed_backwards(x, p: attr, q: attr):
    return ge.transpose(ge.transpose(x, perm=p), perm=q), ge.transpose(x, perm=lambda p, q: compose(q, p))


@rule(exact="bits")
def casts_that_lose(x):
    return ge.cast(ge.cast(x)), ge.cast(x)


@rule(exact="bits")
def transposes_of_order_three(x, p: attr):
    """The same transpose twice is none, but for a rotation of three axes of one size."""
    return ge.transpose(ge.transpose(x, perm=p), perm=p), x


@rule(exact="bits", where={"not zero": lambda c: c != 0})
def divide_by_multiplying(x, c: number):
    return x / c, x * (lambda c: 1.0 / c)


@tolerance
def swish_forgets_scale(x, c: number):
    return x * ge.sigmoid(c * x), ge.swish(x, scale=1.0)


@tolerance
def reassociated_subtraction(x, c: const, d: const):
    return (x - c) - d, x - (c - d)


@tolerance
def hard_swish_as_swish(x):
    return x * ge.hard_sigmoid(x, alpha=1 / 6, beta=0.5), ge.swish(x, scale=1.0)


@tolerance
def slopes_multiply(x, a: attr, b: attr):
    """Only for a > 0."""
    inner = ge.leaky_relu(x, negative_slope=a)
    return ge.leaky_relu(inner, negative_slope=b), ge.leaky_relu(x, negative_slope=lambda a, b: a * b)


@tolerance
def halves_swapped(x):
    parts = ge.split(x, size_splits=[2, 2], split_dim=-1)
    return (parts[0], parts[1]), (parts[1], parts[0])


WRONG = [r for r in list(globals().values()) if isinstance(r, Rule)]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda r: r.name)
def test_wrong_rule_is_caught(wrong: Rule):
    proof = check_rule(wrong, instances=40)
    assert proof.matched > 0, f"never matched: {proof}"
    assert proof.counterexample is not None, f"{wrong.name} was not caught in {proof.matched} instances"
    assert wrong.name in str(proof) and "becomes" in str(proof)


def test_there_are_two_dozen():
    assert len(WRONG) >= 24
