"""The rules we have, one topic a file; every ``Rule`` in a file of this folder is part of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache

from gedialect.errors import UsageError
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


def find_rule(name: str) -> Rule:
    """The rule of this name; GE1107 if there is none."""
    for r in all_rules():
        if r.name == name:
            return r
    raise _unknown("rule", name, [r.name for r in all_rules()])


def select(
    rules: Sequence[str] = (), topic: Sequence[str] = (), level: int = 2, disable: Sequence[str] = ()
) -> tuple[Rule, ...]:
    """Rules of the catalogue up to ``level``: those named or of a topic named, all if neither is given, without
    those (or topics) disabled. A rule that is named is taken whatever its level. GE1107 for unknown names."""
    for t in topic:
        if t not in topics():
            raise _unknown("topic", t, topics())
    known = [r.name for r in all_rules()]
    for d in disable:
        if d not in known and d not in topics():
            raise _unknown("rule", d, known)
    named = {find_rule(n).name for n in rules}
    everything = not rules and not topic
    return tuple(
        r
        for r in all_rules()
        if (r.name in named or ((everything or r.topic in topic) and r.level <= level))
        and r.name not in disable
        and r.topic not in disable
    )


def _unknown(kind: str, name: str, known: Sequence[str]) -> UsageError:
    close = get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"{kind}s are listed by apply-rules' documentation"
    return UsageError(f"no {kind} named {name}", code="GE1107", hint=hint)
