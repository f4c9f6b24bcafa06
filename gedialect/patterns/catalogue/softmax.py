"""Softmax from exponentials and sums."""
# pyright: basic

from __future__ import annotations

from gedialect.patterns import attr, ge, one_of, rule


@rule(exact="tolerance", samples={"infinite": False})  # without the maximum, exp(inf) leaves zeros beside one NaN
def softmax(x, a: attr):
    """exp(x - max x) / sum(exp(x - max x)), with or without the maximum."""
    e = ge.exp(one_of(x - ge.reduce_max(x, axes=a, keep_dims=True), x))
    total = ge.reduce_sum(e, axes=a, keep_dims=True)
    return one_of(e / total, e * ge.reciprocal(total)), ge.softmax(x, axes=a)


@rule(exact="tolerance")
def log_softmax(x, a: attr):
    """log of softmax."""
    return ge.log(ge.softmax(x, axes=a)), ge.log_softmax(x, axes=a)


@rule(exact="tolerance")
def log_softmax_parts(x, a: attr):
    """d - log(sum(exp(d))) with d = x - max x."""
    d = x - ge.reduce_max(x, axes=a, keep_dims=True)
    return d - ge.log(ge.reduce_sum(ge.exp(d), axes=a, keep_dims=True)), ge.log_softmax(x, axes=a)


@rule(
    exact="tolerance",
    where={"half precision, cast back": lambda x, out: x.dtype is out.dtype and x.dtype.name in ("f16", "bf16")},
    samples={"dtypes": ["f16"]},
)
def softmax_in_f32(x, a: attr):
    """A softmax in f32 between casts: softmax of half precision sums in f32 anyway."""
    return ge.cast(ge.softmax(ge.cast(x, dtype="f32"), axes=a)), ge.softmax(x, axes=a)
