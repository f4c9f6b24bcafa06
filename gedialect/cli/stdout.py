"""Standard output that is full or closed is an error like any other."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Generator
from typing import Any

from gedialect.errors import GeError


class _Checked:
    """A stream whose failures are ``GeError``; otherwise the stream it stands for."""

    def __init__(self, stream: Any, prog: str):
        self._stream = stream
        self._prog = prog

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            if self._stream is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            return self._stream.write(text)
        except (OSError, ValueError) as error:
            raise self._error(error) from error

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            if self._stream is not None:
                self._stream.flush()
        except (OSError, ValueError) as error:
            raise self._error(error) from error

    def _error(self, error: OSError | ValueError) -> Exception:
        if isinstance(error, BrokenPipeError | UnicodeError):
            return error
        discard(self._stream)
        reason = getattr(error, "strerror", None) or str(error)
        return GeError(f"cannot write to stdout: {reason}", code="GE1012", where=self._prog, hint="check where it goes")


def discard(stream: Any) -> None:
    """Send what is still buffered nowhere, so that Python does not complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)


@contextlib.contextmanager
def checked_stdout(prog: str) -> Generator[None]:
    """Inside, writing to a full or closed standard output raises GE1012; all of it is written at the end."""
    outer = sys.stdout
    checked: Any = _Checked(outer, prog)
    sys.stdout = checked
    try:
        try:
            yield
        except SystemExit:  # --help and the like
            checked.flush()
            raise
        checked.flush()
    finally:
        if sys.stdout is checked:
            sys.stdout = outer
