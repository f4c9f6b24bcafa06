"""Models whose sizes come from data: a chain of executables, each compiled for the sizes it sees.

A graph is cut where a size, an axis or a branch depends on values computed before. What can be computed with known
sizes is one executable; the values that decide are read back and become constants of the rest, which is folded, and cut
again. Ops whose result has as many elements as the data says (``ge.nonzero``), sequences and loops run in between; the
bodies of loops are chains of their own. Executables are kept per sizes and deciding values.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from gedialect.analysis.graph import graph_function, read_by
from gedialect.api.cloning import all_in, constants, function_of, is_plain
from gedialect.api.executable import Executable
from gedialect.api.linked import linkable
from gedialect.api.resolve import prepare, resolve_or_fail
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.base import GeOp, is_view
from gedialect.dialects.ge.constant import DENSE_LIMIT, ConstantOp
from gedialect.dialects.ge.control import HostOp, IfOp, LateOp, LoopOp
from gedialect.errors import GeError, UnsupportedError
from gedialect.interpreter import run_op
from gedialect.interpreter.loops import iterate
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of

CACHE_SIZE = 64
"""Stages a chain keeps compiled; the least recently used goes first."""
MAX_STAGES = 10_000
"""Cuts of one run, loops not counted: a model that is cut without end is an error."""

LOOP_COMPILATIONS = 32
"""Stages one run of a loop may compile: where every round decides other sizes, the rest is evaluated on the host."""

Compile = Callable[[ModuleOp], Executable]


class Chain:
    """Runs a module with unknown sizes or control flow; ``compile_static`` makes executables of static modules."""

    def __init__(self, compile_static: Compile):
        self.compile_static = compile_static
        self._stages: OrderedDict[object, Stage] = OrderedDict()
        self._serial = 0
        self.sanitize = False
        self.on_host = False
        """New stages evaluate their ops instead of compiling them."""
        self.compiled = 0
        """Stages compiled so far."""
        self.visited: list[Stage] = []
        """Stages of the last run, each once, in order."""

    @property
    def kept(self) -> int:
        """Stages kept compiled."""
        return len(self._stages)

    def stage(self, key: object, make: Callable[[], FuncOp]) -> Stage:
        """The stage kept under ``key``, made if it is new or was given up."""
        key = (key, self.on_host)
        found = self._stages.pop(key, None)
        if found is None:
            self._serial += 1
            found = Stage(self, self._serial, make())
            while len(self._stages) >= CACHE_SIZE:
                self._stages.popitem(last=False)
        self._stages[key] = found
        return found

    def root(self, module: ModuleOp, values: Sequence[Any]) -> Stage:
        """The first stage of ``module`` for inputs like ``values``."""
        function = graph_function(module)
        return self.stage(_signature(values), lambda: _copy(function.body.block, values))

    def run(self, first: Stage, values: Sequence[Any]) -> list[Any]:
        """Results of the function that ``first`` begins."""
        stage = first
        arguments = list(values)
        for _ in range(MAX_STAGES):
            if stage not in self.visited:
                self.visited.append(stage)
            done, stage, arguments = stage.run(arguments)
            if done:
                return arguments
        raise GeError(f"the run was cut {MAX_STAGES} times", code="GE1903")


@dataclass
class _Plan:
    """What a stage does: an executable, then ops on the host, then the rest with some values as constants."""

    block: Block
    executable: Executable | None = None
    views: list[Operation] = field(default_factory=list[Operation])
    """Ops evaluated here: without a kernel, so that an executable would only hand them on, or too short-lived."""
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    outputs: list[SSAValue] = field(default_factory=list[SSAValue])
    host: list[Operation] = field(default_factory=list[Operation])
    read: list[SSAValue] = field(default_factory=list[SSAValue])
    rest: list[Operation] = field(default_factory=list[Operation])
    constant: set[SSAValue] = field(default_factory=set[SSAValue])
    live: list[SSAValue] = field(default_factory=list[SSAValue])
    """Values the rest takes as arguments."""


class Stage:
    """One function with known argument types, up to its first cut."""

    def __init__(self, chain: Chain, serial: int, function: FuncOp):
        self.chain = chain
        self.serial = serial
        self.function = function
        self.module = ModuleOp([function])
        prepare(self.module)
        self.plan = _Planner(chain, function.body.block).plan()
        self._constants: dict[SSAValue, Any] = {}

    @property
    def host_ops(self) -> list[dict[str, str]]:
        """Ops run between executables, as the report lists them."""
        ops = [*self.plan.host, *(op for op in self.plan.views if not is_view(type(op)))]
        return [{"op": op.name, "node": next(iter(names(op)), "")} for op in ops]

    def run(self, arguments: Sequence[Any]) -> tuple[bool, Stage, list[Any]]:
        """(True, self, results), or (False, the next stage, its arguments)."""
        plan = self.plan
        values: dict[SSAValue, Any] = dict(zip(plan.block.args, arguments, strict=True))
        if plan.executable is not None:
            results = plan.executable.run([values[v] for v in plan.inputs], sanitize=self.chain.sanitize)
            values.update(zip(plan.outputs, results.values(), strict=True))
        for op in (*plan.views, *plan.host):
            for value in read_by(op):
                self._value(value, values)
            for result, value in zip(op.results, self._host(op, values), strict=True):
                values[result] = value if value is None or isinstance(value, list) else np.asarray(value)
        if not plan.rest:
            return True, self, [self._value(v, values) for v in _terminator(plan.block).operands]
        read = {v: np.asarray(self._value(v, values)) for v in plan.read}
        live = [self._value(v, values) for v in plan.live]
        key = (self.serial, _signature(live), tuple(_digest(a) for a in read.values()))
        stage = self.chain.stage(key, lambda: self._next(live, read))
        return False, stage, live

    def _value(self, value: SSAValue, values: dict[SSAValue, Any]) -> Any:
        if value not in values:
            work = [value]
            while work:  # constants, and what is computed of them
                v = work[-1]
                op = v.owner
                if v in self._constants or not isinstance(op, Operation):
                    work.pop()
                    continue
                missing = [o for o in op.operands if o not in self._constants]
                if missing:
                    work += missing
                    continue
                self._constants.update(zip(op.results, run_op(op, self._constants), strict=True))
                work.pop()
            values[value] = self._constants[value]
        return values[value]

    def _next(self, live: Sequence[Any], read: Mapping[SSAValue, Any]) -> FuncOp:
        """The rest as a function of the live values, the read ones being constants."""
        plan = self.plan
        ops = [*(op for op in plan.block.ops if all_in(op.results, plan.constant)), *plan.rest]
        return function_of(ops, plan.live, live, read, _terminator(plan.block))

    # ------------------------------------------------------------------ the host
    def _host(self, op: Operation, values: Mapping[SSAValue, Any]) -> Sequence[Any]:
        try:
            if isinstance(op, LoopOp):
                return self._loop(op, values)
            return run_op(op, values)
        except GeError as e:
            raise e.at(f"node {next(iter(names(op)), op.name)}") from None
        except (ArithmeticError, IndexError, TypeError, ValueError) as e:
            place = f"node {next(iter(names(op)), op.name)}"
            raise GeError(f"{op.name} fails on these values: {e}", code="GE1005", where=place) from None

    def _loop(self, op: LoopOp, values: Mapping[SSAValue, Any]) -> list[Any]:
        chain = self.chain
        outer, before = chain.on_host, chain.compiled

        def one(arguments: Sequence[Any]) -> Sequence[Any]:
            chain.on_host = outer or chain.compiled - before > LOOP_COMPILATIONS
            return self._round(op, arguments, values)

        try:
            return iterate(op, values, one)
        finally:
            chain.on_host = outer

    def _round(self, op: LoopOp, arguments: Sequence[Any], values: Mapping[SSAValue, Any]) -> Sequence[Any]:
        """One round of a loop, its body being a chain of its own."""
        body = op.body.block
        inside = list(read_by(op))[len(op.operands) :]
        captured = [v for v in dict.fromkeys(inside) if v not in self.plan.constant]
        given = [*arguments, *(values[v] for v in captured)]

        def make() -> FuncOp:
            constants = [o for o in self.plan.block.ops if all_in(o.results, self.plan.constant)]
            ops = [*constants, *(o for o in body.ops if o is not body.last_op)]
            last = body.last_op
            assert last is not None
            return function_of(ops, [*body.args, *captured], given, {}, last)

        number = [*self.plan.block.ops].index(op)
        stage = self.chain.stage((self.serial, number, _signature(given)), make)
        return self.chain.run(stage, given)


class _Planner:
    """Decides where a function is cut."""

    def __init__(self, chain: Chain, block: Block):
        self.chain = chain
        self.block = block
        self.constant = constants(block)

    def plan(self) -> _Plan:
        ops = [op for op in self.block.ops if not isinstance(op, ReturnOp) and not all_in(op.results, self.constant)]
        ready: set[SSAValue] = {*self.block.args, *self.constant}
        now: list[Operation] = []
        rest: list[Operation] = []
        frontier: list[Operation] = []
        for op in ops:
            if any(v not in ready for v in read_by(op)):
                rest.append(op)
            elif is_plain(op) or linkable(op):
                now.append(op)
                ready.update(op.results)
            else:
                rest.append(op)
                frontier.append(op)
        plan = _Plan(self.block, constant=self.constant)
        # what the inputs decide is decided before anything is computed
        given: set[SSAValue] = {*self.block.args, *self.constant}
        direct = [op for op in frontier if all(v in given for v in self._needs(op))]
        if direct:
            frontier, rest, now = direct, ops, []
        for op in frontier:
            reads = self._reads(op)
            if reads:
                plan.read += [v for v in reads if v not in plan.read]
            elif isinstance(op, LateOp):
                resolve_or_fail(op)
            else:
                plan.host.append(op)
        hosted = set(plan.host)
        plan.rest = [op for op in rest if op not in hosted]
        self._live(plan, now)
        return plan

    def _live(self, plan: _Plan, now: list[Operation]) -> None:
        terminator = _terminator(self.block)
        made = {r for op in now for r in op.results}
        inner = {r for op in plan.rest for r in op.results}
        later = dict.fromkeys(v for op in (*plan.rest, terminator) for v in read_by(op))
        skip = {*self.constant, *inner, *plan.read}
        if plan.rest:
            plan.live = [v for v in later if v not in skip]
        hosts = dict.fromkeys(v for op in plan.host for v in read_by(op))
        wanted = [v for v in dict.fromkeys((*hosts, *plan.read, *later)) if v in made]
        last = not plan.rest and not plan.host
        if last:
            wanted = [v for v in dict.fromkeys(terminator.operands) if v in made or v in self.constant]
        if self.chain.on_host or (all(is_view(type(op)) for op in now) and not (last and wanted)):
            plan.views = now
            return
        used = dict.fromkeys(v for op in now for v in read_by(op))
        plan.inputs = [a for a in self.block.args if a in used]
        plan.outputs = wanted
        constants = [op for op in self.block.ops if all_in(op.results, self.constant)]
        types = [a.type for a in plan.inputs]
        end = ReturnOp(*wanted)
        function = function_of([*constants, *now], plan.inputs, types, {}, end)
        end.drop_all_references()
        plan.executable = self.chain.compile_static(ModuleOp([function]))
        self.chain.compiled += 1

    def _needs(self, op: Operation) -> list[SSAValue]:
        """Values that must be there before ``op`` is dealt with."""
        return self._reads(op) or list(read_by(op))

    def _reads(self, op: Operation) -> list[SSAValue]:
        """Values that become constants so that ``op`` gets known sizes; none if it is run on the host instead."""
        match op:
            case IfOp():
                return _open([op.condition])
            case LoopOp():
                return _open([v for v in (op.trip, op.condition) if v is None or not isinstance(v.type, ON_HOST)])
            case LateOp():
                bad = next((v for v in op.x if isinstance(v.type, ON_HOST)), None)
                if bad is not None:
                    place = next(iter(names(op)), op.name)
                    raise UnsupportedError(
                        "it takes a tensor of numbers, not a sequence, strings or a missing value",
                        code="GE1203",
                        where=f"node {place}",
                    )
                values = _open(op.x)
                return [v for v in values if spec_of(v.type).nbytes <= DENSE_LIMIT] or values
            case HostOp():
                return []
            case GeOp():
                pairs = {o for o, _ in op.CONST_OPERANDS}
                groups = zip(op.operand_kinds(), op.operand_groups(), strict=True)
                found = [g for (name, _), g in groups if name in pairs and isinstance(g, SSAValue)]
                return [v for v in _open(found) if spec_of(v.type).nbytes <= DENSE_LIMIT]
            case _:
                raise UnsupportedError(f"{op.name} cannot be run", code="GE1204")


# ---------------------------------------------------------------------- helpers
def _open(values: Iterable[SSAValue | None]) -> list[SSAValue]:
    """Those that are there and no constants."""
    return [v for v in values if v is not None and not isinstance(v.owner, ConstantOp)]


def _terminator(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last


def _signature(values: Sequence[Any]) -> tuple[object, ...]:
    """What of run-time values decides how code for them is made."""
    return tuple(
        "none" if v is None else "sequence" if isinstance(v, list) else (v.dtype.str, v.dtype.name, v.shape)
        for v in values
    )


def _digest(array: Any) -> tuple[object, ...]:
    data = np.ascontiguousarray(array).tobytes()
    return (array.dtype.name, array.shape, data if len(data) <= 256 else hashlib.sha256(data).digest())


def _copy(block: Block, values: Sequence[Any]) -> FuncOp:
    ops = [op for op in block.ops if op is not block.last_op]
    return function_of(ops, block.args, values, {}, _terminator(block))


__all__ = ["CACHE_SIZE", "Chain", "Stage"]
