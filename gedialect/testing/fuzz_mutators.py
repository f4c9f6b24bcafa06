"""Changes to files that keep enough of their structure to get past the first check: see ``gedialect.testing.fuzzing``.

Bytes are flipped, cut, repeated and spliced; texts are changed by tokens; protobuf messages by fields, found through
their descriptors; dataclasses (kernels) by fields; JSON by values.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any, TypeAlias, cast

from google.protobuf.descriptor import FieldDescriptor

INTEGERS = (
    *(0, 1, -1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 63, 64, 65, 127, 128, 255, 256, 1000, 1023, 1024, 4096, 65535),
    *(65536, 1 << 20, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1),
    *(-2, -3, -128, -(1 << 31), -(1 << 31) - 1, -(1 << 63)),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-30, 1e30, 3.4e38, 1e300, float("inf"), float("-inf"), float("nan"))
STRINGS = (
    "",
    "x",
    "y",
    "a" * 300,
    "\0",
    "\ud7ff",
    "ä",
    "../x",
    "/dev/null",
    "/dev/zero",
    ".",
    "-1",
    "%s",
    '"',
    "\\",
    "\n",
)
_REPEATS = (2, 3, 40, 1000)


def mutate_bytes(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """One change that knows nothing of the format."""
    out = bytearray(data)
    at = rng.randrange(len(out) + 1)
    length = min(len(out) - at, rng.choice((1, 1, 2, 4, 8, 16, 64, 512)))
    match rng.randrange(8):
        case 0 if at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        case 1 if at < len(out):
            out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        case 2:
            del out[at : at + length]
        case 3:
            out[at:at] = rng.randbytes(length or 1)
        case 4:
            out[at:at] = bytes(out[at : at + length]) * min(rng.choice(_REPEATS), 4096 // (length or 1) + 1)
        case 5:
            size = rng.choice((1, 2, 4, 8))
            number = rng.choice(INTEGERS) % (1 << 8 * size)
            out[at : at + size] = number.to_bytes(size, rng.choice(("little", "big")))
        case 6:
            del out[at:]
        case _:
            other = rng.choice(others) if others else data
            start = rng.randrange(len(other) + 1)
            out[at : at + length] = other[start : start + rng.choice((1, 8, 64, 1024))]
    return bytes(out)


# ---------------------------------------------------------------- text
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%#!^@]?[\w$.]+|\s+|->|[^\w\s]')


def mutate_text(text: str, rng: Random, others: Sequence[str]) -> str:
    """One change of tokens or lines."""
    tokens = _TOKEN.findall(text)
    solid = [i for i, t in enumerate(tokens) if not t.isspace()]
    if not solid:
        return text + rng.choice(STRINGS)
    at = rng.choice(solid)
    match rng.choice((*range(13), 3, 3, 4, 4, 6, 6, 6)):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, tokens[at])
        case 2:
            b = rng.choice(solid)
            tokens[at], tokens[b] = tokens[b], tokens[at]
        case 3 | 4:
            _number(tokens, rng)
        case 5 | 6:
            tokens[at] = _like(tokens[at], tokens, rng)
        case 7:
            other = _TOKEN.findall(rng.choice(others)) if others else tokens
            tokens[at] = _like(tokens[at], other, rng)
        case 8:
            tokens[at] = rng.choice(INTERESTING_TOKENS)
        case 9:
            end = min(len(tokens), at + rng.choice((2, 5, 20)))
            tokens[at:at] = tokens[at:end] * rng.choice(_REPEATS[:3])
        case 10:
            tokens.insert(
                at, rng.choice(("[", "(", "{", "<", "tuple<", "-", "f(", "!", "loc(")) * rng.choice((1, 70, 5000))
            )
        case _:
            return _lines(text, rng, others)
    return "".join(tokens)


INTERESTING_TOKENS = (
    *("?", "*", "true", "null", "unit", "dense<>", "[]", "{}", "()", "->", "tensor<?xf32>", "tensor<f32>", "none"),
    *("tensor<0x3xf32>", "tensor<4294967296x4294967296xf32>", "tensor<*xf32>", "i1", "i64", "f16", "f64", "index"),
    *("NaN", "inf", "-0.0", "0x7FC00000", "1e400", "99999999999999999999999999", '"\\00"', "array<i64: 0>", "@main"),
    *("memref<4xf32>", "!ge.late", "#ge.splat<1.0>", '#ge.weight<"x", 0, 4>', "%0", "^bb0", '"ge.add"', "complex<f32>"),
)  # fmt: skip


def _number(tokens: list[str], rng: Random) -> None:
    """Change one number, also one within a word such as ``4x8xf32``."""
    places = [(i, m) for i, t in enumerate(tokens) for m in re.finditer(r"\d+", t)]
    if places:
        i, found = rng.choice(places)
        old = tokens[i]
        near = int(found[0]) + rng.choice((-1, 1)) if len(found[0]) < 20 else 0
        new = rng.choice((near, rng.choice(INTEGERS)))
        tokens[i] = f"{old[: found.start()]}{new}{old[found.end() :]}"


def _like(token: str, among: Sequence[str], rng: Random) -> str:
    """A token of the same kind, as seen from its first character."""

    def kind(t: str) -> str:
        return "a" if t[0].isalpha() else "0" if t[0].isdigit() else t[0] if t[0] in '%#!^@"' else "."

    same = [t for t in among if t and not t.isspace() and kind(t) == kind(token)]
    return rng.choice(same) if same else token


def _lines(text: str, rng: Random, others: Sequence[str]) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    other = rng.choice(others).split("\n") if others else lines
    match rng.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, rng.choice(lines))
        case 2:
            lines.insert(at, rng.choice(other))
        case _:
            lines[at] = rng.choice(other)
    return "\n".join(lines)


# ---------------------------------------------------------------- protobuf
Message: TypeAlias = Any
"""A protobuf message, or a field's descriptor below: their stubs differ between the implementations of protobuf."""
Field: TypeAlias = Any


def mutate_message(message: Message, rng: Random, names: Sequence[str] = ()) -> None:
    """Change one field of the message or of one inside it, in place. ``names`` are strings worth trying."""
    places: list[tuple[Message, Field]] = []
    _walk(message, places, 0)
    weighted = [p for p in places if _present(*p)]
    owner, field = rng.choice(weighted if weighted and rng.random() < 0.85 else places)
    target = owner
    if _repeated(field):
        _mutate_repeated(getattr(target, field.name), field, rng, names)
    elif rng.random() < 0.15:
        owner.ClearField(field.name)
    elif field.message_type is not None:
        getattr(target, field.name).SetInParent()
    else:
        setattr(target, field.name, _value(field, getattr(target, field.name), rng, names))


def _repeated(field: Field) -> bool:
    return field.label == FieldDescriptor.LABEL_REPEATED if not hasattr(field, "is_repeated") else field.is_repeated


def _present(owner: Message, field: Field) -> bool:
    value = getattr(owner, field.name)
    return bool(len(value)) if _repeated(field) else value != field.default_value


def _walk(message: Message, places: list[tuple[Message, Field]], depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        places.append((message, field))
        if field.message_type is None or depth > 30:
            continue
        value: Any = getattr(message, field.name)
        if not _repeated(field):
            if message.HasField(field.name):
                _walk(value, places, depth + 1)
        elif field.message_type.GetOptions().map_entry:
            for key in value:
                if hasattr(value[key], "DESCRIPTOR"):
                    _walk(value[key], places, depth + 1)
        else:
            for item in value:
                _walk(item, places, depth + 1)


def _mutate_repeated(items: Any, field: Field, rng: Random, names: Sequence[str]) -> None:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        keys = sorted(items)
        if keys:
            del items[rng.choice(keys)]
        return
    if not len(items):
        if kind is not None:
            items.add()
        else:
            items.append(_value(field, _zero(field), rng, names))
        return
    at = rng.randrange(len(items))
    match rng.randrange(6):
        case 0:
            del items[at]
        case 1:
            for _ in range(rng.choice((1, 1, 2, 20))):
                items.append(items[at])
        case 2:
            kept = list(items)
            rng.shuffle(kept)
            del items[:]
            items.extend(kept)
        case 3:
            del items[:]
        case 4 if kind is None:
            items.append(_value(field, items[at], rng, names))
        case _ if kind is None:
            items[at] = _value(field, items[at], rng, names)
        case _:
            items[at].CopyFrom(rng.choice(list(items)))


def _zero(field: Field) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING:
            return b"" if field.type == FieldDescriptor.TYPE_BYTES else ""
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return 0.0
        case _:
            return 0


def _value(field: Field, old: Any, rng: Random, names: Sequence[str]) -> Any:
    """A new value of a scalar field."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return not old
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            value = rng.choice((*FLOATS, old * 2, -old))
            return value if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE or abs(value) < 3e38 else float("inf")
        case FieldDescriptor.CPPTYPE_STRING:
            if field.type == FieldDescriptor.TYPE_BYTES:
                return _changed_bytes(bytes(old), rng, names)
            text = rng.choice(names) if names and rng.random() < 0.6 else rng.choice((*STRINGS, old[:-1], old + old))
            return text.encode("utf-8", "replace").decode()
        case FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice([v.number for v in field.enum_type.values])
        case _:
            return _integer(field, old, rng)


def _integer(field: Field, old: int, rng: Random) -> int:
    wide = field.cpp_type in (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
    signed = field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64)
    bits = 64 if wide else 32
    value = rng.choice((old + 1, old - 1, old * 2, rng.randrange(25), rng.choice(INTEGERS))) % (1 << bits)
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _changed_bytes(old: bytes, rng: Random, names: Sequence[str]) -> bytes:
    try:
        whole: object = json.loads(old)
    except (ValueError, RecursionError):
        if names and len(old) < 40 and rng.random() < 0.4:
            return rng.choice(names).encode("utf-8", "replace")
        return mutate_bytes(old, rng, ())
    if rng.random() < 0.1 or not isinstance(whole, dict | list):
        return mutate_bytes(old, rng, ())
    return json.dumps(mutate_json(whole, rng)).encode()


def strings_of(message: Message) -> list[str]:
    """Short strings anywhere in the message: names, most of them."""
    places: list[tuple[Message, Field]] = []
    _walk(message, places, 0)
    found: dict[str, None] = {}
    for owner, field in places:
        if field.type == FieldDescriptor.TYPE_STRING:
            value: Any = getattr(owner, field.name)
            found.update(dict.fromkeys(v for v in (value if _repeated(field) else [value]) if len(v) < 80))
    return list(found)


# ---------------------------------------------------------------- JSON, dataclasses
def mutate_json(whole: Any, rng: Random) -> Any:
    """A copy with one value changed, taken out, added or repeated."""
    whole = json.loads(json.dumps(whole))
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys: list[Any] = list(cast("Any", node)) if isinstance(node, dict) else list(range(len(node)))
        for key in keys:
            places.append((cast("Any", node), key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(whole)
    if not places:
        return [whole]
    owner, key = rng.choice(places)
    old = owner[key]
    match rng.randrange(8):
        case 0:
            del owner[key]
        case 1 if isinstance(owner, list):
            cast("list[Any]", owner).insert(key, old)
        case 2:
            owner[key] = rng.choice((None, True, [], {}, [old], {"x": old}, "x", "", 0, -1, 0.5, 1e400))
        case 3 | 4 if isinstance(old, int):
            owner[key] = rng.choice((old + 1, old - 1, rng.choice(INTEGERS)))
        case _:
            other, place = rng.choice(places)
            owner[key] = json.loads(json.dumps(other[place])) if place in other or isinstance(other, list) else None
    return whole


def mutate_dataclass(whole: Any, rng: Random) -> Any:
    """A copy with one number, or one item of a tuple, changed somewhere inside; other kinds of values stay."""
    places: list[tuple[Any, ...]] = []

    def walk(node: Any, path: tuple[Any, ...]) -> None:
        if isinstance(node, tuple):
            if path and node:
                places.append(path)
            for i, item in enumerate(cast("tuple[Any, ...]", node)):
                walk(item, (*path, i))
        elif dataclasses.is_dataclass(node):
            for field in dataclasses.fields(node):
                if field.name not in ("op", "dtype", "digest"):
                    walk(getattr(node, field.name), (*path, field.name))
        elif isinstance(node, int | float):
            places.append(path)

    walk(whole, ())
    return whole if not places else _replaced(whole, rng.choice(places), rng)


def _replaced(node: Any, path: tuple[Any, ...], rng: Random) -> Any:
    if path:
        first, rest = path[0], path[1:]
        if isinstance(first, str):
            return dataclasses.replace(node, **{first: _replaced(getattr(node, first), rest, rng)})
        return (*node[:first], _replaced(node[first], rest, rng), *node[first + 1 :])
    if isinstance(node, tuple):
        items = list(cast("tuple[Any, ...]", node))
        at = rng.randrange(len(items))
        if rng.random() < 0.5:
            del items[at]
        else:
            items.insert(at, rng.choice(items))
        return tuple(items)
    if isinstance(node, bool):
        return not node
    if isinstance(node, float):
        return rng.choice(FLOATS)
    return rng.choice((node + 1, node - 1, node * 2, rng.choice(INTEGERS)))


# ---------------------------------------------------------------- IR
SIZES = (0, 1, 2, 3, 5, 7, 8, 16, 17, 33, 64, 100, 128, 257, 1000, 4097, 1 << 20, 1 << 31, 1 << 40)


def mutate_type(value: Any, rng: Random) -> None:
    """Give a value another shape or element type."""
    from gedialect.ir.dtypes import TABLE
    from gedialect.ir.spec import spec_of, tensor_type

    spec = spec_of(value.type)
    shape = list(spec.shape)
    match rng.randrange(5):
        case 0:
            spec = spec.with_dtype(rng.choice(TABLE))
        case 1 if shape:
            del shape[rng.randrange(len(shape))]
        case 2:
            shape.insert(rng.randrange(len(shape) + 1), rng.choice(SIZES[:6]))
        case _ if shape:
            shape[rng.randrange(len(shape))] = rng.choice((*SIZES[:12], *SIZES))
        case _:
            pass
    value._type = tensor_type(spec.with_shape(shape))


def mutate_attribute(attribute: Any, rng: Random) -> Any:
    """Another value of the same kind."""
    from gedialect.dialects.ge.base import to_attr, to_python

    old = to_python(attribute)
    match old:
        case bool():
            return to_attr(not old)
        case int():
            return to_attr(_near(old, rng))
        case float():
            return to_attr(rng.choice((*FLOATS, old * 2, -old)))
        case str():
            return to_attr(rng.choice((*STRINGS, "NCHW", "NHWC", "linear", "SAME", old[:-1], old.lower(), old.upper())))
        case tuple() if old and isinstance(old[0], int | float):
            items: list[Any] = list(cast("tuple[Any, ...]", old))
            at = rng.randrange(len(items))
            match rng.randrange(5):
                case 0:
                    del items[at]
                case 1:
                    items.insert(at, items[at])
                case _ if isinstance(items[at], float):
                    items[at] = rng.choice(FLOATS)
                case _:
                    items[at] = _near(items[at], rng)
            return to_attr(items, floats=isinstance(old[0], float))
        case _:
            return attribute


def _near(old: int, rng: Random) -> int:
    return rng.choice((old + 1, old - 1, -old, 0, 1, -1, 2, 3, old * 2, rng.choice(INTEGERS)))
