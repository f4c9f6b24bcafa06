"""Every error a user can meet, each with a stable code.

Ranges: GE10xx input and options, GE11xx text and pipelines, GE12xx unsupported, GE13xx OM files,
GE14xx plans, GE19xx internal. ``gedialect.error_codes`` says what each code means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_CHECK_FAILED = 3


_INSIDE = ("node ", "input ", "constant ", "kernel ", "task ", "TASK_INFO, ")
"""How places begin that say what of a file is meant but not which file."""


class GeError(Exception):
    """An error in the user's input, options or model.

    ``code`` is stable ("GE1203"), ``where`` names the place (``FILE``, ``FILE:line:col`` or
    ``FILE: node NAME``), ``hint`` says what to do about it, ``details`` are further lines.
    """

    exit_code = EXIT_ERROR

    def __init__(
        self,
        message: str,
        *,
        code: str = "GE1901",
        where: str | None = None,
        hint: str | None = None,
        details: tuple[str, ...] = (),
    ):
        super().__init__(message)
        self.message = message
        self.code = code
        self.where = where
        self.hint = hint
        self.details = details

    def at(self, where: str) -> GeError:
        """The same error, placed at ``where`` unless it already has a place; a place inside a file gets its name."""
        if self.where is None:
            self.where = where
        elif self.where.startswith(_INSIDE) and not where.startswith(_INSIDE):
            self.where = f"{where}: {self.where}"
        return self

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where is not None else ""
        hint = f"; {self.hint}" if self.hint is not None else ""
        first = f"{place}error {self.code}: {self.message}{hint}"
        return "\n".join([first, *(f"  {line}" for line in self.details)])


class UnsupportedError(GeError):
    """An operator, type or form that gedialect does not support; the message names it."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "GE1201",
        where: str | None = None,
        hint: str | None = None,
        details: tuple[str, ...] = (),
    ):
        super().__init__(message, code=code, where=where, hint=hint, details=details)


class UsageError(GeError):
    """A wrong option, pass name or kind of file (exit code 2)."""

    exit_code = EXIT_USAGE

    def __init__(
        self,
        message: str,
        *,
        code: str = "GE1001",
        where: str | None = None,
        hint: str | None = None,
        details: tuple[str, ...] = (),
    ):
        super().__init__(message, code=code, where=where, hint=hint, details=details)


def check_input_names(given: Iterable[str], names: Sequence[str]) -> None:
    """GE1004 unless inputs are given for ``names`` and nothing else."""
    given = list(given)
    unknown = [n for n in given if n not in names]
    missing = [n for n in names if n not in given]
    if unknown or missing:
        raise GeError(
            f"inputs do not match: missing {missing or 'none'}, unknown {unknown or 'none'}",
            code="GE1004",
            hint=f"the inputs are {', '.join(names) or 'none'}",
        )
