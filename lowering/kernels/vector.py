"""Vector kernels: any group of element-wise, broadcast and reduction ops.

The group is expanded to primitive ops over one iteration space. Axes that every operand walks alike are
merged; the space is cut into tiles of one split axis, whole inner axes and single steps of outer axes, and
the tiles of one axis are dealt to the vector cores. Reduced axes lie last in a tile. Where one row of them
is too long for UB it is cut into chunks, and each reduction makes its own pass over them, recomputing what
comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from gedialect.analysis.primitives import REDUCTIONS, instruction
from gedialect.binary import isa
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.ir.access import Access
from gedialect.ir.spec import Spec, spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Affine, Arg, KernelBuilder, TileRef
from lowering.kernels.tiles import deal, gm_view
from lowering.kernels.vector_program import Program, Scalar, analyse, tile_bytes

UB_SHARE = 0.75
"""Part of UB that tiles may fill by the estimate: the rest is alignment and fragmentation."""
LEAST_TILE = 256
"""Elements below which a tile costs no less: one repeat of the vector unit, one burst of the DMA."""
TILE_OVERHEAD = 600.0
"""Cycles a tile costs besides its elements: latency of loads, flags, instruction heads."""
IDENTITY: dict[str, Scalar] = {"ge.reduce_sum": 0, "ge.reduce_prod": 1, "ge.reduce_any": False, "ge.reduce_all": True}

# ---------------------------------------------------------------------- tiling


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """Tile and number of blocks: ``tile`` has one size per collapsed axis, kept axes first."""
    program = analyse(fusion)
    budget = int(target.size("ub") * UB_SHARE)
    kept, reduced = program.shape[: program.kept], program.shape[program.kept :]
    chunks = list(reduced)
    row = [1] * len(kept)
    if tile_bytes(program, [*row, *chunks]) > budget:
        longest = max(range(len(reduced)), key=lambda i: reduced[i], default=-1)
        if longest < 0:
            raise GeError("one element's values do not fit into UB", code="GE1402")

        def fits(n: int) -> bool:
            return tile_bytes(program, [*row, *(n if i == longest else c for i, c in enumerate(chunks))]) <= budget

        if not fits(1):
            raise GeError("the reduced axes are too many for one chunk", code="GE1402")
        chunks[longest] = _largest(reduced[longest], fits)
    cores = target.cores.vector
    passes = prod(-(-n // c) for n, c in zip(reduced, chunks, strict=True))
    best: tuple[float, tuple[int, ...], int] | None = None
    for tile in _candidates(kept, cores, lambda t: tile_bytes(program, [*t, *chunks]) <= budget):
        trips = [-(-n // t) for n, t in zip(kept, tile, strict=True)]
        dealt = max(range(len(trips)), key=lambda i: trips[i])
        blocks = min(cores, trips[dealt])
        tiles = -(-trips[dealt] // blocks) * prod(t for i, t in enumerate(trips) if i != dealt)
        elements = max(prod(tile) * prod(chunks), LEAST_TILE)
        cost = tiles * passes * (TILE_OVERHEAD + elements / 64 * (len(program.ops) + 4)) + blocks
        if best is None or cost < best[0]:
            best = (cost, tile, blocks)
    assert best is not None
    return KernelAttr.get("vector", [*best[1], *chunks], best[2])


def _largest(n: int, fits: Callable[[int], bool]) -> int:
    """The largest size up to ``n`` that fits; 1 does."""
    low, high = 1, n
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _candidates(kept: tuple[int, ...], cores: int, fits: Callable[[Sequence[int]], bool]) -> Iterator[tuple[int, ...]]:
    """Tiles that fit: single steps of outer axes, one split axis, whole inner axes."""
    for split in range(len(kept)):
        outer, inner = (1,) * split, kept[split + 1 :]
        if not fits((*outer, 1, *inner)):
            continue
        n = kept[split]
        most = _largest(n, lambda t: fits((*outer, t, *inner)))
        even = -(-n // -(-n // most))
        for t in sorted({most, even, min(most, -(-n // cores))}, reverse=True):
            yield (*outer, t, *inner)


# ---------------------------------------------------------------------- code


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The vector kernel of a group; kernel arguments are the operands, then the results."""
    program = analyse(fusion)
    tile = kernel.tile.values
    if len(tile) != len(program.shape) or any(not 1 <= t <= n for t, n in zip(tile, program.shape, strict=True)):
        raise GeError(f"tile {list(tile)} does not fit the iteration space {list(program.shape)}", code="GE1402")
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
    ]
    k = KernelBuilder(name, kind="vector", blocks=kernel.blocks.data, args=args)
    with k.vector():
        TileWriter(k, program, tile).write()
    return k.finish()


class TileWriter:
    """Writes a program's code tile by tile. ``write`` loops over all tiles of a vector group; generators with an
    anchor call ``finish`` for each tile they have computed."""

    def __init__(self, k: KernelBuilder, program: Program, tile: Sequence[int]):
        self.k = k
        self.p = program
        self.tile = tuple(tile)
        self.hoisted: dict[SSAValue, TileRef] = {}
        self.buffers = 1

    def write(self) -> None:
        p = self.p
        looped = [t < n for t, n in zip(self.tile, p.shape, strict=True)]
        for value in p.loads:  # what no loop changes is loaded once
            if not any(v and x for v, x in zip(p.varies[value], looped, strict=True)):
                self.hoisted[value] = self.load(value, [Affine()] * len(p.shape), self.tile, 1)
        kept = self.tile[: p.kept]
        deal(self.k, p.shape[: p.kept], kept, self._rows)

    def finish(self, env: dict[SSAValue, TileRef], at: Sequence[Affine], tile: tuple[int, ...]) -> None:
        """Compute all ops for the tile at ``at`` from the values in ``env``, and store the results."""
        for op in self.p.ops:
            self._compute(op, env, at, tile, accumulate=False)
        self._store(self.p.stores, env, at, tile)

    # ------------------------------------------------------------------ one tile of rows
    def _rows(self, start: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        p = self.p
        self.buffers = buffers
        chunk = self.tile[p.kept :]
        if all(c == n for c, n in zip(chunk, p.shape[p.kept :], strict=True)):
            self.finish(dict(self.hoisted), [*start, *(Affine() for _ in chunk)], (*size, *chunk))
            return
        rows: dict[SSAValue, TileRef] = dict(self.hoisted)
        stages = max(p.stage.values(), default=0)
        for stage in range(stages + 1):
            reductions = [op for op in p.ops if op.name in REDUCTIONS and p.stage[op.results[0]] == stage + 1]
            wide_out = [s for s in p.stores if self._wide(s)]
            targets = [op.operands[0] for op in reductions] if stage < stages else [v for v, _ in wide_out]
            if stage == stages and not wide_out:
                break
            for op in reductions:
                rows[op.results[0]] = self._start(op, size)
            self._row_ops(rows, start, size, stage)

            def one(at: Sequence[Affine], part: Sequence[int], buffers: int) -> None:
                self.buffers = buffers
                tile, where = (*size, *part), [*start, *at]
                env = dict(rows)
                for value in targets:  # a reduction may be of one number
                    self._operand(value, env, where, tile, spec_of(value.type))
                for op in reductions:
                    self._reduce(op, rows[op.results[0]], env, tile, accumulate=True)
                if stage == stages:
                    self._store(wide_out, env, where, tile)

            deal(self.k, p.shape[p.kept :], chunk, one, share=False)
            self.buffers = 1
        self._row_ops(rows, start, size, stages)
        narrow = [s for s in p.stores if not self._wide(s)]
        tile = (*size, *(1 for _ in chunk))
        self._store(narrow, rows, [*start, *(Affine() for _ in chunk)], tile)

    def _wide(self, store: tuple[SSAValue, Access]) -> bool:
        """Whether a store has elements along the reduced axes: a value that is one along them may be repeated there."""
        return any(store[1].strides[self.p.kept :])

    def _row_ops(self, rows: dict[SSAValue, TileRef], start: Sequence[Affine], size: Sequence[int], stage: int) -> None:
        """Compute what depends on finished reductions only and has one value per row."""
        p = self.p
        narrow = (*size, *(1 for _ in range(p.kept, len(p.shape))))
        at = [*start, *(Affine() for _ in range(p.kept, len(p.shape)))]
        for op in p.ops:
            value = op.results[0]
            if value in rows or value in p.scalars or op.name in REDUCTIONS:
                continue
            if p.stage[value] <= stage and not any(p.varies[value][p.kept :]):
                inputs = [v for v in op.operands if v not in p.scalars]
                if all(v in rows or v in p.loads for v in inputs):
                    self._compute(op, rows, at, narrow, accumulate=False)

    def _need(self, value: SSAValue, env: dict[SSAValue, TileRef], at: Sequence[Affine], tile: tuple[int, ...]) -> None:
        if value in env or value in self.p.scalars:
            return
        if value in self.p.loads:
            env[value] = self.load(value, at, tile, self.buffers)
            return
        work: list[SSAValue] = [value]
        wanted: set[SSAValue] = set()
        while work:
            v = work.pop()
            if v in env or v in self.p.scalars or v in wanted or v in self.p.loads:
                continue
            wanted.add(v)
            assert isinstance(v.owner, Operation)
            work += v.owner.operands
        for op in self.p.ops:
            if op.results[0] in wanted:
                self._compute(op, env, at, tile, accumulate=False)

    def load(self, value: SSAValue, at: Sequence[Affine], tile: Sequence[int], buffers: int) -> TileRef:
        """The part of an operand that the tile at ``at`` reads."""
        k, load = self.k, self.p.loads[value]
        shape = self.p.tile_shape(value, tile)
        spec = spec_of(value.type)
        t = k.alloc("ub", shape, spec.dtype, buffers=buffers, name="x")
        k.load(t, gm_view(k.gm(f"x{load.arg}"), load.access, at, shape))
        return t

    def _store(
        self,
        stores: list[tuple[SSAValue, Access]],
        env: dict[SSAValue, TileRef],
        at: Sequence[Affine],
        tile: tuple[int, ...],
    ) -> None:
        for value, access in stores:
            index = next(i for i, s in enumerate(self.p.stores) if s == (value, access))
            shape = tuple(1 if s == 0 else t for s, t in zip(access.strides, tile, strict=True))
            source = self._operand(value, env, at, tile, spec_of(value.type))
            self.k.store(
                gm_view(self.k.gm(f"y{index}"), access, at, shape),
                source if source.shape == shape else source.broadcast(shape),
            )

    def _operand(
        self, value: SSAValue, env: dict[SSAValue, TileRef], at: Sequence[Affine], tile: tuple[int, ...], spec: Spec
    ) -> TileRef:
        """The tile of a value, loaded or filled now if it is a load or a scalar not seen yet."""
        if value not in env:
            if value in self.p.scalars:
                t = self.k.alloc("ub", (1,) * len(tile), spec.dtype, name="c")
                self.k.vdup(t, _typed(self.p.scalars[value], spec))
                env[value] = t
            else:
                self._need(value, env, at, tile)
        return env[value]

    # ------------------------------------------------------------------ ops
    def _compute(
        self, op: GeOp, env: dict[SSAValue, TileRef], at: Sequence[Affine], tile: tuple[int, ...], *, accumulate: bool
    ) -> None:
        p, k = self.p, self.k
        result = op.results[0]
        if result in p.scalars or result in env:
            return
        spec = spec_of(result.type)
        if op.name in REDUCTIONS:
            self._operand(op.operands[0], env, at, tile, spec_of(op.operands[0].type))
            dst = k.alloc("ub", p.tile_shape(result, tile), spec.dtype, name="r")
            self._reduce(op, dst, env, tile, accumulate=False)
            env[result] = dst
            return
        operands: list[TileRef | Scalar] = []
        scalar_form = _scalar_form(op, [v in p.scalars for v in op.operands])
        for v in op.operands:
            if v in p.scalars and scalar_form:
                operands.append(_typed(p.scalars[v], spec_of(v.type)))
            else:
                operands.append(self._operand(v, env, at, tile, spec_of(v.type)))
        shape = p.tile_shape(result, tile)
        dst = k.alloc("ub", shape, spec.dtype, name=result.name_hint or op.name.removeprefix("ge."))
        _emit(
            k, op, dst, [o if not isinstance(o, TileRef) or o.shape == shape else o.broadcast(shape) for o in operands]
        )
        env[result] = dst

    def _start(self, op: GeOp, size: Sequence[int]) -> TileRef:
        """A row tile holding a reduction's identity."""
        p = self.p
        spec = spec_of(op.results[0].type)
        tile = (*size, *(1 for _ in range(p.kept, len(p.shape))))
        t = self.k.alloc("ub", p.tile_shape(op.results[0], tile), spec.dtype, name="r")
        self.k.vdup(t, _typed(_identity(op.name, spec), spec))
        return t

    def _reduce(
        self, op: GeOp, dst: TileRef, env: dict[SSAValue, TileRef], tile: tuple[int, ...], *, accumulate: bool
    ) -> None:
        p, k = self.p, self.k
        source = env[op.operands[0]]
        rows = dst.shape[: p.kept]
        wide = (*rows, *tile[p.kept :])
        if source.shape != wide:  # repeated along reduced axes: a copy gives every element
            full = k.alloc("ub", wide, source.dtype, name="b")
            k.vcopy(full, source.broadcast(wide))
            source = full
        flat = source.reshape((*rows, prod(tile[p.kept :])))
        out = dst.reshape(rows)
        match op.name:
            case "ge.reduce_sum":
                k.vreduce_sum(out, flat, accumulate=accumulate)
            case "ge.reduce_max":
                k.vreduce_max(out, flat, accumulate=accumulate)
            case "ge.reduce_min":
                k.vreduce_min(out, flat, accumulate=accumulate)
            case "ge.reduce_prod":
                k.vreduce_prod(out, flat, accumulate=accumulate)
            case "ge.reduce_any":
                k.vreduce_any(out, flat, accumulate=accumulate)
            case _:
                k.vreduce_all(out, flat, accumulate=accumulate)


def _typed(value: Scalar, spec: Spec) -> Scalar:
    return float(value) if spec.dtype.is_float else int(value)


def _identity(name: str, spec: Spec) -> Scalar:
    if name in IDENTITY:
        return IDENTITY[name]
    low = name == "ge.reduce_max"
    if spec.dtype.is_float:
        return float("-inf") if low else float("inf")
    if spec.dtype.kind == "b":
        return not low
    import numpy as np

    info = np.iinfo(spec.dtype.numpy)
    return int(info.min if low else info.max)


_SCALAR_FORMS = {"vadd": "vadds", "vsub": "vsubs", "vmul": "vmuls", "vdiv": "vdivs", "vmax": "vmaxs", "vmin": "vmins"}
_FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _scalar_form(op: GeOp, scalar: list[bool]) -> bool:
    """Whether ``op`` with these scalar operands has an instruction with an immediate."""
    if len(scalar) != 2 or sum(scalar) != 1:
        return False
    dtypes = _dtypes(op)
    name = instruction(type(op), dtypes)
    if name == "vcmp":
        return isa.BY_NAME["vcmps"].type_error(dtypes[:2]) is None
    return name in _SCALAR_FORMS and isa.BY_NAME[_SCALAR_FORMS[name]].type_error(dtypes[:2]) is None


def _dtypes(op: Operation) -> tuple[str, ...]:
    return (
        *(spec_of(r.type).dtype.name for r in op.results),
        *(spec_of(v.type).dtype.name for v in op.operands),
    )


def _emit(k: KernelBuilder, op: GeOp, dst: TileRef, operands: Sequence[TileRef | Scalar]) -> None:
    """The instruction of a primitive op."""
    name = instruction(type(op), _dtypes(op))
    attrs: dict[str, Any] = {}
    if name == "vcmp":
        attrs["mode"] = getattr(type(op), "MODE")
    elif name == "vmod":
        attrs["mode"] = "trunc" if op.attrs()["fmod"] else "floor"
    elif name == "vcast":
        attrs |= _cast_attrs(op)
    scalars = [o for o in operands if not isinstance(o, TileRef)]
    tiles = [o for o in operands if isinstance(o, TileRef)]
    if scalars:
        reverse = not isinstance(operands[0], TileRef)
        attrs["scalar"] = scalars[0]
        if name == "vcmp":
            attrs["mode"] = _FLIPPED[attrs["mode"]] if reverse else attrs["mode"]
            name = "vcmps"
        else:
            if name in ("vsub", "vdiv"):
                attrs["reverse"] = reverse
            name = _SCALAR_FORMS[name]
    k.emit(isa.BY_NAME[name], (dst, *tiles), **attrs)


def _cast_attrs(op: GeOp) -> dict[str, Any]:
    """Rounding of a cast: ONNX truncates floats to integers."""
    source, target = spec_of(op.operands[0].type).dtype, spec_of(op.results[0].type).dtype
    return {"round": "trunc"} if source.is_float and target.is_int else {}
