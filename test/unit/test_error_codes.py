"""Every error code that is raised stands in the catalogue, every entry is raised, and none has two meanings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gedialect.cli import ge_compile, ge_import, ge_opt, ge_reduce, ge_run
from gedialect.error_codes import _ENTRIES, CATALOGUE, RANGES, by_range

ROOT = Path(__file__).parents[2]
SOURCES = [p for top in ("gedialect", "lowering") for p in (ROOT / top).rglob("*.py") if p.name != "error_codes.py"]
CODE = re.compile(r"\bGE1\d{3}\b")


def docstrings(tree: ast.AST) -> set[int]:
    """Ids of the constants that are docstrings."""
    return {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and n.body and isinstance(n.body[0], ast.Expr)
    }


def strings() -> Iterator[tuple[Path, str]]:
    """Every string of the code that is no docstring."""
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        skipped = docstrings(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                yield path, node.value


def used() -> set[str]:
    return {code for _, text in strings() for code in CODE.findall(text)}


def test_every_code_that_is_used_is_in_the_catalogue():
    assert sorted(used() - set(CATALOGUE)) == [], "give each an entry in gedialect/error_codes.py"


def test_every_entry_is_used():
    assert sorted(set(CATALOGUE) - used()) == [], "take these entries out of gedialect/error_codes.py"


@pytest.mark.parametrize("folder", ["gedialect", "lowering", "docs", "test", "README.md", "CONTRIBUTING.md"])
def test_every_code_that_is_mentioned_exists(folder: str):
    top = ROOT / folder
    files = [top] if top.is_file() else [p for s in ("*.py", "*.md", "*.mlir") for p in top.rglob(s)]
    wrong = {f"{p.relative_to(ROOT)}: {c}" for p in files for c in CODE.findall(p.read_text()) if c not in CATALOGUE}
    assert not wrong


def test_one_meaning_per_code_and_one_code_per_meaning():
    for column in range(3):
        values = [e[column] for e in _ENTRIES]
        assert len(values) == len(set(values))
    assert [e[0] for e in _ENTRIES] == sorted(CATALOGUE)
    assert sum(len(entries) for _, entries in by_range()) == len(CATALOGUE)
    assert {c[2:4] for c in CATALOGUE} == set(RANGES)


def messages() -> Iterator[tuple[str, str, str]]:
    """(code, exception, message) of every raise that states both."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            for keyword in node.keywords:
                if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                    yield str(keyword.value.value), ast.unparse(node.func), ast.unparse(node.args[0])


def test_equal_messages_have_equal_codes():
    codes: dict[str, set[str]] = {}
    for code, _, message in messages():
        fixed = re.sub(r"\{[^{}]*\}", "", message)
        if len(re.findall(r"[A-Za-z]{2,}", fixed)) > 2:  # a name or a placeholder is no message
            codes.setdefault(message, set()).add(code)
    assert {m: c for m, c in codes.items() if len(c) > 1} == {}


def test_what_is_unsupported_and_what_is_wrong_usage_is_told_by_the_code():
    for code, exception, message in messages():
        if exception == "UnsupportedError":
            assert code[2:4] in ("12", "13"), (code, message)
        if exception == "UsageError":
            assert code[2:4] in ("10", "11"), (code, message)


@pytest.mark.parametrize("command", [ge_opt, ge_import, ge_compile, ge_run, ge_reduce])
def test_every_command_explains_a_code(command: object, capsys: pytest.CaptureFixture[str]):
    assert command.main(["--explain", "ge1203"]) == 0  # type: ignore[attr-defined]
    out = capsys.readouterr().out
    assert out == f"{CATALOGUE['GE1203']}\n"
    assert "What to do" in out
    assert command.main(["--explain", "GE9999"]) == 2  # type: ignore[attr-defined]
    assert "there is no error code GE9999" in capsys.readouterr().err
    with pytest.raises(SystemExit) as with_help:
        command.main(["--help"])  # type: ignore[attr-defined]
    assert with_help.value.code == 0
    assert "--explain CODE" in capsys.readouterr().out
