"""``expand-ops``: ops without a kernel of their own become ops that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from gedialect.analysis.constness import GROWN_BYTES, const_derived, is_const_derived
from gedialect.analysis.fusibility import approximate, kernel_kind
from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import FusionClass, GeOp, is_view
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir.context import count
from gedialect.ir.spec import Spec, spec_of
from gedialect.ir.weights import read_constant
from gedialect.transforms._propagate import functions


@dataclass(frozen=True)
class ExpandOpsPass(ModulePass):
    """Replaces an op that no kernel can compute by its expansion, if kernels compute all of that.

    Ops with a kernel keep their form, and so do those that depend on constants alone. An op that cannot be
    expanded this way is left for the host. Shapes must be known. A large constant of one value that would have to lie
    in the file, as a result of the model has to, is made when the model runs.
    """

    name: ClassVar[str] = "expand-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            block = function.body.block
            for inner in list(block.ops):
                if isinstance(inner, ConstantOp) and isinstance(inner.value, SplatAttr) and _repeat(inner):
                    count(ctx, self.name, inner.name)
            constant = const_derived(block)
            for inner in list(block.ops):
                if isinstance(inner, GeOp) and not any(r in constant for r in inner.results):
                    name = inner.name
                    if _needs_expansion(inner) and expand(inner):
                        count(ctx, self.name, name)
            _drop_unused(block)


STORED_BYTES = 1 << 26
"""A constant of one value above this size is not stored, whatever reads it."""


def _repeat(op: ConstantOp) -> bool:
    """Let readers that a stored constant would be for read one that is repeated in the run; whether there are any."""
    spec = spec_of(op.y.type)
    if spec.nbytes <= GROWN_BYTES:
        return False
    uses = [use for use in op.y.uses if isinstance(use.operation, ReturnOp) or _stores(use.operation, spec)]
    if not uses:
        return False
    one = read_constant(op.value, spec).reshape(-1)[:1]
    builder = GeBuilder(InsertPoint.after(op), op.location)
    value = builder.expand(builder.array(one), shape=spec.shape)
    if value.type != op.y.type:
        return False
    value.name_hint = op.y.name_hint
    for use in uses:
        use.operation.operands[use.index] = value
    return True


def _stores(reader: Operation, spec: Spec) -> bool:
    """Whether an op would read the constant from memory: kernels hold the value of one beside element-wise work."""
    elementwise = isinstance(reader, GeOp) and reader.FUSION_CLASS is FusionClass.ELEMENTWISE
    return spec.nbytes > STORED_BYTES and not elementwise


def _needs_expansion(op: GeOp) -> bool:
    return (
        not op.regions
        and type(op).has_expansion()
        and not is_view(type(op))
        and all(spec_of(v.type).is_static for v in (*op.operands, *op.results))
        and all(0 not in spec_of(r.type).shape for r in op.results)
        and kernel_kind(op) is None
        and not approximate(op)
    )


def expand(op: GeOp) -> bool:
    """Replace ``op`` by its expansion, to the end; whether that gave ops with kernels only. If not, nothing changes."""
    made: list[Operation] = []
    values = _expanded(op, made)
    if values is None:
        for new in reversed(made):
            new.detach()
            new.erase()
        return False
    for old, new in zip(op.results, values, strict=True):
        new.name_hint = new.name_hint or old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return True


def _expanded(op: GeOp, made: list[Operation]) -> list[SSAValue] | None:
    """The values of ``op`` from the ops of its expansion, inserted before it and noted in ``made``."""
    builder = GeBuilder(InsertPoint.before(op), op.location)
    try:
        result = type(op).expand(builder, op.attrs(), *op.operand_groups())
    except (GeError, MemoryError):  # tables that no memory holds
        made += builder.created
        return None
    made += builder.created
    values: list[Any] = [*result] if isinstance(result, tuple) else [result]
    if any(v.type != r.type for v, r in zip(values, op.results, strict=True)):
        return None
    for new in list(builder.created):
        if not isinstance(new, GeOp) or is_view(type(new)) or kernel_kind(new) is not None:
            continue
        if all(is_const_derived(r) for r in new.results):
            continue
        if not _needs_expansion(new):
            return None
        inner = _expanded(new, made)
        if inner is None:
            return None
        for old, value in zip(new.results, inner, strict=True):
            old.replace_all_uses_with(value)
            values = [value if v is old else v for v in values]
        made.remove(new)
        new.detach()
        new.erase()
    return values


def _drop_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if isinstance(op, GeOp) and op.results and not any(r.uses for r in op.results) and not op.regions:
            op.detach()
            op.erase()
