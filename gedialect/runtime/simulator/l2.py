"""What the chip's L2 cache holds between tasks: ranges of the model's regions, least recently used out first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class _Range:
    region: str
    index: int
    low: int
    high: int
    dirty: bool


class L2:
    """A fully associative write-back cache of ``size`` bytes over byte ranges, empty at first."""

    def __init__(self, size: int):
        self.size = size
        self.held = 0
        self._ranges: list[_Range] = []  # oldest first

    def read(self, region: str, index: int, offset: int, nbytes: int) -> int:
        """Bytes of the range that are not here; it is afterwards."""
        there, dirty = self._take(region, index, offset, offset + nbytes)
        self._put(_Range(region, index, offset, offset + nbytes, dirty))
        return nbytes - there

    def write(self, region: str, index: int, offset: int, nbytes: int) -> None:
        """Overwrite the range here; it goes to memory when it is evicted."""
        self._take(region, index, offset, offset + nbytes)
        self._put(_Range(region, index, offset, offset + nbytes, True))

    def evict(self) -> int:
        """Make what is held fit; returns the bytes to be written back."""
        written = 0
        while self.held > self.size:
            oldest = self._ranges[0]
            excess = min(self.held - self.size, oldest.high - oldest.low)
            oldest.low += excess
            self.held -= excess
            written += excess if oldest.dirty else 0
            if oldest.low == oldest.high:
                self._ranges.pop(0)
        return written

    def _take(self, region: str, index: int, low: int, high: int) -> tuple[int, bool]:
        """Remove what is held of a range; returns how much that was and whether any of it is dirty."""
        found, dirty = 0, False
        kept: list[_Range] = []
        for r in self._ranges:
            if r.region != region or r.index != index or r.high <= low or r.low >= high:
                kept.append(r)
                continue
            found += min(r.high, high) - max(r.low, low)
            dirty = dirty or r.dirty
            if r.low < low:
                kept.append(_Range(region, index, r.low, low, r.dirty))
            if r.high > high:
                kept.append(_Range(region, index, high, r.high, r.dirty))
        self._ranges = kept
        self.held -= found
        return found, dirty

    def _put(self, entry: _Range) -> None:
        if entry.high > entry.low:
            self._ranges.append(entry)
            self.held += entry.high - entry.low
