"""The rules we have, one topic a file; every ``Rule`` in a file of this folder is part of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache

from gedialect.errors import GeError, UsageError
from gedialect.fusion_modes import FUSION, MODES, topics_of
from gedialect.patterns.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in order of topic, then as written."""
    found: list[Rule] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if module.name.startswith("_"):
            continue
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found += [m for m in members if isinstance(m, Rule) and m.topic == module.name]
    return tuple(found)


@cache
def topics() -> tuple[str, ...]:
    """Names of the topics."""
    return tuple(dict.fromkeys(r.topic for r in all_rules()))


def find_rule(name: str, extra: Sequence[Rule] = ()) -> Rule:
    """The rule of this name; GE1107 if there is none."""
    known = (*all_rules(), *extra)
    for r in known:
        if r.name == name:
            return r
    raise _unknown("rule", name, [r.name for r in known])


def select(
    rules: Sequence[str] = (),
    topic: Sequence[str] = (),
    level: int = 2,
    disable: Sequence[str] = (),
    extra: Sequence[Rule] = (),
) -> tuple[Rule, ...]:
    """Rules of the catalogue and ``extra`` ones up to ``level``: those named or of a topic named, all if neither is
    given, without those (or topics) disabled. A rule that is named is taken whatever its level. A group of fusions
    stands for its topics, and ``fusion`` for those of all groups. GE1107 for unknown names, GE1105 for an extra rule
    whose name is taken."""
    topic = [t for name in topic for t in topics_of(name)]
    taken = {r.name: r for r in all_rules()}
    for r in extra:
        if (other := taken.setdefault(r.name, r)) is not r:
            raise GeError(
                f"the name {r.name} is taken",
                code="GE1105",
                where=r.where,
                hint=f"rename the rule; the other is at {other.where}",
            )
    every = tuple(taken.values())
    all_topics = tuple(dict.fromkeys((*topics(), *(r.topic for r in extra))))
    for t in topic:
        if t not in all_topics:
            raise _unknown("topic", t, (*all_topics, *MODES, FUSION))
    for d in disable:
        if d not in taken and d not in all_topics:
            raise _unknown("rule", d, [*taken, *all_topics])
    named = {find_rule(n, extra).name for n in rules}
    everything = not rules and not topic
    return tuple(
        r
        for r in every
        if (r.name in named or ((everything or r.topic in topic) and r.level <= level))
        and r.name not in disable
        and r.topic not in disable
    )


def _unknown(kind: str, name: str, known: Sequence[str]) -> UsageError:
    close = get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"docs/rules.md lists the {kind}s"
    return UsageError(f"no {kind} named {name}", code="GE1107", hint=hint)
