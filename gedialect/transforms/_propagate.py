"""One walk over a graph that recomputes types and folds, shared by the passes about shapes and constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import HostOp
from gedialect.dialects.ge.folding import constant_of, fold, operand_specs, take_constant_operands
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.errors import GeError
from gedialect.ir.diagnostics import op_error
from gedialect.ir.spec import DYNAMIC, Spec, tensor_type


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body of one block."""
    for op in module.ops:
        if isinstance(op, FuncOp) and len(op.body.blocks) == 1:
            yield op


def propagate(function: FuncOp, *, infer: bool, folding: bool) -> Counter[str]:
    """Walk the ops in order; counts of "retyped", "folded" and "attributes".

    ``infer`` recomputes result types; ``folding`` replaces ops over constants by constants and turns constant
    operands into attributes. Raises GE1005, placed at the op, where operands do not fit.
    """
    counts: Counter[str] = Counter()
    block = function.body.block
    _walk(block, counts, infer, folding)
    last = block.last_op
    if isinstance(last, ReturnOp):
        function.function_type = FunctionType.from_lists([a.type for a in block.args], [v.type for v in last.operands])
    return counts


def propagate_block(block: Block) -> Counter[str]:
    """``propagate`` with both in one block, such as a body of control flow."""
    counts: Counter[str] = Counter()
    _walk(block, counts, True, True)
    return counts


def _walk(block: Block, counts: Counter[str], infer: bool, folding: bool) -> None:
    for op in list(block.ops):
        if not isinstance(op, GeOp) or isinstance(op, ConstantOp | HostOp):
            continue
        try:
            if isinstance(op, FusionOp):
                _fusion(op, counts, infer)
                continue
            changed = False
            if folding:
                sources = list(op.operands)
                if take_constant_operands(op):
                    changed = True
                    counts["attributes"] += 1
                    for source in sources:
                        _drop_unused(source)
            if infer or changed:
                counts["retyped"] += _retype(op)
            if folding and (values := fold(op)) is not None:
                operands = list(op.operands)
                _replace(op, values)
                counts["folded"] += 1
                for operand in operands:
                    _drop_unused(operand)
        except GeError as e:
            if e.where is not None:
                raise
            raise op_error(op, e.message, code=e.code, hint=e.hint) from None


def _fusion(op: FusionOp, counts: Counter[str], infer: bool) -> None:
    if not infer:
        return
    body = op.body.block
    for arg, operand in zip(body.args, op.operands, strict=True):
        set_type(arg, operand.type)
    # a fusion's ops are not folded: what is in a kernel was decided
    _walk(body, counts, infer, False)
    last = body.last_op
    if isinstance(last, YieldOp):
        for result, value in zip(op.results, last.operands, strict=True):
            set_type(result, value.type)


def set_type(value: SSAValue, type_: Attribute) -> bool:
    """Give a value another type; whether it is another."""
    if value.type == type_:
        return False
    value._type = type_  # pyright: ignore[reportPrivateUsage]
    return True


def _retype(op: GeOp) -> bool:
    """Recompute the result types; where inference knows less than the text, the text's size stays."""
    specs = operand_specs(op)
    attrs = op.attrs()
    try:
        found = type(op).inferred(attrs, *specs)
    except GeError as e:
        if e.code == "GE1903":  # an op whose results are not told by its operands
            return False
        raise
    if len(found) != len(op.results):
        raise GeError(f"{op.name} has {len(op.results)} results, {len(found)} follow from its operands", code="GE1005")
    changed = False
    for result, old, new in zip(op.results, attrs.results, found, strict=True):
        changed |= set_type(result, tensor_type(_merge(old, new)))
    return changed


def _merge(old: Spec, new: Spec) -> Spec:
    if old.rank != new.rank:
        return new
    shape = tuple(o if n == DYNAMIC else n for o, n in zip(old.shape, new.shape, strict=True))
    return Spec(new.dtype, shape, new.encoding if new.encoding is not None else old.encoding)


def _replace(op: Operation, values: list[tuple[Attribute, Spec]]) -> None:
    block = op.parent
    assert block is not None
    for result, (value, spec) in zip(list(op.results), values, strict=True):
        if not result.uses:
            continue
        constant = ConstantOp.of(value, spec, op.location)
        constant.y.name_hint = result.name_hint
        block.insert_op_before(constant, op)
        result.replace_all_uses_with(constant.y)
    block.erase_op(op)


def _drop_unused(value: SSAValue) -> None:
    constant = constant_of(value)
    if constant is not None and not constant.y.uses and constant.parent is not None:
        constant.parent.erase_op(constant)
