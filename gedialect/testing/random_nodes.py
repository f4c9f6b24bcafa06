"""How a random node of each operator is made: which operands and attributes it takes (``NODES``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from gedialect.testing.random_models import DTYPES, FLOATS, Graph, Refused, Value

Make = Callable[[Graph], object]
INTS = ("int32", "int64")
BYTES = ("int8", "uint8")
ORDERED = ("float32", "float32", "int32", "int64")
"""Types to search in. Where onnxruntime computes f16 in f32 it does not round, so that nothing is equal."""
NUMBERS = (*FLOATS, *FLOATS, *INTS)


# ---------------------------------------------------------------- element by element
def _unary(op: str, dtypes: Sequence[str], attrs: dict[str, tuple[float, float]], g: Graph) -> None:
    chosen: dict[str, Any] = {k: float(np.float32(g.rng.uniform(*r))) for k, r in attrs.items() if g.chance(0.7)}
    g.node(op, [g.any(dtypes)], **chosen)


def _binary(op: str, dtypes: Sequence[str], g: Graph) -> None:
    x = g.any(dtypes)
    y = g.broadcastable(x)
    g.node(op, [y, x] if g.chance(0.3) else [x, y])


def _div(g: Graph) -> None:
    x = g.any(NUMBERS)
    if x.dtype in FLOATS:
        g.node("Div", [x, g.broadcastable(x)])
        return
    # integer division by zero is a trap in onnxruntime
    y = g.numbers(x.dtype, x.shape[g.integer(0, x.rank) :])
    g.node("Div", [x, g.put(np.where(y == 0, 3, y).astype(x.dtype))])


def _mod(g: Graph) -> None:
    x = g.any(NUMBERS)
    y = g.numbers(x.dtype, x.shape[g.integer(0, x.rank) :])
    y = np.where(np.abs(y) < 0.5, 3, y).astype(x.dtype)
    g.node("Mod", [x, g.put(y)], fmod=1 if x.dtype in FLOATS or g.chance(0.3) else None)


def _pow(g: Graph) -> None:
    x = g.any(FLOATS)
    if g.chance(0.5):
        y = np.asarray(g.pick([0.5, 2, 3, -1, 1, 0, 1.5]), g.pick(["float32", "int64", x.dtype]))
        g.node("Pow", [x, g.put(y, True)])
    else:
        g.node("Pow", [g.node("Abs", [x])[0], g.broadcastable(x)])


def _shift(g: Graph) -> None:
    x = g.any(("uint8",))
    amount = g.put(g.rng.integers(0, 8, x.shape).astype(np.uint8))
    g.node("BitShift", [x, amount], direction=g.pick(["LEFT", "RIGHT"]))


def _variadic(op: str, dtypes: Sequence[str], g: Graph) -> None:
    x = g.any(dtypes)
    g.node(op, [x, *(g.broadcastable(x) for _ in range(g.integer(0, 3)))])


def _clip(g: Graph) -> None:
    x = g.any((*FLOATS, *INTS, "int8", "uint8"))
    low, high = sorted(g.numbers(x.dtype, (2,)).tolist())
    bounds = [None if g.chance(0.2) else g.put(np.asarray(b, x.dtype)) for b in (low, high)]
    g.node("Clip", [x, *bounds])


def _prelu(g: Graph) -> None:
    x = g.any(FLOATS, (1, 5))
    shape = x.shape[g.integer(0, x.rank - 1) :]
    g.node("PRelu", [x, g.fresh(x.dtype, [1 if g.chance(0.3) else d for d in shape])])


def _cast(g: Graph) -> None:
    x = g.any()
    to = g.pick([d for d in DTYPES if d != x.dtype])
    if x.dtype in FLOATS and to not in FLOATS and to != "bool":
        # what a float out of range becomes is not specified
        low, high = (0, 100) if to == "uint8" else (-100, 100)
        (x,) = g.node("Clip", [x, g.put(np.asarray(low, x.dtype), True), g.put(np.asarray(high, x.dtype), True)])
        if bool(np.isnan(x.array).any()):
            raise Refused("nan has no integer")
    g.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def _where(g: Graph) -> None:
    x = g.any()
    condition = g.any(("bool",), where=lambda v: v.shape == x.shape) if g.chance(0.4) else None
    if condition is None:
        condition = g.fresh("bool", [1 if g.chance(0.2) else d for d in x.shape])
    g.node("Where", [condition, x, g.broadcastable(x)])


# ---------------------------------------------------------------- along axes
def _axis(g: Graph, x: Value) -> int:
    return g.integer(-x.rank, x.rank - 1)


def _some_axes(g: Graph, rank: int) -> list[int]:
    chosen = [a for a in range(rank) if g.chance(0.5)]
    return [a - rank if g.chance(0.3) else a for a in chosen]


def _reduce(op: str, dtypes: Sequence[str], g: Graph) -> None:
    most = op in ("ReduceMax", "ReduceMin")
    x = g.any(
        dtypes, where=lambda v: (v.array.size > 0 or op in ("ReduceSum", "ReduceProd")) and (finite(v) or not most)
    )
    axes = _some_axes(g, x.rank)
    keep = g.integer(0, 1)
    if g.opset < 18 and (op != "ReduceSum" or g.opset < 13):
        g.node(op, [x], axes=axes or None, keepdims=keep)
    elif axes or g.chance(0.3):
        g.node(op, [x, g.ints(*axes)], keepdims=keep, noop_with_empty_axes=g.integer(0, 1))
    else:
        g.node(op, [x], keepdims=keep)


def _arg(op: str, g: Graph) -> None:
    x = g.any(ORDERED, (1, 5), lambda v: v.array.size > 0 and finite(v))
    g.node(op, [x], axis=_axis(g, x), keepdims=g.integer(0, 1), select_last_index=g.integer(0, 1))


def _cumsum(g: Graph) -> None:
    x = g.any(NUMBERS, (1, 5))
    axis = g.put(np.asarray(_axis(g, x), np.int64), True)
    g.node("CumSum", [x, axis], exclusive=g.integer(0, 1), reverse=g.integer(0, 1))


def _top_k(g: Graph) -> None:
    x = g.any(ORDERED, (1, 5), lambda v: v.array.size > 0 and finite(v))
    axis = _axis(g, x)
    k = g.ints(g.integer(1, x.shape[axis]))
    g.node("TopK", [x, k], 2, axis=axis, largest=g.integer(0, 1), sorted=1)


def _along(op: str, g: Graph) -> None:
    x = g.any(FLOATS, (1, 5), lambda v: v.array.size > 0 and (op != "Hardmax" or finite(v)))
    g.node(op, [x], axis=_axis(g, x))


def _lp_norm(g: Graph) -> None:
    x = g.any(("float32",), (1, 5), lambda v: v.array.size > 0)
    g.node("LpNormalization", [x], axis=_axis(g, x), p=g.integer(1, 2))


# ---------------------------------------------------------------- products
def _matmul(g: Graph) -> None:
    x = g.any((*FLOATS, "int32"), (1, 5))
    n = g.dim()
    k = x.shape[-1]
    kind = g.integer(0, 3)
    if kind == 0:
        shape: tuple[int, ...] = (k,)
    elif kind == 1:
        shape = (k, n)
    else:
        batch = x.shape[:-2][g.integer(0, max(x.rank - 2, 0)) :]
        shape = (*(1 if g.chance(0.2) else d for d in batch), k, n)
    y = g.like(x, shape)
    if g.chance(0.3) and x.rank >= 2:
        perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        (t,) = g.node("Transpose", [x], perm=perm)
        g.node("MatMul", [g.fresh(x.dtype, (g.dim(), t.shape[-2])), t])
        return
    g.node("MatMul", [x, y])


def _gemm(g: Graph) -> None:
    x = g.any(FLOATS, (2, 2))
    turn_x, turn_y = g.integer(0, 1), g.integer(0, 1)
    m, k = (x.shape[1], x.shape[0]) if turn_x else x.shape
    n = g.dim()
    y = g.like(x, (n, k) if turn_y else (k, n))
    bias = None
    if g.chance(0.7):
        bias = g.like(x, g.pick([(n,), (1, n), (m, 1), (m, n), (1,), ()]))
    alpha, beta = (g.pick([1.0, 1.0, 0.5, 2.0]) for _ in range(2))
    g.node("Gemm", [x, y, bias] if bias else [x, y], transA=turn_x, transB=turn_y, alpha=alpha, beta=beta)


def _einsum(g: Graph) -> None:
    x = g.any(("float32",), (2, 4))
    letters = "abcdef"[: x.rank]
    shared = [c for c in letters if g.chance(0.5)]
    other = [*shared, *(["z"] if g.chance(0.6) else [])]
    g.rng.shuffle(other)
    sizes = dict(zip(letters, x.shape, strict=True))
    y = g.fresh(x.dtype, [sizes.get(c, 3) for c in other])
    result = [c for c in dict.fromkeys([*letters, *other]) if g.chance(0.7)]
    g.rng.shuffle(result)
    g.node("Einsum", [x, y], equation=f"{letters},{''.join(other)}->{''.join(result)}")


def _matmul_integer(g: Graph) -> None:
    x = g.any(BYTES, (2, 3), lambda v: v.array.size > 0)
    y = g.fresh(g.pick(BYTES), (x.shape[-1], g.pick([1, 3, 8, 17])))
    zeros = [g.put(g.numbers(v.dtype, ()), True) if g.chance(0.6) else None for v in (x, y)]
    g.node("MatMulInteger", [x, y, *zeros])


# ---------------------------------------------------------------- windows
def image(g: Graph, dtypes: Sequence[str] = FLOATS, dims: tuple[int, int] = (1, 3)) -> Value:
    """[batch, channels, spatial...]"""
    fits = [
        v
        for v in g.values
        if v.dtype in dtypes and dims[0] + 2 <= v.rank <= dims[1] + 2 and v.array.size > 0 and min(v.shape[2:]) > 1
    ]
    if fits and g.chance(0.8):
        return g.pick(fits)
    spatial = g.pick([d for d in (1, 2, 2, 2, 3) if dims[0] <= d <= dims[1]])
    size = {1: 17, 2: 9, 3: 5}[spatial]
    shape = (g.integer(1, 2), g.pick([1, 2, 3, 4, 8, 16]), *(g.integer(3, size) for _ in range(spatial)))
    return g.fresh(g.pick(dtypes), shape)


def window(g: Graph, x: Value, *, pool: bool = False) -> dict[str, Any]:
    """kernel_shape, strides, dilations and pads for the spatial sizes of ``x``."""
    spatial = x.shape[2:]
    kernel = [g.integer(1, min(3, d)) for d in spatial]
    attrs: dict[str, Any] = {"kernel_shape": kernel}
    if g.chance(0.5):
        attrs["strides"] = [g.integer(1, 3) for _ in spatial]
    if g.chance(0.25):
        # a window larger than what it goes over is an error here, no or half a window in onnxruntime
        attrs["dilations"] = [g.integer(1, 2 if 2 * k - 1 <= d else 1) for k, d in zip(kernel, spatial, strict=True)]
    if g.chance(0.6):
        # onnxruntime pads a dilated pool as if it were none, which contradicts the sizes the operator states
        if g.chance(0.2) and not (pool and "dilations" in attrs):
            attrs["auto_pad"] = g.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
        else:
            attrs["pads"] = [g.integer(0, k - 1) for k in kernel * 2]
    return attrs


def _conv(g: Graph) -> None:
    x = image(g)
    groups = g.pick([d for d in (1, 1, 2, x.shape[1]) if x.shape[1] % d == 0])
    out = groups * g.integer(1, 4)
    attrs = window(g, x)
    w = g.fresh(x.dtype, (out, x.shape[1] // groups, *attrs["kernel_shape"]))
    bias = [g.fresh(x.dtype, (out,))] if g.chance(0.5) else []
    (y,) = g.node("Conv", [x, w, *bias], group=groups, **attrs)
    if g.chance(0.3):
        g.node(g.pick(["Relu", "Sigmoid", "HardSwish"]), [y])


def _conv_transpose(g: Graph) -> None:
    x = image(g, ("float32",))
    groups = g.pick([d for d in (1, 1, 2, x.shape[1]) if x.shape[1] % d == 0])
    out = g.integer(1, 4)
    attrs = window(g, x)
    if g.chance(0.3) and "strides" in attrs:
        attrs["output_padding"] = [g.integer(0, s - 1) for s in attrs["strides"]]
    if any(s > k for s, k in zip(attrs.get("strides", ()), attrs["kernel_shape"], strict=False)):
        attrs.pop("auto_pad", None)  # onnxruntime does not crop, and gives another size than the operator states
    w = g.fresh(x.dtype, (x.shape[1], out, *attrs["kernel_shape"]))
    bias = [g.fresh(x.dtype, (out * groups,))] if g.chance(0.5) else []
    g.node("ConvTranspose", [x, w, *bias], group=groups, **attrs)


def _max_pool(g: Graph) -> None:
    x = image(g, (*FLOATS, *BYTES))
    if not finite(x):
        raise Refused("nan")
    attrs = window(g, x, pool=True)
    outputs = 2 if g.chance(0.15) else 1
    g.node("MaxPool", [x], outputs, ceil_mode=g.integer(0, 1), **attrs)


def _avg_pool(g: Graph) -> None:
    x = image(g, ("float32",))
    attrs = window(g, x, pool=True)
    if g.opset < 19:
        attrs.pop("dilations", None)
    # with ceil_mode and count_include_pad, versions of onnxruntime differ in what the last windows are divided by
    include = g.integer(0, 1)
    g.node("AveragePool", [x], count_include_pad=include, ceil_mode=0 if include else g.integer(0, 1), **attrs)


def _lp_pool(g: Graph) -> None:
    x = image(g, ("float32",))
    attrs = window(g, x, pool=True)
    attrs.pop("dilations", None)
    g.node("LpPool", [x], p=g.integer(1, 2), **attrs)


def _global(op: str, g: Graph) -> None:
    x = image(g, ("float32",))
    if not finite(x):
        raise Refused("nan")
    g.node(op, [x])


def _resize(g: Graph) -> None:
    x = image(g, ("float32",), (1, 2))
    mode = g.pick(["nearest", "linear", "cubic"] if x.rank == 4 else ["nearest", "linear"])
    where = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    nearest = g.pick(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"]) if mode == "nearest" else None
    common: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": where, "nearest_mode": nearest}
    if g.chance(0.5):
        scales = np.asarray([1, 1, *(g.pick([0.5, 1, 2, 3]) for _ in x.shape[2:])], np.float32)
        g.node("Resize", [x, None, g.put(scales, True)], **common)
    else:
        sizes = [*x.shape[:2], *(g.integer(1, 12) for _ in x.shape[2:])]
        g.node("Resize", [x, None, None, g.ints(*sizes)], **common)


def _batch_norm(g: Graph) -> None:
    x = g.any(("float32",), (2, 5), lambda v: v.array.size > 0)
    c = x.shape[1]
    scale, bias, mean = (g.fresh(x.dtype, (c,), g.chance(0.8)) for _ in range(3))
    var = g.put(np.abs(g.numbers("float32", (c,))) + np.float32(0.1), True)
    g.node("BatchNormalization", [x, scale, bias, mean, var], epsilon=g.pick([1e-5, 1e-3]))


def _instance_norm(g: Graph) -> None:
    x = image(g, ("float32",))
    g.node("InstanceNormalization", [x, *(g.fresh(x.dtype, (x.shape[1],)) for _ in range(2))])


def _layer_norm(g: Graph) -> None:
    x = g.any(("float32",), (1, 5), lambda v: v.array.size > 0)
    axis = _axis(g, x)
    shape = x.shape[axis:]
    bias = [g.fresh(x.dtype, shape)] if g.chance(0.7) else []
    g.node("LayerNormalization", [x, g.fresh(x.dtype, shape), *bias], axis=axis, epsilon=g.pick([1e-5, 1e-3]))


def _group_norm(g: Graph) -> None:
    x = image(g, ("float32",))
    groups = g.pick([d for d in range(1, x.shape[1] + 1) if x.shape[1] % d == 0])
    size = x.shape[1] if g.opset >= 21 else groups
    g.node("GroupNormalization", [x, *(g.fresh(x.dtype, (size,)) for _ in range(2))], num_groups=groups)


def _lrn(g: Graph) -> None:
    g.node("LRN", [image(g, ("float32",), (2, 2))], size=g.pick([1, 3, 5]), alpha=0.1, beta=0.75, bias=1.0)


def _mean_variance(g: Graph) -> None:
    g.node("MeanVarianceNormalization", [image(g, ("float32",), (2, 2))])


# ---------------------------------------------------------------- moves
def _reshape(g: Graph) -> None:
    x = g.any(where=lambda v: v.array.size > 0)
    size = x.array.size
    dims: list[int] = []
    for _ in range(g.integer(0, 3)):
        factors = [d for d in range(1, min(size, 40) + 1) if size % d == 0]
        dims.append(g.pick(factors))
        size //= dims[-1]
    dims.insert(g.integer(0, len(dims)), size)
    if g.chance(0.4):
        dims[g.integer(0, len(dims) - 1)] = -1
    elif g.chance(0.3):
        dims = [0 if i < x.rank and x.shape[i] == d else d for i, d in enumerate(dims)]
    g.node("Reshape", [x, g.ints(*dims)])


def _transpose(g: Graph) -> None:
    x = g.any()
    perm = [int(i) for i in g.rng.permutation(x.rank)]
    g.node("Transpose", [x], perm=perm if x.rank and g.chance(0.9) else None)


def _flatten(g: Graph) -> None:
    x = g.any(where=lambda v: v.rank > 0)
    g.node("Flatten", [x], axis=g.integer(-x.rank, x.rank))


def _squeeze(g: Graph) -> None:
    x = g.any(where=lambda v: 1 in v.shape)
    axes = [i for i, d in enumerate(x.shape) if d == 1 and g.chance(0.7)]
    g.node("Squeeze", [x, g.ints(*axes)] if axes else [x])


def _unsqueeze(g: Graph) -> None:
    x = g.any(ranks=(0, 4))
    g.node("Unsqueeze", [x, g.ints(g.integer(-x.rank - 1, x.rank))])


def _slice(g: Graph) -> None:
    x = g.any(ranks=(1, 5))
    axes = [a for a in range(x.rank) if g.chance(0.6)] or [0]
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for a in axes:
        d = x.shape[a]
        step: int = g.pick([1, 1, 1, 2, 3, -1, -2])
        low, high = sorted((g.integer(0, max(d - 1, 0)), g.integer(0, d)))
        if step > 0:
            starts.append(low if g.chance(0.7) else low - d)
            ends.append(high + 1 if g.chance(0.7) else 1 << 40)
        else:
            starts.append(high if g.chance(0.7) else -1)
            ends.append(low - 1 if low > 0 and g.chance(0.7) else -(1 << 40))
        steps.append(step)
    g.node("Slice", [x, g.ints(*starts), g.ints(*ends), g.ints(*axes), g.ints(*steps)])


def _cuts(g: Graph, size: int, parts: int) -> list[int]:
    """Sizes of ``parts`` parts, none empty."""
    cuts = sorted(int(c) for c in g.rng.choice(size - 1, parts - 1, replace=False))
    return [b - a for a, b in zip([-1, *cuts], [*cuts, size - 1], strict=True)]


def _split(g: Graph) -> None:
    x = g.any(where=lambda v: v.rank > 0 and max(v.shape) > 1)
    axis: int = g.pick([a for a, d in enumerate(x.shape) if d > 1])
    parts = g.integer(2, min(4, x.shape[axis]))
    g.node("Split", [x, g.ints(*_cuts(g, x.shape[axis], parts))], parts, axis=axis - x.rank if g.chance(0.3) else axis)


def _concat(g: Graph) -> None:
    x = g.any(ranks=(1, 5))
    axis = _axis(g, x)
    parts = [x]
    for _ in range(g.integer(0, 3)):
        shape = list(x.shape)
        shape[axis] = g.dim() if g.chance(0.3) else shape[axis]
        parts.append(g.like(x, shape))
    g.node("Concat", parts if g.chance(0.5) else parts[::-1], axis=axis)


def _expand(g: Graph) -> None:
    x = g.any(ranks=(0, 4))
    shape = [g.pick([2, 3]) if d == 1 and g.chance(0.6) else d for d in x.shape]
    g.node("Expand", [x, g.ints(*([g.pick([1, 2])] if g.chance(0.3) else []), *shape)])


def _tile(g: Graph) -> None:
    x = g.any(ranks=(1, 4))
    g.node("Tile", [x, g.ints(*(g.pick([1, 1, 2, 3]) for _ in x.shape))])


def _pad(g: Graph) -> None:
    x = g.any((*FLOATS, *INTS, "int8", "uint8"), (1, 4), lambda v: v.array.size > 0)
    mode = g.pick(["constant", "constant", "reflect", "edge"])
    most = [min(d - 1, 3) if mode == "reflect" else 3 for d in x.shape]
    pads = [g.integer(0, m) if g.chance(0.6) else 0 for m in most * 2]
    if mode == "constant" and g.chance(0.2):
        pads = [-1 if p and d > 3 else p for p, d in zip(pads, x.shape * 2, strict=True)]
    fill = [g.put(g.numbers(x.dtype, ()), True)] if mode == "constant" and g.chance(0.6) else []
    g.node("Pad", [x, g.ints(*pads), *fill], mode=mode)


def _depth_to_space(g: Graph) -> None:
    x = g.fresh("float32", (g.integer(1, 2), 4 * g.integer(1, 3), g.integer(1, 4), g.integer(1, 4)), False)
    g.node("DepthToSpace", [x], blocksize=2, mode=g.pick(["DCR", "CRD"]))


def _space_to_depth(g: Graph) -> None:
    x = g.any(("float32",), (4, 4), lambda v: v.shape[2] % 2 == 0 and v.shape[3] % 2 == 0 and v.array.size > 0)
    g.node("SpaceToDepth", [x], blocksize=2)


def _trilu(g: Graph) -> None:
    x = g.any((*FLOATS, *INTS, "bool"), (2, 4))
    diagonal = [g.put(np.asarray(g.integer(-3, 3), np.int64), True)] if g.chance(0.6) else []
    g.node("Trilu", [x, *diagonal], upper=g.integer(0, 1))


def _indices(g: Graph, size: int, shape: Sequence[int]) -> Value:
    return g.put(g.rng.integers(-size, size, tuple(shape)).astype(g.pick(INTS)))


def _gather(g: Graph) -> None:
    x = g.any(ranks=(1, 4), where=lambda v: v.array.size > 0)
    axis = _axis(g, x)
    g.node("Gather", [x, _indices(g, x.shape[axis], g.shape(0, 2)[:2])], axis=axis)


def _gather_elements(g: Graph) -> None:
    x = g.any(ranks=(1, 4), where=lambda v: v.array.size > 0)
    axis = _axis(g, x)
    shape = list(x.shape)
    shape[axis] = g.integer(1, 5)
    g.node("GatherElements", [x, _indices(g, x.shape[axis], shape)], axis=axis)


def _gather_nd(g: Graph) -> None:
    x = g.any(ranks=(1, 4), where=lambda v: v.array.size > 0)
    depth = g.integer(1, x.rank)
    rows = g.integer(1, 5)
    columns = [g.rng.integers(-d, d, rows) for d in x.shape[:depth]]
    g.node("GatherND", [x, g.put(np.stack(columns, -1).astype(np.int64))])


def _scatter_elements(g: Graph) -> None:
    x = g.any((*FLOATS, "int32"), (1, 3), lambda v: v.array.size > 0)
    axis = _axis(g, x)
    how = g.pick([None, None, "add", "mul", "max", "min"])
    shape = [g.integer(1, d) for d in x.shape]
    size = x.shape[axis]
    if how is None:  # the same place twice has no defined result
        order = np.argsort(g.rng.random([*shape[: axis % x.rank], size, *shape[axis % x.rank + 1 :]]), axis=axis)
        places = np.take(order, np.arange(shape[axis]), axis=axis)
    else:
        places = g.rng.integers(-size, size, shape)
    operands = [x, g.put(places.astype(np.int64)), g.like(x, shape)]
    g.node("ScatterElements", operands, axis=axis, reduction=how)


def _scatter_nd(g: Graph) -> None:
    x = g.any((*FLOATS, "int32"), (1, 3), lambda v: v.array.size > 0)
    depth = g.integer(1, x.rank)
    how = g.pick([None, "add", "max"])
    count = int(np.prod(x.shape[:depth]))
    rows = g.integer(1, min(4, count))
    flat = g.rng.choice(count, rows, replace=how is not None)
    places = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64)
    updates = g.like(x, (rows, *x.shape[depth:]))
    g.node("ScatterND", [x, g.put(places), updates], reduction=how)


def _reverse_sequence(g: Graph) -> None:
    x = g.any((*FLOATS, "int32"), (2, 4), lambda v: v.array.size > 0)
    batch = g.integer(0, 1)
    lengths = g.put(g.rng.integers(1, x.shape[1 - batch] + 1, x.shape[batch]).astype(np.int64))
    g.node("ReverseSequence", [x, lengths], batch_axis=batch, time_axis=1 - batch)


def _one_hot(g: Graph) -> None:
    depth = g.integer(1, 8)
    places = _indices(g, depth, g.shape(0, 2))
    kind = g.pick(["float32", "int32", "int64"])
    values = g.put(g.numbers(kind, (2,)), True)
    g.node("OneHot", [places, g.put(np.asarray(depth, np.int64), True), values], axis=g.integer(-1, places.rank))


def _eye(g: Graph) -> None:
    x = g.any((*FLOATS, "int32"), (2, 2))
    g.node("EyeLike", [x], k=g.integer(-2, 2), dtype=TensorProto.FLOAT if g.chance(0.5) else None)


def _shape_of(g: Graph) -> None:
    x = g.any()
    (y,) = g.node("Shape", [x], start=g.integer(-2, 1) if g.opset >= 15 and g.chance(0.4) else None)
    if x.rank and y.shape == (x.rank,) and g.chance(0.5):
        g.node("ConstantOfShape", [y], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [g.pick([0.0, 1.5])]))


# ---------------------------------------------------------------- quantised
def finite(v: Value) -> bool:
    """What nan is quantised to is not specified, and whether it is the largest depends on where it lies."""
    return bool(np.isfinite(v.array).all())


def scale_of(g: Graph, shape: Sequence[int] = ()) -> Value:
    return g.put((0.02 + 0.1 * g.rng.random(tuple(shape))).astype(np.float32), True)


def _quantize(g: Graph) -> None:
    x = g.any(("float32",), (0, 4), finite)
    kind = g.pick(BYTES)
    per_axis = x.rank > 0 and g.chance(0.4)
    axis = _axis(g, x) if per_axis else None
    shape = (x.shape[axis],) if axis is not None else ()
    zero = g.put(g.numbers(kind, shape), True)
    (q,) = g.node("QuantizeLinear", [x, scale_of(g, shape), zero], axis=axis)
    if g.chance(0.5):
        g.node("DequantizeLinear", [q, scale_of(g, shape), zero], axis=axis)


def _dequantize(g: Graph) -> None:
    x = g.any((*BYTES, "int32"), (0, 4))
    zero = [g.put(g.numbers(x.dtype, ()), True)] if x.dtype != "int32" and g.chance(0.7) else []
    g.node("DequantizeLinear", [x, scale_of(g), *zero])


def _dynamic_quantize(g: Graph) -> None:
    g.node("DynamicQuantizeLinear", [g.any(("float32",), (0, 4), lambda v: v.array.size > 0 and finite(v))], 3)


def _qlinear_matmul(g: Graph) -> None:
    x = g.any(("uint8",), (2, 3), lambda v: v.array.size > 0)
    y = g.fresh(g.pick(BYTES), (x.shape[-1], g.pick([1, 3, 8])))
    zeros = [g.put(g.numbers(v.dtype, ()), True) for v in (x, y, x)]
    scales = [scale_of(g) for _ in range(3)]
    g.node("QLinearMatMul", [x, scales[0], zeros[0], y, scales[1], zeros[1], scales[2], zeros[2]])


def _qlinear_conv(g: Graph) -> None:
    x = image(g, ("uint8",), (2, 2))
    attrs = window(g, x)
    out = g.integer(1, 4)
    w = g.put(g.numbers(g.pick(BYTES), (out, x.shape[1], *attrs["kernel_shape"])), True)
    zeros = [g.put(g.numbers(v.dtype, ()), True) for v in (x, w, x)]
    scales = [scale_of(g) for _ in range(3)]
    bias = [g.put(g.numbers("int32", (out,)), True)] if g.chance(0.5) else []
    operands = [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2], *bias]
    g.node("QLinearConv", operands, **attrs)


def _conv_integer(g: Graph) -> None:
    x = image(g, ("uint8",), (2, 2))
    attrs = window(g, x)
    w = g.put(g.numbers(g.pick(BYTES), (g.integer(1, 4), x.shape[1], *attrs["kernel_shape"])), True)
    zeros = [g.put(g.numbers(v.dtype, ()), True) if g.chance(0.6) else None for v in (x, w)]
    g.node("ConvInteger", [x, w, *zeros], **attrs)


_FLOAT_UNARY: dict[str, dict[str, tuple[float, float]]] = {
    **{
        name: {}
        for name in (
            *("Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Erf", "Ceil", "Floor", "Round", "Sin", "Cos", "Tan", "Sinh"),
            *("Cosh", "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh", "Softplus", "Softsign", "Reciprocal"),
            *("HardSwish", "Mish", "IsNaN", "Gelu"),
        )
    },
    "LeakyRelu": {"alpha": (0, 0.5)},
    "Elu": {"alpha": (0.5, 2)},
    "Celu": {"alpha": (0.5, 2)},
    "Selu": {"alpha": (1, 2), "gamma": (0.5, 2)},
    "HardSigmoid": {"alpha": (0.1, 0.4), "beta": (0.3, 0.6)},
    "ThresholdedRelu": {"alpha": (0.2, 1)},
    "Shrink": {"bias": (0, 1), "lambd": (0.2, 1)},
}

NODES: dict[str, Make] = {
    **{name: partial(_unary, name, FLOATS, attrs) for name, attrs in _FLOAT_UNARY.items()},
    **{name: partial(_unary, name, NUMBERS, {}) for name in ("Abs", "Neg", "Sign")},
    "Relu": partial(_unary, "Relu", FLOATS, {}),
    "IsInf": partial(_unary, "IsInf", ("float32",), {}),
    "Identity": partial(_unary, "Identity", DTYPES, {}),
    "Not": partial(_unary, "Not", ("bool",), {}),
    "BitwiseNot": partial(_unary, "BitwiseNot", (*INTS, *BYTES), {}),
    **{name: partial(_binary, name, NUMBERS) for name in ("Add", "Sub", "Mul")},
    **{name: partial(_binary, name, NUMBERS) for name in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual")},
    "Equal": partial(_binary, "Equal", (*NUMBERS, "bool")),
    **{name: partial(_binary, name, ("bool",)) for name in ("And", "Or", "Xor")},
    **{name: partial(_binary, name, (*INTS, *BYTES)) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "Div": _div,
    "Mod": _mod,
    "Pow": _pow,
    "BitShift": _shift,
    **{name: partial(_variadic, name, ("float32",)) for name in ("Sum", "Mean")},
    **{name: partial(_variadic, name, NUMBERS) for name in ("Max", "Min")},
    "Clip": _clip,
    "PRelu": _prelu,
    "Cast": _cast,
    "Where": _where,
    **{
        f"Reduce{name}": partial(_reduce, f"Reduce{name}", ("float32", "float32", "int32"))
        for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum")
    },
    # onnxruntime takes exp of integers in integers; opset 28 takes such types out of the operator
    "ReduceLogSumExp": partial(_reduce, "ReduceLogSumExp", ("float32",)),
    **{name: partial(_arg, name) for name in ("ArgMax", "ArgMin")},
    "CumSum": _cumsum,
    "TopK": _top_k,
    **{name: partial(_along, name) for name in ("Softmax", "LogSoftmax", "Hardmax")},
    "LpNormalization": _lp_norm,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Einsum": _einsum,
    "MatMulInteger": _matmul_integer,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _max_pool,
    "AveragePool": _avg_pool,
    "LpPool": _lp_pool,
    **{f"Global{name}Pool": partial(_global, f"Global{name}Pool") for name in ("Average", "Max", "Lp")},
    "Resize": _resize,
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "LRN": _lrn,
    "MeanVarianceNormalization": _mean_variance,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Slice": _slice,
    "Split": _split,
    "Concat": _concat,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Trilu": _trilu,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "ReverseSequence": _reverse_sequence,
    "OneHot": _one_hot,
    "EyeLike": _eye,
    "Shape": _shape_of,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
    "ConvInteger": _conv_integer,
}
"""Operator -> what adds it to a graph."""
