"""Finds the bytes of weights in an ONNX file without parsing or copying them.

A walk over the protobuf wire format cuts the payload of every tensor above 1 kB (``raw_data``, packed
``float_data`` and ``double_data``) out of the message; what remains is small and is parsed by protobuf. A cut
tensor says in its ``segment`` field (which ONNX defines and nobody uses) where its bytes lie in the file.

Field numbers: onnx.proto3 (Apache-2.0).
"""

from __future__ import annotations

from gedialect.dialects.ge.constant import DENSE_LIMIT
from gedialect.errors import GeError

MAX_DEPTH = 24
"""Nested graphs an ONNX file may have; protobuf itself stops at 100 nested messages, four for each graph."""

_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _FUNCTION, _SPARSE = range(7)
_CHILDREN: tuple[dict[int, int], ...] = (
    {7: _GRAPH, 25: _FUNCTION},
    {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    {5: _ATTRIBUTE},
    {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    {},
    {7: _NODE},
    {1: _TENSOR, 2: _TENSOR},
)
_PAYLOAD = (9, 4, 10)  # raw_data, float_data, double_data
_SEGMENT = 3


def truncated() -> GeError:
    return GeError(
        "the file is cut short or is not an ONNX model",
        code="GE1003",
        hint="check that it was copied completely",
    )


def too_deep() -> GeError:
    return GeError(
        f"the nesting depth of graphs exceeds {MAX_DEPTH}", code="GE1008", hint="flatten the If and Loop nodes"
    )


def _varint(buf: memoryview, pos: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if pos >= end or shift > 63:
            raise truncated()
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
        shift += 7


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _end_of(buf: memoryview, pos: int, end: int, wire: int) -> int:
    """End of a field's value that is not length-delimited."""
    match wire:
        case 0:
            return _varint(buf, pos, end)[1]
        case 1:
            stop = pos + 8
        case 5:
            stop = pos + 4
        case _:
            raise truncated()
    if stop > end:
        raise truncated()
    return stop


def without_payload(buf: memoryview) -> bytes:
    """The serialized model without the payload of big tensors; GE1003 if it is cut short, GE1008 if too deep."""
    parts: list[bytes | memoryview] = []
    _splice(buf, 0, len(buf), _MODEL, 0, parts)
    return b"".join(parts)


def _splice(buf: memoryview, start: int, end: int, kind: int, depth: int, out: list[bytes | memoryview]) -> int:
    """Append the message in ``buf[start:end]`` to ``out`` without payload; the number of bytes appended."""
    if kind == _TENSOR:
        return _splice_tensor(buf, start, end, out)
    if kind == _GRAPH:
        depth += 1
        if depth > MAX_DEPTH:
            raise too_deep()
    children = _CHILDREN[kind]
    kept = start  # everything before is in out
    size = 0
    pos = start
    while pos < end:
        field = pos
        tag = buf[pos]
        if tag < 0x80:
            pos += 1
        else:
            tag, pos = _varint(buf, pos, end)
        if tag & 7 != 2:
            pos = _end_of(buf, pos, end, tag & 7)
            continue
        length, pos = _varint(buf, pos, end)
        stop = pos + length
        if stop > end:
            raise truncated()
        if length > DENSE_LIMIT and (child := children.get(tag >> 3)) is not None:
            inner: list[bytes | memoryview] = []
            new_length = _splice(buf, pos, stop, child, depth, inner)
            if new_length != length:
                head = _write_varint(tag) + _write_varint(new_length)
                out.append(buf[kept:field])
                out.append(head)
                out += inner
                size += field - kept + len(head) + new_length
                kept = stop
        pos = stop
    out.append(buf[kept:end])
    return size + end - kept


def _splice_tensor(buf: memoryview, start: int, end: int, out: list[bytes | memoryview]) -> int:
    fields: list[tuple[int, int, int]] = []
    payload: list[tuple[int, int]] = []
    pos = start
    while pos < end:
        field = pos
        tag, pos = _varint(buf, pos, end)
        number = tag >> 3
        if tag & 7 != 2:
            pos = _end_of(buf, pos, end, tag & 7)
            if number in _PAYLOAD:  # not packed: left to protobuf
                payload += [(0, 0), (0, 0)]
        else:
            length, pos = _varint(buf, pos, end)
            stop = pos + length
            if stop > end:
                raise truncated()
            if number in _PAYLOAD and length:
                payload.append((pos, stop))
            pos = stop
        fields.append((number, field, pos))
    if len(payload) != 1 or payload[0][1] - payload[0][0] <= DENSE_LIMIT:
        out.append(buf[start:end])
        return end - start
    size = 0
    for number, first, last in fields:
        if number != _SEGMENT and number not in _PAYLOAD:
            out.append(buf[first:last])
            size += last - first
    begin, stop = payload[0]
    span = b"\x08" + _write_varint(begin) + b"\x10" + _write_varint(stop)
    segment = b"\x1a" + _write_varint(len(span)) + span
    out.append(segment)
    return size + len(segment)
