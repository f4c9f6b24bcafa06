"""Building ge ops with inferred result types: importers, passes, rules and expansions use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import GeOp, PyAttr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec, spec_of


class GeBuilder:
    """Inserts ops at a point; new ops carry ``location``.

    ``b.relu(x)``, ``b.transpose(x, perm=[0, 2, 1])`` make any op of the dialect by its mnemonic and
    return its result (a tuple if there are several). Python numbers among the operands of such a call
    become splat constants of the first tensor operand's element type.
    """

    def __init__(self, at: InsertPoint | Block, location: Any = None):
        self.at = InsertPoint.at_end(at) if isinstance(at, Block) else at
        self.location = location
        self.created: list[Operation] = []

    def insert(self, op: Operation) -> Operation:
        """Insert a ready-made op."""
        if self.at.insert_before is None:
            self.at.block.add_op(op)
        else:
            self.at.block.insert_op_before(op, self.at.insert_before)
        self.created.append(op)
        return op

    def create(
        self,
        cls: type[GeOp],
        operands: Sequence[SSAValue | Sequence[SSAValue] | None],
        attrs: Mapping[str, PyAttr | None] | None = None,
        *,
        results: Sequence[Spec] | None = None,
    ) -> GeOp:
        """Make and insert an op; result types are inferred unless given (GE1005 if operands do not fit)."""
        op = cls.make(operands, attrs or {}, results=results, location=self.location)
        self.insert(op)
        return op

    def constant(self, value: Attribute, spec: Spec) -> SSAValue:
        """A constant from a dense, splat or weight attribute."""
        return self.insert(ConstantOp.of(value, spec, self.location)).results[0]

    def splat(self, value: float | bool, dtype: DType, shape: Sequence[int] = ()) -> SSAValue:
        """A constant with one value everywhere."""
        number = float(value) if dtype.is_float else int(value)
        return self.constant(SplatAttr.get(number), Spec(dtype, tuple(shape)))

    def array(self, array: Any) -> SSAValue:
        """A constant from a numpy array: a splat, dense up to 1 kB, or a weight kept in memory."""
        from gedialect.dialects.ge.literals import attribute_of

        value, spec = attribute_of(array)
        return self.constant(value, spec)

    def cast(self, x: SSAValue, dtype: DType) -> SSAValue:
        """``ge.cast`` to an element type; ``x`` itself if it has it."""
        from gedialect.dialects.ge import op_class

        spec = spec_of(x.type)
        if spec.dtype is dtype:
            return x
        return self.create(op_class("cast"), [x], results=[spec.with_dtype(dtype)]).results[0]

    def spec(self, x: SSAValue) -> Spec:
        return spec_of(x.type)

    def __getattr__(self, mnemonic: str) -> Callable[..., Any]:
        from gedialect.dialects.ge import op_class

        cls = op_class(mnemonic)

        def call(*operands: Any, results: Sequence[Spec] | None = None, **attrs: Any) -> Any:
            like: SSAValue | None = next((cast("SSAValue", o) for o in operands if isinstance(o, SSAValue)), None)
            values: list[Any] = [
                self.splat(o, spec_of(like.type).dtype) if isinstance(o, int | float) and like is not None else o
                for o in operands
            ]
            op = self.create(cls, values, attrs, results=results)
            return op.results[0] if len(op.results) == 1 else tuple(op.results)

        return call
