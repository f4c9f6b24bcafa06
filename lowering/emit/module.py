"""A decided ge module as an OM: graph, weights, kernels and task list.

Const-derived ops are evaluated here, one at a time. Kernels of equal groups are written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from gedialect.analysis.aliasing import root
from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_function
from gedialect.binary.inout import TensorInfo
from gedialect.binary.kernel import Kernel
from gedialect.binary.kernel_codec import encode
from gedialect.binary.memory import Arg, Memory, Role
from gedialect.binary.model_def import ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile
from gedialect.binary.tasks import SEGMENTS, CopyTask, HostTask, HostValue, KernelTask, Task
from gedialect.dialects.ge.attrs import KernelAttr, PlaceAttr, SplatAttr
from gedialect.dialects.ge.base import GeOp, is_view
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.errors import GeError
from gedialect.interpreter import input_names, output_names
from gedialect.ir.sources import names
from gedialect.ir.spec import Spec, spec_of
from gedialect.targets import Target
from lowering.emit.constants import Constants
from lowering.kernels.generators import kernel_program, signature

SPLAT_BYTES = 4096
"""A constant of one value above this size, inside a kernel, is written as that value."""


class ModuleEmitter:
    """Writes one decided module; ``report`` is called with the emitter's lists before the file is closed."""

    def __init__(self, module: ModuleOp, target: Target, name: str):
        self.function: FuncOp = graph_function(module)
        self.block = self.function.body.block
        self.target = target
        self.inputs = [
            TensorInfo(n, s.dtype, s.shape)
            for n, s in zip(input_names(self.function), map(spec_of, self.function.function_type.inputs), strict=True)
        ]
        self.outputs = [
            TensorInfo(n, s.dtype, s.shape)
            for n, s in zip(output_names(self.function), map(spec_of, self.function.function_type.outputs), strict=True)
        ]
        memory = Memory(
            workspace=_int_attribute(self.function, "ge.workspace"),
            inputs=[t.nbytes for t in self.inputs],
            outputs=[t.nbytes for t in self.outputs],
            weights=0,
        )
        self.memory = memory
        self.workspace = memory.workspace
        self.workspace_no_reuse = _int_attribute(self.function, "ge.workspace_no_reuse")
        self.workspace_lower_bound = _int_attribute(self.function, "ge.workspace_lower_bound")
        self.writer = ModelWriter(name, memory)
        self.graph = self.writer.graph("main")
        self.constant = const_derived(self.block)
        self.constants = Constants()
        self.const_args: dict[SSAValue, Arg] = {}
        self.nodes: dict[SSAValue, tuple[str, int]] = {}
        self.tasks: list[Task] = []
        self.kernels: dict[str, bytes] = {}
        self.programs: dict[str, Kernel] = {}
        self.kernel_names: dict[str, str] = {}
        self.emitted_kernels: list[dict[str, Any]] = []
        self.host_ops: list[dict[str, str]] = []

    # ------------------------------------------------------------------ constants
    def const_arg(self, value: SSAValue) -> Arg:
        """Where a const-derived value lies in the weights; added on first use, with its node."""
        if value not in self.const_args:
            spec = spec_of(value.type)
            node = self.writer.unique(self._name(value))
            place = self.graph.add_const(node, _desc(spec), self.constants.source(value))
            self.const_args[value] = Arg("weight", place.offset, spec.nbytes)
            self.nodes[value] = (node, 0)
        return self.const_args[value]

    # ------------------------------------------------------------------ places
    def arg_of(self, value: SSAValue, role: Role = "in") -> Arg:
        """Where a value lies while the model runs."""
        spec = spec_of(value.type)
        base = root(value)
        if value in self.constant:
            return self.const_arg(value)
        if isinstance(base, BlockArgument):
            return self.locate(Arg("input", 0, spec.nbytes, base.index, role))
        place = self._place(base)
        if place.region.data == "output":
            return self.locate(Arg("output", 0, spec.nbytes, place.at.data, role))
        return self.locate(Arg("workspace", place.at.data, spec.nbytes, 0, role))

    def locate(self, arg: Arg) -> Arg:
        """Where bytes of this module lie in the file's memory: the same, unless it is a part of a larger one."""
        return arg

    def _place(self, value: SSAValue) -> PlaceAttr:
        assert isinstance(value, OpResult)
        op = value.op
        places = op.attributes.get("place")
        if places is None:
            raise GeError(
                f"{op.name} has no place in memory", code="GE1404", where=_node(op), hint="run plan-memory first"
            )
        return cast("ArrayAttr[PlaceAttr]", places).data[value.index]

    # ------------------------------------------------------------------ graph nodes
    def _name(self, value: SSAValue) -> str:
        op = value.owner
        found: tuple[str, ...] = names(op) if isinstance(op, Operation) else ()
        return found[0] if found else value.name_hint or "value"

    def _edge(self, value: SSAValue | None) -> Any:
        if value is None:
            return None
        if value not in self.nodes and value in self.constant:
            self.const_arg(value)
        return self.nodes[value]

    def _add_node(self, op: GeOp, kernel: tuple[str, int] | None, place: bool, alias: dict[SSAValue, SSAValue]) -> int:
        """The graph node of an op; ``alias`` maps a fusion's inner values to outer ones."""
        flat: list[Any] = []
        input_names_: list[str] = []
        optional: list[str] = []
        for (name, kind), group in zip(op.operand_kinds(), op.operand_groups(), strict=True):
            values = group if isinstance(group, list) else [group]
            for i, v in enumerate(values):
                flat.append(self._edge(alias.get(v, v) if v is not None else None))
                input_names_.append(f"{name}{i}" if kind == "variadic" else name)
            if kind == "optional":
                optional.append(name)
        while flat and flat[-1] is None:
            flat.pop()
            input_names_.pop()
        node = self.writer.unique(self._name(op.results[0]))
        arg: Callable[[SSAValue], Arg | None] = lambda v: self.arg_of(v, "out") if place else None  # noqa: E731
        index = self.graph.add_op(
            node,
            op.GE_TYPES[0] if op.GE_TYPES else op.name.removeprefix("ge."),
            inputs=flat,
            outputs=[_desc(spec_of(r.type)) for r in op.results],
            attrs=_node_attrs(op),
            places=[arg(r) for r in op.results],
            input_names=input_names_,
            output_names=[n for n, _ in type(op).get_irdl_definition().results][: len(op.results)]
            if len(op.results) == len(type(op).get_irdl_definition().results)
            else [f"y{i}" for i in range(len(op.results))],
            optional_inputs=[n for n in optional if n in input_names_],
            kernel=kernel,
            original_names=list(names(op)),
        )
        for i, r in enumerate(op.results):
            self.nodes[r] = (node, i)
        return index

    # ------------------------------------------------------------------ tasks
    def emit(self) -> None:
        """Graph, weights, kernels and tasks of the whole function."""
        self.begin()
        for op in self.block.ops:
            if op.results and all(r in self.constant for r in op.results):
                continue
            if isinstance(op, ReturnOp):
                self._return(op)
            elif isinstance(op, FusionOp):
                self._kernel(op)
            elif isinstance(op, GeOp):
                index = self._add_node(op, None, not is_view(type(op)), {})
                if not is_view(type(op)):
                    self._host(op, index)
            else:
                raise GeError(f"{op.name} cannot be emitted", code="GE1206", where=_node(op))

    def begin(self) -> None:
        """The nodes of the inputs."""
        for info, value in zip(self.inputs, self.block.args, strict=True):
            node = self.writer.unique(info.name)
            self.graph.add_data(node, _desc(spec_of(value.type)))
            self.nodes[value] = (node, 0)

    def _kernel(self, fusion: FusionOp) -> None:
        attr = fusion.attributes.get("kernel")
        if not isinstance(attr, KernelAttr):
            raise GeError("a fusion has no kernel", code="GE1404", where=_node(fusion), hint="run select-kernels first")
        args = [self.arg_of(v) for v in fusion.operands] + [self.arg_of(r, "out") for r in fusion.results]
        if attr.scratch.data:
            scratch = fusion.attributes.get("scratch_place")
            assert isinstance(scratch, PlaceAttr)
            args.append(self.locate(Arg("workspace", scratch.at.data, attr.scratch.data, 0, "scratch")))
        key = signature(fusion)
        name = self.kernel_names.get(key)
        if name is None:
            label = fusion.attributes.get("label")
            base = cast(Any, label).data if label is not None else "kernel"
            name = self.kernel_names[key] = f"k{len(self.kernels)}_{base[:48]}"
            self.programs[name] = kernel_program(fusion, name, self.target)
            self.kernels[name] = encode(self.programs[name])
        block = fusion.body.block
        alias: dict[SSAValue, SSAValue] = dict(zip(block.args, fusion.operands, strict=True))
        index = 0
        for op in block.ops:
            if isinstance(op, ConstantOp):
                self._inner_constant(op)
            elif isinstance(op, GeOp):
                index = self._add_node(op, (name, attr.blocks.data), False, alias)
        last = block.last_op
        assert last is not None
        for outer, inner in zip(fusion.results, last.operands, strict=True):
            self.nodes[outer] = self.nodes[alias.get(inner, inner)]
        self.tasks.append(KernelTask(name, attr.blocks.data, tuple(args), op_index=index))
        self.emitted_kernels.append(
            {
                "name": name,
                "kind": attr.kind.data,
                "nodes": list(names(fusion)),
                "blocks": attr.blocks.data,
            }
        )

    def _inner_constant(self, op: ConstantOp) -> None:
        """The node of a constant that the kernel's code holds; of a splat only one element is written."""
        spec = spec_of(op.y.type)
        node = self.writer.unique(self._name(op.y))
        value: Any = ConstantOp.evaluate(op.attrs())
        if isinstance(op.value, SplatAttr) and spec.nbytes > SPLAT_BYTES:
            spec, value = spec.with_shape(()), value.reshape(-1)[0]
        array: Any = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        self.graph.add_const(node, _desc(spec), array)
        self.nodes[op.y] = (node, 0)

    def _host(self, op: GeOp, index: int) -> None:
        operands: list[HostValue | None] = []
        groups: list[int] = []
        for group in op.operand_groups():
            groups.append(len(group) if isinstance(group, list) else -1)
            for v in group if isinstance(group, list) else [group]:
                operands.append(None if v is None else self._host_value(v, "in"))
        self.tasks.append(
            HostTask(
                op.name,
                {"attrs": _json_attrs(op), SEGMENTS: groups},
                tuple(operands),
                tuple(self._host_value(r, "out") for r in op.results),
                op_index=index,
            )
        )
        self.host_ops.append({"op": op.name, "node": self._name(op.results[0])})

    def _host_value(self, value: SSAValue, role: Role) -> HostValue:
        spec = spec_of(value.type)
        return HostValue(self.arg_of(value, role), spec.dtype, spec.shape)

    def _return(self, op: ReturnOp) -> None:
        edges: list[Any] = []
        for i, value in enumerate(op.operands):
            spec = spec_of(value.type)
            source = self.arg_of(value)
            target = self.locate(Arg("output", 0, spec.nbytes, i, "out"))
            edges.append(self._edge(value))
            if (source.region, source.index, source.offset) != (target.region, target.index, target.offset):
                if spec.nbytes:
                    node = edges[-1][0]
                    self.tasks.append(CopyTask(source, target, op_index=self.writer.op_index(node)))
        self.end(edges)

    def end(self, edges: list[Any]) -> None:
        """The node of the outputs."""
        self.graph.add_net_output(self.writer.unique("NetOutput"), edges)

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


def _node(op: Operation) -> str | None:
    found = list(names(op))
    return f"node {found[0]}" if found else None


def _desc(spec: Spec) -> TensorDesc:
    return TensorDesc(spec.dtype, spec.shape)


def _int_attribute(function: FuncOp, name: str) -> int:
    attr = function.attributes.get(name)
    if not isinstance(attr, IntegerAttr):
        raise GeError(f"the function has no {name}", code="GE1404", hint="run plan-memory first")
    return attr.value.data


def _json_attrs(op: GeOp) -> dict[str, Any]:
    return {k: list(cast("tuple[Any, ...]", v)) if isinstance(v, tuple) else v for k, v in op.attrs().items()}


def _node_attrs(op: GeOp) -> dict[str, Any]:
    """Attributes for the graph node: plain values; others as text."""
    out: dict[str, Any] = {}
    for key, value in op.attrs().items():
        if isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            if items:
                out[key] = list(items)
        elif isinstance(value, bool | int | float | str):
            out[key] = value
        else:
            out[key] = str(value)
    return out
