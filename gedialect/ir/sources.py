"""Names of the model nodes an op came from, kept in its location.

An importer gives each op ``name_loc(node_name)``; a rewrite that replaces several ops by one gives the new op
``merge`` of their locations. ``names`` reads them back, for the profile, the report and every error.
``ge-opt --print-debuginfo`` shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation

MAX_FUSED = 256
"""A fused location keeps this many parts; the rest of a huge group says nothing a person would read."""

_NONE = NoneAttr()


def name_loc(name: str) -> NameLoc:
    """The location of something that came from the model node ``name``."""
    return NameLoc(StringAttr(name), _NONE)


def _parts(loc: Attribute) -> Iterator[Attribute]:
    """The leaves of a location: no fused ones, no unknown ones."""
    stack = [loc]
    while stack:
        part = stack.pop()
        if isinstance(part, FusedLoc):
            stack.extend(reversed(cast("ArrayAttr[Attribute]", part.locations).data))
        elif not isinstance(part, UnknownLoc | NoneAttr):
            yield part


def merge(*locations: Attribute) -> LocationAttr:
    """One location that says everything ``locations`` say, in order, each part once."""
    parts = list(dict.fromkeys(part for loc in locations for part in _parts(loc)))
    if not parts:
        return UNKNOWN_LOC
    if len(parts) == 1 and isinstance(parts[0], NameLoc | FileLineColLoc | CallSiteLoc):
        return parts[0]
    return FusedLoc(tuple(parts[:MAX_FUSED]), _NONE)


def merge_ops(ops: Iterable[Operation]) -> LocationAttr:
    """The location of an op that replaces ``ops``."""
    return merge(*(op.location for op in ops))


def names_of(loc: Attribute) -> tuple[str, ...]:
    """The model node names in a location, in order, each once."""
    return tuple(dict.fromkeys(part.desc.data for part in _parts(loc) if isinstance(part, NameLoc)))


def names(op: Operation) -> tuple[str, ...]:
    """The model nodes ``op`` came from; of an op that holds others, also the nodes of those."""
    own = names_of(op.location)
    if own or not op.regions:
        return own
    return tuple(dict.fromkeys(n for inner in op.walk() if inner is not op for n in names_of(inner.location)))


def file_position(loc: Attribute) -> tuple[str, int, int] | None:
    """``(file, line, column)`` of the first part of a location that has one."""
    for part in _parts(loc):
        if isinstance(part, NameLoc):
            part = part.location
        if isinstance(part, FileLineColLoc):
            return part.filename.data, part.line.data, part.column.data
    return None
