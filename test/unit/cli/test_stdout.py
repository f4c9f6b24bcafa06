"""Standard output that is full or closed: GE1012, exit code 1, no traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = '"test.op"() : () -> ()\n'
COMMANDS = [
    "ge_opt --version",
    "ge_opt --help",
    "ge_opt --list-passes",
    "ge_opt --explain GE1203",
    "ge_opt -O2 --print-pipeline",
    "ge_opt FILE",
    "ge_opt FILE -p cse",
    "ge_compile --version",
    "ge_compile --help",
    "ge_import --version",
    "ge_run --version",
    "ge_run --explain GE1203",
]
# What a full disk does, without one: files of this process cannot grow.
LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
sys.dont_write_bytecode = True
from gedialect.cli import {module}
sys.exit({module}.main(sys.argv[1:]))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "f.mlir").write_text(TEXT)
    return tmp_path / "f.mlir"


@pytest.mark.parametrize("command", COMMANDS)
def test_full(command: str, file: Path, tmp_path: Path):
    module, *arguments = command.replace("FILE", str(file)).split()
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", LIMIT.format(module=module), *arguments],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    reason = os.strerror(errno.EFBIG)
    prog = module.replace("_", "-")
    assert done.stderr == f"{prog}: error GE1012: cannot write to stdout: {reason}; check where it goes\n"
    assert done.returncode == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_closed(command: str, file: Path):
    module, *arguments = command.replace("FILE", str(file)).split()
    line = f'"{sys.executable}" -m gedialect.cli.{module} {" ".join(arguments)} >&-'
    done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert "error GE1012: cannot write to stdout: " in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1


def test_a_closed_stdout_that_is_not_needed(file: Path, tmp_path: Path):
    line = f'"{sys.executable}" -m gedialect.cli.ge_opt {file} -o {tmp_path / "o.mlir"} >&-'
    done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "test.op" in (tmp_path / "o.mlir").read_text()


def test_closed_stderr_keeps_the_exit_code(file: Path):
    for redirect in ("2>&-", ">&- 2>&-"):
        line = f'"{sys.executable}" -m gedialect.cli.ge_opt {file} -p nosuch {redirect}'
        done = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
