"""One op class per instruction, made from the table: `npu.vadd %d, %a, %b`, destination first."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, opt_prop_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...binary.isa import INSTRS, Instr, Pipe, Value, flag_error, load3d_error, shape_error
from .types import Tile, TileType, from_attr, parse_value, to_attr, value_text


class InstrOp(IRDLOperation):
    """Base of all instructions: tile operands and attributes as the table (``INSTR``) says."""

    INSTR: ClassVar[Instr]
    tiles = var_operand_def(base(TileType))

    def value(self, name: str) -> Value:
        """An attribute's value, the table's default if the op does not set it."""
        for spec in self.INSTR.attrs:
            if spec.name == name:
                attr = self.properties.get(name)
                if attr is not None:
                    return from_attr(spec, attr)
                if spec.default is None:
                    raise VerifyException(f"attribute '{name}' is missing")
                return spec.default
        raise KeyError(name)

    def values(self) -> tuple[Value, ...]:
        """Every attribute's value, in the table's order."""
        return tuple(self.value(s.name) for s in self.INSTR.attrs)

    def tile(self, i: int) -> Tile:
        t = self._operands[i].type
        assert isinstance(t, TileType)
        return t.data

    @property
    def pipe(self) -> Pipe:
        return self.INSTR.pipe

    def verify_(self) -> None:
        instr = self.INSTR
        tiles = [self.tile(i) for i in range(len(self._operands))]
        least = sum(not o.optional for o in instr.operands)
        if not least <= len(tiles) <= len(instr.operands):
            raise VerifyException(f"{instr.name} takes {', '.join(o.name for o in instr.operands)}")
        for operand, tile in zip(instr.operands, tiles, strict=False):
            if tile.space not in operand.spaces:
                raise VerifyException(
                    f"operand '{operand.name}' lies in {tile.space}, {instr.name} takes {' or '.join(operand.spaces)}"
                )
        error = instr.type_error(tuple(t.dtype.name for t in tiles))
        if error is None and tiles:
            error = shape_error(instr.name, instr.shape, tuple(t.shape for t in tiles))
        error = error or self._attr_error(tiles)
        if error is not None:
            raise VerifyException(error)

    def _attr_error(self, tiles: list[Tile]) -> str | None:
        values: dict[str, Value] = {}
        for spec in self.INSTR.attrs:
            try:
                v = values[spec.name] = self.value(spec.name)
            except TypeError as e:
                return str(e)
            if spec.kind == "enum" and v not in spec.choices:
                return f"attribute '{spec.name}' is {v}, expected {', '.join(spec.choices)}"
            if spec.length is not None and isinstance(v, tuple) and len(v) != spec.length:
                return f"attribute '{spec.name}' needs {spec.length} numbers"
        if self.INSTR.shape == "load3d":
            return load3d_error(tiles[0].shape, tiles[1].shape, values)
        return flag_error(values)

    def print(self, printer: Printer) -> None:
        if self._operands:
            printer.print_string(" ")
            printer.print_list(self._operands, printer.print_ssa_value)
        shown = [
            f"{s.name} = {value_text(from_attr(s, self.properties[s.name]))}"
            for s in self.INSTR.attrs
            if s.name in self.properties
        ]
        if shown:
            printer.print_string(f" {{{', '.join(shown)}}}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> InstrOp:
        operands: list[SSAValue] = []
        if cls.INSTR.operands:
            operands.append(_known(parser))
            while parser.parse_optional_punctuation(",") is not None:
                operands.append(_known(parser))
        specs = {s.name: s for s in cls.INSTR.attrs}
        properties: dict[str, Attribute] = {}

        def one() -> None:
            name = parser.parse_keyword_in(tuple(specs))
            parser.parse_punctuation("=")
            properties[name] = to_attr(specs[name], parse_value(parser, specs[name]))

        parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, one)
        extra = parser.parse_optional_attr_dict_with_keyword()
        op = cls.create(operands=operands, properties=properties)
        if extra is not None:
            op.attributes.update(extra.data)
        return op


def _known(parser: Parser) -> SSAValue:
    """A tile defined above: its type is known, so the text does not repeat it."""
    name = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(name.operand_name)
    if values is None or name.index >= len(values):
        parser.raise_error("tile is used before it is defined", name.span.start, name.span.end)
    return parser.resolve_operand(name, values[name.index].type)


def _make(instr: Instr) -> type[InstrOp]:
    members: dict[str, Any] = {
        "name": f"npu.{instr.name}",
        "__doc__": instr.doc,
        "__module__": __name__,
        **{f"{s.name}_": opt_prop_def(prop_name=s.name) for s in instr.attrs},
    }
    name = "".join(part.capitalize() for part in instr.name.split("_")) + "Op"
    op = irdl_op_definition(cast(type[InstrOp], type(name, (InstrOp,), members)))
    op.INSTR = instr
    return op


OPS: dict[str, type[InstrOp]] = {i.name: _make(i) for i in INSTRS}
"""Op classes by instruction name."""
