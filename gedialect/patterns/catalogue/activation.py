"""Activation functions from the forms exporters spell them in."""
# pyright: basic

from __future__ import annotations

from math import pi, sqrt

from gedialect.patterns import any_order, attr, ge, number, one_of, rule

FLOAT = {"float": lambda x: x.dtype.is_float}


@rule(exact="tolerance")
def gelu_erf(x):
    """x · ½ · (1 + erf(x / √2)), in any order."""
    inner = ge.erf(one_of(x / sqrt(2), x * sqrt(0.5)))
    return any_order(ge.mul, x, 0.5, 1 + inner), ge.gelu(x, approximate="none")


@rule(exact="tolerance")
def gelu_erf_halves(x):
    """x · (½ + ½ erf(x / √2))."""
    inner = ge.erf(one_of(x / sqrt(2), x * sqrt(0.5)))
    return x * (0.5 + 0.5 * inner), ge.gelu(x, approximate="none")


@rule(exact="tolerance")
def gelu_tanh(x):
    """½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), as PyTorch, TensorFlow and the GPT-2 of Hugging Face write it."""
    c, k = 0.044715, sqrt(2 / pi)
    square = x * x
    cubic = one_of(c * x**3, c * (square * x), (c * square) * x, (c * x) * square, square * (x * c))
    argument = one_of(k * (x + cubic), any_order(ge.mul, k, x, 1 + c * one_of(square, x**2)))
    return any_order(ge.mul, x, 0.5, 1 + ge.tanh(argument)), ge.gelu(x, approximate="tanh")


@rule(exact="tolerance")
def swish(x):
    """x · sigmoid(x): SiLU."""
    return x * ge.sigmoid(x), ge.swish(x, scale=1.0)


@rule(exact="tolerance")
def swish_scaled(x, c: number):
    """x · sigmoid(c x)."""
    return x * ge.sigmoid(c * x), ge.swish(x, scale=lambda c: c)


@rule(exact="tolerance")
def mish(x):
    """x · tanh(softplus(x))."""
    return x * ge.tanh(ge.softplus(x)), ge.mish(x)


@rule(exact="tolerance")
def softplus(x):
    """log(1 + exp(x))."""
    return ge.log(1 + ge.exp(x)), ge.softplus(x)


@rule(exact="value", where=FLOAT)
def relu6(x):
    """clip(x, 0, 6), or the same as minimum and maximum."""
    return (
        one_of(
            ge.clip(x, 0, 6),
            ge.minimum(one_of(ge.maximum(x, 0), ge.relu(x), ge.clip(x, 0)), 6),
            ge.maximum(ge.minimum(x, 6), 0),
            ge.clip(ge.relu(x), None, 6),
        ),
        ge.relu6(x),
    )


@rule(exact="value")
def relu(x):
    """maximum(x, 0), or a clip that only has the lower bound."""
    return one_of(ge.maximum(x, 0), ge.clip(x, 0)), ge.relu(x)


def _clipped(x):
    return one_of(ge.clip(x + 3, 0, 6), ge.relu6(x + 3))


@rule(exact="tolerance", where=FLOAT)
def hard_sigmoid(x):
    """relu6(x + 3) / 6."""
    return one_of(_clipped(x) / 6, _clipped(x) * (1 / 6)), ge.hard_sigmoid(x, alpha=1 / 6, beta=0.5)


@rule(exact="tolerance", where=FLOAT)
def hard_sigmoid_clip(x, c: number, d: number):
    """clip(x · c + d, 0, 1)."""
    return ge.clip(x * c + d, 0, 1), ge.hard_sigmoid(x, alpha=lambda c: c, beta=lambda d: d)


@rule(exact="tolerance")
def hard_swish(x):
    """x · relu6(x + 3) / 6, as Paddle and PyTorch export it."""
    return (
        one_of(
            x * ge.hard_sigmoid(x, alpha=1 / 6, beta=0.5),
            (x * _clipped(x)) / 6,
            any_order(ge.mul, x, _clipped(x), 1 / 6),
        ),
        ge.hard_swish(x),
    )


@rule(exact="tolerance")
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    bottom = 1 + ge.exp(-x)
    return one_of(1 / bottom, ge.reciprocal(bottom)), ge.sigmoid(x)


@rule(exact="tolerance")
def swish_quotient(x):
    """x / (1 + exp(-x)): SiLU as a quotient."""
    return x / (1 + ge.exp(-x)), ge.swish(x, scale=1.0)


@rule(exact="tolerance")
def sigmoid_tanh(x):
    """½ (1 + tanh(x / 2))."""
    half = ge.tanh(one_of(x * 0.5, x / 2))
    return one_of(0.5 * (1 + half), 0.5 + 0.5 * half), ge.sigmoid(x)


@rule(exact="tolerance", where={"0 < c < 1": lambda c: 0 < c < 1, **FLOAT})
def leaky_relu(x, c: number):
    """maximum(x, c x)."""
    return ge.maximum(x, x * c), ge.leaky_relu(x, negative_slope=lambda c: c)


@rule(exact="tolerance", where=FLOAT)
def leaky_relu_select(x, c: number):
    """x where x > 0, c x elsewhere."""
    return (
        one_of(
            ge.select(ge.greater(x, 0), x, x * c),
            ge.select(ge.greater_equal(x, 0), x, x * c),
            ge.select(ge.less(x, 0), x * c, x),
        ),
        ge.leaky_relu(x, negative_slope=lambda c: c),
    )


@rule(exact="value", where=FLOAT)
def relu_select(x):
    """0 where x < 0, x elsewhere."""
    return ge.select(ge.less(x, 0), 0, x), ge.relu(x)


@rule(exact="tolerance", where=FLOAT)
def softsign(x):
    """x / (1 + |x|)."""
    return x / (1 + ge.abs(x)), ge.softsign(x)


@rule(exact="tolerance", where=FLOAT)
def elu_select(x):
    """x where x > 0, exp(x) - 1 elsewhere: ELU with α = 1."""
    low = one_of(ge.exp(x) - 1, ge.expm1(x))
    return ge.select(ge.greater(x, 0), x, low), ge.elu(x, alpha=1.0, scale=1.0)


def _glu(name: str, act, op: str, **attrs):
    @rule(
        exact="tolerance",
        name=name,
        where={**FLOAT, "halves": lambda x, z: len(z) == 2 and z[0] == z[1]},
        samples={"x": lambda shapes: (3, 4), "z": lambda rng: [2, 2], "p": lambda rng: 1},
    )
    def glu(x, z: attr, p: attr):
        half = ge.split(x, size_splits=z, split_dim=p)
        return act(half[0]) * half[1], getattr(ge, op)(x, dim=p, **attrs)

    glu.doc = f"A split, {name.removesuffix('_split')} of its halves."
    return glu


swiglu_split = _glu("swiglu_split", lambda y: ge.swish(y, scale=1.0), "swi_glu")
geglu_split = _glu(
    "geglu_split", lambda y: ge.gelu(y, approximate="none"), "ge_glu", approximate="none", activate_left=True
)
geglu_tanh_split = _glu(
    "geglu_tanh_split", lambda y: ge.gelu(y, approximate="tanh"), "ge_glu", approximate="tanh", activate_left=True
)
