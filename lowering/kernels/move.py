"""Data movement kernels: every result is filled by strided copies, from operands or from a fill value.

A transpose, slice, split, tile or broadcast is one copy per result; concat one copy per operand; pad a fill
and a copy, or one copy per piece that repeats an edge or a mirror image. ``gather`` fetches rows by index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from gedialect.analysis.fusibility import strided_results
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.ir.access import Access, collapse, grouped
from gedialect.ir.spec import Spec, spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Affine, Arg, KernelBuilder, TileRef
from lowering.kernels.tiles import deal, gm_view, split_axes

Scalar = int | float | bool
BURST = 32
"""Bytes moved at once: shorter rows waste the rest."""


@dataclass(frozen=True)
class Copy:
    """Fill ``target`` of result ``result`` from ``source`` of operand ``arg``, or with ``fill``."""

    result: int
    target: Access
    arg: int = -1
    source: Access | None = None
    fill: Scalar = 0

    def collapsed(self) -> Copy:
        """Over the fewest axes."""
        parts = [self.target] if self.source is None else [self.target, self.source]
        groups = collapse(parts) or [()]
        target, *source = (grouped(p, groups) if groups != [()] else Access((1,), (0,), p.offset) for p in parts)
        return Copy(self.result, target, self.arg, source[0] if source else None, self.fill)


@dataclass(frozen=True)
class Gather:
    """Rows of operand ``table`` at the indices of operand ``index``, for each of ``outer`` slabs."""

    result: int
    table: int
    index: int
    outer: int
    rows: int
    width: int
    count: int


def analyse(fusion: FusionOp) -> list[Copy | Gather]:
    """What a movement group does, result by result."""
    block = fusion.body.block
    reads: dict[SSAValue, tuple[int, Access]] = {
        a: (i, Access.contiguous(spec_of(a.type).shape)) for i, a in enumerate(block.args)
    }
    made: dict[SSAValue, Sequence[Copy | Gather]] = {}
    scalars: dict[SSAValue, Scalar] = {}
    for op in block.ops:
        if isinstance(op, YieldOp):
            return [c for i, v in enumerate(op.operands) for c in _result(i, v, reads, made)]
        if isinstance(op, ConstantOp):
            array: Any = ConstantOp.evaluate(op.attrs())
            scalars[op.y] = array.reshape(-1)[0].item()
        elif op.name == "ge.concat" and isinstance(op, GeOp):
            made[op.results[0]] = _concat(op, reads)
        elif op.name == "ge.pad" and isinstance(op, GeOp):
            made[op.results[0]] = _pad(op, reads, scalars)
        elif op.name == "ge.gather" and isinstance(op, GeOp):
            made[op.results[0]] = [_gather(op, reads)]
        elif isinstance(op, GeOp):
            arg, access = reads[op.operands[0]]
            results = strided_results(op, access)
            if results is None:
                raise GeError(f"{op.name} is no strided read in this group", code="GE1902")
            for r, a in zip(op.results, results, strict=True):
                reads[r] = (arg, a)
    raise GeError("the group has no terminator", code="GE1902")


def _result(
    index: int,
    value: SSAValue,
    reads: dict[SSAValue, tuple[int, Access]],
    made: dict[SSAValue, Sequence[Copy | Gather]],
) -> list[Copy | Gather]:
    if value in made:
        return [replace(c, result=index) for c in made[value]]
    arg, source = reads[value]
    return [Copy(index, Access.contiguous(source.shape), arg, source)]


def _read(value: SSAValue, reads: dict[SSAValue, tuple[int, Access]]) -> tuple[int, Access]:
    arg, access = reads[value]
    whole = access.reshape(spec_of(value.type).shape)
    return arg, access if whole is None else whole


def _concat(op: GeOp, reads: dict[SSAValue, tuple[int, Access]]) -> list[Copy]:
    shape = spec_of(op.results[0].type).shape
    axis: int = op.attrs().concat_dim % len(shape)
    whole = Access.contiguous(shape)
    at = 0
    copies: list[Copy] = []
    for v in op.operands:
        n = spec_of(v.type).shape[axis]
        arg, source = _read(v, reads)
        target = whole.slice(axis, at, n)
        at += n
        if source.shape != target.shape:  # split axes: the target splits alike
            split = target.reshape(source.shape)
            if split is None:
                raise GeError("a concat operand cannot be read by strides", code="GE1902")
            target = split
        copies.append(Copy(-1, target, arg, source))
    return copies


def _pad(op: GeOp, reads: dict[SSAValue, tuple[int, Access]], scalars: dict[SSAValue, Scalar]) -> list[Copy]:
    spec = spec_of(op.results[0].type)
    x = spec_of(op.operands[0].type)
    pads, mode = op.attrs().paddings, op.attrs().mode
    values = op.single_operands()
    fill = next((scalars[v] for v in values[1:] if v is not None and v in scalars), 0)
    arg, source = _read(op.operands[0], reads)
    target = Access.contiguous(spec.shape)
    rank = x.rank
    if mode != "constant":
        places = [_padded_places(n, pads[i], pads[rank + i], mode) for i, n in enumerate(x.shape)]
        return _pieces(arg, source, target, [strides_of(p) for p in places])
    regions: list[Copy] = []
    outer = target
    for axis in range(rank):  # slabs before and after the data along each axis
        begin, end = pads[axis], pads[axis + rank]
        if begin < 0 or end < 0:
            raise GeError("negative pads are slices", code="GE1902")
        for start, n in ((0, begin), (begin + x.shape[axis], end)):
            if n:
                slab = outer.slice(axis, start, n)
                regions.append(Copy(-1, slab, fill=fill))
        outer = outer.slice(axis, begin, x.shape[axis])
    return [Copy(-1, outer, arg, source), *regions]


def _padded_places(n: int, begin: int, end: int, mode: str) -> list[int]:
    """Which element of an axis of ``n`` each element of the padded axis repeats."""
    return np.pad(np.arange(n), (begin, end), mode=cast(Any, mode)).tolist()


def strides_of(places: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Positions as few runs of equal steps: (first position in the list, length, first value, step)."""
    found: list[tuple[int, int, int, int]] = []
    at = 0
    while at < len(places):
        end = at + 1
        step = places[end] - places[at] if end < len(places) else 0
        while end < len(places) and places[end] - places[end - 1] == step:
            end += 1
        if end == at + 2 and end < len(places):  # the second element may begin a longer run
            end = at + 1
        found.append((at, end - at, places[at], step if end > at + 1 else 0))
        at = end
    return found


def _pieces(
    arg: int, source: Access, target: Access, runs: Sequence[Sequence[tuple[int, int, int, int]]]
) -> list[Copy]:
    """A copy for each combination of the axes' runs."""
    copies: list[Copy] = []
    for choice in product(*runs):
        piece, read = target, source
        for axis, (at, count, first, step) in enumerate(choice):
            piece = piece.slice(axis, at, count)
            read = read.slice(axis, first, count, step)
        copies.append(Copy(-1, piece, arg, read))
    return copies


def _gather(op: GeOp, reads: dict[SSAValue, tuple[int, Access]]) -> Gather:
    x, indices = (spec_of(v.type) for v in op.operands)
    axis: int = (op.attrs().axis or 0) % x.rank
    (table, t), (index, i) = reads[op.operands[0]], reads[op.operands[1]]
    if not t.is_contiguous or not i.is_contiguous or t.offset or i.offset:
        raise GeError("gather reads whole operands", code="GE1902")
    outer, width = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
    return Gather(-1, table, index, outer, x.shape[axis], width, indices.size)


# ---------------------------------------------------------------------- tiling and code


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """Elements of a tile; every copy is cut by it on its own."""
    room = target.size("ub") // 4
    widest = max(spec_of(r.type).dtype.itemsize for r in fusion.results)
    elements = max(1, room // widest)
    cores = target.cores.vector
    total = max(spec_of(r.type).size for r in fusion.results)
    elements = max(min(elements, -(-total // cores)), min(elements, 1024))
    blocks = 1
    for move in analyse(fusion):
        if isinstance(move, Copy):
            shape = move.collapsed().target.shape
            tile = split_axes(shape, elements)
            blocks = max(blocks, *(-(-n // t) for n, t in zip(shape, tile, strict=True)))
        else:
            blocks = max(blocks, move.outer, -(-move.count // max(1, min(elements // max(move.width, 1), 256))))
    return KernelAttr.get("move", [elements], min(cores, blocks))


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel; see ``vector.lower`` for its arguments."""
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
    ]
    (elements,) = kernel.tile.values
    k = KernelBuilder(name, kind="vector", blocks=kernel.blocks.data, args=args)
    with k.vector():
        for move in analyse(fusion):
            spec = spec_of(fusion.results[move.result].type)
            if isinstance(move, Copy):
                _copy(k, move.collapsed(), spec, elements)
            elif _narrow(move, spec, target):
                _pick(k, move, spec, spec_of(fusion.operands[move.index].type), elements)
            else:
                _fetch(k, move, spec, spec_of(fusion.operands[move.index].type), elements)
    return k.finish()


def _copy(k: KernelBuilder, move: Copy, spec: Spec, elements: int) -> None:
    shape = move.target.shape
    tile = split_axes(shape, elements)
    filled: dict[tuple[int, ...], TileRef] = {}
    if move.source is None:
        full = k.alloc("ub", tile, spec.dtype, name="fill")
        k.vdup(full, float(move.fill) if spec.dtype.is_float else int(move.fill))
        filled[tile] = full

    def body(at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        target = gm_view(k.gm(f"y{move.result}"), move.target, at, size)
        if move.source is None:
            part = filled[tile]
            k.store(target, part.view(0, size) if tuple(size) != tile else part)
            return
        # a source that repeats along an axis is loaded once and repeated on the way out
        narrow = [1 if s == 0 else n for s, n in zip(move.source.strides, size, strict=True)]
        t = k.alloc("ub", narrow, spec.dtype, buffers=buffers, name="x")
        k.load(t, gm_view(k.gm(f"x{move.arg}"), move.source, at, narrow))
        k.store(target, t.broadcast(size) if narrow != list(size) else t)

    deal(k, shape, tile, body)


def _narrow(move: Gather, spec: Spec, target: Target) -> bool:
    """Whether rows are shorter than a burst, come from many slabs, and slabs fit on the chip: then elements are
    picked there."""
    width = move.width * spec.dtype.itemsize
    slab = 2 * (move.rows + move.count) * width + 8 * move.count
    return width < BURST and move.outer > 1 and slab <= target.size("ub") // 2


def _pick(k: KernelBuilder, move: Gather, spec: Spec, index: Spec, elements: int) -> None:
    """The same elements of every slab [rows, width]: slabs are loaded whole, rows last."""
    ids = k.alloc("ub", (move.count,), index.dtype, name="ids")
    k.load(ids, k.gm(f"x{move.index}").view(0, (move.count,)))
    slab, picked = move.rows * move.width, move.count * move.width
    room = max(1, elements // (slab + picked))

    def body(at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        (n,) = size
        x = k.alloc("ub", (n, move.width, move.rows), spec.dtype, buffers=buffers, name="x")
        k.load(x, k.gm(f"x{move.table}").view(at[0] * slab, x.shape, (slab, 1, move.width)))
        y = k.alloc("ub", (n, move.width, move.count), spec.dtype, buffers=buffers, name="y")
        k.vgather_elems(y, x, ids.broadcast(y.shape))
        k.store(k.gm(f"y{move.result}").view(at[0] * picked, y.shape, (picked, 1, move.width)), y)

    deal(k, (move.outer,), (min(room, move.outer),), body)


def _fetch(k: KernelBuilder, move: Gather, spec: Spec, index: Spec, elements: int) -> None:
    """Rows by index: an index tile, the rows it names, and one store."""
    width = min(move.width, elements)
    rows = max(1, min(elements // width, 256, move.count))
    shape = (move.outer, move.count, move.width)

    def body(at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        _, n, w = size
        ids = k.alloc("ub", (n,), index.dtype, buffers=buffers, name="ids")
        k.load(ids, k.gm(f"x{move.index}").view(at[1], (n,)))
        t = k.alloc("ub", (n, w), spec.dtype, buffers=buffers, name="rows")
        table = k.gm(f"x{move.table}").view(at[0] * (move.rows * move.width) + at[2], (move.rows, w), (move.width, 1))
        k.gather_rows(t, table, ids)
        target = k.gm(f"y{move.result}").view(
            at[0] * (move.count * move.width) + at[1] * move.width + at[2], (n, w), (move.width, 1)
        )
        k.store(target, t)

    deal(k, shape, (1, rows, width), body)
