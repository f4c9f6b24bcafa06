"""npu.kernel -> bytes."""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, SSAValue

from gedialect.binary.isa import Value
from gedialect.binary.kernel import (
    BLOCK_IDX,
    FIRST_LOOP,
    SUB_BLOCK_IDX,
    Function,
    Inst,
    Kernel,
    Linear,
    Loop,
    Rotation,
    View,
    contiguous,
)
from gedialect.binary.kernel_codec import encode
from gedialect.dialects.npu import AllocOp, ForOp, FunctionOp, GmType, InstrOp, KernelOp, LinearForm, TileType, ViewOp
from gedialect.errors import GeError


def emit_kernel(op: KernelOp) -> bytes:
    """The encoded kernel; GE1401 if its tiles have no addresses yet."""
    return encode(to_kernel(op))


def to_kernel(op: KernelOp) -> Kernel:
    """The kernel as `gedialect.binary.kernel` states it; GE1401 if its tiles have no addresses yet."""
    functions = {f.is_cube: _Function(f, op).convert() for f in op.functions}
    return Kernel(
        op.sym_name.data,
        op.kind.data,
        op.blocks.value.data,
        op.args.data,
        functions.get(True),
        functions.get(False),
    )


class _Function:
    def __init__(self, function: FunctionOp, kernel: KernelOp):
        self.function = function
        self.kernel = kernel
        self.variables: dict[SSAValue, int] = {}
        self.views: dict[SSAValue, View] = {}
        self._attrs: dict[tuple[object, ...], tuple[Value, ...]] = {}

    def convert(self) -> Function:
        number = 0
        for value in self.function.body.block.args:
            if isinstance(value.type, GmType):
                arg = self.kernel.args.data[number]
                n = arg.nbytes // arg.dtype.itemsize
                self.views[value] = View("gm", arg.dtype, (n,), (1,), Linear(), number)
                number += 1
            else:
                self.variables[value] = BLOCK_IDX if not self.variables else SUB_BLOCK_IDX
        return Function(self.block(self.function.body.block, 0))

    def block(self, block: Block, depth: int) -> tuple[Inst | Loop, ...]:
        out: list[Inst | Loop] = []
        for op in block.ops:
            if isinstance(op, InstrOp):
                views = tuple([self.views[v] for v in op._operands])  # pyright: ignore[reportPrivateUsage]
                out.append(Inst(op.INSTR, views, self.attrs(op)))
            elif isinstance(op, ViewOp):
                self.views[op.tile] = self.view(op)
            elif isinstance(op, AllocOp):
                self.views[op.tile] = self.alloc(op, depth)
            elif isinstance(op, ForOp):
                body = op.body.block
                lo, hi = (self.linear(f.data, op.indices) for f in (op.lo, op.hi))
                self.variables[body.args[0]] = FIRST_LOOP + depth
                out.append(Loop(lo, hi, op.step.value.data, self.block(body, depth + 1)))
            else:
                raise GeError(f"{op.name} cannot be encoded", code="GE1901", where=self.kernel.sym_name.data)
        return tuple(out)

    def attrs(self, op: InstrOp) -> tuple[Value, ...]:
        if not op.INSTR.attrs:
            return ()
        key = (op.INSTR.opcode, *op.properties.items())
        found = self._attrs.get(key)
        if found is None:
            found = self._attrs[key] = op.values()
        return found

    def linear(self, form: LinearForm, indices: tuple[SSAValue, ...] | list[SSAValue], scale: int = 1) -> Linear:
        terms = sorted((self.variables[v], c * scale) for v, c in zip(indices, form.coefs, strict=True) if c)
        return Linear(form.const * scale, tuple(terms))

    def alloc(self, op: AllocOp, depth: int) -> View:
        tile = op.type
        if op.addr is None:
            name = op.tile.name_hint or "tile"
            raise GeError(
                f"tile '{name}' has no address",
                code="GE1401",
                where=f"kernel {self.kernel.sym_name.data}",
                hint="run npu-allocate first",
            )
        rotation = None
        if op.count > 1 and op.slot is not None:
            rotation = Rotation(depth - 1, op.count, op.slot.value.data)
        base = Linear(op.addr.value.data)
        return View(tile.space, tile.dtype, tile.shape, contiguous(tile.shape), base, -1, rotation)

    def view(self, op: ViewOp) -> View:
        source, tile = self.views[op.source], op.type
        offset = self.linear(op.offset.data, op.indices, tile.dtype.itemsize)
        base = offset if source.base == _ZERO else _add(source.base, offset)
        return View(tile.space, tile.dtype, tile.shape, op.element_strides, base, source.arg, source.rotation)


_ZERO = Linear()


def _add(a: Linear, b: Linear) -> Linear:
    terms = dict(a.terms)
    for v, c in b.terms:
        terms[v] = terms.get(v, 0) + c
    return Linear(a.const + b.const, tuple(sorted((v, c) for v, c in terms.items() if c)))


def tile_name(value: SSAValue) -> str:
    """A tile's name for messages."""
    if value.name_hint is not None:
        return value.name_hint
    kind = "argument" if isinstance(value, BlockArgument) else "tile"
    return f"{kind} {value.type.data}" if isinstance(value.type, TileType) else kind
