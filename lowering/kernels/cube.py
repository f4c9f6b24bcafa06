"""What the cube generators share: the parts of a cube group, and a product as loops over affine operands.

A cube group reads its operands through chains of strided ops, has one product, lets fixpipe do an activation and a
cast on the way out, and may store its result transposed. A product is a `Problem`: ``batch`` loops around
``y[rows, cols, n] = sum over planes, taps, c of a * b + bias``, every operand a strided read of one argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from gedialect.analysis.fusibility import FIXPIPE_OPS
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.access import Access, row_major
from gedialect.ir.dtypes import BY_NAME, DType
from gedialect.ir.spec import spec_of

ACCUMULATORS = {"f32": "f32", "f16": "f32", "bf16": "f32", "i8": "i32", "ui8": "i32"}
"""Element type of the accumulator by the type of an operand."""


@dataclass(frozen=True)
class Read:
    """A strided read of a kernel argument."""

    arg: int
    access: Access
    dtype: DType


@dataclass(frozen=True)
class Epilogue:
    """What fixpipe does on the way out."""

    dtype: DType
    relu: str = "none"
    slope: float = 0.0


@dataclass
class CubeGroup:
    """A cube group taken apart: ``reads`` has one entry per operand of ``op`` (None where absent)."""

    op: GeOp
    reads: list[Read | None]
    epilogue: Epilogue
    result: Access
    """Where each element of the product lies in the group's result."""
    others: tuple[Access, ...] = ()
    """What else is read or written for each element of the product, in its axes."""

    @property
    def accesses(self) -> tuple[Access, ...]:
        return self.result, *self.others


def analyse(fusion: FusionOp) -> CubeGroup:
    """The parts of a cube group; GE1902 if the group is none."""
    reads: dict[SSAValue, Read] = {}
    for i, arg in enumerate(fusion.body.block.args):
        spec = spec_of(arg.type)
        reads[arg] = Read(i, Access.contiguous(spec.shape), spec.dtype)
    zeros: set[SSAValue] = set()
    cube: GeOp | None = None
    tail: SSAValue | None = None
    epilogue = Epilogue(BY_NAME["f32"])
    perm: list[int] | None = None
    for op in fusion.body.block.ops:
        if isinstance(op, YieldOp):
            if list(op.operands) != [tail]:
                raise _bad(op, "yields more than the product")
        elif isinstance(op, ConstantOp):
            if not ConstantOp.evaluate(op.attrs()).any():  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
                zeros.add(op.y)
        elif not isinstance(op, GeOp):
            raise _bad(op, "is no ge op")
        elif op.FUSION_CLASS is FusionClass.CUBE:
            if cube is not None:
                raise _bad(op, "is a second product")
            cube, tail = op, op.results[0]
            epilogue = Epilogue(spec_of(tail.type).dtype)
        elif cube is not None and op.operands[0] is tail:
            if perm is not None:
                raise _bad(op, "comes after the transpose")
            if op.name == "ge.transpose":
                perm = list(op.attrs().perm)
            else:
                epilogue = _fold(epilogue, op)
            tail = op.results[0]
        else:
            _move(op, reads)
    if cube is None or tail is None:
        raise GeError("a cube group has no product", code="GE1902")
    operands: list[Read | None] = []
    for value in cube.single_operands():
        if value is None or (value in zeros and len(operands) == 2):  # adding a bias of zeros does nothing
            operands.append(None)
        elif value in reads:
            operands.append(reads[value])
        else:
            raise UnsupportedError(
                f"{cube.name} of a constant inside its group",
                code="GE1206",
                hint="constants of cube kernels must be operands of the group",
            )
    return CubeGroup(cube, operands, epilogue, _result(spec_of(cube.results[0].type).shape, perm))


def vector_follows(fusion: FusionOp) -> bool:
    """Whether a group with a product has results, or ops after the product, that fixpipe alone cannot make."""
    tail: SSAValue | None = None
    done: set[str] = set()
    for op in fusion.body.block.ops:
        if isinstance(op, YieldOp):
            return list(op.operands) != [tail]
        if not isinstance(op, GeOp) or isinstance(op, ConstantOp):
            continue
        if op.FUSION_CLASS is FusionClass.CUBE:
            tail = op.results[0]
        elif tail is not None and list(op.operands) == [tail] and op.name in (*FIXPIPE_OPS, "ge.transpose"):
            kind = "ge.relu" if op.name == "ge.leaky_relu" else op.name
            if kind in done:
                return True
            done.add(kind)
            tail = op.results[0]
        elif op.FUSION_CLASS is FusionClass.ELEMENTWISE:
            return True
    return False


def _bad(op: Operation, why: str) -> GeError:
    return GeError(f"{op.name} {why} in a cube group", code="GE1902")


def _fold(epilogue: Epilogue, op: GeOp) -> Epilogue:
    """``op`` done by fixpipe after what ``epilogue`` already does."""
    out = spec_of(op.results[0].type).dtype
    match op.name:
        case "ge.cast":
            return replace(epilogue, dtype=out)
        case "ge.relu" if epilogue.relu == "none":
            return replace(epilogue, relu="relu")
        case "ge.leaky_relu" if epilogue.relu == "none":
            return replace(epilogue, relu="leaky", slope=float(op.attrs().negative_slope))
        case _:
            raise _bad(op, "cannot be done by fixpipe")


def _move(op: GeOp, reads: dict[SSAValue, Read]) -> None:
    source = reads.get(op.operands[0]) if op.operands else None
    results = None if source is None else type(op).strided(op.attrs(), source.access)
    if source is None or results is None:
        raise _bad(op, "is no strided read")
    for value, access in zip(op.results, results, strict=True):
        shape = spec_of(value.type).shape
        whole = access if access.shape == shape else access.reshape(shape)
        if whole is None:
            raise _bad(op, "is no read with one stride per axis")
        reads[value] = Read(source.arg, whole, source.dtype)


def _result(shape: Sequence[int], perm: Sequence[int] | None) -> Access:
    if perm is None:
        return Access.contiguous(shape)
    stored = row_major([shape[p] for p in perm])
    strides = [0] * len(shape)
    for axis, p in enumerate(perm):
        strides[p] = stored[axis]
    return Access(tuple(shape), tuple(strides))


def is_operand(value: SSAValue) -> bool:
    """Whether a value of a group's body is one of its operands."""
    return isinstance(value, BlockArgument)


# ---------------------------------------------------------------------- products


@dataclass(frozen=True)
class Window:
    """How an image is read: (rows, columns) each; pads are top, bottom, left, right and not negative."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]


@dataclass(frozen=True)
class Problem:
    """One product. Axes of the operands:

    a [*batch, planes, H, W, c] with ``window``, [*batch, 1, rows, cols, c] without;
    b [*batch, planes, kh, kw, c, n]; bias [*batch, n]; y [*batch, rows, cols, n].
    No ``planes`` is a sum of nothing: the bias or zero everywhere.
    """

    a: Read
    b: Read
    bias: Read | None
    y: Access
    epilogue: Epilogue
    window: Window | None = None
    others: tuple[Access, ...] = ()
    """What vector work on the result reads and writes, in the axes of y."""
    after: float = 0.0
    """Cycles of a vector core per element of the result, for that work."""

    @property
    def batch(self) -> tuple[int, ...]:
        return self.y.shape[:-3]

    @property
    def rows(self) -> int:
        return self.y.shape[-3]

    @property
    def cols(self) -> int:
        return self.y.shape[-2]

    @property
    def n(self) -> int:
        return self.y.shape[-1]

    @property
    def c(self) -> int:
        return self.a.access.shape[-1]

    @property
    def planes(self) -> int:
        return self.b.access.shape[-5]

    @property
    def taps(self) -> int:
        return self.b.access.shape[-4] * self.b.access.shape[-3]

    @property
    def k(self) -> int:
        """Terms of each sum."""
        return self.planes * self.taps * self.c

    @property
    def accumulator(self) -> DType:
        return BY_NAME[ACCUMULATORS[self.a.dtype.name]]

    @property
    def macs(self) -> int:
        return prod(self.y.shape) * self.k


@dataclass(frozen=True)
class Span:
    """Tiles of one axis that share their code.

    Tile i of ``count`` covers ``size`` elements from ``start + i * size``; it reads ``held`` input elements from
    ``held_start + i * held_step``, preceded by ``before`` and followed by ``after`` zeros, and its first output is
    output ``out0`` of that.
    """

    start: int
    size: int
    count: int
    held_start: int
    held_step: int
    held: int
    before: int = 0
    after: int = 0
    out0: int = 0


def spans(n: int, tile: int) -> list[Span]:
    """``n`` elements in tiles of ``tile``, the last one smaller."""
    whole, tail = divmod(n, tile)
    out: list[Span] = []
    if whole:
        out.append(Span(0, tile, whole, 0, tile, tile))
    if tail:
        out.append(Span(whole * tile, tail, 1, whole * tile, tail, tail))
    return out


def window_spans(n: int, tile: int, size: int, kernel: int, stride: int, dilation: int, before: int) -> list[Span]:
    """``n`` outputs of a window along one axis of ``size`` inputs after ``before`` zeros, in tiles of ``tile``."""
    out: list[Span] = []
    reach = (kernel - 1) * dilation + 1
    for start in range(0, n, tile):
        count = min(tile, n - start)
        low = start * stride - before
        high = low + (count - 1) * stride + reach
        skipped = max(0, -(-(low - size + 1) // stride))  # outputs between the first held input and the tile
        low -= skipped * stride
        held_low, held_high = max(low, 0), min(max(high, 1), size)
        held = held_high - held_low
        span = Span(start, count, 1, held_low, count * stride, held, held_low - low, max(high - held_high, 0), skipped)
        last = out[-1] if out else None
        if (
            last is not None
            and replace(last, start=start, count=1, held_start=last.held_start + last.count * last.held_step) == span
        ):
            out[-1] = replace(last, count=last.count + 1)
        else:
            out.append(span)
    return out


def balanced(n: int, limit: int, multiple: int = 16, waste: float = 1.1) -> int:
    """The tile of at most ``limit`` that cuts ``n`` into the fewest tiles, or into some more that are equal.

    Equal tiles are taken where rounding each up to ``multiple`` costs at most ``waste`` times what ``n`` itself does:
    a smaller last tile needs code of its own.
    """
    limit = max(1, min(n, limit))
    tiles = -(-n // limit)
    if tiles == 1:
        return n
    most = waste * -(-n // multiple) * multiple
    for count in range(tiles, tiles + tiles // 4 + 1):
        if n % count == 0 and -(-n // count // multiple) * multiple * count <= most:
            return n // count
    size = -(-n // tiles)
    rounded = -(-size // multiple) * multiple
    return rounded if rounded <= limit else limit // multiple * multiple or size


__all__ = [
    "CubeGroup", "Epilogue", "Problem", "Read", "Span", "Window", "analyse", "balanced", "spans", "window_spans",
]  # fmt: skip
