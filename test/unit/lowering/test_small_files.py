"""An OM stays about as large as its model: what repeats constants is done when the model runs."""

from __future__ import annotations

import numpy as np
import pytest

from gedialect.api import Settings, compile_module
from gedialect.testing.agree import parse

MODELS = {
    "expand": """
      %c = ge.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
      %w = ge.expand(%c) {shape = [2, 262144]} : (tensor<2x1xf32>) -> tensor<2x262144xf32>""",
    "tile": """
      %c = ge.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
      %w = ge.tile(%c) {multiples = [2, 131072]} : (tensor<1x2xf32>) -> tensor<2x262144xf32>""",
    "splat": """
      %w = ge.constant #ge.splat<0.5> : tensor<2x262144xf32>""",
    "fill": """
      %c = ge.constant dense<2.5> : tensor<f32>
      %w = ge.fill(none, %c) {dims = [2, 262144]} : (tensor<f32>) -> tensor<2x262144xf32>""",
}


@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("name", MODELS)
def test_repeated_constants(name: str, level: str) -> None:
    text = f"""func.func @main(%x: tensor<2x262144xf32> {{ge.name = "x"}}) -> (tensor<2xf32> {{ge.name = "y"}}) {{
      {MODELS[name]}
      %p = ge.mul(%x, %w) : (tensor<2x262144xf32>, tensor<2x262144xf32>) -> tensor<2x262144xf32>
      %y = ge.reduce_max(%p) {{axes = [1], keep_dims = false}} : (tensor<2x262144xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }}"""
    executable = compile_module(parse(text), Settings(level))
    x = np.random.default_rng(0).random((2, 262144)).astype(np.float32)
    w = {"expand": [[1], [2]], "tile": [1, 2] * 131072, "splat": 0.5, "fill": 2.5}[name]
    want = (x * np.array(w, np.float32)).max(axis=1)
    np.testing.assert_array_equal(executable.run({"x": x})["y"], want)
    assert executable.report.weight_bytes < 1 << 16
    assert executable.report.host_ops == []
