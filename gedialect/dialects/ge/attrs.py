"""Attributes of the ge dialect: weights that stay in their file, splats, kernel decisions, storage layout."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import BaseAttr, irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from gedialect.dialects.ge.base import TENSOR, to_python


@irdl_attr_definition
class ValueType(ParametrizedAttribute, TypeAttribute):
    """``!ge.value``: a value without a tensor type: a tensor whose rank is not known before the run, a sequence, an
    optional value, text."""

    name = "ge.value"


@irdl_attr_definition
class TextType(ParametrizedAttribute, TypeAttribute):
    """``!ge.text``: a tensor of strings, of whatever shape."""

    name = "ge.text"


ON_HOST = (ValueType, TextType)
"""Types of values that only the host holds."""
ANY = TENSOR | BaseAttr(ValueType) | BaseAttr(TextType)
"""Constraint: a tensor, or a value without a tensor type."""


@irdl_attr_definition
class WeightAttr(ParametrizedAttribute):
    """``#ge.weight<"model.onnx", 4096, 256>``: little-endian, row-major bytes of a file, never copied into the IR."""

    name = "ge.weight"
    file: StringAttr
    offset: IntAttr
    length: IntAttr

    @classmethod
    def get(cls, file: str, offset: int, length: int) -> WeightAttr:
        return cls(StringAttr(file), IntAttr(offset), IntAttr(length))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            file = parser.parse_str_literal()
            parser.parse_punctuation(",")
            offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            length = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(file), IntAttr(offset), IntAttr(length))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.file.data)
            printer.print_string(f", {self.offset.data}, {self.length.data}")


@irdl_attr_definition
class SplatAttr(ParametrizedAttribute):
    """``#ge.splat<1.0>``: one value for every element; the constant's type gives shape and element type.

    Integers and bools are exact; floats are kept as f64, of which the element type's value is the nearest.
    """

    name = "ge.splat"
    value: FloatAttr | IntegerAttr

    @classmethod
    def get(cls, value: float | bool) -> SplatAttr:
        return cls(FloatAttr(value, f64) if isinstance(value, float) else IntegerAttr(int(value), i64))

    @property
    def python(self) -> int | float:
        return to_python(self.value)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("bits"):
                pos = parser.pos
                bits = parser.parse_integer(allow_boolean=False, allow_negative=False)
                if bits >= 2**64:
                    parser.raise_error("at most 64 bits", pos, parser.pos)
                import struct

                value: float | int = struct.unpack("<d", struct.pack("<Q", bits))[0]
            else:
                value = parser.parse_number()
        return (FloatAttr(value, f64) if isinstance(value, float) else IntegerAttr(value, i64),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            value = self.python
            if isinstance(value, int):
                printer.print_string(str(value))
            elif value - value == 0:
                printer.print_string(repr(value) if "e" not in repr(value) or "." in repr(value) else f"{value:.1e}")
            else:  # inf and nan have no decimal form: the bits of the f64
                import struct

                printer.print_string(f"bits 0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}")


@irdl_attr_definition
class IntListAttr(ParametrizedAttribute):
    """``#ge.ints<1, 2>``: a list of integers (xDSL's dense arrays need an element type in the text)."""

    name = "ge.ints"
    text: StringAttr

    @classmethod
    def get(cls, values: Sequence[int]) -> IntListAttr:
        return cls(StringAttr(",".join(str(int(v)) for v in values)))

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(int(v) for v in self.text.data.split(",") if v)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        values = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer)
        return (StringAttr(",".join(str(v) for v in values)),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(str(v) for v in self.values))


@irdl_attr_definition
class KernelAttr(ParametrizedAttribute):
    """``#ge.kernel<cube, tile = [128, 256, 64], blocks = 20, scratch = 0>``: the kernel chosen for a group.

    ``kind`` is vector, cube, mix or move; ``tile`` is the kind's own (cube: m, n, k); ``blocks`` counts
    cores used; ``scratch`` is bytes of global memory the kernel needs for itself.
    """

    name = "ge.kernel"
    kind: StringAttr
    tile: IntListAttr
    blocks: IntAttr
    scratch: IntAttr

    @classmethod
    def get(cls, kind: str, tile: Sequence[int], blocks: int, scratch: int = 0) -> KernelAttr:
        return cls(StringAttr(kind), IntListAttr.get(tile), IntAttr(blocks), IntAttr(scratch))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def field(name: str) -> None:
            parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")

        with parser.in_angle_brackets():
            kind = parser.parse_keyword_in(("vector", "cube", "mix", "move"))
            field("tile")
            tile = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            field("blocks")
            blocks = parser.parse_integer(allow_boolean=False, allow_negative=False)
            field("scratch")
            scratch = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(kind), IntListAttr.get(tile), IntAttr(blocks), IntAttr(scratch))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(
                f"{self.kind.data}, tile = {list(self.tile.values)}, "
                f"blocks = {self.blocks.data}, scratch = {self.scratch.data}"
            )


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """``#ge.layout<FRACTAL_Z>``: tensor encoding of blocked storage; the shape stays logical."""

    name = "ge.layout"
    format: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_identifier()),)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.format.data)


@irdl_attr_definition
class PlaceAttr(ParametrizedAttribute):
    """``#ge.place<workspace, 512>``: a byte offset in the workspace; ``#ge.place<output, 0>``: the buffer of a graph
    output. ``place`` on an op lists one per result, ``scratch_place`` is where its kernel's scratch lies."""

    name = "ge.place"
    region: StringAttr
    at: IntAttr

    @classmethod
    def workspace(cls, offset: int) -> PlaceAttr:
        return cls(StringAttr("workspace"), IntAttr(offset))

    @classmethod
    def output(cls, index: int) -> PlaceAttr:
        return cls(StringAttr("output"), IntAttr(index))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            region = parser.parse_keyword_in(("workspace", "output"))
            parser.parse_punctuation(",")
            at = parser.parse_integer(allow_boolean=False, allow_negative=False)
        return (StringAttr(region), IntAttr(at))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.region.data}, {self.at.data}")
