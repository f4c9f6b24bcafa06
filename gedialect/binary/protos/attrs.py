"""Attribute values: Python <-> ``AttrDef``.

bool -> ``b``, int -> ``i``, float -> ``f``, str -> ``s`` (UTF-8), bytes -> ``bt``, DType -> ``dt`` (the C++
``ge::DataType`` number), a list of one of these -> ``list`` with its ``val_type``, a list of lists of int ->
``list_list_int``, TensorDef -> ``t``. An empty list needs its type: ``Typed("i")``.
Sources of the encoding: metadef ``graph/serialization/*``, ``graph/model_serialize.cc`` (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from gedialect.binary.protos.ge import AttrDef, TensorDef
from gedialect.binary.protos.schema import Map
from gedialect.errors import GeError
from gedialect.ir.dtypes import TABLE, DType

Scalar = bool | int | float | str | bytes | DType


@dataclass(frozen=True)
class Typed:
    """A list whose element kind is stated: "s", "i", "f", "b", "bt" or "dt"."""

    kind: str
    values: Sequence[Scalar] = ()


AttrValue = Scalar | Typed | TensorDef | Sequence[Scalar] | Sequence[Sequence[int]]
"""What :func:`set_attr` takes."""

_VAL_TYPE = {"s": 1, "i": 2, "f": 3, "b": 4, "bt": 5, "dt": 10}
_INT64 = range(-(1 << 63), 1 << 63)


def set_attrs(target: Map[AttrDef], values: Mapping[str, AttrValue]) -> None:
    """Set attributes, keys sorted."""
    for name in sorted(values):
        set_attr(target[name], values[name], name)


def set_attr(attr: AttrDef, value: AttrValue, name: str = "") -> None:
    """Set one attribute; GE1901 for a value without encoding (``name`` is for the message)."""
    match value:
        case bool() | int() | float() | str() | bytes() | DType():
            kind = _kind(value, name)
            setattr(attr, kind, _raw(value, kind, name))
        case Typed(kind, values):
            _set_list(attr, kind, values, name)
        case TensorDef():
            attr.t.CopyFrom(value)
        case list() | tuple():
            _set_sequence(attr, cast("Sequence[Any]", value), name)
        case _:
            raise GeError(f"attribute {name}: no encoding for a {type(value).__name__}", code="GE1901")


def set_name_map(target: Map[AttrDef], stem: str, names: Sequence[str]) -> None:
    """Write ``STEM_key`` / ``STEM_value``, the map from names to indices; like GE without a ``val_type``."""
    if names:
        target[f"{stem}_key"].list.s.extend(name.encode() for name in names)
        target[f"{stem}_value"].list.i.extend(range(len(names)))


def _set_sequence(attr: AttrDef, values: Sequence[Any], name: str) -> None:
    if not values:
        raise GeError(f"attribute {name}: the kind of an empty list must be stated", code="GE1901")
    if isinstance(values[0], (list, tuple)):
        attr.list_list_int.SetInParent()
        for row in cast("Sequence[Sequence[int]]", values):
            attr.list_list_int.list_list_i.add().list_i.extend(row)
        return
    kinds = {_kind(v, name) for v in values}
    kind = "f" if kinds == {"i", "f"} else kinds.pop()
    _set_list(attr, kind, cast("Sequence[Scalar]", values), name)


def _set_list(attr: AttrDef, kind: str, values: Sequence[Scalar], name: str) -> None:
    attr.list.val_type = _VAL_TYPE[kind]
    getattr(attr.list, kind).extend([_raw(v, kind, name) for v in values])


def _kind(value: object, name: str) -> str:
    match value:
        case bool():
            return "b"
        case int():
            return "i"
        case float():
            return "f"
        case str():
            return "s"
        case bytes():
            return "bt"
        case DType():
            return "dt"
        case _:
            raise GeError(f"attribute {name}: no encoding for a {type(value).__name__}", code="GE1901")


def _raw(value: Scalar, kind: str, name: str) -> object:
    if isinstance(value, DType):
        actual, raw = "dt", value.ge
    else:
        actual, raw = _kind(value, name), value.encode() if isinstance(value, str) else value
    if actual != kind and (actual, kind) != ("i", "f"):
        raise GeError(f"attribute {name}: {value!r} in a list of kind {kind}", code="GE1901")
    if kind == "i" and raw not in _INT64:
        raise GeError(f"attribute {name}: {value} does not fit 64 bits", code="GE1901")
    return raw


_BY_GE = {t.ge: t for t in TABLE if t.ge_proto}


def value_of(attr: AttrDef) -> Any:
    """The Python value of an attribute, None if it is empty.

    ``s`` gives str (bytes if it is not UTF-8), ``dt`` a DType (the number if the table lacks it), lists give lists,
    tensors, graphs and named attributes their messages.
    """
    kind = attr.WhichOneof("value")
    match kind:
        case None:
            return None
        case "s":
            return _text(attr.s)
        case "dt":
            return _BY_GE.get(attr.dt, attr.dt)
        case "list":
            return _list_of(attr.list)
        case "list_list_int":
            return [list(row.list_i) for row in attr.list_list_int.list_list_i]
        case "list_list_float":
            return [list(row.list_f) for row in attr.list_list_float.list_list_f]
        case _:
            return getattr(attr, kind)


def _list_of(value: AttrDef.ListValue) -> list[Any]:
    if len(value.s):
        return [_text(s) for s in value.s]
    if len(value.dt):
        return [_BY_GE.get(n, n) for n in value.dt]
    for kind in ("i", "f", "b", "bt", "t", "td", "g", "na"):
        values = getattr(value, kind)
        if len(values):
            return list(values)
    return []


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def get(attrs: Map[AttrDef], name: str, default: Any = None) -> Any:
    """The value of ``name``, or ``default``; never creates the entry."""
    return value_of(attrs[name]) if name in attrs else default
