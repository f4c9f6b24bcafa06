"""What a compilation says about rules besides the pipeline: rules from files, and what to tell about them.

A session belongs to a ``GeContext``; ``apply-rules`` asks for it. Everything told goes to ``stream`` (stderr).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.context import GeContext
from gedialect.ir.printer import UniquePrinter
from gedialect.patterns.engine import Outcome, RuleSet, blocks_of, described, rule_set
from gedialect.patterns.rule import Rule, nodes
from gedialect.patterns.support import Found

NAME = "rules"


@dataclass
class RuleSession:
    """``loaded`` rules take part beside the catalogue; ``debug`` names rules whose misses are explained, ``trace``
    prints each application, ``stats`` adds up what ``statistics`` prints; ``watch`` is called with each application
    before it is put in."""

    loaded: tuple[Rule, ...] = ()
    debug: tuple[str, ...] = ()
    trace: bool = False
    stats: bool = False
    watch: Callable[[Rule, Found], None] | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    sets: dict[tuple[Rule, ...], RuleSet] = field(default_factory=dict[tuple[Rule, ...], RuleSet])
    iterations: int = 0

    @property
    def extra(self) -> tuple[Rule, ...]:
        """Rules beside the catalogue: of installed packages, then of files."""
        from gedialect.patterns.formats.loading import entry_point_rules

        return (*entry_point_rules(), *self.loaded)

    @property
    def names(self) -> list[str]:
        """Names and topics of the rules beside the catalogue."""
        return [name for r in self.extra for name in (r.name, r.topic)]

    def check_names(self, known: Iterable[Rule]) -> None:
        """GE1107 if a rule to debug is unknown."""
        from gedialect.patterns.catalogue import find_rule

        for name in self.debug:
            find_rule(name, tuple(known))

    def apply(self, rules: tuple[Rule, ...], module: ModuleOp) -> Outcome:
        """Apply the rules and tell what was asked for."""
        if not (self.debug or self.trace or self.stats or self.watch):
            return rule_set(rules).apply(module)
        chosen = self.sets.get(rules)
        if chosen is None:
            chosen = self.sets[rules] = RuleSet(rules, timed=self.stats)
        chosen.trace = self.told if self.trace or self.debug or self.watch else None
        outcome = chosen.apply(module)
        self.iterations += outcome.iterations
        for name in self.debug:
            if name in chosen.stats:
                self.explain(chosen, name, module)
        return outcome

    # ------------------------------------------------------------ one application
    def told(self, rule: Rule, found: Found) -> None:
        root = found.matched[0]
        if self.watch is not None:
            self.watch(rule, found)
        if rule.name in self.debug:
            self.stream.write(f"debug-rule {rule.name}: {described(root)}: matched\n")
        if self.trace:
            self.stream.write(application(rule, found))

    # ------------------------------------------------------------ why not
    def explain(self, rules: RuleSet, name: str, module: ModuleOp) -> None:
        """A line for each op left at which the rule could start: how far it came, and what stopped it."""
        rule = next(r for r in rules.rules if r.name == name)
        total = max(len(list(nodes(v.before))) for v in rule.variants)
        seen = 0
        for op in roots(module, rule):
            seen += 1
            found = rules.explain(name, op)
            if not found:
                continue
            depth, reason, at = found[0]
            place = "" if at is op else f" at {described(at)}"
            self.stream.write(f"debug-rule {name}: {described(op)}: {depth} of {total} ops,{place} {reason}\n")
        if not seen:
            kinds = " or ".join(c.name for c in rule.root_classes)
            self.stream.write(f"debug-rule {name}: no {kinds} is left to start at\n")

    # ------------------------------------------------------------ statistics
    def statistics(self) -> str:
        """A table: per rule, roots tried, matches, conditions that rejected, milliseconds."""
        rows: dict[str, list[float]] = {}
        rejected: dict[str, dict[str, int]] = {}
        for chosen in self.sets.values():
            for name, s in chosen.stats.items():
                row = rows.setdefault(name, [0, 0, 0.0])
                row[0] += s.tried
                row[1] += s.matched
                row[2] += 1e3 * s.seconds
                for reason, n in s.rejected.items():
                    own = rejected.setdefault(name, {})
                    own[reason] = own.get(reason, 0) + n
        out = StringIO()
        out.write(f"===- rule statistics: {len(rows)} rules, {self.iterations} iterations -===\n")
        out.write(f"  {'rule':32} {'tried':>7} {'matched':>7} {'ms':>8}  rejected by\n")
        for name, (tried, matched, ms) in sorted(rows.items(), key=lambda r: (-r[1][1], -r[1][2], r[0])):
            if tried:
                reasons = sorted(rejected.get(name, {}).items(), key=lambda r: -r[1])
                why = ", ".join(f"{reason} ({n})" for reason, n in reasons)
                out.write(f"  {name:32} {tried:7.0f} {matched:7.0f} {ms:8.2f}  {why}".rstrip() + "\n")
        idle = sorted(n for n, row in rows.items() if not row[0])
        if idle:
            out.write(f"  {len(idle)} rules found no root\n")
        return out.getvalue()


def session_of(ctx: Context) -> RuleSession:
    """The session of a context; an empty one if it has none."""
    found = ctx.extensions.get(NAME) if isinstance(ctx, GeContext) else None
    return found if isinstance(found, RuleSession) else RuleSession()


def set_session(ctx: GeContext, session: RuleSession) -> None:
    """Make ``session`` that of the context."""
    ctx.extensions[NAME] = session


def roots(module: ModuleOp, rule: Rule) -> Iterator[Operation]:
    """Ops a match of the rule may start at."""
    for block in blocks_of(module):
        yield from (op for op in block.ops if type(op) in rule.root_classes)


def application(rule: Rule, found: Found) -> str:
    """The matched ops and what replaces them, as text."""
    order: dict[Operation, int] = {}
    blocks: list[Block] = [op.parent for op in found.matched if op.parent is not None]
    if blocks:
        order = {op: i for i, op in enumerate(blocks[0].ops)}
    out = StringIO()
    printer = UniquePrinter(out)
    out.write(f"rule {rule.name} at {described(found.matched[0])}\n  before:\n")
    inside = {op: None for op in found.matched}
    for op in found.matched:  # constants are matched by value: show them
        inside |= {v.owner: None for v in op.operands if isinstance(v.owner, ConstantOp)}
    _print(printer, out, sorted(inside, key=lambda op: order.get(op, 0)))
    out.write("  after:\n")
    _print(printer, out, found.new_ops)
    for old, new in found.replaced:
        out.write("    ")
        printer.print_operand(old)
        out.write(" is now ")
        printer.print_operand(new)
        out.write("\n")
    return out.getvalue()


def _print(printer: UniquePrinter, out: StringIO, ops: Sequence[Operation]) -> None:
    for op in ops:
        out.write("    ")
        printer.print_op(op)
        out.write("\n")
