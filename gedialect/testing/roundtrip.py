"""``%ge-roundtrip FILE``: text -> module -> text must be the identity, in custom and in generic form.

Prints the custom form, so that it can be checked further; exit code 1 and a diff if a form does not come back.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from io import StringIO

from xdsl.dialects.builtin import ModuleOp

from gedialect.cli.common import ArgumentParser, open_error, run
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.printer import UniquePrinter
from gedialect.ir.verifier import verify

PROG = "ge-roundtrip"


def to_text(module: ModuleOp, *, generic: bool = False, debuginfo: bool = True) -> str:
    """The module as text."""
    out = StringIO()
    UniquePrinter(stream=out, print_generic_format=generic, print_debuginfo=debuginfo).print_op(module)
    return out.getvalue() + "\n"


def check_roundtrip(ctx: GeContext, module: ModuleOp) -> None:
    """Raise GE1114 with a diff unless both forms of ``module`` parse back to the same module."""
    for debuginfo in (False, True):
        custom = to_text(module, debuginfo=debuginfo)
        for form in ("custom", "generic"):
            text = custom if form == "custom" else to_text(module, generic=True, debuginfo=debuginfo)
            again = to_text(parse_module(ctx, text, f"<{form} form>"), debuginfo=debuginfo)
            if again != custom:
                diff = difflib.unified_diff(
                    custom.split("\n"), again.split("\n"), "printed", "parsed back", "", "", 1, ""
                )
                raise GeError(
                    f"the {form} form does not parse back to the same module",
                    code="GE1114",
                    hint="make print and parse of the op or attribute below inverse",
                    details=tuple(list(diff)[:40]),
                )


def _command(arguments: Sequence[str]) -> int:
    parser = ArgumentParser(PROG, description="Check that a file survives printing and parsing, in both forms.")
    parser.add_argument("file")
    parser.add_argument("--allow-unregistered-dialect", action="store_true")
    args = parser.parse_args(arguments)
    try:
        with open(args.file, "rb") as handle:
            data = handle.read()
    except OSError as error:
        raise open_error(args.file, error) from None
    ctx = GeContext(allow_unregistered=args.allow_unregistered_dialect)
    module = parse_module(ctx, data, args.file)
    verify(module, file=args.file)
    try:
        check_roundtrip(ctx, module)
    except GeError as error:
        raise error.at(args.file) from None
    sys.stdout.write(to_text(module, debuginfo=False))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    return run(PROG, _command, argv)


if __name__ == "__main__":
    sys.exit(main())
