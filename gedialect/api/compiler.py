"""From a model to an executable: import, the level's pipeline, lowering, an OM in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import parse_pipeline

from gedialect.analysis.graph import graph_function
from gedialect.analysis.opcount import count_ops
from gedialect.analysis.sizes import check_sizes
from gedialect.api.arguments import check_model, check_options, checked_path, checked_shapes
from gedialect.api.chained import ChainExecutable, late_ops, unsaveable
from gedialect.api.executable import Executable, ShapedExecutable
from gedialect.api.fusion_report import FusionLog
from gedialect.api.report import Report
from gedialect.api.resolve import prepare
from gedialect.binary.output import atomic_output
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.control import HostOp
from gedialect.errors import GeError, UnsupportedError, UsageError
from gedialect.interpreter import input_names
from gedialect.ir.context import GeContext
from gedialect.ir.registry import pass_factories
from gedialect.ir.spec import DYNAMIC, spec_of
from gedialect.pipelines import STEPS, level_number, pass_name, pipeline
from gedialect.runtime.profiler import moved_bytes, time_tasks
from gedialect.switches import Switches, check_names, from_options, resolve
from gedialect.targets import load_target

if TYPE_CHECKING:
    import onnx

    from gedialect.api.gears import GearList
    from gedialect.patterns.rule import Rule

Progress = Callable[[str], None]
Shapes = Mapping[str, Sequence[int]]
PRECISIONS = ("origin", "fp16")


def compile(
    model: str | os.PathLike[str] | onnx.ModelProto | ModuleOp,
    *,
    level: str | int = "O2",
    target: str = "ascend910b1",
    precision: str = "origin",
    input_shapes: Shapes | None = None,
    time: bool = False,
    rules: Sequence[str | os.PathLike[str] | Rule] = (),
    disable: Sequence[str] = (),
    enable: Sequence[str] = (),
    fusion_modes: Sequence[str] | None = None,
    max_fusion_ops: int = 0,
    strict_numerics: bool = False,
    options: Mapping[str, object] | None = None,
    fusion_report: str | os.PathLike[str] | None = None,
    dynamic_batch_size: Sequence[int] | None = None,
    dynamic_dims: Sequence[Sequence[int]] | None = None,
) -> Executable | ChainExecutable | ShapedExecutable:
    """Compile a model (a path, an ``onnx.ModelProto``, which is not changed, or a ge module).

    With input sizes unknown after ``input_shapes`` the result compiles at its first run; where sizes or branches come
    from data it compiles part by part while it runs. ``rules`` are rewrite rules, or files of them, beside
    those of the catalogue. ``disable`` and ``enable`` name passes, rules, topics, labels of kernels or GE's fusion
    passes; ``fusion_modes``, ``max_fusion_ops`` and ``options``, which takes GE's keys, are described in
    ``gedialect.switches``. ``fusion_report`` is a file for what fused and what it saved, as JSON.
    ``dynamic_batch_size`` (for inputs whose first size alone is unknown) or ``dynamic_dims`` (a value for every unknown
    size) are gears: sizes that one executable is compiled for, of which each run takes one.
    Raises ``GeError``: GE10xx for a bad model or option, ``UnsupportedError`` with every op that is missing.
    """
    check_options(
        target, max_fusion_ops, options, rules=rules, disable=disable, enable=enable, fusion_modes=fusion_modes
    )
    modes = None if fusion_modes is None else tuple(fusion_modes)
    switches = Switches(tuple(disable), tuple(enable), modes, max_fusion_ops, strict_numerics)
    if options:
        switches = switches.over(from_options(options))
    if fusion_report is not None:
        fusion_report = checked_path(fusion_report, "fusion_report")
    level_number(level)
    load_target(target)
    _check_precision(precision)
    gears = None
    if dynamic_batch_size is not None or dynamic_dims is not None:
        from gedialect.api.gears import check_gears

        gears = check_gears(dynamic_batch_size, dynamic_dims)
    loaded = load_rules(rules)
    check_switches(switches, loaded)

    def specialized(shapes: Mapping[str, tuple[int, ...]]) -> ModuleOp:
        return import_source(model, {**(input_shapes or {}), **shapes})

    if gears is not None:
        log = None if fusion_report is None else FusionLog()
        made = build_gears(
            import_source(model, input_shapes, inputs_only=True),
            gears,
            specialized,
            level=level,
            target=target,
            precision=precision,
            time=time,
            rules=loaded,
            switches=switches,
            fusion_log=log,
        )
        _write_log(log, fusion_report)
        return made
    module = import_source(model, input_shapes)
    unknown = unknown_sizes(module)

    def compile_static(module: ModuleOp) -> Executable:
        log = None if fusion_report is None else FusionLog()
        made = compile_module(
            module,
            level=level,
            target=target,
            precision=precision,
            time=time,
            rules=loaded,
            switches=switches,
            fusion_log=log,
        )
        _write_log(log, fusion_report)
        return made

    settings = {"level": f"O{level_number(level)}", "target": target, "precision": precision}
    kept = settings if not loaded and switches == Switches() else None
    if not unknown:
        return _executable(module, compile_static, kept)

    def compile_for(shapes: dict[str, tuple[int, ...]]) -> Executable | ChainExecutable:
        return _executable(specialized(shapes), compile_static, kept)

    return ShapedExecutable(compile_for, input_names(graph_function(module)), shape_hint(unknown))


def _write_log(log: FusionLog | None, path: str | os.PathLike[str] | None) -> None:
    if log is not None and path is not None:
        with atomic_output(path) as name, open(name, "w", encoding="utf-8") as out:
            out.write(log.json() + "\n")


def chain(module: ModuleOp, settings: Mapping[str, str]) -> ChainExecutable:
    """The executable of a module whose sizes come from data; ``settings``: level, target and precision."""
    level, target, precision = (settings[k] for k in ("level", "target", "precision"))
    level_number(level)
    load_target(target)
    _check_precision(precision)
    return ChainExecutable(
        module, lambda part: compile_module(part, level=level, target=target, precision=precision), settings
    )


def _executable(
    module: ModuleOp, compile_static: Callable[[ModuleOp], Executable], settings: Mapping[str, str] | None
) -> Executable | ChainExecutable:
    """One OM, or a chain of them where sizes or branches come from data."""
    if not late_ops(module) and not _value_inputs(module):
        return compile_static(module)
    prepare(module)
    if not late_ops(module) and not _value_inputs(module):
        return compile_static(module)
    return ChainExecutable(module, compile_static, settings)


def _value_inputs(module: ModuleOp) -> bool:
    return any(isinstance(t, ON_HOST) for t in graph_function(module).function_type.inputs)


def _check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision}", code="GE1001", hint=f"one of {', '.join(PRECISIONS)}")


def check_switches(switches: Switches, rules: tuple[Rule, ...]) -> None:
    """GE1107 for a name in ``switches`` that is no pass, rule, topic or label of a kernel."""
    from gedialect.patterns.session import RuleSession

    check_names(switches, STEPS, lambda: RuleSession(rules).extra)


def load_rules(rules: Sequence[str | os.PathLike[str] | Rule]) -> tuple[Rule, ...]:
    """Rules as they are, and those of files; see ``gedialect.patterns.formats.load_rules``."""
    found: list[Rule] = []
    for r in rules:
        if isinstance(r, str | os.PathLike):
            from gedialect.patterns.formats import load_rules as load_file

            found += load_file(r)
        else:
            found.append(r)
    return tuple(found)


def import_source(
    model: str | os.PathLike[str] | onnx.ModelProto | ModuleOp,
    input_shapes: Shapes | None = None,
    *,
    inputs_only: bool = False,
) -> ModuleOp:
    """The ge module of a model file, text file, ``onnx.ModelProto`` or module (which is not changed).

    ``inputs_only``: only the inputs of its function matter, which are read without the rest where that can be.
    UsageError GE1013 for a model, GE1001 for shapes of another kind.
    """
    input_shapes = checked_shapes(input_shapes)
    if isinstance(model, ModuleOp):
        return _specialized(model.clone(), input_shapes)
    if isinstance(model, str | os.PathLike):
        path = checked_path(model, "the model")
        if path.endswith(".mlir"):
            return _specialized(parse_file(path), input_shapes)
        from gedialect.frontends import import_inputs, import_model

        return (import_inputs if inputs_only else import_model)(path, input_shapes=input_shapes)
    check_model(model)
    from gedialect.frontends import onnx as reader

    return (reader.import_inputs if inputs_only else reader.import_model)(model, input_shapes=input_shapes)


def parse_file(path: str) -> ModuleOp:
    """A verified ge module from text; GE11xx with the line at fault."""
    from gedialect.ir.parser import parse_module
    from gedialect.ir.verifier import verify
    from gedialect.ir.weights import STORE, check_names

    try:
        with open(path, "rb") as handle:
            text = handle.read()
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror}", code="GE1002", where=path, hint="check the path") from None
    folder = os.path.dirname(os.path.abspath(path))
    STORE.search_first(folder)
    module = parse_module(GeContext(), text, path)
    verify(module, file=path)
    check_names(module, folder, path)
    return module


def _specialized(module: ModuleOp, input_shapes: Shapes | None) -> ModuleOp:
    if input_shapes:
        from gedialect.transforms.specialize_shapes import specialize

        specialize(module, input_shapes)
    return module


def unknown_sizes(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """Inputs with unknown sizes, by name."""
    function = graph_function(module)
    types = zip(input_names(function), function.function_type.inputs, strict=True)
    specs = {n: spec_of(t) for n, t in types if not isinstance(t, ON_HOST)}
    return {n: s.shape for n, s in specs.items() if not s.is_static}


def shape_hint(unknown: Mapping[str, Sequence[int]]) -> str:
    """A ready ``--input-shape`` for inputs with unknown sizes (1 for each)."""
    text = ";".join(f"{n}:{','.join('1' if d == DYNAMIC else str(d) for d in s)}" for n, s in unknown.items())
    return f'give them, for instance --input-shape "{text}"'


def build(
    module: ModuleOp,
    *,
    level: str | int = "O2",
    target: str = "ascend910b1",
    precision: str = "origin",
    time: bool = False,
    progress: Progress | None = None,
    name: str = "model",
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
    fusion_log: FusionLog | None = None,
) -> Executable | ChainExecutable:
    """As ``compile_module``; where sizes or branches come from data, what compiles the module while it runs."""
    if late_ops(module):
        prepare(module)
    if unknown_sizes(module) or not (late_ops(module) or _value_inputs(module)):
        return compile_module(
            module,
            level=level,
            target=target,
            precision=precision,
            time=time,
            progress=progress,
            name=name,
            rules=rules,
            switches=switches,
            fusion_log=fusion_log,
        )
    if rules or switches != Switches():
        raise unsaveable(module)
    return chain(module, {"level": f"O{level_number(level)}", "target": target, "precision": precision})


def build_gears(
    module: ModuleOp,
    gears: GearList,
    of_shapes: Callable[[dict[str, tuple[int, ...]]], ModuleOp],
    *,
    level: str | int = "O2",
    target: str = "ascend910b1",
    precision: str = "origin",
    time: bool = False,
    progress: Progress | None = None,
    name: str = "model",
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
    fusion_log: FusionLog | None = None,
) -> Executable:
    """One executable of all gears; see ``gedialect.api.gears.compile_gears``."""
    from gedialect.api.gears import compile_gears

    def decide_gear(part: ModuleOp, report: Report | None, inner: Progress | None) -> None:
        decide(
            part,
            level=level,
            target=target,
            precision=precision,
            report=report,
            progress=inner,
            rules=rules,
            switches=switches,
            fusion_log=fusion_log,
        )

    return compile_gears(
        module,
        gears,
        of_shapes,
        decide_gear,
        level=level,
        target=target,
        precision=precision,
        time=time,
        progress=progress,
        name=name,
        fusion_log=fusion_log,
    )


def compile_module(
    module: ModuleOp,
    *,
    level: str | int = "O2",
    target: str = "ascend910b1",
    precision: str = "origin",
    time: bool = False,
    progress: Progress | None = None,
    name: str = "model",
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
    fusion_log: FusionLog | None = None,
) -> Executable:
    """Compile a ge module with static shapes, which is changed: it holds all decisions afterwards. What fuses goes
    into ``fusion_log``."""
    from gedialect.api.linked import has_control, program_of
    from lowering.emit.module import ModuleEmitter
    from lowering.emit.structured import StructuredEmitter

    report = Report(target=target, level=f"O{level_number(level)}", precision=precision)
    emitter: ModuleEmitter | StructuredEmitter
    if late_ops(module):
        prepare(module)
    if has_control(module):
        if late_ops(module):
            raise unsaveable(module)
        report.stages.append({"stage": "import", "ops": count_ops(module)})
        report.ops = count_ops(module)

        def decide_piece(piece: ModuleOp) -> None:
            decide(
                piece,
                level=level,
                target=target,
                precision=precision,
                progress=progress,
                rules=rules,
                switches=switches,
                fusion_log=fusion_log,
            )

        emitter = StructuredEmitter(program_of(module, decide_piece), load_target(target), name)
    else:
        decide(
            module,
            level=level,
            target=target,
            precision=precision,
            report=report,
            progress=progress,
            rules=rules,
            switches=switches,
            fusion_log=fusion_log,
        )
        emitter = ModuleEmitter(module, load_target(target), name)
    if progress is not None:
        progress("emit")
    emitter.emit()
    report.kernels = len(emitter.emitted_kernels)
    report.kernel_list = emitter.emitted_kernels
    report.host_ops = emitter.host_ops
    report.workspace_bytes = emitter.workspace
    report.workspace_bytes_no_reuse = emitter.workspace_no_reuse
    report.workspace_lower_bound = emitter.workspace_lower_bound
    report.weight_bytes = emitter.writer.weights.size
    report.gm_bytes = moved_bytes(emitter.tasks, emitter.programs)
    if time:
        if progress is not None:
            progress("time")
        timing = time_tasks(emitter.tasks, emitter.programs, load_target(target), lambda task: str(task.op_index))
        report.latency_us = timing.us
    return Executable.from_om(emitter.build(report.as_dict()))


def decide(
    module: ModuleOp,
    *,
    level: str | int = "O2",
    target: str = "ascend910b1",
    precision: str = "origin",
    report: Report | None = None,
    progress: Progress | None = None,
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
    fusion_log: FusionLog | None = None,
) -> None:
    """Run the level's pipeline on a module; ``report.stages`` gets the op count after each step, ``fusion_log`` what
    fuses."""
    load_target(target)
    _check_precision(precision)
    if unknown := unknown_sizes(module):
        raise GeError(f"input sizes are unknown: {', '.join(unknown)}", code="GE1014", hint=shape_hint(unknown))
    if late_ops(module):
        prepare(module)
    if any(isinstance(op, HostOp) for op in late_ops(module)) or _value_inputs(module):
        raise unsaveable(module)
    if any(isinstance(op, HostOp) for op in graph_function(module).body.block.ops):
        raise UnsupportedError(
            "a model with branches or loops is planned piece by piece, not as one text",
            code="GE1205",
            hint="compile it to an OM",
        )
    check_sizes(module)
    ctx = GeContext()
    if rules or fusion_log is not None:
        from gedialect.patterns.session import RuleSession, set_session

        set_session(ctx, RuleSession(tuple(rules), watch=None if fusion_log is None else fusion_log.watch))
    factories = pass_factories()
    stages = [] if report is None else report.stages
    stages.append({"stage": "import", "ops": count_ops(module)})
    first = ["convert-precision"] if precision == "fp16" else []
    for text in (*first, *pipeline(level, target=target, switches=switches)):
        name = pass_name(text)
        if name == "expand-ops" and late_ops(module):
            raise unsaveable(module)
        if report is not None and name == "expand-ops":  # from here on ops are decided, no longer optimised
            report.ops = count_ops(module)
        if progress is not None:
            progress(name)
        (spec,) = parse_pipeline(text)
        cls = factories[name]() if name in factories else _xdsl_pass(name)
        cls.from_spec(spec).apply(ctx, module)
        stages.append({"stage": name, "ops": count_ops(module)})
        if fusion_log is not None and name == "group-kernels":
            fusion_log.read_kernels(module)
    if fusion_log is not None:
        fusion_log.switches = switches
        fusion_log.without_counterpart = resolve(switches, factories).without_counterpart


def _xdsl_pass(name: str) -> Any:
    from xdsl.transforms import get_all_passes

    return get_all_passes()[name]()
