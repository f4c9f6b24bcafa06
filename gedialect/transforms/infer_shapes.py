"""``infer-shapes``: result types from the argument types."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.ir.context import count


class InferShapes(ModulePass):
    """Recomputes the result types of all ops in order, also inside ``ge.fusion``, and the function's result types.

    Where inference leaves a size open, the text's own stays. Raises GE1005, naming the op, where operands do not fit.
    """

    name: ClassVar[str] = "infer-shapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from gedialect.transforms._propagate import functions, propagate

        for function in functions(op):
            for what, times in propagate(function, infer=True, folding=False).items():
                count(ctx, self.name, what, times)
