"""Mixed kernels: a product with element-wise work on its result, by the cube and the two vectors of each block.

The cube writes each finished tile to a ring of two slots in global memory and signals; the vectors walk the same
tiles in the same order, each takes half of one, and tell the cube when they have read it. A slot has its own flag for
that, so a ring that starts again at its first slot in every turn of an outer loop is safe. The tile lies in the ring
as in the group's result, so that both sides move long bursts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod

from xdsl.ir import SSAValue

from gedialect.binary.kernel import contiguous
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.access import Access
from gedialect.ir.spec import Spec, spec_of
from gedialect.targets import Target
from lowering.kernels import conv, matmul
from lowering.kernels.builder import Affine, Arg, KernelBuilder, TileRef
from lowering.kernels.cube import CubeGroup, Epilogue, Problem, Read
from lowering.kernels.cube_nest import Nest, Place, paired
from lowering.kernels.cube_plan import RING_SLOTS, Plan, choose, fit
from lowering.kernels.tiles import deal
from lowering.kernels.vector import UB_SHARE, TileWriter
from lowering.kernels.vector_program import Load, Program, analyse, annotate, tile_bytes

MAX_SLOTS = 8
"""Each takes a cross-core flag."""
READY = 0
"""Cross-core flag: a tile is in the ring. The flags after it, one per slot: the slot may be written."""
FREE = 1
SLOT_BYTES = 512
"""What the size of a slot is rounded up to: a full-speed address for every one."""
RING = "ring"


@dataclass
class MixGroup:
    """A product and the program of what follows; each problem has the program's loads, then its stores, as
    ``others``."""

    program: Program
    problems: list[Problem]

    @cached_property
    def result(self) -> Spec:
        """Of the product."""
        anchor = self.program.anchor
        assert anchor is not None
        return spec_of(anchor.results[0].type)

    def mapped(self, problem: Problem) -> Mapped:
        """The program over the axes of one product."""
        y = problem.y
        order = sorted(range(len(y.shape)), key=lambda i: (y.shape[i] > 1, -abs(y.strides[i])))
        accesses = iter([a.transpose(order) for a in problem.others])
        p = self.program
        loads = {v: Load(load.arg, next(accesses)) for v, load in p.loads.items()}
        stores = [(v, next(accesses)) for v, _ in p.stores]
        shape = tuple(y.shape[i] for i in order)
        varies, stage = {}, {}
        assert p.anchor is not None
        varies[p.anchor.results[0]] = (True,) * len(shape)
        stage[p.anchor.results[0]] = 0
        program = replace(p, shape=shape, kept=len(shape), loads=loads, stores=stores, varies=varies, stage=stage)
        annotate(program)
        return Mapped(program, tuple(order))


@dataclass(frozen=True)
class Mapped:
    """A program over the axes of a product, outermost in memory first; ``order`` numbers the product's axes."""

    program: Program
    order: tuple[int, ...]


def parts(fusion: FusionOp) -> MixGroup:
    """The parts of a mixed group."""
    program = analyse(fusion)
    anchor = program.anchor
    if anchor is None:
        raise GeError("a mixed group has no product", code="GE1902")
    reads: list[Read | None] = []
    for value in anchor.single_operands():
        if value is None or (len(reads) == 2 and program.scalars.get(value) == 0):  # a bias of zeros does nothing
            reads.append(None)
        elif value in program.sources:
            source = program.sources[value]
            reads.append(Read(source.arg, source.access, spec_of(value.type).dtype))
        else:
            raise UnsupportedError(
                f"{anchor.name} of a constant inside its group",
                code="GE1206",
                hint="constants of cube kernels must be operands of the group",
            )
    result = spec_of(anchor.results[0].type)
    others = (*(load.access for load in program.loads.values()), *(access for _, access in program.stores))
    group = CubeGroup(anchor, reads, Epilogue(result.dtype), Access.contiguous(result.shape), others)
    module = matmul if anchor.name == "ge.matmul" else conv
    return MixGroup(program, module.problems(group))


def _priced(fusion: FusionOp, target: Target) -> MixGroup:
    """The parts of a group; its products know the cost of the work after them."""
    group = parts(fusion)
    after = _cycles_per_element(group.program, target)
    return MixGroup(group.program, [replace(p, after=after) for p in group.problems])


def _cycles_per_element(program: Program, target: Target) -> float:
    """Of one vector core: the slowest of the unit and its two queues."""

    def share(value: SSAValue, varies: Sequence[bool]) -> float:
        """Bytes per element of the result."""
        size = prod(n for n, v in zip(program.shape, varies, strict=True) if v)
        return spec_of(value.type).dtype.itemsize * size / prod(program.shape)

    work = sum(share(r, program.varies[r]) for op in program.ops for r in op.results if r in program.varies)
    assert program.anchor is not None
    loaded = sum(share(v, program.varies[v]) for v in (*program.loads, program.anchor.results[0]))
    stored = sum(share(v, program.varies[v]) for v, _ in program.stores)
    rate = 1 << 20
    return max(
        work * 2 / target.vector.repeat_bytes,
        loaded * target.transfer_cycles("gm_to_ub", rate) / rate,
        stored * target.transfer_cycles("ub_to_gm", rate) / rate,
    )


# ---------------------------------------------------------------------- choice


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """Tile [m, n, k] of the product, the number of blocks and the bytes of all rings."""
    group = _priced(fusion, target)
    plans = [choose(p, target, target.cores.cube) for p in group.problems]
    tile = [max(p.r * p.q for p in plans), max(p.n for p in plans), max(p.k for p in plans)]
    return _decided(group, tile, max(p.blocks for p in plans), RING_SLOTS, target)


def resized(fusion: FusionOp, kernel: KernelAttr, target: Target, slots: int = RING_SLOTS) -> KernelAttr:
    """``kernel`` with the scratch that its tile needs for rings of up to ``slots``; GE1402 if it does not fit."""
    return _decided(_priced(fusion, target), kernel.tile.values, kernel.blocks.data, slots, target)


def _decided(group: MixGroup, tile: Sequence[int], blocks: int, slots: int, target: Target) -> KernelAttr:
    plans = _plans(group, tile, blocks, target)
    slots = min(slots, max(p.tiles for p in plans))
    return KernelAttr.get("mix", tile, blocks, blocks * slots * _slot_bytes(group, plans))


def _plans(group: MixGroup, tile: Sequence[int], blocks: int, target: Target) -> list[Plan]:
    if len(tile) != 3 or min(tile) < 1:
        raise GeError(f"a mixed kernel's tile is [m, n, k], not {list(tile)}", code="GE1402")
    plans: list[Plan] = []
    for problem in group.problems:
        plan = fit(problem, target, (tile[0], tile[1], tile[2]), blocks)
        if plan is None:
            raise GeError(f"tile {list(tile)} does not fit on chip", code="GE1402")
        plans.append(plan)
    return plans


def _slot_bytes(group: MixGroup, plans: Sequence[Plan]) -> int:
    size = max(p.r * p.q * p.n for p in plans) * group.result.dtype.itemsize
    return ceil(size / SLOT_BYTES) * SLOT_BYTES


@dataclass(frozen=True)
class Ring:
    """Where tiles of a block lie: ``slots`` pieces of ``size`` elements."""

    slots: int
    size: int


def _ring(group: MixGroup, plans: Sequence[Plan], kernel: KernelAttr) -> Ring:
    slot = _slot_bytes(group, plans)
    slots, rest = divmod(kernel.scratch.data, kernel.blocks.data * slot)
    if rest or not 1 <= slots <= MAX_SLOTS:
        raise GeError(
            f"scratch of {kernel.scratch.data} bytes is not 1 to {MAX_SLOTS} slots of {slot} bytes per block",
            code="GE1402",
        )
    return Ring(slots, slot // group.result.dtype.itemsize)


# ---------------------------------------------------------------------- code


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel; arguments are the operands x0.., the results y0.., then the rings of all blocks."""
    group = _priced(fusion, target)
    blocks = kernel.blocks.data
    plans = _plans(group, kernel.tile.values, blocks, target)
    ring = _ring(group, plans, kernel)
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
        Arg(RING, group.result.dtype, kernel.scratch.data, "workspace"),
    ]
    k = KernelBuilder(name, kind="mix", blocks=blocks, args=args)
    names = [a.name for a in args]
    with k.cube():
        for problem, plan in zip(group.problems, plans, strict=True):
            _Producer(k, problem, plan, target, names, group.mapped(problem), ring).write()
        for i in range(ring.slots):
            k.cross_core_wait(FREE + i, "FIX")
    with k.vector():
        for i in range(ring.slots):
            k.cross_core_set(FREE + i, "MTE2")
        for problem, plan in zip(group.problems, plans, strict=True):
            _Consumer(k, problem, plan, target, names, group.mapped(problem), ring).write()
    return k.finish()


class _Side(Nest):
    """What both sides know: where a tile lies in the ring."""

    def __init__(
        self, k: KernelBuilder, problem: Problem, plan: Plan, target: Target, args: Sequence[str], mapped: Mapped,
        ring: Ring,
    ):  # fmt: skip
        super().__init__(k, problem, plan, target, args)
        self.mapped = mapped
        self.ring = ring
        self.room = int(target.size("ub") * UB_SHARE)

    def region(self, s: Place) -> tuple[int, ...]:
        """Sizes of the tile, by axes of the program."""
        sizes = [*(1 for _ in self.p.batch), s["r"].span.size, s["Q"].span.size, s["n"].span.size]
        return tuple(sizes[i] for i in self.mapped.order)

    def slots(self, s: Place) -> int:
        """How many slots tiles take in turn: those of the ring where the innermost loop repeats."""
        return self.ring.slots if s.repeats else 1

    def slot(self, s: Place) -> TileRef:
        """The tile's place in the ring."""
        start = self.k.block_idx * (self.ring.slots * self.ring.size)
        return self.k.gm(RING).ring(start, self.ring.size, self.slots(s))


class _Producer(_Side):
    """The cube's side: tiles go to the ring."""

    def finish_tile(self, s: Place, acc: TileRef) -> None:
        """Fixpipe into the tile's slot, once that is free."""
        strides = dict(zip(self.mapped.order, contiguous(self.region(s)), strict=True))
        count = len(self.p.batch)
        rows, cols, n = s["r"].span.size, s["Q"].span.size, acc.shape[1]
        outside = (strides[count], strides[count + 1], strides[count + 2])
        dims, outer, inner = paired((rows, cols, n), outside, (cols * n, n, 1))
        if (outer, inner) == ((1,), (1,)):
            dims, outer, inner = acc.shape, acc.strides, acc.strides
        source = acc if (dims, inner) == (acc.shape, acc.strides) else acc.view(0, dims, inner)
        self.k.cross_core_wait(FREE, "FIX", slots=self.slots(s))
        self.k.fixpipe(self.slot(s).view(0, dims, outer), source)
        self.k.cross_core_set(READY, "FIX")


class _Consumer(_Side):
    """A vector's side: half of every tile."""

    def _hoist(self, s: Place) -> Place:
        return s

    def tile(self, s: Place) -> None:
        """Take the tile from the ring, compute and store."""
        k, region = self.k, self.region(s)
        ring, strides = self.slot(s), contiguous(region)
        starts = [*(s[i].out if n > 1 else Affine() for i, n in enumerate(self.p.batch))]
        starts += [s["R"].out + s["r"].out, s["Q"].out, self._column(s)]
        first = [starts[i] for i in self.mapped.order]
        axis, even = _cut(region)
        half = region[axis] // 2
        sizes = [half if i == axis else n for i, n in enumerate(region)]
        if even and self._fitting(sizes) == tuple(sizes):
            # everything else is there when the tile comes
            inside = [k.sub_block_idx * half if i == axis else Affine() for i in range(len(region))]
            at = [f + i for f, i in zip(first, inside, strict=True)]
            env = self._others(at, tuple(sizes), 2 if s.repeats else 1)
            k.cross_core_wait(READY, "MTE2")
            self._part(ring, strides, at, inside, tuple(sizes), 2 if s.repeats else 1, env)
        else:
            k.cross_core_wait(READY, "MTE2")
            for start, size in self._halves(region[axis]):
                sizes[axis] = size

                def part(where: Sequence[Affine], tile: Sequence[int], buffers: int, start: Affine = start) -> None:
                    inside = [a + start if i == axis else a for i, a in enumerate(where)]
                    at = [f + i for f, i in zip(first, inside, strict=True)]
                    self._part(ring, strides, at, inside, tuple(tile), buffers, {})

                deal(k, sizes, self._fitting(sizes), part, share=False)
        k.cross_core_set(FREE, "MTE2", slots=self.slots(s))

    def _others(self, at: Sequence[Affine], tile: tuple[int, ...], buffers: int) -> dict[SSAValue, TileRef]:
        """What the program reads besides the product."""
        writer = TileWriter(self.k, self.mapped.program, tile)
        return {v: writer.load(v, at, tile, buffers) for v in self.mapped.program.loads}

    def _part(
        self, ring: TileRef, strides: Sequence[int], at: Sequence[Affine], inside: Sequence[Affine],
        tile: tuple[int, ...], buffers: int, env: dict[SSAValue, TileRef],
    ) -> None:  # fmt: skip
        """One piece of a tile: ``at`` is its place in the result, ``inside`` its place in the tile."""
        k, program = self.k, self.mapped.program
        offset = Affine()
        for start, stride in zip(inside, strides, strict=True):
            offset = offset + start * stride
        assert program.anchor is not None
        x = k.alloc("ub", tile, ring.dtype, buffers=buffers, name="product")
        steps = tuple(p if n == 1 else s for n, s, p in zip(tile, strides, contiguous(tile), strict=True))
        k.load(x, ring.view(offset, tile, steps))
        writer = TileWriter(k, program, tile)
        writer.buffers = buffers
        writer.finish({**env, program.anchor.results[0]: x}, at, tile)

    def _halves(self, size: int) -> Iterator[tuple[Affine, int]]:
        """(start, size) of this vector's half of an axis, inside its code."""
        k = self.k
        if size % 2 == 0:
            yield k.sub_block_idx * (size // 2), size // 2
            return
        with k.once_if_less(k.sub_block_idx, 1):
            yield Affine(), size - size // 2
        if size > 1:
            with k.once_if_less(0, k.sub_block_idx):
                yield Affine(size - size // 2), size // 2

    def _fitting(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """The largest part of a half that fits UB: whole inner axes, one that is cut, single steps of outer ones."""
        program = self.mapped.program
        assert program.anchor is not None
        item = spec_of(program.anchor.results[0].type).dtype.itemsize

        def fits(tile: Sequence[int]) -> bool:
            return tile_bytes(program, tile) + 2 * item * prod(tile) <= self.room

        tile = list(sizes)
        for axis in range(len(tile)):
            if fits(tile):
                return tuple(tile)
            n = tile[axis]
            tile[axis] = 1
            if fits(tile):
                most = 1
                while most < n and fits([*tile[:axis], most + 1, *tile[axis + 1 :]]):
                    most += 1
                tile[axis] = ceil(n / ceil(n / most))
                return tuple(tile)
        raise GeError("one element's values do not fit into UB", code="GE1402")


def _cut(region: tuple[int, ...]) -> tuple[int, bool]:
    """The axis of a tile that the two vectors halve, and whether it is even: the outermost that is."""
    axes = [i for i, n in enumerate(region) if n > 1] or [0]
    even = [i for i in axes if region[i] % 2 == 0]
    if even:
        return next((i for i in even if region[i] >= 8), even[0]), True
    return max(axes, key=lambda i: region[i]), False
