"""Structure of npu code: kernels, functions, loops, tiles and views. Instructions are in `instructions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...binary.isa import ON_CHIP
from ...binary.kernel import KINDS, MAX_RANK, ROLES, contiguous
from .types import ArgsAttr, GmType, LinearAttr, LinearForm, StridesAttr, Tile, TileType

INDEX = IndexType()


def print_linear(printer: Printer, form: LinearForm, indices: Sequence[SSAValue]) -> None:
    """``%bid * 512 + %i + 4``"""
    first = True
    for coef, value in zip(form.coefs, indices, strict=True):
        if coef == 0:
            continue
        printer.print_string("" if first else " + ")
        printer.print_ssa_value(value)
        printer.print_string("" if coef == 1 else f" * {coef}")
        first = False
    if first or form.const != 0:
        printer.print_string(f"{'' if first else ' + '}{form.const}")


def parse_linear(parser: Parser, indices: list[SSAValue]) -> LinearForm:
    """Parse what `print_linear` prints; index values not yet in ``indices`` are appended."""
    const = 0
    coefs: dict[SSAValue, int] = {}
    while True:
        value = parser.parse_optional_operand(INDEX)
        if value is None:
            const += parser.parse_integer(allow_boolean=False)
        else:
            starred = parser.parse_optional_punctuation("*") is not None
            coef = parser.parse_integer(allow_boolean=False) if starred else 1
            coefs[value] = coefs.get(value, 0) + coef
            if value not in indices:
                indices.append(value)
        if parser.parse_optional_punctuation("+") is None:
            return LinearForm(const, tuple(coefs.get(v, 0) for v in indices))


# Reading through IRDL's accessors costs 3 to 20 us each; code that visits every op of a kernel reads past them.
def _tile_of(op: Operation) -> Tile:
    t = op.results[0].type
    assert isinstance(t, TileType)
    return t.data


def _linear_of(op: Operation, name: str) -> LinearForm:
    attr = op.properties[name]
    assert isinstance(attr, LinearAttr)
    return attr.data


def _padded(form: LinearForm, n: int) -> LinearAttr:
    return LinearAttr(LinearForm(form.const, form.coefs + (0,) * (n - len(form.coefs))))


def _print_extra(printer: Printer, op: Operation, known: tuple[str, ...] = ()) -> None:
    extra = {k: v for k, v in op.attributes.items() if k not in known}
    if extra:
        printer.print_string(" attributes ")
        printer.print_attr_dict(extra)


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One task of the device: a cube function, a vector function or both, run by ``blocks`` blocks.

    `npu.kernel @k0 kind = vector blocks = 8 args = [x : 4096xf32 in, y : 4096xf32 out] { ... }`
    """

    name = "npu.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    kind = prop_def(StringAttr)
    blocks = prop_def(IntegerAttr)
    args = prop_def(ArgsAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())

    @classmethod
    def build_kernel(
        cls, name: str, kind: str, blocks: int, args: ArgsAttr, functions: Sequence[Operation]
    ) -> KernelOp:
        return cls.create(
            properties={
                "sym_name": StringAttr(name),
                "kind": StringAttr(kind),
                "blocks": IntegerAttr(blocks, i64),
                "args": args,
            },
            regions=(Region(Block(functions)),),
        )

    @property
    def functions(self) -> tuple[FunctionOp, ...]:
        return tuple(op for op in self.body.block.ops if isinstance(op, FunctionOp))

    def verify_(self) -> None:
        if self.kind.data not in KINDS:
            raise VerifyException(f"kind is {self.kind.data}, expected one of {', '.join(KINDS)}")
        if not 1 <= self.blocks.value.data <= 65535:
            raise VerifyException(f"blocks is {self.blocks.value.data}, expected 1 to 65535")
        for arg in self.args.data:
            if arg.role not in ROLES:
                raise VerifyException(f"argument '{arg.name}' has role {arg.role}, expected {', '.join(ROLES)}")
            if arg.nbytes % arg.dtype.itemsize or arg.nbytes < 0:
                raise VerifyException(f"argument '{arg.name}' of {arg.nbytes} bytes is no whole number of elements")
        found = [op.name for op in self.body.block.ops]
        want = {"vector": ["npu.vector"], "cube": ["npu.cube"], "mix": ["npu.cube", "npu.vector"]}[self.kind.data]
        if found != want:
            raise VerifyException(f"a {self.kind.data} kernel holds {' and '.join(want)}, not {', '.join(found)}")
        gm = [GmType(a.dtype) for a in self.args.data]
        for function in self.functions:
            indices = 2 if self.kind.data == "mix" and isinstance(function, VectorOp) else 1
            types = [a.type for a in function.body.block.args]
            if types != [INDEX] * indices + gm:
                raise VerifyException(
                    f"{function.name} takes {indices} index and the kernel's {len(gm)} arguments in order"
                )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name)
        printer.print_string(f" kind = {self.kind.data} blocks = {self.blocks.value.data} args = ")
        self.args.print_list(printer)
        _print_extra(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        _keyword(parser, "kind")
        kind = parser.parse_keyword_in(KINDS)
        _keyword(parser, "blocks")
        blocks = parser.parse_integer(allow_boolean=False)
        _keyword(parser, "args")
        args = ArgsAttr(ArgsAttr.parse_list(parser))
        extra = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        op = cls.create(
            properties={
                "sym_name": name,
                "kind": StringAttr(kind),
                "blocks": IntegerAttr(blocks, i64),
                "args": args,
            },
            regions=(region,),
        )
        if extra is not None:
            op.attributes.update(extra.data)
        return op


def _keyword(parser: Parser, word: str) -> None:
    parser.parse_keyword(word)
    parser.parse_punctuation("=")


class FunctionOp(IRDLOperation):
    """The program of one kind of core; block arguments: block_idx, (sub_block_idx,) then the kernel's arguments."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not isinstance(parent, KernelOp):
            raise VerifyException(f"{self.name} belongs in an npu.kernel")

    @property
    def is_cube(self) -> bool:
        return isinstance(self, CubeOp)

    @property
    def arguments(self) -> tuple[BlockArgument, ...]:
        """The block arguments that stand for the kernel's arguments."""
        return tuple(a for a in self.body.block.args if isinstance(a.type, GmType))

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(")")
        _print_extra(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> FunctionOp:
        args = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        extra = parser.parse_optional_attr_dict_with_keyword()
        op = cls.create(regions=(parser.parse_region(args),))
        if extra is not None:
            op.attributes.update(extra.data)
        return op


@irdl_op_definition
class VectorOp(FunctionOp):
    """What a vector core runs (in a mix kernel: each of a block's two)."""

    name = "npu.vector"


@irdl_op_definition
class CubeOp(FunctionOp):
    """What a cube core runs."""

    name = "npu.cube"


@irdl_op_definition
class ForOp(IRDLOperation):
    """`npu.for %i = LO to HI step S { ... }`: bounds affine in block indices and outer loop variables."""

    name = "npu.for"
    indices = var_operand_def(IndexType)
    lo = prop_def(LinearAttr)
    hi = prop_def(LinearAttr)
    step = prop_def(IntegerAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @property
    def bounds(self) -> tuple[LinearForm, LinearForm, int]:
        """lo, hi, step; the coefficients belong to the op's operands."""
        step = self.properties["step"]
        assert isinstance(step, IntegerAttr)
        return _linear_of(self, "lo"), _linear_of(self, "hi"), step.value.data

    def verify_(self) -> None:
        if self.step.value.data <= 0:
            raise VerifyException(f"step is {self.step.value.data}, expected at least 1")
        if not len(self.lo.data.coefs) == len(self.hi.data.coefs) == len(self.indices):
            raise VerifyException("bounds need one coefficient per index operand")
        if [a.type for a in self.body.block.args] != [INDEX]:
            raise VerifyException("the body takes one index")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.body.block.args[0])
        printer.print_string(" = ")
        print_linear(printer, self.lo.data, self.indices)
        printer.print_string(" to ")
        print_linear(printer, self.hi.data, self.indices)
        printer.print_string(f" step {self.step.value.data}")
        _print_extra(printer, self)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        unresolved = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        indices: list[SSAValue] = []
        lo = parse_linear(parser, indices)
        parser.parse_keyword("to")
        hi = parse_linear(parser, indices)
        parser.parse_keyword("step")
        step = parser.parse_integer(allow_boolean=False)
        extra = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([unresolved.resolve(INDEX)])
        op = cls.create(
            operands=indices,
            properties={
                "lo": _padded(lo, len(indices)),
                "hi": _padded(hi, len(indices)),
                "step": IntegerAttr(step, i64),
            },
            regions=(region,),
        )
        if extra is not None:
            op.attributes.update(extra.data)
        return op


@irdl_op_definition
class AllocOp(IRDLOperation):
    """An on-chip tile; a new one in each iteration of the loop it stands in.

    `npu.alloc buffers = 2 addr = 0 : !npu.tile<512xf32, ub>`. With n buffers, iterations take n slots in turn, so
    that n of them may be in flight. Allocation fills in ``addr`` (byte address of slot 0) and ``slot`` (bytes from
    one slot to the next, only with several buffers).
    """

    name = "npu.alloc"
    buffers = opt_prop_def(IntegerAttr)
    addr = opt_prop_def(IntegerAttr)
    slot = opt_prop_def(IntegerAttr)
    tile = result_def(base(TileType))

    FIELDS: ClassVar = ("buffers", "addr", "slot")

    def number(self, field: str) -> int | None:
        """The value of one of FIELDS, if set."""
        attr = self.properties.get(field)
        return attr.value.data if isinstance(attr, IntegerAttr) else None

    @property
    def count(self) -> int:
        return self.number("buffers") or 1

    @property
    def type(self) -> Tile:
        return _tile_of(self)

    def verify_(self) -> None:
        tile = self.type
        if tile.space not in ON_CHIP:
            raise VerifyException(f"cannot allocate in {tile.space}")
        if len(tile.shape) > MAX_RANK or any(d < 0 for d in tile.shape):
            raise VerifyException(f"tile <{tile}> needs up to {MAX_RANK} known sizes")
        if self.count < 1:
            raise VerifyException(f"buffers is {self.count}, expected at least 1")
        if self.count > 1 and not isinstance(self.parent_op(), ForOp | None):
            raise VerifyException("several buffers need a loop that takes them in turn")
        if self.count > 1 and (self.addr is None) != (self.slot is None):
            raise VerifyException("addr and slot of several buffers come together")

    def print(self, printer: Printer) -> None:
        for name in self.FIELDS:
            attr = self.properties.get(name)
            if isinstance(attr, IntegerAttr):
                printer.print_string(f" {name} = {attr.value.data}")
        _print_extra(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.tile.type)

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        properties: dict[str, Attribute] = {}
        while (name := parser.parse_optional_keyword_in(cls.FIELDS)) is not None:
            parser.parse_punctuation("=")
            properties[name] = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        op = cls.create(result_types=(parser.parse_type(),), properties=properties)
        if extra is not None:
            op.attributes.update(extra.data)
        return op


@irdl_op_definition
class ViewOp(IRDLOperation):
    """Elements of a tile or kernel argument, seen with another shape.

    `npu.view %x[%i * 512 + 4] strides = [128, 1] : !npu.gm<f32> -> !npu.tile<4x64xf32, gm>`. Offset and strides count
    elements of the result, from the first element of the source; without strides the result is contiguous. The
    element type may differ from the source's (the bytes are seen anew).

    With ``slots = n slot = s`` a view of a kernel argument is a ring: iterations of the loop it stands in take n
    places in turn, s elements apart.
    """

    name = "npu.view"
    source = operand_def(base(TileType) | base(GmType))
    indices = var_operand_def(IndexType)
    offset = prop_def(LinearAttr)
    strides = opt_prop_def(StridesAttr)
    slots = opt_prop_def(IntegerAttr)
    slot = opt_prop_def(IntegerAttr)
    tile = result_def(base(TileType))

    @property
    def type(self) -> Tile:
        return _tile_of(self)

    @property
    def ring(self) -> tuple[int, int] | None:
        """Slots and elements from one to the next, of a view whose places take turns."""
        slots, slot = self.properties.get("slots"), self.properties.get("slot")
        if not isinstance(slots, IntegerAttr) or not isinstance(slot, IntegerAttr):
            return None
        return slots.value.data, slot.value.data

    @property
    def linear(self) -> tuple[LinearForm, Sequence[SSAValue]]:
        """The offset and the values its coefficients belong to."""
        return _linear_of(self, "offset"), self._operands[1:]

    @property
    def element_strides(self) -> tuple[int, ...]:
        attr = self.properties.get("strides")
        return attr.data if isinstance(attr, StridesAttr) else contiguous(self.type.shape)

    def verify_(self) -> None:
        tile = self.type
        space = self.source.type.data.space if isinstance(self.source.type, TileType) else "gm"
        if tile.space != space:
            raise VerifyException(f"a view of {space} cannot lie in {tile.space}")
        if len(tile.shape) > MAX_RANK or any(d < 0 for d in tile.shape):
            raise VerifyException(f"tile <{tile}> needs up to {MAX_RANK} known sizes")
        if len(self.offset.data.coefs) != len(self.indices):
            raise VerifyException("the offset needs one coefficient per index operand")
        if len(self.element_strides) != len(tile.shape):
            raise VerifyException(f"{len(self.element_strides)} strides for {len(tile.shape)} dimensions")
        if (self.slots is None) != (self.slot is None):
            raise VerifyException("slots and slot come together")
        if self.ring is not None:
            slots, slot = self.ring
            if slots < 1 or slot < 0:
                raise VerifyException(f"{slots} slots of {slot} elements")
            if not isinstance(self.source.type, GmType):
                raise VerifyException("only a view of a kernel argument has slots")
            if not isinstance(self.parent_op(), ForOp | None):
                raise VerifyException("slots need a loop that takes them in turn")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string("[")
        print_linear(printer, self.offset.data, self.indices)
        printer.print_string("]")
        if self.strides is not None:
            printer.print_string(f" strides = [{', '.join(map(str, self.strides.data))}]")
        if self.ring is not None:
            printer.print_string(f" slots = {self.ring[0]} slot = {self.ring[1]}")
        _print_extra(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.tile.type)

    @classmethod
    def parse(cls, parser: Parser) -> ViewOp:
        source = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        indices: list[SSAValue] = []
        offset = parse_linear(parser, indices)
        parser.parse_punctuation("]")
        properties: dict[str, Attribute] = {"offset": _padded(offset, len(indices))}
        if parser.parse_optional_keyword("strides") is not None:
            parser.parse_punctuation("=")
            strides = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
            properties["strides"] = StridesAttr(tuple(strides))
        while (name := parser.parse_optional_keyword_in(("slots", "slot"))) is not None:
            parser.parse_punctuation("=")
            properties[name] = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        source_type = parser.parse_type()
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        op = cls.create(
            operands=(parser.resolve_operand(source, source_type), *indices),
            result_types=(result_type,),
            properties=properties,
        )
        if extra is not None:
            op.attributes.update(extra.data)
        return op
