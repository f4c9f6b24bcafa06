"""``--verify-diagnostics``: errors a test expects, as comments in its input.

%y = ge.bogus(%x)  // expected-error {{is not registered}}
// expected-error @+1 {{text}}     the next line; also @-1, @above, @below
// expected-error @unknown {{text}}  an error without a place
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gedialect.errors import GeError

_COMMENT = re.compile(
    r"expected-(error|warning|note|remark)(-re)?\s*(?:@(above|below|unknown|[+-]\d+)\s*)?\{\{(.*?)\}\}"
)
_PLACE = re.compile(r":(\d+):\d+$")


@dataclass
class Expectation:
    """One comment: the line it means (None for any), its text, whether the text is a regular expression."""

    at: int
    line: int | None
    text: str
    is_regex: bool
    met: bool = False

    def matches(self, line: int | None, message: str) -> bool:
        if self.line is not None and line is not None and self.line != line:
            return False
        if self.line is None and line is not None:
            return False
        return re.search(self.text, message) is not None if self.is_regex else self.text in message


def expectations(text: str, line_offset: int = 0) -> list[Expectation]:
    """The comments of a text whose first line has number ``line_offset + 1``."""
    found: list[Expectation] = []
    for number, line in enumerate(text.split("\n"), start=line_offset + 1):
        for match in _COMMENT.finditer(line):
            where = match[3]
            target: int | None = number
            if where == "unknown":
                target = None
            elif where is not None:
                target = number + {"above": -1, "below": 1}.get(where, 0)
                if where[0] in "+-":
                    target = number + int(where)
            found.append(Expectation(number, target, match[4], match[2] is not None))
    return found


def line_of(error: GeError) -> int | None:
    """The line an error is placed at."""
    match = _PLACE.search(error.where or "")
    return int(match[1]) if match is not None else None


def mismatches(file: str, wanted: list[Expectation], errors: list[GeError]) -> list[str]:
    """What is wrong: errors nobody expected, and expectations nobody met; one line each."""
    wrong: list[str] = []
    for error in errors:
        line = line_of(error)
        message = error.message if error.hint is None else f"{error.message}; {error.hint}"
        hit = next((w for w in wanted if not w.met and w.matches(line, message)), None)
        if hit is None:
            wrong.append(f"{error.where or file}: error GE1113: unexpected error: {message}")
        else:
            hit.met = True
    for missed in wanted:
        if not missed.met:
            wrong.append(f"{file}:{missed.at}:1: error GE1113: expected error was not produced: {missed.text}")
    return wrong
