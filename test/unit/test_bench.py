"""The measurements are documented and start."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
SCRIPTS = sorted(p.name for p in BENCH.glob("*.py"))


def test_every_script_is_documented():
    text = (BENCH / "README.md").read_text(encoding="utf-8")
    tools = [f"tools/{p.name}" for p in (BENCH / "tools").glob("*.py")]
    assert [name for name in (*SCRIPTS, *tools) if name not in text] == []


def test_make_bench_runs_scripts_that_exist():
    named = re.findall(r"bench/[\w/]+\.py", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("script", [*SCRIPTS, "tools/randomize_light.py", "tools/onnx_node_suite.py"])
def test_script_has_help(script: str):
    done = subprocess.run(
        [sys.executable, str(BENCH / script), "--help"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout
    options = set(re.findall(r"--[a-z-]+", done.stdout))
    text = (BENCH / "README.md").read_text(encoding="utf-8")
    for line in text.split("\n"):
        if f"bench/{script} " in line:
            assert set(re.findall(r"--[a-z-]+", line)) <= options, line


def test_the_suite_runs_our_backend():
    done = subprocess.run(
        [
            *(sys.executable, str(BENCH / "tools" / "onnx_node_suite.py")),
            *("--backend", "ge_backend:compiled", "--kinds", "node", "--filter", "^test_relu$", "--require-pass", "1"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
