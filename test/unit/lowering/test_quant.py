"""Products of bytes that are scaled to another type, without host ops; sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels


@pytest.mark.parametrize("result", ["i8", "f16", "f32"])
def test_requantised_product(result: str) -> None:
    check_levels(
        f"""func.func @main(%x: tensor<5x70xi8>, %w: tensor<70x9xi8>, %s: tensor<9xf32>, %o: tensor<f32>, %b: tensor<9xi32>) -> tensor<5x9x{result}> {{
          %y = ge.quant_matmul(%x, %w, %s, %o, %b) {{transpose_x1 = false, transpose_x2 = false}}
            : (tensor<5x70xi8>, tensor<70x9xi8>, tensor<9xf32>, tensor<f32>, tensor<9xi32>) -> tensor<5x9x{result}>
          func.return %y : tensor<5x9x{result}> }}""",
        ("O0", "O2"),
    )
