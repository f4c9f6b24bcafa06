"""Assigns the bytes of every result that is computed at run time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_block, graph_function
from gedialect.analysis.inplace import may_overwrite
from gedialect.analysis.liveness import Liveness, liveness
from gedialect.analysis.packing import Buffer, align, lower_bound, pack
from gedialect.dialects.ge.attrs import KernelAttr, PlaceAttr
from gedialect.dialects.ge.base import is_view
from gedialect.ir.context import count
from gedialect.ir.diagnostics import op_error, value_text
from gedialect.ir.spec import spec_of

ALIGNMENT = 512
"""Bytes; the best address for a burst (target files: ``alignment.gm_buffer``)."""

PLAN_ATTRS = ("ge.workspace", "ge.workspace_no_reuse", "ge.workspace_lower_bound")
"""Function attributes, in bytes."""


@dataclass
class _Need:
    """Bytes needed from ``start`` to ``end`` by a result, or by the scratch of an op."""

    owner: SSAValue | Operation
    size: int
    start: int
    end: int


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Gives every result computed at run time its bytes in the workspace, or in the buffer of a graph output.

    Each op of the graph function that is no view and not const-derived gets ``place``, one ``#ge.place`` per result,
    and ``scratch_place`` if its kernel needs scratch. A value that is a graph output, perhaps through views, and is
    no input, constant or earlier output is produced in that output's buffer; the emitter copies the others. Offsets
    are multiples of 512. The function gets ``ge.workspace`` (bytes), ``ge.workspace_no_reuse`` and
    ``ge.workspace_lower_bound`` (the most bytes live at one time). ``reuse=false`` gives every buffer its own bytes;
    ``in-place=true`` lets element-wise kernels write over an operand that dies there.
    """

    name = "plan-memory"
    reuse: bool = True
    in_place: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        function, block = graph_function(op), graph_block(op)
        live = liveness(block)
        constant = const_derived(block)
        outputs = output_buffers(live, constant)
        needs = list(_needs(block, live, constant, outputs))
        merged = _merge_in_place(block, live, needs) if self.in_place and self.reuse else {}

        kept = [n for n in needs if n.owner not in merged]
        buffers = [Buffer(align(n.size, ALIGNMENT), n.start, n.end) for n in kept]
        apart = sum(align(n.size, ALIGNMENT) for n in needs)
        if self.reuse:
            packing = pack(buffers, ALIGNMENT)
            offsets, total, bound = packing.offsets, packing.peak, packing.lower_bound
            count(ctx, self.name, f"order: {packing.order}")
        else:
            offsets, total, bound = _side_by_side(buffers), apart, lower_bound(buffers)
        at: dict[SSAValue | Operation, int] = {n.owner: o for n, o in zip(kept, offsets, strict=True)}
        for owner, target in merged.items():
            while target in merged:
                target = merged[target]
            at[owner] = at[target]

        _write(block, constant, outputs, at)
        for name, value in zip(PLAN_ATTRS, (total, apart, bound), strict=True):
            function.attributes[name] = IntegerAttr(value, i64)
        count(ctx, self.name, "buffers", len(needs))
        if merged:
            count(ctx, self.name, "in place", len(merged))


def output_buffers(live: Liveness, constant: set[SSAValue]) -> dict[SSAValue, int]:
    """Results that are produced in the buffer of a graph output -> its index."""
    found: dict[SSAValue, int] = {}
    for k, value in enumerate(live.outputs):
        owner = live.roots[value]
        if isinstance(owner, OpResult) and owner not in constant and owner not in found:
            found[owner] = k
    return found


def _needs(block: Block, live: Liveness, constant: set[SSAValue], outputs: dict[SSAValue, int]) -> Iterator[_Need]:
    for op in block.ops:
        position = live.positions[op]
        if (scratch := scratch_bytes(op)) > 0:
            yield _Need(op, scratch, position, position)
        if is_view(type(op)):
            continue
        for result in op.results:
            if result in constant or result in outputs:
                continue
            spec = spec_of(result.type)
            if not spec.is_static:
                raise op_error(
                    op,
                    f"{value_text(result)} has the unknown size {spec}; memory is planned for known sizes",
                    code="GE1014",
                    hint="fix the sizes of the inputs with --input-shape",
                )
            yield _Need(result, spec.nbytes, position, live.intervals[result].end)


def scratch_bytes(op: Operation) -> int:
    """Bytes of global memory the kernel of ``op`` needs for itself."""
    kernel = op.attributes.get("kernel")
    return kernel.scratch.data if isinstance(kernel, KernelAttr) else 0


def _side_by_side(buffers: list[Buffer]) -> list[int]:
    offsets: list[int] = []
    total = 0
    for buffer in buffers:
        offsets.append(total)
        total += buffer.size
    return offsets


def _merge_in_place(block: Block, live: Liveness, needs: list[_Need]) -> dict[SSAValue | Operation, SSAValue]:
    """Results that take over the bytes of an operand -> that operand's owner, whose need then lasts for both."""
    need = {n.owner: n for n in needs}
    merged: dict[SSAValue | Operation, SSAValue] = {}
    for op in block.ops:
        position = live.positions[op]
        taken: set[SSAValue] = set()
        for result in op.results:
            if result not in need:
                continue
            for operand in may_overwrite(op, result):
                owner = live.roots[operand]
                if owner in taken or owner not in need or live.intervals[owner].end != position:
                    continue
                if need[owner].size != need[result].size:
                    continue
                taken.add(owner)
                merged[result] = owner
                holder: SSAValue = owner
                while holder in merged:
                    holder = merged[holder]
                need[holder].end = need[result].end
                break
    return merged


def _write(
    block: Block,
    constant: set[SSAValue],
    outputs: dict[SSAValue, int],
    at: dict[SSAValue | Operation, int],
) -> None:
    for op in block.ops:
        op.attributes.pop("place", None)
        op.attributes.pop("scratch_place", None)
        if op in at:
            op.attributes["scratch_place"] = PlaceAttr.workspace(at[op])
        if not op.results or op.has_trait(IsTerminator) or is_view(type(op)) or op.results[0] in constant:
            continue
        op.attributes["place"] = ArrayAttr(
            [
                PlaceAttr.output(outputs[r]) if r in outputs else PlaceAttr.workspace(at[cast(SSAValue, r)])
                for r in op.results
            ]
        )
