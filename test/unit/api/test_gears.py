"""Gears: every gear agrees with onnxruntime, weights are there once, workspaces lie over each other, mistakes are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gear_models import F32, Array, cnn, expected, feed, info, model, node, numbers, transformer

import gedialect
from gedialect.binary.om import from_bytes, read_om, to_bytes
from gedialect.binary.protos.attrs import set_attr
from gedialect.binary.tasks import KernelTask, LabelGoto, LabelSet, LabelSwitch, Task, encode_tasks
from gedialect.cli.ge_run import difference
from gedialect.errors import GeError, UsageError
from gedialect.runtime.loader import LoadedModel, load, load_om
from gedialect.testing.agree import parse


def gears_of(exe: object) -> gedialect.Executable:
    assert isinstance(exe, gedialect.Executable)
    assert exe.gears
    return exe


def shapes(exe: gedialect.Executable, gear: int) -> dict[str, tuple[int, ...]]:
    return {t.name: t.shape for t in exe.gears[gear].inputs}


def agree(exe: gedialect.Executable, m: onnx.ModelProto, limit: float = 1e-5) -> None:
    """All gears, in turn and back again, against onnxruntime; kernels are checked while they run."""
    order = range(len(exe.gears))
    for gear in (*order, *reversed(order)):
        inputs = feed(shapes(exe, gear), m, seed=gear)
        got = exe.run(inputs, sanitize=True)
        assert exe.gear is exe.gears[gear]
        for name, want in expected(m, inputs).items():
            assert difference(got[name], want) < limit, (exe.gears[gear].name, name)


def saved(exe: gedialect.Executable, folder: Path) -> gedialect.Executable:
    exe.save(folder / "m.om")
    return gears_of(gedialect.load(folder / "m.om"))


# ------------------------------------------------------------------ results
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_batch_sizes_of_a_cnn(level: str, tmp_path: Path):
    exe = gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 2, 5], level=level))
    assert [g.name for g in exe.gears] == ["batch size 1", "batch size 2", "batch size 5"]
    agree(exe, cnn())
    agree(saved(exe, tmp_path), cnn())


@pytest.mark.parametrize("dims", [[(1, 8), (2, 8), (3, 24)], [(1, 8, 1, 8), (2, 5, 2, 5)]])
def test_dims_of_a_transformer(dims: list[tuple[int, ...]], tmp_path: Path):
    """A value for each name of a size will do, where the model names them."""
    exe = gears_of(gedialect.compile(transformer(), dynamic_dims=dims))
    assert exe.gears[1].values == (2, dims[1][1], 2, dims[1][1])
    agree(exe, transformer())
    agree(saved(exe, tmp_path), transformer())


def test_half_precision():
    exe = gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 3], precision="fp16"))
    agree(exe, cnn(), limit=2e-2)
    assert exe.report.precision == "fp16"


def test_several_inputs_one_of_them_fixed():
    m = model(
        [node("MatMul", ["a", "w"], ["m"]), node("Add", ["m", "b"], ["s"]), node("Mul", ["s", "c"], ["y"])],
        [info("a", F32, ["n", 8]), info("b", F32, ["n", 8]), info("c", F32, [8])],
        ["y"],
        {"w": numbers(8, 8)},
    )
    agree(gears_of(gedialect.compile(m, dynamic_batch_size=[1, 4, 16])), m)


def quantised(batch: int | str = "n") -> onnx.ModelProto:
    """Weights of 8 bits with a scale per channel, and activations quantised while it runs."""
    rng = np.random.default_rng(3)
    nodes = [
        node("DequantizeLinear", ["wq", "ws", "wz"], ["w"], axis=0),
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("GlobalAveragePool", ["r"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("DynamicQuantizeLinear", ["f"], ["q", "qs", "qz"]),
        node("MatMulInteger", ["q", "v", "qz"], ["i"]),
        node("Cast", ["i"], ["j"], to=F32),
        node("Mul", ["j", "qs"], ["y"]),
    ]
    weights = {
        "wq": rng.integers(-127, 127, (16, 3, 3, 3)).astype(np.int8), "ws": np.abs(numbers(16)) * 0.01 + 0.001,
        "wz": np.zeros(16, np.int8), "v": rng.integers(-127, 127, (16, 12)).astype(np.int8),
    }  # fmt: skip
    return model(nodes, [info("x", F32, [batch, 3, 8, 8])], ["y"], weights)


def test_quantised_weights():
    """The products of integers are exact; a rounding that goes the other way moves a result by a step."""
    agree(gears_of(gedialect.compile(quantised(), dynamic_batch_size=[1, 2, 3])), quantised(), limit=1e-2)


def branching() -> onnx.ModelProto:
    from onnx import helper

    out = [onnx.ValueInfoProto(name="t")], [onnx.ValueInfoProto(name="e")]
    then = helper.make_graph([node("MatMul", ["x", "w"], ["t"])], "then", [], out[0])
    other = helper.make_graph([node("Neg", ["x"], ["n"]), node("Exp", ["n"], ["e"])], "else", [], out[1])
    nodes = [
        node("ReduceSum", ["x"], ["s"], keepdims=0),
        node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["i"], name="choice", then_branch=then, else_branch=other),
        node("Add", ["i", "x"], ["y"]),
    ]
    return model(nodes, [info("x", F32, ["n", 8])], ["y"], {"w": numbers(8, 8), "zero": np.float32(0)})


def test_branches_inside_gears(tmp_path: Path):
    exe = saved(gears_of(gedialect.compile(branching(), dynamic_batch_size=[1, 4])), tmp_path)
    for n in (1, 4, 1):
        for sign in (1, -1):
            x = {"x": sign * np.abs(numbers(n, 8))}
            assert difference(exe.run(x)["y"], expected(branching(), x)["y"]) < 1e-5


def test_text_and_modules_have_gears():
    text = """func.func @main(%x: tensor<?x4xf32> {ge.name = "x"}) -> (tensor<?x4xf32> {ge.name = "y"}) {
      %y = ge.exp(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      func.return %y : tensor<?x4xf32> }"""
    module = parse(text)
    exe = gears_of(gedialect.compile(module, dynamic_batch_size=[2, 3]))
    for n in (2, 3):
        x = numbers(n, 4)
        np.testing.assert_allclose(exe.run([x])["y"], np.exp(x), rtol=1e-5)
    assert str(module) == str(parse(text))


def test_nodes_that_need_their_sizes_get_them():
    nodes = [
        node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxUnpool", ["p", "i"], ["u"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["u"], ["y"], axis=3),
    ]
    m = model(nodes, [info("x", F32, ["n", 2, 6, "w"])], ["y"])
    agree(gears_of(gedialect.compile(m, dynamic_dims=[(1, 4), (2, 8)])), m)


def test_a_gear_is_what_its_sizes_alone_would_be():
    exe = gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 4]))
    for gear, entry in zip(exe.gears, exe.report.gears, strict=True):
        alone = gedialect.compile(cnn(), input_shapes={"x": gear.inputs[0].shape})
        inputs = feed({"x": gear.inputs[0].shape}, cnn())
        assert np.array_equal(exe.run(inputs)["y"], alone.run(inputs)["y"])
        own = alone.report
        assert (entry["kernels"], entry["ops"], entry["gm_bytes"]) == (own.kernels, own.ops, own.gm_bytes)
        assert entry["workspace_bytes"] == own.workspace_bytes


# ------------------------------------------------------------------ sizes
@pytest.mark.parametrize("from_file", [True, False])
def test_weights_are_there_once(from_file: bool, tmp_path: Path):
    m = cnn(width=128)
    onnx.save(m, tmp_path / "m.onnx")
    source = tmp_path / "m.onnx" if from_file else m
    one = gears_of(gedialect.compile(source, dynamic_batch_size=[4]))
    three = gears_of(gedialect.compile(source, dynamic_batch_size=[1, 2, 4]))
    assert one.report.weight_bytes > 590_000
    assert three.report.weight_bytes == one.report.weight_bytes
    one.save(tmp_path / "1.om")
    three.save(tmp_path / "3.om")
    sizes = [(tmp_path / f"{n}.om").stat().st_size for n in (1, 3)]
    assert sizes[1] - sizes[0] < 80_000  # graphs, tasks and kernels of two gears more


def test_workspaces_lie_over_each_other():
    exe = gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 2, 4]))
    needs = [g["workspace_bytes"] for g in exe.report.gears]
    assert needs == sorted(needs)
    assert exe.report.workspace_bytes == needs[-1] > 0
    loaded = loaded_of(exe)
    assert loaded.memory.workspace == needs[-1]
    for gear, need in zip(loaded.gears, needs, strict=True):
        ends = [
            arg.offset + arg.nbytes
            for task in gear.run_of(loaded.tasks)
            if isinstance(task, KernelTask)
            for arg in task.args
            if arg.region == "workspace"
        ]
        assert 0 < max(ends) <= need


def test_equal_kernels_are_there_once():
    """Gears that differ in one input only: what works on the other is the same kernel."""
    inputs = [info("a", F32, ["n", 4]), info("b", F32, ["m", 6])]
    m = model([node("Exp", ["a"], ["p"]), node("Neg", ["b"], ["q"])], inputs, ["p", "q"])
    exe = gears_of(gedialect.compile(m, dynamic_dims=[(1, 8), (50, 8), (300, 8)]))
    assert exe.report.kernels == 6
    assert len(loaded_of(exe).kernels) == 4
    agree(exe, m)


def test_every_plan_is_verified():
    exe = gedialect.compile(cnn(), dynamic_batch_size=[1, 2])
    verified = [s["gear"] for s in exe.report.stages if s["stage"] == "verify-plan"]
    assert verified == ["batch size 1", "batch size 2"]


# ------------------------------------------------------------------ report and time
def test_the_report_has_every_gear(tmp_path: Path):
    exe = saved(gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 64], time=True)), tmp_path)
    report = exe.report
    assert [g["values"] for g in report.gears] == [[1], [64]]
    assert [g["outputs"] for g in report.gears] == [[[1, 10]], [[64, 10]]]
    assert report.kernels == len(report.kernel_list) == sum(g["kernels"] for g in report.gears)
    assert {k["gear"] for k in report.kernel_list} == {"batch size 1", "batch size 64"}
    times = [g["latency_us"] for g in report.gears]
    assert times[0] < times[1] == report.latency_us
    assert report.gm_bytes == max(g["gm_bytes"] for g in report.gears)
    assert [exe.timing(n).us for n in (0, 1)] == pytest.approx(times)
    assert exe.timing().us == pytest.approx(times[1])  # nothing has run: the slowest
    exe.run(feed({"x": (1, 3, 12, 14)}, cnn()))
    assert exe.timing().us == pytest.approx(times[0])
    with pytest.raises(UsageError, match="no gear 2"):
        exe.timing(2)


def test_what_fused_says_in_which_gear(tmp_path: Path):
    import json

    gedialect.compile(cnn(), dynamic_batch_size=[1, 2], fusion_report=tmp_path / "f.json")
    entries = json.loads((tmp_path / "f.json").read_text())
    assert {e["gear"] for e in (*entries["rules"], *entries["kernels"])} == {"batch size 1", "batch size 2"}


# ------------------------------------------------------------------ mistakes
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dynamic_batch_size": 4}, "no list"),
        ({"dynamic_batch_size": "1,2"}, "no list"),
        ({"dynamic_batch_size": []}, "no gear is given"),
        ({"dynamic_batch_size": [1.5]}, "1.5 is no size"),
        ({"dynamic_batch_size": [None]}, "None is no size"),
        ({"dynamic_batch_size": [(1, 2)]}, "is no size"),
        ({"dynamic_batch_size": [1, 0]}, "gear 2 (batch size 0) has the size 0"),
        ({"dynamic_batch_size": [-1]}, "sizes are 1 or more"),
        ({"dynamic_batch_size": [2, 1, 2]}, "batch size 2 is given twice"),
        ({"dynamic_batch_size": range(1, 102)}, "101 gears"),
        ({"dynamic_dims": [1, 2]}, "no list"),
        ({"dynamic_dims": [(1, 2), (3,)]}, "gear 2 (dims 3) has 1 value, gear 1 (dims 1,2) has 2"),
        ({"dynamic_dims": [()]}, "gear 1 is empty"),
        ({"dynamic_dims": [(2,), (2,)]}, "dims 2 is given twice"),
        ({"dynamic_batch_size": [1], "dynamic_dims": [(1,)]}, "both given"),
    ],
)
def test_lists_of_another_form(options: dict[str, Any], words: str):
    with pytest.raises(UsageError) as caught:
        gedialect.compile(cnn(), **options)
    assert caught.value.code == "GE1001"
    assert words in caught.value.message
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("m", "options", "code", "words"),
    [
        (cnn(2), {"dynamic_batch_size": [1, 2]}, "GE1014", "no size of the inputs is unknown"),
        (cnn(), {"dynamic_batch_size": [1], "input_shapes": {"x": (1, 3, 12, 14)}}, "GE1014", "no size"),
        (cnn(2), {"dynamic_dims": [(1,)]}, "GE1014", "no size of the inputs is unknown"),
        (transformer(), {"dynamic_batch_size": [1, 2]}, "GE1004", "size 1 of input ids (-1,-1) is unknown as well"),
        (transformer(), {"dynamic_dims": [(1, 2, 3)]}, "GE1004", "ids[0] (batch), ids[1] (len), mask[0] (batch)"),
        (cnn(), {"dynamic_dims": [(1, 2)]}, "GE1004", "has 2 values, the unknown sizes are 1: x[0] (n)"),
        (cnn(), {"dynamic_batch_size": [1, 10**30]}, "GE1009", "with batch size 1000"),
    ],
)
def test_gears_that_do_not_fit_the_model(m: onnx.ModelProto, options: dict[str, Any], code: str, words: str):
    with pytest.raises(GeError) as caught:
        gedialect.compile(m, **options)
    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.hint is not None


def test_a_gear_the_model_cannot_have_is_named_with_the_node():
    m = model([node("Reshape", ["x", "s"], ["y"])], [info("x", F32, ["n", 6])], ["y"], {"s": np.array([-1, 4])})
    agree(gears_of(gedialect.compile(m, dynamic_batch_size=[2, 4])), m)
    with pytest.raises(GeError, match="with batch size 3: ") as caught:
        gedialect.compile(m, dynamic_batch_size=[2, 3, 4])
    assert caught.value.where == "node n_y"
    assert caught.value.code == "GE1005"


def test_sizes_that_come_from_data_are_told():
    m = model([node("NonZero", ["x"], ["y"])], [info("x", F32, ["n", 6])], ["y"])
    with pytest.raises(GeError, match=r"with batch size 1: .*n_y") as caught:
        gedialect.compile(m, dynamic_batch_size=[1, 2])
    assert caught.value.code == "GE1014"


def test_an_output_has_one_rank():
    m = model([node("Squeeze", ["x"], ["y"])], [info("x", F32, ["n", 6])], ["y"])
    with pytest.raises(GeError, match="output y has rank 1 with batch size 1, rank 2 with batch size 2") as caught:
        gedialect.compile(m, dynamic_batch_size=[1, 2])
    assert caught.value.code == "GE1205"


def test_other_sizes_are_refused_by_a_run(tmp_path: Path):
    exe = saved(gears_of(gedialect.compile(cnn(), dynamic_batch_size=[1, 2])), tmp_path)
    with pytest.raises(GeError, match="no gear takes x \\[3, 3, 12, 14\\]; the model has batch sizes 1, 2") as caught:
        exe.run(feed({"x": (3, 3, 12, 14)}, cnn()))
    assert caught.value.code == "GE1004"
    assert caught.value.hint is not None
    assert "x [1, 3, 12, 14] or x [2, 3, 12, 14]" in caught.value.hint
    for wrong, words in (
        ({"x": np.zeros((2, 3, 12, 14))}, "float64"),
        ({}, "missing"),
        ({"x": np.zeros((2, 3, 12, 14), np.float32), "ascend_mbatch_shape_index": np.zeros(1, np.int32)}, "unknown"),
    ):
        with pytest.raises(GeError, match=words) as caught:
            exe.run(wrong)
        assert caught.value.code == "GE1004"


def test_inputs_of_different_gears_are_refused():
    exe = gears_of(gedialect.compile(transformer(), dynamic_dims=[(1, 8), (2, 8)]))
    mixed = feed({"ids": (1, 8), "mask": (2, 8)}, transformer())
    with pytest.raises(GeError, match="no gear takes ids \\[1, 8\\], mask \\[2, 8\\]; the model has dims 1,8,1,8; 2,8"):
        exe.run(mixed)


def test_an_error_of_a_run_names_the_node_and_the_gear(tmp_path: Path):
    m = model([node("Gather", ["w", "i"], ["y"])], [info("i", 7, ["n"])], ["y"], {"w": numbers(5, 3)})
    exe = saved(gears_of(gedialect.compile(m, dynamic_batch_size=[1, 2])), tmp_path)
    with pytest.raises(GeError) as caught:
        exe.run({"i": np.array([1, 77])})
    assert caught.value.code == "GE1308"
    assert "in node n_y of gear batch size 2" in caught.value.details


# ------------------------------------------------------------------ the file
def loaded_of(exe: gedialect.Executable) -> LoadedModel:
    return exe._model  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gears") / "m.om"
    gears_of(gedialect.compile(branching(), dynamic_batch_size=[1, 2, 4])).save(path)
    return path


def test_it_is_the_same_file_when_read_and_written_again(file: Path):
    assert to_bytes(read_om(file)) == file.read_bytes()


def test_what_the_file_says(file: Path):
    om = read_om(file)
    assert [(t.name, t.shape, t.nbytes) for t in om.inputs] == [("x", (-1, 8), 128)]
    assert om.info[2] == b"".join(n.to_bytes(4, "little") for n in (3, 1, 0, 2, 0, 4, 0))
    assert sorted(om.info) == [2, 5, 6]
    root, *graphs = [g for g in om.model.graph if not g.name.startswith("choice")]
    case = next(op for op in root.op if op.type == "Case")
    assert list(case.subgraph_name) == [g.name for g in graphs] == ["Batch_0", "Batch_1", "Batch_2"]
    assert [case.attr[f"_pred_value_{n}"].list.i[0] for n in range(3)] == [1, 2, 4]
    assert (case.attr["_batch_num"].i, case.attr["mbatch_dynamic_type"].i) == (3, 1)
    for number, graph in enumerate(graphs):
        assert all(op.name.endswith(f"_ascend_mbatch_batch_{number}") for op in graph.op)
        assert {op.attr["_batch_label"].s for op in graph.op} == {f"Batch_{number}".encode()}
    assert {name for name in load(file).node_names.values() if "mbatch_batch" in name} == set()


def test_the_runtime_needs_no_compiler(file: Path):
    code = f"""
import sys
import numpy as np
from gedialect.runtime.loader import load
from gedialect.runtime.session import Session
session = Session(load({str(file)!r}), sanitize=True)
for n in (1, 2, 4):
    assert session.run([np.ones((n, 8), np.float32)])["y"].shape == (n, 8)
made = {{m.split(".")[1] for m in sys.modules if m.startswith("gedialect.")}} | {{m.split(".")[0] for m in sys.modules}}
assert not made & {{"lowering", "api", "transforms", "patterns", "frontends"}}, made
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def attribute(key: str, value: object) -> Any:
    return lambda om, _: set_attr(om.model.attr[key], value)


def changed(change: Any) -> Any:
    """A change of the task list."""

    def apply(om: Any, loaded: LoadedModel) -> None:
        tasks: list[Task] = list(loaded.tasks)
        change(tasks, loaded)
        om.tasks.CopyFrom(encode_tasks(tasks, loaded.memory))

    return apply


def swap_labels(tasks: list[Task], loaded: LoadedModel) -> None:
    first = tasks[0]
    assert isinstance(first, LabelSwitch)
    tasks[0] = LabelSwitch(first.index, first.labels[::-1], op_index=first.op_index)


def jump_out(tasks: list[Task], loaded: LoadedModel) -> None:
    inside = loaded.gears[2].tasks
    number = next(n for n in inside if isinstance(tasks[n], LabelGoto))
    first = tasks[0]
    assert isinstance(first, LabelSwitch)
    tasks[number] = LabelGoto(first.labels[0], op_index=first.op_index)


def run_on(tasks: list[Task], loaded: LoadedModel) -> None:
    last = loaded.gears[0].tasks[-1]
    tasks[last] = tasks[last - 1]
    if isinstance(tasks[last], LabelSet):
        tasks[last] = tasks[last - 2]


def other_memory(tasks: list[Task], loaded: LoadedModel) -> None:
    """Tasks of the largest gear in the place of the smallest."""
    large = next(tasks[n] for n in loaded.gears[2].tasks if isinstance(tasks[n], KernelTask))
    number = next(n for n in loaded.gears[0].tasks if isinstance(tasks[n], KernelTask))
    tasks[number] = large


GEARS = '{"kind":"%s","gears":[%s]}'
GEAR = '{"values":[%d],"inputs":[[%d,8]],"outputs":[[%d,8]]}'


def gears_text(*sizes: int, kind: str = "dynamic_batch_size") -> str:
    return GEARS % (kind, ",".join(GEAR % (n, n, n) for n in sizes))


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (attribute("gedialect.gears", "{"), "GE1309", "malformed"),
        (attribute("gedialect.gears", "[" * 100000), "GE1309", "malformed"),
        (attribute("gedialect.gears", 3), "GE1309", "malformed"),
        (attribute("gedialect.gears", GEARS % ("dynamic_batch_size", "")), "GE1309", "malformed"),
        (attribute("gedialect.gears", gears_text(1, 2, 4, kind="dynamic_hw")), "GE1309", "malformed"),
        (attribute("gedialect.gears", gears_text(1, 2, -4)), "GE1309", "malformed"),
        (attribute("gedialect.gears", gears_text(1, 2, 4).replace("8", '"8"')), "GE1309", "malformed"),
        (attribute("gedialect.gears", gears_text(1, 2, 4).replace("8", "9")), "GE1309", "does not fit the inputs"),
        (attribute("gedialect.gears", gears_text(1, 2, 999)), "GE1309", "memory_size"),
        (attribute("gedialect.gears", gears_text(1, 3, 4)), "GE1309", "MODEL_INOUT_INFO disagree"),
        (attribute("gedialect.gears", gears_text(1, 2, 4, kind="dynamic_dims")), "GE1309", "disagree"),
        (lambda om, _: om.info.pop(6), "GE1309", "disagree"),
        (lambda om, _: om.model.attr.pop("gedialect.gears"), "GE1309", "malformed tensor"),
        (changed(lambda tasks, _: tasks.pop(0)), "GE1307", "do not begin with the choice"),
        (changed(swap_labels), "GE1307", "one behind the other"),
        (changed(jump_out), "GE1307", "leaves its gear"),
        (changed(run_on), "GE1307", "run into the next"),
        (changed(other_memory), "GE1308", "lies outside"),
    ],
)  # fmt: skip
def test_damaged_files(file: Path, change: Any, code: str, words: str):
    om = from_bytes(file.read_bytes())
    change(om, load(file))
    with pytest.raises(GeError) as caught:
        load_om(om)
    assert caught.value.code == code
    assert words in caught.value.message


def test_mapping_types_are_what_they_say(file: Path) -> None:
    exe = gears_of(gedialect.load(file))
    inputs: Mapping[str, Array] = {"x": numbers(2, 8)}
    assert exe.run(inputs)["y"].shape == exe.run([inputs["x"]])["y"].shape == (2, 8)
