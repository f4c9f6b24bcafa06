"""``convert-precision``: compute in half precision, keep the model's types at its borders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from gedialect.dialects.ge.base import Attrs, FusionClass, GeOp, OperandGroup, to_python
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError, UsageError
from gedialect.ir import dtypes
from gedialect.ir.dtypes import F32, DType
from gedialect.ir.spec import Spec, spec_of
from gedialect.transforms._propagate import functions

TARGETS = {"f16": dtypes.F16, "bf16": dtypes.BF16}


def _specs(group: OperandGroup) -> Spec | list[Spec] | None:
    if group is None:
        return None
    return [spec_of(v.type) for v in group] if isinstance(group, list) else spec_of(group.type)


@dataclass(frozen=True)
class ConvertPrecisionPass(ModulePass):
    """Every f32 value inside the graph becomes ``to`` ("f16" or "bf16"); arguments and results are cast at the border.

    Ops whose semantics are about a type (quantisation, ranges) or that refuse the new one stay in f32
    between casts. Constants beyond the new type's range are clamped to it, as the masks of exported
    attention need: 0 * -inf would be nan. Norms, softmax and products accumulate in f32 by their own semantics.
    """

    name: ClassVar[str] = "convert-precision"
    to: str = "f16"

    @property
    def lowered_to(self) -> str:
        """The type whose precision the results have; ``ge-opt --check-each-pass`` asks for it."""
        return self.to

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.to not in TARGETS:
            raise UsageError(f"unknown precision {self.to}", code="GE1001", hint="f16 or bf16")
        for function in functions(op):
            _Conversion(function.body.block, TARGETS[self.to]).run()


class _Conversion:
    def __init__(self, block: Block, half: DType):
        self.block = block
        self.half = half
        self.halves: dict[SSAValue, SSAValue] = {}
        """f32 value -> its half-precision form, made once"""

    def run(self) -> None:
        for op in list(self.block.ops):
            if isinstance(op, ReturnOp) or isinstance(op, ConstantOp) or not isinstance(op, GeOp) or op.regions:
                continue
            if self._touches_f32(op) and op.FUSION_CLASS is not FusionClass.CONSTANT:
                self._convert(op)
        self._drop_unused()

    @staticmethod
    def _touches_f32(op: Operation) -> bool:
        return any(spec_of(v.type).dtype is F32 for v in (*op.operands, *op.results))

    def _half(self, value: SSAValue) -> SSAValue:
        """The half-precision form of an f32 value; others as they are."""
        if spec_of(value.type).dtype is not F32:
            return value
        if value not in self.halves:
            owner = value.owner
            if isinstance(owner, ConstantOp):
                self.halves[value] = self._constant(owner)
            else:
                at = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(self.block)
                self.halves[value] = GeBuilder(at, owner.location if isinstance(owner, Operation) else None).cast(
                    value, self.half
                )
        return self.halves[value]

    def _constant(self, op: ConstantOp) -> SSAValue:
        import numpy as np

        from gedialect.dialects.ge.attrs import WeightAttr

        builder = GeBuilder(InsertPoint.after(op), op.location)
        if isinstance(op.value, WeightAttr):
            return builder.cast(op.y, self.half)  # const-derived: cast when the OM is written
        array: Any = ConstantOp.evaluate(op.attrs())
        if self.half is dtypes.F16:
            most = float(np.finfo(np.float16).max)
            array = cast(Any, np.where(np.isfinite(array), np.clip(array, -most, most), array))
        return builder.array(array.astype(self.half.numpy))

    def _convert(self, op: GeOp) -> None:
        """Rebuild ``op`` on half-precision operands; its f32 results become half ones, cast back for who needs f32."""
        groups: list[OperandGroup] = []
        data = {name for name, _ in op.operand_kinds()} - {name for name, _ in op.CONST_OPERANDS}
        for (name, _), group in zip(op.operand_kinds(), op.operand_groups(), strict=True):
            if name not in data:
                groups.append(group)
            elif isinstance(group, list):
                groups.append([self._half(v) for v in group])
            else:
                groups.append(None if group is None else self._half(group))
        want = [Spec(self.half, s.shape) if s.dtype is F32 else s for s in (spec_of(r.type) for r in op.results)]
        attrs: dict[str, Attribute] = {k: v for k, v in op.properties.items() if k != "operandSegmentSizes"}
        try:
            specs = type(op).infer(
                Attrs({k: to_python(v) for k, v in attrs.items()}, want), *(_specs(g) for g in groups)
            )
        except GeError:
            return
        if [s.dtype for s in specs] != [s.dtype for s in want]:
            return  # the op's result type is its own: it stays in f32
        builder = GeBuilder(InsertPoint.before(op), op.location)
        new = builder.create(type(op), groups, attrs, results=want)
        after = GeBuilder(InsertPoint.after(op), op.location)
        for old, value in zip(op.results, new.results, strict=True):
            value.name_hint = old.name_hint
            if spec_of(old.type).dtype is F32:
                wide = after.cast(value, F32)
                old.replace_all_uses_with(wide)
                self.halves[wide] = value
            else:
                old.replace_all_uses_with(value)
        op.detach()
        op.erase()

    def _drop_unused(self) -> None:
        for op in reversed(list(self.block.ops)):
            if isinstance(op, GeOp) and op.results and not any(r.uses for r in op.results) and not op.regions:
                op.detach()
                op.erase()
