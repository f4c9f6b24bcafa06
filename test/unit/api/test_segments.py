"""Models whose sizes and branches come from data, against onnxruntime (graph optimisation off)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from late_models import BOOL, F32, I64, X, branches, info, loop, model, node, reference, same
from onnx import TensorProto, helper, numpy_helper

import gedialect
from gedialect.api.segments import CACHE_SIZE, LOOP_COMPILATIONS
from gedialect.binary.tasks import LabelSwitch
from gedialect.errors import GeError, UnsupportedError
from gedialect.runtime.loader import load


def agrees(m: onnx.ModelProto, *runs: Mapping[str, Any]) -> Any:
    executable = gedialect.compile(m)
    for inputs in runs:
        got = executable.run(inputs, sanitize=True)
        for g, w in zip(got.values(), reference(m, inputs), strict=True):
            same(g, w)
    return executable


# ---------------------------------------------------------------------- sizes
@pytest.mark.parametrize(
    ("op", "operands", "others", "attrs"),
    [
        ("Reshape", [[3, 4]], [[4, 3], [-1, 2], [0, -1, 2]], {}),
        ("Expand", [[3, 2, 6]], [[1, 1], [2, 1]], {}),
        ("Tile", [[2, 3]], [[1, 1], [0, 2]], {}),
        ("Slice", [[0, 1], [2, 5]], [], {}),
        ("Slice", [[5], [-7], [1], [-2]], [], {}),
        ("Pad", [[1, 0, 0, 2]], [[0, 0, 0, 0], [-1, 0, 0, 1]], {}),
        ("Unsqueeze", [[0]], [[2], [-1]], {}),
        ("ReduceSum", [[1]], [[0]], {"keepdims": 0}),
        ("Split", [[2, 4]], [[5, 1], [6, 0]], {"axis": 1}),
        ("CumSum", [np.array(1)], [np.array(0)], {}),
        ("Trilu", [np.array(1)], [np.array(-1)], {}),
    ],
)
def test_parameters_computed_at_run_time(op: str, operands: list[Any], others: list[Any], attrs: dict[str, Any]):
    """The parameter goes through an addition, so that it is no input; the result is read by a kernel."""
    names = [f"p{i}" for i in range(len(operands))]
    outputs = ["y", "y2"] if op == "Split" else ["y"]
    nodes = [
        node("Relu", ["x"], ["r"]),
        *(node("Add", [n, "zero"], [f"{n}_sum"]) for n in names),
        node(op, ["r", *(f"{n}_sum" for n in names)], outputs, **attrs),
        node("Neg", ["y"], ["z"]),
    ]
    arrays = {n: np.asarray(v, np.int64) for n, v in zip(names, operands, strict=True)}
    runs = [{"x": X, **arrays}, *({"x": X, "p0": np.asarray(o, np.int64)} for o in others)]
    for inputs in runs:  # the length of a parameter may be another
        m = model(nodes, inputs, ["z", "r"], {"zero": np.array(0)})
        executable = agrees(m, inputs)
        assert executable.report.kernels > 0


def test_one_compilation_per_deciding_value():
    nodes = [node("Tile", ["x", "n"], ["t"]), node("Exp", ["t"], ["y"])]
    runs = [{"x": X, "n": np.array([1, i])} for i in (1, 2, 1, 2, 3)]
    executable = agrees(model(nodes, runs[0], ["y"]), *runs)
    assert executable.variants == 1 + 3
    assert executable.report.segments == 1
    assert executable.report.variants == 4


def test_at_most_so_many_are_kept():
    nodes = [node("Tile", ["x", "n"], ["y"])]
    x = np.ones((1,), np.float32)
    executable = gedialect.compile(model(nodes, {"x": x, "n": np.array([1])}, ["y"]))
    for i in range(1, CACHE_SIZE + 10):
        assert executable.run({"x": x, "n": np.array([i])})["y"].shape == (i,)
    assert executable.variants == CACHE_SIZE


def test_what_data_counts():
    """Sizes from nonzero; the arithmetic on them decides the sizes after it."""
    nodes = [
        node("Greater", ["x", "zero"], ["positive"]),
        node("NonZero", ["positive"], ["at"]),
        node("Transpose", ["at"], ["rows"], perm=[1, 0]),
        node("GatherND", ["x", "rows"], ["picked"]),
        node("Shape", ["picked"], ["shape"]),
        node("Concat", ["shape", "one"], ["column"], axis=0),
        node("Reshape", ["picked", "column"], ["tall"]),
        node("MatMul", ["tall", "w"], ["y"]),
    ]
    weights = {"zero": np.float32(0), "one": np.array([1]), "w": np.ones((1, 3), np.float32)}
    m = model(nodes, {"x": X}, ["y"], weights)
    executable = agrees(m, {"x": X}, {"x": -X}, {"x": np.abs(X)}, {"x": -np.abs(X)})
    assert [e["op"] for e in executable.report.host_ops] == ["ge.nonzero"] or executable.report.host_ops


def test_sizes_of_inputs_open_as_well():
    nodes = [node("NonZero", ["x"], ["at"]), node("Cast", ["at"], ["f"], to=F32), node("Exp", ["f"], ["y"])]
    m = model(nodes, {}, ["y"])
    m.graph.input.append(info("x", F32, ["n"]))
    agrees(m, {"x": np.array([0, 1, 2], np.float32)}, {"x": np.zeros(4, np.float32)})


def test_an_om_that_holds_the_text(tmp_path):
    """Weights lie in the file; node names and branches survive."""
    w = np.random.default_rng(3).standard_normal((1, 400)).astype(np.float32)
    nodes = [
        node("NonZero", ["x"], ["at"]),
        node("Cast", ["at"], ["f"], to=F32),
        node("ReduceSum", ["f", "axes"], ["s"]),
        node("MatMul", ["s", "w"], ["y"]),
    ]
    m = model(nodes, {"x": X}, ["y"], {"w": w, "axes": np.array([1])})
    gedialect.compile(m, level="O1").save(tmp_path / "m.om")
    loaded = gedialect.api.load(tmp_path / "m.om")
    for x in (X, np.where(X > 0, X, 0)):
        same(loaded.run({"x": x})["y"], reference(m, {"x": x})[0])
    assert loaded.report.level == "O1"
    assert loaded.report.host_ops == [{"op": "ge.nonzero", "node": "n_at"}]
    with pytest.raises(GeError) as caught:
        load(tmp_path / "m.om")
    assert caught.value.code == "GE1309"
    data = (tmp_path / "m.om").read_bytes()
    assert data.count(w.tobytes()) == 1


def test_nothing_to_report_before_a_run(tmp_path):
    nodes = [node("NonZero", ["x"], ["at"]), node("Neg", ["at"], ["y"])]
    executable = gedialect.compile(model(nodes, {"x": X}, ["y"]))
    with pytest.raises(GeError) as caught:
        print(executable.report)
    assert caught.value.code == "GE1014"
    assert "ge.nonzero (node n_at)" in caught.value.message
    mine = gedialect.compile(model(nodes, {"x": X}, ["y"]), disable=["cse"])
    with pytest.raises(GeError) as caught:
        mine.save(tmp_path / "m.om")
    assert caught.value.code == "GE1014"


def test_a_parameter_that_does_not_fit_names_its_node():
    m = model([node("Reshape", ["x", "s"], ["y"])], {"x": X, "s": np.array([5, 5])}, ["y"])
    with pytest.raises(GeError) as caught:
        gedialect.compile(m).run({"x": X, "s": np.array([5, 5])})
    assert caught.value.code == "GE1005"
    assert "n_y" in str(caught.value)


# ---------------------------------------------------------------------- control flow
def test_branches_of_different_shapes():
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["c"]),
        node("If", ["c"], ["z"], **branches([node("Relu", ["x"], ["a"])], [node("ReduceMax", ["x"], ["b"])])),
        node("Exp", ["z"], ["y"]),
    ]
    m = model(nodes, {"x": X}, ["y"], {"zero": np.float32(0)})
    agrees(m, {"x": np.abs(X)}, {"x": -np.abs(X)}, {"x": np.abs(X)})


def test_a_branch_for_other_sizes_matters_only_if_it_is_taken():
    wrong = [node("MatMul", ["x", "x"], ["b"])]
    nodes = [node("If", ["c"], ["z"], **branches([node("Relu", ["x"], ["a"])], wrong)), node("Exp", ["z"], ["y"])]
    m = model(nodes, {"x": X, "c": np.array(True)}, ["y"])
    executable = gedialect.compile(m)
    same(executable.run({"x": X, "c": np.array(True)})["y"], np.exp(np.maximum(X, 0)))
    with pytest.raises(GeError) as caught:
        executable.run({"x": X, "c": np.array(False)})
    assert caught.value.code == "GE1005"
    assert "n_b" in str(caught.value)


@pytest.mark.parametrize("rounds", [0, 1, 5, 40])
def test_a_loop_until_data_says_so(rounds: int):
    """while |a| < limit: a *= 1.5, at most ``rounds`` times; the a of each round are collected."""
    body = [
        node("Mul", ["a", "factor"], ["b"]),
        node("ReduceMax", ["b"], ["most"], keepdims=0),
        node("Less", ["most", "limit"], ["go"]),
        node("Identity", ["a"], ["seen"]),
    ]
    nodes = [node("Loop", ["n", "yes", "x"], ["last", "all"], body=loop(body, {"a": "b"}, ["seen"]))]
    weights = {"factor": np.float32(1.5), "limit": np.float32(100), "yes": np.array(True)}
    inputs = {"x": np.abs(X) + 1, "n": np.array(rounds)}
    m = model(nodes, inputs, ["last", "all"] if rounds else ["last"], weights)
    agrees(m, inputs)
    everything = gedialect.compile(model(nodes, inputs, ["all"], weights)).run(inputs)["all"]
    assert everything.shape[0] <= rounds  # without rounds onnxruntime does not say the rank
    assert everything.shape[1:] == X.shape


def test_a_loop_that_grows():
    body = [node("Concat", ["a", "x"], ["b"], axis=1), node("Identity", ["go_in"], ["go"])]
    nodes = [
        node("Loop", ["n", "", "x"], ["long"], body=loop(body, {"a": "b"})),
        node("Neg", ["long"], ["y"]),
    ]
    runs = [{"x": X, "n": np.array(i)} for i in (0, 3, 20)]
    agrees(model(nodes, runs[0], ["y"]), *runs)


def test_a_loop_that_never_ends_is_an_error():
    body = [node("Add", ["a", "x"], ["b"]), node("Identity", ["go_in"], ["go"])]
    nodes = [node("Loop", ["", "c", "x"], ["y"], body=loop(body, {"a": "b"}))]
    m = model(nodes, {"x": X, "c": np.array(True)}, ["y"])
    executable = gedialect.compile(m)
    same(executable.run({"x": X, "c": np.array(False)})["y"], X)
    with pytest.raises(GeError, match="does not end"):
        executable.run({"x": X, "c": np.array(True)})


def test_results_are_no_inputs():
    m = model(
        [node("If", ["c"], ["y"], **branches([node("Identity", ["x"], ["a"])], [node("NonZero", ["x"], ["b"])]))],
        {"x": X, "c": np.array(True)},
        ["y"],
    )
    x = X.copy()
    y = gedialect.compile(m).run({"x": x, "c": np.array(True)})["y"]
    assert not np.may_share_memory(x, y)


def test_a_loop_whose_every_round_has_other_sizes_does_not_compile_for_ever():
    """Round i sums x[:, :i]."""
    x = np.random.default_rng(5).standard_normal((2, 90)).astype(np.float32)
    body = [
        node("Unsqueeze", ["i", "first"], ["end"]),
        node("Slice", ["x", "first", "end", "last"], ["part"]),
        node("ReduceSum", ["part", "last"], ["sum"]),
        node("Add", ["a", "sum"], ["b"]),
        node("Identity", ["go_in"], ["go"]),
    ]
    nodes = [node("Loop", ["n", "", "z"], ["y"], body=loop(body, {"a": "b"}))]
    inputs = {"x": x, "n": np.array(90)}
    weights = {"first": np.array([0]), "last": np.array([1]), "z": np.zeros((2, 1), np.float32)}
    executable = agrees(model(nodes, inputs, ["y"], weights), inputs)
    assert executable.report.segments <= LOOP_COMPILATIONS + 1
    assert any(e["op"] == "ge.reduce_sum" for e in executable.report.host_ops)


def test_few_known_rounds_are_one_om(tmp_path):
    body = [node("Add", ["a", "x"], ["b"]), node("Identity", ["go_in"], ["go"])]
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=loop(body, {"a": "b"}))]
    m = model(nodes, {"x": X}, ["y"], {"n": np.array(3)})
    executable = agrees(m, {"x": X})
    executable.save(tmp_path / "m.om")
    same(gedialect.api.load(tmp_path / "m.om").run({"x": X})["y"], 4 * X)


def test_loops_in_branches_in_loops():
    inner = [node("Add", ["p", "i_f"], ["q"]), node("Identity", ["go_in2"], ["go2"])]
    inner_graph = helper.make_graph(
        [node("Cast", ["i2"], ["i_f"], to=F32), *inner],
        "inner",
        [info("i2", I64, []), info("go_in2", BOOL, []), info("p", F32, None)],
        [onnx.ValueInfoProto(name="go2"), onnx.ValueInfoProto(name="q")],
    )
    then = [node("Loop", ["i", "", "a"], ["t"], body=inner_graph)]
    other = [node("Mul", ["a", "x"], ["e"])]
    body = [
        node("Mod", ["i", "two"], ["parity"]),
        node("Equal", ["parity", "nought"], ["even"]),
        node("If", ["even"], ["b"], **branches(then, other)),
        node("Identity", ["go_in"], ["go"]),
    ]
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=loop(body, {"a": "b"}))]
    inputs = {"x": X, "n": np.array(5)}
    agrees(model(nodes, inputs, ["y"], {"two": np.array(2), "nought": np.array(0)}), inputs)


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(direction: int, axis: int):
    body = helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "e"], ["o"])],
        "body",
        [info("s", F32, None), info("e", F32, None)],
        [info("t", F32, None), info("o", F32, None)],
    )
    attrs = {"scan_input_axes": [axis], "scan_input_directions": [direction]}
    attrs |= {"scan_output_axes": [1 - axis], "scan_output_directions": [1 - direction]}
    m = model([node("Scan", ["s0", "x"], ["s", "y"], body=body, num_scan_inputs=1, **attrs)], {"x": X}, ["s", "y"])
    m.graph.initializer.append(numpy_helper.from_array(np.zeros(X.shape[1 - axis], np.float32), "s0"))
    for output, rank in zip(m.graph.output, (1, 2), strict=True):
        output.CopyFrom(info(output.name, F32, [None] * rank))
    agrees(m, {"x": X})


# ---------------------------------------------------------------------- sequences
def test_a_sequence_is_built_and_joined():
    nodes = [
        node("SplitToSequence", ["x", "two"], ["parts"], axis=1),
        node("SequenceAt", ["parts", "last"], ["tail"]),
        node("Exp", ["tail"], ["e"]),
        node("SequenceInsert", ["parts", "e", "first"], ["more"]),
        node("SequenceErase", ["more", "last"], ["fewer"]),
        node("SequenceLength", ["fewer"], ["n"]),
        node("ConcatFromSequence", ["fewer"], ["y"], axis=1),
    ]
    weights = {"two": np.array(2), "last": np.array(-1), "first": np.array(0)}
    m = model(nodes, {"x": X}, ["y", "n"], weights)
    agrees(m, {"x": X})


def test_sequences_as_inputs_and_outputs():
    m = model([node("SequenceInsert", ["s", "x", "at"], ["y"])], {"x": X}, ["y"], {"at": np.array(-1)})
    m.graph.input.append(helper.make_tensor_sequence_value_info("s", F32, None))
    m.graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("y", F32, None))
    agrees(m, {"x": X, "s": [X, 2 * X]}, {"x": X, "s": [X[:1], X, X]})


def test_a_position_out_of_range_names_its_node():
    nodes = [node("SequenceConstruct", ["x"], ["s"]), node("SequenceAt", ["s", "at"], ["y"])]
    with pytest.raises(GeError) as caught:
        gedialect.compile(model(nodes, {"x": X}, ["y"], {"at": np.array(3)})).run({"x": X})
    assert caught.value.code == "GE1006"
    assert "n_y" in str(caught.value)


@pytest.mark.parametrize("there", [True, False])
def test_optional_inputs(there: bool):
    """Run without onnxruntime: its Python interface takes no missing values."""
    nodes = [
        node("OptionalHasElement", ["o"], ["has"]),
        node("If", ["has"], ["y"], **branches([node("OptionalGetElement", ["o"], ["a"])], [node("Neg", ["x"], ["b"])])),
    ]
    m = model(nodes, {"x": X}, ["y", "has"])
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(F32, None))
    m.graph.input.append(helper.make_value_info("o", kind))
    got = gedialect.compile(m).run({"x": X, "o": X + 1 if there else None})
    same(got["y"], X + 1 if there else -X)
    assert got["has"] == there


# ---------------------------------------------------------------------- control flow in one OM
def one_om(m: onnx.ModelProto, path: Any, *runs: Mapping[str, Any], level: str = "O2") -> Any:
    """Known sizes throughout: one OM, also from its file, with label tasks."""
    executable = gedialect.compile(m, level=level)
    assert isinstance(executable, gedialect.api.Executable)
    executable.save(path)
    loaded = gedialect.api.load(path)
    for inputs in runs:
        for again in (executable, loaded):
            for g, w in zip(again.run(inputs, sanitize=True).values(), reference(m, inputs), strict=True):
                same(g, w)
    assert any(isinstance(t, LabelSwitch) for t in load(path).tasks)
    assert executable.timing().us > 0
    return executable


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_branch_in_an_om(tmp_path, level: str):
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["c"]),
        node("Exp", ["x"], ["e"]),
        node("If", ["c"], ["z"], **branches([node("Relu", ["e"], ["a"])], [node("MatMul", ["x", "w"], ["b"])])),
        node("Add", ["z", "e"], ["y"]),
    ]
    weights = {"zero": np.float32(0), "w": np.random.default_rng(1).standard_normal((6, 6)).astype(np.float32)}
    m = model(nodes, {"x": X}, ["y", "z"], weights)
    executable = one_om(m, tmp_path / "m.om", {"x": np.abs(X)}, {"x": -np.abs(X)}, {"x": np.abs(X)}, level=level)
    assert executable.report.host_ops == []
    assert executable.report.kernels >= 5


def test_branches_that_hand_on_inputs_and_constants(tmp_path):
    then = helper.make_graph(
        [node("Identity", ["x"], ["a"]), node("Identity", ["k"], ["a2"])],
        "t",
        [],
        [onnx.ValueInfoProto(name=n) for n in ("a", "a2")],
    )
    other = helper.make_graph(
        [node("Identity", ["k"], ["b"]), node("Neg", ["x"], ["b2"])],
        "e",
        [],
        [onnx.ValueInfoProto(name=n) for n in ("b", "b2")],
    )
    m = model(
        [node("If", ["c"], ["y", "z"], then_branch=then, else_branch=other)],
        {"x": X, "c": np.array(True)},
        ["y", "z", "y"],
        {"k": np.full(X.shape, 2.5, np.float32)},
    )
    del m.graph.output[2]
    one_om(m, tmp_path / "m.om", {"x": X, "c": np.array(True)}, {"x": X, "c": np.array(False)})


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_loop_in_an_om(tmp_path, level: str):
    """Carried values that change places, a condition from data, and a limit."""
    body = [
        node("Mul", ["a", "factor"], ["grown"]),
        node("ReduceMax", ["grown"], ["most"], keepdims=0),
        node("Less", ["most", "limit"], ["go"]),
        node("Identity", ["b"], ["next_a"]),
    ]
    nodes = [
        node("Neg", ["x"], ["n"]),
        node("Loop", ["m", "yes", "x", "n"], ["p", "q"], body=loop(body, {"a": "next_a", "b": "grown"})),
        node("Add", ["p", "x"], ["y"]),
    ]
    weights = {"factor": np.float32(1.5), "limit": np.float32(100)}
    x = np.abs(X) + 1
    runs = [
        {"x": x, "m": np.array(n), "yes": np.array(go)}
        for n, go in ((0, True), (1, True), (7, True), (99, True), (5, False))
    ]
    m = model(nodes, runs[0], ["y", "q"], weights)
    executable = one_om(m, tmp_path / "m.om", *runs, level=level)
    assert executable.report.kernels > 4


def test_a_loop_in_a_branch_in_a_loop(tmp_path):
    inner = helper.make_graph(
        [node("Add", ["p", "x"], ["q"]), node("Identity", ["go2_in"], ["go2"])],
        "inner",
        [info("i2", I64, []), info("go2_in", BOOL, []), info("p", F32, None)],
        [onnx.ValueInfoProto(name="go2"), onnx.ValueInfoProto(name="q")],
    )
    body = [
        node("Mod", ["i", "two"], ["parity"]),
        node("Equal", ["parity", "nought"], ["even"]),
        node(
            "If",
            ["even"],
            ["b"],
            **branches([node("Loop", ["i", "", "a"], ["t"], body=inner)], [node("Mul", ["a", "x"], ["e"])]),
        ),
        node("Identity", ["go_in"], ["go"]),
    ]
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=loop(body, {"a": "b"}))]
    runs = [{"x": X, "n": np.array(n)} for n in (6, 0, 1)]
    one_om(model(nodes, runs[0], ["y"], {"two": np.array(2), "nought": np.array(0)}), tmp_path / "m.om", *runs)


def test_a_long_scan_in_an_om(tmp_path):
    x = np.random.default_rng(2).standard_normal((60, 5)).astype(np.float32)
    body = helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Tanh", ["t"], ["u"]), node("Mul", ["u", "e"], ["o"])],
        "body",
        [info("s", F32, [5]), info("e", F32, [5])],
        [info("u", F32, [5]), info("o", F32, [5])],
    )
    m = model(
        [node("Scan", ["s0", "x"], ["s", "y"], body=body, num_scan_inputs=1, scan_output_directions=[1])],
        {"x": x},
        ["s", "y"],
        {"s0": np.zeros(5, np.float32)},
    )
    one_om(m, tmp_path / "m.om", {"x": x})


# ---------------------------------------------------------------------- strings
def words(*values: str) -> Any:
    return np.array(values, object)


def text_model(nodes: Sequence[onnx.NodeProto], outputs: Mapping[str, int]) -> onnx.ModelProto:
    m = model(nodes, {}, list(outputs))
    m.graph.input.append(info("x", TensorProto.STRING, ["n"]))
    for output, dtype in zip(m.graph.output, outputs.values(), strict=True):
        output.CopyFrom(info(output.name, dtype, None))
    return m


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ([node("StringConcat", ["x", "x"], ["y"])], {"y": TensorProto.STRING}),
        ([node("StringSplit", ["x"], ["y", "n"], delimiter=",", maxsplit=1)], {"y": TensorProto.STRING, "n": I64}),
        ([node("StringSplit", ["x"], ["y", "n"])], {"y": TensorProto.STRING, "n": I64}),
        ([node("RegexFullMatch", ["x"], ["y"], pattern="[a-c,]*")], {"y": BOOL}),
        (
            [node("StringNormalizer", ["x"], ["y"], case_change_action="UPPER", stopwords=["b c"], locale="C")],
            {"y": TensorProto.STRING},
        ),
        ([node("Equal", ["x", "x"], ["e"]), node("Cast", ["e"], ["y"], to=F32)], {"y": F32}),
    ],
)
def test_strings(nodes: list[onnx.NodeProto], outputs: dict[str, int]):
    m = text_model(nodes, outputs)
    executable = gedialect.compile(m)
    for x in (words("a,b", "b c", "", "Ab,c,d"), words("b c")):
        for got, want in zip(executable.run({"x": x}).values(), reference(m, {"x": x}), strict=True):
            assert got.shape == want.shape
            assert got.tolist() == want.tolist()


def test_patterns_that_mean_another_thing_are_refused():
    m = text_model([node("RegexFullMatch", ["x"], ["y"], pattern="(a)\\1")], {"y": BOOL})
    with pytest.raises(UnsupportedError, match="pattern"):
        gedialect.compile(m).run({"x": words("aa")})
