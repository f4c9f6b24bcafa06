"""Applies rules to a fixpoint, without a walk per match.

Matchers are indexed by the class of their root op, and compiled when a model has such an op. Each block is swept
until nothing changes; within a sweep, a rewrite puts the new ops and those around them back on the list.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from time import perf_counter
from typing import NoReturn

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.errors import GeError
from gedialect.ir import sources
from gedialect.ir.diagnostics import cap
from gedialect.patterns.compiler import OTHER_TYPE, Matcher, compile_variant, needed_classes
from gedialect.patterns.index import Index
from gedialect.patterns.places import code_of, failing_line
from gedialect.patterns.rule import UNNAMED, Rule, Variant, nodes
from gedialect.patterns.support import Found
from gedialect.patterns.values import Value, is_const, is_pure, load_numbers, remembering_constants

REWRITES_PER_OP = 8
SPARE_REWRITES = 512
"""More rewrites than this for a block mean that rules undo each other."""
RECENT = 64
MAX_VERIFIED = 256
"""Kinds of new ops that a form keeps in mind."""


@dataclass
class RuleStats:
    """What a rule did: roots looked at, matches put in, and which condition rejected how often."""

    tried: int = 0
    matched: int = 0
    seconds: float = 0.0
    """Time in the rule's matchers, of rule sets that are ``timed``."""
    rejected: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Outcome:
    """What ``apply`` did: rewrites per rule, and sweeps until nothing changed."""

    rewrites: Counter[str] = field(default_factory=Counter[str])
    iterations: int = 0

    @property
    def changed(self) -> bool:
        return bool(self.rewrites)


Trace = Callable[[Rule, Found], None]


class _Form:
    """One form of a rule, compiled at the first look; ``needs`` are classes that must make an operand of the root."""

    __slots__ = ("explainer", "matcher", "needs", "rule", "stats", "timed", "variant", "verified", "why")

    def __init__(self, rule: Rule, variant: Variant, stats: RuleStats, timed: bool = False):
        self.rule = rule
        self.variant = variant
        self.stats = stats
        self.timed = timed
        self.needs = needed_classes(variant)
        self.matcher: Matcher | None = None
        self.explainer: Matcher | None = None
        self.why: list[tuple[int, str, Operation]] = []
        self.verified: dict[tuple[object, ...], tuple[object, ...]] = {}
        """kinds of new ops that are known to verify, by identity of what they are made of -> what that is"""

    def compile(self) -> Matcher:
        if self.timed:  # what rejects is counted by explaining, once for all forms
            self.matcher = self.clocked(compile_variant(self.rule, self.variant, Counter()))
        else:
            self.matcher = compile_variant(self.rule, self.variant, self.stats.rejected)
        return self.matcher

    def explain(self, root: Operation) -> list[tuple[int, str, Operation]]:
        """Why this form does not match at ``root``; see ``RuleSet.explain``."""
        if self.explainer is None:
            told = self.why
            self.explainer = compile_variant(
                self.rule, self.variant, Counter(), lambda depth, reason, op: told.append((depth, reason, op))
            )
        self.why.clear()
        found = attempt(self.explainer, self.rule, root)
        if found is not None:
            discard(found)
        return list(self.why)

    def verify_new(self, found: Found) -> None:
        """GE1105 at the line of the rule that makes an op which does not verify."""
        for op in found.new_ops:
            parts = (type(op), *op.properties.values(), *(v.type for v in op._operands), *(r.type for r in op.results))  # pyright: ignore[reportPrivateUsage]
            key = tuple(map(id, parts))
            if key in self.verified:
                continue
            try:
                op.verify_()
            except (VerifyException, ValueError) as error:
                reason = cap(str(error), 200)
                names = described(found.matched[0])
                raise GeError(
                    f"{self.rule.name}: the new {op.name} at {names} does not verify: {reason}",
                    code="GE1105",
                    where=self.place(found, op),
                    hint="docs/ops.md has what the op takes",
                    details=(f"rule {self.rule.name} is at {self.rule.where}",),
                ) from None
            if len(self.verified) >= MAX_VERIFIED:
                self.verified.clear()
            self.verified[key] = parts

    def place(self, found: Found, op: Operation) -> str:
        """The line of the rule that makes ``op``."""
        left = {id(n) for n in nodes(self.variant.before)}
        new = [n for n in nodes(self.variant.after) if id(n) not in left]
        same = [o for o in found.new_ops if type(o) is type(op)]
        of_class = [n for n in new if n.cls is type(op)]
        return of_class[same.index(op)].where if len(same) == len(of_class) else self.rule.where

    def clocked(self, matcher: Matcher) -> Matcher:
        def run(op: Operation) -> Found | None:
            start = perf_counter()
            try:
                return matcher(op)
            finally:
                self.stats.seconds += perf_counter() - start

        return run


class RuleSet:
    """Rules ready to be applied, in order of benefit, then as given. Reusable; ``stats`` add up; ``timed`` rule sets
    also add up the time of each rule."""

    def __init__(self, rules: Iterable[Rule], *, timed: bool = False):
        self.rules = list(rules)
        self.timed = timed
        if timed:
            load_numbers()
        names = Counter(r.name for r in self.rules)
        if twice := [n for n, c in names.items() if c > 1]:
            raise GeError(f"two rules are named {twice[0]}", code="GE1105", hint="rename one of them")
        self.stats: dict[str, RuleStats] = {r.name: RuleStats() for r in self.rules}
        self.index = Index(
            _Form(r, v, self.stats[r.name], timed)
            for r in sorted(self.rules, key=lambda r: -r.benefit)
            for v in r.variants
        )
        self.roots = self.index.by_root
        self.trace: Trace | None = None

    def apply(self, target: ModuleOp | Block | Operation) -> Outcome:
        """Rewrite every block of ``target`` to a fixpoint, those of ``ge.fusion`` excepted.

        Raises GeError GE1106, naming the rules, when they undo each other without end.
        """
        outcome = Outcome()
        with remembering_constants():
            for block in [target] if isinstance(target, Block) else list(blocks_of(target)):
                _Driver(self, block, outcome).run()
        return outcome

    def explain(self, name: str, root: Operation) -> list[tuple[int, str, Operation]]:
        """Why rule ``name`` does not match at ``root``: (ops matched before, reason, op), the deepest first."""
        forms = [f for f in self.roots.get(type(root), ()) if f.rule.name == name]
        return sorted((why for f in forms for why in f.explain(root)), key=lambda w: -w[0])


def blocks_of(op: Operation) -> Iterable[Block]:
    """Blocks that rules are applied to: all but those of ``ge.fusion``."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.ops:
                if inner.regions and not isinstance(inner, FusionOp):
                    yield from blocks_of(inner)


def kept_alone(op: Operation) -> bool:
    """Whether ``fuse_flag = false`` forbids fusing across an op."""
    flag = op.attributes.get("fuse_flag")
    return isinstance(flag, IntegerAttr) and flag.value.data == 0


class _Driver:
    """One block, to a fixpoint."""

    def __init__(self, rules: RuleSet, block: Block, outcome: Outcome):
        self.rules = rules
        self.block = block
        self.outcome = outcome
        self.stack: list[Operation] = []
        self.waiting: set[Operation] = set()
        self.recent: deque[Rule] = deque(maxlen=RECENT)
        self.left = 0
        self.order: dict[Operation, float] | None = None
        """position of each op, from the first match on that needs it"""

    def run(self) -> None:
        changed = True
        sweeps = 0
        first = True
        while changed:
            ops = [op for op in self.block.ops if type(op) in self.rules.roots]
            if first:
                self.left = REWRITES_PER_OP * len(ops) + SPARE_REWRITES
                first = False
            self.stack = ops[::-1]
            self.waiting = set(ops)
            sweeps += 1
            changed = self.sweep()
        self.outcome.iterations = max(self.outcome.iterations, sweeps)

    def sweep(self) -> bool:
        stack, waiting, rules = self.stack, self.waiting, self.rules
        candidates = rules.index.candidates
        changed = False
        while stack:
            op = stack.pop()
            if op not in waiting:
                continue
            waiting.discard(op)
            if rules.timed:
                changed |= self.counted(op)
                continue
            forms = candidates(op)
            tried = None
            for form in forms:
                if form.rule is not tried:
                    tried = form.rule
                    form.stats.tried += 1
                matcher = form.matcher or form.compile()
                try:  # as ``attempt``, without a call
                    found = matcher(op)
                except Exception as error:
                    fail(form.rule, error, op)
                if found is not None and self.put_in(form, found):
                    changed = True
                    break
        return changed

    def counted(self, op: Operation) -> bool:
        """Try the rules at ``op``, and count for each that does not apply what stopped it: the reason that its forms
        come furthest with. What the index tells without running a matcher counts too."""
        candidates = set(map(id, self.rules.index.candidates(op)))
        for rule, same in groupby(self.rules.roots[type(op)], key=lambda f: f.rule):
            forms = list(same)
            stats = forms[0].stats
            stats.tried += 1
            blocked = False
            for form in forms:
                if id(form) not in candidates:
                    continue
                found = attempt(form.matcher or form.compile(), rule, op)
                if found is not None:
                    if self.put_in(form, found):
                        return True
                    blocked = True
            if not blocked:
                why = max((w for f in forms for w in f.explain(op)), key=lambda w: w[0])
                stats.rejected[_label(why[1])] += 1
        return False

    def put_in(self, form: _Form, found: Found) -> bool:
        root = found.matched[0]
        if found.new_ops:
            form.verify_new(found)
        for op in found.matched:
            if op.attributes and kept_alone(op):
                discard(found)
                form.stats.rejected["fuse_flag"] += 1
                return False
        point = root if len(found.replaced) == 1 else self.insertion_point(found)
        if point is None:
            discard(found)
            form.stats.rejected["order of the outputs"] += 1
            return False
        self.insert(found.new_ops, point)
        if self.rules.trace is not None:
            self.rules.trace(form.rule, found)
        form.stats.matched += 1
        self.outcome.rewrites[form.rule.name] += 1
        self.recent.append(form.rule)
        self.left -= 1
        if self.left < 0:
            raise endless(self.recent, root)
        for old, new in found.replaced:
            hint = old.name_hint
            if not found.new_ops:
                self.keep_name(old, new)
            for use in tuple(old.uses):
                self.push(use.operation)
            old.replace_all_uses_with(new)
            if hint is not None and new.name_hint is None:
                new.name_hint = hint
        for op in found.new_ops:
            self.push(op)
        self.sweep_dead(found.matched)
        return True

    @staticmethod
    def keep_name(old: SSAValue, new: SSAValue) -> None:
        """A value that takes the place of another takes its node names too, so that they are not lost."""
        a, b = old.owner, new.owner
        if isinstance(a, Operation) and isinstance(b, GeOp) and not isinstance(b, ConstantOp):
            b.location = sources.merge(b.location, a.location)

    def insert(self, ops: Sequence[Operation], point: Operation) -> None:
        before = point.prev_op
        for op in ops:
            self.block.insert_op_before(op, point)
        if self.order is not None and ops:
            low = self.order[before] if before is not None else self.order[point] - 1.0
            step = (self.order[point] - low) / (len(ops) + 1)
            if step < 1e-9:
                self.order = None
            else:
                self.order.update((op, low + step * (i + 1)) for i, op in enumerate(ops))

    def insertion_point(self, found: Found) -> Operation | None:
        """Where the outputs of a match with several can be made: before the first of them, for which constants are
        moved up, or before the last, if no user comes sooner."""
        if self.order is None:
            self.order = {op: float(i) for i, op in enumerate(self.block.ops)}
        order = self.order
        roots = sorted((o.owner for o, _ in found.replaced if isinstance(o.owner, Operation)), key=lambda r: order[r])
        if (late := self.defined_after(found, roots[0])) is not None:
            for op in late:
                op.detach()
            self.insert(late, roots[0])
            return roots[0]
        matched = set(found.matched)
        for old, _ in found.replaced:
            for use in old.uses:
                user = self.ancestor(use.operation)
                if user is None or (user not in matched and order[user] < order[roots[-1]]):
                    return None
        return roots[-1]

    def defined_after(self, found: Found, point: Operation) -> list[Operation] | None:
        """Constants that the new ops use and that come after ``point``; None if there are other such values."""
        assert self.order is not None
        new = set(found.new_ops)
        late: set[Operation] = set()
        todo = [v for op in found.new_ops for v in op.operands] + [v for _, v in found.replaced]
        while todo:
            value = todo.pop()
            owner = value.owner
            if not isinstance(owner, Operation) or owner in new or owner in late or owner.parent is not self.block:
                continue
            if self.order[owner] >= self.order[point]:
                if not is_const(value) or owner is point:
                    return None
                late.add(owner)
                todo += owner.operands
        order = self.order
        return sorted(late, key=lambda op: order[op])

    def ancestor(self, op: Operation) -> Operation | None:
        """The op of this block that holds ``op``."""
        while op.parent is not self.block:
            parent = op.parent_op()
            if parent is None:
                return None
            op = parent
        return op

    def push(self, op: Operation) -> None:
        if op not in self.waiting and type(op) in self.rules.roots and op.parent is self.block:
            self.waiting.add(op)
            self.stack.append(op)

    def sweep_dead(self, ops: Sequence[Operation]) -> None:
        """Erase those of ``ops`` that nobody uses any more, and what only they used."""
        todo = list(ops[::-1])
        while todo:
            op = todo.pop()
            if op.parent is not self.block or not is_pure(type(op)) or used(op):
                continue
            owners = [v.owner for v in op._operands]  # pyright: ignore[reportPrivateUsage]
            self.waiting.discard(op)
            if self.order is not None:
                self.order.pop(op, None)
            self.block.erase_op(op)
            for owner in owners:
                if isinstance(owner, Operation):
                    todo.append(owner)
                    for result in owner.results:  # a value with one user left may be inside a match now
                        if (user := result.get_user_of_unique_use()) is not None:
                            self.push(user)


def endless(recent: Iterable[Rule], root: Operation) -> GeError:
    """GE1106 at the first of the rules that were applied last, naming all of them with their places."""
    counts = Counter(recent)
    rules = sorted((r for r, c in counts.items() if c > 1), key=lambda r: r.name) or list(counts)
    at = f"last at {described(root)}"
    if len(rules) == 1:
        return GeError(
            f"rule {rules[0].name} applies to its own result without end, {at}",
            code="GE1106",
            where=rules[0].where,
            hint="make its right side something it does not match, or add a condition that stops it",
        )
    return GeError(
        f"rules undo each other without end: {', '.join(r.name for r in rules)}, {at}",
        code="GE1106",
        where=rules[0].where,
        hint="switch one of them off, or make its right side different from what another matches",
        details=tuple(f"{r.name} is at {r.where}" for r in rules),
    )


def attempt(matcher: Matcher, rule: Rule, op: Operation) -> Found | None:
    """What a matcher finds at ``op``; GE1105 at the line of the rule if a function of the rule fails."""
    try:
        return matcher(op)
    except Exception as error:
        fail(rule, error, op)


def fail(rule: Rule, error: Exception, op: Operation) -> NoReturn:
    """A mistake in a Python function of a rule that shows when it runs: GE1105 at its line."""
    if isinstance(error, GeError) and error.code == "GE1105":
        raise error
    line = failing_line(error.__traceback__, rule.file) or rule.line
    codes: set[object] = set()
    trace = error.__traceback__
    while trace is not None:
        codes.add(trace.tb_frame.f_code)
        trace = trace.tb_next
    named = next((c.name for c in rule.checks if code_of(c.function) in codes), None)
    what = "a function" if named is None else f"the condition {named!r}" if named != UNNAMED else "a condition"
    message = cap(error.message if isinstance(error, GeError) else str(error), 200)
    more = (
        ", or raise NoMatch where the rule does not apply" if rule.code is not None else " with a condition before it"
    )
    hint = f"guard against it{more}"
    if "NoneType" in message:
        hint = "what a form does not bind is None; so are number and array of a value that is no constant"
    elif isinstance(error, AttributeError) and isinstance(error.obj, Value):
        hint = f"a value has {', '.join(n for n in dir(Value) if not n.startswith('_'))}"
    raise GeError(
        f"{what} of {rule.name} failed at {described(op)}: {type(error).__name__}: {message}",
        code="GE1105",
        where=f"{rule.file}:{line}",
        hint=hint,
    ) from error


def used(op: Operation) -> bool:
    """Whether a result of the op has a user."""
    for result in op.results:
        if result.first_use is not None:
            return True
    return False


def discard(found: Found) -> None:
    """Undo what a match made."""
    for op in found.new_ops[::-1]:
        op.erase()


def described(op: Operation) -> str:
    """An op as a person knows it: its model nodes and its kind."""
    names = sources.names(op)
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    where = f"node {shown}" if names else f"%{op.results[0].name_hint or '?'}" if op.results else "op"
    return f"{where} ({op.name})"


def _label(reason: str) -> str:
    """A reason as statistics call it."""
    if reason.startswith("no replacement"):
        return "types of the replacement"
    if reason == OTHER_TYPE:
        return "type of the replacement"
    return reason.partition(": no")[0]


@lru_cache(maxsize=64)
def rule_set(rules: tuple[Rule, ...]) -> RuleSet:
    """The rule set of these rules, compiled once per process."""
    return RuleSet(rules)
