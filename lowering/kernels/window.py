"""Window kernels on the vector unit: pooling and depthwise convolution, with element-wise ops after them.

A tile is some output rows of some channels. Its input rows are loaded with zeros (or -inf) around them
where they reach over the edge, then every kernel tap is one vector instruction over a strided view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
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
UNROLLED = 64
"""Most taps that are written out one by one; those of larger kernels are loops."""


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

    def span(self, axis: int, outputs: int) -> int:
        """Input elements along an axis (0 rows, 1 columns), padding included, under ``outputs`` output elements."""
        return (outputs - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1


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


def _tile_bytes(program: Program, g: Geometry, rows: int, cols: int, channels: int) -> float:
    """UB bytes of a tile: its input, the sums and all that follows."""
    wide = F32.itemsize if g.dtype.itemsize < 4 else 0
    held = g.span(0, rows) * g.span(1, cols) * (2 * g.dtype.itemsize + wide)
    shape = (1, 1, cols, 8) if g.channels_last else (1, 8, 1, cols)
    per_row = tile_bytes(program, shape) / 8 + 3 * cols * F32.itemsize
    return channels * (held + rows * per_row)


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """``tile`` = [output rows, output columns, channels]."""
    program = analyse(fusion)
    g = geometry(program)
    budget = target.size("ub") * UB_SHARE
    cores = target.cores.vector
    best: tuple[float, tuple[int, int, int]] | None = None
    for channels in _halves(g.c, 8 if g.channels_last else 1):
        for cols in _halves(g.out_w, 1):
            rows = next((r for r in _halves(g.out_h, 1) if _tile_bytes(program, g, r, cols, channels) <= budget), None)
            if rows is None:
                continue
            tiles = [g.n, -(-g.c // channels), -(-g.out_h // rows), -(-g.out_w // cols)]
            dealt = max(tiles)
            waves = -(-dealt // cores) * (prod(tiles) // dealt)
            taps = g.kernel[0] * g.kernel[1]
            work = channels * (g.span(0, rows) * g.span(1, cols) + rows * cols * taps) / 64
            cost = waves * (1000 + work)
            if best is None or cost < best[0]:
                best = (cost, (rows, cols, channels))
            break  # narrower columns only reload what neighbours share
    if best is None:
        raise GeError("one window does not fit into UB", code="GE1402", hint="the kernel or its dilation is too large")
    rows, cols, channels = best[1]
    blocks = min(cores, max(g.n, -(-g.c // channels), -(-g.out_h // rows), -(-g.out_w // cols)))
    return KernelAttr.get("vector", best[1], blocks)


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
    """Consecutive tiles along rows or columns that reach over the edges alike."""

    first: int
    """the first output row or column of the first tile"""
    count: int
    size: int
    """output rows or columns of a tile"""
    skip: int
    """padding before the first input element held"""
    held: int
    """input elements held"""


def runs(g: Geometry, axis: int, tile: int) -> list[Run]:
    """Tiles along an axis (0 rows, 1 columns), from the beginning to the end."""
    outputs, inputs, pad = ((g.out_h, g.h, g.pad_top), (g.out_w, g.w, g.pad_left))[axis]
    found: list[Run] = []
    for first in range(0, outputs, tile):
        size = min(tile, outputs - first)
        top = first * g.strides[axis] - pad
        span = g.span(axis, size)
        low, high = max(top, 0), min(top + span, inputs)
        skip, held = min(low - top, span), max(high - low, 0)
        last = found[-1] if found else None
        if last is not None and (last.size, last.skip, last.held) == (size, skip, held):
            found[-1] = Run(last.first, last.count + 1, size, skip, held)
        else:
            found.append(Run(first, 1, size, skip, held))
    return found


@dataclass(frozen=True)
class Tile:
    """One tile: where its outputs start and what it holds."""

    n: Affine
    row: Affine
    col: Affine
    channel: Affine
    channels: int
    rows: Run
    cols: Run
    buffers: int


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
    def __init__(self, k: KernelBuilder, program: Program, rows: int, cols: int, channels: int):
        assert program.anchor is not None
        self.k = k
        self.p = program
        self.g = geometry(program)
        self.rows = rows
        self.cols = cols
        self.channels = channels
        self.op = program.anchor
        self.attrs: Attrs = self.op.attrs()
        self.looped = prod(self.g.kernel) > UNROLLED
        self.compute = F32 if self.g.dtype.itemsize < 4 and self.op.name != "ge.max_pool2d" else self.g.dtype

    def write(self) -> None:
        g, k = self.g, self.k
        counts = {
            "n": g.n,
            "c": -(-g.c // self.channels),
            "h": -(-g.out_h // self.rows),
            "w": -(-g.out_w // self.cols),
        }
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
                    for cols in runs(g, 1, self.cols):
                        for wi in over("w", cols.count):
                            for rows in runs(g, 0, self.rows):
                                for hi in over("h", rows.count):
                                    # slots turn with the innermost loop: alone in an outer one they only hold room
                                    buffers = 2 if rows.count > 1 else 1
                                    row, col = hi * rows.size + rows.first, wi * cols.size + cols.first
                                    self._tile(Tile(n, row, col, at_c, size, rows, cols, buffers), weights)

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

    def _tile(self, t: Tile, weights: list[TileRef]) -> None:
        k, g = self.k, self.g
        acc = self._windows(self._input(t), t, weights)
        result = acc
        if self.compute is not g.dtype:
            result = k.alloc("ub", acc.shape, g.dtype, name="y")
            k.vcast(result, acc)
        shape = (1, *acc.shape)
        at = [t.n, *self._order(t.row, t.col, t.channel)]
        env: dict[SSAValue, TileRef] = {self.op.results[0]: result.reshape(shape)}
        TileWriter(k, self.p, shape).finish(env, at, shape)

    def _fill(self) -> float | int:
        if self.op.name != "ge.max_pool2d":
            return 0.0
        return float("-inf") if self.g.dtype.is_float else int(np.iinfo(self.g.dtype.numpy).min)

    def _input(self, t: Tile) -> TileRef:
        """The input under a tile, with padding around it, in the computing type."""
        k, g = self.k, self.g
        rows, cols = g.span(0, t.rows.size), g.span(1, t.cols.size)
        padded = t.rows.held < rows or t.cols.held < cols
        load = self.p.sources[self.op.operands[0]]
        strides = self._axis_strides(load.access.strides)
        held = k.alloc("ub", self._order(rows, cols, t.channels), g.dtype, buffers=t.buffers, name="x")
        if padded:
            k.vdup(held, self._fill())
        if t.rows.held > 0 and t.cols.held > 0:
            shape = self._order(t.rows.held, t.cols.held, t.channels)
            first_row = t.row * g.strides[0] + (t.rows.skip - g.pad_top)
            first_col = t.col * g.strides[1] + (t.cols.skip - g.pad_left)
            offset = t.n * strides["n"] + t.channel * strides["c"] + load.access.offset
            offset = offset + first_row * strides["h"] + first_col * strides["w"]
            source = k.gm(f"x{load.arg}").view(offset, shape, self._order(strides["h"], strides["w"], strides["c"]))
            inside = held.window(self._order(t.rows.skip, t.cols.skip, 0), shape) if padded else held
            k.load(inside, source)
        return self._widened(held)

    def _taps(self, held: TileRef, rows: int, cols: int, channels: int) -> Iterator[tuple[Affine, TileRef]]:
        """Each kernel tap with its number, as a strided view [rows, cols, channels] of the held input. Taps of a large
        kernel are loops, whose variables the number and the view then have."""
        g = self.g
        r, c, ch = self._positions()
        stride = held.strides
        shape = self._order(rows, cols, channels)
        steps = self._order(stride[r] * g.strides[0], stride[c] * g.strides[1], stride[ch])

        def over(count: int) -> Iterator[Affine]:
            if not self.looped:
                yield from map(Affine, range(count))
                return
            with self.k.loop(0, count, name="tap") as n:
                yield n

        for i in over(g.kernel[0]):
            for j in over(g.kernel[1]):
                offset = i * (g.dilations[0] * stride[r]) + j * (g.dilations[1] * stride[c])
                yield i * g.kernel[1] + j, held.view(offset, shape, steps)

    def _positions(self) -> tuple[int, int, int]:
        return (0, 1, 2) if self.g.channels_last else (1, 2, 0)

    def _windows(self, held: TileRef, t: Tile, weights: list[TileRef]) -> TileRef:
        """Sums, maxima or products over every window: [rows, columns, channels] in memory order."""
        k = self.k
        acc = k.alloc("ub", self._order(t.rows.size, t.cols.size, t.channels), self.compute, name="acc")
        taps = self._taps(held, t.rows.size, t.cols.size, t.channels)
        if weights:
            self._multiply(acc, taps, weights)
            return acc
        self._accumulate(acc, taps, k.vmax if self.op.name == "ge.max_pool2d" else k.vadd)
        if self.op.name == "ge.avg_pool2d":
            self._divide(acc, t)
        return acc

    def _accumulate(self, acc: TileRef, taps: Iterator[tuple[Affine, TileRef]], add: Callable[..., Any]) -> None:
        """Sum or largest of all taps."""
        if self.looped:
            self.k.vdup(acc, self._fill())
            for _, view in taps:
                add(acc, acc, view)
            return
        views = [view for _, view in taps]
        if len(views) == 1:
            self.k.vcopy(acc, views[0])
        else:
            add(acc, views[0], views[1])
        for view in views[2:]:
            add(acc, acc, view)

    def _multiply(self, acc: TileRef, taps: Iterator[tuple[Affine, TileRef]], weights: list[TileRef]) -> None:
        k = self.k
        product: TileRef | None = None

        def row(values: TileRef, i: Affine | int) -> TileRef:
            return values.view(i * values.shape[1], acc.shape, self._order(0, 0, 1))

        if self.looped:
            product = k.alloc("ub", acc.shape, self.compute, name="product")
            k.vdup(acc, 0.0)
        first = not self.looped
        for tap, view in taps:
            if first:
                k.vmul(acc, view, row(weights[0], tap))
                first = False
                continue
            if product is None:
                product = k.alloc("ub", acc.shape, self.compute, name="product")
            k.vmul(product, view, row(weights[0], tap))
            k.vadd(acc, acc, product)
        if len(weights) > 1:
            k.vadd(acc, acc, row(weights[1], 0))

    def _divide(self, acc: TileRef, t: Tile) -> None:
        """Divide each sum by the cells its window counts: inside the input, or the padded input."""
        k, g = self.k, self.g
        spans = g.span(0, t.rows.size), g.span(1, t.cols.size)
        (top, bottom), (left, right) = self._counted(0, t.rows, spans[0]), self._counted(1, t.cols, spans[1])
        if (top, left) == (0, 0) and (bottom, right) == spans:
            k.vdivs(acc, acc, float(g.kernel[0] * g.kernel[1]))
            return
        ones = k.alloc("ub", self._order(*spans, 1), self.compute, name="ones")
        k.vdup(ones, 0.0)
        k.vdup(ones.window(self._order(top, left, 0), self._order(bottom - top, right - left, 1)), 1.0)
        count = k.alloc("ub", self._order(t.rows.size, t.cols.size, 1), self.compute, name="count")
        self._accumulate(count, self._taps(ones, t.rows.size, t.cols.size, 1), k.vadd)
        k.vdiv(acc, acc, count.broadcast(acc.shape))

    def _counted(self, axis: int, run: Run, span: int) -> tuple[int, int]:
        """Range of the held rows or columns whose cells count."""
        if not self.attrs.count_include_pad:
            return run.skip, run.skip + run.held
        g = self.g
        inputs, pad = ((g.h, g.pad_top), (g.w, g.pad_left))[axis]
        # the same for all tiles of a run unless it reaches the padded end, and then it is one tile
        return 0, min(span, inputs + self.attrs.pads[2 + axis] - (run.first * g.strides[axis] - pad))
