"""Arrays of an ``.npz`` file, whose types and shapes are known before any data is read."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gedialect.errors import GeError

Array = npt.NDArray[Any]
_NPY = b"\x93NUMPY"


@dataclass(frozen=True)
class Header:
    """What an array says of itself; ``member`` is its name in the file, ``data`` the bytes after the header."""

    member: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    data: int


class ArrayFile:
    """An ``.npz`` file: the headers are read at once, arrays when asked for. What may be in the file is not trusted:
    no pickles, and no memory is taken before the type and shape are known to be wanted.

    Raises GE1002 if the file cannot be read, GE1003 if it is damaged or no ``.npz``, each naming the file.
    """

    def __init__(self, path: str):
        self.path = path
        self.headers: dict[str, Header] = {}
        with self._zip() as file:
            for info in file.infolist():
                name = info.filename.removesuffix(".npy")
                if name in self.headers:
                    raise self._damaged(f"two arrays are named {name}")
                self.headers[name] = self._header(file, info, name)

    def stand_in(self, name: str) -> Array:
        """An array of the type and shape of ``name`` that takes no memory, to see whether it fits; GE1004 if nothing
        could be that large."""
        header = self.headers[name]
        try:
            return np.broadcast_to(np.zeros((), header.dtype), header.shape)
        except ValueError:
            text = f"array {name} is {header.dtype}{list(header.shape)}, more than any memory holds"
            raise GeError(text, code="GE1004", where=self.path) from None

    def read(self, name: str) -> Array:
        """The array; GE1003 if the file holds more or less of it than its header says."""
        self.check_size(name)
        with self._zip() as file, file.open(self.headers[name].member) as data:
            return np.lib.format.read_array(data, allow_pickle=False)

    def check_size(self, name: str) -> None:
        """GE1003 unless the file holds as many bytes as the header of ``name`` says."""
        header = self.headers[name]
        size = math.prod(header.shape) * header.dtype.itemsize
        if size != header.data:
            raise self._damaged(f"array {name} needs {size} bytes, the file holds {header.data}")

    def read_like(self, key: str, wanted: Array) -> Array:
        """The array if it has the type and shape of ``wanted``, else one of its own type and shape without data."""
        header = self.headers[key]
        fits = header.dtype == wanted.dtype and header.shape == wanted.shape
        return self.read(key) if fits else self.stand_in(key)

    def _header(self, file: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Header:
        with file.open(info) as data:
            if data.read(len(_NPY)) != _NPY:
                raise self._damaged(f"{info.filename} in it is no array")
        with file.open(info) as data:
            version = np.lib.format.read_magic(data)
            match version:
                case (1, 0):
                    shape, _, dtype = np.lib.format.read_array_header_1_0(data)
                case (2, 0):
                    shape, _, dtype = np.lib.format.read_array_header_2_0(data)
                case _:
                    raise self._damaged(f"array {name} is of version {version} of the format, known are 1.0 and 2.0")
            if dtype.hasobject:
                raise self._damaged(
                    f"array {name} holds Python objects, which are not read", hint="store numbers, as numpy.float32"
                )
            if any(d < 0 for d in shape):
                raise self._damaged(f"array {name} has the shape {list(shape)}")
            return Header(info.filename, dtype, tuple(shape), info.file_size - data.tell())

    @contextmanager
    def _zip(self) -> Generator[zipfile.ZipFile]:
        """The open file; whatever goes wrong inside while it is read is damage. zlib, zipfile and numpy raise nearly
        every type of exception on damaged bytes."""
        try:
            with zipfile.ZipFile(self.path) as file:
                yield file
        except (GeError, MemoryError):
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise GeError(f"cannot read: {reason}", code="GE1002", where=self.path, hint="check the path") from None
        except zipfile.BadZipFile as error:
            hint = "write several arrays with numpy.savez" if self._is_npy() else None
            what = "it is a single array" if hint is not None else str(error)
            raise self._damaged(f"not an .npz file: {what}", hint=hint) from None
        except Exception as error:
            text = str(error).partition("\n")[0][:200] or type(error).__name__
            raise self._damaged(f"damaged .npz file: {text}") from None

    def _is_npy(self) -> bool:
        try:
            with open(self.path, "rb") as file:
                return file.read(len(_NPY)) == _NPY
        except OSError:
            return False

    def _damaged(self, message: str, *, hint: str | None = None) -> GeError:
        return GeError(message, code="GE1003", where=self.path, hint=hint)


class Inputs:
    """The arrays of a file that go into a model: keys are input names, or ``in:NAME``; ``out:NAME`` are left out."""

    def __init__(self, file: ArrayFile):
        self.file = file
        self.keys: dict[str, str] = {}
        for key in file.headers:
            if key.startswith("out:"):
                continue
            name = key.removeprefix("in:")
            if name in self.keys:
                raise GeError(f"input {name} is given twice, as {name} and in:{name}", code="GE1004", where=file.path)
            self.keys[name] = key

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: self.file.headers[key].shape for name, key in self.keys.items()}

    def stand_ins(self) -> dict[str, Array]:
        """Arrays without data, by input name."""
        return {name: self.file.stand_in(key) for name, key in self.keys.items()}

    def read(self) -> Mapping[str, Array]:
        """All arrays, by input name."""
        return {name: self.file.read(key) for name, key in self.keys.items()}
