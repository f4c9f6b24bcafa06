"""Which values share bytes: the result of a view is its first operand under another shape."""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from gedialect.dialects.ge.base import is_view


def alias_source(value: SSAValue) -> SSAValue | None:
    """The operand whose bytes ``value`` is, or None if it has bytes of its own."""
    if isinstance(value, OpResult) and is_view(type(value.op)):
        return value.op.operands[0]
    return None


def root(value: SSAValue) -> SSAValue:
    """The value that owns the bytes of ``value``: itself unless it is a view."""
    while (source := alias_source(value)) is not None:
        value = source
    return value


def roots(block: Block) -> dict[SSAValue, SSAValue]:
    """Every argument and result of ``block`` -> the value that owns its bytes; one walk in op order."""
    found: dict[SSAValue, SSAValue] = {a: a for a in block.args}
    for op in block.ops:
        if is_view(type(op)):
            source = op.operands[0]
            owner = found.get(source, source)
            found.update((r, owner) for r in op.results)
        else:
            found.update((r, r) for r in op.results)
    return found


def views_of(block: Block) -> list[Operation]:
    """The ops of ``block`` that cost nothing because their result is their operand's bytes."""
    return [op for op in block.ops if is_view(type(op))]
