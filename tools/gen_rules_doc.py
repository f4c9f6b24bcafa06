"""Writes docs/rules.md, the reference of the rule catalogue, from the rules: `python tools/gen_rules_doc.py`."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from gedialect.patterns.catalogue import all_rules, topics
from gedialect.patterns.rule import Rule

TARGET = Path(__file__).parents[1] / "docs" / "rules.md"


def source(rule: Rule) -> str:
    """The rule as it is written, without its docstring."""
    with open(rule.file, encoding="utf-8") as handle:
        lines = handle.read().split("\n")[rule.line - 1 :]
    body = dedent("".join(inspect.getblock([line + "\n" for line in lines]))).rstrip("\n")
    return re.sub(r'\n    """.*?"""(?=\n)', "", body, count=1, flags=re.DOTALL)


def text() -> str:
    """The document."""
    lines = [
        "# Rules",
        "",
        "Written by `tools/gen_rules_doc.py`. How to read and write rules: [patterns.md](patterns.md).",
        "",
        "*Forms* counts the ways a rule may look (alternatives; operand orders come on top). *Exact*: how both sides",
        "agree: *bits*; *value* (signs of zero and payloads of NaN may differ); *tolerance* (rounding may differ; left",
        "out under `--strict-numerics`). Level 1 is canonical forms that keep values, level 2 fusion and raising.",
        "Below the table of a topic stand its rules as they are written: what a graph looks like before, and after.",
        "Rules that differ in an op or a name only are written once. Conditions and functions that several rules",
        "share, such as `FLOAT`, are in the file of the topic.",
        "",
        "Which rules apply to a model, and why not: `ge-opt model.onnx -O2 --trace-rules`, `--rule-stats`,",
        "`--debug-rule NAME`. Switching them, by rule or topic: `--disable NAME`, `--enable NAME`",
        "([fusion.md](fusion.md)).",
        "",
        f"Topics: {', '.join(f'[{t}](#{t})' for t in topics())}.",
    ]
    for topic in topics():
        about = (import_module(f"gedialect.patterns.catalogue.{topic}").__doc__ or "").partition("\n\n")[0]
        file = f"../gedialect/patterns/catalogue/{topic}.py"
        intro = f"{' '.join(about.replace('``', '`').split())} The file: [{topic}.py]({file})."
        lines += [
            "",
            f"## {topic}",
            "",
            intro,
            "",
            "| rule | level | exact | forms | what |",
            "| --- | --- | --- | --- | --- |",
        ]
        for r in all_rules():
            if r.topic == topic:
                doc = " ".join(r.doc.split()).replace("|", "\\|")
                lines.append(f"| `{r.name}` | {r.level} | {r.exact} | {len(r.variants)} | {doc} |")
        lines += [
            "",
            "```python",
            "\n\n\n".join(dict.fromkeys(source(r) for r in all_rules() if r.topic == topic)),
            "```",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
