"""A file that repeats the failure of a pass: the module as it was before, and the passes left to run."""

from __future__ import annotations

import os
import shlex
import tempfile
from typing import TYPE_CHECKING

from gedialect.binary.output import atomic_output
from gedialect.errors import GeError

if TYPE_CHECKING:
    from gedialect.cli.opt_main import GeOptMain


def default_path() -> str:
    """A new file in the temporary folder: a failure leaves no files beside the user's, nor over those of another."""
    handle, path = tempfile.mkstemp(prefix="ge-opt-reproducer-", suffix=".mlir")
    os.close(handle)
    return path


def write_reproducer(
    driver: GeOptMain, failing: int, error: GeError, data: bytes | None, extension: str, offset: int
) -> str:
    """Write the reproducer of pass number ``failing``; returns where it is, or why there is none, as a phrase.

    Nothing is kept for it while passes run: the passes before the failing one are run again on the input.
    """
    try:
        text = driver.replay(failing, data, extension, offset)
        left = driver.steps[failing:]
    except Exception:
        if data is None:
            return "no reproducer: the passes before it do not run again"
        text = data.decode("utf-8", "replace")
        left = driver.steps
    try:
        path = driver.args.reproducer or default_path()
    except OSError as problem:
        return f"no reproducer: {problem.strerror or problem}"
    pipeline = ",".join(str(step) for step in left)
    lines = str(error).split("\n")
    rules = "".join(f" --rules {shlex.quote(os.path.abspath(f))}" for f in driver.args.rules)
    command = f"ge-opt {shlex.quote(path)} -p {shlex.quote(pipeline)}{rules}{_check_options(driver)}"
    header = [f"// {command}", *(f"// {line}" for line in lines)]
    try:
        with atomic_output(path) as name, open(name, "w", encoding="utf-8") as handle:
            handle.write("\n".join(header) + "\n" + text)
    except GeError as problem:
        return f"no reproducer: {path}: {problem.message}"
    return f"reproducer: {path}"


def _check_options(driver: GeOptMain) -> str:
    """The options of ``--check-each-pass`` as they were given."""
    args = driver.args
    if not args.check_each_pass:
        return ""
    words = ["--check-each-pass"]
    if args.inputs is not None:
        words += ["--inputs", os.path.abspath(args.inputs)]
    for name in ("seed", "tolerance"):
        if getattr(args, name) is not None:
            words += [f"--{name}", str(getattr(args, name))]
    return " " + shlex.join(words)
