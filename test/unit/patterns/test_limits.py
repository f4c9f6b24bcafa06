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

from gedialect.errors import GeError
from gedialect.patterns import attr, const, ge, number, one_of, rule
from gedialect.patterns.formats import load_rules
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
