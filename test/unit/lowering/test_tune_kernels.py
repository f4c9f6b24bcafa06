"""The search for kernels: never slower by the model, deterministic, bounded, and still right."""

from __future__ import annotations

import pytest

from gedialect import api
from gedialect.api import Settings
from gedialect.api.decide import decide
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.ir.context import GeContext
from gedialect.targets import load_target
from gedialect.testing.agree import check_levels, parse
from lowering.transforms import tune_kernels
from lowering.transforms.select_kernels import SelectKernelsPass
from lowering.transforms.tune_kernels import TuneKernelsPass, neighbours, predicted

T = load_target()
A, W = "tensor<1x24x30x30xf32>", "tensor<32x24x3x3xf32>"
CONV = '{strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"}'
B = "tensor<1x32x30x30xf32>"
TEXT = f"""func.func @main(%x: {A}, %w: {W}, %v: tensor<900x70xf32>) -> (tensor<1x32x30x30xf32>, tensor<1x32x70xf32>) {{
  %c = ge.conv2d(%x, %w) {CONV} : ({A}, {W}) -> {B}
  %r = ge.softmax(%c) {{axes = [-1]}} : ({B}) -> {B}
  %f = ge.reshape(%r) {{shape = [1, 32, 900]}} : ({B}) -> tensor<1x32x900xf32>
  %m = ge.matmul(%f, %v) {{transpose_x1 = false, transpose_x2 = false}} : (tensor<1x32x900xf32>, tensor<900x70xf32>) -> tensor<1x32x70xf32>
  func.return %r, %m : {B}, tensor<1x32x70xf32>
}}
"""


def fusions() -> list[FusionOp]:
    """The groups of the model, with the kernels that select-kernels chose."""
    from gedialect.ir.registry import pass_factories
    from gedialect.pipelines import pass_name, pipeline

    module = parse(TEXT)
    ctx = GeContext()
    for text in pipeline("O2"):
        if pass_name(text) == "select-kernels":
            break
        pass_factories().get(pass_name(text), _xdsl(pass_name(text)))()().apply(ctx, module)
    SelectKernelsPass().apply(ctx, module)
    found = [op for op in module.walk() if isinstance(op, FusionOp)]
    assert found
    return found


def _xdsl(name: str):
    from xdsl.transforms import get_all_passes

    return get_all_passes().get(name)


def test_results_stay_right() -> None:
    check_levels(TEXT, ("O3",))


def test_faster_or_equal_and_deterministic() -> None:
    reports = [api.compile(parse(TEXT), level=level, time=True).report for level in ("O2", "O3", "O3")]
    assert reports[1].latency_us <= reports[0].latency_us  # type: ignore[operator]
    assert reports[1] == reports[2]


def test_a_poor_kernel_is_improved() -> None:
    for fusion in fusions():
        kernel = fusion.attributes["kernel"]
        assert isinstance(kernel, KernelAttr)
        poor = KernelAttr.get(kernel.kind.data, kernel.tile.values, 1)
        before, _ = predicted(fusion, poor, T)
        after, _ = predicted(fusion, tune_kernels.tune(fusion, poor, T, 16), T)
        assert before is not None
        assert after is not None
        assert after < before / 2


def test_the_budget_bounds_the_kernels_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[KernelAttr] = []
    original = tune_kernels.predicted

    def counted(fusion: FusionOp, kernel: KernelAttr, target: object) -> tuple[float | None, int]:
        written.append(kernel)
        return original(fusion, kernel, T)

    monkeypatch.setattr(tune_kernels, "predicted", counted)
    groups = fusions()
    for budget in (0, 1, 5):
        written.clear()
        for fusion in groups:
            tune_kernels.tune(fusion, fusion.attributes["kernel"], T, budget)  # type: ignore[arg-type]
        assert len(written) <= (budget + 1) * len(groups)
        assert len(written) == len(set(written)) or len(groups) > 1


def test_a_tile_that_does_not_fit_is_passed_over() -> None:
    fusion = fusions()[-1]
    kernel = fusion.attributes["kernel"]
    assert isinstance(kernel, KernelAttr)
    huge = KernelAttr.get(kernel.kind.data, [1 << 20 for _ in kernel.tile.values], 1)
    huge = KernelAttr.get("cube", [0, 1, 1], 1) if kernel.kind.data == "cube" else huge
    assert predicted(fusion, huge, T) == (None, 0)
    assert fusion.attributes["kernel"] is kernel
    assert tune_kernels.tune(fusion, huge, T, 4) == huge


@pytest.mark.parametrize("kernel", [KernelAttr.get("vector", [1], 48), KernelAttr.get("cube", [64, 125, 16], 3)])
def test_neighbours_are_kernels_of_the_chip(kernel: KernelAttr) -> None:
    found = list(neighbours(kernel, T))
    assert kernel not in found
    assert found == list(neighbours(kernel, T))
    for other in found:
        assert min(other.tile.values) >= 1
        assert 1 <= other.blocks.data <= (24 if kernel.kind.data == "cube" else 48)
        assert len(other.tile.values) == len(kernel.tile.values)


def test_equal_groups_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[FusionOp] = []
    original = tune_kernels.tune

    def once(fusion: FusionOp, *rest: object) -> KernelAttr:
        calls.append(fusion)
        return original(fusion, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(tune_kernels, "tune", once)
    module = parse(
        """func.func @main(%x: tensor<100x100xf32>) -> tensor<100x100xf32> {
          %a = ge.softmax(%x) {axes = [-1]} : (tensor<100x100xf32>) -> tensor<100x100xf32>
          %b = ge.softmax(%a) {axes = [-1]} : (tensor<100x100xf32>) -> tensor<100x100xf32>
          func.return %b : tensor<100x100xf32> }"""
    )
    from gedialect.transforms.group_kernels import GroupKernelsPass

    ctx = GeContext()
    GroupKernelsPass(fuse=False).apply(ctx, module)
    SelectKernelsPass().apply(ctx, module)
    TuneKernelsPass().apply(ctx, module)
    assert len(calls) == 1
    kernels = {str(op.attributes["kernel"]) for op in module.walk() if isinstance(op, FusionOp)}
    assert len(kernels) == 1


def test_rows_of_many_reductions_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut rows need a pass for each reduction, and code that grows with their square."""
    lines = ["%s0 = ge.softmax(%x) {axes = [1]} : (tensor<8x16xf32>) -> tensor<8x16xf32>"]
    for i in range(1, 12):
        lines.append(f"%a{i} = ge.add(%s{i - 1}, %x) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>")
        lines.append(f"%s{i} = ge.softmax(%a{i}) {{axes = [1]}} : (tensor<8x16xf32>) -> tensor<8x16xf32>")
    body = "\n".join(lines)
    module = parse(
        f"func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {{ {body} func.return %s11 : tensor<8x16xf32> }}"
    )
    decide(module, Settings("O2"))
    (fusion,) = (op for op in module.walk() if isinstance(op, FusionOp))
    tried: list[KernelAttr] = []
    original = tune_kernels.predicted

    def noted(fusion: FusionOp, kernel: KernelAttr, target: object) -> tuple[float | None, int]:
        tried.append(kernel)
        return original(fusion, kernel, T)

    monkeypatch.setattr(tune_kernels, "predicted", noted)
    tune_kernels.tune(fusion, fusion.attributes["kernel"], T, 16)  # type: ignore[arg-type]
    assert len(tried) > 1
    assert min(k.tile.values[-1] for k in tried) == 16
