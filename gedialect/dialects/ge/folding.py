"""Evaluating ops whose operands are constants, without reading or making large tensors."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, cast

from xdsl.ir import Attribute, SSAValue
from xdsl.traits import Pure

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import FLOATS, INTS, Attrs, FusionClass, GeOp, to_attr
from gedialect.dialects.ge.constant import DENSE_LIMIT, ConstantOp
from gedialect.dialects.ge.reproducible import as_result, reproducible
from gedialect.errors import GeError
from gedialect.ir.lazy import np
from gedialect.ir.spec import DYNAMIC, Spec, spec_of
from gedialect.ir.weights import read_constant

OPERAND_LIMIT = 1 << 20
"""Bytes of one operand that folding reads; a splat counts as one element."""

Folded = list[tuple[Attribute, Spec]]


def operand_specs(op: GeOp) -> list[Any]:
    """Specs of the operands as ``infer`` takes them: None for an absent optional, a list for a variadic."""
    groups: list[Any] = op.operand_groups()
    return [
        None if g is None else [spec_of(v.type) for v in g] if isinstance(g, list) else spec_of(g.type)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
        for g in groups
    ]


def constant_of(value: SSAValue) -> ConstantOp | None:
    """The constant op that makes ``value``."""
    return value.owner if isinstance(value.owner, ConstantOp) else None


@cache
def foldable(cls: type[GeOp]) -> bool:
    """Whether ops of this class may be evaluated ahead of time: without regions or effects (random ops have one)."""
    return cls.has_trait(Pure) and not issubclass(cls, ConstantOp) and not cls.get_irdl_definition().regions


def fold(op: GeOp) -> Folded | None:
    """Constants that replace the results of ``op``, each at most 1 kB or a splat; None if it cannot be folded.

    Evaluated by the op's own ``evaluate`` in its own element type. ``shape`` and ``size`` of a tensor whose sizes
    are known fold whatever the tensor.
    """
    cls = type(op)
    if not foldable(cls) or not op.results:
        return None
    attrs = op.attrs()
    if any(not r.is_static for r in attrs.results):
        return None
    if op.name in ("ge.shape", "ge.size"):
        spec = spec_of(op.operands[0].type)
        ends = spec.shape[attrs.start : attrs.end]
        if op.name == "ge.size" and spec.is_static:
            return [_constant(np.array(spec.size, attrs.dtype.numpy))]
        if op.name == "ge.shape" and DYNAMIC not in ends:
            return [_constant(np.array(ends, attrs.dtype.numpy))]
    constants = [constant_of(v) for v in op.operands]
    if any(c is None for c in constants):
        return None
    known = cast("list[ConstantOp]", constants)
    if all(r.nbytes <= DENSE_LIMIT for r in attrs.results):
        if any(not isinstance(c.value, SplatAttr) and spec_of(c.y.type).nbytes > OPERAND_LIMIT for c in known):
            return None
        if any(spec_of(c.y.type).nbytes > 64 * OPERAND_LIMIT for c in known):
            return None
        arrays = _evaluate(op, attrs, known)
        return None if arrays is None else [_constant(a) for a in arrays]
    return _fold_splats(op, attrs, known)


def _evaluate(op: GeOp, attrs: Attrs, constants: list[ConstantOp]) -> list[Any] | None:
    """The results; None where the weights are elsewhere, or the constants are out of range (an error of the run)."""
    try:
        arrays = {v: read_constant(c.value, spec_of(c.y.type)) for v, c in zip(op.operands, constants, strict=True)}
    except GeError:
        return None
    groups = [
        None if g is None else arrays[g] if isinstance(g, SSAValue) else [arrays[v] for v in g]
        for g in op.operand_groups()
    ]
    try:
        with np.errstate(all="ignore"), reproducible():
            results: Any = type(op).evaluate(attrs, *groups)
    except (GeError, ArithmeticError, IndexError, ValueError):
        return None
    arrays_out: list[Any] = list(results) if isinstance(results, tuple) else [results]  # pyright: ignore[reportUnknownArgumentType]
    return [as_result(a, s) for a, s in zip(arrays_out, attrs.results, strict=True)]


def _constant(array: Any) -> tuple[Attribute, Spec]:
    from gedialect.dialects.ge.literals import attribute_of

    return attribute_of(array)


_KEEPS_VALUES = ("ge.expand", "ge.tile", "ge.transpose", "ge.slice", "ge.fill")


def _fold_splats(op: GeOp, attrs: Attrs, constants: list[ConstantOp]) -> Folded | None:
    """Large results of splats: element-wise ops compute one element, views and copies keep the value."""
    kind = type(op).FUSION_CLASS
    groups = op.single_operands()
    if kind is FusionClass.ELEMENTWISE and len(op.results) == 1:
        if not all(isinstance(c.value, SplatAttr) or spec_of(c.y.type).size == 1 for c in constants):
            return None
        ones = {v: _corner(c) for v, c in zip(op.operands, constants, strict=True)}
        spec = attrs.results[0]
        one = Attrs(attrs, [spec.with_shape((1,) * spec.rank)])
        with np.errstate(all="ignore"), reproducible():
            array: Any = type(op).evaluate(one, *[None if g is None else ones[g] for g in groups])
        return _splat(as_result(array, spec), spec)
    if kind is FusionClass.VIEW or op.name in _KEEPS_VALUES:
        source = groups[op.operand_kinds().index(("value", "one"))] if op.name == "ge.fill" else op.operands[0]
        constant = None if source is None else constant_of(source)
        if constant is None:
            return None
        spec = spec_of(constant.y.type)
        if not isinstance(constant.value, SplatAttr) and spec.size != 1:
            return None
        return _splat(read_constant(constant.value, spec).reshape(-1)[:1], attrs.results[0])
    return None


def _corner(constant: ConstantOp) -> Any:
    """The first element, with the rank of the whole."""
    spec = spec_of(constant.y.type)
    return read_constant(constant.value, spec)[(slice(0, 1),) * spec.rank]


def _splat(one: Any, spec: Spec) -> Folded | None:
    from gedialect.dialects.ge.literals import attribute_of

    if one.size != 1:
        return None
    value, _ = attribute_of(np.broadcast_to(one.reshape(()), (2,)))
    return [(value, spec)] if isinstance(value, SplatAttr) else None


@cache
def _is_list(cls: type[GeOp], attribute: str) -> bool:
    constraint = getattr(cls.get_irdl_definition().properties[attribute], "constr", None)
    return constraint == INTS or constraint == FLOATS


def take_constant_operands(op: GeOp) -> bool:
    """Turn constant operands that have an attribute form into the attribute; whether anything changed."""
    pairs = dict(type(op).CONST_OPERANDS)
    if not pairs:
        return False
    groups: list[Any] = op.operand_groups()
    names = [n for n, _ in op.operand_kinds()]
    taken: dict[str, Any] = {}
    for i, (name, group) in enumerate(zip(names, groups, strict=True)):
        if name not in pairs or group is None:
            continue
        value = cast(SSAValue, group)
        constant = constant_of(value)
        spec = spec_of(value.type)
        if constant is None or not spec.is_static or prod(spec.shape) * spec.dtype.itemsize > DENSE_LIMIT:
            continue
        if spec.dtype.kind not in ("fiub" if pairs[name] in op.FLOAT_ATTRS else "iub"):
            continue  # no element type for it, which is said where the op runs or is inferred
        values = read_constant(constant.value, spec).reshape(-1).tolist()
        if not _is_list(type(op), pairs[name]):
            if len(values) != 1:
                continue
            values = values[0]
        taken[pairs[name]] = to_attr(values, floats=pairs[name] in op.FLOAT_ATTRS)
        groups[i] = None
    if not taken:
        return False
    operands: list[SSAValue] = []
    sizes: list[int] = []
    for group in groups:
        flat: list[SSAValue] = [] if group is None else list(group) if isinstance(group, list) else [group]  # pyright: ignore[reportUnknownArgumentType]
        operands += flat
        sizes.append(len(flat))
    op.operands = operands
    if "operandSegmentSizes" in op.properties:
        from xdsl.dialects.builtin import DenseArrayBase, i32

        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, sizes)
    op.properties.update(taken)
    return True
