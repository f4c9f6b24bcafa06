"""Which generator writes the kernel of a group."""

from __future__ import annotations

from typing import Protocol

from xdsl.ir import SSAValue

from gedialect.analysis.fusibility import LINE_OPS, SCATTER_OPS, is_depthwise
from gedialect.binary.kernel import Kernel
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.dialects.npu import KernelOp
from gedialect.errors import UnsupportedError
from gedialect.ir.spec import spec_of
from gedialect.targets import Target
from lowering.emit.kernel import to_kernel
from lowering.kernels.cube import vector_follows
from lowering.transforms.npu_allocate import allocate_kernel
from lowering.transforms.npu_insert_sync import insert_sync


class Generator(Protocol):
    """A module that chooses and writes one kind of kernel."""

    def select(self, fusion: FusionOp, target: Target) -> KernelAttr:
        """Tile sizes and number of blocks."""
        ...

    def lower(self, fusion: FusionOp, name: str, kernel: KernelAttr, target: Target) -> KernelOp:
        """The kernel; its arguments are the operands, the results, then scratch if it has any."""
        ...


def generator_of(fusion: FusionOp) -> Generator:
    """The generator of a group, by the class of its ops; UnsupportedError GE1206 if there is none, as for tensors of
    unknown sizes and without elements."""
    names: set[str] = set()
    classes: set[FusionClass] = set()
    for value in (*fusion.operands, *(r for op in fusion.body.block.ops for r in op.results)):
        if not (spec := spec_of(value.type)).is_static or spec.size == 0:
            raise UnsupportedError(f"no kernel for a group with {spec}", code="GE1206")
    for op in fusion.body.block.ops:
        if isinstance(op, GeOp):
            names.add(op.name)
            classes.add(FusionClass.WINDOW if is_depthwise(op) else op.FUSION_CLASS)
    if names & LINE_OPS:
        from lowering.kernels import lines

        return lines
    if names & SCATTER_OPS:
        from lowering.kernels import scatter

        return scatter
    if FusionClass.CUBE in classes:
        if vector_follows(fusion):
            from lowering.kernels import mix

            return mix
        if "ge.matmul" in names:
            from lowering.kernels import matmul

            return matmul
        from lowering.kernels import conv

        return conv
    if FusionClass.WINDOW in classes:
        from lowering.kernels import window

        return window
    if classes & {FusionClass.ELEMENTWISE, FusionClass.REDUCTION}:
        from lowering.kernels import vector

        return vector
    if classes & {FusionClass.BROADCAST, FusionClass.DATA_MOVEMENT}:
        from lowering.kernels import move

        return move
    raise UnsupportedError(f"no kernel for a group of {', '.join(sorted(names))}", code="GE1206")


def signature(fusion: FusionOp) -> str:
    """Text that is equal for groups with equal kernels: the body, types and decisions, without names."""
    number: dict[SSAValue, str] = {a: f"a{i}" for i, a in enumerate(fusion.body.block.args)}
    parts = [str(fusion.attributes.get("kernel")), *(str(spec_of(a.type)) for a in fusion.body.block.args)]
    for i, op in enumerate(fusion.body.block.ops):
        for j, r in enumerate(op.results):
            number[r] = f"v{i}.{j}"
        props = ",".join(f"{k}={v}" for k, v in sorted(op.properties.items(), key=lambda kv: kv[0]))
        operands = ",".join(number[v] for v in op.operands)
        parts.append(f"{op.name}({operands}){{{props}}}:{','.join(str(spec_of(r.type)) for r in op.results)}")
    return ";".join(parts)


def finish_kernel(kernel: KernelOp, target: Target) -> KernelOp:
    """Addresses and flags for a kernel as a generator writes it."""
    allocate_kernel(kernel, target)
    insert_sync(kernel)
    return kernel


def kernel_program(fusion: FusionOp, name: str, target: Target) -> Kernel:
    """The kernel of a decided group: written, allocated, synchronised."""
    attr = fusion.attributes["kernel"]
    assert isinstance(attr, KernelAttr)
    return to_kernel(finish_kernel(generator_of(fusion).lower(fusion, name, attr, target), target))
