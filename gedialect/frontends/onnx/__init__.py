"""The ONNX reader: model file or ``ModelProto`` to a ge module. Weights stay in the file."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Generator, Mapping, Sequence

import onnx
from google.protobuf.message import DecodeError
from xdsl.dialects.builtin import ModuleOp

from gedialect.errors import GeError
from gedialect.frontends.onnx.graph import Importer
from gedialect.frontends.onnx.values import TensorReader
from gedialect.frontends.onnx.wire import truncated, without_payload
from gedialect.ir.weights import STORE

__all__ = ["import_inputs", "import_model"]


def import_model(
    source: str | os.PathLike[str] | onnx.ModelProto, input_shapes: Mapping[str, Sequence[int]] | None = None
) -> ModuleOp:
    """The model's graph as ``func.func @main`` of ge ops.

    ``source`` is a path or a ModelProto, which is not changed. ``input_shapes`` fixes sizes of inputs (-1: still
    unknown). Tensors above 1 kB are referred to by their place in the file, or kept in memory for a ModelProto.

    Raises GeError GE10xx for a file that is not a sound model or shapes that do not fit, and one UnsupportedError
    GE1201 that lists every op type that has no converter.
    """
    return _read(source, lambda importer: importer.run(input_shapes))


def import_inputs(
    source: str | os.PathLike[str] | onnx.ModelProto, input_shapes: Mapping[str, Sequence[int]] | None = None
) -> ModuleOp:
    """A function that has the model's inputs and no op; errors as for ``import_model``, where they are of inputs."""
    return _read(source, lambda importer: importer.inputs(input_shapes))


def _read(source: str | os.PathLike[str] | onnx.ModelProto, read: Callable[[Importer], ModuleOp]) -> ModuleOp:
    with _no_collector():
        try:
            if isinstance(source, onnx.ModelProto):
                return read(Importer(source, TensorReader(None), None))
            return _import_file(os.fspath(source), read)
        except UnicodeDecodeError as e:  # protobuf decodes a string where it is first asked for
            where = None if isinstance(source, onnx.ModelProto) else os.fspath(source)
            text = bytes(e.object[:40])
            raise GeError(
                f"a name in the model is no UTF-8 text: {text!r}", code="GE1003", where=where, hint="write it again"
            ) from None


def _import_file(path: str, read: Callable[[Importer], ModuleOp]) -> ModuleOp:
    if not os.path.isfile(path):
        raise GeError("no such file", code="GE1002", where=path, hint="check the path")
    try:
        with_spans = without_payload(STORE.span(path, 0, os.path.getsize(path)))
        try:
            model = onnx.ModelProto.FromString(with_spans)
        except DecodeError:
            raise truncated() from None
        return read(Importer(model, TensorReader(path, os.path.dirname(path)), path))
    except GeError as e:
        raise e.at(path)
    except OSError as e:
        place = e.filename if isinstance(e.filename, str) else path
        raise GeError(
            f"cannot read: {e.strerror}", code="GE1002", where=place, hint="check the path and its permissions"
        ) from None


@contextlib.contextmanager
def _no_collector() -> Generator[None]:
    """Objects made here live on; the cyclic collector would walk them again and again, a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
