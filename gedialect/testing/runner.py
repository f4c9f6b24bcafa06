"""Runs the RUN lines of a FileCheck test inside this process: no start-up per line, the same files as plain ``lit``.

Known are ``ge-opt``, ``filecheck``, ``ge-roundtrip``, ``not``, pipes, ``2>&1``, ``>``, ``2>`` and ``&&``, which is what
tests need; a line with anything else runs in a shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from gedialect.testing.lit import substitutions

_RUN = re.compile(r"RUN:\s?(.*)$")
_INLINE = {"%ge-roundtrip": "ge-roundtrip", "%ge-opt": "ge-opt", "%filecheck": "filecheck %s", "%not": "not"}
_SPECIAL = re.compile(r"[;`$*<(){}]")


@dataclass
class Outcome:
    """What a line gave: exit code and both streams."""

    code: int
    out: str
    err: str


@dataclass
class Stage:
    """One command of a pipe."""

    words: list[str]
    merge_stderr: str = ""
    """``2>&1`` written before (early) or after (late) a redirection of stdout."""
    files: dict[int, str] = field(default_factory=dict[int, str])


def run_lines(text: str) -> list[str]:
    """The RUN lines of a test, those ending in a backslash joined with the next."""
    found: list[str] = []
    pending = ""
    for line in text.split("\n"):
        match = _RUN.search(line)
        if match is None:
            continue
        pending += match[1].strip()
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        found.append(pending)
        pending = ""
    return found


def run_file(path: str) -> Outcome:
    """Run all RUN lines of the test ``path``; stops at the first that fails."""
    with open(path, encoding="utf-8") as handle:
        lines = run_lines(handle.read())
    if not lines:
        return Outcome(1, "", f"{path}: no RUN line")
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            outcome = _run_line(line, path, os.path.join(folder, "out"))
            if outcome.code != 0:
                err = f"RUN: {line}\nexit code {outcome.code}\n{outcome.err}\n{outcome.out}"
                return Outcome(outcome.code, outcome.out, err)
    return Outcome(0, "", "")


def _expand(line: str, path: str, temporary: str, pairs: Sequence[tuple[str, str]]) -> str:
    for name, value in pairs:
        line = line.replace(name, value)
    return line.replace("%s", path).replace("%S", os.path.dirname(path)).replace("%t", temporary)


def _run_line(line: str, path: str, temporary: str) -> Outcome:
    pipes = _pipes(_expand(line, path, temporary, sorted(_INLINE.items(), reverse=True)))
    if pipes is None:
        command = _expand(line, path, temporary, substitutions())
        env = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")}
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env=env, timeout=120, check=False
        )
        return Outcome(done.returncode, done.stdout, done.stderr)
    last = Outcome(0, "", "")
    for pipe in pipes:
        last = _run_pipe(pipe)
        if last.code != 0:
            break
    return last


def _pipes(line: str) -> list[list[Stage]] | None:
    """The line as pipes joined by ``&&``; None if it needs a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&>")
    lexer.whitespace_split = True
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", line)
    if _SPECIAL.search(bare):
        return None
    pipes: list[list[Stage]] = [[Stage([])]]
    tokens = list(lexer)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        stage = pipes[-1][-1]
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        if token == "|":
            pipes[-1].append(Stage([]))
        elif token == "&&":
            pipes.append([Stage([])])
        elif token == ">&" and after == "1" and stage.words and stage.words[-1] == "2":
            stage.words.pop()
            stage.merge_stderr = "late" if 1 in stage.files else "early"
            at += 1
        elif token == ">" and after is not None:
            stream = 1
            if stage.words and stage.words[-1] == "2":
                stage.words.pop()
                stream = 2
            stage.files[stream] = after
            at += 1
        elif set(token) <= set("|&>"):
            return None
        else:
            stage.words.append(token)
        at += 1
    known = all(_command(stage.words)[0] is not None for pipe in pipes for stage in pipe)
    return pipes if known else None


def _command(words: Sequence[str]) -> tuple[Callable[[list[str]], int] | None, list[str], bool]:
    """The function of a command, its arguments, whether its failure is wanted."""
    negate = bool(words) and words[0] == "not"
    rest = list(words[1:] if negate else words)
    found = _COMMANDS.get(rest[0]) if rest else None
    return found, rest[1:], negate


def _ge_opt(arguments: list[str]) -> int:
    from gedialect.cli.ge_opt import main

    return main(arguments)


def _roundtrip(arguments: list[str]) -> int:
    from gedialect.testing.roundtrip import main

    return main(arguments)


def _filecheck(arguments: list[str]) -> int:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run()


_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "ge-opt": _ge_opt,
    "ge-roundtrip": _roundtrip,
    "filecheck": _filecheck,
}


@contextlib.contextmanager
def _process_state() -> Generator[None]:
    """ge-opt's --disable-verify and --syntax-highlight are process-wide in xDSL; undo them."""
    from xdsl.ir import Attribute
    from xdsl.utils.diagnostic import Diagnostic

    verify, colored = Attribute.__post_init__, Diagnostic.colored
    try:
        yield
    finally:
        Attribute.__post_init__ = verify
        Diagnostic.colored = colored


@contextlib.contextmanager
def _streams(stdin: str) -> Generator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    saved = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def call(words: Sequence[str], stdin: str = "") -> Outcome:
    """Run one known command (``["ge-opt", ...]``) in this process."""
    command, arguments, negate = _command(words)
    if command is None:
        raise ValueError(f"unknown command {words}")
    with _process_state(), _streams(stdin) as (out, err):
        try:
            code = command(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        outcome = Outcome(code, _text(out), _text(err))
    if negate:
        outcome.code = 0 if outcome.code != 0 else 1
    return outcome


def _run_pipe(stages: Sequence[Stage]) -> Outcome:
    """Run the stages of a pipe one after another; it fails if any of them does."""
    data = ""
    errors: list[str] = []
    code = 0
    for stage in stages:
        done = call(stage.words, data)
        data, err = done.out, done.err
        if stage.merge_stderr == "late":  # > FILE 2>&1
            data, err = data + err, ""
        if 1 in stage.files:
            _save(stage.files[1], data)
            data = ""
        if stage.merge_stderr == "early":  # 2>&1, and stdout may still go elsewhere
            data, err = data + err, ""
        if 2 in stage.files:
            _save(stage.files[2], err)
        elif err:
            errors.append(err)
        if done.code != 0 and code == 0:
            code = done.code
            errors.append(f"{shlex.join(stage.words)}: exit code {done.code}")
    return Outcome(code, data, "\n".join(errors))


def _save(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)
