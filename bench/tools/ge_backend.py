"""Callables for onnx_node_suite.py: `--backend ge_backend:compiled` or `--backend ge_backend:interpreted`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import gedialect

LEVEL = os.environ.get("GE_LEVEL", "O2")


def _shapes(inputs: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {k: tuple(np.asarray(v).shape) for k, v in inputs.items() if v is not None}


def compiled(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Compile at `GE_LEVEL` (O2), run on the simulator with the sanitizer."""
    return gedialect.compile(model, level=LEVEL, input_shapes=_shapes(inputs)).run(inputs, sanitize=True)


def interpreted(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Import, and run the ge interpreter."""
    from gedialect import interpreter
    from gedialect.api import import_source

    return interpreter.run(import_source(model, _shapes(inputs)), inputs)
