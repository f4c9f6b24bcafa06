"""The level's pipeline: from a graph to one that holds every decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import parse_pipeline

from gedialect.analysis.graph import graph_function
from gedialect.analysis.opcount import count_ops
from gedialect.analysis.sizes import check_sizes
from gedialect.api.chained import late_ops, unsaveable
from gedialect.api.fusion_report import FusionLog
from gedialect.api.report import Report
from gedialect.api.resolve import prepare
from gedialect.api.settings import Settings
from gedialect.api.sources import require_known_sizes
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.control import HostOp
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.context import GeContext
from gedialect.ir.registry import pass_factories
from gedialect.pipelines import STEPS, pass_name, pipeline
from gedialect.switches import Switches, resolve, say_left_out

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

Progress = Callable[[str], None]


def value_inputs(module: ModuleOp) -> bool:
    """Whether an input is a sequence, an optional value or text."""
    return any(isinstance(t, ON_HOST) for t in graph_function(module).function_type.inputs)


def decide(
    module: ModuleOp,
    settings: Settings = Settings(),
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    fusion_log: FusionLog | None = None,
) -> None:
    """Run the level's pipeline on a module; ``report.stages`` gets the op count after each step, ``fusion_log`` what
    fuses."""
    settings.check()
    rules, switches = settings.rules, settings.switches
    require_known_sizes(module)
    if late_ops(module):
        prepare(module)
    if any(isinstance(op, HostOp) for op in late_ops(module)) or value_inputs(module):
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

        set_session(ctx, RuleSession(rules, watch=None if fusion_log is None else fusion_log.watch))
    own = own_names(rules) if switches.disable or switches.enable else ()
    factories = pass_factories()
    stages = [] if report is None else report.stages
    stages.append({"stage": "import", "ops": count_ops(module)})
    first = ["convert-precision"] if settings.precision == "fp16" else []
    for text in (*first, *pipeline(settings.level, target=settings.target, switches=switches, own=own)):
        name = pass_name(text)
        if name == "expand-ops" and late_ops(module):
            raise unsaveable(module)
        if report is not None and name == "expand-ops":  # from here on ops are decided, no longer optimised
            report.ops = count_ops(module)
        if progress is not None:
            progress(name)
        (spec,) = parse_pipeline(text)
        cls = factories[name]() if name in factories else _xdsl_pass(name)
        with switched(switches):
            cls.from_spec(spec).apply(ctx, module)
        stages.append({"stage": name, "ops": count_ops(module)})
        if fusion_log is not None and name == "group-kernels":
            fusion_log.read_kernels(module)
    if fusion_log is not None:
        fusion_log.switches = switches
        fusion_log.without_counterpart = resolve(switches, factories, own).without_counterpart


def own_names(rules: tuple[Rule, ...]) -> Collection[str]:
    """Names and topics of the rules beside the catalogue, ``rules`` among them."""
    from gedialect.patterns.session import RuleSession

    return RuleSession(rules).names


@contextmanager
def switched(switches: Switches) -> Generator[None]:
    """Errors inside that ask for a pass say if ``switches`` leave it out."""
    try:
        yield
    except GeError as error:
        raise say_left_out(error, switches, STEPS) from error.__cause__


def _xdsl_pass(name: str) -> Any:
    from xdsl.transforms import get_all_passes

    return get_all_passes()[name]()
