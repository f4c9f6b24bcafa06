"""What converters work with: ``Node`` (a node of the model) and ``Context`` (builds ge ops, knows constants)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.attrs import TextType, ValueType
from gedialect.dialects.ge.base import Attrs, GeOp
from gedialect.dialects.ge.constant import DENSE_LIMIT, ConstantOp
from gedialect.dialects.ge.folding import foldable
from gedialect.dialects.ge.reproducible import as_result, reproducible
from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.values import Array, Const, TensorReader, Value, check_size
from gedialect.ir import dtypes, sources
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import DYNAMIC, Spec, spec_of

Partial: TypeAlias = "tuple[int | None, ...]"

Group: TypeAlias = "Value | Sequence[Value] | None"
"""An operand as given to ``Context``: a value, None if absent, or a list for a variadic one."""
T = TypeVar("T")

MAX_PARAMETER = 1 << 16
"""Bytes of a constant that says how an op works, not what it works on."""

_REQUIRED: Any = object()


class LateError(UnsupportedError):
    """A node cannot be converted before values are known that are computed at run time."""


class Node:
    """A node of the model with its inputs resolved."""

    __slots__ = ("_attributes", "domain", "inputs", "name", "op_type", "outputs", "proto", "version")

    def __init__(
        self, proto: NodeProto, inputs: list[Value | None], version: int, attributes: dict[str, AttributeProto]
    ):
        self.proto = proto
        self.inputs = inputs
        self.outputs: list[str] = list(proto.output)
        self.op_type = proto.op_type
        self.domain = proto.domain
        self.version = version
        """Opset of the node's domain in the model."""
        self.name = node_name(proto)
        self._attributes = attributes

    def has(self, name: str) -> bool:
        """Whether the attribute is given."""
        return name in self._attributes

    def int(self, name: str, default: int = _REQUIRED) -> int:
        return cast(int, self._typed(name, default, AttributeProto.INT))

    def float(self, name: str, default: float = _REQUIRED) -> float:
        return cast(float, self._typed(name, default, AttributeProto.FLOAT))

    def str(self, name: str, default: str = _REQUIRED) -> str:
        return cast(str, self._typed(name, default, AttributeProto.STRING))

    def tensor(self, name: str) -> TensorProto | None:
        """A tensor, None if it is not given."""
        return cast("TensorProto | None", self._typed(name, None, AttributeProto.TENSOR))

    def graph(self, name: str) -> GraphProto:
        return cast(GraphProto, self._typed(name, _REQUIRED, AttributeProto.GRAPH))

    def number(self, name: str, default: float = _REQUIRED) -> float:
        """A number that is an int in some opsets and a float in others."""
        given = self._attributes.get(name)
        whole = given is not None and given.type == AttributeProto.INT
        return self.int(name) if whole else self.float(name, default)

    def floats(self, name: str) -> list[float]:
        """A list of floats, empty if it is not given."""
        return cast("list[float]", self._typed(name, [], AttributeProto.FLOATS))

    def strs(self, name: str) -> list[str]:
        """A list of strings, empty if it is not given."""
        return cast("list[str]", self._typed(name, [], AttributeProto.STRINGS))

    def ints(self, name: str, default: Sequence[int] | None = _REQUIRED) -> list[int]:
        """A list of ints; the default may be None, see ``ints_or_none``."""
        return cast("list[int]", self._typed(name, default, AttributeProto.INTS))

    def ints_or_none(self, name: str) -> list[int] | None:
        return cast("list[int] | None", self._typed(name, None, AttributeProto.INTS))

    def _typed(self, name: str, default: Any, kind: int) -> Any:
        attribute = self._attributes.get(name)
        if attribute is None:
            if default is _REQUIRED:
                raise GeError(f"attribute {name} is missing", code="GE1005")
            return default
        if attribute.type != kind:
            want = AttributeProto.AttributeType.Name(kind)
            raise GeError(f"attribute {name} should be {want}", code="GE1005")
        return attribute_value(attribute)

    def attribute(self, name: str) -> AttributeProto:
        """The attribute as it is in the file; it must be given."""
        return self._attributes[name]

    def resolved(self) -> NodeProto:
        """A copy of the node with all its attributes resolved, for ONNX's own builders of function bodies."""
        copy = NodeProto()
        copy.CopyFrom(self.proto)
        del copy.attribute[:]
        for name, attribute in self._attributes.items():
            copy.attribute.append(attribute)
            copy.attribute[-1].name = name
        return copy

    def input(self, index: int) -> Value:
        """A required input; GE1005 if it is absent."""
        value = self.optional(index)
        if value is None:
            raise GeError(f"input {index} is missing", code="GE1005")
        return value

    def optional(self, index: int) -> Value | None:
        """An input, None if absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def wants(self, index: int) -> bool:
        """Whether the node has that output."""
        return index < len(self.outputs) and self.outputs[index] != ""


def node_name(proto: NodeProto) -> str:
    """The node's name, or that of its first output."""
    return proto.name or next((o for o in proto.output if o), "") or proto.op_type


def attribute_value(attribute: AttributeProto) -> Any:
    """The Python value of an ONNX attribute."""
    match attribute.type:
        case AttributeProto.INT:
            return attribute.i
        case AttributeProto.FLOAT:
            return attribute.f
        case AttributeProto.STRING:
            return attribute.s.decode(errors="replace")
        case AttributeProto.INTS:
            return list(attribute.ints)
        case AttributeProto.FLOATS:
            return list(attribute.floats)
        case AttributeProto.STRINGS:
            return [s.decode(errors="replace") for s in attribute.strings]
        case AttributeProto.TENSOR:
            return attribute.t
        case AttributeProto.GRAPH:
            return attribute.g
        case _:
            raise UnsupportedError(f"attribute {attribute.name} has a kind that is not supported", code="GE1203")


def _each(f: Callable[[Value], T], group: Group) -> T | list[T] | None:
    """``f`` of an operand group: of a value, of each of a list, or None for an absent one."""
    if group is None:
        return None
    return [f(v) for v in group] if isinstance(group, list | tuple) else f(cast(Value, group))


_BAD_HINT = re.compile(r"[^A-Za-z0-9_$.-]")


@cache
def _hint(name: str) -> str | None:
    """``name`` as an SSA name hint: odd characters become ``_``, trailing numbers stay apart from xDSL's own."""
    hint = _BAD_HINT.sub("_", name)
    if not hint.strip("_0123456789") or not (hint[0].isalpha() or hint[0] in "_$.-") or not hint.isascii():
        hint = "v" + hint
    return hint


class Context:
    """Builds ops at the end of a block. Values are SSA values, or ``Const`` while they are known.

    ``ctx("relu", x)`` makes ``ge.relu``; an op over known values of at most 1 kB is evaluated instead, so that
    the arithmetic on shapes in a model disappears.
    """

    def __init__(self, block: Block, reader: TensorReader):
        self.block = block
        self.constants = block
        """Where constants go: outside the bodies of control flow, which share them."""
        self.reader = reader
        self.location: Any = None
        self.node: Node | None = None
        self.partial: dict[SSAValue, Partial] = {}
        """What is known of the elements of integer tensors of rank 0 and 1."""

    # ------------------------------------------------------------------ values
    def spec(self, v: Value) -> Spec:
        return v.spec if isinstance(v, Const) else spec_of(v.type)

    def shape(self, v: Value) -> tuple[int, ...]:
        """Shape of ``v``; unknown sizes are DYNAMIC."""
        return self.spec(v).shape

    def rank(self, v: Value) -> int:
        return len(self.spec(v).shape)

    def dtype(self, v: Value) -> DType:
        return self.spec(v).dtype

    def known(self, v: Value | None) -> Array | None:
        """The value of a small constant, else None."""
        return v.array if isinstance(v, Const) and v.is_small else None

    def known_ints(self, v: Value | None) -> list[int] | None:
        """The elements of a small integer constant, else None."""
        array = self.known(v)
        return None if array is None or array.dtype.kind not in "iub" else [int(i) for i in array.reshape(-1)]

    def partial_ints(self, v: Value | None) -> Partial | None:
        """The elements of an integer tensor as far as they are known (None where not); None if nothing is."""
        if v is None:
            return None
        if isinstance(v, Const):
            ints = self.known_ints(v)
            return None if ints is None else tuple(ints)
        return self.partial.get(v)

    def note(self, v: Value, elements: Sequence[int | None] | None) -> Value:
        """Remember what is known of the elements of ``v``; ``v`` itself."""
        if elements is not None and not isinstance(v, Const) and any(e is not None for e in elements):
            self.partial[v] = tuple(elements)
        return v

    def need_ints(self, v: Value | None, what: str) -> list[int]:
        """The elements of a constant; UnsupportedError GE1205 if it is computed at run time."""
        return [int(i) for i in self.need(v, what).reshape(-1)]

    def need(self, v: Value | None, what: str) -> Array:
        """The value of a constant; UnsupportedError GE1205 if it is computed at run time, GE1005 above 64 kB."""
        if not isinstance(v, Const):
            raise LateError(
                f"{what} is computed at run time",
                code="GE1205",
                hint="fix the input shapes with --input-shape, or make it a constant",
            )
        if v.spec.nbytes > MAX_PARAMETER:
            raise GeError(f"{what} has {v.spec.size} elements", code="GE1005", hint="a handful is expected")
        return v.array

    def const(self, array: Any, dtype: DType | None = None) -> Const:
        """A constant from an array or number."""
        array = np.asarray(array) if dtype is None else np.asarray(array).astype(dtype.numpy)
        return Const(Spec(dtypes.from_numpy(array.dtype), array.shape), array=array)

    def scalar_like(self, x: Value, number: float) -> Const:
        """A scalar of ``x``'s element type."""
        return self.const(number, self.dtype(x))

    def full(self, number: float, spec: Spec) -> Value:
        """A constant with one value everywhere, without memory."""
        check_size(spec, "a constant")
        if spec.nbytes > DENSE_LIMIT and (spec.dtype.name == "f64" or number != number):  # no splat holds these
            return self("fill", None, self.const(number, spec.dtype), dims=spec.shape)
        return Const(spec, array=np.broadcast_to(np.asarray(number).astype(spec.dtype.numpy), spec.shape))

    def ssa(self, v: Value) -> SSAValue:
        """``v`` as an operand: a constant becomes an op at its first use."""
        if not isinstance(v, Const):
            return v
        if v.ssa is None:
            location = sources.name_loc(v.name) if v.name else self.location
            op = ConstantOp.of(v.attr, v.spec, location)
            self.constants.add_op(op)
            v.ssa = op.results[0]
            if v.name:
                name_value(v.ssa, v.name)
        return v.ssa

    # ------------------------------------------------------------------ ops
    def __call__(self, mnemonic: str, *operands: Any, results: Sequence[Spec] | None = None, **attrs: Any) -> Any:
        """One ge op: its value, or a tuple if it has several results. Operands: value, None, or list of values.

        ``results`` may sharpen or replace the inferred types. Raises GE1005 for operands that do not fit.
        """
        cls = op_class(mnemonic)
        given: dict[str, Any] = {
            k: tuple(cast("Sequence[Any]", v)) if isinstance(v, list) else v for k, v in attrs.items() if v is not None
        }
        groups: list[Group] = [*operands, *[None] * (len(cls.operand_kinds()) - len(operands))]
        specs = [_each(self.spec, g) for g in groups]
        if results is None:
            results = cls.inferred(Attrs(given), *specs)
        else:
            cls.inferred(Attrs(given, results), *specs)  # checks the operands
        for spec in results:
            check_size(spec, f"a result of {cls.name}")
        folded = self._fold(cls, given, groups, results)
        if folded is None:
            ssa = [_each(self.ssa, g) for g in groups]
            op = cls.make(ssa, given, results=results, location=self.location)
            self.block.add_op(op)
            folded = op.results
        return folded[0] if len(folded) == 1 else tuple(folded)

    def host(
        self, mnemonic: str, *operands: Group, types: Sequence[Attribute] = (ValueType(),), **attrs: Any
    ) -> Sequence[SSAValue]:
        """One op on values of any type, results of ``types``."""
        op = op_class(mnemonic).make([_each(self.ssa, g) for g in operands], attrs, types=types, location=self.location)
        self.block.add_op(op)
        return op.results

    def read(self, tensor: TensorProto, name: str = "") -> Value:
        """A tensor of the model: a constant, or ``ge.text``."""
        if tensor.data_type != TensorProto.STRING:
            return self.reader.read(tensor, name)
        words = [s.decode(errors="replace") for s in tensor.string_data]
        if len(words) != prod(tensor.dims):
            raise GeError(f"tensor {tensor.name!r} has {len(words)} strings, not {prod(tensor.dims)}", code="GE1003")
        value = ArrayAttr([StringAttr(w) for w in words])
        return self.host("text", value=value, shape=tuple(tensor.dims), types=[TextType()])[0]

    def _fold(
        self, cls: type[GeOp], attrs: dict[str, Any], groups: list[Group], results: Sequence[Spec]
    ) -> Sequence[Value] | None:
        if results and all(r.is_static and r.size == 0 for r in results) and foldable(cls):
            return [Const(r, array=np.empty(r.shape, r.dtype.numpy)) for r in results]
        for group in groups:
            if isinstance(group, SSAValue) or (isinstance(group, Const) and not group.is_small):
                return None
            if isinstance(group, list | tuple) and any(self.known(v) is None for v in group):
                return None
        if not foldable(cls) or any(not r.is_static or r.nbytes > DENSE_LIMIT for r in results):
            return None
        try:
            with np.errstate(all="ignore"), reproducible():
                found: Any = cls.evaluate(Attrs(attrs, results), *[_each(self.known, g) for g in groups])
        except (ArithmeticError, IndexError, TypeError, ValueError) as e:
            raise GeError(f"{cls.name} of constants fails: {e}", code="GE1005") from None
        values = cast("tuple[Any, ...]", found if isinstance(found, tuple) else (found,))
        return [Const(s, array=as_result(a, s)) for s, a in zip(results, values, strict=True)]

    def cast(self, x: Value, dtype: DType) -> Value:
        """``ge.cast``; ``x`` itself if it has the type."""
        if self.dtype(x) is dtype:
            return x
        return self("cast", x, results=[self.spec(x).with_dtype(dtype)])

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """``x`` under a shape that may hold one -1; ``x`` itself if it has that shape. A 0 is a size, no copy."""
        if self.shape(x) == tuple(shape) and DYNAMIC not in shape:
            return x
        return self("reshape", x, shape=list(shape), allowzero=True if 0 in shape else None)

    def axis(self, axis: int, rank: int) -> int:
        """A non-negative axis; GE1005 if it is out of range."""
        if not -rank <= axis < rank:
            raise GeError(f"axis {axis} is out of range for rank {rank}", code="GE1005")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> list[int]:
        """Sorted non-negative axes; GE1005 if one is out of range or repeated."""
        out = sorted(self.axis(a, rank) for a in axes)
        if len(set(out)) != len(out):
            raise GeError(f"axes {list(axes)} name one axis twice", code="GE1005")
        return out


def name_value(value: SSAValue, name: str) -> None:
    """Give an SSA value a readable name close to the model's."""
    if value.name_hint is None:
        value.name_hint = _hint(name)
