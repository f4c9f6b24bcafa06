"""``fold-constants``: evaluates ops over constants."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.ir.context import count


class FoldConstants(ModulePass):
    """Replaces ops whose operands are all constants by their value, if it has at most 1 kB or is one repeated value.

    Also the sizes of tensors of known shape, and constant operands with an attribute form (shape, sizes, k, ...).
    Larger values stay symbolic (*const-derived*), so that weights are never copied. Ops are evaluated in their own
    element type; random ops never are. The bodies of ``ge.fusion`` are left alone.

    The result has the same bits on every machine: products are added up without rounding, whatever BLAS does, and
    functions of f32 and narrower types are computed in f64 and rounded once. What remains is exp and the like of f64,
    products of three and more operands in one einsum, and Fourier transforms, whose last bit may differ.
    """

    name: ClassVar[str] = "fold-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from gedialect.transforms._propagate import functions, propagate

        for function in functions(op):
            for what, times in propagate(function, infer=False, folding=True).items():
                count(ctx, self.name, what, times)
