"""Ops as the primitive ops they expand to: what the vector generator sees of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from gedialect.dialects.ge.base import FusionClass, GeOp, PyAttr
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import YieldOp
from gedialect.dialects.ge.shapes import broadcast
from gedialect.errors import UnsupportedError
from gedialect.ir.dtypes import BY_NAME
from gedialect.ir.spec import spec_of

REDUCTIONS = frozenset(
    f"ge.{n}" for n in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_any", "reduce_all")
)
"""Primitive reductions; all others expand to them."""


def expand_all(block: Block, keep: Operation | None = None) -> None:
    """Replace every op of ``block`` but ``keep`` that has an expansion, and is not primitive, by it, to the end."""
    for op in list(block.ops):
        if isinstance(op, GeOp) and op is not keep and op.attrs().get("keep_dims") is False:
            _keep_dims(op)
    work = list(block.ops)
    while work:
        op = work.pop()
        if not isinstance(op, GeOp) or op is keep or op.PRIMITIVE is not None or not type(op).has_expansion():
            continue
        builder = GeBuilder(InsertPoint.before(op), op.location)
        try:
            expanded = type(op).expand(builder, op.attrs(), *op.operand_groups())
        except UnsupportedError:  # no such form for these attributes
            for new in reversed(builder.created):
                new.detach()
                new.erase()
            continue
        values = cast("tuple[SSAValue, ...]", expanded) if isinstance(expanded, tuple) else (expanded,)
        for old, new in zip(op.results, values, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
        work += builder.created
    for op in list(block.ops):
        if isinstance(op, GeOp) and op.name in REDUCTIONS and not op.attrs()["axes"]:
            _of_no_axes(op)
    for op in reversed(list(block.ops)):
        if op.results and not any(r.uses for r in op.results) and isinstance(op, GeOp):
            op.detach()
            op.erase()


def _of_no_axes(op: GeOp) -> None:
    """A reduction over no axes as an element-wise op that changes nothing: in a kernel that reduces some axes for
    another op it would be one over those."""
    builder = GeBuilder(InsertPoint.before(op), op.location)
    x = op.operands[0]
    same = builder.logical_or if spec_of(x.type).dtype.kind == "b" else builder.maximum
    op.results[0].replace_all_uses_with(same(x, x))
    op.detach()
    op.erase()


def _keep_dims(op: GeOp) -> None:
    """A reduction that drops axes, as one that keeps them and a reshape: all values then align by axis."""
    builder = GeBuilder(InsertPoint.before(op), op.location)
    attrs: dict[str, PyAttr | None] = {k: v for k, v in op.properties.items() if k != "operandSegmentSizes"}
    kept = builder.create(type(op), op.operand_groups(), attrs | {"keep_dims": True})
    for old, new in zip(op.results, kept.results, strict=True):
        old.replace_all_uses_with(builder.reshape(new, shape=spec_of(old.type).shape))
    op.detach()
    op.erase()


STRIDED = (FusionClass.VIEW, FusionClass.DATA_MOVEMENT, FusionClass.BROADCAST)
"""Classes of ops that may read an operand by strides."""


@dataclass(frozen=True)
class Profile:
    """What grouping needs to know of an op's primitives.

    ``domain`` is the iteration space; ``reduced`` the reduced axes counted from the end (-1 is the last);
    ``calls`` are (primitive op name, result dtype, operand dtypes); ``other`` names ops that are not
    primitive element-wise or reduction ops.
    """

    domain: tuple[int, ...]
    reduced: frozenset[int]
    stages: int
    calls: tuple[tuple[type[GeOp], tuple[str, ...]], ...]
    other: tuple[str, ...]
    viewed: frozenset[int]
    """operands that are read by other strides than their own shape's: they must come from outside the kernel"""
    reshaped: bool
    """a result is stored under another shape than it is computed in: nothing can follow in the kernel"""


def profile_of(op: GeOp) -> Profile:
    """The profile of an op with static shapes; cached by class, attributes and operand types."""
    segments = tuple(-1 if g is None else 1 if isinstance(g, SSAValue) else len(g) for g in op.operand_groups())
    attrs = tuple(sorted((k, v) for k, v in op.properties.items()))
    return _profile(type(op), attrs, segments, tuple(v.type for v in op.operands), tuple(r.type for r in op.results))


@lru_cache(maxsize=8192)
def _profile(
    cls: type[GeOp],
    attrs: tuple[tuple[str, Attribute], ...],
    segments: tuple[int, ...],
    operands: tuple[Attribute, ...],
    results: tuple[Attribute, ...],
) -> Profile:
    block = Block(arg_types=operands)
    op = cls.create(operands=block.args, result_types=results, properties=dict(attrs))
    block.add_ops([op, YieldOp.create(operands=op.results)])
    expand_all(block)
    return profile_block(block.ops)


def profile_block(ops: Iterable[Operation]) -> Profile:
    """The profile of already expanded ops."""
    domain: tuple[int, ...] = ()
    reduced: set[int] = set()
    depth: dict[SSAValue, int] = {}
    calls: list[tuple[type[GeOp], tuple[str, ...]]] = []
    other: list[str] = []
    stages = 0
    viewed: set[int] = set()
    reshaped = False
    for op in ops:
        if isinstance(op, ConstantOp) or not isinstance(op, GeOp):
            continue
        specs = [spec_of(v.type) for v in op.operands]
        level = max((depth.get(v, 0) for v in op.operands), default=0)
        if op.name in REDUCTIONS:
            axes = op.attrs()["axes"]
            reduced |= {a % specs[0].rank - specs[0].rank for a in axes}
            domain = broadcast(domain, specs[0].shape)
            level += 1
            stages = max(stages, level)
        elif op.PRIMITIVE is not None and op.FUSION_CLASS is FusionClass.ELEMENTWISE:
            domain = broadcast(domain, *(s.shape for s in specs), spec_of(op.results[0].type).shape)
        elif op.operands[0] in depth:  # a computed value may be stored under another shape, not computed with
            reshaped = True
            if op.name != "ge.reshape" or any(not isinstance(u.operation, YieldOp) for u in op.results[0].uses):
                other.append(op.name)
        elif op.FUSION_CLASS not in STRIDED:
            other.append(op.name)
        else:  # a strided read of an operand
            source = op.operands[0]
            while isinstance(source.owner, Operation):
                source = source.owner.operands[0]
            if isinstance(source, BlockArgument):
                viewed.add(source.index)
            continue
        if op.PRIMITIVE is not None:
            dtypes = (*(spec_of(r.type).dtype.name for r in op.results), *(s.dtype.name for s in specs))
            calls.append((type(op), dtypes))
        for r in op.results:
            depth[r] = level
    return Profile(domain, frozenset(reduced), stages, tuple(calls), tuple(other), frozenset(viewed), reshaped)


def instruction(cls: type[GeOp], dtypes: Sequence[str]) -> str:
    """The vector instruction of a primitive op for (result, operand...) element types."""
    assert cls.PRIMITIVE is not None
    if cls.PRIMITIVE == "vdiv" and BY_NAME[dtypes[0]].is_int:
        return "vidiv"
    return cls.PRIMITIVE
