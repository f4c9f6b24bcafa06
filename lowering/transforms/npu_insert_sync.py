"""``npu-insert-sync``: flags and barriers that make the pipes respect every dependence."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from gedialect.binary.isa import Pipe
from gedialect.dialects.npu import OPS, KernelOp

from ..npu.flag_ids import number_flags
from ..npu.sync import Plan, late_wait_place, plan_function, preset_place


@dataclass(frozen=True)
class NpuInsertSyncPass(ModulePass):
    """Inserts `npu.set_flag`, `npu.wait_flag` and `npu.pipe_barrier` into kernels whose tiles have addresses.

    Dependences are found between bytes: read after write, write after read, write after write, on chip and within
    each kernel argument (different arguments do not overlap). Between pipes they cost a flag, inside a pipe a
    barrier (`gedialect.binary.isa.needs_barrier`). Flags that follow from others are left out; see `lowering.npu.sync`.
    """

    name = "npu-insert-sync"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.walk()):
            if isinstance(kernel, KernelOp):
                insert_sync(kernel)


def insert_sync(kernel: KernelOp) -> None:
    """Synchronise one kernel."""
    for function in kernel.functions:
        plan = plan_function(function, kernel)
        number_flags(plan)
        _insert_all(plan)


def _insert_all(plan: Plan) -> None:
    """The flags of a function, or of a loop that runs once, and of all loops inside."""
    _insert(plan)
    for pos, unit in enumerate(plan.units):
        if unit.inner is not None and unit.inner.alone:
            _insert_all(unit.inner)
        elif unit.inner is not None:
            inner = list(unit.inner.plans())
            for p in inner:
                _insert(p)
            _insert_ends(plan, pos, inner)


def _flag(name: str, src: Pipe, dst: Pipe, ident: int, slots: int = 1) -> Operation:
    properties: dict[str, Attribute] = {
        "src": StringAttr(src.name),
        "dst": StringAttr(dst.name),
        "id": IntegerAttr(ident, i64),
    }
    if slots > 1:
        properties["slots"] = IntegerAttr(slots, i64)
    return OPS[name].create(properties=properties)


def _insert(plan: Plan) -> None:
    """Put the plan's flags and barriers into its block."""
    items: list[tuple[int, Operation]] = []
    for f in plan.flags:
        items.append((f.set_at, _flag("set_flag", f.src, f.dst, f.id, f.slots)))
        items.append((f.wait_at, _flag("wait_flag", f.src, f.dst, f.id, f.slots)))
    for place, pipe in sorted(plan.barriers):
        items.append((place, OPS["pipe_barrier"].create(properties={"pipe": StringAttr(pipe.name)})))
    _place(plan, items)


def _insert_ends(plan: Plan, pos: int, inner: list[Plan]) -> None:
    """Around the outermost loop: carried flags are set once before it and waited for once after it."""
    items: list[tuple[int, Operation]] = []
    ids = dict.fromkeys((f.src, f.dst, f.id + i) for p in inner for f in p.flags if f.carried for i in range(f.slots))
    for src, dst, ident in ids:
        items.append((preset_place(pos), _flag("set_flag", src, dst, ident)))
        items.append((late_wait_place(pos), _flag("wait_flag", src, dst, ident)))
    _place(plan, items)


def _place(plan: Plan, items: list[tuple[int, Operation]]) -> None:
    before: dict[int, list[Operation]] = {}
    after: dict[int, list[Operation]] = {}
    for place, op in sorted(items, key=lambda item: item[0]):
        (before if place % 8 < 4 else after).setdefault(place // 8, []).append(op)
    for pos, ops in before.items():
        unit = plan.units[pos].op
        assert unit.parent is not None
        unit.parent.insert_ops_before(ops, unit)
    for pos, ops in after.items():
        unit = plan.units[pos].op
        assert unit.parent is not None
        unit.parent.insert_ops_after(ops, unit)
