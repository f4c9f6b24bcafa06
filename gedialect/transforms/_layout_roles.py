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


Rewrite = Callable[[GeBuilder, Sequence[Any], int, int], Sequence[SSAValue]]
"""(builder, operand groups in the forms chosen, form of operands, form of results) -> results in that form."""


@dataclass
class Role:
    """``operands`` are the indices (in the flat list) that may be in the last form, ``results`` likewise; all others
    are plain. ``low`` are operands of lower rank that broadcast and are reshaped if the op works in the last form.
    ``if_plain`` says that the op itself is slower in the plain form."""

    link: Link
    operands: set[int] = field(default_factory=set[int])
    results: set[int] = field(default_factory=set[int])
    low: set[int] = field(default_factory=set[int])
    if_plain: bool = False
    rewrite: Rewrite | None = None


FIXED = Role(Link.FIXED)


def role(op: Operation) -> Role:
    """The role of a ge op; FIXED for anything not known to allow another form."""
    if not isinstance(op, GeOp) or op.regions or not op.operands or not op.results:
        return FIXED
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
    if "keep_dims" in op.properties and "axes" in op.properties:
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
    "ge.tile": _tile,
}


def _reduction(op: GeOp) -> Role:
    x = spec_of(op.operands[0].type)
    attrs = op.attrs()
    if x.rank < 3 or len(op.operands) > 1:
        return FIXED
    axes = sorted(_at(x.rank, a) for a in attrs.axes)
    if attrs.keep_dims:
        return _tied(op, {"axes": axes})
    gone = {a % x.rank for a in attrs.axes}
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
            properties["axes"] = axes
        result = b.create(type(op), groups, properties).results[0]
        want = permuted(y, to_last(y.rank)) if out == LAST else y
        return [result if spec_of(result.type).shape == want.shape else b.reshape(result, shape=want.shape)]

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
        return [b.reshape(groups[0], shape=want)]

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


def _transpose(op: TransposeOp) -> Role:
    x = spec_of(op.operands[0].type)
    perm = op.attrs().perm
    if x.rank >= 3 and x.is_static and keeps_order(x.shape, perm):
        return _reshaping(op, x.shape)
    if x.rank < 3:
        return FIXED

    def same(b: GeBuilder, groups: Sequence[Any], into: int, out: int) -> Sequence[SSAValue]:
        return [groups[0]]

    if perm == to_last(x.rank) and (x.rank > 3 or _may_be_last(op.operands[0])):
        return Role(Link.FROM_LAST, {0}, set(), rewrite=same)
    if perm == to_plain(x.rank):
        return Role(Link.TO_LAST, set(), {0}, rewrite=same)
    return FIXED


def _may_be_last(value: SSAValue) -> bool:
    """Whether the op that makes a value of rank 3 could give it in the last form."""
    owner = value.owner
    if not isinstance(owner, Operation):
        return False
    return role(owner).link in (Link.TIED, Link.MUST, Link.GIVES, Link.FREE, Link.TO_LAST)


def estimate(spec: Spec) -> int:
    """Bytes, with 16 for each unknown size."""
    return prod(16 if d == DYNAMIC else d for d in spec.shape) * spec.dtype.itemsize
