"""Matrix products in the simulator against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from cube_run import TARGET, Run, close, group
from hypothesis import given, settings
from hypothesis import strategies as st

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME
from lowering.kernels import matmul

DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}


def random(shape, dtype="f32", seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(DTYPES[dtype])


def expected(a, b, bias=None, ta=False, tb=False):
    a, b = (v.astype(np.float64) for v in (a, b))
    y = np.matmul(np.swapaxes(a, -1, -2) if ta else a, np.swapaxes(b, -1, -2) if tb else b)
    return y if bias is None else y + bias.astype(np.float64)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((8, 16), (16, 8)),
        ((1, 1), (1, 1)),
        ((1, 700), (700, 300)),
        ((129, 65), (65, 257)),
        ((128, 3072), (3072, 64)),
        ((2, 3, 40, 24), (24, 50)),
        ((2, 3, 40, 24), (3, 24, 50)),
        ((1, 3, 40, 24), (5, 1, 24, 50)),
        ((1, 24), (3, 24, 9)),
        ((1, 40, 33), (4, 33, 20)),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_products(a, b, dtype):
    a, b = random(a, dtype), random(b, dtype, 1)
    run = Run([a, b], lambda g, x, w: g.matmul(x, w, transpose_x1=False, transpose_x2=False))
    close(run.y, expected(a, b).astype(DTYPES[dtype]), TOLERANCE[dtype])


@settings(max_examples=60, deadline=None)
@given(
    batch=st.lists(st.sampled_from([1, 2, 3]), max_size=3),
    keep=st.lists(st.booleans(), min_size=6, max_size=6),
    m=st.integers(1, 200),
    k=st.integers(1, 300),
    n=st.integers(1, 300),
    ta=st.booleans(),
    tb=st.booleans(),
    bias=st.booleans(),
    relu=st.sampled_from(["none", "relu", "leaky"]),
    dtype=st.sampled_from(["f32", "f16", "bf16"]),
    turned=st.booleans(),
)
def test_any_product(batch, keep, m, k, n, ta, tb, bias, relu, dtype, turned):
    """Broadcast batches, both transposes, bias, activations, a transposed result."""
    lead = [[d if kept else 1 for d, kept in zip(batch, keep[i * 3 :], strict=False)] for i in (0, 1)]
    a = random((*lead[0], *((k, m) if ta else (m, k))), dtype)
    b = random((*lead[1], *((n, k) if tb else (k, n))), dtype, 1)
    arrays = [a, b, *([random((n,), dtype, 2)] if bias else [])]
    want = expected(a, b, arrays[2] if bias else None, ta, tb)
    perm = [*range(want.ndim)][::-1]

    def body(g, x, w, c=None):
        y = g.matmul(x, w, c, transpose_x1=ta, transpose_x2=tb)
        if relu != "none":
            y = g.relu(y) if relu == "relu" else g.leaky_relu(y, negative_slope=0.25)
        return g.transpose(y, perm=perm) if turned else y

    if relu != "none":
        want = np.where(want < 0, want * (0 if relu == "relu" else 0.25), want)
    run = Run(arrays, body)
    close(run.y, (want.transpose(perm) if turned else want).astype(DTYPES[dtype]), TOLERANCE[dtype])


def test_cast_on_the_way_out():
    a, b = random((50, 60)), random((60, 70), seed=1)
    run = Run(
        [a, b], lambda g, x, w: g.cast(g.relu(g.matmul(x, w, transpose_x1=False, transpose_x2=False)), BY_NAME["f16"])
    )
    close(run.y, np.maximum(expected(a, b), 0).astype(np.float16), 2e-3)


def test_operands_through_strided_ops():
    """Attention: q [B, S, H, D] and k read as [B, H, S, D] and [B, H, D, S]; scores @ v stored as [B, S, H, D]."""
    q, k = random((2, 20, 3, 8)), random((2, 20, 3, 8), seed=1)

    def body(g, x, w):
        left, right = g.transpose(x, perm=[0, 2, 1, 3]), g.transpose(w, perm=[0, 2, 3, 1])
        y = g.matmul(left, right, transpose_x1=False, transpose_x2=False)
        return g.transpose(y, perm=[0, 2, 1, 3])

    run = Run([q, k], body)
    close(run.y, np.einsum("bshd,bthd->bsht", q, k), 1e-5)


def test_narrow_integers():
    rng = np.random.default_rng(0)
    a = rng.integers(-128, 128, (70, 300), np.int8)
    b = rng.integers(0, 256, (300, 50), np.uint8)
    run = Run([a, b], lambda g, x, w: g.matmul(x, w, transpose_x1=False, transpose_x2=False))
    assert (run.y == a.astype(np.int64) @ b.astype(np.int64)).all()


@pytest.mark.parametrize("tile", [[16, 16, 16], [100, 40, 8], [256, 128, 64], [3, 5, 7]])
@pytest.mark.parametrize("blocks", [1, 3, 24])
def test_any_tile(tile, blocks):
    """A kernel honours a tile it did not choose."""
    a, b, c = random((40, 30)), random((30, 45), seed=1), random((45,), seed=2)
    run = Run(
        [a, b, c],
        lambda g, x, w, v: g.matmul(x, w, v, transpose_x1=False, transpose_x2=False),
        KernelAttr.get("cube", tile, blocks),
    )
    close(run.y, expected(a, b, c).astype(np.float32), 1e-5)


def test_wrong_tile():
    fusion = group([random((8, 8))] * 2, lambda g, x, w: g.matmul(x, w, transpose_x1=False, transpose_x2=False))
    with pytest.raises(GeError) as e:
        matmul.lower(fusion, "k", KernelAttr.get("cube", [8, 8], 1), TARGET)
    assert e.value.code == "GE1402"


def test_long_sums_use_full_tiles():
    """BERT's second dense layer: at most 15 % above the fewest steps that L0 allows."""
    a, b = random((128, 3072)), random((3072, 768), seed=1)
    run = Run([a, b], lambda g, x, w: g.matmul(x, w, transpose_x1=False, transpose_x2=False))
    close(run.y, expected(a, b).astype(np.float32), 1e-5)
    assert run.attr.blocks.data == 24
    assert run.instructions < 1.15 * 3 * 24 * 3072 / 64
