"""The minimum cut against trying every assignment."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from gedialect.analysis.mincut import Choice


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_best_is_best(data):
    n = data.draw(st.integers(1, 6))
    unary = [(data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))) for _ in range(n)]
    nodes = st.integers(0, n + 1)
    edges = data.draw(st.lists(st.tuples(nodes, st.sets(nodes, min_size=1), st.integers(0, 9)), max_size=8))
    choice = Choice()
    assert [choice.node(a, b) for a, b in unary] == list(range(2, n + 2))
    for source, others, cost in edges:
        choice.differ(source, others, cost)

    def total(state):
        own = sum(costs[s] for costs, s in zip(unary, state[2:], strict=True))
        return own + sum(c for s, others, c in edges if any(state[o] != state[s] for o in others))

    states = [(0, 1, *rest) for rest in product((0, 1), repeat=n)]
    least = min(map(total, states))
    found = choice.best()[: n + 2]
    assert total(found) == least
    assert sum(found) == max(sum(s) for s in states if total(s) == least)


def test_long_chains_are_fast():
    choice = Choice()
    before = Choice.ZERO
    for i in range(3000):
        node = choice.node()
        choice.differ(before, {node}, 100 + i % 7)
        before = node
    choice.differ(before, {Choice.ONE}, 50)
    assert choice.best()[2:3002] == [0] * 3000
