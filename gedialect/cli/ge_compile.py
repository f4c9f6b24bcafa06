"""``ge-compile``: a model to an OM, or to the text of any step on the way."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gedialect.binary.output import atomic_output
from gedialect.cli.common import ArgumentParser, check_files, run
from gedialect.cli.rule_options import add_rules_option
from gedialect.cli.switch_options import add_switch_options, switches_of
from gedialect.errors import GeError, UnsupportedError, UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from gedialect.api.gears import GearList

PROG = "ge-compile"
EXAMPLE = """\
examples:
  ge-compile model.onnx -o model.om                              compile at O2 for the default target
  ge-compile model.onnx -o model.om --input-shape "x:1,3,224,224" --report report.json
  ge-compile model.onnx -o decided.mlir --emit ge -O1            the graph with every decision, as text
  ge-compile model.onnx -o kernels.mlir --emit npu               the kernels, as text
  ge-compile model.onnx -o model.om --input-shape "x:-1,3,224,224" --dynamic-batch-size 1,2,4
  ge-compile model.onnx -o model.om --input-shape "ids:-1,-1" --dynamic-dims "1,128;4,256"
exit codes: 0 fine, 1 error, 2 wrong usage"""


def command(arguments: Sequence[str]) -> int:
    """Run ge-compile on ``arguments``; raises ``GeError``."""
    parser = ArgumentParser(PROG, description="Compile a model for the NPU.", epilog=EXAMPLE)
    parser.add_argument("model", metavar="MODEL", help="model file (.onnx) or ge text (.mlir)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    levels = parser.add_mutually_exclusive_group()
    for n, text in enumerate(("what is needed to run", "exact simplification", "the default", "search")):
        levels.add_argument(f"-O{n}", dest="level", action="store_const", const=f"O{n}", help=text)
    parser.set_defaults(level="O2")
    parser.add_argument("--target", default="ascend910b1", help="chip to compile for (default: %(default)s)")
    parser.add_argument("--precision", choices=("origin", "fp16"), default="origin", help="default: the model's types")
    parser.add_argument("--emit", choices=("ge", "npu", "om"), default="om", help="what to write (default: om)")
    parser.add_argument("--input-shape", metavar="SHAPES", help='sizes of inputs: "x:1,3,224,224;y:1,8"')
    gears = parser.add_mutually_exclusive_group()
    gears.add_argument(
        "--dynamic-batch-size", metavar="SIZES", help="one OM for several batch sizes, the first size of inputs: 1,2,4"
    )
    gears.add_argument(
        "--dynamic-dims",
        metavar="GEARS",
        help='one OM for several sizes: a value for each unknown size, in order: "1,128;4,256"',
    )
    parser.add_argument("--report", metavar="R.json", help="write what was done as JSON")
    parser.add_argument("--time", action="store_true", help="predict the latency on the target")
    parser.add_argument("--no-host-fallback", action="store_true", help="an op that no kernel covers is an error")
    parser.add_argument("--fusion-report", metavar="F.json", help="write what fused and what it saved as JSON")
    add_switch_options(parser)
    add_rules_option(parser)
    options = parser.parse_args(arguments)
    try:
        _compile(options)
    except UsageError:
        raise
    except GeError as error:
        raise error.at(options.model) from error.__cause__
    return 0


def _compile(options: argparse.Namespace) -> None:
    from gedialect.frontends import KINDS

    extension = os.path.splitext(options.model)[1].lower()
    if extension not in (*KINDS, ".mlir"):
        raise UsageError(
            "unknown kind of model file",
            code="GE1013",
            where=options.model,
            hint=f"{PROG} reads {', '.join(KINDS)} and .mlir files",
        )
    rules_read = {f"the rules {os.path.basename(f)}": f for f in options.rules}
    read = {"the model": options.model, "--fusion-switch-file": options.fusion_switch_file, **rules_read}
    check_files(PROG, _outputs(options), read)
    from gedialect import api
    from gedialect.api.compiler import check_switches
    from gedialect.api.decide import decide
    from gedialect.api.fusion_report import FusionLog
    from gedialect.cli.ge_import import weight_inputs
    from gedialect.cli.progress import steps
    from gedialect.cli.rule_options import load_all
    from gedialect.ir.input_shapes import parse_input_shapes

    gears = _gears(options)
    shapes = None if options.input_shape is None else parse_input_shapes(options.input_shape)
    rules = load_all(options.rules)
    switches = switches_of(options)
    try:
        check_switches(switches, rules)
    except UsageError as error:
        raise error.at(PROG) from None
    settings = api.Settings(options.level, options.target, options.precision, options.time, rules, switches)
    log = None if options.fusion_report is None else FusionLog()
    source: ModuleOp | None = None

    def of_gear(found: dict[str, tuple[int, ...]]) -> ModuleOp:
        nonlocal source
        source = api.import_source(options.model, {**(shapes or {}), **found})
        return source

    with steps(f"compiling {os.path.basename(options.model)}") as progress:
        progress("import")
        module = api.import_source(options.model, shapes, inputs_only=gears is not None)
        name = os.path.splitext(os.path.basename(options.model))[0]
        if gears is not None:
            executable = api.build_gears(
                module,
                gears,
                of_gear,
                settings,
                progress=progress,
                name=name,
                fusion_log=log,
            )
        elif options.emit != "om" and options.report is None and not options.no_host_fallback and not options.time:
            decide(
                module,
                settings,
                progress=progress,
                fusion_log=log,
            )
            executable = None
        else:
            executable = api.build(
                module,
                settings,
                progress=progress,
                name=name,
                fusion_log=log,
            )
    if executable is not None and options.no_host_fallback and executable.report.host_ops:
        ops = [f"{entry['op']} (node {entry['node']}{_of_gear(entry)})" for entry in executable.report.host_ops]
        raise UnsupportedError(
            f"{len(ops)} ops have no kernel",
            code="GE1206",
            where=options.model,
            hint="leave out --no-host-fallback to run them on the host",
            details=tuple(ops),
        )
    if executable is not None and options.time:
        from gedialect.runtime.profiler import summary

        if isinstance(executable, api.Executable) and executable.gears:
            for gear in executable.gears:
                print(f"{gear.name}: {summary(executable.timing(gear.number))}")
        else:
            print(summary(executable.timing()))
    outputs = _outputs(options)
    check_files(PROG, outputs, weight_inputs(module if source is None else source))
    with contextlib.ExitStack() as files:
        # all are made before any takes its place, so that a report that cannot be written leaves no OM
        if options.emit == "ge":
            from gedialect.cli.ge_import import add_module

            add_module(files, module, options.output, PROG)
            del outputs["-o"]
        names = {o: files.enter_context(atomic_output(p)) for o, p in outputs.items() if p is not None}
        if options.emit == "om":
            assert executable is not None
            executable.save(names["-o"])
        elif options.emit == "npu":
            from gedialect.cli.ge_import import print_module
            from gedialect.targets import load_target
            from lowering.transforms.lower_kernels import kernels_module

            with open(names["-o"], "w", encoding="utf-8") as out:
                print_module(kernels_module(module, load_target(options.target)), out)
        if log is not None:
            _write(names["--fusion-report"], log.json() + "\n")
        if options.report is not None and executable is not None:
            _write(names["--report"], executable.report.json() + "\n")


def _of_gear(entry: dict[str, str]) -> str:
    return f" of gear {entry['gear']}" if "gear" in entry else ""


def _gears(options: argparse.Namespace) -> GearList | None:
    """The gears asked for."""
    if options.dynamic_batch_size is None and options.dynamic_dims is None:
        return None
    if options.emit != "om":
        raise UsageError(
            f"--emit {options.emit} writes the text of one graph, gears are several",
            where=PROG,
            hint="leave the gears out and give the sizes of one with --input-shape: its text is the same",
        )
    from gedialect.api.gears import parse_gears

    return parse_gears(options.dynamic_batch_size, options.dynamic_dims)


def _outputs(options: argparse.Namespace) -> dict[str, str | None]:
    """The files to write, by option; None for those not asked for."""
    return {"-o": options.output, "--report": options.report, "--fusion-report": options.fusion_report}


def _write(name: str, text: str) -> None:
    with open(name, "w", encoding="utf-8") as out:
        out.write(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (0 fine, 1 error, 2 usage)."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
