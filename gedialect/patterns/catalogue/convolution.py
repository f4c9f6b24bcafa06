"""What can be folded into the weights of a convolution: scales, offsets, biases."""
# pyright: basic

from __future__ import annotations

from gedialect.ir.dtypes import F32
from gedialect.patterns import Value, attr, const, ge, given, one_of, optional, rule
from gedialect.patterns.catalogue._ranges import bounds, limits, norm_factor, product_fits, sum_fits
from gedialect.patterns.catalogue._shapes import channels, per_channel

SAME_LAYOUT = {"same data_format": lambda f, attrs: f == attrs.data_format}
CHANNELS = {"one value per channel": lambda c, out, attrs: per_channel(c, out, attrs)}
FLOAT = {"float": lambda out: out.dtype.is_float}


def _wide(value):
    """f32 where the filter is of a half-precision type."""
    return ge.cast(value, dtype=lambda w: F32 if w.dtype.itemsize == 2 else w.dtype)


def _scaled(conv: str, w, s):
    """The filter of ``conv`` with output channel i multiplied by s[i]; s is [C] or [1]."""
    kernel = [1] * (3 if "3d" in conv else 2)
    if "transpose" not in conv:
        return w * ge.reshape(s, shape=[-1, 1, *kernel])
    # [Cin, Cout / g, ...]: the output channels of a group lie along axis 1, its inputs along axis 0
    by_group = ge.reshape(w, shape=lambda w, attrs: [attrs.groups, -1, *w.shape[1:]])
    per_group = ge.reshape(
        ge.expand(s, shape=lambda out, attrs: [channels(out, attrs)]),
        shape=lambda w, attrs: [attrs.groups, 1, w.shape[1], *kernel],
    )
    return ge.reshape(by_group * per_group, shape=lambda w: list(w.shape))


def _scale(conv: str):
    stays = {
        "filters stay numbers": lambda w, b, c, out: (
            product_fits(out.dtype, w, c) and (b is None or product_fits(out.dtype, b, c))
        )
    }

    @rule(exact="tolerance", name=f"{conv}_scale", where={**FLOAT, **CHANNELS, **stays})
    def scale(x, w: const, b: const, c: const, **attrs):
        """A factor per channel after a convolution goes into its filter."""
        before = getattr(ge, conv)(x, w, optional(b), **attrs) * c
        flat = ge.reshape(c, shape=[-1])
        return before, getattr(ge, conv)(x, _scaled(conv, w, flat), given(b, b * flat, None), **attrs)

    return scale


def _bias(conv: str):
    stays = {"the sum is a number": lambda b, c, out: sum_fits(out.dtype, b, c)}

    @rule(exact="tolerance", name=f"{conv}_bias", where={**FLOAT, **CHANNELS, **stays})
    def bias(x, w, b: const, c: const, **attrs):
        """A constant per channel added to a convolution is its bias."""
        before = getattr(ge, conv)(x, w, optional(b), **attrs) + c
        flat = ge.expand(ge.reshape(c, shape=[-1]), shape=lambda out, attrs: [channels(out, attrs)])
        return before, getattr(ge, conv)(x, w, given(b, b + flat, flat), **attrs)

    return bias


conv2d_scale, conv3d_scale = _scale("conv2d"), _scale("conv3d")
conv2d_transpose_scale, conv3d_transpose_scale = _scale("conv2d_transpose"), _scale("conv3d_transpose")
conv2d_bias, conv3d_bias = _bias("conv2d"), _bias("conv3d")
conv2d_transpose_bias, conv3d_transpose_bias = _bias("conv2d_transpose"), _bias("conv3d_transpose")


@rule(exact="tolerance")
def bias_add_constant(x, w, b, _f, **attrs):
    """A bias_add after a convolution without bias is its bias."""
    return ge.bias_add(ge.conv2d(x, w, data_format=_f, **attrs), b, data_format=_f), ge.conv2d(
        x, w, b, data_format=_f, **attrs
    )


def norm_fits(w: Value, b: Value | None, s: Value, o: Value, m: Value, v: Value, e: float) -> bool:
    """Whether a filter and bias that take in a batch norm are numbers of their types."""
    factor, (most, _) = norm_factor(s, v, e), limits(w.dtype)
    offset = bounds(o.ssa)[0] + (bounds(m.ssa)[0] + (0.0 if b is None else bounds(b.ssa)[0])) * factor
    return bounds(w.ssa)[0] * factor <= most and offset <= most


def _batch_norm(conv: str):
    stays = {"filters stay numbers": lambda w, b, s, o, m, v, e: norm_fits(w, b, s, o, m, v, e)}

    @rule(exact="tolerance", name=f"{conv}_batch_norm", where={**SAME_LAYOUT, **stays})
    def batch_norm(x, w: const, b: const, s: const, o: const, m: const, v: const, e: attr, f: attr, **attrs):
        """A batch norm after a convolution goes into its filter and bias; grouped ones too."""
        inner = getattr(ge, conv)(x, w, optional(b), **attrs)
        # half-precision weights are scaled in f32 and rounded once
        factor = _wide(s) / ge.sqrt(_wide(v) + (lambda e: e))
        offset = given(b, _wide(o) + (_wide(b) - _wide(m)) * factor, _wide(o) - _wide(m) * factor)
        filtered = _scaled(conv, _wide(w), factor)
        return (
            ge.batch_norm(inner, s, o, m, v, epsilon=e, data_format=f),
            getattr(ge, conv)(x, ge.cast(filtered, dtype=lambda w: w), ge.cast(offset, dtype=lambda w: w), **attrs),
        )

    return batch_norm


conv2d_batch_norm, conv3d_batch_norm = _batch_norm("conv2d"), _batch_norm("conv3d")
conv2d_transpose_batch_norm = _batch_norm("conv2d_transpose")
conv3d_transpose_batch_norm = _batch_norm("conv3d_transpose")


def spatial_pads(p, f: str) -> list[int] | None:
    """Pads of the spatial axes from those of all axes; None if batch or channels are padded too."""
    n = len(p) // 2
    first = 2 if f.startswith("NC") else 1
    axes = range(first, first + n - 2)
    others = [i for i in range(n) if i not in axes]
    if n < 3 or any(p[i] or p[n + i] for i in others) or min(p) < 0:
        return None
    return [p[i] for i in axes] + [p[n + i] for i in axes]


def _padded(conv: str):
    @rule(
        exact="tolerance",
        name=f"pad_{conv}",
        where={"only spatial axes, zeros": lambda p, f: spatial_pads(p, f) is not None},
        samples={"x": lambda shapes: (1, 2, *[4] * (3 if "3d" in conv else 2)), "f": lambda rng: LAYOUT[conv]},
    )
    def pad(x, w, b, p: attr, q: attr, f: attr, **attrs):
        """A pad with zeros before a convolution is its own."""
        padded = one_of(ge.pad(x, paddings=p, mode="constant"), ge.pad(x, None, 0, paddings=p, mode="constant"))
        return (
            getattr(ge, conv)(padded, w, optional(b), pads=q, data_format=f, **attrs),
            getattr(ge, conv)(x, w, b, pads=lambda p, q, f: both(q, spatial_pads(p, f)), data_format=f, **attrs),
        )

    return pad


LAYOUT = {"conv2d": "NCHW", "conv3d": "NCDHW"}


def both(q, p) -> list[int]:
    """Pads of a convolution and of a pad in one: begin of each axis, then end of each."""
    return [v + w for v, w in zip(q, p, strict=True)]


pad_conv2d, pad_conv3d = _padded("conv2d"), _padded("conv3d")
