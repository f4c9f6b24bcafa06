"""Groups of fusions, by which switches and pass options name many topics of rules at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "elementwise": ("activation",),
        "compute": (
            "attention",
            "convolution",
            "matmul",
            "normalisation",
            "projection",
            "residual",
            "rotary",
            "softmax",
        ),
        "memory": ("memory",),
        "optimizer": ("optimizer",),
        "algebra": ("algebra",),
    }
)
"""Groups of fusions -> topics of rules. ``elementwise`` also lets element-wise ops share kernels, ``memory`` lets
kernels do moves of data themselves."""

FUSION = "fusion"
"""As a topic of rules: all groups."""


def topics_of(name: str) -> tuple[str, ...]:
    """The topics that a group stands for where a topic is asked for; a name that is no group is a topic itself."""
    if name == FUSION:
        return tuple(t for topics in MODES.values() for t in topics)
    return MODES.get(name, (name,))
