"""Delta debugging: edits in halves, quarters and so on, as long as the model still fails."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy.typing as npt

from gedialect.errors import GeError


class Model(Protocol):
    """What is reduced. ``key`` is equal for equal models; ``cost`` gets smaller with every edit that is kept."""

    def key(self) -> object: ...
    def cost(self) -> tuple[int, ...]: ...


M = TypeVar("M", bound=Model)


def digest(model: bytes, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """What stands for a model and the arrays it runs on."""
    found = hashlib.sha256(model)
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.digest()


@dataclass(frozen=True)
class Step(Generic[M]):
    """One kind of edit: ``units`` names what can be edited in a model, ``edit`` edits some of it at once, giving None
    where that is not possible."""

    name: str
    units: Callable[[M], Sequence[object]]
    edit: Callable[[M, Sequence[object]], M | None]
    grouped: bool = True
    """Whether several units can be edited at once."""


class OutOfTime(Exception):
    """The time limit has passed."""


@dataclass
class Reducer(Generic[M]):
    """``interesting`` says whether a model still fails the same way; ``tell`` shows progress."""

    interesting: Callable[[M], bool]
    steps: Sequence[Step[M]]
    seconds: float | None = None
    tell: Callable[[str], None] = lambda text: None
    tests: int = 0
    out_of_time: bool = False
    _seen: set[object] = field(default_factory=set[object])
    _end: float | None = None

    def run(self, model: M) -> M:
        """The smallest model found; the time limit ends it early, which ``out_of_time`` says."""
        self._end = None if self.seconds is None else time.monotonic() + self.seconds
        self._best = model
        self._seen.add(model.key())
        try:
            while True:
                cost = self._best.cost()
                for step in self.steps:
                    self._step(step)
                if self._best.cost() >= cost:
                    break
        except OutOfTime:
            self.out_of_time = True
        return self._best

    def _step(self, step: Step[M]) -> None:
        units = list(step.units(self._best))
        size = len(units) if step.grouped else 1
        while size >= 1 and units:
            at = 0
            while at < len(units):
                chosen = units[at : at + size]
                if self._try(step, chosen):
                    left = set(step.units(self._best))
                    units = [u for i, u in enumerate(units) if u in left and not at <= i < at + size]
                else:
                    at += size
            size //= 2

    def _try(self, step: Step[M], chosen: Sequence[object]) -> bool:
        if self._end is not None and time.monotonic() > self._end:
            raise OutOfTime
        try:
            made = step.edit(self._best, chosen)
        except GeError:  # an edit that gives no model
            return False
        if made is None or made.cost() >= self._best.cost():
            return False
        key = made.key()
        if key in self._seen:
            return False
        self._seen.add(key)
        self.tests += 1
        self.tell(f"{step.name}, {self.tests} tests, {self._best.cost()[0]} ops left")
        if not self.interesting(made):
            return False
        self._best = made
        return True
