"""Rules from files: the text form and its printer, GE's JSON, PDL, Python; their mistakes; packages."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import ClassVar

import pytest

from gedialect.errors import GeError, UsageError
from gedialect.patterns import Rule, any_op, attr, ge, number, rule
from gedialect.patterns.catalogue import all_rules, select
from gedialect.patterns.formats import load_rules
from gedialect.patterns.formats.expressions import constant_of, function_of, refusal
from gedialect.patterns.formats.ge_json import class_of
from gedialect.patterns.formats.loading import entry_point_rules
from gedialect.patterns.formats.pdl_export import dump_pdl, rule_to_pdl
from gedialect.patterns.formats.pdl_import import parse_pdl
from gedialect.patterns.formats.text import parse_rules
from gedialect.patterns.formats.text_printer import print_rule, print_rules
from gedialect.testing import check_rule


def text(source: str) -> list[Rule]:
    return parse_rules(source, "f.rules", "mine")


# ---------------------------------------------------------------- text
EVERYTHING = """
rule everything(x, w: const, b, c: number, p: attr, *ys, **attrs) exact=tolerance level=1 benefit=7 topic=t shared:
    "Says \\"it\\"."
    y = transpose(x, perm=p)            # named: conditions may ask
    m = matmul(y, w, optional(b), **attrs)
    both = concat(m, *ys, concat_dim=-1)
    (relu(both) * c | both * number(1.702, tol=0.01))
        => given(b, relu(both), both)
    where "rank": y.rank == 2 and all(v.rank == 2 for v in ys)
    where len(p) == 2
"""


def test_text_says_everything():
    (r,) = text(EVERYTHING)
    assert (r.name, r.exact, r.level, r.benefit, r.topic, r.shared) == ("everything", "tolerance", 1, 7, "t", True)
    assert r.doc == 'Says "it".'
    assert [c.name for c in r.checks] == ["rank", "len(p) == 2"]
    assert len(r.variants) == 4
    assert "y" in r.names
    assert r.where == "f.rules:2"


def test_text_round_trip_of_text():
    printed = print_rules(text(EVERYTHING))
    assert print_rules(text(printed)) == printed


def test_round_trip_of_the_catalogue():
    """What the text form can say of the catalogue means the same when read back."""
    said = 0
    for r in all_rules():
        printed = ""
        with contextlib.suppress(GeError):
            printed = print_rule(r)
        if not printed:
            continue
        (back,) = text(printed)
        assert print_rule(back) == printed
        assert len(back.variants) == len(r.variants)
        assert (back.exact, back.level, back.topic, back.shared) == (r.exact, r.level, r.topic, r.shared)
        assert [c.name for c in back.checks] == [c.name for c in r.checks]
        said += 1
    assert said >= 30


@pytest.mark.parametrize("name", ["gelu_erf", "softmax", "mul_one", "transpose_identity"])
def test_rule_read_back_is_proved(name: str):
    (r,) = [r for r in all_rules() if r.name == name]
    (back,) = text(print_rule(r))
    assert check_rule(back, instances=3).holds


def test_tied_alternatives_round_trip():
    act = any_op(ge.relu, ge.sigmoid)

    @rule(exact="tolerance")
    def tied(x, y):
        return act(act(x) + y), act(x)

    printed = print_rule(tied)
    assert "choice(" in printed
    (back,) = text(printed)
    assert len(back.variants) == len(tied.variants) == 2


def test_python_functions_cannot_be_text():
    helper = 3

    @rule(where=lambda x: x.rank == helper)
    def r(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    with pytest.raises(GeError, match="GE1116: r cannot be written as text: the condition"):
        print_rule(r)


TEXT_MISTAKES = {
    "rule r(x) exact=bits\n    relu(x) => x": (1, "no header"),
    "    relu(x) => x": (1, "indented before the first rule"),
    "rule r(x):\n    relu(x)": (2, "expected before => after"),
    "rule r(x):\n    relu(x) => x\n    relu(x) => x": (3, "two =>"),
    'rule r(x):\n    "doc"': (1, "has no =>"),
    "rule r(x):\n\n    relu(y) => x": (3, "y is no parameter and no name"),
    "rule r(x):\n    reluu(x) => x": (2, "no op reluu"),
    "rule r(x):\n    softmax(x, axis=1) => x": (2, "no attribute axis"),
    "rule r(x, y):\n    relu(x) => x": (1, "does not use its parameter y"),
    "rule r(x) fast:\n    relu(x) => x": (1, "fast is no option"),
    "rule r(x) exact=maybe:\n    relu(x) => x": (1, "exact is bits or value or tolerance"),
    "rule r(x: weight):\n    relu(x) => x": (1, "weight is no kind"),
    "rule r(x):\n    relu(x => x": (2, "a bracket is not closed"),
    "rule r(x):\n    relu(x)) => x": (2, "a bracket is closed"),
    "rule r(x):\n    relu(x) +* 2 => x": (2, "does not parse"),
    "rule r(x):\n    relu(x) => x\n    where __import__('os')": (3, "cannot be called"),
    "rule r(x):\n    relu(x) => x\n    where x.__class__": (3, "cannot be used"),
    "rule r(x):\n    relu(x) => x\n    where x.shape.count(1)": (3, "cannot be called"),
    "rule r(x):\n    relu(x) => x\n    where 9 ** 9 ** 9": (3, "an exponent is a number"),
    "rule r(x):\n    relu(x) => x\n    where y > 1": (3, "asks for y"),
    "rule r(x):\n    x = relu(x)\n    x => x": (2, "the name x is taken"),
    "rule r(x):\n    relu(x) => split(x)[0]": (2, "needs attribute"),
    "rule r(x):\n    relu(x)[1] => x": (2, "has no result 1"),
    "rule r(x):\n    relu(any_order(x)) => x": (2, "no op x"),
    "rule r(x):\n    relu(any_order()) => x": (2, "any_order begins with the name of an op"),
    "rule r(x):\n    relu(x) => x\nrule r(x):\n    abs(x) => x": (3, "two rules are named r"),
    "rule r(x):\n    " + "(" * 300 + "x" + ")" * 300 + " => x": (2, "nested too deeply"),
}


@pytest.mark.parametrize("source", TEXT_MISTAKES, ids=lambda s: s[:40].replace("\n", " "))
def test_mistakes_in_text_are_at_their_line(source: str):
    line, message = TEXT_MISTAKES[source]
    with pytest.raises(GeError) as caught:
        text(source)
    assert caught.value.code in ("GE1105", "GE1115")
    assert message in str(caught.value)
    assert caught.value.where == f"f.rules:{line}"


def test_expressions_are_expressions_only():
    import ast

    def tree(source: str) -> ast.expr:
        return ast.parse(source, mode="eval").body

    assert constant_of(tree("sqrt(16) + len([1, 2])")) == 6
    assert function_of(tree("[p[i] for i in q]"))([3, 4], [1, 0]) == [4, 3]
    for bad in (
        "lambda: 1",
        "open('x')",
        "x.y()",
        "(1).real.__class__",
        "f'{x}'",
        "[1 for _ in ()] and (yield)",
        "1 << 99",
    ):
        assert refusal(tree(bad)) is not None


# ---------------------------------------------------------------- GE's JSON
class TestJson:
    RULE: ClassVar = {
        "RuleName": "SumOfSquares",
        "OuterInputs": [{"name": "x"}],
        "OuterOutputs": [{"name": "y"}],
        "OriginGraph": {
            "Nodes": [{"name": "sq", "type": ["Square"]}, {"name": "sum", "type": ["ReduceSumD"]}],
            "Edges": [
                {"src": "x", "dst": "sq:0"},
                {"src": "sq:0", "dst": "sum:0"},
                {"src": "sum:0", "dst": "y"},
            ],
        },
        "FusionGraph": {
            "Nodes": [{"name": "fused", "type": ["SquareSumV1"]}],
            "Edges": [{"src": "x", "dst": "fused:0"}, {"src": "fused", "dst": "y"}],
            "Attrs": [
                {"attr": "fused.axes", "value": "sum.axes", "expr": "="},
                {"attr": "fused.keep_dims", "value": "sum.keep_dims", "expr": "="},
            ],
        },
    }

    def load(self, change=lambda r: None) -> list[Rule]:
        from gedialect.patterns.formats.ge_json import parse_json

        return parse_json(self.text(change), "f.json", "mine")

    def text(self, change) -> str:
        entry = json.loads(json.dumps(self.RULE))
        change(entry)
        return json.dumps({"Rules": [entry]}, indent=1)

    def test_rule(self):
        (r,) = self.load()
        assert r.where == "f.json:4"
        assert check_rule(r, instances=4).holds

    def test_operands_of_commutative_ops_may_swap(self):
        def mul(r):
            r["OriginGraph"]["Nodes"] = [{"name": "s", "type": ["Sigmoid"]}, {"name": "m", "type": ["Mul"]}]
            r["OriginGraph"]["Edges"] = [
                {"src": "x", "dst": "s:0"},
                {"src": "x", "dst": "m:0"},
                {"src": "s:0", "dst": "m:1"},
                {"src": "m:0", "dst": "y"},
            ]
            r["FusionGraph"] = {
                "Nodes": [{"name": "f", "type": ["Swish"]}],
                "Edges": [{"src": "x", "dst": "f:0"}, {"src": "f:0", "dst": "y"}],
                "Attrs": [{"attr": "f.scale", "value": 1.0, "expr": "="}],
            }

        (r,) = self.load(mul)
        assert check_rule(r, instances=8).holds  # instances come in both orders

    @pytest.mark.parametrize(
        ("change", "code", "message", "at"),
        [
            (lambda r: r.pop("OriginGraph"), "GE1115", "no OriginGraph", '"RuleName"'),
            (lambda r: r["OriginGraph"].pop("Edges"), "GE1115", "Edges is no list", '"OriginGraph"'),
            (
                lambda r: r["OriginGraph"]["Nodes"][0].update(type="Square"),
                "GE1115",
                'write "type": ["Square"]',
                '"type": "Square"',
            ),
            (
                lambda r: r["OriginGraph"]["Nodes"][0].update(name=3),
                "GE1115",
                "name of Nodes is 3, not a string",
                '"name": 3',
            ),
            (
                lambda r: r["FusionGraph"]["Attrs"][1].update(value="yes"),
                "GE1105",
                "keep_dims is True or False",
                '"value": "yes"',
            ),
            (
                lambda r: r["FusionGraph"]["Nodes"][0].update(type=["Fused"]),
                "GE1116",
                "no op for GE type Fused",
                '"type": [',
            ),
            (
                lambda r: r["OriginGraph"]["Nodes"][0].update(type=["Square", "Abs"]),
                "GE1116",
                "has 2 types",
                '"type": [',
            ),
            (
                lambda r: r["FusionGraph"]["Attrs"][0].update(attr="fused.axis"),
                "GE1116",
                "no attribute axis",
                "fused.axis",
            ),
            (lambda r: r["FusionGraph"]["Attrs"][0].update(expr="+"), "GE1116", "expression", '"+"'),
            (lambda r: r["FusionGraph"]["Attrs"].pop(), "GE1105", "needs attribute keep_dims", '"RuleName"'),
            (lambda r: r["OriginGraph"]["Edges"][0].update(dst="sq:7"), "GE1116", "takes 1 operands", '"RuleName"'),
            (lambda r: r["OriginGraph"]["Edges"][0].update(src="sum:0"), "GE1115", "cycle", '"RuleName"'),
            (lambda r: r["OriginGraph"]["Edges"].pop(), "GE1115", "no edge leads to output y", '"RuleName"'),
            (lambda r: r["OriginGraph"]["Edges"][0].update(src="z"), "GE1115", "no node and no input", '"z"'),
        ],
    )
    def test_mistakes(self, change, code: str, message: str, at: str):
        with pytest.raises(GeError) as caught:
            self.load(change)
        assert caught.value.code == code
        assert message in str(caught.value)
        file, line = str(caught.value.where).split(":")
        assert file == "f.json" and at in self.text(change).split("\n")[int(line) - 1]

    def test_types(self):
        assert class_of("ReduceSumD").name == "ge.reduce_sum"
        assert class_of("NoSuchType") is None


# ---------------------------------------------------------------- PDL
def pdl(body: str) -> str:
    return f"pdl.pattern @p : benefit(1) {{\n{body}\n}}"


HEAD = "%t = pdl.type\n%x = pdl.operand : %t\n"
ROOT = '%r = pdl.operation "ge.relu" (%x : !pdl.value) -> (%t : !pdl.type)\n'
END = "pdl.rewrite %r {\n  pdl.replace %r with (%x : !pdl.value)\n}"


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (HEAD + '%r = pdl.operation "ge.rellu" (%x : !pdl.value) -> (%t : !pdl.type)\n' + END, 4, "no op ge.rellu"),
        (HEAD + "%r = pdl.operation (%x : !pdl.value) -> (%t : !pdl.type)\n" + END, 4, "without a name"),
        (HEAD + "%o = pdl.operands\n" + ROOT + END, 4, "ranges of operands"),
        (HEAD + ROOT + "pdl.rewrite %r {\n  pdl.erase %r\n}", 6, "cannot be erased"),
        (HEAD + ROOT + 'pdl.rewrite %r with "f"', 5, "external rewrites are C\\+\\+"),
        (
            HEAD
            + '%a = pdl.attribute : %t\n%r = pdl.operation "ge.softmax" (%x : !pdl.value) {"axes" = %a} -> (%t : !pdl.type)\n'
            + END,
            4,
            "attributes of a type",
        ),
        (
            HEAD
            + '%a = pdl.attribute\n%r = pdl.operation "ge.relu" (%x : !pdl.value) {"axes" = %a} -> (%t : !pdl.type)\n'
            + END,
            5,
            "no attribute axes",
        ),
    ],
)
def test_pdl_that_rules_cannot_say(body: str, line: int, message: str):
    with pytest.raises(GeError, match=message) as caught:
        parse_pdl(pdl(body), "f.pdl.mlir", "mine")
    assert caught.value.code == "GE1116"
    assert caught.value.where == f"f.pdl.mlir:{line}"


def test_pdl_word_that_an_op_does_not_take():
    source = pdl(
        HEAD
        + '%m = pdl.attribute = "nope"\n'
        + '%r = pdl.operation "ge.gelu" (%x : !pdl.value) {"approximate" = %m} -> (%t : !pdl.type)\n'
        + "pdl.rewrite %r {\npdl.replace %r with (%x : !pdl.value)\n}"
    )
    with pytest.raises(GeError, match=r"GE1105: ge\.gelu takes no approximate = 'nope'") as caught:
        parse_pdl(source, "f.pdl.mlir", "mine")
    assert caught.value.where == "f.pdl.mlir:5"


def test_pdl_that_does_not_parse():
    with pytest.raises(GeError) as caught:
        parse_pdl("pdl.pattern @p : benefit(1) {\n  %x = pdl.nothing\n}", "f.pdl.mlir", "mine")
    assert caught.value.code == "GE1101"
    assert caught.value.where.startswith("f.pdl.mlir:2")


def test_pdl_round_trip():
    """Patterns written for the catalogue are rules again, and hold."""
    for name in ("softmax", "neg_neg", "relu_relu"):
        (r,) = [r for r in all_rules() if r.name == name]
        back = parse_pdl(dump_pdl([r]), "f.pdl.mlir", "mine")
        assert len(back) == len(rule_to_pdl(r))
        for b in back:
            b.samples = r.samples  # PDL has no place for them
        assert all(check_rule(b, instances=3).holds for b in back)


def test_what_was_read_from_pdl_is_written_as_it_was():
    """Types that are asked for, several outputs, ops with several results: what the writer alone could not say."""
    typed = pdl(
        HEAD.replace("pdl.type\n", "pdl.type : tensor<2xf32>\n")
        + ROOT
        + "pdl.rewrite %r {\npdl.replace %r with (%x : !pdl.value)\n}"
    )
    both = pdl(
        HEAD
        + ROOT
        + """%a = pdl.operation "ge.abs" (%x : !pdl.value) -> (%t : !pdl.type)
        pdl.rewrite {
          pdl.replace %a with (%x : !pdl.value)
          pdl.replace %r with (%x : !pdl.value)
        }"""
    ).replace("@p", "@both")
    rules = parse_pdl(typed + both, "f.pdl.mlir", "mine")
    text = dump_pdl(rules)
    assert "//" not in text and "tensor<2xf32>" in text
    again = parse_pdl(text, "f.pdl.mlir", "mine")
    assert dump_pdl(again) == text
    assert [(r.name, len(r.outputs), [c.name for c in r.checks]) for r in again] == [
        (r.name, len(r.outputs), [c.name for c in r.checks]) for r in rules
    ]


def test_pdl_keeps_types_apart():
    """One !pdl.type for two values asks for one type."""
    source = pdl(
        HEAD
        + "%y = pdl.operand : %t\n"
        + '%r = pdl.operation "ge.add" (%x, %y : !pdl.value, !pdl.value) -> (%t : !pdl.type)\n'
        + 'pdl.rewrite %r {\n  %n = pdl.operation "ge.add" (%y, %x : !pdl.value, !pdl.value) -> (%t : !pdl.type)\n'
        + "  pdl.replace %r with %n\n}"
    )
    (r,) = parse_pdl(source, "f.pdl.mlir", "mine")
    assert [c.name for c in r.checks] == ["x and y have one type", "x and r have one type"]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: rule(where=lambda x: True)(lambda x: (ge.relu(x), x)), "condition"),
        (lambda: rule()(lambda x: (ge.mul(x, 1.5707963), x)), "tolerance"),
        (lambda: rule()(_number), "c is a number"),
        (lambda: rule()(_computed), "perm of ge.transpose is computed"),
        (lambda: rule()(lambda x: (ge.relu(ge.abs(x)), x - 1)), "new constant takes its type from inference"),
        (lambda: rule()(lambda x, y: (ge.relu(x) + y, ge.relu(x + y))), "comes from inference"),
    ],
)
def test_rules_that_pdl_cannot_say(make, reason: str):
    r = make()
    with pytest.raises(GeError, match="GE1116") as caught:
        rule_to_pdl(r)
    assert reason in str(caught.value)
    assert dump_pdl([r]).count("//") == 1


def _number(x, c: number):
    return x * c, x


def _computed(x, p: attr):
    return ge.transpose(x, perm=p), ge.transpose(x, perm=lambda p: p[::-1])


# ---------------------------------------------------------------- files and packages
def test_rules_in_lists_and_their_topic(tmp_path: Path):
    file = tmp_path / "my-rules.py"
    file.write_text(
        "from gedialect.patterns import ge, rule\n"
        "def make(op):\n"
        "    return rule(name=f'twice_{op}')(lambda x: (getattr(ge, op)(getattr(ge, op)(x)), getattr(ge, op)(x)))\n"
        "RULES = [make(op) for op in ('abs', 'floor')]\n"
    )
    loaded = load_rules(file)
    assert [(r.name, r.topic) for r in loaded] == [("twice_abs", "my_rules"), ("twice_floor", "my_rules")]
    assert load_rules(file)[0] is loaded[0]  # the same file is the same rules


def test_python_file_may_import_its_neighbours(tmp_path: Path):
    (tmp_path / "neighbour_of_rules.py").write_text("N = 2\n")
    file = tmp_path / "r.py"
    file.write_text(
        "from gedialect.patterns import ge, rule\nfrom neighbour_of_rules import N\n"
        "@rule()\ndef r(x):\n    return x + N, x - (-N)\n"
    )
    assert [r.name for r in load_rules(file)] == ["r"]


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.txt", b"", "GE1013"),
        ("a.rules", b"\xff\xfe", "GE1102"),
        ("a.py", b"x = 1\n", "GE1115"),
        ("a.py", b"x = \x00\n", "GE1115"),
        ("a.py", b"def broken(:\n    pass\n", "GE1115"),
        ("a.py", b"raise SystemExit(0)\n", "GE1115"),
        ("a.rules", b"# nothing\n", "GE1115"),
        ("a.json", b"[]", "GE1115"),
        ("a.json", b'{"Rules": [1]}', "GE1115"),
        ("a.json", b'{"Rules": []}', "GE1115"),
        ("a.json", b'{"Rules": ' + b"[" * 100_000, "GE1115"),
        ("a.pdl.mlir", b"builtin.module {}", "GE1115"),
        ("a.pdl.mlir", b"func.func @f() {\n func.return\n}", "GE1115"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, data: bytes, code: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(GeError) as caught:
        load_rules(tmp_path / name)
    assert caught.value.code == code
    assert caught.value.where is not None and caught.value.where.startswith(str(tmp_path / name))
    assert caught.value.hint


def test_missing_file(tmp_path: Path):
    with pytest.raises(GeError, match="GE1002"):
        load_rules(tmp_path / "none.rules")


def test_name_of_the_catalogue_is_taken():
    @rule()
    def add_zero(x):
        return ge.add(x, 0), x

    with pytest.raises(GeError, match="GE1105: the name add_zero is taken"):
        select(extra=[add_zero])


def test_extra_rules_are_selected():
    @rule(topic="mine")
    def extra_rule(x):
        return ge.abs(ge.abs(x)), ge.abs(x)

    assert select(topic=["mine"], extra=[extra_rule]) == (extra_rule,)
    assert extra_rule in select(extra=[extra_rule])
    with pytest.raises(UsageError, match="did you mean extra_rule"):
        select(rules=["extra_rul"], extra=[extra_rule])


class Point:
    """An entry point."""

    name, value = "mine", "package:RULES"

    class dist:
        name = "package"

    def __init__(self, load):
        self.load = load


def test_packages(monkeypatch: pytest.MonkeyPatch):
    import importlib.metadata as metadata

    @rule()
    def packaged(x):
        return ge.abs(ge.abs(x)), ge.abs(x)

    def with_point(load):
        monkeypatch.setattr(metadata, "entry_points", lambda group: [Point(load)] if group == "gedialect.rules" else [])
        entry_point_rules.cache_clear()
        return entry_point_rules

    try:
        assert with_point(lambda: [packaged])() == (packaged,)
        with pytest.raises(GeError, match="package: package:RULES: error GE1115: no rule in it"):
            with_point(lambda: [1])()
        with pytest.raises(GeError, match="package: package:RULES: error GE1115: ImportError"):
            with_point(_broken)()
        with pytest.raises(GeError, match="GE1105: the ge dialect has no op nothing"):
            with_point(lambda: ge.nothing)()
    finally:
        monkeypatch.undo()
        entry_point_rules.cache_clear()


def _broken():
    raise ImportError("no such module")


def test_text_says_that_a_rule_is_for_finite_values():
    text = """rule naive(x, a: attr) exact=tolerance{}:
    e = exp(x)
    e / reduce_sum(e, axes=a, keep_dims=True) => softmax(x, axes=a)
"""
    (plain,) = parse_rules(text.format(""), "f.rules", "mine")
    (finite,) = parse_rules(text.format(" finite"), "f.rules", "mine")
    (again,) = parse_rules(print_rule(finite), "f.rules", "mine")
    assert finite.samples == again.samples == {"infinite": False}
    assert check_rule(plain, instances=60).counterexample is not None
    assert check_rule(finite, instances=60).holds
