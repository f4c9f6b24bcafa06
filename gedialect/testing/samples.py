"""Random types, shapes and attributes for instances of a pattern, op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

from gedialect.dialects.ge.base import FLOAT, GeOp
from gedialect.dialects.ge.layouts import CHANNELS_FIRST
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec

Rng: TypeAlias = np.random.Generator


class Unknown:
    """An operand whose type is free."""


UNKNOWN = Unknown()
Known: TypeAlias = "Spec | Unknown | None"
Attributes: TypeAlias = "dict[str, Any]"


class Sampler:
    """Draws what an instance needs; ``size`` bounds each dimension."""

    def __init__(self, rng: Rng, dtype: DType, size: int, empty: bool):
        self.rng = rng
        self.dtype = dtype
        self.size = size
        self.empty = empty
        self.largest: tuple[int, ...] | None = None
        """Shape of the largest value so far."""

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def dim(self) -> int:
        if self.empty and self.chance(0.05):
            return 0
        return int(self.rng.integers(1, self.size + 1))

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        rank = int(self.rng.integers(low, high + 1))
        if self.chance(0.2):  # all alike: what mixes up axes shows in the values only
            return (self.dim(),) * rank
        return tuple(self.dim() for _ in range(rank))

    def spec(self, low: int = 0, high: int = 4) -> Spec:
        return Spec(self.dtype, self.shape(low, high))

    def related(self, like: Spec) -> Spec:
        """A type that broadcasts against ``like``: most often to it."""
        if self.largest is not None and self.chance(0.3):
            like = like.with_shape(self.largest[int(self.rng.integers(len(self.largest) + 1)) :])
        shape = like.shape
        n = len(shape)
        axis = int(self.rng.integers(n)) if n else 0
        choices: list[tuple[int, ...]] = [shape, shape, (), shape[axis:], (1,)]
        if n:
            choices += [shape[-1:], (*shape[axis : axis + 1], *[1] * (n - axis - 1))]
            choices += [tuple(d if i == axis else 1 for i, d in enumerate(shape))]
            choices += [tuple(1 if i == axis else d for i, d in enumerate(shape))]
        if n >= 3:  # one value per channel, the most frequent of all in models
            choices += [(shape[1], *[1] * (n - 2))] * 2
        if self.chance(0.05):
            choices = [(1,) * (n + 1)]
        return like.with_shape(self.pick(choices))

    # ------------------------------------------------------------ one op
    def complete(self, cls: type[GeOp], known: Sequence[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
        """Types of the operands that are free, and all attributes of the op; ``fixed`` ones stay."""
        name = cls.name.removeprefix("ge.")
        special = SPECIAL.get(name) or next((f for k, f in FAMILIES if name.startswith(k)), _elementwise)
        specs, attrs = special(self, cls, list(known), fixed)
        return specs, {**_other_attrs(self, cls, attrs), **attrs, **fixed}


NON_NEGATIVE = ("epsilon", "eps")
"""Float attributes whose op has no meaning below zero: it would take the root of a negative number."""


def _other_attrs(s: Sampler, cls: type[GeOp], have: Attributes) -> Attributes:
    found: Attributes = {}
    for name, definition in cls.get_irdl_definition().properties.items():
        if name in have or name == "operandSegmentSizes":
            continue
        if definition.constr == FLOAT:
            negative = [] if name in NON_NEGATIVE else [-0.5]
            found[name] = float(s.pick([0.125, 0.5, 1.0, 2.0, *negative]))
    return found


def _first(s: Sampler, known: Sequence[Known], low: int, high: int = 4) -> Spec:
    return known[0] if isinstance(known[0], Spec) else s.spec(low, high)


def _elementwise(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    given = [k for k in known if isinstance(k, Spec)]
    like = max(given, key=lambda k: (k.rank, k.size)) if given else s.spec()
    alone = like.rank == 0  # beside a number: any shape
    if alone:
        like = like.with_shape(s.shape())
    out: list[Known] = []
    for i, k in enumerate(known):
        free = like if alone or (i == 0 and not given) else s.related(like)
        out.append(free if isinstance(k, Unknown) else k)
    return out, {}


def _matmul(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    attrs: Attributes = {k: fixed.get(k, s.chance(0.5)) for k in ("transpose_x1", "transpose_x2")}
    batch = s.shape(0, 2)
    a, b = known[0], known[1]
    m, k, n = s.dim(), s.dim(), s.dim()
    if s.chance(0.2):  # square: what mixes up axes shows in the values only
        m = k = n
    if isinstance(a, Spec) and a.rank >= 2:
        m, k = a.shape[:-3:-1] if attrs["transpose_x1"] else a.shape[-2:]
        batch = a.shape[:-2]
    if isinstance(b, Spec) and b.rank >= 2:
        k2, n = b.shape[:-3:-1] if attrs["transpose_x2"] else b.shape[-2:]
        k = k2 if isinstance(a, Unknown) else k
        batch = b.shape[:-2] if isinstance(a, Unknown) and b.rank > 2 else batch
    if isinstance(a, Unknown):
        a = Spec(s.dtype, (*batch, k, m) if attrs["transpose_x1"] else (*batch, m, k))
    if isinstance(b, Unknown):
        b = Spec(s.dtype, (*(batch if s.chance(0.5) else ()), *((n, k) if attrs["transpose_x2"] else (k, n))))
    bias = Spec(s.dtype, (n,)) if isinstance(known[2], Unknown) else known[2]
    return [a, b, bias], attrs


def _format(s: Sampler, rank: int) -> str:
    return {4: s.pick(["NCHW", "NHWC"]), 5: s.pick(["NCDHW", "NDHWC"])}.get(rank, "NCHW")


def _channels(x: Spec, data_format: str) -> int:
    return x.shape[1] if data_format in CHANNELS_FIRST or x.rank < 3 else x.shape[-1]


def _conv(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    n = 3 if "3d" in cls.name else 2
    transposed = "transpose" in cls.name
    layout = fixed.get("data_format") or _format(s, n + 2)
    groups = fixed.get("groups") or s.pick([1, 1, 2, 3])
    attrs: Attributes = {
        "data_format": layout,
        "groups": groups,
        "strides": [int(s.rng.integers(1, 3)) for _ in range(n)],
        "dilations": [int(s.rng.integers(1, 3)) for _ in range(n)],
        "pads": [int(s.rng.integers(0, 2)) for _ in range(2 * n)],
    }
    if transposed:
        attrs["output_padding"] = [0] * n
    x = known[0]
    spatial = [int(s.rng.integers(3, 6)) for _ in range(n)]
    cin = groups * int(s.rng.integers(1, 3))
    if isinstance(x, Spec):
        cin = _channels(x, layout)
    else:
        batch = int(s.rng.integers(1, 3))
        x = Spec(s.dtype, (batch, cin, *spatial) if layout in CHANNELS_FIRST else (batch, *spatial, cin))
    out = int(s.rng.integers(1, 3))
    kernel = [int(s.rng.integers(1, 3)) for _ in range(n)]
    w = known[1]
    if isinstance(w, Unknown):
        w = Spec(s.dtype, (cin, out, *kernel) if transposed else (groups * out, cin // groups, *kernel))
    bias = known[2]
    if isinstance(bias, Unknown):
        count = cast(Spec, w).shape[1] * groups if transposed else cast(Spec, w).shape[0]
        bias = Spec(s.dtype, (count,))
    return [x, w, bias], attrs


def _per_channel(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """batch_norm, bias_add and the like: first x, then vectors of its channels."""
    x = _first(s, known, 2, 5)
    layout = fixed.get("data_format") or _format(s, x.rank)
    vector = Spec(x.dtype, (_channels(x, layout),))
    rest: list[Known] = [vector if isinstance(k, Unknown) else k for k in known[1:]]
    return [x, *rest], {"data_format": layout, "epsilon": 0.125} if "norm" in cls.name else {"data_format": layout}


def _layer_norm(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    axis = fixed.get("begin_norm_axis", int(s.rng.integers(-x.rank, x.rank)))
    affine = Spec(x.dtype, x.shape[axis:])
    rest: list[Known] = [affine if isinstance(k, Unknown) else k for k in known[1:]]
    attrs: Attributes = {"epsilon": 0.125}
    if "begin_norm_axis" in cls.attr_names():
        attrs["begin_norm_axis"] = axis
    return [x, *rest], attrs


def _axes(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    if x.rank == 0:
        raise ValueError("no axis")
    trailing = int(s.rng.integers(1, x.rank + 1))
    chosen = s.pick(
        [[-1], list(range(x.rank - trailing, x.rank)), sorted({int(a) for a in s.rng.integers(0, x.rank, 2)})]
    )
    return [x], {"axes": chosen, "keep_dims": s.chance(0.7)} if "softmax" not in cls.name else {"axes": chosen}


def _transpose(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    perm = [int(i) for i in s.rng.permutation(x.rank)]
    if x.rank >= 2 and s.chance(0.5):
        perm = list(range(x.rank))
        if s.chance(0.7):
            perm[-1], perm[-2] = perm[-2], perm[-1]
    return [x], {"perm": perm}


def _reshape(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    shape = s.pick([list(x.shape), [-1], [*x.shape, 1], [1, *x.shape], [x.size, 1], list(x.shape[::-1])])
    if 0 in x.shape:
        shape = list(x.shape)
    return [x, None], {"shape": shape}


def _squeeze(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    if isinstance(known[0], Unknown):
        at = int(s.rng.integers(0, x.rank + 1))
        x = x.with_shape((*x.shape[:at], 1, *x.shape[at:]))
    return [x], {"axes": [i for i, d in enumerate(x.shape) if d == 1][:1]}


def _unsqueeze(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    return [x], {"axes": [int(s.rng.integers(0, x.rank + 1))]}


def _expand(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    grown = [d if d != 1 else s.dim() for d in x.shape]
    return [x, None], {"shape": s.pick([list(x.shape), grown, [s.dim(), *x.shape]])}


def _pad(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    some = [int(p) for p in s.rng.integers(0, 2, 2 * x.rank)]
    value = Spec(x.dtype, ()) if isinstance(known[2], Unknown) else known[2]
    return [x, None, value], {"paddings": s.pick([[0] * (2 * x.rank), some]), "mode": "constant"}


def _concat(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    given = [k for k in known if isinstance(k, Spec)]
    like = given[0] if given else s.spec(1)
    axis = int(s.rng.integers(like.rank))
    out: list[Known] = []
    for k in known:
        shape = [s.dim() if i == axis else d for i, d in enumerate(like.shape)]
        out.append(like.with_shape(shape) if isinstance(k, Unknown) else k)
    return out, {"concat_dim": axis}


def _split(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    axis: int = fixed.get("split_dim", int(s.rng.integers(x.rank)))
    sizes: Any = fixed.get("size_splits")
    if sizes is None:
        at = int(s.rng.integers(x.shape[axis] + 1))
        sizes = s.pick([[at, x.shape[axis] - at], [1] * x.shape[axis], [x.shape[axis]]]) or [0]
    return [x], {"split_dim": axis, "size_splits": sizes}


def _quantize(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """One scale for all; ``dequantize`` reads bytes."""
    x = known[0] if isinstance(known[0], Spec) else s.spec()
    byte = dtypes.BY_NAME[s.pick(["i8", "ui8"])]
    out = x.dtype if cls.name == "ge.dequantize" and x.dtype.itemsize == 1 else byte
    if cls.name == "ge.dequantize":
        x = x.with_dtype(out)
    scale, zero = Spec(s.dtype, ()), Spec(out, ())
    return [
        x,
        scale if isinstance(known[1], Unknown) else known[1],
        zero if isinstance(known[2], Unknown) else known[2],
    ], {"axis": fixed.get("axis", 0)}


def _gather(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    axis = fixed.get("axis", int(s.rng.integers(x.rank)))
    index = Spec(dtypes.BY_NAME["i64"], ()) if isinstance(known[1], Unknown | Spec) else known[1]
    return [x, index], {"axis": axis, "batch_dims": 0}


def _attention(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """[B, N, S, D] or its layouts; masks that broadcast."""
    layout = fixed.get("input_layout", "BNSD")
    query, key = known[0], known[1]
    like = query if isinstance(query, Spec) else key if isinstance(key, Spec) else None
    batch, heads, sequence, d = (int(s.rng.integers(1, 4)) for _ in range(4))
    if like is not None and like.rank == 4:
        batch, heads, sequence, d = like.shape
    if like is not None and like.rank == 3:
        batch, sequence = like.shape[:2]
    groups, keys = fixed.get("num_key_value_heads", heads), sequence
    if isinstance(key, Spec) and key.rank >= 3:
        groups, keys = (key.shape[1], key.shape[2]) if key.rank == 4 else (groups, key.shape[1])
    if layout == "BSH":
        shapes = [(batch, sequence, heads * d), *[(batch, keys, groups * d)] * 2]
    else:
        shapes = [(batch, heads, sequence, d), *[(batch, groups, keys, d)] * 2]
    rest = [Spec(s.dtype, s.pick([(sequence, keys), (batch, 1, 1, keys)])), Spec(dtypes.BY_NAME["i1"], (keys,))]
    free = [*(Spec(s.dtype, shape) for shape in shapes), *rest]
    out: list[Known] = [f if isinstance(k, Unknown) else k for f, k in zip(free, known, strict=True)]
    attrs: Attributes = {"num_heads": heads, "num_key_value_heads": groups, "scale": 0.5, "input_layout": layout}
    attrs["mask_value"] = None if known[4] is None else -100.0
    return out, attrs


def _select(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    specs, attrs = _elementwise(s, cls, known, fixed)
    first = specs[0]
    return [first.with_dtype(dtypes.BY_NAME["i1"]) if isinstance(first, Spec) else first, *specs[1:]], attrs


def _instance_norm(
    s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes
) -> tuple[list[Known], Attributes]:
    """gamma and beta have one value per channel even where a pattern says a number."""
    x = _first(s, known, 3)
    layout = fixed.get("data_format", "NCHW")
    return [x, *[Spec(x.dtype, (_channels(x, layout),))] * 2], {"data_format": layout, "epsilon": 0.125}


def _ffn(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    k, n, m = s.dim(), s.dim(), s.dim()
    shapes = [(s.dim(), k), (k, n), (n, m), (n,), (m,)]
    free = [Spec(s.dtype, shape) for shape in shapes]
    out: list[Known] = [f if isinstance(k, Unknown) else k for f, k in zip(free, known, strict=True)]
    return out, {"activation": s.pick(["relu", "gelu", "fastgelu", "silu"])}


Special: TypeAlias = "Callable[[Sampler, type[GeOp], list[Known], Attributes], tuple[list[Known], Attributes]]"

SPECIAL: dict[str, Special] = {
    "matmul": _matmul,
    "batch_norm": _per_channel,
    "bias_add": _per_channel,
    "layer_norm": _layer_norm,
    "rms_norm": _layer_norm,
    "softmax": _axes,
    "log_softmax": _axes,
    "transpose": _transpose,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "expand": _expand,
    "pad": _pad,
    "concat": _concat,
    "split": _split,
    "quantize": _quantize,
    "gather": _gather,
    "attention": _attention,
    "ffn": _ffn,
    "select": _select,
    "instance_norm": _instance_norm,
    "dequantize": _quantize,
}
FAMILIES: tuple[tuple[str, Special], ...] = (("reduce_", _axes), ("conv", _conv))

POSITIVE = {("ge.batch_norm", "variance"), ("ge.sqrt", "x"), ("ge.rsqrt", "x"), ("ge.log", "x")}
"""Operands drawn positive: otherwise both sides are NaN, which proves nothing."""


LANDMARKS = (-3.5, 3.5, 6.5)
"""Beyond the bends of activations such as relu6 and hard swish, where normal values seldom are."""


def values(s: Sampler, spec: Spec, *, positive: bool, special: bool) -> Any:
    """Random elements; with ``special`` also infinities, NaN, zeros of both signs and the largest integers."""
    shape, kind = spec.shape, spec.dtype.kind
    dtype = spec.dtype.numpy
    if kind == "b":
        return s.rng.random(shape) < 0.5
    if kind in "iu":
        data = s.rng.integers(1 if positive or kind == "u" else -4, 5, shape).astype(dtype)
        if special and data.size and s.chance(0.3):
            data.reshape(-1)[int(s.rng.integers(data.size))] = np.iinfo(dtype).max
        return data
    data = s.rng.standard_normal(shape)
    if positive:
        data = np.abs(data) + 0.25
    data = np.asarray(data).astype(dtype)
    if data.size and not positive:
        often = (-0.0, np.inf, -np.inf, np.nan) if special else ()  # what tells "bits" from "value", and those apart
        chosen = [v for v in (0.0, -0.0, 1.0, *LANDMARKS) if s.chance(0.2)] + [v for v in often if s.chance(0.4)]
        for value in chosen:
            data.reshape(-1)[int(s.rng.integers(data.size))] = value
    return data


def number(s: Sampler) -> float:
    """A constant for a ``number`` capture."""
    return float(s.pick([0.5, 2.0, 4.0, 3.0, -1.5, 0.25, 1.0]))


def dtypes_for(exact: str) -> list[DType]:
    """Element types a rule is tried with."""
    names = ["f64", "f64", "f32", "f32", "f16"]
    if exact != "tolerance":
        names += ["bf16", "i32", "i64", "i8", "i1"]
    return [dtypes.BY_NAME[n] for n in names]


def total(shapes: Sequence[tuple[int, ...]]) -> int:
    """Elements in all; what makes a counterexample small."""
    return sum(prod(s) for s in shapes)
