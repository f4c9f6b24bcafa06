"""What the levels run, as pass names; ``ge-opt -O2 --print-pipeline`` prints it.

O0 is what is needed to run. O1 adds exact simplification. O2, the default, adds layout, rules, grouping and planning.
O3 adds search. A step is written once, with the levels it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gedialect.errors import UsageError

LEVELS = (0, 1, 2, 3)
DEFAULT_LEVEL = 2
DEFAULT_TARGET = "ascend910b1"


@dataclass(frozen=True)
class Step:
    """One pass with its options, run from level ``lowest`` to level ``highest``.

    Options may name ``{target}``, ``{strict}`` and ``{disable}``.
    """

    lowest: int
    name: str
    options: str = ""
    highest: int = 3


OPTIMISE: tuple[Step, ...] = (
    Step(1, "canonicalize"),
    Step(1, "cse"),
    Step(1, "fold-constants"),
    Step(1, "apply-rules", "level=1{strict}{disable}", highest=1),
    Step(2, "apply-rules", "level=2{strict}{disable}"),
    Step(2, "convert-layout"),
    Step(2, "apply-rules", "level=2{strict}{disable}"),
    Step(1, "cse"),
    Step(1, "dce"),
)
"""From a model's graph to a better one: still plain ge."""

DECIDE: tuple[Step, ...] = (
    Step(0, "expand-ops"),
    Step(0, "group-kernels", "fuse=false", highest=1),
    Step(2, "group-kernels"),
    Step(2, "pack-weights"),
    Step(0, "select-kernels", "target={target}"),
    Step(3, "tune-kernels", "target={target}"),
    Step(0, "plan-memory"),
    Step(0, "verify-plan"),
)
"""From a graph to a decided one: kernels, their tiles, bytes."""


def level_number(level: str | int) -> int:
    """0..3 from ``2``, ``"2"`` or ``"O2"``; ``UsageError`` for anything else."""
    text = str(level).upper().removeprefix("O")
    if text not in {str(n) for n in LEVELS}:
        raise UsageError(f"unknown level {level}", code="GE1001", hint="levels are O0, O1, O2, O3")
    return int(text)


def pass_name(spec: str) -> str:
    """The name in a pass spec: ``tile{size=4}`` -> ``tile``."""
    return spec.partition("{")[0].strip()


def specs(
    steps: Iterable[Step],
    level: str | int = DEFAULT_LEVEL,
    *,
    target: str = DEFAULT_TARGET,
    strict: bool = False,
    disable: Sequence[str] = (),
) -> list[str]:
    """The pass specs of ``steps`` at a level. ``disable`` names passes to leave out, or rules or topics of rules;
    ``strict`` leaves out what can change floating-point results."""
    number = level_number(level)
    names = {step.name for step in (*OPTIMISE, *DECIDE)}
    rules = ",".join(name for name in disable if name not in names)
    values = {
        "target": target,
        "strict": " strict=true" if strict else "",
        "disable": f" disable={rules}" if rules else "",
    }
    found: list[str] = []
    for step in steps:
        if step.lowest <= number <= step.highest and step.name not in disable:
            options = step.options.format_map(values)
            found.append(f"{step.name}{{{options}}}" if options else step.name)
    return found


def pipeline(
    level: str | int = DEFAULT_LEVEL,
    *,
    target: str = DEFAULT_TARGET,
    strict: bool = False,
    disable: Sequence[str] = (),
) -> list[str]:
    """All passes of a level, from a model's graph to a decided one; see ``specs``."""
    return specs((*OPTIMISE, *DECIDE), level, target=target, strict=strict, disable=disable)


def unknown_pass(name: str, known: Iterable[str]) -> UsageError:
    """The error for a pass nobody has, with the nearest names."""
    near = get_close_matches(name, list(known), 3)
    hint = "did you mean " + " or ".join(near) + "?" if near else "ge-opt --list-passes names them all"
    return UsageError(f"unknown pass {name}", code="GE1110", hint=hint)
