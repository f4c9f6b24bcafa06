"""What folding computes: the same bits on every machine, in each op's own type, and never what differs by run."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from gedialect.dialects.ge import GE, op_class
from gedialect.dialects.ge import reproducible as fold
from gedialect.dialects.ge.base import Attrs
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.interpreter import run
from gedialect.ir import dtypes
from gedialect.ir.context import GeContext
from gedialect.ir.spec import Spec, spec_of
from gedialect.ir.weights import read_constant
from gedialect.testing.agree import parse
from gedialect.transforms.fold_constants import FoldConstants


def folded(body: str, result: str, type_: str) -> np.ndarray:
    """The constant that the function returns after folding; it must be one."""
    module = parse(f"func.func @main() -> {type_} {{\n{body}\nfunc.return {result} : {type_}\n}}")
    FoldConstants().apply(GeContext(), module)
    (value,) = next(op for op in module.walk() if isinstance(op, ReturnOp)).operands
    assert isinstance(value.owner, ConstantOp)
    return read_constant(value.owner.value, spec_of(value.type))


def bits(array: np.ndarray) -> list[str]:
    return [float(v).hex() for v in np.asarray(array).reshape(-1)]


# ---------------------------------------------------------------- products
def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in rational numbers, rounded twice (f64, f32)."""
    rows = [[sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(r, c, strict=True)) for c in b.T] for r in a]
    return np.array([[float(v) for v in r] for r in rows]).astype(a.dtype)


@pytest.mark.parametrize("spread", [0, 8, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_sums_without_rounding(spread: int, dtype: type):
    rng = np.random.default_rng(spread)

    def random(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) * 10.0 ** rng.integers(-spread, spread // 2 + 1, shape)).astype(dtype)

    a, b = random(6, 40), random(40, 5)
    with fold.reproducible():
        got = fold.matmul(a, b)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact(a, b), rtol=2e-7 if dtype is np.float32 else 4e-16)
        if dtype is np.float32:
            np.testing.assert_array_equal(got, exact(a, b))


@pytest.mark.parametrize("k", [3, 100, 700])
def test_products_do_not_depend_on_the_order_of_adding(k: int):
    """What BLAS does differently from machine to machine is the order."""
    rng = np.random.default_rng(k)
    a, b = rng.normal(size=(40, k)).astype(np.float32), rng.normal(size=(k, 50)).astype(np.float32)
    c = rng.normal(size=(2, k, 5)).astype(np.float32)
    differ = 0
    with fold.reproducible():
        for seed in range(4):
            p = np.random.default_rng(seed).permutation(k)
            left, right = np.ascontiguousarray(a[:, p]), np.ascontiguousarray(b[p])
            assert np.array_equal(fold.matmul(left, right), fold.matmul(a, b))
            assert np.array_equal(fold.matmul(left, c[:, p]), fold.matmul(a, c))
            assert np.array_equal(fold.matmul(left, c[0, p, 0]), fold.matmul(a, c[0, :, 0]))
            assert np.array_equal(fold.einsum("mk,kn->nm", [left, right]), fold.matmul(a, b).T)
            assert np.array_equal(fold.einsum("mk->m", [left]), fold.einsum("mk->m", [a]))
            differ += not np.array_equal(np.matmul(left, right), np.matmul(a, b))
    assert differ or k < 100  # numpy's own product does depend on it


def test_complex_products():
    rng = np.random.default_rng(0)
    a, b = ((rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))).astype(np.complex64) for _ in range(2))
    with fold.reproducible():
        np.testing.assert_allclose(fold.matmul(a, b), a @ b, rtol=1e-5)
        np.testing.assert_allclose(fold.einsum("ij,jk->ik", [a, b]), a @ b, rtol=1e-5)
        np.testing.assert_allclose(fold.einsum("ij->i", [a]), a.sum(1), rtol=1e-5)
        np.testing.assert_allclose(fold.einsum("ij,jk,kl->il", [a, b, a]), a @ b @ a, rtol=1e-4)


def test_products_of_special_values():
    inf, nan = np.inf, np.nan
    a = np.array([[1, 2], [inf, 1], [nan, 1], [inf, -inf], [0, 0], [3e38, 3e38]], np.float32)
    b = np.array([[1, 0, -1], [1, 2, 3e-45]], np.float32)
    with np.errstate(all="ignore"), fold.reproducible():
        np.testing.assert_array_equal(fold.matmul(a, b), np.matmul(a, b))
        zero = fold.matmul(np.array([[-0.0]], np.float32), np.array([[1.0]], np.float32))
    assert not np.signbit(zero).any()  # BLAS libraries do not agree on it
    empty = np.zeros((2, 0), np.float32)
    with fold.reproducible():
        np.testing.assert_array_equal(fold.matmul(empty, empty.T), np.zeros((2, 2), np.float32))


def test_narrow_integers_are_exact_as_they_are():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-(1 << 15), 1 << 15, (8, 3000)).astype(np.int16) for _ in range(2))
    from gedialect.dialects.ge.convolve import matmul

    want = (a.astype(object) @ b.T.astype(object) % (1 << 32)).astype(np.int64).astype(np.uint32).view(np.int32)
    np.testing.assert_array_equal(matmul(a, b.T, None), want)


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_product_of_weights_in_the_file_is_without_blas(level: str):
    """What is evaluated when the OM is written, too: no sum of its products is rounded."""
    from gedialect.api import Settings, compile_module
    from gedialect.dialects.ge.literals import attribute_of

    rng = np.random.default_rng(1)
    w1, w2 = rng.normal(size=(48, 300)).astype(np.float32), rng.normal(size=(300, 40)).astype(np.float32)
    text = """func.func @main(%x: tensor<48x40xf32> {ge.name = "x"}) -> (tensor<48x40xf32> {ge.name = "y"}) {
      %a = ge.constant #ge.splat<0.0> : tensor<48x300xf32>
      %b = ge.constant #ge.splat<0.0> : tensor<300x40xf32>
      %w = ge.matmul(%a, %b) {transpose_x1 = false, transpose_x2 = false}
        : (tensor<48x300xf32>, tensor<300x40xf32>) -> tensor<48x40xf32>
      %y = ge.sub(%w, %x) : (tensor<48x40xf32>, tensor<48x40xf32>) -> tensor<48x40xf32>
      func.return %y : tensor<48x40xf32>
    }"""
    module = parse(text)
    for op, array in zip([o for o in module.walk() if isinstance(o, ConstantOp)], (w1, w2), strict=True):
        op.value = attribute_of(array)[0]
    got = compile_module(module, Settings(level)).run({"x": np.zeros((48, 40), np.float32)})["y"]
    np.testing.assert_array_equal(got, exact(w1, w2))


# ---------------------------------------------------------------- functions
SAMPLES = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt, "log1p": np.log1p, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "atan": np.arctan,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", [n for n in SAMPLES if any(c.name == f"ge.{n}" for c in GE.operations)])
def test_functions_are_computed_in_f64_and_rounded_once(name: str, dtype: type):
    x = np.random.default_rng(0).uniform(0.1, 5, 500).astype(dtype)
    cls = op_class(name)
    spec = Spec(dtypes.from_numpy(np.dtype(dtype)), x.shape)
    with fold.reproducible():
        got = fold.as_result(cls.evaluate(Attrs({}, [spec]), x), spec)
    want = SAMPLES[name](x.astype(np.longdouble)).astype(np.float64).astype(dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


def test_every_function_that_keeps_its_type_is_known():
    """What is not said to be the same everywhere is computed in f64: a new function is on the safe side."""
    from gedialect.dialects.ge.numeric import SAME_EVERYWHERE

    assert all(hasattr(np, name) for name in SAME_EVERYWHERE)
    assert not SAME_EVERYWHERE & {"exp", "log", "power", "tanh", "sin", "cos", "exp2", "log2", "expm1", "log1p"}


# ---------------------------------------------------------------- types
def test_a_chain_of_f16_is_rounded_at_every_step():
    """2048 + 1 is 2048 in f16, and 65504 * 2 is infinity, whatever comes after."""
    body = """
      %a = ge.constant dense<[2048.0, 65504.0]> : tensor<2xf16>
      %b = ge.constant dense<[1.0, 65504.0]> : tensor<2xf16>
      %c = ge.add(%a, %b) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
      %d = ge.add(%c, %b) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
      %e = ge.sub(%d, %a) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>"""
    np.testing.assert_array_equal(folded(body, "%e", "tensor<2xf16>"), np.array([0, np.inf], np.float16))


def test_an_f16_product_is_rounded_once():
    body = """
      %a = ge.constant dense<[[2048.0, 1.0, 1.0]]> : tensor<1x3xf16>
      %b = ge.constant dense<[[1.0], [1.0], [1.0]]> : tensor<3x1xf16>
      %c = ge.matmul(%a, %b) {transpose_x1 = false, transpose_x2 = false}
        : (tensor<1x3xf16>, tensor<3x1xf16>) -> tensor<1x1xf16>"""
    assert folded(body, "%c", "tensor<1x1xf16>").item() == 2050


@pytest.mark.parametrize(
    ("op", "attrs", "a", "b", "want"),
    [
        ("div", "", [7, -7, 7, -7, (1 << 62) + 1], [2, 2, -2, -2, 1], [3, -3, -3, 3, (1 << 62) + 1]),
        ("add", "", [(1 << 63) - 1, 5], [1, 6], [-(1 << 63), 11]),
        ("mul", "", [(1 << 53) + 1, 3], [3, -3], [3 * ((1 << 53) + 1), -9]),
        ("mod", "{fmod = false}", [7, -7, 7, -7, (1 << 62) + 1], [3, 3, -3, -3, 1 << 61], [1, 2, -2, -1, 1]),
        ("mod", "{fmod = true}", [7, -7, 7, -7, (1 << 62) + 1], [3, 3, -3, -3, 1 << 61], [1, -1, 1, -1, 1]),
    ],
)
def test_i64_is_exact(op: str, attrs: str, a: list[int], b: list[int], want: list[int]):
    t = f"tensor<{len(a)}xi64>"
    body = f"%a = ge.constant dense<{a}> : {t}\n%b = ge.constant dense<{b}> : {t}\n"
    assert folded(body + f"%c = ge.{op}(%a, %b) {attrs} : ({t}, {t}) -> {t}", "%c", t).tolist() == want


def test_division_of_integers_by_zero_is_left_to_the_run():
    t = "tensor<2xi64>"
    module = parse(
        f"func.func @main() -> {t} {{\n%a = ge.constant dense<[1, 2]> : {t}\n%b = ge.constant dense<[1, 0]> : {t}\n"
        f"%c = ge.div(%a, %b) : ({t}, {t}) -> {t}\nfunc.return %c : {t}\n}}"
    )
    before = run(module, [])
    FoldConstants().apply(GeContext(), module)
    np.testing.assert_array_equal(run(module, [])["result0"], before["result0"])


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_special_values_keep_their_bits(dtype: str):
    t = f"tensor<6x{dtype}>"
    size = {"f32": 4, "f16": 2, "bf16": 2}[dtype]
    number = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], number)
    raw = values.tobytes().hex().upper()
    assert len(raw) == 12 * size
    body = f'%a = ge.constant dense<"0x{raw}"> : {t}\n'
    with np.errstate(all="ignore"):
        for op, want in (
            ("neg", -values), ("reciprocal", (1 / values.astype(np.float32)).astype(number)), ("abs", np.abs(values)),
            ("exp", np.exp(values.astype(np.float64)).astype(number)), ("relu", np.maximum(values, number(0))),
        ):  # fmt: skip
            got = folded(body + f"%c = ge.{op}(%a) : ({t}) -> {t}", "%c", t)
            want = np.where(values == 0, got, want).astype(number) if op == "relu" else want
            assert bits(got.astype(np.float32)) == bits(want.astype(np.float32)), op
        got = folded(body + f"%c = ge.mul(%a, %a) : ({t}, {t}) -> {t}", "%c", t)
        assert bits(got.astype(np.float32)) == bits((values * values).astype(np.float32))


def test_a_splat_of_minus_zero_stays_one():
    body = """
      %a = ge.constant #ge.splat<0.0> : tensor<1000xf32>
      %c = ge.neg(%a) : (tensor<1000xf32>) -> tensor<1000xf32>"""
    assert np.signbit(folded(body, "%c", "tensor<1000xf32>")).all()


# ---------------------------------------------------------------- random numbers
def random_ops() -> list[type]:
    return [c for c in GE.operations if c.__module__.endswith(".random")]


def test_random_ops_are_neither_folded_nor_merged():
    from gedialect.dialects.ge.folding import foldable

    assert random_ops()
    assert [c.name for c in random_ops() if foldable(c)] == []
    t = "tensor<64xf32>"
    module: ModuleOp = parse(f"""func.func @main() -> ({t}, {t}) {{
      %p = ge.constant #ge.splat<0.5> : {t}
      %a = ge.bernoulli(%p) {{seed = 1.0}} : ({t}) -> {t}
      %b = ge.bernoulli(%p) {{seed = 1.0}} : ({t}) -> {t}
      func.return %a, %b : {t}, {t}
    }}""")
    FoldConstants().apply(GeContext(), module)
    CommonSubexpressionElimination().apply(GeContext(), module)
    assert sum(op.name == "ge.bernoulli" for op in module.walk()) == 2
