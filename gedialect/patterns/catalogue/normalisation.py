"""Normalisations: raised from the steps exporters write, folded into weights where they can be."""
# pyright: basic

from __future__ import annotations

from gedialect.dialects.ge.norm import channels
from gedialect.ir.lazy import np
from gedialect.patterns import Value, attr, const, ge, number, one_of, rule
from gedialect.patterns.catalogue._shapes import stripped


# ---------------------------------------------------------------- layer norm
def first_axis(a, rank: int) -> int | None:
    """The axis from which ``a`` names all axes to the last; None if it names others."""
    axes = sorted(i % rank for i in a) if rank else []
    return axes[0] if axes and axes == list(range(axes[0], rank)) else None


TRAILING = {"normalises the last axes": lambda x, a: first_axis(a, x.rank) is not None}
FLOAT = {"float": lambda x: x.dtype.is_float}
EPSILON = {"e": lambda rng: float(rng.choice([1e-5, 1e-3, 0.125]))}
GAMMA = {"g": lambda shapes: shapes["x"][-1:], "a": lambda rng: [[-1], [-1], [-2, -1], [0]][int(rng.integers(4))]}
"""For the proof."""


def _square(d):
    return one_of(d**2, d * d, ge.square(d))


def _mean(x, a):
    return ge.reduce_mean(x, axes=a, keep_dims=True)


def _root(s):
    """1 / √s in the ways to write it."""
    return one_of(ge.rsqrt(s), ge.reciprocal(ge.sqrt(s)), 1 / ge.sqrt(s), s**-0.5)


def ones(x, a):
    """A gamma that changes nothing."""
    return np.broadcast_to(np.ones((), x.dtype.numpy), x.shape[first_axis(a, x.rank) :])


@rule(
    exact="tolerance",
    where={**FLOAT, **TRAILING, "normalised axes are known": lambda x, a: -1 not in x.shape[first_axis(a, x.rank) :]},
    samples=EPSILON,
)
def layer_norm(x, e: number, a: attr):
    """(x - mean x) / √(mean (x - mean x)² + ε)."""
    d = x - _mean(x, a)
    s = _mean(_square(d), a) + e
    return (
        one_of(d / ge.sqrt(s), d * _root(s)),
        ge.layer_norm(
            x, lambda x, a: ones(x, a), begin_norm_axis=lambda x, a: first_axis(a, x.rank), epsilon=lambda e: e
        ),
    )


def fits(g, x, k: int) -> bool:
    """Whether ``g`` broadcasts over the axes of ``x`` from ``k`` and no others."""
    shape = stripped(g)
    return len(shape) <= x.rank - k % x.rank and -1 not in shape


@rule(exact="tolerance", where={"over the normalised axes": lambda g, x, k: fits(g, x, k)})
def layer_norm_gamma(x, g, k: attr, e: attr):
    """A layer norm without factor, times one."""
    return (
        ge.layer_norm(x, 1, begin_norm_axis=k, epsilon=e) * g,
        ge.layer_norm(x, ge.reshape(g, shape=lambda g: stripped(g)), begin_norm_axis=k, epsilon=e),
    )


@rule(exact="tolerance", where={"over the normalised axes": lambda b, x, k: fits(b, x, k)})
def layer_norm_beta(x, g, b, k: attr, e: attr):
    """A layer norm without offset, plus one."""
    return (
        ge.layer_norm(x, g, begin_norm_axis=k, epsilon=e) + b,
        ge.layer_norm(x, g, ge.reshape(b, shape=lambda b: stripped(b)), begin_norm_axis=k, epsilon=e),
    )


@rule(
    exact="tolerance",
    where={
        **FLOAT,
        **TRAILING,
        "gamma has the normalised shape": lambda g, x, a: stripped(g) == list(x.shape[first_axis(a, x.rank) :]),
    },
    samples={**EPSILON, **GAMMA},
)
def rms_norm(x, g, e: number, a: attr):
    """x / √(mean x² + ε) · g."""
    s = _mean(_square(x), a) + e
    r = _root(s)
    return (
        one_of((x / ge.sqrt(s)) * g, (x * r) * g, x * (r * g)),
        ge.rms_norm(x, ge.reshape(g, shape=lambda g: stripped(g)), epsilon=lambda e: e),
    )


def factor_follows(out: Value) -> bool:
    """Whether the one reader is a product, perhaps with gamma, or a cast before it: ``rms_norm`` takes both."""
    return [u.operation.name for u in out.ssa.uses] in (["ge.mul"], ["ge.cast"])


@rule(
    exact="tolerance",
    where={
        **FLOAT,
        **TRAILING,
        "normalised axes are known": lambda x, a: -1 not in x.shape[first_axis(a, x.rank) :],
        "no factor follows": lambda out: not factor_follows(out),
    },
    samples=EPSILON,
)
def rms_norm_plain(x, e: number, a: attr):
    """x / √(mean x² + ε), without a factor."""
    s = _mean(_square(x), a) + e
    return one_of(x / ge.sqrt(s), x * _root(s)), ge.rms_norm(x, lambda x, a: ones(x, a), epsilon=lambda e: e)


@rule(
    exact="tolerance",
    where={
        "cast back": lambda x, out: x.dtype is out.dtype and x.dtype.name in ("f16", "bf16"),
        **TRAILING,
        "gamma has the normalised shape": lambda g, x, a: stripped(g) == list(x.shape[first_axis(a, x.rank) :]),
    },
    samples={**EPSILON, **GAMMA, "dtypes": ["f16"]},
)
def rms_norm_in_f32(x, g, e: number, a: attr):
    """The same with statistics in f32, rounded before the factor, as LLaMA computes it in half precision."""
    wide = ge.cast(x, dtype="f32")
    s = _mean(_square(wide), a) + e
    return (
        ge.cast(one_of(wide / ge.sqrt(s), wide * _root(s))) * g,
        ge.rms_norm(x, ge.reshape(g, shape=lambda g: stripped(g)), epsilon=lambda e: e),
    )


@rule(
    exact="tolerance",
    where={**FLOAT, **TRAILING, "g and b": lambda g, b, x, a: last_axis(g, b, x, a)},
    samples={
        **EPSILON,
        **dict.fromkeys("gb", lambda shapes: shapes["x"][-1:]),
        "a": lambda rng: [-1],
        "infinite": False,  # an infinite gamma is multiplied twice, and the difference taken
    },
)
def layer_norm_tensorflow(x, g, b, e: number, a: attr):
    """x · f + (β - mean · f) with f = γ / √(variance + ε), as TensorFlow and Keras write it."""
    mean = _mean(x, a)
    f = ge.rsqrt(_mean(_square(x - mean), a) + e) * g
    return (
        x * f + (b - mean * f),
        ge.layer_norm(
            x,
            ge.reshape(g, shape=lambda g: stripped(g)),
            ge.reshape(b, shape=lambda b: stripped(b)),
            begin_norm_axis=-1,
            epsilon=lambda e: e,
        ),
    )


def last_axis(g, b, x, a) -> bool:
    """Whether gamma and beta are vectors over the last axis, which alone is normalised."""
    shape = list(x.shape[-1:])
    return first_axis(a, x.rank) == x.rank - 1 and stripped(g) == shape == stripped(b) and -1 not in shape


@rule(
    exact="tolerance",
    where={
        "cast back": lambda x, out: x.dtype is out.dtype and x.dtype.name in ("f16", "bf16"),
        "gamma is a number or of x's type": lambda g, x: g.dtype.name == "f32" and g.rank == 1,
    },
    samples={"dtypes": ["f16"]},
)
def layer_norm_in_f32(x, g: const, b: const, k: attr, e: attr):
    """A layer norm in f32 between casts: its statistics are in f32 anyway."""
    wide = ge.layer_norm(ge.cast(x, dtype="f32"), g, b, begin_norm_axis=k, epsilon=e)
    return (
        ge.cast(wide),
        ge.layer_norm(x, ge.cast(g, dtype=lambda x: x), ge.cast(b, dtype=lambda x: x), begin_norm_axis=k, epsilon=e),
    )


# ---------------------------------------------------------------- group norm
def groups_of(x, y, out) -> bool:
    """Whether x [N, C, ...] is seen as y [N, G, ...] and back."""
    return (
        x.rank >= 3
        and y.rank == 3
        and x.is_static
        and y.is_static
        and x.shape[0] == y.shape[0]
        and x.shape[1] % y.shape[1] == 0
        and out.shape == x.shape
    )


GROUPS = {
    "x": lambda shapes: (2, 4, 3, 2),
    "t": lambda rng: [2, 2, 12],
    "u": lambda rng: [2, 4, 3, 2],
    **dict.fromkeys("gb", lambda shapes: (4, 1, 1)),
}


def channel_vector(p, x) -> bool:
    """Whether ``p`` has one value for each channel of x [N, C, ...]."""
    return stripped(p) == [x.shape[1], *[1] * (x.rank - 2)]


@rule(
    exact="tolerance",
    where={
        "groups of channels": lambda x, y, out: groups_of(x, y, out),
        "one value per channel": lambda g, b, x: channel_vector(g, x) and channel_vector(b, x),
    },
    samples=GROUPS,
)
def group_norm(x, g: const, b: const, e: attr, t: attr, u: attr):
    """Instance norm of groups of channels, then a factor and an offset per channel, as PyTorch exports it."""
    y = ge.reshape(x, shape=t).named("y")
    inner = ge.instance_norm(y, 1, 0, epsilon=e, data_format="NCL")
    back = ge.reshape(inner, shape=u)
    return (
        back * g + b,
        ge.group_norm(
            x,
            ge.reshape(g, shape=[-1]),
            ge.reshape(b, shape=[-1]),
            num_groups=lambda y: y.shape[1],
            epsilon=e,
            data_format="NCHW",
        ),
    )


# ---------------------------------------------------------------- batch norm
def _affine(scale, offset, mean, variance):
    """Factor and offset [C] that a batch norm comes to."""
    factor = scale / ge.sqrt(variance + (lambda e: e))
    return factor, offset - mean * factor


@rule(exact="tolerance", benefit=1)
def batch_norm_affine(x, s: const, o: const, m: const, v: const, e: attr, f: attr):
    """A batch norm that nothing takes in is a factor and an offset per channel."""
    factor, offset = _affine(s, o, m, v)

    def along(p):
        return ge.cast(
            ge.reshape(p, shape=lambda x, f: [-1, *[1] * (x.rank - 1 - channel_axis(f, x.rank))]), dtype=lambda x: x
        )

    return ge.batch_norm(x, s, o, m, v, epsilon=e, data_format=f), x * along(factor) + along(offset)


def channel_axis(f: str, rank: int) -> int:
    """The axis of C."""
    from gedialect.dialects.ge.base import Attrs

    return channels(Attrs({"data_format": f}), rank)
