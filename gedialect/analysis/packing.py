"""Packing buffers with fixed lifetimes into one arena of least height (dynamic storage allocation, NP-hard).

Several greedy orders are tried, then packings from the bottom up with priorities learned from what stood too high
the last time. All of it is deterministic and bounded by a number of steps, not time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace

STEPS = 1_000_000
"""Conflicts looked at by default: about 0.1 s."""


@dataclass(frozen=True)
class Buffer:
    """``size`` bytes needed from position ``start`` to ``end``, both included."""

    size: int
    start: int
    end: int


@dataclass(frozen=True)
class Packing:
    """Offsets in the order of the buffers; ``peak`` is the arena's size, at least ``lower_bound``; ``order`` names the
    heuristic that won."""

    offsets: list[int]
    peak: int
    lower_bound: int
    order: str


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """Largest sum of sizes live at one position: no packing can do better."""
    changes = [(b.start, b.size) for b in buffers] + [(b.end + 1, -b.size) for b in buffers]
    changes.sort()  # of equal positions, what ends comes first
    live = peak = 0
    for _, change in changes:
        live += change
        peak = max(peak, live)
    return peak


def align(size: int, alignment: int) -> int:
    """``size`` rounded up to a multiple of ``alignment``."""
    return -(-size // alignment) * alignment


def pack(buffers: Sequence[Buffer], alignment: int = 1, *, steps: int = STEPS) -> Packing:
    """Offsets, multiples of ``alignment``, such that buffers live at the same time do not overlap.

    Buffers of no bytes lie at 0. With n buffers and c pairs that are live together, takes O(n log n + c) per order
    tried, and only the linear scan, O(n log n), if c exceeds ``steps``.
    """
    sized = [Buffer(align(b.size, alignment), b.start, b.end) for b in buffers]
    index = [i for i, b in enumerate(sized) if b.size > 0]
    items = [sized[i] for i in index]
    bound = lower_bound(items)
    best = _linear_scan(items)
    name = "first use"
    pairs = _count_pairs(items)
    if max(best, default=0) >= 0 and _height(items, best) > bound and 2 * pairs <= steps:
        best, name = _search(items, best, bound, steps - pairs)
    offsets = [0] * len(sized)
    for i, offset in zip(index, best, strict=True):
        offsets[i] = offset
    return Packing(offsets, _height(items, best), bound, name)


def _height(items: Sequence[Buffer], offsets: Sequence[int]) -> int:
    return max((o + b.size for o, b in zip(offsets, items, strict=True)), default=0)


def _count_pairs(items: Sequence[Buffer]) -> int:
    """Pairs of buffers that are live together."""
    starts = sorted(b.start for b in items)
    ends = sorted(b.end for b in items)
    return sum(i - bisect_left(ends, s) for i, s in enumerate(starts))


def _conflicts(items: Sequence[Buffer]) -> list[list[int]]:
    """For each buffer, the buffers live at the same time."""
    found: list[list[int]] = [[] for _ in items]
    active: list[int] = []
    for i in sorted(range(len(items)), key=lambda i: items[i].start):
        start = items[i].start
        active = [j for j in active if items[j].end >= start]
        found[i].extend(active)
        for j in active:
            found[j].append(i)
        active.append(i)
    return found


# ---------------------------------------------------------------------------------------------- one order


def _place(order: Sequence[int], sizes: Sequence[int], conflicts: list[list[int]], best_fit: bool) -> list[int]:
    """Offsets from placing the buffers in ``order``, each into the smallest (or the lowest) gap that holds it."""
    offsets = [-1] * len(sizes)
    for i in order:
        size = sizes[i]
        taken = [(offsets[j], sizes[j]) for j in conflicts[i] if offsets[j] >= 0]
        taken.sort()
        top = 0
        chosen = -1
        smallest = 0
        for offset, length in taken:
            gap = offset - top
            if gap >= size and (chosen < 0 or gap < smallest):
                chosen, smallest = top, gap
                if not best_fit or gap == size:
                    break
            if offset + length > top:
                top = offset + length
        offsets[i] = chosen if chosen >= 0 else top
    return offsets


def _linear_scan(items: Sequence[Buffer]) -> list[int]:
    """Buffers in order of first use, each into the smallest free gap that holds it; O(n log n)."""
    offsets = [0] * len(items)
    gaps: list[tuple[int, int]] = []  # (size, offset), sorted
    by_start: dict[int, int] = {}
    by_end: dict[int, int] = {}
    live: list[tuple[int, int, int]] = []
    top = 0

    def drop(offset: int, size: int) -> None:
        del by_start[offset], by_end[offset + size]
        del gaps[bisect_left(gaps, (size, offset))]

    def add(offset: int, size: int) -> None:
        by_start[offset] = size
        by_end[offset + size] = size
        insort(gaps, (size, offset))

    def free(offset: int, size: int) -> None:
        nonlocal top
        if offset + size in by_start:
            behind = by_start[offset + size]
            drop(offset + size, behind)
            size += behind
        if offset in by_end:
            before = by_end[offset]
            drop(offset - before, before)
            offset, size = offset - before, size + before
        if offset + size == top:
            top = offset
        else:
            add(offset, size)

    for i in sorted(range(len(items)), key=lambda i: (items[i].start, -items[i].size, i)):
        buffer = items[i]
        while live and live[0][0] < buffer.start:
            _, offset, size = heappop(live)
            free(offset, size)
        at = bisect_left(gaps, (buffer.size, -1))
        if at < len(gaps):
            size, offset = gaps[at]
            drop(offset, size)
            if size > buffer.size:
                add(offset + buffer.size, size - buffer.size)
        else:
            offset = top
            top += buffer.size
        offsets[i] = offset
        heappush(live, (buffer.end, offset, buffer.size))
    return offsets


# ---------------------------------------------------------------------------------------------- several orders


def _orders(items: Sequence[Buffer], conflicts: list[list[int]]) -> list[tuple[str, list[int]]]:
    n = range(len(items))
    size = [b.size for b in items]
    life = [b.end - b.start + 1 for b in items]
    weight = [sum(size[j] for j in conflicts[i]) + size[i] for i in n]

    def by(key: Callable[[int], int]) -> list[int]:
        return sorted(n, key=lambda i: (-key(i), -size[i], items[i].start, i))

    return [
        ("size", by(lambda i: size[i])),
        ("breadth", _by_breadth(items)),
        ("size x lifetime", by(lambda i: size[i] * life[i])),
        ("conflicts", by(lambda i: weight[i])),
        ("lifetime", by(lambda i: life[i])),
        ("first use", by(lambda i: -items[i].start)),
    ]


def _by_breadth(items: Sequence[Buffer]) -> list[int]:
    """Buffers of the fullest position first, each position's by size (Pisarchyk and Lee, arXiv:2001.03288)."""
    total: dict[int, int] = {}
    positions = sorted({b.start for b in items})
    change: dict[int, int] = dict.fromkeys(positions, 0)
    for b in items:
        change[b.start] += b.size
        after = bisect_right(positions, b.end)
        if after < len(positions):
            change[positions[after]] -= b.size
    live = 0
    for p in positions:
        live += change[p]
        total[p] = live
    # the fullest position of each life: minimum of ranks over a range, by a sparse table
    rank = {p: r for r, p in enumerate(sorted(positions, key=lambda p: (-total[p], p)))}
    table: list[list[int]] = [[rank[p] for p in positions]]
    while 2 ** len(table) <= len(positions):
        last: list[int] = table[-1]
        step: int = 2 ** (len(table) - 1)
        table.append([min(last[i], last[i + step]) for i in range(len(last) - step)])

    def first(b: Buffer) -> int:
        lo, hi = bisect_left(positions, b.start), bisect_right(positions, b.end)
        level = (hi - lo).bit_length() - 1
        row = table[level]
        return min(row[lo], row[hi - (1 << level)])

    return sorted(range(len(items)), key=lambda i: (first(items[i]), -items[i].size, items[i].start, i))


def _search(items: Sequence[Buffer], start: list[int], bound: int, steps: int) -> tuple[list[int], str]:
    """The best offsets of all orders within ``steps`` conflicts looked at, and the name of the order."""
    sizes = [b.size for b in items]
    conflicts = _conflicts(items)
    cost = sum(map(len, conflicts)) + len(items)
    best, height, name = start, _height(items, start), "first use"
    for label, candidate in _orders(items, conflicts):
        for best_fit in (True, False) if label == "size" else (True,):
            if steps < cost or height == bound:
                return best, name
            steps -= cost
            offsets = _place(candidate, sizes, conflicts, best_fit)
            if (top := _height(items, offsets)) < height:
                best, height, name = offsets, top, label
    for offsets in _learned(sizes, conflicts, bound, steps // cost):
        if (top := _height(items, offsets)) < height:
            best, height, name = offsets, top, "learned"
        if height == bound:
            break
    return best, name


# ---------------------------------------------------------------------------------------------- learned priorities

_SCALE = 1 << 20


def _learned(sizes: list[int], conflicts: list[list[int]], bound: int, rounds: int) -> Iterator[list[int]]:
    """Packings from the bottom up, ``rounds`` of them; a buffer that stood above the bound comes earlier next time."""
    weight = [sum(sizes[j] for j in others) + size for size, others in zip(sizes, conflicts, strict=True)]
    most = max(weight)
    priority = [w * _SCALE // most for w in weight]
    for _ in range(rounds):
        offsets = _bottom_up(sizes, conflicts, priority)
        yield offsets
        for i, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
            if offset + size > bound:
                priority[i] += 3 * _SCALE * (offset + size - bound) // (10 * bound)


def _bottom_up(sizes: list[int], conflicts: list[list[int]], priority: list[int]) -> list[int]:
    """Always places the buffer that can lie lowest, of several the one of highest priority."""
    lowest = [0] * len(sizes)
    offsets = [-1] * len(sizes)
    waiting = [(0, -p, i) for i, p in enumerate(priority)]
    heapify(waiting)
    while waiting:
        offset, p, i = waiting[0]
        if offset < lowest[i]:
            heapreplace(waiting, (lowest[i], p, i))
            continue
        heappop(waiting)
        offsets[i] = offset
        top = offset + sizes[i]
        for j in conflicts[i]:
            if lowest[j] < top and offsets[j] < 0:
                lowest[j] = top
    return offsets
