"""Each vector instruction against numpy, in several element types."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gedialect.binary.isa import INSTRS, Pipe
from gedialect.ir.dtypes import BF16, BY_NAME, F16, F32, F64, I1, I8, I16, I32, I64, UI8, UI16, UI64, DType
from lowering.kernels.builder import Arg, KernelBuilder, TileRef

Array = npt.NDArray[Any]
Run = Callable[..., None]
SHAPE = (3, 16)


def data(dtype: DType, seed: int, *, positive: bool = False, small: bool = False) -> Array:
    rng = np.random.default_rng(seed)
    if dtype is I1:
        return rng.integers(0, 2, SHAPE).astype(bool)
    if dtype.is_float:
        x = rng.standard_normal(SHAPE) * 3
        return (np.abs(x) + 0.1 if positive else x).astype(dtype.numpy)
    info = np.iinfo(dtype.numpy)
    low, high = (0 if positive or info.min == 0 else -9, 9) if small else (info.min, info.max)
    return rng.integers(low, high, SHAPE, dtype.numpy, endpoint=True)


def compute(
    run: Run,
    code: Callable[[KernelBuilder, TileRef, list[TileRef]], None],
    inputs: list[tuple[Array, DType]],
    out: DType,
    shape: tuple[int, ...] = SHAPE,
) -> Array:
    """Load the inputs, run ``code`` on them, store its result."""
    args = [Arg(f"x{i}", t, a.size * t.itemsize) for i, (a, t) in enumerate(inputs)]
    n = math.prod(shape)
    k = KernelBuilder("one", kind="vector", blocks=1, args=[*args, Arg("y", out, n * out.itemsize, "out")])
    with k.vector():
        tiles: list[TileRef] = []
        for i, (a, t) in enumerate(inputs):
            tiles.append(k.alloc("ub", a.shape, t))
            k.load(tiles[-1], k.gm(f"x{i}").view(0, a.shape))
        y = k.alloc("ub", shape, out)
        code(k, y, tiles)
        k.store(k.gm("y").view(0, shape), y)
    result = np.zeros(shape, out.numpy)
    run(k.finish(), *(a for a, _ in inputs), result)
    return result


def check(result: Array, expected: Array) -> None:
    assert result.dtype == expected.dtype
    if result.dtype.kind in "iub":
        np.testing.assert_array_equal(result, expected)
        return
    tolerance = {2: 5e-3 if result.dtype == np.float16 else 2e-2, 4: 2e-6, 8: 1e-14}[result.dtype.itemsize]
    wide = result.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


ANY = [F32, F16, BF16, F64, I8, I16, I32, I64, UI8, UI16, UI64]
FLOATS = [F32, F16, BF16, F64]
INTS = [I8, I16, I32, I64, UI8, UI16, UI64]

BINARY: list[tuple[str, list[DType], Callable[[Array, Array], Array]]] = [
    ("vadd", ANY, lambda a, b: a + b),
    ("vsub", ANY, lambda a, b: a - b),
    ("vmul", ANY, lambda a, b: a * b),
    ("vdiv", FLOATS, lambda a, b: a / b),
    ("vmax", [*ANY, I1], lambda a, b: np.where(a > b, a, b)),
    ("vmin", [*ANY, I1], lambda a, b: np.where(a < b, a, b)),
    ("vand", [*INTS, I1], lambda a, b: a & b),
    ("vor", [*INTS, I1], lambda a, b: a | b),
    ("vxor", [*INTS, I1], lambda a, b: a ^ b),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [(n, t, f) for n, types, f in BINARY for t in types],
    ids=lambda v: str(v) if isinstance(v, str | DType) else "",
)
def test_binary(run: Run, name: str, dtype: DType, expected: Callable[[Array, Array], Array]):
    a, b = data(dtype, 1), data(dtype, 2)
    result = compute(run, lambda k, y, x: getattr(k, name)(y, *x), [(a, dtype), (b, dtype)], dtype)
    check(result, expected(a, b))


UNARY: list[tuple[str, list[DType], bool, Callable[[Array], Array]]] = [
    ("vabs", ANY, False, lambda a: np.where(a < 0, -a, a)),
    ("vneg", ANY, False, lambda a: a * a.dtype.type(-1) if a.dtype.kind != "u" else np.negative(a)),
    ("vexp", FLOATS, False, lambda a: np.vectorize(math.exp)(a.astype(float))),
    ("vln", FLOATS, True, lambda a: np.vectorize(math.log)(a.astype(float))),
    ("vsqrt", FLOATS, True, lambda a: a.astype(float) ** 0.5),
    ("vrsqrt", FLOATS, True, lambda a: a.astype(float) ** -0.5),
    ("vrec", FLOATS, True, lambda a: 1 / a.astype(float)),
    ("vrelu", ANY, False, lambda a: np.where(a > 0, a, a.dtype.type(0))),
    ("vnot", [*INTS, I1], False, lambda a: ~a),
    ("vfloor", FLOATS, False, lambda a: a.astype(float) // 1),
    ("vceil", FLOATS, False, lambda a: -(-a.astype(float) // 1)),
    ("vrint", FLOATS, False, lambda a: np.vectorize(round)(a.astype(float))),
    ("vtrunc", FLOATS, False, lambda a: np.vectorize(int)(a.astype(float))),
    ("vsin", FLOATS, False, lambda a: np.vectorize(math.sin)(a.astype(float))),
    ("vcos", FLOATS, False, lambda a: np.vectorize(math.cos)(a.astype(float))),
    ("vsign", ANY, False, lambda a: (a > 0) * 1 - (a < 0) * 1),
    ("vcopy", [*ANY, I1], False, lambda a: a),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dtype", "positive", "expected"),
    [(n, t, p, f) for n, types, p, f in UNARY for t in types],
    ids=lambda v: str(v) if isinstance(v, str | DType) else "",
)
def test_unary(run: Run, name: str, dtype: DType, positive: bool, expected: Callable[[Array], Array]):
    a = data(dtype, 1, positive=positive)
    result = compute(run, lambda k, y, x: getattr(k, name)(y, *x), [(a, dtype)], dtype)
    check(result, expected(a).astype(dtype.numpy))


def test_maximum_and_relu_keep_nan(run: Run):
    a = np.array([[np.nan, 1.0, -1.0, 2.0]], np.float32)
    b = np.array([[0.0, np.nan, -2.0, 3.0]], np.float32)
    both = [(a, F32), (b, F32)]
    result = compute(run, lambda k, y, x: k.vmax(y, *x), both, F32, (1, 4))
    np.testing.assert_array_equal(result, [[np.nan, np.nan, -1, 3]])
    result = compute(run, lambda k, y, x: k.vmin(y, *x), both, F32, (1, 4))
    np.testing.assert_array_equal(result, [[np.nan, np.nan, -2, 2]])
    result = compute(run, lambda k, y, x: k.vrelu(y, *x), [(a, F32)], F32, (1, 4))
    np.testing.assert_array_equal(result, [[np.nan, 1, 0, 2]])
    result = compute(run, lambda k, y, x: k.vreduce_max(y, *x), [(a, F32)], F32, (1,))
    assert np.isnan(result).all()


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32, I64, UI8], ids=str)
def test_scalar_forms(run: Run, dtype: DType):
    a = data(dtype, 3, small=True)
    x = [(a, dtype)]
    s = 3 if dtype.is_int else 2.5
    t = dtype.numpy.type
    with np.errstate(all="ignore"):
        check(compute(run, lambda k, y, x: k.vadds(y, x[0], s), x, dtype), a + t(s))
        check(compute(run, lambda k, y, x: k.vmuls(y, x[0], s), x, dtype), a * t(s))
        check(compute(run, lambda k, y, x: k.vsubs(y, x[0], s), x, dtype), a - t(s))
        check(compute(run, lambda k, y, x: k.vsubs(y, x[0], s, reverse=True), x, dtype), t(s) - a)
        check(compute(run, lambda k, y, x: k.vmaxs(y, x[0], s), x, dtype), np.where(a > t(s), a, t(s)))
        check(compute(run, lambda k, y, x: k.vmins(y, x[0], s), x, dtype), np.where(a < t(s), a, t(s)))
        check(compute(run, lambda k, y, x: k.vdup(y, s), x, dtype), np.full(SHAPE, s, dtype.numpy))
        if dtype.is_float:
            check(compute(run, lambda k, y, x: k.vdivs(y, x[0], s, reverse=True), x, dtype), t(s) / a)
            check(compute(run, lambda k, y, x: k.vlrelu(y, x[0], 0.25), x, dtype), np.where(a < 0, a * t(0.25), a))


def test_wide_scalars_are_exact(run: Run):
    a = data(I64, 3)
    big = (1 << 62) + 1
    check(compute(run, lambda k, y, x: k.vadds(y, x[0], -big), [(a, I64)], I64), a - np.int64(big))
    top = (1 << 64) - 1
    check(compute(run, lambda k, y, x: k.vdup(y, top), [(data(UI64, 1), UI64)], UI64), np.full(SHAPE, top, np.uint64))


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32, I64, UI8, I1], ids=str)
@pytest.mark.parametrize("mode", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare_and_select(run: Run, dtype: DType, mode: str):
    a, b = data(dtype, 1, small=True), data(dtype, 2, small=True)
    b[0] = a[0]
    want = getattr(a, f"__{mode}__")(b)
    both = [(a, dtype), (b, dtype)]
    check(compute(run, lambda k, y, x: k.vcmp(y, x[0], x[1], mode), both, I1), want)
    scalar = a.reshape(-1)[5].item()
    result = compute(run, lambda k, y, x: k.vcmps(y, x[0], mode, scalar), [(a, dtype)], I1)
    check(result, getattr(a, f"__{mode}__")(a.reshape(-1)[5]))

    def chosen(k: KernelBuilder, y: TileRef, x: list[TileRef]) -> None:
        c = k.alloc("ub", SHAPE, I1)
        k.vcmp(c, x[0], x[1], mode)
        k.vsel(y, c, x[0], x[1])

    check(compute(run, chosen, both, dtype), np.where(want, a, b))


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_division_and_shifts(run: Run, dtype: DType):
    a, b = data(dtype, 1), data(dtype, 2, small=True)
    both = [(a, dtype), (b, dtype)]
    quotients = np.empty(SHAPE, dtype.numpy)
    remainders, floors, modulos = quotients.copy(), quotients.copy(), quotients.copy()
    for i, (p, q) in enumerate(zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True)):
        t = 0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
        f = 0 if q == 0 else p // q
        values = (t, 0 if q == 0 else p - t * q, f, 0 if q == 0 else p % q)
        for target, v in zip((quotients, remainders, floors, modulos), values, strict=True):
            target.reshape(-1)[i : i + 1] = np.array([v]).astype(dtype.numpy)  # -128 / -1 wraps
    check(compute(run, lambda k, y, x: k.vidiv(y, *x), both, dtype), quotients)
    check(compute(run, lambda k, y, x: k.vmod(y, *x), both, dtype), remainders)
    check(compute(run, lambda k, y, x: k.vidiv(y, *x, mode="floor"), both, dtype), floors)
    check(compute(run, lambda k, y, x: k.vmod(y, *x, mode="floor"), both, dtype), modulos)
    shift = data(dtype, 4, small=True, positive=True)
    bits = dtype.itemsize * 8
    right = [v >> s for v, s in zip(a.reshape(-1).tolist(), shift.reshape(-1).tolist(), strict=True)]
    left = [(v << s) % (1 << bits) for v, s in zip(a.reshape(-1).tolist(), shift.reshape(-1).tolist(), strict=True)]
    both = [(a, dtype), (shift, dtype)]
    unsigned = np.array(left, f"uint{bits}").reshape(SHAPE).view(dtype.numpy)
    check(compute(run, lambda k, y, x: k.vshl(y, *x), both, dtype), unsigned)
    check(compute(run, lambda k, y, x: k.vshr(y, *x), both, dtype), np.array(right, dtype.numpy).reshape(SHAPE))


def test_power(run: Run):
    a, b = data(F32, 1, positive=True), data(F32, 2)
    result = compute(run, lambda k, y, x: k.vpow(y, *x), [(a, F32), (b, F32)], F32)
    np.testing.assert_allclose(result, np.exp(b.astype(float) * np.log(a.astype(float))), rtol=1e-5)
    p, q = data(I32, 1, small=True), data(I32, 2, small=True)
    q.reshape(-1)[:3] = (-1, -2, 3)
    p.reshape(-1)[:3] = (-1, 1, 0)
    result = compute(run, lambda k, y, x: k.vpow(y, *x), [(p, I32), (q, I32)], I32)

    def exact(base: int, e: int) -> int:
        if e >= 0:
            return (base**e + (1 << 31)) % (1 << 32) - (1 << 31)
        return {1: 1, -1: -1 if e % 2 else 1}.get(base, 0)

    pairs = zip(p.reshape(-1).tolist(), q.reshape(-1).tolist(), strict=True)
    assert result.reshape(-1).tolist() == [exact(v, e) for v, e in pairs]


@pytest.mark.parametrize(
    ("src", "dst", "mode", "saturate", "values", "expected"),
    [
        (F32, I32, "rint", False, [0.5, 1.5, -2.5, 3.7], [0, 2, -2, 4]),
        (F32, I32, "trunc", False, [0.5, 1.5, -2.5, -3.7], [0, 1, -2, -3]),
        (F32, I32, "floor", False, [0.5, -0.5, -2.5, 3.7], [0, -1, -3, 3]),
        (F32, I32, "ceil", False, [0.5, -0.5, -2.5, 3.2], [1, 0, -2, 4]),
        (F32, I32, "round", False, [0.5, -0.5, 2.5, 0.49999997], [1, -1, 3, 0]),
        (F32, I8, "rint", True, [300.0, -300.0, 127.5, np.nan], [127, -128, 127, 0]),
        (F32, UI8, "rint", True, [300.0, -3.0, np.inf, 7.5], [255, 0, 255, 8]),
        (F32, I32, "trunc", True, [3e9, -3e9, np.inf, 5.0], [2**31 - 1, -(2**31), 2**31 - 1, 5]),
        (F32, I64, "trunc", True, [1e30, -1e30, 1.0, -1.9], [2**63 - 1, -(2**63), 1, -1]),
        (F16, I8, "trunc", False, [1.5, -1.5, 100.0, 0.0], [1, -1, 100, 0]),
        (BF16, I32, "trunc", False, [1.5, -1.5, 100.0, 0.0], [1, -1, 100, 0]),
        (I32, I8, "trunc", False, [300, -1, 128, 5], [44, -1, -128, 5]),
        (I32, UI8, "trunc", True, [300, -1, 128, 5], [255, 0, 128, 5]),
        (I64, F32, "trunc", False, [2**40, -3, 0, 1], [2.0**40, -3.0, 0.0, 1.0]),
        (F32, F16, "trunc", False, [1e6, 0.1, -1e6, 2049.0], [np.inf, 0.1, -np.inf, 2048.0]),
        (F32, BF16, "trunc", False, [1.0, 257.0, 3.0, 0.0], [1.0, 256.0, 3.0, 0.0]),
        (F32, I1, "trunc", False, [0.0, -0.0, 0.1, np.nan], [False, False, True, True]),
        (I1, F16, "trunc", False, [True, False, True, True], [1.0, 0.0, 1.0, 1.0]),
        (I1, I64, "trunc", False, [True, False, True, True], [1, 0, 1, 1]),
    ],
)
def test_cast(run: Run, src: DType, dst: DType, mode: str, saturate: bool, values: list[Any], expected: list[Any]):
    a = np.array(values).astype(src.numpy)
    code = lambda k, y, x: k.vcast(y, x[0], round=mode, saturate=saturate)  # noqa: E731
    result = compute(run, code, [(a, src)], dst, (4,))
    np.testing.assert_array_equal(result.astype(object), np.array(expected).astype(dst.numpy).astype(object))


@pytest.mark.parametrize("dtype", [F32, F16, BF16, I32, I64, UI8], ids=str)
def test_reductions(run: Run, dtype: DType):
    a = data(dtype, 1, small=True)
    wide = a.astype(np.float64)
    out = SHAPE[:1]
    x = [(a, dtype)]
    half = dtype in (F16, BF16)
    exact = wide.sum(-1).astype(dtype.numpy)
    total = compute(run, lambda k, y, x: k.vreduce_sum(y, *x), x, dtype, out)
    if half:
        np.testing.assert_array_equal(total, exact)  # one rounding
    else:
        check(total, exact)
    check(compute(run, lambda k, y, x: k.vreduce_max(y, *x), x, dtype, out), wide.max(-1).astype(dtype.numpy))
    check(compute(run, lambda k, y, x: k.vreduce_min(y, *x), x, dtype, out), wide.min(-1).astype(dtype.numpy))

    def twice(k: KernelBuilder, y: TileRef, x: list[TileRef]) -> None:
        k.vreduce_sum(y, x[0][:, :5])
        k.vreduce_sum(y, x[0][:, 5:], accumulate=True)

    check(compute(run, twice, x, dtype, out), exact)
    over_rows = compute(run, lambda k, y, x: k.vreduce_max(y, x[0].permute((1, 0))), x, dtype, SHAPE[1:])
    check(over_rows, wide.max(0).astype(dtype.numpy))


def test_product_any_all(run: Run):
    a, b = data(I32, 1, small=True), data(I1, 2)
    b[1] = True
    b[2] = False
    prod = compute(run, lambda k, y, x: k.vreduce_prod(y, *x), [(a, I32)], I32, SHAPE[:1])
    wraps = [(math.prod(row) + (1 << 31)) % (1 << 32) - (1 << 31) for row in a.tolist()]
    assert prod.tolist() == wraps
    found = compute(run, lambda k, y, x: k.vreduce_any(y, *x), [(b, I1)], I1, SHAPE[:1])
    assert found.tolist() == [True, True, False]
    found = compute(run, lambda k, y, x: k.vreduce_all(y, *x), [(b, I1)], I1, SHAPE[:1])
    assert found.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [F32, BF16, I32], ids=str)
@pytest.mark.parametrize("index", [I32, I64], ids=str)
def test_positions(run: Run, dtype: DType, index: DType):
    a = np.array([[3, 1, 3, 1, 2], [0, 0, 0, 0, 0]]).astype(dtype.numpy)
    x = [(a, dtype)]
    assert compute(run, lambda k, y, x: k.vargmax(y, *x), x, index, (2,)).tolist() == [0, 0]
    assert compute(run, lambda k, y, x: k.vargmax(y, *x, last=True), x, index, (2,)).tolist() == [2, 4]
    assert compute(run, lambda k, y, x: k.vargmin(y, *x), x, index, (2,)).tolist() == [1, 0]
    assert compute(run, lambda k, y, x: k.vargmin(y, *x, last=True), x, index, (2,)).tolist() == [3, 4]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [F32, BF16, I32], ids=str)
def test_sort_is_stable(run: Run, descending: bool, dtype: DType):
    a = data(I32, 7, small=True).astype(dtype.numpy)

    def code(k: KernelBuilder, y: TileRef, x: list[TileRef]) -> None:
        k.vsort(k.alloc("ub", SHAPE, dtype), y, x[0], descending=descending)

    order = compute(run, code, [(a, dtype)], I64)
    for row, got in zip(a.tolist(), order.tolist(), strict=True):
        sign = -1 if descending else 1
        assert got == sorted(range(len(row)), key=lambda i: (sign * row[i], i))


def test_running_sums(run: Run):
    a = data(I32, 1, small=True)
    for exclusive in (False, True):
        for reverse in (False, True):
            code = lambda k, y, x: k.vcumsum(y, *x, exclusive=exclusive, reverse=reverse)  # noqa: E731
            result = compute(run, code, [(a, I32)], I32)
            for row, got in zip(a.tolist(), result.tolist(), strict=True):
                n = len(row)
                for i in range(n):
                    parts = row[i + exclusive :] if reverse else row[: i + 1 - exclusive]
                    assert got[i] == sum(parts)


def test_ranges(run: Run):
    dummy = [(data(I64, 1), I64)]
    result = compute(run, lambda k, y, x: k.varange(y, start=5, step=-2, axis=0), dummy, I64)
    assert result.tolist() == [[5 - 2 * i] * SHAPE[1] for i in range(SHAPE[0])]
    result = compute(run, lambda k, y, x: k.varange(y, start=0.5, step=0.25), dummy, F32)
    assert result.tolist() == [[0.5 + 0.25 * i for i in range(SHAPE[1])]] * SHAPE[0]


def test_gathers_in_the_unified_buffer(run: Run):
    table = data(F32, 1)
    rows = np.array([2, 0, -1, 1], np.int64)
    result = compute(run, lambda k, y, x: k.vgather(y, *x), [(table, F32), (rows, I64)], F32, (4, SHAPE[1]))
    np.testing.assert_array_equal(result, table[rows])
    places = np.random.default_rng(1).integers(0, SHAPE[1], (SHAPE[0], 5)).astype(np.int32)
    result = compute(run, lambda k, y, x: k.vgather_elems(y, *x), [(table, F32), (places, I32)], F32, (SHAPE[0], 5))
    np.testing.assert_array_equal(result, np.take_along_axis(table, places, -1))


def test_broadcast_operands_and_reinterpreted_bytes(run: Run):
    a, b = data(F32, 1), data(F32, 2)[0]
    code = lambda k, y, x: k.vadd(y, x[0], x[1].broadcast(SHAPE))  # noqa: E731
    check(compute(run, code, [(a, F32), (b, F32)], F32), a + b)
    bits = compute(run, lambda k, y, x: k.vcopy(y, x[0].view(0, SHAPE, dtype=I32)), [(a, F32)], I32)
    np.testing.assert_array_equal(bits, a.view(np.int32))


def test_every_vector_instruction_is_tried_here():
    text = Path(__file__).read_text(encoding="utf-8")
    missing = [i.name for i in INSTRS if i.pipe is Pipe.V and f".{i.name}(" not in text and f'"{i.name}"' not in text]
    assert missing == []


def test_the_table_knows_every_element_type():
    for instr in INSTRS:
        for name in (*instr.hw, *instr.ours, *(t for c in (*instr.combos, *instr.ours_combos) for t in c)):
            assert name in BY_NAME
