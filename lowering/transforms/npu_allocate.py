"""``npu-allocate``: gives every on-chip tile its address."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from gedialect.analysis.packing import Buffer, align, pack
from gedialect.binary.isa import Pipe
from gedialect.dialects.npu import AllocOp, ForOp, FunctionOp, InstrOp, KernelOp, ViewOp
from gedialect.errors import GeError
from gedialect.targets import DEFAULT_TARGET, Target, load_target


@dataclass
class _Tile:
    """A tile with its bytes (all slots), the positions it is needed in and those of its loop, and the pipes that
    touch it."""

    op: AllocOp
    slot: int
    start: int
    end: int
    scope: tuple[int, int]
    pipes: set[Pipe]

    @property
    def size(self) -> int:
        return self.slot * self.op.count


@dataclass(frozen=True)
class NpuAllocatePass(ModulePass):
    """Sets ``addr`` (and ``slot``, with several buffers) of every `npu.alloc` in every kernel.

    A tile is needed from its first to its last use; a use inside a loop that does not contain the alloc needs the
    whole loop, and so does every slot of a tile with several buffers. Sharing bytes costs parallelism, so it is tried
    in steps until the space suffices: no sharing; sharing among tiles only the vector pipe touches; sharing of the
    others with those of different loops; sharing among all. `npu-insert-sync` orders those who share. GE1402 when
    nothing fits, with the tiles and their sizes.
    """

    name = "npu-allocate"
    target: str = DEFAULT_TARGET

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = load_target(self.target)
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                allocate_kernel(kernel, target)


def allocate_kernel(kernel: KernelOp, target: Target) -> None:
    """Allocate one kernel's tiles for ``target``."""
    for function in kernel.functions:
        spaces: dict[str, list[_Tile]] = {}
        for tile in _tiles(function, target):
            spaces.setdefault(tile.op.type.space, []).append(tile)
        for space, tiles in spaces.items():
            _allocate(kernel, space, tiles, target)


def _allocate(kernel: KernelOp, space: str, tiles: list[_Tile], target: Target) -> None:
    size, alignment = target.size(space), target.align(space)
    last = max(t.scope[1] for t in tiles)
    peak = 0
    for needed in (_always, _outside_vector, _in_its_loop, _while_used):
        buffers = [Buffer(t.size, *needed(t, last)) for t in tiles]
        packing = pack(buffers, alignment)
        peak = packing.peak
        if peak <= size:
            for tile, offset in zip(tiles, packing.offsets, strict=True):
                tile.op.addr = IntegerAttr(offset, i64)
                if tile.op.count > 1:
                    tile.op.slot = IntegerAttr(tile.slot, i64)
            return
    lines = [
        f"{t.size:8} bytes  {t.op.tile.name_hint or 'tile'} : {t.op.type}"
        + (f" x {t.op.count} buffers" if t.op.count > 1 else "")
        for t in sorted(tiles, key=lambda t: -t.size)
    ]
    raise GeError(
        f"{space} overflow: tiles need {peak} bytes at once, {target.name} has {size}",
        code="GE1402",
        where=f"kernel {kernel.sym_name.data}",
        hint="use smaller tiles or fewer buffers",
        details=tuple(lines),
    )


def _always(tile: _Tile, last: int) -> tuple[int, int]:
    return 0, last


def _outside_vector(tile: _Tile, last: int) -> tuple[int, int]:
    return (tile.start, tile.end) if tile.pipes == {Pipe.V} else (0, last)


def _in_its_loop(tile: _Tile, last: int) -> tuple[int, int]:
    return (tile.start, tile.end) if tile.pipes == {Pipe.V} else tile.scope


def _while_used(tile: _Tile, last: int) -> tuple[int, int]:
    return tile.start, tile.end


def _tiles(function: FunctionOp, target: Target) -> Iterator[_Tile]:
    position: dict[Operation, tuple[int, int]] = {}
    allocs: list[AllocOp] = []
    last = _number(function.body.block, 0, position, allocs)
    for op in allocs:
        home = op.parent
        assert home is not None
        slot = align(op.type.nbytes, target.align(op.type.space))
        users = list(_users(op))
        spans = [position[_ancestor(u, home)] for u in users] or [position[op]]
        loop = home.parent_op()
        if op.count > 1 and isinstance(loop, ForOp):
            spans = [position[loop]]
        scope = position[loop] if isinstance(loop, ForOp) else (0, last)
        yield _Tile(op, slot, min(a for a, _ in spans), max(b for _, b in spans), scope, {u.pipe for u in users})


def _number(block: Block, n: int, position: dict[Operation, tuple[int, int]], allocs: list[AllocOp]) -> int:
    """First and last position of each op, in program order."""
    for op in block.ops:
        first = n
        if isinstance(op, AllocOp):
            allocs.append(op)
        if isinstance(op, ForOp):
            n = _number(op.regions[0].block, n + 1, position, allocs)
        position[op] = (first, n)
        n += 1
    return n


def _users(op: AllocOp) -> Iterator[InstrOp]:
    """Instructions that touch the tile, directly or through views."""
    values: list[SSAValue] = [op.results[0]]
    while values:
        for use in values.pop().uses:
            user = use.operation
            if isinstance(user, ViewOp):
                values.append(user.results[0])
            elif isinstance(user, InstrOp):
                yield user


def _ancestor(op: Operation, block: Block) -> Operation:
    """The op of ``block`` that is or contains ``op``."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op
