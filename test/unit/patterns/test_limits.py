"""Rules that are too large, or that say more than once what is said once, and what ``samples`` may hold."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter

import pytest

from gedialect.errors import GeError
from gedialect.patterns import ge, one_of, rule
from gedialect.patterns.formats import load_rules


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
