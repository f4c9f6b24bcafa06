"""Gears: one OM for several sizes of its inputs, each compiled for itself; ATC's dynamic batch size and dims."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from gedialect.analysis.graph import graph_function
from gedialect.analysis.opcount import count_ops
from gedialect.api.chained import late_ops, unsaveable
from gedialect.api.decide import Progress, decide, switched
from gedialect.api.executable import Executable
from gedialect.api.fusion_report import FusionLog
from gedialect.api.linked import has_control, program_of
from gedialect.api.report import Report
from gedialect.api.resolve import prepare
from gedialect.api.settings import Settings
from gedialect.binary.gears import MAX_GEARS, Kind, gear_name
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.errors import GeError, UsageError
from gedialect.interpreter import input_names, output_names
from gedialect.ir.spec import DYNAMIC, spec_of
from gedialect.runtime.profiler import moved_bytes, time_tasks
from gedialect.targets import load_target
from lowering.emit.gears import GearsEmitter
from lowering.emit.structured import Piece, Program

Shapes = dict[str, tuple[int, ...]]

_OPTIONS: Mapping[Kind, str] = {"dynamic_batch_size": "--dynamic-batch-size", "dynamic_dims": "--dynamic-dims"}
_FORMS: Mapping[Kind, str] = {
    "dynamic_batch_size": "write --dynamic-batch-size 1,2,4, or dynamic_batch_size=[1, 2, 4]",
    "dynamic_dims": 'write --dynamic-dims "1,128;4,256", or dynamic_dims=[(1, 128), (4, 256)]',
}


@dataclass(frozen=True)
class GearList:
    """The gears asked for: the values of each, one for a batch size, else one per unknown size."""

    kind: Kind
    values: tuple[tuple[int, ...], ...]

    def name(self, number: int) -> str:
        return gear_name(self.kind, self.values[number])


# ---------------------------------------------------------------------- what is asked for
def parse_gears(batch_sizes: str | None, dims: str | None) -> GearList | None:
    """The gears of a command line: ``1,2,4`` and ``1,128;4,256``; UsageError GE1001."""
    sizes = None if batch_sizes is None else _numbers(batch_sizes, "dynamic_batch_size")
    parts = [] if dims is None else dims.strip().removesuffix(";").split(";")
    if "" in (empty := [part.strip() for part in parts]):
        raise _wrong("dynamic_dims", f"gear {empty.index('') + 1} is empty")
    groups = None if dims is None else [_numbers(part, "dynamic_dims") for part in parts]
    return check_gears(sizes, groups)


def _numbers(text: str, kind: Kind) -> list[int]:
    found: list[int] = []
    for item in map(str.strip, text.split(",")):
        digits = item.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise _wrong(kind, f"{item!r} is no size" if item else f"a size is missing in {text!r}")
        found.append(int(item))
    return found


def check_gears(dynamic_batch_size: object, dynamic_dims: object) -> GearList | None:
    """The gears of a caller, None if there are none; UsageError GE1001 for lists of another form."""
    if dynamic_batch_size is not None and dynamic_dims is not None:
        raise UsageError(
            "dynamic batch size and dynamic dims are both given",
            hint="give one of them; dynamic dims can say what a dynamic batch size says",
        )
    kind: Kind = "dynamic_batch_size" if dynamic_dims is None else "dynamic_dims"
    given = dynamic_batch_size if dynamic_dims is None else dynamic_dims
    if given is None:
        return None
    rows = _items(given, kind)
    values = tuple(tuple(_items([row] if kind == "dynamic_batch_size" else row, kind)) for row in rows)
    gears = GearList(kind, tuple(tuple(_size(v, kind) for v in row) for row in values))
    if not gears.values:
        raise _wrong(kind, "no gear is given")
    if len(gears.values) > MAX_GEARS:
        raise _wrong(kind, f"{len(gears.values)} gears are given, at most {MAX_GEARS} fit")
    for number, row in enumerate(gears.values):
        if not row:
            raise _wrong(kind, f"gear {number + 1} is empty")
        if wrong := [v for v in row if v < 1]:
            raise _wrong(kind, f"gear {number + 1} ({gears.name(number)}) has the size {wrong[0]}; sizes are 1 or more")
        if row in gears.values[:number]:
            raise _wrong(kind, f"{gears.name(number)} is given twice")
        if len(row) != len(gears.values[0]):
            raise _wrong(
                kind,
                f"gear {number + 1} ({gears.name(number)}) has {_count(len(row))}, "
                f"gear 1 ({gears.name(0)}) has {len(gears.values[0])}",
            )
    return gears


def _items(given: object, kind: Kind) -> list[object]:
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise _wrong(kind, f"{given!r:.80} is no list")
    return list(cast("Any", given))


def _size(value: object, kind: Kind) -> int:
    try:
        return index(cast("Any", value))
    except TypeError:
        raise _wrong(kind, f"{value!r:.80} is no size") from None


def _wrong(kind: Kind, message: str) -> UsageError:
    return UsageError(f"{_OPTIONS[kind]}: {message}", hint=_FORMS[kind])


def _count(values: int) -> str:
    return f"{values} value{'' if values == 1 else 's'}"


# ---------------------------------------------------------------------- what it means for a model
def for_model(module: ModuleOp, gears: GearList) -> tuple[GearList, list[Shapes]]:
    """The gears with a value for each unknown size, and by gear the shapes of the inputs that have some.

    Where the model names its sizes, a value for each name will do. UsageError GE1004 for gears that do not fit the
    inputs, GE1014 where no size is unknown.
    """
    inputs = input_shapes(module)
    if left := [n for n in input_names(graph_function(module)) if n not in inputs]:
        raise GeError(
            f"input {left[0]} is a sequence, text or optional: an OM with gears has tensors only",
            code="GE1014",
            hint="leave the gears out: the model is compiled while it runs",
        )
    unknown = {n: s for n, s in inputs.items() if DYNAMIC in s}
    option = _OPTIONS[gears.kind]
    if not unknown:
        first = next((n for n, s in inputs.items() if s), "x")
        shape = ",".join(map(str, (DYNAMIC, *inputs.get(first, (1, 1))[1:])))
        raise UsageError(
            f"{option} is given, but no size of the inputs is unknown",
            code="GE1014",
            hint="export the model with a dynamic axis (a size that the model fixes stays fixed), and leave its size "
            f'out of --input-shape or write -1 for it: --input-shape "{first}:{shape}"',
        )
    places = [(n, axis) for n, shape in unknown.items() for axis, size in enumerate(shape) if size == DYNAMIC]
    if gears.kind == "dynamic_batch_size":
        for name, axis in places:
            if axis:
                text = ",".join(map(str, unknown[name]))
                raise UsageError(
                    f"{option} is given, but size {axis} of input {name} ({text}) is unknown as well",
                    code="GE1004",
                    hint=f'fix it, for instance --input-shape "{_fixed(unknown)}", or give --dynamic-dims',
                )
        return gears, [{n: (batch, *shape[1:]) for n, shape in unknown.items()} for (batch,) in gears.values]
    names = [_size_names(module).get(place, "") for place in places]
    distinct = list(dict.fromkeys(names))
    rows = gears.values
    if len(rows[0]) == len(distinct) != len(places) and "" not in names:
        at = [distinct.index(name) for name in names]
        rows = tuple(tuple(row[n] for n in at) for row in rows)
    if len(rows[0]) != len(places):
        texts = [f"{n}[{axis}]" + (f" ({name})" if name else "") for (n, axis), name in zip(places, names, strict=True)]
        raise UsageError(
            f"{option}: gear 1 ({gears.name(0)}) has {_count(len(rows[0]))}, "
            f"the unknown sizes are {len(places)}: {', '.join(texts)}",
            code="GE1004",
            hint="give a value for each, in this order, or fix some of them with --input-shape",
        )
    found: list[Shapes] = []
    for row in rows:
        left = iter(row)
        found.append({n: tuple(next(left) if d == DYNAMIC else d for d in s) for n, s in unknown.items()})
    return GearList(gears.kind, rows), found


def _size_names(module: ModuleOp) -> dict[tuple[str, int], str]:
    """What the model calls its unknown sizes, by input and axis."""
    function = graph_function(module)
    found: dict[tuple[str, int], str] = {}
    attrs = function.arg_attrs.data if function.arg_attrs is not None else ()
    for name, entry in zip(input_names(function), attrs, strict=bool(attrs)):
        dims = entry.data.get("ge.dims")
        for axis, dim in enumerate(cast("ArrayAttr[StringAttr]", dims).data if dims is not None else ()):
            if dim.data != "?":
                found[name, axis] = dim.data
    return found


def input_shapes(module: ModuleOp) -> Shapes:
    """The shapes of all tensor inputs, by name."""
    function = graph_function(module)
    types = zip(input_names(function), function.function_type.inputs, strict=True)
    return {n: spec_of(t).shape for n, t in types if not isinstance(t, ON_HOST)}


def _fixed(unknown: Mapping[str, Sequence[int]]) -> str:
    """An example in which only first sizes are unknown."""
    texts = [
        f"{name}:{','.join(str(d) if axis == 0 or d != DYNAMIC else '16' for axis, d in enumerate(shape))}"
        for name, shape in unknown.items()
    ]
    return ";".join(texts)


# ---------------------------------------------------------------------- compiling
def compile_gears(
    module: ModuleOp,
    gears: GearList,
    of_shapes: Callable[[Shapes], ModuleOp],
    settings: Settings,
    *,
    progress: Callable[[str], None] | None = None,
    name: str = "model",
    fusion_log: FusionLog | None = None,
) -> Executable:
    """One OM of all gears. ``module`` has the inputs of the model; ``of_shapes`` makes the module of a gear.

    Errors of a gear name it.
    """
    chip = load_target(settings.target)
    gears, by_gear = for_model(module, gears)
    programs: list[Program] = []
    reports: list[Report] = []
    for number, shapes in enumerate(by_gear):
        prefix = f"gear {number + 1} of {len(gears.values)}: "
        inner = None if progress is None else _prefixed(progress, prefix)
        report = settings.report()
        with _named(gears.name(number)), _tagged(fusion_log, gears.name(number)):
            if inner is not None:
                inner("import")
            programs.append(_program(of_shapes(shapes), settings, report, inner, fusion_log))
        reports.append(report)
    with switched(settings.switches):
        emitter = GearsEmitter(gears.kind, gears.values, programs, input_shapes(module), chip, name)
    if progress is not None:
        progress("emit")
    with switched(settings.switches):
        emitter.emit()
    if settings.time and progress is not None:
        progress("time")
    total = settings.report()
    for number, (part, report) in enumerate(zip(emitter.parts, reports, strict=True)):
        for stage in report.stages:
            stage["gear"] = gears.name(number)
        report.kernels, report.kernel_list, report.host_ops = len(part.kernels), part.kernels, part.host_ops
        report.workspace_bytes = part.layout.workspace
        report.workspace_bytes_no_reuse = part.layout.workspace_no_reuse
        report.workspace_lower_bound = part.layout.workspace_lower_bound
        report.gm_bytes = moved_bytes(part.tasks, emitter.into.programs)
        if settings.time:
            report.latency_us = time_tasks(part.tasks, emitter.into.programs, chip, lambda task: str(task.op_index)).us
        total.add_gear(gears.name(number), emitter.gears.gears[number], report)
    total.weight_bytes = emitter.writer.weights.size
    return Executable.from_om(emitter.build(total.as_dict()))


def _prefixed(progress: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda text: progress(prefix + text)


def _program(
    module: ModuleOp, settings: Settings, report: Report, progress: Progress | None, fusion_log: FusionLog | None
) -> Program:
    """The program of one gear, planned."""
    if late_ops(module):
        prepare(module)
    if late_ops(module):
        raise unsaveable(module)
    if has_control(module):
        report.stages.append({"stage": "import", "ops": count_ops(module)})
        report.ops = count_ops(module)
        return program_of(module, lambda piece: decide(piece, settings, progress=progress, fusion_log=fusion_log))
    decide(module, settings, report=report, progress=progress, fusion_log=fusion_log)
    function = graph_function(module)
    program = Program()
    inputs = [program.slot(spec_of(t)) for t in function.function_type.inputs]
    outputs = [program.slot(spec_of(t)) for t in function.function_type.outputs]
    program.inputs = list(zip(input_names(function), inputs, strict=True))
    program.outputs = list(zip(output_names(function), outputs, strict=True))
    program.steps.append(Piece(module, inputs, outputs))
    return program


@contextmanager
def _named(gear: str) -> Generator[None]:
    """Errors inside say which gear they are of."""
    try:
        yield
    except GeError as error:
        error.message = f"with {gear}: {error.message}"
        raise


@contextmanager
def _tagged(log: FusionLog | None, gear: str) -> Generator[None]:
    """What is logged inside says which gear it is of."""
    starts = (0, 0) if log is None else (len(log.rules), len(log.kernels))
    yield
    if log is not None:
        for entry in (*log.rules[starts[0] :], *log.kernels[starts[1] :]):
            entry["gear"] = gear
