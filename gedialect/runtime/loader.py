"""From an OM file to what the simulator runs: tasks checked against regions, kernels and labels.

Knows the bytes only. Files of other compilers are readable OMs but cannot run here: their kernels are machine code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from gedialect.binary.gears import Gears
from gedialect.binary.inout import TensorInfo
from gedialect.binary.memory import VARIABLE_BASE, WEIGHT_BASE, WORKSPACE_BASE, Memory
from gedialect.binary.model_def import (
    DYNAMIC_KEY,
    INPUTS_KEY,
    OUTPUTS_KEY,
    REPORT_KEY,
    VERSION,
    VERSION_KEY,
    WORKSPACE_KEY,
)
from gedialect.binary.om import OmFile, read_om
from gedialect.binary.protos.attrs import get
from gedialect.binary.tasks import (
    EventRecord,
    EventWait,
    KernelTask,
    LabelGoto,
    LabelSet,
    LabelSwitch,
    Task,
    decode_tasks,
)
from gedialect.binary.weights import Weights
from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME
from gedialect.runtime import gears as gear_tools
from gedialect.runtime.gears import INDEX_BYTES, LoadedGear

_MAX_RANK = 64
_MAX_BYTES = 1 << 48


@dataclass(frozen=True)
class LoadedModel:
    """A checked model. Arguments of ``tasks`` lie in their regions, kernels and labels they name exist."""

    name: str
    target: str
    """``soc_version``: "Ascend910B1"."""
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    memory: Memory
    weights: Weights
    kernels: dict[str, bytes]
    tasks: tuple[Task, ...]
    node_names: dict[int, str]
    """By ``op_index`` of the tasks."""
    labels: dict[int, int]
    """Label -> number of the task that sets it."""
    report: dict[str, Any]
    om: OmFile
    stated: Gears | None = None
    gears: tuple[LoadedGear, ...] = ()
    """Empty for a model of fixed sizes. With gears, ``inputs`` and ``outputs`` have -1 where those differ, and the
    memory has one more input, the number of the gear."""

    def node_of(self, task: Task) -> str:
        """The name of the node a task belongs to; the same in all gears."""
        return self.node_names.get(task.op_index, f"node {task.op_index}")


def load(path: str | os.PathLike[str]) -> LoadedModel:
    """Read and check an OM file; GE1002 or GE13xx, placed at ``path``."""
    om = read_om(path)
    try:
        return load_om(om)
    except GeError as error:
        details = error.details if error.where is None else (f"in {error.where}", *error.details)
        raise type(error)(
            error.message, code=error.code, where=os.fspath(path), hint=error.hint, details=details
        ) from error.__cause__


def load_om(om: OmFile) -> LoadedModel:
    """Check a file in memory (written or not)."""
    attrs = om.model.attr
    version = get(attrs, VERSION_KEY)
    if version is None:
        raise GeError(
            "the model was not made by gedialect",
            code="GE1309",
            hint="its kernels are machine code of a device; the simulator runs only its own encoding",
        )
    if version != VERSION:
        raise GeError(
            f"the model has version {version} of our encoding, this is version {VERSION}",
            code="GE1309",
            hint="compile it again",
        )
    if get(attrs, DYNAMIC_KEY) is not None:
        raise GeError(
            "the sizes of the model come from data: it is compiled while it runs",
            code="GE1309",
            hint="gedialect.api.load and ge-run do that",
        )
    gears = gear_tools.stated(om)
    least = 0 if gears is None else -1
    inputs, outputs = _tensors(om, INPUTS_KEY, least), _tensors(om, OUTPUTS_KEY, least)
    if gears is not None:
        gear_tools.with_room(gears, inputs, outputs)
    memory = Memory(
        workspace=_size(om, WORKSPACE_KEY),
        inputs=[*(t.nbytes for t in inputs), *([] if gears is None else [INDEX_BYTES])],
        outputs=[t.nbytes for t in outputs],
        weights=om.weights.size,
    )
    bases = {
        "task_gen_base_addr": WORKSPACE_BASE,
        "task_gen_weight_addr": WEIGHT_BASE,
        "task_gen_variable_addr": VARIABLE_BASE,
        "memory_size": memory.feature_map,
        "weight_size": memory.weights,
    }
    for key, expected in bases.items():
        if get(attrs, key) != expected:
            raise GeError(f"attribute {key} is {get(attrs, key)} instead of {expected}", code="GE1309")
    memory.check()
    tasks = decode_tasks(om.tasks, memory)
    names = {op.id: op.name for graph in om.model.graph for op in graph.op}
    labels = _check(tasks, om.kernels, names)
    if gears is not None:
        names = {n: gear_tools.source_name(name) for n, name in names.items()}
    return LoadedModel(
        name=om.model.name,
        target=str(get(attrs, "soc_version", "")),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        memory=memory,
        weights=om.weights,
        kernels=om.kernels,
        tasks=tuple(tasks),
        node_names=names,
        labels=labels,
        report=_report(om),
        om=om,
        stated=gears,
        gears=() if gears is None else gear_tools.loaded(om, gears, inputs, outputs, memory, tasks, labels),
    )


def _size(om: OmFile, key: str) -> int:
    value = get(om.model.attr, key)
    if type(value) is not int or not 0 <= value < _MAX_BYTES:
        raise GeError(f"attribute {key} is {value!r:.80}, not a size", code="GE1309")
    return value


def _json(om: OmFile, key: str) -> object:
    text = get(om.model.attr, key)
    try:
        return cast("object", json.loads(text))
    except (TypeError, ValueError, RecursionError) as error:
        raise GeError(f"attribute {key} is not JSON", code="GE1309") from error


def _report(om: OmFile) -> dict[str, Any]:
    report = _json(om, REPORT_KEY)
    if not isinstance(report, dict):
        raise GeError(f"attribute {REPORT_KEY} is not a JSON object", code="GE1309")
    return cast("dict[str, Any]", report)


def _tensors(om: OmFile, key: str, least: int) -> list[TensorInfo]:
    """The list of inputs or outputs; ``least`` is the least size a dimension may have (-1: unknown)."""
    entries = _json(om, key)
    if not isinstance(entries, list):
        raise GeError(f"attribute {key} is not a list of tensors", code="GE1309")
    tensors = [_tensor(entry, key, least) for entry in cast("list[object]", entries)]
    if len({t.name for t in tensors}) != len(tensors):
        raise GeError(f"attribute {key} names a tensor twice", code="GE1309")
    stated = om.inputs if key == INPUTS_KEY else om.outputs
    if len(stated) != len(tensors) or any(not _agree(t, s) for t, s in zip(tensors, stated, strict=True)):
        raise GeError(f"attribute {key} and MODEL_INOUT_INFO disagree", code="GE1309")
    stated[:] = [replace(s, dtype=t.dtype) for t, s in zip(tensors, stated, strict=True)]  # for writing it again
    return tensors


def _agree(tensor: TensorInfo, stated: TensorInfo) -> bool:
    """Whether MODEL_INOUT_INFO says the same; it names no element types that GE has no number for."""
    unnamed = stated.dtype is None and tensor.dtype is not None and not tensor.dtype.ge_proto
    return (tensor.name, tensor.shape) == (stated.name, stated.shape) and (unnamed or tensor.dtype is stated.dtype)


def _tensor(entry: object, key: str, least: int) -> TensorInfo:
    fields = cast("dict[str, object]", entry if isinstance(entry, dict) else {})
    name, dtype, shape, layout = (fields.get(k) for k in ("name", "dtype", "shape", "format"))
    if isinstance(name, str) and isinstance(dtype, str) and isinstance(layout, str) and isinstance(shape, list):
        dims = cast("list[Any]", shape)
        known = len(dims) <= _MAX_RANK and all(type(d) is int and least <= d < _MAX_BYTES for d in dims)
        if dtype in BY_NAME and known and prod(dims) < _MAX_BYTES:
            return TensorInfo(name, BY_NAME[dtype], tuple(dims), layout)
    raise GeError(f"attribute {key} holds a malformed tensor", code="GE1309")


def _check(tasks: Sequence[Task], kernels: dict[str, bytes], names: dict[int, str]) -> dict[int, int]:
    """Kernels, labels, events and nodes that tasks name exist; returns where each label is set."""
    labels: dict[int, int] = {}
    for number, task in enumerate(tasks):
        if isinstance(task, LabelSet):
            if task.label in labels:
                raise _bad(number, f"label {task.label} is set a second time")
            labels[task.label] = number
    recorded = {task.event for task in tasks if isinstance(task, EventRecord)}
    for number, task in enumerate(tasks):
        if task.op_index not in names:
            raise _bad(number, f"there is no node {task.op_index}")
        match task:
            case KernelTask(kernel=kernel) if kernel not in kernels:
                raise _bad(number, f"there is no kernel {kernel!r}")
            case LabelGoto(label=label) if label not in labels:
                raise _bad(number, f"label {label} is not set")
            case LabelSwitch(labels=targets) if any(label not in labels for label in targets):
                raise _bad(number, "it goes to a label that is not set")
            case EventWait(event=event) if event not in recorded:
                raise _bad(number, f"event {event} is never recorded")
            case _:
                pass
    return labels


def _bad(number: int, message: str) -> GeError:
    return GeError(message, code="GE1307", where=f"TASK_INFO, task {number}")
