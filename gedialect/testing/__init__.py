"""For tests of this and other projects: a lit configuration, a fast FileCheck runner, a round trip, proofs of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gedialect.testing.proof import Proof, check_rule

__all__ = ["Proof", "check_rule"]


def __getattr__(name: str) -> Any:
    """``check_rule`` needs numpy, the FileCheck runner does not."""
    if name in __all__:
        from gedialect.testing import proof

        return getattr(proof, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
