"""Writing MODEL_DEF: graphs of GE nodes, and the attributes of the model.

Both ends of an edge get one description, as Netron demands (equal dtype and number of elements; Netron 9 ``om.js``).
Bookkeeping attributes: metadef ``graph/model_serialize.cc``; placement fields: graphengine r1.8 ``model_builder.cc``
(both Apache-2.0). What is ours is named ``gedialect.*``; see ``docs/om.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from gedialect.binary import kernel_store
from gedialect.binary.gears import ORIGIN_DIMS, SUFFIX, Gears, records, to_json
from gedialect.binary.inout import FORMATS, TensorInfo
from gedialect.binary.memory import VARIABLE_BASE, Arg, Memory
from gedialect.binary.om import OmFile
from gedialect.binary.protos.attrs import AttrValue, Typed, set_attrs, set_name_map
from gedialect.binary.protos.ge import DATA_TYPES, GraphDef, ModelDef, OpDef, TensorDef, TensorDescriptor
from gedialect.binary.tasks import Task, encode_tasks, event_count, label_count, stream_count
from gedialect.binary.weights import Place, Source, Weights, align
from gedialect.errors import GeError
from gedialect.ir.dtypes import DType

VERSION = 1
"""Version of everything in an OM that is ours: kernel encoding, host tasks, ``gedialect.*`` attributes."""
VERSION_KEY = "gedialect.version"
REPORT_KEY = "gedialect.report"
WORKSPACE_KEY = "gedialect.workspace_size"
INPUTS_KEY = "gedialect.inputs"
OUTPUTS_KEY = "gedialect.outputs"
DTYPE_KEY = "gedialect.dtype"
GEARS_KEY = "gedialect.gears"
"""JSON of the gears; see ``gedialect.binary.gears``."""
DYNAMIC_KEY = "gedialect.dynamic"
"""JSON of a model that is compiled while it runs: its ge text and how to compile it; such a file has no tasks."""

_DTYPE_NAMES = {number: name for name, number in DATA_TYPES.items()}
_TE = 1  # imply_type of nodes with a kernel
_ABSENT_FORMAT = "FORMAT_RESERVED"


@dataclass(frozen=True)
class TensorDesc:
    """Type of a node's output; ``origin_*`` are the logical shape and format where storage differs (packed weights)."""

    dtype: DType
    shape: tuple[int, ...]
    format: str = "ND"
    origin_format: str | None = None
    origin_shape: tuple[int, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor without padding."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Edge:
    """A use of output ``index`` of node ``source``; ``shape`` if the reader sees another shape of the same size."""

    source: str
    index: int = 0
    shape: tuple[int, ...] | None = None
    format: str | None = None


@dataclass
class _Output:
    desc: TensorDesc
    place: Arg | None
    const: Place | None = None


@dataclass
class ModelWriter:
    """Collects graphs, node names (unique in the model) and constants of one model; the first graph is the root."""

    name: str
    memory: Memory
    """Its ``weights`` size may still be unknown (0)."""
    gear: int | None = None
    """The gear whose nodes are being added: their names end in it, and they have its label."""
    weights: Weights = field(default_factory=Weights)
    graphs: list[GraphWriter] = field(default_factory=list["GraphWriter"])
    _names: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _next_id: int = 0
    _descs: dict[TensorDesc, TensorDescriptor] = field(default_factory=dict[TensorDesc, TensorDescriptor], repr=False)

    def graph(self, name: str) -> GraphWriter:
        """A new graph; ops refer to it by ``name`` through ``subgraphs``."""
        graph = GraphWriter(self, name)
        self.graphs.append(graph)
        return graph

    def unique(self, name: str) -> str:
        """``name``, or ``name_1`` and so on if a node has it already; the name is reserved for the caller."""
        end = "" if self.gear is None else f"{SUFFIX}{self.gear}"
        free, suffix = f"{name}{end}", 0
        while free in self._names:
            suffix += 1
            free = f"{name}_{suffix}{end}"
        self._names[free] = -1
        return free

    def claim(self, name: str) -> int:
        """The id of the new node ``name``; GE1902 if there is one of that name."""
        if self._names.get(name, -1) >= 0:
            raise GeError(f"two nodes of the name {name}", code="GE1902")
        self._names[name] = self._next_id
        self._next_id += 1
        return self._names[name]

    def op_index(self, name: str) -> int:
        """``OpDef.id`` of a node, as tasks refer to it."""
        return self._names[name]

    def descriptor(self, desc: TensorDesc) -> TensorDescriptor:
        """The message for ``desc``; shared, to be copied and not changed."""
        found = self._descs.get(desc)
        if found is None:
            found = self._descs[desc] = _descriptor(desc)
        return found


def _descriptor(desc: TensorDesc) -> TensorDescriptor:
    out = TensorDescriptor()
    out.dtype = desc.dtype.ge_proto
    out.shape.SetInParent()
    out.shape.dim.extend(desc.shape)
    out.layout = desc.format
    out.has_out_attr = True
    out.size = align(desc.nbytes, 32) + 32
    out.device_type = "NPU"
    out.real_dim_cnt = len(desc.shape)
    origin_format = desc.origin_format or desc.format
    origin_shape = desc.shape if desc.origin_shape is None else desc.origin_shape
    attrs: dict[str, AttrValue] = {
        "format_for_int": FORMATS.get(desc.format, 2),
        "origin_format": origin_format,
        "origin_format_for_int": FORMATS.get(origin_format, 2),
        "origin_shape": Typed("i", origin_shape),
        "origin_shape_initialized": True,
    }
    if desc.dtype.ge_proto:
        attrs["origin_data_type"] = _DTYPE_NAMES[desc.dtype.ge_proto]
    else:
        attrs[DTYPE_KEY] = desc.dtype.name  # GE has no number for it
    set_attrs(out.attr, attrs)
    return out


@dataclass
class GraphWriter:
    """One graph. Nodes are added in execution order, a node after the nodes it reads."""

    model: ModelWriter
    name: str
    graph_def: GraphDef = field(default_factory=GraphDef)
    _outputs: dict[str, list[_Output]] = field(default_factory=dict[str, list[_Output]], repr=False)
    _data: int = 0

    def __post_init__(self) -> None:
        self.graph_def.name = self.name

    def add_data(
        self,
        name: str,
        desc: TensorDesc,
        *,
        place: Arg | None = None,
        parent_index: int | None = None,
        origin_dims: Sequence[int] | None = None,
    ) -> None:
        """A graph input. In the root graph it lies in input region k, k counting the Data nodes (unless ``place``).

        ``parent_index``: in a subgraph, the input of the calling node that it stands for. ``origin_dims``: its shape
        in the model, -1 for sizes that gears give.
        """
        index = self._data
        self._data += 1
        if place is None and parent_index is None:
            place = Arg("input", 0, desc.nbytes, index)
        attrs: dict[str, AttrValue] = {"index": index}
        if parent_index is not None:
            attrs["_parent_node_index"] = parent_index
        if origin_dims is not None:
            attrs[ORIGIN_DIMS] = Typed("i", origin_dims)
        self._add(name, "Data", (), [desc], [place], attrs, ("x",), ("y",))
        self.graph_def.input.append(f"{name}:0")

    def add_const(self, name: str, desc: TensorDesc, source: Source) -> Place:
        """A constant: its bytes (row-major in the order of ``desc.format``) go to WEIGHTS_DATA.

        Returns where they lie, which is what kernel arguments in the region ``weight`` refer to.
        """
        place = self.model.weights.add(source)
        if place.size != desc.nbytes:
            message = f"{place.size} bytes for a {desc.dtype} of shape {list(desc.shape)}"
            raise GeError(message, code="GE1902", where=f"constant {name}")
        value = TensorDef()
        value.desc.CopyFrom(self.model.descriptor(desc))
        value.desc.data_offset, value.desc.weight_size = place.offset, place.size
        arg = Arg("weight", place.offset, place.size)
        self._add(name, "Const", (), [desc], [arg], {"value": value}, (), ("y",), const=place)
        return place

    def add_op(
        self,
        name: str,
        type: str,
        inputs: Sequence[Edge | tuple[str, int] | None],
        outputs: Sequence[TensorDesc],
        *,
        attrs: Mapping[str, AttrValue] | None = None,
        places: Sequence[Arg | None] | None = None,
        input_names: Sequence[str] = (),
        output_names: Sequence[str] = (),
        optional_inputs: Sequence[str] = (),
        stream_id: int = 0,
        workspace: Sequence[Arg] = (),
        control: Sequence[str] = (),
        subgraphs: Sequence[str] = (),
        kernel: tuple[str, int] | None = None,
        original_names: Sequence[str] = (),
    ) -> int:
        """A node of GE type ``type``; returns its id.

        ``inputs``: an edge each, None for an absent optional input. ``outputs``: a type each. ``places``: where each
        output lies in memory, None (or no list) for a value inside a kernel. ``workspace``: scratch of its kernel.
        ``control``: nodes to run before. ``kernel``: (name in the kernel store, blocks). ``original_names``: nodes of
        the source model. GE1902 for an unknown source or ends of an edge that disagree.
        """
        all_attrs: dict[str, AttrValue] = dict(attrs or {})
        if kernel is not None:
            all_attrs |= {"_kernelname": kernel[0], "tvm_blockdim": kernel[1], "imply_type": _TE}
        if original_names:
            all_attrs["original_op_names"] = list(original_names)
        edges = [Edge(*e) if isinstance(e, tuple) else e for e in inputs]
        op = self._add(name, type, edges, outputs, places, all_attrs, input_names, output_names)
        op.stream_id = stream_id
        for source in control:
            op.input.append(f"{source}:-1")
        if optional_inputs:
            op.attr["_opt_input"].list.s.extend(n.encode() for n in optional_inputs)
        for scratch in workspace:
            op.workspace.append(self.model.memory.feature_offset(scratch))
            op.workspace_bytes.append(scratch.nbytes)
        op.subgraph_name.extend(subgraphs)
        return op.id

    def add_net_output(
        self,
        name: str,
        inputs: Sequence[Edge | tuple[str, int]],
        *,
        parent_indices: Sequence[int] | None = None,
        attrs: Mapping[str, AttrValue] | None = None,
    ) -> int:
        """The node that collects the outputs, in order. ``parent_indices``: as for :meth:`add_data`, one each."""
        edges = [Edge(*e) if isinstance(e, tuple) else e for e in inputs]
        op = self._add(name, "NetOutput", edges, (), None, attrs or {}, (), ())
        for number, edge in enumerate(edges):
            op.src_name.append(edge.source)
            op.src_index.append(edge.index)
            self.graph_def.output.append(f"{edge.source}:{edge.index}")
            if parent_indices is not None:
                set_attrs(op.input_desc[number].attr, {"_parent_node_index": parent_indices[number]})
        return op.id

    def _add(
        self,
        name: str,
        type: str,
        inputs: Sequence[Edge | None],
        outputs: Sequence[TensorDesc],
        places: Sequence[Arg | None] | None,
        attrs: Mapping[str, AttrValue],
        input_names: Sequence[str],
        output_names: Sequence[str],
        const: Place | None = None,
    ) -> OpDef:
        places = places if places is not None else [None] * len(outputs)
        if len(places) != len(outputs):
            raise GeError(f"{name}: {len(outputs)} outputs, {len(places)} places", code="GE1902")
        id_ = self.model.claim(name)
        sources = [None if edge is None else self._source(name, edge) for edge in inputs]
        op = self.graph_def.op.add()
        op.name, op.type, op.id, op.has_out_attr = name, type, id_, True
        set_attrs(op.attr, attrs if self.model.gear is None else {**attrs, "_batch_label": f"Batch_{self.model.gear}"})
        set_name_map(op.attr, "_input_name", _names(input_names, len(inputs), "input", name))
        set_name_map(op.attr, "_output_name", _names(output_names, len(outputs), "output", name))
        for edge, source in zip(inputs, sources, strict=True):
            self._add_input(op, edge, source)
        for desc, place in zip(outputs, places, strict=True):
            op.output_desc.add().CopyFrom(self.model.descriptor(desc))
            op.output_i.append(self._offset(place, const))
        self._outputs[name] = [_Output(d, p, const) for d, p in zip(outputs, places, strict=True)]
        return op

    def _source(self, user: str, edge: Edge) -> _Output:
        outputs = self._outputs.get(edge.source, [])
        if not 0 <= edge.index < len(outputs):
            raise GeError(f"{user} reads {edge.source}:{edge.index}, which does not exist", code="GE1902")
        source = outputs[edge.index]
        if edge.shape is not None and prod(edge.shape) != prod(source.desc.shape):
            shapes = f"{list(source.desc.shape)} as {list(edge.shape)}"
            raise GeError(f"{user} reads {edge.source}:{edge.index} of shape {shapes}", code="GE1902")
        return source

    def _add_input(self, op: OpDef, edge: Edge | None, source: _Output | None) -> None:
        desc = op.input_desc.add()
        if edge is None or source is None:
            op.input.append("")
            desc.layout = _ABSENT_FORMAT
            desc.shape.SetInParent()
            op.is_input_const.append(False)
            op.input_i.append(-1)
            return
        op.input.append(f"{edge.source}:{edge.index}")
        kind = source.desc
        if edge.shape is not None:
            kind = replace(kind, shape=edge.shape, origin_shape=None)
        if edge.format is not None:
            kind = replace(kind, format=edge.format, origin_format=None)
        desc.CopyFrom(self.model.descriptor(kind))
        if source.const is not None:
            desc.data_offset, desc.weight_size = source.const.offset, source.const.size
        op.is_input_const.append(source.const is not None)
        op.input_i.append(self._offset(source.place, source.const))

    def _offset(self, place: Arg | None, const: Place | None) -> int:
        if const is not None:
            return const.offset
        return -1 if place is None else self.model.memory.feature_offset(place)


def _names(names: Sequence[str], count: int, kind: str, node: str) -> Sequence[str]:
    """IR names of inputs or outputs; the nameless ones are called as GE calls them."""
    if len(names) > count and kind == "output":
        raise GeError(f"{node}: {len(names)} names for {count} {kind}s", code="GE1902")
    return [*names[:count], *(f"__{kind}{i}" for i in range(len(names), count))]


def tensor_list(tensors: Sequence[TensorInfo]) -> str:
    """The JSON of ``gedialect.inputs`` and ``gedialect.outputs``."""
    entries = [{"name": t.name, "dtype": str(t.dtype), "shape": list(t.shape), "format": t.format} for t in tensors]
    return json.dumps(entries, separators=(",", ":"))


def build_om(
    writer: ModelWriter,
    *,
    inputs: Sequence[TensorInfo],
    outputs: Sequence[TensorInfo],
    tasks: Sequence[Task],
    kernels: Mapping[str, bytes],
    target: str,
    report: Mapping[str, Any],
    attrs: Mapping[str, AttrValue] | None = None,
    gears: Gears | None = None,
) -> OmFile:
    """The finished file: graphs and constants of ``writer``, tasks, kernels, and the model's attributes.

    ``target`` is the ``soc_version`` ("Ascend910B1"); ``report`` is kept as JSON; ``attrs`` adds model attributes.
    """
    if gears is not None:
        attrs = {**(attrs or {}), GEARS_KEY: to_json(gears)}
    memory = replace(writer.memory, weights=writer.weights.size)
    task_def = encode_tasks(tasks, memory)
    model = ModelDef()
    model.name, model.version = writer.name, 1
    for graph in writer.graphs:
        model.graph.add().CopyFrom(graph.graph_def)
    sizes = [memory.weights, kernel_store.size(kernels), 0, task_def.ByteSize(), 0]
    set_attrs(
        model.attr,
        {
            "memory_size": memory.feature_map,
            "zero_copy_memory_size": memory.feature_map - memory.io_start,
            "weight_size": memory.weights,
            "stream_num": stream_count(tasks),
            "event_num": event_count(tasks),
            "label_num": label_count(tasks),
            "notify_num": 0,
            "variable_size": 0,
            "p2p_memory_size": 0,
            "session_scope_memory_size": 0,
            "task_gen_base_addr": memory.base,
            "task_gen_weight_addr": memory.weight_base,
            "task_gen_variable_addr": VARIABLE_BASE,
            "om_info_list": sizes,
            "attr_model_out_nodes_name": Typed("s", [t.name for t in outputs]),
            "core_type": "AiCore",
            "soc_version": target,
            VERSION_KEY: VERSION,
            REPORT_KEY: json.dumps(report, separators=(",", ":")),
            WORKSPACE_KEY: memory.workspace,
            INPUTS_KEY: tensor_list(inputs),
            OUTPUTS_KEY: tensor_list(outputs),
            **(attrs or {}),
        },
    )
    return OmFile(
        name=writer.name,
        model=model,
        tasks=task_def,
        weights=writer.weights,
        kernels=dict(kernels),
        inputs=list(inputs),
        outputs=list(outputs),
        info={} if gears is None else records(gears, inputs),
    )
