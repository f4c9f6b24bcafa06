"""convert-layout keeps every result, and leaves as few transposes as there can be."""

from __future__ import annotations

import numpy as np
import pytest
from ge_graphs import module_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gedialect import interpreter
from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_block
from gedialect.dialects.ge.nn import ConvOp, ConvTransposeOp
from gedialect.dialects.ge.pool import PoolOp
from gedialect.dialects.ge.shape import TransposeOp
from gedialect.ir.context import GeContext
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import Spec, spec_of
from gedialect.ir.verifier import verify
from gedialect.transforms.convert_layout import ConvertLayoutPass

RNG = np.random.default_rng(7)


def weight(b, *shape):
    return b.array(RNG.standard_normal(shape).astype(np.float32) * 0.3)


def conv(b, x, channels, kernel=3, stride=1, groups=1, bias=True):
    c = b.spec(x).shape[1]
    pad = kernel // 2
    return b.conv2d(
        x,
        weight(b, channels, c // groups, kernel, kernel),
        weight(b, channels) if bias else None,
        strides=[stride, stride],
        pads=[pad] * 4,
        dilations=[1, 1],
        groups=groups,
        data_format="NCHW",
    )


def max_pool(b, x, size=2):
    return b.max_pool2d(
        x, ksize=[size] * 2, strides=[size] * 2, pads=[0] * 4, dilations=[1, 1], ceil_mode=False, data_format="NCHW"
    )


def up(b, x, channels):
    return b.conv2d_transpose(
        x,
        weight(b, b.spec(x).shape[1], channels, 2, 2),
        None,
        strides=[2, 2],
        pads=[0] * 4,
        dilations=[1, 1],
        groups=1,
        output_padding=[0, 0],
        data_format="NCHW",
    )


def fc(b, x, n):
    return b.matmul(x, weight(b, b.spec(x).shape[1], n), transpose_x1=False, transpose_x2=False)


def transposes(module):
    """Transposes of activations, as (shape, perm); those of constants cost nothing at run time."""
    block = graph_block(module)
    constant = const_derived(block)
    return [
        (spec_of(op.operands[0].type).shape, op.attrs().perm)
        for op in block.ops
        if isinstance(op, TransposeOp) and op.results[0] not in constant
    ]


def convert(module, *, all_last=True):
    """Runs the pass; the results must be those of before, to the rounding of sums in another order."""
    block = graph_block(module)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(spec_of(a.type).shape).astype(np.float32) for a in block.args]
    want = interpreter.run_block(block, inputs)
    types = [v.type for v in block.last_op.operands]
    ConvertLayoutPass().apply(GeContext(), module)
    verify(module)
    assert [v.type for v in block.last_op.operands] == types
    for got, expected in zip(interpreter.run_block(block, inputs), want, strict=True):
        np.testing.assert_allclose(
            got, expected, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(expected).max(initial=0)))
        )
    for op in block.ops:
        if isinstance(op, ConvOp | ConvTransposeOp):
            assert op.attrs().data_format in ("NHWC", "NDHWC")
        if all_last and isinstance(op, PoolOp):
            assert op.attrs().data_format == "NHWC"
    once = transposes(module)
    ConvertLayoutPass().apply(GeContext(), module)
    assert transposes(module) == once, (
        "a second run moves nothing"
    )  # a reshape may change sides of an op: both are free
    return once


IMAGE = Spec(F32, (2, 3, 16, 12))
AT_THE_INPUT = [((2, 3, 16, 12), (0, 2, 3, 1))]


def test_resnet_like():
    def block(b, x, channels, stride):
        y = b.relu(conv(b, x, channels, 3, stride))
        y = conv(b, y, channels)
        short = conv(b, x, channels, 1, stride) if stride > 1 or b.spec(x).shape[1] != channels else x
        return b.relu(b.add(y, short))

    def build(b, x):
        y = max_pool(b, b.relu(conv(b, x, 8, 7)))
        for channels, stride in ((8, 1), (8, 1), (16, 2), (16, 1)):
            y = block(b, y, channels, stride)
        y = b.reduce_mean(y, axes=[2, 3], keep_dims=True)
        return [fc(b, b.reshape(y, shape=[2, -1]), 10)]

    assert convert(module_of([IMAGE], build)) == AT_THE_INPUT


def test_mobilenet_like_with_squeeze_and_excite():
    def build(b, x):
        y = conv(b, x, 16, 3, 2)
        y = b.mul(y, b.div(b.clip(b.add(y, 3.0), b.splat(0.0, F32), b.splat(6.0, F32)), 6.0))
        z = b.relu(conv(b, y, 16, 3, 1, groups=16))
        s = b.reduce_mean(z, axes=[2, 3], keep_dims=False)
        s = b.sigmoid(fc(b, b.relu(fc(b, s, 4)), 16))
        z = b.mul(z, b.reshape(s, shape=[2, 16, 1, 1]))
        z = b.add(conv(b, z, 16, 1), y)
        t = conv(b, b.reduce_mean(z, axes=[2, 3], keep_dims=True), 4, 1)
        z = b.mul(z, b.sigmoid(conv(b, b.relu(t), 16, 1)))
        z = b.batch_norm(z, *[b.splat(v, F32, (16,)) for v in (1.0, 0.5, 0.25, 2.0)], epsilon=1e-5, data_format="NCHW")
        flat = b.reshape(b.reduce_mean(z, axes=[3, 2], keep_dims=True), shape=[2, 16])
        return [b.softmax(fc(b, flat, 5), axes=[1])]

    assert convert(module_of([IMAGE], build)) == AT_THE_INPUT


def test_unet_like():
    def build(b, x):
        a = b.relu(conv(b, x, 8))
        c = b.relu(conv(b, max_pool(b, a), 16))
        d = b.relu(conv(b, max_pool(b, c), 16))
        u = b.concat([up(b, d, 16), c], concat_dim=1)
        u = b.relu(conv(b, u, 8))
        u = up(b, u, 8)
        u = b.slice(u, begin=[1, 1], end=[15, 11], axes=[2, 3])
        u = b.pad(u, None, paddings=[0, 0, 1, 1, 0, 0, 1, 1], mode="constant")
        first, second = b.split(b.concat([u, a], concat_dim=-3), size_splits=[8, 8], split_dim=1)
        logits = conv(b, b.maximum(first, second), 4, 1)
        return [b.softmax(logits, axes=[1])]

    found = convert(module_of([IMAGE], build))
    assert found == [*AT_THE_INPUT, ((2, 16, 12, 4), (0, 3, 1, 2))]


def test_no_transpose_of_a_single_channel_or_pixel():
    def build(b, x, v):
        y = b.relu(conv(b, x, 4))
        z = conv(b, conv(b, v, 8, 1), 4, 1)
        return [conv(b, b.add(y, z), 1)]

    assert convert(module_of([Spec(F32, (2, 1, 8, 8)), Spec(F32, (2, 6, 1, 1))], build)) == []


def test_low_rank_broadcast_where_width_equals_channels():
    """[6] is per column, [5, 1] per row, [6, 1, 1] per channel; after the mean without its axes [6] is per channel."""

    def build(b, x):
        y = conv(b, x, 6)
        for shape in ((), (6,), (5, 1), (6, 1, 1), (5, 6), (1, 1, 5, 6), (2, 1, 1, 1)):
            y = b.add(y, weight(b, *shape) if shape else b.splat(0.5, F32))
        row = b.prelu(y, weight(b, 6, 1, 1))
        mean = b.reduce_mean(row, axes=[2, 3], keep_dims=False)
        return [row, b.add(mean, weight(b, 6))]

    assert len(convert(module_of([Spec(F32, (2, 3, 5, 6))], build))) == 2


def test_low_rank_activations():
    def build(b, x, row, plane):
        y = conv(b, x, 6)
        return [conv(b, b.mul(b.add(y, row), plane), 2)]

    inputs = [Spec(F32, (2, 3, 5, 6)), Spec(F32, (6,)), Spec(F32, (6, 5, 6))]
    found = convert(module_of(inputs, build))
    assert ((1, 6, 5, 6), (0, 2, 3, 1)) in found  # the plane has to be moved, the row does not
    assert len(found) == 3


def test_flatten_needs_the_original_order():
    def build(b, x):
        y = b.relu(conv(b, x, 4, 3, 2))
        merged = b.reshape(y, shape=[2, 32, 6])
        return [fc(b, b.reshape(y, shape=[2, -1]), 3), merged]

    # both reshapes share one transpose
    assert convert(module_of([IMAGE], build)) == [*AT_THE_INPUT, ((2, 8, 6, 4), (0, 3, 1, 2))]


def test_tokens_of_a_vision_transformer():
    def build(b, x):
        y = conv(b, x, 8, 1, 4)
        y = b.transpose(b.reshape(y, shape=[2, 8, 12]), perm=[0, 2, 1])
        return [b.matmul(b.add(y, weight(b, 12, 8)), weight(b, 8, 8), transpose_x1=False, transpose_x2=False)]

    assert convert(module_of([IMAGE], build)) == AT_THE_INPUT


def test_one_dimensional_convolution_through_unsqueeze():
    def build(b, x):
        y = b.unsqueeze(x, axes=[2])
        y = b.relu(conv1(b, conv1(b, y, 6), 6))
        y = b.squeeze(y, axes=[2])
        return [b.transpose(b.gelu(y, approximate="none"), perm=[0, 2, 1])]

    def conv1(b, x, channels):
        return b.conv2d(
            x,
            weight(b, channels, b.spec(x).shape[1], 1, 3),
            strides=[1, 1],
            pads=[0, 1, 0, 1],
            dilations=[1, 1],
            groups=1,
            data_format="NCHW",
        )

    assert convert(module_of([Spec(F32, (2, 4, 9))], build)) == [((2, 4, 9), (0, 2, 1))]


def test_one_dimensional_convolutions_between_channels_last_ops():
    """As speech models have them: a transpose of rank 3 into each convolution, and another out of it."""

    def build(b, x):
        y = b.concat([x, b.neg(x)], concat_dim=2)
        for _ in range(2):
            y = b.unsqueeze(b.transpose(y, perm=[0, 2, 1]), axes=[2])
            y = b.squeeze(b.relu(conv(b, y, 8, 1)), axes=[2])
            y = b.softmax(b.transpose(y, perm=[0, 2, 1]), axes=[2])
            y = b.matmul(y, weight(b, 8, 8), transpose_x1=False, transpose_x2=False)
        return [y]

    assert convert(module_of([Spec(F32, (2, 9, 4))], build)) == []


def test_transposes_of_the_model_are_absorbed():
    """A channels-last model exported as channels-first: its own transposes and ours meet and vanish."""

    def build(b, x):
        y = b.transpose(x, perm=[0, 3, 1, 2])
        y = b.relu(conv(b, y, 4))
        y = b.add(b.transpose(y, perm=[0, 2, 3, 1]), weight(b, 4))
        y = conv(b, b.transpose(y, perm=[0, 3, 1, 2]), 5)
        return [b.transpose(y, perm=[0, 2, 3, 1])]

    assert convert(module_of([Spec(F32, (2, 8, 6, 3))], build)) == []


def test_the_cheaper_side_of_a_chain_is_transposed():
    """After the mean over the width there is less to transpose than before it."""

    def build(b, x):
        y = b.relu(conv(b, x, 4))
        y = b.reduce_max(b.exp(y), axes=[3], keep_dims=True)
        return [b.concat([y, b.neg(y)], concat_dim=2)]

    assert convert(module_of([IMAGE], build)) == [*AT_THE_INPUT, ((2, 16, 1, 4), (0, 3, 1, 2))]


def test_values_with_readers_of_both_kinds_are_transposed_once():
    def build(b, x):
        y = conv(b, x, 4)
        return [b.relu(y), b.exp(y), b.tanh(y), b.reduce_sum(y, axes=[2], keep_dims=False)]

    assert convert(module_of([IMAGE], build)) == [*AT_THE_INPUT, ((2, 16, 12, 4), (0, 3, 1, 2))]


def test_graphs_without_layouts_stay():
    def build(b, x):
        y = b.reshape(b.add(x, weight(b, 12)), shape=[2, 5, 3, 4])
        return [b.exp(b.transpose(y, perm=[0, 2, 3, 1]))]

    module = module_of([Spec(F32, (2, 5, 12))], build)
    text = str(module)
    ConvertLayoutPass().apply(GeContext(), module)
    assert str(module) == text


def test_a_pool_alone_is_not_worth_two_transposes():
    module = module_of([IMAGE], lambda b, x: [max_pool(b, b.exp(x))])
    assert convert(module, all_last=False) == []


def test_channel_shuffle():
    def build(b, x):
        y = conv(b, x, 12, 1, groups=3)
        y = b.transpose(b.reshape(y, shape=[2, 3, 4, 16, 12]), perm=[0, 2, 1, 3, 4])
        y = b.reshape(y, shape=[2, 12, 16, 12])
        return [b.reduce_mean(conv(b, y, 12, 3, groups=12), axes=[2, 3], keep_dims=False)]

    found = convert(module_of([IMAGE], build))
    assert found == [*AT_THE_INPUT, ((2, 16, 12, 3, 4), (0, 1, 2, 4, 3))]


def test_resize_and_searches():
    def build(b, x):
        y = conv(b, x, 5)
        kinds = {"coordinate_transformation_mode": "half_pixel"}
        y = b.resize(y, None, None, None, scales=[1.0, 1.0, 2.0, 0.5], mode="linear", **kinds)
        z = b.resize(y, None, None, None, sizes=[9, 8], axes=[3, 2], mode="nearest", **kinds)
        return [
            conv(b, z, 1),
            b.arg_max(y, dimension=1, keep_dims=False, select_last_index=False),
            b.arg_min(y, dimension=-2, keep_dims=True, select_last_index=True),
            b.cumsum(y, axis=1, exclusive=False, reverse=True),
        ]

    assert convert(module_of([IMAGE], build))[:1] == AT_THE_INPUT


def test_volumes():
    def build(b, x):
        y = b.conv3d(
            x,
            weight(b, 4, 2, 3, 3, 3),
            None,
            strides=[1] * 3,
            pads=[1] * 6,
            dilations=[1] * 3,
            groups=1,
            data_format="NCDHW",
        )
        return [b.reduce_mean(b.relu(y), axes=[2, 3, 4], keep_dims=False)]

    assert convert(module_of([Spec(F32, (1, 2, 4, 5, 6))], build)) == [((1, 2, 4, 5, 6), (0, 2, 3, 4, 1))]


@st.composite
def networks(draw):
    """Small convolutional nets with every kind of op the pass knows, and some it does not."""
    integer = lambda lo, hi: draw(st.integers(lo, hi))  # noqa: E731

    def step(b, values):
        x = values[integer(max(0, len(values) - 4), len(values) - 1)]
        n, *rest = b.spec(x).shape
        rank = 1 + len(rest)
        if rank != 4:
            match integer(0, 3):
                case 0 if rank == 3:
                    return [b.transpose(x, perm=[0, 2, 1])]
                case 1 if rank == 3:
                    return [b.unsqueeze(x, axes=[integer(1, 3)])]
                case 2 if rank == 2:
                    return [b.reshape(x, shape=[n, rest[0], 1, 1])]
                case _:
                    return [b.exp(b.neg(b.abs(x)))]
        c, h, w = rest
        match integer(0, 17):
            case 0 | 1 | 2:
                return [conv(b, x, integer(1, 6), [1, 3][integer(0, 1)])]
            case 3:
                return [b.relu(x)]
            case 4:
                same = [v for v in values if b.spec(v).shape == b.spec(x).shape]
                return [b.add(x, same[integer(0, len(same) - 1)])]
            case 5 if h > 1 and w > 1:
                return [max_pool(b, x)]
            case 6:
                axis = integer(0, 3)
                return [b.concat([x, x], concat_dim=axis)] if max(n, c, h, w) < 30 else [x]
            case 7 if c > 1:
                return list(b.split(x, size_splits=[1, c - 1], split_dim=1))
            case 8:
                return [b.reduce_mean(x, axes=sorted({integer(1, 3), integer(1, 3)}), keep_dims=bool(integer(0, 1)))]
            case 9:
                return [b.softmax(x, axes=[integer(1, 3)])]
            case 10:
                return [b.pad(x, None, paddings=[0, integer(0, 1), 1, 0, 0, 0, integer(0, 1), 0], mode="edge")]
            case 11:
                shape = [(), (w,), (c, 1, 1), (h, 1), (1, c, 1, 1)][integer(0, 4)]
                return [b.mul(x, weight(b, *shape) if shape else b.splat(0.5, F32))]
            case 12:
                return [b.transpose(x, perm=[[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [1, 0, 2, 3]][integer(0, 3)])]
            case 13:
                return [
                    b.reshape(x, shape=[[n, c, h * w], [n, c * h, w], [n, c * h * w], [n, c, 1, h * w]][integer(0, 3)])
                ]
            case 14 if h == 1:
                return [b.squeeze(x, axes=[2])]
            case 15:
                return [b.slice(x, begin=[0], end=[max(1, rest[0] - 1)], axes=[1])]
            case 16 if c > 1 and n * c * h * w < 3000:
                return [b.tile(x, multiples=[1, 2, 1, 1])]
            case 17:
                return [
                    b.batch_norm(
                        x, *[b.splat(v, F32, (c,)) for v in (1.0, 0.5, 0.2, 2.0)], epsilon=1e-5, data_format="NCHW"
                    )
                ]
            case _:
                return [b.tanh(x)]

    def build(b, x, y):
        values = [x, y]
        for _ in range(integer(1, 14)):
            values += step(b, values)
        return [values[integer(max(0, len(values) - 4), len(values) - 1)] for _ in range(integer(1, 3))]

    c, h, w = integer(1, 4), integer(1, 6), integer(1, 6)
    return module_of([Spec(F32, (2, c, h, w)), Spec(F32, (1, c, h, w))], build)


@given(networks())
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_networks(module):
    convert(module, all_last=False)


@pytest.mark.parametrize(
    ("a", "b", "parts"),
    [
        ((2, 6), (2, 6), [(2, 0, 0), (6, 1, 1)]),
        ((2, 6), (12,), [(2, 0, 0), (6, 1, 0)]),
        ((4, 6), (6, 4), None),
        ((4, 1, 6), (2, 2, 6, 1), [(2, 0, 0), (2, 0, 1), (6, 2, 2)]),
        ((8, 3), (2, 4, 3), [(2, 0, 0), (4, 0, 1), (3, 1, 2)]),
        ((2, 12), (8, 3), [(2, 0, 0), (4, 1, 0), (3, 1, 1)]),
        ((1, 1), (), []),
    ],
)
def test_common_parts(a, b, parts):
    from gedialect.transforms._layout_roles import common_parts

    assert common_parts(a, b) == parts
