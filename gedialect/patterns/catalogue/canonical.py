"""Canonical forms: steps that do nothing, and chains of moves that are one move."""
# pyright: basic

from __future__ import annotations

from math import frexp

from gedialect.patterns import Value, attr, const, ge, number, one_of, optional, rule
from gedialect.patterns.catalogue._ranges import product_fits, sum_fits
from gedialect.patterns.catalogue._shapes import compose, known_shape, varies


@rule(exact="value", level=1)  # -0.0 + 0 is +0.0
def add_zero(x):
    """x + 0 is x."""
    return x + 0, x


@rule(exact="bits", level=1)
def sub_zero(x):
    """x - 0 is x."""
    return x - 0, x


@rule(exact="bits", level=1)
def mul_one(x):
    """x · 1 is x."""
    return x * 1, x


@rule(exact="bits", level=1)
def div_one(x):
    """x / 1 is x."""
    return x / 1, x


@rule(exact="value", level=1)
def pow_one(x):
    """x to the power 1 is x."""
    return x**1, x


@rule(exact="bits", level=1)
def remove_identity(x):
    """identity, and dropout of a model that is not trained."""
    return ge.identity(x), x


@rule(exact="bits", level=1)
def neg_neg(x):
    """--x is x."""
    return -(-x), x


@rule(exact="bits", level=1)
def relu_relu(x):
    """relu of relu is relu."""
    return ge.relu(ge.relu(x)), ge.relu(x)


@rule(exact="bits", level=1)
def cast_same(x):
    """A cast to the type a value has."""
    return ge.cast(x), x


@rule(exact="bits", level=1, shared=True, where={"first cast loses nothing": lambda x, mid: lossless(x, mid)})
def cast_cast(x):
    """Two casts are one if the first keeps every value."""
    return ge.cast(ge.cast(x).named("mid")), ge.cast(x)


def lossless(x: Value, mid: Value) -> bool:
    """Whether every value of x's element type has an equal in mid's."""
    exact = {
        "f16": ("f32", "f64"),
        "bf16": ("f32", "f64"),
        "f32": ("f64",),
        "i8": ("i16", "i32", "i64", "f16", "bf16", "f32", "f64"),
        "ui8": ("i16", "i32", "i64", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64"),
        "i16": ("i32", "i64", "f32", "f64"),
        "i32": ("i64", "f64"),
        "i1": ("i8", "ui8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"),
    }
    return mid.dtype.name in exact.get(x.dtype.name, ())


@rule(exact="bits", level=1, shared=True)
def transpose_transpose(x, p: attr, q: attr):
    """Two transposes are one."""
    return ge.transpose(ge.transpose(x, perm=p), perm=q), ge.transpose(x, perm=lambda p, q: compose(p, q))


@rule(exact="bits", level=1, where={"perm is the identity": lambda p: p == tuple(range(len(p)))})
def transpose_identity(x, p: attr):
    """A transpose that moves nothing."""
    return ge.transpose(x, perm=p), x


def moves_ones(x: Value, p) -> bool:
    """Whether a transpose moves axes of size 1 only, so that the elements keep their order."""
    kept = [i for i in p if x.shape[i] != 1]
    return kept == sorted(kept)


@rule(
    exact="bits",
    where={
        "shape is known": lambda x: x.is_static and 0 not in x.shape,
        "moves axes of size 1": lambda x, p: moves_ones(x, p) and p != tuple(range(len(p))),
        "no swap of heads": lambda p: p != (0, 2, 1, 3),  # attention takes those in, and has a layout for them
    },
)
def transpose_ones(x, p: attr):
    """A transpose that keeps the order of the elements is a reshape."""
    return ge.transpose(x, perm=p), ge.reshape(x, shape=lambda out: list(out.shape))


def _view(x):
    return one_of(ge.reshape(x), ge.squeeze(x), ge.unsqueeze(x))


@rule(exact="bits", level=1, shared=True)
def view_view(x):
    """Two reshapes, squeezes or unsqueezes in a row are one reshape."""
    return _view(_view(x)), ge.reshape(x, shape=lambda out: known_shape(out))


@rule(exact="bits", level=1, where={"shape is known": lambda x: x.is_static})
def reshape_same(x):
    """A reshape to the shape a value has."""
    return ge.reshape(x), x


@rule(exact="bits", level=1, where={"shape is known": lambda x: x.is_static})
def expand_same(x):
    """An expand to the shape a value has."""
    return ge.expand(x), x


@rule(exact="bits", level=1, where={"pads are zero": lambda p: p is not None and not any(p)})
def pad_zero(x, v, p: attr):
    """A pad by nothing."""
    return ge.pad(x, None, optional(v), paddings=p), x


@rule(exact="bits", level=1)
def concat_one(x):
    """A concat of one value."""
    return ge.concat(x), x


@rule(exact="bits", level=1, where={"c is a power of two": lambda c: is_power_of_two(c)})
def div_power_of_two(x, c: number):
    """Division by a power of two is multiplication by its reciprocal, exactly."""
    return x / c, x * (lambda c: 1.0 / c)


def is_power_of_two(c: float) -> bool:
    """Whether 1 / c is exact; integers are left alone, where division truncates."""
    return isinstance(c, float) and c != 0 and abs(frexp(c)[0]) == 0.5 and 2.0**-12 <= abs(c) <= 2.0**12


FOLDS = {"float": lambda x: x.dtype.is_float, "x varies": lambda x: varies(x)}
"""Among constants alone, folding would go round in circles."""


@rule(exact="tolerance", where={**FOLDS, "the sum is a number": lambda x, c, d: sum_fits(x.dtype, c, d)})
def add_add_constants(x, c: const, d: const):
    """(x + c) + d is x + (c + d)."""
    return (x + c) + d, x + (c + d)


@rule(
    exact="tolerance",
    where={**FOLDS, "the product is a number": lambda x, c, d: product_fits(x.dtype, c, d, exact=True)},
)
def mul_mul_constants(x, c: const, d: const):
    """(x · c) · d is x · (c · d)."""
    return (x * c) * d, x * (c * d)


@rule(
    exact="tolerance",
    where={
        **FOLDS,
        "products are numbers": lambda x, s, t, c: (
            product_fits(x.dtype, s, c, exact=True) and product_fits(x.dtype, t, c)
        ),
    },
)
def mul_of_affine(x, s: const, t: const, c: const):
    """(x · s + t) · c is x · (s · c) + t · c: a batch norm, and the scale that Caffe puts after it."""
    return (x * s + t) * c, x * (s * c) + t * c
