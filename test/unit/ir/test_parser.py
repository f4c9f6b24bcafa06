"""The fast parser gives what xDSL's gives, and stops at what xDSL cannot survive."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.parser import MAX_DEPTH, FastParser, parse_module, parse_with
from gedialect.testing.roundtrip import to_text


def context() -> GeContext:
    ctx = GeContext(allow_unregistered=True)
    known = set(ctx.registered_dialect_names)
    for name, factory in get_all_dialects().items():
        if name not in known:
            ctx.register_dialect(name, factory)
    return ctx


PLAIN_TYPES = (
    "f32 f16 bf16 i1 i8 si8 ui16 index tensor<f32> tensor<4xf32> tensor<1x?x3xi64> tensor<*xf32> tensor<0x4xf32> "
    "tensor<2xcomplex<f32>> memref<2x3xf32> vector<4xi32> vector<[4]xi32> none"
)
TYPES = [
    *PLAIN_TYPES.split(),
    "tuple<i32, tensor<2xf16>>",
    "(i32, f32) -> tensor<3xf32>",
    "tensor<4x4xf32, #un.known<a, [b]>>",
    "tensor<2xf32, #ge.layout<NCHW>>",
    "!un.type<x<y>>",
    "tensor<2x3xf8E4M3FN>",
    "memref<2xf32, strided<[1], offset: ?>, 3 : i32>",
]
ATTRIBUTES = [
    "1",
    "-1",
    "0 : i32",
    "0 : index",
    "-0.0",
    "1.5e10 : f32",
    "1. : f16",
    "0x7FC00000 : f32",
    "0xFF",
    "true",
    "false",
    "unit",
    '"text"',
    '"esc\\"aped\\0A"',
    '""',
    "[]",
    "[1, 2]",
    "[-1 : i32, 2 : i32]",
    "[1, 2.5, true]",
    "[[1], [2, 3]]",
    '["a", "b"]',
    "array<i64>",
    "array<i64: 1, -2>",
    "array<i1: true, false>",
    "array<f32: 1.0, 2.0>",
    "array<i32:1,2>",
    "dense<1> : tensor<2xi32>",
    "dense<[1, -2]> : tensor<2xi32>",
    "dense<[[1.0, 2.0e-3], [-3.5, 4]]> : tensor<2x2xf32>",
    "dense<[true, false]> : tensor<2xi1>",
    'dense<"0x0000803F"> : tensor<1xf32>',
    "dense<> : tensor<0xf32>",
    "dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>",
    "{a, b = 1, c = {d = [i32, f32]}}",
    "@sym",
    "@sym::@nested",
    '@"quoted name"',
    "i32",
    "tensor<2xf32>",
    "(i32) -> ()",
    "affine_map<(d0, d1) -> (d0 + 2, d1 mod 3)>",
    "affine_set<(d0) : (d0 >= 0)>",
    'opaque<"a", "b">',
    "#un.known<a <b> [c]>",
    '#un<other "x">',
    "loc(unknown)",
    'loc("f":1:2)',
    "strided<[2, ?], offset: 1>",
    "- 1",
    "1 // c\n : i32",
    "[1 , 2]",
    "[ ]",
]


def module_text(seed: int, ops: int = 12) -> str:
    """A random module in generic and custom form, with odd spacing and comments."""
    draw = random.Random(seed)
    lines: list[str] = ["#alias = [1, 2]", "!t = tensor<2xf32>"] if draw.random() < 0.5 else []
    aliased = bool(lines)
    lines.append("func.func @main(%x: i32, %y : f32) -> i32 {")
    values = [("%x", "i32"), ("%y", "f32")]
    for i in range(ops):
        attrs = ", ".join(f"k{j} = {draw.choice(ATTRIBUTES)}" for j in range(draw.randrange(4)))
        if aliased and draw.random() < 0.3:
            attrs += (", " if attrs else "") + "al = #alias, ty = !t"
        properties = f" <{{p = {draw.choice(ATTRIBUTES[:20])}}}>" if draw.random() < 0.3 else ""
        operands = [draw.choice(values) for _ in range(draw.randrange(3))]
        results = [draw.choice(TYPES) for _ in range(draw.randrange(3))]
        names = [f"%v{i}_{j}" for j in range(len(results))]
        left = f"%r{i}:{len(names)} = " if len(names) == 2 and draw.random() < 0.5 else ", ".join(names) + " = "
        if left.startswith("%r"):
            names = [f"%r{i}#{j}" for j in range(2)]
        region = " ({\n ^bb0(%q: i32):\n  %z = arith.addi %q, %q : i32\n })" if draw.random() < 0.2 else ""
        space = draw.choice(["", " ", "  // comment\n   "])
        lines.append(
            f'  {left if names else ""}"some.op"({", ".join(n for n, _ in operands)}){properties}{region}{space}'
            f"{{{attrs}}} : ({', '.join(t for _, t in operands)}) -> ({', '.join(results)})"
            + draw.choice(["", ' loc("n")', ' loc(fused["a", "b":1:2])'])
        )
        values += list(zip(names, results, strict=True))
    lines += ["  func.return %x : i32", "}"]
    return "\n".join(lines)


def outcome(make: type[Parser], text: str) -> tuple[str, object]:
    """What a parser makes of a text: the module printed in both forms, or the place of its error."""
    try:
        module = make(context(), text, "t").parse_module()
    except ParseError as error:
        return "error", error.span.get_location().line
    except Exception as error:
        return "other", type(error)
    return "module", to_text(module) + to_text(module, generic=True)


@pytest.mark.parametrize("seed", range(60))
def test_same_as_xdsl(seed: int):
    text = module_text(seed)
    kind, theirs = outcome(Parser, text)
    assert kind == "module"
    assert outcome(FastParser, text) == (kind, theirs)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_same_attribute_twice(attribute: str):
    """The second occurrence comes from the cache."""
    text = f'"a.b"() {{x = {attribute}, y = {attribute}}} : () -> ()\n"a.b"() {{x = {attribute}}} : () -> ()'
    assert outcome(FastParser, text) == outcome(Parser, text)


@pytest.mark.parametrize("type_text", TYPES)
def test_same_type_twice(type_text: str):
    text = f'%a, %b = "a.b"() : () -> ({type_text}, {type_text})\n"a.b"(%b) : ({type_text}) -> ()'
    assert outcome(FastParser, text) == outcome(Parser, text)


@pytest.mark.parametrize("seed", range(40))
def test_same_errors_in_broken_text(seed: int):
    draw = random.Random(seed)
    text = module_text(seed)
    at = draw.randrange(len(text))
    broken = (
        text[:at] + draw.choice(["", "{", "%", '"', "}", "x", "->", "é", "\0", "0x"]) + text[at + draw.randrange(9) :]
    )
    ours, theirs = outcome(FastParser, broken), outcome(Parser, broken)
    assert ours[0] == theirs[0]
    if ours[0] == "module":
        assert ours == theirs


@given(st.text(alphabet='%abx01 .:"{}[]<>()-+#!^@/=,\n\\é', max_size=60))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_gives_a_module_or_an_error(text: str):
    try:
        found = parse_module(GeContext(), text)
    except GeError as error:
        found = error.code[:4]
    assert found == "GE11" or isinstance(found, ModuleOp)


@pytest.mark.parametrize(
    "text",
    [
        '"test.op"() ({' * 2000 + "}) : () -> ()" * 2000,
        '"test.op"() {a = ' + "[" * 5000 + "]" * 5000 + "} : () -> ()",
        '"test.op"() {a = ' + "tuple<" * 3000 + ">" * 3000 + "} : () -> ()",
        '"test.op"() {a = ' + "{b = " * 3000 + "1" + "}" * 3000 + "} : () -> ()",
        '"test.op"() {a = dense<' + "[" * 3000 + "1" + "]" * 3000 + "> : tensor<1xi32>} : () -> ()",
        '"test.op"() {a = affine_map<(d0) -> (' + "(" * 3000 + "d0" + ")" * 3000 + ")>} : () -> ()",
        '"test.op"() : () -> () loc(' + "callsite(" * 3000,
    ],
    ids=["regions", "arrays", "types", "dicts", "dense", "affine", "locations"],
)
def test_deep_nesting_is_an_error(text: str):
    start = time.perf_counter()
    with pytest.raises(GeError) as caught:
        parse_module(GeContext(), text, "deep.mlir")
    assert caught.value.code == "GE1108"
    assert str(caught.value).startswith("deep.mlir:1:")
    assert time.perf_counter() - start < 5


def test_string_that_is_never_closed_takes_no_time():
    start = time.perf_counter()
    with pytest.raises(GeError, match="closing string literal"):
        parse_module(GeContext(), '"test.op"() {a = "' + "x" * 100_000)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "text",
    [
        '"test.op"() {a = 99999999999999999999 : i64} : () -> ()',
        '"test.op"() {a = array<i8: 1000>} : () -> ()',
        f'"test.op"() {{a = {"9" * 10000}}} : () -> ()',
        '"test.op"() {a = dense<1> : tensor<1000000x1000000xf32>} : () -> ()',
        '"test.op"() {a = dense<300> : tensor<2xi8>} : () -> ()',
        '"test.op"() {a = #ge.weight<"f", -1, 2>} : () -> ()',
    ],
)
def test_numbers_out_of_range_are_placed_errors(text: str):
    with pytest.raises(GeError) as caught:
        parse_module(GeContext(), "\n" + text, "f.mlir")
    assert (caught.value.where or "").startswith("f.mlir:2:")
    assert len(str(caught.value)) < 1000


def test_allowed_depth_survives_print_verify_and_clone():
    depth = MAX_DEPTH - 2
    text = (
        '"test.op"() ({\n' * depth
        + '"test.termop"() : () -> ()\n'
        + '}) : () -> ()\n"test.termop"() : () -> ()\n' * depth
    )
    text = text.rsplit('"test.termop"', 1)[0]
    module = parse_module(GeContext(), text)
    module.verify()
    assert to_text(module.clone()) == to_text(module)


def test_not_utf8():
    with pytest.raises(GeError, match="not UTF-8 at byte 2") as caught:
        parse_module(GeContext(), b"//\xff\xfe", "f.mlir")
    assert caught.value.code == "GE1102"


def test_unknown_op_is_marked_and_near_names_told():
    with pytest.raises(GeError) as caught:
        parse_module(GeContext(), "%a = arith.adi %b, %b : i32", "f.mlir")
    assert caught.value.where == "f.mlir:1:6"
    assert "arith.addi" in (caught.value.hint or "")
    assert caught.value.details == ("%a = arith.adi %b, %b : i32", "     ^^^^^^^^^")


def test_long_lines_are_cut_in_errors():
    text = '"test.op"() {a = "' + "x" * 100000 + '", b = ?} : () -> ()'
    with pytest.raises(GeError) as caught:
        parse_module(GeContext(), text, "f.mlir")
    assert len(str(caught.value)) < 600
    assert "b = ?" in caught.value.details[0]


def test_positions_of_ops():
    text = '\n  "test.op"() : () -> ()\n%a = "test.op"() ({\n  "test.termop"() : () -> ()\n}) : () -> i32\n'
    module, parser = parse_with(GeContext(), text, "f.mlir")
    places = parser.positions(10)
    assert [places[op] for op in module.walk() if op is not module] == [
        ("f.mlir", 12, 3),
        ("f.mlir", 13, 1),
        ("f.mlir", 14, 3),
    ]


def test_at_least_twice_as_fast():
    attrs = '{a = dense<[1, 2]> : tensor<2xi64>, s = [2, 2], n = "NCHW"}'
    body = "\n".join(f'  %v{i} = "test.op"(%x) {attrs} : (tensor<1x64x56x56xf32>) -> f32' for i in range(600))
    text = f"func.func @main(%x: tensor<1x64x56x56xf32>) {{\n{body}\n  func.return\n}}"

    def cpu(make: type[Parser]) -> float:
        best = float("inf")
        for _ in range(3):
            ctx = GeContext()
            start = time.process_time()
            make(ctx, text).parse_module()
            best = min(best, time.process_time() - start)
        return best

    assert cpu(FastParser) * 2 < cpu(Parser)
