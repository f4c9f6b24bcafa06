"""Window kernels: pooling and depthwise convolution in both layouts, sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels


def shaped(n: int, c: int, h: int, w: int, layout: str) -> str:
    return f"{n}x{c}x{h}x{w}" if layout == "NCHW" else f"{n}x{h}x{w}x{c}"


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(
    ("kernel", "stride", "pads", "h", "w"),
    [
        ((3, 3), (2, 2), (1, 1, 1, 1), 30, 31),
        ((2, 3), (1, 2), (0, 1, 1, 0), 9, 12),
        ((5, 5), (1, 1), (2, 2, 2, 2), 300, 7),
    ],
)
def test_max_pool(kernel, stride, pads, h, w, layout) -> None:
    oh = (h + pads[0] + pads[2] - kernel[0]) // stride[0] + 1
    ow = (w + pads[1] + pads[3] - kernel[1]) // stride[1] + 1
    x, y = shaped(2, 6, h, w, layout), shaped(2, 6, oh, ow, layout)
    check_levels(
        f"""func.func @main(%x: tensor<{x}xf32>) -> tensor<{y}xf32> {{
          %y = ge.max_pool2d(%x) {{ksize = {list(kernel)}, strides = {list(stride)}, pads = {list(pads)},
            dilations = [1, 1], ceil_mode = false, data_format = "{layout}"}} : (tensor<{x}xf32>) -> tensor<{y}xf32>
          func.return %y : tensor<{y}xf32> }}""",
        ("O0", "O2"),
    )


@pytest.mark.parametrize("include", ["true", "false"])
@pytest.mark.parametrize(("ceil", "oh", "ow"), [("false", 15, 15), ("true", 16, 16)])
def test_avg_pool_counts_the_cells_inside(include: str, ceil: str, oh: int, ow: int) -> None:
    check_levels(
        f"""func.func @main(%x: tensor<2x3x31x31xf32>) -> tensor<2x3x{oh}x{ow}xf32> {{
          %y = ge.avg_pool2d(%x) {{ksize = [3, 3], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = {ceil},
            count_include_pad = {include}, data_format = "NCHW"}} : (tensor<2x3x31x31xf32>) -> tensor<2x3x{oh}x{ow}xf32>
          func.return %y : tensor<2x3x{oh}x{ow}xf32> }}""",
        ("O0", "O2"),
    )


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_depthwise_convolution_with_an_activation_is_one_kernel(layout: str, dtype: str) -> None:
    x, y = shaped(2, 20, 30, 31, layout), shaped(2, 20, 15, 16, layout)
    reports = check_levels(
        f"""func.func @main(%x: tensor<{x}x{dtype}>, %w: tensor<20x1x3x3x{dtype}>, %b: tensor<20x{dtype}>) -> tensor<{y}x{dtype}> {{
          %c = ge.conv2d(%x, %w, %b) {{strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 20, data_format = "{layout}"}}
            : (tensor<{x}x{dtype}>, tensor<20x1x3x3x{dtype}>, tensor<20x{dtype}>) -> tensor<{y}x{dtype}>
          %y = ge.relu6(%c) : (tensor<{y}x{dtype}>) -> tensor<{y}x{dtype}>
          func.return %y : tensor<{y}x{dtype}> }}""",
        ("O2",),
    )
    if layout == "NHWC":
        assert reports[0].kernels == 1


@pytest.mark.parametrize("dtype", ["i8", "ui8", "i32", "f64", "bf16"])
def test_max_pool_of_other_types(dtype: str) -> None:
    check_levels(
        f"""func.func @main(%x: tensor<1x3x9x9x{dtype}>) -> tensor<1x3x5x5x{dtype}> {{
          %y = ge.max_pool2d(%x) {{ksize = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1],
            ceil_mode = false, data_format = "NCHW"}} : (tensor<1x3x9x9x{dtype}>) -> tensor<1x3x5x5x{dtype}>
          func.return %y : tensor<1x3x5x5x{dtype}> }}""",
        ("O2",),
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_rows_longer_than_a_buffer_are_cut(layout: str) -> None:
    x, y = shaped(1, 2, 5, 20000, layout), shaped(1, 2, 5, 20000, layout)
    check_levels(
        f"""func.func @main(%x: tensor<{x}xf32>) -> tensor<{y}xf32> {{
          %y = ge.avg_pool2d(%x) {{ksize = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1], ceil_mode = false,
            count_include_pad = false, data_format = "{layout}"}} : (tensor<{x}xf32>) -> tensor<{y}xf32>
          func.return %y : tensor<{y}xf32> }}""",
        ("O0",),
    )


@pytest.mark.parametrize(
    "op",
    [
        'ge.conv2d(%x, %w) {strides = [1, 1], pads = [7, 7, 7, 7], dilations = [1, 1], groups = 3, data_format = "NCHW"}'
        " : (tensor<1x3x18x20xf32>, tensor<3x1x15x15xf32>)",
        "ge.max_pool2d(%x) {ksize = [15, 15], strides = [1, 1], pads = [7, 7, 7, 7], dilations = [1, 1], ceil_mode = false, "
        'data_format = "NCHW"} : (tensor<1x3x18x20xf32>)',
        "ge.avg_pool2d(%x) {ksize = [15, 15], strides = [1, 1], pads = [7, 7, 7, 7], ceil_mode = false, "
        'count_include_pad = false, data_format = "NCHW"} : (tensor<1x3x18x20xf32>)',
    ],
    ids=["depthwise", "max", "average"],
)
def test_taps_of_a_large_kernel_are_a_loop(op: str) -> None:
    """A loop gives what the taps one by one would."""
    text = (
        'func.func @main(%x: tensor<1x3x18x20xf32> {ge.name = "x"}, %w: tensor<3x1x15x15xf32> {ge.name = "w"})'
        ' -> (tensor<1x3x18x20xf32> {ge.name = "y"}) {\n'
        f"  %y = {op} -> tensor<1x3x18x20xf32>\n"
        "  func.return %y : tensor<1x3x18x20xf32>\n"
        "}\n"
    )
    check_levels(text)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(
    "op",
    [
        "ge.max_pool2d(%x) {ksize = [66, 70], strides = [13, 21], pads = [5, 0, 7, 3], dilations = [1, 1], ceil_mode = true, "
        'data_format = "NHWC"}',
        "ge.avg_pool2d(%x) {ksize = [66, 70], strides = [13, 21], pads = [5, 0, 7, 3], ceil_mode = true, "
        'count_include_pad = true, data_format = "NHWC"}',
        "ge.avg_pool2d(%x) {ksize = [66, 70], strides = [13, 21], pads = [5, 0, 7, 3], ceil_mode = true, "
        'count_include_pad = false, data_format = "NHWC"}',
    ],
    ids=["max", "average", "inside"],
)
def test_windows_that_no_buffer_holds(op: str, dtype: str) -> None:
    check_levels(
        f"func.func @main(%x: tensor<1x90x120x3x{dtype}>) -> tensor<1x4x4x3x{dtype}> {{\n"
        f"  %y = {op} : (tensor<1x90x120x3x{dtype}>) -> tensor<1x4x4x3x{dtype}>\n"
        f"  func.return %y : tensor<1x4x4x3x{dtype}>\n"
        "}\n"
    )
