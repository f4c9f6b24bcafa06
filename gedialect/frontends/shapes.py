"""Input shapes as given on the command line, for all readers."""

from __future__ import annotations

from gedialect.ir.input_shapes import format_input_shapes, parse_input_shapes

__all__ = ["format_input_shapes", "parse_input_shapes"]
