"""Dominance, structure, and errors that stay small."""

from __future__ import annotations

import time

import pytest
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.dialects.test import TestTermOp as AnyTerminator
from xdsl.ir import Block, Region

from gedialect.errors import GeError
from gedialect.ir import sources
from gedialect.ir.context import GeContext
from gedialect.ir.diagnostics import cap, op_text
from gedialect.ir.parser import parse_module
from gedialect.ir.verifier import findings, verify


def module(body: str) -> ModuleOp:
    return parse_module(GeContext(), f"func.func @main(%x: i32) {{\n{body}\n  func.return\n}}")


def test_use_before_definition_names_op_value_and_node():
    text = '"test.op"(%late) : (i32) -> () loc("node_7")\n%late = "test.op"() : () -> i32'
    with pytest.raises(GeError) as caught:
        verify(module(text), file="m.onnx")
    error = caught.value
    assert error.code == "GE1103"
    assert error.where == "m.onnx: node node_7"
    assert error.message == "test.op uses %late where it is not defined"
    assert "from node node_7" in error.details


def test_sibling_regions_do_not_share_values():
    text = '"test.op"() ({\n%a = "test.termop"() : () -> i32\n}, {\n"test.termop"() : () -> ()\n}) : () -> ()'
    good = module(text)
    verify(good)
    region_op = next(op for op in good.walk() if op.regions and op.name == "test.op")
    inner = region_op.regions[0].block.first_op
    user = region_op.regions[1].block.first_op
    assert inner is not None and user is not None
    user.operands = [inner.results[0]]
    with pytest.raises(GeError, match="uses %a where it is not defined"):
        verify(good)


def test_values_of_enclosing_regions_are_visible():
    verify(
        module('%a = "test.op"() : () -> i32\n"test.op"() ({\n"test.termop"(%a, %x) : (i32, i32) -> ()\n}) : () -> ()')
    )


def test_result_is_not_visible_inside_its_own_op():
    text = '%a = "test.op"() ({\n"test.termop"(%a) : (i32) -> ()\n}) : () -> i32'
    assert [code for _, code, _, _ in findings(module(text))] == ["GE1103"]


def test_block_that_does_not_dominate():
    text = (
        '"test.termop"()[^a, ^b] : () -> ()\n^a:\n%v = "test.op"() : () -> i32\n"test.termop"()[^b] : () -> ()\n'
        '^b:\n"test.op"(%v) : (i32) -> ()'
    )
    with pytest.raises(GeError, match="uses %v"):
        verify(module(text))


def test_erased_value():
    op = AnyOp(result_types=[i32])
    user = AnyOp(operands=[op.results[0]])
    block = Block([op, user, ReturnOp()])
    top = ModuleOp([FuncOp("main", ((), ()), Region(block))])
    verify(top)
    op.results[0].erase(safe_erase=False)
    with pytest.raises(GeError) as caught:
        verify(top)
    assert caught.value.code == "GE1103"


def test_missing_terminator_and_empty_block():
    text = 'func.func @f() {\n  "test.op"() : () -> ()\n}'
    with pytest.raises(GeError, match=r"test\.op ends its block but is not a terminator"):
        verify(parse_module(GeContext(), text))


def test_error_is_small_and_time_linear_in_a_large_module():
    lines = [f'%v{i} = "test.op"() : () -> i32' for i in range(5000)]
    lines.append('%bad = "arith.addi"(%v1) : (i32) -> i32')
    large = module("\n".join(lines))
    start = time.perf_counter()
    with pytest.raises(GeError) as caught:
        verify(large, file="m.mlir")
    assert time.perf_counter() - start < 2
    assert caught.value.code == "GE1104"
    assert len(str(caught.value)) < 1000
    assert any(line.startswith("> ") and "arith.addi" in line for line in caught.value.details)


def test_deep_modules_need_no_recursion():
    """2000 levels, far beyond Python's stack; only the walk itself, since xDSL's own trait checks recurse."""
    op = AnyTerminator()
    for _ in range(2000):
        op = AnyTerminator(regions=[Region(Block([op]))])
    assert list(findings(op)) == []
    assert op_text(op).startswith('"test.termop"() ({')


def test_sources_merge_and_read_back():
    a, b = sources.name_loc("a"), sources.name_loc("b")
    merged = sources.merge(a, sources.merge(b, a), b)
    assert sources.names_of(merged) == ("a", "b")
    assert sources.merge(a, a) == a
    assert sources.names_of(sources.merge()) == ()
    op = AnyOp()
    op.location = merged
    assert sources.names(op) == ("a", "b")
    outer = AnyOp(regions=[Region(Block([op]))])
    assert sources.names(outer) == ("a", "b")
    assert sources.names_of(sources.merge_ops([op, outer])) == ("a", "b")


def test_huge_groups_keep_a_bounded_location():
    merged = sources.merge(*(sources.name_loc(str(i)) for i in range(10_000)))
    assert len(sources.names_of(merged)) == sources.MAX_FUSED


def test_names_survive_text():
    text = '"test.op"() : () -> () loc(fused["conv1", "bn1"])'
    parsed = parse_module(GeContext(), text)
    op = parsed.body.block.first_op
    assert op is not None
    assert sources.names(op) == ("conv1", "bn1")


def test_cap():
    assert cap("short") == "short"
    assert cap("a\nb") == "a ..."
    assert len(cap("x" * 1000, 100)) <= 100
