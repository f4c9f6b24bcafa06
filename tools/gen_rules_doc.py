"""Writes docs/rules.md, the reference of the rule catalogue, from the rules: `python tools/gen_rules_doc.py`."""

from __future__ import annotations

from pathlib import Path

from gedialect.patterns.catalogue import all_rules, topics

TARGET = Path(__file__).parents[1] / "docs" / "rules.md"


def text() -> str:
    """The document."""
    lines = [
        "# Rules",
        "",
        "Written by `tools/gen_rules_doc.py`. How to read and write rules: [patterns.md](patterns.md).",
        "",
        "*Forms* counts the ways a rule may look (alternatives; operand orders come on top). *Exact*: how both sides",
        "agree. Level 1 is canonical forms that keep values, level 2 fusion and raising.",
    ]
    for topic in topics():
        lines += ["", f"## {topic}", "", "| rule | level | exact | forms | what |", "| --- | --- | --- | --- | --- |"]
        for r in all_rules():
            if r.topic == topic:
                doc = " ".join(r.doc.split()).replace("|", "\\|")
                lines.append(f"| `{r.name}` | {r.level} | {r.exact} | {len(r.variants)} | {doc} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
