"""Convolutions by img2col on the fly, transposed ones as one convolution per output phase.

Every convolution becomes products over [N, groups, output planes] loops. A 1 x 1 kernel without pads reads its input
as a matrix; a 3-D one is a sum over the planes of its kernel that meet the input, so border planes are products of
their own. Output ``o`` of a transposed convolution with stride s depends on ``o mod s`` only in which taps it sees:
each of the s phases is a convolution of stride 1 with every (s / gcd(s, dilation))-th tap, stored with stride s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.ge.layouts import channel_axis, spatial_axes
from gedialect.dialects.npu import KernelOp
from gedialect.ir.access import Access
from gedialect.targets import Target
from lowering.kernels.cube import CubeGroup, Problem, Read, Window, analyse
from lowering.kernels.cube_kernel import kernel_attr, write_kernel
from lowering.kernels.matmul import matrix


def select(fusion: FusionOp, target: Target) -> KernelAttr:
    """Tile [m, n, k] and the number of cube cores."""
    return kernel_attr(problems(analyse(fusion)), target)


def lower(fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
    """The kernel of a group around a convolution; arguments are the operands x0.., then the result y0."""
    return write_kernel(fusion, name, kernel, target, problems(analyse(fusion)))


@dataclass(frozen=True)
class Line:
    """One spatial axis of a convolution of stride ``stride`` over part of a result.

    ``taps`` elements from ``first_tap`` on, ``tap_step`` apart (negative: from the last one back); output i is
    element ``start + i * step`` of the result; its first tap meets input ``i * stride - before``.
    """

    outputs: int
    start: int
    step: int
    taps: int
    first_tap: int
    tap_step: int
    stride: int
    dilation: int
    before: int


def problems(group: CubeGroup) -> list[Problem]:
    """The products of a convolution group."""
    attrs = group.op.attrs()
    x, kernel, bias = group.reads
    assert x is not None
    assert kernel is not None
    rank = len(x.access.shape)
    order = [0, channel_axis(attrs.data_format, rank), *spatial_axes(attrs.data_format, rank)]
    xs, y = x.access.transpose(order), group.result.transpose(order)
    ys = [a.transpose(order) for a in group.accesses]
    fs = kernel.access
    n = rank - 2
    transposed = group.op.name.endswith("_transpose")
    lines = [
        _phases(xs.shape[2 + i], y.shape[2 + i], fs.shape[2 + i], attrs.strides[i], attrs.dilations[i], attrs.pads[i])
        if transposed
        else [Line(y.shape[2 + i], 0, 1, fs.shape[2 + i], 0, 1, attrs.strides[i], attrs.dilations[i], attrs.pads[i])]
        for i in range(n)
    ]
    out: list[Problem] = []
    # planes, rows, columns: a 2-D convolution has one plane of one tap
    flat = Line(1, 0, 1, 1, 0, 1, 1, 1, 0)
    if n < 3:
        xs, fs, *ys = (_with_axes(a, 3 - n) for a in (xs, fs, *ys))
        lines = [*([flat] for _ in range(3 - n)), *lines]
    for chosen in product(*lines):
        if all(line.outputs > 0 for line in chosen):
            out += _products(
                Read(x.arg, xs, x.dtype), Read(kernel.arg, fs, kernel.dtype), bias, ys, group, attrs.groups, chosen,
                transposed,
            )  # fmt: skip
    return out


def _with_axes(access: Access, count: int) -> Access:
    """With ``count`` axes of size 1 before the spatial ones."""
    return Access(
        (*access.shape[:2], *(1 for _ in range(count)), *access.shape[2:]),
        (*access.strides[:2], *(0 for _ in range(count)), *access.strides[2:]),
        access.offset,
    )


def _phases(size: int, result: int, kernel: int, stride: int, dilation: int, before: int) -> list[Line]:
    """The phases of one axis of a transposed convolution over ``size`` inputs giving ``result`` outputs."""
    out: list[Line] = []
    step = stride // gcd(stride, dilation)
    for phase in range(min(stride, result)):
        outputs = -(-(result - phase) // stride)
        at = phase + before  # output o and tap k meet input (o + before - k * dilation) / stride
        first = next((k for k in range(min(kernel, step)) if (at - k * dilation) % stride == 0), None)
        if first is None:
            out.append(Line(outputs, phase, stride, 0, 0, 1, 1, 1, 0))
            continue
        taps = -(-(kernel - first) // step)
        spread = step * dilation // stride
        base = (at - first * dilation) // stride  # input of the first output and tap; later taps lie before it
        last = first + (taps - 1) * step
        out.append(Line(outputs, phase, stride, taps, last, -step, 1, spread, (taps - 1) * spread - base))
    return out


def _products(
    x: Read,
    kernel: Read,
    bias: Read | None,
    ys: Sequence[Access],
    group: CubeGroup,
    groups: int,
    lines: Sequence[Line],
    transposed: bool,
) -> Iterator[Problem]:
    """The products of one phase: x and the results are [N, C, D, H, W], the filter is [., ., kd, kh, kw]."""
    planes, rows, cols = lines
    xs, fs = x.access, kernel.access
    # filter as [groups, kd, kh, kw, c, n] over the taps of this phase
    for axis, line in enumerate(lines, 2):
        fs = fs.slice(axis, line.first_tap, line.taps, line.tap_step) if line.taps else _none(fs, axis)
    c_axis, n_axis = (0, 1) if transposed else (1, 0)
    c = xs.shape[1] // groups
    n = ys[0].shape[1] // groups
    per_group = fs.strides[0] * (fs.shape[0] // groups)
    taps = (*fs.shape[2:], c, n)
    tap_strides = (*fs.strides[2:], fs.strides[c_axis], fs.strides[n_axis])
    for axis, line in enumerate(lines, 2):
        ys = [y.slice(axis, line.start, line.outputs, line.step) for y in ys]
    empty = any(line.taps == 0 for line in lines)
    segments = [(0, planes.outputs, 0, 0)] if empty else list(_segments(planes, xs.shape[2]))
    for first, count, tap0, tap1 in segments:
        # [N, groups, D, ...] loops; planes of the kernel lie `dilation` input planes apart
        offset = (first * planes.stride - planes.before + tap0 * planes.dilation) * xs.strides[2]
        batch = (xs.shape[0], groups, count)
        a = Read(
            x.arg,
            Access(
                (*batch, tap1 - tap0, *xs.shape[3:], c),
                (xs.strides[0], c * xs.strides[1], planes.stride * xs.strides[2], planes.dilation * xs.strides[2],
                 *xs.strides[3:], xs.strides[1]),
                xs.offset + (offset if tap1 > tap0 else 0),
            ),
            x.dtype,
        )  # fmt: skip
        b = Read(
            kernel.arg,
            Access(
                (*batch, tap1 - tap0, *taps[1:]),
                (0, per_group, 0, *tap_strides),
                fs.offset + tap0 * fs.strides[2],
            ),
            kernel.dtype,
        )
        outs = [
            Access(
                (*batch, *part.shape[3:], n),
                (part.strides[0], n * part.strides[1], *part.strides[2:], part.strides[1]),
                part.offset,
            )
            for part in (y.slice(2, first, count) for y in ys)
        ]
        row = None
        if bias is not None:
            stride = bias.access.strides[0]
            row = Read(bias.arg, Access((*batch, n), (0, n * stride, 0, stride), bias.access.offset), bias.dtype)
        problem = _product(a, b, row, outs, group, rows, cols, tap1 - tap0)
        if problem is not None:
            yield problem


def _none(access: Access, axis: int) -> Access:
    shape = list(access.shape)
    shape[axis] = 0
    return Access(tuple(shape), access.strides, access.offset)


def _segments(line: Line, size: int) -> Iterator[tuple[int, int, int, int]]:
    """Runs of output planes that meet the same planes of the kernel: (first, count, first tap, end tap)."""
    last: tuple[int, int, int, int] | None = None
    for o in range(line.outputs):
        low = o * line.stride - line.before
        tap0 = min(max(0, -(low // line.dilation)), line.taps)
        tap1 = max(min(line.taps, -((low - size) // line.dilation)), tap0)
        if tap0 == tap1:
            tap0 = tap1 = 0
        if last is not None and last[2:] == (tap0, tap1):
            last = (last[0], last[1] + 1, tap0, tap1)
            continue
        if last is not None:
            yield last
        last = (o, 1, tap0, tap1)
    if last is not None:
        yield last


def _product(
    a: Read, b: Read, bias: Read | None, ys: Sequence[Access], group: CubeGroup, rows: Line, cols: Line, planes: int
) -> Problem | None:
    """The product of [N, groups, D] loops; pads that cut the input off are taken from it first."""
    access = a.access
    pads: list[int] = []
    for axis, line in ((-3, rows), (-2, cols)):
        size = access.shape[axis]
        begin = line.before
        reach = (line.outputs - 1) * line.stride + (max(line.taps, 1) - 1) * line.dilation + 1 - begin
        if begin < 0:
            cut = min(-begin, size - 1)
            access = access.slice(axis % len(access.shape), cut, size - cut)
            begin, size, reach = begin + cut, size - cut, reach - cut
        if reach < size:
            access = access.slice(axis % len(access.shape), 0, max(reach, 1))
        pads += [begin, max(reach - size, 0)]
    a = Read(a.arg, access, a.dtype)
    if planes and (rows.taps, cols.taps) == (1, 1) and planes == 1 and not any(pads):
        return _pointwise(a, b, bias, ys, group, rows.stride, cols.stride)
    window = Window(
        (rows.taps, cols.taps),
        (rows.stride, cols.stride),
        (rows.dilation, cols.dilation),
        (pads[0], pads[1], pads[2], pads[3]),
    )
    if planes == 0 or rows.taps == 0 or cols.taps == 0:
        b = Read(
            b.arg, Access((*ys[0].shape[:3], 0, 1, 1, *b.access.shape[-2:]), b.access.strides, b.access.offset), b.dtype
        )
        window = Window((1, 1), (1, 1), (1, 1), (0, 0, 0, 0))
    return Problem(a, b, bias, ys[0], group.epilogue, window, tuple(ys[1:]))


def _pointwise(
    a: Read, b: Read, bias: Read | None, ys: Sequence[Access], group: CubeGroup, row_step: int, col_step: int
) -> Problem:
    """One tap and no pads: a product of matrices over [N, groups, D, rows, columns]."""
    source, f = a.access, b.access
    c, n = f.shape[-2:]
    outer = ys[0].shape[:5]
    strides = (*source.strides[:3], source.strides[-3] * row_step, source.strides[-2] * col_step)
    left = Access((*outer, n, c), (*strides, 0, source.strides[-1]), source.offset)
    right = Access((*outer, n, c), (*f.strides[:3], 0, 0, f.strides[-1], f.strides[-2]), f.offset)
    results = [Access((*outer, n, c), (*y.strides, 0), y.offset) for y in ys]
    row = None
    if bias is not None:
        strides = (*bias.access.strides[:3], 0, 0, bias.access.strides[-1], 0)
        row = Read(bias.arg, Access((*outer, n, c), strides, bias.access.offset), bias.dtype)
    return matrix(Read(a.arg, left, a.dtype), Read(b.arg, right, b.dtype), row, results, group)
