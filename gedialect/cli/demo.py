"""``make demo``: compile real models, run them on the simulated NPU, compare with onnxruntime, say what happened."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from gedialect.cli.common import ArgumentParser, run
from gedialect.errors import EXIT_CHECK_FAILED

if TYPE_CHECKING:
    from rich.console import Console

    from gedialect.api import Report

PROG = "demo"
LEVELS = ("O0", "O1", "O2")
LIMIT = 1e-4
"""Largest difference from onnxruntime that passes, relative to the largest expected value (fp32)."""


@dataclass
class Outcome:
    """One model at one level."""

    level: str
    report: Report
    compiling: float
    running: float
    error: float


def command(arguments: list[str]) -> int:
    """Run the demo; exit code 3 if a result differs from onnxruntime's."""
    parser = ArgumentParser(PROG, description="Compile and run real models, and check them against onnxruntime.")
    parser.add_argument("--quick", action="store_true", help="only the small trained model")
    options = parser.parse_args(arguments)
    from rich.console import Console

    console = Console()
    folder = os.path.join(os.path.dirname(__file__), "..", "..", "test", "data", "ppocr_cls")
    good = _ppocr(console, os.path.normpath(folder))
    if not options.quick:
        good = _light(console) and good
    console.print(_next_steps(), highlight=False)
    return 0 if good else EXIT_CHECK_FAILED


def _ppocr(console: Console, folder: str) -> bool:
    import numpy as np

    with np.load(os.path.join(folder, "ppocr_cls.npz")) as file:
        inputs = {k[3:]: file[k] for k in file.files if k.startswith("in:")}
    path = os.path.relpath(os.path.join(folder, "ppocr_cls.onnx"))
    title = "ppocr_cls: text angle classifier of PP-OCR (MobileNetV3), trained, fp32"
    return _show(console, title, path, inputs)


def _light(console: Console) -> bool:
    from gedialect.testing.light_models import light_model

    model, inputs = light_model("light_resnet50")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "light_resnet50.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        return _show(console, "light_resnet50: ResNet-50 of the onnx package, random weights, fp32", path, inputs)


def _show(console: Console, title: str, path: str, inputs: Mapping[str, Any]) -> bool:
    from gedialect.cli.ge_run import run_onnxruntime

    console.rule(title)
    with _Steps(console) as step:
        step("onnxruntime")
        started = time.perf_counter()
        expected = run_onnxruntime(path, inputs)
        reference = time.perf_counter() - started
        outcomes = [_compile_and_run(path, inputs, expected, level, step) for level in LEVELS]
    _stages(console, outcomes)
    _levels(console, outcomes)
    worst = max(o.error for o in outcomes)
    verdict = "[green]equal to onnxruntime[/]" if worst <= LIMIT else "[red]DIFFERENT from onnxruntime[/]"
    last = outcomes[-1].report
    console.print(
        f"kernels {last.kernels}, host ops {len(last.host_ops)}: {verdict} "
        f"(largest difference {worst:.1e} of the largest value, limit {LIMIT:g}; "
        f"onnxruntime took {reference:.2f} s with session creation)"
    )
    for entry in last.host_ops[:5]:
        console.print(f"  on the host: {entry['op']} (node {entry['node']})")
    return worst <= LIMIT


def _compile_and_run(
    path: str, inputs: Mapping[str, Any], expected: Mapping[str, Any], level: str, step: _Steps
) -> Outcome:
    from gedialect import api
    from gedialect.cli.ge_run import difference

    started = time.perf_counter()
    step(f"{level}: import")
    module = api.import_source(path, {k: tuple(v.shape) for k, v in inputs.items()})
    executable = api.compile_module(module, api.Settings(level, time=True), progress=lambda s: step(f"{level}: {s}"))
    with tempfile.TemporaryDirectory() as folder:  # what runs is the file, as a user's would
        file = os.path.join(folder, "model.om")
        executable.save(file)
        compiled = time.perf_counter()
        step(f"{level}: simulating {executable.report.kernels} kernels")
        outputs = api.load(file).run(inputs)
    finished = time.perf_counter()
    error = max(difference(outputs[name], want) for name, want in expected.items())
    return Outcome(level, executable.report, compiled - started, finished - compiled, error)


def _stages(console: Console, outcomes: list[Outcome]) -> None:
    from rich.table import Table

    table = Table(title="ops after each stage (without constants and views)", title_justify="left")
    table.add_column("stage")
    for outcome in outcomes:
        table.add_column(outcome.level, justify="right")
    # a pass may run twice: each run of the longest pipeline is a row, and levels that leave it out stay empty there
    longest = max(outcomes, key=lambda o: len(o.report.stages)).report.stages
    left = [list(o.report.stages) for o in outcomes]
    for n, step in enumerate(longest):
        cells: list[str] = []
        for stages in left:
            later = {s["stage"] for s in longest[n + 1 :]}
            if stages and stages[0]["stage"] == step["stage"]:
                cells.append(str(stages.pop(0)["ops"]))
            else:
                while stages and stages[0]["stage"] not in later:
                    stages.pop(0)
                cells.append("")
        table.add_row(step["stage"], *cells)
    console.print(table)


def _levels(console: Console, outcomes: list[Outcome]) -> None:
    from rich.table import Table

    table = Table(title="compiled", title_justify="left")
    table.add_column("")
    for outcome in outcomes:
        table.add_column(outcome.level, justify="right")

    def row(name: str, cells: list[str]) -> None:
        table.add_row(name, *cells)

    reports = [o.report for o in outcomes]
    row("ops", [str(r.ops) for r in reports])
    row("kernels", [str(r.kernels) for r in reports])
    row("host ops", [str(len(r.host_ops)) for r in reports])
    row("workspace", [_bytes(r.workspace_bytes) for r in reports])
    row("  without reuse", [_bytes(r.workspace_bytes_no_reuse) for r in reports])
    row("  lower bound", [_bytes(r.workspace_lower_bound) for r in reports])
    row("weights", [_bytes(r.weight_bytes) for r in reports])
    row("moved through global memory", [_bytes(r.gm_bytes) for r in reports])
    row("latency on the NPU", ["-" if r.latency_us is None else f"{r.latency_us:,.0f} us" for r in reports])
    row("difference from onnxruntime", [f"{o.error:.1e}" for o in outcomes])
    row("compiled in", [f"{o.compiling:.2f} s" for o in outcomes])
    row("simulated in", [f"{o.running:.2f} s" for o in outcomes])
    console.print(table)


def _bytes(n: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n} B"


def _next_steps() -> str:
    return """
Next, on a model of your own (commands are in .venv/bin):
  ge-import  model.onnx                                   read it as text
  ge-opt     model.onnx -O2 --print-ir-after-change       watch the passes work
  ge-compile model.onnx -o model.om --report report.json  compile it (unknown sizes: --input-shape "x:1,3,224,224")
  ge-run     model.om --inputs in.npz --check onnxruntime --model model.onnx
"""


class _Steps:
    """A spinner with the step at work on a terminal; one line per step when piped."""

    def __init__(self, console: Console):
        self._console = console
        self._status = console.status("starting") if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __call__(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()


def main() -> int:
    """Entry point."""
    return run(PROG, lambda arguments: command(list(arguments)))


if __name__ == "__main__":
    sys.exit(main())
