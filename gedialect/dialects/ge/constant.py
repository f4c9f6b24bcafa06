"""Constants: dense up to 1 kB, splats, or weights that stay in their file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge.attrs import SplatAttr, WeightAttr
from gedialect.dialects.ge.base import TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.errors import GeError
from gedialect.ir.spec import Spec, spec_of, tensor_type

DENSE_LIMIT = 1024
"""Bytes up to which a constant is written into the IR."""


@irdl_op_definition
class ConstantOp(GeOp):
    """A constant tensor; ``value`` is a dense attribute (at most 1 kB), ``#ge.splat`` or ``#ge.weight``."""

    name = "ge.constant"
    GE_TYPES: ClassVar = ("Const", "Constant")
    FUSION_CLASS: ClassVar = FusionClass.CONSTANT
    value = prop_def(AnyAttr())
    y = result_def(TENSOR)
    traits = traits_def(ConstantLike())

    @classmethod
    def of(cls, value: Attribute, spec: Spec, location: Any = None) -> Self:
        return cls.create(result_types=[tensor_type(spec)], properties={"value": value}, location=location)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        raise GeError("a constant needs its result type", code="GE1903")

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        from gedialect.ir.weights import read_constant

        return read_constant(cast(Attribute, attrs["value"]), attrs.results[0])

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if not isinstance(self.value, DenseIntOrFPElementsAttr):  # a dense attribute prints its type
            printer.print_string(" : ")
            printer.print_attribute(self.y.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        extra = parser.parse_optional_attr_dict_with_keyword()
        value = parser.parse_attribute()
        properties: dict[str, Attribute] = {"value": value}
        if isinstance(value, DenseIntOrFPElementsAttr):
            type_ = cast("Attribute", value.type)  # pyright: ignore[reportUnknownMemberType]
        else:
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
        return cls.create(result_types=[type_], properties=properties, attributes={} if extra is None else extra.data)

    def verify_(self) -> None:
        spec = spec_of(self.y.type)
        if not spec.is_static:
            raise VerifyException("a constant needs a static shape")
        match self.value:
            case WeightAttr():
                if self.value.length.data != spec.nbytes:
                    raise VerifyException(f"weight has {self.value.length.data} bytes, {spec} needs {spec.nbytes}")
            case SplatAttr():
                pass
            case DenseIntOrFPElementsAttr():
                if self.value.type != self.y.type:
                    raise VerifyException(f"value has type {self.value.type}, result {self.y.type}")
            case _:
                raise VerifyException("value must be dense, #ge.splat or #ge.weight")
