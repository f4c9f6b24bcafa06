"""What a vector kernel computes: a group of ops as primitive ops over one iteration space.

Every operand becomes a strided read of that space, axes that all of them walk alike are merged, and reduced axes
come last. ``vector`` cuts the space into tiles and writes the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from xdsl.ir import Block, SSAValue

from gedialect.analysis.fusibility import strided_results
from gedialect.analysis.primitives import REDUCTIONS, expand_all, profile_block
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.dialects.ge.reproducible import as_result, reproducible
from gedialect.errors import GeError
from gedialect.ir.access import Access, collapse, row_major
from gedialect.ir.spec import spec_of

Scalar = int | float | bool
ANCHORS = (FusionClass.CUBE, FusionClass.WINDOW)


@dataclass(frozen=True)
class Load:
    """A strided read of a kernel argument by the computation, over the collapsed axes."""

    arg: int
    access: Access


@dataclass
class Program:
    """A group over its collapsed iteration space: kept axes first, reduced axes last."""

    block: Block
    shape: tuple[int, ...]
    kept: int
    loads: dict[SSAValue, Load]
    ops: list[GeOp]
    scalars: dict[SSAValue, Scalar]
    varies: dict[SSAValue, tuple[bool, ...]]
    """which axes a value changes along; along the others its tile has size 1"""
    stores: list[tuple[SSAValue, Access]]
    stage: dict[SSAValue, int]
    """how many reductions lie on the way to a value"""
    anchor: GeOp | None = None
    """the cube or window op whose result the program works on; its axes are not merged"""
    sources: dict[SSAValue, Load] = field(default_factory=lambda: {})
    """what the anchor's operands read, in their own shapes"""

    def tile_shape(self, value: SSAValue, tile: Sequence[int]) -> tuple[int, ...]:
        return tuple(t if v else 1 for t, v in zip(tile, self.varies[value], strict=True))


def analyse(fusion: FusionOp) -> Program:
    """The program of a group: of all its ops, or of those that follow its cube or window op."""
    block = fusion.body.clone().block
    anchor = next((op for op in block.ops if isinstance(op, GeOp) and op.FUSION_CLASS in ANCHORS), None)
    expand_all(block, keep=anchor)
    reads: dict[SSAValue, Load] = {
        a: Load(i, Access.contiguous(spec_of(a.type).shape)) for i, a in enumerate(block.args)
    }
    scalars: dict[SSAValue, Scalar] = {}
    ops: list[GeOp] = []
    stores: list[SSAValue] = []
    renamed: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        if isinstance(op, YieldOp):
            stores = list(op.operands)
        elif isinstance(op, ConstantOp):
            scalars[op.y] = _scalar(op)
        elif isinstance(op, GeOp):
            if op is anchor:
                continue
            if op.PRIMITIVE is not None:
                ops.append(op)
            elif op.operands[0] in scalars:  # one value everywhere under any shape
                scalars.update((r, scalars[op.operands[0]]) for r in op.results)
            elif op.operands[0] not in reads:  # a computed value stored under another shape
                renamed[op.results[0]] = op.operands[0]
            else:
                source = reads[op.operands[0]]
                results = strided_results(op, source.access)
                if results is None:
                    raise GeError(f"{op.name} is no strided read in this group", code="GE1902")
                for result, access in zip(op.results, results, strict=True):
                    reads[result] = Load(source.arg, access)
    profile = profile_block(ops)
    if anchor is not None:
        domain = spec_of(anchor.results[0].type).shape
    else:
        domain = profile.domain if ops else spec_of(stores[0].type).shape
    rank = len(domain)
    reduced = [i - rank in profile.reduced for i in range(rank)]
    used = {v for op in ops for v in op.operands} | {renamed.get(v, v) for v in stores}
    wide = {v: Load(r.arg, _whole(r.access, v).broadcast(domain)) for v, r in reads.items() if v in used}
    sources = [renamed.get(v, v) for v in stores]  # a reshape keeps the order of elements
    outputs = [(v, _output_access(spec_of(v.type).shape, domain, reduced)) for v in sources]

    # axes: kept ones first, reduced ones last, merged where all accesses allow
    perm = [i for i in range(rank) if not reduced[i]] + [i for i in range(rank) if reduced[i]]
    kept_count = sum(not r for r in reduced)
    permuted = {v: Load(r.arg, r.access.transpose(perm)) for v, r in wide.items()}
    outs = [(v, a.transpose(perm)) for v, a in outputs]
    label = [int(i >= kept_count) for i in range(rank)]
    shapes = [_varying_access(spec_of(v.type).shape, domain).transpose(perm) for op in ops for v in op.results]
    if anchor is None:
        groups = collapse([*(r.access for r in permuted.values()), *(a for _, a in outs), *shapes], label)
    else:
        groups = [(i,) for i in range(rank)]
    kept_groups = [g for g in groups if g[0] < kept_count] or [()]
    reduced_groups = [g for g in groups if g and g[0] >= kept_count]
    if profile.reduced and not reduced_groups:
        reduced_groups = [()]
    groups = [*kept_groups, *reduced_groups]

    def over(access: Access) -> Access:
        return Access(
            tuple(prod(access.shape[a] for a in g) for g in groups),
            tuple(access.strides[g[-1]] if g else 0 for g in groups),
            access.offset,
        )

    program = Program(
        block,
        tuple(prod(domain[perm[a]] for a in g) for g in groups),
        len(kept_groups),
        {v: Load(r.arg, over(r.access)) for v, r in permuted.items()},
        ops,
        scalars,
        {},
        [(v, over(a)) for v, a in outs],
        {},
        anchor,
    )
    if anchor is not None:
        for v in (v for v in anchor.operands if v in reads):
            program.sources[v] = Load(reads[v].arg, _whole(reads[v].access, v))
        program.varies[anchor.results[0]] = (True,) * rank
        program.stage[anchor.results[0]] = 0
    annotate(program)
    return program


def _whole(access: Access, value: SSAValue) -> Access:
    """The access in the value's own shape."""
    whole = access.reshape(spec_of(value.type).shape)
    if whole is None:
        raise GeError("a computation cannot read this reshape by strides", code="GE1902")
    return whole


def _scalar(op: ConstantOp) -> Scalar:
    array: Any = ConstantOp.evaluate(op.attrs())
    return array.reshape(-1)[0].item()


def _output_access(shape: tuple[int, ...], domain: tuple[int, ...], reduced: list[bool]) -> Access:
    """Where each point of the domain is stored: row-major in the output's own shape, reduced axes once."""
    if len(shape) == len(domain):
        strides = tuple(0 if r and n == 1 else s for s, r, n in zip(row_major(shape), reduced, shape, strict=True))
        return Access(domain, strides)
    dropped = iter(row_major(shape))
    return Access(domain, tuple(0 if r else next(dropped) for r in reduced))


def _varying_access(shape: tuple[int, ...], domain: tuple[int, ...]) -> Access:
    """A stand-in for a computed value, so that axes merge only where it is whole or absent on both."""
    return Access.contiguous(shape).broadcast(domain)


def annotate(program: Program) -> None:
    """Say of all values which axes they change along and how many reductions lie before them."""
    n = len(program.shape)
    for value, load in program.loads.items():
        program.varies[value] = tuple(s != 0 for s in load.access.strides)
        program.stage[value] = 0
    for op in program.ops:
        inputs = [v for v in op.operands if v not in program.scalars]
        if op.name in REDUCTIONS:
            varies = tuple(
                i < program.kept and v for i, v in enumerate(program.varies.get(op.operands[0], (False,) * n))
            )
            stage = program.stage.get(op.operands[0], 0) + 1
        else:
            if not inputs:
                program.scalars[op.results[0]] = _fold(program, op)
                continue
            varies = tuple(any(program.varies[v][i] for v in inputs) for i in range(n))
            stage = max(program.stage[v] for v in inputs)
        program.varies[op.results[0]] = varies
        program.stage[op.results[0]] = stage


def _fold(program: Program, op: GeOp) -> Scalar:
    import numpy as np

    arrays = [np.array(program.scalars[v], spec_of(v.type).dtype.numpy) for v in op.operands]
    with np.errstate(all="ignore"), reproducible():
        found = type(op).evaluate(op.attrs(), *arrays)
    return as_result(found, spec_of(op.results[0].type)).reshape(-1)[0].item()


def tile_bytes(program: Program, tile: Sequence[int]) -> int:
    """Most bytes of UB alive while a tile is computed, by the order of its ops; loads and stores count twice."""
    last: dict[SSAValue, int] = {}
    for i, op in enumerate(program.ops):
        for v in op.operands:
            last[v] = i
    stored = {v for v, _ in program.stores}

    def size(v: SSAValue) -> int:
        nbytes = prod(program.tile_shape(v, tile)) * spec_of(v.type).dtype.itemsize
        return -(-nbytes // 32) * 32

    live = peak = sum(2 * size(v) for v in program.loads)
    alive: set[SSAValue] = set()
    for i, op in enumerate(program.ops):
        for r in op.results:
            if r in program.varies:
                alive.add(r)
                live += size(r) * (2 if r in stored else 1)
        peak = max(peak, live + (_repeated_bytes(program, op, tile) if op.name in REDUCTIONS else 0))
        for v in set(op.operands):
            if last[v] == i and v in alive and v not in stored:
                alive.discard(v)
                live -= size(v)
    return peak


def _repeated_bytes(program: Program, op: GeOp, tile: Sequence[int]) -> int:
    """Bytes of the copy that a reduction makes of a value that is one along the reduced axes."""
    source, kept = op.operands[0], program.kept
    if all(program.varies.get(source, (False,) * len(tile))[kept:]):
        return 0
    wide = (*program.tile_shape(op.results[0], tile)[:kept], *tile[kept:])
    return -(-prod(wide) * spec_of(source.type).dtype.itemsize // 32) * 32
