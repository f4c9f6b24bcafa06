"""What every op of the ``ge`` dialect is made of.

An op class states everything about its op in one place: operands and attributes (xDSL's
declarations), the GE type names, ``infer`` (result specs), ``evaluate`` (numpy semantics),
``expand`` (the same in primitive ops, where there is such a form) and the fusion class. Constant
folding, the interpreter, host tasks, the vector generator, AIR export and the op reference read it.

All ops share one syntax::

    %y = ge.conv2d(%x, %w, none) {strides = [2, 2], groups = 1} : (tensor<..>, tensor<..>) -> tensor<..>

Braces hold the op's own attributes, in declaration order; ``attributes {...}`` holds others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyTensorTypeConstr,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    OptOperandDef,
    VarOperandDef,
    VerificationContext,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from gedialect.errors import GeError
from gedialect.ir.access import Access
from gedialect.ir.dtypes import DType
from gedialect.ir.lazy import np
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

Array: TypeAlias = Any
"""A numpy array (numpy is not imported here)."""
Results: TypeAlias = "Array | tuple[Array, ...]"
OperandGroup: TypeAlias = "SSAValue | list[SSAValue] | None"
"""The values of one declared operand: one, none (an absent optional), or a list (variadic)."""
PyAttr: TypeAlias = "int | float | bool | str | Sequence[int] | Sequence[float] | Sequence[str] | Attribute"

TENSOR = AnyTensorTypeConstr
INT = BaseAttr(IntegerAttr)
BOOL = BaseAttr(IntegerAttr)
FLOAT = BaseAttr(FloatAttr)
STR = BaseAttr(StringAttr)
INTS = BaseAttr(DenseArrayBase)
FLOATS = BaseAttr(DenseArrayBase)
STRS = BaseAttr(ArrayAttr)
"""Constraints for ``prop_def``: kinds of attribute that have a short text form."""


@dataclass(frozen=True, repr=False)
class Words(BaseAttr[Attribute]):
    """A string that is one of ``allowed``, or a list of such strings; made by ``words``."""

    allowed: tuple[str, ...] = ()

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        super().verify(attr, constraint_context)
        value = to_python(attr)
        for word in value if isinstance(attr, ArrayAttr) else (value,):
            if word not in self.allowed:
                raise VerifyException(self.refusal(word))

    def refusal(self, word: object) -> str:
        """What is wrong with another word."""
        return f'"{word}" is not one of {", ".join(self.allowed)}'


def words(*allowed: str, several: bool = False) -> Words:
    """Constraint for ``prop_def``: a string that is one of ``allowed``; with ``several`` a list of them."""
    return Words(ArrayAttr if several else StringAttr, allowed)


class FusionClass(Enum):
    """How an op may join others in a kernel."""

    ELEMENTWISE = "elementwise"
    """result[i] depends on operand[i]; operands broadcast by numpy's rule"""
    BROADCAST = "broadcast"
    """repeats its operand (expand)"""
    REDUCTION = "reduction"
    """reduces axes, or normalises over them (softmax, layer_norm): has an expansion with reductions"""
    CUBE = "cube"
    """matrix unit: matmul, convolution"""
    VIEW = "view"
    """the same bytes under another shape: costs nothing"""
    DATA_MOVEMENT = "data_movement"
    """moves elements without computing"""
    WINDOW = "window"
    """sliding windows on the vector unit: pooling, lrn, resize"""
    CONSTANT = "constant"
    OPAQUE = "opaque"
    """runs on the host only"""


class Attrs(dict[str, Any]):
    """An op's attributes as Python values, readable as fields; absent optional ones are None.

    ``results`` holds the result specs, for ops whose result type is not told by operands.
    """

    results: tuple[Spec, ...]

    def __init__(self, values: Mapping[str, Any] = {}, results: Sequence[Spec] = ()):
        super().__init__(values)
        object.__setattr__(self, "results", tuple(results))

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    @property
    def dtype(self) -> DType:
        """Element type of the first result."""
        return self.results[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return self.results[0].shape


@lru_cache(maxsize=4096)
def _int_attr(value: int) -> Attribute:
    return IntegerAttr(value, i64)


@lru_cache(maxsize=4096)
def _ints_attr(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=1024)
def _str_attr(value: str) -> Attribute:
    return StringAttr(value)


def to_attr(value: PyAttr, *, floats: bool = False, strings: bool = False) -> Attribute:
    """The attribute for a Python value: i64, f64, i1, string, array of strings, or dense array of i64 or f64. An empty
    list is one of ``floats`` or ``strings`` where that is said."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return FloatAttr(float(value), f64) if floats else _int_attr(value)
        case float():
            return FloatAttr(value, f64)
        case str():
            return _str_attr(value)
        case _:
            items = list(value)
            if any(isinstance(v, str) for v in items) or (strings and not items):
                if not all(isinstance(v, str) for v in items):
                    raise ValueError("strings and numbers in one list")
                return ArrayAttr([StringAttr(cast(str, v)) for v in items])
            if floats or any(isinstance(v, float) for v in items):
                return DenseArrayBase.from_list(f64, [float(v) for v in items])
            return _ints_attr(tuple(int(v) for v in items))


def to_python(attr: Attribute) -> Any:
    """The Python value of an attribute; attributes without one are returned as they are."""
    kind = type(attr)  # these classes are final, and isinstance of a generic class is slow
    if kind is DenseArrayBase:
        return tuple(cast("DenseArrayBase[Any]", attr).get_values())
    if kind is IntegerAttr:
        integer = cast("IntegerAttr[IntegerType]", attr)
        return bool(integer.value.data) if integer.type == i1 else integer.value.data
    if kind is FloatAttr:
        return cast("FloatAttr[Any]", attr).value.data
    if kind is StringAttr:
        return cast(StringAttr, attr).data
    if kind is ArrayAttr:
        return tuple(to_python(a) for a in cast("ArrayAttr[Attribute]", attr).data)
    return attr


_FIELDS: tuple[type, ...] = (type(cast(object, operand_def())), type(cast(object, result_def())))
"""What a class holds of its operands and results before IRDL reads it."""


class GeOp(IRDLOperation):
    """Base of all ge ops; leaves are decorated with ``irdl_op_definition``."""

    GE_TYPES: ClassVar[tuple[str, ...]] = ()
    """GE type names of this op: first the one AIR export and OM write, then others it stands for."""
    FUSION_CLASS: ClassVar[FusionClass] = FusionClass.OPAQUE
    PRIMITIVE: ClassVar[str | None] = None
    """Vector instruction the generator maps it to; such an op needs no expansion."""
    CONST_OPERANDS: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(operand, attribute) pairs: exactly one is given; a constant operand becomes the attribute."""
    RESULTS_FROM: ClassVar[str | None] = None
    """Attribute with an entry for each result, of an op with any number of them."""
    FLOAT_ATTRS: ClassVar[frozenset[str]] = frozenset()
    """Attributes that hold floats (so that ``1`` becomes 1.0 and ``[]`` an empty float list)."""

    traits = traits_def(Pure())

    # ------------------------------------------------------------------ semantics, by the op classes
    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        """Result specs from attributes and operand specs (None for an absent optional, a list for a
        variadic operand). Raises GeError GE1005 when the operands do not fit."""
        raise GeError(f"{cls.name} has no type inference; give its result types", code="GE1903")

    @classmethod
    def inferred(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        """``infer`` of attributes and operands that nobody has checked: whatever it trips over is a GE1005."""
        try:
            return cls.infer(attrs, *operands)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise GeError(f"{cls.name}: attributes or operands do not fit: {error}", code="GE1005") from error

    @classmethod
    def evaluated(cls, attrs: Attrs, *operands: Any) -> Results:
        """``evaluate`` of values that nobody has checked: whatever it trips over is a GE1005, and GE1905 where the
        result does not fit into memory."""
        try:
            with np.errstate(all="ignore"):
                return cls.evaluate(attrs, *operands)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise GeError(f"{cls.name} fails on these values: {error}", code="GE1005") from error
        except MemoryError as error:
            raise GeError(
                f"{cls.name}: out of memory", code="GE1905", hint="give a smaller model or more memory"
            ) from error

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        """numpy semantics: arrays in (None for an absent optional, a list for a variadic), array or tuple out.

        Computes in the op's own dtype and returns arrays of exactly the inferred dtype and shape.
        """
        raise NotImplementedError

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """The same computation built from other ops: values in (None for an absent optional), value or tuple of
        values out. Overridden by ops that have such a form; see ``has_expansion``.

        Element-wise ops and reductions expand to primitive ops and views, as the vector generator needs; others to
        any ops that have kernels, which the pass ``expand-ops`` puts in their place. UnsupportedError GE1205 where
        these attributes have no such form.
        """
        raise NotImplementedError

    @classmethod
    def has_expansion(cls) -> bool:
        """Whether the class states an expansion."""
        return cls.expand is not GeOp.expand

    @staticmethod
    def strided(attrs: Attrs, x: Access) -> tuple[Access, ...] | None:
        """For ops that only move elements of their first operand: each result as a strided read of the
        buffer that ``x`` reads; None where strides cannot say it. An access may split result axes into
        several (``tile``), as long as its elements come in the result's row-major order."""
        return None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Operands and results of a base class come before the class's own: IRDL has them the other way round."""
        super().__init_subclass__(**kwargs)
        for kind in _FIELDS:
            bases = (cast("Mapping[str, object]", vars(base)) for base in reversed(cls.__mro__))
            declared = {n: d for fields in bases for n, d in fields.items() if isinstance(d, kind)}
            own = {n for n, d in vars(cls).items() if isinstance(d, kind)}
            if own and len(declared) > len(own):
                for name, definition in declared.items():
                    if name in own:
                        delattr(cls, name)
                    setattr(cls, name, definition)

    # ------------------------------------------------------------------ access
    @classmethod
    def operand_kinds(cls) -> tuple[tuple[str, str], ...]:
        """(name, "one" | "optional" | "variadic") of each declared operand."""
        return _operand_kinds(cls)

    @classmethod
    def attr_names(cls) -> tuple[str, ...]:
        """Names of the op's own attributes in declaration order."""
        return _attr_names(cls)

    @classmethod
    def word_attrs(cls) -> tuple[tuple[str, Words], ...]:
        """(name, words it may have) of the attributes that are one of some words."""
        return _words(cls)

    def operand_groups(self) -> list[OperandGroup]:
        """One entry per declared operand: SSAValue, None (absent) or list (variadic)."""
        kinds = self.operand_kinds()
        flat = self._operands
        segments = self.properties.get("operandSegmentSizes")
        if segments is not None:
            sizes: tuple[int, ...] = cast("DenseArrayBase[Any]", segments).get_values()
        else:
            loose = len(flat) - sum(k == "one" for _, k in kinds)
            sizes = tuple(1 if k == "one" else loose for _, k in kinds)
        groups: list[OperandGroup] = []
        at = 0
        for (_, kind), n in zip(kinds, sizes, strict=True):
            part = flat[at : at + n]
            at += n
            groups.append(list(part) if kind == "variadic" else part[0] if part else None)
        return groups

    def single_operands(self) -> list[SSAValue | None]:
        """One value per declared operand, None for an absent one; for ops without variadic operands."""
        return [None if isinstance(g, list) else g for g in self.operand_groups()]

    def operand_names(self) -> list[str]:
        """The declared name of each operand present; variadic ones get their index appended (``x0``)."""
        names: list[str] = []
        for (name, _), group in zip(self.operand_kinds(), self.operand_groups(), strict=True):
            if isinstance(group, list):
                names += [f"{name}{i}" for i in range(len(group))]
            elif group is not None:
                names.append(name)
        return names

    def attrs(self) -> Attrs:
        """The op's own attributes and result specs as Python values."""
        return Attrs(
            {k: to_python(v) for k, v in self.properties.items() if k != "operandSegmentSizes"},
            [spec_of(r.type) for r in self.results],
        )

    # ------------------------------------------------------------------ construction
    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue | Sequence[SSAValue] | None],
        attrs: Mapping[str, PyAttr | None] = {},
        *,
        results: Sequence[Spec] | None = None,
        types: Sequence[Attribute] | None = None,
        location: Any = None,
    ) -> Self:
        """A new op; ``operands`` has one entry per declared operand (trailing optionals may be left out).

        Result types come from ``infer`` unless given, as specs or as types. Raises GeError GE1005 for operands
        that do not fit.
        """
        kinds = cls.operand_kinds()
        groups = list(operands) + [None] * (len(kinds) - len(operands))
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for group in groups:
            match group:
                case None:
                    sizes.append(0)
                case SSAValue():
                    flat.append(group)
                    sizes.append(1)
                case _:
                    flat += group
                    sizes.append(len(group))
        props: dict[str, Attribute] = {}
        for key, value in attrs.items():
            if value is not None:
                props[key] = to_attr(value, floats=key in cls.FLOAT_ATTRS, strings=key in _string_lists(cls))
        if types is None:
            if results is None:
                specs = [
                    None if g is None else spec_of(g.type) if isinstance(g, SSAValue) else [spec_of(v.type) for v in g]
                    for g in groups
                ]
                results = cls.inferred(Attrs({k: to_python(v) for k, v in props.items()}), *specs)
            types = [tensor_type(r) for r in results]
        if _needs_segments(cls):
            props["operandSegmentSizes"] = _segments(tuple(sizes))
        return cls.create(operands=flat, result_types=types, properties=props, location=location)

    # ------------------------------------------------------------------ text
    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        first = True
        groups = self.operand_groups()
        while groups and groups[-1] is None:
            groups.pop()
        for group in groups:
            for value in group if isinstance(group, list) else [group]:
                if not first:
                    printer.print_string(", ")
                first = False
                if value is None:
                    printer.print_string("none")
                else:
                    printer.print_operand(value)
        printer.print_string(")")
        print_own_attrs(printer, self)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def operand() -> Any:
            return None if parser.parse_optional_keyword("none") else parser.parse_unresolved_operand()

        names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)
        props = parse_own_attrs(parser, cls)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        pos = parser.pos
        function_type = parser.parse_function_type()
        present = [n for n in names if n is not None]
        values = parser.resolve_operands(present, function_type.inputs.data, pos)
        if _needs_segments(cls):
            props["operandSegmentSizes"] = _segments(_sizes_of(cls, [n is not None for n in names], parser))
        return cls.create(
            operands=values,
            result_types=function_type.outputs.data,
            properties=props,
            attributes={} if extra is None else extra.data,
        )

    def verify_(self) -> None:
        if self.attributes and (flag := self.attributes.get("fuse_flag")) is not None:
            if not isinstance(flag, IntegerAttr) or to_python(cast(Attribute, flag)) not in (0, 1):
                raise VerifyException(f"fuse_flag is true or false, not {flag}")
        if self.regions:
            return
        specs = [
            None if g is None else spec_of(g.type) if isinstance(g, SSAValue) else [spec_of(v.type) for v in g]
            for g in self.operand_groups()
        ]
        for name, value in self.properties.items():
            if isinstance(value, DenseArrayBase):
                element = cast("DenseArrayBase[Any]", value).elt_type
                if name in self.attr_names() and (element == f64) != (name in self.FLOAT_ATTRS):
                    raise VerifyException(f"{name} is a list of {element}")
        attrs = self.attrs()
        for operand, attribute in self.CONST_OPERANDS:
            index = [n for n, _ in self.operand_kinds()].index(operand)
            if (specs[index] is None) == (attrs.get(attribute) is None) and specs[index] is not None:
                raise VerifyException(f"operand {operand} and attribute {attribute} exclude each other")
        try:
            want = type(self).inferred(attrs, *specs)
        except GeError as e:
            if e.code == "GE1903":
                return
            raise VerifyException(e.message) from None
        if len(want) != len(self.results):
            raise VerifyException(f"{self.name} has {len(want)} results, not {len(self.results)}")
        for w, r in zip(want, attrs.results, strict=True):
            same = len(w.shape) == len(r.shape) and all(
                a == b or DYNAMIC in (a, b) for a, b in zip(w.shape, r.shape, strict=True)
            )
            if w.dtype is not r.dtype or not same:
                raise VerifyException(f"result type is {r}, inferred {w}")


def print_own_attrs(printer: Printer, op: GeOp) -> None:
    """``{strides = [2, 2], groups = 1}``: the op's own attributes in short form."""
    names = [n for n in op.attr_names() if n in op.properties]
    if not names:
        return
    printer.print_string(" {")
    for i, name in enumerate(names):
        printer.print_string(f"{', ' if i else ''}{name} = ")
        _print_short(printer, op.properties[name])
    printer.print_string("}")


def _print_short(printer: Printer, attr: Attribute) -> None:
    match attr:
        case IntegerAttr():
            value = to_python(attr)
            printer.print_string(str(value).lower())
        case FloatAttr():
            printer.print_float(attr.value.data, f64)
        case DenseArrayBase():
            dense = cast("DenseArrayBase[Any]", attr)
            printer.print_string("[")
            for i, value in enumerate(dense.get_values()):
                printer.print_string(", " if i else "")
                if isinstance(value, float):
                    printer.print_float(value, f64)
                else:
                    printer.print_string(str(value))
            printer.print_string("]")
        case _:
            printer.print_attribute(attr)


def parse_own_attrs(parser: Parser, cls: type[GeOp]) -> dict[str, Attribute]:
    """Inverse of ``print_own_attrs``; unknown names are parse errors."""
    props: dict[str, Attribute] = {}
    names = cls.attr_names()

    def entry() -> None:
        pos = parser.pos
        name = parser.parse_identifier()
        if name not in names:
            known = ", ".join(names) if names else "none"
            parser.raise_error(f"{cls.name} has no attribute {name} (it has: {known})", pos, parser.pos)
        if name in props:
            parser.raise_error(f"attribute {name} is given twice", pos, parser.pos)
        parser.parse_punctuation("=")
        props[name] = _parse_short(parser, name in cls.FLOAT_ATTRS, name in _string_lists(cls))

    if names:
        parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry)
    return props


def _parse_short(parser: Parser, floats: bool, strings: bool) -> Attribute:
    if (boolean := parser.parse_optional_boolean()) is not None:
        return BoolAttr.from_bool(boolean)
    if (number := _optional_number(parser, floats)) is not None:
        return to_attr(number)
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _list_item(parser, floats))
    if items is not None:
        return to_attr(cast("list[float]", items), floats=floats, strings=strings)
    return parser.parse_attribute()


def _list_item(parser: Parser, floats: bool) -> Any:
    if (text := parser.parse_optional_str_literal()) is not None:
        return text
    if (number := _optional_number(parser, floats)) is not None:
        return number
    parser.raise_error("number or string expected")


def _optional_number(parser: Parser, floats: bool) -> int | float | None:
    pos = parser.pos
    number = parser.parse_optional_number()
    if number is None:
        return None
    if floats and isinstance(number, int):
        text = parser.lexer.input.content[pos : parser.pos].strip()
        if "0x" in text:  # inf and nan print as the bits of an f64
            import struct

            return struct.unpack("<d", struct.pack("<Q", number & (2**64 - 1)))[0]
        return float(number)
    return number


@cache
def _operand_kinds(cls: type[GeOp]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (n, "optional" if isinstance(d, OptOperandDef) else "variadic" if isinstance(d, VarOperandDef) else "one")
        for n, d in cls.get_irdl_definition().operands
    )


@cache
def _string_lists(cls: type[GeOp]) -> frozenset[str]:
    """The attributes that are lists of strings."""
    return frozenset(n for n, p in cls.get_irdl_definition().properties.items() if getattr(p, "constr", None) is STRS)


@cache
def _attr_names(cls: type[GeOp]) -> tuple[str, ...]:
    return tuple(n for n in cls.get_irdl_definition().properties if n != "operandSegmentSizes")


@cache
def _words(cls: type[GeOp]) -> tuple[tuple[str, Words], ...]:
    found = ((n, d.constr) for n, d in cls.get_irdl_definition().properties.items())
    return tuple((n, c) for n, c in found if isinstance(c, Words))


@cache
def _needs_segments(cls: type[GeOp]) -> bool:
    return any(isinstance(o, AttrSizedOperandSegments) for o in cls.get_irdl_definition().options)


@lru_cache(maxsize=256)
def _segments(sizes: tuple[int, ...]) -> Attribute:
    from xdsl.dialects.builtin import i32

    return DenseArrayBase.from_list(i32, sizes)


def _sizes_of(cls: type[GeOp], present: list[bool], parser: Parser) -> tuple[int, ...]:
    """Operand segment sizes from the written operand list, where ``none`` marks an absent one."""
    kinds = cls.operand_kinds()
    variadic = [i for i, (_, k) in enumerate(kinds) if k == "variadic"]
    if variadic:
        rest = len(present) - (len(kinds) - 1)
        sizes: list[int] = []
        at = 0
        for i in range(len(kinds)):
            n = rest if i == variadic[0] else 1
            sizes.append(sum(present[at : at + n]))
            at += n
        return tuple(sizes)
    if len(present) > len(kinds):
        parser.raise_error(f"{cls.name} takes at most {len(kinds)} operands")
    return tuple(int(i < len(present) and present[i]) for i in range(len(kinds)))


@cache
def is_view(cls: type[Operation]) -> bool:
    """Whether ops of this class are the same bytes under another shape."""
    return issubclass(cls, GeOp) and cls.FUSION_CLASS is FusionClass.VIEW


class GeTerminator(IRDLOperation):
    """Base of ``ge.yield``-like ops."""

    traits = traits_def(IsTerminator(), Pure())


__all__ = [
    "BOOL",
    "FLOAT",
    "FLOATS",
    "INT",
    "INTS",
    "STR",
    "STRS",
    "TENSOR",
    "Attrs",
    "FusionClass",
    "GeOp",
    "GeTerminator",
    "TensorType",
    "Words",
    "to_attr",
    "to_python",
    "words",
]
