"""What ``compile`` takes, as a ge module: model files, text, models in memory; and which of its sizes are unknown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from gedialect.analysis.graph import graph_function
from gedialect.api.arguments import check_model, checked_path, checked_shapes
from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.errors import GeError
from gedialect.interpreter import input_names
from gedialect.ir.context import GeContext
from gedialect.ir.spec import DYNAMIC, spec_of

if TYPE_CHECKING:
    import onnx

Shapes = Mapping[str, Sequence[int]]


def import_source(
    model: str | os.PathLike[str] | onnx.ModelProto | ModuleOp,
    input_shapes: Shapes | None = None,
    *,
    inputs_only: bool = False,
) -> ModuleOp:
    """The ge module of a model file, text file, ``onnx.ModelProto`` or module (which is not changed).

    ``inputs_only``: only the inputs of its function matter, which are read without the rest where that can be.
    UsageError GE1013 for a model, GE1001 for shapes of another kind.
    """
    input_shapes = checked_shapes(input_shapes)
    if isinstance(model, ModuleOp):
        return _specialized(model.clone(), input_shapes)
    if isinstance(model, str | os.PathLike):
        path = checked_path(model, "the model")
        if path.endswith(".mlir"):
            return _specialized(parse_file(path), input_shapes)
        from gedialect.frontends import import_inputs, import_model

        return (import_inputs if inputs_only else import_model)(path, input_shapes=input_shapes)
    check_model(model)
    from gedialect.frontends import onnx as reader

    return (reader.import_inputs if inputs_only else reader.import_model)(model, input_shapes=input_shapes)


def parse_file(path: str) -> ModuleOp:
    """A verified ge module from text; GE11xx with the line at fault."""
    from gedialect.ir.parser import parse_module
    from gedialect.ir.verifier import verify
    from gedialect.ir.weights import STORE, check_names

    try:
        with open(path, "rb") as handle:
            text = handle.read()
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror}", code="GE1002", where=path, hint="check the path") from None
    folder = os.path.dirname(os.path.abspath(path))
    STORE.search_first(folder)
    module = parse_module(GeContext(), text, path)
    verify(module, file=path)
    check_names(module, folder, path)
    return module


def _specialized(module: ModuleOp, input_shapes: Shapes | None) -> ModuleOp:
    if input_shapes:
        from gedialect.transforms.specialize_shapes import specialize

        specialize(module, input_shapes)
    return module


def unknown_sizes(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """Inputs with unknown sizes, by name."""
    function = graph_function(module)
    types = zip(input_names(function), function.function_type.inputs, strict=True)
    specs = {n: spec_of(t) for n, t in types if not isinstance(t, ON_HOST)}
    return {n: s.shape for n, s in specs.items() if not s.is_static}


def require_known_sizes(module: ModuleOp) -> None:
    """GE1014, with a ready ``--input-shape``, for inputs of unknown sizes."""
    if unknown := unknown_sizes(module):
        raise GeError(f"input sizes are unknown: {', '.join(unknown)}", code="GE1014", hint=shape_hint(unknown))


def shape_hint(unknown: Mapping[str, Sequence[int]]) -> str:
    """A ready ``--input-shape`` for inputs with unknown sizes (1 for each)."""
    text = ";".join(f"{n}:{','.join('1' if d == DYNAMIC else str(d) for d in s)}" for n, s in unknown.items())
    return f'give them, for instance --input-shape "{text}"'
