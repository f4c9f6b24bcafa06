"""Functions made of ops of others, and what of a block depends on weights alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gedialect.analysis.graph import read_by
from gedialect.dialects.ge.attrs import ON_HOST, TextType, ValueType
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import HostOp
from gedialect.dialects.ge.folding import foldable
from gedialect.dialects.ge.literals import attribute_of
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec, spec_of, tensor_type


def is_static(value: SSAValue) -> bool:
    """Whether a value is a tensor of known size."""
    return not isinstance(value.type, ON_HOST) and spec_of(value.type).is_static


def is_plain(op: Operation) -> bool:
    """Whether an op works on tensors of known sizes and gives such."""
    return isinstance(op, GeOp) and not isinstance(op, HostOp) and all(is_static(r) for r in op.results)


def all_in(values: Sequence[SSAValue], found: set[SSAValue]) -> bool:
    """Whether there are values, all of them in ``found``."""
    return bool(values) and all(v in found for v in values)


def constants(block: Block, known: Iterable[SSAValue] = ()) -> set[SSAValue]:
    """Results of known size that depend on weights alone; ``known`` do too."""
    found: set[SSAValue] = set(known)
    for op in block.ops:
        derived = isinstance(op, ConstantOp) or (
            isinstance(op, GeOp) and is_plain(op) and foldable(type(op)) and all(v in found for v in op.operands)
        )
        if derived:
            found.update(op.results)
    return found


def type_of(value: Any) -> Attribute:
    """The type of a run-time value."""
    if value is None or isinstance(value, list):
        return ValueType()
    if value.dtype.kind in "OUS":
        return TextType()
    try:
        return tensor_type(Spec(dtypes.from_numpy(value.dtype), tuple(value.shape)))
    except KeyError:
        raise UnsupportedError(f"arrays of {value.dtype} are not supported", code="GE1203") from None


def function_of(
    ops: Sequence[Operation],
    arguments: Sequence[SSAValue],
    values: Sequence[Any],
    read: Mapping[SSAValue, Any],
    terminator: Operation,
) -> FuncOp:
    """A function of copies of ``ops``: ``arguments`` have the types of ``values`` (types, or values), ``read`` are
    constants, and the results are the operands of ``terminator``."""
    types = [v if isinstance(v, Attribute) else type_of(v) for v in values]
    block = Block(arg_types=types)
    mapper: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    for old, new in zip(arguments, block.args, strict=True):
        new.name_hint = old.name_hint
    for value, array in read.items():
        attr, spec = attribute_of(array)
        constant = ConstantOp.of(attr, spec)
        constant.y.name_hint = value.name_hint
        block.add_op(constant)
        mapper[value] = constant.y
    needed = _needed(ops, terminator)
    for op in ops:
        if op in needed:
            block.add_op(op.clone(mapper))
    results = [mapper[v] for v in terminator.operands]
    block.add_op(ReturnOp(*results))
    function = FuncOp("main", (types, [r.type for r in results]), Region(block))
    return function


def _needed(ops: Sequence[Operation], terminator: Operation) -> set[Operation]:
    """The ops of which something is read, and those that may not be left out."""
    wanted: set[SSAValue] = set(terminator.operands)
    needed: set[Operation] = set()
    for op in reversed(ops):
        if any(r in wanted for r in op.results):
            needed.add(op)
            wanted.update(read_by(op))
    return needed
