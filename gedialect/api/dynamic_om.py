"""OMs of models whose sizes come from data: the ge text, with its weights in WEIGHTS_DATA, in place of tasks.

What compiles it is beside the runtime, not in it: ``gedialect.api.load`` reads the text and makes a chain again. The
text is a model attribute, so that viewers of OMs open the file. What else the file holds is what can be said before a
run: inputs of known type, and constants.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from gedialect.analysis.graph import graph_function
from gedialect.binary.inout import TensorInfo
from gedialect.binary.memory import Memory
from gedialect.binary.model_def import DYNAMIC_KEY, ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile
from gedialect.binary.protos.attrs import get
from gedialect.binary.weights import Span
from gedialect.dialects.ge.attrs import ON_HOST, WeightAttr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.interpreter import input_names
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.printer import UniquePrinter
from gedialect.ir.spec import spec_of
from gedialect.ir.verifier import verify
from gedialect.ir.weights import STORE, check_names
from gedialect.targets import load_target

FILE = "om"
"""What the text calls the file it is in."""


def dynamic_om(module: ModuleOp, settings: Mapping[str, str], name: str) -> OmFile:
    """The file of a module, which is not changed; ``settings`` are level, target and precision."""
    module = module.clone()
    function = graph_function(module)
    types = zip(input_names(function), function.function_type.inputs, strict=True)
    inputs = [(n, spec_of(t)) for n, t in types if not isinstance(t, ON_HOST)]
    infos = [TensorInfo(n, s.dtype, s.shape) for n, s in inputs]
    writer = ModelWriter(name, Memory(0, [t.nbytes for t in infos], [], weights=0))
    graph = writer.graph("main")
    for n, s in inputs:
        graph.add_data(writer.unique(n), TensorDesc(s.dtype, s.shape))
    for op in module.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr):
            spec, old = spec_of(op.y.type), op.value
            file, offset, length = old.file.data, old.offset.data, old.length.data
            source = bytes(STORE.span(file, offset, length))
            if not file.startswith("memory:"):
                source = Span(STORE.path(file), offset, length)
            place = graph.add_const(
                writer.unique(op.y.name_hint or "weight"), TensorDesc(spec.dtype, spec.shape), source
            )
            op.value = WeightAttr.get(FILE, place.offset, length)
    graph.add_net_output(writer.unique("NetOutput"), [])
    text = StringIO()
    UniquePrinter(stream=text, print_debuginfo=True).print_op(module)
    return build_om(
        writer,
        inputs=infos,
        outputs=[],
        tasks=[],
        kernels={},
        target=load_target(settings["target"]).name,
        report={},
        attrs={DYNAMIC_KEY: json.dumps({**settings, "text": text.getvalue()})},
    )


def is_dynamic(om: OmFile) -> bool:
    """Whether a file holds text in place of tasks."""
    return get(om.model.attr, DYNAMIC_KEY) is not None


def read_dynamic(om: OmFile, where: str) -> tuple[ModuleOp, dict[str, str]]:
    """The module, its weights staying in the file, and the settings; GE1309 if the attribute is damaged, GE11xx for
    its text."""
    try:
        values = cast("object", json.loads(get(om.model.attr, DYNAMIC_KEY)))
    except (TypeError, ValueError, RecursionError):
        values = None
    fields = cast("dict[str, Any]", values if isinstance(values, dict) else {})
    keys = ("level", "target", "precision", "text")
    if not all(isinstance(fields.get(k), str) for k in keys):
        raise GeError(f"attribute {DYNAMIC_KEY} is damaged", code="GE1309", where=where)
    module = parse_module(GeContext(), fields["text"].encode(), where)
    verify(module, file=where)
    check_names(module, os.path.dirname(os.path.abspath(where)), where)
    weights = STORE.register(om.weights.view(0, om.weights.size), whole_file=True)
    for op in module.walk():
        if isinstance(op, ConstantOp) and isinstance(op.value, WeightAttr):
            if op.value.file.data != FILE:
                raise GeError("its text names another file", code="GE1309", where=where)
            op.value = WeightAttr.get(weights, op.value.offset.data, op.value.length.data)
    return module, {k: fields[k] for k in keys[:3]}
