"""Rules beside the catalogue in ge-compile and compile()."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gedialect import api
from gedialect.cli.ge_compile import main as ge_compile
from gedialect.cli.ge_opt import main as ge_opt
from gedialect.errors import UsageError
from gedialect.patterns import ge, rule
from gedialect.patterns.catalogue import algebra

TEXT = """func.func @main(%x: tensor<2x4xf32> {ge.name = "x"}) -> (tensor<2x4xf32> {ge.name = "y"}) {
  %a = ge.abs(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %b = ge.abs(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = ge.exp(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %c : tensor<2x4xf32>
}
"""
RULE = "rule abs_abs(x) exact=bits:\n    abs(abs(x)) => abs(x)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.mlir").write_text(TEXT)
    (tmp_path / "r.rules").write_text(RULE)
    (tmp_path / "bad.rules").write_text("rule bad(x):\n    abs(x) => y\n")
    return tmp_path


def test_ge_compile_takes_rules(folder: Path):
    out = folder / "o.mlir"
    assert ge_compile([str(folder / "m.mlir"), "-o", str(out), "--emit", "ge"]) == 0
    assert out.read_text().count("ge.abs") == 2
    assert ge_compile([str(folder / "m.mlir"), "-o", str(out), "--emit", "ge", "--rules", str(folder / "r.rules")]) == 0
    assert out.read_text().count("ge.abs") == 1


def test_a_bad_file_is_an_error_of_both_commands(folder: Path, capsys: pytest.CaptureFixture[str]):
    bad, out = str(folder / "bad.rules"), folder / "o.om"
    assert ge_compile([str(folder / "m.mlir"), "-o", str(out), "--rules", bad]) == 1
    assert ge_opt([str(folder / "m.mlir"), "--rules", bad]) == 1
    lines = capsys.readouterr().err.strip().split("\n")
    assert lines == [f"{bad}:2: error GE1105: y is no parameter and no name; parameters are x"] * 2
    assert not out.exists()


def test_compile_takes_rules_and_files(folder: Path):
    @rule(exact="bits")
    def exp_of_abs(x):
        return ge.exp(ge.abs(x)), ge.maximum(ge.exp(x), ge.exp(ge.neg(x)))

    x = np.array([[-1, 0, 1, 2]] * 2, np.float32)
    plain = api.compile(str(folder / "m.mlir"))
    own = api.compile(str(folder / "m.mlir"), rules=[folder / "r.rules", exp_of_abs])
    np.testing.assert_allclose(own.run([x])["y"], plain.run([x])["y"], rtol=1e-6)
    assert own.report.ops != plain.report.ops


def test_reproducer_names_the_files(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "late.py").write_text(
        "from gedialect.patterns import ge, rule\n@rule(where=lambda x: x.nothing)\ndef late(x):\n    return ge.abs(ge.abs(x)), ge.abs(x)\n"
    )
    repro = folder / "repro.mlir"
    assert ge_opt([str(folder / "m.mlir"), "--rules", str(folder / "late.py"), "--reproducer", str(repro)]) == 1
    assert f"{folder / 'late.py'}:2: error GE1105: a condition of late failed" in capsys.readouterr().err
    assert f"--rules {folder / 'late.py'}" in repro.read_text().split("\n")[0]


def test_a_wrong_name_is_no_fault_of_the_model(folder: Path, capsys: pytest.CaptureFixture[str]):
    out = folder / "o.om"
    assert (
        ge_compile([str(folder / "m.mlir"), "-o", str(out), "--disable", "abs_aps", "--rules", str(folder / "r.rules")])
        == 2
    )
    assert capsys.readouterr().err.startswith(
        "ge-compile: error GE1107: no pass, rule, topic or kernel is named abs_aps"
    )
    with pytest.raises(UsageError, match="did you mean the rule abs_abs"):
        api.compile(str(folder / "m.mlir"), disable=["abs_aps"], rules=[folder / "r.rules"])
    assert not out.exists()
    assert ge_opt([str(folder / "m.mlir"), "-p", "apply-rules{rules=gelu_er}"]) == 2
    assert capsys.readouterr().err.startswith("ge-opt: error GE1107: no rule named gelu_er")


def test_a_taken_name_is_refused_before_the_proof(folder: Path, capsys: pytest.CaptureFixture[str]):
    mine = folder / "mine.rules"
    mine.write_text("rule gelu_erf(x) exact=bits:\n    abs(abs(x)) => abs(x)\n")
    assert ge_opt(["--verify-rules", str(mine)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{mine}:1: error GE1105: the name gelu_erf is taken; rename the rule; the other is at ")
    assert ge_opt([str(folder / "m.mlir"), "--rules", str(mine)]) == 1
    assert err.strip() in capsys.readouterr().err


def test_a_file_of_the_catalogue_may_be_proved(capsys: pytest.CaptureFixture[str]):
    assert ge_opt(["--verify-rules", str(Path(algebra.__file__)), "--instances", "1"]) == 0
    assert " rules hold on " in capsys.readouterr().out
