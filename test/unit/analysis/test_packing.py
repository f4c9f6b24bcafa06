"""Packing: valid for any lifetimes, never below the bound, deterministic."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gedialect.analysis.packing import Buffer, lower_bound, pack

BUFFERS = st.lists(
    st.builds(
        lambda size, start, life: Buffer(size, start, start + life),
        st.integers(0, 5000),
        st.integers(0, 30),
        st.integers(0, 12),
    ),
    max_size=40,
)


def assert_valid(buffers, packing, alignment):
    for i, a in enumerate(buffers):
        assert packing.offsets[i] % alignment == 0
        assert packing.offsets[i] + a.size <= packing.peak
        for j in range(i):
            b = buffers[j]
            together = a.start <= b.end and b.start <= a.end
            apart = (
                packing.offsets[i] + a.size <= packing.offsets[j] or packing.offsets[j] + b.size <= packing.offsets[i]
            )
            assert not together or apart or 0 in (a.size, b.size)


@given(BUFFERS, st.sampled_from([1, 32, 512]), st.sampled_from([0, 200, 10**5]))
@settings(max_examples=200, deadline=None)
def test_valid_and_bounded(buffers, alignment, steps):
    packing = pack(buffers, alignment, steps=steps)
    assert_valid(buffers, packing, alignment)
    assert packing.peak >= packing.lower_bound
    live = [sum(-(-b.size // alignment) * alignment for b in buffers if b.start <= p <= b.end) for p in range(45)]
    assert packing.lower_bound == max(live)
    assert pack(buffers, alignment, steps=steps) == packing


def test_more_steps_are_never_worse():
    import random

    r = random.Random(3)
    for _ in range(10):
        buffers = [Buffer(r.randrange(1, 100), s := r.randrange(40), s + r.randrange(15)) for _ in range(80)]
        peaks = [pack(buffers, steps=n).peak for n in (0, 10**4, 10**5, 3 * 10**5)]
        assert peaks == sorted(peaks, reverse=True)


def test_small_known_cases():
    # a chain needs two buffers at a time
    chain = [Buffer(100, i, i + 1) for i in range(10)]
    assert pack(chain).peak == 200
    # three that overlap pairwise around a hole
    assert pack([Buffer(4, 0, 2), Buffer(2, 1, 3), Buffer(4, 3, 5)]).peak == 6
    assert pack([]).peak == 0
    assert lower_bound([Buffer(5, 0, 0), Buffer(7, 1, 1)]) == 7


def test_every_buffer_alive_at_once():
    everything = [Buffer(i % 7 + 1, 0, 10) for i in range(3000)]
    packing = pack(everything)
    assert packing.peak == packing.lower_bound == sum(b.size for b in everything)
