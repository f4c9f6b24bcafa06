"""Element-wise ops: most are one ge op under another name, and stand in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import Converter, add, onnx_op
from gedialect.frontends.onnx.values import Value, dtype_of
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType

UNARY = {
    **{op: op.lower() for op in "Relu Selu Sigmoid Tanh Softsign Softplus Erf Mish Abs Neg Exp Log Sqrt".split()},
    **{op: op.lower() for op in "Reciprocal Sign Floor Ceil Round Sin Cos Tan Asin Acos Atan Sinh Cosh".split()},
    **{op: op.lower() for op in "Asinh Acosh Atanh".split()},
    "IsNaN": "is_nan",
    "Not": "logical_not",
    "BitwiseNot": "bitwise_not",
    "HardSwish": "hard_swish",
}

BINARY = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}

WITH_FLOATS = {
    "LeakyRelu": ("leaky_relu", {"alpha": ("negative_slope", 0.01)}),
    "Celu": ("celu", {"alpha": ("alpha", 1.0)}),
    "HardSigmoid": ("hard_sigmoid", {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)}),
    "ThresholdedRelu": ("thresholded_relu", {"alpha": ("alpha", 1.0)}),
    "Shrink": ("shrink", {"lambd": ("lambd", 0.5), "bias": ("bias", 0.0)}),
}


def _unary(mnemonic: str) -> Converter:
    return lambda ctx, node: ctx(mnemonic, node.input(0))


def _binary(mnemonic: str) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x1, x2 = node.input(0), node.input(1)
        if node.version < 7 and node.has("axis"):
            x2 = _legacy_broadcast(ctx, x1, x2, node.int("axis"))
        return ctx(mnemonic, x1, x2)

    return convert


def _legacy_broadcast(ctx: Context, x1: Value, x2: Value, axis: int) -> Value:
    """Opsets before 7: x2's dims start at ``axis`` of x1."""
    rank = ctx.rank(x1)
    trailing = rank - ctx.axis(axis, rank) - ctx.rank(x2)
    if trailing < 0:
        raise GeError(f"axis {axis} does not fit the ranks {rank} and {ctx.rank(x2)}", code="GE1005")
    return ctx("unsqueeze", x2, axes=list(range(ctx.rank(x2), ctx.rank(x2) + trailing))) if trailing else x2


def _with_floats(mnemonic: str, names: dict[str, tuple[str, float]]) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        attrs: dict[str, Any] = {ge: node.float(onnx, default) for onnx, (ge, default) in names.items()}
        return ctx(mnemonic, node.input(0), **attrs)

    return convert


for _op, _mnemonic in UNARY.items():
    add(_op, _unary(_mnemonic))
for _op, _mnemonic in BINARY.items():
    add(_op, _binary(_mnemonic))
for _op, (_mnemonic, _names) in WITH_FLOATS.items():
    add(_op, _with_floats(_mnemonic, _names))


def _chain(ctx: Context, mnemonic: str, values: Sequence[Value | None]) -> Value:
    """``f(f(a, b), c)``, left to right."""
    first, *rest = values
    if first is None or any(v is None for v in rest):
        raise GeError("an input is missing", code="GE1005")
    for value in rest:
        first = ctx(mnemonic, first, value)
    return first


def _variadic(mnemonic: str) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        if not node.inputs:
            raise GeError("at least one input is needed", code="GE1005")
        return _chain(ctx, mnemonic, node.inputs)

    return convert


for _op, _mnemonic in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    add(_op, _variadic(_mnemonic))


@onnx_op("Mean")
def mean(ctx: Context, node: Node) -> Value:
    total = _variadic("add")(ctx, node)
    assert not isinstance(total, Sequence)
    return ctx("div", total, ctx.scalar_like(total, len(node.inputs))) if len(node.inputs) > 1 else total


@onnx_op("PRelu")
def prelu(ctx: Context, node: Node) -> Value:
    """Before opset 7 a slope of several elements is one a channel."""
    x, slope = node.input(0), node.input(1)
    if node.version < 7 and ctx.rank(slope) == 1 and ctx.shape(slope) != (1,) and ctx.rank(x) > 2:
        slope = ctx("unsqueeze", slope, axes=list(range(1, ctx.rank(x) - 1)))
    return ctx("prelu", x, slope)


@onnx_op("Elu")
def elu(ctx: Context, node: Node) -> Value:
    return ctx("elu", node.input(0), alpha=node.float("alpha", 1.0), scale=1.0)


SELU = (1.67326319217681884765625, 1.05070102214813232421875)


@onnx_op("Selu")
def selu(ctx: Context, node: Node) -> Value:
    alpha, gamma = node.float("alpha", SELU[0]), node.float("gamma", SELU[1])
    if np.float32(alpha) == np.float32(SELU[0]) and np.float32(gamma) == np.float32(SELU[1]):
        return ctx("selu", node.input(0))
    return ctx("elu", node.input(0), alpha=alpha, scale=gamma)


@onnx_op("Gelu", since=20)
def gelu(ctx: Context, node: Node) -> Value:
    return ctx("gelu", node.input(0), approximate=node.str("approximate", "none"))


@onnx_op("Swish", since=24)
def swish(ctx: Context, node: Node) -> Value:
    return ctx("swish", node.input(0), scale=node.float("alpha", 1.0))


@onnx_op("IsInf")
def is_inf(ctx: Context, node: Node) -> Value:
    negative, positive = bool(node.int("detect_negative", 1)), bool(node.int("detect_positive", 1))
    return ctx("is_inf", node.input(0), detect_negative=negative, detect_positive=positive)


@onnx_op("Clip")
def clip_attributes(ctx: Context, node: Node) -> Value:
    """Opsets before 11: bounds are attributes, by default the extremes of f32."""
    x = node.input(0)
    low = ctx.scalar_like(x, node.float("min")) if node.has("min") else None
    high = ctx.scalar_like(x, node.float("max")) if node.has("max") else None
    return ctx("clip", x, low, high)


@onnx_op("Clip", since=11)
def clip(ctx: Context, node: Node) -> Value:
    return ctx("clip", node.input(0), node.optional(1), node.optional(2))


@onnx_op("Pow")
def power(ctx: Context, node: Node) -> Value:
    """The result has the base's type; a mixed pair is computed in the exponent's type if only that is a float."""
    x, y = node.input(0), node.input(1)
    base, exponent = ctx.dtype(x), ctx.dtype(y)
    if base is exponent:
        return ctx("pow", x, y)
    if exponent.is_float and not base.is_float:
        return ctx.cast(ctx("pow", ctx.cast(x, exponent), y), base)
    return ctx("pow", x, ctx.cast(y, base))


@onnx_op("Mod")
def mod(ctx: Context, node: Node) -> Value:
    return ctx("mod", node.input(0), node.input(1), fmod=bool(node.int("fmod", 0)))


@onnx_op("BitShift")
def bit_shift(ctx: Context, node: Node) -> Value:
    direction = node.str("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise GeError(f"direction is {direction!r}, LEFT or RIGHT is needed", code="GE1005")
    return ctx("left_shift" if direction == "LEFT" else "right_shift", node.input(0), node.input(1))


@onnx_op("Where")
def where(ctx: Context, node: Node) -> Value:
    return ctx("select", node.input(0), node.input(1), node.input(2))


LARGEST = {"f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2": 57344.0, "f8E5M2FNUZ": 57344.0, "f4E2M1FN": 6.0}
"""Finite maxima: what a saturating cast gives instead of infinity or NaN (onnx/docs, "Float stored in 8 bits").
f4E2M1FN has neither, its casts always saturate."""


@onnx_op("Cast")
def cast(ctx: Context, node: Node) -> Value:
    if node.version >= 6:
        return _cast(ctx, node, node.input(0), node.int("to"))
    from onnx import TensorProto

    to = node.str("to")
    return _cast(ctx, node, node.input(0), TensorProto.DataType.Value(to) if to in TensorProto.DataType.keys() else 0)


def _cast(ctx: Context, node: Node, x: Value, to: int) -> Value:
    return cast_to(ctx, x, dtype_of(to), bool(node.int("saturate", 1)), node.str("round_mode", "up"))


def cast_to(ctx: Context, x: Value, dtype: DType, saturate: bool, round_mode: str = "up") -> Value:
    """``x`` as ``dtype``; ``saturate`` and ``round_mode`` matter for narrow floats."""
    source = ctx.dtype(x)
    if dtype.name == "f8E8M0FNU" and source.is_float and source is not dtype:
        return ctx("cast_scale", x, saturate=saturate, round_mode=round_mode)
    largest = LARGEST.get(dtype.name)
    if largest is not None and source.is_float and source.itemsize > 1 and (saturate or dtype.name == "f4E2M1FN"):
        x = ctx("clip", x, ctx.scalar_like(x, -largest), ctx.scalar_like(x, largest))
    return ctx.cast(x, dtype)


@onnx_op("CastLike")
def cast_like(ctx: Context, node: Node) -> Value:
    return _cast(ctx, node, node.input(0), ctx.dtype(node.input(1)).onnx)


@onnx_op("Identity", any_value=True)
def identity(ctx: Context, node: Node) -> Value:
    return node.input(0)


@onnx_op("Dropout")
def dropout(ctx: Context, node: Node) -> list[Value]:
    """Inference: the identity, with a mask that keeps everything (of the input's type before opset 10)."""
    x = node.input(0)
    training = node.optional(2)
    if training is not None and (ctx.need(training, "training_mode").any()):
        return _training_dropout(ctx, node, x)
    if not node.wants(1):
        return [x]
    dtype = dtypes.I1 if node.version >= 10 else ctx.dtype(x)
    if not ctx.spec(x).is_static:
        return [x, ctx("equal", x, x)] if dtype is dtypes.I1 else [x]
    return [x, ctx.full(1, ctx.spec(x).with_dtype(dtype))]


def _training_dropout(ctx: Context, node: Node, x: Value) -> list[Value]:
    """Elements at random become zero, the others grow; both results need the same draw."""
    ratio = node.optional(1)
    rate = 0.5 if ratio is None else float(ctx.need(ratio, "ratio").reshape(-1)[0])
    if not ctx.spec(x).is_static or not 0 <= rate < 1:
        raise UnsupportedError("dropout in training mode needs a known shape and a ratio below 1", code="GE1205")
    spec = ctx.spec(x)
    if rate == 0:
        return [x, ctx.full(1, spec.with_dtype(dtypes.I1))]
    drawn = spec.with_dtype(dtypes.F32)
    seed = float(node.int("seed")) if node.has("seed") else None
    uniform = ctx("random_uniform", None, results=[drawn], shape=spec.shape, low=0.0, high=1.0, seed=seed)
    mask = ctx("greater_equal", uniform, ctx.const(rate, dtypes.F32))
    scaled = ctx("mul", x, ctx.scalar_like(x, 1 / (1 - rate)))
    return [ctx("select", mask, scaled, ctx.scalar_like(x, 0)), mask]
