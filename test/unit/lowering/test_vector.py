"""Vector and data movement kernels against the ops' own semantics, sanitizer on."""

from __future__ import annotations

import pytest

from gedialect.testing.agree import check_levels


def unary(op: str, shape: str, attrs: str = "", result: str | None = None) -> str:
    result = result or shape
    return f"""func.func @main(%x: tensor<{shape}>) -> tensor<{result}> {{
      %y = ge.{op}(%x) {attrs} : (tensor<{shape}>) -> tensor<{result}>
      func.return %y : tensor<{result}> }}"""


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("shape", ["7", "3x1000", "2x3x5x7", "100003", "1x1x1"])
def test_elementwise_over_any_shape(shape: str, dtype: str) -> None:
    check_levels(unary("sigmoid", f"{shape}x{dtype}"), ("O0", "O2"))


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("gelu", '{approximate = "none"}'),
        ("gelu", '{approximate = "tanh"}'),
        ("swish", "{scale = 1.0}"),
        ("hard_swish", ""),
        ("softplus", ""),
        ("erf", ""),
        ("tanh", ""),
        ("mish", ""),
        ("elu", "{alpha = 1.0, scale = 1.0}"),
        ("round", ""),
        ("sign", ""),
    ],
)
def test_activations(op: str, attrs: str) -> None:
    check_levels(unary(op, "6x50xf32", attrs), ("O2",))


@pytest.mark.parametrize("axes", ["[-1]", "[1]", "[0]", "[0, 2]", "[0, 1, 2]"])
@pytest.mark.parametrize("keep", ["true", "false"])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_max", "reduce_mean", "reduce_prod"])
def test_reductions_over_any_axes(op: str, axes: str, keep: str) -> None:
    dims = [3, 4, 5]
    chosen = {a % 3 for a in eval(axes)}
    kept = [1 if i in chosen else d for i, d in enumerate(dims) if keep == "true" or i not in chosen]
    result = "".join(f"{d}x" for d in kept) + "f32"
    check_levels(unary(op, "3x4x5xf32", f"{{axes = {axes}, keep_dims = {keep}}}", result), ("O0", "O2"))


@pytest.mark.parametrize("dtype", ["i32", "i64", "i8", "ui8"])
def test_integer_sums_are_exact(dtype: str) -> None:
    check_levels(unary("reduce_sum", f"30x40x{dtype}", "{axes = [1], keep_dims = true}", f"30x1x{dtype}"), ("O2",))


@pytest.mark.parametrize("shape", ["4x10xf32", "2x100000xf32", "3x60001xf16"])
def test_softmax_rows_shorter_and_longer_than_a_buffer(shape: str) -> None:
    check_levels(unary("softmax", shape, "{axes = [-1]}"), ("O2",))


def test_layer_norm_of_a_long_row_makes_a_pass_per_reduction() -> None:
    check_levels(
        """func.func @main(%x: tensor<2x70000xf32>, %g: tensor<70000xf32>, %b: tensor<70000xf32>) -> tensor<2x70000xf32> {
          %y, %m, %r = ge.layer_norm(%x, %g, %b) {begin_norm_axis = 1, epsilon = 1.0e-05}
            : (tensor<2x70000xf32>, tensor<70000xf32>, tensor<70000xf32>) -> (tensor<2x70000xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
          func.return %y : tensor<2x70000xf32> }""",
        ("O2",),
    )


def test_broadcasts_and_masks_share_a_kernel() -> None:
    reports = check_levels(
        """func.func @main(%s: tensor<2x3x8x8xf32>, %m: tensor<2x1x1x8xi1>) -> tensor<2x3x8x8xf32> {
          %low = ge.constant #ge.splat<-10000.0> : tensor<f32>
          %k = ge.select(%m, %s, %low) : (tensor<2x1x1x8xi1>, tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8x8xf32>
          %y = ge.softmax(%k) {axes = [-1]} : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xf32>
          func.return %y : tensor<2x3x8x8xf32> }"""
    )
    assert reports[2].kernels == 1


def test_integers_of_64_bits_are_not_narrowed() -> None:
    check_levels(
        """func.func @main(%x: tensor<2x5xi64>) -> (tensor<2x5xi64>, tensor<2x5xi1>) {
          %big = ge.constant #ge.splat<4611686018427387904> : tensor<i64>
          %y = ge.add(%x, %big) : (tensor<2x5xi64>, tensor<i64>) -> tensor<2x5xi64>
          %less = ge.less(%y, %big) : (tensor<2x5xi64>, tensor<i64>) -> tensor<2x5xi1>
          func.return %y, %less : tensor<2x5xi64>, tensor<2x5xi1> }"""
    )


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("ge.transpose(%x) {perm = [2, 0, 1]} : (tensor<6x5x8xf32>) -> tensor<8x6x5xf32>", "8x6x5xf32"),
        (
            "ge.slice(%x) {begin = [1, -1], end = [6, -9], axes = [0, 2], strides = [2, -1]} : (tensor<6x5x8xf32>) -> tensor<3x5x8xf32>",
            "3x5x8xf32",
        ),
        ("ge.tile(%x) {multiples = [2, 1, 3]} : (tensor<6x5x8xf32>) -> tensor<12x5x24xf32>", "12x5x24xf32"),
        ("ge.expand(%x) {shape = [3, 6, 5, 8]} : (tensor<6x5x8xf32>) -> tensor<3x6x5x8xf32>", "3x6x5x8xf32"),
        (
            'ge.pad(%x) {paddings = [1, 0, 2, 0, 3, 1], mode = "constant"} : (tensor<6x5x8xf32>) -> tensor<7x8x11xf32>',
            "7x8x11xf32",
        ),
        (
            "ge.concat(%x, %x) {concat_dim = 1} : (tensor<6x5x8xf32>, tensor<6x5x8xf32>) -> tensor<6x10x8xf32>",
            "6x10x8xf32",
        ),
    ],
)
def test_data_movement(body: str, result: str) -> None:
    check_levels(
        f"func.func @main(%x: tensor<6x5x8xf32>) -> tensor<{result}> {{ %y = {body} func.return %y : tensor<{result}> }}",
        ("O0", "O2"),
    )


def test_split_gives_every_part() -> None:
    check_levels(
        """func.func @main(%x: tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x7xf32>) {
          %a, %b = ge.split(%x) {size_splits = [2, 7], split_dim = 1} : (tensor<4x9xf32>) -> (tensor<4x2xf32>, tensor<4x7xf32>)
          func.return %a, %b : tensor<4x2xf32>, tensor<4x7xf32> }"""
    )


def test_gather_wraps_negative_indices() -> None:
    import numpy as np

    text = """func.func @main(%x: tensor<3x10x4xf32> {ge.name = "x"}, %i: tensor<2x3xi64> {ge.name = "i"}) -> tensor<3x2x3x4xf32> {
      %y = ge.gather(%x, %i) {axis = 1, batch_dims = 0} : (tensor<3x10x4xf32>, tensor<2x3xi64>) -> tensor<3x2x3x4xf32>
      func.return %y : tensor<3x2x3x4xf32> }"""
    x = np.arange(120, dtype=np.float32).reshape(3, 10, 4)
    check_levels(text, inputs={"x": x, "i": np.array([[0, -1, 9], [-10, 3, 3]])})


def test_a_reduction_that_drops_axes_does_not_align_with_what_follows() -> None:
    # [4, 4] summed over axis 1 gives [4]: added to another [4] it must not be taken for a row of the [4, 4] space
    check_levels(
        """func.func @main(%x: tensor<4x4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
          %s = ge.reduce_sum(%x) {axes = [1], keep_dims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
          %y = ge.add(%s, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          func.return %y : tensor<4xf32> }"""
    )


def test_chunks_of_two_reduced_axes() -> None:
    """A tile may cut several reduced axes: each then has a loop of its own in every pass."""
    from gedialect.api import Executable, Settings
    from gedialect.api.decide import decide
    from gedialect.dialects.ge.attrs import KernelAttr
    from gedialect.dialects.ge.fusion import FusionOp
    from gedialect.interpreter import run
    from gedialect.targets import load_target
    from gedialect.testing.agree import compare, parse, random_inputs
    from lowering.emit.module import ModuleEmitter

    module = parse(
        """func.func @main(%x: tensor<5x34x50xf32>, %b: tensor<50xf32>) -> tensor<5x34x50xf32> {
          %m = ge.reduce_max(%x) {axes = [0, 2], keep_dims = true} : (tensor<5x34x50xf32>) -> tensor<1x34x1xf32>
          %d = ge.sub(%x, %m) : (tensor<5x34x50xf32>, tensor<1x34x1xf32>) -> tensor<5x34x50xf32>
          %s = ge.reduce_sum(%d) {axes = [0, 2], keep_dims = true} : (tensor<5x34x50xf32>) -> tensor<1x34x1xf32>
          %q = ge.div(%d, %s) : (tensor<5x34x50xf32>, tensor<1x34x1xf32>) -> tensor<5x34x50xf32>
          %y = ge.add(%q, %b) : (tensor<5x34x50xf32>, tensor<50xf32>) -> tensor<5x34x50xf32>
          func.return %y : tensor<5x34x50xf32> }"""
    )
    inputs = random_inputs(module)
    expected = run(module, inputs)
    decide(module, Settings("O2"))
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    fusion.attributes["kernel"] = KernelAttr.get("vector", [4, 2, 7], 3)
    emitter = ModuleEmitter(module, load_target(), "m")
    emitter.emit()
    outputs = Executable.from_om(emitter.build({})).run(inputs, sanitize=True)
    for name, want in expected.items():
        compare(outputs[name], want, name)


@pytest.mark.parametrize(("shape", "axis"), [("70x30x40", 2), ("70x30x40x3", 2), ("3x20000", 1), ("5x7", 1)])
def test_gather_of_rows_shorter_than_a_burst(shape: str, axis: int) -> None:
    import numpy as np

    sizes = [int(d) for d in shape.split("x")]
    result = "x".join(str(11 if i == axis else d) for i, d in enumerate(sizes))
    text = f"""func.func @main(%x: tensor<{shape}xf32> {{ge.name = "x"}}, %i: tensor<11xi32> {{ge.name = "i"}}) -> tensor<{result}xf32> {{
      %y = ge.gather(%x, %i) {{axis = {axis}, batch_dims = 0}} : (tensor<{shape}xf32>, tensor<11xi32>) -> tensor<{result}xf32>
      func.return %y : tensor<{result}xf32> }}"""
    rng = np.random.default_rng(0)
    at = rng.integers(-sizes[axis], sizes[axis], 11).astype(np.int32)
    check_levels(text, ("O0", "O2"), inputs={"x": rng.normal(size=sizes).astype(np.float32), "i": at})


@pytest.mark.parametrize(
    ("op", "result"),
    [
        ("ge.softmax(%e) {axes = [1]} : (tensor<3x90000xf32>)", "3x90000xf32"),
        ("ge.reduce_sum(%e) {axes = [1], keep_dims = true} : (tensor<3x90000xf32>)", "3x1xf32"),
        ("ge.reduce_max(%e) {axes = [1], keep_dims = false} : (tensor<3x90000xf32>)", "3xf32"),
    ],
)
def test_a_long_row_of_one_value(op: str, result: str) -> None:
    """What repeats along a reduced axis is copied in chunks, and stored as often as the result says."""
    check_levels(
        'func.func @main(%x: tensor<3x1xf32> {ge.name = "x"}) -> (tensor<' + result + '> {ge.name = "y"}) {\n'
        "  %e = ge.expand(%x) {shape = [3, 90000]} : (tensor<3x1xf32>) -> tensor<3x90000xf32>\n"
        f"  %y = {op} -> tensor<{result}>\n"
        f"  func.return %y : tensor<{result}>\n"
        "}\n"
    )


def test_reductions_of_one_number_in_parts() -> None:
    """A reduction whose operand is a constant, in a kernel whose tiles are parts of a row (found at O3)."""
    from gedialect.api import Executable, Settings
    from gedialect.api.decide import decide
    from gedialect.dialects.ge.attrs import KernelAttr
    from gedialect.dialects.ge.fusion import FusionOp
    from gedialect.interpreter import run
    from gedialect.targets import load_target
    from gedialect.testing.agree import compare, parse, random_inputs
    from lowering.emit.module import ModuleEmitter

    module = parse(
        """func.func @main(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
          %y = ge.fusion(%a = %x : tensor<6x40xf32>) -> (tensor<6x40xf32>) {
            %c = ge.constant #ge.splat<1.5> : tensor<6x40xf32>
            %s = ge.reduce_sum(%c) {axes = [1], keep_dims = true} : (tensor<6x40xf32>) -> tensor<6x1xf32>
            %z = ge.add(%a, %s) : (tensor<6x40xf32>, tensor<6x1xf32>) -> tensor<6x40xf32>
            ge.yield %z : tensor<6x40xf32>
          }
          func.return %y : tensor<6x40xf32> }"""
    )
    inputs = random_inputs(module)
    expected = run(module, inputs)
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    fusion.attributes["kernel"] = KernelAttr.get("vector", [2, 7], 3)
    decide(module, Settings("O0"))
    emitter = ModuleEmitter(module, load_target(), "m")
    emitter.emit()
    outputs = Executable.from_om(emitter.build({})).run(inputs, sanitize=True)
    for name, want in expected.items():
        compare(outputs[name], want, name)


@pytest.mark.parametrize("op", ["erf", "tanh", "gelu"])
def test_saturated_functions_are_exact(op: str) -> None:
    """One unit in the last place of erf is x / 2 of it in gelu: gelu(-1e9) must not be 60."""
    import numpy as np

    from gedialect.api import Settings, compile_module
    from gedialect.testing.agree import parse

    x = np.array([-1e9, -1e4, -10, 10, 1e4, 1e9], np.float32)
    attr = ' {approximate = "none"}' if op == "gelu" else ""
    text = f"""func.func @main(%x: tensor<6xf32> {{ge.name = "x"}}) -> tensor<6xf32> {{
      %y = ge.{op}(%x){attr} : (tensor<6xf32>) -> tensor<6xf32>
      func.return %y : tensor<6xf32> }}"""
    (y,) = compile_module(parse(text), Settings("O2")).run({"x": x}).values()
    assert y.tolist() == (np.maximum(x, 0) if op == "gelu" else np.sign(x)).tolist()
