"""The lit configuration and the runner, used from a project that is not this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.testing import roundtrip
from gedialect.testing.runner import call, run_file, run_lines

CONFIG = 'from gedialect.testing.lit import configure\nconfig.name = "outside"\nconfigure(config)\n'
BODY = 'func.func @main(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32 loc("n")\n  func.return %y : i32\n}\n'
GOOD = {
    "substitutions": '// RUN: %ge-opt %s -p "cse" | %filecheck\n// CHECK: arith.addi\n',
    "plain": "// RUN: ge-opt %s | filecheck %s --check-prefix=SAME\n// SAME: arith.addi\n",
    "roundtrip": "// RUN: %ge-roundtrip %s | %filecheck\n// CHECK: arith.addi\n",
    "not": "// RUN: not ge-opt %s -p nosuch 2>&1 | %filecheck\n// CHECK: unknown pass nosuch\n",
    "not-substituted": "// RUN: %not %ge-opt %s -p nosuch 2>&1 | %filecheck\n// CHECK: unknown pass nosuch\n",
    "file": "// RUN: ge-opt %s -o %t && filecheck %s --input-file=%t\n// CHECK: arith.addi\n",
    "redirect": "// RUN: ge-opt %s --time-passes 2>%t >/dev/null && filecheck %s --input-file=%t\n// CHECK: pass\n",
    "continued": "// RUN: ge-opt %s \\\n// RUN:   -p cse | %filecheck\n// CHECK: arith.addi\n",
    "shell": "// RUN: cat %s | ge-opt | %filecheck\n// CHECK: arith.addi\n",
}
BAD = {
    "check": "// RUN: %ge-opt %s | %filecheck\n// CHECK: nowhere\n",
    "pass": "// RUN: ge-opt %s -p nosuch | %filecheck\n// CHECK: arith.addi\n",
    "pipe": "// RUN: ge-opt %s -p nosuch | filecheck %s --allow-empty --check-prefix=NONE\n// NONE-NOT: x\n",
    "not": "// RUN: not ge-opt %s\n",
    "no-run": "// CHECK: arith.addi\n",
    "second-line": "// RUN: ge-opt %s\n// RUN: ge-opt %s -p nosuch\n",
}


def write(folder: Path, tests: dict[str, str]) -> list[Path]:
    (folder / "lit.cfg").write_text(CONFIG)
    paths = [folder / f"{name}.mlir" for name in tests]
    for path, head in zip(paths, tests.values(), strict=True):
        path.write_text(head + "\n" + BODY)
    return paths


@pytest.mark.parametrize("name", GOOD)
def test_good_files_pass_in_process(name: str, tmp_path: Path):
    (path,) = write(tmp_path, {name: GOOD[name]})
    outcome = run_file(str(path))
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("name", BAD)
def test_bad_files_fail_in_process(name: str, tmp_path: Path):
    (path,) = write(tmp_path, {name: BAD[name]})
    assert run_file(str(path)).code != 0


def test_plain_lit_agrees(tmp_path: Path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    write(good, GOOD)
    write(bad, {name: text for name, text in BAD.items() if name != "no-run"})
    lit = [str(Path(sys.executable).parent / "lit"), "-j2"]
    done = subprocess.run([*lit, str(good)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*lit, "-q", str(bad)], capture_output=True, text=True, check=False)
    assert done.stdout.count("FAIL: outside") == len(BAD) - 1, done.stdout


def test_run_lines():
    assert run_lines("// RUN: a \\\n// RUN: b\n# RUN: c\nnothing") == ["a b", "c"]


def test_process_state_is_restored():
    from xdsl.ir import Attribute

    before = Attribute.__post_init__
    assert call(["ge-opt", "--disable-verify"], BODY).code == 0
    assert Attribute.__post_init__ is before


def test_roundtrip_reports_what_does_not_come_back(monkeypatch: pytest.MonkeyPatch):
    ctx = GeContext()
    module = parse_module(ctx, BODY)
    roundtrip.check_roundtrip(ctx, module)
    original = roundtrip.parse_module

    def forgetful(ctx: GeContext, text: str, name: str):
        return original(ctx, text.replace("addi", "muli") if "generic" in name else text, name)

    monkeypatch.setattr(roundtrip, "parse_module", forgetful)
    with pytest.raises(GeError, match="the generic form does not parse back") as caught:
        roundtrip.check_roundtrip(ctx, module)
    assert any(line.startswith("-") and "addi" in line for line in caught.value.details)
