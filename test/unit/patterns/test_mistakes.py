"""What somebody new to the language gets wrong: each message has its code, the line at fault, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.patterns import NoMatch, RuleSet, ge, number, rule
from gedialect.patterns.formats import load_rules

IMPORTS = "from gedialect.patterns import any_op, attr, const, ge, given, number, one_of, optional, rule"
MODEL = """func.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = ge.abs(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("abs_1")
  func.return %a : tensor<2x4xf32>
}"""

PYTHON = [
    (
        "word_left",
        '@rule()\ndef r(x):\n    return ge.gelu(x, approximate="nope"), x\n',
        "GE1105",
        3,
        'takes no approximate = \'nope\'; did you mean "none"? Words are "none", "tanh"',
    ),
    (
        "word_right",
        '@rule()\ndef r(x):\n    return ge.abs(x), ge.gelu(x, approximate="tan")\n',
        "GE1105",
        3,
        'did you mean "tanh"?',
    ),
    ("layout", '@rule()\ndef r(x, b):\n    return ge.bias_add(x, b, data_format="CHW"), x\n', "GE1105", 3, "NCHW"),
    (
        "integer_for_bool",
        "@rule()\ndef r(x, w):\n    return ge.matmul(x, w, transpose_x1=0), x\n",
        "GE1105",
        3,
        "transpose_x1 is True or False",
    ),
    (
        "integer_for_list",
        "@rule()\ndef r(x):\n    return ge.softmax(x, axes=1), x\n",
        "GE1105",
        3,
        "axes is a list of integers",
    ),
    (
        "floats_for_integers",
        "@rule()\ndef r(x):\n    return ge.softmax(x, axes=[0.5]), x\n",
        "GE1105",
        3,
        "axes is a list of integers",
    ),
    (
        "unpacked",
        "@rule()\ndef r(x, n: attr, d: attr):\n    a, b = ge.split(x, size_splits=n, split_dim=d)\n    return a, x\n",
        "GE1105",
        3,
        "parts = ge.split(...), then parts[0]",
    ),
    (
        "unbound_in_op",
        '@rule(\n    exact="bits")\ndef r(x,\n      y):\n    return ge.abs(x), (\n        ge.relu(y))\n',
        "GE1105",
        6,
        "use y on the left side too",
    ),
    (
        "unbound",
        "@rule()\ndef r(x, y):\n    z = 1\n    return ge.abs(x), y\n",
        "GE1105",
        4,
        "y on the right side of r is bound nowhere",
    ),
    (
        "unused",
        '@rule(\n    exact="bits")\ndef r(x,\n      y):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1105",
        4,
        "does not use its parameter y",
    ),
    (
        "condition_asks",
        '@rule(exact="bits",\n    where={"q": lambda xx: xx.rank == 2})\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1105",
        2,
        "did you mean x?",
    ),
    (
        "function_asks",
        "@rule()\ndef r(x):\n    return ge.abs(x), ge.softmax(\n        x, axes=lambda y: [1])\n",
        "GE1105",
        3,
        "a function of r asks for y",
    ),
    ("level", "@rule(level=9)\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n", "GE1105", 1, "level is 1 or 2, not 9"),
    (
        "level_text",
        '@rule(level="2")\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1105",
        1,
        "level is 1 or 2, not '2'",
    ),
    (
        "benefit",
        '@rule(benefit="high")\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1105",
        1,
        "benefit is an integer",
    ),
    (
        "shared",
        '@rule(shared="no")\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1105",
        1,
        "shared is True or False",
    ),
    (
        "option",
        '@rule(exakt="bits")\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n',
        "GE1115",
        1,
        "options of a rule are exact, level",
    ),
    ("positional", '@rule("bits")\ndef r(x):\n    return ge.abs(x), ge.relu(x)\n', "GE1105", 1, "@rule(exact=...)"),
    ("at", "@rule()\ndef r(x, w):\n    return x @ w, x\n", "GE1105", 3, "ge.matmul(x, w)"),
    ("compared", "@rule()\ndef r(x):\n    return ge.select(x > 0, x, 0), x\n", "GE1105", 3, "ge.greater(x, 0)"),
    (
        "shape_in_body",
        "@rule()\ndef r(x):\n    n = x.shape[0]\n    return ge.abs(x), x\n",
        "GE1105",
        3,
        "ask for them in where=",
    ),
    (
        "value_as_attribute",
        "@rule()\ndef r(x, c):\n    return x / c, ge.leaky_relu(x, negative_slope=c)\n",
        "GE1105",
        3,
        "c: number",
    ),
    (
        "attribute_as_operand",
        "@rule()\ndef r(x, p: attr):\n    return ge.softmax(x, axes=p), ge.add(x, p)\n",
        "GE1105",
        3,
        "write NAME=p",
    ),
    (
        "no_stars",
        "@rule()\ndef r(x, w, **attrs):\n    return ge.matmul(x, w, attrs), x\n",
        "GE1105",
        3,
        "write **attrs",
    ),
    (
        "rest_of_another",
        "@rule()\ndef r(x, w, **attrs):\n    return ge.matmul(x, w, **attrs), ge.add(x, w, **attrs)\n",
        "GE1105",
        3,
        "name transpose_x1 on the left",
    ),
    (
        "kind",
        "@rule()\ndef r(x,\n      y: float):\n    return ge.add(x, y), x\n",
        "GE1105",
        3,
        "kinds are const, number, attr",
    ),
    ("default", "@rule()\ndef r(x, y=2):\n    return ge.add(x, y), x\n", "GE1105", 2, "has a default"),
    (
        "element_type",
        '@rule()\ndef r(x):\n    return ge.abs(x), ge.cast(x, dtype="float32")\n',
        "GE1105",
        3,
        "did you mean f32?",
    ),
    ("one_side", "@rule()\ndef r(x):\n    return ge.abs(x)\n", "GE1105", 3, "return before, after"),
    ("no_condition", "@rule(where=True)\ndef r(x):\n    return ge.abs(x), x\n", "GE1105", 1, "where=lambda"),
    ("alternatives_right", "@rule()\ndef r(x):\n    return ge.abs(x), one_of(x, ge.relu(x))\n", "GE1105", 3, "any_op"),
    ("name_of_an_op", "@rule()\ndef r(x):\n    return ge.abs(x), relu(x)\n", "GE1115", 3, "write ge.relu"),
    (
        "not_imported",
        "@rule()\ndef r(x, n: attr):\n    return any_op(ge.relu)(x), Outcome\n",
        "GE1115",
        3,
        "from gedialect.patterns import Outcome",
    ),
    ("constants_only", "@rule()\ndef r(x):\n    return ge.abs(x), x * ge.add(1, 2)\n", "GE1105", 3, "as one constant"),
    ("unconnected", "@rule()\ndef r(x, y):\n    return (ge.abs(x), ge.exp(y)), (x, y)\n", "GE1105", 3, "share a value"),
    ("capture_left", "@rule()\ndef r(x):\n    return x, ge.abs(x)\n", "GE1105", 3, "made by an op"),
    (
        "no_op",
        '@rule()\ndef r(x):\n    act = any_op(ge.relu, "abs")\n    return act(x), x\n',
        "GE1105",
        3,
        "any_op takes ops",
    ),
    (
        "computed_left",
        "@rule()\ndef r(x):\n    return ge.softmax(x, axes=lambda x: [0]), x\n",
        "GE1105",
        3,
        "capture it",
    ),
]

TEXT = [
    (
        "word",
        'rule r(x) exact=bits:\n    gelu(x,\n        approximate="nope") => x\n',
        "GE1105",
        2,
        'did you mean "none"?',
    ),
    (
        "unknown_name_below",
        "rule r(x) exact=bits:\n    abs(abs(x))\n        => add(x,\n\n            z)\n",
        "GE1105",
        5,
        "z is no parameter and no name",
    ),
    ("close_name", "rule r(scale) exact=bits:\n    abs(scael) => scale\n", "GE1105", 2, "did you mean scale?"),
    (
        "condition_asks",
        'rule r(x) exact=bits:\n    abs(abs(x)) => abs(x)\n    where "a": y.rank == 2\n',
        "GE1105",
        3,
        "asks for y",
    ),
    ("computed_asks", "rule r(x) exact=bits:\n    abs(abs(x)) => x * {yy}\n", "GE1105", 2, "asks for yy"),
    ("level", "rule r(x) level=9:\n    abs(x) => x\n", "GE1105", 1, "level is 1 or 2"),
    ("arrow", "rule r(x) exact=bits:\n    abs(abs(x)) -> abs(x)\n", "GE1115", 2, "write =>, not ->"),
    (
        "unused_name",
        "rule r(x) exact=bits:\n    y = abs(x)\n    abs(abs(x)) => abs(x)\n",
        "GE1105",
        2,
        "the name y is not used",
    ),
    ("as_in_python", "rule r(x) exact=bits:\n    ge.abs(x) => x\n", "GE1105", 2, "without ge: abs(x)"),
    ("matmul", "rule r(x, w):\n    x @ w => x\n", "GE1105", 2, "matmul(x, w)"),
    ("compared", "rule r(x) exact=bits:\n    select(x > 0, x, 0) => relu(x)\n", "GE1105", 2, "greater(x, 0)"),
    (
        "lambda",
        "rule r(x) exact=bits:\n    abs(x) => softmax(x, axes=lambda x: [1])\n",
        "GE1105",
        2,
        "axes=[x.rank - 1]",
    ),
    ("attribute_as_operand", "rule r(x, p: attr):\n    softmax(x, axes=p) => x + p\n", "GE1105", 2, "NAME=p"),
    ("given", "rule r(x, b):\n    abs(optional(x)) + b => given(x, b)\n", "GE1105", 2, "given(b, with_b, without_b)"),
    ("optional", "rule r(x, b):\n    optional(x, b, b) + x => x\n", "GE1105", 2, "optional(x * s, x)"),
    ("number", 'rule r(x) exact=bits:\n    x * number("a") => x\n', "GE1105", 2, "number(1.702"),
    ("no_number", "rule r(x) exact=bits:\n    x * number() => x\n", "GE1105", 2, "number(1.702"),
    (
        "label",
        'rule r(x) exact=bits:\n    abs(abs(x)) => x\n    where "a" x.rank == 2\n',
        "GE1115",
        3,
        'write where "what must hold": condition',
    ),
    ("several", "rule r(*xs, d: attr):\n    concat(*xs, concat_dim=d) => xs\n", "GE1105", 2, "several values"),
    ("empty", "# nothing\n", "GE1115", 1, "defines no rule"),
]

RUNNING = [
    (
        "computed_word",
        "py",
        '@rule()\ndef r(x):\n    return ge.abs(x), ge.gelu(\n        x, approximate=lambda: "tan")\n',
        "GE1105",
        3,
        'did you mean "tanh"?',
    ),
    (
        "division",
        "py",
        '@rule(where={\n    "a": lambda x: x.rank == 2,\n    "b": lambda x: 1 // 0})\ndef r(x):\n    return ge.abs(x), x\n',
        "GE1105",
        3,
        "the condition 'b' of r failed at node abs_1 (ge.abs): ZeroDivisionError",
    ),
    (
        "index",
        "py",
        "@rule()\ndef r(x):\n    return ge.abs(x), ge.softmax(x, axes=lambda x:\n        [[1, 2][x.rank]])\n",
        "GE1105",
        4,
        "a function of r failed at node abs_1 (ge.abs): IndexError",
    ),
    (
        "misspelt",
        "py",
        "@rule(where=lambda x: x.dype.is_float)\ndef r(x):\n    return ge.abs(x), x\n",
        "GE1105",
        1,
        "a value has array, dtype",
    ),
    (
        "none",
        "py",
        "@rule(where=lambda x: x.number > 2)\ndef r(x):\n    return ge.abs(x), x\n",
        "GE1105",
        1,
        "number and array of a value that is no constant",
    ),
    (
        "absent",
        "py",
        "@rule()\ndef r(x):\n    return ge.abs(x), ge.softmax(x, axes=lambda: None)\n",
        "GE1105",
        3,
        "axes of ge.softmax is None",
    ),
    (
        "no_constant",
        "py",
        "@rule()\ndef r(x):\n    return ge.abs(x), x * (lambda x: x.shape)\n",
        "GE1105",
        3,
        "a number or a numpy array",
    ),
    ("no_type", "py", "@rule()\ndef r(x):\n    return ge.abs(x), ge.exp(ge.cast(x))\n", "GE1105", 3, "write dtype="),
    (
        "not_verified",
        "py",
        '@rule()\ndef r(x):\n    return ge.abs(x), ge.resize(x, x, roi=[0.0], sizes=[2, 4],\n        mode="nearest", coordinate_transformation_mode="asymmetric")\n',
        "GE1105",
        3,
        "the new ge.resize at node abs_1 (ge.abs) does not verify",
    ),
    (
        "grows",
        "py",
        "\n@rule()\ndef grow(x):\n    return ge.abs(x), ge.abs(ge.abs(x))\n",
        "GE1106",
        2,
        "rule grow applies to its own result without end, last at node abs_1",
    ),
    (
        "undo",
        "py",
        "@rule()\ndef a(x):\n    return ge.abs(x), ge.relu(x)\n\n@rule()\ndef b(x):\n    return ge.relu(x), ge.abs(x)\n",
        "GE1106",
        1,
        "b is at FILE:5",
    ),
    (
        "division",
        "rules",
        'rule r(x) exact=bits:\n    abs(x) => x\n    where "fine": x.rank == 2\n    where "bad": (x.rank == 2 and\n        # why not\n        1 // 0 == 1)\n',
        "GE1105",
        6,
        "the condition 'bad' of r failed at node abs_1",
    ),
    (
        "computed",
        "rules",
        "rule r(x) exact=bits:\n    abs(x)\n        => x * {1 / (x.rank - 2)}\n",
        "GE1105",
        3,
        "guard against it with a condition before it",
    ),
]


def mistake(tmp_path: Path, kind: str, text: str, *, run: bool = False) -> tuple[GeError, str]:
    """The error of a file of rules, when it is read or applied, and the path of the file."""
    path = tmp_path / f"mine.{kind}"
    path.write_text(f"{IMPORTS}\n{text}" if kind == "py" else text, encoding="utf-8")
    with pytest.raises(GeError) as caught:
        rules = load_rules(path)
        if run:
            RuleSet(rules).apply(Parser(GeContext(), MODEL).parse_module())
    return caught.value, str(path)


@pytest.mark.parametrize(("text", "code", "line", "message"), [c[1:] for c in PYTHON], ids=[c[0] for c in PYTHON])
def test_python(tmp_path: Path, text: str, code: str, line: int, message: str):
    error, path = mistake(tmp_path, "py", text)
    assert (error.code, error.where) == (code, f"{path}:{line + 1}")
    assert message in str(error)


@pytest.mark.parametrize(("text", "code", "line", "message"), [c[1:] for c in TEXT], ids=[c[0] for c in TEXT])
def test_text(tmp_path: Path, text: str, code: str, line: int, message: str):
    error, path = mistake(tmp_path, "rules", text)
    assert (error.code, error.where) == (code, f"{path}:{line}")
    assert message in str(error)


@pytest.mark.parametrize(
    ("kind", "text", "code", "line", "message"), [c[1:] for c in RUNNING], ids=[f"{c[1]} {c[0]}" for c in RUNNING]
)
def test_when_applied(tmp_path: Path, kind: str, text: str, code: str, line: int, message: str):
    error, path = mistake(tmp_path, kind, text, run=True)
    shift = kind == "py"
    assert (error.code, error.where) == (code, f"{path}:{line + shift}")
    assert message.replace("FILE:5", f"{path}:6") in str(error)


def test_what_says_no_without_being_a_mistake():
    def refuse(x):
        raise NoMatch("not today")

    @rule(where={"fourth axis": lambda x: x.shape[3] == 1})
    def axis(x):
        return ge.abs(x), x

    @rule(where={"refused": refuse})
    def condition(x):
        return ge.abs(x), x

    @rule()
    def computed(x):
        return ge.abs(x), ge.softmax(x, axes=refuse)

    @rule()
    def types(x):
        return ge.abs(x), ge.transpose(x, perm=[0, 1, 2])

    rules = RuleSet([axis, condition, computed, types])
    module = Parser(GeContext(), MODEL).parse_module()
    assert not rules.apply(module).changed
    (root,) = (op for op in module.walk() if op.name == "ge.abs")
    assert rules.explain("axis", root)[0][1] == "fourth axis: no, [2, 4] has no item 3"
    assert rules.explain("condition", root)[0][1] == "refused: no, not today"
    assert rules.explain("computed", root)[0][1] == "no replacement: not today"
    assert rules.explain("types", root)[0][1].startswith("no replacement: ")


def test_a_number_is_an_attribute_on_the_right():
    @rule(exact="tolerance")
    def slope(x, c: number):
        return ge.maximum(x, c * x), ge.leaky_relu(x, negative_slope=c)

    module = Parser(
        GeContext(),
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = ge.constant #ge.splat<0.25> : tensor<f32>
      %a = ge.mul(%x, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %b = ge.maximum(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %b : tensor<4xf32>
    }""",
    ).parse_module()
    assert RuleSet([slope]).apply(module).changed
    assert "negative_slope = 2.5" in str(module)
