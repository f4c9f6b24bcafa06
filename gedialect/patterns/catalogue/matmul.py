"""What can be folded into a matrix product: bias, factors, transposes of its operands."""
# pyright: basic

from __future__ import annotations

from gedialect.patterns import attr, const, ge, given, optional, rule
from gedialect.patterns.catalogue._ranges import product_fits, sum_fits
from gedialect.patterns.catalogue._shapes import along_axis, is_row

FLOAT = {"float": lambda out: out.dtype.is_float}


def swaps_last_two(p) -> bool:
    """Whether a transpose exchanges the last two axes and leaves the others."""
    n = len(p)
    return n >= 2 and tuple(p) == (*range(n - 2), n - 1, n - 2)


@rule(exact="tolerance", where={**FLOAT, "one value per column": lambda b, out: is_row(b, out)})
def matmul_bias(x, w, b, **attrs):
    """x @ w + b is one matrix product with a bias."""
    return ge.matmul(x, w, **attrs) + b, ge.matmul(x, w, ge.reshape(b, shape=[-1]), **attrs)


@rule(
    exact="tolerance",
    where={
        **FLOAT,
        "one value per column": lambda b, out: is_row(b, out),
        "the sum is a number": lambda a, b, out: sum_fits(out.dtype, a, b),
    },
)
def matmul_bias_bias(x, w, a: const, b: const, **attrs):
    """A constant added to a matrix product that has a bias goes into the bias."""
    return ge.matmul(x, w, a, **attrs) + b, ge.matmul(x, w, a + ge.reshape(b, shape=[-1]), **attrs)


@rule(
    exact="tolerance",
    where={
        **FLOAT,
        "one value per column": lambda c, out: along_axis(c, out.shape[-1], out.rank - 1, out.rank),
        "weights stay numbers": lambda w, b, c, out: (
            product_fits(out.dtype, w, c) and (b is None or product_fits(out.dtype, b, c))
        ),
    },
)
def matmul_scale(x, w: const, b: const, c: const, t: attr, u: attr):
    """A factor per column after a product with constant weights goes into them."""
    before = ge.matmul(x, w, optional(b), transpose_x1=t, transpose_x2=u) * c
    flat = ge.reshape(c, shape=[-1])
    scaled = w * ge.reshape(flat, shape=lambda u: [-1, 1] if u else [-1])
    return before, ge.matmul(x, scaled, given(b, b * flat, None), transpose_x1=t, transpose_x2=u)


@rule(exact="tolerance", shared=True, where={"swaps the last two axes": lambda p: swaps_last_two(p)})
def matmul_transpose_x1(a, b, c, p: attr, t: attr, u: attr):
    """A transpose of the first operand is a flag of the product."""
    return (
        ge.matmul(ge.transpose(a, perm=p), b, optional(c), transpose_x1=t, transpose_x2=u),
        ge.matmul(a, b, c, transpose_x1=lambda t: not t, transpose_x2=u),
    )


@rule(exact="tolerance", shared=True, where={"swaps the last two axes": lambda p: swaps_last_two(p)})
def matmul_transpose_x2(a, b, c, p: attr, t: attr, u: attr):
    """A transpose of the second operand is a flag of the product."""
    return (
        ge.matmul(a, ge.transpose(b, perm=p), optional(c), transpose_x1=t, transpose_x2=u),
        ge.matmul(a, b, c, transpose_x1=t, transpose_x2=lambda u: not u),
    )
