"""``ge-reduce``: planted faults come out as a node or two; what is no failure is an error; output appears whole."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gedialect.cli import ge_reduce
from gedialect.cli.pass_check import PassCheck
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.verifier import verify
from gedialect.testing.random_forms import OPERATORS
from gedialect.testing.random_models import Graph, Refused
from gedialect.testing.reduction.driver import Reducer, Step

PLANTED = '''"""A rule that is wrong: relu6 has an upper bound."""

from gedialect.patterns import ge, rule


@rule(exact="value")
def relu6_is_relu(x):
    """relu6(x) is not relu(x) where x > 6."""
    return ge.relu6(x), ge.relu(x)
'''
AROUND = (
    "Add",
    "Mul",
    "Sub",
    "MatMul",
    "Relu",
    "Softmax",
    "Transpose",
    "Reshape",
    "Conv",
    "Concat",
    "Tanh",
    "ReduceMean",
)


def planted() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of 40 nodes or so, one of which is a Clip to 0..6 of larger values."""
    graph = Graph(np.random.default_rng(7), 21)
    while len(graph.nodes) < 40:
        if len(graph.nodes) == 20:
            x = graph.any(("float32",), (1, 4), lambda v: v.array.size > 4)
            bounds = [graph.put(np.float32(n), True) for n in (9, 0, 6)]
            graph.node("Clip", [graph.node("Mul", [x, bounds[0]])[0], bounds[1], bounds[2]])
        try:
            OPERATORS[graph.pick(AROUND)](graph)
        except Refused:
            continue
    model = graph.model()
    return model, {i.name: graph.inputs[i.name] for i in model.graph.input}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reduce")
    model, inputs = planted()
    assert len(model.graph.node) >= 40
    onnx.save(model, path / "m.onnx")
    np.savez(path / "in.npz", **inputs)
    np.savez(path / "other.npz", other=np.zeros(3))
    (path / "bad.py").write_text(PLANTED)
    return path


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def reduce(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert ge_reduce.main(list(arguments)) == code
    done = capsys.readouterr()
    return done.err if code else done.out


def small(name: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A reduced model, which onnx's checker takes, and its inputs, which fit."""
    model = onnx.load(name)
    onnx.checker.check_model(model, full_check=True)
    inputs = dict(np.load(name.replace(".onnx", ".npz")))
    assert {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input} == {
        n: list(x.shape) for n, x in inputs.items()
    }
    return model, inputs


@pytest.mark.parametrize("mode", [["--wrong", "-O2"], ["--pass", "apply-rules"]], ids=lambda m: m[0])
def test_a_wrong_rule_in_a_model(capsys: pytest.CaptureFixture[str], mode: list[str]):
    given = ["m.onnx", "--inputs", "in.npz", "--rules", "bad.py", *mode]
    out = reduce(capsys, *given, "-o", "small.onnx")
    assert out.startswith("small.onnx: 40 nodes -> 1, "), out
    model, inputs = small("small.onnx")
    assert [n.op_type for n in model.graph.node] == ["Clip"]
    assert max(x.size for x in inputs.values()) <= 10
    reduce(capsys, *given, "-o", "again.onnx")
    assert Path("again.onnx").read_bytes() == Path("small.onnx").read_bytes()


def test_a_wrong_rule_in_text(capsys: pytest.CaptureFixture[str]):
    given = ["m.onnx", "--inputs", "in.npz", "--rules", "bad.py", "--pass", "apply-rules"]
    out = reduce(capsys, *given, "-o", "small.mlir")
    assert "ops -> 1, " in out, out
    assert "error GE1117: pass apply-rules changes output" in out
    assert "relu6_is_relu" in out
    module = parse_module(GeContext(), Path("small.mlir").read_text())
    verify(module)
    PassCheck(dict(np.load("small.npz"))).start(module)
    assert "ge.clip" in Path("small.mlir").read_text()
    # what was reduced can be reduced again, and is as small as it gets
    again = reduce(capsys, "small.mlir", *given[3:], "--inputs", "small.npz", "-o", "smaller.mlir")
    assert "1 ops -> 1, " in again


def test_a_command_decides(capsys: pytest.CaptureFixture[str]):
    test = f"{sys.executable} -c \"import sys; sys.exit(b'Softmax' not in open(sys.argv[1], 'rb').read())\" {{}}"
    out = reduce(capsys, "m.onnx", "-o", "soft.onnx", "--inputs", "in.npz", "--test", test)
    assert "nodes -> 1, " in out
    model, _ = small("soft.onnx")
    assert [n.op_type for n in model.graph.node] == ["Softmax"]


def test_an_error(capsys: pytest.CaptureFixture[str]):
    """An op that no one supports, behind and before ones that all do; onnxruntime cannot run it either."""
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Mystery", ["b", "w"], ["c"], domain="nobody"),
        helper.make_node("Neg", ["c"], ["y"]),
        helper.make_node("Abs", ["a"], ["z"]),
    ]
    outputs = [info("y", TensorProto.FLOAT, [2, 3]), info("z", TensorProto.FLOAT, [2, 3])]
    weights = [numpy_helper.from_array(np.ones(3, np.float32), "w")]
    graph = helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [2, 3])], outputs, weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("nobody", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), "mystery.onnx")
    out = reduce(capsys, "mystery.onnx", "-o", "small_mystery.onnx", "--crash")
    assert "5 nodes -> " in out and "error GE1201" in out
    model = onnx.load("small_mystery.onnx")
    onnx.checker.check_model(model)
    assert len(model.graph.node) <= 2
    assert "Mystery" in [n.op_type for n in model.graph.node]


def test_text_with_regions_attributes_and_weights(capsys: pytest.CaptureFixture[str]):
    """Fusions are opened, attributes go, and constants that lie in a file come into the text."""
    reduce(capsys, "m.onnx", "-o", "t.mlir", "--inputs", "in.npz", "--test", "grep -q ge.matmul {}")
    text = Path("t.mlir").read_text()
    assert text.count(" ge.") == 1 + text.count("ge.constant") and "ge.weight" not in text
    decided = """func.func @main(%x: tensor<8x64xf32> {ge.name = "x"}) -> (tensor<8x64xf32> {ge.name = "y"}) {
  %y = ge.fusion(%a = %x : tensor<8x64xf32>) attributes {label = "three"} -> (tensor<8x64xf32>) {
    %b = ge.exp(%a) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %c = ge.tanh(%b) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    %d = ge.neg(%c) : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ge.yield %d : tensor<8x64xf32>
  }
  func.return %y : tensor<8x64xf32>
}
"""
    Path("decided.mlir").write_text(decided)
    out = reduce(capsys, "decided.mlir", "-o", "open.mlir", "--test", "grep -q ge.tanh {}")
    assert "3 ops -> 1, " in out
    assert "ge.fusion" not in Path("open.mlir").read_text()
    assert "tensor<1xf32>" in Path("open.mlir").read_text() or "tensor<1x1xf32>" in Path("open.mlir").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--crash", "-O1"], 1, "m.onnx: error GE1020: it compiles and runs at O1"),
        (["--wrong", "-O1"], 1, "m.onnx: error GE1020: O1 agrees with the reference"),
        (["--pass", "cse"], 1, "m.onnx: error GE1020: no pass changes the result"),
        (
            ["--pass", "cse", "--rules", "bad.py"],
            1,
            "error GE1020: the first pass that changes the result is apply-rules",
        ),
        (["--test", "false {}"], 1, "m.onnx: error GE1020: the command does not end with code 0"),
        (["--test", "sleep 30 {}", "--test-timeout", "0.2"], 1, "error GE1020"),
        (["--pass", "nosuch"], 2, "error GE1110: unknown pass nosuch"),
        (["--pass", "cse", "-p", "cse{"], 2, "error GE1111: wrong pipeline"),
        (["--pass", "cse", "-p", "cse", "-O1"], 2, "leave one of them out"),
        (["--pass", "cse", "--interpreter"], 2, "--interpreter runs none"),
        (["--crash", "-p", "cse"], 2, "-p is for --pass"),
        (["--crash", "--tolerance", "1"], 2, "--tolerance is for --pass"),
        (["--test", "true"], 2, "the command does not name the model"),
        (["--test", "true {}", "-O1"], 2, "leave out the level"),
        ([], 2, "one of the arguments --test --crash --wrong --pass is required"),
        (["--crash", "--wrong"], 2, "not allowed with"),
        (["--crash", "--seed", "x"], 2, "no number from 0 on"),
        (["--crash", "--time-limit", "-1"], 2, "no time in seconds"),
        (["--crash", "--inputs", "other.npz"], 1, "other.npz: error GE1004: inputs do not match"),
        (["--crash", "--inputs", "none.npz"], 1, "none.npz: error GE1002"),
        (["--crash", "-o", "m.mlir", "--inputs", "m.npz"], 2, "are the same file"),
        (["--crash", "-o", "x.txt"], 2, "unknown kind of result"),
    ],
)
def test_what_cannot_be_done(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str):
    before = sorted(p.name for p in Path().iterdir())
    given = ["--inputs", "in.npz"] if "--inputs" not in arguments else []
    if "m.npz" in arguments:
        Path("m.npz").write_bytes(Path("in.npz").read_bytes())
        before.append("m.npz")
    output = ["-o", "nothing.onnx"] if "-o" not in arguments else []
    err = reduce(capsys, "m.onnx", *output, *given, *arguments, code=code)
    assert says in err
    assert "Traceback" not in err
    assert sorted(p.name for p in Path().iterdir()) == sorted(before)


def test_the_time_limit_leaves_what_is_there(capsys: pytest.CaptureFixture[str]):
    given = ["m.onnx", "--inputs", "in.npz", "--rules", "bad.py", "--pass", "apply-rules", "--time-limit", "0.000001"]
    out = reduce(capsys, *given, "-o", "late.onnx")
    assert "40 nodes -> 40, 0 tests" in out and "stopped by the time limit" in out
    small("late.onnx")


class Numbers(tuple):
    """A model of numbers, for the driver alone."""

    def key(self) -> object:
        return tuple(self)

    def cost(self) -> tuple[int, ...]:
        return (len(self),)


def test_the_driver_finds_a_smallest_set():
    step = Step("numbers", lambda m: list(m), lambda m, units: Numbers(n for n in m if n not in units))
    reducer = Reducer(lambda m: {3, 57} <= set(m), [step])
    assert reducer.run(Numbers(range(100))) == (3, 57)
    assert reducer.tests < 60


def test_files_that_are_no_models(capsys: pytest.CaptureFixture[str]):
    Path("noise.onnx").write_bytes(b"\xff" * 100)
    assert "noise.onnx: error GE1003" in reduce(capsys, "noise.onnx", "-o", "n.onnx", "--crash", code=1)
    assert "gone.onnx: error GE1002" in reduce(capsys, "gone.onnx", "-o", "n.onnx", "--crash", code=1)
    assert "gone.mlir: error GE1002" in reduce(capsys, "gone.mlir", "-o", "n.mlir", "--crash", code=1)
    assert "give -o FILE.mlir" in reduce(capsys, "gone.mlir", "-o", "n.onnx", "--crash", code=2)


def test_a_wrong_rule_in_text_at_a_level(capsys: pytest.CaptureFixture[str]):
    """Text has the interpreter for a reference."""
    text = """func.func @main(%x: tensor<8x64xf32> {ge.name = "x"}) -> (tensor<8x64xf32> {ge.name = "y"}) {
  %k = ge.constant dense<5.0> : tensor<f32>
  %t = ge.mul(%x, %k) : (tensor<8x64xf32>, tensor<f32>) -> tensor<8x64xf32>
  %r = ge.relu6(%t) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = ge.exp(%r) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %y : tensor<8x64xf32>
}
"""
    Path("level.mlir").write_text(text)
    out = reduce(capsys, "level.mlir", "-o", "level_small.mlir", "--wrong", "-O2", "--rules", "bad.py")
    assert "3 ops -> 1, " in out and "O2: wrong: output" in out
    made = Path("level_small.mlir").read_text()
    assert "ge.relu6" in made and "tensor<1x1xf32>" in made
    err = reduce(capsys, "level.mlir", "-o", "n.mlir", "--wrong", "--interpreter", code=1)
    assert "no other reference than the interpreter" in err


def test_a_branch_is_taken_out_of_its_if(capsys: pytest.CaptureFixture[str]):
    info = helper.make_tensor_value_info
    shape = [3]
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node("Exp", ["x"], [f"{name}_e"]), helper.make_node(op, [f"{name}_e"], [f"{name}_y"])],
            name,
            [],
            [info(f"{name}_y", TensorProto.FLOAT, shape)],
        )
        for name, op in (("then", "Tanh"), ("else", "Neg"))
    }
    nodes = [helper.make_node("If", ["go"], ["a"], **branches), helper.make_node("Abs", ["a"], ["y"])]
    inputs = [info("x", TensorProto.FLOAT, shape), info("go", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [info("y", TensorProto.FLOAT, shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, "if.onnx")
    out = reduce(capsys, "if.onnx", "-o", "no_if.onnx", "--test", "grep -q Tanh {}")
    assert "6 nodes -> 1, " in out
    made, inputs = small("no_if.onnx")
    assert [n.op_type for n in made.graph.node] == ["Tanh"]
    assert [x.shape for x in inputs.values()] == [(1,)]
