"""Where the weights of an imported module lie: moving those kept in memory to a file, renaming files."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from xdsl.dialects.builtin import ModuleOp

from gedialect.dialects.ge.attrs import WeightAttr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.ir.weights import STORE

MEMORY = "memory:"
ALIGNMENT = 64
"""Bytes a weight is aligned to in a file that we write."""


def _weights(module: ModuleOp) -> list[tuple[ConstantOp, WeightAttr]]:
    return [(op, op.value) for op in module.walk() if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr)]


def rename_weights(module: ModuleOp, rename: Callable[[str], str]) -> None:
    """Replace the file names in weight references; the bytes are not touched."""
    for op, value in _weights(module):
        new = rename(value.file.data)
        if new != value.file.data:
            op.value = WeightAttr.get(new, value.offset.data, value.length.data)


def has_memory_weights(module: ModuleOp) -> bool:
    """Whether some weights exist in memory only."""
    return any(value.file.data.startswith(MEMORY) for _, value in _weights(module))


def write_memory_weights(module: ModuleOp, out: BinaryIO, name: str) -> None:
    """Write weights that exist in memory only to ``out`` and refer to it as ``name``; equal references once."""
    places: dict[WeightAttr, WeightAttr] = {}
    for op, value in _weights(module):
        if not value.file.data.startswith(MEMORY):
            continue
        if value not in places:
            out.write(b"\0" * (-out.tell() % ALIGNMENT))
            places[value] = WeightAttr.get(name, out.tell(), value.length.data)
            out.write(STORE.span(value.file.data, value.offset.data, value.length.data))
        op.value = places[value]


def files_of(module: ModuleOp) -> list[str]:
    """Paths of the files that weights are read from, each once."""
    files = dict.fromkeys(value.file.data for _, value in _weights(module))
    return [STORE.path(f) for f in files if not f.startswith(MEMORY)]
