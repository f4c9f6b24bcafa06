"""Types and attributes of the npu dialect: plain data, so that making thousands of them stays cheap."""

from __future__ import annotations

from typing import NamedTuple, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr, f64, i64
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...binary.isa import SPACES, AttrSpec, Value
from ...binary.kernel import ROLES, KernelArg
from ...ir.dtypes import DType, from_xdsl


class Tile(NamedTuple):
    """Shape, element type and space of a tile."""

    shape: tuple[int, ...]
    dtype: DType
    space: str

    @property
    def nbytes(self) -> int:
        """Bytes of the tile stored contiguously."""
        n = self.dtype.itemsize
        for d in self.shape:
            n *= d
        return n

    def __str__(self) -> str:
        return f"{''.join(f'{d}x' for d in self.shape)}{self.dtype.name}, {self.space}"


def _parse_dtype(parser: AttrParser) -> DType:
    pos = parser.pos
    try:
        return from_xdsl(parser.parse_type())
    except KeyError:
        parser.raise_error("not an element type of tiles", pos)


@irdl_attr_definition
class TileType(Data[Tile], TypeAttribute):
    """``!npu.tile<64x128xf32, ub>``: a view of a memory space; strides belong to the op that made the view."""

    name = "npu.tile"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tile:
        with parser.in_angle_brackets():
            dims = parser.parse_dimension_list()
            if dims:
                parser.parse_shape_delimiter()
            dtype = _parse_dtype(parser)
            parser.parse_punctuation(",")
            space = parser.parse_keyword_in(SPACES)
        return Tile(tuple(dims), dtype, space)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


@irdl_attr_definition
class GmType(Data[DType], TypeAttribute):
    """``!npu.gm<f32>``: a kernel argument in global memory."""

    name = "npu.gm"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DType:
        with parser.in_angle_brackets():
            return _parse_dtype(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.name}>")


class LinearForm(NamedTuple):
    """``const`` + sum of ``coefs[i]`` * index operand i of the op that holds it."""

    const: int
    coefs: tuple[int, ...]


@irdl_attr_definition
class LinearAttr(Data[LinearForm]):
    """``#npu.linear<4, [512, 1]>``: constant and one coefficient per index operand."""

    name = "npu.linear"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LinearForm:
        with parser.in_angle_brackets():
            const = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            coefs = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )
        return LinearForm(const, tuple(coefs))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data.const}, [{', '.join(map(str, self.data.coefs))}]>")


@irdl_attr_definition
class StridesAttr(Data[tuple[int, ...]]):
    """``#npu.strides<[128, 1]>``: element strides of a view, outermost first; 0 repeats."""

    name = "npu.strides"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        with parser.in_angle_brackets():
            return tuple(
                parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                )
            )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<[{', '.join(map(str, self.data))}]>")


@irdl_attr_definition
class ArgsAttr(Data[tuple[KernelArg, ...]]):
    """``#npu.args<[x : 4096xf32 in, y : 4096xf32 out]>``: arguments of a kernel, sizes in elements."""

    name = "npu.args"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[KernelArg, ...]:
        with parser.in_angle_brackets():
            return cls.parse_list(parser)

    @classmethod
    def parse_list(cls, parser: AttrParser) -> tuple[KernelArg, ...]:
        """``[x : 4096xf32 in, ...]``"""

        def one() -> KernelArg:
            name = parser.parse_identifier_or_str_literal()
            parser.parse_punctuation(":")
            (n,) = parser.parse_dimension_list() or (1,)
            parser.parse_shape_delimiter()
            dtype = _parse_dtype(parser)
            return KernelArg(name, dtype, n * dtype.itemsize, parser.parse_keyword_in(ROLES))

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string("<")
        self.print_list(printer)
        printer.print_string(">")

    def print_list(self, printer: Printer) -> None:
        printer.print_string("[")
        for i, arg in enumerate(self.data):
            printer.print_string(", " if i else "")
            printer.print_identifier_or_string_literal(arg.name)
            printer.print_string(f" : {arg.nbytes // arg.dtype.itemsize}x{arg.dtype.name} {arg.role}")
        printer.print_string("]")


def to_attr(spec: AttrSpec, value: Value) -> Attribute:
    """The IR attribute of an instruction attribute's value."""
    if spec.kind == "bool":
        return IntegerAttr.from_bool(bool(value))
    if spec.kind == "enum":
        assert isinstance(value, str)
        return StringAttr(value)
    if spec.kind == "ints":
        assert isinstance(value, tuple)
        return DenseArrayBase.from_list(i64, value)
    assert isinstance(value, int | float)
    if spec.kind == "float" or (spec.kind == "scalar" and isinstance(value, float)):
        return FloatAttr(float(value), f64)
    return IntegerAttr(int(value), i64)


def from_attr(spec: AttrSpec, attr: Attribute) -> Value:
    """The value of an instruction attribute; TypeError if it has the wrong kind."""
    match spec.kind, attr:
        case "bool", IntegerAttr():
            return attr.value.data != 0
        case "enum", StringAttr():
            return attr.data
        case "ints", DenseArrayBase():
            return tuple(int(v) for v in cast(DenseArrayBase[IntegerType], attr).get_values())
        case "int" | "scalar", IntegerAttr():
            return attr.value.data
        case "float" | "scalar", FloatAttr():
            return attr.value.data
        case _:
            raise TypeError(f"attribute '{spec.name}' is {attr}, expected {spec.kind}")


def value_text(value: Value) -> str:
    """An instruction attribute's value as it is printed and parsed."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return float_text(value)
        case str():
            return value
        case _:
            return f"[{', '.join(map(str, value))}]"


def float_text(value: float) -> str:
    """A float literal that reads back to the same number; infinities and NaN as strings."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return f'"{text}"'
    if "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def parse_value(parser: AttrParser, spec: AttrSpec) -> Value:
    """Parse what `value_text` prints."""
    match spec.kind:
        case "int":
            return parser.parse_integer(allow_boolean=False)
        case "bool":
            return parser.parse_boolean()
        case "enum":
            return parser.parse_keyword_in(spec.choices)
        case "ints":
            return tuple(
                parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                )
            )
        case "float" | "scalar":
            text = parser.parse_optional_str_literal()
            if text is not None:
                return float(text)
            value = parser.parse_number()
            return value if spec.kind == "scalar" else float(value)
