"""Convolutions in the simulator against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from cube_run import Run, close, onnx_run
from hypothesis import given, settings
from hypothesis import strategies as st

from gedialect.ir.dtypes import BY_NAME
from lowering.kernels.conv import _phases, _segments
from lowering.kernels.cube import window_spans


def random(shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def check(
    x, f, *, strides, pads, dilations=None, groups=1, bias=True, last=False, transpose=False, padding=None,
    dtype=np.float32, tolerance=1e-5, relu=False, turned=None,
):  # fmt: skip
    """Run both; ``last`` puts channels last, ``turned`` permutes the result."""
    n = len(strides)
    dilations = dilations or [1] * n
    x, f = random(x).astype(dtype), random(f, 1).astype(dtype)
    channels = f.shape[1] * groups if transpose else f.shape[0]
    b = [random((channels,), 2).astype(dtype)] if bias else []
    extra = {"output_padding": padding or [0] * n} if transpose else {}
    want = onnx_run(
        "ConvTranspose" if transpose else "Conv",
        [a.astype(np.float32) for a in (x, f, *b)],
        strides=strides, pads=pads, dilations=dilations, group=groups, **extra,
    )  # fmt: skip
    want = np.maximum(want, 0) if relu else want
    fmt = {(2, False): "NCHW", (2, True): "NHWC", (3, False): "NCDHW", (3, True): "NDHWC"}[n, last]
    if last:
        x, want = np.ascontiguousarray(np.moveaxis(x, 1, -1)), np.moveaxis(want, 1, -1)
    if turned is not None:
        want = want.transpose(turned)
    name = {2: "conv2d", 3: "conv3d"}[n] + ("_transpose" if transpose else "")

    def body(g, x, f, b=None):
        y = getattr(g, name)(
            x, f, b, strides=strides, pads=pads, dilations=dilations, groups=groups, data_format=fmt, **extra
        )
        y = g.relu(y) if relu else y
        return g.transpose(y, perm=turned) if turned is not None else y

    run = Run([x, f, *b], body)
    close(run.y, want.astype(dtype), tolerance)
    return run


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("x", "f", "strides", "pads"),
    [
        ((1, 3, 16, 16), (8, 3, 3, 3), [1, 1], [1, 1, 1, 1]),
        ((1, 3, 64, 64), (16, 3, 7, 7), [2, 2], [3, 3, 3, 3]),
        ((2, 16, 14, 14), (32, 16, 1, 1), [1, 1], [0, 0, 0, 0]),
        ((2, 16, 14, 14), (32, 16, 1, 1), [2, 2], [0, 0, 0, 0]),
        ((1, 70, 9, 9), (300, 70, 3, 3), [1, 1], [1, 1, 1, 1]),
        ((1, 600, 7, 7), (40, 600, 3, 3), [1, 1], [1, 1, 1, 1]),
        ((1, 1, 1, 3000), (4, 1, 1, 25), [1, 5], [0, 12, 0, 12]),
        ((1, 2, 5, 700), (3, 2, 3, 3), [1, 1], [1, 1, 1, 1]),
        ((3, 5, 6, 6), (7, 5, 6, 6), [1, 1], [0, 0, 0, 0]),
        ((1, 4, 5, 5), (4, 4, 3, 3), [1, 1], [4, 4, 4, 4]),
        ((1, 4, 3, 3), (4, 4, 1, 1), [1, 1], [2, 2, 2, 2]),
    ],
)
def test_shapes(x, f, strides, pads, last):
    check(x, f, strides=strides, pads=pads, last=last)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_convolution(data):
    """Strides, dilations, one-sided pads, groups, layouts, activations, a transposed result."""
    groups = data.draw(st.sampled_from([1, 1, 2, 3]))
    kernel = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    dilations = list(data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))))
    pads = data.draw(st.lists(st.integers(0, 5), min_size=4, max_size=4))
    size = [
        max(data.draw(st.integers(1, 40)), (k - 1) * d + 1 - pads[i] - pads[2 + i])
        for i, (k, d) in enumerate(zip(kernel, dilations, strict=True))
    ]
    c, n = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    check(
        (data.draw(st.integers(1, 2)), groups * c, *size),
        (groups * n, c, *kernel),
        strides=list(data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))),
        pads=pads,
        dilations=dilations,
        groups=groups,
        bias=data.draw(st.booleans()),
        last=data.draw(st.booleans()),
        relu=data.draw(st.booleans()),
        turned=data.draw(st.sampled_from([None, [0, 2, 3, 1], [3, 1, 0, 2]])),
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_transposed_convolution(data):
    groups = data.draw(st.sampled_from([1, 1, 2]))
    kernel = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 4)))
    strides = list(data.draw(st.tuples(st.integers(1, 4), st.integers(1, 3))))
    dilations = list(data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3))))
    padding = [data.draw(st.integers(0, s - 1)) for s in strides]  # onnxruntime takes no more
    size = data.draw(st.tuples(st.integers(1, 12), st.integers(1, 12)))
    spans = [
        s * (n - 1) + d * (k - 1) + 1 + p
        for s, n, d, k, p in zip(strides, size, dilations, kernel, padding, strict=True)
    ]
    pads = [0, 0, 0, 0]
    for i, span in enumerate(spans):
        pads[i] = data.draw(st.integers(0, min(span - 1, 3)))
        pads[2 + i] = data.draw(st.integers(0, min(span - 1 - pads[i], 3)))
    c, n = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20))
    check(
        (data.draw(st.integers(1, 2)), groups * c, *size),
        (groups * c, n, *kernel),
        strides=strides, pads=pads, dilations=dilations, groups=groups, padding=padding, transpose=True,
        bias=data.draw(st.booleans()), last=data.draw(st.booleans()),
    )  # fmt: skip


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("x", "f", "strides", "pads", "dilations", "groups"),
    [
        ((1, 3, 6, 8, 8), (4, 3, 3, 3, 3), [1, 1, 1], [1] * 6, [1, 1, 1], 1),
        ((2, 4, 7, 6, 5), (6, 2, 2, 3, 1), [2, 1, 2], [1, 0, 0, 2, 1, 1], [1, 2, 1], 2),
        ((1, 3, 4, 4, 4), (5, 3, 1, 1, 1), [1, 1, 1], [0] * 6, [1, 1, 1], 1),
        ((1, 2, 3, 5, 5), (3, 2, 3, 3, 3), [1, 1, 1], [3, 1, 1, 4, 1, 1], [2, 1, 1], 1),
    ],
)
def test_volumes(x, f, strides, pads, dilations, groups, last):
    check(x, f, strides=strides, pads=pads, dilations=dilations, groups=groups, last=last)


def test_transposed_volume():
    check(
        (1, 3, 3, 4, 5), (3, 4, 3, 2, 3), strides=[2, 2, 1], pads=[1, 0, 1, 0, 1, 0], transpose=True, padding=[1, 1, 0]
    )


@pytest.mark.parametrize("last", [False, True])
def test_half_precision(last):
    check((1, 40, 20, 20), (50, 40, 3, 3), strides=[1, 1], pads=[1] * 4, last=last, dtype=np.float16, tolerance=2e-3)


def test_negative_pads_crop():
    x, f = random((1, 6, 12, 12)), random((5, 6, 3, 3), 1)
    want = onnx_run("Conv", [np.ascontiguousarray(x[:, :, 2:, :-1]), f], pads=[0, 0, 1, 0])
    run = Run(
        [x, f],
        lambda g, x, f: g.conv2d(
            x, f, None, strides=[1, 1], pads=[-2, 0, 1, -1], dilations=[1, 1], groups=1, data_format="NCHW"
        ),
    )
    close(run.y, want)


def test_cast_and_activation_on_the_way_out():
    x, f = random((1, 8, 10, 10)), random((16, 8, 3, 3), 1)
    want = onnx_run("Conv", [x, f], pads=[1] * 4)

    def body(g, x, f):
        y = g.conv2d(x, f, None, strides=[1, 1], pads=[1] * 4, dilations=[1, 1], groups=1, data_format="NCHW")
        return g.cast(g.leaky_relu(y, negative_slope=0.1), BY_NAME["f16"])

    close(Run([x, f], body).y, np.where(want < 0, want * 0.1, want).astype(np.float16), 2e-3)


def test_layout_changes_at_both_ends_are_strides():
    """A channels-last convolution between transposes reads and writes channels-first memory."""
    x, f = random((1, 20, 13, 11)), random((30, 20, 3, 3), 1)

    def body(g, x, f):
        x = g.transpose(x, perm=[0, 2, 3, 1])
        y = g.conv2d(x, f, None, strides=[1, 1], pads=[1] * 4, dilations=[1, 1], groups=1, data_format="NHWC")
        return g.transpose(y, perm=[0, 3, 1, 2])

    close(Run([x, f], body).y, onnx_run("Conv", [x, f], pads=[1] * 4))


def test_packed_filter():
    """A filter that reads a [kh, kw, c, n] operand through a transpose needs no packing op."""
    x, f = random((1, 20, 13, 11)), random((30, 20, 3, 3), 1)

    def body(g, x, p):
        f = g.transpose(p, perm=[3, 2, 0, 1])
        return g.conv2d(x, f, None, strides=[1, 1], pads=[1] * 4, dilations=[1, 1], groups=1, data_format="NCHW")

    close(Run([x, np.ascontiguousarray(f.transpose(2, 3, 1, 0))], body).y, onnx_run("Conv", [x, f], pads=[1] * 4))


@given(
    n=st.integers(1, 40), tile=st.integers(1, 10), size=st.integers(1, 40), kernel=st.integers(1, 5),
    stride=st.integers(1, 4), dilation=st.integers(1, 3), before=st.integers(-5, 8),
)  # fmt: skip
def test_window_spans_hold_what_their_outputs_read(n, tile, size, kernel, stride, dilation, before):
    seen = []
    for span in window_spans(n, tile, size, kernel, stride, dilation, before):
        for i in range(span.count):
            first, start = span.start + i * span.size, span.held_start + i * span.held_step
            assert 0 <= start and start + span.held <= size and span.held >= 1
            for o in range(span.size):
                seen.append(first + o)
                for tap in range(kernel):
                    at = (first + o) * stride - before + tap * dilation
                    inside = (span.out0 + o) * stride - span.before + tap * dilation
                    if 0 <= at < size:
                        assert start + inside == at and 0 <= inside < span.held
                    else:
                        assert not 0 <= inside < span.held
    assert seen == list(range(n))


@given(
    size=st.integers(1, 12), kernel=st.integers(1, 6), stride=st.integers(1, 5), dilation=st.integers(1, 4),
    before=st.integers(0, 4), result=st.integers(1, 40),
)  # fmt: skip
def test_phases_cover_each_meeting_of_tap_and_input_once(size, kernel, stride, dilation, before, result):
    want = {(i * stride - before + k * dilation, k, i) for i in range(size) for k in range(kernel)}
    want = {w for w in want if 0 <= w[0] < result}
    found = []
    for line in _phases(size, result, kernel, stride, dilation, before):
        for i in range(line.outputs):
            for j in range(line.taps):
                at = i * line.stride - line.before + j * line.dilation
                if 0 <= at < size:
                    found.append((line.start + i * line.step, line.first_tap + j * line.tap_step, at))
    assert len(found) == len(set(found))
    assert set(found) == want


def test_segments_of_border_planes():
    from lowering.kernels.conv import Line

    line = Line(outputs=5, start=0, step=1, taps=3, first_tap=0, tap_step=1, stride=1, dilation=1, before=1)
    assert list(_segments(line, 5)) == [(0, 1, 1, 3), (1, 3, 0, 3), (4, 1, 0, 2)]
