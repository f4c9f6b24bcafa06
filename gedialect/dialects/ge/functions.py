"""Elementary functions in primitive ops: the vector unit has exp, ln, sqrt and division, but no erf, tanh or sin.

Each takes a builder and an f32 (or f64) value. Errors are at most about 3e-7 of the function's value in f32 unless
a function says otherwise. Polynomial coefficients are printed by ``tools/fit_functions.py``, lowest power first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

ERF_TOP = (
    1.1283791393508638, 0.19354465191800047, 0.05310164028284106, 0.0038833099859690748, 0.00028456260455869665,
    1.9867549553633923e-06,
)  # fmt: skip
ERF_BOTTOM = (
    1.0, 0.5048570378641568, 0.11534978384976331, 0.015207187783803807, 0.0011855579545806496, 3.741971192841249e-05,
)  # fmt: skip
"""erf(x) = x top(x²) / bottom(x²) on [-4, 4]."""

ERF_LIMIT = 3.953125
"""From here on erf is 1 in f32, and here the approximation is, bit for bit: gelu multiplies by x what it is off."""

TANH_TOP = (
    0.9999999412448182, 0.1291922147134225, 0.00292075452353398, 9.267359420365411e-06, -1.2780278102385793e-08,
    1.8254885426989192e-11,
)  # fmt: skip
TANH_BOTTOM = (1.0, 0.4625250534584899, 0.023763138153643584, 0.00022809922271503245)
"""tanh(x) = x top(x²) / bottom(x²) on [-9, 9]."""

SIN = (
    0.9999999999788746, -0.16666666608844982, 0.00833333072097137, -0.00019840832860599963, 2.7523972558034637e-06,
    -2.3868368054369087e-08,
)  # fmt: skip
"""sin(x) = x p(x²) on [-pi/2, pi/2]."""

ASIN = (
    0.9999999955871403, 0.1666679008761453, 0.07494435253950504, 0.04555014008827767, 0.02385835047355547,
    0.04263537871599531,
)  # fmt: skip
"""asin(x) = x p(x²) on [-1/2, 1/2]."""

ATAN = (
    0.9999999976323389, -0.33333283652039764, 0.19998266224234296, -0.14261934570263007, 0.10942037016713821,
    -0.08377331612580492, 0.057552350525143535, -0.030804824148263663, 0.010727057478553612, -0.0017539540119617533,
)  # fmt: skip
"""atan(x) = x p(x²) on [-1, 1]."""

SINH = (1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880)
"""sinh(x) = x p(x²) on [-1, 1] (Taylor)."""

PI_PARTS = (3.140625, 0.0009670257568359375, 6.277114152908325e-07, 1.2154201013012384e-10)
"""pi in parts of at most 10 bits, so that n * part is exact in f32 for n below 2**14."""


def polynomial(b: GeBuilder, coefficients: Sequence[float], x: SSAValue) -> SSAValue:
    """Horner's scheme."""
    y = b.add(b.mul(x, coefficients[-1]), coefficients[-2])
    for c in coefficients[-3::-1]:
        y = b.add(b.mul(y, x), c)
    return y


def odd(b: GeBuilder, coefficients: Sequence[float], x: SSAValue) -> SSAValue:
    """x p(x²)."""
    return b.mul(x, polynomial(b, coefficients, b.mul(x, x)))


def clamp(b: GeBuilder, x: SSAValue, low: float, high: float) -> SSAValue:
    """x within [low, high]; NaN stays."""
    return b.minimum(b.maximum(x, low), high)


def choose(b: GeBuilder, condition: SSAValue, x1: SSAValue | float, x2: SSAValue | float) -> SSAValue:
    """``select`` where numbers take the type of the other value."""
    like = x2 if isinstance(x1, int | float) else x1
    assert not isinstance(like, int | float)
    dtype = b.spec(like).dtype
    a, c = (b.splat(x, dtype) if isinstance(x, int | float) else x for x in (x1, x2))
    return b.select(condition, a, c)


def with_sign(b: GeBuilder, x: SSAValue, magnitude: SSAValue) -> SSAValue:
    """-magnitude where x < 0, else magnitude."""
    return choose(b, b.less(x, 0.0), b.neg(magnitude), magnitude)


def rational(b: GeBuilder, top: Sequence[float], bottom: Sequence[float], x: SSAValue, limit: float) -> SSAValue:
    """x top(x²) / bottom(x²) with x clamped to [-limit, limit]."""
    x = clamp(b, x, -limit, limit)
    square = b.mul(x, x)
    return b.div(b.mul(x, polynomial(b, top, square)), polynomial(b, bottom, square))


def erf(b: GeBuilder, x: SSAValue) -> SSAValue:
    return rational(b, ERF_TOP, ERF_BOTTOM, x, ERF_LIMIT)


def tanh(b: GeBuilder, x: SSAValue) -> SSAValue:
    return rational(b, TANH_TOP, TANH_BOTTOM, x, 9.0)


def sigmoid(b: GeBuilder, x: SSAValue) -> SSAValue:
    return b.reciprocal(b.add(b.exp(b.neg(x)), 1.0))


def log1p(b: GeBuilder, x: SSAValue) -> SSAValue:
    """log(1 + x), corrected by what 1 + x loses to rounding."""
    u = b.add(x, 1.0)
    y = b.log(u)
    lost = b.div(b.sub(x, b.sub(u, 1.0)), u)
    return choose(b, b.equal(lost, lost), b.add(y, lost), y)  # lost is NaN at -1 and infinity, where y is exact


def expm1(b: GeBuilder, x: SSAValue) -> SSAValue:
    """exp(x) - 1; below 1/2 as (u - 1) x / log(u) with u = exp(x), whose errors cancel (Kahan)."""
    u = b.exp(x)
    y = b.sub(u, 1.0)
    small = b.div(b.mul(y, x), b.log(u))
    small = choose(b, b.equal(u, 1.0), x, small)
    return choose(b, b.less(b.abs(x), 0.5), small, y)


def softplus(b: GeBuilder, x: SSAValue) -> SSAValue:
    """log(1 + exp(x)) without overflow."""
    return b.add(b.relu(x), log1p(b, b.exp(b.neg(b.abs(x)))))


def _sin_from(b: GeBuilder, x: SSAValue, n: SSAValue, turns: SSAValue) -> SSAValue:
    """sin(x - turns pi), negated where n is odd."""
    for part in PI_PARTS:
        x = b.sub(x, b.mul(turns, part))
    half = b.floor(b.mul(n, 0.5))
    parity = b.sub(n, b.mul(half, 2.0))
    return b.mul(odd(b, SIN, x), b.sub(b.splat(1.0, b.spec(x).dtype), b.mul(parity, 2.0)))


def sin(b: GeBuilder, x: SSAValue) -> SSAValue:
    """Error at most 3e-7 for |x| < 1e4, more beyond."""
    n = b.round(b.mul(x, 1 / pi))
    return _sin_from(b, x, n, n)


def cos(b: GeBuilder, x: SSAValue) -> SSAValue:
    """-sin(x - (n + 1/2) pi), negated where n is odd; error at most 3e-7 for |x| < 1e4, more beyond."""
    n = b.floor(b.mul(x, 1 / pi))
    return b.neg(_sin_from(b, x, n, b.add(n, 0.5)))


def _asin_halves(b: GeBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """(whether |x| > 1/2, asin of |x| or there of sqrt((1 - |x|) / 2))."""
    a = b.abs(x)
    far = b.greater(a, 0.5)
    rest = b.sqrt(b.add(b.mul(a, -0.5), 0.5))
    return far, odd(b, ASIN, choose(b, far, rest, a))


def asin(b: GeBuilder, x: SSAValue) -> SSAValue:
    """NaN outside [-1, 1]."""
    far, p = _asin_halves(b, x)
    return with_sign(b, x, choose(b, far, b.add(b.mul(p, -2.0), pi / 2), p))


def acos(b: GeBuilder, x: SSAValue) -> SSAValue:
    """NaN outside [-1, 1]."""
    far, p = _asin_halves(b, x)
    twice = b.mul(p, 2.0)
    outer = choose(b, b.less(x, 0.0), b.add(b.neg(twice), pi), twice)
    return choose(b, far, outer, b.add(b.neg(with_sign(b, x, p)), pi / 2))


def atan(b: GeBuilder, x: SSAValue) -> SSAValue:
    a = b.abs(x)
    far = b.greater(a, 1.0)
    p = odd(b, ATAN, choose(b, far, b.reciprocal(a), a))
    return with_sign(b, x, choose(b, far, b.add(b.neg(p), pi / 2), p))


def exp_halves(b: GeBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """(exp|x| / 2, exp(-|x|) / 2); the first overflows no earlier than its value does."""
    e = b.exp(b.mul(b.abs(x), 0.5))
    grown = b.mul(b.mul(e, 0.5), e)
    return grown, b.div(b.splat(0.25, b.spec(x).dtype), grown)


def cosh(b: GeBuilder, x: SSAValue) -> SSAValue:
    return b.add(*exp_halves(b, x))


def sinh(b: GeBuilder, x: SSAValue) -> SSAValue:
    far = with_sign(b, x, b.sub(*exp_halves(b, x)))
    return choose(b, b.less(b.abs(x), 1.0), odd(b, SINH, x), far)


def _large_log(b: GeBuilder, x: SSAValue, near: SSAValue) -> SSAValue:
    """log(2 x) where x > 1e4, else ``near``."""
    return choose(b, b.greater(x, 1e4), b.add(b.log(x), log(2)), near)


def asinh(b: GeBuilder, x: SSAValue) -> SSAValue:
    a = b.abs(x)
    t = b.minimum(a, 1e4)
    square = b.mul(t, t)
    root = b.add(b.sqrt(b.add(square, 1.0)), 1.0)
    return with_sign(b, x, _large_log(b, a, log1p(b, b.add(t, b.div(square, root)))))


def acosh(b: GeBuilder, x: SSAValue) -> SSAValue:
    """NaN below 1."""
    t = b.sub(b.minimum(x, 1e4), 1.0)
    root = b.sqrt(b.mul(t, b.add(t, 2.0)))
    return choose(b, b.less(x, 1.0), float("nan"), _large_log(b, x, log1p(b, b.add(t, root))))


def atanh(b: GeBuilder, x: SSAValue) -> SSAValue:
    """NaN outside [-1, 1]."""
    a = b.abs(x)
    ratio = b.div(b.mul(a, 2.0), b.add(b.neg(a), 1.0))
    return with_sign(b, x, b.mul(log1p(b, ratio), 0.5))
