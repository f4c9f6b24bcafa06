"""Which flags and barriers a function needs: dependence analysis over structured loops.

A block is a list of units (instructions, and loops seen as one). Going through it in program order, every pipe keeps
what it knows of the others: up to which unit they are done. A dependence that a pipe does not know to be satisfied
costs a flag, set right after its source and waited for right before its target; joining the source's knowledge drops
what follows from it. Dependences that a loop carries from one iteration to a later one cost a flag raised once before
the outermost loop, waited for and set again in each iteration, and taken back at the end; a tile with n slots takes n
ids in turn. Inside one pipe a barrier does.

A flag is a binary semaphore, so its next set must come after its last wait. For a flag in a loop that follows from
some flag the other way; the number of ids it needs is the distance of that one, and where there is none, one is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from gedialect.binary.isa import BY_NAME, Pipe, needs_barrier
from gedialect.binary.kernel import FIRST_LOOP, Linear
from gedialect.dialects.npu import AllocOp, ForOp, FunctionOp, InstrOp, KernelOp, ViewOp
from gedialect.errors import GeError

from .access import Access, Bounds, LoopInfo, access_of, carried, loop_info, same_iteration
from .views import ViewTable

_PIPES = len(Pipe)
THROTTLE = 2
"""Iterations a flag without a natural way back may run ahead."""

ONCE = 1 << 32
"""A loop of at least this step is a test: its body runs once or not at all."""

_SYNC = {"set_flag", "wait_flag", "pipe_barrier"}
_OPERANDS = {i.name: i.operands for i in BY_NAME.values()}


# Places in a block, in program order: each unit has room before and after it for several kinds of op.
def preset_place(unit: int) -> int:
    return unit * 8


def wait_place(unit: int) -> int:
    """Before ``unit``."""
    return unit * 8 + 1


def barrier_place(unit: int) -> int:
    return unit * 8 + 2


def early_set_place(unit: int) -> int:
    """After ``unit``, before the waits there."""
    return unit * 8 + 4


def late_wait_place(unit: int) -> int:
    """After ``unit``."""
    return unit * 8 + 5


def set_place(unit: int) -> int:
    """After ``unit`` and the waits there."""
    return unit * 8 + 6


@dataclass(eq=False)
class Flag:
    """A flag from pipe ``src`` to ``dst`` in one block; ``slots`` ids in turn. ``carried``: its wait belongs to the
    set of an earlier iteration. ``back`` is the carried flag by which a later set is known to follow the wait, if that
    takes one."""

    src: Pipe
    dst: Pipe
    set_at: int
    wait_at: int
    carried: bool = False
    slots: int = 1
    id: int = -1
    back: Flag | None = None

    @property
    def pair(self) -> tuple[Pipe, Pipe]:
        return self.src, self.dst


@dataclass(eq=False)
class Unit:
    """An instruction or a loop, with all it touches."""

    op: InstrOp | ForOp
    accesses: list[Access]
    pipes: tuple[Pipe, ...]
    inner: Plan | None = None


@dataclass(eq=False)
class Plan:
    """Units of a block and the synchronisation to insert in it. ``loop`` is None for a function's body."""

    bounds: Bounds
    loop: LoopInfo | None
    units: list[Unit] = field(default_factory=list[Unit])
    flags: list[Flag] = field(default_factory=list[Flag])
    barriers: set[tuple[int, Pipe]] = field(default_factory=set[tuple[int, Pipe]])
    """(place, pipe)"""
    known: list[dict[Pipe, tuple[int, ...]]] = field(default_factory=list[dict[Pipe, tuple[int, ...]]])
    """What each unit's pipes knew of the others when it ran."""
    alone: bool = False
    """Its flags are numbered without regard to others: barriers stand around it."""

    def plans(self) -> Iterator[Plan]:
        """This plan and those of all loops inside."""
        yield self
        for unit in self.units:
            if unit.inner is not None:
                yield from unit.inner.plans()


def plan_function(function: FunctionOp, kernel: KernelOp) -> Plan:
    """The plan of a function whose tiles have addresses; GE1404 if they have not, GE1403 if it has flags already."""
    bounds: dict[int, tuple[int, int]] = {0: (0, kernel.blocks.value.data - 1), 1: (0, 1)}
    plan = _Builder(function, kernel).plan(function.body.block, 0, bounds, None)
    for p in plan.plans():
        _forward(p)
        if p.loop is not None and p.loop.repeats:
            _backward(p)
            respect_semaphores(p)
    return plan


# ------------------------------------------------------------------------------------------------ units


class _Builder:
    def __init__(self, function: FunctionOp, kernel: KernelOp):
        self.kernel = kernel
        self.table = ViewTable(function, kernel)
        self.keys = _regions(function)
        self._cache: dict[tuple[object, ...], Access] = {}

    def plan(self, block: Block, depth: int, bounds: dict[int, tuple[int, int]], loop: LoopInfo | None) -> Plan:
        plan = Plan(bounds, loop)
        table = self.table
        for op in block.ops:
            if isinstance(op, InstrOp):
                plan.units.append(self.instruction(op))
            elif isinstance(op, ViewOp):
                table.add_view(op, depth)
            elif isinstance(op, AllocOp):
                table.add_alloc(op, depth)
            elif isinstance(op, ForOp):
                lo, hi = table.enter_loop(op, depth)
                plan.units.append(self.loop(op, lo, hi, depth, bounds, loop))
        return plan

    def loop(
        self, op: ForOp, lo: Linear, hi: Linear, depth: int, bounds: dict[int, tuple[int, int]], outer: LoopInfo | None
    ) -> Unit:
        var = FIRST_LOOP + depth
        info, span = loop_info(var, lo, hi, op.bounds[2], bounds)
        if info.trips > 1 and _for_one_value(op):
            info = replace(info, trips=1)
        if outer is not None and outer.repeats:
            info = replace(info, again=True)
        inner = self.plan(op.regions[0].block, depth + 1, {**bounds, var: span}, info)
        folded = dict.fromkeys(a.fold(var, span, info.step) for u in inner.units for a in u.accesses)
        pipes = dict.fromkeys(p for u in inner.units for p in u.pipes)
        return Unit(op, list(folded), tuple(pipes), inner)

    def instruction(self, op: InstrOp) -> Unit:
        instr = op.INSTR
        if instr.name in _SYNC:
            raise GeError(
                f"{op.name} is there already", code="GE1403", where=f"kernel {self.kernel.sym_name.data}",
                hint="npu-insert-sync writes all flags and barriers itself",
            )  # fmt: skip
        if instr.pipe is Pipe.S:
            return Unit(op, [], (Pipe[str(op.value("pipe"))],))
        accesses: list[Access] = []
        for operand, value in zip(_OPERANDS[instr.name], op._operands, strict=False):  # pyright: ignore[reportPrivateUsage]
            if operand.reads:
                accesses.append(self.access(value, instr.pipe, instr.name, False))
            if operand.writes:
                accesses.append(self.access(value, instr.pipe, instr.name, True))
        return Unit(op, accesses, (instr.pipe,))

    def access(self, value: SSAValue, pipe: Pipe, instr: str, write: bool) -> Access:
        kept = instr if pipe is Pipe.M else ""  # only the cube's accumulator asks for the name
        cache_key = (value, pipe, kept, write)
        found = self._cache.get(cache_key)
        if found is None:
            view, root = self.table.views[value], self.table.roots[value]
            found = access_of(view, root, pipe, kept, write, self.keys.get(root))
            self._cache[cache_key] = found
        return found


def _for_one_value(op: ForOp) -> bool:
    """Whether the body of ``op`` does nothing but at one value of its variable: it is all between two tests
    low <= e < high, and e changes by high - low or more from one iteration to the next."""
    first, second = _only_loop(op), None
    if first is not None:
        second = _only_loop(first)
    if first is None or second is None:
        return False
    (low, value, _), (other, high, _) = first.bounds, second.bounds
    if any(low.coefs) or any(high.coefs) or min(first.bounds[2], second.bounds[2]) < ONCE:
        return False
    terms = dict(zip(first.operands, value.coefs, strict=True))
    if value.const != other.const or terms != dict(zip(second.operands, other.coefs, strict=True)):
        return False
    return abs(terms.get(op.regions[0].block.args[0], 0)) * op.bounds[2] >= high.const - low.const - 1


def _only_loop(op: ForOp) -> ForOp | None:
    block = op.regions[0].block
    first = block.first_op
    return first if isinstance(first, ForOp) and first is block.last_op else None


def _regions(function: FunctionOp) -> dict[SSAValue, str]:
    """A name per group of tiles that share bytes, by alloc: only tiles of one group can depend on each other."""
    spaces: dict[str, list[tuple[int, int, AllocOp]]] = {}
    for op in function.walk():
        if isinstance(op, AllocOp) and (lo := op.number("addr")) is not None:
            slot = op.number("slot")
            size = op.type.nbytes if slot is None else slot * op.count
            spaces.setdefault(op.type.space, []).append((lo, lo + size, op))
    keys: dict[SSAValue, str] = {}
    for space, tiles in spaces.items():
        end, number = -1, 0
        for lo, hi, op in sorted(tiles, key=lambda t: t[:2]):
            if lo >= end:
                number += 1
            keys[op.results[0]] = f"{space}{number}"
            end = max(end, hi)
    return keys


# ------------------------------------------------------------------------------------------------ dependences


Kind: TypeAlias = "tuple[Pipe, str, bool, SSAValue, int]"
"""Accesses of one kind depend on others alike: pipe, instruction, whether they write, the tile, its slots in turn."""


def _kind(a: Access, loop: LoopInfo | None) -> Kind:
    turns = a.rotation is not None and loop is not None and FIRST_LOOP + a.rotation.depth == loop.var
    return a.pipe, a.instr, a.write, a.root, a.rotation.slots if turns and a.rotation is not None else 1


def depend(j: Access, i: Access) -> bool:
    """Whether order matters, should the two meet."""
    if not (j.write or i.write):
        return False
    return j.pipe is not i.pipe or needs_barrier(i.pipe, i.instr)


def _forward(plan: Plan) -> None:
    """Dependences from earlier to later units. Of each kind of access the last that meets is what matters, so those
    of a kind are kept in order, and the search goes backwards."""
    know = {p: [-1] * _PIPES for p in Pipe}
    entries: dict[str | int, dict[Kind, dict[Access, int]]] = {}
    bounds, loop = plan.bounds, plan.loop
    for pos, unit in enumerate(plan.units):
        latest: dict[tuple[Pipe, Pipe], int] = {}
        for i in unit.accesses:
            for kind, earlier in entries.get(i.key, {}).items():
                if not depend(next(iter(earlier)), i):
                    continue
                pair = (kind[0], i.pipe)
                for j, at in reversed(earlier.items()):
                    if at <= know[i.pipe][j.pipe] or at <= latest.get(pair, -1):
                        break
                    moves = loop is not None and (j.terms or i.terms)
                    if same_iteration(j, i, bounds) or (moves and loop is not None and carried(j, i, loop, bounds)):
                        latest[pair] = at
                        break
        for (src, dst), at in sorted(latest.items(), key=lambda d: (d[0][0] is d[0][1], -d[1], d[0])):
            mine = know[dst]
            if at <= mine[src]:
                continue
            if src is dst:
                plan.barriers.add((barrier_place(pos), dst))
                mine[dst] = pos - 1
                continue
            plan.flags.append(Flag(src, dst, set_place(at), wait_place(pos)))
            for p, seen in enumerate(plan.known[at][src]):
                mine[p] = max(mine[p], seen)
            mine[src] = at
        plan.known.append({p: tuple(know[p]) for p in unit.pipes})
        for i in unit.accesses:
            of_kind = entries.setdefault(i.key, {}).setdefault(_kind(i, None), {})
            of_kind.pop(i, None)
            of_kind[i] = pos


def _backward(plan: Plan) -> None:
    """Dependences that the plan's loop carries to a later iteration. Of two kinds of access the last that is met and
    the first that meets are what matters."""
    loop = plan.loop
    assert loop is not None
    spans: dict[str | int, dict[Kind, dict[Access, tuple[int, int]]]] = {}
    for pos, unit in enumerate(plan.units):
        for a in unit.accesses:
            of_kind = spans.setdefault(a.key, {}).setdefault(_kind(a, loop), {})
            of_kind[a] = (of_kind[a][0] if a in of_kind else pos, pos)
    found: dict[tuple[Pipe, Pipe, int, str | int], tuple[int, int]] = {}
    for key, kinds in spans.items():
        firsts = {k: sorted(((f, a) for a, (f, _) in of.items()), key=lambda e: e[0]) for k, of in kinds.items()}
        lasts = {k: sorted(((n, a) for a, (_, n) in of.items()), key=lambda e: -e[0]) for k, of in kinds.items()}
        for j_kind, js in lasts.items():
            for i_kind, its in firsts.items():
                if not depend(js[0][1], its[0][1]):
                    continue
                slots = j_kind[4] if j_kind[3] is i_kind[3] else 1
                case = (j_kind[0], i_kind[0], slots, key)
                met = _meeting(plan, js, its, found.get(case))
                if met is not None:
                    found[case] = met
    cross = [(c, at) for c, at in found.items() if c[0] is not c[1]]
    for (src, dst, slots, _), (last, first) in sorted(
        cross, key=lambda f: (f[0][2], f[1][1], -f[1][0], f[0][0], f[0][1])
    ):
        if not _ordered(plan, src, dst, last, first, slots):
            plan.flags.append(Flag(src, dst, set_place(last), wait_place(first), True, slots))
    for (pipe, other, slots, _), (last, first) in found.items():
        if pipe is not other or _ordered(plan, pipe, pipe, last, first, slots):
            continue
        places = [at for at, p in plan.barriers if p is pipe]
        apart = slots > 1 and not loop.again
        if any(at > set_place(last) or at <= barrier_place(first) or apart for at in places):
            continue
        plan.barriers.add((barrier_place(first), pipe))


def _meeting(
    plan: Plan, js: Sequence[tuple[int, Access]], its: Sequence[tuple[int, Access]], known: tuple[int, int] | None
) -> tuple[int, int] | None:
    """The last unit of ``js`` (latest first) that a later iteration meets, and the first of ``its`` (in order) that
    meets an earlier one; together with those ``known``. What could change neither is not looked at."""
    loop = plan.loop
    assert loop is not None
    for last, j in js:
        for first, i in its:
            if first > last or (known is not None and last <= known[0] and first >= known[1]):
                break  # in order within the iteration, so also across
            if last == first and plan.units[last].inner is not None and _settled(j, i, loop):
                continue  # the inner loop's own flags outlive it
            if carried(j, i, loop, plan.bounds):
                known = (last, first) if known is None else (max(known[0], last), min(known[1], first))
                break
    return known


def _settled(j: Access, i: Access, loop: LoopInfo) -> bool:
    """Whether accesses inside one inner loop, if they meet across ``loop``, also met across the inner loop."""
    return j.plain and i.plain and all(var != loop.var for var, _ in j.terms + i.terms)


def reach(plan: Plan, pipe: Pipe, place: int, over: Collection[Flag]) -> dict[tuple[Pipe, bool], int]:
    """Where, following flags, what happens on ``pipe`` at ``place`` is known to have happened: for each pipe the first
    place in the same iteration (False), and in a later one (True) by way of one carried flag, one of ``over``."""
    first = {(pipe, False): place}
    todo = [(pipe, False)]
    while todo:
        at = todo.pop()
        for f in plan.flags:
            if f.src is not at[0] or f.set_at < first[at] or (f.carried and (at[1] or f not in over)):
                continue
            to = (f.dst, at[1] or f.carried)
            if f.wait_at < first.get(to, f.wait_at + 1):
                first[to] = f.wait_at
                todo.append(to)
    return first


def _ordered(plan: Plan, src: Pipe, dst: Pipe, last: int, first: int, slots: int) -> bool:
    """Whether flags already order unit ``last`` on ``src`` before unit ``first`` on ``dst``, ``slots`` iterations
    later."""
    end = wait_place(first)
    over = [c for c in plan.flags if c.carried and c.slots in (1, slots)]
    return reach(plan, src, set_place(last), over).get((dst, True), end + 1) <= end


# ------------------------------------------------------------------------------------------------ semaphores


def respect_semaphores(plan: Plan) -> None:
    """Give each flag of a loop enough ids, and a way back if it has none: every set follows the last wait."""
    for c in [f for f in plan.flags if f.carried]:
        if not _answered(plan, c):
            unit_waiting, unit_setting = c.wait_at // 8, c.set_at // 8
            plan.flags.append(Flag(c.dst, c.src, early_set_place(unit_waiting), late_wait_place(unit_setting)))
    for f in [f for f in plan.flags if not f.carried]:
        if (f.src, False) in reach(plan, f.dst, f.wait_at, ()):
            f.slots, f.back = 1, None  # answered within the iteration
            continue
        f.back = _way_back(plan, f)
        if f.back is None:
            f.back = Flag(f.dst, f.src, set_place(f.wait_at // 8), wait_place(f.set_at // 8), True, THROTTLE)
            plan.flags.append(f.back)
        f.slots = f.back.slots


def _answered(plan: Plan, c: Flag) -> bool:
    """Whether, in one iteration, the wait of carried flag ``c`` comes before its set."""
    return reach(plan, c.dst, c.wait_at, ()).get((c.src, False), c.set_at) < c.set_at


def _way_back(plan: Plan, f: Flag) -> Flag | None:
    """The carried flag of fewest slots n by which the wait of ``f`` comes before its set n iterations later."""
    for c in sorted((c for c in plan.flags if c.carried), key=lambda c: c.slots):
        if reach(plan, f.dst, f.wait_at, (c,)).get((f.src, True), f.set_at) < f.set_at:
            return c
    return None
