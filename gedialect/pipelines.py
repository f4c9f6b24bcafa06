"""What the levels run, as pass names; ``ge-opt -O2 --print-pipeline`` prints it.

O0 is what is needed to run. O1 adds exact simplification. O2, the default, adds layout, rules, grouping and planning.
O3 adds search. A step is written once, with the lowest level it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from gedialect.errors import UsageError

LEVELS = (0, 1, 2, 3)
DEFAULT_LEVEL = 2

# (lowest level, pass with options), in the order they run.
OPTIMISE: tuple[tuple[int, str], ...] = (
    (1, "canonicalize"),
    (1, "cse"),
    (1, "dce"),
)


def level_number(level: str | int) -> int:
    """0..3 from ``2``, ``"2"`` or ``"O2"``; ``UsageError`` for anything else."""
    text = str(level).upper().removeprefix("O")
    if text not in {str(n) for n in LEVELS}:
        raise UsageError(f"unknown level {level}", code="GE1001", hint="levels are O0, O1, O2, O3")
    return int(text)


def pass_name(spec: str) -> str:
    """The name in a pass spec: ``tile{size=4}`` -> ``tile``."""
    return spec.partition("{")[0].strip()


def pipeline(level: str | int = DEFAULT_LEVEL, *, disable: Sequence[str] = ()) -> list[str]:
    """The passes of a level, as pass specs, without those named in ``disable``."""
    number = level_number(level)
    return [spec for lowest, spec in OPTIMISE if lowest <= number and pass_name(spec) not in disable]


def unknown_pass(name: str, known: Iterable[str]) -> UsageError:
    """The error for a pass nobody has, with the nearest names."""
    near = get_close_matches(name, list(known), 3)
    hint = "did you mean " + " or ".join(near) + "?" if near else "ge-opt --list-passes names them all"
    return UsageError(f"unknown pass {name}", code="GE1110", hint=hint)
