"""Names of values in printed text."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Region

from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.printer import UniquePrinter

TEXT = """func.func @main(%tmp: tensor<2xf32>) -> tensor<2xf32> {
  %tmp_1 = ge.relu(%tmp) : (tensor<2xf32>) -> tensor<2xf32>
  %tmp_1_1 = ge.abs(%tmp_1) : (tensor<2xf32>) -> tensor<2xf32>
  %tmp_2 = ge.neg(%tmp_1_1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %tmp_2 : tensor<2xf32>
}"""


def printed(text: str) -> str:
    out = StringIO()
    UniquePrinter(stream=out).print_op(parse_module(GeContext(), text.encode(), "x.mlir"))
    return out.getvalue()


def test_numbered_hints_do_not_collide() -> None:
    """``tmp`` counted on meets the hint ``tmp_1``: all names differ, and printing what was parsed changes nothing."""
    once = printed(TEXT)
    assert printed(once) == once


def test_names_are_different_whatever_the_hints() -> None:
    from xdsl.dialects.builtin import i32

    hints = ["a", "a", "a_1", "a_1_1", "a_1", "a", "b_1", "b", "b", None, "a_2", "a"]
    ops = [AnyOp(result_types=[i32]) for _ in hints]
    for op, hint in zip(ops, hints, strict=True):
        op.results[0]._name = hint  # pyright: ignore[reportPrivateUsage]  # as an importer's hint that xDSL let through
    holder = AnyOp(regions=[Region(Block(ops))])
    out = StringIO()
    printer = UniquePrinter(stream=out)
    printer.print_op(holder)
    names = [line.split("=")[0].strip() for line in out.getvalue().split("\n") if "%" in line]
    assert len(names) == len(hints) == len(set(names))
