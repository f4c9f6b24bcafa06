"""Plausible wrong rules over integers, casts, moves, searches, pools and norms: each has a counterexample."""

from __future__ import annotations

import pytest

from gedialect.patterns import Rule, attr, ge, number, rule
from gedialect.testing import check_rule

bits, value, tolerance = rule(exact="bits"), rule(exact="value"), rule(exact="tolerance")


# ---------------------------------------------------------------- integers
@rule(exact="bits", where=lambda x: x.dtype.is_int)
def divide_by_shifting(x):
    """Division rounds toward zero, a shift toward minus infinity: -7 / 4 is -1, -7 >> 2 is -2."""
    return x / 4, ge.right_shift(x, 2)


@rule(exact="bits", where=lambda x: x.dtype.is_int)
def remainder_by_masking(x):
    """The remainder of -7 has the sign of -7 with fmod."""
    return ge.mod(x, 8, fmod=True), ge.bitwise_and(x, 7)


@bits
def shift_there_and_back(x, c):
    """The bits that were shifted out are lost."""
    return ge.right_shift(ge.left_shift(x, c), c), x


@bits
def shifts_add_beyond_the_width(x, c, d):
    return ge.left_shift(ge.left_shift(x, c), d), ge.left_shift(x, ge.bitwise_and(c + d, 7))


@rule(exact="bits", where=lambda x: x.dtype.is_int)
def divide_then_multiply(x, y):
    return (x / y) * y, x


@rule(exact="bits", where=lambda x: x.dtype.is_int)
def divisions_exchanged(x, y, z):
    return (x * y) / z, x * (y / z)


@bits
def de_morgan_half(x, y):
    return ge.bitwise_not(ge.bitwise_and(x, y)), ge.bitwise_or(ge.bitwise_not(x), y)


@bits
def xor_is_or(x, y):
    return ge.bitwise_xor(x, y), ge.bitwise_or(x, y)


@rule(exact="bits", where=lambda x: x.dtype.is_int)
def modulo_of_negated(x, y):
    return ge.mod(-x, y, fmod=False), -ge.mod(x, y, fmod=False)


@rule(exact="value", where=lambda x: x.dtype.is_int)
def absolute_by_maximum(x):
    """Right but for unsigned integers, where -x wraps."""
    return ge.abs(x), ge.maximum(x, -x)


# ---------------------------------------------------------------- casts
@rule(exact="value", where=lambda x, out: x.dtype is out.dtype and x.dtype.is_float)
def cast_to_bytes_and_back(x):
    return ge.cast(ge.cast(x, dtype="i8")), ge.trunc(x)


@rule(exact="bits", where=lambda x, out: x.dtype is out.dtype and x.dtype.name == "i64")
def cast_through_f32(x):
    """f32 holds 24 bits."""
    return ge.cast(ge.cast(x, dtype="f32")), x


@rule(exact="bits", where=lambda x: x.dtype.is_float)
def cast_to_bool_twice(x):
    """Anything but 0 is true; cut down to an integer first, 0.5 is false."""
    return ge.cast(ge.cast(x, dtype="i32"), dtype="i1"), ge.cast(x, dtype="i1")


# ---------------------------------------------------------------- moves
@bits
def slice_backwards_off_by_one(x, b: attr, e: attr, a: attr):
    """[b:e:-1] is the reverse of [e + 1:b + 1], not of [e:b]."""
    return (
        ge.slice(x, begin=b, end=e, axes=a, strides=[-1]),
        ge.slice(
            ge.slice(x, begin=lambda e: e, end=lambda b: b, axes=a, strides=[1]),
            begin=[-1],
            end=[-(2**62)],
            axes=a,
            strides=[-1],
        ),
    )


@rule(exact="bits", where=lambda b, e, c, d: min(*b, *e, *c, *d) >= 0)
def slices_add(x, b: attr, e: attr, c: attr, d: attr, a: attr):
    """The end of the inner slice bounds the outer one."""
    inner = ge.slice(x, begin=b, end=e, axes=a, strides=[1])
    return (
        ge.slice(inner, begin=c, end=d, axes=a, strides=[1]),
        ge.slice(
            x,
            begin=lambda b, c: [p + q for p, q in zip(b, c, strict=True)],
            end=lambda b, d: [p + q for p, q in zip(b, d, strict=True)],
            axes=a,
            strides=[1],
        ),
    )


@bits
def concats_along_other_axes(x, y, z, a: attr, b: attr):
    return ge.concat(ge.concat(x, y, concat_dim=a), z, concat_dim=b), ge.concat(x, y, z, concat_dim=a)


@bits
def concat_operands_swapped(x, y, a: attr):
    return ge.concat(x, y, concat_dim=a), ge.concat(y, x, concat_dim=a)


@bits
def gathers_composed_backwards(x, i, j):
    return (
        ge.gather(ge.gather(x, i, axis=0, batch_dims=0), j, axis=0, batch_dims=0),
        ge.gather(x, ge.gather(j, i, axis=0, batch_dims=0), axis=0, batch_dims=0),
    )


@bits
def gather_along_the_last_axis(x, i, a: attr):
    return ge.gather(x, i, axis=a, batch_dims=0), ge.gather(x, i, axis=-1, batch_dims=0)


@bits
def gather_elements_dim_ignored(x, i, d: attr):
    return ge.gather_elements(x, i, dim=d), ge.gather_elements(x, i, dim=0)


@bits
def tile_is_expand(x, m: attr):
    """Only along axes of one element."""
    return ge.tile(x, multiples=m), ge.reshape(
        ge.expand(ge.unsqueeze(x, axes=[-1]), shape=lambda x, m: [*x.shape, m[-1]]), shape=lambda out: list(out.shape)
    )


@bits
def scatter_as_identity_of_updates(x, i, u, a: attr):
    """What is gathered after a scatter is the last update of the element."""
    return (
        ge.gather_elements(ge.scatter_elements(x, i, u, axis=a, reduction="none"), i, dim=a),
        u,
    )


@rule(exact="tolerance")
def scatter_add_as_scatter(x, i, u, a: attr):
    """Two updates of one element add up."""
    return (
        ge.scatter_elements(x, i, u, axis=a, reduction="add"),
        ge.scatter_elements(x, i, u + ge.gather_elements(x, i, dim=a), axis=a, reduction="none"),
    )


@bits
def depth_to_space_other_mode(x, b: attr, f: attr):
    return (
        ge.space_to_depth(
            ge.depth_to_space(x, block_size=b, mode="DCR", data_format=f), block_size=b, mode="CRD", data_format=f
        ),
        x,
    )


@bits
def triangles_off_by_one(x, d: attr):
    return ge.tril(ge.triu(x, diagonal=d), diagonal=d), ge.triu(ge.tril(x, diagonal=lambda d: d + 1), diagonal=d)


@bits
def one_hot_axis_ignored(x, n, f, d: attr, a: attr):
    return ge.one_hot(x, None, n, f, depth=d, axis=a), ge.one_hot(x, None, n, f, depth=d, axis=-1)


@bits
def one_hot_of_negative(x, n, f, d: attr, a: attr):
    """Negative positions count from the end."""
    return ge.one_hot(x, None, n, f, depth=d, axis=a), ge.one_hot(ge.relu(x), None, n, f, depth=d, axis=a)


@bits
def reverse_sequence_as_slice(x, n, s: attr, b: attr):
    return ge.reverse_sequence(x, n, seq_dim=s, batch_dim=b), ge.slice(
        x, begin=[-1], end=[-(2**62)], axes=lambda s: [s], strides=[-1]
    )


# ---------------------------------------------------------------- pads, pools, resize
@value
def pad_into_max_pool(x, p: attr, k: attr, s: attr, d: attr):
    """A pad with zeros may win; the pool's own padding never does."""
    return (
        ge.max_pool2d(
            ge.pad(x, None, paddings=p, mode="constant"),
            ksize=k, strides=s, dilations=d, pads=[0, 0, 0, 0], ceil_mode=False, data_format="NCHW",
        ),
        ge.max_pool2d(
            x,
            ksize=k, strides=s, dilations=d, pads=lambda p: [p[2], p[3], p[6], p[7]], ceil_mode=False, data_format="NCHW",
        ),
    )  # fmt: skip


@tolerance
def pad_into_average_pool(x, p: attr, k: attr, s: attr):
    """Cells of the padding count."""
    rest = {"dilations": [1, 1], "ceil_mode": False, "count_include_pad": False, "data_format": "NCHW"}
    return (
        ge.avg_pool2d(ge.pad(x, None, paddings=p, mode="constant"), ksize=k, strides=s, pads=[0, 0, 0, 0], **rest),
        ge.avg_pool2d(x, ksize=k, strides=s, pads=lambda p: [p[2], p[3], p[6], p[7]], **rest),
    )


@value
def pools_compose(x, k: attr, s: attr):
    """Windows of k and k in steps of s cover k + (k - 1) s, not 2 k - 1."""
    more = {"dilations": [1, 1], "pads": [0, 0, 0, 0], "ceil_mode": False, "data_format": "NCHW"}
    return (
        ge.max_pool2d(ge.max_pool2d(x, ksize=k, strides=s, **more), ksize=k, strides=[1, 1], **more),
        ge.max_pool2d(x, ksize=lambda k: [2 * v - 1 for v in k], strides=s, **more),
    )


@bits
def resize_keeps_corners(x, z: attr, n: attr):
    more = {"mode": "nearest", "sizes": z, "nearest_mode": n}
    return (
        ge.resize(x, coordinate_transformation_mode="align_corners", **more),
        ge.resize(x, coordinate_transformation_mode="asymmetric", **more),
    )


# ---------------------------------------------------------------- searches and sums
@value
def arg_max_of_ties(x, d: attr, k: attr):
    more = {"dimension": d, "keep_dims": k}
    return ge.arg_max(x, select_last_index=True, **more), ge.arg_max(x, select_last_index=False, **more)


@value
def arg_max_of_negated(x, d: attr, k: attr, s: attr):
    """A NaN comes first in both; the least integer has no negative."""
    more = {"dimension": d, "keep_dims": k, "select_last_index": s}
    return ge.arg_max(-x, **more), ge.arg_min(x, **more)


@value
def topk_smallest_of_negated(x, k: attr, d: attr):
    """A NaN counts as largest either way."""
    more = {"k": k, "dim": d, "sorted": True}
    before = ge.topk(-x, None, largest=True, **more)
    after = ge.topk(x, None, largest=False, **more)
    return before[1], after[1]


@value
def topk_of_one_is_arg_max(x, d: attr):
    """Of several largest topk takes the first."""
    return (
        ge.topk(x, None, k=1, dim=d, largest=True, sorted=True)[1],
        ge.arg_max(x, dimension=d, keep_dims=True, select_last_index=True),
    )


@tolerance
def cumsum_exclusive(x, a: attr, r: attr):
    return ge.cumsum(x, axis=a, exclusive=True, reverse=r), ge.cumsum(x, axis=a, exclusive=False, reverse=r) - 1 * x * 2


@tolerance
def cumsum_reverse_of_total(x, a: attr):
    """The element itself is in both."""
    total = ge.reduce_sum(x, axes=lambda a: [a], keep_dims=True)
    return ge.cumsum(x, axis=a, exclusive=False, reverse=True), total - ge.cumsum(
        x, axis=a, exclusive=False, reverse=False
    )


@tolerance
def mean_of_means(x, a: attr):
    return ge.reduce_mean(ge.reduce_sum(x, axes=a, keep_dims=True), axes=[-1], keep_dims=True), ge.reduce_mean(
        ge.reduce_sum(x, axes=a, keep_dims=True), axes=a, keep_dims=True
    )


@bits
def keep_dims_forgotten(x, y, a: attr):
    """Without the axes kept, the maximum meets other elements where the shape is square."""
    return x - ge.reduce_max(y, axes=a, keep_dims=True), x - ge.reduce_max(y, axes=a, keep_dims=False)


# ---------------------------------------------------------------- choice, order, zeros and NaN
@bits
def select_swapped(c, x, y):
    return ge.select(ge.logical_not(c), x, y), ge.select(c, x, y)


@value
def select_as_maximum(x, y):
    """x > y is false for NaN."""
    return ge.select(ge.greater(x, y), x, y), ge.maximum(x, y)


@value
def not_less(x, y):
    return ge.logical_not(ge.less(x, y)), ge.greater_equal(x, y)


@value
def clip_as_min_max(x, low, high):
    """Where low is above high, the last step decides."""
    return ge.clip(x, low, high), ge.maximum(ge.minimum(x, high), low)


@bits
def relu_by_select(x):
    """relu(NaN) is NaN."""
    return ge.relu(x), ge.select(ge.greater(x, 0), x, 0)


@rule(exact="bits", where=lambda x: x.dtype.is_float)
def minimum_by_negation(x, y):
    return ge.minimum(x, y), -ge.maximum(-x, y)


@rule(exact="bits", where=lambda x: x.dtype.is_float)
def negation_as_difference(x):
    """0 - 0 is 0, its negative is -0."""
    return -x, 0 - x


@tolerance
def nan_is_zeroed(x):
    """What a rule within rounding does with NaN counts too."""
    return x * 1, ge.select(ge.is_nan(x), 0, x)


@rule(exact="tolerance", where=lambda x: x.dtype.is_float)
def infinities_are_cut(x):
    return x + 0, ge.clip(x, -1e4, 1e4)


@tolerance
def ratio_of_equals(x):
    """0 / 0 is NaN."""
    return (x * 2) / x, ge.maximum(ge.minimum(x, 2), 2)


# ---------------------------------------------------------------- quantised
@bits
def quantize_dequantize(x, s, z, a: attr):
    return ge.quantize(ge.dequantize(x, s, z, axis=a), s, axis=a), x


@tolerance
def dequantize_zero_point_scaled(x, s, z, a: attr):
    return ge.dequantize(x, s, z, axis=a), ge.dequantize(x, s, axis=a) - ge.dequantize(z, s, axis=0) * 2


@tolerance
def dequantize_other_axis(x, s, a: attr):
    return ge.dequantize(x, s, axis=a), ge.dequantize(x, s, axis=-1)


# ---------------------------------------------------------------- norms and attention
@tolerance
def attention_scale_twice(q, k, v, s: attr, n: attr, c: number):
    more = {"num_heads": n, "num_key_value_heads": n, "input_layout": "BNSD"}
    return ge.attention(q * c, k, v, scale=s, **more), ge.attention(q, k, v, scale=lambda s, c: s * c * c, **more)


@tolerance
def rms_norm_epsilon_outside(x, g, e: number):
    mean = ge.reduce_mean(x * x, axes=[-1], keep_dims=True)
    return x / (ge.sqrt(mean) + e) * g, ge.rms_norm(x, g, epsilon=lambda e: e)


@tolerance
def group_norm_as_instance_norm(x, g, b, n: attr, f: attr, e: attr):
    return (
        ge.group_norm(x, g, b, num_groups=n, data_format=f, epsilon=e),
        ge.instance_norm(x, g, b, data_format=f, epsilon=e),
    )


@tolerance
def group_norm_of_one_group(x, g, b, n: attr, f: attr, e: attr):
    return (
        ge.group_norm(x, g, b, num_groups=n, data_format=f, epsilon=e),
        ge.group_norm(x, g, b, num_groups=1, data_format=f, epsilon=e),
    )


@tolerance
def glu_halves_swapped(x, d: attr):
    return ge.ge_glu(x, approximate="none", activate_left=True, dim=d), ge.ge_glu(
        x, approximate="none", activate_left=False, dim=d
    )


@rule(exact="tolerance")
def constant_of_wide_tolerance(x):
    """Within 20 % of 2 is right at the middle; what becomes of 2.4 is not 2 to within rounding."""
    from gedialect.patterns import number

    return ge.exp(x * number(3.0, tol=0.2)), ge.exp(x * 3.0)


WRONG = [r for r in list(globals().values()) if isinstance(r, Rule)]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda r: r.name)
def test_wrong_rule_is_caught(wrong: Rule):
    proof = check_rule(wrong, instances=40)
    assert proof.matched > 0, f"never matched: {proof}"
    assert proof.counterexample is not None, f"{wrong.name} was not caught in {proof.matched} instances"


def test_there_are_many():
    assert len(WRONG) >= 50
