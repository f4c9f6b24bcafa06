"""Converters of ONNX ops, one family a file; importing a file registers its converters."""
