"""The time of a kernel by discrete events: in-order pipes, flags, barriers and cross-core flags; no data.

The scalar pipe issues in program order and every other pipe is an in-order queue, so one pass over the program in
that order gives the time of every event. States between iterations are relative to the scalar pipe's clock and
whole cycles: a state seen before means that what follows repeats, and the loop is taken forward exactly.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from math import ceil, lcm

from ...binary.isa import Pipe
from ...binary.kernel import BLOCK_IDX, FIRST_LOOP, SUB_BLOCK_IDX, Function, Inst, Kernel, Linear, Loop
from ...errors import GeError
from ...targets import Target
from .costs import Work, cost
from .traffic import ArgTraffic, arg_traffic, bound_variables, functions, signatures

PIPES = len(Pipe) - 1
Listener = Callable[[int, Inst, int, int], None]
"""Told (core, instruction, start, end) of work; cores are numbered as in `functions`."""


@dataclass(frozen=True)
class KernelTime:
    """One launch without its launch cost and without the chip's shared limits. Times in cycles of a core."""

    cycles: int
    """From the start of the first block to the end of the last."""
    slowest: int
    """Of the slowest block alone."""
    cores: int
    """Cube or vector cores (of a mix: cube cores) in use."""
    busy: tuple[int, ...]
    """Cycles at work per pipe, all blocks (of a mix: both vector cores) together."""
    traffic: dict[int, ArgTraffic] = field(default_factory=dict[int, ArgTraffic])
    """Per argument number."""

    @property
    def gm_bytes(self) -> int:
        """Moved between global memory and the chip."""
        return sum(a.moved for a in self.traffic.values())

    def utilisation(self, pipe: Pipe) -> float:
        """Share of the time that a pipe was at work, the mean over the cores in use."""
        return self.busy[pipe] / (self.cycles * self.cores) if self.cycles else 0.0


def kernel_time(kernel: Kernel, target: Target) -> KernelTime:
    """Time all blocks of ``kernel``; blocks whose loops run equally often are timed once.

    Raises GeError GE1315 for a wait that nothing answers (see the sanitizer for what is wrong with such a kernel).
    """
    programs = [(_compile(function, target), subs) for function, subs in functions(kernel)]
    known: dict[bytes, tuple[int, list[int]]] = {}
    times: list[int] = []
    busy = [0] * PIPES
    for bid, key in enumerate(signatures(kernel)):
        if key not in known:
            known[key] = _block(kernel, programs, bid, target, None)
        cycles, work = known[key]
        times.append(cycles)
        for p in range(PIPES):
            busy[p] += work[p]
    available = target.cores.vector if kernel.kind == "vector" else target.cores.cube
    return KernelTime(
        cycles=_makespan(times, available, target.launch.block_dispatch),
        slowest=max(times, default=0),
        cores=min(available, kernel.blocks),
        busy=tuple(busy),
        traffic=arg_traffic(kernel),
    )


def block_events(kernel: Kernel, target: Target, bid: int = 0) -> list[tuple[int, Inst, int, int]]:
    """(core, instruction, start, end) of all work of one block, in cycles from its start: every iteration is gone
    through, so this is for small kernels."""
    events: list[tuple[int, Inst, int, int]] = []
    programs = [(_compile(function, target), subs) for function, subs in functions(kernel)]
    _block(kernel, programs, bid, target, lambda core, inst, start, end: events.append((core, inst, start, end)))
    return events


def _makespan(times: list[int], cores: int, dispatch: int) -> int:
    """End of the last block when each goes to the core that is free first; later waves cost a dispatch."""
    if len(times) <= cores:
        return max(times, default=0)
    free = times[:cores]
    heapq.heapify(free)
    for t in times[cores:]:
        heapq.heapreplace(free, free[0] + dispatch + t)
    return max(free)


# ------------------------------------------------------------------ programs


@dataclass(frozen=True)
class _Do:
    work: Work
    inst: Inst


@dataclass(frozen=True)
class _Set:
    src: int
    dst: int
    id: int
    slots: int


@dataclass(frozen=True)
class _Wait:
    src: int
    dst: int
    id: int
    slots: int


@dataclass(frozen=True)
class _Barrier:
    pipe: int


@dataclass(frozen=True)
class _Cross:
    pipe: int
    flag: int
    slots: int
    sets: bool


@dataclass(frozen=True)
class _Loop:
    number: int
    depth: int
    lo: Linear
    hi: Linear
    step: int
    body: tuple[_Item, ...]
    period: int
    """Iterations after which the flag ids repeat."""
    steady: bool
    """Inner loops run equally often in every iteration."""
    outer: tuple[int, ...]
    """Variables of outer loops that bounds inside name."""
    crosses: bool
    """Waits for or signals other cores."""


_Item = _Do | _Set | _Wait | _Barrier | _Cross | _Loop


def _compile(function: Function, target: Target) -> tuple[_Item, ...]:
    numbers = iter(range(1 << 62))

    def body(items: tuple[Inst | Loop, ...], depth: int) -> tuple[_Item, ...]:
        out: list[_Item] = []
        for item in items:
            if isinstance(item, Loop):
                inner = body(item.body, depth + 1)
                bounds = bound_variables(item.body)
                out.append(
                    _Loop(
                        next(numbers),
                        depth,
                        item.lo,
                        item.hi,
                        item.step,
                        inner,
                        lcm(*(i.slots for i in inner if isinstance(i, _Set | _Wait)), 1),
                        FIRST_LOOP + depth not in bounds,
                        tuple(sorted(v for v in bounds if v < FIRST_LOOP + depth)),
                        any(isinstance(i, _Cross) or (isinstance(i, _Loop) and i.crosses) for i in inner),
                    )
                )
                continue
            found = _instruction(item, target)
            if found is not None:
                out.append(found)
        return tuple(out)

    return body(function.body, 0)


def _instruction(inst: Inst, target: Target) -> _Item | None:
    attrs: dict[str, object] = {s.name: v for s, v in zip(inst.op.attrs, inst.attrs, strict=True)}

    def number(name: str) -> int:
        value = attrs[name]
        assert isinstance(value, int)
        return value

    def pipe(name: str) -> int:
        return int(Pipe[str(attrs[name])])

    match inst.op.name:
        case "set_flag":
            return _Set(pipe("src"), pipe("dst"), number("id"), number("slots"))
        case "wait_flag":
            return _Wait(pipe("src"), pipe("dst"), number("id"), number("slots"))
        case "pipe_barrier":
            return _Barrier(pipe("pipe"))
        case "cross_core_set" | "cross_core_wait":
            return _Cross(pipe("pipe"), number("flag"), number("slots"), inst.op.name == "cross_core_set")
        case _:
            work = cost(inst, target)
            return None if work is None else _Do(work, inst)


# ------------------------------------------------------------------ execution


class _CrossFlags:
    """When each signal arrives, by (to the cube, sub-block, flag)."""

    def __init__(self) -> None:
        self.arrived: dict[tuple[bool, int, int], deque[int]] = {}

    def queue(self, to_cube: bool, sub: int, flag: int) -> deque[int]:
        return self.arrived.setdefault((to_cube, sub, flag), deque())


def _block(
    kernel: Kernel,
    programs: list[tuple[tuple[_Item, ...], tuple[int, ...]]],
    bid: int,
    target: Target,
    listener: Listener | None,
) -> tuple[int, list[int]]:
    """Cycles of one block and its work per pipe."""
    cross = _CrossFlags()
    cores: list[_Core] = []
    running: list[Generator[int]] = []
    for n, (program, subs) in enumerate(programs):
        for sub in subs:
            is_cube = kernel.cube is not None and n == 0
            core = _Core(len(cores), -1 if is_cube else sub, target, cross, listener)
            cores.append(core)
            values = {BLOCK_IDX: bid, SUB_BLOCK_IDX: sub}
            running.append(core.cross_body(program, values, 0))
    while running:
        moved = False
        for generator in list(running):
            for progress in generator:
                if not progress:
                    break
                moved = True
            else:
                running.remove(generator)
                moved = True
        if not moved:
            raise GeError(
                f"deadlock in block {bid}: nothing sets the cross-core flags waited for",
                code="GE1315",
                where=f"kernel {kernel.name}",
            )
    busy = [sum(c.busy[p] for c in cores) for p in range(PIPES)]
    return max((c.end() for c in cores), default=0), busy


_Times = tuple[int, ...]
_State = tuple[_Times, _Times, _Times, tuple[_Times, ...], tuple[tuple[tuple[int, int, int], int], ...]]
"""`_Core.free`, last, done, queues and flags, relative to the clock."""


class _Core:
    """The clocks of one core."""

    def __init__(self, number: int, who: int, target: Target, cross: _CrossFlags, listener: Listener | None):
        sync = target.sync
        self.number = number
        self.who = who
        self.cross = cross
        self.listener = listener
        self.issue, self.set_cost, self.wait_cost = sync.scalar_issue, sync.set_flag, sync.wait_flag
        self.barrier_cost, self.cross_cost, self.depth = sync.barrier, sync.cross_core, target.cube.queue
        self.clock = 0
        """When the scalar pipe is through with what it issued."""
        self.free = [0] * PIPES
        """When a pipe can start its next instruction."""
        self.last = [-1] * PIPES
        """Up to when a pipe counts as at work, for start-up costs."""
        self.done = [0] * PIPES
        """When the results of a pipe's work are there."""
        self.queues: list[deque[int]] = [deque() for _ in range(PIPES)]
        """Starts of instructions that may still stand in a pipe's queue."""
        self.flags: dict[tuple[int, int, int], int] = {}
        self.busy = [0] * PIPES
        self.memo: dict[tuple[object, ...], tuple[int, tuple[int, ...], _State]] = {}

    def end(self) -> int:
        return max(self.clock, *self.done, *self.free)

    # state

    def state(self) -> _State:
        """All clocks relative to the scalar pipe's; what lies behind it makes no difference."""
        t = self.clock
        return (
            tuple([x - t if x > t else 0 for x in self.free]),
            tuple([x - t if x >= t else -1 for x in self.last]),
            tuple([x - t if x > t else 0 for x in self.done]),
            tuple([tuple([x - t for x in q if x > t]) for q in self.queues]),
            tuple(sorted([(k, x - t if x > t else 0) for k, x in self.flags.items()])),
        )

    def restore(self, state: _State) -> None:
        t = self.clock
        free, last, done, queues, flags = state
        self.free = [x + t for x in free]
        self.last = [x + t for x in last]
        self.done = [x + t for x in done]
        self.queues = [deque([x + t for x in q]) for q in queues]
        self.flags = {k: x + t for k, x in flags}

    # programs

    def cross_body(self, body: tuple[_Item, ...], values: dict[int, int], number: int) -> Generator[int]:
        """Run ``body`` (iteration ``number`` of its loop); yields 1 when it gave or took a signal,
        0 while one of another core is missing."""
        for item in body:
            if isinstance(item, _Cross):
                flag = item.flag + number % item.slots
                if item.sets:
                    self.signal(item, flag)
                    yield 1
                else:
                    while not self.signalled(item, flag):
                        yield 0
                    yield 1
            elif isinstance(item, _Loop) and item.crosses:
                for n, v in enumerate(range(_value(item.lo, values), _value(item.hi, values), item.step)):
                    values[FIRST_LOOP + item.depth] = v
                    yield from self.cross_body(item.body, values, n)
            else:
                self.body((item,), values, number)

    def body(self, body: tuple[_Item, ...], values: dict[int, int], number: int) -> None:
        for item in body:
            if isinstance(item, _Do):
                self.do(item)
            elif isinstance(item, _Set):
                self.clock += self.issue
                done, src = self.done[item.src], item.src
                at = (done if done > self.clock else self.clock) + self.set_cost
                self.flags[src, item.dst, item.id + number % item.slots] = at
            elif isinstance(item, _Wait):
                self.wait(item, number)
            elif isinstance(item, _Loop):
                self.loop(item, values)
            elif isinstance(item, _Barrier):
                self.barrier(item)

    def do(self, item: _Do) -> None:
        work = item.work
        pipe = work.pipe
        self.clock += work.issue
        queue = self.queues[pipe]
        while queue and queue[0] <= self.clock:
            queue.popleft()
        if len(queue) >= self.depth:
            self.clock = queue.popleft()
        start = self.free[pipe]
        start = self.clock if self.clock > start else start
        queue.append(start)
        end = start + work.busy
        if start > self.last[pipe]:
            end += work.head
        self.free[pipe] = self.last[pipe] = end
        if end + work.after > self.done[pipe]:
            self.done[pipe] = end + work.after
        self.busy[pipe] += end - start
        self.busy[0] += work.issue
        if self.listener is not None:
            self.listener(self.number, item.inst, start, end)

    def wait(self, item: _Wait, number: int) -> None:
        self.clock += self.issue
        at = self.flags.pop((item.src, item.dst, item.id + number % item.slots), None)
        if at is None:
            pair = f"{Pipe(item.src).name}->{Pipe(item.dst).name} {item.id + number % item.slots}"
            raise GeError(f"flag {pair} is waited for but never set", code="GE1315")
        self.pause(item.dst, at, self.wait_cost)

    def pause(self, pipe: int, at: int, cycles: int) -> None:
        """Hold ``pipe`` until ``at``; a pipe that did not have to wait stays warm."""
        free = self.free[pipe]
        warm = at <= free and self.clock <= free and self.last[pipe] >= free
        free = max(free, at, self.clock) + cycles
        self.free[pipe] = free
        if warm:
            self.last[pipe] = free

    def barrier(self, item: _Barrier) -> None:
        self.clock += self.issue
        if item.pipe != Pipe.ALL:
            self.pause(item.pipe, self.done[item.pipe], self.barrier_cost)
            return
        at = max(self.clock, *self.done, *self.free)
        self.clock = at + self.barrier_cost
        for p in range(PIPES):
            self.free[p] = max(self.free[p], self.clock)

    def signal(self, item: _Cross, flag: int) -> None:
        self.clock += self.issue
        at = max(self.clock, self.done[item.pipe]) + self.cross_cost
        if self.who < 0:
            for sub in (0, 1):
                self.cross.queue(False, sub, flag).append(at)
        else:
            self.cross.queue(True, self.who, flag).append(at)

    def signalled(self, item: _Cross, flag: int) -> bool:
        """Take the signal if it is there."""
        if self.who < 0:
            queues = [self.cross.queue(True, sub, flag) for sub in (0, 1)]
        else:
            queues = [self.cross.queue(False, self.who, flag)]
        if not all(queues):
            return False
        self.clock += self.issue
        self.pause(item.pipe, max(q.popleft() for q in queues), self.wait_cost)
        return True

    # loops

    def loop(self, loop: _Loop, values: dict[int, int]) -> None:
        lo = _value(loop.lo, values)
        trips = max(0, ceil((_value(loop.hi, values) - lo) / loop.step))
        if trips == 0:
            return
        if self.listener is not None or trips == 1:
            self.iterations(loop, values, lo, trips, steady=False)
            return
        before, clock, busy = self.state(), self.clock, self.busy[:]
        key = (loop.number, trips, *(values[v] for v in loop.outer), before)
        found = self.memo.get(key)
        if found is not None:
            self.clock += found[0]
            self.busy = [a + b for a, b in zip(busy, found[1], strict=True)]
            self.restore(found[2])
            return
        self.iterations(loop, values, lo, trips, steady=loop.steady)
        work = tuple([a - b for a, b in zip(self.busy, busy, strict=True)])
        self.memo[key] = (self.clock - clock, work, self.state())

    def iterations(self, loop: _Loop, values: dict[int, int], lo: int, trips: int, steady: bool) -> None:
        seen: dict[tuple[int, _State], tuple[int, int, list[int]]] = {}
        n = 0
        while n < trips:
            if steady and n:
                state = self.state()
                earlier = seen.get((n % loop.period, state))
                if earlier is None:
                    seen[n % loop.period, state] = (n, self.clock, self.busy[:])
                else:
                    first, clock, busy = earlier
                    rounds = (trips - n) // (n - first)
                    self.busy = [b + rounds * (b - a) for a, b in zip(busy, self.busy, strict=True)]
                    self.clock += rounds * (self.clock - clock)
                    self.restore(state)
                    n += rounds * (n - first)
                    steady = False
                    continue
            values[FIRST_LOOP + loop.depth] = lo + n * loop.step
            self.body(loop.body, values, n)
            n += 1


def _value(form: Linear, values: dict[int, int]) -> int:
    n = form.const
    for var, coef in form.terms:
        n += values[var] * coef
    return n
