"""Checks a memory plan against lifetimes derived again."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.analysis.plan_verifier import verify_plan
from gedialect.ir.context import count


@dataclass(frozen=True)
class VerifyPlanPass(ModulePass):
    """Proves that no two values that are needed at the same time share bytes, that every place is aligned and inside
    the workspace, and that output buffers hold what the function returns. Errors are GE1401 and GE1405."""

    name = "verify-plan"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count(ctx, self.name, "buffers", verify_plan(op).buffers)
