"""Window kernels on the vector unit: pooling and depthwise convolution, with element-wise ops after them.

A tile is some output rows of some channels. Its input rows are loaded with zeros (or -inf) around them
where they reach over the edge, then every kernel tap is one vector instruction over a strided view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from gedialect.analysis.fusibility import is_depthwise
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import Attrs
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.ge.layouts import channel_axis
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, DType
from gedialect.ir.spec import spec_of
from gedialect.targets import Target
from lowering.kernels.builder import Affine, Arg, KernelBuilder, TileRef
from lowering.kernels.vector import TileWriter
from lowering.kernels.vector_program import Program, analyse, tile_bytes

UB_SHARE = 0.7


@dataclass(frozen=True)
class Geometry:
    """The window op's sizes; h and w are rows and columns whatever the layout."""

    n: int
    c: int
    h: int
    w: int
    out_h: int
    out_w: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pad_top: int
    pad_left: int
    channels_last: bool
    dtype: DType

    def rows_for(self, out_rows: int) -> int:
        """Input rows (padding included) under ``out_rows`` output rows."""
        return (out_rows - 1) * self.strides[0] + (self.kernel[0] - 1) * self.dilations[0] + 1

    @property
    def cols(self) -> int:
        """Input columns (padding included) under a whole output row."""
        return (self.out_w - 1) * self.strides[1] + (self.kernel[1] - 1) * self.dilations[1] + 1


def geometry(program: Program) -> Geometry:
    """Sizes of the group's window op."""
    op = program.anchor
    assert op is not None
    attrs = op.attrs()
    x, y = spec_of(op.operands[0].type), spec_of(op.results[0].type)
    last = channel_axis(attrs.data_format, x.rank) == x.rank - 1
    if last:
        (n, h, w, c), (_, oh, ow, _) = x.shape, y.shape
    else:
        (n, c, h, w), (_, _, oh, ow) = x.shape, y.shape
    kernel = spec_of(op.operands[1].type).shape[2:] if is_depthwise(op) else attrs.ksize
    dilations: tuple[int, ...] = attrs.dilations or (1, 1)
    return Geometry(
        n, c, h, w, oh, ow, (kernel[0], kernel[1]), tuple(attrs.strides), (dilations[0], dilations[1]),
        attrs.pads[0], attrs.pads[1], last, x.dtype,
    )  # fmt: skip


def _bytes_per_row(program: Program, g: Geometry) -> tuple[float, float]:
    """UB bytes per channel: of one input row, and of one output row with all that follows."""
    wide = F32.itemsize if g.dtype.itemsize < 4 else 0
    per_input = g.cols * (2 * g.dtype.itemsize + wide)
    shape = (1, 1, g.out_w, 8) if g.channels_last else (1, 8, 1, g.out_w)
    per_output = tile_bytes(program, shape) / 8 + 3 * g.out_w * F32.itemsize
    return per_input, per_output


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """``tile`` = [output rows, channels]."""
    program = analyse(fusion)
    g = geometry(program)
    budget = target.size("ub") * UB_SHARE
    per_input, per_output = _bytes_per_row(program, g)
    cores = target.cores.vector
    best: tuple[float, int, int] | None = None
    quantum = 8 if g.channels_last else 1
    for channels in _halves(g.c, quantum):
        for rows in _halves(g.out_h, 1):
            if channels * (g.rows_for(rows) * per_input + rows * per_output) > budget:
                continue
            tiles = [g.n, -(-g.c // channels), -(-g.out_h // rows)]
            dealt = max(tiles)
            waves = -(-dealt // cores) * (tiles[0] * tiles[1] * tiles[2] // dealt)
            work = channels * (g.rows_for(rows) * g.cols + rows * g.out_w * g.kernel[0] * g.kernel[1]) / 64
            cost = waves * (1000 + work)
            if best is None or cost < best[0]:
                best = (cost, rows, channels)
            break
    if best is None:
        raise GeError("one row of one channel does not fit into UB", code="GE1402", hint="the row is too long")
    _, rows, channels = best
    blocks = min(cores, max(g.n, -(-g.c // channels), -(-g.out_h // rows)))
    return KernelAttr.get("vector", [rows, channels], blocks)


def _halves(n: int, quantum: int) -> Iterator[int]:
    seen: set[int] = set()
    parts = 1
    while True:
        size = -(-n // parts)
        size = min(n, -(-size // quantum) * quantum)
        if size not in seen:
            seen.add(size)
            yield size
        if size <= min(quantum, n):
            return
        parts += 1 if parts < 16 else parts // 2


@dataclass(frozen=True)
class Run:
    """Consecutive row tiles that reach over the edges alike."""

    first: int
    count: int
    rows: int
    skip: int
    """rows of padding above the first input row held"""
    held: int
    """input rows held"""


def runs(g: Geometry, rows: int) -> list[Run]:
    """Row tiles from top to bottom."""
    found: list[Run] = []
    for first in range(0, g.out_h, rows):
        size = min(rows, g.out_h - first)
        top = first * g.strides[0] - g.pad_top
        low, high = max(top, 0), min(top + g.rows_for(size), g.h)
        skip, held = min(low - top, g.rows_for(size)), max(high - low, 0)
        last = found[-1] if found else None
        if last is not None and (last.rows, last.skip, last.held) == (size, skip, held):
            found[-1] = Run(last.first, last.count + 1, size, skip, held)
        else:
            found.append(Run(first, 1, size, skip, held))
    return found


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel; see ``vector.lower`` for its arguments."""
    program = analyse(fusion)
    args = [
        *(Arg(f"x{i}", spec_of(v.type).dtype, spec_of(v.type).nbytes) for i, v in enumerate(fusion.operands)),
        *(Arg(f"y{i}", spec_of(r.type).dtype, spec_of(r.type).nbytes, "out") for i, r in enumerate(fusion.results)),
    ]
    k = KernelBuilder(name, kind="vector", blocks=kernel.blocks.data, args=args)
    with k.vector():
        _Window(k, program, *kernel.tile.values).write()
    return k.finish()


class _Window:
    def __init__(self, k: KernelBuilder, program: Program, rows: int, channels: int):
        assert program.anchor is not None
        self.k = k
        self.p = program
        self.g = geometry(program)
        self.rows = rows
        self.channels = channels
        self.op = program.anchor
        self.attrs: Attrs = self.op.attrs()
        self.compute = F32 if self.g.dtype.itemsize < 4 and self.op.name != "ge.max_pool2d" else self.g.dtype

    def write(self) -> None:
        g, k = self.g, self.k
        counts = {"n": g.n, "c": -(-g.c // self.channels), "h": -(-g.out_h // self.rows)}
        dealt = max(counts, key=lambda a: counts[a])

        def over(axis: str, count: int) -> Iterator[Affine]:
            """One loop variable over ``count`` tiles; the dealt axis starts at the block."""
            if axis == dealt:
                with k.loop(k.block_idx, count, k.num_blocks) as i:
                    yield i
            elif count == 1:
                yield Affine()
            else:
                with k.loop(0, count) as i:
                    yield i

        for n in over("n", g.n):
            whole, tail = divmod(g.c, self.channels)
            for size, first, count in ((self.channels, 0, whole), (tail, whole * self.channels, int(tail > 0))):
                if count == 0:
                    continue
                for ci in over("c", count):
                    at_c = ci * size + first
                    weights = self._weights(at_c, size)
                    for run in runs(g, self.rows):
                        for hi in over("h", run.count):
                            self._tile(n, at_c, size, run, hi, weights)

    # ------------------------------------------------------------------ tiles in UB
    def _order(self, rows: Any, cols: Any, channels: Any) -> tuple[Any, Any, Any]:
        """(rows, cols, channels) in memory order of a tile."""
        return (rows, cols, channels) if self.g.channels_last else (channels, rows, cols)

    def _axis_strides(self, strides: Sequence[int]) -> dict[str, int]:
        """Strides of n, c, h, w from those of a rank-4 access."""
        names = "nhwc" if self.g.channels_last else "nchw"
        return dict(zip(names, strides, strict=True))

    def _weights(self, at_c: Affine, size: int) -> list[TileRef]:
        """[kh * kw, channels] in the computing type, and the bias [channels] if there is one."""
        if not is_depthwise(self.op):
            return []
        k, g = self.k, self.g
        found: list[TileRef] = []
        for operand, taps in zip(self.op.operands[1:], (g.kernel[0] * g.kernel[1], 1), strict=False):
            load = self.p.sources[operand]
            a = load.access
            if a.size != g.c * taps:
                raise GeError("filter of an unexpected shape", code="GE1902")
            flat = a.reshape((g.c, taps))
            if flat is None:
                raise GeError("the filter cannot be read by strides", code="GE1902")
            dtype = spec_of(operand.type).dtype
            t = k.alloc("ub", (taps, size), dtype, buffers=1, name="w")
            offset = at_c * flat.strides[0] + flat.offset
            k.load(t, k.gm(f"x{load.arg}").view(offset, (taps, size), (flat.strides[1], flat.strides[0])))
            found.append(self._widened(t))
        return found

    def _widened(self, t: TileRef) -> TileRef:
        if t.dtype is self.compute:
            return t
        wide = self.k.alloc("ub", t.shape, self.compute, name="wide")
        self.k.vcast(wide, t)
        return wide

    def _tile(self, n: Affine, at_c: Affine, channels: int, run: Run, hi: Affine, weights: list[TileRef]) -> None:
        k, g = self.k, self.g
        first = hi * run.rows + run.first
        held = self._input(n, at_c, channels, run, first)
        acc = self._windows(held, run.rows, channels, weights, first, run)
        result = acc
        if self.compute is not g.dtype:
            result = k.alloc("ub", acc.shape, g.dtype, name="y")
            k.vcast(result, acc)
        shape = (1, *acc.shape)
        zero = Affine()
        at = [n, *self._order(first, zero, at_c)]
        env: dict[SSAValue, TileRef] = {self.op.results[0]: result.reshape(shape)}
        TileWriter(k, self.p, shape).finish(env, at, shape)

    def _fill(self) -> float | int:
        if self.op.name != "ge.max_pool2d":
            return 0.0
        return float("-inf") if self.g.dtype.is_float else int(np.iinfo(self.g.dtype.numpy).min)

    def _input(self, n: Affine, at_c: Affine, channels: int, run: Run, first: Affine) -> TileRef:
        """The input rows under a tile, with padding around them, in the computing type."""
        k, g = self.k, self.g
        rows = g.rows_for(run.rows)
        width = min(g.cols - g.pad_left, g.w)  # columns of the input that any window reaches
        padded = run.held < rows or width < g.cols
        load = self.p.sources[self.op.operands[0]]
        strides = self._axis_strides(load.access.strides)
        # slots turn with the innermost loop: alone in an outer loop they would only hold room
        buffers = 2 if run.count > 1 else 1
        t = k.alloc("ub", self._order(rows, g.cols, channels), g.dtype, buffers=buffers, name="x")
        if padded:
            k.vdup(t, self._fill())
        if run.held > 0 and width > 0:
            shape = self._order(run.held, width, channels)
            source_rows = first * g.strides[0] + (run.skip - g.pad_top)
            offset = n * strides["n"] + at_c * strides["c"] + source_rows * strides["h"] + load.access.offset
            source = k.gm(f"x{load.arg}").view(offset, shape, self._order(strides["h"], strides["w"], strides["c"]))
            inside = t.window(self._order(run.skip, g.pad_left, 0), shape) if padded else t
            k.load(inside, source)
        return self._widened(t)

    def _taps(self, held: TileRef, rows: int, channels: int) -> Iterator[tuple[int, TileRef]]:
        """Each kernel tap as a strided view [rows, out_w, channels] of the held input."""
        g = self.g
        r, c, ch = self._positions()
        stride = held.strides
        for i in range(g.kernel[0]):
            for j in range(g.kernel[1]):
                offset = i * g.dilations[0] * stride[r] + j * g.dilations[1] * stride[c]
                shape = self._order(rows, g.out_w, channels)
                steps = self._order(stride[r] * g.strides[0], stride[c] * g.strides[1], stride[ch])
                yield i * g.kernel[1] + j, held.view(offset, shape, steps)

    def _positions(self) -> tuple[int, int, int]:
        return (0, 1, 2) if self.g.channels_last else (1, 2, 0)

    def _windows(
        self, held: TileRef, rows: int, channels: int, weights: list[TileRef], first: Affine, run: Run
    ) -> TileRef:
        k, g = self.k, self.g
        acc = k.alloc("ub", self._order(rows, g.out_w, channels), self.compute, name="acc")
        if weights:
            self._multiply(acc, held, rows, channels, weights)
            return acc
        add = k.vmax if self.op.name == "ge.max_pool2d" else k.vadd
        views = list(self._taps(held, rows, channels))
        if len(views) == 1:
            k.vcopy(acc, views[0][1])
        else:
            add(acc, views[0][1], views[1][1])
        for _, view in views[2:]:
            add(acc, acc, view)
        if self.op.name == "ge.avg_pool2d":
            self._divide(acc, rows, run)
        return acc

    def _multiply(self, acc: TileRef, held: TileRef, rows: int, channels: int, weights: list[TileRef]) -> None:
        k, g = self.k, self.g
        product: TileRef | None = None

        def row(t: TileRef, i: int) -> TileRef:
            steps = self._order(0, 0, 1)
            return t.view(i * channels, self._order(rows, g.out_w, channels), steps)

        for tap, view in self._taps(held, rows, channels):
            if tap == 0:
                k.vmul(acc, view, row(weights[0], 0))
                continue
            if product is None:
                product = k.alloc("ub", acc.shape, self.compute, name="product")
            k.vmul(product, view, row(weights[0], tap))
            k.vadd(acc, acc, product)
        if len(weights) > 1:
            k.vadd(acc, acc, row(weights[1], 0))

    def _divide(self, acc: TileRef, rows: int, run: Run) -> None:
        """Divide each sum by the cells its window counts: inside the input, or the padded input."""
        k, g = self.k, self.g
        include = bool(self.attrs.count_include_pad)
        pads = self.attrs.pads
        height = g.rows_for(rows)
        # rows and columns of the held tile whose cells count
        if include:
            inside_h = (0, min(height, self._rows_to_padded_end(run)))
            inside_w = (0, min(g.cols, g.w + pads[1] + pads[3]))
        else:
            inside_h = (run.skip, run.skip + run.held)
            inside_w = (g.pad_left, min(g.cols, g.pad_left + g.w))
        if inside_h == (0, height) and inside_w == (0, g.cols):
            k.vdivs(acc, acc, float(g.kernel[0] * g.kernel[1]))
            return
        ones = k.alloc("ub", self._order(height, g.cols, 1), self.compute, name="ones")
        k.vdup(ones, 0.0)
        size = self._order(inside_h[1] - inside_h[0], inside_w[1] - inside_w[0], 1)
        k.vdup(ones.window(self._order(inside_h[0], inside_w[0], 0), size), 1.0)
        count = k.alloc("ub", self._order(rows, g.out_w, 1), self.compute, name="count")
        for i, (_, view) in enumerate(self._taps(ones, rows, 1)):
            if i == 0:
                k.vcopy(count, view)
            else:
                k.vadd(count, count, view)
        k.vdiv(acc, acc, count.broadcast(acc.shape))

    def _rows_to_padded_end(self, run: Run) -> int:
        """Rows from the top of a run's first tile to the end of the padded input; the same for all its tiles
        unless it reaches the end, and then it is one tile."""
        g = self.g
        top = run.first * g.strides[0] - g.pad_top
        return g.h + self.attrs.pads[2] - top
