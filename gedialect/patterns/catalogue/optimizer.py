"""Optimiser steps, from PyTorch's definitions to GE's ops; constants say the step."""
# pyright: basic

from __future__ import annotations

from math import isclose

from gedialect.patterns import ge, number, one_of, rule

FLOAT = {"float": lambda out: out.dtype.is_float}


def _moved(old, new, keep, rest):
    """A running mean: ``old · keep + new · rest`` or ``old + (new - old) · rest``."""
    return one_of(old * keep + new * rest, old + (new - old) * rest)


def together(keep: float | None, rest: float) -> bool:
    """Whether ``keep`` and ``rest`` are parts of 1."""
    return keep is None or isclose(keep + rest, 1.0, rel_tol=1e-6)


@rule(exact="tolerance", where={**FLOAT, "one type": lambda p, a, g: p.same_type(a) and a.same_type(g)})
def sgd_momentum(p, a, g, u: number, r: number):
    """buffer · momentum + gradient; weights - rate · buffer."""
    buffer = a * u + g
    new = ge.apply_momentum(p, a, lambda r: r, g, lambda u: u, use_nesterov=False)
    return (p - buffer * r, buffer), (new, new[1])


@rule(exact="tolerance", where={**FLOAT, "one type": lambda p, a, g: p.same_type(a) and a.same_type(g)})
def sgd_nesterov(p, a, g, u: number, r: number):
    """The same with the gradient at where the buffer leads."""
    buffer = a * u + g
    new = ge.apply_momentum(p, a, lambda r: r, g, lambda u: u, use_nesterov=True)
    return (p - (g + buffer * u) * r, buffer), (new, new[1])


ADAM = {
    **FLOAT,
    "one type": lambda p, m, v, g: p.same_type(m) and m.same_type(v) and v.same_type(g),
    "running means": lambda b1, c1, b2, c2: together(b1, c1) and together(b2, c2),
    "bias correction in (0, 1]": lambda s: s is None or 0 < s <= 1,
}
RATES = {
    **{n: lambda rng: 0.75 for n in ("b1", "b2")},
    **{n: lambda rng: 0.25 for n in ("c1", "c2")},
    "e": lambda rng: 0.125,
    **dict.fromkeys("pmvg", lambda shapes: (2, 3)),
    "infinite": False,  # the ops move means by differences: of an infinite one NaN is left
}

CORRECTED = {**RATES, "s": lambda rng: 0.5, "r": lambda rng: 0.5}


def _adam(p, m, v, g, b1, c1, b2, c2, s, e, r):
    """(new m, new v, what is subtracted from the weights) of torch.optim.Adam with its corrections as constants."""
    mean = _moved(m, g, b1, c1)
    square = v * b2 + one_of(g * g, ge.square(g)) * c2
    return mean, square, (mean / (one_of(ge.sqrt(square) / s, ge.sqrt(square)) + e)) * r


@rule(exact="tolerance", where=ADAM, samples=CORRECTED)
def adam(p, m, v, g, b1: number, c1: number, b2: number, c2: number, s: number, e: number, r: number):
    """torch.optim.Adam: s is √(1 - β₂ᵗ), r the rate over 1 - β₁ᵗ."""
    mean, square, move = _adam(p, m, v, g, b1, c1, b2, c2, s, e, r)
    new = ge.apply_adam(
        p,
        m,
        v,
        lambda: 0.0,
        lambda s: 0.0 if s is None else 1.0 - s * s,
        lambda r: r,
        lambda c1: 1.0 - c1,
        lambda c2: 1.0 - c2,
        lambda e, s: e if s is None else e * s,
        g,
    )
    return (p - move, mean, square), (new, new[1], new[2])


@rule(exact="tolerance", where={**ADAM, "rate": lambda r: r != 0}, samples={**CORRECTED, "k": lambda rng: 0.875})
def adamw(p, m, v, g, k: number, b1: number, c1: number, b2: number, c2: number, s: number, e: number, r: number):
    """torch.optim.AdamW: k is 1 - rate · weight decay."""
    mean, square, move = _adam(p, m, v, g, b1, c1, b2, c2, s, e, r)
    new = ge.apply_adam_w(
        p,
        m,
        v,
        lambda: 0.0,
        lambda s: 0.0 if s is None else 1.0 - s * s,
        lambda r: r,
        lambda k, r: (1.0 - k) / r,
        lambda c1: 1.0 - c1,
        lambda c2: 1.0 - c2,
        lambda e: e,
        g,
    )
    return (p * k - move, mean, square), (new, new[1], new[2])


@rule(
    exact="tolerance",
    where={
        **FLOAT,
        "one type": lambda p, m, v, g: p.same_type(m) and m.same_type(v) and v.same_type(g),
        "decay in (0, 1)": lambda b1, b2: 0 < b1 < 1 and 0 < b2 < 1,
    },
    samples={**RATES, "w": lambda rng: 0.125},
)
def lamb_update(p, m, v, g, b1: number, c1: number, b2: number, c2: number, e: number, w: number):
    """The direction of LAMB without bias correction: Adam's and the decayed weights."""
    mean = m * b1 + g * c1
    square = v * b2 + one_of(g * g, ge.square(g)) * c2
    new = ge.lamb_apply_optimizer_assign(
        g,
        v,
        m,
        p,
        lambda b1: b1,
        lambda c1: c1,
        lambda b2: b2,
        lambda c2: c2,
        lambda e: e,
        lambda: 1e9,  # after so many steps no bias is left to correct
        lambda: 1.0,
        lambda w: w,
    )
    return (mean / (ge.sqrt(square) + e) + p * w, square, mean), (new, new[1], new[2])


@rule(exact="tolerance", where=FLOAT)
def lamb_weights(p, n, d, u, r: number):
    """The weights of LAMB: the step is scaled by the norms of weights and update."""
    ratio = ge.select(ge.greater(n, 0), ge.select(ge.greater(d, 0), n / d, 1), 1)
    step = one_of((u * ratio) * r, u * (ratio * r), (u * r) * ratio)
    return p - step, ge.lamb_apply_weight_assign(n, d, lambda r: r, u, p)
