"""Resizing without host ops: results equal to the op's own, sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels


def resize(shape: str, result: str, attrs: str, dtype: str = "f32") -> str:
    x, y = f"tensor<{shape}x{dtype}>", f"tensor<{result}x{dtype}>"
    return f"""func.func @main(%x: {x}) -> {y} {{
      %y = ge.resize(%x) {{{attrs}}} : ({x}) -> {y}
      func.return %y : {y} }}"""


@pytest.mark.parametrize("rule", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    ("axes", "shape", "result", "sizes"),
    [
        ("[2, 3]", "2x3x6x5", "2x3x12x15", "[12, 15]"),
        ("[1, 2]", "2x6x5x3", "2x9x4x3", "[9, 4]"),
        ("[2, 3]", "1x2x8x8", "1x2x4x4", "[4, 4]"),
    ],
)
def test_modes(mode: str, rule: str, axes: str, shape: str, result: str, sizes: str) -> None:
    attrs = f'sizes = {sizes}, axes = {axes}, mode = "{mode}", coordinate_transformation_mode = "{rule}"'
    check_levels(resize(shape, result, attrs), ("O0", "O2"))


@pytest.mark.parametrize("dtype", ["f16", "ui8"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_other_types(mode: str, dtype: str) -> None:
    attrs = f'scales = [1.0, 1.0, 2.0, 2.0], mode = "{mode}", coordinate_transformation_mode = "asymmetric"'
    check_levels(resize("1x3x4x4", "1x3x8x8", f'{attrs}, nearest_mode = "floor"', dtype), ("O2",))


def test_an_integer_factor_is_one_kernel() -> None:
    attrs = 'scales = [1.0, 2.0, 3.0, 1.0], mode = "nearest", coordinate_transformation_mode = "asymmetric"'
    reports = check_levels(resize("1x4x4x8", "1x8x12x8", f'{attrs}, nearest_mode = "floor"'), ("O2",))
    assert reports[0].kernels == 1


def test_cut_outs_and_antialias() -> None:
    attrs = 'sizes = [5, 7], roi = [0.2, -0.1, 0.9, 1.2], axes = [1, 2], coordinate_transformation_mode = "tf_crop_and_resize"'
    for mode in ("nearest", "linear"):
        check_levels(resize("2x6x5x3", "2x5x7x3", f'{attrs}, mode = "{mode}", extrapolation_value = 2.5'), ("O2",))
    attrs = 'sizes = [3, 4], axes = [1, 2], coordinate_transformation_mode = "half_pixel", antialias = true'
    check_levels(resize("2x8x9x3", "2x3x4x3", f'{attrs}, mode = "linear"'), ("O2",))
