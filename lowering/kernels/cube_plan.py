"""How a product is cut: tile sizes, which loop the cores share, what stays in L1.

Candidates are priced with the target's rates: the slowest of the cube, the two load queues and fixpipe, and what
nothing hides. Three ways to walk a product are known: a panel of b stays in L1 while tiles of a pass by, the other
way round, or both come in chunks of k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, prod

from gedialect.errors import GeError
from gedialect.targets import Target
from lowering.kernels.cube import Problem, Read, Window, balanced

L1_SHARE = 0.92
"""Part of L1 that tiles may fill by the estimate; the rest is the bias, alignment and fragmentation."""
ISSUE = 50.0
"""Cycles of scalar work and waiting per step of loads and product."""
BLOCK = 20.0
"""Cycles that each further block costs: among equals, fewer blocks."""
RING_SLOTS = 2
"""Tiles on the way from a cube to its vectors, see `mix`."""
FRACTAL = 16
ROW_WASTE = 1.3
"""Part of the product that rows may be rounded up by, for equal tiles."""
Axis = int | str
"""A batch axis by number, or R and Q (rows and columns; R counts panels), r (tiles in a row panel), N and n alike."""


@dataclass(frozen=True)
class Plan:
    """``r`` x ``q`` rows and columns by ``n`` columns of b in L0, up to ``k`` terms a step.

    ``row_panel`` and ``n_panel`` are multiples of r and n that lie in L1 together; ``a_whole`` and ``b_whole`` say
    that all terms of an operand lie there, else chunks of ``chunk`` channels do. ``order`` lists the loops from
    outside, ``grid`` the one or two that the blocks share, each with the number of its shares.
    """

    r: int
    q: int
    n: int
    k: int
    row_panel: int
    n_panel: int
    chunk: int
    a_whole: bool
    b_whole: bool
    order: tuple[Axis, ...]
    grid: tuple[tuple[Axis, int], ...]
    tiles: int = 1
    """Of the busiest block."""
    cycles: float = 0.0

    @property
    def blocks(self) -> int:
        return prod(n for _, n in self.grid)


def k_steps(plan: Plan, problem: Problem, chunk: int) -> tuple[int, int]:
    """(taps, channels) of one step over ``chunk`` channels: several taps of few channels, or a part of one tap's."""
    if 2 * chunk <= plan.k and problem.taps > 1 and (plan.b_whole is False or chunk == problem.c):
        taps = min(problem.taps, plan.k // chunk)
        return -(-problem.taps // -(-problem.taps // taps)), chunk
    return 1, balanced(chunk, plan.k, 8)


@lru_cache(1024)
def choose(problem: Problem, target: Target, cores: int) -> Plan:
    """The cheapest plan."""
    best: Plan | None = None
    for m, n in _tiles(problem, target):
        plan = fit(problem, target, (m, n, 1 << 30), cores)
        if plan is not None and (best is None or plan.cycles < best.cycles):
            best = plan
    if best is None:
        raise GeError("no tile of this product fits L1", code="GE1402")
    return best


def _tiles(problem: Problem, target: Target) -> Iterator[tuple[int, int]]:
    most = target.size("l0c") // 4
    rows = problem.rows * problem.cols
    n_sizes = sorted({balanced(problem.n, t) for t in (256, 128, 64, 32, 16)}, reverse=True)
    limits = [256, 128, 64, 32, 16, *(x for x in (problem.cols, rows) if FRACTAL <= x <= 512)]
    m_sizes = sorted({min(rows, t) for t in limits}, reverse=True)
    for m in m_sizes:
        for n in n_sizes:
            if _up(m) * _up(n) <= most:
                yield m, n


@lru_cache(4096)
def fit(problem: Problem, target: Target, tile: tuple[int, int, int], cores: int) -> Plan | None:
    """The cheapest plan with tiles of at most ``tile`` = (m, n, k), or None if none fits on chip."""
    m, n, k = tile
    if problem.cols > m:
        r, q = 1, balanced(problem.cols, m)
    else:
        q = problem.cols
        limit = max(1, m // q)
        r = balanced(problem.rows, limit, FRACTAL if q == 1 else 1, ROW_WASTE)
    n = balanced(problem.n, n)
    a_item, b_item = problem.a.dtype.itemsize, problem.b.dtype.itemsize
    k = min(k, target.size("l0a") // 2 // (a_item * _up(r * q)), target.size("l0b") // 2 // (b_item * _up(n)))
    if k < 1 or _up(r * q) * _up(n) * 4 > target.size("l0c"):
        return None
    k = k // FRACTAL * FRACTAL if k > FRACTAL else k
    best: Plan | None = None
    trips = _trips(problem, r, q, n)
    for grid in _grids(trips, cores):
        for plan in _walks(problem, target, (r, q, n, k), grid):
            if best is None or plan.cycles < best.cycles:
                best = plan
    return best


def _up(n: int) -> int:
    return -(-n // FRACTAL) * FRACTAL


def _trips(problem: Problem, r: int, q: int, n: int) -> dict[Axis, int]:
    out: dict[Axis, int] = dict(enumerate(problem.batch))
    out |= {"R": ceil(problem.rows / r), "Q": ceil(problem.cols / q), "N": ceil(problem.n / n)}
    return out


def _grids(trips: dict[Axis, int], cores: int) -> list[tuple[tuple[Axis, int], ...]]:
    """The ways to share the loops that leave the busiest block the least tiles, or nearly so."""
    axes = sorted((a for a, t in trips.items() if t > 1), key=lambda a: -trips[a])[:3]
    if not axes or cores == 1:
        return [((axes[0] if axes else "N", 1),)]
    tiles = prod(trips.values())
    found: list[tuple[int, tuple[tuple[Axis, int], ...]]] = []
    for i, first in enumerate(axes):
        blocks = min(cores, trips[first])
        found.append((tiles // trips[first] * ceil(trips[first] / blocks), ((first, blocks),)))
        if blocks == cores and trips[first] % cores == 0:
            continue
        for second in axes[i + 1 :]:
            rest = tiles // trips[first] // trips[second]
            for share in range(2, min(cores // 2, trips[second]) + 1):
                other = min(cores // share, trips[first])
                if other > 1 and (share == trips[second] or cores % share == 0):
                    busiest = rest * ceil(trips[first] / other) * ceil(trips[second] / share)
                    found.append((busiest, ((first, other), (second, share))))
    least = min(work for work, _ in found)
    good = [grid for work, grid in found if work <= 1.1 * least]
    good.sort(key=lambda g: (len(g), prod(n for _, n in g)))
    return good[:4]


def moves_with(problem: Problem, operand: str) -> list[int]:
    """The batch axes along which an operand (a, b, bias) changes."""
    read = {"a": problem.a, "b": problem.b, "bias": problem.bias}[operand]
    if read is None:
        return []
    strides = read.access.strides
    return [i for i, n in enumerate(problem.batch) if n > 1 and strides[i] != 0]


def held(window: Window | None, r: int, q: int, size: tuple[int, int]) -> tuple[int, int]:
    """Most input rows and columns that a tile of r x q outputs reads."""
    if window is None:
        return r, q
    return tuple(  # pyright: ignore[reportReturnType]
        min(limit, (count - 1) * s + (k - 1) * d + 1)
        for count, s, k, d, limit in zip((r, q), window.strides, window.kernel, window.dilations, size, strict=True)
    )


def _walks(
    problem: Problem, target: Target, tile: tuple[int, int, int, int], grid: tuple[tuple[Axis, int], ...]
) -> Iterator[Plan]:
    r, q, n, k = tile
    mine = _trips(problem, r, q, n)
    for axis, share in grid:
        mine[axis] = ceil(mine[axis] / share)
    batch = list(range(len(problem.batch)))
    a_dep, b_dep = moves_with(problem, "a"), moves_with(problem, "b")
    size = (problem.a.access.shape[-3], problem.a.access.shape[-2])
    high, wide = held(problem.window, r, q, size)
    a_term = max(problem.planes, 1) * high * wide * problem.a.dtype.itemsize  # bytes per channel
    b_term = max(problem.planes, 1) * problem.taps * problem.b.dtype.itemsize  # and per column
    c = problem.c
    room = int(target.size("l1") * L1_SHARE) - 4 * min(problem.n, 4096)
    turns = prod(mine[i] for i in batch)
    tiles = turns * mine["R"] * mine["Q"] * mine["N"]

    def plan(
        order: list[Axis], rp: int, np: int, chunk: int, a_whole: bool, b_whole: bool, loads: tuple[int, int]
    ) -> Plan:
        p = Plan(
            r, q, n, k, rp * r, min(np * n, _over(problem.n, n)), chunk, a_whole, b_whole, tuple(order), grid, tiles
        )  # fmt: skip
        return replace(p, cycles=_price(problem, target, p, tiles, (a_term, b_term), loads))

    def chunk_of(free: int, per_channel: int, whole: bool) -> int:
        """Channels per chunk, double-buffered, that fit ``free``: few chunks, but enough to overlap."""
        most = free // (2 * per_channel)
        if most < 1:
            return 0
        if most * 2 < c:  # the first chunk has a tile of its own beside the two slots of the loop over the others
            most = max(free // (3 * per_channel), 1)
        if not whole and most >= c:
            most = max(ceil(c / 4), min(c, k))
        if most >= c:
            return c
        return balanced(c, most if most < k else most // k * k, min(k, FRACTAL))

    # a panel of b stays, tiles of a pass
    for np in sorted({mine["N"], 1}, reverse=True):
        panels = ceil(mine["N"] / np)
        loads_b = prod(mine[i] for i in b_dep) * panels
        b_bytes = b_term * c * min(np * n, problem.n) * min(loads_b, 2)
        order: list[Axis] = [*b_dep, "N", *(i for i in batch if i not in b_dep), "R", "Q", "n", "r"]
        loads_a = turns * panels * mine["R"] * mine["Q"]
        if b_bytes + a_term * c * min(loads_a, 2) <= room:
            yield plan(order, 1, np, c, True, True, (loads_a, loads_b))
        elif b_bytes < room:
            chunk = chunk_of(room - b_bytes, a_term, True)
            if chunk:
                yield plan(order, 1, np, chunk, False, True, (loads_a * np, loads_b))
    # a panel of a stays, tiles of b pass
    for rp in sorted({mine["R"], 1}, reverse=True) if problem.window is None else [1]:
        panels = ceil(mine["R"] / rp)
        loads_a = prod(mine[i] for i in a_dep) * panels * mine["Q"]
        a_bytes = a_term * rp * c * min(loads_a, 2)
        order = [*a_dep, "R", "Q", *(i for i in batch if i not in a_dep), "N", "r", "n"]
        loads_b = turns * panels * mine["Q"] * mine["N"]
        if a_bytes + b_term * c * n * min(loads_b, 2) <= room:
            yield plan(order, rp, 1, c, True, True, (loads_a, loads_b))
        elif a_bytes < room:
            chunk = chunk_of(room - a_bytes, b_term * n, True)
            if chunk:
                yield plan(order, rp, 1, chunk, True, False, (loads_a, loads_b * rp))
    # both come in chunks
    chunk = chunk_of(room, a_term + b_term * n, False)
    if chunk:
        yield plan([*batch, "R", "Q", "N", "r", "n"], 1, 1, chunk, False, False, (tiles, tiles))


def _over(n: int, tile: int) -> int:
    return -(-n // tile) * tile


def _price(
    problem: Problem, target: Target, p: Plan, tiles: int, terms: tuple[int, int], loads: tuple[int, int]
) -> float:
    """Cycles of the block with the most work."""
    m, c = p.r * p.q, problem.c
    dtype = problem.a.dtype
    chunks = ceil(c / p.chunk)
    taps, channels = k_steps(p, problem, p.chunk)
    steps = max(problem.planes, 1) * ceil(problem.taps / taps) * (ceil(p.chunk / channels) if taps == 1 else 1) * chunks
    k = max(problem.k, 1)
    cube = tiles * (target.cube.cycles(m, k, p.n, dtype.name, dtype.itemsize) + steps * target.cube.start)
    mte1 = tiles * (
        steps * ISSUE
        + target.transfer_cycles("l1_to_l0a", _up(m) * k * dtype.itemsize)
        + target.transfer_cycles("l1_to_l0b", _up(p.n) * k * problem.b.dtype.itemsize)
    )
    a_bytes = terms[0] * c * (p.row_panel // p.r)
    b_bytes = terms[1] * c * min(p.n_panel, problem.n)
    a_parts, b_parts = 1 if p.a_whole else chunks, 1 if p.b_whole else chunks
    moved = loads[0] * a_bytes + loads[1] * b_bytes
    size = (problem.a.access.shape[-3], problem.a.access.shape[-2])
    high, wide = held(problem.window, p.row_panel, p.q, size)
    a_c, b_c = (c if whole else p.chunk for whole in (p.a_whole, p.b_whole))
    a_bytes = int(a_bytes * _slowdown(problem.a, (high, wide, a_c), target))
    columns = (*problem.b.access.shape[-4:-2], b_c, p.n_panel)
    b_bytes = int(b_bytes * _slowdown(problem.b, columns, target, in_order=taps > 1))
    first = target.transfer_cycles("gm_to_l1", a_bytes // a_parts) + target.transfer_cycles(
        "gm_to_l1", b_bytes // b_parts
    )
    mte2 = target.transfer_cycles("gm_to_l1", loads[0] * a_bytes + loads[1] * b_bytes)
    mte2 += ISSUE * (loads[0] * a_parts + loads[1] * b_parts)
    mte2 = max(mte2, target.chip_cycles(moved * p.blocks, l2=True))
    out = target.transfer_cycles("l0c_to_gm", m * p.n * problem.epilogue.dtype.itemsize)
    serial = steps * ISSUE if tiles == 1 else 0.0
    overlapped, after = max(cube, mte1, mte2, tiles * out), 0.0
    if problem.after:
        # each vector works on half a tile; a slot of the ring comes back after the way there, the load, the way back
        gm, signal, work = target.gm, target.sync.cross_core, m * p.n / 2 * problem.after
        turn = (out + gm.write_latency + signal + work + gm.read_latency + signal) / RING_SLOTS
        overlapped = max(overlapped, tiles * work, (tiles - RING_SLOTS) * turn + RING_SLOTS * out)
        after = gm.write_latency + signal + gm.read_latency + work + gm.write_latency
    return overlapped + after + first + out + serial + target.gm.read_latency + tiles * ISSUE + p.blocks * BLOCK


def _slowdown(read: Read, sizes: tuple[int, ...], target: Target, *, in_order: bool = False) -> float:
    """Bytes that a load of the last axes, ``sizes`` of them, occupies the port with, per byte: bursts of what lies
    together in global memory, blocks on the chip where the matrix is turned (halves turn on the way into L0, unless
    they must lie ``in_order``)."""
    strides = read.access.strides[-len(sizes) :]
    item, run, rest = read.dtype.itemsize, 1, 0
    for stride, size in sorted((abs(s), n) for s, n in zip(strides, sizes, strict=True) if n > 1 and s):
        if stride == run and not rest:
            run *= size
        else:
            rest |= stride * item
    outside = target.gm.burst_bytes(run * item) / (run * item)
    if (rest | run * item) % target.alignment.gm_buffer:
        outside /= target.gm.unaligned_efficiency
    turned = (item != 2 or in_order) and strides[-1] not in (0, 1) and sizes[-1] > 1
    return max(outside, target.vector.block_bytes / item if turned else 1.0)


__all__ = ["Axis", "Plan", "choose", "fit", "held", "k_steps", "moves_with"]
