import json
import struct
from collections.abc import Callable
from typing import Any

import pytest

from gedialect.binary.memory import WEIGHT_BASE, WORKSPACE_BASE, Arg, Memory
from gedialect.binary.om import OmFile
from gedialect.binary.protos.domi import ModelTaskDef, TaskDef
from gedialect.binary.tasks import CopyTask, EventRecord, HostTask, HostValue, KernelTask, decode_tasks, encode_tasks
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32
from gedialect.runtime.loader import load_om

MEMORY = Memory(workspace=4096, inputs=[64], outputs=[64], weights=1024)
X, Y = Arg("input", 0, 64), Arg("output", 0, 64, 0, "out")


def test_kernel_task_bytes():
    args = (X, Arg("weight", 512, 8), Y, Arg("workspace", 0, 32, 0, "scratch"))
    model = encode_tasks([KernelTask("k", 20, args, op_index=7, stream=2)], MEMORY)
    task = model.task[0]
    assert (task.type, task.stream_id, task.kernel.kernel_name, task.kernel.block_dim) == (0, 2, "k", 20)
    context = task.kernel.context
    assert (context.kernel_type, context.op_index, context.args_count) == (2, 7, 4)
    assert context.args_format == "{i0}{i1}{o0}{ws0}"
    addresses = [WORKSPACE_BASE + 4608, WEIGHT_BASE + 512, WORKSPACE_BASE + 5120, WORKSPACE_BASE]
    assert task.kernel.args == struct.pack("<8Q", *addresses, 64, 8, 64, 32)
    assert (model.stream_num, model.memory_size, model.weight_size) == (3, 5632, 1024)
    assert (model.base_addr, model.weight_addr) == (0x100000000, 0x1000000000)


def test_all_kinds_come_back(sample: Callable[[], OmFile]):
    loaded = load_om(sample())
    again = encode_tasks(loaded.tasks, loaded.memory)
    assert again.SerializeToString(deterministic=True) == sample().tasks.SerializeToString(deterministic=True)
    kinds = {type(task).__name__ for task in loaded.tasks}
    assert kinds == {
        "KernelTask", "HostTask", "CopyTask", "LabelSet", "LabelGoto", "LabelSwitch", "EventRecord", "EventWait",
    }  # fmt: skip


def test_host_task():
    attributes = {"axis": -1, "eps": 1e-5, "huge": float("inf"), "names": ["a"], "none": None}
    task = HostTask("ge.foo", attributes, (HostValue(X, F32, (4, 4)), None), (HostValue(Y, F32, (16,)),), op_index=3)
    model = encode_tasks([task], MEMORY)
    assert model.task[0].type == 5
    assert json.loads(model.task[0].kernel_ex.task_info)["op"] == "ge.foo"
    assert decode_tasks(model, MEMORY) == [task]


def test_empty_tensor_of_a_host_task():
    memory = Memory(workspace=0, inputs=[0], outputs=[0], weights=0)
    value = HostValue(Arg("input", 0, 0), F32, (0, 3))
    out = HostValue(Arg("output", 0, 0, 0, "out"), F32, (3, 0))
    task = HostTask("ge.transpose", {}, (value,), (out,))
    assert decode_tasks(encode_tasks([task], memory), memory) == [task]


def test_encoding_refuses():
    for task, code in (
        (KernelTask("k", 1, (Arg("workspace", 4096, 1),)), "GE1308"),
        (KernelTask("k", 1, (Arg("input", 0, 64, 1),)), "GE1308"),
        (CopyTask(X, Arg("output", 0, 32)), "GE1902"),
        (HostTask("ge.foo", {"a": object()}, (), ()), "GE1902"),
    ):
        with pytest.raises(GeError) as error:
            encode_tasks([EventRecord(0), task], MEMORY)
        assert error.value.code == code
        assert error.value.where == "task 1"


def host_info(info: object) -> Callable[[TaskDef], None]:
    def change(task: TaskDef) -> None:
        task.kernel_ex.task_info = info if isinstance(info, bytes) else json.dumps(info).encode()

    return change


def host(operands: object, results: object) -> Callable[[TaskDef], None]:
    return host_info({"op": "a", "attrs": {}, "operands": operands, "results": results})


def setter(path: str, value: Any) -> Callable[[TaskDef], None]:
    def change(task: TaskDef) -> None:
        *parents, last = path.split(".")
        target: Any = task
        for parent in parents:
            target = getattr(target, parent)
        setattr(target, last, value)

    return change


T = ["f32", [4, 4]]
KERNEL = KernelTask("k", 1, (X, Y))
HOST = HostTask("ge.foo", {}, (HostValue(X, F32, (4, 4)),), (HostValue(Y, F32, (4, 4)),))
COPY = CopyTask(X, Y)


@pytest.mark.parametrize(
    ("task", "change", "code", "words"),
    [
        (KERNEL, setter("type", 28), "GE1307", "type 28"),
        (KERNEL, setter("kernel.args", b"123"), "GE1307", "3 bytes of arguments"),
        (KERNEL, setter("kernel.args", bytes(32)), "GE1307", "no address"),
        (KERNEL, setter("kernel.args", struct.pack("<4Q", 1, 1, 1, 1)), "GE1308", "no region"),
        (KERNEL, setter("kernel.args", struct.pack("<4Q", WORKSPACE_BASE, 1, 4097, 1)), "GE1308", "outside"),
        (KERNEL, setter("kernel.context.args_format", "{i0}{o1}"), "GE1307", "args_format"),
        (KERNEL, setter("kernel.context.args_format", "{q0}{o0}"), "GE1307", "args_format"),
        (KERNEL, setter("kernel.context.args_count", 1 << 31), "GE1307", "args_format names 2"),
        (KERNEL, setter("kernel.context.kernel_type", 6), "GE1307", "kernel type 6"),
        (KERNEL, setter("kernel.block_dim", 0), "GE1307", "0 blocks"),
        (HOST, host_info(b"{"), "GE1307", "not JSON"),
        (HOST, host_info(b"[" * 100000), "GE1307", "not JSON"),
        (HOST, host_info(b"\xff"), "GE1307", "not JSON"),
        (HOST, host_info([]), "GE1307", "does not describe"),
        (HOST, host_info({"op": "a", "attrs": [], "operands": [], "results": []}), "GE1307", "does not describe"),
        (HOST, host([T, T], [T]), "GE1307", "3 arguments"),
        (HOST, host([None], [T]), "GE1307", "without a type"),
        (HOST, host([T], [None]), "GE1307", "tensor type"),
        (HOST, host([T], [["f32", [4]]]), "GE1307", "another size"),
        (HOST, host([T], [["f99", [4]]]), "GE1307", "tensor type"),
        (HOST, host([T], [["f32", [-4]]]), "GE1307", "tensor type"),
        (HOST, host([T], [["f32", [True]]]), "GE1307", "tensor type"),
        (HOST, host([T], [["f32", [1] * 99]]), "GE1307", "tensor type"),
        (COPY, setter("memcpy_async.dst_max", 1), "GE1307", "place of 1"),
        (COPY, setter("memcpy_async.src", 5), "GE1308", "no region"),
    ],
)  # fmt: skip
def test_malformed(task: Any, change: Callable[[TaskDef], None], code: str, words: str):
    model = ModelTaskDef.FromString(encode_tasks([EventRecord(0), task], MEMORY).SerializeToString())
    change(model.task[1])
    with pytest.raises(GeError) as error:
        decode_tasks(model, MEMORY)
    assert error.value.code == code
    assert words in error.value.message
    assert error.value.where == "TASK_INFO, task 1"
