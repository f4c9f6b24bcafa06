"""``--check-each-pass``: the graph runs in the interpreter before the pipeline and after every pass, and the results
are compared.

Integers and bools must be equal; floats may differ by a tolerance relative to the largest value of the output, that of
the coarsest float type the graph computes in. A pass that lowers the precision on purpose says so
(``lowered_to``) and has the tolerance of the type it lowers to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.traits import MemoryWriteEffect

from gedialect import interpreter
from gedialect.analysis.graph import graph_function
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.errors import EXIT_CHECK_FAILED, GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import spec_of

Array = npt.NDArray[Any]
TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 5e-3, "bf16": 4e-2}
"""Largest change by one pass, relative to the largest value of the output, by the coarsest float type of the graph."""
LOWERED = {"f16": 2e-2, "bf16": 5e-2}
"""Largest change by a pass that lowers the precision of the whole graph to a type."""

NOT_GE = ("GE1204", "GE1109")
"""Errors that say that a module is no ge graph any more, which is no fault of the pass."""


class PassChangesResult(GeError):
    """A pass after which the graph gives other results (exit code 3); ``step`` is its name."""

    exit_code = EXIT_CHECK_FAILED

    def __init__(self, step: str, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()):
        super().__init__(f"pass {step} {message}", code="GE1117", hint=hint, details=details)
        self.step = step


@dataclass(frozen=True)
class Difference:
    """The element of an output that differs most; ``size`` is relative to the largest value, inf if not comparable."""

    output: str
    size: float
    index: tuple[int, ...] | None = None
    before: Any = None
    after: Any = None
    what: str = ""
    """For outputs that cannot be compared element by element: what is wrong."""

    def __str__(self) -> str:
        if self.index is None:
            return f"output {self.output}: {self.what}"
        place = f"[{', '.join(map(str, self.index))}]"
        size = f" (relative difference {self.size:.2e})" if 0 < self.size < float("inf") else ""
        return f"output {self.output} at {place}: {self.before} before, {self.after} after{size}"


def differences(name: str, before: object, after: object) -> Iterator[Difference]:
    """The largest difference of two values: arrays, or sequences and optionals of the host."""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        found = difference(name, cast("Array", before), cast("Array", after))
        if found is not None:
            yield found
    elif isinstance(before, list) and isinstance(after, list):
        ours, theirs = cast("list[Any]", before), cast("list[Any]", after)
        if len(ours) != len(theirs):
            yield Difference(name, float("inf"), what=f"{len(ours)} elements before, {len(theirs)} after")
            return
        for i, (b, a) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(f"{name}[{i}]", b, a)
    elif repr(cast(Any, before)) != repr(cast(Any, after)):
        yield Difference(name, float("inf"), what=f"{before} before, {after} after")


def difference(name: str, before: Array, after: Array) -> Difference | None:
    """The largest difference of two arrays, None where all is equal; nan equals nan. Floats are measured relative to
    the largest finite value, everything else counts as infinitely different."""
    if before.dtype != after.dtype or before.shape != after.shape:
        what = f"{before.dtype}{list(before.shape)} before, {after.dtype}{list(after.shape)} after"
        return Difference(name, float("inf"), what=what)
    wide = np.complex128 if before.dtype.kind == "c" else np.float64
    text = before.dtype.kind in "OSUT"
    is_float = not text and (before.dtype.kind == "c" or dtypes.from_numpy(before.dtype).is_float)
    b, a = (before.astype(wide), after.astype(wide)) if is_float else (before, after)
    with np.errstate(all="ignore"):
        equal = (b == a) | ((b != b) & (a != a))
        if bool(equal.all()):
            return None
        if is_float:
            finite = np.isfinite(b) & np.isfinite(a)
            scale = max(float(np.abs(b[np.isfinite(b)]).max(initial=0.0)), 1e-30)
            sizes = np.where(equal, 0.0, np.where(finite, np.abs(a - b) / scale, np.inf))
        else:
            sizes = np.where(equal, 0.0, np.inf)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
    return Difference(name, float(sizes[index]), index, before[index], after[index])


def coarsest(module: ModuleOp) -> str | None:
    """The name of the float type of the graph with the largest tolerance; None if it has none."""
    found: set[str] = set()
    function = graph_function(module)
    for op in function.walk():
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if not isinstance(value.type, ON_HOST):
                found.add(_type_name(value.type))
    return max(found & set(TOLERANCE), key=lambda n: TOLERANCE[n], default=None)


def _type_name(type_: Attribute) -> str:
    try:
        return spec_of(type_).dtype.name
    except GeError:
        return ""


def is_random(module: ModuleOp) -> bool:
    """Whether ops without a seed give other numbers at each run."""
    return any(op.has_trait(MemoryWriteEffect) and "seed" not in op.properties for op in module.walk())


def check_inputs(module: ModuleOp, path: str | None, seed: int) -> Mapping[str, Any]:
    """The arrays of the ``.npz`` file ``path``, or random ones; GE1004 if they do not fit, GE1014 if sizes of inputs
    are unknown and no file is given."""
    function = graph_function(module)
    if path is None:
        from gedialect.testing.agree import random_inputs

        names = interpreter.input_names(function)
        unknown = [n for n, t in zip(names, function.function_type.inputs, strict=True) if not _is_static(t)]
        if unknown:
            raise GeError(
                f"no random inputs: sizes are unknown: {', '.join(unknown)}",
                code="GE1014",
                hint="give --inputs IN.npz, or the sizes with --input-shape",
            )
        return random_inputs(module, seed)
    from gedialect.cli.arrays import ArrayFile, Inputs

    given = Inputs(ArrayFile(path))
    try:
        interpreter.bind_inputs(function, given.stand_ins())
    except GeError as error:
        raise error.at(path) from None
    return given.read()


def _is_static(type_: Attribute) -> bool:
    return not isinstance(type_, ON_HOST) and spec_of(type_).is_static


@dataclass
class PassCheck:
    """The results so far, compared with those after each pass. ``tolerance`` replaces the limits of all types.

    ``lines`` has one line per pass that was run.
    """

    inputs: Mapping[str, Any]
    tolerance: float | None = None
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _results: Mapping[str, Array] = field(default_factory=dict[str, Array])

    def start(self, module: ModuleOp) -> None:
        """Run the module as it is; GE1204 or what else keeps the interpreter from running it."""
        if is_random(module):
            raise UnsupportedError(
                "random numbers without a seed differ at each run: passes cannot be checked by their results",
                code="GE1204",
                hint="give the random ops a seed",
            )
        self._results = interpreter.run(module, self.inputs)

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Compare after a pass; ``PassChangesResult`` if its results are others or none."""
        limits = self._limit(step, module)
        try:
            results = interpreter.run(module, self.inputs)
        except GeError as error:
            if error.code in NOT_GE:
                self.lines.append((step.name, f"not checked, the interpreter cannot run it any more: {error.message}"))
                return
            raise PassChangesResult(step.name, f"makes the graph fail in the interpreter: {error.message}") from error
        except Exception as error:
            what = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
            raise PassChangesResult(step.name, f"makes the graph fail in the interpreter: {what}") from error
        found = self._compare(step.name, results, limits[0])
        self._results = results
        self.lines.append((step.name, self._verdict(found, *limits) + _unexecuted(module)))

    def _limit(self, step: ModulePass, module: ModuleOp) -> tuple[float, str | None]:
        """The limit for floats after a pass, and the type if the pass lowers the precision to it."""
        lowered: str | None = getattr(step, "lowered_to", None)
        if lowered is not None:
            return (LOWERED[lowered] if self.tolerance is None else self.tolerance), lowered
        if self.tolerance is not None:
            return self.tolerance, None
        try:
            type_ = coarsest(module)
        except GeError:
            type_ = None
        return (0.0 if type_ is None else TOLERANCE[type_]), None

    def _compare(self, step: str, results: Mapping[str, Array], limit: float) -> Difference | None:
        if list(results) != list(self._results):
            names = f"{', '.join(self._results)} before, {', '.join(results)} after"
            raise PassChangesResult(step, f"changes the outputs: {names}")
        found = [d for n in results for d in differences(n, self._results[n], results[n])]
        wrong = [d for d in found if d.size > limit]
        if wrong:
            others = tuple(f"also {d}" for d in wrong[1:4])
            raise PassChangesResult(step, f"changes {wrong[0]}, limit {limit:g}", details=others)
        return max(found, key=lambda d: d.size, default=None)

    def guilty_rules(self, step: ModulePass, applied: list[str], ctx: Context, before: ModuleOp) -> tuple[str, ...]:
        """Of the rules a faulty ``apply-rules`` applied to ``before``, those without which the result stays."""
        found: list[str] = []
        for rule in applied:
            module = before.clone()
            without = replace(step, disable=(*getattr(step, "disable"), rule))
            trial = replace(self, lines=[])
            try:
                without.apply(ctx.clone(), module)
                trial.after(without, module)
            except GeError:
                continue
            found.append(rule)
        return tuple(found)

    @staticmethod
    def _verdict(found: Difference | None, limit: float, lowered: str | None) -> str:
        if found is None:
            return "equal"
        text = f"within {found.size:.1e} (limit {limit:g})"
        return text if lowered is None else f"lowers the precision to {lowered}: {text}"

    def report(self) -> str:
        """A line per pass."""
        return "===- pass check -===\n" + "".join(f"  {name}: {text}\n" for name, text in self.lines)


def _unexecuted(module: ModuleOp) -> str:
    """What of the module the interpreter did not look at."""
    count = sum(op.name == "npu.kernel" for op in module.ops)
    return f"; its {count} npu kernels are not executed by the interpreter" if count else ""
