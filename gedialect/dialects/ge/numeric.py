"""Element-type rules shared by op families, and short forms of ``evaluate`` and ``expand``.

f16, bf16 and f8 values of functions that are more than one rounded operation are computed in f32 and rounded
once; f32 and f64 are computed as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from gedialect.dialects.ge.base import Array, Attrs, Results
from gedialect.dialects.ge.reproducible import folding
from gedialect.dialects.ge.shapes import mismatch
from gedialect.ir import dtypes, lazy
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from gedialect.dialects.ge.builder import GeBuilder

np: Any = lazy.np
"""numpy, untyped: with operands of type Any its overloads resolve to Unknown, which strict checking rejects."""

SAME_EVERYWHERE = frozenset(
    "add subtract multiply square maximum minimum abs negative sign sqrt reciprocal floor ceil rint trunc where "
    "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift isnan".split()
)
"""numpy functions that IEEE 754 rounds or that are exact: they give the same bits on every CPU."""

KIND_NAMES = {"f": "floats", "i": "signed integers", "u": "unsigned integers", "b": "bool", "c": "complex"}


def require_kinds(name: str, kinds: str, *specs: Spec | None) -> None:
    """GE1005 unless the element types of the present specs are of the given kinds ("f", "i", "u", "b", "c")."""
    for spec in specs:
        if spec is not None and spec.dtype.kind not in kinds:
            allowed = ", ".join(KIND_NAMES[k] for k in kinds)
            raise mismatch(f"{name} takes {allowed}, not {spec.dtype.name}")


def is_half(dtype: DType) -> bool:
    """Whether ``dtype`` is a float below f32."""
    return dtype.is_float and dtype.itemsize < 4


@cache
def _numpy_half(dtype: Any) -> bool:
    return is_half(dtypes.from_numpy(dtype))


def wide(x: Array) -> Array:
    """``x`` as f32 if it is of a float type below f32, else ``x`` itself; in f64, all of them, when it is folded."""
    if folding():
        return _f64(x)
    return x.astype(np.float32) if _numpy_half(x.dtype) else x


def _f64(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype == np.float32 or _numpy_half(x.dtype) else x


def native(function: str) -> staticmethod[..., Results]:
    """``evaluate`` by a numpy function in the operands' own type (numpy rounds f16 and bf16 once)."""

    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        if folding() and function not in SAME_EVERYWHERE:
            return np.asarray(getattr(np, function)(*map(_f64, operands))).astype(operands[0].dtype, copy=False)
        return np.asarray(getattr(np, function)(*operands))

    return staticmethod(evaluate)


def in_f32(function: str | Callable[[Attrs, Array], Array]) -> staticmethod[..., Results]:
    """``evaluate`` by ``function(attrs, x)``, or a numpy function of that name, in f32 at least.

    The result is rounded to the type of the operand.
    """

    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = wide(operands[0])
        y = getattr(np, function)(x) if isinstance(function, str) else function(attrs, x)
        return np.asarray(y).astype(operands[0].dtype, copy=False)

    return staticmethod(evaluate)


def expand_in_f32(function: Callable[[GeBuilder, Attrs, SSAValue], SSAValue]) -> staticmethod[..., Any]:
    """``expand`` by ``function(b, attrs, x)`` with f16 and bf16 cast to f32 before and back after."""

    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        x = operands[0]
        return b.cast(function(b, attrs, widen(b, x)), b.spec(x).dtype)

    return staticmethod(expand)


def widen(b: GeBuilder, x: Any) -> Any:
    """``x`` cast to f32 if it is of a float type below f32; None stays None."""
    return b.cast(x, dtypes.F32) if x is not None and is_half(b.spec(x).dtype) else x
