"""Protobuf messages declared as typed Python classes, built without protoc.

A module declares its messages as classes whose annotations are the field types and whose values are the
field numbers, then calls :func:`bind`, which replaces the classes by the ones google.protobuf generates:

    class ShapeDef(Message):
        dim: Repeated[int64] = no(1)

So names, numbers and types stand in one place, readable by people, the type checker and the protobuf runtime.
Every file has its own descriptor pool: other packages may register messages of the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

T = TypeVar("T")

int32 = int64 = uint32 = uint64 = int
string = str

_F = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "int32": _F.TYPE_INT32,
    "int64": _F.TYPE_INT64,
    "uint32": _F.TYPE_UINT32,
    "uint64": _F.TYPE_UINT64,
    "float": _F.TYPE_FLOAT,
    "bool": _F.TYPE_BOOL,
    "string": _F.TYPE_STRING,
    "bytes": _F.TYPE_BYTES,
}
_ANNOTATION = re.compile(r"(?:(Repeated|Map)\[)?([\w.]+)\]?")


class Message:
    """The typed face of a generated message; the methods are google.protobuf's own."""

    if TYPE_CHECKING:

        @classmethod
        def FromString(cls, data: bytes) -> Self: ...
        def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...
        def CopyFrom(self, other: Self) -> None: ...
        def MergeFrom(self, other: Self) -> None: ...
        def HasField(self, name: str) -> bool: ...
        def WhichOneof(self, name: str) -> str | None: ...
        def ClearField(self, name: str) -> None: ...
        def SetInParent(self) -> None: ...
        def ByteSize(self) -> int: ...


class Repeated(Protocol[T]):
    """A repeated field."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> T: ...
    def __iter__(self) -> Iterator[T]: ...
    def append(self, value: T) -> None: ...
    def extend(self, values: Iterable[T]) -> None: ...
    def add(self) -> T: ...


class Map(Protocol[T]):
    """A map field with string keys; reading a missing key of a message-valued map creates it."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: str) -> T: ...
    def __setitem__(self, key: str, value: T) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: str) -> bool: ...
    def keys(self) -> Iterable[str]: ...
    def items(self) -> Iterable[tuple[str, T]]: ...


def no(number: int) -> Any:
    """The number of a field."""
    return number


def bind(
    module: dict[str, Any],
    package: str,
    enums: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Replace the message classes declared in ``module`` (its globals) by generated ones.

    ``enums`` gives the enumerations of the package by full name ("AttrDef.ListValue.ListValueType").
    A class attribute ``ONEOF`` puts all fields of its class into one oneof of that name.
    """
    enums = enums or {}
    file = descriptor_pb2.FileDescriptorProto(
        name=f"gedialect/{module['__name__']}.proto", package=package, syntax="proto3"
    )
    declared = {
        name: cls for name, cls in module.items() if isinstance(cls, type) and issubclass(cls, Message)
        and cls.__module__ == module["__name__"]
    }  # fmt: skip
    known = _message_names(declared, "") | set(enums)
    for name, cls in declared.items():
        _declare(file.message_type.add(name=name), cls, name, package, known, enums)
    for name, values in enums.items():
        if "." not in name:
            _declare_enum(file.enum_type.add(name=name), values)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString(deterministic=True))
    for name in declared:
        module[name] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))


def _nested(cls: type) -> dict[str, type]:
    return {k: v for k, v in vars(cls).items() if isinstance(v, type) and issubclass(v, Message)}


def _message_names(classes: Mapping[str, type], prefix: str) -> set[str]:
    names: set[str] = set()
    for name, cls in classes.items():
        names |= {prefix + name} | _message_names(_nested(cls), f"{prefix}{name}.")
    return names


def _declare(
    message: descriptor_pb2.DescriptorProto,
    cls: type,
    path: str,
    package: str,
    known: set[str],
    enums: Mapping[str, Mapping[str, int]],
) -> None:
    for name, nested in _nested(cls).items():
        _declare(message.nested_type.add(name=name), nested, f"{path}.{name}", package, known, enums)
    for name, values in enums.items():
        if name.rpartition(".")[0] == path:
            _declare_enum(message.enum_type.add(name=name.rpartition(".")[2]), values)
    oneof: str | None = vars(cls).get("ONEOF")
    if oneof is not None:
        message.oneof_decl.add(name=oneof)
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        number = vars(cls).get(name)
        if not isinstance(number, int):
            continue
        match = _ANNOTATION.fullmatch(annotation)
        assert match is not None, f"{path}.{name}: annotation {annotation!r}"
        kind, type_name = match.groups()
        if kind == "Map":
            entry = message.nested_type.add(name=_entry_name(name))
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=_F.LABEL_OPTIONAL, type=_F.TYPE_STRING)
            _set_type(
                entry.field.add(name="value", number=2, label=_F.LABEL_OPTIONAL), type_name, path, package, known, enums
            )
            message.field.add(
                name=name,
                number=number,
                label=_F.LABEL_REPEATED,
                type=_F.TYPE_MESSAGE,
                type_name=f".{package}.{path}.{entry.name}",
            )
            continue
        label = _F.LABEL_REPEATED if kind == "Repeated" else _F.LABEL_OPTIONAL
        field = message.field.add(name=name, number=number, label=label)
        _set_type(field, type_name, path, package, known, enums)
        if oneof is not None:
            field.oneof_index = 0


def _entry_name(field: str) -> str:
    return "".join(part.capitalize() for part in field.split("_")) + "Entry"


def _set_type(
    field: descriptor_pb2.FieldDescriptorProto,
    type_name: str,
    path: str,
    package: str,
    known: set[str],
    enums: Mapping[str, Mapping[str, int]],
) -> None:
    scalar = _SCALARS.get(type_name)
    if scalar is not None:
        field.type = scalar
        return
    scope = path  # innermost scope first, as in protobuf
    while f"{scope}.{type_name}".lstrip(".") not in known:
        assert scope, f"{path}: unknown type {type_name}"
        scope = scope.rpartition(".")[0]
    full = f"{scope}.{type_name}".lstrip(".")
    field.type = _F.TYPE_ENUM if full in enums else _F.TYPE_MESSAGE
    field.type_name = f".{package}.{full}"


def _declare_enum(enum: descriptor_pb2.EnumDescriptorProto, values: Mapping[str, int]) -> None:
    for name, number in values.items():
        enum.value.add(name=name, number=number)
