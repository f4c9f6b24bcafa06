"""A compiled model that runs on the simulated NPU."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gedialect.api.arguments import as_array, by_name, checked_path
from gedialect.api.report import Report
from gedialect.errors import GeError, UsageError
from gedialect.runtime.gears import LoadedGear
from gedialect.runtime.loader import LoadedModel, load_om
from gedialect.runtime.loader import load as load_file
from gedialect.runtime.profiler import Timing, time_model
from gedialect.runtime.session import Session, bind_model
from gedialect.targets import load_target

if TYPE_CHECKING:
    from gedialect.api.chained import ChainExecutable
    from gedialect.binary.om import OmFile

Array = npt.NDArray[Any]
CACHE_SIZE = 64
"""Shapes an executable with unknown sizes keeps compiled; the least recently used goes first."""


class Executable:
    """One OM, in memory or from a file."""

    def __init__(self, om: OmFile | None, model: LoadedModel):
        self._om = om
        self._model = model
        self._session: dict[bool, Session] = {}
        self._timings: dict[int | None, Timing] = {}
        self._gear: LoadedGear | None = None
        self.report = Report.from_dict(model.report)

    @classmethod
    def from_om(cls, om: OmFile) -> Executable:
        return cls(om, load_om(om))

    @property
    def input_names(self) -> list[str]:
        return [t.name for t in self._model.inputs]

    @property
    def output_names(self) -> list[str]:
        return [t.name for t in self._model.outputs]

    @property
    def gears(self) -> tuple[LoadedGear, ...]:
        """What sizes it was compiled for, of which each run takes one; empty if sizes are fixed."""
        return self._model.gears

    @property
    def gear(self) -> LoadedGear | None:
        """The gear of the last run."""
        return self._gear

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *, sanitize: bool = False) -> dict[str, Array]:
        """Outputs by name, in order, with the model's exact dtypes and shapes; GE1004 for inputs that do not fit.

        ``inputs`` is a dict by name or a list in order; ``sanitize`` checks every kernel while it runs. With gears, the
        shapes of the inputs say which of them runs.
        """
        inputs = {n: as_array(n, v) for n, v in by_name(inputs, self.input_names).items()}
        self._gear = bind_model(self._model, inputs)[1]
        if sanitize not in self._session:
            self._session[sanitize] = Session(self._model, sanitize=sanitize)
        return self._session[sanitize].run(inputs)

    def check(self, inputs: Mapping[str, Any]) -> None:
        """GE1004 unless ``run`` would take these inputs."""
        bind_model(self._model, inputs)

    def timing(self, gear: int | None = None) -> Timing:
        """Predicted time of one run, task by task, on the target the model was compiled for. ``gear``: the number of
        the gear; else it is that of the last run, before any run the slowest."""
        target = load_target(self._model.target)
        numbers: list[int | None] = [gear] if gear is not None else [g.number for g in self.gears] or [None]
        if gear is None and self._gear is not None:
            numbers = [self._gear.number]
        if gear is not None and not 0 <= gear < len(self.gears):
            raise UsageError(f"there is no gear {gear}", hint=f"the model has {len(self.gears)} gears, numbered from 0")
        for number in numbers:
            if number not in self._timings:
                self._timings[number] = time_model(self._model, target, number)
        return max((self._timings[number] for number in numbers), key=lambda timing: timing.us)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the OM: to a temporary file first, then renamed."""
        from gedialect.binary.om import write_om

        write_om(self._om if self._om is not None else self._model.om, checked_path(path, "the OM to write"))


class ShapedExecutable:
    """An executable whose input sizes were unknown: compiled at the first run for the shapes it sees.

    ``variants`` counts compilations kept; ``report`` is that of the last one run.
    """

    def __init__(
        self,
        compile_for: Callable[[dict[str, tuple[int, ...]]], Executable | ChainExecutable],
        names: Sequence[str],
        missing: str,
    ):
        self._compile = compile_for
        self._names = list(names)
        self._missing = missing
        self._variants: OrderedDict[tuple[tuple[int, ...], ...], Executable | ChainExecutable] = OrderedDict()
        self._last: Executable | ChainExecutable | None = None

    @property
    def variants(self) -> int:
        return len(self._variants)

    @property
    def report(self) -> Report:
        if self._last is None:
            raise GeError("nothing is compiled yet: the input sizes are unknown", code="GE1014", hint=self._missing)
        return self._last.report

    @property
    def input_names(self) -> list[str]:
        return list(self._names)

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *, sanitize: bool = False) -> dict[str, Array]:
        """As ``Executable.run``; compiles for the shapes of ``inputs`` unless that was done before."""
        inputs = by_name(inputs, self._names)
        tensors = {n: v for n, v in inputs.items() if v is not None and not isinstance(v, list)}
        shapes = {name: tuple(as_array(name, value).shape) for name, value in tensors.items()}
        key = tuple(shapes.get(name, ()) for name in self._names)
        found = self._variants.pop(key, None)
        if found is None:
            found = self._compile(shapes)
            while len(self._variants) >= CACHE_SIZE:
                self._variants.popitem(last=False)
        self._variants[key] = found
        self._last = found
        return found.run(inputs, sanitize=sanitize)

    def check(self, inputs: Mapping[str, Any]) -> None:
        """GE1004 unless all inputs are there; whether they fit the model is seen when it is compiled for them."""
        if set(inputs) != set(self._names):
            raise GeError(f"the inputs are {', '.join(self._names)}; got {', '.join(inputs)}", code="GE1004")

    def timing(self) -> Timing:
        """As ``Executable.timing``, of the variant run last; GE1014 before the first run."""
        if self._last is None:
            raise GeError("nothing is compiled yet: the input sizes are unknown", code="GE1014", hint=self._missing)
        return self._last.timing()

    def save(self, path: str | os.PathLike[str]) -> None:
        """GE1014: an OM needs its sizes."""
        name = checked_path(path, "the OM to write")
        raise GeError("cannot save: the input sizes are unknown", code="GE1014", where=name, hint=self._missing)


def load(path: str | os.PathLike[str]) -> Executable | ChainExecutable:
    """An executable from an OM file; GE1002 or GE13xx if it is damaged. A model whose sizes come from data is compiled
    while it runs."""
    from gedialect.api.dynamic_om import is_dynamic, read_dynamic
    from gedialect.binary.om import read_om

    path = checked_path(path, "an OM")
    om = read_om(path)
    if not is_dynamic(om):
        return Executable(None, load_file(path))
    from gedialect.api.compiler import chain

    module, settings = read_dynamic(om, path)
    return chain(module, settings)
