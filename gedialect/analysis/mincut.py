"""Least-cost choice between two states for many nodes, where disagreement costs: a minimum cut."""

from __future__ import annotations

from collections import deque


class Choice:
    """Nodes are 0 or 1; costs are whole numbers. Node ``ZERO`` is fixed to 0, node ``ONE`` to 1.

    ``best`` finds an assignment of least total cost (Dinic's algorithm); among equals the one with the most ones.
    """

    ZERO = 0
    ONE = 1

    def __init__(self) -> None:
        self._next: list[list[int]] = [[], []]
        self._to: list[int] = []
        self._room: list[int] = []
        self._total = 1

    def node(self, if_zero: int = 0, if_one: int = 0) -> int:
        """A new node, and what either state costs by itself."""
        self._next.append([])
        n = len(self._next) - 1
        if if_zero:
            self._edge(n, self.ONE, if_zero)
        if if_one:
            self._edge(self.ZERO, n, if_one)
        return n

    def _edge(self, a: int, b: int, room: int) -> None:
        """``room`` is paid if a is 0 and b is 1."""
        for start, end, r in ((a, b, room), (b, a, 0)):
            self._next[start].append(len(self._to))
            self._to.append(end)
            self._room.append(r)
        self._total += room

    def differ(self, source: int, others: set[int], cost: int) -> None:
        """``cost``, once, if any of ``others`` differs from ``source``."""
        rest = sorted(others - {source})
        if not rest or not cost:
            return
        if len(rest) == 1:
            self._edge(source, rest[0], cost)
            self._edge(rest[0], source, cost)
            return
        above, below = self.node(), self.node()
        self._edge(source, above, cost)
        self._edge(below, source, cost)
        for other in rest:  # cost at most once each way: more than its sum is never worth paying here
            self._edge(above, other, cost)
            self._edge(other, below, cost)

    def best(self) -> list[int]:
        """The state of each node, by its number."""
        while self._augment():
            pass
        level = self._levels()
        return [0 if at >= 0 else 1 for at in level]

    def _levels(self) -> list[int]:
        level = [-1] * len(self._next)
        level[self.ZERO] = 0
        queue = deque([self.ZERO])
        while queue:
            n = queue.popleft()
            for e in self._next[n]:
                if self._room[e] and level[self._to[e]] < 0:
                    level[self._to[e]] = level[n] + 1
                    queue.append(self._to[e])
        return level

    def _augment(self) -> bool:
        """One blocking flow; False if there is no way left from ZERO to ONE."""
        level = self._levels()
        if level[self.ONE] < 0:
            return False
        at = [0] * len(self._next)
        path: list[int] = []
        n = self.ZERO
        while True:
            if n == self.ONE:
                flow = min(self._room[e] for e in path)
                for e in path:
                    self._room[e] -= flow
                    self._room[e ^ 1] += flow
                cut = next(i for i, e in enumerate(path) if not self._room[e])
                n = self._to[path[cut] ^ 1]
                del path[cut:]
                continue
            edges = self._next[n]
            while at[n] < len(edges):
                e = edges[at[n]]
                if self._room[e] and level[self._to[e]] == level[n] + 1:
                    break
                at[n] += 1
            if at[n] < len(edges):
                path.append(edges[at[n]])
                n = self._to[path[-1]]
            elif path:
                n = self._to[path.pop() ^ 1]
                at[n] += 1
            else:
                return True
