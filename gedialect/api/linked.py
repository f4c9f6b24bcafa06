"""Branches and loops of known sizes inside one OM: which ops form its straight pieces, and what passes between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from gedialect.analysis.graph import graph_function
from gedialect.api.cloning import all_in, constants, function_of, is_plain, is_static
from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.control import IfOp, LoopOp, RegionOp, constant_flag, never_ends
from gedialect.interpreter import input_names, output_names
from gedialect.ir import dtypes
from gedialect.ir.sources import names
from gedialect.ir.spec import Spec, spec_of, tensor_type
from lowering.emit.structured import Branch, Copy, Piece, Program, Repeat, Step

Decide = Callable[[ModuleOp], None]


def has_control(module: ModuleOp) -> bool:
    """Whether the graph has branches or loops."""
    return any(isinstance(op, RegionOp) for op in graph_function(module).body.block.ops)


def program_of(module: ModuleOp, decide: Decide) -> Program:
    """The program of a module all of whose branches and loops are linkable; ``decide`` plans a piece."""
    function = graph_function(module)
    linker = _Linker(decide)
    program = linker.program
    env: dict[SSAValue, int] = {}
    for name, arg in zip(input_names(function), function.body.block.args, strict=True):
        env[arg] = program.slot(spec_of(arg.type))
        program.inputs.append((name, env[arg]))
    last = function.body.block.last_op
    assert last is not None
    targets = [program.slot(spec_of(v.type)) for v in last.operands]
    program.outputs = list(zip(output_names(function), targets, strict=True))
    program.steps = linker.block(function.body.block, env, targets)
    return program


class _Linker:
    def __init__(self, decide: Decide):
        self.decide = decide
        self.program = Program()
        self.constant: set[SSAValue] = set()
        self.constant_ops: list[Operation] = []

    def block(self, block: Block, env: dict[SSAValue, int], targets: Sequence[int]) -> list[Step]:
        """Steps that compute a block, its results in the slots ``targets``."""
        last = block.last_op
        assert last is not None
        self.constant |= constants(block, self.constant)
        wanted: dict[SSAValue, int] = {}
        for value, slot in zip(last.operands, targets, strict=True):
            wanted.setdefault(value, slot)
        steps: list[Step] = []
        pending: list[Operation] = []
        for op in block.ops:
            if op is last:
                break
            if all_in(op.results, self.constant):
                self.constant_ops.append(op)
            elif isinstance(op, IfOp):
                index = _index(op.condition)
                pending.append(index)
                self._flush(pending, env, wanted, steps, index.results[0])
                steps.append(self._branch(op, index.results[0], env, wanted))
            elif isinstance(op, LoopOp):
                self._flush(pending, env, wanted, steps, None)
                self._loop(op, env, wanted, steps)
            else:
                pending.append(op)
        self._flush(pending, env, wanted, steps, None)
        self._results(last.operands, targets, env, steps)
        return steps

    def _slot(self, value: SSAValue, wanted: dict[SSAValue, int]) -> int:
        return wanted[value] if value in wanted else self.program.slot(spec_of(value.type))

    def _flush(
        self,
        pending: list[Operation],
        env: dict[SSAValue, int],
        wanted: dict[SSAValue, int],
        steps: list[Step],
        extra: SSAValue | None,
    ) -> None:
        """A piece of the ops so far; its results are what others read."""
        if not pending:
            return
        inside = set(pending)
        made = [r for op in pending for r in op.results]
        outputs = [v for v in made if v is extra or any(u.operation not in inside for u in v.uses)]
        known = set(made) | self.constant
        inputs = [v for v in dict.fromkeys(v for op in pending for v in op.operands) if v not in known]
        end = ReturnOp(*outputs)
        function = function_of([*self.constant_ops, *pending], inputs, [v.type for v in inputs], {}, end)
        end.drop_all_references()
        slots = [env[v] for v in inputs]
        for value in outputs:
            env[value] = self._slot(value, wanted)
        steps.append(self._piece(function, slots, [env[v] for v in outputs]))
        if extra is not None:
            pending[-1].drop_all_references()  # made here, and in no block
        pending.clear()

    def _piece(self, function: FuncOp, inputs: list[int], outputs: list[int]) -> Piece:
        module = ModuleOp([function])
        self.decide(module)
        return Piece(module, inputs, outputs)

    def _results(
        self, values: Sequence[SSAValue], targets: Sequence[int], env: dict[SSAValue, int], steps: list[Step]
    ) -> None:
        """Values into their slots: constants by a piece that writes them, others are copied unless they are there."""
        fixed = [(v, t) for v, t in zip(values, targets, strict=True) if v in self.constant]
        if fixed:
            end = ReturnOp(*(v for v, _ in fixed))
            function = function_of(self.constant_ops, [], [], {}, end)
            end.drop_all_references()
            steps.append(self._piece(function, [], [t for _, t in fixed]))
        for value, target in zip(values, targets, strict=True):
            if value not in self.constant and env[value] != target:
                steps.append(Copy(env[value], target))

    def _branch(self, op: IfOp, index: SSAValue, env: dict[SSAValue, int], wanted: dict[SSAValue, int]) -> Branch:
        results = [self._slot(r, wanted) for r in op.results]
        bodies = [self.block(r.block, dict(env), results) for r in (op.else_body, op.then_body)]
        env.update(zip(op.results, results, strict=True))
        return Branch(_name(op), env[index], bodies, results)

    def _loop(self, op: LoopOp, env: dict[SSAValue, int], wanted: dict[SSAValue, int], steps: list[Step]) -> None:
        slot, block = self.program.slot, op.body.block
        index64, flag = Spec(dtypes.I64, ()), Spec(dtypes.I1, ())
        count, going, index = slot(index64), slot(flag), slot(Spec(dtypes.I32, ()))
        carried = [self._slot(r, wanted) for r in op.results]
        start: dict[int, Any] = {count: np.array(0, np.int64)}
        if op.condition is None or op.condition in self.constant:
            start[going] = np.array(op.condition is None or constant_flag(op.condition))
        else:
            steps.append(Copy(env[op.condition], going))
        steps.append(self._made([], list(start), lambda b, _: [b.array(a) for a in start.values()]))
        self._results(op.init, carried, env, steps)
        trip = op.trip
        held = [] if trip is None or trip in self.constant else [env[trip]]

        def test(b: GeBuilder, args: Sequence[SSAValue]) -> list[SSAValue]:
            go = args[1]
            if trip is not None:
                limit = args[2] if held else _copied(b, trip)
                go = b.logical_and(go, b.less(args[0], b.reshape(limit, shape=[])))
            return [b.cast(go, dtypes.I32)]

        tests: list[Step] = [self._made([count, going, *held], [index], test)]
        nexts = [slot(self.program.specs[s]) for s in carried]
        going_next, count_next = slot(flag), slot(index64)
        inner = {**env, **dict(zip(block.args, [count, going, *carried], strict=True))}
        body = self.block(block, inner, [going_next, *nexts])
        body.append(self._made([count], [count_next], lambda b, args: [b.add(args[0], b.array(np.array(1, np.int64)))]))
        body += [Copy(a, b) for a, b in zip([going_next, count_next, *nexts], [going, count, *carried], strict=True)]
        steps.append(Repeat(_name(op), tests, index, body, [*carried, count, going]))
        env.update(zip(op.results, carried, strict=True))

    def _made(
        self,
        inputs: list[int],
        outputs: list[int],
        build: Callable[[GeBuilder, Sequence[SSAValue]], list[SSAValue]],
    ) -> Piece:
        """A piece written here."""
        types = [tensor_type(self.program.specs[s]) for s in inputs]
        block = Block(arg_types=types)
        results = build(GeBuilder(block), block.args)
        block.add_op(ReturnOp(*results))
        function = FuncOp("main", (types, [r.type for r in results]), Region(block))
        return self._piece(function, inputs, outputs)


def _copied(b: GeBuilder, value: SSAValue) -> SSAValue:
    from gedialect.transforms.fold_control import constant_number

    number = constant_number(value)
    assert number is not None
    return b.array(np.array(number, np.int64))


def _index(condition: SSAValue) -> Operation:
    """0 or 1, as label tasks take it."""
    spec = spec_of(condition.type)
    return op_class("cast").make([condition], results=[spec.with_dtype(dtypes.I32)])


def _name(op: Operation) -> str:
    return next(iter(names(op)), op.name.removeprefix("ge."))


# ---------------------------------------------------------------------- what can be linked
def linkable(op: Operation) -> bool:
    """Whether a branch or loop has known sizes throughout, so that one OM holds it."""
    if isinstance(op, IfOp):
        types = [r.type for r in op.results]
        return _is_one(op.condition) and all(_block_fits(r.block, types) for r in op.regions)
    if isinstance(op, LoopOp):
        block = op.body.block
        types = [a.type for a in block.args]
        scalars = [v for v in (op.trip, op.condition) if v is not None]
        if len(op.results) != op.carried or never_ends(op) or not all(map(_is_one, scalars)):
            return False
        if op.trip is not None and spec_of(op.trip.type).dtype is not dtypes.I64:
            return False
        if [v.type for v in op.init] != types[2:] or [r.type for r in op.results] != types[2:]:
            return False
        last = block.last_op
        return (
            last is not None and _is_one(last.operands[0]) and _block_fits(block, [last.operands[0].type, *types[2:]])
        )
    return False


def _is_one(value: SSAValue) -> bool:
    return is_static(value) and spec_of(value.type).size == 1


def _block_fits(block: Block, types: Sequence[object]) -> bool:
    last = block.last_op
    if last is None or [v.type for v in last.operands] != list(types):
        return False
    return all(op is last or is_plain(op) or linkable(op) for op in block.ops)
