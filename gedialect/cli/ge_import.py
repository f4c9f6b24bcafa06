"""``ge-import``: read a model file and print it as ``ge`` text; weights stay in the model file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from gedialect.cli.common import ArgumentParser, atomic_output, run
from gedialect.errors import GeError, UsageError

PROG = "ge-import"
EXAMPLE = """\
examples:
  ge-import model.onnx -o model.mlir
  ge-import model.onnx --input-shape "x:1,3,224,224;y:1,8"    fix unknown sizes; names may hold colons
exit codes: 0 fine, 1 error, 2 wrong usage"""


def reader(path: str) -> Any:
    """The frontend for a model file, by its extension; ``UsageError`` GE1007 if there is none."""
    from gedialect.ir.registry import frontend_modules

    known = frontend_modules()
    extension = os.path.splitext(path)[1].removeprefix(".")
    if extension not in known:
        kinds = ", ".join("." + name for name in sorted(known))
        shown = "." + extension if extension else "(no extension)"
        raise UsageError(f"unknown kind of model {shown}", code="GE1007", where=path, hint=f"known are {kinds}")
    import importlib

    return importlib.import_module(known[extension])


def import_file(path: str, input_shape: str | None) -> Any:
    """The ge module of a model file."""
    from gedialect.ir.input_shapes import parse_input_shapes

    shapes = parse_input_shapes(input_shape) if input_shape is not None else None
    frontend = reader(path)
    if os.path.isdir(path):
        raise GeError("is a folder", code="GE1002", where=path, hint="give a file")
    try:
        return frontend.import_model(path, input_shapes=shapes)
    except GeError as error:
        raise error.at(path) from None


def command(arguments: Sequence[str]) -> int:
    """Run ge-import on ``arguments``; raises ``GeError``."""
    parser = ArgumentParser(PROG, description="Read a model and print it as ge text.", epilog=EXAMPLE)
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the text (default: standard output)")
    parser.add_argument("--input-shape", metavar="SHAPES", help='sizes of inputs: "x:1,3,224,224;y:1,8"')
    parser.add_argument("--print-debuginfo", action="store_true", help="show the model node each op came from")
    args = parser.parse_args(arguments)
    module = import_file(args.model, args.input_shape)
    from xdsl.printer import Printer

    if args.output in (None, "-"):
        Printer(stream=sys.stdout, print_debuginfo=args.print_debuginfo).print_op(module)
        sys.stdout.write("\n")
        return 0
    with atomic_output(args.output) as name, open(name, "w", encoding="utf-8") as handle:
        Printer(stream=handle, print_debuginfo=args.print_debuginfo).print_op(module)
        handle.write("\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
