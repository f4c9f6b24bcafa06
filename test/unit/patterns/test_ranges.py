"""Rules that fold constants leave those alone whose product or sum is no number of the type."""

from __future__ import annotations

import numpy as np
import pytest

from gedialect.api import Settings, compile_module
from gedialect.testing.agree import parse

CASES = {
    "division": ("f16", "ge.div(%x, %c)", "", 1e-5, 0.0),
    "products": ("f16", "ge.mul(%x, %c)", "ge.mul(%0, %d)", 300.0, 300.0),
    "vanishing products": ("f32", "ge.mul(%x, %c)", "ge.mul(%0, %d)", 1e-30, 1e-30),
    "sums": ("f16", "ge.add(%x, %c)", "ge.add(%0, %d)", 6e4, 6e4),
}


@pytest.mark.parametrize("name", CASES)
def test_folding_does_not_overflow(name: str) -> None:
    dtype, first, second, c, d = CASES[name]
    t = f"tensor<4x{dtype}>"
    lines = [f"%0 = {first} : ({t}, tensor<{dtype}>) -> {t}"]
    if second:
        lines.append(f"%1 = {second} : ({t}, tensor<{dtype}>) -> {t}")
    text = f"""func.func @main(%x: {t} {{ge.name = "x"}}) -> {t} {{
      %c = ge.constant #ge.splat<{c:.8e}> : tensor<{dtype}>
      %d = ge.constant #ge.splat<{d:.8e}> : tensor<{dtype}>
      {chr(10).join(lines)}
      func.return %{len(lines) - 1} : {t} }}"""
    kind = np.float32 if dtype == "f32" else np.float16
    x = np.array([0, 1e-3, -6e4, 0.5] if dtype == "f16" else [0, 1e38, -1e38, 1e25], kind)
    got = [next(iter(compile_module(parse(text), Settings(level)).run({"x": x}).values())) for level in ("O0", "O2")]
    np.testing.assert_array_equal(np.isfinite(got[1]), np.isfinite(got[0]))
    np.testing.assert_allclose(got[1], got[0], rtol=1e-2 if dtype == "f16" else 1e-5)
