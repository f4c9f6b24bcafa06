"""Checks a kernel's use of memory and flags by running its addresses and synchronisation, without data.

Addresses are affine and control flow is fixed, so what is found holds for every input; a kernel is checked once.
Every pipe of every core has a vector clock: how many operations of each other pipe it knows to be done. Shadow arrays
hold, for each piece of memory, when each pipe last read and wrote it. A piece is as small as the greatest common
divisor of all addresses and element sizes of the kernel, so the check is exact to the byte.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from ...binary.disassemble import inst_text, number_instructions
from ...binary.isa import CROSS_CORE_LIMIT, SPACE_BYTES, Operand, Pipe, needs_barrier
from ...binary.kernel import BLOCK_IDX, FIRST_LOOP, SUB_BLOCK_IDX, Function, Inst, Kernel, Linear, Loop, View
from ...errors import GeError
from .memory import CUBE_SPACES, VECTOR_SPACES

MAX_FINDINGS = 20
_PIPES = len(Pipe)
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Finding:
    """One thing wrong: ``kind`` is unwritten, bounds, race, barrier, flag, block or role."""

    kind: str
    core: str
    instruction: int
    text: str
    what: str

    def __str__(self) -> str:
        return f"{self.core} instruction {self.instruction}: {self.text}: {self.what}"


def sanitize(kernel: Kernel, sizes: Mapping[str, int] = SPACE_BYTES) -> list[Finding]:
    """Everything found wrong with ``kernel``, each kind once per instruction, at most `MAX_FINDINGS`."""
    return _Sanitizer(kernel, sizes).run()


def check(kernel: Kernel, sizes: Mapping[str, int] = SPACE_BYTES) -> None:
    """Raise GeError GE1316 with all findings, if there are any."""
    found = sanitize(kernel, sizes)
    if found:
        raise GeError(
            f"{len(found)} faults in kernel code",
            code="GE1316",
            where=f"kernel {kernel.name}",
            details=tuple(str(f) for f in found),
        )


class _Shadow:
    """What happened to one memory: times of the last read and write per thread, and block of the last write."""

    def __init__(self, nbytes: int, unit: int):
        self.unit = unit
        self.pieces = -(-nbytes // unit)
        self.epoch = np.zeros(self.pieces, np.int32)
        self.read_block = np.zeros(self.pieces, np.int32)
        self.reads: dict[int, Array] = {}
        self.writes: dict[int, Array] = {}
        self._cuts: dict[tuple[int, int, int], Array] = {}

    def times(self, of: dict[int, Array], thread: int) -> Array:
        found = of.get(thread)
        if found is None:
            found = of[thread] = np.zeros(self.pieces, np.int32)
        return found

    def cut(self, array: Array, view: View, base: int) -> Array:
        """The part of a shadow array that ``view`` at byte ``base`` touches."""
        key = (id(array), id(view), base)
        found = self._cuts.get(key)
        if found is None:
            found = self._make_cut(array, view, base)
            if view.space != "gm":
                self._cuts[key] = found  # the kernel keeps the view, this shadow the array
        return found

    def _make_cut(self, array: Array, view: View, base: int) -> Array:
        unit, item = self.unit, view.dtype.itemsize
        shape = (*[1 if s == 0 else n for n, s in zip(view.shape, view.strides, strict=True)], item // unit)
        strides = (*[s * item // unit * 4 for s in view.strides], 4)
        return np.ndarray(shape, np.int32, array, base // unit * 4, strides)


class _Core:
    """One core: its number (threads are number * 8 + pipe), index values, memories and flags."""

    def __init__(self, number: int, name: str, sub: int, spaces: tuple[str, ...]):
        self.number = number
        self.name = name
        self.sub = sub
        self.spaces = spaces
        self.memory: dict[str, _Shadow] = {}
        self.flags: dict[tuple[int, int, int], tuple[int, int, Array]] = {}
        """Raised flags: (src, dst, id) -> instruction, time, what the setter knew."""
        self.last_wait: dict[tuple[int, int, int], int] = {}


class _Sanitizer:
    def __init__(self, kernel: Kernel, sizes: Mapping[str, int]):
        self.kernel = kernel
        self.sizes = sizes
        self.findings: dict[tuple[str, str, int], Finding] = {}
        self.functions: list[tuple[_Core, Function]] = []
        if kernel.cube is not None:
            self.functions.append((_Core(0, "cube", -1, CUBE_SPACES), kernel.cube))
        if kernel.vector is not None:
            for sub in range(2 if kernel.kind == "mix" else 1):
                name = f"vector {sub}" if kernel.kind == "mix" else "vector"
                self.functions.append((_Core(len(self.functions), name, sub, VECTOR_SPACES), kernel.vector))
        threads = len(self.functions) * _PIPES
        self.count = np.zeros(threads, np.int32)
        self.known = np.zeros((threads, threads), np.int32)
        self.block = 0
        self.texts = [dict(number_instructions(f)) for _, f in self.functions]
        units = {"gm": 0, "chip": 0}
        written: set[int] = set()
        for texts in self.texts:
            for inst in texts.values():
                for operand, view in zip(inst.op.operands, inst.views, strict=False):
                    where = "gm" if view.space == "gm" else "chip"
                    units[where] = gcd(units[where], _grain(view))
                    if operand.writes and view.space == "gm":
                        written.add(view.arg)
        for core, _ in self.functions:
            for space in core.spaces:
                core.memory[space] = _Shadow(sizes[space], units["chip"] or 1)
        self.args = {n: _Shadow(kernel.args[n].nbytes, units["gm"] or 1) for n in written}
        self.cross: dict[tuple[str, int, int], deque[Array]] = {}

    def run(self) -> list[Finding]:
        for bid in range(self.kernel.blocks):
            self.block = bid + 1
            # nothing of another block is known, but each block starts after all that this core did before
            self.known[:] = self.count[None, :]
            running = [self.function(core, f, bid) for core, f in self.functions]
            moved = True
            while running and moved:
                moved = False
                for generator in list(running):
                    for progress in generator:
                        moved = moved or progress
                        if not progress:
                            break
                    else:
                        running.remove(generator)
                        moved = True
            if running:
                self.report("flag", self.functions[0][0], 0, "deadlock: cores wait for cross-core flags never set")
            for core, _ in self.functions:
                for (src, dst, ident), (at, _, _) in core.flags.items():
                    self.report(
                        "flag", core, at, f"flag {Pipe(src).name}->{Pipe(dst).name} {ident} is never waited for"
                    )
                core.flags.clear()
                core.last_wait.clear()
            for (side, flag, sub), queue in self.cross.items():
                if queue:
                    core = self.functions[0 if side == "vector" else 1 + sub][0]
                    self.report(
                        "flag", core, 0, f"cross-core flag {flag} is set {len(queue)} times more than waited for"
                    )
                queue.clear()
            if len(self.findings) >= MAX_FINDINGS:
                break
        return list(self.findings.values())[:MAX_FINDINGS]

    def report(self, kind: str, core: _Core, number: int, what: str) -> None:
        key = (kind, core.name, number)
        if key not in self.findings:
            text = inst_text(self.texts[core.number][number], self.kernel) if self.texts[core.number] else ""
            self.findings[key] = Finding(kind, core.name, number, text, what)

    # execution

    def function(self, core: _Core, function: Function, bid: int) -> Generator[bool]:
        values = {BLOCK_IDX: bid, SUB_BLOCK_IDX: max(core.sub, 0)}
        yield from self.body(core, function.body, 0, 0, values, {})

    def body(
        self,
        core: _Core,
        body: tuple[Inst | Loop, ...],
        depth: int,
        first: int,
        values: dict[int, int],
        rounds: dict[int, int],
    ) -> Generator[bool]:
        """Run ``body``; ``rounds`` are iteration numbers by depth. Yields True when it
        set or took a cross-core flag, False while one is missing."""
        number = first
        for item in body:
            if isinstance(item, Loop):
                lo, hi = _value(item.lo, values), _value(item.hi, values)
                for n, v in enumerate(range(lo, hi, item.step)):
                    values[FIRST_LOOP + depth] = v
                    rounds[depth] = n
                    yield from self.body(core, item.body, depth + 1, number, values, rounds)
                number += _size(item)
                continue
            match item.op.name:
                case "set_flag" | "wait_flag":
                    self.flag(core, item, number, rounds.get(depth - 1, 0))
                case "pipe_barrier":
                    self.barrier(core, str(item.attr("pipe")))
                case "cross_core_set":
                    self.cross_set(core, item, number, rounds.get(depth - 1, 0))
                    yield True
                case "cross_core_wait":
                    while not self.cross_take(core, item, rounds.get(depth - 1, 0)):
                        yield False
                    yield True
                case _:
                    self.instruction(core, item, number, values, rounds)
            number += 1

    def thread(self, core: _Core, pipe: int) -> int:
        return core.number * _PIPES + pipe

    def snapshot(self, thread: int) -> Array:
        """What is done when ``thread``'s earlier work is done."""
        seen = self.known[thread].copy()
        seen[thread] = self.count[thread]
        return seen

    def flag(self, core: _Core, inst: Inst, number: int, iteration: int) -> None:
        src, dst = Pipe[str(inst.attr("src"))], Pipe[str(inst.attr("dst"))]
        ident, slots = inst.attr("id"), inst.attr("slots")
        assert isinstance(ident, int)
        assert isinstance(slots, int)
        ident += iteration % slots
        key = (int(src), int(dst), ident)
        name = f"flag {src.name}->{dst.name} {ident}"
        if inst.op.name == "set_flag":
            thread = self.thread(core, src)
            if key in core.flags:
                self.report("flag", core, number, f"{name} is set again before it was waited for")
            elif core.last_wait.get(key, 0) > self.known[thread, self.thread(core, dst)]:
                self.report("flag", core, number, f"{name} may be set again before its last wait has run")
            self.count[thread] += 1
            core.flags[key] = (number, int(self.count[thread]), self.snapshot(thread))
            return
        thread = self.thread(core, dst)
        raised = core.flags.pop(key, None)
        if raised is None:
            self.report("flag", core, number, f"{name} was not set")
            return
        np.maximum(self.known[thread], raised[2], out=self.known[thread])
        self.count[thread] += 1
        core.last_wait[key] = int(self.count[thread])

    def barrier(self, core: _Core, pipe: str) -> None:
        if pipe != "ALL":
            thread = self.thread(core, Pipe[pipe])
            self.known[thread, thread] = self.count[thread]
            return
        threads = slice(core.number * _PIPES, (core.number + 1) * _PIPES)
        everything = self.known[threads].max(axis=0)
        everything[threads] = self.count[threads]
        self.known[threads] = everything

    def queue(self, side: str, flag: int, sub: int) -> deque[Array]:
        return self.cross.setdefault((side, flag, sub), deque())

    def cross_set(self, core: _Core, inst: Inst, number: int, iteration: int) -> None:
        flag = _cross_flag(inst, iteration)
        thread = self.thread(core, Pipe[str(inst.attr("pipe"))])
        self.count[thread] += 1
        seen = self.snapshot(thread)
        targets = [("vector", 0), ("vector", 1)] if core.sub < 0 else [("cube", core.sub)]
        for side, sub in targets:
            queue = self.queue(side, flag, sub)
            queue.append(seen)
            if len(queue) > CROSS_CORE_LIMIT:
                self.report("flag", core, number, f"cross-core flag {flag} is set {len(queue)} times without a wait")

    def cross_take(self, core: _Core, inst: Inst, iteration: int) -> bool:
        flag = _cross_flag(inst, iteration)
        sources = [("cube", 0), ("cube", 1)] if core.sub < 0 else [("vector", core.sub)]
        queues = [self.queue(side, flag, sub) for side, sub in sources]
        if not all(queues):
            return False
        thread = self.thread(core, Pipe[str(inst.attr("pipe"))])
        for queue in queues:
            np.maximum(self.known[thread], queue.popleft(), out=self.known[thread])
        self.count[thread] += 1
        return True

    # memory

    def instruction(self, core: _Core, inst: Inst, number: int, values: dict[int, int], rounds: dict[int, int]) -> None:
        thread = self.thread(core, inst.op.pipe)
        touched: list[tuple[Operand, View, int, _Shadow]] = []
        fresh = inst.op.name == "mmad" and inst.attr("init") is True
        fresh = fresh or (inst.op.shape == "reduce" and inst.op.attrs[0].name == "accumulate" and not inst.attrs[0])
        for operand, view in zip(inst.op.operands, inst.views, strict=False):
            base = _value(view.base, values)
            if view.rotation is not None:
                base += rounds[view.rotation.depth] % view.rotation.slots * view.rotation.slot_bytes
            shadow = self.place(core, operand, view, base, number)
            if shadow is None:
                continue
            touched.append((operand, view, base, shadow))
            if operand.reads and not (fresh and operand.role == "inout"):
                self.check_read(core, inst, number, thread, shadow, view, base)
        for operand, view, base, shadow in touched:
            if operand.writes:
                self.check_write(core, inst, number, thread, shadow, view, base)
        self.count[thread] += 1
        now = self.count[thread]
        for operand, view, base, shadow in touched:
            if operand.reads:
                shadow.cut(shadow.times(shadow.reads, thread), view, base)[...] = now
                if view.space == "gm":
                    shadow.cut(shadow.read_block, view, base)[...] = self.block
            if operand.writes:
                shadow.cut(shadow.times(shadow.writes, thread), view, base)[...] = now
                shadow.cut(shadow.epoch, view, base)[...] = self.block

    def place(self, core: _Core, operand: Operand, view: View, base: int, number: int) -> _Shadow | None:
        """The shadow to check the operand in, or None: out of bounds (reported), empty, or an argument only read."""
        low, high = view.extent
        if low == high:
            return None
        if view.space == "gm":
            arg = self.kernel.args[view.arg]
            if base + low < 0 or base + high > arg.nbytes:
                what = f"bytes {base + low} to {base + high} lie outside argument '{arg.name}' ({arg.nbytes} bytes)"
                self.report("bounds", core, number, what)
                return None
            if operand.writes and arg.role == "in":
                self.report("role", core, number, f"argument '{arg.name}' is only to be read")
            return self.args.get(view.arg)
        if view.space not in core.memory:
            self.report("bounds", core, number, f"this core has no {view.space}")
            return None
        if base + low < 0 or base + high > self.sizes[view.space]:
            what = f"bytes {base + low} to {base + high} lie outside {view.space} ({self.sizes[view.space]} bytes)"
            self.report("bounds", core, number, what)
            return None
        return core.memory[view.space]

    def check_read(
        self, core: _Core, inst: Inst, number: int, thread: int, shadow: _Shadow, view: View, base: int
    ) -> None:
        epochs = shadow.cut(shadow.epoch, view, base)
        if view.space != "gm":
            if int(epochs.min()) != self.block:
                self.report("unwritten", core, number, f"reads bytes of {view.space} that nothing wrote")
        else:
            arg = self.kernel.args[view.arg]
            low, high = int(epochs.min()), int(epochs.max())
            if arg.role in ("out", "workspace") and low == 0:
                self.report("unwritten", core, number, f"reads bytes of argument '{arg.name}' that nothing wrote")
            elif high != 0 and (high != self.block or low not in (0, self.block)):
                self.report("block", core, number, f"reads bytes of '{arg.name}' that another block wrote")
        self.compare(core, inst, number, thread, shadow, shadow.writes, view, base, "wrote", "reads")

    def check_write(
        self, core: _Core, inst: Inst, number: int, thread: int, shadow: _Shadow, view: View, base: int
    ) -> None:
        if view.space == "gm":
            readers = shadow.cut(shadow.read_block, view, base)
            others = readers[(readers != 0) & (readers != self.block)]
            if others.size:
                name = self.kernel.args[view.arg].name
                self.report("block", core, number, f"writes bytes of '{name}' that another block read")
        self.compare(core, inst, number, thread, shadow, shadow.writes, view, base, "wrote", "writes")
        self.compare(core, inst, number, thread, shadow, shadow.reads, view, base, "read", "writes")

    def compare(
        self,
        core: _Core,
        inst: Inst,
        number: int,
        thread: int,
        shadow: _Shadow,
        times: dict[int, Array],
        view: View,
        base: int,
        did: str,
        does: str,
    ) -> None:
        """Report if some thread's access to these bytes is not known to be done."""
        known = self.known[thread]
        for other, array in times.items():
            if other == thread and not needs_barrier(inst.op.pipe, inst.op.name):
                continue
            last = int(shadow.cut(array, view, base).max())
            if last <= known[other]:
                continue
            pipe = Pipe(other % _PIPES).name
            place = self.kernel.args[view.arg].name if view.space == "gm" else view.space
            if other == thread:
                what = f"{does} bytes of {place} that {pipe} itself {did}, without a pipe_barrier between"
                self.report("barrier", core, number, what)
            else:
                other_core = self.functions[other // _PIPES][0].name
                where = "" if other_core == core.name else f" of {other_core}"
                what = f"{does} bytes of {place} that {pipe}{where} {did}, without a flag from it"
                self.report("race", core, number, what)


def _cross_flag(inst: Inst, iteration: int) -> int:
    flag, slots = inst.attr("flag"), inst.attr("slots")
    assert isinstance(flag, int)
    assert isinstance(slots, int)
    return flag + iteration % slots


def _value(form: Linear, values: dict[int, int]) -> int:
    n = form.const
    for var, coef in form.terms:
        n += values[var] * coef
    return n


def _size(loop: Loop) -> int:
    return sum(_size(i) if isinstance(i, Loop) else 1 for i in loop.body)


def _grain(view: View) -> int:
    """Largest piece of memory that the view's addresses are made of."""
    grain = gcd(view.dtype.itemsize, view.base.const)
    for _, coef in view.base.terms:
        grain = gcd(grain, coef)
    return grain if view.rotation is None else gcd(grain, view.rotation.slot_bytes)
