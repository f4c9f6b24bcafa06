"""Readers of model files, one package per format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gedialect.errors import UsageError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

KINDS = (".onnx",)
"""Model files ``import_model`` reads, by extension."""


def import_model(path: str, input_shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """The ge module of a model file; UsageError GE1013 for a kind of file nobody reads, GE10xx for a bad one."""
    extension = os.path.splitext(path)[1].lower()
    if extension not in KINDS:
        raise UsageError(
            "unknown kind of model file", code="GE1013", where=path, hint=f"gedialect reads {', '.join(KINDS)} files"
        )
    from gedialect.frontends import onnx

    return onnx.import_model(path, None if input_shapes is None else dict(input_shapes))


def import_inputs(path: str, input_shapes: Mapping[str, Sequence[int]] | None = None) -> ModuleOp:
    """A ge module whose function has the inputs of a model file. Where the format allows it, that is all it has: nodes
    that cannot be converted while sizes are unknown do not matter then."""
    if os.path.splitext(path)[1].lower() != ".onnx":
        return import_model(path, input_shapes)
    from gedialect.frontends import onnx

    return onnx.import_inputs(path, input_shapes)
