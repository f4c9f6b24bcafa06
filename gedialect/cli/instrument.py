"""Runs a pipeline with dumps, timings, statistics and verification, all on stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.ir.context import GeContext

if TYPE_CHECKING:
    from gedialect.cli.pass_check import PassCheck

APPLY_RULES = "apply-rules"


@dataclass(frozen=True)
class Dumps:
    """Which dumps are wanted: pass names, or ``all``."""

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    after_change: bool = False

    def wants_before(self, name: str) -> bool:
        return name in self.before or "all" in self.before

    def wants_after(self, name: str) -> bool:
        return name in self.after or "all" in self.after


@dataclass
class Instrument:
    """What to do around each pass, and what was measured."""

    print_module: Callable[[ModuleOp], str]
    verify: Callable[[ModuleOp], None] | None = None
    dumps: Dumps = Dumps()
    time: bool = False
    statistics: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    times: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    changes: list[tuple[str, Counter[str]]] = field(default_factory=list[tuple[str, Counter[str]]])
    check: PassCheck | None = None
    """Runs the graph after each pass and compares."""
    running: int = -1
    """Index of the pass under way, for the reproducer."""

    def run(self, ctx: Context, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Apply ``passes`` in order."""
        text = self.print_module(module) if self.dumps.after_change else ""
        if self.check is not None:
            self.check.start(module)
        for self.running, step in enumerate(passes):
            if self.dumps.wants_before(step.name):
                self._dump(f"IR before {step.name}", self.print_module(module))
            before = _op_counts(module) if self.statistics else None
            kept = module.clone() if self.check is not None and step.name == APPLY_RULES else None
            applied = _rewrites(ctx)
            start = time.perf_counter()
            step.apply(ctx, module)
            self.times.append((step.name, time.perf_counter() - start))
            if before is not None:
                after = _op_counts(module)
                after.subtract(before)
                self.changes.append((step.name, after))
            if self.dumps.after_change:
                now = self.print_module(module)
                if now != text:
                    self._dump(f"IR after {step.name} (changed)", now)
                text = now
            elif self.dumps.wants_after(step.name):
                self._dump(f"IR after {step.name}", self.print_module(module))
            if self.verify is not None:
                self.measure(f"verify after {step.name}", lambda: self.verify and self.verify(module))
            if self.check is not None:
                self._check(self.check, ctx, step, module, kept, _rewrites(ctx) - applied)
        self.running = -1

    @staticmethod
    def _check(
        check: PassCheck,
        ctx: Context,
        step: ModulePass,
        module: ModuleOp,
        before: ModuleOp | None,
        applied: Counter[str],
    ) -> None:
        """Compare after ``step``; where rules changed the result, the error says which of the ``applied`` ones."""
        from gedialect.cli.pass_check import PassChangesResult

        try:
            check.after(step, module)
        except PassChangesResult as error:
            if before is not None and applied:
                guilty = check.guilty_rules(step, sorted(applied), ctx, before)
                what, names = ("rule at fault", guilty) if guilty else ("rules applied", sorted(applied))
                error.details = (*error.details, f"{what}: {', '.join(names)}")
            raise

    def measure(self, what: str, action: Callable[[], object]) -> None:
        """Run ``action`` and note its time."""
        start = time.perf_counter()
        action()
        self.times.append((what, time.perf_counter() - start))

    def _dump(self, title: str, text: str) -> None:
        self.stream.write(f"// -----// {title} //----- //\n{text.rstrip()}\n\n")

    def report(self, ctx: Context) -> None:
        """Print the timings, statistics and checks that were asked for."""
        out = StringIO()
        if self.check is not None:
            out.write(self.check.report())
        if self.time:
            total = sum(seconds for _, seconds in self.times)
            out.write("===- pass timing -===\n")
            for name, seconds in self.times:
                share = 100 * seconds / total if total else 0.0
                out.write(f"  {1e3 * seconds:10.3f} ms {share:5.1f}%  {name}\n")
            out.write(f"  {1e3 * total:10.3f} ms 100.0%  total\n")
        if self.statistics:
            out.write("===- pass statistics -===\n")
            counts = ctx.statistics if isinstance(ctx, GeContext) else Counter[tuple[str, str]]()
            told: set[str] = set()
            for name, change in self.changes:
                out.write(f"  {name}: {sum(change.values()):+d} ops\n")
                for op, n in sorted(change.items()):
                    if n:
                        out.write(f"    {n:+6d} {op}\n")
                for (owner, what), n in sorted(counts.items()):
                    if owner == name and name not in told:
                        out.write(f"    {n:6d} {what}\n")
                told.add(name)
        self.stream.write(out.getvalue())


def _rewrites(ctx: Context) -> Counter[str]:
    """How often each rule was applied so far."""
    counts = ctx.statistics if isinstance(ctx, GeContext) else Counter[tuple[str, str]]()
    return Counter({what: n for (owner, what), n in counts.items() if owner == APPLY_RULES and what != "iterations"})


def _op_counts(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())
