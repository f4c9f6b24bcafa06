"""Ops that run as other ops: no host op, results as the op itself defines them, sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels


def one(op: str, shape: str, result: str, attrs: str = "", dtype: str = "f32") -> str:
    x, y = f"tensor<{shape}x{dtype}>", f"tensor<{result}x{dtype}>"
    return f"""func.func @main(%x: {x}) -> {y} {{
      %y = ge.{op}(%x) {{{attrs}}} : ({x}) -> {y}
      func.return %y : {y} }}"""


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(
    ("shape", "layout"), [("2x20x9x7", "NCHW"), ("2x9x7x20", "NHWC"), ("1x3x5x5", "NCHW"), ("3x12", "NC")]
)
def test_lrn(shape: str, layout: str, dtype: str) -> None:
    attrs = f'depth_radius = 2, bias = 1.0, alpha = 0.02, beta = 0.75, data_format = "{layout}"'
    check_levels(one("lrn", shape, shape, attrs, dtype), ("O0", "O2"))


def test_lrn_of_an_even_window() -> None:
    attrs = 'depth_radius = 1, depth_radius_end = 2, bias = 2.0, alpha = 0.1, beta = 0.5, data_format = "NCHW"'
    check_levels(one("lrn", "1x6x4x4", "1x6x4x4", attrs), ("O2",))


@pytest.mark.parametrize(("shape", "result", "layout"), [
    ("2x3x6x7x9", "2x3x3x3x5", "NCDHW"), ("2x6x7x9x3", "2x3x3x5x3", "NDHWC"),
])  # fmt: skip
def test_pools_of_three_axes(shape: str, result: str, layout: str) -> None:
    common = "ksize = [2, 3, 3], strides = [2, 2, 2], pads = [0, 0, 1, 0, 0, 1], ceil_mode = false"
    check_levels(one("max_pool3d", shape, result, f'{common}, dilations = [1, 1, 1], data_format = "{layout}"'))
    for include in ("true", "false"):
        attrs = f'{common}, count_include_pad = {include}, data_format = "{layout}"'
        check_levels(one("avg_pool3d", shape, result, attrs), ("O0", "O2"))


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("ceil", ["true", "false"])
def test_lp_pool(p: int, ceil: str) -> None:
    size = 5 if ceil == "true" else 4
    attrs = f"p = {p}, ksize = [3, 3], strides = [2, 2], pads = [0, 0, 0, 0], ceil_mode = {ceil}"
    check_levels(one("lp_pool2d", "2x3x10x10", f"2x3x{size}x{size}", attrs), ("O0", "O2"))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_adaptive_pool_with_equal_windows(layout: str) -> None:
    x, y = ("2x3x12x8", "2x3x4x2") if layout == "NCHW" else ("2x12x8x3", "2x4x2x3")
    check_levels(one("adaptive_avg_pool2d", x, y, f'output_size = [4, 2], data_format = "{layout}"'), ("O0", "O2"))


def body(inputs: str, text: str, results: str, names: str) -> str:
    """A function of ``inputs`` that returns ``names`` of types ``results``."""
    return f"func.func @main({inputs}) -> ({results}) {{ {text} func.return {names} : {results} }}"


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("dtype", ["f32", "i1"])
def test_pads_that_repeat(mode: str, dtype: str) -> None:
    check_levels(one("pad", "2x5x6", "2x8x13", f'paddings = [0, 1, 4, 0, 2, 3], mode = "{mode}"', dtype), ("O0", "O2"))


def test_a_reflection_longer_than_its_axis() -> None:
    check_levels(one("pad", "3", "14", 'paddings = [5, 6], mode = "reflect"'), ("O2",))


def test_negative_pads_and_a_fill_value_known_at_run_time() -> None:
    check_levels(one("pad", "5x6", "3x9", 'paddings = [-1, 2, -1, 1], mode = "constant"'), ("O0", "O2"))
    check_levels(
        body(
            "%x: tensor<3x4xf32>, %v: tensor<f32>",
            '%y = ge.pad(%x, none, %v) {paddings = [1, 0, 0, 2], mode = "constant"} : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x6xf32>',
            "tensor<4x6xf32>",
            "%y",
        ),
        ("O0", "O2"),
    )


def test_concat_drops_what_is_empty_and_pack_stacks() -> None:
    check_levels(
        body(
            "%x: tensor<2x3xf32>",
            """%e = ge.constant #ge.splat<0.0> : tensor<0x3xf32>
            %a = ge.concat(%e, %x, %x) {concat_dim = 0} : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
            %b = ge.concat(%e, %x) {concat_dim = 0} : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
            %c = ge.pack(%x, %b) {axis = -1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>""",
            "tensor<4x3xf32>, tensor<2x3xf32>, tensor<2x3x2xf32>",
            "%a, %b, %c",
        )
    )


@pytest.mark.parametrize("op", ["tril", "triu"])
@pytest.mark.parametrize("diagonal", [0, 2, -1])
def test_triangles(op: str, diagonal: int) -> None:
    check_levels(one(op, "2x5x7", "2x5x7", f"diagonal = {diagonal}"), ("O0", "O2"))
    check_levels(one(op, "4x4", "4x4", f"diagonal = {diagonal}", "i64"), ("O2",))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis: int) -> None:
    shape = {-1: "3x4x6", 0: "6x3x4", 1: "3x6x4"}[axis]
    check_levels(
        body(
            "%x: tensor<3x4xi64>, %on: tensor<f32>, %off: tensor<1xf32>",
            f"%y = ge.one_hot(%x, none, %on, %off) {{depth = 6, axis = {axis}}} : (tensor<3x4xi64>, tensor<f32>, tensor<1xf32>) -> tensor<{shape}xf32>",
            f"tensor<{shape}xf32>",
            "%y",
        ),
        ("O0", "O2"),
    )
