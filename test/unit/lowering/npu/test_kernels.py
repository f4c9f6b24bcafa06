"""Whole kernels, hand-built, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gedialect.ir.dtypes import BF16, F16, F32, F64, I8, I32, I64, UI8, DType
from lowering.kernels.builder import Arg, Index, KernelBuilder

Run = Callable[..., None]


def _random(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    if dtype.is_float:
        return rng.standard_normal(shape).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    return rng.integers(info.min, info.max, shape, dtype.numpy, endpoint=True)


@pytest.mark.parametrize("dtype", [F32, F16, BF16, F64, I32, I64, UI8], ids=str)
def test_add_with_a_tail_over_blocks(run: Run, dtype: DType):
    n, per_block = 1000, 128
    size = n * dtype.itemsize
    k = KernelBuilder(
        "add",
        kind="vector",
        blocks=8,
        args=[Arg("x", dtype, size), Arg("y", dtype, size), Arg("z", dtype, size, "out")],
    )

    def part(at: Index, count: int) -> None:
        a = k.alloc("ub", (count,), dtype, name="a")
        b = k.alloc("ub", (count,), dtype, name="b")
        k.load(a, k.gm("x").view(at, (count,)))
        k.load(b, k.gm("y").view(at, (count,)))
        k.vadd(a, a, b)
        k.store(k.gm("z").view(at, (count,)), a)

    with k.vector():
        at = k.block_idx * per_block
        with k.once_if_less(k.block_idx, 7), k.loop(at, at + per_block, 32) as i:
            part(i, 32)
        with k.once_if_less(6, k.block_idx):
            part(at, n - 7 * per_block)
    x, y = _random((n,), dtype), _random((n,), dtype, 1)
    z = np.zeros_like(x)
    run(k.finish(), x, y, z)
    np.testing.assert_array_equal(z, x + y)


def test_softmax_of_rows(run: Run):
    rows, n = 64, 100
    k = KernelBuilder(
        "softmax", kind="vector", blocks=4, args=[Arg("x", F32, rows * n * 4), Arg("y", F32, rows * n * 4, "out")]
    )
    with k.vector(), k.loop(k.block_idx * 16, k.block_idx * 16 + 16, 4) as row:
        t = k.alloc("ub", (4, n), F32, buffers=2, name="t")
        s = k.alloc("ub", (4,), F32, name="s")
        wide = s.expand_dims(-1).broadcast((4, n))
        k.load(t, k.gm("x").tensor((rows, n)).window((row, 0), (4, n)))
        k.vreduce_max(s, t)
        k.vsub(t, t, wide)
        k.vexp(t, t)
        k.vreduce_sum(s, t)
        k.vdiv(t, t, wide)
        k.store(k.gm("y").tensor((rows, n)).window((row, 0), (4, n)), t)
    x = _random((rows, n), F32)
    y = np.zeros_like(x)
    run(k.finish(), x, y)
    e = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "acc", "out", "rtol"),
    [(F32, F32, F32, 1e-5), (F16, F32, F16, 2e-3), (BF16, F32, BF16, 1e-2), (I8, I32, I32, 0.0)],
    ids=str,
)
def test_matmul_bias_relu(run: Run, dtype: DType, acc: DType, out: DType, rtol: float):
    m, kk, n, step = 96, 200, 64, 64
    size = dtype.itemsize
    k = KernelBuilder(
        "matmul",
        kind="cube",
        blocks=3,
        args=[
            Arg("a", dtype, m * kk * size),
            Arg("b", dtype, kk * n * size),
            Arg("bias", acc, n * 4),
            Arg("c", out, m * n * out.itemsize, "out"),
        ],
    )
    with k.cube():
        bias_l1, bias = k.alloc("l1", (n,), acc), k.alloc("bt", (n,), acc)
        k.load(bias_l1, k.gm("bias").view(0, (n,)))
        k.load_bias(bias, bias_l1)
        c = k.alloc("l0c", (32, n), acc, name="c")

        def product(at: Index, count: int, init: bool, buffers: int = 1) -> None:
            a1 = k.alloc("l1", (32, count), dtype, buffers=buffers, name="a1")
            b1 = k.alloc("l1", (count, n), dtype, buffers=buffers, name="b1")
            a0 = k.alloc("l0a", (32, count), dtype, buffers=buffers, name="a0")
            b0 = k.alloc("l0b", (count, n), dtype, buffers=buffers, name="b0")
            k.load(a1, k.gm("a").tensor((m, kk)).window((k.block_idx * 32, at), (32, count)))
            k.load(b1, k.gm("b").tensor((kk, n)).window((at, 0), (count, n)))
            k.load2d(a0, a1)
            k.load2d(b0, b1)
            k.mmad(c, a0, b0, bias if init else None, init=init)

        product(0, step, True)
        with k.loop(step, 3 * step, step) as at:
            product(at, step, False, 2)
        product(3 * step, kk - 3 * step, False)
        k.fixpipe(k.gm("c").tensor((m, n)).window((k.block_idx * 32, 0), (32, n)), c, relu="relu")
    a, b = _random((m, kk), dtype), _random((kk, n), dtype, 1)
    bias = _random((n,), acc) if acc is F32 else np.arange(n, dtype=np.int32) * 100
    result = np.zeros((m, n), out.numpy)
    run(k.finish(), a, b, bias, result)
    exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
    np.testing.assert_allclose(result.astype(np.float64), exact, rtol=rtol, atol=rtol)


def test_matmul_of_transposed_operands_by_load2d(run: Run):
    m, kk, n = 32, 48, 16
    k = KernelBuilder(
        "tt",
        kind="cube",
        blocks=1,
        args=[Arg("a", F16, m * kk * 2), Arg("b", F16, kk * n * 2), Arg("c", F32, m * n * 4, "out")],
    )
    with k.cube():
        a1, b1 = k.alloc("l1", (kk, m), F16), k.alloc("l1", (n, kk), F16)
        k.load(a1, k.gm("a").view(0, (kk, m)))
        k.load(b1, k.gm("b").view(0, (n, kk)))
        a0, b0 = k.alloc("l0a", (m, kk), F16), k.alloc("l0b", (kk, n), F16)
        k.load2d(a0, a1.permute((1, 0)))
        k.load2d(b0, b1.permute((1, 0)))
        c = k.alloc("l0c", (m, n), F32)
        k.mmad(c, a0, b0, init=True)
        k.fixpipe(k.gm("c").view(0, (m, n)), c, scale=0.5, relu="leaky", slope=0.25)
    a, b = _random((kk, m), F16), _random((n, kk), F16, 1)
    result = np.zeros((m, n), np.float32)
    run(k.finish(), a, b, result)
    exact = 0.5 * (a.T.astype(np.float64) @ b.T.astype(np.float64))
    np.testing.assert_allclose(result, np.where(exact < 0, exact * 0.25, exact), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [F32, F16, I8], ids=str)
def test_conv_3x3_stride_2_by_load3d(run: Run, dtype: DType):
    h, w, ci, co, ho, wo = 14, 12, 16, 32, 7, 6
    acc = I32 if dtype is I8 else F32
    size = dtype.itemsize
    k = KernelBuilder(
        "conv",
        kind="cube",
        blocks=ho,
        args=[
            Arg("x", dtype, h * w * ci * size),
            Arg("w", dtype, 9 * ci * co * size),
            Arg("y", acc, ho * wo * co * 4, "out"),
        ],
    )
    with k.cube():
        w1, w0 = k.alloc("l1", (9 * ci, co), dtype), k.alloc("l0b", (9 * ci, co), dtype)
        k.load(w1, k.gm("w").view(0, (9 * ci, co)))
        k.load2d(w0, w1)

        def row(first: Index, count: int, top: int) -> None:
            x1 = k.alloc("l1", (count, w, ci), dtype, name="x")
            c = k.alloc("l0c", (wo, co), acc, name="c")
            k.load(x1, k.gm("x").tensor((h, w, ci)).window((first, 0, 0), (count, w, ci)))
            for taps in ((0, 5), (5, 9)):
                a0 = k.alloc("l0a", (wo, (taps[1] - taps[0]) * ci), dtype, name="a")
                k.load3d(a0, x1, kernel=(3, 3), taps=taps, out_w=wo, strides=(2, 2), pads=(top, 0, 1, 1))
                k.mmad(c, a0, w0[taps[0] * ci : taps[1] * ci], init=taps[0] == 0)
            k.fixpipe(k.gm("y").view(k.block_idx * (wo * co), (wo, co)), c)

        with k.once_if_less(k.block_idx, 1):
            row(0, 2, 1)
        with k.once_if_less(0, k.block_idx):
            row(k.block_idx * 2 - 1, 3, 0)
    x, f = _random((h, w, ci), dtype), _random((3, 3, ci, co), dtype, 1)
    y = np.zeros((ho, wo, co), acc.numpy)
    run(k.finish(), x, f, y)
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0))).astype(np.float64)
    exact = np.zeros(y.shape)
    for i in range(3):
        for j in range(3):
            exact += padded[i : i + h : 2, j : j + w : 2] @ f[i, j].astype(np.float64)
    np.testing.assert_allclose(y, exact, rtol=1e-4, atol=1e-4)


def test_load3d_with_dilation_and_a_window_of_columns(run: Run):
    h, w, c, wide, high = 6, 11, 4, 3, 2
    k = KernelBuilder(
        "cols",
        kind="cube",
        blocks=1,
        args=[
            Arg("x", F32, h * w * c * 4),
            Arg("eye", F32, (4 * c) ** 2 * 4),
            Arg("y", F32, high * wide * 4 * c * 4, "out"),
        ],
    )
    with k.cube():
        x1, e1 = k.alloc("l1", (h, w, c), F32), k.alloc("l1", (4 * c, 4 * c), F32)
        k.load(x1, k.gm("x").view(0, (h, w, c)))
        k.load(e1, k.gm("eye").view(0, (4 * c, 4 * c)))
        a0, b0 = k.alloc("l0a", (high * wide, 4 * c), F32), k.alloc("l0b", (4 * c, 4 * c), F32)
        k.load3d(
            a0,
            x1,
            kernel=(2, 2),
            taps=(0, 4),
            out_w=wide,
            strides=(3, 2),
            dilations=(2, 3),
            pads=(1, 1, 2, 2),
            h_out0=1,
            w_out0=4,
        )
        k.load2d(b0, e1)
        acc = k.alloc("l0c", (high * wide, 4 * c), F32)
        k.mmad(acc, a0, b0, init=True)
        k.fixpipe(k.gm("y").view(0, (high * wide, 4 * c)), acc)
    x = _random((h, w, c), F32)
    y = np.zeros((high, wide, 4, c), np.float32)
    run(k.finish(), x, np.eye(4 * c, dtype=np.float32), y)
    padded = np.pad(x, ((1, 4), (2, 6), (0, 0)))
    for i in range(high):
        for j in range(wide):
            for tap in range(4):
                row, column = (i + 1) * 3 + tap // 2 * 2, (j + 4) * 2 + tap % 2 * 3
                np.testing.assert_array_equal(y[i, j, tap], padded[row, column])


@pytest.mark.parametrize("index", [I32, I64], ids=str)
def test_gather_of_rows_from_global_memory(run: Run, index: DType):
    rows, width, n = 50, 24, 30
    k = KernelBuilder(
        "gather",
        kind="vector",
        blocks=3,
        args=[
            Arg("table", F16, rows * width * 2),
            Arg("index", index, n * index.itemsize),
            Arg("y", F16, n * width * 2, "out"),
        ],
    )
    with k.vector():
        i, t = k.alloc("ub", (10,), index), k.alloc("ub", (10, width), F16)
        k.load(i, k.gm("index").view(k.block_idx * 10, (10,)))
        k.gather_rows(t, k.gm("table").view(0, (rows, width)), i)
        k.store(k.gm("y").view(k.block_idx * (10 * width), (10, width)), t)
    table = _random((rows, width), F16)
    indices = np.random.default_rng(2).integers(-rows, rows, n).astype(index.numpy)
    y = np.zeros((n, width), np.float16)
    run(k.finish(), table, indices, y)
    np.testing.assert_array_equal(y, table[indices])


def test_scatter_of_rows_adds(run: Run):
    k = KernelBuilder(
        "scatter", kind="vector", blocks=1, args=[Arg("y", F32, 80, "inout"), Arg("u", F32, 48), Arg("i", I64, 24)]
    )
    with k.vector():
        u, i = k.alloc("ub", (3, 4), F32), k.alloc("ub", (3,), I64)
        k.load(u, k.gm("u").view(0, (3, 4)))
        k.load(i, k.gm("i").view(0, (3,)))
        k.scatter_rows(k.gm("y").view(0, (5, 4)), u, i, mode="add")
    y, u = _random((5, 4), F32), _random((3, 4), F32, 1)
    expected = y.copy()
    expected[1] += u[0] + u[2]
    expected[4] += u[1]
    run(k.finish(), y, u, np.array([1, -1, 1], np.int64))
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_transpose_in_the_unified_buffer(run: Run):
    k = KernelBuilder(
        "t", kind="vector", blocks=1, args=[Arg("x", F32, 2 * 30 * 20 * 4), Arg("y", F32, 2 * 30 * 20 * 4, "out")]
    )
    with k.vector():
        a, b = k.alloc("ub", (2, 30, 20), F32), k.alloc("ub", (20, 2, 30), F32)
        k.load(a, k.gm("x").view(0, (2, 30, 20)))
        k.vcopy(b, a.permute((2, 0, 1)))
        k.store(k.gm("y").view(0, (20, 2, 30)), b)
    x = _random((2, 30, 20), F32)
    y = np.zeros((20, 2, 30), np.float32)
    run(k.finish(), x, y)
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))


def test_mix_kernel_hands_tiles_over_a_ring(run: Run):
    """Cube writes tiles of a @ b to a ring of two slots; its two vectors add 1 to half a tile each."""
    m, kk, n, tiles = 32, 16, 64, 5
    k = KernelBuilder(
        "mix",
        kind="mix",
        blocks=2,
        args=[
            Arg("a", F32, 2 * tiles * m * kk * 4),
            Arg("b", F32, kk * n * 4),
            Arg("ring", F32, 2 * 2 * m * n * 4, "workspace"),
            Arg("y", F32, 2 * tiles * m * n * 4, "out"),
        ],
    )
    full, free = (0, 1), (2, 3)
    with k.cube():
        b1, b0 = k.alloc("l1", (kk, n), F32), k.alloc("l0b", (kk, n), F32)
        k.load(b1, k.gm("b").view(0, (kk, n)))
        k.load2d(b0, b1)
        for t in range(tiles):
            a1, a0, c = k.alloc("l1", (m, kk), F32), k.alloc("l0a", (m, kk), F32), k.alloc("l0c", (m, n), F32)
            k.load(a1, k.gm("a").view((k.block_idx * tiles + t) * (m * kk), (m, kk)))
            k.load2d(a0, a1)
            k.mmad(c, a0, b0, init=True)
            if t >= 2:
                k.cross_core_wait(free[t % 2], "FIX")
            k.fixpipe(k.gm("ring").view((k.block_idx * 2 + t % 2) * (m * n), (m, n)), c)
            k.cross_core_set(full[t % 2], "FIX")
    with k.vector():
        half = m // 2
        for t in range(tiles):
            v = k.alloc("ub", (half, n), F32)
            k.cross_core_wait(full[t % 2], "MTE2")
            at = (k.block_idx * 2 + t % 2) * (m * n) + k.sub_block_idx * (half * n)
            k.load(v, k.gm("ring").view(at, (half, n)))
            if t + 2 < tiles:
                k.cross_core_set(free[t % 2], "MTE2")
            k.vadds(v, v, 1.0)
            k.store(k.gm("y").view((k.block_idx * tiles + t) * (m * n) + k.sub_block_idx * (half * n), (half, n)), v)
    a, b = _random((2 * tiles * m, kk), F32), _random((kk, n), F32, 1)
    ring, y = np.zeros((2, 2, m, n), np.float32), np.zeros((2 * tiles * m, n), np.float32)
    run(k.finish(), a, b, ring, y)
    np.testing.assert_allclose(y, a @ b + 1, rtol=1e-5, atol=1e-5)
