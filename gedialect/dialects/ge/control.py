"""Control flow, and what is only known while the model runs.

Ops here work on any value: tensors, and ``!ge.value`` for what has no tensor type. They have no kernel: an
executable is cut at them (``gedialect.api.segments``), and runs their bodies as executables of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge.attrs import ANY, ON_HOST, ValueType
from gedialect.dialects.ge.base import INT, STR, Attrs, GeOp, Results, to_python
from gedialect.dialects.ge.fusion import YieldOp
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type

INDEX = tensor_type(Spec(dtypes.I64, ()))
"""Type of a loop's count."""
FLAG = tensor_type(Spec(dtypes.I1, ()))
"""Type of a condition."""


class HostOp(GeOp):
    """Works on values that may have no tensor type; never part of a kernel."""

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        raise GeError(f"the results of {cls.name} are told by its text", code="GE1903")

    def attrs(self) -> Attrs:
        specs = [spec_of(r.type) for r in self.results if not isinstance(r.type, ON_HOST)]
        return Attrs({k: to_python(v) for k, v in self.properties.items() if k != "operandSegmentSizes"}, specs)

    def verify_(self) -> None:
        """Nothing follows from operands of any type."""


def merged_type(a: Attribute, b: Attribute) -> Attribute:
    """The narrowest type of values of both types: sizes that differ are unknown, ranks that differ no tensor type."""
    if a == b:
        return a
    if isinstance(a, ON_HOST) or isinstance(b, ON_HOST):
        return ValueType()
    x, y = spec_of(a), spec_of(b)
    if x.dtype is not y.dtype or x.rank != y.rank:
        return ValueType()
    return tensor_type(x.with_shape([m if m == n else DYNAMIC for m, n in zip(x.shape, y.shape, strict=True)]))


def compatible(a: Attribute, b: Attribute) -> bool:
    """Whether a value of one type may stand where the other is stated."""
    if isinstance(a, ON_HOST) or isinstance(b, ON_HOST):
        return True
    x, y = spec_of(a), spec_of(b)
    if x.dtype is not y.dtype or x.rank != y.rank:
        return False
    return all(m == n or DYNAMIC in (m, n) for m, n in zip(x.shape, y.shape, strict=True))


def yielded(block: Block, what: str) -> YieldOp:
    """The terminator of a body; VerifyException if it is another."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"{what} must end with ge.yield")
    return last


class RegionOp(HostOp):
    """Prints its regions, which read values of the outside directly, after the common syntax."""

    traits = traits_def()
    KEYWORDS: ClassVar[tuple[str, ...]] = ("",)
    """What is written before each region."""

    def print(self, printer: Printer) -> None:
        super().print(printer)
        for keyword, region in zip(self.KEYWORDS, self.regions, strict=True):
            printer.print_string(f" {keyword} " if keyword else " ")
            printer.print_region(region)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        op = super().parse(parser)
        for keyword in cls.KEYWORDS:
            if keyword:
                parser.parse_keyword(keyword)
            op.add_region(parser.parse_region())
        return op


@irdl_op_definition
class IfOp(RegionOp):
    """The results of one of two bodies: the first if ``condition`` (one element) is true."""

    name = "ge.if"
    GE_TYPES: ClassVar = ("If",)
    KEYWORDS: ClassVar = ("", "else")
    condition = operand_def(ANY)
    y = var_result_def(ANY)
    then_body = region_def("single_block")
    else_body = region_def("single_block")

    @classmethod
    def of(cls, condition: Any, then_body: Block, else_body: Block, location: Any = None) -> Self:
        """From bodies that end with ge.yield, which tell the result types."""
        from xdsl.ir import Region

        pairs = zip(*([v.type for v in yielded(b, "a body").operands] for b in (then_body, else_body)), strict=True)
        return cls.create(
            operands=[condition],
            result_types=[merged_type(a, b) for a, b in pairs],
            regions=[Region(then_body), Region(else_body)],
            location=location,
        )

    def verify_(self) -> None:
        for region in self.regions:
            if region.block.args:
                raise VerifyException("a body of ge.if has no arguments")
            values = yielded(region.block, "a body of ge.if").operands
            if len(values) != len(self.results):
                raise VerifyException(f"ge.if has {len(self.results)} results, a body yields {len(values)}")
            for value, result in zip(values, self.results, strict=True):
                if not compatible(value.type, result.type):
                    raise VerifyException(f"a body yields {value.type}, the result is {result.type}")


@irdl_op_definition
class LoopOp(RegionOp):
    """Runs its body while ``condition`` holds, at most ``trip`` times (each absent: no limit).

    The body takes the count so far (i64), the condition and the carried values, first ``init``; it yields the next
    condition, the next carried values, and elements. Results are the last carried values, and per element those of
    all rounds stacked along a new first axis.
    """

    name = "ge.loop"
    GE_TYPES: ClassVar = ("While",)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    trip = opt_operand_def(ANY)
    condition = opt_operand_def(ANY)
    init = var_operand_def(ANY)
    y = var_result_def(ANY)
    body = region_def("single_block")

    @property
    def carried(self) -> int:
        """How many values go from round to round."""
        return len(self.body.block.args) - 2

    def verify_(self) -> None:
        block = self.body.block
        values = yielded(block, "the body of ge.loop").operands
        carried = len(self.init)
        if len(block.args) != 2 + carried:
            raise VerifyException(f"the body of ge.loop has {len(block.args)} arguments, {2 + carried} are needed")
        if len(values) != 1 + len(self.results) or len(self.results) < carried:
            raise VerifyException(f"ge.loop has {len(self.results)} results, its body yields {len(values)} values")
        for kind, types in (
            ("starts with", [v.type for v in self.init]),
            ("yields", [v.type for v in values[1 : 1 + carried]]),
            ("results in", [r.type for r in self.results[:carried]]),
        ):
            for arg, type_ in zip(block.args[2:], types, strict=True):
                if not compatible(arg.type, type_):
                    raise VerifyException(f"ge.loop carries {arg.type} but {kind} {type_}")


def never_ends(op: LoopOp) -> bool:
    """Whether nothing in a loop can end it, once it goes."""
    last = op.body.block.last_op
    if op.trip is not None or not isinstance(last, YieldOp):
        return False
    return last.args[0] is op.body.block.args[1] or constant_flag(last.args[0]) is True


@irdl_op_definition
class LateOp(HostOp):
    """A node of the model that waits for values which say what it means, such as axes computed at run time.

    ``node`` is the node as its format writes it (``onnx``: ONNX's text), ``opset`` the version of its op set.
    The format's reader makes ops of it as soon as the values are there.
    """

    name = "ge.late"
    traits = traits_def()  # the node may draw random numbers
    x = var_operand_def(ANY)
    format = prop_def(STR)
    node = prop_def(STR)
    opset = prop_def(INT)
    file = opt_prop_def(STR)
    y = var_result_def(ANY)


@irdl_op_definition
class FailOp(HostOp):
    """Stands for a branch that cannot run with these sizes: an error with ``message`` if it is reached."""

    name = "ge.fail"
    traits = traits_def()
    message = prop_def(STR)
    y = var_result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        raise GeError(attrs["message"], code="GE1005")


def is_late(value: Any) -> bool:
    """Whether a value has no tensor type."""
    return isinstance(value.type, ON_HOST)


def on_host(op: Operation) -> bool:
    """Whether an op is run between executables: control flow, sequences, nodes that wait."""
    return isinstance(op, HostOp)


def constant_flag(value: Any) -> bool | None:
    """The constant that a condition is, else None."""
    from gedialect.dialects.ge.constant import ConstantOp
    from gedialect.ir.weights import read_constant

    owner = value.owner
    if not isinstance(owner, ConstantOp) or spec_of(owner.y.type).size != 1:
        return None
    array: Any = read_constant(owner.value, spec_of(owner.y.type))
    return bool(array.reshape(-1)[0])


__all__ = [
    "FLAG",
    "INDEX",
    "FailOp",
    "HostOp",
    "IfOp",
    "LateOp",
    "LoopOp",
    "RegionOp",
    "compatible",
    "constant_flag",
    "is_late",
    "merged_type",
    "never_ends",
    "on_host",
    "yielded",
]
