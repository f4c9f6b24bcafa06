"""Whether constants that a rule computes are numbers of their type: what overflows or vanishes there must not fold."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import DType
from gedialect.ir.lazy import np
from gedialect.ir.spec import spec_of
from gedialect.patterns.values import Value

SAME = frozenset(
    f"ge.{n}"
    for n in ("reshape", "squeeze", "unsqueeze", "transpose", "expand", "slice", "identity", "cast", "abs", "neg")
)
"""Ops whose result has no other sizes of elements than their first operand."""


@lru_cache(maxsize=4096)
def _bounds(attribute: Attribute, type_: Attribute) -> tuple[float, float, float]:
    """Largest and smallest size of elements other than zero, and the least element, of a constant. Weights that cannot
    be read, in a text that is looked at without them, are taken to be ordinary."""
    from gedialect.ir.weights import read_constant

    try:
        values = read_constant(attribute, spec_of(type_)).reshape(-1)
    except GeError:
        return 0.0, math.inf, 0.0
    if not values.size:
        return 0.0, math.inf, 0.0
    wide = values if values.dtype.kind == "f" and values.dtype.itemsize >= 4 else values.astype(np.float32)
    sizes = np.abs(wide)
    some = sizes[sizes > 0]
    return float(sizes.max()), float(some.min()) if some.size else math.inf, float(wide.min())


def bounds(value: SSAValue) -> tuple[float, float]:
    """Largest and smallest size of the elements other than zero, or bounds of them; (inf, 0) if nothing is known."""
    op = value.owner
    if isinstance(op, ConstantOp):
        return _bounds(op.value, value.type)[:2]
    if not isinstance(op, Operation):
        return math.inf, 0.0
    if op.name in SAME:
        return bounds(op.operands[0])
    parts = [bounds(v) for v in op.operands]
    if op.name == "ge.concat":
        return max(p[0] for p in parts), min(p[1] for p in parts)
    if op.name == "ge.mul":
        return parts[0][0] * parts[1][0], parts[0][1] * parts[1][1]
    if op.name in ("ge.add", "ge.sub"):
        return parts[0][0] + parts[1][0], 0.0
    if op.name == "ge.div" and parts[1][1]:
        return parts[0][0] / parts[1][1], parts[0][1] / parts[1][0] if parts[1][0] else 0.0
    if op.name == "ge.sqrt":
        return math.sqrt(parts[0][0]), math.sqrt(parts[0][1])
    return math.inf, 0.0


def limits(dtype: DType) -> tuple[float, float]:
    """Largest number and smallest normal one of a float type."""
    info: Any = np.finfo(dtype.numpy) if dtype.name != "bf16" else np.finfo(np.float32)
    return (float(info.max) if dtype.name != "bf16" else 3.3895e38), float(info.tiny)


def normal(dtype: DType, number: float) -> bool:
    """Whether a number is zero, or neither overflows nor loses digits in ``dtype``."""
    most, least = limits(dtype)
    return number == 0 or least <= abs(number) <= most


def product_fits(dtype: DType, *factors: Value, exact: bool = False) -> bool:
    """Whether no product of elements overflows; ``exact``: none vanishes either."""
    found = [bounds(f.ssa) for f in factors]
    most, least = limits(dtype)
    return math.prod(f[0] for f in found) <= most and (not exact or math.prod(f[1] for f in found) >= least)


def sum_fits(dtype: DType, *terms: Value | None) -> bool:
    """Whether no sum of elements overflows; absent terms are none."""
    return sum(bounds(t.ssa)[0] for t in terms if t is not None) <= limits(dtype)[0]


def norm_factor(scale: Value, variance: Value, epsilon: float) -> float:
    """The largest scale / √(variance + epsilon); inf if it cannot be told."""
    op = variance.op
    least = _bounds(op.value, variance.ssa.type)[2] if isinstance(op, ConstantOp) else -math.inf
    below = least + epsilon
    return bounds(scale.ssa)[0] / math.sqrt(below) if below > 0 else math.inf
