"""Element-wise ops against onnxruntime, numpy and math."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_check import ge_run, onnx_run, same, spec, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME, I32
from gedialect.ir.spec import DYNAMIC, Spec

RANDOM = np.random.default_rng(3)
NAN, INF = math.nan, math.inf
FLOAT_PAIRS = [
    ((2, 3), (2, 3)),
    ((2, 1, 4), (3, 1)),
    ((), (3,)),
    ((), ()),
    ((0, 3), (1, 3)),
]


def floats(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return np.asarray(RANDOM.standard_normal(shape) * 3, dtype)


def whole(shape: tuple[int, ...], dtype: Any) -> Any:
    return RANDOM.integers(0 if np.dtype(dtype).kind == "u" else -40, 40, shape).astype(dtype)


BINARY = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "equal": "Equal",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "less": "Less",
    "less_equal": "LessOrEqual",
}


@pytest.mark.parametrize("shapes", FLOAT_PAIRS, ids=str)
@pytest.mark.parametrize("op", BINARY)
def test_binary_floats(op: str, shapes: Any) -> None:
    for dtype in (np.float32, np.float64):
        x1, x2 = (floats(s, dtype) for s in shapes)
        same(ge_run(op, [x1, x2], {}), onnx_run(BINARY[op], [x1, x2], {}))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.int8])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "equal", "greater", "less"])
def test_binary_integers(op: str, dtype: Any) -> None:
    x1, x2 = whole((5, 1, 8), dtype), whole((3, 1), dtype)
    if op == "div":
        x2[x2 == 0] = 3
    same(ge_run(op, [x1, x2], {}), onnx_run(BINARY[op], [x1, x2], {}))


def test_integer_division_keeps_every_bit() -> None:
    big = np.asarray([2**62 + 1, -(2**62) - 1, 7, -7, 7, -7, 0], np.int64)
    by = np.asarray([3, 3, 2, 2, -2, -2, 5], np.int64)
    expected = [int(math.copysign(abs(int(a)) // abs(int(b)), int(a) * int(b))) if a else 0 for a, b in zip(big, by)]
    assert ge_run("div", [big[2:], by[2:]], {})[0].tolist() == expected[2:]
    assert ge_run("div", [big[:2], by[:2]], {})[0].tolist() == [(2**62 + 1) // 3, -((2**62 + 1) // 3)]
    assert ge_run("div", [big, np.zeros_like(by)], {})[0].tolist() == [0] * 7


@pytest.mark.parametrize("fmod", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float32, np.float16])
def test_mod(fmod: bool, dtype: Any) -> None:
    fractional = np.dtype(dtype).kind == "f"
    x1 = floats((4, 5), dtype) if fractional else whole((4, 5), dtype)
    x2 = np.asarray([2, -3, 4, 5, -7]).astype(dtype)
    got = ge_run("mod", [x1, x2], {"fmod": fmod})
    if fmod or not fractional:
        same(got, onnx_run("Mod", [x1, x2], {"fmod": int(fmod)}), 1e-3 if dtype is np.float16 else 0)
    else:
        want = [[a - math.floor(a / b) * b for a, b in zip(row, x2.tolist())] for row in x1.tolist()]
        np.testing.assert_allclose(got[0], want, atol=2e-2 if dtype is np.float16 else 2e-6)


def test_pow() -> None:
    x = np.abs(floats((3, 4))) + np.float32(0.1)
    e = floats((4,))
    same(ge_run("pow", [x, e], {}), onnx_run("Pow", [x, e], {}), 1e-6)
    base, exponent = (
        np.asarray([3, -2, 1, -1, -1, 0, 2, 2], np.int64),
        np.asarray([39, 5, -3, -3, -2, 3, -1, 0], np.int64),
    )
    assert ge_run("pow", [base, exponent], {})[0].tolist() == [3**39, -32, 1, -1, 1, 0, 0, 1]


def test_extremes_propagate_nan() -> None:
    x1 = np.asarray([1, NAN, 2, INF, -INF], np.float32)
    x2 = np.asarray([NAN, 1, 3, 0, 0], np.float32)
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        a, b = x1.astype(dtype), x2.astype(dtype)
        got = ge_run("maximum", [a, b], {})[0].astype(np.float32)
        np.testing.assert_array_equal(got, np.asarray([NAN, NAN, 3, INF, 0], np.float32))
        got = ge_run("minimum", [a, b], {})[0].astype(np.float32)
        np.testing.assert_array_equal(got, np.asarray([NAN, NAN, 2, 0, -INF], np.float32))
        np.testing.assert_array_equal(
            ge_run("relu", [a], {})[0].astype(np.float32), np.asarray([1, NAN, 2, INF, 0], np.float32)
        )
    nothing = np.asarray([NAN], np.float32)
    for op, result in (("equal", False), ("not_equal", True), ("less", False), ("greater_equal", False)):
        assert ge_run(op, [nothing, nothing], {})[0].tolist() == [result]


UNARY = {
    "abs": "Abs", "neg": "Neg", "sign": "Sign", "relu": "Relu", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
    "reciprocal": "Reciprocal", "floor": "Floor", "ceil": "Ceil", "round": "Round", "sin": "Sin", "cos": "Cos",
    "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "is_nan": "IsNaN", "identity": "Identity",
}  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str) -> None:
    for x in (
        floats((4, 5)),
        floats(()),
        floats((0, 2)),
        np.asarray([NAN, INF, -INF, 0, -0.0, 0.5, 2.5, -0.5], np.float32),
    ):
        x = np.asarray(np.clip(x, -1, 1) if op in ("asin", "acos", "atanh") else x)
        x = np.asarray(np.abs(x) + np.float32(1) if op == "acosh" else x)
        if op == "reciprocal" and (x == 0).any():
            continue
        if op in ("sin", "cos", "tan") and np.isinf(x).any():
            continue
        same(ge_run(op, [x], {}), onnx_run(UNARY[op], [x], {}), 2e-6)


@pytest.mark.parametrize("op", ["exp", "log", "sqrt", "rsqrt", "tanh", "sin", "floor", "reciprocal", "sigmoid", "erf"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(op: str, dtype: Any) -> None:
    """The f64 value, rounded, except where f32 lies on the other side of a tie."""
    function: dict[str, Any] = {
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "reciprocal": lambda v: 1 / v,
        "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
        "erf": math.erf,
    }
    x = np.asarray(RANDOM.uniform(0.1, 4, 500), dtype)
    f = function.get(op) or getattr(math, op)
    want = np.asarray([f(float(v)) for v in x]).astype(dtype)
    got = ge_run(op, [x], {})[0]
    assert (got != want).mean() < 0.01
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=2**-7)


def test_bits() -> None:
    x, y = np.asarray([12, 10, 255, 1], np.uint8), np.asarray([10, 3, 15, 9], np.uint8)
    for op, onnx_op in (("and", "BitwiseAnd"), ("or", "BitwiseOr"), ("xor", "BitwiseXor")):
        same(ge_run(f"bitwise_{op}", [x, y], {}), onnx_run(onnx_op, [x, y], {}))
    same(ge_run("bitwise_not", [x], {}), onnx_run("BitwiseNot", [x], {}))
    assert ge_run("left_shift", [x, y], {})[0].tolist() == [0, 80, 0, 0]
    assert ge_run("right_shift", [x, y], {})[0].tolist() == [0, 1, 0, 0]
    signed, by = np.asarray([-8, -8, 5, 5], np.int32), np.asarray([1, 40, 1, 40], np.int32)
    assert ge_run("right_shift", [signed, by], {})[0].tolist() == [-4, -1, 2, 0]


def test_logic() -> None:
    x, y = np.asarray([[True], [False]]), np.asarray([True, False])
    for op, onnx_op in (("logical_and", "And"), ("logical_or", "Or"), ("logical_xor", "Xor")):
        same(ge_run(op, [x, y], {}), onnx_run(onnx_op, [x, y], {}))
    same(ge_run("logical_not", [x], {}), onnx_run("Not", [x], {}))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, ml_dtypes.bfloat16])
def test_select(dtype: Any) -> None:
    c = np.asarray([[True], [False]])
    x1, x2 = np.asarray([1, 0, 3]).astype(dtype), np.asarray(4).astype(dtype)
    (got,) = ge_run("select", [c, x1, x2], {})
    assert got.tolist() == [x1.tolist(), [x2.item()] * 3]


def test_cast() -> None:
    x = np.asarray([0.0, -1.75, 2.5, 300.0, NAN], np.float32)
    for to, want in (("i32", [0, -1, 2, 300]), ("i1", [False, True, True, True, True]), ("f16", [0, -1.75, 2.5, 300])):
        source = x if to == "i1" else x[:4]
        (got,) = ge_run("cast", [source], {}, [Spec(BY_NAME[to], source.shape)])
        assert got.tolist() == want
    (got,) = ge_run("cast", [np.asarray([2**53 + 1], np.int64)], {}, [Spec(BY_NAME["ui64"], (1,))])
    assert got.tolist() == [2**53 + 1]
    with pytest.raises(GeError, match="result type"):
        op_class("cast").infer(Attrs(), spec(x))


def test_is_inf() -> None:
    x = np.asarray([1, INF, -INF, NAN], np.float32)
    for negative in (0, 1):
        for positive in (0, 1):
            attrs = {"detect_negative": negative, "detect_positive": positive}
            same(ge_run("is_inf", [x], attrs), onnx_run("IsInf", [x], attrs))


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("add", [Spec(I32, (2, 3)), Spec(I32, (2, 4))]),
        ("add", [Spec(I32, (2,)), Spec(BY_NAME["f32"], (2,))]),
        ("logical_and", [Spec(I32, (2,)), Spec(I32, (2,))]),
        ("bitwise_and", [Spec(BY_NAME["f32"], (2,)), Spec(BY_NAME["f32"], (2,))]),
        ("exp", [Spec(I32, (2,))]),
        ("select", [Spec(I32, (2,)), Spec(I32, (2,)), Spec(I32, (2,))]),
    ],
)
def test_rejects(op: str, operands: list[Spec]) -> None:
    with pytest.raises(GeError) as e:
        op_class(op).infer(Attrs(), *operands)
    assert e.value.code == "GE1005"


def test_unknown_sizes() -> None:
    a, b = np.ones((2, 3), np.float32), np.ones((3,), np.float32)
    assert unknown("add", [a, b], {})[0].shape == (DYNAMIC, DYNAMIC)
    assert op_class("less").infer(Attrs(), Spec(I32, (DYNAMIC, 1)), Spec(I32, (3,)))[0] == Spec(
        BY_NAME["i1"], (DYNAMIC, 3)
    )
