"""ge-opt as a process: exit codes, the form of errors, start-up, files."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from gedialect.testing.runner import call

GOOD = 'func.func @main(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32 loc("n")\n  func.return %y : i32\n}\n'
ERROR = re.compile(r"^(?P<where>\S.*?): error (?P<code>GE1[0-9]{3}): (?P<what>.+)$")


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.mlir"
    path.write_text(GOOD)
    return str(path)


def error_of(outcome) -> re.Match[str]:
    """The first line on stderr, in the one form; nothing like a traceback, nothing on stdout."""
    lines = outcome.err.strip().split("\n")
    match = ERROR.match(lines[0])
    assert match is not None, outcome.err
    assert all(line.startswith("  ") for line in lines[1:]), outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    return match


@pytest.mark.parametrize(
    ("arguments", "code", "error", "says"),
    [
        (["--nosuch"], 2, "GE1001", "unrecognized arguments: --nosuch"),
        (["-p"], 2, "GE1001", "expected one argument"),
        (["FILE", "-p", "nosuch"], 2, "GE1110", "unknown pass nosuch"),
        (["FILE", "-p", "canonicalise"], 2, "GE1110", "did you mean canonicalize"),
        (["FILE", "-p", "cse{x=1}"], 2, "GE1111", "wrong option of cse"),
        (["FILE", "-p", "cse{"], 2, "GE1111", "wrong pipeline"),
        (["FILE", "-p", "cse}"], 2, "GE1111", "wrong pipeline"),
        (["FILE", "-p", "%"], 2, "GE1111", "wrong pipeline"),
        (["FILE", "-O7"], 2, "GE1001", "unknown level 7"),
        (["FILE", "-t", "nosuch"], 2, "GE1001", "invalid choice: 'nosuch'"),
        (["FILE", "-t", "mlir{"], 2, "GE1111", ""),
        (["FILE", "-f", "nosuch"], 2, "GE1001", "invalid choice: 'nosuch'"),
        (["FILE", "--print-ir-after=nosuch"], 2, "GE1110", "unknown pass nosuch"),
        (["FILE", "-O2", "--disable", "nosuch"], 2, "GE1107", "nosuch"),
        (
            ["FILE", "-O2", "--disable", "fold-constant"],
            2,
            "GE1107",
            "no pass, rule, topic or kernel is named fold-constant",
        ),
        (["FILE", "-O2", "--enable", "fold-constant"], 2, "GE1107", "did you mean the pass fold-constants"),
        (["FILE", "-p", "apply-rules{rules=gelu_er}"], 2, "GE1107", "no rule named gelu_er; did you mean gelu_erf"),
        (["FILE", "-O2", "--chip", "nosuch"], 2, "GE1010", "unknown target nosuch"),
        (["model.tflite"], 2, "GE1013", "unknown kind of file .tflite"),
        (["noextension"], 2, "GE1013", "unknown kind of file"),
        (["missing.mlir"], 1, "GE1002", "No such file"),
        (["FILE", "-o", "/nosuch/folder/out.mlir"], 1, "GE1012", "cannot write"),
    ],
)
def test_usage_and_files(good: str, arguments: list[str], code: int, error: str, says: str):
    outcome = call(["ge-opt", *(good if a == "FILE" else a for a in arguments)])
    match = error_of(outcome)
    assert outcome.code == code
    assert match["code"] == error
    assert says in match["what"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "GE1101", 1),
        ("func.func @f(", "GE1101", 1),
        ("\n\n  nosuch.op", "GE1101", 3),
        ("func.func @f() {\n  nosuch\n}", "GE1101", 2),
        ('"test.op"() {a = ' + "[" * 500 + "} : () -> ()", "GE1108", 1),
        ("func.func @f() -> i32 {\n  func.return\n}", "GE1104", 2),
        (
            'func.func @f() {\n  "test.op"(%a) : (i32) -> ()\n  %a = "test.op"() : () -> i32\n  func.return\n}',
            "GE1103",
            2,
        ),
    ],
)
def test_bad_text(tmp_path: Path, text: str, code: str, line: int):
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    out = tmp_path / "out.mlir"
    outcome = call(["ge-opt", str(path), "-o", str(out), "-p", "cse"])
    match = error_of(outcome)
    assert outcome.code == 1
    assert match["code"] == code
    assert re.fullmatch(re.escape(str(path)) + rf":{line}:\d+", match["where"])
    assert sorted(os.listdir(tmp_path)) == ["bad.mlir"]


def test_binary_rubbish(tmp_path: Path):
    path = tmp_path / "bad.mlir"
    path.write_bytes(bytes(range(256)) * 100)
    outcome = call(["ge-opt", str(path)])
    assert outcome.code == 1
    assert error_of(outcome)["code"] == "GE1102"


def test_result_goes_to_stdout_or_file_and_notes_to_stderr(good: str, tmp_path: Path):
    plain = call(["ge-opt", good, "-p", "cse"])
    noisy = call(["ge-opt", good, "-p", "cse", "--time-passes", "--print-ir-after=all", "--pass-statistics"])
    assert noisy.out == plain.out
    assert "IR after cse" in noisy.err and "pass timing" in noisy.err and "pass statistics" in noisy.err
    out = tmp_path / "out.mlir"
    assert call(["ge-opt", good, "-p", "cse", "-o", str(out)]).code == 0
    assert out.read_text() == plain.out
    assert sorted(os.listdir(tmp_path)) == ["good.mlir", "out.mlir"]


def test_output_may_replace_the_input(good: str):
    assert call(["ge-opt", good, "-o", good]).code == 0
    assert "func.func @main" in Path(good).read_text()


def test_reads_stdin():
    for arguments in ([], ["-"]):
        outcome = call(["ge-opt", *arguments], GOOD)
        assert outcome.code == 0
        assert "arith.addi" in outcome.out
    assert error_of(call(["ge-opt"], "nosuch.op"))["where"] == "<stdin>:1:1"


FAILING_PASS = """
import sys
from dataclasses import dataclass
from xdsl.passes import ModulePass
from gedialect.cli import common, opt_main
from gedialect.errors import UnsupportedError

@dataclass(frozen=True)
class Failing(ModulePass):
    name = "failing"
    kind: str = "bug"
    def apply(self, ctx, op):
        if self.kind == "bug":
            raise KeyError("lost")
        if self.kind == "broken-ir":
            first = op.body.block.first_op.body.block.first_op
            first.operands = [first.results[0], first.results[0]]
            return
        raise UnsupportedError("cannot do this", hint="do that")

class Main(opt_main.GeOptMain):
    def register_all_passes(self):
        super().register_all_passes()
        self.available_passes["failing"] = lambda: Failing

sys.exit(common.run("ge-opt", lambda arguments: Main(arguments).execute()))
"""


def run_failing(good: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", FAILING_PASS, good, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **env}, check=False)


def test_failing_pass_leaves_a_reproducer_that_reproduces(good: str, tmp_path: Path):
    path = tmp_path / "repro.mlir"
    done = run_failing(good, "-p", "cse,failing,dce", "--reproducer", str(path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"{good}: error GE1901: internal error in pass failing: KeyError: 'lost'")
    assert f"reproducer: {path}" in done.stderr
    assert "Traceback" not in done.stderr
    first, *_ = path.read_text().split("\n")
    assert first == f"// ge-opt {path} -p failing,dce"
    again = run_failing(str(path), "-p", "failing,dce")
    assert again.returncode == 1
    assert "GE1901: internal error in pass failing" in again.stderr


def test_user_error_in_pass_keeps_its_form(good: str, tmp_path: Path):
    done = run_failing(good, "-p", "failing{kind=user}", "--reproducer", str(tmp_path / "r.mlir"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"{good}: error GE1201: cannot do this; do that\n")


def test_traceback_on_demand(good: str, tmp_path: Path):
    done = run_failing(good, "-p", "failing", "--reproducer", str(tmp_path / "r.mlir"), GEDIALECT_TRACEBACK="1")
    assert "Traceback" in done.stderr
    assert "KeyError: 'lost'" in done.stderr


def test_pass_that_breaks_the_ir_is_caught_where_it_happens(good: str, tmp_path: Path):
    repro = ("--reproducer", str(tmp_path / "r.mlir"))
    at_end = run_failing(good, "-p", "failing{kind=broken-ir}", *repro)
    each = run_failing(good, "-p", "failing{kind=broken-ir},cse", "--verify-each", *repro)
    assert at_end.returncode == each.returncode == 1
    assert f"{good}:2:3: error GE1103: arith.addi uses %y" in at_end.stderr
    assert "in pass failing" in each.stderr


def test_split_input_reports_lines_of_the_whole_file(tmp_path: Path):
    path = tmp_path / "two.mlir"
    path.write_text(GOOD + "// -----\nfunc.func @g() {\n  nosuch.op\n}\n")
    outcome = call(["ge-opt", str(path), "--split-input-file"])
    assert error_of(outcome)["where"] == f"{path}:7:3"


def test_quick_commands():
    assert call(["ge-opt", "--version"]).out.startswith("ge-opt ")
    helped = call(["ge-opt", "--help"])
    assert helped.code == 0
    assert "examples:" in helped.out and len(helped.out) < 7000
    assert call(["ge-opt", "-O2", "--print-pipeline"]).out.strip()
    assert "canonicalize" in call(["ge-opt", "--list-passes"]).out


def test_version_does_not_import_xdsl():
    code = (
        "import sys; from gedialect.cli.ge_opt import main; main(['--version']);"
        "assert not any(m.startswith(('xdsl', 'numpy')) for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_ge_text_needs_neither_numpy_nor_onnx(tmp_path: Path):
    path = tmp_path / "ge.mlir"
    t = "tensor<4xf32>"
    path.write_text(
        f"func.func @main(%x: {t}) -> {t} {{\n  %y = ge.add(%x, %x) : ({t}, {t}) -> {t}\n  func.return %y : {t}\n}}"
    )
    code = (
        "import sys; from gedialect.cli.ge_opt import main; code = main(sys.argv[1:]);"
        "heavy = sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'onnx', 'ml_dtypes', 'onnxruntime'});"
        "assert not heavy, heavy; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), "-p", "cse"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ge.add" in done.stdout


COUNTED = """
import sys
calls = 0
def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
sys.setprofile(count)
from {module} import main
sys.argv = ["tool", {path!r}, "-p", "cse"]
try:
    done = main()
except SystemExit as stop:
    done = stop.code
sys.setprofile(None)
print(done or 0, calls, *sys.modules, file=sys.stderr)
"""


def start_up(module: str, path: Path, text: str) -> tuple[int, set[str]]:
    """Calls made, and modules imported, from the import of a tool to the end of its run on a text."""
    path.write_text(text)
    code = COUNTED.format(module=module, path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, calls, *modules = done.stderr.splitlines()[-1].split()
    assert status == "0", done.stderr
    return int(calls), set(modules)


def test_start_up_makes_at_most_twice_the_calls_of_xdsl_opt(tmp_path: Path):
    """Work is counted, not timed: the count is the same whatever else the machine does. bench/startup.py times it."""
    texts = runpy.run_path(str(Path(__file__).parents[3] / "bench" / "startup.py"), run_name="startup")
    ours, modules = start_up("gedialect.cli.ge_opt", tmp_path / "ge.mlir", texts["GE_MODULE"])
    theirs, others = start_up("xdsl.tools.xdsl_opt", tmp_path / "arith.mlir", texts["ARITH_MODULE"])
    assert ours <= 2 * theirs, (ours, theirs)
    assert len(modules) <= 2 * len(others), sorted(modules - others)
    parts = {m.split(".")[1] for m in modules if m.startswith("gedialect.")}
    unused = {"analysis", "api", "frontends", "lowering", "patterns", "runtime", "targets", "testing", "transforms"}
    assert not parts & unused, sorted(parts & unused)
    assert "gedialect.dialects.ge.elementwise" in modules


def test_closed_pipe_is_silent(tmp_path: Path):
    path = tmp_path / "long.mlir"
    path.write_text("\n".join(f'"test.op"() {{a = {i}}} : () -> ()' for i in range(5000)))
    command = f'"{sys.executable}" -m gedialect.cli.ge_opt "{path}" | head -1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
