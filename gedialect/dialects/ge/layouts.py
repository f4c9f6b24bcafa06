"""``data_format``: where the channels are in memory, and moving them for the numpy semantics."""

from __future__ import annotations

from typing import Any

from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch

CHANNELS_FIRST = ("NCHW", "NCDHW", "NCL")
CHANNELS_LAST = ("NHWC", "NDHWC", "NLC")
LAYOUTS = (*CHANNELS_FIRST, *CHANNELS_LAST, "ND")


def channel_axis(data_format: str | None, rank: int) -> int:
    """The axis of C (absent format: channels first); GE1005 if the format is unknown or of another rank."""
    if data_format is None or data_format == "ND":
        return 1
    if data_format not in CHANNELS_FIRST + CHANNELS_LAST:
        raise mismatch(f"data_format {data_format} is not one of {', '.join(CHANNELS_FIRST + CHANNELS_LAST)}")
    if len(data_format) != rank:
        raise mismatch(f"data_format {data_format} needs rank {len(data_format)}, not {rank}")
    return data_format.index("C")


def spatial_axes(data_format: str | None, rank: int) -> tuple[int, ...]:
    """The axes that are neither N nor C."""
    c = channel_axis(data_format, rank)
    return tuple(i for i in range(1, rank) if i != c)


def channels_first(x: Any, data_format: str | None) -> Any:
    """A view of the array with C at axis 1."""
    return np.moveaxis(x, channel_axis(data_format, x.ndim), 1)


def channels_back(y: Any, data_format: str | None) -> Any:
    """Inverse of ``channels_first``, contiguous."""
    return np.ascontiguousarray(np.moveaxis(y, 1, channel_axis(data_format, y.ndim)))
