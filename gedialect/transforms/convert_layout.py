"""Chooses channels-last storage where it pays, with the fewest transposes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsolatedFromAbove

from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_block
from gedialect.analysis.mincut import Choice
from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.context import count
from gedialect.ir.spec import spec_of
from gedialect.transforms._layout_roles import (
    FIXED,
    LAST,
    PLAIN,
    Link,
    Role,
    estimate,
    keeps_order,
    permuted,
    reshaped,
    role,
    to_last,
    to_plain,
)

TASK_BYTES = 1 << 20
"""What one more task costs, in bytes moved in that time: 2 us at about 1 TB/s, read and written once."""


@dataclass(frozen=True)
class ConvertLayoutPass(ModulePass):
    """Moves channels to the end: convolutions become NHWC (NDHWC), and transposes stay only where they must.

    Every op that can work in either form (element-wise ops, concat, slice, pad, reductions, softmax, reshapes that
    keep channels apart, …) gets the form that makes the sum of all transposes cheapest: a minimum cut over the whole
    graph, in which a transpose costs its bytes and a task, and nothing where it only moves axes of size 1 (then it is
    a reshape). Pools and the like prefer channels last. Constants are transposed symbolically (they stay
    const-derived), operands of lower rank are reshaped; transposes of the model that change between the two forms
    are absorbed. Filters stay [Cout, Cin / groups, kernel]. Graph inputs and outputs keep their form.
    """

    name = "convert-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for what, times in convert_block(graph_block(op)).items():
            count(ctx, self.name, what, times)


def convert_block(block: Block) -> Counter[str]:
    """Convert one block in place; counts of ops converted and of transposes made."""
    constant = const_derived(block)
    roles: dict[Operation, Role] = {}
    for op in block.ops:
        if isinstance(op, GeOp) and not all(r in constant for r in op.results):
            roles[op] = role(op)
    if not any(_asks(r) for r in roles.values()):
        return Counter()
    _leave_alone(roles, constant)
    forms = _decide(block, roles, constant)
    return _Rewriter(block, roles, forms, constant).run()


def _asks(r: Role) -> bool:
    """Whether an op wants its channels last."""
    return r.link is Link.MUST or r.if_plain


def _leave_alone(roles: dict[Operation, Role], constant: set[SSAValue]) -> None:
    """Fix the ops that no op which wants its channels last is connected to: what they transpose is their own matter.

    A transpose of rank 3 goes with the side that is connected to such an op, its operand's first.
    """
    parent: dict[tuple[Operation, int], tuple[Operation, int]] = {}

    def find(side: tuple[Operation, int]) -> tuple[Operation, int]:
        while (up := parent.setdefault(side, side)) is not side:
            parent[side] = parent[up]
            side = up
        return side

    for op, r in roles.items():
        if r.link in (Link.TIED, Link.MUST, Link.FREE):
            parent[find((op, 0))] = find((op, 1))
        for i in r.operands:
            made = _made_by(op.operands[i], roles)
            if made is not None and op.operands[i] not in constant:
                parent[find((op, 0))] = find((made, 1))
    asked = {find((op, 0)) for op, r in roles.items() if _asks(r)}
    for op, r in roles.items():
        takes, gives = find((op, 0)) in asked, find((op, 1)) in asked
        if not takes and not gives:
            roles[op] = FIXED
        elif r.link is Link.EITHER:
            roles[op] = r.choices[0 if takes else 1]


def _made_by(value: SSAValue, roles: dict[Operation, Role]) -> Operation | None:
    """The op that makes a value and can give it in either form."""
    if not isinstance(value, OpResult) or value.op not in roles:
        return None
    return value.op if value.index in roles[value.op].results else None


Forms = dict[Operation, tuple[int, int]]
"""The form of the operands and of the results of each op."""


def transpose_cost(value: SSAValue) -> int:
    """Cost of changing the form of a value, in bytes."""
    spec = spec_of(value.type)
    return 0 if keeps_order(spec.shape, to_last(spec.rank)) else TASK_BYTES + estimate(spec)


def _decide(block: Block, roles: dict[Operation, Role], constant: set[SSAValue]) -> Forms:
    choice = Choice()
    nodes: dict[Operation, tuple[int, int]] = {}
    for op, r in roles.items():
        cost = sum(transpose_cost(op.operands[i]) for i in r.operands) if r.if_plain else 0
        extra = sum(_low_cost(op, i) for i in r.low if op.operands[i] not in constant)
        match r.link:
            case Link.FIXED:
                nodes[op] = (Choice.ZERO, Choice.ZERO)
            case Link.TIED:
                if r.group is not None and r.group in nodes:
                    nodes[op] = nodes[r.group]
                else:
                    nodes[op] = (n := choice.node(if_zero=cost, if_one=extra), n)
            case Link.MUST:
                nodes[op] = (Choice.ONE, Choice.ONE)
            case Link.TAKES:
                nodes[op] = (choice.node(), Choice.ZERO)
            case Link.GIVES:
                nodes[op] = (Choice.ZERO, choice.node())
            case Link.FREE:
                nodes[op] = (choice.node(), choice.node())
            case Link.FROM_LAST | Link.EITHER:
                nodes[op] = (Choice.ONE, Choice.ZERO)
            case Link.TO_LAST:
                nodes[op] = (Choice.ZERO, choice.node(if_zero=transpose_cost(op.results[0])))

    readers: dict[SSAValue, set[int]] = {}
    for op in block.ops:
        r = roles.get(op)
        for i, value in enumerate(op.operands):
            node = nodes[op][0] if r is not None and i in r.operands else Choice.ZERO
            readers.setdefault(value, set()).add(node)
        for inner in _captured(op):
            readers.setdefault(inner, set()).add(Choice.ZERO)
    for value, found in readers.items():
        if value in constant or not _has_forms(value):
            continue
        maker = _made_by(value, roles)
        choice.differ(nodes[maker][1] if maker is not None else Choice.ZERO, found, transpose_cost(value))
    state = choice.best()
    return {op: (state[a], state[b]) for op, (a, b) in nodes.items()}


def _has_forms(value: SSAValue) -> bool:
    type_ = cast(object, value.type)
    return isinstance(type_, TensorType) and spec_of(value.type).rank >= 3


def _low_cost(op: Operation, i: int) -> int:
    """Cost of an operand of lower rank when the op works channels last."""
    rank, spec = spec_of(op.results[0].type).rank, spec_of(op.operands[i].type)
    shape = (1,) * (rank - spec.rank) + spec.shape
    return 0 if keeps_order(shape, to_last(rank)) else TASK_BYTES + estimate(spec)


def _captured(op: Operation) -> list[SSAValue]:
    """Values that the regions of ``op`` read of the outside (and some that are their own, which does no harm)."""
    if not op.regions or op.has_trait(IsolatedFromAbove):
        return []
    return [v for inner in op.walk() if inner is not op for v in inner.operands]


class _Rewriter:
    """Walks a block in order, keeping for each value the forms it is available in."""

    def __init__(self, block: Block, roles: dict[Operation, Role], forms: Forms, constant: set[SSAValue]):
        self.block = block
        self.roles = roles
        self.forms = forms
        self.constant = constant
        self.have: dict[SSAValue, dict[int, SSAValue]] = {}
        self.counts: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        gone: list[Operation] = []
        for op in list(self.block.ops):
            forms = self.forms.get(op, (PLAIN, PLAIN))
            if forms == (PLAIN, PLAIN):
                self._keep(op)
            else:
                self._convert(op, *forms)
                gone.append(op)
        for op in reversed(gone):
            op.detach()
            op.erase()
        return self.counts

    def _keep(self, op: Operation) -> None:
        """An op that stays as it is takes plain operands."""
        b = self._builder(op)
        new = [self._get(b, v, PLAIN) for v in op.operands]
        if any(a is not v for a, v in zip(new, op.operands, strict=True)):
            op.operands = new
        if _captured(op):
            for inner in op.walk():
                if inner is not op and any(v in self.have for v in inner.operands):
                    inner.operands = [self._get(b, v, PLAIN) if v in self.have else v for v in inner.operands]

    def _convert(self, op: Operation, into: int, out: int) -> None:
        r = self.roles[op]
        assert isinstance(op, GeOp)
        assert r.rewrite is not None
        b = self._builder(op)
        flat: list[SSAValue] = []
        for i, value in enumerate(op.operands):
            if i in r.operands and into == LAST:
                flat.append(self._get(b, value, LAST))
            elif i in r.low and into == LAST:
                flat.append(self._low(b, value, spec_of(op.results[0].type).rank))
            else:
                flat.append(self._get(b, value, PLAIN))
        rest = iter(flat)
        groups = [
            None if g is None else next(rest) if isinstance(g, SSAValue) else [next(rest) for _ in g]
            for g in op.operand_groups()
        ]
        created = len(b.created)
        results = r.rewrite(b, groups, into, out)
        for new in b.created[created:]:
            new.attributes.update(op.attributes)
        for i, (old, new) in enumerate(zip(op.results, results, strict=True)):
            form = out if i in r.results else PLAIN
            self.have.setdefault(old, {})[form] = new
            if new.name_hint is None and old.name_hint is not None:
                new.name_hint = old.name_hint
        self.counts["ops converted"] += 1

    def _builder(self, op: Operation) -> GeBuilder:
        return GeBuilder(InsertPoint.before(op), op.location)

    def _get(self, b: GeBuilder, value: SSAValue, form: int) -> SSAValue:
        """``value`` in a form, transposing it if there is only the other."""
        have = self.have.get(value)
        if have is None:
            if form == PLAIN:
                return value
            have = self.have[value] = {PLAIN: value}
        if form not in have:
            source = have[1 - form]
            spec = spec_of(value.type)
            perm = to_last(spec.rank) if form == LAST else to_plain(spec.rank)
            have[form] = made = self._transposed(b, source, perm)
            if made.name_hint is None and value.name_hint is not None:
                made.name_hint = f"{value.name_hint}.{'last' if form == LAST else 'first'}"
            if value not in self.constant:
                kind = "reshapes" if keeps_order(spec_of(source.type).shape, perm) else "transposes"
                self.counts[f"{kind} made"] += 1
        return have[form]

    @staticmethod
    def _transposed(b: GeBuilder, value: SSAValue, perm: tuple[int, ...]) -> SSAValue:
        spec = spec_of(value.type)
        owner = value.owner
        want = permuted(spec, perm)
        if isinstance(owner, ConstantOp) and isinstance(owner.value, SplatAttr):
            return b.constant(owner.value, want)
        if spec.is_static and keeps_order(spec.shape, perm):
            return value if want.shape == spec.shape else reshaped(b, value, want.shape)
        return cast(SSAValue, b.transpose(value, perm=perm))

    def _low(self, b: GeBuilder, value: SSAValue, rank: int) -> SSAValue:
        """An operand of lower rank so that it broadcasts to the last form of the result as it did to the plain one."""
        value = self._get(b, value, PLAIN)
        spec = spec_of(value.type)
        full = spec.with_shape((1,) * (rank - spec.rank) + spec.shape)
        want = list(permuted(full, to_last(rank)).shape)
        while want and want[0] == 1:
            del want[0]
        owner = value.owner
        if isinstance(owner, ConstantOp) and isinstance(owner.value, SplatAttr):
            return b.constant(owner.value, spec.with_shape(want))
        if spec.is_static and keeps_order(full.shape, to_last(rank)):
            return value if tuple(want) == spec.shape else reshaped(b, value, want)
        wide = b.unsqueeze(value, axes=list(range(rank - spec.rank)))
        return cast(SSAValue, b.transpose(wide, perm=to_last(rank)))
