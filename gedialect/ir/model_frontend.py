"""The ONNX reader as an xDSL frontend, so that ``ge-opt model.onnx`` and ``xdsl-opt model.onnx`` work."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.frontend import Frontend

from gedialect.errors import UsageError
from gedialect.ir.input_shapes import parse_input_shapes


@dataclass(frozen=True)
class OnnxFrontend(Frontend):
    """Reads an ONNX model file; weights stay in the file and are referred to by offset."""

    name = "onnx"

    input_shape: str | None = None
    """Sizes of unknown dims, in the form of ``ge-import --input-shape``."""

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        if not os.path.isfile(input_name):
            raise UsageError("an ONNX model can be read from a file only", code="GE1013", hint="give its path")
        # The reader is found by name: frontends build on ir, not the other way round.
        reader = importlib.import_module("gedialect.frontends.onnx")
        shapes = None
        if self.input_shape is not None:
            shapes = parse_input_shapes(self.input_shape)
        return reader.import_model(input_name, input_shapes=shapes)
