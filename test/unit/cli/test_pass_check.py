"""``ge-opt --check-each-pass``: what is compared, and what is said where nothing can be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from gedialect.cli.instrument import Instrument
from gedialect.cli.pass_check import PassChangesResult, PassCheck, difference, differences
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.testing.agree import parse
from gedialect.testing.runner import call

TEXT = """func.func @main(%x: tensor<4xf32> {ge.name = "x"}, %n: tensor<4xi32>) -> (tensor<4xf32> {ge.name = "y"}, tensor<4xi32>) {
  %y = ge.exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %m = ge.add(%n, %n) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %y, %m : tensor<4xf32>, tensor<4xi32>
}
"""
INPUTS = {"x": np.array([0, 1, np.nan, np.inf], np.float32), "arg1": np.array([1, 2, 3, 4], np.int32)}


@dataclass(frozen=True)
class Rename(ModulePass):
    """Replaces the first op ``old`` by ``new`` on the same operands."""

    name: ClassVar[str] = "rename"
    old: str = "ge.exp"
    new: str = "ge.exp"

    def apply(self, ctx, op: ModuleOp) -> None:
        from xdsl.rewriter import InsertPoint

        from gedialect.dialects.ge.builder import GeBuilder

        target = next(o for o in op.walk() if o.name == self.old)
        builder = GeBuilder(InsertPoint.before(target))
        made = getattr(builder, self.new.removeprefix("ge."))(*target.operands)
        target.results[0].replace_all_uses_with(made)
        target.detach()
        target.erase()


@dataclass(frozen=True)
class Break(ModulePass):
    """Leaves a graph that does not run."""

    name: ClassVar[str] = "break"

    def apply(self, ctx, op: ModuleOp) -> None:
        from xdsl.rewriter import InsertPoint

        from gedialect.dialects.ge.builder import GeBuilder

        target = next(o for o in op.walk() if o.name == "ge.add")
        target.operands[1] = GeBuilder(InsertPoint.before(target)).array(np.zeros(3, np.int32))


@dataclass(frozen=True)
class Leave(ModulePass):
    """Takes the graph out of ge."""

    name: ClassVar[str] = "leave"

    def apply(self, ctx, op: ModuleOp) -> None:
        for inner in list(op.ops):
            inner.detach()
            inner.erase()


def checked(*passes: ModulePass, tolerance: float | None = None, text: str = TEXT) -> PassCheck:
    check = PassCheck(INPUTS, tolerance)
    Instrument(str, check=check).run(GeContext(), parse(text), passes)
    return check


def test_equal_results_with_nan_and_inf():
    assert checked(Rename()).lines == [("rename", "equal")]


def test_the_first_pass_that_changes_an_output_is_named():
    with pytest.raises(
        PassChangesResult, match=r"pass rename changes output y at \[1\]: 2\.718\d* before, 1\.718"
    ) as e:
        checked(Rename(), Rename(new="ge.expm1"), Rename(old="ge.expm1"))
    assert e.value.step == "rename"
    assert e.value.exit_code == 3


def test_floats_have_a_tolerance_and_integers_none():
    assert "within" in checked(Rename(new="ge.expm1"), tolerance=1.0).lines[0][1]
    with pytest.raises(PassChangesResult, match=r"output result1 at \[0\]: 2 before, 1 after"):
        checked(Rename("ge.add", "ge.mul"), tolerance=1e9)


def test_a_graph_that_fails_is_the_fault_of_the_pass():
    with pytest.raises(PassChangesResult, match="pass break makes the graph fail in the interpreter"):
        checked(Break())


def test_what_is_no_graph_any_more_is_not_checked():
    assert checked(Rename(), Leave()).lines == [
        ("rename", "equal"),
        ("leave", "not checked, the interpreter cannot run it any more: the module has no function @main"),
    ]


def test_random_numbers_cannot_be_checked():
    text = """func.func @main(%x: tensor<4xf32> {ge.name = "x"}, %n: tensor<4xi32>) -> tensor<4xf32> {
  %y = ge.random_normal(%x) {mean = 0, scale = 1} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
    with pytest.raises(GeError, match="without a seed"):
        checked(Rename(), text=text)


@pytest.mark.parametrize(
    ("before", "after", "size", "index"),
    [
        ([1, 2, 4], [1, 2, 4], None, None),
        ([1.0, 2, 4], [1.0, 2, 3], 0.25, (2,)),
        ([1.0, np.nan], [1.0, np.nan], None, None),
        ([1.0, np.nan], [1.0, 0.0], np.inf, (1,)),
        ([1.0, np.inf], [1.0, -np.inf], np.inf, (1,)),
        ([0.0, 1.0], [-0.0, 1.0], None, None),
        ([True, False], [True, True], np.inf, (1,)),
        ([], [], None, None),
    ],
)
def test_difference(before, after, size, index):
    found = difference("y", np.array(before), np.array(after))
    assert (None if found is None else found.size) == size
    assert (None if found is None else found.index) == index


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ([np.zeros(2), np.ones(2)], [np.zeros(2), np.ones(2)], []),
        ([np.zeros(2), np.ones(2)], [np.zeros(2), np.array([1.0, 3])], ["output s[1] at [1]: 1.0 before, 3.0 after"]),
        ([np.zeros(2)], [], ["output s: 1 elements before, 0 after"]),
        (None, None, []),
        (None, np.zeros(1), ["output s: None before, [0.] after"]),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), ["output s at [1]: b before, c after"]),
    ],
)
def test_differences_of_what_stays_on_the_host(before, after, says):
    found = [str(d).partition(" (")[0] for d in differences("s", before, after)]
    assert found == says


def test_difference_of_types_and_shapes():
    found = difference("y", np.zeros(3, np.float32), np.zeros(3, np.float16))
    assert str(found) == "output y: float32[3] before, float16[3] after"
    found = difference("y", np.zeros((3, 1), np.float32), np.zeros(3, np.float32))
    assert found is not None and found.size == float("inf")


def test_inputs_of_a_file(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(TEXT)
    np.savez(tmp_path / "in.npz", **{"in:x": INPUTS["x"], "arg1": INPUTS["arg1"]})
    command = ["ge-opt", str(tmp_path / "m.mlir"), "-O2", "--check-each-pass", "--inputs"]
    outcome = call([*command, str(tmp_path / "in.npz")])
    assert outcome.code == 0, outcome.err
    assert "verify-plan: equal" in outcome.err
    np.savez(tmp_path / "bad.npz", x=INPUTS["x"])
    outcome = call([*command, str(tmp_path / "bad.npz")])
    assert outcome.code == 1
    assert outcome.err.startswith(f"{tmp_path / 'bad.npz'}: error GE1004: inputs do not match")
    outcome = call([*command, str(tmp_path / "none.npz")])
    assert outcome.code == 1
    assert "error GE1002" in outcome.err


def test_unknown_sizes_need_inputs(tmp_path: Path):
    text = """func.func @main(%x: tensor<?xf32> {ge.name = "x"}) -> (tensor<?xf32> {ge.name = "y"}) {
  %y = ge.exp(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
"""
    (tmp_path / "m.mlir").write_text(text)
    outcome = call(["ge-opt", str(tmp_path / "m.mlir"), "-p", "cse", "--check-each-pass"])
    assert outcome.code == 1
    assert "error GE1014: no random inputs: sizes are unknown: x" in outcome.err
    np.savez(tmp_path / "in.npz", x=INPUTS["x"])
    outcome = call(
        ["ge-opt", str(tmp_path / "m.mlir"), "-p", "cse", "--check-each-pass", "--inputs", str(tmp_path / "in.npz")]
    )
    assert outcome.code == 0, outcome.err
