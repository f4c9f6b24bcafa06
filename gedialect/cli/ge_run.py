"""``ge-run``: run an OM, a model or ge text on given inputs, and check the result."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from gedialect.binary.output import atomic_output
from gedialect.cli.common import ArgumentParser, check_files, run
from gedialect.errors import EXIT_CHECK_FAILED, GeError, UsageError

if TYPE_CHECKING:
    from gedialect.cli.arrays import Inputs
    from gedialect.runtime.profiler import Timing

Arrays = Mapping[str, Any]

PROG = "ge-run"
EXAMPLE = """\
examples:
  ge-run model.om --inputs in.npz --outputs out.npz
  ge-run model.onnx --inputs in.npz --check onnxruntime          compile at O2, run, compare
  ge-run model.om --inputs case.npz --check npz                  compare with the out:NAME arrays of the file
  ge-run decided.mlir --inputs in.npz                            the interpreter, no simulator
keys of the .npz are input names, or in:NAME and out:NAME
exit codes: 0 fine, 1 error, 2 wrong usage, 3 the check failed"""
TOLERANCE = {"f32": 1e-4, "f16": 2e-2, "bf16": 5e-2, "f64": 1e-4}
"""Largest difference allowed by --check, relative to the largest expected value; other types are exact. A model
compiled with --precision fp16 computes f32 results in f16, and has the limit of f16."""


def command(arguments: Sequence[str]) -> int:
    """Run ge-run on ``arguments``; raises ``GeError``."""
    parser = ArgumentParser(PROG, description="Run a compiled or a source model.", epilog=EXAMPLE)
    parser.add_argument("model", metavar="MODEL", help=".om, .onnx or .mlir")
    parser.add_argument("--inputs", metavar="IN.npz", required=True, help="input arrays")
    parser.add_argument("--outputs", metavar="OUT.npz", help="write the outputs, keyed by name")
    parser.add_argument("--check", choices=("onnxruntime", "npz"), help="compare with onnxruntime or the input file")
    parser.add_argument("--model", dest="reference", metavar="M.onnx", help="model for --check onnxruntime")
    parser.add_argument("--time", action="store_true", help="predict the time on the target, task by task")
    parser.add_argument("--trace", metavar="FILE.json", help="write the predicted times as a Chrome trace")
    parser.add_argument("--sanitize", action="store_true", help="check every kernel while it runs")
    options = parser.parse_args(arguments)
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    extension = os.path.splitext(options.model)[1].lower()
    if extension not in (".om", ".onnx", ".mlir"):
        raise UsageError(
            "unknown kind of file", code="GE1013", where=options.model, hint=f"{PROG} runs .om, .onnx and .mlir files"
        )
    reference = options.reference or (options.model if extension == ".onnx" else None)
    if options.check == "onnxruntime" and reference is None:
        raise UsageError("--check onnxruntime needs the source model", where=PROG, hint="give --model M.onnx")
    if options.reference is not None and options.check != "onnxruntime":
        raise UsageError("--model is for --check onnxruntime", where=PROG, hint="give both, or neither")
    if extension == ".mlir":
        given = {"--sanitize": options.sanitize, "--time": options.time, "--trace": options.trace is not None}
        for option in (o for o, is_given in given.items() if is_given):
            raise UsageError(
                f"{option} is for compiled models, text runs in the interpreter",
                where=PROG,
                hint=f"ge-compile {options.model} -o FILE.om, then run that",
            )
    check_files(
        PROG,
        {"--outputs": options.outputs, "--trace": options.trace},
        {"--inputs": options.inputs, "the model": options.model, "--model": options.reference},
    )
    from gedialect.cli.arrays import ArrayFile, Inputs

    arrays = ArrayFile(options.inputs)
    wanted = {k.removeprefix("out:"): k for k in arrays.headers if k.startswith("out:")}
    if options.check == "npz" and not wanted:
        raise GeError("the file holds no out:NAME arrays", code="GE1004", where=options.inputs)
    inputs, outputs, precision = _execute(options, extension, Inputs(arrays))
    for name, value in outputs.items():
        print(f"{name}: {value.dtype}{list(value.shape)}")
    import numpy as np

    if options.outputs is not None:
        with atomic_output(options.outputs) as name, open(name, "wb") as out:
            np.savez(out, **outputs)
    if options.check is None:
        return 0
    if options.check == "npz":
        nothing = np.zeros(())
        expected = {n: arrays.read_like(k, np.asarray(outputs.get(n, nothing))) for n, k in wanted.items()}
    else:
        assert reference is not None
        expected = run_onnxruntime(reference, inputs)
    return _compare(outputs, expected, {**TOLERANCE, "f32": TOLERANCE["f16"]} if precision == "fp16" else TOLERANCE)


def _execute(options: argparse.Namespace, extension: str, given: Inputs) -> tuple[Arrays, Arrays, str]:
    """The inputs, the outputs, and the precision they were computed with.

    Types and shapes of the arrays are checked before their data is read.
    """
    from gedialect import api, interpreter
    from gedialect.analysis.graph import graph_function
    from gedialect.cli.progress import steps

    with steps(f"running {os.path.basename(options.model)}"), _placed(options.model, given.file.path):
        if extension == ".om":
            executable = api.load(options.model)
            executable.check(given.stand_ins())
            inputs = given.read()
        else:
            stand_ins = given.stand_ins()
            shapes = None if extension == ".mlir" else given.shapes()
            module = api.import_source(options.model, shapes)
            interpreter.bind_inputs(graph_function(module), stand_ins)
            inputs = given.read()
            if extension == ".mlir":
                return inputs, interpreter.run(module, inputs), "origin"
            executable = api.compile(module)
        outputs = executable.run(inputs, sanitize=options.sanitize)
    if options.time or options.trace is not None:
        if options.time and isinstance(executable, api.Executable) and executable.gear is not None:
            print(f"gear {executable.gear.name}")
        _timing(options, executable.timing())
    return inputs, outputs, executable.report.precision


@contextlib.contextmanager
def _placed(model: str, inputs: str) -> Generator[None]:
    """Errors without a file are of the model; inputs that do not fit are the fault of their file."""
    try:
        yield
    except GeError as error:
        if error.code == "GE1004":
            error.where = inputs
        raise error.at(model) from error.__cause__


def _timing(options: argparse.Namespace, timing: Timing) -> None:
    from gedialect.runtime.profiler import chrome_trace, print_timing

    if options.time:
        print_timing(timing)
    if options.trace is not None:
        with atomic_output(options.trace) as name, open(name, "w", encoding="utf-8") as out:
            out.write(chrome_trace(timing))


def run_onnxruntime(path: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of onnxruntime with its graph optimisation off, one thread; GE1015 if it is not installed or fails."""
    try:
        ort = cast(Any, importlib.import_module("onnxruntime"))  # it has no type stubs
    except ImportError:
        raise GeError("onnxruntime is not installed", code="GE1015", hint="pip install 'gedialect[verify]'") from None
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))
    except Exception as error:  # its exceptions share no base class
        raise GeError(f"onnxruntime cannot run it: {str(error)[:300]}", code="GE1015", where=path) from None


def difference(got: Any, expected: Any) -> float:
    """Largest difference relative to the largest finite expected value; inf where nan or inf differ."""
    import numpy as np

    if got.shape != expected.shape or got.dtype != expected.dtype:
        return float("inf")
    if got.size == 0:
        return 0.0
    g, e = got.astype(np.float64), expected.astype(np.float64)
    fine = np.isfinite(e)
    if not np.array_equal(g[~fine], e[~fine], equal_nan=True) or not np.isfinite(g[fine]).all():
        return float("inf")
    if not fine.any():
        return 0.0
    return float(np.abs(g[fine] - e[fine]).max() / max(float(np.abs(e[fine]).max()), 1e-30))


def _compare(outputs: Mapping[str, Any], expected: Mapping[str, Any], tolerance: Mapping[str, float]) -> int:
    from gedialect.ir import dtypes

    failed = False
    for name, want in expected.items():
        if name not in outputs:
            print(f"{name}: missing")
            failed = True
            continue
        error = difference(outputs[name], want)
        limit = tolerance.get(dtypes.from_numpy(want.dtype).name, 0.0)
        good = error <= limit
        failed = failed or not good
        print(
            f"{name}: {'equal' if error == 0 else f'largest relative difference {error:.2e}'} "
            f"({'ok' if good else 'FAILED'}, limit {limit:g})"
        )
    return EXIT_CHECK_FAILED if failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (0 fine, 1 error, 2 usage, 3 check failed)."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
