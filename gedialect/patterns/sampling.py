"""What ``samples`` of a rule may hold, checked where the rule is written: the proof would pass over a misspelt name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME
from gedialect.patterns.language import AttrCapture, Capture, ManyCapture, element_type_hint, rule_error

DTYPES = "dtypes"
INFINITE = "infinite"
MANY = 2
"""Operands that the proof draws for ``*xs``; their names are ``xs0`` and ``xs1``."""


def check_samples(name: str, params: Mapping[str, Any], samples: Mapping[str, Any], file: str, line: int) -> None:
    """GE1105 at the line of the rule for a name nothing binds, and for a value of another kind than it has."""
    place = f"{file}:{line}"
    shapes, values = _names(params)
    for key, given in samples.items():
        if key == DTYPES:
            _check_dtypes(name, given, place)
        elif key == INFINITE:
            if not isinstance(given, bool):
                raise _error(name, f"{INFINITE} is True or False, not {given!r}", place)
        elif key in shapes:
            _check_function(name, key, given, "the shapes so far and a random generator", (1, 2), place)
        elif key in values:
            _check_function(name, key, given, "a random generator", (1, 1), place)
        else:
            known = [*shapes, *values, DTYPES, INFINITE]
            close = get_close_matches(key, known, 2) if isinstance(key, str) else []  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = f"did you mean {' or '.join(close)}?" if close else f"it may hold {', '.join(known)}"
            raise _error(name, f"{key!r} is bound nowhere in the rule", place, hint)


def _names(params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Captures that have a shape, and those that have a value."""
    shapes: list[str] = []
    values: list[str] = []
    for name, p in params.items():
        if isinstance(p, ManyCapture):
            shapes += [f"{name}{i}" for i in range(MANY)]
        elif isinstance(p, AttrCapture) or (isinstance(p, Capture) and p.kind == "number"):
            values.append(name)
        elif isinstance(p, Capture):
            shapes.append(name)
    return shapes, values


def _error(name: str, message: str, place: str, hint: str | None = None) -> GeError:
    return rule_error(f"samples of {name}: {message}", hint or "docs/patterns.md, Proof, has the table", place)


def _check_dtypes(name: str, given: Any, place: str) -> None:
    example = f'"{DTYPES}": ["f32", "i32"]'
    if not isinstance(given, list | tuple) or not given:
        raise _error(name, f"{DTYPES} is a list of names of element types, not {given!r}", place, example)
    for one in cast("list[Any]", given):
        if not isinstance(one, str):
            raise _error(name, f"{one!r} is no name of an element type", place, example)
        if one not in BY_NAME:
            raise _error(name, f"{one!r} is no element type", place, element_type_hint(one))


def _check_function(name: str, key: str, given: Any, of: str, counts: tuple[int, int], place: str) -> None:
    """``given`` can be called with as many arguments as the proof has for it."""
    example = f'"{key}": lambda {"shapes: (2, 3)" if counts[1] > 1 else "rng: 0.5"}'
    if not callable(given) or isinstance(given, type):
        raise _error(name, f"{key} is a function of {of}, not {given!r}", place, example)
    try:
        signature = inspect.signature(given)
    except (ValueError, TypeError):
        raise _error(name, f"what parameters {key} has cannot be told", place, f"write {example}") from None
    taken = _taken(signature)
    low, high = counts
    if taken is None or not low <= taken <= high:
        many = f"{low} or {high} arguments" if high > low else "one argument"
        raise _error(name, f"{key} is a function of {of}: it takes {many}, not {signature}", place, example)


def _taken(signature: inspect.Signature) -> int | None:
    """Positional arguments without default; None if a function has to have others."""
    found = [p for p in signature.parameters.values() if p.default is p.empty]
    if any(p.kind is p.KEYWORD_ONLY for p in found):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)


def arguments(function: Any) -> int:
    """How many arguments a function that draws a shape takes."""
    return _taken(inspect.signature(function)) or 0
