"""Times of kernels that can be worked out by hand, and properties of the model."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import pytest
from hand_kernels import do, gm, kernel, lin, pipelined, set_flag, tile, ub, wait_flag

from gedialect.binary.isa import Pipe
from gedialect.binary.kernel import Inst, Kernel, Linear, Loop
from gedialect.errors import GeError
from gedialect.runtime.simulator.costs import collapse, cost
from gedialect.runtime.simulator.timing import block_events, kernel_time
from gedialect.targets import load_target

T = load_target("ascend910b1")
HZ = 1.85e9
GIB = 2**30


def busy(inst: Inst) -> int:
    found = cost(inst, T)
    assert found is not None
    return found.busy


def cycles(k: Kernel) -> int:
    return kernel_time(k, T).cycles


# by hand


def test_one_load() -> None:
    transfer = ceil((16384 + 30643) / (247.2 * GIB) * HZ)
    k = kernel([do("load", ub((4096,)), gm(0, (4096,)))])
    assert cycles(k) == 1 + transfer + 1400


def test_one_add() -> None:
    # 4096 f32 are 64 repeats; issue 1, head 10, 2 each, tail 14
    k = kernel([do("vadd", ub((4096,)), ub((4096,), 16384), ub((4096,), 32768))])
    assert cycles(k) == 1 + 10 + 2 * 64 + 14


def test_head_once_while_the_pipe_is_at_work() -> None:
    add = do("vadd", ub((4096,)), ub((4096,), 16384), ub((4096,), 32768))
    assert cycles(kernel([add] * 5)) == 1 + 10 + 5 * 2 * 64 + 14


def test_a_barrier_waits_for_the_tail() -> None:
    add = do("vadd", ub((4096,)), ub((4096,), 16384), ub((4096,), 32768))
    assert cycles(kernel([add, do("pipe_barrier", pipe="V"), add])) == 1 + 2 * (10 + 128 + 14) + 1


def test_one_mmad() -> None:
    a, b = tile("l0a", (64, 64), dtype="f16"), tile("l0b", (64, 48), dtype="f16")
    k = kernel(cube=[do("mmad", tile("l0c", (64, 48)), a, b, init=True)])
    assert cycles(k) == 1 + 6 + 4 * 4 * 3
    f32 = do("mmad", tile("l0c", (64, 48)), tile("l0a", (64, 64)), tile("l0b", (64, 48)), init=True)
    assert cycles(kernel(cube=[f32])) == 1 + 6 + 4 * 8 * 3 * 2


def test_one_load_into_l0() -> None:
    # 60 x 60 f16: 64 rows of 4 fractal widths of 32 bytes
    k = kernel(cube=[do("load2d", tile("l0a", (60, 60), dtype="f16"), tile("l1", (60, 60), dtype="f16"))])
    assert cycles(k) == 1 + ceil(64 * 128 / (441 * GIB) * HZ)


def test_one_fixpipe() -> None:
    k = kernel(cube=[do("fixpipe", gm(0, (64, 128)), tile("l0c", (64, 128)))])
    assert cycles(k) == 1 + ceil((32768 + 29104) / (41.3 * GIB) * HZ) + 300


def test_a_chain_adds_up() -> None:
    load = do("load", ub((4096,)), gm(0, (4096,)))
    relu = do("vrelu", ub((4096,), 16384), ub((4096,)))
    store = do("store", gm(1, (4096,)), ub((4096,), 16384))
    k = kernel(
        [
            load,
            set_flag("MTE2", "V"),
            wait_flag("MTE2", "V"),
            relu,
            set_flag("V", "MTE3"),
            wait_flag("V", "MTE3"),
            store,
        ]
    )
    # set and wait take a cycle each; the relu starts on a pipe that was waiting
    expected = 1 + busy(load) + 1400 + 2 + (10 + 64 + 13) + 2 + busy(store) + 300
    assert cycles(k) == expected


# costs


@pytest.mark.parametrize(
    ("view", "factor"),
    [
        (gm(0, (64, 128), strides=(1024, 1)), 1.0),  # rows of 512 bytes at multiples of 4096
        (gm(0, (64, 128), 32, strides=(1024, 1)), 1 / 0.7),  # not at multiples of 512
        (gm(0, (64, 128), strides=(136, 1)), 1 / 0.7),
        (gm(0, (64, 128), strides=(0, 1)), 1.0),
    ],
)
def test_address_of_a_row(view: object, factor: float) -> None:
    load = do("load", ub((64, 128)), view)  # type: ignore[arg-type]
    assert busy(load) == ceil((ceil(64 * 512 * factor) + 30643) / (247.2 * GIB) * HZ)


def test_short_rows_take_whole_bursts() -> None:
    load = do("load", ub((64, 8)), gm(0, (64, 8), strides=(128, 1)))
    assert busy(load) == ceil((64 * 128 + 30643) / (247.2 * GIB) * HZ)


def test_elements_apart_on_the_chip_take_a_block_each() -> None:
    load = do("load", tile("l1", (64, 64), strides=(1, 64)), gm(0, (64, 64)))
    assert busy(load) == ceil((4096 * 32 + 1107) / (135 * GIB) * HZ)


def test_a_permuted_walk_of_both_sides_is_contiguous() -> None:
    assert collapse((8, 16, 4), [(1, 8, 128), (1, 8, 128)]) == [(512, (1, 1))]
    assert collapse((8, 1, 4), [(4, 7, 1), (8, 9, 1)]) == [(4, (1, 1)), (8, (4, 8))]


def vector_busy(name: str, *views: object, **attrs: object) -> int:
    return busy(do(name, *views, **attrs))  # type: ignore[arg-type]


def test_vector_strides() -> None:
    packed = vector_busy("vadd", ub((64, 64)), ub((64, 64)), ub((64, 64)))
    rows = vector_busy("vadd", ub((64, 64)), ub((64, 64), strides=(128, 1)), ub((64, 64), strides=(0, 1)))
    assert packed == rows == 64 * 2  # strides of whole blocks cost nothing
    odd = vector_busy("vadd", *[ub((64, 60), strides=(64, 1))] * 3)
    assert odd == 64 * 2 + 16  # a repeat per row; partial
    inner = vector_busy("vadd", ub((64, 64)), ub((64, 64), strides=(1, 64)), ub((64, 64)))
    assert inner == 64 * 64 // 8 * 2  # one element of each block
    column = vector_busy("vadd", ub((64, 64)), ub((64, 64), strides=(1, 0)), ub((64, 64)))
    assert column == 64 * 2 + 64 // 8 * 2


def test_types_the_unit_lacks_are_emulated() -> None:
    f32 = vector_busy("vadd", *[ub((4096,))] * 3)
    assert vector_busy("vadd", *[ub((4096,), dtype="i64")] * 3) == 2 * 8 * f32
    assert vector_busy("vneg", *[ub((4096,))] * 2) == 64  # a multiplication
    assert vector_busy("vneg", *[ub((4096,), dtype="i64")] * 2) == 2 * 8 * 64
    assert vector_busy("vsin", *[ub((4096,))] * 2) == 12 * 2 * 64


def test_reductions() -> None:
    assert vector_busy("vreduce_sum", ub((16,)), ub((16, 256))) == 16 * 4 * 7
    assert vector_busy("vreduce_sum", ub((64,)), ub((64, 8))) == 64 * 32 // 256  # blocks
    down = vector_busy("vreduce_sum", ub((64,)), ub((64, 16), strides=(1, 64)))
    assert down == 16 * 2  # rows are added


def test_empty_tiles_cost_nothing() -> None:
    assert cycles(kernel([do("vadd", *[ub((0, 4))] * 3)])) == 0


# overlap


def test_double_buffering_overlaps() -> None:
    tiles, k1, k2 = 50, pipelined(50, 1), pipelined(50, 2)
    one, two = kernel_time(k1, T), kernel_time(k2, T)
    assert one.busy[Pipe.MTE2] == two.busy[Pipe.MTE2]
    load, compute, store = (one.busy[p] for p in (Pipe.MTE2, Pipe.V, Pipe.MTE3))
    assert one.cycles > tiles * (1400 + 300) / 2 + load + compute  # nothing of the next tile runs
    four = kernel_time(pipelined(50, 4, elements=4096, adds=60), T)
    slowest = max(four.busy)
    assert slowest == four.busy[Pipe.V]
    assert four.cycles < 1.1 * slowest
    assert two.cycles < 0.7 * one.cycles
    assert two.cycles > max(load, compute, store)


def test_flags_order_pipes() -> None:
    events = block_events(pipelined(6, 2), T)
    loads = [e for e in events if e[1].op.name == "load"]
    adds = [e for e in events if e[1].op.name == "vadd"]
    stores = [e for e in events if e[1].op.name == "store"]
    assert len(loads) == len(stores) == 6
    for n in range(6):
        assert adds[4 * n][2] >= loads[n][3] + 1400
        assert stores[n][2] >= adds[4 * n + 3][3] + 14
        if n >= 2:
            assert loads[n][2] >= adds[4 * (n - 2) + 3][3] + 14  # its slot is free again
    assert loads[1][2] == loads[0][3] + 1  # the second slot is free: only the wait itself


def test_a_full_queue_stalls_the_scalar_pipe() -> None:
    add = do("vadd", *[ub((4096,))] * 3)
    body = [Loop(Linear(0), Linear(100), 1, (add,)), do("load", ub((8,)), gm(0, (8,)))]
    events = block_events(kernel(body), T)
    (load,) = [e for e in events if e[1].op.name == "load"]
    adds = [e for e in events if e[1].op.name == "vadd"]
    assert load[2] == adds[100 - 32 - 1][2] + 1  # issued when the 100th found room


def test_a_wait_that_nothing_answers() -> None:
    with pytest.raises(GeError) as e:
        cycles(kernel([wait_flag("V", "MTE3")]))
    assert e.value.code == "GE1315"


# loops


SMALL_LOAD = do("load", ub((8,)), gm(0, (8,)))
NESTED = [
    Loop(
        Linear(0),
        Linear(40),
        1,
        (
            do("load", ub((512,)), gm(0, (512,))),
            set_flag("MTE2", "V"),
            wait_flag("MTE2", "V"),
            Loop(Linear(0), Linear(70), 1, (do("vexp", ub((512,), 4096), ub((512,))), do("pipe_barrier", pipe="V"))),
            Loop(lin(0, i0=1), Linear(40), 1, (do("vadd", *[ub((512,))] * 3),)),
            set_flag("V", "MTE2"),
            wait_flag("V", "MTE2"),
        ),
    )
]


@pytest.mark.parametrize(
    "k",
    [
        *[pipelined(n, b, elements=64, adds=1) for n in (1, 2, 7, 100) for b in (1, 2, 3)],
        *[pipelined(n, b, elements=8192, adds=9) for n in (1, 2, 7, 100) for b in (1, 2, 3)],
        kernel(NESTED),
        kernel([Loop(Linear(0), Linear(300), 1, (do("vadd", *[ub((64,))] * 3), do("vexp", *[ub((640,))] * 2)))]),
        kernel([Loop(Linear(0), Linear(90), 1, (Loop(Linear(0), Linear(3), 2, (SMALL_LOAD,)),))]),
    ],
)
def test_taking_loops_forward_is_exact(k: Kernel) -> None:
    """Against going through every iteration."""
    events = block_events(k, T)
    after = {e[1].op.name: cost(e[1], T) for e in events}
    work = [0] * len(Pipe)
    for _, inst, start, end in events:
        work[inst.op.pipe] += end - start
    found = kernel_time(k, T)
    last = max(end + (after[inst.op.name].after) for _, inst, _, end in events)  # type: ignore[union-attr]
    assert last <= found.cycles <= last + 2 * len(Pipe)  # waits that drain flags come last
    assert found.busy[1:] == tuple(work[1:7])


def test_a_long_loop_is_as_quick_to_time_as_a_short_one() -> None:
    long, short = kernel_time(pipelined(10**9, 2), T), kernel_time(pipelined(10**6, 2), T)
    assert long.cycles == pytest.approx(1000 * short.cycles, rel=1e-4)


# blocks and cores


def test_blocks_share_the_work_until_the_cores_run_out() -> None:
    times = [kernel_time(pipelined(480 // n, 2, blocks=n), T).cycles for n in (1, 2, 6, 24, 48)]
    assert times == sorted(times, reverse=True)
    assert times[0] > 20 * times[-1]
    one, two = kernel_time(pipelined(5, 2, blocks=48), T), kernel_time(pipelined(5, 2, blocks=49), T)
    assert two.cycles == 2 * one.cycles + T.launch.block_dispatch
    assert two.cores == one.cores == 48


def test_the_slowest_block_counts() -> None:
    body = [Loop(Linear(0), lin(20, b=-5), 1, (do("vadd", *[ub((4096,))] * 3),))]
    assert cycles(kernel(body, blocks=4)) == cycles(kernel(body, blocks=1))


def test_time_grows_with_size() -> None:
    for sizes in ([64, 640, 6400, 64000], [100, 101, 163, 2049]):
        times = [cycles(pipelined(4, 2, elements=n)) for n in sizes]
        assert times == sorted(times)
    times = [cycles(pipelined(n, 2)) for n in (1, 2, 3, 10, 100, 1000)]
    assert all(a < b for a, b in pairwise(times))


# cube and vector together


def test_vectors_wait_for_their_cube() -> None:
    cube = [
        do("fixpipe", gm(0, (64, 128)), tile("l0c", (64, 128))),
        do("cross_core_set", flag=0, pipe="FIX"),
        do("cross_core_wait", flag=1, pipe="FIX"),
        do("fixpipe", gm(0, (64, 128)), tile("l0c", (64, 128))),
    ]
    vector = [
        do("cross_core_wait", flag=0, pipe="MTE2"),
        do("load", ub((32, 128)), gm(0, (32, 128), lin(0, s=16384))),
        do("cross_core_set", flag=1, pipe="MTE2"),
    ]
    k = kernel(vector, cube, blocks=2)
    events = block_events(k, T)
    first, second = (e for e in events if e[0] == 0)
    loads = [e for e in events if e[0] > 0]
    assert len(loads) == 2
    assert all(e[2] >= first[3] + 300 + 1000 for e in loads)
    assert second[2] >= max(e[3] for e in loads) + 1400 + 1000
    assert kernel_time(k, T).cores == 2
    with pytest.raises(GeError) as e:
        cycles(kernel(vector, cube[:1]))
    assert e.value.code == "GE1315"
