from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gedialect.binary.om import OmFile, to_bytes, write_om
from gedialect.binary.protos.attrs import set_attr
from gedialect.binary.tasks import EventWait, KernelTask, LabelGoto, LabelSet, LabelSwitch, encode_tasks
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, I64
from gedialect.runtime.loader import load, load_om

Make = Callable[[], OmFile]


def test_load(sample: Make, tmp_path: Path):
    write_om(sample(), tmp_path / "m.om")
    model = load(tmp_path / "m.om")
    assert (model.name, model.target) == ("sample", "Ascend910B1")
    assert [(t.name, t.dtype, t.shape, t.nbytes) for t in model.inputs] == [("x", F32, (1, 1, 4, 4), 64)]
    assert [(t.name, t.dtype, t.shape) for t in model.outputs] == [("y", F32, (1, 4, 9)), ("k", I64, (1, 2))]
    assert model.memory.workspace == 1024
    assert model.report["host_ops"] == [{"op": "ge.topk", "node": "topk"}]
    kernel = model.tasks[0]
    assert isinstance(kernel, KernelTask)
    assert model.node_of(kernel) == "relu"
    weight = kernel.args[2]
    assert model.weights.view(weight.offset, weight.nbytes).cast("f").tolist() == [0.5, -1.0, 2.0, 3.0]
    assert model.labels == {0: 4, 1: 7}
    assert to_bytes(model.om) == to_bytes(sample())


def test_unwritten_file_loads_the_same(sample: Make, tmp_path: Path):
    write_om(sample(), tmp_path / "m.om")
    assert load_om(sample()).tasks == load(tmp_path / "m.om").tasks


def drop(key: str) -> Callable[[OmFile], None]:
    def change(om: OmFile) -> None:
        del om.model.attr[key]  # type: ignore[attr-defined]

    return change


def attr(key: str, value: Any) -> Callable[[OmFile], None]:
    return lambda om: set_attr(om.model.attr[key], value)


def tasks(*extra: Any) -> Callable[[OmFile], None]:
    def change(om: OmFile) -> None:
        model = load_om(om)
        om.tasks.CopyFrom(encode_tasks([*model.tasks, *extra], model.memory))

    return change


def no_kernels(om: OmFile) -> None:
    om.kernels = {}


def fewer_weights(om: OmFile) -> None:
    om.weights.total = 512


def other_names(om: OmFile) -> None:
    om.inputs = []


ONE_INPUT = '[{"name": "x", "dtype": "f32", "shape": [?], "format": "ND"}]'


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (drop("gedialect.version"), "GE1309", "not made by gedialect"),
        (attr("gedialect.version", 99), "GE1309", "version 99"),
        (attr("gedialect.workspace_size", -1), "GE1309", "not a size"),
        (attr("gedialect.workspace_size", 1 << 60), "GE1309", "not a size"),
        (attr("gedialect.workspace_size", 1 << 40), "GE1309", "memory_size"),
        (attr("gedialect.workspace_size", "big"), "GE1309", "not a size"),
        (attr("gedialect.inputs", "{"), "GE1309", "not JSON"),
        (attr("gedialect.inputs", "{}"), "GE1309", "not a list"),
        (attr("gedialect.inputs", '[{"name": "x"}]'), "GE1309", "malformed tensor"),
        (attr("gedialect.inputs", ONE_INPUT.replace("?", "-1")), "GE1309", "malformed"),
        (attr("gedialect.inputs", ONE_INPUT.replace("?", "1e9")), "GE1309", "malformed"),
        (attr("gedialect.outputs", "[" * 100000), "GE1309", "not JSON"),
        (attr("gedialect.outputs", 7), "GE1309", "not JSON"),
        (attr("gedialect.report", "[]"), "GE1309", "JSON object"),
        (attr("task_gen_weight_addr", 0), "GE1309", "task_gen_weight_addr"),
        (other_names, "GE1309", "disagree"),
        (fewer_weights, "GE1309", "weight_size"),
        (no_kernels, "GE1307", "no kernel 'conv_relu'"),
        (tasks(KernelTask("conv_relu", 1, (), op_index=99)), "GE1307", "no node 99"),
        (tasks(LabelGoto(5)), "GE1307", "label 5"),
        (tasks(LabelSet(1)), "GE1307", "second time"),
        (tasks(EventWait(3)), "GE1307", "never recorded"),
    ],
)  # fmt: skip
def test_refused(sample: Make, change: Callable[[OmFile], None], code: str, words: str, tmp_path: Path):
    om = sample()
    change(om)
    with pytest.raises(GeError) as error:
        load_om(om)
    assert error.value.code == code
    assert words in error.value.message


def test_switch_to_an_unset_label(sample: Make):
    om = sample()
    model = load_om(om)
    switch = next(task for task in model.tasks if isinstance(task, LabelSwitch))
    om.tasks.CopyFrom(encode_tasks([*model.tasks, LabelSwitch(switch.index, (0, 9))], model.memory))
    with pytest.raises(GeError, match="label that is not set"):
        load_om(om)


def test_the_file_comes_first_in_messages(sample: Make, tmp_path: Path):
    om = sample()
    om.kernels = {}
    path = tmp_path / "m.om"
    write_om(om, path)
    with pytest.raises(GeError) as error:
        load(path)
    first, second = str(error.value).splitlines()
    assert first == f"{path}: error GE1307: there is no kernel 'conv_relu'"
    assert second == "  in TASK_INFO, task 0"


def test_files_of_others_are_named(tmp_path: Path, sample: Make):
    om = sample()
    del om.model.attr["gedialect.version"]  # type: ignore[attr-defined]
    write_om(om, tmp_path / "m.om")
    with pytest.raises(GeError, match="not made by gedialect") as error:
        load(tmp_path / "m.om")
    assert error.value.hint is not None
