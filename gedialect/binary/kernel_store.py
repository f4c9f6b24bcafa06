"""The TBE_KERNELS partition: named kernel binaries, {u32 magic, u32 name_len, u32 bin_len, name, bin} back to back.

Source: GE ``ge/common/kernel_store.cc`` (graphengine r1.8, Apache-2.0). The binaries are in our own encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import IO

from gedialect.errors import GeError

MAGIC = 0x5D776EFD
_HEAD = struct.Struct("<III")


def size(kernels: Mapping[str, bytes]) -> int:
    """Bytes of the partition."""
    return sum(_HEAD.size + len(name.encode()) + len(binary) for name, binary in kernels.items())


def write(kernels: Mapping[str, bytes], file: IO[bytes]) -> None:
    """Write the kernels in the order of ``kernels``."""
    for name, binary in kernels.items():
        raw = name.encode()
        file.write(_HEAD.pack(MAGIC, len(raw), len(binary)))
        file.write(raw)
        file.write(binary)


def read(data: memoryview) -> dict[str, bytes]:
    """The kernels of a partition; GE1306 if it is malformed."""
    kernels: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        place = f"TBE_KERNELS, kernel {len(kernels)} at byte {at}"
        if len(data) - at < _HEAD.size:
            raise GeError(f"{place}: cut in its head", code="GE1306")
        magic, name_size, binary_size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if magic != MAGIC:
            raise GeError(f"{place}: wrong magic 0x{magic:08X}", code="GE1306")
        if name_size + binary_size > len(data) - at:
            need = name_size + binary_size
            raise GeError(f"{place}: needs {need} bytes, {len(data) - at} are left", code="GE1306")
        try:
            name = str(data[at : at + name_size], "utf-8")
        except UnicodeDecodeError as error:
            raise GeError(f"{place}: its name is not UTF-8", code="GE1306") from error
        if name in kernels:
            raise GeError(f"{place}: second kernel of the name {name}", code="GE1306")
        at += name_size
        kernels[name] = bytes(data[at : at + binary_size])
        at += binary_size
    return kernels
