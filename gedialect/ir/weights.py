"""Reading constants: mapped files for ``#ge.weight``, and arrays kept in memory under a name.

Nothing is copied: a weight is a view of the file's pages. Files are found as written, beside the text
file that names them, or under ``memory:N`` for models that were never on disk.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import os
import re
from typing import TYPE_CHECKING, Any

from gedialect.errors import GeError
from gedialect.ir.lazy import np
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    import numpy.typing as npt
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute


SEARCH_VARIABLE = "GEDIALECT_WEIGHTS"
"""Environment variable: more folders a text may name weights in, separated as in PATH."""
_LOOKS_LIKE_WEIGHTS = re.compile(r"\.(onnx|onnx[._]data|bin|data|weights?|pb)$", re.IGNORECASE)


def check_names(module: ModuleOp, folder: str, where: str) -> None:
    """GE1019 unless the text ``where`` in ``folder`` may name the files it takes weights from.

    A text may come from anywhere, and what it names ends up in what is made of it. So it may name what lies in its own
    folder, the current one, those of ``GEDIALECT_WEIGHTS``, or below; elsewhere only what is called like a file of
    weights, which is what ge-import writes for a model in another folder.
    """
    from gedialect.dialects.ge.attrs import WeightAttr
    from gedialect.dialects.ge.constant import ConstantOp
    from gedialect.dialects.ge.control import LateOp

    checked: set[str] = set()
    for op in module.walk():
        name = None
        if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr):
            name = op.value.file.data
        elif isinstance(op, LateOp) and op.file is not None:
            name = op.file.data
        if name is not None and name not in checked:
            checked.add(name)
            if not may_name(name, folder):
                raise GeError(
                    f"the text takes weights from {name!r:.300}, a file that is not beside it",
                    code="GE1019",
                    where=where,
                    hint=f"put the file beside the text, or its folder into {SEARCH_VARIABLE} if you trust the text",
                )


def may_name(name: str, folder: str) -> bool:
    """Whether a text in ``folder`` may take weights from the file ``name``; one that does not exist does no harm."""
    if name.startswith("memory:") or _LOOKS_LIKE_WEIGHTS.search(name):
        return True
    found = STORE.find(name)
    if found is None:
        return True
    path = os.path.realpath(found)
    tops = [os.path.realpath(base) for base in (folder, os.getcwd(), *_more_folders())]
    return any(os.path.commonpath([top, path]) == top for top in tops)


def _more_folders() -> list[str]:
    return [f for f in os.environ.get(SEARCH_VARIABLE, "").split(os.pathsep) if f]


class WeightStore:
    """Open weight files, by name. ``search`` holds folders tried for relative names."""

    def __init__(self) -> None:
        self.search: list[str] = []
        self._open: dict[str, memoryview] = {}
        self._memory: dict[str, Any] = {}
        self._names: dict[tuple[int, bytes], str] = {}
        """Of what lies in memory, by length and digest."""
        self._count = itertools.count()

    def register(self, data: Any, *, whole_file: bool = False) -> str:
        """Keep a bytes-like object or array alive and return the file name that stands for it.

        Equal data has one name and is kept once, so that a model imported for several sizes has its weights once; the
        data must not change. Of a ``whole_file`` that is not looked at.
        """
        name = f"memory:{next(self._count)}"
        if not whole_file:
            key = (memoryview(data).nbytes, hashlib.blake2b(data, digest_size=32).digest())
            known = self._names.setdefault(key, name)
            if known != name:
                return known
        self._memory[name] = data
        return name

    def search_first(self, folder: str) -> None:
        """Try ``folder`` before those of texts that were read earlier."""
        if folder in self.search:
            self.search.remove(folder)
        self.search.insert(0, folder)

    def path(self, file: str) -> str:
        """Where ``file`` lies; GE1002 if nowhere."""
        found = self.find(file)
        if found is None:
            raise GeError(
                "weight file not found", code="GE1002", where=file, hint="run where the model file is, or beside it"
            )
        return found

    def find(self, file: str) -> str | None:
        """Where ``file`` lies, None if nowhere."""
        if "\0" in file:
            return None
        candidates = [file, *(os.path.join(d, file) for d in (*self.search, *_more_folders()))]
        return next((c for c in candidates if os.path.isfile(c)), None)

    def span(self, file: str, offset: int, length: int) -> memoryview:
        """``length`` bytes of ``file`` from ``offset``; GE1003 beyond its end."""
        view = self._view(file)
        if offset < 0 or length < 0 or offset + length > len(view):
            raise GeError(
                f"weight bytes {offset}..{offset + length} lie beyond the end of the file ({len(view)} bytes)",
                code="GE1003",
                where=file,
            )
        return view[offset : offset + length]

    def _view(self, file: str) -> memoryview:
        if file in self._memory:
            return memoryview(self._memory[file]).cast("B")
        if file.startswith("memory:"):
            raise GeError("these weights were in the memory of another process", code="GE1002", where=file)
        path = os.path.abspath(self.path(file))
        status = os.stat(path)
        key = f"{path}:{status.st_mtime_ns}:{status.st_size}"
        if key not in self._open:
            with open(path, "rb") as handle:
                self._open[key] = (
                    memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))
                    if status.st_size
                    else memoryview(b"")
                )
        return self._open[key]


STORE = WeightStore()
"""The process-wide store; names are file names, so two modules cannot clash."""


def constant_bytes(value: Attribute, spec: Spec) -> memoryview | None:
    """The bytes of a dense or weight constant without a copy; None for a splat."""
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    from gedialect.dialects.ge.attrs import WeightAttr

    match value:
        case WeightAttr():
            return STORE.span(value.file.data, value.offset.data, value.length.data)
        case DenseIntOrFPElementsAttr():
            data = value.data.data
            if len(data) != spec.nbytes:
                raise GeError(f"constant has {len(data)} bytes, {spec} needs {spec.nbytes}", code="GE1003")
            return memoryview(data)
        case _:
            return None


def read_constant(value: Attribute, spec: Spec) -> npt.NDArray[Any]:
    """A read-only array of ``spec``; splats are broadcast without memory."""
    from gedialect.dialects.ge.attrs import SplatAttr

    if isinstance(value, SplatAttr):
        scalar = np.asarray(value.python)
        if scalar.dtype.kind == "i":  # keep 64-bit values exact
            scalar = scalar.astype(np.int64)
        return np.broadcast_to(scalar.astype(spec.dtype.numpy), spec.shape)
    data = constant_bytes(value, spec)
    assert data is not None
    if spec.dtype.kind == "b":
        return np.frombuffer(data, np.uint8).reshape(spec.shape) != 0
    return np.frombuffer(data, spec.dtype.numpy).reshape(spec.shape)
