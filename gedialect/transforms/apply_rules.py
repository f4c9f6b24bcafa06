"""``apply-rules``: rewrite rules of the catalogue, to a fixpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.ir.context import count


@dataclass(frozen=True)
class ApplyRules(ModulePass):
    """Applies rules by name (``rules=a,b``), by topic (``topic=attention``; a group of fusions such as
    ``topic=compute`` for its topics, ``topic=fusion`` for all but canonical forms), or all up to ``level``: those of
    the catalogue, of packages (entry points ``gedialect.rules``) and of files (``--rules FILE``).

    Level 1 are canonical forms that keep values, level 2 also raises decomposed forms and folds into weights;
    ``disable`` leaves out rules or topics by name; ``strict`` leaves out what may change floating-point results;
    ``keep`` names rules or topics that neither ``strict`` nor the level leaves out.
    Rules of level 1 reach their fixpoint before those of level 2 start. The bodies of ``ge.fusion`` are left alone.
    ``--pass-statistics`` counts rewrites per rule. GE1107: unknown rule or topic; GE1106: rules without end.
    """

    name: ClassVar[str] = "apply-rules"
    rules: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    level: int = 2
    disable: tuple[str, ...] = ()
    strict: bool = False
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from gedialect.patterns.catalogue import select
        from gedialect.patterns.session import session_of

        session = session_of(ctx)
        extra = session.extra
        session.check_names(extra)
        chosen = select(self.rules, self.topic, self.level, self.disable, extra)
        if self.strict:
            chosen = tuple(r for r in chosen if r.exact != "tolerance")
        if self.keep:
            known = {r.topic for r in select(extra=extra)}
            names = {r.name for r in chosen}
            if by_name := tuple(n for n in self.keep if n not in known):
                names |= {r.name for r in select(by_name, extra=extra)}
            if by_topic := tuple(n for n in self.keep if n in known):
                names |= {r.name for r in select((), by_topic, disable=self.disable, extra=extra)}
            chosen = select(tuple(names), extra=extra) if names else ()  # in the order of the catalogue
        canonical = tuple(r for r in chosen if r.level <= 1)
        for group in (canonical, chosen) if canonical and canonical != chosen else (chosen,):
            outcome = session.apply(group, op)
            for name, times in outcome.rewrites.items():
                count(ctx, self.name, name, times)
            count(ctx, self.name, "iterations", outcome.iterations)
