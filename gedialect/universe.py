"""What plain ``xdsl-opt`` learns about gedialect through the ``xdsl.universe`` entry point.

Everything is a lazy factory: loading this file imports no dialect, no numpy and no onnx. Names must stay
disjoint from xDSL's, or ``xdsl-opt`` refuses to start.
"""

from __future__ import annotations

from xdsl.universe import Universe

from gedialect.ir.registry import dialect_factories, frontend_factories, pass_factories, target_factories

GE_UNIVERSE = Universe(
    all_dialects=dialect_factories(),
    all_passes=pass_factories(),
    all_targets=target_factories(),
    all_frontends=frontend_factories(),
)
