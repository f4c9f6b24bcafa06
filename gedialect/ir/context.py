"""The context of gedialect: xDSL's, plus our dialects on demand, the weight store and pass statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context

from gedialect.ir.registry import dialect_factories

if TYPE_CHECKING:
    from xdsl.ir import Dialect

    from gedialect.ir.weights import WeightStore

_FROM_XDSL = ("arith", "builtin", "func", "scf", "test")


def _from_xdsl(name: str) -> Dialect:
    from xdsl.dialects import get_all_dialects

    return get_all_dialects()[name]()


@dataclass
class GeContext(Context):
    """Knows ge, npu, builtin, func, scf, arith and test by name; a dialect is imported when its first op is met."""

    statistics: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """(pass, what) -> how often, for ``ge-opt --pass-statistics``."""
    extensions: dict[str, object] = field(default_factory=dict[str, object])
    """What other parts keep for the time of a compilation, by their name; clones share it."""

    def __post_init__(self) -> None:
        if self._registered_dialects:
            return
        for name in _FROM_XDSL:
            self.register_dialect(name, lambda name=name: _from_xdsl(name))
        for name, factory in dialect_factories().items():
            self.register_dialect(name, factory)

    @property
    def weights(self) -> WeightStore:
        """What resolves ``#ge.weight`` references; one for the process, so shared by clones."""
        from gedialect.ir.weights import STORE

        return STORE

    def clone(self) -> GeContext:
        """A context with the same registrations, the same weight store and statistics of its own."""
        return GeContext(
            self.allow_unregistered,
            self._loaded_dialects.copy(),
            self._loaded_ops.copy(),
            self._loaded_attrs.copy(),
            self._loaded_types.copy(),
            self._registered_dialects.copy(),
            extensions=self.extensions,
        )


def count(ctx: Context, pass_name: str, what: str, times: int = 1) -> None:
    """Count something a pass did; a plain xDSL context keeps no statistics."""
    if isinstance(ctx, GeContext):
        ctx.statistics[pass_name, what] += times
