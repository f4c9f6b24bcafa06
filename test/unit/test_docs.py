"""Generated pages are what their generator prints, and links between pages lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "README.md"])
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "tools" / "gen_docs.py"
    spec = importlib.util.spec_from_file_location("gen_docs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_generated_pages_are_current(generator: ModuleType):
    stale = [n for n, made in generator.FILES.items() if (ROOT / n).read_text(encoding="utf-8") != made()]
    assert not stale, "run make docs"


def test_every_op_pass_rule_and_code_has_its_place(generator: ModuleType):
    from gedialect.dialects.ge import op_classes
    from gedialect.error_codes import CATALOGUE
    from gedialect.ir.registry import pass_modules
    from gedialect.patterns.catalogue import all_rules

    def lines(name: str) -> list[str]:
        return (ROOT / "docs" / name).read_text(encoding="utf-8").split("\n")

    assert {line[4:] for line in lines("ops.md") if line.startswith("### ")} == {c.name for c in op_classes()}
    assert {f"## {name}" for name in pass_modules()} <= set(lines("passes.md"))
    assert {r.name for r in all_rules()} <= set(re.findall(r"^\| `(\w+)` \|", "\n".join(lines("rules.md")), re.M))
    assert set(CATALOGUE) == set(re.findall(r"^\| (GE\d+) \|", "\n".join(lines("errors.md")), re.M))


def test_every_op_has_a_valid_example(generator: ModuleType):
    """What the page about ops tries out is what the FileCheck tests hold: every op."""
    from gedialect.dialects.ge import op_classes

    covered = sys.modules["doc_ops"].coverage(ROOT / "test" / "filecheck" / "dialects" / "ge")
    missing = [c.name for c in op_classes() if c.name not in covered]
    assert not missing, "no text in test/filecheck/dialects/ge has them"


def anchors(text: str) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    wrong: list[str] = []
    for target in LINK.findall(FENCED.sub("", text)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text(encoding="utf-8"))):
            wrong.append(target)
    assert not wrong
