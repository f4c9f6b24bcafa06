"""Runs a loaded OM on the simulator: regions, the task list, host tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController  # pyright: ignore[reportMissingTypeStubs]

from gedialect.binary.inout import TensorInfo
from gedialect.binary.isa import ON_CHIP
from gedialect.binary.kernel import Kernel
from gedialect.binary.memory import Arg
from gedialect.binary.tasks import CopyTask, HostTask, HostValue, KernelTask, LabelGoto, LabelSwitch, Task
from gedialect.errors import GeError, check_input_names
from gedialect.runtime.gears import LoadedGear, choose
from gedialect.runtime.host import run_host_task
from gedialect.runtime.loader import LoadedModel
from gedialect.runtime.simulator import Machine, Region
from gedialect.targets import load_target

Bytes = npt.NDArray[np.uint8]
MAX_STEPS = 1 << 24
"""Tasks one run may execute: a label loop in a damaged file ends."""


@cache
def _blas() -> Any:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """A context in which numpy's matrix products use one thread."""
    return _blas().limit(limits=1)


class Session:
    """One loaded model; ``run`` may be called any number of times.

    ``sanitize`` checks every kernel for reads of unwritten bytes, out-of-bounds tiles and unordered pipes.
    """

    def __init__(self, model: LoadedModel, *, sanitize: bool = False):
        self.model = model
        target = load_target(model.target)
        self.machine = Machine({space: target.size(space) for space in ON_CHIP}, sanitize=sanitize)
        self._weights: dict[tuple[int, int], Bytes] = {}
        # with gears, most kernels of the file are of others than the one that runs
        self._kernels = {} if model.gears else {name: self.machine.load(code) for name, code in model.kernels.items()}

    def run(self, inputs: Mapping[str, Any] | Sequence[Any]) -> dict[str, npt.NDArray[Any]]:
        """Outputs by name, in the model's order, dtypes and shapes; GE1004 for inputs that do not fit."""
        arrays, gear = bind_model(self.model, inputs)
        infos = self.model.outputs if gear is None else gear.outputs
        if gear is not None:
            arrays.append(np.array([gear.number], np.int32))
        try:
            outputs = [np.empty(t.shape, _numpy(t)) for t in infos]
            workspace = np.empty(self.model.memory.workspace, np.uint8)
        except (MemoryError, ValueError):  # ValueError: more than numpy can address
            size = self.model.memory.workspace + sum(t.nbytes for t in infos)
            text = f"out of memory: a run needs {size} bytes for its outputs and workspace"
            raise GeError(text, code="GE1905", hint="give a smaller model or more memory") from None
        regions = _Regions(
            [_bytes(a) for a in arrays],
            [_bytes(a) for a in outputs],
            workspace,
            self,
            "" if gear is None else f" of gear {gear.name}",
        )
        with one_thread():  # tiles are too small to share: threads would only wait for each other
            self._execute(regions)
        return {t.name: a for t, a in zip(infos, outputs, strict=True)}

    def _execute(self, regions: _Regions) -> None:
        tasks = self.model.tasks
        at = 0
        for _ in range(MAX_STEPS):
            if at >= len(tasks):
                return
            task = tasks[at]
            at += 1
            match task:
                case KernelTask():
                    try:
                        self.machine.run(self._kernel(task.kernel), [regions.argument(a) for a in task.args])
                    except GeError as e:
                        raise self._placed(e, task, regions) from None
                case HostTask():
                    self._host(task, regions)
                case CopyTask():
                    regions.view(task.target)[:] = regions.view(task.source)
                    regions.written(task.target)
                case LabelGoto():
                    at = self.model.labels[task.label]
                case LabelSwitch():
                    index = int(regions.view(task.index).view(np.int32)[0])
                    inside = 0 <= index < len(task.labels)
                    at = self.model.labels[task.labels[index if inside else -1]]
                case _:
                    pass  # labels and events only order tasks, which run in order here
        raise GeError(f"more than {MAX_STEPS} tasks were run", code="GE1307", hint="the label tasks loop for ever")

    def _host(self, task: HostTask, regions: _Regions) -> None:
        operands = [None if v is None else regions.array(v) for v in task.operands]
        try:
            results = run_host_task(task, operands)
        except GeError as e:
            raise self._placed(e, task, regions) from None
        for value, array in zip(task.results, results, strict=True):
            regions.array(value)[...] = array
            regions.written(value.arg)

    def _placed(self, error: GeError, task: Task, regions: _Regions) -> GeError:
        """The error with the node of the model, and the gear; a place inside a kernel stays the place."""
        node = f"node {self.model.node_of(task)}{regions.gear}"
        if error.where is not None:
            error.details = (*error.details, f"in {node}")
        return error.at(node)

    def _kernel(self, name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None:
            found = self._kernels[name] = self.machine.load(self.model.kernels[name])
        return found

    def weight(self, offset: int, size: int) -> Bytes:
        """Bytes of the weights partition, mapped where the file is."""
        key = (offset, size)
        if key not in self._weights:
            self._weights[key] = np.frombuffer(self.model.weights.view(offset, size), np.uint8)
        return self._weights[key]


class _Regions:
    """Memory of one run."""

    def __init__(self, inputs: list[Bytes], outputs: list[Bytes], workspace: Bytes, session: Session, gear: str):
        self.inputs = inputs
        self.outputs = outputs
        self.workspace = workspace
        self.session = session
        self.gear = gear
        """For places of errors: the gear at work, if there are any."""

    def view(self, arg: Arg) -> Bytes:
        match arg.region:
            case "input":
                base = self.inputs[arg.index]
            case "output":
                base = self.outputs[arg.index]
            case "weight":
                return self.session.weight(arg.offset, arg.nbytes)
            case _:
                base = self.workspace
        return base[arg.offset : arg.offset + arg.nbytes]

    def array(self, value: HostValue) -> npt.NDArray[Any]:
        return self.view(value.arg).view(value.dtype.numpy).reshape(value.shape)

    def argument(self, arg: Arg) -> Region:
        return (self.view(arg), 0, arg.nbytes)

    def written(self, arg: Arg) -> None:
        """Told of what the host wrote, for the sanitizer."""


def _bytes(array: npt.NDArray[Any]) -> Bytes:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _numpy(info: TensorInfo) -> np.dtype[Any]:
    if info.dtype is None:
        raise GeError(f"{info.name} has an element type that gedialect does not know", code="GE1304")
    return info.dtype.numpy


def bind_model(
    model: LoadedModel, inputs: Mapping[str, Any] | Sequence[Any]
) -> tuple[list[npt.NDArray[Any]], LoadedGear | None]:
    """Arrays in the model's order, checked (GE1004), and the gear whose shapes they have."""
    named = by_name(model.inputs, inputs)
    gear = None if model.stated is None else choose(model.stated, model.gears, named)
    return bind(model.inputs if gear is None else gear.inputs, named), gear


def by_name(infos: Sequence[TensorInfo], inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    """Inputs by name, those of the model (GE1004)."""
    names = [t.name for t in infos]
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise GeError(f"{len(names)} inputs are needed, got {len(inputs)}", code="GE1004")
        inputs = dict(zip(names, inputs, strict=True))
    check_input_names(inputs, names)
    return inputs


def bind(infos: Sequence[TensorInfo], inputs: Mapping[str, Any] | Sequence[Any]) -> list[npt.NDArray[Any]]:
    """Arrays in the model's order, checked (GE1004)."""
    inputs = by_name(infos, inputs)
    arrays: list[npt.NDArray[Any]] = []
    for info in infos:
        array = np.asarray(inputs[info.name])
        if array.dtype != _numpy(info) or array.shape != info.shape:
            raise GeError(
                f"input {info.name} is {array.dtype}{list(array.shape)}, "
                f"the model takes {_numpy(info)}{list(info.shape)}",
                code="GE1004",
            )
        arrays.append(array)
    return arrays
