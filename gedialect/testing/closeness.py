"""Whether two sides of a rule agree: bits, values, or within rounding, judged by the left side in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from gedialect.analysis.graph import graph_function
from gedialect.dialects.ge.base import Attrs, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.dtypes import F64

TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "f16": 3e-2, "bf16": 2e-1}
"""Allowed difference, relative to the largest value of the result."""
CANCELLED = 1e-2
"""Results smaller than this part of the inputs come from cancellation, as gelu at -3.5: rounding of the steps shows."""
NO_WORSE = 2.0
"""Where the left side is itself further from its value in double precision than the tolerance, the right side may be
off by this many times as much."""

AMPLIFIED = 2.0
"""How many times the relative error of a constant may be that of the result: exponents and the like multiply it."""


@dataclass
class Double:
    """The left side in f64. ``overflowed``: a step did even there, or underflowed; what is not finite may then be the
    fault of the steps."""

    results: list[Any]
    overflowed: bool


def in_double(module: ModuleOp, inputs: Sequence[Any]) -> Double | None:
    """A straight-line graph with every float, constants and results of casts included, in f64; None where an op has no
    such form."""
    block = graph_function(module).body.block
    found: dict[SSAValue, Any] = dict(zip(block.args, map(_wide, inputs), strict=True))
    overflows: list[str] = []
    for op in block.ops:
        if isinstance(op, ReturnOp):
            return Double([found[v] for v in op.operands], bool(overflows))
        if not isinstance(op, GeOp) or op.regions:
            return None
        attrs = op.attrs()
        if not isinstance(op, ConstantOp):
            attrs = Attrs(attrs, [r.with_dtype(F64) if r.dtype.is_float else r for r in attrs.results])
        groups = [
            None if g is None else found[g] if isinstance(g, SSAValue) else [found[v] for v in g]
            for g in op.operand_groups()
        ]
        try:
            with np.errstate(all="ignore", over="call", under="call", call=lambda kind, flag: overflows.append(kind)):
                made = type(op).evaluate(attrs, *groups)
        except (GeError, ValueError, TypeError, KeyError, IndexError):
            return None
        arrays = cast("tuple[Any, ...]", made) if isinstance(made, tuple) else (made,)
        for result, array in zip(op.results, arrays, strict=True):
            found[result] = _wide(array)
    return None


def _wide(x: Any) -> Any:
    return x.astype(np.float64) if dtypes.from_numpy(x.dtype).is_float else x


def largest(x: Any) -> float:
    """The largest finite magnitude of an array; 0 for arrays that are no floats."""
    if not dtypes.from_numpy(x.dtype).is_float:
        return 0.0
    y = np.abs(x.astype(np.float64))
    return float(y[np.isfinite(y)].max(initial=0.0))


def difference(
    a: Any, b: Any, exact: str, largest: float, slack: float = 0.0, double: Any = None, overflowed: bool = False
) -> str | None:
    """How result ``b`` of the right side differs from ``a`` beyond what ``exact`` allows; None if it does not.

    "tolerance": errors are relative to the largest element, or to a part of the ``largest`` input if that is more;
    ``slack`` is what part of themselves the constants were off by. An element that is off is still right if it is
    within the tolerance of ``double``, the left side in f64, or no further from it than ``a`` is (``NO_WORSE``): ``a``
    has rounded badly there, or overflowed. What ``overflowed`` in f64 too says nothing.
    """
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} becomes {b.dtype}{list(b.shape)}"
    floating = dtypes.from_numpy(a.dtype).is_float
    if exact == "bits":
        same = np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
        return None if same else "other bits"
    if not floating:
        wrong = a != b if exact == "value" or double is None else (a != b) & (b != double)
        return "other values" if wrong.any() else None
    x, y = a.astype(np.float64), b.astype(np.float64)
    if exact == "value":
        return None if np.array_equal(x, y, equal_nan=True) else "other values"
    allowed = TOLERANCE[dtypes.from_numpy(a.dtype).name]
    with np.errstate(all="ignore"):
        right = x if double is None else double.astype(a.dtype).astype(np.float64)  # beyond the type: infinite
        numbers = np.abs(np.concatenate([x[np.isfinite(x)], right[np.isfinite(right)]]))
        scale = max(float(numbers.max(initial=0.0)), 1e-3, CANCELLED * largest)
        error = allowed * scale + AMPLIFIED * slack * max(scale, largest)
        ok = _near(x, y, error) | _near(right, y, error)
        ok |= np.isfinite(x) & np.isfinite(right) & (np.abs(y - right) <= NO_WORSE * np.abs(x - right))
        if overflowed and double is not None:
            ok = ok | ~np.isfinite(double)
        if ok.all():
            return None
        if (np.isnan(x) != np.isnan(y))[~ok].any():
            return "NaN on one side only"
        if (np.isfinite(x) != np.isfinite(y))[~ok].any():
            return "infinite on one side only"
        off = float(np.abs(x - y)[~ok].max())
    return f"differs by {off / scale:.3g} of the largest value ({error / scale:.3g} is allowed)"


def _near(x: Any, y: Any, error: float) -> Any:
    """Element by element: within ``error``, both NaN, or the same infinity."""
    return (np.abs(x - y) <= error) | (x == y) | (np.isnan(x) & np.isnan(y))
