"""Which values depend on weights alone.

An op is *const-derived* if it is a constant, or is pure, has no region and reads only const-derived values. Such ops
stay symbolic: they cost no task and no workspace, and op counts leave them out; what they compute is written into the
OM as weights. What only repeats constants many times over does not count: it is done when the model runs, so that the
OM stays about as large as the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator, Pure

from gedialect.dialects.ge.attrs import ON_HOST, SplatAttr
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.spec import spec_of


@cache
def _may_derive(cls: type[Operation]) -> bool:
    return issubclass(cls, GeOp) and cls.has_trait(Pure) and not cls.has_trait(IsTerminator)


REPEATING = frozenset(("ge.expand", "ge.tile", "ge.fill"))
GROWN_BYTES = 1 << 18
GROWTH = 8
"""Repeating to more bytes than this, and this many times as many as are read, is left to the model's run."""


LARGE_BYTES = 1 << 26
"""The same for what any op makes: a range, a padded or resized tensor, an outer product."""


def grows(op: Operation) -> bool:
    """Whether the op's result is too large to store for how little it is made of."""
    if not isinstance(op, GeOp) or not op.results or isinstance(op.results[0].type, ON_HOST):
        return False
    spec = spec_of(op.results[0].type)
    if not spec.is_static or spec.nbytes <= (GROWN_BYTES if op.name in REPEATING else LARGE_BYTES):
        return False
    splats = [isinstance(v.owner, ConstantOp) and isinstance(v.owner.value, SplatAttr) for v in op.operands]
    if op.name in REPEATING and all(splats):
        return False  # itself a splat, which is stored as one number
    made_of = 0
    for value, splat in zip(op.operands, splats, strict=True):
        if not isinstance(value.type, ON_HOST):
            operand = spec_of(value.type)
            made_of += operand.dtype.itemsize if splat else operand.nbytes
    return spec.nbytes > GROWTH * made_of


def const_derived(block: Block, known: Iterable[SSAValue] = ()) -> set[SSAValue]:
    """Results of the const-derived ops of ``block``, in one walk; ``known`` counts as constant too (arguments of a
    body that are bound to constants). Runs in time linear in the ops."""
    found = set(known)
    for op in block.ops:
        if isinstance(op, ConstantOp):
            found.update(op.results)
        elif not op.regions and _may_derive(type(op)) and all(v in found for v in op.operands) and not grows(op):
            found.update(op.results)
    return found


def is_const_derived(value: SSAValue) -> bool:
    """Whether one value depends on weights alone; walks its producers. For many values use ``const_derived``."""
    seen: set[SSAValue] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if v in seen:
            continue
        seen.add(v)
        op = v.owner
        if not isinstance(op, Operation):
            return False
        if isinstance(op, ConstantOp):
            continue
        if op.regions or not _may_derive(type(op)) or grows(op):
            return False
        stack.extend(op.operands)
    return True
