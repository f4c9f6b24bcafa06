"""``lower-kernels``: the npu code of every decided ``ge.fusion``, beside the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import GeError
from gedialect.targets import Target, load_target
from lowering.kernels.generators import generator_of, signature
from lowering.transforms.npu_allocate import allocate_kernel
from lowering.transforms.npu_insert_sync import insert_sync


@dataclass(frozen=True)
class LowerKernelsPass(ModulePass):
    """Appends one ``npu.kernel`` per different group and names it on its fusions as ``symbol``.

    ``allocate=false`` leaves tiles without addresses, ``sync=false`` leaves flags out: both steps are also
    passes of their own (``npu-allocate``, ``npu-insert-sync``).
    """

    name: ClassVar[str] = "lower-kernels"
    target: str = "ascend910b1"
    allocate: bool = True
    sync: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in lower_kernels(op, load_target(self.target), allocate=self.allocate, sync=self.sync):
            op.body.block.add_op(kernel)


def lower_kernels(module: ModuleOp, target: Target, *, allocate: bool = True, sync: bool = True) -> list[KernelOp]:
    """The kernels of a decided module, one per different group; GE1404 for a group without a ``kernel``."""
    kernels: dict[str, KernelOp] = {}
    for fusion in module.walk():
        if not isinstance(fusion, FusionOp):
            continue
        attr = fusion.attributes.get("kernel")
        if not isinstance(attr, KernelAttr):
            raise GeError("a fusion has no kernel", code="GE1404", hint="run select-kernels first")
        key = signature(fusion)
        if key not in kernels:
            label = fusion.attributes.get("label")
            name = f"k{len(kernels)}_{label.data[:48] if isinstance(label, StringAttr) else 'kernel'}"
            kernel = kernels[key] = generator_of(fusion).lower(fusion, name, attr, target)
            if allocate:
                allocate_kernel(kernel, target)
            if sync:
                insert_sync(kernel)
        fusion.attributes["symbol"] = kernels[key].sym_name
    return list(kernels.values())


def kernels_module(module: ModuleOp, target: Target) -> ModuleOp:
    """A module of the kernels alone, as ``ge-compile --emit npu`` writes it."""
    return ModuleOp(lower_kernels(module, target))
