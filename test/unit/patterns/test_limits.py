"""Rules that are too large, or that say more than once what is said once, and what ``samples`` may hold."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.patterns import RuleSet, attr, const, ge, number, one_of, rule
from gedialect.patterns.formats import load_rules
from gedialect.patterns.formats.pdl_export import rule_to_pdl
from gedialect.patterns.formats.text_printer import print_rule
from gedialect.testing import check_rule


def refused(tmp_path: Path, text: str, name: str = "r.rules") -> str:
    """The error of a rule file, without the folder."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(GeError) as caught:
        load_rules(path)
    return str(caught.value).replace(f"{tmp_path}/", "")


# ---------------------------------------------------------------- alternatives
def test_nested_alternatives_are_refused_at_once(tmp_path: Path):
    def nested(x, depth):
        for _ in range(depth):
            x = one_of(x + 1, x * 2)
        return x

    start = perf_counter()
    with pytest.raises(GeError, match="combine to more than 128 forms"):
        rule(exact="bits")(lambda x: (ge.relu(nested(x, 40)), x))
    lines = [f"    v{i + 1} = v{i} + 1 | v{i} * 2" for i in range(40)]
    text = "\n".join(["rule r(v0):", *lines, "    relu(v40) => v0"])
    assert re.match(r"r.rules:42: error GE1105: .* more than 128 forms", refused(tmp_path, text))
    assert perf_counter() - start < 5


def test_the_limit_of_forms_is_not_below_what_it_says():
    def nested(x, depth):
        for _ in range(depth):
            x = one_of(x + 1, x * 2)
        return x

    made = rule(exact="bits")(lambda x: (ge.relu(nested(x, 7)), x))
    assert len(made.variants) == 128


# ---------------------------------------------------------------- samples
SAMPLES = [
    ({"dtypes": ["f99"]}, "'f99' is no element type; types are f32"),
    ({"dtypes": ["f32", "float16"]}, "'float16' is no element type; did you mean f16?"),
    ({"dtypes": "f32"}, 'dtypes is a list of names of element types, not \'f32\'; "dtypes": ["f32", "i32"]'),
    ({"dtypes": []}, "dtypes is a list of names"),
    ({"dtypes": [3]}, "3 is no name of an element type"),
    ({"infinite": "no"}, "infinite is True or False, not 'no'"),
    ({"infinte": False}, "'infinte' is bound nowhere in the rule; did you mean infinite?"),
    ({"nosuch": lambda rng: 1}, "'nosuch' is bound nowhere in the rule; it may hold x, xs0, xs1, w, c, p, dtypes"),
    ({3: lambda rng: 1}, "3 is bound nowhere"),
    ({"rest": lambda rng: {}}, "'rest' is bound nowhere"),
    ({"x": (2, 3)}, "x is a function of the shapes so far and a random generator, not (2, 3)"),
    ({"x": lambda: (2, 3)}, "it takes 1 or 2 arguments, not ()"),
    ({"w": lambda a, b, c: (2, 3)}, "it takes 1 or 2 arguments, not (a, b, c)"),
    ({"w": lambda a, *, b: (2, 3)}, "it takes 1 or 2 arguments, not (a, *, b)"),
    ({"c": 0.5}, "c is a function of a random generator, not 0.5"),
    ({"c": lambda shapes, rng: 0.5}, 'it takes one argument, not (shapes, rng); "c": lambda rng: 0.5'),
    ({"p": lambda: [1]}, "p is a function of a random generator: it takes one argument, not ()"),
]


@pytest.mark.parametrize(("samples", "message"), SAMPLES, ids=[m[:30] for _, m in SAMPLES])
def test_what_samples_hold_is_checked_at_the_rule(samples: dict[str, Any], message: str):
    line = sys._getframe().f_lineno + 3
    with pytest.raises(GeError) as caught:

        @rule(exact="bits", samples=samples)
        def r(x, *xs, w: const, c: number, p: attr, **rest):
            return ge.concat(ge.softmax(x * c, axes=p, **rest) + w, *xs, concat_dim=0), x

    assert re.match(rf"\S+test_limits.py:{line}: error GE1105: samples of r: ", str(caught.value))
    assert message in str(caught.value)


def test_samples_of_every_kind():
    @rule(
        exact="value",
        ordered=True,
        samples={
            "x": lambda shapes: [2, 3],
            "xs0": lambda shapes, rng: (int(rng.integers(1, 3)), 3),
            "w": partial(lambda size, shapes: (size, 3), 2),
            "p": lambda rng, axis=1: axis,
            "c": lambda rng: np.float32(0.5),
            "dtypes": ("f32",),
            "infinite": True,
        },
    )
    def r(x, *xs, w: const, c: number, p: attr):
        return ge.concat(x * c + w, *xs, concat_dim=p), ge.concat(w + x * c, *xs, concat_dim=p)

    proof = check_rule(r, instances=2)
    assert proof.holds, str(proof)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda shapes: "a", "samples: x gave 'a', which is no shape"),
        (lambda shapes: (-1,), "samples: x gave (-1,), which is no shape"),
        (lambda shapes: (2.0,), "samples: x gave (2.0,), which is no shape"),
        (lambda shapes: (10**9, 10**9), "samples: x gave (1000000000, 1000000000), which has more than"),
        (lambda shapes: shapes["y"], "samples: x failed: KeyError: 'y'"),
    ],
    ids=["text", "negative", "float", "large", "fails"],
)
def test_what_a_sample_draws_wrongly_is_said(draw: Any, message: str):
    made = rule(exact="bits", samples={"x": draw})(lambda x: (ge.relu(ge.relu(x)), ge.relu(x)))
    proof = check_rule(made, instances=2)
    assert proof.counterexample is None
    always = check_rule(rule(exact="bits", where=lambda: False, samples={"x": draw})(_twice), instances=2)
    assert any(message in what for what in always.refused), always.refused


def _twice(x):
    return ge.relu(ge.relu(x)), ge.relu(x)


# ---------------------------------------------------------------- comparisons, options twice, depth
HEAD = "from gedialect.patterns import attr, ge, rule\n"
COMPARED = [
    "@rule\ndef r(x):\n    return ge.relu(x) == x, x\n",
    "@rule\ndef r(x):\n    return ge.relu(x), ge.select(x != 0, x, 0)\n",
    "@rule\ndef r(x, p: attr):\n    return ge.softmax(x, axes=p), ge.softmax(x, axes=[1] if p == [1] else p)\n",
]


@pytest.mark.parametrize("text", COMPARED, ids=["side", "operand", "attribute"])
def test_a_comparison_of_patterns_is_said(tmp_path: Path, text: str):
    message = refused(tmp_path, HEAD + text, "r.py")
    assert message.startswith("r.py:4: error GE1105: == in a rule compares what it is made of")
    assert "ge.equal(a, b)" in message


def test_equality_is_identity_besides():
    @rule
    def r(x, y):
        return x + y, y + x if x in (x, y) and y is not None else x

    assert r.params["x"] == r.params["x"]
    assert r.params["x"] != r.params["y"]


@pytest.mark.parametrize(
    "options", ["exact=bits exact=value", "shared shared", "finite level=1 finite", "topic=a topic=a"]
)
def test_an_option_is_given_once(tmp_path: Path, options: str):
    text = f"# a comment\nrule r(x) {options}:\n    relu(x) => x\n"
    word = options.split()[-1].partition("=")[0]
    assert refused(tmp_path, text) == f"r.rules:2: error GE1115: {word} is there twice; say it once"


def chain(depth: int) -> str:
    body = "    y = x\n    for _ in range(DEPTH):\n        y = ge.relu(y)\n    return ge.abs(y), x\n"
    return f"{HEAD}@rule\ndef r(x):\n{body.replace('DEPTH', str(depth))}"


def test_a_deep_rule_is_refused(tmp_path: Path):
    assert refused(tmp_path, chain(3000), "r.py") == (
        "r.py:7: error GE1105: r is more than 100 ops deep; split the rule"
    )
    lines = ["rule r(v0):", *(f"    v{i + 1} = relu(v{i})" for i in range(3000)), "    abs(v3000) => v0"]
    assert refused(tmp_path, "\n".join(lines)) == (
        "r.rules:3002: error GE1105: r is more than 100 ops deep; split the rule"
    )
    sums = f"rule r(x):\n    abs({' + '.join(['x'] * 3000)}) => x"
    assert refused(tmp_path, sums).startswith("r.rules:2: error GE1115: this is nested too deeply; give parts")
    powers = f"rule r(x):\n    abs({'-' * 20000}x) => x"
    assert refused(tmp_path, powers).startswith("r.rules:2: error GE1115: this is nested too deeply; give parts")


def test_a_rule_may_be_as_deep_as_it_says(tmp_path: Path):
    (tmp_path / "r.py").write_text(chain(98))
    (made,) = load_rules(tmp_path / "r.py")
    relu = "\n".join(f"%v{i + 1} = ge.relu(%v{i}) : (tensor<2xf32>) -> tensor<2xf32>" for i in range(98))
    text = f"""func.func @main(%v0: tensor<2xf32>) -> tensor<2xf32> {{
      {relu}
      %y = ge.abs(%v98) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }}"""
    module = Parser(GeContext(), text).parse_module()
    assert RuleSet([made]).apply(module).rewrites == {"r": 1}
    assert check_rule(made, instances=1).tried
    assert "relu" in print_rule(made)
    assert len(rule_to_pdl(made)) == 1
