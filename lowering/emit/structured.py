"""Modules with branches and loops as one OM: straight pieces, joined by copies and label tasks.

Values that pass between pieces lie side by side at the start of the workspace; the pieces, each planned for itself,
share what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from gedialect.analysis.graph import graph_function
from gedialect.binary.inout import TensorInfo
from gedialect.binary.kernel import Kernel
from gedialect.binary.memory import Arg, Memory
from gedialect.binary.model_def import GraphWriter, ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile
from gedialect.binary.tasks import CopyTask, LabelGoto, LabelSet, LabelSwitch, Task
from gedialect.ir.spec import Spec
from gedialect.targets import Target
from lowering.emit.module import ModuleEmitter

ALIGNMENT = 512


@dataclass
class Piece:
    """A decided module without control flow; ``inputs`` and ``outputs`` are slots."""

    module: ModuleOp
    inputs: list[int]
    outputs: list[int]


@dataclass(frozen=True)
class Copy:
    """The bytes of one slot to another."""

    source: int
    target: int


@dataclass
class Branch:
    """One of two bodies: the second if ``index`` (i32) is 1. They write ``results``."""

    name: str
    index: int
    bodies: list[list[Step]]
    results: list[int]


@dataclass
class Repeat:
    """``test`` writes ``index`` (i32); while that is 1 ``body`` runs. ``results`` are what is carried."""

    name: str
    test: list[Step]
    index: int
    body: list[Step]
    results: list[int]


Step = Piece | Copy | Branch | Repeat


@dataclass
class Program:
    """Steps in order; slots are numbered, ``specs`` says what they hold."""

    inputs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    outputs: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    specs: list[Spec] = field(default_factory=list[Spec])
    steps: list[Step] = field(default_factory=list["Step"])

    def slot(self, spec: Spec) -> int:
        """A new slot."""
        self.specs.append(spec)
        return len(self.specs) - 1


def pieces(steps: Iterable[Step]) -> Iterable[Piece]:
    """All pieces, those of bodies included."""
    for step in steps:
        match step:
            case Piece():
                yield step
            case Branch():
                for body in step.bodies:
                    yield from pieces(body)
            case Repeat():
                yield from pieces(step.test)
                yield from pieces(step.body)
            case Copy():
                pass


def read_slots(steps: Iterable[Step]) -> dict[int, None]:
    """Slots that steps read, in order."""
    found: dict[int, None] = {}
    for step in steps:
        match step:
            case Piece():
                found.update(dict.fromkeys(step.inputs))
            case Copy():
                found[step.source] = None
            case Branch():
                found[step.index] = None
                for body in step.bodies:
                    found.update(read_slots(body))
            case Repeat():
                found.update(read_slots([*step.test, *step.body]))
    return found


def written_slots(steps: Iterable[Step]) -> set[int]:
    """Slots that steps write."""
    found: set[int] = set()
    for step in steps:
        match step:
            case Piece():
                found.update(step.outputs)
            case Copy():
                found.add(step.target)
            case Branch():
                for body in step.bodies:
                    found |= written_slots(body)
            case Repeat():
                found |= written_slots([*step.test, *step.body])
    return found


class Layout:
    """Where the slots of a program lie, and the workspace it needs: its slots, and behind them the largest piece."""

    def __init__(self, program: Program):
        inputs = {slot: i for i, (_, slot) in enumerate(program.inputs)}
        outputs = {slot: i for i, (_, slot) in reversed(list(enumerate(program.outputs)))}
        self.frame = 0
        self.places: list[Arg] = []
        for number, spec in enumerate(program.specs):
            if number in inputs:
                self.places.append(Arg("input", 0, spec.nbytes, inputs[number]))
            elif number in outputs:
                self.places.append(Arg("output", 0, spec.nbytes, outputs[number]))
            else:
                self.places.append(Arg("workspace", self.frame, spec.nbytes))
                self.frame += -(-max(spec.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        self.inputs = [_info(program, n, s) for n, s in program.inputs]
        self.outputs = [_info(program, n, s) for n, s in program.outputs]
        plans = [_plan(p.module) for p in pieces(program.steps)]
        self.workspace = self.frame + max((p[0] for p in plans), default=0)
        self.workspace_no_reuse = self.frame + sum(p[1] for p in plans)
        self.workspace_lower_bound = self.frame + max((p[2] for p in plans), default=0)


def _info(program: Program, name: str, slot: int) -> TensorInfo:
    spec = program.specs[slot]
    return TensorInfo(name, spec.dtype, spec.shape)


def _plan(module: ModuleOp) -> tuple[int, int, int]:
    attributes = graph_function(module).attributes
    sizes = [attributes.get(k) for k in ("ge.workspace", "ge.workspace_no_reuse", "ge.workspace_lower_bound")]
    a, b, c = (s.value.data if isinstance(s, IntegerAttr) else 0 for s in sizes)
    return a, b, c


@dataclass
class Emission:
    """A file being written, by one program or by several one after another. Equal kernels are written once."""

    writer: ModelWriter
    tasks: list[Task] = field(default_factory=list[Task])
    kernels: dict[str, bytes] = field(default_factory=dict[str, bytes])
    programs: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
    kernel_names: dict[str, str] = field(default_factory=dict[str, str])
    emitted_kernels: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    host_ops: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    labels: int = 0

    def label(self) -> int:
        """A new label."""
        self.labels += 1
        return self.labels - 1


class StructuredEmitter:
    """Writes a program; the same lists as ``ModuleEmitter``. ``into``: a file that holds more than this program."""

    def __init__(
        self,
        program: Program,
        target: Target,
        name: str,
        *,
        layout: Layout | None = None,
        into: Emission | None = None,
    ):
        self.program = program
        self.target = target
        layout = Layout(program) if layout is None else layout
        self.places, self.frame = layout.places, layout.frame
        self.inputs, self.outputs = layout.inputs, layout.outputs
        self.workspace = layout.workspace
        self.workspace_no_reuse = layout.workspace_no_reuse
        self.workspace_lower_bound = layout.workspace_lower_bound
        if into is None:
            sizes = [[t.nbytes for t in tensors] for tensors in (self.inputs, self.outputs)]
            into = Emission(ModelWriter(name, Memory(self.workspace, sizes[0], sizes[1], weights=0)))
        self.into = into
        self.writer = into.writer
        self.tasks = into.tasks
        self.kernels = into.kernels
        self.programs = into.programs
        self.kernel_names = into.kernel_names
        self.emitted_kernels = into.emitted_kernels
        self.host_ops = into.host_ops

    def emit(self) -> None:
        """Graphs, weights, kernels and tasks."""
        graph = self.writer.graph("main")
        scope = Scope(graph)
        for name, slot in self.program.inputs:
            node = self.writer.unique(name)
            graph.add_data(node, self.desc(slot))
            scope.edges[slot] = (node, 0)
        edges = self.body(scope)
        graph.add_net_output(self.writer.unique("NetOutput"), edges)

    def body(self, scope: Scope) -> list[tuple[str, int]]:
        """Nodes and tasks of all steps, in a graph that has the inputs; the node outputs that are the results."""
        self._steps(self.program.steps, scope)
        for number, (_, slot) in enumerate(self.program.outputs):
            target = Arg("output", 0, self.program.specs[slot].nbytes, number, "out")
            if (self.places[slot].region, self.places[slot].index) != ("output", number) and target.nbytes:
                index = self.writer.op_index(scope.edges[slot][0])
                self.tasks.append(CopyTask(self.places[slot], target, op_index=index))
        return [scope.edges[s] for _, s in self.program.outputs]

    def desc(self, slot: int) -> TensorDesc:
        """Type of a slot."""
        spec = self.program.specs[slot]
        return TensorDesc(spec.dtype, spec.shape)

    # ------------------------------------------------------------------ steps
    def _steps(self, steps: Sequence[Step], scope: Scope) -> None:
        for step in steps:
            match step:
                case Piece():
                    PieceEmitter(self, step, scope).emit()
                case Copy():
                    source, target = self.places[step.source], replace(self.places[step.target], role="out")
                    index = self.writer.op_index(scope.edges[step.source][0])
                    if source.nbytes:
                        self.tasks.append(CopyTask(source, target, op_index=index))
                    scope.edges[step.target] = scope.edges[step.source]
                case Branch():
                    self._branch(step, scope)
                case Repeat():
                    self._repeat(step, scope)

    def _node(
        self,
        name: str,
        kind: str,
        first: Sequence[int],
        bodies: Sequence[list[Step]],
        results: list[int],
        scope: Scope,
        labels: Sequence[int],
    ) -> tuple[int, list[Scope], list[str]]:
        """The node of an op with bodies: its index, a graph for each body, all of the same inputs, and what nodes of
        these are called after."""
        reads = [s for s in read_slots([x for b in bodies for x in b]) if s in scope.edges]
        values = list(dict.fromkeys([*first, *reads]))
        stems = [f"{name}_{n}" for n in (("body",) if len(bodies) == 1 else ("else", "then"))]
        names = [self.writer.unique(stem) for stem in stems]
        node = self.writer.unique(name)
        index = scope.graph.add_op(
            node,
            kind,
            [scope.edges[s] for s in values],
            [self.desc(s) for s in results],
            places=[self.places[s] for s in results],
            subgraphs=names,
            attrs={"_label_switch_list": list(labels)},
        )
        inner: list[Scope] = []
        for graph_name, stem in zip(names, stems, strict=True):
            body = Scope(self.writer.graph(graph_name))
            for number, slot in enumerate(values):
                data = self.writer.unique(f"{stem}_x{number}")
                body.graph.add_data(data, self.desc(slot), place=self.places[slot], parent_index=number)
                body.edges[slot] = (data, 0)
            inner.append(body)
        for number, slot in enumerate(results):
            scope.edges[slot] = (node, number)
        return index, inner, stems

    def _close(self, scope: Scope, name: str, results: Sequence[int]) -> None:
        found = [s for s in results if s in scope.edges]
        scope.graph.add_net_output(
            self.writer.unique(f"{name}_out"), [scope.edges[s] for s in found], parent_indices=list(range(len(found)))
        )

    def _branch(self, step: Branch, scope: Scope) -> None:
        labels = [self.into.label(), self.into.label()]
        end = self.into.label()
        index, scopes, names = self._node(step.name, "If", [step.index], step.bodies, step.results, scope, labels)
        self.tasks.append(LabelSwitch(self.places[step.index], tuple(labels), op_index=index))
        for label, body, inner, name in zip(labels, step.bodies, scopes, names, strict=True):
            self.tasks.append(LabelSet(label, op_index=index))
            self._steps(body, inner)
            self._close(inner, name, step.results)
            if label == labels[0]:
                self.tasks.append(LabelGoto(end, op_index=index))
        self.tasks.append(LabelSet(end, op_index=index))

    def _repeat(self, step: Repeat, scope: Scope) -> None:
        steps = [*step.test, *step.body]
        head, body, end = self.into.label(), self.into.label(), self.into.label()
        index, (inner,), (name,) = self._node(
            step.name, "While", step.results, [steps], step.results, scope, [end, body]
        )
        self.tasks.append(LabelSet(head, op_index=index))
        self._steps(step.test, inner)
        self.tasks.append(LabelSwitch(self.places[step.index], (end, body), op_index=index))
        self.tasks.append(LabelSet(body, op_index=index))
        self._steps(step.body, inner)
        self._close(inner, name, step.results)
        self.tasks.append(LabelGoto(head, op_index=index))
        self.tasks.append(LabelSet(end, op_index=index))

    def build(self, report: dict[str, Any]) -> OmFile:
        """The finished file."""
        return build_om(
            self.writer,
            inputs=self.inputs,
            outputs=self.outputs,
            tasks=self.tasks,
            kernels=self.kernels,
            target=self.target.name,
            report=report,
            attrs={},
        )


@dataclass
class Scope:
    """A graph under way: the node output that stands for each slot."""

    graph: GraphWriter
    edges: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])


class PieceEmitter(ModuleEmitter):
    """Emits a piece into the file of a program."""

    def __init__(self, owner: StructuredEmitter, piece: Piece, scope: Scope):
        super().__init__(piece.module, owner.target, "piece")
        self.owner = owner
        self.piece = piece
        self.scope = scope
        self.writer = owner.writer
        self.memory = owner.writer.memory
        self.graph = scope.graph
        self.tasks = owner.tasks
        self.kernels = owner.kernels
        self.programs = owner.programs
        self.kernel_names = owner.kernel_names
        self.emitted_kernels = owner.emitted_kernels
        self.host_ops = owner.host_ops

    def locate(self, arg: Arg) -> Arg:
        match arg.region:
            case "input":
                slot = self.owner.places[self.piece.inputs[arg.index]]
            case "output":
                slot = self.owner.places[self.piece.outputs[arg.index]]
            case "workspace":
                return replace(arg, offset=arg.offset + self.owner.frame)
            case _:
                return arg
        return replace(slot, role=arg.role)

    def begin(self) -> None:
        for value, slot in zip(self.block.args, self.piece.inputs, strict=True):
            self.nodes[value] = self.scope.edges[slot]

    def end(self, edges: list[Any]) -> None:
        for slot, edge in zip(self.piece.outputs, edges, strict=True):
            self.scope.edges[slot] = edge
