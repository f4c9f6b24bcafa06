"""Proof that a memory plan is sound, from the op order alone.

Shares no code with the planner: lifetimes are derived here again, backwards from the last reader, and the events of
the run are replayed against a sorted map of the bytes in use.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure

from gedialect.analysis.graph import graph_block, graph_function
from gedialect.analysis.inplace import may_overwrite
from gedialect.dialects.ge.attrs import KernelAttr, PlaceAttr
from gedialect.dialects.ge.base import FusionClass, GeOp, to_python
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir.diagnostics import op_error, value_text
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of

ALIGNMENT = 512
OVERLAP = "GE1401"
MALFORMED = "GE1405"


@dataclass(frozen=True)
class PlanFigures:
    """Bytes: what the plan says it needs, what no plan could do without, what it takes without any reuse."""

    workspace: int
    lower_bound: int
    no_reuse: int
    buffers: int


@dataclass(frozen=True, order=True)
class _Held:
    """Bytes [start, end) of the workspace, held by a value or by the scratch of an op."""

    start: int
    end: int
    number: int


@dataclass
class _Storage:
    owner: SSAValue | Operation
    op: Operation
    place: PlaceAttr
    size: int
    born: int
    dies: int

    @property
    def text(self) -> str:
        what = value_text(self.owner) if isinstance(self.owner, SSAValue) else f"scratch of {self.op.name}"
        nodes = names(self.op)
        return f"{what} (node {', '.join(nodes[:2])})" if nodes else what


def verify_plan(module: ModuleOp) -> PlanFigures:
    """Checks the plan of a module's graph function.

    GE1401 if two values that are needed at the same time share bytes, naming both; GE1405 if a place is missing,
    superfluous, not aligned, out of bounds, or an output buffer is not what the function returns.
    """
    function, block = graph_function(module), graph_block(module)
    total = _figure(function, "ge.workspace")
    storages = _storages(block)
    _check_outputs(block, storages)
    held = [s for s in storages if s.place.region.data == "workspace"]
    for s in held:
        offset = s.place.at.data
        if offset % ALIGNMENT:
            raise op_error(s.op, f"{s.text} lies at {offset}, which is no multiple of {ALIGNMENT}", code=MALFORMED)
        if offset + s.size > total:
            message = f"{s.text} takes bytes {offset} to {offset + s.size} of a workspace of {total}"
            raise op_error(s.op, message, code=MALFORMED)
    bound = _replay(held, storages)
    apart = sum(_padded(s.size) for s in held)
    stated = _figure(function, "ge.workspace_lower_bound")
    if total < bound or total < stated:
        raise GeError(f"the plan states {total} bytes, {max(bound, stated)} are live at one time", code=MALFORMED)
    return PlanFigures(total, bound, apart, len(held))


def _padded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _figure(function: FuncOp, name: str) -> int:
    attr = function.attributes.get(name)
    value = to_python(attr) if attr is not None else None
    if not isinstance(value, int):
        raise GeError(f"the graph function has no {name}", code=MALFORMED, hint="run plan-memory first")
    return value


def _shares_bytes(op: Operation) -> bool:
    return isinstance(op, GeOp) and op.FUSION_CLASS is FusionClass.VIEW


def _storages(block: Block) -> list[_Storage]:
    """Everything that has a place, with the first and last position at which it is needed."""
    ops = list(block.ops)
    last_read: dict[SSAValue, int] = {}
    for position, op in enumerate(ops):
        for value in _reads(op):
            last_read[value] = position
    # a view needs its operand for as long as it is needed itself: from the last op to the first
    for position in range(len(ops) - 1, -1, -1):
        op = ops[position]
        if _shares_bytes(op):
            source = op.operands[0]
            for result in op.results:
                last_read[source] = max(last_read[source], last_read.get(result, position))

    constant: set[SSAValue] = set()
    found: list[_Storage] = []
    for position, op in enumerate(ops):
        kernel = op.attributes.get("kernel")
        scratch = kernel.scratch.data if isinstance(kernel, KernelAttr) else 0
        place = op.attributes.get("scratch_place")
        if (scratch > 0) != (place is not None):
            raise op_error(op, f"{op.name} needs {scratch} bytes of scratch, scratch_place is {place}", code=MALFORMED)
        if isinstance(place, PlaceAttr):
            if place.region.data != "workspace":
                raise op_error(op, "scratch lies outside the workspace", code=MALFORMED)
            found.append(_Storage(op, op, place, scratch, position, position))
        places = op.attributes.get("place")
        free = isinstance(op, ConstantOp) or (
            isinstance(op, GeOp)
            and places is None  # what is too large to store runs, and has a place
            and not op.regions
            and op.has_trait(Pure)
            and not op.has_trait(IsTerminator)
            and all(v in constant for v in op.operands)
        )
        if free:
            constant.update(op.results)
        if free or _shares_bytes(op) or not op.results:
            if places is not None:
                raise op_error(op, f"{op.name} needs no bytes of its own but has a place", code=MALFORMED)
            continue
        if not isinstance(places, ArrayAttr) or len(entries := cast("ArrayAttr[Attribute]", places)) != len(op.results):
            raise op_error(op, f"{op.name} has no place for each of its results", code=MALFORMED)
        for result, entry in zip(op.results, entries, strict=True):
            if not isinstance(entry, PlaceAttr):
                raise op_error(op, f"{entry} is no #ge.place", code=MALFORMED)
            spec = spec_of(result.type)
            if not spec.is_static:
                message = f"{value_text(result)} has the unknown size {spec}; plans are for known sizes"
                hint = "fix the sizes of the inputs with --input-shape"
                raise op_error(op, message, code="GE1014", hint=hint)
            size = spec.nbytes
            found.append(_Storage(result, op, entry, size, position, last_read.get(result, position)))
    return found


def _reads(op: Operation) -> list[SSAValue]:
    values = list(op.operands)
    if op.regions and not op.has_trait(IsolatedFromAbove):
        # values of the outside are those the regions use without making them; the others do no harm here
        values += [v for inner in op.walk() for v in inner.operands]
    return values


def _check_outputs(block: Block, storages: list[_Storage]) -> None:
    """Each output buffer is used by one value, and the function returns just that one there."""
    last = block.last_op
    returned: list[SSAValue] = []
    for value in last.operands if last is not None else ():
        owner = value.owner
        while isinstance(owner, Operation) and _shares_bytes(owner):
            value = owner.operands[0]
            owner = value.owner
        returned.append(value)
    used: dict[int, _Storage] = {}
    for s in storages:
        if s.place.region.data != "output":
            continue
        k = s.place.at.data
        if k in used:
            raise op_error(s.op, f"{s.text} and {used[k].text} both lie in the buffer of output {k}", code=OVERLAP)
        if k >= len(returned) or returned[k] is not s.owner:
            raise op_error(
                s.op, f"{s.text} lies in the buffer of output {k}, which returns another value", code=OVERLAP
            )
        used[k] = s


def _replay(held: list[_Storage], storages: list[_Storage]) -> int:
    """Runs through the positions, taking and giving back bytes; returns the most that was live at once."""
    births: dict[int, list[int]] = {}
    deaths: dict[int, list[int]] = {}
    for i, s in enumerate(held):
        births.setdefault(s.born, []).append(i)
        deaths.setdefault(s.dies, []).append(i)
    in_use: list[_Held] = []
    live = peak = 0
    for position in sorted(births.keys() | deaths.keys()):
        for i in births.get(position, ()):
            s = held[i]
            live += _padded(s.size)
            if s.size == 0:
                continue
            mine = _Held(s.place.at.data, s.place.at.data + s.size, i)
            at = bisect_left(in_use, mine)
            # in use never overlaps except in place, where both ends agree: neighbours are enough
            near = in_use[max(0, at - 1) : at + 2]
            clashes = [other for other in near if other.start < mine.end and mine.start < other.end]
            shared = 0
            for other in clashes:
                o = held[other.number]
                if not _in_place(o, s, position):
                    raise op_error(
                        s.op,
                        f"{s.text} and {o.text} share bytes {max(mine.start, other.start)} to "
                        f"{min(mine.end, other.end)} of the workspace and are both needed at {s.op.name}",
                        code=OVERLAP,
                        hint="the offsets in `place` were changed, or plan-memory has a fault",
                    )
                shared += _padded(o.size)
                in_use.remove(other)
                deaths[position].remove(other.number)
                live -= _padded(o.size)
            insort(in_use, mine)
        peak = max(peak, live)
        for i in deaths.get(position, ()):
            s = held[i]
            live -= _padded(s.size)
            if s.size > 0:
                in_use.remove(_Held(s.place.at.data, s.place.at.data + s.size, i))
    return peak


def _in_place(old: _Storage, new: _Storage, position: int) -> bool:
    """Whether ``new`` may take over the very bytes of ``old``, which dies at the op that makes ``new``."""
    if old.dies != position or old.place != new.place or old.size != new.size:
        return False
    if not isinstance(old.owner, SSAValue) or not isinstance(new.owner, SSAValue):
        return False
    for operand in may_overwrite(new.op, new.owner):
        value = operand
        while isinstance(value.owner, Operation) and _shares_bytes(value.owner):
            value = value.owner.operands[0]
        if value is old.owner:
            return True
    return False
