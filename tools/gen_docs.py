"""Writes the pages of docs that follow from declarations: ops, ONNX operators, passes, rules, instructions, errors.

    python tools/gen_docs.py            # write
    python tools/gen_docs.py --check    # exit code 1, naming them, if files are out of date

Which ops kernels cover, and for which element types, is tried out: on every op that stands in
test/filecheck/dialects/ge, with its element type exchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import doc_onnx  # noqa: E402
import doc_ops  # noqa: E402
import doc_passes  # noqa: E402
import gen_isa_doc  # noqa: E402
import gen_rules_doc  # noqa: E402

HEAD = "<!-- Made by tools/gen_docs.py; do not edit. `make docs` writes it again. -->\n\n"


def errors() -> str:
    """docs/errors.md"""
    from gedialect.error_codes import by_range

    out = ["# Errors\n"]
    out.append(
        "Every error has one form: `PLACE: error CODE: what; what to do`, further lines indented. The place is\n"
        "`FILE`, `FILE:line:col` or `FILE: node NAME`. In Python it is a `gedialect.errors.GeError` with `code`,\n"
        "`where` and `hint`. Any command prints an entry of this page with `--explain CODE`. Exit codes:\n"
        "0 fine, 1 error, 2 wrong usage, 3 a check failed. `GEDIALECT_TRACEBACK=1` adds Python's traceback.\n"
    )
    for title, entries in by_range():
        out += [f"## {title}\n", "| code | what | when | what to do |", "| --- | --- | --- | --- |"]
        out += ["| " + " | ".join(_cell(c) for c in (e.code, e.title, e.meaning, e.todo)) + " |" for e in entries]
        out.append("")
    return "\n".join(out)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _made(text: Callable[[], str]) -> Callable[[], str]:
    return lambda: HEAD + text().rstrip("\n") + "\n"


FILES: dict[str, Callable[[], str]] = {
    "docs/errors.md": _made(errors),
    "docs/ops.md": _made(lambda: doc_ops.text(ROOT / "test" / "filecheck" / "dialects" / "ge")),
    "docs/onnx.md": _made(doc_onnx.text),
    "docs/passes.md": _made(doc_passes.text),
    "docs/rules.md": gen_rules_doc.text,
    "docs/isa.md": gen_isa_doc.text,
}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = 0
    for name in FILES:
        path, now = ROOT / name, FILES[name]()
        if path.exists() and path.read_text(encoding="utf-8") == now:
            continue
        if check:
            print(f"{name} is out of date; run make docs")
            stale = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(now, encoding="utf-8")
            print(f"wrote {name}")
    return stale


if __name__ == "__main__":
    sys.exit(main())
