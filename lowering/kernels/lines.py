"""Kernels of ops that treat one axis as a whole: searches, sorts, running sums, elements by index.

The operand is taken as [outer, n, inner] with the op's axis in the middle. A tile is some lines of it, loaded with
the axis last; one instruction works on all of them, and the results are stored the same way back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, DType
from gedialect.ir.spec import spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Affine, Arg, KernelBuilder, TileRef
from lowering.kernels.tiles import deal

UB_SHARE = 0.8
"""Part of UB that tiles may fill: the rest is alignment."""
AXIS = {
    "ge.arg_max": "dimension",
    "ge.arg_min": "dimension",
    "ge.topk": "dim",
    "ge.cumsum": "axis",
    "ge.gather_elements": "dim",
}
"""Op -> the attribute that names its axis."""


@dataclass(frozen=True)
class Lines:
    """The op, and its first operand's shape as [outer, n, inner]."""

    op: GeOp
    outer: int
    n: int
    inner: int

    def line_bytes(self) -> int:
        """UB bytes of one line: operands and results twice, as slots take turns, and what lies between once."""
        specs = [spec_of(v.type) for v in (*self.op.operands, *self.op.results)]
        lines = self.outer * self.inner
        moved = sum(_up(s.size // lines * s.dtype.itemsize) for s in specs)
        x = specs[0].dtype
        match self.op.name:
            case "ge.topk":
                between = self.n * (x.itemsize + spec_of(self.op.results[1].type).dtype.itemsize)
                moved = _up(self.n * x.itemsize)
            case "ge.cumsum":
                between = 2 * self.n * F32.itemsize if x.is_float and x.itemsize < 4 else 0
            case _:
                between = 0
        return 2 * moved + _up(between) + 64


def _up(nbytes: int) -> int:
    return -(-nbytes // 32) * 32


def lines_of(fusion: FusionOp) -> Lines:
    """The one op of the group."""
    op = next(o for o in fusion.body.block.ops if isinstance(o, GeOp) and o.name in AXIS)
    shape = spec_of(op.operands[0].type).shape
    axis: int = op.attrs()[AXIS[op.name]] % len(shape)
    return Lines(op, prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """``tile`` = [outer, inner] lines."""
    lines = lines_of(fusion)
    room = int(target.size("ub") * UB_SHARE) // lines.line_bytes()
    if room < 1:
        raise GeError(f"a line of {lines.n} elements does not fit into UB", code="GE1403")
    cores = target.cores.vector
    room = min(room, max(1, -(-lines.outer * lines.inner // cores)))
    inner = min(lines.inner, room)
    outer = min(lines.outer, max(1, room // inner))
    blocks = min(cores, max(-(-lines.outer // outer), -(-lines.inner // inner)))
    return KernelAttr.get("vector", [outer, inner], blocks)


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel; see ``vector.lower`` for its arguments."""
    lines = lines_of(fusion)
    order: dict[SSAValue, int] = {v: i for i, v in enumerate(fusion.body.block.args)}
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
    ]
    k = KernelBuilder(name, kind="vector", blocks=kernel.blocks.data, args=args)
    with k.vector():
        writer = _Writer(k, lines, [f"x{order[v]}" for v in lines.op.operands], _stored(fusion, lines.op))
        deal(k, (lines.outer, lines.inner), kernel.tile.values, writer.tile)
    return k.finish()


def _stored(fusion: FusionOp, op: GeOp) -> list[str | None]:
    """The kernel argument of each result of the op; None where nothing reads it."""
    last = fusion.body.block.last_op
    assert last is not None
    index = {v: i for i, v in enumerate(last.operands)}
    return [f"y{index[r]}" if r in index else None for r in op.results]


@dataclass
class _Writer:
    k: KernelBuilder
    lines: Lines
    inputs: list[str]
    outputs: list[str | None]

    def tile(self, at: Sequence[Affine], size: Sequence[int], buffers: int) -> None:
        """Load some lines, compute, store."""
        op, attrs = self.lines.op, self.lines.op.attrs()
        k, n = self.k, self.lines.n
        source = spec_of(op.operands[0].type).dtype
        x = self._load(0, n, source, at, size, buffers)
        results = [spec_of(r.type).dtype for r in op.results]
        match op.name:
            case "ge.arg_max" | "ge.arg_min":
                y = k.alloc("ub", tuple(size), results[0], buffers=buffers, name="at")
                (k.vargmax if op.name == "ge.arg_max" else k.vargmin)(y, x, last=attrs.select_last_index)
                self._store(0, y.expand_dims(-1), at)
            case "ge.topk":
                values = k.alloc("ub", (*size, n), source, name="sorted")
                order = k.alloc("ub", (*size, n), results[1], name="order")
                k.vsort(values, order, x, descending=attrs.largest)
                self._store(0, values[:, :, 0 : attrs.k], at)
                self._store(1, order[:, :, 0 : attrs.k], at)
            case "ge.cumsum":
                self._store(0, self._running_sum(x, bool(attrs.exclusive), bool(attrs.reverse), buffers), at)
            case _:
                index = spec_of(op.operands[1].type)
                count = index.shape[int(attrs.dim)]
                ids = self._load(1, count, index.dtype, at, size, buffers)
                y = k.alloc("ub", (*size, count), source, buffers=buffers, name="y")
                k.vgather_elems(y, x, ids)
                self._store(0, y, at)

    def _running_sum(self, x: TileRef, exclusive: bool, reverse: bool, buffers: int) -> TileRef:
        """Halves add in f32 and are rounded once."""
        k = self.k
        y = k.alloc("ub", x.shape, x.dtype, buffers=buffers, name="y")
        if not (x.dtype.is_float and x.dtype.itemsize < 4):
            k.vcumsum(y, x, exclusive=exclusive, reverse=reverse)
            return y
        wide = k.alloc("ub", x.shape, F32, name="wide")
        sums = k.alloc("ub", x.shape, F32, name="sums")
        k.vcast(wide, x)
        k.vcumsum(sums, wide, exclusive=exclusive, reverse=reverse)
        k.vcast(y, sums)
        return y

    def _view(self, name: str, n: int, at: Sequence[Affine], size: Sequence[int]) -> TileRef:
        """Lines of ``n`` elements at ``at``, as [outer, inner, n]."""
        inner = self.lines.inner
        offset = at[0] * (n * inner) + at[1]
        return self.k.gm(name).view(offset, (*size, n), (n * inner, 1, inner))

    def _load(
        self, operand: int, n: int, dtype: DType, at: Sequence[Affine], size: Sequence[int], buffers: int
    ) -> TileRef:
        t = self.k.alloc("ub", (*size, n), dtype, buffers=buffers, name="x")
        self.k.load(t, self._view(self.inputs[operand], n, at, size))
        return t

    def _store(self, result: int, value: TileRef, at: Sequence[Affine]) -> None:
        name = self.outputs[result]
        if name is not None:
            *size, n = value.shape
            self.k.store(self._view(name, n, at, size), value)
