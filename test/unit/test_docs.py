"""Generated pages are what their generator prints, and links between pages lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from functools import cache
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


def test_generated_pages_are_current():
    """In a process of its own: what other tests register must not show."""
    command = [sys.executable, str(ROOT / "tools" / "gen_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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


COMMAND = re.compile(r"(?:^(?:    |\$ )|`)(?:[.\w/]*/)?(ge-(?:opt|run|compile|import|reduce))( [^`\n]*)", re.MULTILINE)


@cache
def options(command: str) -> frozenset[str]:
    """What ``--help`` names."""
    module = f"gedialect.cli.{command.replace('-', '_')}"
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)
    return frozenset(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", done.stdout))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_have_options_and_passes_that_exist(page: Path):
    """Commands in console blocks are run by ``test_readme``; this is for those in prose, and costs less."""
    from xdsl.universe import Universe

    from gedialect.ir.registry import pass_modules
    from gedialect.pipelines import pass_name

    examples = {"reverse-adds", "pass-a", "name"}  # of CONTRIBUTING, and placeholders
    known = {*pass_modules(), *Universe.get_multiverse().all_passes, *examples}
    wrong: list[str] = []
    for command, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
        line = re.split(r"\s+#|[|>]|&&", rest)[0]
        for option in re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", line):
            level = re.fullmatch(r"-O[0-3]", option)
            if not level and option not in options(command):
                wrong.append(f"{command} {option}")
        for pipeline in re.findall(r'-p "([^"]+)"|-p ([\w-]+)', line):
            names = re.sub(r"\{[^}]*\}", "", "".join(pipeline)).split(",")
            wrong += [f"pass {n}" for n in map(pass_name, names) if n not in known]
    assert not wrong
