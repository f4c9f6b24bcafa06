"""The executable of a model that is cut where sizes or branches come from data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from gedialect.analysis.graph import graph_function
from gedialect.api.arguments import by_name, checked_path
from gedialect.api.executable import Executable
from gedialect.api.linked import linkable
from gedialect.api.report import Report
from gedialect.api.segments import Chain, Compile, Stage
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.control import HostOp
from gedialect.errors import GeError
from gedialect.interpreter import bind_inputs, input_names, output_names
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of
from gedialect.runtime.profiler import Timing


def late_ops(module: ModuleOp) -> list[Operation]:
    """Ops whose results have sizes that only the run tells, and those that run between executables (branches and loops
    of known sizes do not)."""
    block = graph_function(module).body.block
    return [
        op
        for op in block.ops
        if (isinstance(op, HostOp) and not linkable(op))
        or any(isinstance(r.type, ON_HOST) or not spec_of(r.type).is_static for r in op.results)
    ]


def describe(ops: Sequence[Operation]) -> str:
    """The first few ops, by name and node."""
    texts = [f"{op.name} (node {next(iter(names(op)), '')})" if list(names(op)) else op.name for op in ops[:4]]
    return ", ".join(texts) + (f" and {len(ops) - 4} more" if len(ops) > 4 else "")


class ChainExecutable:
    """Compiles each part of a module when what decides its sizes is known; see ``gedialect.api.segments``.

    ``variants`` counts the parts kept compiled (at most 64); ``report`` sums up those of the last run.
    """

    def __init__(self, module: ModuleOp, compile_static: Compile, settings: Mapping[str, str] | None = None):
        self.settings = settings
        """Level, target and precision; None if a file cannot hold how the model is compiled."""
        self._module = module
        self._function = graph_function(module)
        self._chain = Chain(compile_static)
        self._ran = False

    @property
    def variants(self) -> int:
        return self._chain.kept

    @property
    def input_names(self) -> list[str]:
        return input_names(self._function)

    @property
    def output_names(self) -> list[str]:
        return output_names(self._function)

    @property
    def report(self) -> Report:
        """Kernels, host ops and bytes of all parts of the last run, loop bodies once; the largest workspace."""
        stages = self._visited()
        total = Report(segments=0, variants=self.variants)
        for stage in stages:
            total.host_ops += stage.host_ops
            if stage.plan.executable is not None:
                total.add(stage.plan.executable.report)
        return total

    def _visited(self) -> list[Stage]:
        if not self._ran:
            raise GeError(
                f"nothing is compiled yet: sizes come from data at {describe(late_ops(self._module))}",
                code="GE1014",
                hint="run it first",
            )
        return self._chain.visited

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], *, sanitize: bool = False) -> dict[str, Any]:
        """As ``Executable.run``; sequences are lists of arrays, missing optional values None."""
        given = by_name(inputs, self.input_names)
        values: list[Any] = [_as_value(v) for v in self._bind(given)]
        self._chain.sanitize = sanitize
        self._chain.visited = []
        results = self._chain.run(self._chain.root(self._module, values), values)
        self._ran = True
        return {n: _own(r, values) for n, r in zip(self.output_names, results, strict=True)}

    def check(self, inputs: Mapping[str, Any]) -> None:
        """As ``Executable.check``."""
        self._bind(inputs)

    def _bind(self, inputs: Mapping[str, Any]) -> list[Any]:
        try:
            return bind_inputs(self._function, inputs)
        except (TypeError, ValueError) as error:  # numpy, of lists that are no arrays
            raise GeError(f"an input is no array: {error}", code="GE1004") from None

    def timing(self) -> Timing:
        """GE1014: parts are timed apart, ``parts`` has them."""
        timings = [s.plan.executable.timing() for s in self._visited() if s.plan.executable is not None]
        if len(timings) == 1:
            return timings[0]
        raise GeError(f"the model runs in {len(timings)} parts; time is predicted for one OM", code="GE1014")

    def parts(self) -> list[Executable]:
        """The executables of the last run, in order, loop bodies once."""
        return [s.plan.executable for s in self._visited() if s.plan.executable is not None]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an OM that holds the ge text: ``load`` makes a chain of it again. GE1014 with rules or switches of the
        caller, which a file cannot hold."""
        from gedialect.api.dynamic_om import dynamic_om
        from gedialect.binary.om import write_om

        path = checked_path(path, "the OM to write")
        if self.settings is None:
            raise unsaveable(self._module, path)
        write_om(dynamic_om(self._module, self.settings, "model"), path)


def _own(result: Any, inputs: Sequence[Any]) -> Any:
    """A result that shares no bytes with an input."""
    if hasattr(result, "dtype") and any(hasattr(v, "dtype") and np.may_share_memory(result, v) for v in inputs):
        return np.array(result)
    return result


def _as_value(value: Any) -> Any:
    return value if value is None or type(value) is list else np.asarray(value)  # pyright: ignore[reportUnknownVariableType]


def unsaveable(module: ModuleOp, where: str | None = None) -> GeError:
    """The error for a model that one OM cannot hold."""
    return GeError(
        f"sizes or branches come from data at {describe(late_ops(module))}; an OM has fixed sizes",
        code="GE1014",
        where=where,
        hint="make what decides them constant, or run the model with compile() or ge-run",
    )
