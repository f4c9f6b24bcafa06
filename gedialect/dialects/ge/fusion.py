"""``ge.fusion``: ops that run as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge.attrs import ANY
from gedialect.dialects.ge.base import TENSOR, Attrs, FusionClass, GeOp, GeTerminator
from gedialect.errors import GeError
from gedialect.ir.spec import Spec


@irdl_op_definition
class YieldOp(GeTerminator):
    """Ends the body of a ``ge.fusion``, ``ge.if`` or ``ge.loop``: its operands are what the body results in."""

    name = "ge.yield"
    args = var_operand_def(ANY)
    assembly_format = "$args attr-dict `:` type($args)"


@irdl_op_definition
class FusionOp(GeOp):
    """One kernel: an isolated region of ge ops whose block arguments are the operands.

    Never nested. Decisions are attributes: ``kernel`` (``#ge.kernel``), ``stream``, ``label``.
    """

    name = "ge.fusion"
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = var_operand_def(TENSOR)
    y = var_result_def(TENSOR)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        raise GeError("a fusion's results are told by its body", code="GE1903")

    @classmethod
    def of(cls, operands: Sequence[SSAValue], body: Region, location: Any = None) -> Self:
        """A fusion whose results have the types its terminator yields."""
        last = body.block.last_op
        assert isinstance(last, YieldOp)
        return cls.create(
            operands=operands, result_types=[v.type for v in last.operands], regions=[body], location=location
        )

    def print(self, printer: Printer) -> None:
        # the body's argument names are printed here, next to the operands they stand for
        printer.print_string("(")
        block = self.body.block
        outer = [(printer, v) for v in self.operands]
        for i, (arg, (_, value)) in enumerate(zip(block.args, outer, strict=True)):
            printer.print_string(", " if i else "")
            printer.print_ssa_value(arg)
            printer.print_string(" = ")
            self._print_outer(printer, value)
            printer.print_string(" : ")
            printer.print_attribute(arg.type)
        printer.print_string(")")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" -> (")
        for i, result in enumerate(self.results):
            printer.print_string(", " if i else "")
            printer.print_attribute(result.type)
        printer.print_string(") ")
        printer.print_region(self.body, print_entry_block_args=False)

    @staticmethod
    def _print_outer(printer: Printer, value: SSAValue) -> None:
        printer.print_operand(value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def bound() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand, Any]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            operand = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            return argument, operand, parser.parse_type()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        operands = [parser.resolve_operand(o, t) for _, o, t in pairs]
        body = parser.parse_region([a.resolve(t) for a, _, t in pairs])
        return cls.create(
            operands=operands,
            result_types=types,
            regions=[body],
            attributes={} if extra is None else extra.data,
        )

    def verify_(self) -> None:
        block: Block = self.body.block
        if [a.type for a in block.args] != [v.type for v in self.operands]:
            raise VerifyException("block arguments and operands differ in number or type")
        last = block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body must end with ge.yield")
        if [v.type for v in last.operands] != [r.type for r in self.results]:
            raise VerifyException("yielded values and results differ in number or type")
        if any(isinstance(op, FusionOp) for op in block.ops):
            raise VerifyException("fusions do not nest")
