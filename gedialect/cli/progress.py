"""Progress on stderr: a spinner with the step at work on a terminal, nothing when piped."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator


@contextlib.contextmanager
def steps(title: str) -> Generator[Callable[[str], None]]:
    """``with steps("compiling") as step: step("import")`` shows "compiling: import"."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")
