"""gedialect: an open compiler for neural networks on Ascend-style NPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gedialect.api import Executable, Report, compile, load

__all__ = ["Executable", "Report", "compile", "load"]


def __getattr__(name: str) -> Any:
    # `import gedialect` stays cheap: the command line tools need neither the compiler nor numpy to start
    if name in __all__:
        from gedialect import api

        return getattr(api, name)
    raise AttributeError(f"module 'gedialect' has no attribute {name!r}")
