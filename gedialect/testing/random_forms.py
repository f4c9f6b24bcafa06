"""Random forms of several nodes, such as rewrite rules and kernels look for, and onnxruntime's own operators.

``OPERATORS`` has these and the single nodes of ``random_nodes``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gedialect.testing.random_models import FLOATS, Graph, Refused
from gedialect.testing.random_nodes import BYTES, NODES, Make, finite, image, scale_of, window


def _gelu(g: Graph) -> None:
    x = g.any(FLOATS, where=lambda v: v.array.size > 0)
    c = [g.put(np.asarray(n, x.dtype), True) for n in (1.4142135, 1.0, 0.5)]
    (e,) = g.node("Erf", [g.node("Div", [x, c[0]])[0]])
    (s,) = g.node("Mul", [x, g.node("Add", [e, c[1]])[0]])
    g.node("Mul", [s, c[2]])


def _attention(g: Graph) -> None:
    x = g.any(("float32",), (3, 4), lambda v: v.array.size > 0)
    k, v = g.like(x), g.like(x)
    (t,) = g.node("Transpose", [k], perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])
    (s,) = g.node("MatMul", [x, t])
    (s,) = g.node("Mul", [s, g.put(np.asarray(x.shape[-1] ** -0.5, np.float32), True)])
    if g.chance(0.5):
        (s,) = g.node("Add", [s, g.broadcastable(s)])
    (p,) = g.node("Softmax", [s], axis=-1)
    g.node("MatMul", [p, v])


def _norm(g: Graph) -> None:
    x = g.any(("float32",), (1, 4), lambda v: v.array.size > 0)
    old = g.opset < 18
    axes, more = ([-1], []) if old else (None, [g.ints(-1)])
    (m,) = g.node("ReduceMean", [x, *more], keepdims=1, axes=axes)
    (d,) = g.node("Sub", [x, m])
    (q,) = g.node("ReduceMean", [g.node("Mul", [d, d])[0], *more], keepdims=1, axes=axes)
    (r,) = g.node("Sqrt", [g.node("Add", [q, g.put(np.asarray(1e-5, np.float32), True)])[0]])
    (n,) = g.node("Div", [d, r])
    (n,) = g.node("Mul", [n, g.fresh("float32", x.shape[-1:])])
    g.node("Add", [n, g.fresh("float32", x.shape[-1:])])


def _swish(g: Graph) -> None:
    x = g.any(FLOATS)
    g.node("Mul", [x, g.node("Sigmoid", [x])[0]])


def _residual(g: Graph) -> None:
    x = g.any(("float32",), (2, 3), lambda v: v.array.size > 0)
    (y,) = g.node("MatMul", [x, g.fresh("float32", (x.shape[-1], x.shape[-1]))])
    (y,) = g.node("Add", [y, g.fresh("float32", x.shape[-1:])])
    (y,) = g.node(g.pick(["Relu", "Tanh", "Sigmoid"]), [y])
    g.node("Add", [y, x])


def _conv_norm(g: Graph) -> None:
    x = image(g, ("float32",), (2, 2))
    out = g.integer(1, 8)
    attrs = window(g, x)
    if g.chance(0.3):
        (x,) = g.node("Pad", [x, g.ints(0, 0, 1, 1, 0, 0, 1, 1)])
    w = g.fresh("float32", (out, x.shape[1], *attrs["kernel_shape"]), True)
    (y,) = g.node("Conv", [x, w], **attrs)
    scale, bias, mean = (g.fresh("float32", (out,), True) for _ in range(3))
    var = g.put(np.abs(g.numbers("float32", (out,))) + np.float32(0.1), True)
    (y,) = g.node("BatchNormalization", [y, scale, bias, mean, var])
    g.node(g.pick(["Relu", "Sigmoid", "HardSwish", "Identity"]), [y])


def _rms_norm(g: Graph) -> None:
    x = g.any(("float32",), (1, 4), lambda v: v.array.size > 0)
    axes, more = ([-1], []) if g.opset < 18 else (None, [g.ints(-1)])
    two = g.put(np.asarray(2, np.float32), True)
    (q,) = g.node("ReduceMean", [g.node("Pow", [x, two])[0], *more], keepdims=1, axes=axes)
    (r,) = g.node("Sqrt", [g.node("Add", [q, g.put(np.asarray(1e-6, np.float32), True)])[0]])
    (n,) = g.node("Mul", [x, g.node("Reciprocal", [r])[0]]) if g.chance(0.5) else g.node("Div", [x, r])
    g.node("Mul", [g.fresh("float32", x.shape[-1:]), n])


def _heads(g: Graph) -> None:
    """Rows into heads and back, as attention does."""
    heads = g.pick([2, 4])
    x = g.any(("float32",), (3, 3), lambda v: v.shape[2] % heads == 0 and v.array.size > 0)
    b, s, d = x.shape
    (y,) = g.node("MatMul", [x, g.fresh("float32", (d, d))])
    (y,) = g.node("Reshape", [y, g.ints(b, s, heads, d // heads)])
    (y,) = g.node(
        "Transpose",
        [
            y,
        ],
        perm=[0, 2, 1, 3],
    )
    (t,) = g.node("Transpose", [y], perm=[0, 1, 3, 2])
    (p,) = g.node("Softmax", [g.node("MatMul", [y, t])[0]], axis=-1)
    (y,) = g.node("Transpose", [g.node("MatMul", [p, y])[0]], perm=[0, 2, 1, 3])
    g.node("Reshape", [y, g.ints(b, s, d)])


def _rotary(g: Graph) -> None:
    x = g.any(("float32",), (2, 4), lambda v: v.shape[-1] % 2 == 0 and v.array.size > 0)
    half = x.shape[-1] // 2
    a, b = g.node("Split", [x, g.ints(half, half)], 2, axis=-1)
    (turned,) = g.node("Concat", [g.node("Neg", [b])[0], a], axis=-1)
    cos, sin = (g.fresh("float32", x.shape[-2:]) for _ in range(2))
    (y,) = g.node("Mul", [turned, sin])
    g.node("Add", [g.node("Mul", [x, cos])[0], y])


def _gated(g: Graph) -> None:
    x = g.any(("float32", "float16"), (2, 3), lambda v: v.shape[-1] % 2 == 0 and v.array.size > 0)
    half = x.shape[-1] // 2
    a, b = g.node("Split", [x, g.ints(half, half)], 2, axis=-1)
    if g.chance(0.5):
        a, b = b, a
    if g.chance(0.5):
        (a,) = g.node("Mul", [a, g.node("Sigmoid", [a])[0]])
    else:
        (a,) = g.node("Gelu", [a], approximate=g.pick(["none", "tanh"]))
    g.node("Mul", [a, b])


def _slices_joined(g: Graph) -> None:
    x = g.any(("float32", "float16", "int32"), (1, 4), lambda v: v.shape[-1] > 1)
    cut = g.integer(1, x.shape[-1] - 1)
    ends = g.pick([1 << 40, x.shape[-1]])
    parts = [g.node("Slice", [x, g.ints(begin), g.ints(end), g.ints(-1)])[0] for begin, end in ((0, cut), (cut, ends))]
    g.node("Concat", parts if g.chance(0.5) else parts[::-1], axis=-1)


def _through(g: Graph) -> None:
    """A chain of moves, with an element-wise op inside."""
    x = g.any((*FLOATS, "int32", "int8"), (1, 4), lambda v: v.array.size > 0)
    for _ in range(g.integer(2, 4)):
        if g.chance(0.3):
            (x,) = g.node(g.pick(["Abs", "Neg", "Sign"]), [x])
        elif g.chance(0.5):
            (x,) = g.node("Transpose", [x], perm=[int(i) for i in g.rng.permutation(x.rank)])
        else:
            dims = [*x.shape]
            g.rng.shuffle(dims)
            (x,) = g.node("Reshape", [x, g.ints(*dims)])


def _quantised_product(g: Graph) -> None:
    """A product between dequantised operands, quantised again: what becomes a product of integers."""
    x = g.any(("float32",), (2, 3), lambda v: v.array.size > 0 and finite(v))
    n = g.pick([1, 3, 8, 17])
    kind = g.pick(BYTES)
    zero = g.put(g.numbers(kind, ()), True)
    scale = scale_of(g)
    (q,) = g.node("QuantizeLinear", [x, scale, zero])
    (d,) = g.node("DequantizeLinear", [q, scale, zero])
    per_channel = g.chance(0.5)
    w = g.put(g.rng.integers(-127, 128, (x.shape[-1], n)).astype(np.int8), True)
    w_scale = scale_of(g, (n,) if per_channel else ())
    w_zero = g.put(np.zeros((n,) if per_channel else (), np.int8), True)
    (e,) = g.node("DequantizeLinear", [w, w_scale, w_zero], axis=1 if per_channel else None)
    (y,) = g.node("MatMul", [d, e])
    if g.chance(0.5):
        (y,) = g.node("Add", [y, g.fresh("float32", (n,), True)])
    if g.chance(0.6):
        g.node("QuantizeLinear", [y, g.put(np.asarray(0.3, np.float32), True), zero])


def _quantised_conv(g: Graph) -> None:
    x = image(g, ("float32",), (2, 2))
    if not finite(x):
        raise Refused("nan")
    out = g.integer(1, 6)
    attrs = window(g, x)
    kind = g.pick(BYTES)
    zero, scale = g.put(g.numbers(kind, ()), True), scale_of(g)
    (d,) = g.node("DequantizeLinear", [g.node("QuantizeLinear", [x, scale, zero])[0], scale, zero])
    w = g.put(g.rng.integers(-127, 128, (out, x.shape[1], *attrs["kernel_shape"])).astype(np.int8), True)
    per_channel = g.chance(0.5)
    w_scale = scale_of(g, (out,) if per_channel else ())
    w_zero = g.put(np.zeros((out,) if per_channel else (), np.int8), True)
    (e,) = g.node("DequantizeLinear", [w, w_scale, w_zero], axis=0 if per_channel else None)
    bias = [g.fresh("float32", (out,), True)] if g.chance(0.5) else []
    (y,) = g.node("Conv", [d, e, *bias], **attrs)
    if g.chance(0.5):
        (y,) = g.node("Relu", [y])
    if g.chance(0.6):
        g.node("QuantizeLinear", [y, g.put(np.asarray(0.3, np.float32), True), zero])


def _add_norm(g: Graph) -> None:
    x = g.any(("float32",), (1, 4), lambda v: v.array.size > 0)
    (y,) = g.node("Add", [x, g.like(x)])
    size = x.shape[-1:]
    g.node("LayerNormalization", [y, g.fresh("float32", size), g.fresh("float32", size)], axis=-1)


# ---------------------------------------------------------------- onnxruntime's own operators
MS = "com.microsoft"


def _ms_activation(op: str, g: Graph) -> None:
    x = g.any(("float32",), (1, 4), lambda v: v.array.size > 0)
    bias = [g.fresh("float32", x.shape[-1:])] if op == "BiasGelu" or (op == "FastGelu" and g.chance(0.5)) else []
    g.node(op, [x, *bias], domain=MS)


def _fused_matmul(g: Graph) -> None:
    x = g.any(("float32",), (2, 4), lambda v: v.array.size > 0)
    turn_x, turn_y = g.integer(0, 1), g.integer(0, 1)
    k, n = x.shape[-2] if turn_x else x.shape[-1], g.pick([1, 3, 8])
    y = g.fresh("float32", (n, k) if turn_y else (k, n))
    g.node("FusedMatMul", [x, y], domain=MS, transA=turn_x, transB=turn_y, alpha=g.pick([1.0, 0.5]))


def _skip_layer_norm(g: Graph) -> None:
    x = g.any(("float32",), (3, 3), lambda v: v.array.size > 0)
    size = x.shape[-1:]
    more = [g.fresh("float32", size) for _ in range(g.integer(1, 3))]
    g.node("SkipLayerNormalization", [x, g.like(x), *more], domain=MS, epsilon=1e-5)


def _ms_quantised(op: str, g: Graph) -> None:
    x = g.any(("uint8",), (1, 4), lambda v: v.array.size > 0)
    zero = [g.put(g.numbers("uint8", ()), True) for _ in range(3)]
    scale = [scale_of(g) for _ in range(3)]
    if op in ("QLinearAdd", "QLinearMul"):
        y = g.broadcastable(x)
        g.node(op, [x, scale[0], zero[0], y, scale[1], zero[1], scale[2], zero[2]], domain=MS)
    else:
        g.node(op, [x, scale[0], zero[0], scale[2], zero[2]], domain=MS)


OPERATORS: dict[str, Make] = {
    **NODES,
    **{name: partial(_ms_activation, name) for name in ("BiasGelu", "FastGelu", "QuickGelu")},
    "FusedMatMul": _fused_matmul,
    "SkipLayerNormalization": _skip_layer_norm,
    **{
        name: partial(_ms_quantised, name)
        for name in ("QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearLeakyRelu")
    },
    "gelu": _gelu,
    "attention": _attention,
    "layer norm": _norm,
    "swish": _swish,
    "residual": _residual,
    "conv norm": _conv_norm,
    "rms norm": _rms_norm,
    "heads": _heads,
    "rotary": _rotary,
    "gated": _gated,
    "slices joined": _slices_joined,
    "moves": _through,
    "quantised product": _quantised_product,
    "quantised conv": _quantised_conv,
    "add norm": _add_norm,
}
"""Operator, or form of several, -> what adds it to a graph."""

WEIGHTS = {
    **dict.fromkeys(("Add", "Mul", "Sub", "MatMul", "Conv", "Reshape", "Transpose", "Slice", "Concat", "Split"), 3.0),
    **dict.fromkeys(("Relu", "Where", "Cast", "Softmax", "Gemm", "ReduceSum", "ReduceMean", "MaxPool", "Pad"), 2.0),
    **dict.fromkeys(("residual", "attention", "layer norm", "swish", "gelu", "conv norm", "rms norm", "heads"), 1.5),
    **dict.fromkeys(("rotary", "gated", "moves", "quantised product", "quantised conv", "add norm"), 1.5),
}
"""How much more often than others."""
