"""npu.kernel -> bytes."""

from __future__ import annotations

from xdsl.ir import Block

from gedialect.binary.isa import Value
from gedialect.binary.kernel import Function, Inst, Kernel, Loop
from gedialect.binary.kernel_codec import encode
from gedialect.dialects.npu import AllocOp, ForOp, FunctionOp, InstrOp, KernelOp, ViewOp
from gedialect.errors import GeError

from ..npu.views import ViewTable


def emit_kernel(op: KernelOp) -> bytes:
    """The encoded kernel; GE1404 if its tiles have no addresses yet."""
    return encode(to_kernel(op))


def to_kernel(op: KernelOp) -> Kernel:
    """The kernel as `gedialect.binary.kernel` states it; GE1404 if its tiles have no addresses yet."""
    functions = {f.is_cube: _Converter(f, op).convert() for f in op.functions}
    return Kernel(
        op.sym_name.data,
        op.kind.data,
        op.blocks.value.data,
        op.args.data,
        functions.get(True),
        functions.get(False),
    )


class _Converter:
    def __init__(self, function: FunctionOp, kernel: KernelOp):
        self.function = function
        self.table = ViewTable(function, kernel)
        self._attrs: dict[tuple[object, ...], tuple[Value, ...]] = {}

    def convert(self) -> Function:
        return Function(self.block(self.function.body.block, 0))

    def block(self, block: Block, depth: int) -> tuple[Inst | Loop, ...]:
        out: list[Inst | Loop] = []
        table = self.table
        views = table.views
        for op in block.ops:
            if isinstance(op, InstrOp):
                operands = tuple([views[v] for v in op._operands])  # pyright: ignore[reportPrivateUsage]
                out.append(Inst(op.INSTR, operands, self.attrs(op)))
            elif isinstance(op, ViewOp):
                table.add_view(op, depth)
            elif isinstance(op, AllocOp):
                table.add_alloc(op, depth)
            elif isinstance(op, ForOp):
                lo, hi = table.enter_loop(op, depth)
                out.append(Loop(lo, hi, op.bounds[2], self.block(op.regions[0].block, depth + 1)))
            else:
                name = table.kernel.sym_name.data
                raise GeError(f"{op.name} cannot be encoded", code="GE1901", where=f"kernel {name}")
        return tuple(out)

    def attrs(self, op: InstrOp) -> tuple[Value, ...]:
        if not op.INSTR.attrs:
            return ()
        key = (op.INSTR.opcode, *op.properties.items())
        found = self._attrs.get(key)
        if found is None:
            found = self._attrs[key] = op.values()
        return found
