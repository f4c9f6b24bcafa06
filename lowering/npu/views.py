"""Tile values of npu code as the machine sees them: bytes in a space, affine in numbered index variables."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from gedialect.binary.kernel import (
    BLOCK_IDX,
    FIRST_LOOP,
    SUB_BLOCK_IDX,
    Linear,
    Rotation,
    View,
    contiguous,
)
from gedialect.dialects.npu import AllocOp, ForOp, FunctionOp, GmType, KernelOp, LinearForm, ViewOp
from gedialect.errors import GeError

_ZERO = Linear()


class ViewTable:
    """Views of a function's tile values; ops are shown to it in program order, with their loop depth."""

    def __init__(self, function: FunctionOp, kernel: KernelOp):
        self.kernel = kernel
        self.variables: dict[SSAValue, int] = {}
        self.views: dict[SSAValue, View] = {}
        self.roots: dict[SSAValue, SSAValue] = {}
        """The alloc or kernel argument behind a tile value."""
        number = 0
        for value in function.body.block.args:
            if isinstance(value.type, GmType):
                arg = kernel.args.data[number]
                n = arg.nbytes // arg.dtype.itemsize
                self.views[value] = View("gm", arg.dtype, (n,), (1,), Linear(), number)
                self.roots[value] = value
                number += 1
            else:
                self.variables[value] = BLOCK_IDX if not self.variables else SUB_BLOCK_IDX

    def enter_loop(self, op: ForOp, depth: int) -> tuple[Linear, Linear]:
        """Bounds of the loop; its variable is numbered by ``depth``."""
        lo, hi, _ = op.bounds
        result = self.linear(lo, op.operands), self.linear(hi, op.operands)
        self.variables[op.regions[0].block.args[0]] = FIRST_LOOP + depth
        return result

    def linear(self, form: LinearForm, indices: Sequence[SSAValue], scale: int = 1) -> Linear:
        if not form.coefs:
            return Linear(form.const * scale)
        terms = sorted((self.variables[v], c * scale) for v, c in zip(indices, form.coefs, strict=True) if c)
        return Linear(form.const * scale, tuple(terms))

    def add_alloc(self, op: AllocOp, depth: int) -> None:
        """GE1404 if the tile has no address yet."""
        tile, value = op.type, op.results[0]
        addr, slot = op.number("addr"), op.number("slot")
        if addr is None:
            raise GeError(
                f"tile '{value.name_hint or 'tile'}' has no address",
                code="GE1404",
                where=f"kernel {self.kernel.sym_name.data}",
                hint="run npu-allocate first",
            )
        rotation = None
        if slot is not None and op.count > 1:
            rotation = Rotation(depth - 1, op.count, slot)
        base = Linear(addr)
        self.roots[value] = value
        self.views[value] = View(tile.space, tile.dtype, tile.shape, contiguous(tile.shape), base, -1, rotation)

    def add_view(self, op: ViewOp, depth: int) -> None:
        origin, value = op.operands[0], op.results[0]
        source, tile = self.views[origin], op.type
        form, indices = op.linear
        offset = self.linear(form, indices, tile.dtype.itemsize)
        base = offset if source.base == _ZERO else _add(source.base, offset)
        rotation = source.rotation
        ring = op.ring
        if ring is not None and ring[0] > 1:
            rotation = Rotation(depth - 1, ring[0], ring[1] * tile.dtype.itemsize)
        self.roots[value] = self.roots[origin]
        self.views[value] = View(tile.space, tile.dtype, tile.shape, op.element_strides, base, source.arg, rotation)


def _add(a: Linear, b: Linear) -> Linear:
    if not b.terms:
        return Linear(a.const + b.const, a.terms)
    terms = dict(a.terms)
    for v, c in b.terms:
        terms[v] = terms.get(v, 0) + c
    return Linear(a.const + b.const, tuple(sorted((v, c) for v, c in terms.items() if c)))
