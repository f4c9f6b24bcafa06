"""Einsum without host ops, and adaptive pooling by products; sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels

SIZES = {"a": 3, "b": 2, "i": 5, "j": 4, "k": 6, "h": 2}


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(
    "equation",
    [
        "ij,jk->ik", "bij,bjk->bik", "bhid,bhjd->bhij", "ij->ji", "ij->", "ij,ij->ij", "i,j->ij", "ij,jk,ka->ia",
        "bij,bjk", "...ij,...jk->...ik", "ijk,ik->j",
    ],
)  # fmt: skip
def test_einsum(equation: str, dtype: str) -> None:
    left, _, right = equation.partition("->")
    sizes = {**SIZES, "d": 7}
    shapes = ["".join(f"{sizes[c]}x" for c in t.replace("...", "ah")) for t in left.split(",")]
    out = right.replace("...", "ah") if "->" in equation else "ik"  # implicit: the labels that stand once
    result = "".join(f"{sizes[c]}x" for c in out)
    args = ", ".join(f"%x{i}: tensor<{s}{dtype}>" for i, s in enumerate(shapes))
    names = ", ".join(f"%x{i}" for i in range(len(shapes)))
    types = ", ".join(f"tensor<{s}{dtype}>" for s in shapes)
    check_levels(
        f"""func.func @main({args}) -> tensor<{result}{dtype}> {{
          %y = ge.einsum({names}) {{equation = "{equation}"}} : ({types}) -> tensor<{result}{dtype}>
          func.return %y : tensor<{result}{dtype}> }}""",
        ("O0", "O2"),
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_adaptive_pool_with_unequal_windows(layout: str, dtype: str) -> None:
    x, y = ("2x3x13x8", "2x3x4x5") if layout == "NCHW" else ("2x13x8x3", "2x4x5x3")
    check_levels(
        f"""func.func @main(%x: tensor<{x}x{dtype}>) -> tensor<{y}x{dtype}> {{
          %y = ge.adaptive_avg_pool2d(%x) {{output_size = [4, 5], data_format = "{layout}"}} : (tensor<{x}x{dtype}>) -> tensor<{y}x{dtype}>
          func.return %y : tensor<{y}x{dtype}> }}""",
        ("O0", "O2"),
    )
