"""What one execution of an instruction costs on a target, by its cost class; every number is the target's.

See docs/timing.md for the rules with their sources. All cycles are whole: they round up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2, prod

from ...binary.isa import BY_NAME, Pipe
from ...binary.kernel import Inst, View
from ...targets import Target, VectorCost

VECTOR_TYPES = BY_NAME["vadd"].hw
"""Element types the vector unit computes in: an instruction it lacks is a short sequence of others on these."""
BITWISE = ("vand", "vor", "vxor", "vnot")
"""The same for every type of a width: no type is emulated."""


@dataclass(frozen=True)
class Work:
    """Cycles of one execution.

    ``issue`` on the scalar pipe; ``head`` if ``pipe`` was idle, then ``busy``; the result is there ``after`` cycles
    later, during which the pipe may start its next instruction.
    """

    pipe: Pipe
    issue: int
    head: int
    busy: int
    after: int


def cost(inst: Inst, target: Target) -> Work | None:
    """The cost of an instruction that works on tiles; None if it touches no element."""
    if any(0 in v.shape for v in inst.views):
        return None
    issue = target.sync.scalar_issue
    match inst.op.cost:
        case "gm_load":
            gm_bytes = _burst_bytes(inst.views[1], inst.views[0], target)
            cycles = target.transfer_cycles(f"gm_to_{inst.views[0].space}", gm_bytes)
            return Work(inst.op.pipe, issue, 0, ceil(cycles), target.gm.read_latency)
        case "gm_store":
            gm_bytes = _burst_bytes(inst.views[0], inst.views[1], target)
            cycles = target.transfer_cycles(f"{inst.views[1].space}_to_gm", gm_bytes)
            return Work(inst.op.pipe, issue, 0, ceil(cycles), target.gm.write_latency)
        case "gm_gather":
            return _gather(inst, target)
        case "l0_load":
            dst, src = inst.views
            cycles = target.transfer_cycles(f"l1_to_{dst.space}", _fractal_bytes(dst, src, target))
            return Work(inst.op.pipe, issue, 0, ceil(cycles), 0)
        case "mmad":
            a, b = inst.views[1:3]
            (m, k), n = a.shape, b.shape[1]
            cycles = target.cube.cycles(m, k, n, a.dtype.name, a.dtype.itemsize)
            return Work(inst.op.pipe, issue, target.cube.start, cycles, 0)
        case "fixpipe":
            dst, src = inst.views
            nbytes = _burst_bytes(dst, src, target) if dst.space == "gm" else dst.elements * dst.dtype.itemsize
            if not inst.op.on_hardware(tuple(v.dtype.name for v in inst.views)):
                nbytes *= target.vector.emulated_factor
            after = target.gm.write_latency if dst.space == "gm" else 0
            return Work(inst.op.pipe, issue, 0, ceil(target.transfer_cycles(f"l0c_to_{dst.space}", nbytes)), after)
        case _:
            return _vector(inst, target)


# ------------------------------------------------------------------ transfers


def collapse(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    """(size, stride per operand) of what is left when axes that all operands walk as one are joined, innermost
    first; axes of size 1 go, and the order is that of the first operand's addresses."""
    axes = [(n, tuple(s[d] for s in strides)) for d, n in enumerate(shape) if n != 1]
    axes.reverse()
    axes.sort(key=lambda axis: [abs(s) for s in axis[1]])
    out: list[tuple[int, tuple[int, ...]]] = []
    for n, steps in axes:
        if out and all(s == out[-1][0] * inner for s, inner in zip(steps, out[-1][1], strict=True)):
            out[-1] = (out[-1][0] * n, out[-1][1])
        else:
            out.append((n, steps))
    return out


def _row(shape: tuple[int, ...], strides: list[tuple[int, ...]]) -> int:
    """Elements of the longest pieces that lie together in all operands."""
    axes = collapse(shape, strides)
    if not axes:
        return 1
    return next((n for n, steps in axes if all(s == 1 for s in steps)), 1)


def _burst_bytes(gm: View, chip: View, target: Target) -> int:
    """Bytes that a strided copy occupies its port with: the longer of its two sides.

    In global memory, pieces that lie together move in bursts, slower when unaligned; on the chip, pieces that lie
    together on both sides fill whole blocks.
    """
    row = _row(gm.shape, [gm.strides])
    outside = gm.elements // row * target.gm.burst_bytes(row * gm.dtype.itemsize)
    if not _aligned(gm, row, target):
        outside = ceil(outside / target.gm.unaligned_efficiency)
    piece = _row(gm.shape, [gm.strides, chip.strides])
    block = target.vector.block_bytes
    inside = gm.elements // piece * ceil(piece * chip.dtype.itemsize / block) * block
    return max(outside, inside)


def _aligned(gm: View, row: int, target: Target) -> bool:
    """Whether every row starts at a multiple of the alignment of full speed."""
    steps = [gm.base.const, *(coef for _, coef in gm.base.terms)]
    if gm.elements != row:
        steps += [s * gm.dtype.itemsize for n, s in zip(gm.shape, gm.strides, strict=True) if n > 1 and s >= row]
    return all(s % target.alignment.gm_buffer == 0 for s in steps)


def _gather(inst: Inst, target: Target) -> Work:
    """Rows of global memory by index: every row is a transfer of its own."""
    scatter = inst.op.name == "scatter_rows"
    rows = inst.views[2].elements
    data = inst.views[1] if scatter else inst.views[0]
    row = data.elements // rows * data.dtype.itemsize
    nbytes = ceil(rows * target.gm.burst_bytes(row) / target.gm.unaligned_efficiency)
    cycles = target.transfer_cycles("ub_to_gm" if scatter else "gm_to_ub", nbytes)
    if scatter and inst.attr("mode") != "set":
        cycles += target.transfer_cycles("gm_to_ub", nbytes)
    after = target.gm.write_latency if scatter else target.gm.read_latency
    return Work(inst.op.pipe, rows * target.sync.scalar_issue, 0, ceil(cycles), after)


def _fractal_bytes(dst: View, src: View, target: Target) -> int:
    """Whole fractals that a load into L0 fills; a transposed one of other than 16-bit types takes a block per
    element."""
    if dst.space == "bt":
        return dst.elements * dst.dtype.itemsize
    if src.strides[-1] != 1 and src.shape[-1] > 1 and dst.dtype.itemsize != 2:
        return dst.elements * target.vector.block_bytes
    m, k = dst.shape if dst.space == "l0a" else dst.shape[::-1]
    edge = target.cube.fractal_m if dst.space == "l0a" else target.cube.fractal_n
    width = target.cube.fractal_k_bytes
    return ceil(m / edge) * edge * ceil(k * dst.dtype.itemsize / width) * width


# ------------------------------------------------------------------ the vector unit


def _vector(inst: Inst, target: Target) -> Work:
    unit = target.vector
    name = inst.op.cost
    if inst.op.shape == "reduce":
        name, repeats, instructions, partial = _reduce(inst, target)
    else:
        wide = max(v.dtype.itemsize for v in inst.views)
        shape, strides = _walk(inst)
        repeats, instructions, partial = _repeats(shape, strides, wide, target)
    if name == "v_sort":
        passes = max(1, ceil(log2(max(inst.views[2].shape[-1:] or (1,)))))
        repeats, instructions = repeats * passes, instructions * passes
    steps = 1
    if name == "v_macro":
        name, steps = "v_add", unit.macro_steps
    factor = steps * (unit.emulated_factor if _emulated(inst) else 1)
    found: VectorCost = unit.cost[name]
    busy = ceil(repeats * found.repeat * factor) + (unit.partial_repeat if partial else 0)
    return Work(inst.op.pipe, ceil(instructions * factor) * target.sync.scalar_issue, found.head, busy, found.tail)


def _walk(inst: Inst) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Shape and strides of the elements an instruction walks: all operands, or the results of a gather."""
    if inst.op.shape == "same":
        return inst.views[0].shape, [v.strides for v in inst.views]
    return inst.views[-1 if inst.op.cost == "v_sort" else 0].shape, [inst.views[0].strides]


def _repeats(
    shape: tuple[int, ...], strides: list[tuple[int, ...]], itemsize: int, target: Target
) -> tuple[int, int, bool]:
    """Repeats and hardware instructions for a walk, and whether its last repeat is partial."""
    unit = target.vector
    axes = collapse(shape, strides)
    elements = prod(n for n, _ in axes)
    per_repeat = unit.repeat_bytes // unit.block_bytes
    if not axes:
        return 1, 1, False
    size, steps = axes[0]
    if any(s not in (0, 1) for s in steps):
        # one element of each block
        repeats = ceil(elements / per_repeat)
        return repeats, ceil(repeats / unit.max_repeats), False
    rows = elements // size
    row = size * itemsize
    in_blocks = row % unit.block_bytes == 0 and all(
        s * itemsize % unit.block_bytes == 0 for _, outer in axes[1:] for s in outer
    )
    if in_blocks:
        repeats = ceil(rows * row / unit.repeat_bytes)
        instructions = ceil(repeats / unit.max_repeats) * max(1, prod(n for n, _ in axes[3:]))
    else:
        chunks = ceil(row / unit.repeat_bytes)
        repeats = rows * chunks
        second = axes[1][0] if len(axes) > 1 else 1
        each = min(chunks * ceil(second / unit.max_repeats), second * ceil(chunks / unit.max_repeats))
        instructions = each * prod(n for n, _ in axes[2:])
    partial = (rows * row if in_blocks else row) % unit.repeat_bytes != 0
    if any(s == 0 for s in steps):
        # the element of each row becomes a block first
        repeats += ceil(rows / per_repeat)
        instructions += 1
    return repeats, max(1, instructions), partial


def _reduce(inst: Inst, target: Target) -> tuple[str, int, int, bool]:
    """Cost class, repeats, instructions, partial of a reduction over the last axis."""
    unit = target.vector
    dst, src = inst.views
    length = src.shape[-1]
    item = src.dtype.itemsize
    if inst.op.attrs[-1].name == "f32_acc" and inst.attrs[-1] and src.dtype.kind == "f":
        item = max(item, 4)  # halves are summed as f32
    rows = src.elements // length
    if src.strides[-1] == 1 and length > 1:
        if length * item == unit.block_bytes and rows > 1:
            repeats = ceil(rows * item * length / unit.repeat_bytes)
            return "v_reduce_block", repeats, ceil(repeats / unit.max_repeats), False
        chunks = ceil(length * item / unit.repeat_bytes)
        return "v_reduce", rows * chunks, chunks * ceil(rows / unit.max_repeats), False
    # along another axis than the one that lies together: rows are added to rows
    repeats, instructions, partial = _repeats(src.shape, [src.strides, (*dst.strides, 0)], item, target)
    return "v_add", repeats, instructions, partial


def _emulated(inst: Inst) -> bool:
    """Whether the unit lacks the element types, so that several instructions stand in for one."""
    if inst.op.name in BITWISE:
        return False
    dtypes = tuple(v.dtype.name for v in inst.views)
    if inst.op.hw == () and inst.op.combos == ():
        return any(d not in VECTOR_TYPES for want, d in zip(inst.op.types, dtypes, strict=False) if want == "T")
    return not inst.op.on_hardware(dtypes)
