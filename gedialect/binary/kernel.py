"""A kernel as the machine sees it: functions of structured loops over instructions on affine tile views.

Index variables are numbered: 0 is block_idx, 1 is sub_block_idx, 2 + d is the variable of the loop at depth d.
All addresses are bytes; strides are in elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ..ir.dtypes import DType
from .isa import Instr, Value

BLOCK_IDX = 0
SUB_BLOCK_IDX = 1
FIRST_LOOP = 2

KINDS = ("vector", "cube", "mix")
ROLES = ("in", "out", "inout", "workspace")
MAX_RANK = 8


@dataclass(frozen=True)
class KernelArg:
    """One region of global memory: ``nbytes`` bytes of ``dtype`` elements."""

    name: str
    dtype: DType
    nbytes: int
    role: str


@dataclass(frozen=True)
class Linear:
    """``const`` + sum of coefficient * index variable; ``terms`` are (variable, coefficient), by variable."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Rotation:
    """Adds ``slot_bytes`` * (iteration number of loop ``depth`` mod ``slots``) to an address."""

    depth: int
    slots: int
    slot_bytes: int


@dataclass(frozen=True)
class View:
    """One tile operand: where its elements are.

    ``base`` is the byte address in ``space`` (in argument ``arg`` for gm) of the first element; ``strides`` are in
    elements, one per dimension, 0 repeats.
    """

    space: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    base: Linear
    arg: int = -1
    rotation: Rotation | None = None

    @property
    def extent(self) -> tuple[int, int]:
        """Bytes [low, high) touched, relative to the base; (0, 0) when empty."""
        if 0 in self.shape:
            return 0, 0
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s < 0)
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True) if s > 0)
        return low * self.dtype.itemsize, (high + 1) * self.dtype.itemsize

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Inst:
    """One instruction; ``views`` and ``attrs`` (every attribute, defaults filled in) follow the table's order."""

    op: Instr
    views: tuple[View, ...] = ()
    attrs: tuple[Value, ...] = ()

    def attr(self, name: str) -> Value:
        for spec, value in zip(self.op.attrs, self.attrs, strict=True):
            if spec.name == name:
                return value
        raise KeyError(name)


@dataclass(frozen=True)
class Loop:
    """``for v in range(lo, hi, step)``: the body runs at each value, lo and hi affine in outer variables."""

    lo: Linear
    hi: Linear
    step: int
    body: tuple[Inst | Loop, ...]


@dataclass(frozen=True)
class Function:
    """The program of one kind of core."""

    body: tuple[Inst | Loop, ...]


@dataclass(frozen=True)
class Kernel:
    """One task: ``blocks`` blocks, each running the cube function, the vector function, or in a mix one cube and
    two vector functions side by side."""

    name: str
    kind: str
    blocks: int
    args: tuple[KernelArg, ...]
    cube: Function | None = None
    vector: Function | None = None
    digest: bytes = field(default=b"", compare=False)
    """Of the bytes it was decoded from; empty when built by hand."""


def steps(kernel: Kernel) -> int:
    """At most how many instructions and iterations all blocks of the kernel take together."""
    ranges = {BLOCK_IDX: (0, kernel.blocks - 1), SUB_BLOCK_IDX: (0, 1)}
    cores = 2 if kernel.kind == "mix" else 1
    cube = 0 if kernel.cube is None else _steps(kernel.cube.body, ranges, 0)
    vector = 0 if kernel.vector is None else _steps(kernel.vector.body, ranges, 0)
    return kernel.blocks * (cube + cores * vector)


def _steps(body: tuple[Inst | Loop, ...], ranges: dict[int, tuple[int, int]], depth: int) -> int:
    total = 0
    for item in body:
        total += 1
        if isinstance(item, Loop):
            away = dict(item.hi.terms)
            for var, coef in item.lo.terms:
                away[var] = away.get(var, 0) - coef
            span = _bound(Linear(item.hi.const - item.lo.const, tuple(away.items())), ranges, 1)
            trips = max(-(-span // item.step), 0)
            if trips:
                inner = {**ranges, FIRST_LOOP + depth: (_bound(item.lo, ranges, 0), _bound(item.hi, ranges, 1) - 1)}
                total += trips * (1 + _steps(item.body, inner, depth + 1))
    return total


def _bound(form: Linear, ranges: dict[int, tuple[int, int]], high: int) -> int:
    """The least (0) or greatest (1) value of a form."""
    return form.const + sum(c * ranges[v][high if c > 0 else 1 - high] for v, c in form.terms)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major element strides of ``shape``."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))
