"""Conditions and shape functions that several topics use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gedialect.dialects.ge.layouts import channel_axis
from gedialect.errors import GeError
from gedialect.patterns.values import NoMatch, Value


def known_shape(value: Value) -> list[int]:
    """The shape as a ``shape`` attribute of reshape; one unknown size is -1, more do not fit."""
    shape = value.shape
    if sum(d == -1 for d in shape) > 1 or 0 in shape:
        raise NoMatch(f"the shape {list(shape)} cannot be written as an attribute")
    return list(shape)


def varies(x: Value) -> bool:
    """Whether ``x`` is known only when the model runs."""
    return not x.is_const


def compose(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """The permutation of two transposes in a row."""
    return [first[i] for i in second]


def along_axis(c: Value, size: int, axis: int, rank: int) -> bool:
    """Whether ``c``, broadcast against ``rank`` axes, has one value for each index of ``axis`` (or one in all)."""
    at = axis - rank + c.rank
    return c.rank <= rank and all(d == 1 or (i == at and d == size) for i, d in enumerate(c.shape))


def per_channel(c: Value, out: Value, attrs: Any) -> bool:
    """Whether ``c`` has one value for each channel of ``out`` (or one in all)."""
    axis = _channel_axis(out, attrs)
    return out.shape[axis] > 0 and along_axis(c, out.shape[axis], axis, out.rank)


def channels(out: Value, attrs: Any) -> int:
    """Number of channels of ``out``."""
    return out.shape[_channel_axis(out, attrs)]


def _channel_axis(out: Value, attrs: Any) -> int:
    try:
        return channel_axis(attrs.data_format, out.rank)
    except GeError as error:  # the sum with something of a higher rank
        raise NoMatch(error.message) from None


def is_row(b: Value, out: Value) -> bool:
    """Whether ``b`` has one value for each index of the last axis of ``out``."""
    n = out.shape[-1]
    return n > 0 and b.rank >= 1 and b.shape[-1] == n and b.rank <= out.rank and all(d == 1 for d in b.shape[:-1])


def stripped(c: Value) -> list[int]:
    """The shape without leading ones."""
    shape = list(c.shape)
    while shape and shape[0] == 1:
        shape.pop(0)
    return shape
