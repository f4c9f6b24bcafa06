"""docs/patterns.md runs as it stands: Python blocks in order, each ``text`` block is what the block before printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gedialect.testing.runner import call

TUTORIAL = Path(__file__).parents[3] / "docs" / "patterns.md"


def test_tutorial(capsys):
    names: dict[str, object] = {"__name__": "tutorial"}
    printed = ""
    blocks = list(re.finditer(r"^```(\w+)\n(.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL))
    assert len(blocks) > 12
    for block in blocks:
        kind, text = block.groups()
        if kind == "python":
            assert printed == "", f"not shown in the tutorial: {printed}"
            line = TUTORIAL.read_text()[: block.start(2)].count("\n")
            exec(compile("\n" * line + text, str(TUTORIAL), "exec"), names)
            printed = capsys.readouterr().out
        else:
            assert text == printed
            printed = ""
    assert printed == ""


@pytest.mark.parametrize("passes", ["-O2 --input-shape x:1,3,48,192", "-p apply-rules"])
def test_debug_rule_of_a_model_with_open_sizes(passes: str):
    model = TUTORIAL.parents[1] / "test" / "data" / "ppocr_cls" / "ppocr_cls.onnx"
    done = call(["ge-opt", str(model), *passes.split(), "--debug-rule", "conv2d_batch_norm"])
    assert done.code == 0, done.err
    assert "debug-rule conv2d_batch_norm: node BatchNormalization@0 (ge.batch_norm): matched" in done.err


def test_reference_is_current():
    """docs/rules.md is what tools/gen_rules_doc.py writes."""
    tool = TUTORIAL.parents[1] / "tools" / "gen_rules_doc.py"
    names: dict[str, object] = {"__name__": "gen_rules_doc", "__file__": str(tool)}
    exec(compile(tool.read_text(), str(tool), "exec"), names)
    made = names["text"]
    assert callable(made)
    assert made() == TUTORIAL.with_name("rules.md").read_text(), "run tools/gen_rules_doc.py"
