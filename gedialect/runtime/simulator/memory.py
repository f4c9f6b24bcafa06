"""On-chip memory of one core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...binary.isa import SPACE_BYTES
from ...binary.kernel import View
from ...errors import GeError

Array = npt.NDArray[Any]
VECTOR_SPACES = ("ub",)
CUBE_SPACES = ("l1", "l0a", "l0b", "l0c", "bt")
_L0 = ("l0a", "l0b")


class Core:
    """Memories of a cube core or a vector core.

    L0A and L0B hold half and byte elements as float32, so that tiles multiply without conversion; there is one such
    store per element type, so a tile must be read in the type it was written in.
    """

    def __init__(self, is_cube: bool, sizes: Mapping[str, int] = SPACE_BYTES):
        self.sizes = dict(sizes)
        self.spaces = CUBE_SPACES if is_cube else VECTOR_SPACES
        self._stores: dict[tuple[str, str], Array] = {}

    @staticmethod
    def scale(view: View) -> int:
        """Bytes held per byte of the tile."""
        return 4 // view.dtype.itemsize if view.space in _L0 else 1

    @staticmethod
    def stored(view: View) -> tuple[np.dtype[Any], tuple[str, str]]:
        """The element type held for the view's elements, with a key for it."""
        if view.space in _L0:
            return np.dtype(np.float32), ("dtype", "f32")
        return view.dtype.numpy, ("dtype", view.dtype.name)

    def store(self, view: View) -> Array:
        """The bytes of the view's space."""
        if view.space not in self.spaces:
            raise GeError(f"this core has no {view.space}", code="GE1308")
        key = (view.space, view.dtype.name if view.space in _L0 else "")
        found = self._stores.get(key)
        if found is None:
            found = self._stores[key] = np.zeros(self.sizes[view.space] * self.scale(view), np.uint8)
        return found

    def view(self, view: View, base: int) -> Array:
        """The array of ``view`` with its first element at byte ``base``; GE1308 if it leaves the space."""
        store = self.store(view)
        if view.shape == (-1,):
            return store
        low, high = view.extent
        if base + low < 0 or base + high > self.sizes[view.space]:
            raise GeError(
                f"tile at bytes {base + low} to {base + high} lies outside {view.space} "
                f"({self.sizes[view.space]} bytes)",
                code="GE1308",
            )
        scale = self.scale(view)
        strides = tuple(s * view.dtype.itemsize * scale for s in view.strides)
        return np.ndarray(view.shape, self.stored(view)[0], store, base * scale, strides)
