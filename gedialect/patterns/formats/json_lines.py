"""JSON that knows the lines its parts are at, for messages about files that people write."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Object(dict[str, Any]):
    """An object; ``lines`` are those of its keys, ``line`` is where it begins."""

    def __init__(self, line: int):
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class Array(list[Any]):
    """An array; ``lines`` are those of its items, ``line`` is where it begins."""

    def __init__(self, line: int):
        super().__init__()
        self.line = line
        self.lines: list[int] = []


def load(text: str, twice: Callable[[str, int], Exception]) -> Any:
    """The value of a text: ``json.loads`` with ``Object`` and ``Array``. Raises json.JSONDecodeError, and for a key
    that is there twice in one object what ``twice`` makes of the key and its line."""
    json.loads(text)  # says what is wrong, as everyone knows it; what follows reads correct text
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    at = 0

    def space() -> None:
        nonlocal at
        found = _SPACE.match(text, at)
        assert found is not None
        at = found.end()

    def line() -> int:
        from bisect import bisect_right

        return bisect_right(starts, at)

    def scalar() -> Any:
        nonlocal at
        value, at = _DECODER.raw_decode(text, at)
        return value

    def value() -> Any:
        nonlocal at
        space()
        if text[at] == "{":
            found = Object(line())
            at += 1
            space()
            while text[at] != "}":
                if text[at] == ",":
                    at += 1
                    space()
                here = line()
                key = str(scalar())
                if key in found:
                    raise twice(key, here)
                found.lines[key] = here
                space()
                at += 1  # the colon
                found[key] = value()
                space()
            at += 1
            return found
        if text[at] == "[":
            items = Array(line())
            at += 1
            space()
            while text[at] != "]":
                if text[at] == ",":
                    at += 1
                    space()
                items.lines.append(line())
                items.append(value())
                space()
            at += 1
            return items
        return scalar()

    return value()
