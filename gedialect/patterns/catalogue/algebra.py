"""Identities of arithmetic and logic that leave less to compute."""
# pyright: basic

from __future__ import annotations

from gedialect.dialects.ge.layouts import spatial_axes
from gedialect.patterns import Value, attr, ge, number, one_of, rule
from gedialect.patterns.catalogue._ranges import normal

FLOAT = {"float": lambda x: x.dtype.is_float}


@rule(exact="bits", level=1)
def not_not(x):
    """Not not x is x."""
    return ge.logical_not(ge.logical_not(x)), x


@rule(exact="bits", level=1, samples={"dtypes": ["i1"]})
def and_true(x):
    """x and true is x: masks that take nothing out."""
    return ge.logical_and(x, True), x


@rule(exact="bits", level=1, samples={"dtypes": ["i1"]})
def or_false(x):
    """x or false is x."""
    return ge.logical_or(x, False), x


@rule(exact="bits", level=1, where={"shape is known": lambda x: x.is_static})
def select_same(c, x):
    """A choice between a value and itself."""
    return ge.select(c, x, x), x


@rule(exact="bits", level=1)
def select_not(c, x, y):
    """A choice by a negated condition is the other choice."""
    return ge.select(ge.logical_not(c), x, y), ge.select(c, y, x)


@rule(exact="tolerance", where=FLOAT)
def pow_half(x):
    """x to the power ½."""
    return x**0.5, ge.sqrt(x)


@rule(exact="tolerance", where=FLOAT)
def rsqrt(x):
    """1 / √x."""
    return one_of(1 / ge.sqrt(x), ge.reciprocal(ge.sqrt(x))), ge.rsqrt(x)


@rule(exact="value")
def sub_neg(x, y):
    """x - (-y) is x + y."""
    return x - (-y), x + y


@rule(exact="value")
def add_neg(x, y):
    """x + (-y) is x - y."""
    return x + (-y), x - y


@rule(exact="value", where=FLOAT)
def mul_minus_one(x):
    """x · -1 is -x."""
    return x * -1, -x


@rule(exact="tolerance", where={**FLOAT, "1 / c is a number": lambda x, c: c != 0 and normal(x.dtype, 1.0 / c)})
def div_constant(x, c: number):
    """Division by a number is multiplication by its reciprocal: a vector unit divides slowly."""
    return x / c, x * (lambda c: 1.0 / c)


@rule(exact="tolerance", where=FLOAT)
def log_exp(x):
    """log exp x is x."""
    return ge.log(ge.exp(x)), x


@rule(exact="bits", level=1, where={"signed": lambda x: x.dtype.kind != "u"})
def abs_neg(x):
    """|-x| is |x|; unsigned integers wrap."""
    return ge.abs(-x), ge.abs(x)


def covers(x: Value, out: Value, size, pads, dilations, layout) -> bool:
    """Whether one window takes in the whole of each plane, and no padding."""
    axes = spatial_axes(layout, x.rank)
    plain = not any(pads) and all(d == 1 for d in dilations or ())
    return plain and all(out.shape[a] == 1 and 0 < x.shape[a] <= k for a, k in zip(axes, size, strict=True))


COVERS = {"one window covers all": lambda x, out, k, p, d, f: covers(x, out, k, p, d, f)}
WINDOW = {
    "x": lambda shapes: (2, 3, 3, 2),
    "k": lambda rng: [[3, 3], [3, 2], [5, 4], [2, 2]][int(rng.integers(4))],
    "s": lambda rng: [int(rng.integers(1, 4))] * 2,
    "p": lambda rng: [0, 0, 0, 0],
    "d": lambda rng: [1, 1],
    "f": lambda rng: ["NCHW", "NHWC"][int(rng.integers(2))],
    "c": lambda rng: True,
}


@rule(exact="tolerance", where=COVERS, samples=WINDOW)
def avg_pool_whole(x, k: attr, s: attr, p: attr, d: attr, c: attr, i: attr, f: attr):
    """An average over a window that covers each plane, as EfficientNet's, as large as its channels."""
    whole = ge.avg_pool2d(x, ksize=k, strides=s, pads=p, dilations=d, ceil_mode=c, count_include_pad=i, data_format=f)
    return whole, ge.reduce_mean(x, axes=lambda x, f: list(spatial_axes(f, x.rank)), keep_dims=True)


@rule(exact="bits", where=COVERS, samples=WINDOW)
def max_pool_whole(x, k: attr, s: attr, p: attr, d: attr, c: attr, f: attr):
    """The largest of a window that covers each plane."""
    whole = ge.max_pool2d(x, ksize=k, strides=s, pads=p, dilations=d, ceil_mode=c, data_format=f)
    return whole, ge.reduce_max(x, axes=lambda x, f: list(spatial_axes(f, x.rank)), keep_dims=True)
