"""What each op can do with channels-last storage: the facts ``convert-layout`` decides on.

A value of rank 3 or more has two forms: *plain*, as the graph states it, and *last*, with axis 1 moved to the end
([N, C, H, W] as [N, H, W, C]). A role says in which forms an op can take its operands and give its results, and
builds the op for the forms chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.layouts import CHANNELS_FIRST, CHANNELS_LAST
from gedialect.dialects.ge.shape import TransposeOp
from gedialect.ir.spec import DYNAMIC, Spec, spec_of

PLAIN, LAST = 0, 1

LAST_OF = dict(zip(CHANNELS_FIRST, CHANNELS_LAST, strict=True))


def reshaped(b: GeBuilder, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """``ge.reshape``; a size of 0 is meant as such, not as a copy of the operand's."""
    return b.reshape(x, shape=shape, allowzero=True if 0 in shape else None)


def to_last(rank: int) -> tuple[int, ...]:
    """The permutation from plain to last: axis i of the last form is this axis of the plain one."""
    return (0, *range(2, rank), 1)


def to_plain(rank: int) -> tuple[int, ...]:
    """The permutation from last to plain."""
    return (0, rank - 1, *range(1, rank - 1))


def permuted(spec: Spec, perm: Sequence[int]) -> Spec:
    return Spec(spec.dtype, tuple(spec.shape[p] for p in perm), spec.encoding)


def keeps_order(shape: Sequence[int], perm: Sequence[int]) -> bool:
    """Whether transposing only moves axes of size 1, so that the bytes stay."""
    long = [p for p in perm if shape[p] != 1]
    return long == sorted(long)


class Link(Enum):
    """How the form of the operands and that of the results depend on each other."""

    FIXED = "plain operands, plain results"
    TIED = "both plain or both last"
    MUST = "both last"
    TAKES = "operands in any form, results plain"
    GIVES = "operands plain, results in any form"
    FREE = "each in any form"
    FROM_LAST = "operands last, results plain: costs nothing"
    TO_LAST = "plain operands are the last form of the results"
    EITHER = "FROM_LAST or TO_LAST: a transpose of rank 3"


Rewrite = Callable[[GeBuilder, Sequence[Any], int, int], Sequence[SSAValue]]
"""(builder, operand groups in the forms chosen, form of operands, form of results) -> results in that form."""


@dataclass
class Role:
    """``operands`` are the indices (in the flat list) that may be in the last form, ``results`` likewise; all others
    are plain. ``low`` are operands of lower rank that broadcast and are reshaped if the op works in the last form.
    ``if_plain`` says that the op itself is slower in the plain form. Ops of one ``group`` choose together; what they
    hand to each other nobody else reads, so its last form may be another."""

    link: Link
    operands: set[int] = field(default_factory=set[int])
    results: set[int] = field(default_factory=set[int])
    low: set[int] = field(default_factory=set[int])
    if_plain: bool = False
    group: Operation | None = None
    rewrite: Rewrite | None = None
    choices: tuple[Role, ...] = ()


FIXED = Role(Link.FIXED)


def role(op: Operation) -> Role:
    """The role of a ge op; FIXED for anything not known to allow another form."""
    if not isinstance(op, GeOp) or op.regions or not op.operands or not op.results:
        return FIXED
    if op.name in ("ge.reshape", "ge.transpose") and (shuffle := _channel_shuffle(op)) is not None:
        return shuffle
    if isinstance(op, TransposeOp):
        return _transpose(op)
    if "data_format" in op.attr_names():
        return _formatted(op)
    if op.FUSION_CLASS is FusionClass.VIEW:
        return _reshaping(op, spec_of(op.results[0].type).shape)
    if op.FUSION_CLASS is FusionClass.ELEMENTWISE and "axis" not in op.properties:
        return _elementwise(op)
    if op.name == "ge.expand" and len(op.operands) == 1:
        return _expand(op)
    if "keep_dims" in op.properties and len(op.results) == 1:
        return _reduction(op)
    if (remap := _REMAPS.get(op.name)) is not None:
        return remap(op)
    return FIXED


# ---------------------------------------------------------------------------------------------- building


def _rebuild(op: GeOp, changes: Mapping[str, Any]) -> Rewrite:
    """The same op on permuted operands, with some attributes changed."""

    def rewrite(b: GeBuilder, groups: Sequence[Any], _: int, out: int) -> Sequence[SSAValue]:
        attrs: dict[str, Any] = {k: v for k, v in op.properties.items() if k != "operandSegmentSizes"}
        specs: list[Spec] = []
        for result in op.results:
            spec = spec_of(result.type)
            specs.append(permuted(spec, to_last(spec.rank)) if out == LAST and spec.rank >= 3 else spec)
        new = b.create(type(op), groups, attrs | dict(changes), results=specs)
        return list(new.results)

    return rewrite


def _tied(op: GeOp, changes: Mapping[str, Any], *, first_only: bool = True, must: bool = False) -> Role:
    rank = spec_of(op.operands[0].type).rank
    if rank < 3:
        return FIXED
    operands = {0} if first_only else {i for i, v in enumerate(op.operands) if spec_of(v.type).rank == rank}
    results = {i for i, r in enumerate(op.results) if spec_of(r.type).rank == rank}
    return Role(Link.MUST if must else Link.TIED, operands, results, rewrite=_rebuild(op, changes))


def _formatted(op: GeOp) -> Role:
    """Ops that state where the channels are."""
    given = op.attrs().data_format
    if given is None:  # absent means channels first
        given = {len(f): f for f in CHANNELS_FIRST}.get(spec_of(op.operands[0].type).rank)
    if given not in LAST_OF:
        return FIXED
    found = _tied(op, {"data_format": LAST_OF[given]}, must=op.FUSION_CLASS is FusionClass.CUBE)
    found.if_plain = op.FUSION_CLASS is FusionClass.WINDOW
    return found


def _elementwise(op: GeOp) -> Role:
    rank = spec_of(op.results[0].type).rank
    if rank < 3 or any(spec_of(r.type).rank != rank for r in op.results):
        return FIXED
    operands: set[int] = set()
    low: set[int] = set()
    for i, value in enumerate(op.operands):
        spec = spec_of(value.type)
        if spec.rank == rank:
            operands.add(i)
        elif any(d != 1 for d in spec.shape):
            low.add(i)
    return Role(Link.TIED, operands, set(range(len(op.results))), low, rewrite=_rebuild(op, {}))


def _expand(op: GeOp) -> Role:
    result = spec_of(op.results[0].type)
    if result.rank < 3 or not result.is_static:
        return FIXED
    found = _elementwise(op)
    found.rewrite = _rebuild(op, {"shape": permuted(result, to_last(result.rank)).shape})
    return found


# ---------------------------------------------------------------------------------------------- axes


def _at(rank: int, axis: int) -> int:
    """Where a plain axis is in the last form."""
    return to_last(rank).index(axis % rank)


def _axis(name: str, *, first_only: bool = True) -> Callable[[GeOp], Role]:
    def remap(op: GeOp) -> Role:
        rank = spec_of(op.results[0].type).rank
        if rank < 3:
            return FIXED
        return _tied(op, {name: _at(rank, cast(int, op.attrs()[name]))}, first_only=first_only)

    return remap


def _axes(op: GeOp) -> Role:
    rank = spec_of(op.operands[0].type).rank
    if rank < 3:
        return FIXED
    return _tied(op, {"axes": sorted(_at(rank, a) for a in op.attrs().axes)})


def _scaled(op: GeOp) -> Role:
    """quantize, dequantize: scales are one number, or a vector along ``axis``."""
    rank = spec_of(op.operands[0].type).rank
    if rank < 3 or any(spec_of(v.type).rank > 1 for v in op.operands[1:]):
        return FIXED
    return _tied(op, {"axis": _at(rank, cast(int, op.attrs().axis))})


def _slice(op: GeOp) -> Role:
    attrs = op.attrs()
    rank = spec_of(op.operands[0].type).rank
    if rank < 3 or len(op.operands) > 1 or attrs.begin is None:
        return FIXED
    axes = attrs.axes if attrs.axes is not None else range(len(attrs.begin))
    return _tied(op, {"axes": [_at(rank, a) for a in axes]})


def _pad(op: GeOp) -> Role:
    paddings = op.attrs().paddings
    rank = spec_of(op.operands[0].type).rank
    if rank < 3 or paddings is None:
        return FIXED
    order = to_last(rank)
    return _tied(op, {"paddings": [*(paddings[a] for a in order), *(paddings[rank + a] for a in order)]})


def _resize(op: GeOp) -> Role:
    attrs = op.attrs()
    rank = spec_of(op.operands[0].type).rank
    if rank < 3 or len(op.operands) > 1:
        return FIXED
    axes = [a % rank for a in (attrs.axes if attrs.axes is not None else range(rank))]
    order = sorted(range(len(axes)), key=lambda i: _at(rank, axes[i]))
    changes: dict[str, Any] = {"axes": [_at(rank, axes[i]) for i in order] if attrs.axes is not None else None}
    for name in ("scales", "sizes"):
        if attrs.get(name) is not None:
            changes[name] = [attrs[name][i] for i in order]
    if attrs.roi is not None:
        if len(attrs.roi) != 2 * len(axes):
            return FIXED
        changes["roi"] = [*(attrs.roi[i] for i in order), *(attrs.roi[len(axes) + i] for i in order)]
    found = _tied(op, changes)
    found.if_plain = True
    return found


def _tile(op: GeOp) -> Role:
    multiples = op.attrs().multiples
    rank = spec_of(op.operands[0].type).rank
    if rank < 3 or multiples is None or len(multiples) != rank:
        return FIXED
    return _tied(op, {"multiples": [multiples[a] for a in to_last(rank)]})


_REMAPS: dict[str, Callable[[GeOp], Role]] = {
    "ge.concat": _axis("concat_dim", first_only=False),
    "ge.split": _axis("split_dim"),
    "ge.cumsum": _axis("axis"),
    "ge.softmax": _axes,
    "ge.log_softmax": _axes,
    "ge.quantize": _scaled,
    "ge.dequantize": _scaled,
    "ge.slice": _slice,
    "ge.pad": _pad,
    "ge.resize": _resize,
    "ge.mvn": _axes,
    "ge.hardmax": _axis("axis"),
    "ge.tile": _tile,
}


def _reduction(op: GeOp) -> Role:
    x = spec_of(op.operands[0].type)
    attrs = op.attrs()
    over = attrs.axes if attrs.axes is not None else (attrs.dimension,) if attrs.dimension is not None else None
    if x.rank < 3 or len(op.operands) > 1 or over is None:
        return FIXED
    axes = sorted(_at(x.rank, a) for a in over)
    changes: dict[str, Any] = {"axes": axes} if attrs.axes is not None else {"dimension": axes[0]}
    if attrs.keep_dims:
        return _tied(op, changes)
    gone = {a % x.rank for a in over}
    left = [a for a in range(x.rank) if a not in gone]

    def long(axes: Sequence[int]) -> list[int]:
        return [a for a in axes if a not in gone and x.shape[a] != 1]

    out_last = long([left[i] for i in to_last(len(left))]) if len(left) >= 3 else None
    found = _linked(long(left), long(to_last(x.rank)), out_last)
    if found is Link.FIXED:
        return FIXED
    y = spec_of(op.results[0].type)
    if not y.is_static:
        return FIXED

    def rewrite(b: GeBuilder, groups: Sequence[Any], into: int, out: int) -> Sequence[SSAValue]:
        properties: dict[str, Any] = dict(op.properties)
        if into == LAST:
            properties |= changes
        result = b.create(type(op), groups, properties).results[0]
        want = permuted(y, to_last(y.rank)) if out == LAST else y
        return [result if spec_of(result.type).shape == want.shape else reshaped(b, result, want.shape)]

    return Role(found, {0}, {0} if y.rank >= 3 else set(), rewrite=rewrite)


# ---------------------------------------------------------------------------------------------- shapes


def _linked(plain: list[int], in_last: list[int], out_last: list[int] | None) -> Link:
    """The link of an op that keeps the order of elements, from the orders in which the elements' axes come: in the
    plain form, in the operand's last form (in terms of the same axes), in the result's last form."""
    if out_last is None:
        return Link.TAKES if in_last == plain else Link.FIXED
    takes, gives, tied = in_last == plain, out_last == plain, in_last == out_last
    if takes and gives:
        return Link.FREE
    if tied:
        return Link.TIED
    return Link.TAKES if takes else Link.GIVES if gives else Link.FIXED


def _reshaping(op: GeOp, shape: Sequence[int]) -> Role:
    """Views, and transposes that only move axes of size 1: the elements keep their order."""
    x, y = spec_of(op.operands[0].type), spec_of(op.results[0].type)
    if not x.is_static or not y.is_static or prod(x.shape) == 0:
        return FIXED
    parts = common_parts(x.shape, y.shape)
    if parts is None or max(x.rank, y.rank) < 3:
        return FIXED
    plain = list(range(len(parts)))
    in_last = _order(parts, 0, x.rank) if x.rank >= 3 else None
    out_last = _order(parts, 1, y.rank) if y.rank >= 3 else None
    if in_last is None:
        link = Link.GIVES if out_last == plain else Link.FIXED
    else:
        link = _linked(plain, in_last, out_last)
    if link is Link.FIXED:
        return FIXED

    def rewrite(b: GeBuilder, groups: Sequence[Any], into: int, out: int) -> Sequence[SSAValue]:
        want = permuted(y, to_last(y.rank)).shape if out == LAST else y.shape
        if spec_of(groups[0].type).shape == want:
            return [groups[0]]
        return [reshaped(b, groups[0], want)]

    return Role(link, {0} if x.rank >= 3 else set(), {0} if y.rank >= 3 else set(), rewrite=rewrite)


def common_parts(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """The coarsest division of both shapes into the same sizes, in order, as (size, axis of a, axis of b); sizes of 1
    are left out. None if there is none, as for [4, 6] and [6, 4]."""
    parts: list[tuple[int, int, int]] = []
    left = [(d, i) for i, d in enumerate(a) if d != 1]
    right = [(d, i) for i, d in enumerate(b) if d != 1]
    while left and right:
        (m, i), (n, j) = left[0], right[0]
        size = min(m, n)
        if max(m, n) % size:
            return None
        parts.append((size, i, j))
        left[0:1] = [(m // size, i)] if m != size else []
        right[0:1] = [(n // size, j)] if n != size else []
    return None if left or right else parts


def _order(parts: Sequence[tuple[int, int, int]], side: int, rank: int) -> list[int]:
    """Indices of the parts in the order in which they come when that side is in the last form."""
    return [k for axis in to_last(rank) for k, part in enumerate(parts) if part[1 + side] == axis]


def _channel_shuffle(op: GeOp) -> Role | None:
    """Reshape, transpose, reshape that together only reorder channels: the channels split into parts, the parts
    change places. It works on the last axis as well as on axis 1."""
    first = _first_of_shuffle(op)
    if first is None:
        return None
    middle = cast(TransposeOp, _only_reader(first.results[0]))
    last = cast(GeOp, _only_reader(middle.results[0]))
    x = spec_of(first.operands[0].type)
    split = spec_of(first.results[0].type)
    parts = split.rank - x.rank + 1
    n, spatial = x.shape[0], x.shape[2:]
    perm = middle.attrs().perm
    swapped = [perm[1 + i] - 1 + len(spatial) + 1 for i in range(parts)]

    def rewrite(b: GeBuilder, groups: Sequence[Any], into: int, out: int) -> Sequence[SSAValue]:
        if op is first:
            return [reshaped(b, groups[0], [n, *spatial, *split.shape[1 : 1 + parts]])]
        if op is middle:
            return [b.transpose(groups[0], perm=[*range(len(spatial) + 1), *swapped])]
        return [reshaped(b, groups[0], permuted(x, to_last(x.rank)).shape)]

    assert op in (first, middle, last)
    return Role(Link.TIED, {0}, {0}, group=first, rewrite=rewrite)


def _only_reader(value: SSAValue) -> Operation | None:
    return next(iter(value.uses)).operation if value.has_one_use() else None


def _first_of_shuffle(op: GeOp) -> GeOp | None:
    """The first reshape of the channel shuffle that ``op`` is part of."""
    first: object = op
    for _ in range(2):
        if not isinstance(first, GeOp):
            return None
        if first.name == "ge.reshape" and _is_shuffle(first):
            break
        first = first.operands[0].owner
    if not isinstance(first, GeOp) or first.name != "ge.reshape" or not _is_shuffle(first):
        return None
    middle = _only_reader(first.results[0])
    last = _only_reader(middle.results[0]) if middle is not None else None
    return first if op in (first, middle, last) else None


def _is_shuffle(first: GeOp) -> bool:
    middle = _only_reader(first.results[0])
    if not isinstance(middle, TransposeOp) or len(first.operands) > 1:
        return False
    last = _only_reader(middle.results[0])
    if last is None or last.name != "ge.reshape" or len(last.operands) > 1:
        return False
    x, split, y = (spec_of(v.type) for v in (first.operands[0], first.results[0], last.results[0]))
    parts = split.rank - x.rank + 1
    if x != y or x.rank < 3 or parts < 2 or not x.is_static:
        return False
    perm = middle.attrs().perm
    around = [0, *range(1 + parts, split.rank)]
    return (split.shape[0], *split.shape[1 + parts :]) == (x.shape[0], *x.shape[2:]) and [
        perm[0],
        *perm[1 + parts :],
    ] == around


def _transpose(op: TransposeOp) -> Role:
    x = spec_of(op.operands[0].type)
    perm = op.attrs().perm
    if x.rank >= 3 and x.is_static and keeps_order(x.shape, perm):
        return _reshaping(op, x.shape)
    if x.rank < 3:
        return FIXED

    def same(b: GeBuilder, groups: Sequence[Any], into: int, out: int) -> Sequence[SSAValue]:
        return [groups[0]]

    takes_last = Role(Link.FROM_LAST, {0}, set(), rewrite=same)
    gives_last = Role(Link.TO_LAST, set(), {0}, rewrite=same)
    if perm == to_last(x.rank) == to_plain(x.rank):
        return Role(Link.EITHER, {0}, {0}, choices=(takes_last, gives_last))
    return takes_last if perm == to_last(x.rank) else gives_last if perm == to_plain(x.rank) else FIXED


def estimate(spec: Spec) -> int:
    """Bytes, with 16 for each unknown size."""
    return prod(16 if d == DYNAMIC else d for d in spec.shape) * spec.dtype.itemsize
