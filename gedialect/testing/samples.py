"""Random element types, shapes and values for instances of a pattern; what one op needs is in ``sample_ops``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec

Rng: TypeAlias = np.random.Generator


class Unknown:
    """An operand whose type is free."""


UNKNOWN = Unknown()
Known: TypeAlias = "Spec | Unknown | None"
Attributes: TypeAlias = "dict[str, Any]"

DTYPES = ("f64", "f64", "f32", "f32", "f16", "bf16", "i32", "i64", "i8", "ui8", "i1")
"""Element types rules are tried with, those named twice more often; what the ops of a form refuse falls away."""
ROUNDED = ("f64", "f64", "f32", "f32", "f16", "bf16", "i32", "i8")
"""The same for rules that hold within rounding: of integers the less, since they have none."""


class Sampler:
    """Draws what an instance needs; ``size`` bounds each dimension.

    ``special``: values may be infinite (unless ``infinite`` rules that out), NaN, or so large that their squares
    overflow. ``alike``: almost all dimensions are of one size, so that what mixes up axes has the right types and shows
    in the values only. ``turn`` numbers the instances: where a tensor has room for few such values, they take turns.
    """

    def __init__(
        self,
        rng: Rng,
        dtype: DType,
        size: int,
        *,
        empty: bool = True,
        special: bool = True,
        infinite: bool = True,
        alike: bool = False,
        turn: int = 0,
    ):
        self.rng = rng
        self.dtype = dtype
        self.size = size
        self.empty = empty
        self.special = special
        self.infinite = infinite
        self.turn = turn
        self.alike = int(rng.integers(2, 4)) if alike else None
        self.largest: tuple[int, ...] | None = None
        """Shape of the largest value so far."""
        self.bounds: dict[int, tuple[int, int]] = {}
        """Operands of the current op that hold positions or counts -> (low, high), high excluded."""

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def below(self, n: int) -> int:
        """A number of 0 .. n - 1."""
        return int(self.rng.integers(n))

    def of_kinds(self, kinds: str) -> DType:
        """An element type of one of these kinds ("f", "i", "u", "b")."""
        return self.pick([t for n in DTYPES if (t := dtypes.BY_NAME[n]).kind in kinds])

    def dim(self) -> int:
        if self.alike is not None and self.chance(0.9):
            return self.alike
        if self.empty and self.chance(0.05):
            return 0
        return int(self.rng.integers(1, self.size + 1))

    def shape(self, low: int = 0, high: int = 4) -> tuple[int, ...]:
        if self.alike is not None and self.chance(0.8):
            low = max(low, min(2, high))
        rank = int(self.rng.integers(low, high + 1))
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


POSITIVE = {("ge.batch_norm", "variance"), ("ge.sqrt", "x"), ("ge.rsqrt", "x"), ("ge.log", "x")}
"""Operands drawn positive: otherwise both sides are NaN, which proves nothing."""

LANDMARKS = (0.0, -0.0, 1.0, -3.5, 3.5, 6.5)
"""Zeros of both signs, one, and values beyond the bends of activations such as relu6 and hard swish."""
TIES = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Values drawn with repetition: what picks one of several equals, or rounds halves, shows with them."""


def squares_overflow(dtype: DType) -> float:
    """A number of the type whose square is infinite; the sum of a few such numbers is not. (Not drawn for f64: there
    is no wider type to say what is right.)"""
    return {"f16": 384.0, "f64": 2.0**513}.get(dtype.name, 2.0**65)


def values(s: Sampler, spec: Spec, *, positive: bool = False, within: tuple[int, int] | None = None) -> Any:
    """Random elements. ``within`` bounds integers that are positions; others are small, at times any, with the least
    and greatest among them. Floats have landmarks among them and, in special instances, infinities, NaN and numbers
    whose squares overflow; each such value has an element of its own, and where there are fewer elements the values
    take turns from instance to instance."""
    shape, kind = spec.shape, spec.dtype.kind
    dtype = spec.dtype.numpy
    if kind == "b":
        return s.rng.random(shape) < 0.5
    if kind in "iu":
        info: Any = np.iinfo(dtype)
        if within is not None:
            low, high = max(within[0], int(info.min)), max(within[1], within[0] + 1)
            return s.rng.integers(low, high, shape).astype(dtype)
        least = 1 if positive else int(info.min) if kind == "u" else -4
        if s.chance(0.3):
            data = s.rng.integers(max(least, 0) if kind == "u" or positive else info.min, info.max, shape, dtype)
        else:
            data = s.rng.integers(least, 5, shape).astype(dtype)
        put(s, data, [info.max] if positive else [info.min, info.max, -7, 0] if kind == "i" else [info.max, 0], 0.2)
        return data
    data = s.rng.choice(TIES, shape) if s.chance(0.1) else s.rng.standard_normal(shape)
    if positive:
        data = np.abs(data) + 0.25
    data = np.asarray(data).astype(dtype)
    if not positive:
        put(s, data, LANDMARKS, 0.2)
        if s.special:
            large = [] if spec.dtype.itemsize == 8 else [squares_overflow(spec.dtype)]
            put(s, data, [*([np.inf, -np.inf] if s.infinite else []), np.nan, *large], 0.3)
    return data


def put(s: Sampler, data: Any, marks: Sequence[Any], p: float) -> None:
    """Each of ``marks`` with probability ``p`` at a random element of its own; the next in turn where there are fewer
    elements than marks."""
    if data.size >= len(marks):
        chosen = [m for m in marks if s.chance(p)]
    else:
        chosen = [marks[(s.turn + i) % len(marks)] for i in range(data.size) if s.chance(1 - (1 - p) ** len(marks))]
    places = s.rng.permutation(data.size)
    for place, mark in zip(places, chosen, strict=False):
        data.reshape(-1)[place] = mark


EXTREMES = {"f16": (300.0, 1e-5, -4e4, 2.0**-16), "f32": (1e25, 1e-39, -2e38, 1e-25)}
"""Numbers at the ends of a type; bf16 has those of f32."""


def number(s: Sampler) -> float:
    """A constant for a ``number`` capture, at times one whose square or reciprocal leaves the
    type, so that what a rule computes of it has to stay in range."""
    if s.dtype.is_float and s.dtype.itemsize < 8 and s.chance(0.6 if s.special else 0.08):
        return float(s.pick(EXTREMES["f16" if s.dtype.name == "f16" else "f32"]))
    return float(s.pick([0.5, 2.0, 4.0, 3.0, -1.5, 0.25, 1.0, s.pick([0.0, -0.0])]))


def total(shapes: Sequence[tuple[int, ...]]) -> int:
    """Elements in all; what makes a counterexample small."""
    return sum(prod(s) for s in shapes)
