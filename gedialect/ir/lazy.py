"""``np`` that loads numpy on first use.

Dialect files state the numpy semantics of their ops, yet ``ge-opt`` must start without numpy (0.15 s).
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _LazyModule(ModuleType):
        def __getattr__(self, name: str) -> Any:
            value = getattr(importlib.import_module(self.__name__), name)
            setattr(self, name, value)
            return value

    np = _LazyModule("numpy")

__all__ = ["np"]
