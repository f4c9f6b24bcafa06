"""Reductions, softmax and searches against onnxruntime and numpy in f64."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_check import ge_run, onnx_run, same, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, I32, I64
from gedialect.ir.spec import DYNAMIC, Spec

RANDOM = np.random.default_rng(9)
REDUCTIONS = {
    "reduce_sum": "ReduceSum",
    "reduce_mean": "ReduceMean",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
    "reduce_sum_square": "ReduceSumSquare",
    "reduce_log_sum_exp": "ReduceLogSumExp",
}
AXES = [(-1,), (0,), (1, 3), (0, 1, 2, 3)]


def normal(*shape: int) -> Any:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_floats(op: str, axes: Any, keep: bool) -> None:
    x = normal(2, 3, 4, 5)
    want = onnx_run(REDUCTIONS[op], [x, np.asarray(axes)], {"keepdims": int(keep)})
    same(ge_run(op, [x], {"axes": axes, "keep_dims": keep}), want, 1e-6)


@pytest.mark.parametrize("op", ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"])
def test_integers(op: str) -> None:
    x = RANDOM.integers(-6, 7, (3, 4, 5)).astype(np.int32)
    want = onnx_run(REDUCTIONS[op], [x, np.asarray([1])], {"keepdims": 0})
    same(ge_run(op, [x], {"axes": [1], "keep_dims": False}), want)


def test_integers_stay_exact_and_wrap() -> None:
    x = np.asarray([2**62, 2**62, 1], np.int64)
    assert ge_run("reduce_sum", [x], {"axes": [0], "keep_dims": False})[0] == -(2**63) + 1
    small = np.full(3, 100, np.int8)
    assert ge_run("reduce_sum", [small], {"axes": [0], "keep_dims": False})[0] == 300 - 256


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_accumulate_in_f32(dtype: Any) -> None:
    """Adding 1 to 2048 in f16 (256 in bf16) would be lost."""
    ones = np.ones((1, 3000), dtype)
    exact = float(np.asarray(3000, dtype))
    assert float(ge_run("reduce_sum", [ones], {"axes": [1], "keep_dims": False})[0][0]) == exact
    assert float(ge_run("reduce_mean", [ones], {"axes": [1], "keep_dims": False})[0][0]) == 1.0
    assert float(ge_run("reduce_sum_square", [ones], {"axes": [1], "keep_dims": True})[0][0, 0]) == exact
    assert float(ge_run("cumsum", [ones], {"axis": 1, "exclusive": False, "reverse": False})[0][0, -1]) == exact


def test_nothing_to_reduce() -> None:
    x = np.zeros((2, 0, 3), np.float32)
    for op, value in (("sum", 0), ("prod", 1), ("max", -math.inf), ("min", math.inf), ("log_sum_exp", -math.inf)):
        (got,) = ge_run(f"reduce_{op}", [x], {"axes": [1], "keep_dims": False})
        np.testing.assert_array_equal(got, np.full((2, 3), value, np.float32))
    assert np.isnan(ge_run("reduce_mean", [x], {"axes": [1], "keep_dims": True})[0]).all()
    (got,) = ge_run("reduce_max", [x.astype(np.int8)], {"axes": [1], "keep_dims": False})
    assert (got == -128).all()
    flags = np.zeros((0, 2), np.bool_)
    assert ge_run("reduce_all", [flags], {"axes": [0], "keep_dims": False})[0].tolist() == [True, True]
    assert ge_run("reduce_any", [flags], {"axes": [0], "keep_dims": False})[0].tolist() == [False, False]
    scalar = np.asarray(-2.0, np.float32)
    assert ge_run("reduce_sum_square", [scalar], {"axes": [], "keep_dims": True})[0] == 4


def test_special_values() -> None:
    x = np.asarray([[1, math.nan], [math.inf, 1], [-math.inf, -math.inf]], np.float32)
    np.testing.assert_array_equal(
        ge_run("reduce_max", [x], {"axes": [1], "keep_dims": False})[0], [np.nan, np.inf, -np.inf]
    )
    np.testing.assert_array_equal(
        ge_run("reduce_log_sum_exp", [x], {"axes": [1], "keep_dims": False})[0], [np.nan, np.inf, -np.inf]
    )
    big = np.asarray([[1000.0, 1000.0]], np.float32)
    np.testing.assert_allclose(
        ge_run("reduce_log_sum_exp", [big], {"axes": [1], "keep_dims": False})[0], [1000 + math.log(2)], rtol=1e-7
    )
    np.testing.assert_array_equal(ge_run("softmax", [big], {"axes": [1]})[0], [[0.5, 0.5]])
    low = np.asarray([[0, -math.inf]], np.float32)
    np.testing.assert_array_equal(ge_run("softmax", [low], {"axes": [1]})[0], [[1, 0]])


@pytest.mark.parametrize("keep", [False, True])
def test_lp_norm(keep: bool) -> None:
    x = normal(2, 3, 4)
    for p, onnx_op in ((1.0, "ReduceL1"), (2.0, "ReduceL2")):
        attrs = {"p": p, "axes": [0, 2], "keep_dims": keep, "epsilon": 0.0}
        same(ge_run("lp_norm", [x], attrs), onnx_run(onnx_op, [x, np.asarray([0, 2])], {"keepdims": int(keep)}), 1e-6)
    for p in (3.0, math.inf):
        attrs = {"p": p, "axes": [2], "keep_dims": keep, "epsilon": 0.0}
        want = np.linalg.norm(x.astype(np.float64), p, 2, keepdims=keep)
        np.testing.assert_allclose(ge_run("lp_norm", [x], attrs)[0], want, rtol=1e-6)
    zeros = np.zeros((1, 2), np.float32)
    attrs = {"p": 2.0, "axes": [1], "keep_dims": False, "epsilon": 1e-3}
    assert ge_run("lp_norm", [zeros], attrs)[0][0] == np.float32(1e-3)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = normal(2, 3, 4) * np.float32(5)
    same(ge_run("softmax", [x], {"axes": [axis]}), onnx_run("Softmax", [x], {"axis": axis}), 1e-6)
    same(ge_run("log_softmax", [x], {"axes": [axis]}), onnx_run("LogSoftmax", [x], {"axis": axis}), 1e-6)
    same(ge_run("hardmax", [x], {"axis": axis}), onnx_run("Hardmax", [x], {"axis": axis}))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_softmax_of_halves(dtype: Any) -> None:
    x = (normal(8, 300) * np.float32(3)).astype(dtype)
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    want = (e / e.sum(1, keepdims=True)).astype(dtype)
    (got,) = ge_run("softmax", [x], {"axes": [1]})
    assert (got != want).mean() < 0.02


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("op", ["arg_max", "arg_min"])
def test_arg(op: str, keep: bool, last: bool) -> None:
    onnx_op = {"arg_max": "ArgMax", "arg_min": "ArgMin"}[op]
    for x in (RANDOM.integers(0, 3, (4, 5)).astype(np.float32), RANDOM.integers(0, 3, (4, 5)).astype(np.int32)):
        for axis in (0, 1):
            want = onnx_run(onnx_op, [x], {"axis": axis, "keepdims": int(keep), "select_last_index": int(last)})
            attrs = {"dimension": axis, "keep_dims": keep, "select_last_index": last}
            same(ge_run(op, [x], attrs), want)
    short = Spec(I32, (4, 1) if keep else (4,))
    (got,) = ge_run(op, [x], {"dimension": 1, "keep_dims": keep, "select_last_index": last}, [short])
    assert got.dtype == np.int32


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_topk(largest: bool, dtype: Any) -> None:
    x = RANDOM.integers(0, 6, (3, 8)).astype(dtype)
    for axis in (0, 1):
        for k in (0, 1, 3):
            want = onnx_run("TopK", [x, np.asarray([k])], {"axis": axis, "largest": int(largest)}, outputs=2)
            attrs = {"dim": axis, "largest": largest, "sorted": True}
            same(ge_run("topk", [x, None], {**attrs, "k": k}), want)
            same(ge_run("topk", [x, np.asarray(k)], attrs), want)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_cumsum(exclusive: bool, reverse: bool) -> None:
    for x in (normal(3, 4), RANDOM.integers(-9, 9, (3, 4))):
        for axis in (0, 1):
            want = onnx_run("CumSum", [x, np.asarray(axis)], {"exclusive": int(exclusive), "reverse": int(reverse)})
            same(ge_run("cumsum", [x], {"axis": axis, "exclusive": exclusive, "reverse": reverse}), want, 1e-6)


def test_unknown_sizes() -> None:
    x = np.ones((2, 3, 4), np.float32)
    attrs = {"axes": [1], "keep_dims": True}
    assert unknown("reduce_mean", [x], attrs)[0] == Spec(F32, (DYNAMIC, 1, DYNAMIC))
    search = {"dimension": -1, "keep_dims": False, "select_last_index": False}
    assert unknown("arg_max", [x], search)[0] == Spec(I64, (DYNAMIC, DYNAMIC))
    top = {"dim": 1, "largest": True, "sorted": True}
    assert unknown("topk", [x, None], {**top, "k": 2})[0] == Spec(F32, (DYNAMIC, 2, DYNAMIC))
    assert unknown("topk", [x, np.asarray(2)], top)[1] == Spec(I64, (DYNAMIC, DYNAMIC, DYNAMIC))


@pytest.mark.parametrize(
    ("op", "attrs", "x"),
    [
        ("reduce_sum", {"axes": [2], "keep_dims": True}, Spec(F32, (2, 3))),
        ("reduce_sum", {"axes": [1, -1], "keep_dims": True}, Spec(F32, (2, 3))),
        ("reduce_all", {"axes": [1], "keep_dims": True}, Spec(F32, (2, 3))),
        ("softmax", {"axes": [0]}, Spec(I32, (2, 3))),
        ("softmax", {"axes": [5]}, Spec(F32, (2, 3))),
        ("arg_max", {"dimension": 1, "keep_dims": True}, Spec(F32, (2, 0))),
        ("hardmax", {"axis": 2}, Spec(F32, (2, 3))),
        ("cumsum", {"axis": 0}, Spec(F32, ())),
    ],
)
def test_rejects(op: str, attrs: Any, x: Spec) -> None:
    with pytest.raises(GeError) as e:
        op_class(op).infer(Attrs(attrs), x)
    assert e.value.code == "GE1005"


def test_topk_rejects() -> None:
    attrs = {"dim": 1, "largest": True, "sorted": True}
    for k, operand in ((4, None), (None, None), (2, Spec(I64, ()))):
        with pytest.raises(GeError):
            op_class("topk").infer(Attrs({**attrs, "k": k}), Spec(F32, (2, 3)), operand)
    with pytest.raises(GeError, match="does not fit"):
        op_class("topk").evaluate(Attrs(attrs), np.ones((2, 3)), np.asarray(4))
