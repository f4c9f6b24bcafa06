"""Ways to fail: what a reduced model must still do.

Each test is made from the whole model, which it must hold for (GE1020), and is then asked about smaller ones.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from xdsl.passes import ModulePass

from gedialect import api, interpreter
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.switches import Switches
from gedialect.testing.differential import (
    INTERPRETER,
    PAIRS,
    SURE,
    Expected,
    Finding,
    ReferenceFailed,
    check_stage,
    expected,
)
from gedialect.testing.reduction.ge_module import GeState, portable
from gedialect.testing.reduction.onnx_model import OnnxState, finished

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

Array = npt.NDArray[Any]
State = OnnxState | GeState


class TooLong(BaseException):  # no handler of ordinary errors takes it
    """A test did not end in time."""


@contextmanager
def limited(seconds: float | None) -> Generator[None]:
    """``TooLong`` after some seconds, where the system has a timer for it (not in other threads than the main one)."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def nothing_to_reduce(message: str, hint: str) -> GeError:
    """The error for a model that does not fail to begin with."""
    return GeError(message, code="GE1020", hint=hint)


@dataclass
class Settings:
    """How a model is compiled and how long one test may take; ``stage`` is a level or "interpreter"."""

    stage: str = "O2"
    rules: Sequence[Rule] = ()
    switches: Switches = field(default_factory=Switches)
    seconds: float | None = 60


def finding(state: State, settings: Settings, want: Mapping[str, Expected]) -> Finding | None:
    """What is wrong with a model at the stage; only errors count if ``want`` is empty."""
    model = state.model if isinstance(state, OnnxState) else state.module
    try:
        with limited(settings.seconds):
            return check_stage(model, state.inputs, settings.stage, want, settings.rules, settings.switches)
    except TooLong:
        return Finding(settings.stage, "crash", f"not done after {settings.seconds:g} s", "time")


class Crash:
    """The same error: code or type of exception, and the function that raised it."""

    def __init__(self, state: State, settings: Settings):
        self.settings = settings
        self.found = finding(state, settings, {})
        if self.found is None:
            raise nothing_to_reduce(
                f"it compiles and runs at {settings.stage}", "--crash is for errors; give the level, rules and inputs"
            )

    def __call__(self, state: State) -> bool:
        found = finding(state, self.settings, {})
        if found is not None and self.found is not None and found.signature == self.found.signature:
            self.found = found
            return True
        return False

    def __str__(self) -> str:
        return str(self.found)


class Wrong:
    """Other results than the reference: onnxruntime for ONNX models, the interpreter for ge text."""

    def __init__(self, state: State, settings: Settings):
        self.settings = settings
        self.found: Finding | None
        if isinstance(state, GeState) and settings.stage == INTERPRETER:
            raise nothing_to_reduce("ge text has no other reference than the interpreter", "give a level")
        try:
            self.found = self._judge(state)
        except ReferenceFailed as error:
            raise GeError(f"onnxruntime cannot run it: {error}", code="GE1015") from None
        if self.found is None or self.found.kind != "wrong":
            said = "agrees with the reference" if self.found is None else f"fails: {self.found}"
            raise nothing_to_reduce(f"{settings.stage} {said}", "give the inputs it is wrong for, the level and rules")

    def _judge(self, state: State) -> Finding | None:
        with limited(self.settings.seconds):
            is_onnx = isinstance(state, OnnxState)
            want = expected(state.model, state.inputs, pairs=SURE * PAIRS) if is_onnx else interpreted(state)
        return finding(state, self.settings, want)

    def __call__(self, state: State) -> bool:
        try:
            found = self._judge(state)
        except (ReferenceFailed, TooLong, GeError):
            return False
        if found is not None and self.found is not None and found.signature == self.found.signature:
            self.found = found
            return True
        return False

    def __str__(self) -> str:
        return str(self.found)


def interpreted(state: GeState) -> dict[str, Expected]:
    """What the interpreter says of a module, with the tolerances of ``agree``; GE1204 and others if it fails."""
    from gedialect.ir import dtypes
    from gedialect.testing.agree import TOLERANCE

    found: dict[str, Expected] = {}
    try:
        results = interpreter.run(state.module, state.inputs)
    except GeError:
        raise
    except Exception as error:
        raise GeError(f"the interpreter fails: {error}", code="GE1005") from None
    for name, value in results.items():
        limit = TOLERANCE.get(dtypes.from_numpy(value.dtype).name, 0.0)
        scale = 0.0
        if limit and value.size:
            wide = np.abs(value.astype(np.float64))
            scale = float(wide[np.isfinite(wide)].max(initial=0.0))
        found[name] = Expected(value, np.full(value.shape, limit * scale), np.zeros(value.shape, bool))
    return found


class WrongPass:
    """The named pass is the first of a pipeline that changes the result."""

    def __init__(
        self,
        state: State,
        settings: Settings,
        name: str,
        steps: Callable[[], tuple[GeContext, Sequence[ModulePass]]],
        tolerance: float | None = None,
    ):
        self.settings, self.name, self.steps, self.tolerance = settings, name, steps, tolerance
        self.found = ""
        got = self._first(state)
        if got != name:
            said = "no pass changes the result" if got is None else f"the first pass that changes the result is {got}"
            raise nothing_to_reduce(said, "give the inputs, the level, the rules or the pipeline (-p)")

    def _first(self, state: State) -> str | None:
        """The name of the first pass that changes the result; ``GeError`` where the passes fail."""
        from gedialect.cli.instrument import Instrument
        from gedialect.cli.pass_check import PassChangesResult, PassCheck

        with limited(self.settings.seconds):
            if isinstance(state, OnnxState):
                shapes = {n: x.shape for n, x in state.inputs.items()}
                module = api.import_source(state.model, shapes)
            else:
                module = state.module.clone()
            ctx, steps = self.steps()
            check = PassCheck(state.inputs, self.tolerance)
            try:
                Instrument(str, check=check).run(ctx, module, steps)
            except PassChangesResult as error:
                if error.step == self.name:
                    self.found = str(error)
                return error.step
        return None

    def __call__(self, state: State) -> bool:
        try:
            return self._first(state) == self.name
        except (Exception, TooLong):  # whatever a broken model does: it is not the failure looked for
            return False

    def __str__(self) -> str:
        return self.found


class Command:
    """A command that ends with code 0 for a model that still fails; ``{}`` is the file, ``{inputs}`` its arrays."""

    def __init__(self, state: State, settings: Settings, command: str):
        self.settings, self.command = settings, command
        self.found = f"{command}: exit code 0"
        if not self(state):
            raise nothing_to_reduce(
                "the command does not end with code 0 for the whole model", "code 0 says: it still fails"
            )

    def __call__(self, state: State) -> bool:
        with tempfile.TemporaryDirectory(prefix="ge-reduce-") as folder:
            path = os.path.join(folder, "model.onnx" if isinstance(state, OnnxState) else "model.mlir")
            arrays = os.path.join(folder, "model.npz")
            write(state, path)
            save_arrays(arrays, state.inputs)
            line = self.command.replace("{inputs}", shlex.quote(arrays)).replace("{}", shlex.quote(path))
            process = subprocess.Popen(
                line, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            try:
                return process.wait(self.settings.seconds) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def __str__(self) -> str:
        return self.found


def write(state: State, path: str) -> None:
    """The model as a file; text holds its weights."""
    if isinstance(state, OnnxState):
        with open(path, "wb") as handle:
            handle.write(finished(state).SerializeToString(deterministic=True))
        return
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(str(portable(state.module)) + "\n")


def save_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """An ``.npz`` of arrays by name."""
    with open(path, "wb") as handle:
        np.savez(handle, **dict(arrays))  # pyright: ignore[reportArgumentType]
