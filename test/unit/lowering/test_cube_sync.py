"""Cube kernels keep their pipes busy: flags, not barriers, where it matters."""

from __future__ import annotations

import numpy as np
from cube_run import TARGET, Run

from gedialect.binary.kernel import Loop
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.runtime.simulator.timing import kernel_time


def conv(size, channels, kernel, attr=None, stride=1):
    x = np.ones((1, size, size, channels), np.float32)
    f = np.ones((kernel, kernel, channels, channels), np.float32)
    pad = kernel // 2

    def body(g, x, f):
        f = g.transpose(f, perm=[3, 2, 0, 1])
        return g.conv2d(
            x, f, None, strides=[stride] * 2, pads=[pad] * 4, dilations=[1, 1], groups=1, data_format="NHWC"
        )

    return Run([x, f], body, attr)


def barriers(body, inside=False):
    """Barriers over all pipes in loops that repeat."""
    total = 0
    for item in body:
        if isinstance(item, Loop):
            total += barriers(item.body, inside or item.step < 1 << 32)
        elif inside and item.op.name == "pipe_barrier" and item.attr("pipe") == "ALL":
            total += 1
    return total


def test_flags_of_many_steps_in_a_loop_share_ids():
    """Nine taps in a loop over chunks of channels: nine flags each way, eight ids, no barrier."""
    run = conv(14, 512, 3, KernelAttr.get("cube", [49, 32, 128], 16), stride=2)
    assert barriers(run.kernel.cube.body) == 0


def test_two_shared_loops_cost_no_barrier_inside():
    """The loop that looks for a block's first digit does not count as one that repeats."""
    run = conv(28, 64, 1, KernelAttr.get("cube", [112, 32, 64], 14))
    outer = run.kernel.cube.body
    steps = [i for i in outer if isinstance(i, Loop)]
    assert len(steps) == 1 and steps[0].step == 1
    inner = steps[0].body[0].body[0].body
    assert not any(i.op.name == "pipe_barrier" and i.attr("pipe") == "ALL" for i in inner if not isinstance(i, Loop))


def test_border_tiles_overlap_loads_and_products():
    """Each kind of tile of a 3 x 3 convolution has all ids to itself; the cube is busy for a good part of the time."""
    run = conv(28, 128, 3)
    time = kernel_time(run.kernel, TARGET)
    alone = conv(28, 128, 3, KernelAttr.get("cube", run.attr.tile.values, 1))
    assert time.cycles * 6 < kernel_time(alone.kernel, TARGET).cycles
