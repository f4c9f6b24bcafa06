"""What all commands share: exit codes, errors in one form, options, output that appears whole or not at all.

Imports nothing heavy, so that ``--version`` and usage errors answer at once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from gedialect.cli.stdout import checked_stdout, discard
from gedialect.errors import EXIT_ERROR, EXIT_OK, GeError, UsageError

TRACEBACK_VARIABLE = "GEDIALECT_TRACEBACK"


def version_line(prog: str) -> str:
    """``ge-opt 0.1.0 (xdsl 0.75.0)``."""
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    return f"{prog} {of('gedialect')} (xdsl {of('xdsl')})"


class ArgumentParser(argparse.ArgumentParser):
    """argparse whose usage errors are ``UsageError``."""

    def __init__(self, prog: str, **kwargs: Any):
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(prog=prog, **kwargs)
        self.add_argument("-v", "--version", action="version", version=version_line(prog), help="print the version")
        self.add_argument("--explain", metavar="CODE", help="print what an error code means, such as GE1203, and stop")

    def error(self, message: str) -> NoReturn:
        raise usage_error(self.prog, message)


def usage_error(prog: str, message: str) -> UsageError:
    """A wrong command line."""
    return UsageError(message, code="GE1001", where=prog, hint=f"see {prog} --help")


def wants_explanation(argv: Sequence[str]) -> bool:
    """Whether the command line asks for the meaning of an error code only."""
    return len(argv) == 2 and argv[0] == "--explain"


def explain(code: str) -> str:
    """The entry of an error code; UsageError if there is none."""
    from gedialect.error_codes import CATALOGUE

    entry = CATALOGUE.get(code.strip().upper())
    if entry is None:
        raise UsageError(f"there is no error code {code}", code="GE1001", hint="docs/errors.md lists them")
    return str(entry)


def wants_version(argv: Sequence[str]) -> bool:
    """Whether the command line asks for the version only."""
    return len(argv) == 1 and argv[0] in ("--version", "-v")


def run(prog: str, command: Callable[[Sequence[str]], int | None], argv: Sequence[str] | None = None) -> int:
    """Run ``command`` on the arguments; print its errors in the one form and return the exit code.

    With ``GEDIALECT_TRACEBACK=1`` Python's traceback is printed as well.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        with checked_stdout(prog):
            if wants_version(arguments):
                print(version_line(prog))
                return EXIT_OK
            if wants_explanation(arguments):
                print(explain(arguments[1]))
                return EXIT_OK
            return command(arguments) or EXIT_OK
    except GeError as error:
        _print_error(error.at(prog))
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output is gone (``| head``): nothing to say, and Python must not say it at exit.
        discard(sys.stdout)
        return EXIT_ERROR
    except KeyboardInterrupt:
        _tell(f"{prog}: interrupted")
        return 130
    except Exception as error:
        _print_error(internal_error(error, where=prog))
        return EXIT_ERROR


def internal_error(error: BaseException, *, where: str | None = None, doing: str | None = None) -> GeError:
    """An exception nobody expected, as an error a user can report."""
    if isinstance(error, MemoryError):
        return GeError("out of memory", code="GE1905", where=where, hint="give a smaller model or more memory")
    if isinstance(error, RecursionError):
        return GeError("nested too deeply", code="GE1108", where=where, hint="flatten the input")
    if isinstance(error, OSError) and error.filename is not None:
        reason = error.strerror or type(error).__name__
        return GeError(reason, code="GE1002", where=str(error.filename), hint="check the path and its permissions")
    text = str(error).partition("\n")[0][:300]
    task = f" in {doing}" if doing is not None else ""
    found = GeError(
        f"internal error{task}: {type(error).__name__}: {text}",
        code="GE1901",
        where=where,
        hint=f"this is a bug in gedialect, please report it; {TRACEBACK_VARIABLE}=1 shows where",
    )
    found.__cause__ = error
    return found


def _print_error(error: GeError) -> None:
    if os.environ.get(TRACEBACK_VARIABLE, "0") not in ("", "0"):
        import traceback

        _tell("".join(traceback.format_exception(error)).rstrip("\n"))
    _tell(str(error))


def _tell(text: str) -> None:
    """A line on stderr, unless it is closed or full: there is nowhere left to say so."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        discard(sys.stderr)


def check_files(prog: str, outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> None:
    """UsageError if a file is both written and read, or written twice; GE1012 if one cannot be written.

    Keys say what a file is ("-o", "the model"); None is a file that is not asked for.
    """
    from gedialect.binary.output import check_output

    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        others = {**written, **{what: name for what, name in inputs.items() if name is not None}}
        for what, name in others.items():
            if _same_file(path, name):
                raise UsageError(
                    f"{option} and {what} are the same file: {path}", where=prog, hint="give the output another name"
                )
        check_output(path)
        written[option] = path


def _same_file(a: str, b: str) -> bool:
    """Whether two paths lead to one regular file, existing or not."""
    try:
        if not os.path.isfile(a) and os.path.exists(a):
            return False
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return os.path.realpath(a) == os.path.realpath(b)


def open_error(path: str, error: OSError) -> GeError:
    """A file that cannot be read."""
    reason = error.strerror or type(error).__name__
    return GeError(f"cannot read: {reason}", code="GE1002", where=path, hint="check the path")
