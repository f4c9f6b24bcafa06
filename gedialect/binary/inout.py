"""The MODEL_INOUT_INFO partition: descriptions of inputs and outputs that can be read without the graph.

Repeated {u32 type, u32 size, value}; type 0 inputs, 1 outputs: u32 count, then per tensor u64 size, i32 format,
i32 dtype, u32 name, dims, dims-v2 and range lengths in bytes, then these. Numbers are ``ge::Format`` and
``ge::DataType``. Models with gears have further entries (``gears.records``). Source: GE
``base/common/helper/model_parser_base.cc`` as recorded in ``docs/om.md``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from gedialect.errors import GeError
from gedialect.ir.dtypes import TABLE, DType

INPUTS, OUTPUTS = 0, 1
FORMATS = {
    "NCHW": 0, "NHWC": 1, "ND": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "CHWN": 14, "HWCN": 16, "NDHWC": 27, "FRACTAL_NZ": 29,
    "NCDHW": 30, "DHWCN": 31, "NC": 35,
}  # fmt: skip
"""``ge::Format`` numbers of the formats we write (metadef ``inc/external/graph/types.h``)."""

_TLV = struct.Struct("<II")
_TENSOR = struct.Struct("<QiiIIII")
_BY_GE = {t.ge: t for t in TABLE if t.ge_proto}


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model. ``dtype`` is None if a file names one that we do not know; ``room`` are the bytes
    it has at most, where sizes are unknown (-1)."""

    name: str
    dtype: DType | None
    shape: tuple[int, ...]
    format: str = "ND"
    room: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor, row-major without padding, or ``room``; needs a known dtype and known dims."""
        if self.room is not None:
            return self.room
        assert self.dtype is not None
        return prod(self.shape) * self.dtype.itemsize


def encode(
    inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], others: Mapping[int, bytes] | None = None
) -> bytes:
    """The partition; sizes, formats and dtypes in GE's numbers. ``others``: entries of other types."""
    tensors = b"".join(_encode(kind, tensors) for kind, tensors in ((INPUTS, inputs), (OUTPUTS, outputs)))
    return tensors + b"".join(_TLV.pack(kind, len(value)) + value for kind, value in sorted((others or {}).items()))


def _encode(kind: int, tensors: Sequence[TensorInfo]) -> bytes:
    out = [struct.pack("<I", len(tensors))]
    for t in tensors:
        name, dims = t.name.encode(), struct.pack(f"<{len(t.shape)}q", *t.shape)
        dtype, nbytes = (28, 0) if t.dtype is None else (t.dtype.ge, t.nbytes)
        out += [
            _TENSOR.pack(nbytes, FORMATS.get(t.format, 2), dtype, len(name), len(dims), len(dims), 0),
            name,
            dims,
            dims,
        ]
    value = b"".join(out)
    return _TLV.pack(kind, len(value)) + value


def decode(data: memoryview) -> tuple[list[TensorInfo], list[TensorInfo], dict[int, bytes]]:
    """Inputs, outputs, and entries of other types. GE1304 if malformed."""
    found: dict[int, list[TensorInfo]] = {INPUTS: [], OUTPUTS: []}
    others: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        kind, size = _take(_TLV, data, at, len(data))
        at += _TLV.size
        if size > len(data) - at:
            raise _error(at, f"entry of type {kind} needs {size} bytes, {len(data) - at} are left")
        if kind in found:
            found[kind] = _decode(data, at, at + size)
        else:
            others[kind] = bytes(data[at : at + size])
        at += size
    return found[INPUTS], found[OUTPUTS], others


def _decode(data: memoryview, at: int, end: int) -> list[TensorInfo]:
    (count,) = _take(struct.Struct("<I"), data, at, end)
    at += 4
    if count > (end - at) // _TENSOR.size:
        raise _error(at, f"{count} tensors cannot fit in {end - at} bytes")
    tensors: list[TensorInfo] = []
    names = {number: name for name, number in FORMATS.items()}
    for _ in range(count):
        room, fmt, dtype, *sizes = _take(_TENSOR, data, at, end)
        at += _TENSOR.size
        name_size, dims_size = sizes[0], sizes[1]
        if sum(sizes) > end - at or dims_size % 8:
            raise _error(at, f"tensor {len(tensors)}: lengths {sizes} do not fit the {end - at} bytes left")
        try:
            name = str(data[at : at + name_size], "utf-8")
        except UnicodeDecodeError as error:
            raise _error(at, f"tensor {len(tensors)}: its name is not UTF-8") from error
        shape = struct.unpack_from(f"<{dims_size // 8}q", data, at + name_size)
        known = all(d >= 0 for d in shape)
        tensors.append(TensorInfo(name, _BY_GE.get(dtype), shape, names.get(fmt, "ND"), None if known else room))
        at += sum(sizes)
    if at != end:
        raise _error(at, f"{end - at} bytes after the last tensor")
    return tensors


def _take(head: struct.Struct, data: memoryview, at: int, end: int) -> tuple[Any, ...]:
    if end - at < head.size:
        raise _error(at, f"cut: {head.size} bytes expected, {end - at} are left")
    return head.unpack_from(data, at)


def _error(at: int, message: str) -> GeError:
    return GeError(f"MODEL_INOUT_INFO, byte {at}: {message}", code="GE1304")
