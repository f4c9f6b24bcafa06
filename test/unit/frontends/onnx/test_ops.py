"""Converters against onnxruntime: one op a model, in the opsets where its meaning changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_models import check, floats, i64, model, node

from gedialect.frontends.onnx import import_model
from gedialect.interpreter import run

X = floats(2, 4, 6, 6)
M = floats(3, 5)
POSITIVE = np.abs(X) + 0.5
K3 = floats(8, 4, 3, 3, seed=1)
LINE = floats(2, 4, 9)
U34 = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
U42 = np.arange(8, dtype=np.uint8).reshape(4, 2)
IMAGE = np.arange(32, dtype=np.uint8).reshape(1, 2, 4, 4) * 8

CASES: dict[str, tuple[str, int, list[Any], dict[str, Any], list[str] | None]] = {
    # name: (op, opset, inputs: arrays are graph inputs, ("w", array) are initialisers, None is absent; attributes, ops)
    "relu": ("Relu", 14, [X], {}, ["relu"]),
    "elu": ("Elu", 6, [X], {"alpha": 0.7}, ["elu"]),
    "selu": ("Selu", 6, [X], {}, ["selu"]),
    "selu with other constants": ("Selu", 6, [X], {"alpha": 1.2, "gamma": 0.9}, ["elu"]),
    "leaky relu": ("LeakyRelu", 16, [X], {}, ["leaky_relu"]),
    "hard sigmoid": ("HardSigmoid", 6, [X], {}, ["hard_sigmoid"]),
    "shrink": ("Shrink", 9, [X], {"lambd": 0.3, "bias": 0.1}, ["shrink"]),
    "prelu": ("PRelu", 16, [X, ("w", floats(4, 1, 1, seed=2))], {}, ["prelu"]),
    "clip attributes": ("Clip", 6, [X], {"min": -0.5, "max": 0.25}, ["clip"]),
    "clip one bound": ("Clip", 13, [X, None, ("w", np.float32(0.25))], {}, ["clip"]),
    "gelu": ("Gelu", 20, [X], {"approximate": "tanh"}, ["gelu"]),
    "max": ("Max", 13, [X, X * 0.5, floats(6, seed=3)], {}, ["maximum", "maximum"]),
    "mean": ("Mean", 13, [X, X * 0.5, floats(6, seed=3)], {}, ["add", "add", "div"]),
    "pow int exponent": ("Pow", 15, [POSITIVE, ("w", i64(2))], {}, ["pow"]),
    "pow int base": ("Pow", 15, [i64(2, 3), np.array([0.5, 2], np.float32)], {}, ["cast", "pow", "cast"]),
    "div truncates": ("Div", 14, [i64(-7, 7), i64(2, -2)], {}, ["div"]),
    "mod floors": ("Mod", 13, [i64(-7, 7), i64(3, -3)], {}, ["mod"]),
    "fmod": ("Mod", 13, [i64(-7, 7), i64(3, -3)], {"fmod": 1}, ["mod"]),
    "where": ("Where", 16, [X > 0, X, ("w", np.float32(2))], {}, ["select"]),
    "cast": ("Cast", 19, [X * 3], {"to": 7}, ["cast"]),
    "shift": ("BitShift", 11, [np.array([1, 12], np.uint8), np.array([3, 2], np.uint8)], {"direction": "LEFT"}, None),
    "is inf": ("IsInf", 20, [np.array([1, np.inf, -np.inf], np.float32)], {"detect_negative": 0}, ["is_inf"]),
    "identity": ("Identity", 19, [X], {}, []),
    "dropout": ("Dropout", 13, [X], {}, []),
    # convolutions
    "conv": ("Conv", 11, [X, ("w", K3), ("w", floats(8))], {"pads": [1, 0, 0, 1], "strides": [2, 1]}, ["conv2d"]),
    "conv grouped": ("Conv", 11, [X, ("w", floats(4, 2, 2, 2))], {"group": 2, "dilations": [2, 1]}, ["conv2d"]),
    "conv same upper": ("Conv", 11, [X, ("w", K3)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, ["conv2d"]),
    "conv same lower": ("Conv", 11, [X, ("w", K3)], {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, ["conv2d"]),
    "conv valid": ("Conv", 11, [X, ("w", K3)], {"auto_pad": "VALID"}, ["conv2d"]),
    "conv 1-D": (
        "Conv", 11, [LINE, ("w", floats(3, 4, 3))], {"pads": [1, 2], "strides": [2]},
        ["unsqueeze", "conv2d", "squeeze"],
    ),
    "conv 3-D": ("Conv", 11, [floats(1, 2, 4, 5, 6), ("w", floats(3, 2, 2, 2, 2))], {}, ["conv3d"]),
    "conv transposed": (
        "ConvTranspose", 11, [X, ("w", floats(4, 3, 3, 3)), ("w", floats(3))],
        {"strides": [2, 2], "pads": [1, 1, 0, 1], "output_padding": [1, 0]}, ["conv2d_transpose"],
    ),
    "conv transposed grouped": (
        "ConvTranspose", 11, [X, ("w", floats(4, 3, 2, 2))], {"group": 2}, ["conv2d_transpose"],
    ),
    "conv transposed to a shape": (
        "ConvTranspose", 11, [X, ("w", floats(4, 2, 3, 3))], {"output_shape": [12, 11], "strides": [2, 2]},
        ["conv2d_transpose"],
    ),
    "conv transposed same": (
        "ConvTranspose", 11, [X, ("w", floats(4, 2, 3, 3))], {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        ["conv2d_transpose"],
    ),
    # products
    "matmul": ("MatMul", 13, [floats(2, 3, 4), floats(4, 5)], {}, ["matmul"]),
    "matmul row": ("MatMul", 13, [floats(4), floats(2, 4, 5)], {}, ["unsqueeze", "matmul", "squeeze"]),
    "matmul column": ("MatMul", 13, [floats(2, 4, 5), floats(5)], {}, ["unsqueeze", "matmul", "squeeze"]),
    "matmul dot": ("MatMul", 13, [floats(5), floats(5)], {}, ["unsqueeze", "unsqueeze", "matmul", "squeeze"]),
    "gemm": ("Gemm", 13, [M, ("w", floats(4, 5)), ("w", floats(4))], {"transB": 1}, ["matmul"]),
    "gemm alpha beta": (
        "Gemm", 13, [M, ("w", floats(3, 4)), ("w", floats(5, 1))], {"transA": 1, "alpha": 0.5, "beta": 2.0},
        ["matmul", "mul", "add"],
    ),
    "einsum": ("Einsum", 12, [floats(2, 3, 4), floats(4, 5)], {"equation": "bij,jk->bik"}, ["einsum"]),
    # pooling
    "max pool": ("MaxPool", 12, [X], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]}, ["max_pool2d"]),
    "max pool ceil": ("MaxPool", 22, [X], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, ["max_pool2d"]),
    "max pool 1-D": ("MaxPool", 12, [LINE], {"kernel_shape": [3]}, ["unsqueeze", "max_pool2d", "squeeze"]),
    "average pool": (
        "AveragePool", 11, [X], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}, ["avg_pool2d"],
    ),
    "average pool same": (
        "AveragePool", 11, [X], {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}, ["avg_pool2d"],
    ),
    "global average pool": ("GlobalAveragePool", 1, [X], {}, ["reduce_mean"]),
    "global max pool": ("GlobalMaxPool", 1, [X], {}, ["reduce_max"]),
    # normalisation
    "batch norm": (
        "BatchNormalization", 15, [X, *(("w", np.abs(floats(4, seed=s)) + 0.1) for s in range(4))], {"epsilon": 1e-3},
        ["batch_norm"],
    ),
    "layer norm": ("LayerNormalization", 17, [X, ("w", floats(6)), ("w", floats(6))], {}, ["layer_norm"]),
    "layer norm two axes": ("LayerNormalization", 17, [X, ("w", floats(6, 6))], {"axis": 2}, ["layer_norm"]),
    "instance norm": ("InstanceNormalization", 6, [X, ("w", floats(4)), ("w", floats(4))], {}, ["instance_norm"]),
    "group norm 21": (
        "GroupNormalization", 21, [X, ("w", floats(4)), ("w", floats(4))], {"num_groups": 2}, ["group_norm"],
    ),
    "lrn": ("LRN", 13, [X], {"size": 3, "alpha": 0.3}, ["lrn"]),
    "lp normalisation": ("LpNormalization", 1, [M], {"axis": 1}, None),
    # softmax and reductions
    "softmax 11 flattens": ("Softmax", 11, [X], {"axis": 2}, ["softmax"]),
    "softmax 13": ("Softmax", 13, [X], {"axis": 2}, ["softmax"]),
    "log softmax 11": ("LogSoftmax", 11, [X], {}, ["log_softmax"]),
    "hardmax 11": ("Hardmax", 11, [M], {"axis": 0}, None),
    "reduce sum attribute": ("ReduceSum", 11, [X], {"axes": [-1, 1], "keepdims": 0}, ["reduce_sum"]),
    "reduce sum input": ("ReduceSum", 13, [X, ("w", i64(1, -1))], {}, ["reduce_sum"]),
    "reduce sum of all": ("ReduceSum", 13, [X], {"keepdims": 0}, ["reduce_sum"]),
    "reduce sum of none": ("ReduceSum", 13, [X, ("w", i64())], {"noop_with_empty_axes": 1}, []),
    "reduce mean 18": ("ReduceMean", 18, [X, ("w", i64(2, 3))], {}, ["reduce_mean"]),
    "reduce l1": ("ReduceL1", 13, [X], {"axes": [1]}, ["lp_norm"]),
    "reduce l2": ("ReduceL2", 13, [X], {"axes": [1]}, ["lp_norm"]),
    "reduce log sum": ("ReduceLogSum", 13, [POSITIVE], {"axes": [1]}, ["reduce_sum", "log"]),
    "reduce log sum of integers": (
        "ReduceLogSum", 13, [i64(1, 3, 30, 200).reshape(2, 2)], {"axes": [1]}, ["reduce_sum", "cast", "log", "cast"],
    ),
    "reduce log sum exp of integers": (
        "ReduceLogSumExp", 13, [i64(1, 1, 9, 9).reshape(2, 2)], {"axes": [1]}, ["cast", "reduce_log_sum_exp", "cast"],
    ),
    "flatten to no rows": ("Flatten", 13, [np.zeros((4, 0, 3), np.float32)], {"axis": 2}, []),
    "flatten to no columns": ("Flatten", 13, [np.zeros((4, 0, 3), np.float32)], {"axis": 1}, []),
    "flatten to no rows, the last of size 1": ("Flatten", 13, [np.zeros((4, 0, 3), np.float32)], {"axis": 3}, []),
    "concat of empty values": ("Concat", 13, [np.zeros((2, 1, 0), np.float32)] * 3, {"axis": 1}, []),
    "concat with an empty value": ("Concat", 13, [M, np.zeros((0, M.shape[1]), np.float32)], {"axis": 0}, []),
    "reduce log sum exp": ("ReduceLogSumExp", 13, [X], {"axes": [1]}, ["reduce_log_sum_exp"]),
    "reduce sum square": ("ReduceSumSquare", 13, [X], {"axes": [1]}, ["reduce_sum_square"]),
    "arg max last": ("ArgMax", 13, [i64(3, 1, 3)], {"select_last_index": 1}, ["arg_max"]),
    "arg min": ("ArgMin", 13, [X], {"axis": -1, "keepdims": 0}, ["arg_min"]),
    "cumsum": ("CumSum", 14, [M, ("w", np.array(1))], {"exclusive": 1, "reverse": 1}, ["cumsum"]),
    # shapes
    "reshape": ("Reshape", 13, [X, ("w", i64(0, -1, 3))], {}, ["reshape"]),
    "flatten": ("Flatten", 13, [X], {"axis": -2}, ["reshape"]),
    "squeeze 11": ("Squeeze", 11, [floats(1, 3, 1)], {"axes": [-1]}, ["squeeze"]),
    "squeeze 13": ("Squeeze", 13, [floats(1, 3, 1)], {}, ["squeeze"]),
    "unsqueeze 13": ("Unsqueeze", 13, [M, ("w", i64(-1, 0))], {}, ["unsqueeze"]),
    "transpose": ("Transpose", 13, [X], {}, ["transpose"]),
    "expand both ways": ("Expand", 13, [floats(3, 1), ("w", i64(2, 1, 4))], {}, ["expand"]),
    "tile": ("Tile", 13, [M, ("w", i64(2, 3))], {}, ["tile"]),
    "slice 1": ("Slice", 9, [X], {"starts": [1, -3], "ends": [1000, -1], "axes": [1, 3]}, ["slice"]),
    "slice steps": (
        "Slice", 13, [X, ("w", i64(-1, 0)), ("w", i64(-1000, 5)), ("w", i64(2, -1)), ("w", i64(-2, 2))], {}, ["slice"],
    ),
    "pad 2": ("Pad", 10, [M], {"pads": [1, 0, 0, 2], "value": 1.5}, ["pad"]),
    "pad cuts": ("Pad", 13, [M, ("w", i64(-1, 0, 1, 2)), ("w", np.float32(1.5))], {}, ["slice", "pad"]),
    "pad reflect": ("Pad", 13, [M, ("w", i64(1, 2, 0, 1))], {"mode": "reflect"}, ["pad"]),
    "pad axes": ("Pad", 18, [M, ("w", i64(1, 2)), None, ("w", i64(-1))], {}, ["pad"]),
    "concat": ("Concat", 13, [M, M + 1], {"axis": -1}, ["concat"]),
    "depth to space": ("DepthToSpace", 13, [X], {"blocksize": 2, "mode": "CRD"}, ["depth_to_space"]),
    "space to depth": ("SpaceToDepth", 13, [X], {"blocksize": 2}, ["space_to_depth"]),
    "trilu": ("Trilu", 14, [M, ("w", np.array(1))], {"upper": 0}, ["tril"]),
    # indices
    "gather": ("Gather", 13, [X, ("w", np.array([[0, -1]]))], {"axis": 1}, ["gather"]),
    "gather elements": ("GatherElements", 13, [M, np.array([[0, -1], [2, 1]])], {"axis": 1}, ["gather_elements"]),
    "gather nd": ("GatherND", 13, [M, np.array([[0, 1], [2, -1]])], {}, ["gather_nd"]),
    "scatter elements": (
        "ScatterElements", 18, [M, np.array([[0, 1]]), floats(1, 2)], {"axis": 1, "reduction": "add"},
        ["scatter_elements"],
    ),
    "scatter nd": ("ScatterND", 18, [M, np.array([[2], [0]]), floats(2, 5)], {}, ["scatter_nd"]),
    "one hot": (
        "OneHot", 11, [i64(0, -1, 9), ("w", np.array(4)), ("w", np.array([0.5, 2], np.float32))], {}, ["one_hot"],
    ),
    "nonzero": ("NonZero", 13, [np.where(M > 0, M, 0)], {}, ["nonzero"]),
    # resampling
    "upsample": ("Upsample", 9, [X, ("w", np.array([1, 1, 2, 1.5], np.float32))], {}, ["resize"]),
    **{
        f"resize {rounding} between elements but for an error": (
            "Resize", 18, [floats(1, 1, 7), None, None, ("w", i64(1, 1, size))],
            {"coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}, ["resize"],
        )
        for rounding, size in (("round_prefer_ceil", 4), ("round_prefer_floor", 2))
    },
    "resize with positions further from the middle": (
        "Resize", 18, [floats(1, 1, 70), None, None, ("w", i64(1, 1, 40))],
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "round_prefer_ceil"}, ["resize"],
    ),
    "resize 10": ("Resize", 10, [X, ("w", np.array([1, 1, 0.6, 2], np.float32))], {"mode": "linear"}, ["resize"]),
    "resize scales": (
        "Resize", 13, [X, None, ("w", np.array([1, 1, 1.5, 2], np.float32))], {"mode": "linear"}, ["resize"],
    ),
    "resize sizes": (
        "Resize", 13, [X, None, None, ("w", i64(2, 4, 3, 12))],
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, ["resize"],
    ),
    # quantisation
    "quantize": (
        "QuantizeLinear", 13, [X * 9, ("w", np.float32(0.1)), ("w", np.uint8(120))], {}, ["quantize"],
    ),
    "dequantize an axis": (
        "DequantizeLinear", 13,
        [np.arange(-6, 6, dtype=np.int8).reshape(3, 4), ("w", np.array([0.5, 1, 2], np.float32)),
         ("w", np.int8([0, 1, -2]))],
        {"axis": 0}, ["dequantize"],
    ),
    "matmul integer": (
        "MatMulInteger", 10, [U34, U42, ("w", np.uint8(128)), ("w", np.uint8(3))], {}, None,
    ),
    "conv integer": (
        "ConvInteger", 10, [IMAGE, ("w", np.full((1, 2, 3, 3), 7, np.uint8)), ("w", np.uint8(100))],
        {"pads": [1, 1, 1, 1]}, None,
    ),
    "qlinear matmul": (
        "QLinearMatMul", 10,
        [U34, ("w", np.float32(0.1)), ("w", np.uint8(100)),
         U42 * 30, ("w", np.float32(0.02)), ("w", np.uint8(90)),
         ("w", np.float32(0.5)), ("w", np.uint8(128))],
        {}, None,
    ),
    "qlinear conv": (
        "QLinearConv", 10,
        [IMAGE, ("w", np.float32(0.1)), ("w", np.uint8(100)),
         ("w", (np.arange(36) * 7 % 120 - 60).astype(np.int8).reshape(2, 2, 3, 3)),
         ("w", np.array([0.02, 0.05], np.float32)), ("w", np.zeros(2, np.int8)), ("w", np.float32(0.5)),
         ("w", np.uint8(128)), ("w", np.array([30, -200], np.int32))],
        {"pads": [1, 1, 1, 1]}, None,
    ),
    # bodies of functions: no converter of their own
    "softmax cross entropy": (
        "SoftmaxCrossEntropyLoss", 13, [M, i64(0, 2, 4)], {"reduction": "sum"}, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_op(name: str):
    op_type, opset, given, attrs, want = CASES[name]
    inputs, weights, names = {}, {}, []
    for i, value in enumerate(given):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, tuple):
            weights[f"x{i}"] = np.asarray(value[1])
        elif value is not None:
            inputs[f"x{i}"] = value
    m = model([node(op_type, names, **attrs)], inputs, ["y"], opset=opset, weights=weights)
    found = check(m, inputs)
    if want is not None:
        assert found == want


def test_topk_and_split_have_several_results():
    k = i64(2)
    nodes = [node("TopK", ["x", "k"], ["v", "i"], largest=0), node("Split", ["x"], ["a", "b"], axis=1)]
    x = floats(3, 4)
    assert check(model(nodes, {"x": x}, ["v", "i", "a", "b"], opset=13, weights={"k": k}), {"x": x}) == [
        "topk",
        "split",
    ]


@pytest.mark.parametrize(("num_outputs", "opset"), [(3, 18), (2, 18)])
def test_split_into_unequal_parts(num_outputs: int, opset: int):
    x = floats(2, 7)
    names = [f"y{i}" for i in range(num_outputs)]
    check(model([node("Split", ["x"], names, axis=1, num_outputs=num_outputs)], {"x": x}, names, opset=opset), {"x": x})


def test_max_pool_with_indices():
    x = floats(2, 3, 6, 6)
    for order in (0, 1):
        attrs = {"kernel_shape": [2, 2], "strides": [2, 2], "storage_order": order}
        check(model([node("MaxPool", ["x"], ["y", "i"], **attrs)], {"x": x}, ["y", "i"], opset=12), {"x": x})


def test_layer_norm_with_all_results():
    x, w = floats(2, 3, 8), floats(8)
    m = model([node("LayerNormalization", ["x", "w"], ["y", "m", "r"])], {"x": x}, ["y", "m", "r"], weights={"w": w})
    check(m, {"x": x})


def test_dropout_mask():
    x = floats(2, 3)
    check(model([node("Dropout", ["x"], ["y", "mask"])], {"x": x}, ["y", "mask"], opset=13), {"x": x})


def test_dynamic_quantize():
    x = floats(3, 4)
    outputs = ["y", "s", "z"]
    check(model([node("DynamicQuantizeLinear", ["x"], outputs)], {"x": x}, outputs, opset=11), {"x": x})


def test_random_ops_are_kept_apart():
    """Equal generators without a seed are neither merged nor folded; equal seeds draw equal numbers."""
    nodes = [node("RandomUniform", [], [n], shape=[2, 3], high=5.0) for n in "ab"]
    nodes += [node("RandomNormalLike", ["x"], [n], seed=1.0) for n in "cd"]
    nodes += [node("Bernoulli", ["x"], ["e"], dtype=7), node("Multinomial", ["x"], ["f"], sample_size=4)]
    module = import_model(model(nodes, {"x": floats(2, 3)}, list("abcdef"), opset=21))
    module.verify()
    got = run(module, {"x": np.full((2, 3), 0.5, np.float32)})
    assert (got["a"] != got["b"]).any()
    assert got["a"].min() >= 0
    np.testing.assert_array_equal(got["c"], got["d"])
    assert [(v.dtype.name, v.shape) for v in got.values()] == [
        *[("float32", (2, 3))] * 4,
        ("int64", (2, 3)),
        ("int32", (2, 4)),
    ]


ROWS = floats(2, 3, 8)
GAMMA, BETA = ("w", floats(8, seed=5)), ("w", floats(8, seed=6))
MICROSOFT: dict[str, tuple[str, list[Any], dict[str, Any], int]] = {
    "gelu": ("Gelu", [ROWS], {}, 1),
    "gelu with bias": ("BiasGelu", [ROWS, BETA], {}, 1),
    "fast gelu": ("FastGelu", [ROWS, BETA], {}, 1),
    "quick gelu": ("QuickGelu", [ROWS], {"alpha": 1.5}, 1),
    "skip layer norm": ("SkipLayerNormalization", [ROWS, ROWS * 2, GAMMA, BETA, BETA], {"epsilon": 1e-3}, 1),
    "skip layer norm without beta": ("SkipLayerNormalization", [ROWS, ROWS * 2, GAMMA], {}, 1),
    "skip rms norm": ("SkipSimplifiedLayerNormalization", [ROWS, ROWS * 2, GAMMA, BETA], {"epsilon": 1e-3}, 4),
    "fused matmul": ("FusedMatMul", [ROWS, floats(2, 5, 8)], {"transB": 1, "alpha": 0.5}, 1),
}


@pytest.mark.parametrize("name", MICROSOFT)
def test_microsoft_op(name: str):
    op_type, given, attrs, results = MICROSOFT[name]
    names = [f"x{i}" for i in range(len(given))]
    weights = {n: v[1] for n, v in zip(names, given, strict=True) if isinstance(v, tuple)}
    inputs = {n: v for n, v in zip(names, given, strict=True) if not isinstance(v, tuple)}
    outputs = ["y", "", "", "sum"][:results]
    call = node(op_type, names, outputs, domain="com.microsoft", **attrs)
    m = model([call], inputs, [o for o in outputs if o], weights=weights, domains={"com.microsoft": 1})
    check(m, inputs)


def test_simplified_layer_norm():
    call = node("SimplifiedLayerNormalization", ["x", "w"], axis=-1, epsilon=1e-3, stash_type=1)
    check(model([call], {"x": ROWS}, ["y"], weights={"w": GAMMA[1]}), {"x": ROWS})
