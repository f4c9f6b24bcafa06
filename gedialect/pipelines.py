"""What the levels run, as pass names; ``ge-opt -O2 --print-pipeline`` prints it.

O0 is what is needed to run. O1 adds exact simplification. O2, the default, adds layout, rules, grouping and planning.
O3 adds search. A step is written once, with the levels it belongs to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from gedialect.errors import UsageError
from gedialect.switches import Choice, Switches, resolve

LEVELS = (0, 1, 2, 3)
DEFAULT_LEVEL = 2
DEFAULT_TARGET = "ascend910b1"


@dataclass(frozen=True)
class Step:
    """One pass with its options, run from level ``lowest`` to level ``highest``.

    Options may name ``{target}`` and what switches say: ``{strict}``, ``{disable}``, ``{keep}``, ``{group}``.
    """

    lowest: int
    name: str
    options: str = ""
    highest: int = 3


OPTIMISE: tuple[Step, ...] = (
    Step(1, "canonicalize"),
    Step(1, "cse"),
    Step(2, "integer-products", "{strict}"),
    Step(1, "fold-constants"),
    Step(1, "apply-rules", "level=1{strict}{disable}", highest=1),
    Step(2, "apply-rules", "level=2{strict}{disable}{keep}"),
    Step(2, "convert-layout"),
    Step(2, "apply-rules", "level=2{strict}{disable}{keep}"),
    Step(1, "cse"),
    Step(1, "dce"),
)
"""From a model's graph to a better one: still plain ge."""

DECIDE: tuple[Step, ...] = (
    Step(0, "expand-ops"),
    Step(0, "group-kernels", "fuse=false", highest=1),
    Step(2, "group-kernels", "target={target}{group}"),
    Step(2, "pack-weights"),
    Step(0, "select-kernels", "target={target}"),
    Step(3, "tune-kernels", "target={target}"),
    Step(0, "plan-memory"),
    Step(0, "verify-plan"),
)
"""From a graph to a decided one: kernels, their tiles, bytes."""


STEPS = frozenset(step.name for step in (*OPTIMISE, *DECIDE))
"""Passes of all levels."""


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
    switches: Switches = Switches(),
    own: Collection[str] = (),
) -> list[str]:
    """The pass specs of ``steps`` at a level, as ``switches`` have it, which may name rules and topics in ``own``.
    What is enabled by name runs even where the level or strict numerics leave it out; at O0 and O1 such rules run after
    those of the level."""
    number = level_number(level)
    choice = resolve(switches, STEPS, own)
    group = "".join(
        [
            "" if choice.elementwise else " elementwise=false",
            "" if choice.moves else " moves=false",
            f" forbid={','.join(choice.labels_off)}" if choice.labels_off else "",
            f" max-ops={switches.max_fusion_ops}" if switches.max_fusion_ops else "",
        ]
    )
    named = ",".join((*choice.rules_on, *choice.others_on))
    values = {
        "target": target,
        "keep": f" keep={named}" if named else "",
        "disable": f" disable={','.join(choice.rules_off)}" if choice.rules_off else "",
        "group": group,
    }
    beyond = f"apply-rules{{{_beyond(choice, values['disable'])}}}" if named and number < 2 else ""
    found: list[str] = []
    for step in steps:
        if step.lowest <= number <= step.highest and step.name not in choice.passes_off:
            strict = " strict=true" if switches.strict and step.name not in choice.passes_on else ""
            options = step.options.format_map({**values, "strict": strict}).strip()
            found.append(f"{step.name}{{{options}}}" if options else step.name)
            if step.name == "apply-rules" and beyond:
                found.append(beyond)
    if number == 0 and beyond and any(step.name == "apply-rules" for step in steps):
        found.insert(0, beyond)
    return found


def _beyond(choice: Choice, disable: str) -> str:
    """The options of a pass that applies what is enabled by name and nothing else."""
    rules = f"rules={','.join(choice.rules_on)}" if choice.rules_on else "level=0"
    return f"{rules} keep={','.join(choice.others_on)}{disable}" if choice.others_on else rules


def pipeline(
    level: str | int = DEFAULT_LEVEL,
    *,
    target: str = DEFAULT_TARGET,
    switches: Switches = Switches(),
    own: Collection[str] = (),
) -> list[str]:
    """All passes of a level, from a model's graph to a decided one; see ``specs``."""
    return specs((*OPTIMISE, *DECIDE), level, target=target, switches=switches, own=own)


def unknown_pass(name: str, known: Iterable[str]) -> UsageError:
    """The error for a pass nobody has, with the nearest names."""
    near = get_close_matches(name, list(known), 3)
    hint = "did you mean " + " or ".join(near) + "?" if near else "ge-opt --list-passes names them all"
    return UsageError(f"unknown pass {name}", code="GE1110", hint=hint)
