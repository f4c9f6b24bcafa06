"""Bytes through global memory: counted against going through every iteration."""

from __future__ import annotations

import pytest
from hand_kernels import do, every_execution, gm, kernel, lin, pipelined, tile, ub

from gedialect.binary.kernel import Kernel, Linear, Loop
from gedialect.errors import GeError
from gedialect.runtime.simulator.traffic import arg_traffic, gm_traffic, signatures


def counted(k: Kernel) -> int:
    """Bytes of all global operands of all executions."""
    total = 0
    for inst in every_execution(k):
        for operand, view in zip(inst.op.operands, inst.views, strict=False):
            if view.space == "gm" and inst.op.shape not in ("gather", "scatter"):
                total += view.elements * view.dtype.itemsize * (operand.reads + operand.writes)
    return total


LOAD = do("load", ub((64,)), gm(0, (64,)))
INNER = Loop(lin(0, i1=1), lin(6, i0=-1), 1, (LOAD,))
STORE = do("store", gm(1, (16, 2)), ub((16, 2)))


def test_one_load_and_one_store() -> None:
    k = kernel([LOAD, STORE])
    assert gm_traffic(k) == 64 * 4 + 32 * 4
    assert (arg_traffic(k)[0].read, arg_traffic(k)[0].written) == (256, 0)
    assert (arg_traffic(k)[1].read, arg_traffic(k)[1].written) == (0, 128)


@pytest.mark.parametrize(
    "body",
    [
        [Loop(Linear(0), Linear(10), 3, (LOAD,)), STORE],
        [Loop(lin(0, b=2), Linear(9), 2, (LOAD, STORE))],  # fewer iterations in later blocks, none in the last
        [Loop(Linear(0), Linear(5), 1, (LOAD, Loop(lin(0, i0=1), lin(7, b=-1), 2, (STORE,))))],  # a triangle
        [Loop(Linear(0), Linear(4), 1, (Loop(lin(0, i0=1), Linear(4), 1, (INNER,)),))],
        [Loop(Linear(0), lin(1, b=1), 1 << 40, (LOAD,))],
    ],
)
def test_loops_with_affine_bounds(body: list[Loop]) -> None:
    k = kernel(body, blocks=7)
    assert gm_traffic(k) == counted(k) > 0


def test_mix_counts_both_vector_cores() -> None:
    cube = [Loop(Linear(0), lin(1, b=1), 1, (do("load", tile("l1", (8, 8)), gm(0, (8, 8))),))]
    k = kernel([Loop(lin(0, s=1), Linear(2), 1, (STORE,))], cube, blocks=3)
    assert gm_traffic(k) == counted(k) == 256 * (1 + 2 + 3) + 128 * 3 * (2 + 1)


def test_gather_and_scatter_count_their_rows() -> None:
    index = ub((10,), dtype="i32")
    gather = do("gather_rows", ub((10, 8)), gm(0, (1000, 8)), index)
    assert gm_traffic(kernel([gather])) == 10 * 8 * 4
    rows = gm(1, (1000, 8)), ub((10, 8)), index
    assert gm_traffic(kernel([do("scatter_rows", *rows)])) == 320
    assert gm_traffic(kernel([do("scatter_rows", *rows, mode="add")])) == 640


def test_stride_zero_moves_every_repetition() -> None:
    assert gm_traffic(kernel([do("load", ub((4, 64)), gm(0, (4, 64), strides=(0, 1)))])) == 1024


def test_blocks_with_equal_loops_share_a_signature() -> None:
    assert len(set(signatures(pipelined(5, 2, blocks=9)))) == 1
    k = kernel([Loop(lin(0, b=4), Linear(30), 1, (LOAD,))], blocks=10)
    assert len(set(signatures(k))) == 9  # 30, 26, ..., 2, 0, 0
    triangle = [Loop(Linear(0), lin(3), 1, (Loop(lin(0, i0=1), lin(3, b=1), 1, (LOAD,)),))]
    assert len(set(signatures(kernel(triangle, blocks=4)))) == 4


def test_absurd_dependent_loops_are_refused() -> None:
    k = kernel([Loop(Linear(0), Linear(1 << 40), 1, (Loop(lin(0, i0=1), Linear(1 << 41), 1, (LOAD,)),))])
    with pytest.raises(GeError) as e:
        gm_traffic(k)
    assert e.value.code == "GE1307"
