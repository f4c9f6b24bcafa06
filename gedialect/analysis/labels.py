"""Labels of kernels, such as ``conv2d_relu``: the ops of one kernel in order, as people and switches name them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from gedialect.dialects.ge import op_classes

_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "layernorm": ("layer_norm",),
        "rmsnorm": ("rms_norm",),
        "batchnorm": ("batch_norm",),
        "bn": ("batch_norm",),
        "conv": ("conv2d",),
        "bias": (),
        "silu": ("swish",),
        "maxpool": ("max_pool2d",),
        "avgpool": ("avg_pool2d",),
    }
)
"""Words of labels that are not names of ops; a bias is an operand."""


@cache
def label_ops(label: str) -> tuple[str, ...] | None:
    """The ops a label names, ``layernorm_add_gelu`` -> (ge.layer_norm, ge.add, ge.gelu); None if it is no label of
    two ops or more. The longest name counts: ``add_layer_norm`` is one op."""
    names = {c.name.removeprefix("ge.") for c in op_classes()}
    words = label.split("_")
    found: list[str] = []
    while words:
        for n in range(len(words), 0, -1):
            part = "_".join(words[:n])
            if part in names or part in _WORDS:
                found += [part] if part in names else _WORDS[part]
                words = words[n:]
                break
        else:
            return None
    return tuple(f"ge.{n}" for n in found) if len(found) > 1 else None
