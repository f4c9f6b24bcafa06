"""Einsum as matrix products: operands are joined two at a time, each pair as one batched product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from gedialect.errors import UnsupportedError

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder


@dataclass(frozen=True)
class Term:
    """A value and the label of each of its axes."""

    value: SSAValue
    labels: str


def parse_equation(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Labels of each operand's axes and of the result's; an ellipsis becomes digits. GE1205 for diagonals."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    loose = [rank - len(t.replace("...", "")) if "..." in t else 0 for t, rank in zip(terms, ranks, strict=True)]
    most = max(loose, default=0)
    if most > 10:
        raise UnsupportedError(f"the ellipsis of {equation} stands for {most} axes", code="GE1205")
    digits = "0123456789"[:most]
    if not arrow:
        letters = [c for c in left if c.isalpha()]
        right = "..." + "".join(sorted({c for c in letters if letters.count(c) == 1}))
    full = [t.replace("...", digits[most - n :]) for t, n in zip(terms, loose, strict=True)]
    if any(len(set(t)) != len(t) for t in full):
        raise UnsupportedError(f"{equation} takes a diagonal", code="GE1205")
    return full, right.replace("...", digits)


def contract(b: GeBuilder, equation: str, values: Sequence[SSAValue]) -> SSAValue:
    """The einsum of ``values`` in matrix products, element-wise products, sums and transposes."""
    labels, result = parse_equation(equation, [b.spec(v).rank for v in values])
    sizes: dict[str, int] = {}
    for value, term in zip(values, labels, strict=True):
        for label, n in zip(term, b.spec(value).shape, strict=True):
            if sizes.setdefault(label, n) != n:
                raise UnsupportedError(f"axis {label} of {equation} is repeated", code="GE1205")
    terms = [Term(v, t) for v, t in zip(values, labels, strict=True)]
    while len(terms) > 1:
        first, second, *rest = terms
        needed = set(result).union(*(t.labels for t in rest))
        left = _reduced(b, first, needed | set(second.labels))
        right = _reduced(b, second, needed | set(first.labels))
        terms = [_join(b, left, right, needed, sizes), *rest]
    last = _reduced(b, terms[0], set(result))
    return _ordered(b, last, result).value


def _reduced(b: GeBuilder, term: Term, needed: set[str]) -> Term:
    """Summed over the axes nothing else names."""
    axes = [i for i, c in enumerate(term.labels) if c not in needed]
    if not axes:
        return term
    return Term(b.reduce_sum(term.value, axes=axes, keep_dims=False), "".join(c for c in term.labels if c in needed))


def _ordered(b: GeBuilder, term: Term, labels: str) -> Term:
    """With its axes in the order of ``labels``."""
    perm = [term.labels.index(c) for c in labels]
    if all(j == i + 1 for i, j in pairwise([-1, *perm])):
        return term
    return Term(b.transpose(term.value, perm=perm), labels)


def _join(b: GeBuilder, x: Term, y: Term, needed: set[str], sizes: dict[str, int]) -> Term:
    """Two terms as one: axes of both are batches if needed later, else summed over."""
    both = [c for c in x.labels if c in y.labels]
    batch = [c for c in both if c in needed]
    inner = [c for c in both if c not in needed]
    rows = [c for c in x.labels if c not in both]
    columns = [c for c in y.labels if c not in both]
    labels = "".join((*batch, *rows, *columns))
    shape = [sizes[c] for c in labels]
    batches, m, k, n = (prod(sizes[c] for c in group) for group in (batch, rows, inner, columns))
    left = _ordered(b, x, "".join((*batch, *rows, *inner))).value
    right = _ordered(b, y, "".join((*batch, *inner, *columns))).value
    if not inner:
        left, right = b.reshape(left, shape=[batches, m, 1]), b.reshape(right, shape=[batches, 1, n])
        return Term(b.reshape(b.mul(left, right), shape=shape), labels)
    lead = [batches] if batch else []
    left, right = b.reshape(left, shape=[*lead, m, k]), b.reshape(right, shape=[*lead, k, n])
    product = b.matmul(left, right, transpose_x1=False, transpose_x2=False)
    return Term(b.reshape(product, shape=shape), labels)
