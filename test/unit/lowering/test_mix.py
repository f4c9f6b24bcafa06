"""Mixed kernels in the simulator, sanitizer on, against numpy and onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from math import erf

import numpy as np
import pytest
from cube_run import TARGET, Run, close, execute, group, onnx_run
from hypothesis import given, settings
from hypothesis import strategies as st

from gedialect.binary.kernel import Inst, Loop
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32
from gedialect.runtime.simulator import sanitize
from gedialect.runtime.simulator.timing import kernel_time
from gedialect.testing.agree import check_levels
from lowering.kernels import mix
from lowering.kernels.generators import generator_of

DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16)}
TOLERANCE = {"f32": 1e-5, "f16": 4e-3}


def random(shape, dtype="f32", seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(DTYPES[dtype])


def matmul(g, a, b, bias=None):
    return g.matmul(a, b, bias, transpose_x1=False, transpose_x2=False)


def attr(arrays, body, tile, blocks, slots=2):
    """A mixed kernel with this tile."""
    return mix.resized(group(arrays, body), KernelAttr.get("mix", tile, blocks), TARGET, slots)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((8, 16), (16, 8)),
        ((1, 1), (1, 1)),
        ((1, 70), (70, 301)),
        ((129, 65), (65, 257)),
        ((700, 40), (40, 600)),
        ((2, 3, 41, 24), (24, 50)),
        ((2, 3, 40, 24), (3, 24, 51)),
        ((5, 7, 9), (5, 9, 3)),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_residual_and_activation(a, b, dtype):
    a, b = random(a, dtype), random(b, dtype, 1)
    product = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(DTYPES[dtype])
    for shape in {product.shape, product.shape[-1:], (*product.shape[:-1], 1), (1,) * product.ndim}:
        r = random(shape, dtype, 2)
        run = Run([a, b, r], lambda g, x, w, r: g.relu(g.add(matmul(g, x, w), r)))
        assert run.kernel.kind == "mix"
        close(run.y, np.maximum(product + r, 0), TOLERANCE[dtype])


@pytest.mark.parametrize("tile", [[16, 16, 16], [16, 32, 8], [48, 16, 40], [7, 11, 40], [100, 60, 40]])
@pytest.mark.parametrize(("blocks", "slots"), [(1, 2), (3, 2), (24, 2), (2, 1), (2, 4)])
def test_tiles_and_rings(tile, blocks, slots):
    """Any tile, any number of blocks, rings of one to four slots: tails, odd halves, blocks with nothing to do."""
    arrays = [random((100, 40)), random((40, 60), seed=1), random((100, 60), seed=2)]

    def body(g, x, w, r):
        return g.mul(matmul(g, x, w), r)

    run = Run(arrays, body, attr(arrays, body, tile, blocks, slots))
    close(run.y, arrays[0] @ arrays[1] * arrays[2])


def test_a_half_that_does_not_fit_ub_comes_in_pieces():
    arrays = [random((96, 8)), random((8, 320), seed=1), *(random((96, 320), seed=s) for s in (2, 3, 4, 5))]

    def body(g, x, w, *rs):
        y = matmul(g, x, w)
        for r in rs:
            y = g.mul(g.add(y, r), r)
        return y

    want = arrays[0] @ arrays[1]
    for r in arrays[2:]:
        want = (want + r) * r
    run = Run(arrays, body, attr(arrays, body, [96, 320, 8], 1))
    close(run.y, want)


def test_several_results_the_product_among_them():
    a, b, r = random((33, 20)), random((20, 70), seed=1), random((33, 70), seed=2)

    def body(g, x, w, r):
        y = matmul(g, x, w)
        z = g.add(y, r)
        return z, y, g.sigmoid(z)

    run = Run([a, b, r], body)
    z = a @ b + r
    for got, want in zip(run.ys, (z, a @ b, 1 / (1 + np.exp(-z))), strict=True):
        close(got, want.astype(np.float32))


def test_the_products_own_type_is_kept():
    """The product is rounded to its type before anything else sees it."""
    a, b = random((40, 900), "f16"), random((900, 24), "f16", 1)
    run = Run([a, b], lambda g, x, w: g.mul(g.cast(matmul(g, x, w), F32), g.array(np.array(3.0, np.float32))))
    rounded = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16).astype(np.float32)
    assert run.y.dtype == np.float32
    close(run.y, rounded * 3, 1e-3)
    assert np.array_equal((run.y / 3).astype(np.float16).astype(np.float32) * 3, run.y)


def test_integer_products_are_scaled_in_their_kernel():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (37, 50)).astype(np.int8), rng.integers(-128, 128, (50, 24)).astype(np.int8)
    scale = random((24,))

    def body(g, x, w, s):
        return g.mul(g.cast(matmul(g, x, w), F32), s)

    run = Run([a, b, scale], body)
    assert run.kernel.kind == "mix"
    assert np.array_equal(run.y, (a.astype(np.int32) @ b.astype(np.int32)).astype(np.float32) * scale)


@pytest.mark.parametrize(
    ("after", "want", "mixed"),
    [
        (lambda g, y: g.relu(y), lambda y: np.maximum(y, 0), False),
        (
            lambda g, y: g.transpose(g.leaky_relu(y, negative_slope=0.5), perm=[1, 0]),
            lambda y: np.maximum(y, y / 2).T,
            False,
        ),
        (lambda g, y: (y, g.relu(y)), lambda y: y, True),
        (lambda g, y: g.relu(g.leaky_relu(y, negative_slope=-0.5)), lambda y: np.maximum(y, -y / 2), True),
        (lambda g, y: g.add(y, y), lambda y: y + y, True),
    ],
)
def test_fixpipe_does_alone_what_it_can(after, want, mixed):
    a, b = random((20, 30)), random((30, 40), seed=1)
    y = a @ b
    run = Run([a, b], lambda g, x, w: after(g, matmul(g, x, w)))
    assert run.kernel.kind == ("mix" if mixed else "cube")
    close(run.y, want(y))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("x", "f", "strides", "pads", "groups"),
    [
        ((1, 8, 14, 14), (16, 8, 3, 3), [1, 1], [1, 1, 1, 1], 1),
        ((2, 6, 9, 7), (10, 3, 3, 2), [2, 1], [1, 0, 1, 2], 2),
        ((1, 16, 13, 13), (24, 16, 1, 1), [1, 1], [0, 0, 0, 0], 1),
        ((2, 16, 13, 13), (24, 16, 1, 1), [2, 2], [0, 0, 0, 0], 1),
        ((1, 3, 40, 40), (33, 3, 5, 5), [1, 1], [2, 2, 2, 2], 1),
        ((1, 4, 3, 5), (5, 4, 1, 1), [1, 1], [0, 0, 0, 0], 1),
        ((1, 4, 3, 200), (5, 4, 1, 9), [1, 1], [0, 0, 0, 0], 1),
    ],
)
@pytest.mark.parametrize("operand", ["all", "channels", "columns", "picture"])
def test_convolutions(x, f, strides, pads, groups, last, operand):
    x, f, bias = random(x), random(f, seed=1), random(f[:1], seed=2)
    want = onnx_run("Conv", [x, f, bias], strides=strides, pads=pads, group=groups)
    shape = want.shape
    keep = {"all": (1, 1, 1, 1), "channels": (0, 1, 0, 0), "columns": (0, 0, 0, 1), "picture": (1, 0, 1, 1)}[operand]
    r = random(tuple(n if k else 1 for n, k in zip(shape, keep, strict=True)), seed=3)
    want = want * r
    want = want / (1 + np.exp(-want.astype(np.float64)))
    if last:
        x, r, want = (np.ascontiguousarray(np.moveaxis(v, 1, -1)) for v in (x, r, want))

    def body(g, x, f, b, r):
        y = g.conv2d(
            x, f, b, strides=strides, pads=pads, dilations=[1, 1], groups=groups,
            data_format="NHWC" if last else "NCHW",
        )  # fmt: skip
        z = g.mul(y, r)
        return g.mul(z, g.sigmoid(z))

    run = Run([x, f, bias, r], body)
    assert run.kernel.kind == "mix"
    close(run.y, want.astype(np.float32))


def test_transposed_and_3d_convolutions():
    """Every phase of a transposed convolution is a product with a ring of its own turn."""
    x, f = random((1, 5, 6, 7)), random((5, 4, 3, 3), seed=1)
    want = onnx_run("ConvTranspose", [x, f], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])
    r = random(want.shape, seed=2)

    def body(g, x, f, r):
        y = g.conv2d_transpose(
            x, f, strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], groups=1, data_format="NCHW",
            output_padding=[1, 0],
        )  # fmt: skip
        return g.add(y, r)

    close(Run([x, f, r], body).y, want + r)

    x, f = random((1, 3, 4, 6, 5)), random((4, 3, 3, 3, 3), seed=1)
    want = onnx_run("Conv", [x, f], pads=[1] * 6)
    r = random(want.shape, seed=2)
    close(
        Run(
            [x, f, r],
            lambda g, x, f, r: g.add(
                g.conv3d(
                    x, f, strides=[1] * 3, pads=[1] * 6, dilations=[1] * 3, groups=1, data_format="NCDHW"
                ),
                r,
            ),
        ).y,
        want + r,
    )  # fmt: skip


STEPS = {
    "add": (lambda g, y, r: g.add(y, r), lambda y, r: y + r),
    "sub": (lambda g, y, r: g.sub(r, y), lambda y, r: r - y),
    "mul": (lambda g, y, r: g.mul(y, r), lambda y, r: y * r),
    "max": (lambda g, y, r: g.maximum(y, r), np.maximum),
    "relu": (lambda g, y, r: g.relu(y), lambda y, r: np.maximum(y, 0)),
    "sigmoid": (lambda g, y, r: g.sigmoid(y), lambda y, r: 1 / (1 + np.exp(-y))),
    "tanh": (lambda g, y, r: g.tanh(y), lambda y, r: np.tanh(y)),
    "hard_swish": (lambda g, y, r: g.hard_swish(y), lambda y, r: y * np.clip(y / 6 + 0.5, 0, 1)),
    "gelu": (
        lambda g, y, r: g.gelu(y, approximate="none"),
        lambda y, r: y * 0.5 * (1 + np.vectorize(erf)(y / np.sqrt(2))),
    ),
}


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5),
    batch=st.lists(st.integers(1, 3), max_size=2),
    m=st.integers(1, 150),
    k=st.integers(1, 60),
    n=st.integers(1, 150),
    keep=st.lists(st.booleans(), min_size=4, max_size=4),
    blocks=st.sampled_from([1, 2, 5, 24]),
    tile=st.tuples(st.integers(1, 80), st.integers(1, 80), st.integers(8, 64)),
    slots=st.integers(1, 4),
    all_results=st.booleans(),
)
def test_any_epilogue(steps, batch, m, k, n, keep, blocks, tile, slots, all_results):
    """Random chains after a random product, every intermediate value stored or only the last."""
    a, b = random((*batch, m, k)) / np.float32(np.sqrt(k)), random((k, n), seed=1)
    shape = (*batch, m, n)
    kept = keep[: len(shape)]
    r = random(tuple(s if keep else 1 for s, keep in zip(shape, kept, strict=True)), seed=2)
    values = [a.astype(np.float64) @ b]
    for step in steps:
        values.append(STEPS[step][1](values[-1], r))
    wanted = values[1:] if all_results else values[-1:]

    def body(g, x, w, r):
        ys = [matmul(g, x, w)]
        for step in steps:
            ys.append(STEPS[step][0](g, ys[-1], r))
        return ys[1:] if all_results else ys[-1:]

    arrays = [a, b, r]
    fusion = group(arrays, body)
    if generator_of(fusion) is not mix:
        return
    run = Run(arrays, body, attr(arrays, body, tile, blocks, slots))
    for got, want in zip(run.ys, wanted, strict=True):
        close(got, want.astype(np.float32), 2e-5)


# ---------------------------------------------------------------------- the hand-over


def _without(kernel, name, side, flags):
    """The kernel without some cross-core instructions of one side."""

    def body(items):
        out = []
        for item in items:
            if isinstance(item, Loop):
                out.append(replace(item, body=body(item.body)))
            elif not (isinstance(item, Inst) and item.op.name == name and item.attr("flag") in flags):
                out.append(item)
        return tuple(out)

    function = getattr(kernel, side)
    return replace(kernel, **{side: replace(function, body=body(function.body))}, digest=b"")


def test_the_sanitizer_sees_every_missing_signal():
    arrays = [random((64, 32)), random((32, 32), seed=1), random((64, 32), seed=2)]

    def body(g, x, w, r):
        return g.add(matmul(g, x, w), r)

    kernel = Run(arrays, body, attr(arrays, body, [16, 16, 32], 1)).kernel
    assert sanitize(kernel) == []
    free = range(mix.FREE, mix.FREE + 2)
    unread = _without(kernel, "cross_core_wait", "vector", [mix.READY])
    assert {"race", "unwritten"} & {f.kind for f in sanitize(_without(unread, "cross_core_set", "cube", [mix.READY]))}
    early = _without(_without(kernel, "cross_core_wait", "cube", free), "cross_core_set", "vector", free)
    found = sanitize(early)
    assert {f.kind for f in found} == {"race"}
    assert all("bytes of ring" in f.what for f in found)
    for name, side, flags in (
        ("cross_core_set", "cube", [mix.READY]),
        ("cross_core_set", "vector", free),
        ("cross_core_wait", "cube", free),
    ):
        assert {f.kind for f in sanitize(_without(kernel, name, side, flags))} >= {"flag"}


def test_both_sides_overlap():
    """The time of a mixed kernel is less than that of the product alone and the rest alone."""
    arrays = [random((512, 128)), random((128, 512), seed=1), random((512, 512), seed=2)]
    mixed = Run(arrays, lambda g, x, w, r: g.relu(g.add(matmul(g, x, w), r)), verify=False)
    product = Run(arrays[:2], matmul, verify=False)
    rest = Run([arrays[2], arrays[2]], lambda g, y, r: g.relu(g.add(y, r)), verify=False)
    assert (mixed.kernel.kind, product.kernel.kind, rest.kernel.kind) == ("mix", "cube", "vector")
    parts = sum(kernel_time(r.kernel, TARGET).cycles for r in (product, rest))
    assert kernel_time(mixed.kernel, TARGET).cycles < parts
    assert mixed.attr.scratch.data <= 2 * 24 * 128 * 1024


def test_one_tile_per_block_takes_one_slot():
    arrays = [random((16, 8)), random((8, 16), seed=1)]

    def body(g, x, w):
        return g.sigmoid(matmul(g, x, w))

    assert attr(arrays, body, [16, 16, 8], 1).scratch.data == 16 * 16 * 4


def test_scratch_must_fit_the_tile():
    arrays = [random((64, 32)), random((32, 32), seed=1)]

    def body(g, x, w):
        return g.sigmoid(matmul(g, x, w))

    good = attr(arrays, body, [16, 16, 32], 2)
    Run(arrays, body, good)
    for scratch in (0, good.scratch.data + 4, good.scratch.data * 8):
        with pytest.raises(GeError, match="scratch of"):
            Run(arrays, body, KernelAttr.get("mix", [16, 16, 32], 2, scratch))
    with pytest.raises(GeError, match="tile"):
        Run(arrays, body, KernelAttr.get("mix", [16, 16], 2, good.scratch.data))


def test_runs_again_with_the_ring_as_it_was_left():
    arrays = [random((64, 32)), random((32, 32), seed=1), random((64, 32), seed=2)]

    def body(g, x, w, r):
        return g.add(matmul(g, x, w), r)

    run = Run(arrays, body, attr(arrays, body, [16, 16, 32], 3))
    first = run.y.copy()
    regions = [(np.ascontiguousarray(a).reshape(-1).view(np.uint8), 0, a.nbytes) for a in arrays]
    out = np.empty_like(first)
    ring = np.empty(run.attr.scratch.data, np.uint8)
    for _ in range(2):
        execute(
            run.machine, run.kernel, [*regions, (out.reshape(-1).view(np.uint8), 0, out.nbytes), (ring, 0, ring.nbytes)]
        )
        assert np.array_equal(out, first)


def test_models_say_mix():
    text = """func.func @main(%x: tensor<64x32xf32> {ge.name = "x"}, %w: tensor<32x48xf32> {ge.name = "w"},
                              %r: tensor<64x48xf32> {ge.name = "r"}) -> (tensor<64x48xf32>) {
      %y = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
      %z = ge.mul(%y, %r) : (tensor<64x48xf32>, tensor<64x48xf32>) -> tensor<64x48xf32>
      %a = ge.sigmoid(%z) : (tensor<64x48xf32>) -> tensor<64x48xf32>
      func.return %a : tensor<64x48xf32> }"""
    reports = check_levels(text)
    assert [r.kernels for r in reports] == [3, 3, 1, 1]
    assert [k["kind"] for k in reports[-1].kernel_list] == ["mix"]
    assert reports[-1].workspace_bytes > 0
