"""``Access``: a strided read of a buffer, and the arithmetic of ops that only move elements.

Transposes, slices, broadcasts and most reshapes read their operand with other strides, so a kernel can
do them while loading or storing, at no cost of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod


@dataclass(frozen=True)
class Access:
    """Element ``i`` is at ``offset + sum(i[d] * strides[d])``, in elements; stride 0 repeats."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def contiguous(cls, shape: Sequence[int]) -> Access:
        """The row-major access of a whole buffer."""
        return cls(tuple(shape), row_major(shape))

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """Whether it reads consecutive elements in order (offset aside)."""
        want = row_major(self.shape)
        return all(n == 1 or s == w for n, s, w in zip(self.shape, self.strides, want, strict=True))

    def transpose(self, perm: Sequence[int]) -> Access:
        return Access(tuple(self.shape[p] for p in perm), tuple(self.strides[p] for p in perm), self.offset)

    def slice(self, axis: int, start: int, count: int, step: int = 1) -> Access:
        """``count`` elements along ``axis`` from ``start`` with ``step`` (may be negative)."""
        shape, strides = list(self.shape), list(self.strides)
        offset = self.offset + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
        return Access(tuple(shape), tuple(strides), offset)

    def broadcast(self, shape: Sequence[int]) -> Access:
        """numpy broadcasting to ``shape``."""
        lead = len(shape) - len(self.shape)
        strides = [0] * lead + [
            0 if n == 1 and w != 1 else s for n, s, w in zip(self.shape, self.strides, shape[lead:], strict=True)
        ]
        return Access(tuple(shape), tuple(strides), self.offset)

    def reshape(self, shape: Sequence[int]) -> Access | None:
        """The same elements under another shape, or None if strides cannot say it."""
        shape = tuple(shape)
        if shape == self.shape:
            return self
        if self.size == 0:
            return Access(shape, row_major(shape), self.offset)
        old = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        strides: list[int] = [0] * len(shape)
        new = [i for i, n in enumerate(shape) if n != 1]
        oi = ni = 0
        while oi < len(old) or ni < len(new):
            # the shortest runs of old and new axes that hold the same number of elements
            o_end, n_end = oi + 1, ni + 1
            o_size, n_size = old[oi][0], shape[new[ni]]
            while o_size != n_size:
                if o_size < n_size:
                    o_size *= old[o_end][0]
                    o_end += 1
                else:
                    n_size *= shape[new[n_end]]
                    n_end += 1
            run = old[oi:o_end]
            for (_, outer), (n, inner) in pairwise(run):
                if outer != n * inner:
                    return None
            step = run[-1][1]
            for i in reversed(new[ni:n_end]):
                strides[i] = step
                step *= shape[i]
            oi, ni = o_end, n_end
        return Access(shape, tuple(strides), self.offset)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous array, in elements."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def collapse(accesses: Sequence[Access], apart: Sequence[int] = ()) -> list[tuple[int, ...]]:
    """Groups of neighbouring axes that all accesses (of one shape) walk as one; unit axes vanish.

    ``apart`` labels each axis; axes of different labels never share a group.
    """
    shape = accesses[0].shape
    groups: list[list[int]] = []
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        last = groups[-1][-1] if groups else -1
        joins = bool(groups) and (not apart or apart[last] == apart[axis])
        if joins and all(a.strides[last] == a.strides[axis] * n for a in accesses):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return [tuple(g) for g in groups]


def grouped(access: Access, groups: Sequence[Sequence[int]]) -> Access:
    """``access`` over the groups that ``collapse`` found."""
    return Access(
        tuple(prod(access.shape[a] for a in g) for g in groups),
        tuple(access.strides[g[-1]] for g in groups),
        access.offset,
    )
