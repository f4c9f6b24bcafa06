"""Matrix products: leading axes broadcast, either side transposed, any strides.

Axes that both the left side and the result walk as one become one row axis, so [B, S, K] x [K, N] has B * S rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.ir.access import Access, collapse
from gedialect.targets import Target
from lowering.kernels.cube import CubeGroup, Problem, Read, analyse
from lowering.kernels.cube_kernel import kernel_attr, write_kernel


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """Tile [m, n, k] and the number of cube cores."""
    return kernel_attr(problems(analyse(fusion)), target)


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel of a group around a ``ge.matmul``; arguments are the operands x0.., then the result y0."""
    return write_kernel(fusion, name, kernel, target, problems(analyse(fusion)))


def problems(group: CubeGroup) -> list[Problem]:
    """The product of a matmul group."""
    x1, x2, bias = group.reads
    assert x1 is not None
    assert x2 is not None
    attrs = group.op.attrs()
    left = x1.access if not attrs.transpose_x1 else _swapped(x1.access)
    right = x2.access if not attrs.transpose_x2 else _swapped(x2.access)
    batch = group.result.shape[:-2]
    m, n = group.result.shape[-2:]
    k = left.shape[-1]
    left, right = left.broadcast((*batch, m, k)), right.broadcast((*batch, k, n))
    a = Access((*batch, m, n, k), (*left.strides[:-1], 0, left.strides[-1]), left.offset)
    b = Access((*batch, m, n, k), (*right.strides[:-2], 0, right.strides[-1], right.strides[-2]), right.offset)
    ys = [Access((*batch, m, n, k), (*y.strides, 0), y.offset) for y in group.accesses]
    row = None
    if bias is not None:
        strides = (*(0 for _ in batch), 0, bias.access.strides[0], 0)
        row = Read(bias.arg, Access((*batch, m, n, k), strides, bias.access.offset), bias.dtype)
    return [matrix(Read(x1.arg, a, x1.dtype), Read(x2.arg, b, x2.dtype), row, ys, group)]


def matrix(a: Read, b: Read, bias: Read | None, ys: Sequence[Access], group: CubeGroup) -> Problem:
    """The problem of operands over [*outer, n, k], where a has stride 0 along n, y along k, and the bias along k.

    The last two of the merged outer axes along which neither b nor the bias changes become rows and columns.
    """
    y = ys[0]
    outer = len(y.shape) - 2
    fixed = [b.access, *([] if bias is None else [bias.access])]
    groups = collapse([a.access, *fixed, *ys], [0] * outer + [1, 2])
    loops = [g for g in groups if g[0] < outer]
    rows: list[tuple[int, ...]] = []
    while loops and len(rows) < 2 and all(f.strides[i] == 0 for f in fixed for i in loops[-1]):
        rows.insert(0, loops.pop())
    if len(rows) < 2:
        rows = [*rows, ()] if rows else [(), ()]
    axes: list[tuple[int, ...]] = [*loops, *rows]

    def over(access: Access, extra: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        picked = [*axes, *((e,) for e in extra)]
        return (
            tuple(prod(access.shape[i] for i in g) for g in picked),
            tuple(access.strides[g[-1]] if g else 0 for g in picked),
        )

    count = len(loops)
    shape_a, strides_a = over(a.access, (outer + 1,))
    _, strides_b = over(b.access, (outer + 1, outer))
    results = [Access(*over(access, (outer,)), access.offset) for access in ys]
    k, n = y.shape[-1], y.shape[-2]
    return Problem(
        Read(a.arg, Access((*shape_a[:count], 1, *shape_a[count:]), (*strides_a[:count], 0, *strides_a[count:]),
                           a.access.offset), a.dtype),
        Read(b.arg, Access((*shape_a[:count], 1, 1, 1, k, n), (*strides_b[:count], 0, 0, 0, *strides_b[-2:]),
                           b.access.offset), b.dtype),
        None if bias is None else Read(
            bias.arg, Access((*shape_a[:count], n), (*over(bias.access, ())[1][:count], bias.access.strides[-2]),
                             bias.access.offset), bias.dtype),
        results[0],
        group.epilogue,
        others=tuple(results[1:]),
    )  # fmt: skip


def _swapped(access: Access) -> Access:
    rank = len(access.shape)
    return access.transpose([*range(rank - 2), rank - 1, rank - 2])
