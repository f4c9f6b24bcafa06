"""Constant folding gives the same bits on every machine.

BLAS adds products in an order of its own, and numpy's exp or tanh of f32 differ in the last bit from CPU to CPU. That
does not matter where a model is executed, but what is folded goes into the OM, and the same model must make the same
OM. ``with reproducible():`` around the evaluation of constants changes two things: products are sums without
rounding (``matmul``, ``einsum`` below), and functions of f32 and narrower are computed in f64 and rounded once
(``numeric.wide`` and ``native``), where a difference in the last bit of f64 is very unlikely to be seen.

A product without rounding (Ozaki et al., Numer. Algorithms 59, 2012): each operand is split into a sum of parts whose
elements are small multiples of one power of two for a row. A product of two parts is then exact in f64 in whatever
order it is added up, with FMA or without, so BLAS may do it. The parts' products are added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from math import ceil, log2, prod
from typing import Any

from gedialect.ir import lazy
from gedialect.ir.spec import Spec

np: Any = lazy.np
_ON: ContextVar[bool] = ContextVar("reproducible", default=False)
_BITS = 53
"""Bits of an f64 that sums may use."""


@contextmanager
def reproducible() -> Generator[None]:
    """What is evaluated inside is folded."""
    token = _ON.set(True)
    try:
        yield
    finally:
        _ON.reset(token)


def folding() -> bool:
    """Whether constants are being folded."""
    return _ON.get()


def as_result(array: Any, spec: Spec) -> Any:
    """What was folded, in the element type of the result: functions may leave it in f64."""
    found = np.asarray(array)
    narrow = spec.dtype.is_float and found.dtype == np.float64
    return found.astype(spec.dtype.numpy) if narrow else found


def matmul(a: Any, b: Any) -> Any:
    """``np.matmul``; when folding, of floats, the sum without rounding, rounded to their type."""
    if not folding() or a.dtype.kind not in "fc":
        return np.matmul(a, b)
    return _rounded(np.matmul, [a, b], [-1, max(-2, -b.ndim)], a.shape[-1])


def einsum(equation: str, arrays: Sequence[Any]) -> Any:
    """``np.einsum``, when folding as ``matmul``. Three operands and more are added up in f64, in numpy's order."""
    if not folding() or arrays[0].dtype.kind not in "fc":
        return np.einsum(equation, *arrays, optimize=len(arrays) > 2)
    if len(arrays) > 2:
        wide = np.complex128 if arrays[0].dtype.kind == "c" else np.float64
        return np.einsum(equation, *[a.astype(wide) for a in arrays]).astype(arrays[0].dtype)

    def call(*parts: Any) -> Any:
        return np.einsum(equation, *parts)

    return _rounded(call, arrays, [None] * len(arrays), _terms(equation, arrays))


def _terms(equation: str, arrays: Sequence[Any]) -> int:
    """At most how many products make one element of an einsum: the sizes of all labels."""
    sizes: dict[str, int] = {}
    for term, array in zip(equation.replace(" ", "").partition("->")[0].split(","), arrays, strict=True):
        head, _, tail = term.partition("...")
        shape = [*array.shape[: len(head)], *array.shape[array.ndim - len(tail) :]]
        for label, size in zip(head + tail, shape, strict=True):
            sizes[label] = max(sizes.get(label, 1), size)
    kept = equation.partition("->")[2]
    return prod(n for label, n in sizes.items() if label not in kept)


def _rounded(call: Callable[..., Any], arrays: Sequence[Any], axes: Sequence[int | None], terms: int) -> Any:
    """``call``, linear in each of ``arrays``, in the type of the first; ``terms`` products make one element. ``axes``
    are those that are summed over, None where all elements get one scale."""
    first = arrays[0]
    if first.dtype.kind == "c":
        parts = [(a.real, a.imag) for a in arrays]

        def part(*sides: Any) -> Any:
            return _sum(call, sides, axes, terms)

        if len(parts) == 1:
            ((ar, ai),) = parts
            return (part(ar) + 1j * part(ai)).astype(first.dtype)
        (ar, ai), (br, bi) = parts
        return (part(ar, br) - part(ai, bi) + 1j * (part(ar, bi) + part(ai, br))).astype(first.dtype)
    return np.asarray(_sum(call, arrays, axes, terms)).astype(first.dtype, copy=False)


def _sum(call: Callable[..., Any], arrays: Sequence[Any], axes: Sequence[int | None], terms: int) -> Any:
    """As ``_rounded``, of real floats, in f64."""
    wide = [a.astype(np.float64) for a in arrays]
    if terms == 0 or any(a.size == 0 for a in wide):
        return call(*wide)
    finite = [np.where(np.isfinite(a), a, 0.0) for a in wide]
    bits = (_BITS - ceil(log2(terms + 1))) // 2
    parts = [list(_parts(a, axis, bits)) for a, axis in zip(finite, axes, strict=True)]
    digit = 2.0**-30 if arrays[0].dtype.itemsize <= 4 else 2.0**-60  # below the last bit of the result
    # largest first, so that what no longer matters is seen
    chosen = sorted(product(*(range(len(p)) for p in parts)), key=lambda at: (sum(at), at))
    total: Any = None
    for at in chosen:
        sides = [p[i] for p, i in zip(parts, at, strict=True)]
        if total is not None and _negligible(sides, axes, terms, np.abs(total) * digit):
            continue
        term = call(*sides)
        total = term if total is None else total + term
    if any(f is not a and not np.array_equal(f, a) for f, a in zip(finite, wide, strict=True)):
        # inf and nan come out the same in whatever order they are added
        plain = call(*wide)
        total = np.where(np.isfinite(plain), total, plain)
    return total + 0.0  # no -0.0, whose sign depends on the order too


def _negligible(sides: Sequence[Any], axes: Sequence[int | None], terms: int, least: Any) -> bool:
    """Whether no element of a product of two parts exceeds ``least``, as seen from their largest elements."""
    if len(sides) < 2 or None in axes or terms < 64 or max(a.ndim for a in sides) > 2:
        return False  # little work, or not seen cheaply
    left, right = (np.max(np.abs(a), axis=axis, keepdims=True) for a, axis in zip(sides, axes, strict=True))
    return bool((terms * left * right <= least).all())


def _parts(a: Any, axis: int | None, bits: int) -> Generator[Any]:
    """Arrays that add up to ``a``, largest first: multiples, of at most 2 ** ``bits`` times, of a power of two each
    along ``axis``. At least one."""
    rest = a
    while True:
        most = np.max(np.abs(rest), axis=axis, keepdims=True)
        _, exponent = np.frexp(most)  # most < 2 ** exponent
        unit = exponent - bits
        part = np.ldexp(np.rint(np.ldexp(rest, -unit)), unit)
        yield part
        rest = rest - part
        if not rest.any():
            return
