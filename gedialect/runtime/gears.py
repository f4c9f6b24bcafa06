"""The gears of a loaded OM: checked against the tasks, and chosen by the shapes of the inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from gedialect.binary.gears import SUFFIX, Gears, from_json, list_gears, records, shapes_of
from gedialect.binary.inout import TensorInfo
from gedialect.binary.memory import Arg, Memory
from gedialect.binary.model_def import GEARS_KEY
from gedialect.binary.om import OmFile
from gedialect.binary.protos.attrs import get
from gedialect.binary.tasks import CopyTask, HostTask, KernelTask, LabelGoto, LabelSwitch, Task
from gedialect.errors import GeError

INDEX_BYTES = 4
"""The number of the gear, an int32: an input behind those of the model, which the runtime writes."""


@dataclass(frozen=True)
class LoadedGear:
    """One gear: ``tasks`` are those it runs behind the first task of the model, which jumps there."""

    number: int
    name: str
    values: tuple[int, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    tasks: range

    def run_of(self, tasks: Sequence[Task]) -> list[Task]:
        """Of the tasks of the model those this gear runs."""
        return [tasks[0], *tasks[self.tasks.start : self.tasks.stop]]


def stated(om: OmFile) -> Gears | None:
    """The gears a file states; GE1309 if they are malformed."""
    text = get(om.model.attr, GEARS_KEY)
    if text is None:
        return None
    gears = from_json(text)
    if gears is None:
        raise GeError(f"attribute {GEARS_KEY} is malformed", code="GE1309")
    return gears


def with_room(gears: Gears, inputs: list[TensorInfo], outputs: list[TensorInfo]) -> None:
    """Give tensors of unknown sizes the bytes of the largest gear; GE1309 for shapes of gears that do not fit."""
    for (what, by_gear), tensors in zip(shapes_of(gears), (inputs, outputs), strict=True):
        for shapes in by_gear:
            if len(shapes) != len(tensors) or not all(map(_fits, tensors, shapes)):
                raise GeError(f"attribute {GEARS_KEY} does not fit the {what} of the model", code="GE1309")
        for number, tensor in enumerate(tensors):
            if -1 in tensor.shape and tensor.dtype is not None:
                room = max(prod(shapes[number]) for shapes in by_gear) * tensor.dtype.itemsize
                tensors[number] = replace(tensor, room=room)


def _fits(tensor: TensorInfo, shape: tuple[int, ...]) -> bool:
    return len(shape) == len(tensor.shape) and all(want in (-1, d) for want, d in zip(tensor.shape, shape, strict=True))


def loaded(
    om: OmFile, gears: Gears, inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], memory: Memory,
    tasks: Sequence[Task], labels: Mapping[int, int],
) -> tuple[LoadedGear, ...]:  # fmt: skip
    """The gears of a model. GE1309 if MODEL_INOUT_INFO states others; GE1307 or GE1308 if the tasks of one leave it or
    its memory."""
    if om.info != records(gears, inputs):
        raise GeError(f"attribute {GEARS_KEY} and MODEL_INOUT_INFO disagree", code="GE1309")
    first = tasks[0] if tasks else None
    index = Arg("input", 0, INDEX_BYTES, len(inputs))
    if not isinstance(first, LabelSwitch) or first.index != index or len(first.labels) != len(gears.gears):
        raise GeError("the tasks do not begin with the choice of a gear", code="GE1307")
    starts = [labels[label] for label in first.labels]
    ends = [*starts[1:], len(tasks)]
    if starts[0] != 1 or any(a >= b for a, b in zip(starts, ends, strict=True)):
        raise GeError("the tasks of the gears are not one behind the other", code="GE1307")
    closed = [isinstance(t, LabelGoto) and labels[t.label] == len(tasks) - 1 for t in (tasks[e - 1] for e in ends[:-1])]
    if not all(closed):
        raise GeError(f"the tasks of gear {gears.name(closed.index(False))} run into the next", code="GE1307")
    found: list[LoadedGear] = []
    for number, (gear, start, end) in enumerate(zip(gears.gears, starts, ends, strict=True)):
        one = LoadedGear(
            number, gears.name(number), gear.values, _shaped(inputs, gear.inputs), _shaped(outputs, gear.outputs),
            range(start, end),
        )  # fmt: skip
        _check(one, tasks, memory, labels)
        found.append(one)
    if len({tuple(t.shape for t in g.inputs) for g in found}) != len(found):
        raise GeError(f"two gears of attribute {GEARS_KEY} have the same inputs", code="GE1309")
    return tuple(found)


def _shaped(tensors: Sequence[TensorInfo], shapes: Sequence[tuple[int, ...]]) -> tuple[TensorInfo, ...]:
    return tuple(replace(t, shape=s, room=None) for t, s in zip(tensors, shapes, strict=True))


def _check(gear: LoadedGear, tasks: Sequence[Task], memory: Memory, labels: Mapping[int, int]) -> None:
    """The tasks of a gear stay within it and within the memory it has: less than that of the largest."""
    own = replace(
        memory, inputs=[*(t.nbytes for t in gear.inputs), INDEX_BYTES], outputs=[t.nbytes for t in gear.outputs]
    )
    for number in gear.tasks:
        task = tasks[number]
        goes: tuple[int, ...] = ()
        args: list[Arg] = []
        match task:
            case KernelTask():
                args = list(task.args)
            case HostTask():
                args = [v.arg for v in (*task.operands, *task.results) if v is not None]
            case CopyTask():
                args = [task.source, task.target]
            case LabelSwitch():
                args, goes = [task.index], task.labels
            case LabelGoto():
                goes = (task.label,)
            case _:
                pass
        try:
            for arg in args:
                own.check_arg(arg)
        except GeError as error:
            raise error.at(f"TASK_INFO, task {number}") from None
        # the last task of a gear goes behind the last of all
        if any(labels[label] not in gear.tasks and labels[label] != len(tasks) - 1 for label in goes):
            raise GeError(f"it leaves its gear ({gear.name})", code="GE1307", where=f"TASK_INFO, task {number}")


def source_name(name: str) -> str:
    """The name of a node without what tells the nodes of gears apart."""
    before, found, number = name.rpartition(SUFFIX)
    return before if found and number.isdigit() else name


def choose(gears: Gears, loaded: Sequence[LoadedGear], inputs: Mapping[str, Any]) -> LoadedGear:
    """The gear whose shapes the inputs have; GE1004, naming the gears, if there is none."""
    shapes = {name: tuple(np.asarray(value).shape) for name, value in inputs.items()}
    for gear in loaded:
        if all(shapes[t.name] == t.shape for t in gear.inputs):
            return gear
    given = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
    raise GeError(
        f"no gear takes {given}; the model has {list_gears(gears.kind, [g.values for g in gears.gears])}",
        code="GE1004",
        hint="a run takes exactly the sizes of one gear: "
        + " or ".join(", ".join(f"{t.name} {list(t.shape)}" for t in gear.inputs) for gear in _some(loaded)),
    )


def _some(gears: Sequence[LoadedGear]) -> Sequence[LoadedGear]:
    return gears if len(gears) <= 4 else (*gears[:3], gears[-1])
