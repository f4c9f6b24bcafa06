"""From a model to an executable: import, the level's pipeline, lowering, an OM in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from gedialect.analysis.graph import graph_function
from gedialect.analysis.opcount import count_ops
from gedialect.api.arguments import check_options, checked_path
from gedialect.api.chained import ChainExecutable, late_ops, unsaveable
from gedialect.api.decide import Progress, decide, switched, value_inputs
from gedialect.api.executable import Executable, ShapedExecutable
from gedialect.api.fusion_report import FusionLog
from gedialect.api.resolve import prepare
from gedialect.api.settings import Settings, load_rules
from gedialect.api.sources import Shapes, import_source, require_known_sizes, shape_hint, unknown_sizes
from gedialect.binary.output import atomic_output
from gedialect.interpreter import input_names
from gedialect.pipelines import STEPS
from gedialect.runtime.profiler import moved_bytes, time_tasks
from gedialect.switches import Switches, check_names, from_options
from gedialect.targets import load_target

if TYPE_CHECKING:
    import onnx

    from gedialect.api.gears import GearList
    from gedialect.patterns.rule import Rule


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
    lists = {"rules": rules, "disable": disable, "enable": enable, "fusion_modes": fusion_modes}
    check_options(target, max_fusion_ops, strict_numerics, options, **lists)
    modes = None if fusion_modes is None else tuple(fusion_modes)
    switches = Switches(tuple(disable), tuple(enable), modes, max_fusion_ops, strict_numerics)
    if options:
        switches = switches.over(from_options(options))
    if fusion_report is not None:
        fusion_report = checked_path(fusion_report, "fusion_report")
    settings = Settings(level, target, precision, time, switches=switches).check()
    gears = None
    if dynamic_batch_size is not None or dynamic_dims is not None:
        from gedialect.api.gears import check_gears

        gears = check_gears(dynamic_batch_size, dynamic_dims)
    settings = replace(settings, rules=load_rules(rules))
    check_switches(switches, settings.rules)

    def specialized(shapes: Mapping[str, tuple[int, ...]]) -> ModuleOp:
        return import_source(model, {**(input_shapes or {}), **shapes})

    if gears is not None:
        log = None if fusion_report is None else FusionLog()
        made = build_gears(
            import_source(model, input_shapes, inputs_only=True),
            gears,
            specialized,
            settings,
            fusion_log=log,
        )
        _write_log(log, fusion_report)
        return made
    module = import_source(model, input_shapes)
    unknown = unknown_sizes(module)

    def compile_static(module: ModuleOp) -> Executable:
        log = None if fusion_report is None else FusionLog()
        made = compile_module(module, settings, fusion_log=log)
        _write_log(log, fusion_report)
        return made

    kept = settings.names if settings.said_by_names else None
    if not unknown:
        return _executable(module, compile_static, kept)

    def compile_for(shapes: dict[str, tuple[int, ...]]) -> Executable | ChainExecutable:
        return _executable(specialized(shapes), compile_static, kept)

    return ShapedExecutable(compile_for, input_names(graph_function(module)), shape_hint(unknown))


def _write_log(log: FusionLog | None, path: str | os.PathLike[str] | None) -> None:
    if log is not None and path is not None:
        with atomic_output(path) as name, open(name, "w", encoding="utf-8") as out:
            out.write(log.json() + "\n")


def chain(module: ModuleOp, names: Mapping[str, str]) -> ChainExecutable:
    """The executable of a module whose sizes come from data; ``names``: level, target and precision."""
    settings = Settings.of_names(names)
    return ChainExecutable(module, lambda part: compile_module(part, settings), names)


def _executable(
    module: ModuleOp, compile_static: Callable[[ModuleOp], Executable], settings: Mapping[str, str] | None
) -> Executable | ChainExecutable:
    """One OM, or a chain of them where sizes or branches come from data."""
    if not late_ops(module) and not value_inputs(module):
        return compile_static(module)
    prepare(module)
    if not late_ops(module) and not value_inputs(module):
        return compile_static(module)
    return ChainExecutable(module, compile_static, settings)


def check_switches(switches: Switches, rules: tuple[Rule, ...]) -> None:
    """GE1107 for a name in ``switches`` that is no pass, rule, topic or label of a kernel."""
    from gedialect.patterns.session import RuleSession

    check_names(switches, STEPS, lambda: RuleSession(rules).extra)


def build(
    module: ModuleOp,
    settings: Settings = Settings(),
    *,
    progress: Progress | None = None,
    name: str = "model",
    fusion_log: FusionLog | None = None,
) -> Executable | ChainExecutable:
    """As ``compile_module``; where sizes or branches come from data, what compiles the module while it runs."""
    if late_ops(module):
        prepare(module)
    if unknown_sizes(module) or not (late_ops(module) or value_inputs(module)):
        return compile_module(module, settings, progress=progress, name=name, fusion_log=fusion_log)
    if not settings.said_by_names:
        raise unsaveable(module)
    return chain(module, settings.names)


def build_gears(
    module: ModuleOp,
    gears: GearList,
    of_shapes: Callable[[dict[str, tuple[int, ...]]], ModuleOp],
    settings: Settings = Settings(),
    *,
    progress: Progress | None = None,
    name: str = "model",
    fusion_log: FusionLog | None = None,
) -> Executable:
    """One executable of all gears; see ``gedialect.api.gears.compile_gears``."""
    from gedialect.api.gears import compile_gears

    return compile_gears(module, gears, of_shapes, settings, progress=progress, name=name, fusion_log=fusion_log)


def compile_module(
    module: ModuleOp,
    settings: Settings = Settings(),
    *,
    progress: Progress | None = None,
    name: str = "model",
    fusion_log: FusionLog | None = None,
) -> Executable:
    """Compile a ge module with static shapes, which is changed: it holds all decisions afterwards. What fuses goes
    into ``fusion_log``."""
    from gedialect.api.linked import has_control, program_of
    from lowering.emit.module import ModuleEmitter
    from lowering.emit.structured import StructuredEmitter

    require_known_sizes(module)
    report = settings.report()
    chip = load_target(settings.target)
    emitter: ModuleEmitter | StructuredEmitter
    if late_ops(module):
        prepare(module)
    if has_control(module):
        if late_ops(module):
            raise unsaveable(module)
        report.stages.append({"stage": "import", "ops": count_ops(module)})
        report.ops = count_ops(module)

        def decide_piece(piece: ModuleOp) -> None:
            decide(piece, settings, progress=progress, fusion_log=fusion_log)

        emitter = StructuredEmitter(program_of(module, decide_piece), chip, name)
    else:
        decide(module, settings, report=report, progress=progress, fusion_log=fusion_log)
        with switched(settings.switches):
            emitter = ModuleEmitter(module, chip, name)
    if progress is not None:
        progress("emit")
    with switched(settings.switches):
        emitter.emit()
    report.kernels = len(emitter.emitted_kernels)
    report.kernel_list = emitter.emitted_kernels
    report.host_ops = emitter.host_ops
    report.workspace_bytes = emitter.workspace
    report.workspace_bytes_no_reuse = emitter.workspace_no_reuse
    report.workspace_lower_bound = emitter.workspace_lower_bound
    report.weight_bytes = emitter.writer.weights.size
    report.gm_bytes = moved_bytes(emitter.tasks, emitter.programs)
    if settings.time:
        if progress is not None:
            progress("time")
        timing = time_tasks(emitter.tasks, emitter.programs, chip, lambda task: str(task.op_index))
        report.latency_us = timing.us
    return Executable.from_om(emitter.build(report.as_dict()))
