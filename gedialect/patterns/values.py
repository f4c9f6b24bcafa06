"""What conditions and computed attributes of rules see of a matched value."""

from __future__ import annotations

import math
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.diagnostics import cap
from gedialect.ir.dtypes import F32, DType
from gedialect.ir.lazy import np
from gedialect.ir.spec import Spec, spec_of

if TYPE_CHECKING:
    import numpy.typing as npt

NEVER_SCANNED = 1024
"""Constants of more bytes are not searched for one repeated value: that would read the weights."""


class NoMatch(Exception):
    """Raised by a condition or a computed value: the rule does not apply here; the message says why."""


class Items(tuple[Any, ...]):
    """A shape or a list attribute as rules see it: an index it does not have is ``NoMatch``, since how long it is
    depends on the model."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        try:
            found = super().__getitem__(index)
        except IndexError:
            raise NoMatch(f"{list(self)} has no item {index}") from None
        return Items(found) if isinstance(index, slice) else found


def seen(value: Any) -> Any:
    """An attribute's Python value as rules see it."""
    return Items(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


class Value:
    """A matched value, with what a condition may ask about it."""

    __slots__ = ("ssa",)

    def __init__(self, ssa: SSAValue):
        self.ssa = ssa

    @property
    def spec(self) -> Spec:
        return spec_of(self.ssa.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in memory order; -1 where unknown. An axis it does not have is ``NoMatch``."""
        return Items(spec_of(self.ssa.type).shape)

    @property
    def rank(self) -> int:
        return len(spec_of(self.ssa.type).shape)

    @property
    def dtype(self) -> DType:
        return spec_of(self.ssa.type).dtype

    @property
    def is_static(self) -> bool:
        return spec_of(self.ssa.type).is_static

    @property
    def op(self) -> Operation | None:
        """The op that makes the value; None for an argument of the function."""
        owner = self.ssa.owner
        return owner if isinstance(owner, Operation) else None

    @property
    def is_const(self) -> bool:
        """Known before the model runs."""
        return is_const(self.ssa)

    @property
    def number(self) -> float | int | bool | None:
        """The value of a constant that is the same everywhere; None otherwise."""
        return number_of(self.ssa)

    @property
    def array(self) -> npt.NDArray[Any] | None:
        """The elements of a constant of at most 1 kB; None otherwise."""
        owner = self.ssa.owner
        if not isinstance(owner, ConstantOp) or self.spec.nbytes > NEVER_SCANNED:
            return None
        from gedialect.ir.weights import read_constant

        return read_constant(owner.value, self.spec)

    def same_type(self, other: Value) -> bool:
        return self.ssa.type == other.ssa.type


_known: dict[Operation, bool] | None = None


@contextmanager
def remembering_constants() -> Generator[None]:
    """While rules are applied, what is constant is worked out once for each op."""
    global _known
    before, _known = _known, {}
    try:
        yield
    finally:
        _known = before


def is_const(value: SSAValue) -> bool:
    """Whether ``value`` is a constant or computed from constants only, by ops without effects."""
    root = value.owner
    if not isinstance(root, Operation):
        return False
    known = {} if _known is None else _known
    stack = [root]
    while stack:
        op = stack[-1]
        if op in known:
            stack.pop()
        elif type(op) is ConstantOp:
            known[op] = True
        elif op.regions or not op.operands or not isinstance(op, GeOp) or not is_pure(type(op)):
            known[op] = False
        else:
            open_ = False
            answer = True
            for v in op.operands:
                owner = v.owner
                if not isinstance(owner, Operation) or known.get(owner) is False:
                    answer = open_ = False
                    break
                if owner not in known:
                    stack.append(owner)
                    open_ = True
                    break
            if not open_:
                known[op] = answer
    return known[root]


@cache
def is_pure(cls: type[Operation]) -> bool:
    """Whether ops of this class may go when their results are not used."""
    from xdsl.traits import Pure

    return cls.has_trait(Pure, value_if_unregistered=False)


def number_of(value: SSAValue) -> float | int | bool | None:
    """The one value of a constant; None if ``value`` is no constant, or differs from element to element."""
    owner = value.owner
    if not isinstance(owner, ConstantOp):
        return None
    attribute = owner.value
    if isinstance(attribute, SplatAttr):
        number = attribute.python
        return bool(number) if isinstance(number, int) and spec_of(value.type).dtype.kind == "b" else number
    if isinstance(attribute, DenseIntOrFPElementsAttr):
        return _dense_number(cast(Attribute, attribute), value.type)
    return None


@lru_cache(maxsize=4096)
def _dense_number(attribute: Attribute, type_: Attribute) -> float | int | bool | None:
    from gedialect.ir.weights import read_constant

    spec = spec_of(type_)
    if spec.nbytes > NEVER_SCANNED or spec.size == 0 or spec.dtype.kind == "c":
        return None
    flat = read_constant(attribute, spec).reshape(-1)
    first = flat[0]
    if flat.size > 1 and not bool((flat == first).all() if first == first else (flat != flat).all()):
        return None
    return cast("float | int | bool", first.item() if isinstance(first, np.generic) else float(first))


def load_numbers() -> None:
    """Load what reading a constant needs: numpy is loaded at the first use, which a rule that is timed need not pay."""
    from gedialect.ir.weights import read_constant

    read_constant(DenseIntOrFPElementsAttr.from_list(TensorType(f32, [2]), [0.0, 1.0]), Spec(F32, (2,)))


def number_is(value: SSAValue, want: float, tol: float | None) -> bool:
    """Whether ``value`` is a constant equal to ``want`` everywhere (``tol``: see ``patterns.number``)."""
    owner = value.owner
    if type(owner) is not ConstantOp:
        return False
    got = number_of(value)
    if got is None or isinstance(got, bool) != isinstance(want, bool):
        return False
    if got == want:
        return True
    if not in_range(want):  # nothing is near it
        return want != want and got != got
    return abs(float(got) - float(want)) <= tolerance(want, tol, spec_of(value.type).dtype) * abs(want)


def in_range(value: float) -> bool:
    """Whether f64 holds a finite number near ``value``."""
    return -sys.float_info.max <= value <= sys.float_info.max


def tolerance(want: float, tol: float | None, dtype: DType) -> float:
    """What part of itself a constant of type ``dtype`` may differ from ``want`` by; ``tol`` as the rule gives it."""
    if tol is not None:
        return tol
    return 0.0 if is_short(want) else max(1e-5, _EPS.get(dtype.name, 0.0))


_EPS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f64": 2.0**-52}
"""Distance from 1 to the next number of the type."""


@lru_cache(maxsize=1024)
def is_short(value: float) -> bool:
    """Whether bfloat16 holds ``value`` exactly: then every exporter writes it exactly, in every type."""
    if value == 0 or not in_range(value):
        return True
    mantissa, _ = math.frexp(float(value))
    return (mantissa * 256.0).is_integer()


@lru_cache(maxsize=1024)
def holds(dtype: DType, value: float) -> bool:
    """Whether the type has a number for ``value``: floats round, and neither they nor integers overflow."""
    if dtype.is_float:
        try:
            with np.errstate(over="ignore"):
                got = float(np.asarray(float(value)).astype(dtype.numpy))
        except OverflowError:
            return False
        return got == value if math.isinf(value) else math.isfinite(got) if value == value else got != got
    if isinstance(value, float) and not value.is_integer():
        return False
    signed, bits = (dtype.kind == "i", dtype.bits) if dtype.is_int else (True, 64)
    return -(1 << bits - 1) <= value < 1 << bits - 1 if signed else 0 <= value < 1 << bits


def shown(value: float) -> str:
    """A number in a message; Python does not write out long integers."""
    return repr(value) if isinstance(value, float) or abs(value) < 1 << 64 else cap(hex(value), 24)
