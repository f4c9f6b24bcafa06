"""Fits the coefficients of ``gedialect/dialects/ge/functions.py`` and prints them with their errors.

Relative least squares on Chebyshev points, reweighted (Lawson) toward the smallest greatest error. Only numpy and
``math`` are used; the printed error is measured in f32, evaluated as the vector unit would.

    python tools/fit_functions.py
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def points(low: float, high: float, n: int = 4000) -> Array:
    """Chebyshev points of [low, high], which crowd at the ends."""
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(n) + 0.5) / n)


def fit(x: Array, f: Array, top: int, bottom: int = 0, rounds: int = 200) -> tuple[Array, Array]:
    """Coefficients (lowest power first) p, q with p(x) / q(x) ~ f(x) relative, q[0] = 1."""
    scale = np.max(np.abs(x))
    u = x / scale
    weight, lawson = np.ones_like(x), np.ones_like(x)
    p = q = np.zeros(0)
    for _ in range(rounds):
        columns = [u**i for i in range(top + 1)] + [-f * u**i for i in range(1, bottom + 1)]
        w = weight * np.sqrt(lawson) / np.abs(f)
        solution = np.linalg.lstsq(np.stack(columns, 1) * w[:, None], f * w, rcond=None)[0]
        p, q = solution[: top + 1], np.concatenate([[1.0], solution[top + 1 :]])
        below = np.polyval(q[::-1], u)
        error = np.abs(np.polyval(p[::-1], u) / below / f - 1)
        weight = 1 / np.abs(below)
        lawson = lawson * (error + 1e-3 * error.max())
        lawson /= lawson.sum()
    return p / scale ** np.arange(top + 1), q / scale ** np.arange(bottom + 1)


def horner(c: Array, x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    y = np.full_like(x, np.float32(c[-1]))
    for v in c[-2::-1]:
        y = y * x + np.float32(v)
    return y


def report(name: str, p: Array, q: Array, x: Array, f: Array, outer: Callable[..., npt.NDArray[np.float32]]) -> None:
    x32 = x.astype(np.float32)
    got = outer(x32, lambda z: horner(p, z) / horner(q, z) if len(q) > 1 else horner(p, z))
    error = np.max(np.abs(got.astype(np.float64) - f)) / np.max(np.abs(f))
    relative = np.max(np.abs(got.astype(np.float64) / np.where(f == 0, 1, f) - 1)[f != 0])
    print(f"{name}: error {error:.1e} of the largest value, {relative:.1e} relative")
    for label, c in (("P", p), ("Q", q)):
        if len(c) > 1:
            print(f"  {label} = ({', '.join(repr(float(v)) for v in c)})")


def main() -> None:
    each = np.vectorize
    x = points(1e-4, 4.0)
    f = each(math.erf)(x)
    report("erf", *fit(x * x, f / x, 5, 5), x, f, lambda t, r: t * r(t * t))
    x = points(1e-4, 9.0)
    f = np.tanh(x)
    report("tanh", *fit(x * x, f / x, 5, 3), x, f, lambda t, r: t * r(t * t))
    x = points(1e-4, math.pi / 2)
    f = np.sin(x)
    report("sin", *fit(x * x, f / x, 5), x, f, lambda t, r: t * r(t * t))
    x = points(1e-3, 0.5)
    f = np.arcsin(x)
    report("asin", *fit(x * x, f / x, 5), x, f, lambda t, r: t * r(t * t))
    x = points(1e-3, 1.0)
    f = np.arctan(x)
    report("atan", *fit(x * x, f / x, 9), x, f, lambda t, r: t * r(t * t))
    # f64 forms of erf, for evaluate
    x = points(1e-4, 1.0)
    f = each(math.erf)(x)
    report("erf below 1 (f64)", *fit(x * x, f / x, 10), x, f, lambda t, r: t * r(t * t))
    x = points(1.0, 6.0)
    f = each(math.erfc)(x) * np.exp(x * x)
    report("erfc from 1 (f64)", *fit(1 / (1 + x / 2), f, 12), x, f, lambda t, r: r(1 / (1 + t / 2)))


if __name__ == "__main__":
    main()
