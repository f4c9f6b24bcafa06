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
    """``ge-opt-reproducer.mlir`` in the temporary folder: a failure leaves no files beside the user's."""
    return os.path.join(tempfile.gettempdir(), "ge-opt-reproducer.mlir")


def write_reproducer(
    driver: GeOptMain, failing: int, error: GeError, data: bytes | None, extension: str, offset: int
) -> str | None:
    """Write the reproducer of pass number ``failing`` and return its path; None if it cannot be written.

    Nothing is kept for it while passes run: the passes before the failing one are run again on the input.
    """
    try:
        text = driver.replay(failing, data, extension, offset)
        left = driver.steps[failing:]
    except Exception:
        if data is None:
            return None
        text = data.decode("utf-8", "replace")
        left = driver.steps
    path = driver.args.reproducer or default_path()
    pipeline = ",".join(str(step) for step in left)
    lines = str(error).split("\n")
    rules = "".join(f" --rules {shlex.quote(os.path.abspath(f))}" for f in driver.args.rules)
    header = [f"// ge-opt {shlex.quote(path)} -p {shlex.quote(pipeline)}{rules}", *(f"// {line}" for line in lines)]
    try:
        with atomic_output(path) as name, open(name, "w", encoding="utf-8") as handle:
            handle.write("\n".join(header) + "\n" + text)
    except GeError:
        return None
    return path
