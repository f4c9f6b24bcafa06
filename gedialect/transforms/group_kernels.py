"""``group-kernels``: ops that run as one kernel go into a ``ge.fusion``.

Every op that a kernel can compute ends up in one; what stays outside is a constant, a view, or runs on
the host. Grouping is greedy in program order: an op joins the kernel of an operand where the result
stays one kernel without a cycle, then transposes and other strided reads join the kernel that reads them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from gedialect.analysis.constness import const_derived
from gedialect.analysis.fusibility import (
    Group,
    join_epilogue,
    join_mix,
    join_vector,
    join_window,
    kernel_kind,
    merge_vector,
    strided_results,
    valid_output,
)
from gedialect.analysis.labels import label_ops
from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.dialects.ge.shape import ReshapeOp, SplitOp
from gedialect.errors import UsageError
from gedialect.ir.access import Access
from gedialect.ir.context import count
from gedialect.ir.sources import merge_ops
from gedialect.ir.spec import spec_of
from gedialect.targets import DEFAULT_TARGET, Target, load_target
from gedialect.transforms._propagate import functions
from gedialect.transforms._recompute import Recompute

CYCLE_SEARCH = 400
"""Ops looked at to prove that a merge makes no cycle; beyond it the merge is refused."""


@dataclass(frozen=True)
class GroupKernelsPass(ModulePass):
    """Put the ops of each kernel into a ``ge.fusion``; ``fuse=false`` gives each op its own.

    ``elementwise=false`` lets no ops that compute share a kernel, ``moves=false`` no kernel do moves of data itself.
    ``forbid`` are labels of kernels not to make: the ops in order, such as ``layernorm_add_gelu``. ``max-ops`` bounds
    the ops of a kernel; without it what the ``target``'s on-chip buffers hold does. An op with ``fuse_flag = false``
    stays alone. A value that other kernels read is computed again in each of them where that costs less than to store
    and load it on the target's numbers (``recompute=false``: never). A ``cut`` on a ``ge.fusion`` says which limit
    kept a reader of its results out.
    """

    name: ClassVar[str] = "group-kernels"
    fuse: bool = True
    target: str = DEFAULT_TARGET
    elementwise: bool = True
    moves: bool = True
    recompute: bool = True
    forbid: tuple[str, ...] = ()
    max_ops: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        labels: list[tuple[str, ...]] = []
        for name in self.forbid:
            ops = label_ops(name)
            if ops is None:
                raise UsageError(
                    f"{name} is no label of a kernel", code="GE1107", hint="write the ops in order: conv2d_relu"
                )
            labels.append(ops)
        limits = Limits(load_target(self.target), self.elementwise, self.moves, self.recompute, labels, self.max_ops)
        for function in functions(op):
            if self.fuse and self.moves:
                _splits_as_slices(function.body.block)
            grouping = _Grouping(function.body.block, limits if self.fuse else None)
            grouping.run()
            if grouping.again:
                count(ctx, self.name, "values computed again", grouping.again)


@dataclass
class Limits:
    """What may share a kernel beyond what fits; see the pass."""

    target: Target
    elementwise: bool = True
    moves: bool = True
    recompute: bool = True
    labels: Sequence[tuple[str, ...]] = ()
    max_ops: int = 0

    @property
    def calls(self) -> int:
        """Vector instructions of a kernel: each keeps a slot of the unified buffer for its code and tiles."""
        return self.target.memory.ub // SLOT_BYTES

    def reason(self, group: Group) -> str | None:
        """Why the ops of ``group`` may not be one kernel; None if they may."""
        names = tuple(op.name for op in group.ops)
        if self.max_ops and len(names) > self.max_ops:
            return f"max_fusion_ops={self.max_ops}"
        if group.calls > self.calls:
            return f"{self.calls} vector instructions fill the unified buffer"
        for label in self.labels:
            if any(names[i : i + len(label)] == label for i in range(len(names) - len(label) + 1)):
                return f"{'_'.join(n.removeprefix('ge.') for n in label)} is off"
        return None


SLOT_BYTES = 1024


def _flagged(op: Operation) -> bool:
    """Whether ``fuse_flag = false`` keeps an op by itself."""
    flag = op.attributes.get("fuse_flag")
    return isinstance(flag, IntegerAttr) and flag.value.data == 0


def _splits_as_slices(block: Block) -> None:
    """A split whose pieces are each moved or multiplied by one op becomes slices, which those ops do themselves.

    Pieces that are taken apart into heads first, [..., n d] -> [..., n, d], become slices of all the heads.
    """
    for op in list(block.ops):
        if isinstance(op, SplitOp) and kernel_kind(op) is not None:
            axis: int = op.attrs().split_dim % len(op.attrs().shape)
            last = axis == len(op.attrs().shape) - 1
            pieces = [r for r in op.results if r.first_use is not None]
            views = [_heads_view(r) for r in pieces] if last else []
            sizes = {spec_of(v.type).shape[-1] for v in views if v is not None}
            if views and None not in views and len(sizes) == 1:
                _slices(op, axis, [v for v in views if v is not None], sizes.pop())
            elif all(_read_once(r) for r in pieces):
                _slices(op, axis, pieces, None)


def _slices(op: SplitOp, axis: int, pieces: Sequence[SSAValue], d: int | None) -> None:
    """Replace ``pieces``, the used results of a split or (with ``d``) their views as heads, by slices."""
    builder = GeBuilder(InsertPoint.before(op), op.location)
    used = [r for r in op.results if r.first_use is not None]
    x, at, n = op.operands[0], 0, 0
    if d is not None:
        shape = spec_of(x.type).shape
        x = builder.reshape(x, shape=(*shape[:-1], shape[-1] // d, d))
    for result, size in zip(op.results, op.attrs().size_splits, strict=True):
        step = size // (d or 1)
        if result in used:
            piece: SSAValue = builder.slice(x, begin=[at], end=[at + step], axes=[axis], strides=[1])
            piece.name_hint = pieces[n].name_hint
            pieces[n].replace_all_uses_with(piece)
            n += 1
        at += step
    for owner in [*([v.owner for v in pieces] if d is not None else []), op]:
        assert isinstance(owner, Operation)
        owner.detach()
        owner.erase()


def _heads_view(value: SSAValue) -> SSAValue | None:
    """``value`` [..., n d] as [..., n, d], if a view of that form is all that reads it, for an op that can move it."""
    user = value.get_user_of_unique_use()
    if not isinstance(user, ReshapeOp) or not _read_once(user.results[0]):
        return None
    whole, split = spec_of(value.type).shape, spec_of(user.results[0].type).shape
    same = len(split) == len(whole) + 1 and split[:-2] == whole[:-1] and split[-2] * split[-1] == whole[-1]
    return user.results[0] if same else None


def _read_once(value: SSAValue) -> bool:
    """Whether one op reads ``value``, and can do so by strides."""
    user = value.get_user_of_unique_use()
    return (
        user is not None and user.name in ("ge.transpose", "ge.concat", "ge.matmul") and kernel_kind(user) is not None
    )


class _Grouping:
    def __init__(self, block: Block, limits: Limits | None):
        self.block = block
        self.limits = limits
        self.again = 0
        self.cuts: dict[Operation, str] = {}
        """op whose group was kept apart from its readers -> by which limit"""
        constant = const_derived(block)
        self.ops = [op for op in block.ops if not (op.results and all(r in constant for r in op.results))]
        self.position: dict[Operation, float] = {op: i for i, op in enumerate(self.ops)}
        self.group_of: dict[Operation, Group] = {}

    def run(self) -> None:
        for op in self.ops:
            if isinstance(op, GeOp) and not isinstance(op, FusionOp) and (kind := kernel_kind(op)) is not None:
                group = self._join(op, kind) if self.limits is not None and self.limits.elementwise else None
                self._set(group or Group.of(op, kind))
        if self.limits is not None:
            if self.limits.elementwise:
                if self.limits.recompute:
                    again = Recompute(self.ops, self.position, self.group_of, self._may_copy, self.limits.target)
                    again.run()
                    self.again = again.times
                self._mix()
            if self.limits.moves:
                for op in reversed(self.ops):
                    self._absorb_reads(op)
                for op in self.ops:
                    self._absorb_write(op)
        self._rebuild()

    def _set(self, group: Group) -> None:
        group.ops.sort(key=self.position.__getitem__)
        for op in group.ops:
            self.group_of[op] = group

    # ------------------------------------------------------------------ joining
    def _join(self, op: GeOp, kind: str) -> Group | None:
        """The group of an operand, extended by ``op`` and by further operands' groups; None if there is none."""
        if kind != "vector":
            return None
        producers: list[Group] = []
        for value in op.operands:
            group = self.group_of.get(value.owner) if isinstance(value.owner, Operation) else None
            if group is not None and group not in producers:
                producers.append(group)
        producers.sort(key=lambda g: (g.kind == "vector", -self.position[g.ops[-1]]))
        joined: Group | None = None
        for producer in producers:
            if joined is None:
                candidate = join_epilogue(producer, op) or join_window(producer, op) or join_vector(producer, op)
            else:
                candidate = merge_vector(producer, joined) if producer.kind == joined.kind == "vector" else None
            if candidate is not None and self._may_stand(candidate):
                joined = candidate
        return joined

    def _may_copy(self, group: Group) -> bool:
        """``_may_stand`` for a trial: a refusal cuts nothing."""
        return self._may_stand(group, note=False)

    def _may_stand(self, group: Group, *, note: bool = True) -> bool:
        """Whether a group that fits by form may be one kernel."""
        group.ops.sort(key=self.position.__getitem__)
        if any(_flagged(op) for op in group.ops) or not self._outputs_fit(group) or self._cyclic(group.ops):
            return False
        reason = None if self.limits is None else self.limits.reason(group)
        if reason is not None and note:
            self.cuts.update(dict.fromkeys(group.ops[:-1], reason))
        return reason is None

    def _outputs_fit(self, group: Group) -> bool:
        if group.kind != "vector":
            return True
        inside: set[Operation] = set(group.ops)
        last = group.ops[-1]
        return all(
            valid_output(group, spec_of(r.type).shape)
            for op in group.ops
            for r in op.results
            if op is last or any(u.operation not in inside for u in r.uses)
        )

    def _cyclic(self, ops: list[GeOp]) -> bool:
        """Whether something outside ``ops`` both needs one of them and is needed by another."""
        inside: set[Operation] = set(ops)
        first = min(self.position[o] for o in ops)
        seen: set[Operation] = set()
        work: list[Operation] = []

        def visit(operands: tuple[SSAValue, ...] | list[SSAValue]) -> None:
            for value in operands:
                owner = value.owner
                if isinstance(owner, Operation) and owner not in seen and self._last(owner) >= first:
                    seen.add(owner)
                    work.append(owner)

        for op in ops:
            visit([v for v in op.operands if v.owner not in inside])
        while work:
            op = work.pop()
            if op in inside:
                return True
            if len(seen) > CYCLE_SEARCH:
                return True
            for member in self.group_of[op].ops if op in self.group_of else [op]:
                if member in inside:
                    return True
                seen.add(member)
                visit(list(member.operands))
        return False

    def _last(self, op: Operation) -> float:
        """Where the last op of the kernel of ``op`` stands in the program."""
        group = self.group_of.get(op)
        return max(self.position[o] for o in group.ops) if group is not None else self.position.get(op, -1)

    def _mix(self) -> None:
        """Let the latest product whose result a vector group works on, element by element, take it over."""
        for vector in list(dict.fromkeys(self.group_of.values())):
            if vector.kind != "vector":
                continue
            owners = {v.owner for op in vector.ops for v in op.operands}
            producers = {g for o in owners if isinstance(o, Operation) and (g := self.group_of.get(o)) is not None}
            for cube in sorted(producers, key=lambda g: -self.position[g.ops[-1]]):
                mixed = join_mix(cube, vector)
                if mixed is not None and self._may_stand(mixed):
                    self._set(mixed)
                    break

    # ------------------------------------------------------------------ data movement
    def _absorb_reads(self, op: Operation) -> None:
        """Let the one kernel that reads a strided read do the reading."""
        group = self.group_of.get(op)
        if group is None or group.kind != "move" or len(group.ops) != 1 or len(op.results) != 1:
            return
        users = {u.operation for u in op.results[0].uses}
        targets = {self.group_of.get(u) for u in users}
        target = targets.pop() if len(targets) == 1 else None
        if (
            target is None
            or target is group
            or target.kind in ("window", "lines", "scatter")
            or (target.fixed and target.kind == "move")
        ):
            return
        if target.kind == "move" and len(target.ops) == 1 and target.ops[0].name not in ("ge.concat", "ge.transpose"):
            return
        if _flagged(op) or any(_flagged(o) for o in target.ops) or not self._within(target, op):
            return
        ends = self._reads(op, set(target.ops))
        if ends is None or (len(target.ops) > 1 and self._cyclic([*target.ops, group.ops[0]])):
            return
        if target.kind != "move" and any(access.reshape(spec_of(v.type).shape) is None for v, access in ends):
            return  # a computation reads with one stride per axis
        target.ops.append(group.ops[0])
        self._set(target)

    def _within(self, group: Group, op: Operation) -> bool:
        """Whether the limits let a move ``op`` join a group."""
        assert self.limits is not None and isinstance(op, GeOp)
        ops = sorted([*group.ops, op], key=self.position.__getitem__)
        reason = self.limits.reason(Group(group.kind, ops, calls=group.calls))
        if reason is not None:
            self.cuts[ops[0]] = reason
        return reason is None

    def _reads(self, op: Operation, inside: set[Operation]) -> list[tuple[SSAValue, Access]] | None:
        """The ends of the strided reads that start with ``op`` and go on ``inside`` a group, each with what it reads of
        ``op``'s operand; None if strides cannot say one of them."""
        ends: list[tuple[SSAValue, Access]] = []
        work: list[tuple[Operation, Access]] = [(op, Access.contiguous(spec_of(op.operands[0].type).shape))]
        while work:
            op, whole = work.pop()
            results = strided_results(op, whole)
            if results is None:
                return None
            for result, access in zip(op.results, results, strict=True):
                users = list(dict.fromkeys(u.operation for u in result.uses))
                # a concat reads each piece by itself
                moves = [u for u in users if u in inside and _moves(u) and u.name != "ge.concat"]
                if len(moves) < len(users) or not users:
                    ends.append((result, access))
                work += [(u, access) for u in moves]
        return ends

    def _absorb_write(self, op: Operation) -> None:
        """Let a cube kernel store its result transposed."""
        group = self.group_of.get(op)
        if group is None or group.kind != "move" or len(group.ops) != 1 or op.name != "ge.transpose":
            return
        producer = op.operands[0].owner
        target = self.group_of.get(producer) if isinstance(producer, Operation) else None
        if target is None or target.kind != "cube" or target.tail is not op.operands[0]:
            return
        if not op.operands[0].has_one_use() or target.fixed:
            return
        if _flagged(op) or any(_flagged(o) for o in target.ops) or not self._within(target, op):
            return
        target.ops.append(group.ops[0])
        target.fixed = True
        target.tail = op.results[0]
        self._set(target)

    # ------------------------------------------------------------------ result
    def _rebuild(self) -> None:
        """Replace each group by a ``ge.fusion``, in an order that keeps the program's where it can."""
        groups = list(dict.fromkeys(self.group_of.values()))
        units: dict[Operation, int] = {}
        members: list[list[Operation]] = []
        for op in self.ops:
            if op in units:
                continue
            ops: list[Operation] = list(self.group_of[op].ops) if op in self.group_of else [op]
            for o in ops:
                units[o] = len(members)
            members.append(ops)
        waiting = [0] * len(members)
        readers: list[list[int]] = [[] for _ in members]
        for unit, ops in enumerate(members):
            needs = {
                units[v.owner]
                for o in ops
                for v in o.operands
                if isinstance(v.owner, Operation) and v.owner in units and units[v.owner] != unit
            }
            waiting[unit] = len(needs)
            for n in sorted(needs):
                readers[n].append(unit)
        ready = [u for u, n in enumerate(waiting) if n == 0]
        heapq.heapify(ready)
        order: list[int] = []
        while ready:
            unit = heapq.heappop(ready)
            order.append(unit)
            for reader in readers[unit]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    heapq.heappush(ready, reader)
        assert len(order) == len(members), "grouping made a cycle"
        group_at = {units[g.ops[0]]: g for g in groups}
        for unit in order:
            for o in members[unit]:
                o.detach()
                self.block.add_op(o)
        for unit in order:
            if unit in group_at:
                group = group_at[unit]
                reasons = dict.fromkeys(self.cuts[o] for o in group.ops if o in self.cuts)
                _outline(group, ", ".join(reasons))


def _outline(group: Group, cut: str) -> None:
    """Move a group's ops, which stand together, into a ``ge.fusion`` at their place."""
    inside: set[Operation] = set(group.ops)
    operands: list[SSAValue] = []
    splats: dict[SSAValue, ConstantOp] = {}
    for op in group.ops:
        for value in op.operands:
            if value.owner in inside or value in splats or value in operands:
                continue
            constant = value.owner
            if isinstance(constant, ConstantOp) and (
                (isinstance(constant.value, SplatAttr) or spec_of(value.type).size == 1)
                and all(_takes_scalars(u.operation) for u in value.uses if u.operation in inside)
            ):
                splats[value] = constant
            else:
                operands.append(value)
    outputs = [r for op in group.ops for r in op.results if any(u.operation not in inside for u in r.uses)]
    if not outputs:
        outputs = list(group.ops[-1].results)
    block = Block(arg_types=[v.type for v in operands])
    inner: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value, arg in inner.items():
        arg.name_hint = value.name_hint
    for value, constant in splats.items():
        copy = constant.clone()
        block.add_op(copy)
        inner[value] = copy.y
        copy.y.name_hint = value.name_hint
    last = group.ops[-1]
    fusion_at = InsertPoint.after(last)
    for op in group.ops:
        op.operands = [inner.get(v, v) for v in op.operands]
    parent = last.parent
    assert parent is not None
    fusion = FusionOp.create(
        operands=operands,
        result_types=[v.type for v in outputs],
        attributes={
            "label": StringAttr("_".join(op.name.removeprefix("ge.") for op in group.ops)),
            **({"cut": StringAttr(cut)} if cut else {}),
        },
        regions=[Region(block)],
        location=merge_ops(group.ops),
    )
    Rewriter.insert_op(fusion, fusion_at)
    for old, new in zip(outputs, fusion.results, strict=True):
        new.name_hint = old.name_hint
        for use in list(old.uses):
            if use.operation not in inside:
                use.operation.operands[use.index] = new
    for op in group.ops:
        op.detach()
        block.add_op(op)
    block.add_op(YieldOp.create(operands=outputs))


def _takes_scalars(op: Operation) -> bool:
    """Whether a kernel can hold a constant operand of this op as a number in its code."""
    return isinstance(op, GeOp) and (
        op.FUSION_CLASS in (FusionClass.ELEMENTWISE, FusionClass.REDUCTION) or op.name == "ge.pad"
    )


def _moves(op: Operation) -> bool:
    return isinstance(op, GeOp) and op.FUSION_CLASS in (FusionClass.DATA_MOVEMENT, FusionClass.BROADCAST)
