"""Numbers for flags: which of the ids of a pair of pipes each uses, and what gives way when they run out."""

from __future__ import annotations

from gedialect.binary.isa import FLAG_IDS, Pipe

from .access import Access
from .sync import Flag, Plan, barrier_place, depend, reach, respect_semaphores, set_place


def number_flags(plan: Plan) -> None:
    """Ids for all flags of a function; barriers where they run out."""
    order = sorted(plan.flags, key=lambda f: f.set_at)
    after: dict[int, list[Flag]] = {}
    for f in order:
        after.setdefault(f.set_at // 8, []).append(f)
    used: dict[tuple[Pipe, Pipe], int] = {}
    retired: dict[tuple[Pipe, Pipe], list[Flag]] = {}
    dropped: set[Flag] = set()

    def fresh_start(unit: int) -> None:
        """Barrier over all pipes before ``unit``: every id is free, flags across it are not needed."""
        plan.barriers.add((barrier_place(unit), Pipe.ALL))
        used.clear()
        retired.clear()
        dropped.update(f for f in order if f.set_at // 8 < unit <= f.wait_at // 8)

    for pos, unit in enumerate(plan.units):
        if unit.inner is not None and _too_many_for_once(unit.inner):
            fresh_start(pos)
            unit.inner.alone = True
            number_flags(unit.inner)
            if pos + 1 < len(plan.units):
                fresh_start(pos + 1)
        elif unit.inner is not None:
            groups = _fit(unit.inner)
            if any(used.get(pair, 0) + n > FLAG_IDS for pair, n in _needed(groups).items()):
                fresh_start(pos)
            for group in groups:
                pair, slots = group[0].pair, group[0].slots
                for f in group:
                    f.id = used.get(pair, 0)
                used[pair] = used.get(pair, 0) + slots
        for f in after.get(pos, ()):
            if f in dropped:
                continue
            known = plan.known[pos][f.src][f.dst]
            free = next((r for r in retired.get(f.pair, ()) if r.wait_at // 8 <= known), None)
            if free is not None:
                retired[f.pair].remove(free)
                f.id = free.id
            else:
                if used.get(f.pair, 0) >= FLAG_IDS:
                    fresh_start(pos + 1)  # before its wait, so it needs no flag
                    continue
                f.id = used.get(f.pair, 0)
                used[f.pair] = f.id + 1
            retired.setdefault(f.pair, []).append(f)
    plan.flags = [f for f in plan.flags if f not in dropped]


def _too_many_for_once(plan: Plan) -> bool:
    """Whether a loop that runs once needs more ids than there are: then it gets them all, between two barriers."""
    if plan.loop is None or plan.loop.repeats:
        return False
    return any(n > FLAG_IDS for n in _needed(_share(plan)).values())


def _needed(groups: list[list[Flag]]) -> dict[tuple[Pipe, Pipe], int]:
    needed: dict[tuple[Pipe, Pipe], int] = {}
    for group in groups:
        needed[group[0].pair] = needed.get(group[0].pair, 0) + group[0].slots
    return needed


def _fit(plan: Plan) -> list[list[Flag]]:
    """Flags of a loop nest in groups that share their ids, brought down to the ids there are: first each flag on its
    own, then sharing, then widening (one flag for several), then one id instead of several, then barriers over all
    pipes instead of flags."""
    groups = [[f] for p in plan.plans() for f in p.flags]
    for reduce in (None, _widen, _single, _barriers_only):
        if all(n <= FLAG_IDS for n in _needed(groups).values()):
            break
        if reduce is not None:
            for p in plan.plans():
                reduce(p)
        groups = _share(plan)
    return groups


def _share(plan: Plan) -> list[list[Flag]]:
    """Flags that can use the same ids: of sibling loops, and one after the other in one loop.

    Carried flags may, if no one's wait comes between another's wait and set: each leaves the flag raised, as it found
    it, and no more happens than that a loop waits for the one before it. Others may, if what brings each one's wait
    before its next set is a carried flag that the others share too, or happens within the iteration. Within a loop's
    body a flag follows others if its set is known to come after the last one's wait, and its own wait before the next
    iteration's first set.
    """
    groups: list[list[Flag]] = []
    spans: dict[Flag, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {}
    group_of: dict[Flag, int] = {}
    flags: list[Flag] = []
    once: set[Flag] = set()
    plan_of: dict[Flag, Plan] = {}

    def visit(p: Plan, path: tuple[int, ...]) -> None:
        for f in p.flags:
            spans[f] = (path, (*path, min(f.set_at, f.wait_at)), (*path, max(f.set_at, f.wait_at)))
            flags.append(f)
            plan_of[f] = p
            if p.loop is None or not p.loop.repeats:
                once.add(f)  # nothing was worked out about a next set
        for n, unit in enumerate(p.units):
            if unit.inner is not None:
                visit(unit.inner, (*path, n * 8 + 3))

    visit(plan, ())

    def apart(f: Flag, g: Flag) -> bool:
        (path, start, end), (other, begin, stop) = spans[f], spans[g]
        shorter = min(len(path), len(other))
        return path[:shorter] != other[:shorter] and (end < begin or stop < start)

    def alike(f: Flag, g: Flag) -> bool:
        if f in once or g in once:
            return False
        if f.back is None or g.back is None:
            return f.back is g.back
        return group_of[f.back] == group_of[g.back]

    def follows(f: Flag, group: list[Flag]) -> bool:
        if f.carried or f in once or f.slots != 1 or any(plan_of[g] is not plan_of[f] for g in group):
            return False
        p, first, last = plan_of[f], group[0], group[-1]
        if reach(p, last.dst, last.wait_at, ()).get((f.src, False), f.set_at) >= f.set_at:
            return False
        if f.back is None:
            return True
        again = reach(p, f.dst, f.wait_at, (f.back,)).get((f.src, True), first.set_at)
        return f.back.slots == 1 and again < first.set_at

    for f in sorted(flags, key=lambda f: not f.carried):
        for n, group in enumerate(groups):
            first = group[0]
            if first.pair != f.pair or first.carried != f.carried or first.slots != f.slots:
                continue
            beside = all(apart(f, g) for g in group) and (f.carried or all(alike(f, g) for g in group))
            if beside or follows(f, group):
                group.append(f)
                group_of[f] = n
                break
        else:
            group_of[f] = len(groups)
            groups.append([f])
    return groups


def _widen(plan: Plan) -> None:
    """Join flags of the same pipes where one set and one wait can do for several."""
    joined: list[Flag] = []
    for f in sorted(plan.flags, key=lambda f: (f.carried, f.set_at)):
        for g in joined:
            if g.pair != f.pair or g.carried != f.carried:
                continue
            set_at, wait_at = max(f.set_at, g.set_at), min(f.wait_at, g.wait_at)
            if f.carried or set_at < wait_at:
                g.set_at, g.wait_at = set_at, wait_at
                g.slots = min(f.slots, g.slots) if f.carried else max(f.slots, g.slots)
                break
        else:
            joined.append(f)
    plan.flags = joined
    if plan.loop is not None and plan.loop.repeats:
        respect_semaphores(plan)


def _single(plan: Plan) -> None:
    """One id per flag."""
    for f in plan.flags:
        if f.carried:
            f.slots = 1
    if plan.loop is not None and plan.loop.repeats:
        respect_semaphores(plan)
        for f in plan.flags:
            f.slots = 1 if f.carried else f.slots


def _barriers_only(plan: Plan) -> None:
    """No flags: a barrier over all pipes before each unit that needs one, and at the end of each iteration."""
    plan.flags = []
    plan.barriers = set()
    open_: dict[str | int, list[Access]] = {}
    for pos, unit in enumerate(plan.units):
        if any(depend(j, i) for i in unit.accesses for j in open_.get(i.key, ())) or unit.inner is not None:
            plan.barriers.add((barrier_place(pos), Pipe.ALL))
            open_.clear()
        if unit.inner is None:
            for a in unit.accesses:
                open_.setdefault(a.key, []).append(a)
    if plan.loop is not None and plan.units:
        plan.barriers.add((set_place(len(plan.units) - 1), Pipe.ALL))
