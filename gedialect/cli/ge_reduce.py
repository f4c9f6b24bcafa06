"""``ge-reduce``: make a failing model or ge text small, so small that it still fails the same way."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from gedialect.binary.output import atomic_output
from gedialect.cli.common import ArgumentParser, check_files, run
from gedialect.cli.rule_options import add_rules_option
from gedialect.cli.switch_options import add_switch_options, switches_of
from gedialect.errors import GeError, UsageError

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from gedialect.ir.context import GeContext
    from gedialect.patterns.rule import Rule
    from gedialect.testing.reduction.interest import Settings, State

PROG = "ge-reduce"
EXAMPLE = """\
examples:
  ge-reduce model.onnx -o small.onnx --crash -O2                 the same error (compiling, or running on the simulator)
  ge-reduce model.onnx -o small.onnx --wrong -O3 --inputs in.npz          the simulator differs from onnxruntime
  ge-reduce model.onnx -o small.onnx --wrong --interpreter --inputs in.npz     the interpreter does
  ge-reduce model.onnx -o small.mlir --pass apply-rules --rules mine.py --inputs in.npz      a pass changes the result
  ge-reduce model.mlir -o small.mlir --test 'ge-opt {} -p my-pass 2>&1 | grep -q GE1902'     the command says so
--test: {} is the file, {inputs} an .npz of its inputs; exit code 0 says that it still fails
SMALL.npz, beside the result, has its inputs
exit codes: 0 fine, 1 error, 2 wrong usage"""
KINDS = (".onnx", ".mlir")


def command(arguments: Sequence[str]) -> int:
    """Run ge-reduce on ``arguments``; raises ``GeError``."""
    parser = ArgumentParser(PROG, description="Shrink a failing model to a small one.", epilog=EXAMPLE)
    add = parser.add_argument
    add("model", metavar="MODEL", help="failing model (.onnx) or ge text (.mlir)")
    add("-o", "--output", metavar="SMALL", required=True, help="file to write, .onnx or .mlir")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--test", metavar="CMD", help="a command that ends with code 0 as long as it still fails")
    how.add_argument("--crash", action="store_true", help="compiling or running ends with the same error")
    how.add_argument("--wrong", action="store_true", help="the result differs from the reference")
    how.add_argument("--pass", dest="step", metavar="NAME", help="this pass is the first to change the result")
    stages = parser.add_mutually_exclusive_group()
    for n in range(4):
        stages.add_argument(f"-O{n}", dest="stage", action="store_const", const=f"O{n}", help=f"compile at level {n}")
    stages.add_argument(
        "--interpreter", dest="stage", action="store_const", const="interpreter", help="the interpreter, no compiler"
    )
    parser.set_defaults(stage=None)
    add("-p", "--passes", metavar="PASSES", help="the pipeline of --pass, instead of that of a level")
    add("--inputs", metavar="IN.npz", help="input arrays, by name or as in:NAME (default: random)")
    add("--seed", metavar="N", type=_count, default=0, help="of random inputs (default 0)")
    add("--input-shape", metavar="SHAPES", help='sizes of unknown dims: "x:1,3,224,224;y:1,8"')
    add("--tolerance", metavar="X", type=float, help="of --pass, see ge-opt --check-each-pass")
    add("--time-limit", metavar="S", type=_seconds, help="stop after this many seconds with what is there")
    add("--test-timeout", metavar="S", type=_seconds, default=60, help="longest time of one test (default 60)")
    add_switch_options(parser)
    add_rules_option(parser)
    options = parser.parse_args(arguments)
    _check(options)
    try:
        return _reduce(options)
    except UsageError:
        raise
    except GeError as error:
        raise error.at(options.model) from error.__cause__


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time in seconds")
    return value


def _check(options: argparse.Namespace) -> None:
    """Wrong usage, before anything is read."""
    for path, what in ((options.model, "model"), (options.output, "result")):
        if os.path.splitext(path)[1].lower() not in KINDS:
            raise UsageError(f"unknown kind of {what}", code="GE1013", where=path, hint=f"one of {', '.join(KINDS)}")
    if options.output.endswith(".onnx") and not options.model.endswith(".onnx"):
        raise UsageError("ge text does not become an ONNX model", where=options.output, hint="give -o FILE.mlir")
    if options.test is not None and "{}" not in options.test:
        raise UsageError("the command does not name the model", where=PROG, hint="write {} where its file goes")
    if options.step is None:
        for option in ("passes", "tolerance"):
            if getattr(options, option) is not None:
                raise UsageError(f"{'-p' if option == 'passes' else '--tolerance'} is for --pass", where=PROG)
    elif options.stage == "interpreter":
        raise UsageError("--pass is about passes, --interpreter runs none", where=PROG, hint="give a level or -p")
    elif options.passes is not None and options.stage is not None:
        raise UsageError("-p is given instead of a level", where=PROG, hint="leave one of them out")
    if options.test is not None and options.stage is not None:
        raise UsageError("--test has its own way to compile", where=PROG, hint="leave out the level")


def _reduce(options: argparse.Namespace) -> int:
    arrays = os.path.splitext(options.output)[0] + ".npz"
    check_files(
        PROG,
        {"-o": options.output, "its inputs": arrays},
        {"the model": options.model, "--inputs": options.inputs},
    )
    from gedialect.cli.progress import steps
    from gedialect.testing.reduction import ge_module, interest, onnx_model
    from gedialect.testing.reduction.driver import Reducer

    start = time.monotonic()
    with steps(f"reducing {os.path.basename(options.model)}") as tell:
        state = _state(options)
        before = state.nodes
        test = _test(options, state)
        if isinstance(state, onnx_model.OnnxState):
            reducer = Reducer(test, onnx_model.STEPS, options.time_limit, tell)
            small: State = reducer.run(state)
        else:
            reducer = Reducer(test, ge_module.STEPS, options.time_limit, tell)
            small = reducer.run(state)
    with ExitStack() as files:
        names = [files.enter_context(atomic_output(p)) for p in (options.output, arrays)]
        interest.write(small, names[0])
        interest.save_arrays(names[1], small.inputs)
    seconds = time.monotonic() - start
    kind = "nodes" if isinstance(small, onnx_model.OnnxState) else "ops"
    ended = ", stopped by the time limit" if reducer.out_of_time else ""
    print(f"{options.output}: {before} {kind} -> {small.nodes}, {reducer.tests} tests, {seconds:.1f} s{ended}")
    print(f"  {test}")
    return 0


def _state(options: argparse.Namespace) -> State:
    """The model as it is given, with its inputs."""
    from gedialect import api
    from gedialect.cli.arrays import ArrayFile, Inputs
    from gedialect.cli.pass_check import check_inputs
    from gedialect.ir.input_shapes import parse_input_shapes
    from gedialect.testing.reduction import ge_module, onnx_model

    shapes: dict[str, tuple[int, ...]] = {}
    if options.input_shape is not None:
        shapes = parse_input_shapes(options.input_shape)
    given: Mapping[str, Any] | None = None
    if options.inputs is not None:
        given = Inputs(ArrayFile(options.inputs)).read()
        shapes |= {n: x.shape for n, x in given.items()}
    if options.output.endswith(".mlir"):
        module = api.import_source(options.model, shapes or None)
        if given is None:
            given = _unless_needless(options, lambda: check_inputs(module, None, options.seed))
        return ge_module.state_of(module, given)
    model = onnx_model.load(options.model)
    if given is None:
        given = _unless_needless(options, lambda: onnx_model.random_inputs(model, shapes, options.seed))
    else:
        onnx_model.check_inputs(model, given, str(options.inputs))
    return onnx_model.state_of(model, given)


def _unless_needless(options: argparse.Namespace, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """Random inputs; none where there can be none and the test does without."""
    try:
        return make()
    except GeError:
        if options.wrong or options.step is not None:
            raise
        return {}


def _test(options: argparse.Namespace, state: State) -> Any:
    """The test that was asked for, after it held for the whole model."""
    from gedialect.cli.rule_options import load_all
    from gedialect.testing.reduction.interest import Command, Crash, Settings, Wrong, WrongPass

    rules = load_all(options.rules)
    settings = Settings(options.stage or "O2", rules, switches_of(options), options.test_timeout)
    if options.test is not None:
        return Command(state, settings, options.test)
    if options.crash:
        return Crash(state, settings)
    if options.wrong:
        return Wrong(state, settings)
    return WrongPass(state, settings, options.step, lambda: _pipeline(options, settings, rules), options.tolerance)


def _pipeline(
    options: argparse.Namespace, settings: Settings, rules: Sequence[Rule]
) -> tuple[GeContext, Sequence[ModulePass]]:
    """A context with the rules, and the passes to check."""
    from xdsl.transforms import get_all_passes
    from xdsl.utils.arg_spec import parse_pipeline
    from xdsl.utils.exceptions import ArgSpecParseError

    from gedialect.ir.context import GeContext
    from gedialect.ir.registry import pass_factories
    from gedialect.patterns.session import RuleSession, set_session
    from gedialect.pipelines import pipeline, unknown_pass

    ctx = GeContext()
    session = RuleSession(tuple(rules))
    set_session(ctx, session)
    text = options.passes or ",".join(pipeline(settings.stage, switches=settings.switches, own=session.names))
    factories = {**get_all_passes(), **pass_factories()}
    found: list[ModulePass] = []
    try:
        for spec in parse_pipeline(text):
            if spec.name not in factories:
                raise unknown_pass(spec.name, factories).at(PROG)
            found.append(factories[spec.name]().from_spec(spec))
    except (ArgSpecParseError, ValueError, TypeError) as error:
        raise UsageError(f"wrong pipeline: {str(error).strip().splitlines()[-1]}", code="GE1111", where=PROG) from None
    if options.step not in factories:
        raise unknown_pass(options.step, factories).at(PROG)
    return ctx, found


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (0 fine, 1 error, 2 usage)."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
