"""Writes a planned product as loops: panels of GM into L1, steps of L1 into L0, mmad, fixpipe."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from gedialect.binary.kernel import contiguous
from gedialect.ir.dtypes import BY_NAME
from gedialect.targets import Target
from lowering.kernels.builder import Affine, KernelBuilder, TileRef
from lowering.kernels.cube import Problem, Read, Span, spans, window_spans
from lowering.kernels.cube_plan import Axis, Plan, k_steps, moves_with

UNROLL = 2
"""Steps over one tap's channels that are written out; more become a loop."""
ZERO = Affine()


@dataclass(frozen=True)
class At:
    """Where a loop stands on an axis: first output, first held input, and the span that says the sizes."""

    out: Affine
    held: Affine
    span: Span


@dataclass(frozen=True)
class Held:
    """An operand, or a part of one, in L1: a tile, and the size and stride in it of each of the operand's axes."""

    tile: TileRef
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """The state of the walk: positions on the axes, operands in L1, whether the innermost loop repeats."""

    at: tuple[tuple[Axis, At], ...] = ()
    a: Held | None = None
    b: Held | None = None
    bias_row: TileRef | None = None
    bias: TileRef | None = None
    repeats: bool = False

    def __getitem__(self, axis: Axis) -> At:
        for name, at in reversed(self.at):
            if name == axis:
                return at
        raise KeyError(axis)

    def has(self, axes: Sequence[Axis]) -> bool:
        known = {name for name, _ in self.at}
        return all(a in known for a in axes)


class Nest:
    """The loops of one problem in the cube function being written."""

    def __init__(self, k: KernelBuilder, problem: Problem, plan: Plan, target: Target, args: Sequence[str]):
        self.k = k
        self.p = problem
        self.plan = plan
        self.args = args
        self.bt_row = target.size("bt") // 4
        self.c_slots = 2 if 2 * plan.r * plan.q * plan.n * 4 <= target.size("l0c") else 1
        self.share: dict[Axis, tuple[Affine, int]] = {}
        """Loops the blocks share: this block's number among them, and how many there are."""
        self.row_spans, self.col_spans = self._image_spans()
        self.deps: dict[str, list[Axis]] = {
            "a": [*moves_with(problem, "a"), "R", "Q"],
            "b": [*moves_with(problem, "b"), "N"],
        }

    def _image_spans(self) -> tuple[list[Span], list[Span]]:
        p, plan = self.p, self.plan
        if p.window is None:
            return spans(p.rows, plan.row_panel), spans(p.cols, plan.q)
        w = p.window
        h, wide = p.a.access.shape[-3:-1]
        return (
            window_spans(p.rows, plan.r, h, w.kernel[0], w.strides[0], w.dilations[0], w.pads[0]),
            window_spans(p.cols, plan.q, wide, w.kernel[1], w.strides[1], w.dilations[1], w.pads[2]),
        )

    def write(self) -> None:
        """All tiles of the problem that fall to this block."""
        k, grid = self.k, self.plan.grid
        if k.num_blocks == 1:
            self._level(0, Place())
        elif len(grid) == 1:
            self.share[grid[0][0]] = k.block_idx, k.num_blocks
            self._level(0, Place())
        else:  # the block's number in two digits: the first by search, which leaves the second affine
            (first, high), (second, low) = grid
            with k.loop(0, high, name="share") as i, between(k, k.block_idx - i * low, 0, low):
                self.share[first] = i, high
                self.share[second] = k.block_idx - i * low, low
                self._level(0, Place())

    # ------------------------------------------------------------------ loops
    def _level(self, depth: int, s: Place) -> None:
        s = self._hoist(s)
        if depth == len(self.plan.order):
            self.tile(s)
            return
        axis = self.plan.order[depth]
        for at, repeats in self._spans(self._axis_spans(axis, s), self.share.get(axis)):
            self._level(
                depth + 1, replace(s, at=(*s.at, (axis, at)), repeats=s.repeats if repeats is None else repeats)
            )

    def _axis_spans(self, axis: Axis, s: Place) -> list[Span]:
        match axis:
            case "R":
                return self.row_spans
            case "Q":
                return self.col_spans
            case "N":
                return spans(self.p.n, self.plan.n_panel)
            case "n":
                return spans(s["N"].span.size, self.plan.n)
            case "r":
                panel = s["R"].span
                return spans(panel.size, panel.size if self.p.window is not None else self.plan.r)
            case _:
                assert isinstance(axis, int)
                return spans(self.p.batch[axis], 1)

    def _spans(self, all_spans: list[Span], share: tuple[Affine, int] | None) -> Iterator[tuple[At, bool | None]]:
        """Each span once, inside its loop; the flag says whether that loop repeats (None: there is no loop).

        Of a shared loop, tiles of the longest span go round from the first sharer on, the others follow it.
        """
        k = self.k
        longest = max(all_spans, key=lambda s: s.count)
        turn = longest.count
        for span in all_spans:
            if share is None:
                if span.count == 1:
                    alone = len(all_spans) == 1  # beside others, it has no part in their taking turns
                    yield At(Affine(span.start), Affine(span.held_start), span), None if alone else False
                else:
                    with k.loop(0, span.count) as i:
                        yield _at(span, i), True
                continue
            me, sharers = share
            first = 0 if span is longest else turn % sharers
            turn += 0 if span is longest else span.count
            if first + span.count <= sharers:
                tested = first > 0 or span.count < sharers
                with between(k, me, first, first + span.count, sharers):
                    yield _at(span, me - first if span.count > 1 else ZERO), False if tested else None
            else:
                with k.loop(me, span.count, sharers) as i:
                    yield _at(span, i), True

    # ------------------------------------------------------------------ operands in L1
    def _hoist(self, s: Place) -> Place:
        """Load what is wholly known here and not loaded yet."""
        if self.p.planes and self.plan.a_whole and s.a is None and s.has(self.deps["a"]):
            s = replace(s, a=self._load_a(s, ZERO, self.p.c))
        if self.p.planes and self.plan.b_whole and s.b is None and s.has(self.deps["b"]):
            s = replace(s, b=self._load_b(s, ZERO, self.p.c))
        if self.p.bias is not None:
            s = self._hoist_bias(s, self.p.bias)
        return s

    def _load_a(self, s: Place, c0: Affine, c: int) -> Held:
        """[planes, H, W, c]: rows, columns and channels that the tile or panel reads, of all planes."""
        access = self.p.a.access
        planes = max(self.p.planes, 1)
        rows, cols = s["R"], s["Q"]
        shape = (planes, rows.span.held, cols.span.held, c)
        offset = self._offset(self.p.a, s) + rows.held * access.strides[-3] + cols.held * access.strides[-2]
        strides = access.strides[-4:]
        order = self._order(self.p.a, shape, strides)
        if self.p.window is None and order.index(1) + 1 != order.index(2):
            order = [0, 1, 2, 3]  # rows and columns must be one axis of the matrix
        return self._load(self.p.a, offset + c0 * strides[-1], shape, strides, order, "a", s)

    def _load_b(self, s: Place, c0: Affine, c: int) -> Held:
        """[planes, taps, c, n]: the panel of columns."""
        access = self.p.b.access
        n = s["N"] if self.plan.b_whole else s["n"]
        *_, kh, kw, _, _ = access.shape
        shape = (*access.shape[-5:-2], c, n.span.size)
        offset = self._offset(self.p.b, s) + self._column(s, whole=self.plan.b_whole) * access.strides[-1]
        strides = access.strides[-5:]
        order = self._order(self.p.b, shape, strides)
        apart = kh > 1 and kw > 1 and order.index(1) + 1 != order.index(2)
        if apart or k_steps(self.plan, self.p, min(c, self.plan.chunk))[0] > 1:
            order = [0, 1, 2, 3, 4]
        held = self._load(self.p.b, offset + c0 * strides[-2], shape, strides, order, "b", s)
        plane, row, col, channel, column = held.strides
        return Held(held.tile, (shape[0], kh * kw, c, shape[-1]), (plane, col if kw > 1 else row, channel, column))

    def _order(self, read: Read, shape: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
        """Axes from the outermost in L1: GM's own order for types that a load into L0 transposes at no cost."""
        axes = list(range(len(shape)))
        if read.dtype.itemsize == 2:
            axes.sort(key=lambda i: -abs(strides[i]) if shape[i] > 1 else 0)
        return axes

    def _column(self, s: Place, *, whole: bool = False) -> Affine:
        return s["N"].out if whole else s["N"].out + s["n"].out

    def _offset(self, read: Read, s: Place) -> Affine:
        offset = Affine(read.access.offset)
        for i, n in enumerate(self.p.batch):
            if n > 1 and read.access.strides[i] != 0:
                offset = offset + s[i].out * read.access.strides[i]
        return offset

    def _load(
        self,
        read: Read,
        offset: Affine,
        shape: tuple[int, ...],
        strides: Sequence[int],
        order: Sequence[int],
        name: str,
        s: Place,
    ) -> Held:
        """A strided box of a kernel argument in L1, its axes there in ``order``."""
        stored = tuple(shape[i] for i in order if shape[i] > 1) or (1,)
        tile = self.k.alloc("l1", stored, read.dtype, buffers=2 if s.repeats else 1, name=name)
        inner = [0] * len(shape)
        step = 1
        for i in reversed(order):
            inner[i] = step
            step *= shape[i]
        dims, far, near = paired(shape, strides, inner)
        if (far, near) == ((1,), (1,)):
            dims, far, near = stored, tile.strides, tile.strides
        gm = self.k.gm(self.args[read.arg]).view(offset, dims, far)
        self.k.load(tile if (dims, near) == (tile.shape, tile.strides) else tile.view(0, dims, near), gm)
        return Held(tile, shape, tuple(inner))

    # bias: a row in L1, then BT for as many columns as fit
    def _hoist_bias(self, s: Place, bias: Read) -> Place:
        batch = moves_with(self.p, "bias")
        if not s.has(batch):
            return s
        f32 = BY_NAME["i32" if self.p.accumulator.name == "i32" else "f32"]
        if s.bias_row is None and self.p.n * bias.dtype.itemsize <= 16384:
            row = self._bias_row(s, bias, ZERO, self.p.n)
            s = replace(s, bias_row=row)
            if self.p.n <= self.bt_row:
                assert row is not None
                bt = self.k.alloc("bt", (self.p.n,), f32, name="bias")
                self.k.load_bias(bt, row)
                return replace(s, bias=bt)
        if s.bias is None and s.has(["N", "n"]):
            n, column = s["n"].span.size, self._column(s)
            if s.bias_row is not None:
                row = s.bias_row.view(column, (n,))
            else:
                row = self._bias_row(s, bias, column, n)
            bt = self.k.alloc("bt", (n,), f32, buffers=2 if s.repeats and 2 * n <= self.bt_row else 1, name="bias")
            self.k.load_bias(bt, row)
            return replace(s, bias=bt)
        return s

    def _bias_row(self, s: Place, bias: Read, column: Affine, n: int) -> TileRef:
        offset = self._offset(bias, s) + column * bias.access.strides[-1]
        return self._load(bias, offset, (n,), bias.access.strides[-1:], [0], "bias", s).tile

    # ------------------------------------------------------------------ one tile
    def tile(self, s: Place) -> None:
        """One tile of the result: the product, then fixpipe."""
        p, k = self.p, self.k
        m, n = s["r"].span.size * s["Q"].span.size, s["n"].span.size
        acc = k.alloc("l0c", (m, n), p.accumulator, buffers=self.c_slots if s.repeats else 1, name="acc")
        bias = s.bias
        if bias is not None and bias.shape != (n,):
            bias = bias.view(self._column(s), (n,))
        if p.planes == 0:
            self._nothing(acc, bias, s)
        elif self.plan.a_whole and self.plan.b_whole:
            self._chunk(s, acc, bias, ZERO, p.c, first=True)
        else:
            self._chunks(s, acc, bias)
        self.finish_tile(s, acc)

    def finish_tile(self, s: Place, acc: TileRef) -> None:
        """Store a finished tile."""
        p = self.p
        rows, cols = s["r"].span.size, s["Q"].span.size
        access = p.y
        offset = Affine(access.offset)
        for i, n in enumerate(p.batch):
            if n > 1:
                offset = offset + s[i].out * access.strides[i]
        row = s["R"].out + s["r"].out
        offset = offset + row * access.strides[-3] + s["Q"].out * access.strides[-2]
        offset = offset + self._column(s) * access.strides[-1]
        n = acc.shape[1]
        dims, outer, inner = paired((rows, cols, n), access.strides[-3:], (cols * n, n, 1))
        if (outer, inner) == ((1,), (1,)):
            dims, outer, inner = acc.shape, acc.strides, acc.strides
        source = acc if (dims, inner) == (acc.shape, acc.strides) else acc.view(0, dims, inner)
        e = p.epilogue
        self.k.fixpipe(self.k.gm("y0").view(offset, dims, outer), source, relu=e.relu, slope=e.slope)

    def _chunks(self, s: Place, acc: TileRef, bias: TileRef | None) -> None:
        k = self.k
        for span in spans(self.p.c, self.plan.chunk):
            count, at = span.count, Affine(span.start)
            if span.start == 0:
                self._chunk(replace(s, repeats=False), acc, bias, at, span.size, first=True)
                count, at = count - 1, at + span.size
            if count == 1:
                self._chunk(replace(s, repeats=False), acc, bias, at, span.size, first=False)
            elif count > 1:
                with k.loop(0, count, name="kc") as i:
                    self._chunk(replace(s, repeats=True), acc, bias, at + i * span.size, span.size, first=False)

    def _chunk(self, s: Place, acc: TileRef, bias: TileRef | None, c0: Affine, c: int, *, first: bool) -> None:
        """The steps over channels c0 .. c0 + c of all taps; operands not in L1 yet come first."""
        a, b = s.a, s.b
        a_from = b_from = c0
        if a is None:
            a, a_from = self._load_a(s, c0, c), ZERO
        if b is None:
            b, b_from = self._load_b(s, c0, c), ZERO
        _Steps(self, s, acc, bias, a, b).write(a_from, b_from, c, first)

    def _nothing(self, acc: TileRef, bias: TileRef | None, s: Place) -> None:
        """A sum without terms: one product of zeros, which img2col reads from around an element of a."""
        k, p = self.k, self.p
        m, n = acc.shape
        l1: list[TileRef] = []
        for read, name in ((p.a, "a"), (p.b, "b")):
            one = k.alloc("l1", (1,), read.dtype, name=name)
            k.load(one, k.gm(self.args[read.arg]).view(read.access.offset, (1,)))
            l1.append(one)
        left = k.alloc("l0a", (m, 1), p.a.dtype, name="a0")
        right = k.alloc("l0b", (1, n), p.b.dtype, name="b0")
        outside = (1, 0, 0, 0)
        k.load3d(left, l1[0].view(0, (1, 1, 1)), (1, 1), (0, 1), m, pads=outside)
        k.load3d(right, l1[1].view(0, (1, 1, n), (0, 0, 0)), (1, 1), (0, 1), 1, pads=outside)
        k.mmad(acc, left, right, bias, init=True)


class _Steps:
    """The steps of one chunk: load3d or load2d of a, load2d of b, mmad."""

    def __init__(self, nest: Nest, s: Place, acc: TileRef, bias: TileRef | None, a: Held, b: Held):
        self.nest = nest
        self.k = nest.k
        self.s = s
        self.acc = acc
        self.bias = bias
        self.a = a
        self.b = b
        self.pool: tuple[list[TileRef], list[TileRef]] | None = None
        self.turn = 0

    def write(self, a_from: Affine, b_from: Affine, c: int, first: bool) -> None:
        nest = self.nest
        p = nest.p
        taps, channels = k_steps(nest.plan, p, c)
        if taps > 1:
            size = taps * c
            groups = [(t, min(t + taps, p.taps)) for t in range(0, p.taps, taps)]
            self._make_pool(size, len(groups) * p.planes)
            for plane in range(p.planes):
                for t0, t1 in groups:
                    self._step(plane, t0, t1, a_from, b_from, c, first)
                    first = False
            return
        parts = spans(c, channels)
        if all(s.count <= UNROLL for s in parts):
            self._make_pool(channels, p.planes * p.taps * sum(s.count for s in parts))
        for plane in range(p.planes):
            for tap in range(p.taps):
                for span in parts:
                    first = self._channels(plane, tap, a_from, b_from, span, first)

    def _channels(self, plane: int, tap: int, a_from: Affine, b_from: Affine, span: Span, first: bool) -> bool:
        count, at = span.count, Affine(span.start)
        if first or self.pool is not None:
            for _ in range(count if self.pool is not None else 1):
                self._step(plane, tap, tap + 1, a_from + at, b_from + at, span.size, first)
                first = False
                count, at = count - 1, at + span.size
        if count == 1:
            self._step(plane, tap, tap + 1, a_from + at, b_from + at, span.size, False)
        elif count > 1:
            with self.k.loop(0, count, name="k") as i:
                at = at + i * span.size
                self._step(plane, tap, tap + 1, a_from + at, b_from + at, span.size, False, buffers=2)
        return first

    def _make_pool(self, size: int, steps: int) -> None:
        """Two tiles of each of L0A and L0B that written-out steps use in turn."""
        m, n = self.acc.shape
        p, k = self.nest.p, self.k
        slots = range(min(2, steps))
        self.pool = (
            [k.alloc("l0a", (m, size), p.a.dtype, name="a0") for _ in slots],
            [k.alloc("l0b", (size, n), p.b.dtype, name="b0") for _ in slots],
        )

    def _step(
        self, plane: int, t0: int, t1: int, a_from: Affine, b_from: Affine, c: int, first: bool, *, buffers: int = 1
    ) -> None:
        """Terms (taps t0 .. t1) x (c channels from the given ones on)."""
        k, p = self.k, self.nest.p
        m, n = self.acc.shape
        size = (t1 - t0) * c
        if self.pool is not None:
            left, right = (tiles[self.turn % len(tiles)] for tiles in self.pool)
            self.turn += 1
            left = left if left.shape[1] == size else left.view(0, (m, size))
            right = right if right.shape[0] == size else right.view(0, (size, n))
        else:
            left = k.alloc("l0a", (m, size), p.a.dtype, buffers=buffers, name="a0")
            right = k.alloc("l0b", (size, n), p.b.dtype, buffers=buffers, name="b0")
        self._load_a(left, plane, t0, t1, a_from, c)
        b_plane, b_tap, b_c, b_n = self.b.strides
        start = b_from * b_c + (plane * b_plane + t0 * b_tap)
        if self.nest.plan.b_whole:
            start = start + self.s["n"].out * b_n
        k.load2d(right, _part(self.b.tile, start, (size, n), (b_c, b_n)))
        k.mmad(self.acc, left, right, self.bias if first else None, init=first)

    def _load_a(self, left: TileRef, plane: int, t0: int, t1: int, c0: Affine, c: int) -> None:
        p, k, a = self.nest.p, self.k, self.a
        a_plane, a_row, a_col, a_c = a.strides
        row, col = self.s["R"].span, self.s["Q"].span
        start = c0 * a_c + plane * a_plane
        if p.window is None:
            step = a_col if a.shape[2] > 1 else a_row
            k.load2d(left, _part(a.tile, start + self.s["r"].out * a_row, left.shape, (step, a_c)))
            return
        w = p.window
        src = _part(a.tile, start, (*a.shape[1:3], c), (a_row, a_col, a_c))
        k.load3d(
            left, src, w.kernel, (t0, t1), col.size, strides=w.strides, dilations=w.dilations,
            pads=(row.before, row.after, col.before, col.after), h_out0=row.out0, w_out0=col.out0,
        )  # fmt: skip


def _part(tile: TileRef, start: Affine, shape: Sequence[int], strides: Sequence[int]) -> TileRef:
    """A view of ``tile``: itself if it is all of it."""
    shape, packed = tuple(shape), contiguous(tuple(shape))
    strides = tuple(w if n == 1 else s for n, s, w in zip(shape, strides, packed, strict=True))
    if shape == tile.shape and strides == packed and not start.const and not start.terms:
        return tile
    return tile.view(start, shape, strides)


def _at(span: Span, i: Affine) -> At:
    return At(i * span.size + span.start, i * span.held_step + span.held_start, span)


@contextmanager
def between(k: KernelBuilder, value: Affine, low: int, high: int, limit: int | None = None) -> Generator[None]:
    """Code that runs if low <= value < high: two loops whose bounds meet only then.

    A value known to lie in 0 .. ``limit`` needs no test against these.
    """
    with ExitStack() as stack:
        if limit is None or low > 0:
            stack.enter_context(k.once_if_less(low - 1, value))
        if limit is None or high < limit:
            stack.enter_context(k.once_if_less(value, high))
        yield


def paired(
    shape: Sequence[int], outer: Sequence[int], inner: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A copy's axes in the order of memory ``outer`` (GM), neighbours merged where both sides allow.

    So the GM side runs in bursts as long as can be. Returns sizes and the strides on both sides.
    """
    axes = [(n, o, i) for n, o, i in zip(shape, outer, inner, strict=True) if n > 1]
    axes.sort(key=lambda a: -abs(a[1]) if a[1] else -(1 << 62))
    merged: list[tuple[int, int, int]] = []
    for n, o, i in axes:
        if merged and merged[-1][1] == o * n and merged[-1][2] == i * n:
            merged[-1] = (merged[-1][0] * n, o, i)
        else:
            merged.append((n, o, i))
    if not merged:
        return (1,), (1,), (1,)
    sizes, far, near = zip(*merged, strict=True)
    return tuple(sizes), tuple(far), tuple(near)


__all__ = ["At", "Nest", "Place", "between", "paired"]
