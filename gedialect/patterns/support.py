"""What compiled rules call: comparison of attributes, types of new ops, constants, locations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import Attrs, GeOp, to_python
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir import dtypes, sources
from gedialect.ir.diagnostics import cap
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.patterns.attributes import converted, expected, is_optional
from gedialect.patterns.values import NoMatch, Value, holds, is_const, number_is, number_of, seen, shown


class Found(NamedTuple):
    """A match, ready to be put in: nothing is attached yet."""

    new_ops: tuple[Operation, ...]
    replaced: tuple[tuple[SSAValue, SSAValue], ...]
    matched: tuple[Operation, ...]


def inside(op: Operation, matched: Sequence[Operation], outputs: frozenset[int] = frozenset()) -> bool:
    """Whether all users of the op's results, ``outputs`` excepted, are part of the match."""
    for result in op.results:
        if result.index in outputs:
            continue
        for use in result.uses:
            if use.operation not in matched:
                return False
    return True


def attrs_equal(a: Attribute | None, b: Attribute) -> bool:
    """Equality of attributes; floats may differ by rounding to float32."""
    if a is None:
        return False
    if a == b:
        return True
    x, y = to_python(a), to_python(b)
    if isinstance(x, float) and isinstance(y, int | float):
        if not isfinite(x) or not isfinite(y):
            return x != x and y != y
        return abs(x - y) <= 1e-6 * max(abs(x), abs(y))
    return isinstance(x, tuple) and isinstance(y, tuple) and x == y


def infer_types(
    cls: type[GeOp],
    props: Mapping[str, Attribute],
    groups: Sequence[Any],
    known: Sequence[Spec] | None,
    place: str,
    rule: str,
) -> Sequence[Spec]:
    """Result specs; ``known`` serves ops whose operands do not tell them. NoMatch where the operands do not fit."""
    values = {k: to_python(v) for k, v in props.items()}
    try:
        return cls.inferred(Attrs(values, known or ()), *groups)
    except GeError as e:
        if e.code == "GE1903":
            if known is not None:
                return known
            hint = "write dtype=, a name of a type or a value that has it"
            raise GeError(f"{rule}: {e.message}", code="GE1105", where=place, hint=hint) from None
        raise NoMatch(e.message) from None
    except (ArithmeticError, LookupError, ValueError) as e:  # attributes that no operand of this shape can have
        raise NoMatch(f"{cls.name} does not fit: {e}") from None


def segments(sizes: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def attribute(value: Any, cls: type[GeOp], name: str, place: str, rule: str) -> Attribute | None:
    """What a function computed for an attribute; GE1105 at the op of the rule if the op takes no such value."""
    if value is None:
        if not is_optional(cls, name):
            raise GeError(
                f"{rule}: {name} of {cls.name} is None", code="GE1105", where=place, hint=f"the op needs {name}"
            )
        return None
    found = converted(cls, name, value)
    if found is None:
        shown = cap(repr(value), 80)
        hint = expected(cls, name, value)
        raise GeError(f"{rule}: {cls.name} takes no {name} = {shown}", code="GE1105", where=place, hint=hint)
    return found


def captured(value: Attribute | None, cls: type[GeOp], name: str, place: str, rule: str) -> Attribute:
    """An attribute of a matched op that a new op needs."""
    if value is None:
        raise GeError(
            f"{rule}: {cls.name} needs {name}, and the matched op does not have it",
            code="GE1105",
            where=place,
            hint="compute it with a function that has an answer for None, or exclude None with where",
        )
    return value


def constant_op(value: Any, spec: Spec, location: Any) -> ConstantOp:
    """A constant from a Python number, the same everywhere, or an array."""
    if isinstance(value, bool | int | float):
        number = float(value) if spec.dtype.is_float else int(value)
        return ConstantOp.of(SplatAttr.get(number), spec, location)
    from gedialect.dialects.ge.literals import attribute_of

    return ConstantOp.of(*attribute_of(value), location)


def constant_value(value: Any, place: str, rule: str) -> Any:
    """What a function computed for a constant: a number, or an array; GE1105 for anything else."""
    if isinstance(value, bool | int | float):
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "ndim"):
        return value if value.ndim else value.item()
    raise GeError(
        f"{rule}: {cap(repr(value), 80)} is no constant",
        code="GE1105",
        where=place,
        hint="a function that stands for a value returns a number or a numpy array, or raises NoMatch",
    )


def whole_spec(value: Any, old: Spec) -> Spec:
    """The type of a constant that replaces a value of type ``old``; an array has its own."""
    if isinstance(value, bool | int | float):
        if not old.is_static or old.encoding is not None:
            raise NoMatch(f"a constant in place of {old} needs known sizes")
        constant_spec(value, old.dtype)
        return old
    return constant_spec(value, old.dtype)


def constant_spec(value: Any, dtype: DType) -> Spec:
    if isinstance(value, bool | int | float):
        if not holds(dtype, value):
            raise NoMatch(f"{shown(value)} is no {dtype}")
        return Spec(dtype, ())
    return Spec(dtypes.from_numpy(value.dtype), value.shape)


def merged(ops: Sequence[Operation]) -> Any:
    """One location for what replaces ``ops``; constants say nothing about the node they feed."""
    first = ops[0].location
    for op in ops:
        if op.location is not first:
            return sources.merge_ops(ops)
    return first


def dtype_of(value: Any) -> DType:
    """An element type given as name, DType or matched value."""
    match value:
        case DType():
            return value
        case str():
            return dtypes.BY_NAME[value]
        case _:
            return value.dtype


ENV: dict[str, Any] = {
    "Attrs": Attrs,
    "ConstantOp": ConstantOp,
    "Found": Found,
    "GeError": GeError,
    "NoMatch": NoMatch,
    "Value": Value,
    "attribute": attribute,
    "attrs_equal": attrs_equal,
    "captured": captured,
    "constant_op": constant_op,
    "constant_spec": constant_spec,
    "constant_value": constant_value,
    "dtype_of": dtype_of,
    "infer_types": infer_types,
    "inside": inside,
    "is_const": is_const,
    "merged": merged,
    "number_is": number_is,
    "number_of": number_of,
    "seen": seen,
    "segments": segments,
    "spec_of": spec_of,
    "tensor_type": tensor_type,
    "to_python": to_python,
    "whole_spec": whole_spec,
}
