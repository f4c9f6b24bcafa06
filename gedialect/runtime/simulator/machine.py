"""The functional simulator: runs encoded kernels on regions of memory."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...binary.disassemble import inst_text, number_instructions
from ...binary.isa import SPACE_BYTES
from ...binary.kernel import Function, Kernel
from ...binary.kernel_codec import decode
from ...errors import GeError
from .codegen import CrossCore, Program, generate
from .memory import Core
from .sanitizer import check

Region = tuple[npt.NDArray[np.uint8], int, int]
"""A kernel argument: bytes of memory, offset of the argument in them, its size in bytes."""


class Machine:
    """Executes kernels, block after block. One machine serves one thread; it keeps compiled kernels.

    ``sizes`` gives the bytes of each on-chip space (default ascend910b1). With ``sanitize`` every kernel is checked
    before it first runs (see `sanitizer`).
    """

    def __init__(self, sizes: Mapping[str, int] = SPACE_BYTES, *, sanitize: bool = False):
        self.sizes = dict(sizes)
        self.sanitize = sanitize
        self._checked: set[bytes] = set()
        self._cube = Core(True, self.sizes)
        self._vectors = (Core(False, self.sizes), Core(False, self.sizes))
        self._kernels: dict[bytes, Kernel] = {}
        self._bound: dict[tuple[bytes, int], Callable[..., Any]] = {}
        self._programs: dict[tuple[bytes, bool], Program] = {}

    def load(self, data: bytes) -> Kernel:
        """Decode a kernel once; equal bytes give the same object."""
        found = self._kernels.get(data)
        if found is None:
            found = self._kernels[data] = decode(data)
        return found

    def run(self, kernel: Kernel | bytes, args: Sequence[Region]) -> None:
        """Run all blocks. GE1307 if the arguments do not fit, GE1308 for an access outside its region or a bad
        index, GE1315 for a deadlock between cores, GE1316 for what the sanitizer finds."""
        if isinstance(kernel, bytes):
            kernel = self.load(kernel)
        memory = self._regions(kernel, args)
        if self.sanitize and (kernel.digest == b"" or kernel.digest not in self._checked):
            check(kernel, self.sizes)
            self._checked.add(kernel.digest)
        with np.errstate(all="ignore"):
            for bid in range(kernel.blocks):
                if kernel.kind == "mix":
                    self._run_mix(kernel, memory, bid)
                else:
                    who = -1 if kernel.kind == "cube" else 0
                    self._call(kernel, who, memory, bid, CrossCore())

    def _regions(self, kernel: Kernel, args: Sequence[Region]) -> list[npt.NDArray[np.uint8]]:
        if len(args) != len(kernel.args):
            raise GeError(f"kernel {kernel.name} takes {len(kernel.args)} arguments, got {len(args)}", code="GE1307")
        memory: list[npt.NDArray[np.uint8]] = []
        for arg, (array, offset, size) in zip(kernel.args, args, strict=True):
            if size < arg.nbytes or offset < 0 or offset + arg.nbytes > array.nbytes:
                raise GeError(
                    f"argument '{arg.name}' of kernel {kernel.name} needs {arg.nbytes} bytes, its region has {size}",
                    code="GE1307",
                )
            memory.append(array[offset : offset + arg.nbytes])
        return memory

    def _program(self, kernel: Kernel, who: int) -> tuple[Program, Callable[..., Any]]:
        function = kernel.cube if who < 0 else kernel.vector
        assert function is not None
        key = kernel.digest if kernel.digest != b"" else id(kernel).to_bytes(8, "little")
        self._kernels.setdefault(key, kernel)  # keeps it alive, so that its id stays its own
        program = self._programs.get((key, who < 0))
        if program is None:
            program = self._programs[key, who < 0] = generate(function)
        bound = self._bound.get((key, who))
        if bound is None:
            core = self._cube if who < 0 else self._vectors[who]
            bound = self._bound[key, who] = program.bind(core)
        return program, bound

    def _call(
        self, kernel: Kernel, who: int, memory: list[npt.NDArray[np.uint8]], bid: int, cross: CrossCore
    ) -> Generator[int] | None:
        """Run a function, or start it if it can wait for another core."""
        program: Program | None = None
        try:
            program, run = self._program(kernel, who)
            result = run(memory, bid, who, cross)
            if not program.is_generator:
                return None
            if kernel.kind == "mix":
                return result
            for flag in result:
                raise _deadlock(kernel, bid, {who: flag})
        except (ValueError, IndexError, TypeError, OverflowError) as e:
            raise _located(kernel, who, bid, program, e) from e
        except GeError as e:
            raise e.at(f"kernel {kernel.name}") from e
        return None

    def _run_mix(self, kernel: Kernel, memory: list[npt.NDArray[np.uint8]], bid: int) -> None:
        cross = CrossCore()
        running: dict[int, Generator[int]] = {}
        for who in (-1, 0, 1):
            started = self._call(kernel, who, memory, bid, cross)
            if started is not None:
                running[who] = started
        waiting: dict[int, int] = {}
        while running:
            moved = False
            for who, core in list(running.items()):
                if who in waiting and not _ready(cross, who, waiting[who]):
                    continue
                moved = True
                try:
                    waiting[who] = next(core)
                except StopIteration:
                    del running[who]
                    waiting.pop(who, None)
                except (ValueError, IndexError, TypeError, OverflowError) as e:
                    raise _located(kernel, who, bid, self._program(kernel, who)[0], e) from e
            if not moved:
                raise _deadlock(kernel, bid, waiting)


def _ready(cross: CrossCore, who: int, flag: int) -> bool:
    return min(cross.to_cube[flag]) > 0 if who < 0 else cross.to_vector[flag][who] > 0


def core_name(who: int, kernel: Kernel) -> str:
    """How messages call a core: cube, vector, vector 0, vector 1."""
    return "cube" if who < 0 else f"vector {who}" if kernel.kind == "mix" else "vector"


def _deadlock(kernel: Kernel, bid: int, waiting: dict[int, int]) -> GeError:
    what = ", ".join(f"{core_name(who, kernel)} for flag {flag}" for who, flag in sorted(waiting.items()))
    return GeError(
        f"deadlock in block {bid}: nothing sets the cross-core flags waited for ({what})",
        code="GE1315",
        where=f"kernel {kernel.name}",
    )


def _located(kernel: Kernel, who: int, bid: int, program: Program | None, e: Exception) -> GeError:
    """The error of an instruction, with its number and text."""
    where = f"kernel {kernel.name}, block {bid}, {core_name(who, kernel)}"
    function = kernel.cube if who < 0 else kernel.vector
    if program is not None and function is not None:
        for frame in reversed(traceback.extract_tb(e.__traceback__)):
            if frame.filename == "<kernel>" and frame.lineno in program.lines:
                number = program.lines[frame.lineno]
                return GeError(
                    f"instruction {number}: {_text(function, number, kernel)}: {e}", code="GE1308", where=where
                )
    return GeError(str(e), code="GE1308", where=where)


def _text(function: Function, number: int, kernel: Kernel) -> str:
    return next(inst_text(i, kernel) for n, i in number_instructions(function) if n == number)
