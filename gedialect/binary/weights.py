"""The WEIGHTS_DATA partition as a list of buffers: laid out, never joined in memory.

Every constant starts at a multiple of 512 bytes, equal ones share their place, and the total is (used + 32) rounded up
to 512 (GE ``compiler/graph/build/model_builder.cc``; see ``docs/om.md``).
"""

from __future__ import annotations

import hashlib
import mmap
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import IO

from typing_extensions import Buffer

from gedialect.errors import GeError

ALIGN = 512
TAIL = 32
_SAMPLE = 4096
_CHUNK = 1 << 20


def align(size: int, to: int = ALIGN) -> int:
    """``size`` rounded up to a multiple of ``to``."""
    return -(-size // to) * to


@dataclass(frozen=True)
class Span:
    """Bytes of a file: ``length`` of them from ``offset``; read only when needed."""

    path: str
    offset: int
    length: int


@dataclass(frozen=True)
class Deferred:
    """Bytes made when needed, each time anew; equal ``key`` (and length) means equal bytes."""

    length: int
    make: Callable[[], Buffer]
    key: str


Source = Buffer | Span | Deferred
"""Where the bytes of a constant come from. Buffers must be C-contiguous (a numpy array of uint8 will do)."""


@dataclass(frozen=True)
class Place:
    """Where a constant lies in WEIGHTS_DATA, in bytes."""

    offset: int
    size: int


def as_bytes(source: Source) -> memoryview:
    """The bytes of ``source`` as a flat view; a span is mapped, not read. GE1002 if its file cannot be read."""
    if isinstance(source, Span):
        return _map_span(source)
    if isinstance(source, Deferred):
        view = as_bytes(source.make())
        if len(view) != source.length:
            raise GeError(f"constant {source.key}: made {len(view)} bytes instead of {source.length}", code="GE1902")
        return view
    view = memoryview(source)
    return view.cast("B") if view.nbytes else memoryview(b"")


def chunks(source: Source) -> Iterator[Buffer]:
    """The bytes of ``source`` piece by piece; files are read a megabyte at a time."""
    if isinstance(source, Span):
        yield from _read_span(source)
    else:
        yield as_bytes(source)


def _map_span(span: Span) -> memoryview:
    try:
        stat = os.stat(span.path)
        if span.offset + span.length > stat.st_size:
            raise _beyond(span, stat.st_size)
        if span.length == 0:
            return memoryview(b"")
        mapped = _map_file(span.path, stat.st_ino, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror or error}", code="GE1002", where=span.path) from error
    return memoryview(mapped)[span.offset : span.offset + span.length]


@lru_cache(maxsize=8)
def _map_file(path: str, inode: int, mtime: int, size: int) -> mmap.mmap:
    """A mapping of the file; the other arguments make a changed file a new one."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def _beyond(span: Span, size: int) -> GeError:
    return GeError(
        f"weights at byte {span.offset}+{span.length} lie beyond the end of the file ({size} bytes)",
        code="GE1003",
        where=span.path,
        hint="the file changed since it was imported",
    )


def _read_span(span: Span) -> Iterator[bytes]:
    left = span.length
    try:
        with open(span.path, "rb") as file:
            file.seek(span.offset)
            while left:
                piece = file.read(min(left, _CHUNK))
                if not piece:
                    raise _beyond(span, file.tell())
                left -= len(piece)
                yield piece
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror or error}", code="GE1002", where=span.path) from error


def _size(source: Source) -> int:
    return source.length if isinstance(source, (Span, Deferred)) else memoryview(source).nbytes


@dataclass
class _Candidate:
    place: Place
    source: Source
    digest: bytes | None = None

    def full_digest(self) -> bytes:
        if self.digest is None:
            hasher = hashlib.blake2b(digest_size=32)
            for piece in chunks(self.source):
                hasher.update(piece)
            self.digest = hasher.digest()
        return self.digest


@dataclass
class Weights:
    """The constants of a model in file order; ``add`` places them, ``view`` reads them back."""

    segments: list[tuple[int, Source]] = field(default_factory=list[tuple[int, Source]])
    """(offset, bytes), ascending and not overlapping."""
    used: int = 0
    """Bytes up to the end of the last segment."""
    total: int | None = None
    """Size of the partition if it is fixed (a file that was read)."""
    deep: bool = False
    """Whether contents of deferred constants are compared as well: they have to be made for that, once more each."""
    _named: dict[Span | tuple[int, str], Place] = field(default_factory=dict[Span | tuple[int, str], Place], repr=False)
    _sampled: dict[tuple[int, bytes], list[_Candidate]] = field(
        default_factory=dict[tuple[int, bytes], "list[_Candidate]"], repr=False
    )
    _by_size: dict[int, list[_Candidate]] = field(default_factory=dict[int, "list[_Candidate]"], repr=False)

    @property
    def size(self) -> int:
        """Size of the partition in bytes, 0 if there are no constants."""
        if self.total is not None:
            return self.total
        return align(self.used + TAIL) if self.segments else 0

    def add(self, source: Source) -> Place:
        """Place a constant; one that equals an earlier constant shares its place.

        Contents are compared by digest, and only among constants of equal length, head and tail; those of deferred
        constants only if ``deep``.
        """
        if isinstance(source, Deferred):
            named: Span | tuple[int, str] = (source.length, source.key)
        elif isinstance(source, Span):
            named = source
        else:
            return self._add_content(source)
        place = self._named.get(named)
        if place is None:
            place = self._place(source) if isinstance(source, Deferred) else self._add_content(source)
            self._named[named] = place
        return place

    def _add_content(self, source: Span | Buffer) -> Place:
        key = _sample(source)
        same = self._sampled.setdefault(key, [])
        new = _Candidate(Place(0, 0), source)
        for old in same:
            if key[0] <= len(key[1]) or old.full_digest() == new.full_digest():
                return old.place
        new.place = self._place(source)
        same.append(new)
        return new.place

    def _place(self, source: Source) -> Place:
        """The place of a constant that none equals as far as that is told without making it."""
        new = _Candidate(Place(0, 0), source)
        same = self._by_size.setdefault(_size(source), [])
        if self.deep:
            for old in same:
                if old.full_digest() == new.full_digest():
                    return old.place
        new.place = self._append(source)
        same.append(new)
        return new.place

    def _append(self, source: Source) -> Place:
        place = Place(align(self.used), _size(source))
        self.segments.append((place.offset, source))
        self.used = place.offset + place.size
        return place

    def view(self, offset: int, size: int) -> memoryview:
        """``size`` bytes at ``offset``, zeros between constants included; GE1308 outside the partition."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise GeError(f"weights {offset}+{size} lie outside the {self.size} bytes of WEIGHTS_DATA", code="GE1308")
        at = bisect_right(self.segments, offset, key=_offset) - 1
        if at >= 0:
            start, source = self.segments[at]
            if offset + size <= start + _size(source):
                return as_bytes(source)[offset - start : offset - start + size]
        out = bytearray(size)
        for start, source in self.segments[max(at, 0) :]:
            if start >= offset + size:
                break
            data = as_bytes(source)
            low, high = max(start, offset), min(start + len(data), offset + size)
            if low < high:
                out[low - offset : high - offset] = data[low - start : high - start]
        return memoryview(out)

    def write(self, file: IO[bytes]) -> None:
        """Write the partition, one constant in memory at a time."""
        at = 0
        for offset, source in self.segments:
            file.write(bytes(offset - at))
            at = offset
            for piece in chunks(source):
                at += file.write(piece)
        file.write(bytes(self.size - at))


def _offset(segment: tuple[int, Source]) -> int:
    return segment[0]


def _sample(source: Span | Buffer) -> tuple[int, bytes]:
    """Length, head and tail; a short constant is its own sample."""
    size = _size(source)
    if size <= _SAMPLE:
        return size, bytes(as_bytes(source))
    half = _SAMPLE // 2
    if isinstance(source, Span):
        head = Span(source.path, source.offset, half)
        tail = Span(source.path, source.offset + size - half, half)
        return size, bytes(as_bytes(head)) + bytes(as_bytes(tail))
    view = as_bytes(source)
    return size, bytes(view[:half]) + bytes(view[size - half :])
