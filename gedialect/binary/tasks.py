"""The task list: dataclasses <-> ``domi.TaskDef``, in launch order.

Arguments are logical addresses (:mod:`gedialect.binary.memory`), u64 each, followed by as many u64 sizes (ours: GE puts
tiling data there). What a field of GE's messages cannot say goes to ``private_def`` or ``task_info`` and is marked ours
in ``docs/om.md``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from gedialect.binary.memory import Arg, Memory, Role
from gedialect.binary.protos.domi import ModelTaskDef, TaskDef
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir.dtypes import BY_NAME, DType

KERNEL, EVENT_RECORD, EVENT_WAIT, KERNEL_EX, LABEL_SET, MEMCPY_ASYNC = 0, 1, 2, 5, 9, 13
STREAM_LABEL_SWITCH_BY_INDEX, STREAM_LABEL_GOTO = 23, 24
KERNEL_TYPE_TE = 2
DEVICE_TO_DEVICE = 3
TASKS_VERSION = "gedialect 1"
SEGMENTS = "operand_groups"
"""JSON key of a host task: per declared operand -1 (one value or absent) or the length of a variadic group."""
_MAX_RANK = 64
_INT64 = range(1 << 63)


@dataclass(frozen=True, kw_only=True)
class _Task:
    op_index: int = 0
    """``OpDef.id`` of the node this task belongs to."""
    stream: int = 0


@dataclass(frozen=True)
class KernelTask(_Task):
    """Launch ``kernel`` (a name in the kernel store) on ``block_dim`` blocks; ``args`` in the kernel's order."""

    kernel: str
    block_dim: int
    args: tuple[Arg, ...]


@dataclass(frozen=True)
class HostValue:
    """An operand or result of a host task: a tensor, row-major, at ``arg``."""

    arg: Arg
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True)
class HostTask(_Task):
    """Compute ``op`` ("ge.topk") on the host; ``attributes`` is plain JSON, None is an absent operand."""

    op: str
    attributes: Mapping[str, Any]
    operands: tuple[HostValue | None, ...]
    results: tuple[HostValue, ...]


@dataclass(frozen=True)
class CopyTask(_Task):
    """Copy ``source`` to ``target`` (equal sizes)."""

    source: Arg
    target: Arg


@dataclass(frozen=True)
class LabelSet(_Task):
    """The place ``label`` names; running it does nothing."""

    label: int


@dataclass(frozen=True)
class LabelGoto(_Task):
    """Continue at ``label``."""

    label: int


@dataclass(frozen=True)
class LabelSwitch(_Task):
    """Continue at ``labels[i]``, i the int32 at ``index``; an index out of range takes the last label."""

    index: Arg
    labels: tuple[int, ...]


@dataclass(frozen=True)
class EventRecord(_Task):
    """Mark ``event`` as reached on this stream."""

    event: int


@dataclass(frozen=True)
class EventWait(_Task):
    """Wait on this stream until ``event`` is recorded."""

    event: int


Task = KernelTask | HostTask | CopyTask | LabelSet | LabelGoto | LabelSwitch | EventRecord | EventWait


def encode_tasks(tasks: Sequence[Task], memory: Memory) -> ModelTaskDef:
    """The TASK_INFO message; GE1308 if an argument lies outside its region."""
    memory.check()
    model = ModelTaskDef()
    model.version = TASKS_VERSION
    model.memory_size = memory.feature_map
    model.weight_size = memory.weights
    model.base_addr = memory.base
    model.weight_addr = memory.weight_base
    model.stream_num = stream_count(tasks)
    model.event_num = event_count(tasks)
    for number, task in enumerate(tasks):
        out = model.task.add()
        out.id = number
        out.stream_id = task.stream
        try:
            _encode(task, out, memory)
        except GeError as error:
            raise error.at(f"task {number}") from error
    return model


def stream_count(tasks: Sequence[Task]) -> int:
    """Streams used: the highest number plus one, at least 1."""
    return max((task.stream for task in tasks), default=0) + 1


def event_count(tasks: Sequence[Task]) -> int:
    """Events used: the highest number plus one."""
    return max((t.event for t in tasks if isinstance(t, (EventRecord, EventWait))), default=-1) + 1


def label_count(tasks: Sequence[Task]) -> int:
    """Labels used: the highest number plus one."""
    return max((t.label for t in tasks if isinstance(t, (LabelSet, LabelGoto))), default=-1) + 1


def _encode(task: Task, out: TaskDef, memory: Memory) -> None:
    match task:
        case KernelTask():
            out.type = KERNEL
            kernel = out.kernel
            kernel.kernel_name = task.kernel
            kernel.block_dim = task.block_dim
            kernel.args = _pack_args(task.args, memory)
            kernel.args_size = len(kernel.args)
            kernel.context.kernel_type = KERNEL_TYPE_TE
            kernel.context.op_index = task.op_index
            kernel.context.args_offset = b"\0\0"
            kernel.context.args_count = len(task.args)
            kernel.context.args_format = _format([arg.role for arg in task.args])
        case HostTask():
            out.type = KERNEL_EX
            ex = out.kernel_ex
            ex.op_index = task.op_index
            ex.args = _pack_args([None if v is None else v.arg for v in (*task.operands, *task.results)], memory)
            ex.args_size = len(ex.args)
            ex.task_info = _host_info(task)
            ex.task_info_size = len(ex.task_info)
        case CopyTask(source=source, target=target):
            if source.nbytes != target.nbytes:
                raise GeError(f"copy of {source} to {target}: sizes differ", code="GE1902")
            out.type = MEMCPY_ASYNC
            copy = out.memcpy_async
            copy.src, copy.dst = memory.address(source), memory.address(target)
            copy.count = copy.dst_max = source.nbytes
            copy.kind = DEVICE_TO_DEVICE
            copy.op_index = task.op_index
        case LabelSet():
            out.type = LABEL_SET
            out.label_id = out.label_set.label_id = task.label
            out.label_set.op_index = task.op_index
        case LabelGoto():
            out.type = STREAM_LABEL_GOTO
            out.label_id = out.label_goto_ex.label_id = task.label
            out.label_goto_ex.op_index = task.op_index
        case LabelSwitch():
            out.type = STREAM_LABEL_SWITCH_BY_INDEX
            out.label_switch_by_index.op_index = task.op_index
            out.label_switch_by_index.label_max = len(task.labels)
            out.private_def = _pack_args([task.index], memory) + struct.pack(f"<{len(task.labels)}I", *task.labels)
        case EventRecord() | EventWait():
            out.type = EVENT_RECORD if isinstance(task, EventRecord) else EVENT_WAIT
            out.event_id = task.event
            out.event_ex.op_index = task.op_index
            out.event_ex.event_type = out.type


def _pack_args(args: Sequence[Arg | None], memory: Memory) -> bytes:
    addresses = [0 if arg is None else memory.address(arg) for arg in args]
    sizes = [0 if arg is None else arg.nbytes for arg in args]
    return struct.pack(f"<{2 * len(args)}Q", *addresses, *sizes)


_LETTER = {"in": "i", "out": "o", "scratch": "ws"}
_ROLE: dict[str, Role] = {"i": "in", "o": "out", "ws": "scratch"}


def _format(roles: Sequence[Role]) -> str:
    """GE's form: {i0}{i1}{o0}{ws0}, numbered per letter."""
    seen = dict.fromkeys(_LETTER, -1)
    out: list[str] = []
    for role in roles:
        seen[role] += 1
        out.append(f"{{{_LETTER[role]}{seen[role]}}}")
    return "".join(out)


def _host_info(task: HostTask) -> bytes:
    info = {
        "op": task.op,
        "attrs": dict(task.attributes),
        "operands": [None if v is None else [v.dtype.name, list(v.shape)] for v in task.operands],
        "results": [[v.dtype.name, list(v.shape)] for v in task.results],
    }
    try:
        return json.dumps(info, sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise GeError(f"{task.op}: attributes are not JSON: {error}", code="GE1902") from error


@dataclass
class _Decoder:
    memory: Memory
    readers: dict[int, Callable[[TaskDef], Task]] = field(init=False)

    def __post_init__(self) -> None:
        self.readers = {
            KERNEL: self.kernel,
            KERNEL_EX: self.host,
            MEMCPY_ASYNC: self.copy,
            LABEL_SET: lambda t: LabelSet(t.label_set.label_id, op_index=t.label_set.op_index, stream=t.stream_id),
            STREAM_LABEL_GOTO: lambda t: LabelGoto(
                t.label_goto_ex.label_id, op_index=t.label_goto_ex.op_index, stream=t.stream_id
            ),
            STREAM_LABEL_SWITCH_BY_INDEX: self.switch,
            EVENT_RECORD: lambda t: EventRecord(t.event_id, op_index=t.event_ex.op_index, stream=t.stream_id),
            EVENT_WAIT: lambda t: EventWait(t.event_id, op_index=t.event_ex.op_index, stream=t.stream_id),
        }

    def kernel(self, task: TaskDef) -> KernelTask:
        kernel = task.kernel
        roles = _parse_format(kernel.context.args_format)
        if kernel.context.args_count != len(roles):
            raise _bad(f"{kernel.context.args_count} arguments, args_format names {len(roles)}")
        if kernel.context.kernel_type != KERNEL_TYPE_TE:
            raise UnsupportedError(f"kernel type {kernel.context.kernel_type} cannot be run", code="GE1307")
        if not 1 <= kernel.block_dim <= 1 << 16:
            raise _bad(f"{kernel.block_dim} blocks")
        args = self.args(kernel.args, roles)
        present = tuple(arg for arg in args if arg is not None)
        if len(present) != len(args):
            raise _bad("an argument has no address")
        return KernelTask(
            kernel.kernel_name, kernel.block_dim, present, op_index=kernel.context.op_index, stream=task.stream_id
        )

    def host(self, task: TaskDef) -> HostTask:
        ex = task.kernel_ex
        try:
            info: Any = json.loads(ex.task_info)
        except (ValueError, RecursionError) as error:
            raise _bad("task_info is not JSON") from error
        op, attrs, operands, results = _fields(info)
        operand_types = [_tensor_type(t, optional=True) for t in operands]
        result_types = [_tensor_type(t, optional=False) for t in results]
        roles: list[Role] = [*("in" for _ in operand_types), *("out" for _ in result_types)]
        values = [
            _value(arg, kind)
            for arg, kind in zip(self.args(ex.args, roles), operand_types + result_types, strict=True)
        ]  # fmt: skip
        return HostTask(
            op,
            attrs,
            tuple(values[: len(operand_types)]),
            tuple(v for v in values[len(operand_types) :] if v is not None),
            op_index=ex.op_index,
            stream=task.stream_id,
        )

    def copy(self, task: TaskDef) -> CopyTask:
        copy = task.memcpy_async
        if copy.count != copy.dst_max:
            raise _bad(f"copies {copy.count} bytes to a place of {copy.dst_max}")
        source = self.memory.resolve(copy.src, copy.count)
        target = self.memory.resolve(copy.dst, copy.count, "out")
        return CopyTask(source, target, op_index=copy.op_index, stream=task.stream_id)

    def switch(self, task: TaskDef) -> LabelSwitch:
        raw, count = task.private_def, task.label_switch_by_index.label_max
        if count == 0 or len(raw) != 16 + 4 * count:
            raise _bad(f"{count} labels in {len(raw)} bytes of private_def")
        (index,) = self.args(raw[:16], ["in"])
        if index is None or index.nbytes != 4:
            raise _bad("the index of a switch is one int32")
        labels = struct.unpack_from(f"<{count}I", raw, 16)
        return LabelSwitch(index, labels, op_index=task.label_switch_by_index.op_index, stream=task.stream_id)

    def args(self, raw: bytes, roles: Sequence[Role]) -> list[Arg | None]:
        count = len(roles)
        if len(raw) != 16 * count:
            raise _bad(f"{len(raw)} bytes of arguments, {count} arguments need {16 * count}")
        numbers = struct.unpack(f"<{2 * count}Q", raw)
        return [
            self.memory.resolve(address, size, role) if address else None
            for address, size, role in zip(numbers[:count], numbers[count:], roles, strict=True)
        ]


def decode_tasks(model: ModelTaskDef, memory: Memory) -> list[Task]:
    """The tasks of a model; every argument lies in its region. GE1307 or GE1308, with the task's number, if not."""
    readers = _Decoder(memory).readers
    tasks: list[Task] = []
    for number, task in enumerate(model.task):
        try:
            reader = readers.get(task.type)
            if reader is None:
                raise UnsupportedError(f"tasks of type {task.type} cannot be run", code="GE1307")
            tasks.append(reader(task))
        except GeError as error:
            raise error.at(f"TASK_INFO, task {number}") from error.__cause__
    return tasks


def _parse_format(text: str) -> list[Role]:
    roles: list[Role] = []
    for part in text.split("}")[:-1]:
        letter = part.removeprefix("{").rstrip("0123456789")
        if letter not in _ROLE:
            raise _bad(f"args_format {text[:80]!r} is not understood")
        roles.append(_ROLE[letter])
    if _format(roles) != text:
        raise _bad(f"args_format {text[:80]!r} is not understood")
    return roles


def _fields(info: object) -> tuple[str, dict[str, Any], list[object], list[object]]:
    fields = cast("dict[str, object]", info if isinstance(info, dict) else {})
    op, attrs, operands, results = (fields.get(key) for key in ("op", "attrs", "operands", "results"))
    if not (
        isinstance(op, str) and isinstance(attrs, dict) and isinstance(operands, list) and isinstance(results, list)
    ):
        raise _bad("task_info does not describe a host operator")
    return (
        op,
        cast("dict[str, Any]", attrs),
        cast("list[object]", operands),
        cast("list[object]", results),
    )


_Kind = tuple[DType, tuple[int, ...]]


def _tensor_type(raw: object, *, optional: bool) -> _Kind | None:
    if raw is None and optional:
        return None
    match raw:
        case [str(name), list()] if name in BY_NAME:
            shape = tuple(cast("list[list[object]]", raw)[1])
            if len(shape) <= _MAX_RANK and all(type(dim) is int and dim in _INT64 for dim in shape):
                return BY_NAME[name], cast("tuple[int, ...]", shape)
        case _:
            pass
    raise _bad("task_info holds a malformed tensor type")


def _value(arg: Arg | None, kind: _Kind | None) -> HostValue | None:
    if arg is None or kind is None:
        if arg is not None or kind is not None:
            raise _bad("an operand has a type without an address or an address without a type")
        return None
    dtype, shape = kind
    if prod(shape) * dtype.itemsize != arg.nbytes:
        raise _bad(f"a {dtype} tensor of shape {list(shape)} at {arg} has another size")
    return HostValue(arg, dtype, shape)


def _bad(message: str) -> GeError:
    return GeError(message, code="GE1307")


__all__ = [
    "CopyTask",
    "EventRecord",
    "EventWait",
    "HostTask",
    "HostValue",
    "KernelTask",
    "LabelGoto",
    "LabelSet",
    "LabelSwitch",
    "Task",
    "decode_tasks",
    "encode_tasks",
    "event_count",
    "label_count",
    "stream_count",
]
