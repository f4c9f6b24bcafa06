"""Several programs of one model as one OM, one for each gear: a switch jumps to the tasks of the gear that runs.

GE's graph: a ``Case`` over one subgraph a gear. Weights are one partition, so equal ones are stored once; equal kernels
are written once; gears never run together, so each starts at the start of the workspace. What chooses the gear is an
input behind those of the model that holds its number: the runtime knows it, because it has to make the outputs. (GE
passes the sizes, and a ``MapIndex`` on the AI CPU makes the number of them.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gedialect.binary.gears import (
    CASE,
    INDEX,
    OUTPUT_DIMS,
    TYPE_NUMBERS,
    Gear,
    Gears,
    Kind,
    common_shape,
    largest,
    output_dims,
    shape_order,
)
from gedialect.binary.inout import TensorInfo
from gedialect.binary.memory import Arg, Memory
from gedialect.binary.model_def import ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile
from gedialect.binary.protos.attrs import AttrValue, Typed
from gedialect.binary.tasks import LabelGoto, LabelSet, LabelSwitch, Task
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.targets import Target
from lowering.emit.structured import Emission, Layout, Program, Scope, StructuredEmitter

_INDEX_DESC = TensorDesc(dtypes.I32, ())


@dataclass(frozen=True)
class Part:
    """What one gear is in the lists of the file."""

    layout: Layout
    tasks: list[Task]
    """Those of a run, the switch included."""
    kernels: list[dict[str, Any]]
    host_ops: list[dict[str, str]]


class GearsEmitter:
    """Writes the programs of all gears. ``values`` of gear N are those of ``programs[N]``; ``shapes`` are those of the
    inputs in the model, -1 where gears give the size."""

    def __init__(
        self,
        kind: Kind,
        values: Sequence[tuple[int, ...]],
        programs: Sequence[Program],
        shapes: Mapping[str, tuple[int, ...]],
        target: Target,
        name: str,
    ):
        self.target = target
        self.programs = programs
        self.layouts = [Layout(program) for program in programs]
        by_gear = [
            Gear(v, tuple(t.shape for t in layout.inputs), tuple(t.shape for t in layout.outputs))
            for v, layout in zip(values, self.layouts, strict=True)
        ]
        self.gears = Gears(kind, tuple(by_gear))
        self.inputs = [
            TensorInfo(t.name, t.dtype, shapes[t.name], t.format, self._room("inputs", n))
            for n, t in enumerate(self.layouts[0].inputs)
        ]
        self.outputs = [self._output(n, t) for n, t in enumerate(self.layouts[0].outputs)]
        workspace = max(layout.workspace for layout in self.layouts)
        sizes = [self._room("inputs", n) for n in range(len(self.inputs))] + [_INDEX_DESC.nbytes]
        memory = Memory(workspace, sizes, [self._room("outputs", n) for n in range(len(self.outputs))], weights=0)
        self.into = Emission(ModelWriter(name, memory))
        self.writer = self.into.writer
        self.parts: list[Part] = []

    def _tensors(self, what: str, number: int) -> list[TensorInfo]:
        """An input or output in all gears."""
        return [getattr(layout, what)[number] for layout in self.layouts]

    def _room(self, what: str, number: int) -> int:
        return max(t.nbytes for t in self._tensors(what, number))

    def _output(self, number: int, first: TensorInfo) -> TensorInfo:
        found = self._tensors("outputs", number)
        ranks = [len(t.shape) for t in found]
        for n, rank in enumerate(ranks):
            if rank != ranks[0]:
                raise UnsupportedError(
                    f"output {first.name} has rank {ranks[0]} with {self.gears.name(0)}, "
                    f"rank {rank} with {self.gears.name(n)}",
                    code="GE1205",
                    hint="an output has one rank: give the Squeeze in the model its axes, or leave out a gear",
                )
        shape = common_shape([t.shape for t in found])
        return TensorInfo(first.name, first.dtype, shape, first.format, self._room("outputs", number))

    def emit(self) -> None:
        """Graphs, weights, kernels and tasks."""
        writer, tasks = self.writer, self.into.tasks
        root = writer.graph("main")
        edges: list[tuple[str, int]] = []
        for number, tensor in enumerate(self.inputs):
            node = writer.unique(tensor.name)
            root.add_data(node, self._largest("inputs", number), origin_dims=_if_unknown(tensor))
            edges.append((node, 0))
        index = writer.unique(INDEX)
        root.add_data(index, _INDEX_DESC)
        place = Arg("input", 0, _INDEX_DESC.nbytes, len(self.inputs))
        graphs = [writer.unique(f"Batch_{n}") for n in range(len(self.programs))]
        labels = [self.into.label() for _ in self.programs]
        end = self.into.label()
        case = writer.unique(CASE)
        outputs = [self._largest("outputs", n) for n in range(len(self.outputs))]
        at = root.add_op(
            case,
            "Case",
            [(index, 0), *edges],
            outputs,
            attrs=self._attributes(labels),
            places=[Arg("output", 0, desc.nbytes, n) for n, desc in enumerate(outputs)],
            input_names=["branch_index", *(f"input{n}" for n in range(len(edges)))],
            output_names=[f"output{n}" for n in range(len(outputs))],
            subgraphs=graphs,
        )
        tasks.append(LabelSwitch(place, tuple(labels), op_index=at))
        for number, graph in enumerate(graphs):
            self._gear(number, graph, labels[number], end, at)
        tasks.append(LabelSet(end, op_index=at))
        root.add_net_output(
            writer.unique("NetOutput"),
            [(case, n) for n in range(len(outputs))],
            attrs={OUTPUT_DIMS: Typed("s", output_dims(self.gears))},
        )

    def _largest(self, what: str, number: int) -> TensorDesc:
        tensors = self._tensors(what, number)
        found = tensors[largest([t.shape for t in tensors])]
        assert found.dtype is not None
        return TensorDesc(found.dtype, found.shape)

    def _attributes(self, labels: Sequence[int]) -> dict[str, AttrValue]:
        return {
            "_batch_num": len(labels),
            "_label_switch_list": list(labels),
            "mbatch-inserted-node": True,
            "mbatch_dynamic_type": TYPE_NUMBERS[self.gears.kind],
            "user_designate_shape_order": Typed("s", shape_order(self.inputs)),
            **{f"_pred_value_{n}": list(gear.values) for n, gear in enumerate(self.gears.gears)},
        }

    def _gear(self, number: int, graph: str, label: int, end: int, case: int) -> None:
        program, layout, into = self.programs[number], self.layouts[number], self.into
        starts = len(into.tasks), len(into.emitted_kernels), len(into.host_ops)
        into.tasks.append(LabelSet(label, op_index=case))
        self.writer.gear = number
        self.writer.weights.deep = number > 0  # what gears make in different ways may be the same
        emitter = StructuredEmitter(program, self.target, self.writer.name, layout=layout, into=into)
        scope = Scope(self.writer.graph(graph))
        for parent, ((name, slot), tensor) in enumerate(zip(program.inputs, self.inputs, strict=True), start=1):
            node = self.writer.unique(name)
            scope.graph.add_data(
                node,
                emitter.desc(slot),
                place=layout.places[slot],
                parent_index=parent,
                origin_dims=_if_unknown(tensor),
            )
            scope.edges[slot] = (node, 0)
        edges = emitter.body(scope)
        scope.graph.add_net_output(self.writer.unique("NetOutput"), edges, parent_indices=list(range(len(edges))))
        self.writer.gear = None
        if number + 1 < len(self.programs):
            into.tasks.append(LabelGoto(end, op_index=case))
        kernels, host_ops = into.emitted_kernels[starts[1] :], into.host_ops[starts[2] :]
        for entry in (*kernels, *host_ops):
            entry["gear"] = self.gears.name(number)
        self.parts.append(Part(layout, [into.tasks[0], *into.tasks[starts[0] :]], kernels, host_ops))

    def build(self, report: dict[str, Any]) -> OmFile:
        """The finished file."""
        return build_om(
            self.writer,
            inputs=self.inputs,
            outputs=self.outputs,
            tasks=self.into.tasks,
            kernels=self.into.kernels,
            target=self.target.name,
            report=report,
            gears=self.gears,
        )


def _if_unknown(tensor: TensorInfo) -> tuple[int, ...] | None:
    return tensor.shape if -1 in tensor.shape else None
