"""``ge-import``: a model file to ge text. Weights stay in the model file and are referred to by offset."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gedialect.binary.output import atomic_output
from gedialect.cli.common import ArgumentParser, check_files, run
from gedialect.errors import UsageError
from gedialect.frontends import KINDS

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

PROG = "ge-import"
EXAMPLE = """\
examples:
  ge-import model.onnx                                          print a model as ge text
  ge-import model.onnx -o model.mlir --input-shape "x:1,3,224,224"
  ge-import model.onnx --input-shape "ids:1,128;mask:1,128"     sizes of several inputs; ? leaves one unknown
Weights above 1 kB stay where they are: keep the model file beside the text. Weights that do not lie in the model
file as plain bytes are written to FILE.weights.bin.
exit codes: 0 fine, 1 error, 2 wrong usage"""


def command(arguments: Sequence[str]) -> int:
    """Run ge-import on ``arguments``; raises ``GeError``."""
    parser = ArgumentParser(PROG, description="Read a model and print it as text of the ge dialect.", epilog=EXAMPLE)
    parser.add_argument("model", metavar="MODEL", help="model file (.onnx)")
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="write here instead of to stdout")
    parser.add_argument(
        "--input-shape", metavar="SHAPES", help='sizes of inputs: "x:1,3,224,224;y:1,8", split at the last colon'
    )
    options = parser.parse_args(arguments)
    if os.path.splitext(options.model)[1].lower() not in KINDS:
        raise UsageError(
            "unknown kind of model file",
            code="GE1013",
            where=options.model,
            hint=f"{PROG} reads {', '.join(KINDS)} files",
        )
    check_files(PROG, {"-o": options.output}, {"the model": options.model})
    from gedialect.ir.input_shapes import parse_input_shapes

    shapes = None if options.input_shape is None else parse_input_shapes(options.input_shape)
    from gedialect.frontends import import_model

    module = import_model(options.model, shapes)
    if options.output is None:
        print_module(module, sys.stdout)
    else:
        write_module(module, options.output)
    return 0


def write_module(module: ModuleOp, path: str) -> None:
    """Write ``module`` as text to ``path``; nothing is left on an error. See ``add_module``."""
    with contextlib.ExitStack() as files:
        add_module(files, module, path, PROG)


def add_module(files: contextlib.ExitStack, module: ModuleOp, path: str, prog: str) -> None:
    """Write ``module`` as text that appears at ``path`` when ``files`` closes, naming weight files as seen from there.

    Weights that exist in memory only go to a file beside it, ``FILE.weights.bin`` for ``FILE.mlir``. UsageError if
    either is a file that the module's weights are read from.
    """
    from gedialect.frontends import weight_files
    from gedialect.ir.weights import check_names

    weights = path.removesuffix(".mlir") + ".weights.bin"
    outputs: dict[str, str | None] = {"-o": path}
    if weight_files.has_memory_weights(module):
        outputs["the file of weights beside it"] = weights
    check_files(prog, outputs, weight_inputs(module))
    folder = os.path.dirname(os.path.abspath(path))
    text = files.enter_context(atomic_output(path))
    if weight_files.has_memory_weights(module):
        name = files.enter_context(atomic_output(weights))
        with open(name, "wb") as data:
            weight_files.write_memory_weights(module, data, os.path.abspath(weights))
    weight_files.rename_weights(module, lambda name: name_from(name, folder))
    check_names(module, folder, path)  # what cannot be read again is not written
    with open(text, "w", encoding="utf-8") as out:
        print_module(module, out)


def weight_inputs(module: ModuleOp) -> dict[str, str]:
    """The files that weights are read from, for ``check_files``."""
    from gedialect.frontends import weight_files

    return {f"the weights {os.path.basename(f)}": f for f in weight_files.files_of(module)}


def name_from(name: str, folder: str) -> str:
    """The weight file ``name`` as a text in ``folder`` writes it: relative if it lies there or below, else absolute."""
    return os.path.realpath(name).removeprefix(os.path.realpath(folder) + os.sep)


def print_module(module: ModuleOp, out: object) -> None:
    """Write the text of ``module`` to a stream."""
    from gedialect.ir.printer import UniquePrinter

    printer = UniquePrinter(stream=out)  # pyright: ignore[reportArgumentType]
    printer.print_op(module)
    printer.print_string("\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (0 fine, 1 error, 2 usage)."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
