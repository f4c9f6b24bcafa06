"""The OM container: header, partition table, partitions. See ``docs/om.md`` for every field and its source.

An :class:`OmFile` is the file in memory: protobuf messages, kernels, and the weights as a list of buffers that are
written one after another and mapped when read. Same OmFile, same bytes: no time, path or hash seed goes in.
"""

from __future__ import annotations

import io
import mmap
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

from google.protobuf.message import DecodeError
from typing_extensions import Buffer

from gedialect.binary import inout, kernel_store
from gedialect.binary.inout import TensorInfo
from gedialect.binary.output import atomic_output
from gedialect.binary.protos.domi import ModelTaskDef
from gedialect.binary.protos.ge import ModelDef
from gedialect.binary.weights import Weights
from gedialect.errors import GeError

MAGIC = 0x444F4D49
HEADER_SIZE = 256
VERSION = 0x20000000
MAX_MESSAGE = (1 << 31) - 1
MODEL_DEF, WEIGHTS_DATA, TASK_INFO, TBE_KERNELS, CUST_AICPU_KERNELS, SO_BINS = range(6)
MODEL_INOUT_INFO = 8
PARTITIONS = {
    0: "MODEL_DEF", 1: "WEIGHTS_DATA", 2: "TASK_INFO", 3: "TBE_KERNELS", 4: "CUST_AICPU_KERNELS", 5: "SO_BINS",
    6: "FLOW_MODEL", 7: "FLOW_SUBMODEL", 8: "MODEL_INOUT_INFO", 9: "STATIC_TASK_DESC", 10: "DYNAMIC_TASK_DESC",
    11: "TASK_PARAM", 12: "TILING_DATA", 20: "PRE_MODEL_DESC", 21: "PRE_MODEL_SQE", 22: "PRE_KERNEL_ARGS",
    23: "PRE_MODEL_DESC_EXTEND", 24: "BUNDLE_MODEL_INFO", 25: "BUNDLE_MODEL_VAR_INFO", 26: "CUSTOM_OPS",
}  # fmt: skip
_MAX_PARTITIONS = 8  # the open loader takes {1, 3, 4, 5} + 0..3

_HEADER = struct.Struct("<III64sIBBBB32sI32sII20sB3xQBB62x")
_NARROW, _WIDE = struct.Struct("<III"), struct.Struct("<I4xQQ")
assert _HEADER.size == HEADER_SIZE


M = TypeVar("M", ModelDef, ModelTaskDef)


@dataclass
class OmFile:
    """One static model. ``extra`` holds partitions of other types as bytes, ``info`` entries of MODEL_INOUT_INFO beside
    inputs and outputs; both are kept on rewriting."""

    name: str
    model: ModelDef
    tasks: ModelTaskDef = field(default_factory=ModelTaskDef)
    weights: Weights = field(default_factory=Weights)
    kernels: dict[str, bytes] = field(default_factory=dict[str, bytes])
    inputs: list[TensorInfo] = field(default_factory=list[TensorInfo])
    outputs: list[TensorInfo] = field(default_factory=list[TensorInfo])
    platform_version: str = ""
    """At most 20 bytes of text; the chip is in the model attribute ``soc_version``."""
    om_ir_version: int = 2
    extra: dict[int, Buffer] = field(default_factory=dict[int, Buffer])
    info: dict[int, bytes] = field(default_factory=dict[int, bytes])


def write_om(om: OmFile, path: str | os.PathLike[str]) -> int:
    """Write ``om`` to ``path`` and return the size in bytes; the file appears complete or not at all.

    GE1012 if the file cannot be written, GE1310 if the model does not fit the format.
    """
    with atomic_output(path) as name, open(name, "wb") as file:
        return write_stream(om, file)


def to_bytes(om: OmFile) -> bytes:
    """The whole file in memory; for small models and tests."""
    out = io.BytesIO()
    write_stream(om, out)
    return out.getvalue()


def write_stream(om: OmFile, file: IO[bytes]) -> int:
    """Write ``om`` to an open binary file; returns the number of bytes."""
    parts = _partitions(om)
    table = 8 + _WIDE.size * len(parts)
    body = table + sum(size for _, size, _ in parts)
    file.write(_header(om, body))
    file.write(struct.pack("<II", len(parts), 0))
    offset = 0
    for kind, size, _ in parts:
        file.write(_WIDE.pack(kind, offset, size))
        offset += size
    for _, _, write in parts:
        write(file)
    return HEADER_SIZE + body


_Part = tuple[int, int, Callable[[IO[bytes]], object]]


def _partitions(om: OmFile) -> list[_Part]:
    """(type, size, writer) in GE's order for a static offline model: others, 8, 0, 1, 3, 4, 2."""
    aicpu = om.extra.get(CUST_AICPU_KERNELS)
    parts = [_blob(kind, om.extra[kind]) for kind in sorted(om.extra) if kind != CUST_AICPU_KERNELS]
    parts.append(_blob(MODEL_INOUT_INFO, inout.encode(om.inputs, om.outputs, om.info)))
    parts.append(_blob(MODEL_DEF, _message(om.model, MODEL_DEF)))
    if om.weights.size:
        parts.append((WEIGHTS_DATA, om.weights.size, om.weights.write))
    if om.kernels:
        parts.append((TBE_KERNELS, kernel_store.size(om.kernels), lambda file: kernel_store.write(om.kernels, file)))
    if aicpu is not None:
        parts.append(_blob(CUST_AICPU_KERNELS, aicpu))
    parts.append(_blob(TASK_INFO, _message(om.tasks, TASK_INFO)))
    return parts


def _blob(kind: int, data: Buffer) -> _Part:
    return kind, memoryview(data).nbytes, lambda file: file.write(data)


def _message(message: ModelDef | ModelTaskDef, kind: int) -> bytes:
    size = message.ByteSize()
    if size > MAX_MESSAGE:
        raise GeError(f"{PARTITIONS[kind]} needs {size} bytes, more than the 2 GiB of protobuf", code="GE1310")
    return message.SerializeToString(deterministic=True)


def _header(om: OmFile, body: int) -> bytes:
    name = _cut(om.name, 31)
    platform = _cut(om.platform_version, 20)
    return _HEADER.pack(
        MAGIC, HEADER_SIZE, VERSION, b"", 0, 0, 1, 0, 0, name, 0, b"", om.om_ir_version, 1, platform, 0, body, 0, 0
    )  # fmt: skip


def _cut(text: str, size: int) -> bytes:
    """At most ``size`` bytes of UTF-8, no half characters."""
    return text.encode()[:size].decode(errors="ignore").encode()


def read_om(path: str | os.PathLike[str]) -> OmFile:
    """Read an OM file; weights stay mapped. GE1002 if it cannot be read, GE13xx (what, where) if it is malformed."""
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GeError(f"cannot read: {reason}", code="GE1002", where=path) from error
    try:
        return from_bytes(data)
    except GeError as error:
        raise error.at(path) from error.__cause__


def from_bytes(data: Buffer) -> OmFile:
    """Decode a file in memory (or a mapped one); GE13xx if it is malformed."""
    view = memoryview(data).toreadonly()
    head = _read_header(view)
    parts = _read_table(view, wide=head.wide)
    if MODEL_DEF not in parts:
        raise GeError("the file holds no MODEL_DEF", code="GE1303")
    inputs, outputs, info = inout.decode(parts.pop(MODEL_INOUT_INFO, memoryview(b"")))
    weights = Weights()
    if WEIGHTS_DATA in parts:
        blob = parts.pop(WEIGHTS_DATA)
        weights = Weights([(0, blob)], len(blob), len(blob))
    return OmFile(
        name=head.name,
        model=_parse(ModelDef, parts.pop(MODEL_DEF), MODEL_DEF, "GE1305"),
        tasks=_parse(ModelTaskDef, parts.pop(TASK_INFO, memoryview(b"")), TASK_INFO, "GE1307"),
        weights=weights,
        kernels=kernel_store.read(parts.pop(TBE_KERNELS, memoryview(b""))),
        inputs=inputs,
        outputs=outputs,
        platform_version=head.platform_version,
        om_ir_version=head.om_ir_version,
        extra=dict(parts),
        info=info,
    )


@dataclass(frozen=True)
class _Header:
    name: str
    platform_version: str
    om_ir_version: int
    wide: bool


def _read_header(data: memoryview) -> _Header:
    if len(data) < HEADER_SIZE:
        raise GeError(f"not an OM file: {len(data)} bytes, the header alone has {HEADER_SIZE}", code="GE1301")
    fields: tuple[Any, ...] = _HEADER.unpack_from(data)
    magic, head_size, version, _, length, encrypted, _, kind = fields[:8]
    name, platform, model_num, model_length, unknown_shape = (fields[i] for i in (9, 14, 13, 16, 18))
    if magic != MAGIC:
        raise GeError(f"not an OM file: it starts with 0x{magic:08X} instead of 0x{MAGIC:08X} (IMOD)", code="GE1301")
    if head_size != HEADER_SIZE:
        raise GeError(f"header, byte 4: size {head_size} instead of {HEADER_SIZE}", code="GE1302")
    if version not in (VERSION, 0x10000000):
        raise GeError(f"header, byte 8: unknown version 0x{version:08X}", code="GE1302")
    if encrypted:
        raise GeError("the model is encrypted", code="GE1302", hint="only plain OM files can be read")
    if kind != 0 or unknown_shape or (version == VERSION and model_num != 1):
        raise GeError(
            f"model type {kind} with {model_num} sub-models, {'dynamic' if unknown_shape else 'static'} shapes",
            code="GE1302",
            hint="only OM files with one static model can be read",
        )
    stated = model_length or length
    if stated != len(data) - HEADER_SIZE:
        raise GeError(
            f"header states {stated} bytes after it, the file has {len(data) - HEADER_SIZE}",
            code="GE1302",
            hint="the file is cut or damaged",
        )
    return _Header(_text(name), _text(platform), fields[12], bool(model_length))


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def _read_table(data: memoryview, *, wide: bool) -> dict[int, memoryview]:
    """Partitions by type. Stated offsets must agree with the sizes, which is all that GE's loader looks at."""
    entry, start = (_WIDE, HEADER_SIZE + 8) if wide else (_NARROW, HEADER_SIZE + 4)
    if len(data) < start:
        raise GeError("partition table: cut", code="GE1303")
    (count,) = struct.unpack_from("<I", data, HEADER_SIZE)
    if not 1 <= count <= _MAX_PARTITIONS:
        raise GeError(f"partition table: {count} partitions, expected 1 to {_MAX_PARTITIONS}", code="GE1303")
    body = start + count * entry.size
    if body > len(data):
        raise GeError(f"partition table: {count} entries do not fit in the file", code="GE1303")
    parts: dict[int, memoryview] = {}
    at = 0
    for index in range(count):
        kind, offset, size = entry.unpack_from(data, start + index * entry.size)
        place = f"partition {index} ({PARTITIONS.get(kind, f'type {kind}')})"
        if kind not in PARTITIONS:
            raise GeError(f"{place}: unknown type", code="GE1303")
        if kind in parts:
            raise GeError(f"{place}: second of its type", code="GE1303")
        if offset != at:
            what = "overlaps the one before" if offset < at else "leaves a gap"
            raise GeError(f"{place}: starts at {offset} instead of {at}, {what}", code="GE1303")
        if size > len(data) - body - at:
            raise GeError(f"{place}: needs {size} bytes, {len(data) - body - at} are left", code="GE1303")
        parts[kind] = data[body + at : body + at + size]
        at += size
    if body + at != len(data):
        raise GeError(f"{len(data) - body - at} bytes after the last partition", code="GE1303")
    return parts


def _parse(message: type[M], data: memoryview, kind: int, code: str) -> M:
    try:
        return message.FromString(bytes(data))
    except DecodeError as error:
        raise GeError(f"{PARTITIONS[kind]} ({len(data)} bytes) is not valid protobuf", code=code) from error
