"""Sample inputs of the arithmetic, activation, reduction and normalisation ops, for checks that hold for every op."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_RANDOM = np.random.default_rng(7)


def normal(*shape: int, scale: float = 1.0) -> Array:
    return np.asarray(_RANDOM.standard_normal(shape) * scale, np.float32)


def uniform(low: float, high: float, *shape: int) -> Array:
    return np.asarray(_RANDOM.uniform(low, high, shape), np.float32)


def integers(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int32) -> Array:
    return np.asarray(_RANDOM.integers(low, high, shape), dtype)


def bools(*shape: int) -> Array:
    return np.asarray(_RANDOM.random(shape) < 0.5)


@dataclass(frozen=True)
class Sample:
    """Operands (None: absent) and attributes of one op."""

    op: str
    operands: tuple[Array | None, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    """numpy dtype of the result where it is free"""

    def __str__(self) -> str:
        text = "-".join("x".join(map(str, o.shape)) + o.dtype.char if o is not None else "none" for o in self.operands)
        return "-".join([self.op, text, *(f"{k}={v}" for k, v in self.attrs.items())]).replace(" ", "")

    def of_type(self, dtype: Any) -> Sample:
        """The same with its f32 operands cast."""
        with np.errstate(over="ignore"):
            cast = tuple(o.astype(dtype) if o is not None and o.dtype == np.float32 else o for o in self.operands)
        return Sample(self.op, cast, self.attrs, self.result)


X = normal(5, 7, scale=3)
SMALL = normal(40, scale=1e-3)
UNIT = np.concatenate([uniform(-1, 1, 60), np.asarray([-1, -0.5, -0.0, 0, 0.5, 1], np.float32)])
WIDE = np.concatenate([uniform(-60, 60, 60), uniform(-1, 1, 60), np.asarray([-0.0, 0, 20, -20], np.float32)])
FLAGS = [(a, b) for a in (False, True) for b in (False, True)]
SPECIAL = np.asarray([1, np.inf, -np.inf, np.nan], np.float32)
POSITIVE = uniform(0.01, 30, 5, 7)


def _unary() -> list[Sample]:
    out: list[Sample] = []
    for op in ("abs", "neg", "sign", "relu", "square", "relu6", "floor", "ceil", "round", "trunc", "tanh", "sigmoid"):
        out += [Sample(op, (X,)), Sample(op, (np.float32(1.25)[()] * np.ones((), np.float32),))]
    for op in ("abs", "neg", "sign", "relu", "square", "relu6"):
        out.append(Sample(op, (integers(4, 3),)))
    for op in ("softsign", "erf", "mish", "log_sigmoid", "softplus", "selu", "hard_swish", "identity", "atan", "asinh"):
        out.append(Sample(op, (WIDE,)))
    for op in ("tanh", "sigmoid", "erf", "log_sigmoid", "softplus", "sin", "cos", "is_nan"):
        out.append(Sample(op, (WIDE,)))
    for op in ("tanh", "erf", "sin", "tan", "asin", "atan", "sinh", "asinh", "atanh", "log1p", "expm1"):
        out.append(Sample(op, (SMALL,)))
    for op in ("asin", "acos", "tan", "expm1", "cosh", "sinh", "exp", "atanh"):
        out.append(Sample(op, (UNIT * np.float32(0.999),)))
    for op in ("expm1", "cosh", "sinh"):
        out.append(Sample(op, (uniform(-10, 10, 50),)))
    for op in ("log", "sqrt", "rsqrt", "reciprocal", "log1p", "asinh"):
        out.append(Sample(op, (POSITIVE,)))
    out += [
        Sample("sin", (uniform(-1e4, 1e4, 300),)),
        Sample("cos", (uniform(-1e4, 1e4, 300),)),
        Sample("acosh", (POSITIVE + np.float32(1),)),
        Sample("acosh", (np.float32(1) + np.abs(SMALL),)),
        Sample("acosh", (uniform(1, 1e6, 30),)),
        Sample("log1p", (UNIT * np.float32(0.99),)),
        Sample("leaky_relu", (X,), {"negative_slope": 0.1}),
        Sample("prelu", (normal(2, 3, 4, 5), normal(3, 1, 1)), {}),
        Sample("elu", (X,), {"alpha": 1.5, "scale": 1.25}),
        Sample("celu", (X,), {"alpha": 2.0}),
        Sample("celu", (X,), {"alpha": -0.5}),
        Sample("gelu", (WIDE,), {"approximate": "none"}),
        Sample("gelu", (WIDE,), {"approximate": "tanh"}),
        Sample("gelu", (X,), {"approximate": "none"}),
        Sample("gelu", (X,), {"approximate": "tanh"}),
        Sample("swish", (X,), {"scale": 1.0}),
        Sample("swish", (X,), {"scale": 1.702}),
        Sample("hard_sigmoid", (X,), {"alpha": 0.2, "beta": 0.5}),
        Sample("thresholded_relu", (X,), {"alpha": 0.7}),
        Sample("shrink", (X,), {"lambd": 0.5, "bias": 0.25}),
        Sample("clip", (X, np.asarray(-1, np.float32), np.asarray(2, np.float32))),
        Sample("clip", (X, None, np.asarray(2, np.float32))),
        Sample("clip", (X, np.asarray(-1, np.float32))),
        Sample("clip", (integers(4, 3), np.asarray(-2, np.int32), np.asarray(3, np.int32))),
        *(Sample("is_inf", (SPECIAL,), {"detect_negative": n, "detect_positive": p}) for n, p in FLAGS),
        Sample("is_nan", (SPECIAL,)),
        Sample("cast", (X,), {}, np.int32),
        Sample("cast", (integers(4, 3),), {}, np.float16),
        Sample("logical_not", (bools(9),)),
        Sample("bitwise_not", (integers(9),)),
    ]  # fmt: skip
    return out


def _binary() -> list[Sample]:
    out: list[Sample] = []
    arithmetic = ("add", "sub", "mul", "div", "maximum", "minimum")
    compare = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
    for op in (*arithmetic, *compare):
        out += [
            Sample(op, (normal(3, 1, 4), normal(2, 1))),
            Sample(op, (normal(3, 4), normal())),
            Sample(op, (integers(3, 4), integers(4))),
            Sample(op, (normal(0, 4), normal(1, 4))),
        ]
    out += [Sample(f"logical_{op}", (bools(3, 4), bools(4))) for op in ("and", "or", "xor")]
    out += [Sample(f"bitwise_{op}", (integers(3, 4), integers(4))) for op in ("and", "or", "xor")]
    out += [Sample(f"{side}_shift", (integers(3, 4), integers(4, low=0, high=40))) for side in ("left", "right")]
    for fmod in (False, True):
        out += [
            Sample("mod", (normal(3, 4, scale=5), normal(4)), {"fmod": fmod}),
            Sample("mod", (integers(3, 4), integers(4)), {"fmod": fmod}),
        ]
    return [
        *out,
        Sample("pow", (POSITIVE, normal(7))),
        Sample("pow", (integers(3, 4), integers(4))),
        Sample("select", (bools(3, 1), normal(3, 4), normal(4))),
        Sample("select", (bools(3, 1), integers(3, 4), integers(4))),
    ]


def _reductions() -> list[Sample]:
    out: list[Sample] = []
    x = normal(2, 3, 4, 5)
    for op in ("sum", "mean", "max", "min", "prod", "sum_square", "log_sum_exp"):
        for axes in ([-1], [2, 3], [0, 2], [0, 1, 2, 3], []):
            for keep in (True, False):
                out.append(Sample(f"reduce_{op}", (x,), {"axes": axes, "keep_dims": keep}))
        out.append(Sample(f"reduce_{op}", (normal(),), {"axes": [], "keep_dims": True}))
    for op in ("sum", "mean", "max", "min", "prod", "sum_square"):
        out.append(Sample(f"reduce_{op}", (integers(3, 4, low=-3, high=4),), {"axes": [1], "keep_dims": True}))
    for op in ("all", "any"):
        out.append(Sample(f"reduce_{op}", (bools(6, 2),), {"axes": [1], "keep_dims": False}))
    for p in (1.0, 2.0, 3.0, float("inf")):
        out.append(Sample("lp_norm", (x,), {"p": p, "axes": [1], "keep_dims": True, "epsilon": 1e-12}))
    out.append(Sample("lp_norm", (x,), {"p": 2.0, "axes": [1, 3], "keep_dims": False, "epsilon": 0.0}))
    for op in ("softmax", "log_softmax"):
        out += [Sample(op, (x * np.float32(4),), {"axes": axes}) for axes in ([-1], [1], [2, 3])]
    return out


def _channels(op: str, **attrs: Any) -> list[Sample]:
    count = 5 if op.startswith("batch") else 3
    out: list[Sample] = []
    for shape, form in (((2, 6, 5, 4), "NCHW"), ((2, 5, 4, 6), "NHWC"), ((2, 6, 5), "NCL")):
        parameters = [uniform(0.5, 2, 6) for _ in range(count - 1)]
        out.append(Sample(op, (normal(*shape), *parameters), {**attrs, "epsilon": 1e-3, "data_format": form}))
    return out


def _attention() -> list[Sample]:
    """Every layout; shared heads, one token, both masks, merged operands; and feed-forward blocks."""
    out: list[Sample] = []

    def attrs(layout: str, heads: int, groups: int, **more: Any) -> dict[str, Any]:
        return {"num_heads": heads, "num_key_value_heads": groups, "scale": 0.5, "input_layout": layout, **more}

    shift, mask = normal(3, 5), bools(2, 1, 3, 5)
    for groups in (4, 2):
        q, k, v = normal(2, 4, 3, 6), normal(2, groups, 5, 6), normal(2, groups, 5, 2)
        out.append(Sample("attention", (q, k, v), attrs("BNSD", 4, groups)))
        out.append(Sample("attention", (q, k, v, shift, mask), attrs("BNSD", 4, groups, mask_value=-1e4)))
        q, k, v = normal(2, 3, 4, 6), normal(2, 5, groups, 6), normal(2, 5, groups, 2)
        out.append(Sample("attention", (q, k, v, shift), attrs("BSND", 4, groups)))
        out.append(Sample("attention", (q[:, :1], k, v, shift[:1]), attrs("BSND", 4, groups)))
        q, k, v = normal(2, 3, 24), normal(2, 5, groups * 6), normal(2, 5, groups * 2)
        out.append(Sample("attention", (q, k, v, None, mask), attrs("BSH", 4, groups, mask_value=-1e4)))
        out.append(Sample("attention", (normal(2, 3, (4 + 2 * groups) * 6),), attrs("BSH", 4, groups)))
    x, w1, w2, b1, b2 = normal(2, 3, 4), normal(4, 8), normal(8, 5), normal(8), normal(5)
    for activation in ("relu", "gelu", "fastgelu", "silu"):
        out.append(Sample("ffn", (x, w1, w2, b1, b2), {"activation": activation}))
    out.append(Sample("ffn", (x, w1, w2), {"activation": "gelu"}))
    return out


def _optimizers() -> list[Sample]:
    p, m, g, v = normal(3, 4), normal(3, 4), normal(3, 4), uniform(0.1, 1, 3, 4)
    some = [np.asarray(x, np.float32) for x in (0.1, 0.2, 0.25, 0.5, 0.75, 0.125)]
    a, b, lr, c, d, e = some
    out = [Sample("apply_momentum", (p, m, lr, g, c), {"use_nesterov": nesterov}) for nesterov in (False, True)]
    out.append(Sample("apply_adam", (p, m, v, a, b, lr, c, d, e, g)))
    out.append(Sample("apply_adam_w", (p, m, v, a, b, lr, e, c, d, e, g)))
    steps, one = np.asarray(3, np.float32), np.asarray(1, np.float32)
    out.append(Sample("lamb_apply_optimizer_assign", (g, v, m, p, c, c, d, lr, e, steps, one, a)))
    out.append(Sample("lamb_apply_weight_assign", (b, c, lr, g, p)))
    out.append(Sample("lamb_apply_weight_assign", (np.asarray(0, np.float32), c, lr, g, p)))
    return out


def _norms() -> list[Sample]:
    x = normal(2, 3, 4, 6) + np.float32(0.5)
    x2 = normal(2, 3, 4, 6)
    g, b, c = normal(6), normal(6), normal(6)
    layer = [
        Sample("layer_norm", (x, g, b), {"begin_norm_axis": -1, "epsilon": 1e-5}),
        Sample("layer_norm", (x, g), {"begin_norm_axis": 3, "epsilon": 1e-5}),
        Sample("layer_norm", (x, normal(4, 6), normal(4, 6)), {"begin_norm_axis": 2, "epsilon": 1e-5}),
        Sample("rms_norm", (x, g), {"epsilon": 1e-6}),
        Sample("rms_norm", (x, normal(4, 6)), {"epsilon": 1e-6}),
        Sample("add_rms_norm", (x, x2, g), {"epsilon": 1e-6}),
        Sample("add_layer_norm", (x, x2, g, b), {"epsilon": 1e-6}),
        Sample("add_layer_norm", (x, x2, g, b, c), {"epsilon": 1e-6}),
    ]
    others = [
        Sample("mvn", (x,), {"axes": [0, 2, 3], "epsilon": 1e-9}),
        Sample("mvn", (x,), {"axes": [1], "epsilon": 1e-9}),
        Sample("swi_glu", (x,), {"dim": -1}),
        Sample("swi_glu", (x,), {"dim": 2}),
    ]
    for approximate, left in (("none", False), ("tanh", True)):
        others.append(Sample("ge_glu", (x,), {"dim": 3, "approximate": approximate, "activate_left": left}))
    for mode in (0, 1):
        others.append(Sample("rotary_embedding", (x, normal(4, 6), normal(4, 6)), {"mode": mode}))
    others += _attention()
    others += _optimizers()
    lrn = {"depth_radius": 1, "bias": 1.0, "alpha": 0.2, "beta": 0.75}
    return [
        *layer,
        *others,
        *_channels("batch_norm"),
        *_channels("batch_norm_training", exponential_avg_factor=0.1),
        *_channels("instance_norm"),
        *_channels("group_norm", num_groups=3),
        Sample("batch_norm", (normal(3, 6), g, b, c, g * g), {"epsilon": 1e-3, "data_format": "ND"}),
        Sample("lrn", (x,), {**lrn, "data_format": "NCHW"}),
        Sample("lrn", (x,), {**lrn, "data_format": "NHWC", "depth_radius_end": 2}),
    ]  # fmt: skip


def _searches() -> list[Sample]:
    x = integers(4, 5, low=0, high=3)
    out: list[Sample] = []
    for last in (False, True):
        for keep in (False, True):
            attrs = {"dimension": 1, "keep_dims": keep, "select_last_index": last}
            out += [Sample("arg_max", (x,), attrs), Sample("arg_min", (normal(3, 4),), attrs)]
    out.append(Sample("arg_max", (x,), {"dimension": 0, "keep_dims": False, "select_last_index": False}))
    for largest in (True, False):
        attrs = {"dim": 1, "largest": largest, "sorted": True}
        out += [
            Sample("topk", (x, None), {**attrs, "k": 3}),
            Sample("topk", (normal(2, 7), np.asarray(4, np.int64)), attrs),
        ]
    for exclusive in (True, False):
        for reverse in (True, False):
            attrs = {"axis": 1, "exclusive": exclusive, "reverse": reverse}
            out += [Sample("cumsum", (normal(3, 4),), attrs), Sample("cumsum", (x,), attrs)]
    return [*out, Sample("hardmax", (x.astype(np.float32),), {"axis": 1})]


SAMPLES = [*_unary(), *_binary(), *_reductions(), *_norms(), *_searches()]
