"""Gears of an OM: the input sizes it was compiled for, of which each run has one.

They are stated twice, as GE does: in the graph and model attributes, and in MODEL_INOUT_INFO, where they can be read
without the graph. See ``docs/om.md``; names of nodes and attributes are GE's (``multi_batch_clone_pass.cc``).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Literal, TypeGuard, cast, get_args

from gedialect.binary.inout import TensorInfo

Kind = Literal["dynamic_batch_size", "dynamic_dims"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_GEARS = 100

SUFFIX = "_ascend_mbatch_batch_"
"""Nodes of gear N are called after their model's node, this, and N."""
CASE, INDEX = "ascend_mbatch_shape_case", "ascend_mbatch_shape_index"
"""The node that holds the gears, and its first input, the number of the gear."""
ORIGIN_DIMS = "_mbatch_origin_input_dims"
OUTPUT_DIMS = "_dynamic_output_dims"
TYPE_NUMBERS: Mapping[Kind, int] = {"dynamic_batch_size": 1, "dynamic_dims": 3}
"""``mbatch_dynamic_type`` of the case."""

_BATCH, _DIMS, _OUTPUTS, _ORDER = 2, 4, 5, 6
"""Types of entries of MODEL_INOUT_INFO."""
_MAX_RANK = 64
_MAX_DIM = 1 << 48


@dataclass(frozen=True)
class Gear:
    """``values``: of the unknown sizes, in the order of the inputs (one, for a batch size); shapes of all inputs and
    outputs, in order."""

    values: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Gears:
    """The gears of a model, numbered from 0."""

    kind: Kind
    gears: tuple[Gear, ...]

    def name(self, number: int) -> str:
        """How people call a gear: ``batch size 4``, ``dims 4,256``."""
        return gear_name(self.kind, self.gears[number].values)


def gear_name(kind: Kind, values: Sequence[int]) -> str:
    """``batch size 4``, ``dims 4,256``."""
    return f"{'batch size' if kind == 'dynamic_batch_size' else 'dims'} {','.join(map(str, values))}"


def list_gears(kind: Kind, gears: Sequence[Sequence[int]], limit: int = 16) -> str:
    """All gears on a line: ``batch sizes 1, 2, 4``, ``dims 1,128; 4,256``."""
    texts = [",".join(map(str, values)) for values in gears]
    more = [f"and {len(texts) - limit} more"] if len(texts) > limit else []
    if kind == "dynamic_batch_size":
        return f"batch sizes {', '.join(texts[:limit] + more)}"
    return f"dims {'; '.join(texts[:limit] + more)}"


def largest(shapes: Sequence[Sequence[int]]) -> int:
    """The number of the shape with most elements, the first of several."""
    return max(range(len(shapes)), key=lambda n: (prod(shapes[n]), -n))


def common_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Sizes that all shapes (of one rank) have, -1 where they differ."""
    return tuple(dims[0] if len(set(dims)) == 1 else -1 for dims in zip(*shapes, strict=True))


def output_dims(gears: Gears) -> list[str]:
    """GE's list of output shapes: ``GEAR,OUTPUT,DIM,DIM``."""
    return [
        ",".join(map(str, (number, output, *shape)))
        for number, gear in enumerate(gears.gears)
        for output, shape in enumerate(gear.outputs)
    ]


def shape_order(inputs: Sequence[TensorInfo]) -> list[str]:
    """The inputs whose sizes the values of gears are, in order."""
    return [t.name for t in inputs if -1 in t.shape]


def records(gears: Gears, inputs: Sequence[TensorInfo]) -> dict[int, bytes]:
    """The entries of MODEL_INOUT_INFO, by type."""
    values = [gear.values for gear in gears.gears]
    count = struct.pack("<I", len(values))
    flat = [v for row in values for v in row]
    found: dict[int, bytes] = {}
    if gears.kind == "dynamic_batch_size":
        found[_BATCH] = count + struct.pack(f"<{len(flat)}Q", *flat)
    else:
        lengths = struct.pack(f"<{len(values)}I", *map(len, values))
        found[_DIMS] = count + lengths + struct.pack(f"<{len(flat)}Q", *flat)
    found[_OUTPUTS] = _strings(output_dims(gears))
    found[_ORDER] = _strings(shape_order(inputs))
    return found


def _strings(texts: Sequence[str]) -> bytes:
    raw = [t.encode() for t in texts]
    return struct.pack(f"<{1 + len(raw)}I", len(raw), *map(len, raw)) + b"".join(raw)


def to_json(gears: Gears) -> str:
    """The value of ``gedialect.gears``."""
    return json.dumps(asdict(gears), separators=(",", ":"))


def from_json(text: object) -> Gears | None:
    """The inverse; None if it is malformed."""
    try:
        raw = cast("object", json.loads(cast("str", text)))
    except (TypeError, ValueError, RecursionError):
        return None
    fields = cast("dict[str, object]", raw if isinstance(raw, dict) else {})
    kind, entries = fields.get("kind"), fields.get("gears")
    if kind not in KINDS or not isinstance(entries, list) or not 1 <= len(cast("list[object]", entries)) <= MAX_GEARS:
        return None
    gears = [_gear(entry) for entry in cast("list[object]", entries)]
    known = [g for g in gears if g is not None]
    return Gears(kind, tuple(known)) if len(known) == len(gears) else None


def _gear(raw: object) -> Gear | None:
    fields = cast("dict[str, object]", raw if isinstance(raw, dict) else {})
    values, inputs, outputs = (fields.get(k) for k in ("values", "inputs", "outputs"))
    if not (_is_shape(values) and isinstance(inputs, list) and isinstance(outputs, list)):
        return None
    shapes: list[tuple[tuple[int, ...], ...]] = []
    for tensors in (cast("list[object]", inputs), cast("list[object]", outputs)):
        if not all(_is_shape(shape) for shape in tensors):
            return None
        shapes.append(tuple(tuple(cast("list[int]", shape)) for shape in tensors))
    return Gear(tuple(values), shapes[0], shapes[1])


def _is_shape(raw: object) -> TypeGuard[list[int]]:
    if not isinstance(raw, list) or len(cast("list[object]", raw)) > _MAX_RANK:
        return False
    dims = cast("list[object]", raw)
    return all(type(d) is int and 0 <= d < _MAX_DIM for d in dims) and prod(cast("list[int]", dims)) < _MAX_DIM


def shapes_of(gears: Gears) -> Iterator[tuple[str, list[tuple[tuple[int, ...], ...]]]]:
    """("inputs", shapes by gear) and ("outputs", ...)."""
    yield "inputs", [g.inputs for g in gears.gears]
    yield "outputs", [g.outputs for g in gears.gears]
