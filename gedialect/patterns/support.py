"""What compiled rules call: comparison of attributes, types of new ops, constants, locations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, SSAValue

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import Attrs, GeOp, to_attr, to_python
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir import dtypes, sources
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.patterns.values import NoMatch, Value, is_const, number_is, number_of


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
        return abs(x - y) <= 1e-6 * max(abs(x), abs(y))
    return isinstance(x, tuple) and isinstance(y, tuple) and x == y


def infer_types(
    cls: type[GeOp], props: Mapping[str, Attribute], groups: Sequence[Any], known: Sequence[Spec] | None
) -> Sequence[Spec]:
    """Result specs; ``known`` serves ops whose operands do not tell them."""
    values = {k: to_python(v) for k, v in props.items()}
    try:
        return cls.inferred(Attrs(values, known or ()), *groups)
    except GeError as e:
        if e.code == "GE1903" and known is not None:
            return known
        raise


def segments(sizes: Sequence[int]) -> Attribute:
    return DenseArrayBase.from_list(i32, sizes)


def attribute(value: Any, floats: bool) -> Attribute | None:
    return None if value is None else to_attr(value, floats=floats)


def constant_op(value: Any, dtype: DType, location: Any) -> ConstantOp:
    """A constant from a Python number (rank 0) or an array."""
    if isinstance(value, bool | int | float):
        number = float(value) if dtype.is_float else int(value)
        return ConstantOp.of(SplatAttr.get(number), Spec(dtype, ()), location)
    from gedialect.dialects.ge.literals import attribute_of

    attr, spec = attribute_of(value)
    return ConstantOp.of(attr, spec, location)


def constant_spec(value: Any, dtype: DType) -> Spec:
    if isinstance(value, bool | int | float):
        return Spec(dtype, ())
    return Spec(dtypes.from_numpy(value.dtype), value.shape)


def merged(ops: Sequence[Operation]) -> Any:
    """One location for what replaces ``ops``; constants say nothing about the node they feed."""
    first = ops[0].location
    for op in ops:
        if op.location is not first:
            return sources.merge_ops(ops)
    return first


CANNOT_TELL = (GeError, NoMatch, ArithmeticError, LookupError, ValueError)
"""What conditions and computed values may raise where they have no answer, such as the second axis of a vector: the
rule does not apply there. Anything else is a mistake in the rule."""


def safe(function: Callable[..., Any]) -> Callable[..., Any]:
    """A condition that cannot be evaluated does not hold."""

    def holds(*args: Any) -> Any:
        try:
            return function(*args)
        except CANNOT_TELL:
            return False

    return holds


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
    "CANNOT_TELL": CANNOT_TELL,
    "ConstantOp": ConstantOp,
    "Found": Found,
    "GeError": GeError,
    "NoMatch": NoMatch,
    "Value": Value,
    "attribute": attribute,
    "attrs_equal": attrs_equal,
    "constant_op": constant_op,
    "constant_spec": constant_spec,
    "dtype_of": dtype_of,
    "infer_types": infer_types,
    "inside": inside,
    "is_const": is_const,
    "merged": merged,
    "number_is": number_is,
    "number_of": number_of,
    "segments": segments,
    "spec_of": spec_of,
    "tensor_type": tensor_type,
    "to_python": to_python,
}
