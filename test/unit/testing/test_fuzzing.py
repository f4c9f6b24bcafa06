"""A bounded run of hostile files for every reader, and the harness itself: it finds what it is for."""

from __future__ import annotations

import contextlib
import runpy
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from gedialect.errors import GeError
from gedialect.testing import fuzz_mutators, fuzzing
from gedialect.testing.fuzzing import TARGETS, Target, judge

ROOT = Path(__file__).parents[3]
COUNTS = {"onnx": 60, "text": 60, "om": 60, "rules": 60, "json": 60, "pdl": 40, "switches": 40, "npz": 60}


@pytest.mark.parametrize("name", COUNTS)
def test_hostile_files(name: str):
    """In a process of its own, with limits of time and memory; ``bench/fuzz.py`` runs longer."""
    command = [sys.executable, str(ROOT / "bench" / "fuzz.py"), "--target", name, "--inputs", str(COUNTS[name])]
    done = subprocess.run(
        [*command, "--corpus", "8", "--seed", "7", "--timeout", "60"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f" {COUNTS[name]} inputs:" in done.stdout


def test_every_reader_has_a_run():
    assert set(COUNTS) == set(TARGETS)


def raises(error: BaseException | None, *, leaves: bool = False) -> Target:
    def run(path: str, out: str, number: int) -> None:
        if leaves:
            Path(out, "half").write_text("x")
        if error is not None:
            raise error

    return Target("t", ".t", lambda rng, limit: [b""], lambda data, rng, corpus: data, run)


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (raises(None), "ok"),
        (raises(None, leaves=True), "ok"),
        (raises(GeError("no", code="GE1003")), "GE1003"),
        (raises(GeError("no", code="GE1901")), "FAULT GE1901"),
        (raises(GeError("no", code="GE1003"), leaves=True), "FAULT GE1003 left half"),
        (raises(KeyError("x")), "FAULT KeyError"),
        (raises(RecursionError()), "FAULT RecursionError"),
    ],
)
def test_verdicts(target: Target, verdict: str):
    assert judge(target, b"").startswith(verdict)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_follow_from_the_seed(name: str):
    def inputs() -> list[bytes]:
        corpus = TARGETS[name].corpus(Random(3), 4)
        assert corpus
        return [fuzzing.mutated(TARGETS[name], Random(f"3:{i}"), corpus) for i in range(20)]

    first = inputs()
    assert first == inputs()
    assert len(set(first)) > 10


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_sound(name: str):
    """What nothing was changed in is read, else mutants would stop at the first check."""
    corpus = TARGETS[name].corpus(Random(1), 6)
    verdicts = [judge(TARGETS[name], data) for data in corpus[:12]]
    assert not [v for v in verdicts if v.startswith("FAULT")]
    assert "ok" in verdicts


def test_kernels_keep_a_right_checksum():
    from gedialect.binary.om import from_bytes

    om = next(d for d in TARGETS["om"].corpus(Random(1), 4) if from_bytes(d).kernels)
    (kernel, *_) = from_bytes(om).kernels.values()
    from gedialect.binary.kernel_codec import decode

    read = 0
    for i in range(40):
        changed = fuzzing._kernel(kernel, Random(i))
        with contextlib.suppress(GeError):  # a changed kernel may break a rule, which is seen after its checksum
            decode(changed)
            read += 1
    assert read > 10


def test_every_change_changes_something():
    rng = Random(0)
    text = "func.func @main(%x: tensor<4x8xf32>) {\n  %0 = ge.relu(%x)\n}\n"
    assert sum(fuzz_mutators.mutate_text(text, rng, [text]) != text for _ in range(200)) > 150
    assert sum(fuzz_mutators.mutate_bytes(b"0123456789", rng, []) != b"0123456789" for _ in range(200)) > 150
    whole = {"a": [1, 2, {"b": "c"}], "d": None}
    assert sum(fuzz_mutators.mutate_json(whole, rng) != whole for _ in range(200)) > 120
    assert whole == {"a": [1, 2, {"b": "c"}], "d": None}


SAY = "import os, sys, time; print('READY'); print('ok'); print('GE1003', flush=True); "


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        ("", None),
        ("os.kill(os.getpid(), 11)", "the process ends, SIGSEGV"),
        ("sys.exit('no more memory')", "the process ends, exit code 1"),
        ("time.sleep(60)", "hangs"),
        ("print('FAULT KeyError a.py:3 f: x')", "KeyError a.py:3 f"),
    ],
)
def test_the_driver_sees_what_no_exception_says(ending: str, fault: str | None, tmp_path: Path):
    """A worker that dies or hangs is a fault, and the input it was at is kept."""
    bench = runpy.run_path(str(ROOT / "bench" / "fuzz.py"))
    current = tmp_path / "current"
    current.write_bytes(b"the input")
    (tmp_path / "current.fault").write_bytes(b"the input")
    tally = bench["Tally"]("npz", ".npz", str(tmp_path / "kept"))
    worker = subprocess.Popen([sys.executable, "-c", SAY + ending], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with worker:
        seen = bench["_follow"](worker, tally, str(current), None, -4.0)
    assert seen == (2 if fault is None else 3)
    assert (tally.verdicts["ok"], tally.verdicts["GE1003"], tally.verdicts["FAULT"]) == (1, 1, int(fault is not None))
    if fault is not None:
        (kind,) = tally.faults
        assert kind.startswith(f"FAULT {fault}")
        (kept,) = (tmp_path / "kept").glob("*.npz")
        assert kept.read_bytes() == b"the input"
