"""``fold-control``: bodies whose condition is known take the place of their ``ge.if`` or ``ge.loop``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import IfOp, LoopOp, constant_flag
from gedialect.dialects.ge.fusion import YieldOp
from gedialect.ir.context import count
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.ir.weights import read_constant

ROUNDS = 16
"""Rounds up to which a loop is written out."""
OPS = 4096
"""Ops up to which a loop is written out."""
FEW_OPS = 128
"""Ops up to which a loop of any number of rounds is written out."""


@dataclass(frozen=True)
class FoldControlPass(ModulePass):
    """Replaces a ``ge.if`` of a constant condition by its branch, and a ``ge.loop`` of at most ``rounds`` constant
    rounds, or of few ops altogether, by copies of its body; a loop without rounds by what it starts with."""

    name: ClassVar[str] = "fold-control"
    rounds: int = ROUNDS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from gedialect.transforms._propagate import functions, propagate

        for function in functions(op):
            if folded := fold_control(function.body.block, self.rounds):
                count(ctx, self.name, "folded", folded)
                propagate(function, infer=False, folding=False)  # the types of the results may be narrower


def fold_control(block: Block, rounds: int = ROUNDS) -> int:
    """Fold in one block, bodies that come in included; how many ops went."""
    folded = 0
    work: list[Operation] = list(reversed(list(block.ops)))
    while work:
        op = work.pop()
        values: list[SSAValue] | None = None
        before = op.prev_op
        if isinstance(op, IfOp):
            values = _branch(op)
        elif isinstance(op, LoopOp):
            values = _unrolled(op, rounds)
        if values is None:
            continue
        made: list[Operation] = []
        at = block.first_op if before is None else before.next_op
        while at is not None and at is not op:
            made.append(at)
            at = at.next_op
        work += reversed(made)
        for result, value in zip(list(op.results), values, strict=True):
            result.replace_all_uses_with(value)
        block.erase_op(op)
        folded += 1
    return folded


def _branch(op: IfOp) -> list[SSAValue] | None:
    flag = constant_flag(op.condition)
    if flag is None:
        return None
    body = (op.then_body if flag else op.else_body).block
    parent = op.parent
    assert parent is not None
    last = body.last_op
    assert last is not None
    values = list(last.operands)
    for inner in list(body.ops):
        inner.detach()
        if inner is not last:
            parent.insert_op_before(inner, op)
    last.drop_all_references()
    return values


def _unrolled(op: LoopOp, rounds: int) -> list[SSAValue] | None:
    block = op.body.block
    last = block.last_op
    flag = True if op.condition is None else constant_flag(op.condition)
    limit = None if op.trip is None else constant_number(op.trip)
    if not isinstance(last, YieldOp) or flag is None:
        return None
    carried = len(op.init)
    collects = len(op.results) > carried
    if not flag or (limit is not None and limit <= 0):
        return None if collects else list(op.init)
    goes_on = last.args[0] is block.args[1] or constant_flag(last.args[0]) is True
    total = 0 if limit is None else limit * len(block.ops)
    if limit is None or not goes_on or total > OPS or (limit > rounds and total > FEW_OPS):
        return None
    if any(isinstance(v.type, ON_HOST) or not spec_of(v.type).is_static for v in last.args[1 + carried :]):
        return None
    import numpy as np

    parent = op.parent
    assert parent is not None
    b = GeBuilder(InsertPoint.before(op), op.location)
    values = list(op.init)
    columns: list[list[SSAValue]] = [[] for _ in range(len(op.results) - carried)]
    going = b.array(np.array(True))
    for n in range(limit):
        mapper: dict[SSAValue, SSAValue] = dict(
            zip(block.args, [b.array(np.array(n, np.int64)), going, *values], strict=True)
        )
        for inner in block.ops:
            if inner is not last:
                parent.insert_op_before(inner.clone(mapper), op)
        out = [mapper.get(v, v) for v in last.args]
        values = out[1 : 1 + carried]
        for column, value in zip(columns, out[1 + carried :], strict=True):
            column.append(value)
    return [*values, *(b.pack(c, axis=0) for c in columns)]


def carry_collected(op: LoopOp) -> LoopOp | None:
    """A loop that carries what ``op`` collects, in tensors with a row for each round; None unless the number of rounds
    is constant, so that their size is."""
    block = op.body.block
    last = block.last_op
    carried = len(op.init)
    limit = None if op.trip is None else constant_number(op.trip)
    flag = True if op.condition is None else constant_flag(op.condition)
    if not isinstance(last, YieldOp) or len(op.results) == carried or limit is None or limit <= 0 or flag is not True:
        return None
    if last.args[0] is not block.args[1] and constant_flag(last.args[0]) is not True:
        return None
    elements = list(last.args[1 + carried :])
    if any(isinstance(v.type, ON_HOST) or not spec_of(v.type).is_static for v in elements):
        return None
    specs = [spec_of(v.type) for v in elements]
    if any(s.dtype.kind == "c" for s in specs):
        return None
    import numpy as np

    before = GeBuilder(InsertPoint.before(op), op.location)
    whole = [Spec(s.dtype, (limit, *s.shape)) for s in specs]
    rows = before.array(np.arange(limit))
    init = [before.splat(0, s.dtype, s.shape) for s in whole]
    for spec in whole:
        block.insert_arg(tensor_type(spec), len(block.args))
    inside = GeBuilder(InsertPoint.before(last), op.location)
    filled: list[SSAValue] = []
    for arg, element, spec in zip(block.args[2 + carried :], elements, whole, strict=True):
        here = inside.reshape(inside.equal(rows, block.args[0]), shape=[limit, *(1 for _ in spec.shape[1:])])
        row = inside.reshape(element, shape=[1, *spec.shape[1:]])
        filled.append(inside.select(here, row, arg))
    last.operands = [*last.args[: 1 + carried], *filled]
    values = [*op.init, *init]
    new = LoopOp.make([op.trip, op.condition, values], types=[v.type for v in values], location=op.location)
    new.add_region(op.detach_region(op.body))
    before.insert(new)
    for old, result in zip(list(op.results), new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    parent = op.parent
    assert parent is not None
    parent.erase_op(op)
    return new


def constant_number(value: SSAValue) -> int | None:
    """The integer that a constant of one element is, else None."""
    owner = value.owner
    if not isinstance(owner, ConstantOp) or spec_of(owner.y.type).size != 1:
        return None
    array: Any = read_constant(owner.value, spec_of(owner.y.type))
    return int(array.reshape(-1)[0])
