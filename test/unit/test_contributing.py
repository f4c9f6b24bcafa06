"""The worked examples of CONTRIBUTING.md do what it says."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gedialect.ir import registry
from gedialect.testing.runner import run_file

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    file: str | None
    text: str


def sections() -> Iterator[tuple[str, list[Block]]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for part in text.split("\n## ")[1:]:
        blocks = [Block(m[1], m[2], m[3]) for m in FENCE.finditer(part)]
        if blocks:
            yield part.partition("\n")[0], blocks


SECTIONS = dict(sections())


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose Python files count as part of the packages of their names."""
    extended: list[tuple[list[str], str]] = []
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)

    def extend(package: str, folder: str) -> None:
        path = importlib.import_module(package).__path__
        if isinstance(path, list):  # a package, not a bare folder
            path.append(folder)
            extended.append((path, folder))

    for package in (*registry.PASS_PACKAGES, "gedialect.patterns.catalogue"):
        folder = tmp_path.joinpath(*package.split("."))
        folder.mkdir(parents=True)
        if (ROOT / Path(*package.split("."))).is_dir():
            extend(package, str(folder))
    shutil.copytree(ROOT / "gedialect" / "targets", tmp_path / "gedialect" / "targets")
    clear_caches()
    yield tmp_path
    for path, folder in extended:
        path.remove(folder)
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]
    clear_caches()


def clear_caches() -> None:
    from gedialect.patterns import catalogue

    registry.pass_modules.cache_clear()
    catalogue.all_rules.cache_clear()
    catalogue.topics.cache_clear()
    importlib.invalidate_caches()


def test_there_is_one_example_each():
    titles = "\n".join(SECTIONS)
    for what in ("an op", "a pass", "a rule", "a kernel", "a target"):
        assert f"Add {what}" in titles


@pytest.mark.parametrize("title", SECTIONS)
def test_example(title: str, checkout: Path):
    names: dict[str, object] = {"__name__": "example"}
    for block in SECTIONS[title]:
        if block.file is not None:
            path = checkout / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            clear_caches()
        if block.language == "python" and block.file is None:
            exec(compile(block.text, f"CONTRIBUTING.md, {title}", "exec"), names)
        elif block.language == "mlir":
            assert block.file is not None
            outcome = run_file(str(checkout / block.file))
            assert outcome.code == 0, outcome.err
