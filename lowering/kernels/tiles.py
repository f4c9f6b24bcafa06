"""Loops over tiles, shared by generators: dealing tiles to cores, tails, views of global memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager

from gedialect.ir.access import Access, row_major
from lowering.kernels.builder import Affine, GmArg, KernelBuilder, TileRef

Body = Callable[[Sequence[Affine], Sequence[int], int], None]
"""``body(starts, sizes, buffers)`` writes the code of one tile; ``buffers`` is 2 where tiles follow each other in a
loop of their own, so that slots may take turns, and 1 where they would only hold room."""


@contextmanager
def only_block(k: KernelBuilder, index: int) -> Generator[None]:
    """Code for one block: two loops whose bounds meet only there."""
    with ExitStack() as stack:
        if k.num_blocks > 1:
            stack.enter_context(k.once_if_less(k.block_idx, index + 1))
            stack.enter_context(k.once_if_less(index, k.block_idx + 1))
        yield


def deal(k: KernelBuilder, shape: Sequence[int], tile: Sequence[int], body: Body, *, share: bool = True) -> None:
    """Code for every tile of ``shape``: the axis of most tiles is dealt to the blocks, the others are loops.

    A last, smaller tile of an axis gets code of its own. Without ``share`` every block does all tiles.
    """
    tile = [min(t, n) for n, t in zip(shape, tile, strict=True)]
    trips = [-(-n // t) for n, t in zip(shape, tile, strict=True)]
    dealt = max(range(len(shape)), key=lambda i: trips[i]) if share else -1
    order = [*([dealt] if share else []), *(i for i in range(len(shape)) if i != dealt and trips[i] > 1)]

    def loops(order: Sequence[int], start: list[Affine], size: list[int], buffers: int) -> None:
        if not order:
            body(start, size, buffers)
            return
        axis, rest = order[0], order[1:]
        whole, tail = divmod(shape[axis], size[axis])
        step = size[axis]

        def inner(at: Affine, length: int, buffers: int) -> None:
            inner_start, inner_size = list(start), list(size)
            inner_start[axis], inner_size[axis] = at, length
            loops(rest, inner_start, inner_size, buffers)

        if axis == dealt:
            if whole:
                with k.loop(k.block_idx, whole, k.num_blocks) as i:
                    inner(i * step, step, 2)
            if tail:
                with only_block(k, whole % k.num_blocks):
                    inner(Affine(whole * step), tail, 1)
            return
        if whole == 1:
            inner(Affine(), step, 1 if tail else buffers)
        elif whole:
            with k.loop(0, whole) as i:
                inner(i * step, step, 2)
        if tail:
            inner(Affine(whole * step), tail, 1)

    loops(order, [Affine()] * len(shape), list(tile), 1)


def split_axes(shape: Sequence[int], elements: int) -> tuple[int, ...]:
    """A tile of at most ``elements``: whole inner axes, one split axis, single steps of outer ones."""
    tile = [1] * len(shape)
    room = max(1, elements)
    for axis in reversed(range(len(shape))):
        tile[axis] = min(shape[axis], room)
        room //= tile[axis]
        if tile[axis] < shape[axis]:
            break
    return tuple(tile)


def gm_view(arg: GmArg, access: Access, at: Sequence[Affine], shape: Sequence[int]) -> TileRef:
    """The tile of ``shape`` at ``at`` of what ``access`` reads or writes."""
    offset = Affine(access.offset)
    for start, stride in zip(at, access.strides, strict=True):
        if stride:
            offset = offset + start * stride
    # axes of size 1 do not move: the stride of a contiguous view lets plain tiles print plainly
    want = row_major(tuple(shape))
    strides = [w if n == 1 else s for s, w, n in zip(access.strides, want, shape, strict=True)]
    return arg.view(offset, shape, strides)
