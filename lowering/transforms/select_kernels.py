"""``select-kernels``: choose the kernel of each ``ge.fusion`` and write it down as its ``kernel`` attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.targets import load_target
from lowering.kernels.generators import generator_of, signature


@dataclass(frozen=True)
class SelectKernelsPass(ModulePass):
    """Tile sizes and block counts for ``target``; groups that have a ``kernel`` keep it."""

    name: ClassVar[str] = "select-kernels"
    target: str = "ascend910b1"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = load_target(self.target)
        chosen: dict[str, KernelAttr] = {}  # layers repeat: equal groups get equal kernels
        for fusion in list(op.walk()):
            if isinstance(fusion, FusionOp) and not isinstance(fusion.attributes.get("kernel"), KernelAttr):
                key = signature(fusion)
                if key not in chosen:
                    chosen[key] = generator_of(fusion).select(fusion, target)
                fusion.attributes["kernel"] = chosen[key]
