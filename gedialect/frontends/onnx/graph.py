"""Walks the nodes of a model in order and calls their converters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from gedialect.dialects.ge.attrs import ON_HOST, TextType, ValueType
from gedialect.dialects.ge.base import GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import HostOp, is_late
from gedialect.dialects.ge.folding import foldable
from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx import functions
from gedialect.frontends.onnx.context import Context, LateError, Node, name_value, node_name
from gedialect.frontends.onnx.control import Subgraphs
from gedialect.frontends.onnx.late import defer, takes_operands, unknown, waits
from gedialect.frontends.onnx.registry import TEXT, Converter, lookup, takes_any_value
from gedialect.frontends.onnx.values import Const, TensorReader, Value, spec_of_tensor_type
from gedialect.ir import sources
from gedialect.ir.input_shapes import format_input_shapes
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type

Scope = dict[str, Value]
Attributes = Mapping[str, AttributeProto]


def canonical_domain(domain: str) -> str:
    """ "" for the ai.onnx domain in either spelling."""
    return "" if domain == "ai.onnx" else domain


class Importer:
    """Imports one model; ``file`` names it in errors."""

    def __init__(self, model: ModelProto, reader: TensorReader, file: str | None):
        self.model = model
        self.file = file
        self.block = Block()
        self.ctx = Context(self.block, reader)
        self.waiting = False
        """Nodes over unknown sizes wait (``ge.late``): the sizes of the inputs are known, so these come from data."""
        self.pinned: NodeProto | None = None
        """A node that may not wait."""
        self.nesting = 0
        self.expanded = 0
        self.bodies = 0
        self.opsets = {canonical_domain(o.domain): o.version for o in model.opset_import}
        self.functions: dict[tuple[str, str, str], FunctionProto] = {
            (canonical_domain(f.domain), f.name, f.overload): f for f in model.functions
        }

    # ------------------------------------------------------------------ the graph
    def run(self, input_shapes: Mapping[str, Sequence[int]] | None) -> ModuleOp:
        """The module; see ``import_model`` for errors."""
        self._check_graph()
        if "" not in self.opsets:
            # files of IR version 2 and before have no opset import: opset 1
            self.opsets.setdefault("", 1)
        graph = self.model.graph
        functions.check_text(graph.node, (*graph.input, *graph.output, *graph.initializer))
        nodes = sorted_nodes(graph.node, self._outer_names(graph))
        functions.check_supported(self, nodes)
        scope: Scope = {}
        for tensor in graph.initializer:
            scope[tensor.name] = self.ctx.read(tensor)
        if len(graph.sparse_initializer):
            raise UnsupportedError("sparse initialisers are not supported", code="GE1203")
        inputs = [i for i in graph.input if i.name not in scope]
        types, arg_attrs = self._arguments(inputs, scope, input_shapes or {})
        self.waiting = all(isinstance(t, ON_HOST) or spec_of(t).is_static for t in types)
        self.convert(nodes, scope, self.opsets)
        results = self._results(graph, scope)
        function_type = FunctionType.from_lists(types, [r.type for r in results])
        self.block.add_op(ReturnOp(*results))
        self._drop_unused()
        function = FuncOp(
            "main",
            function_type,
            Region(self.block),
            arg_attrs=ArrayAttr(arg_attrs),
            res_attrs=ArrayAttr([DictionaryAttr({"ge.name": StringAttr(o.name)}) for o in graph.output]),
        )
        return ModuleOp([function])

    def inputs(self, input_shapes: Mapping[str, Sequence[int]] | None) -> ModuleOp:
        """A function with the model's inputs that does nothing."""
        self._check_graph()
        weights = {t.name for t in self.model.graph.initializer}
        inputs = [i for i in self.model.graph.input if i.name not in weights]
        types, arg_attrs = self._arguments(inputs, {}, input_shapes or {})
        self.block.add_op(ReturnOp())
        function_type = FunctionType.from_lists(types, [])
        return ModuleOp([FuncOp("main", function_type, Region(self.block), arg_attrs=ArrayAttr(arg_attrs))])

    def _check_graph(self) -> None:
        if not self.model.HasField("graph") or not (self.model.graph.node or self.model.graph.output):
            raise GeError("the file holds no graph", code="GE1003", hint="is it an ONNX model?")

    @staticmethod
    def _outer_names(graph: GraphProto) -> set[str]:
        return {i.name for i in graph.input} | {i.name for i in graph.initializer}

    def _arguments(
        self, inputs: Sequence[onnx.ValueInfoProto], scope: Scope, shapes: Mapping[str, Sequence[int]]
    ) -> tuple[list[Attribute], list[DictionaryAttr]]:
        unknown = [name for name in shapes if name not in {i.name for i in inputs}]
        if unknown:
            raise GeError(
                f"the model has no input {unknown[0]!r}",
                code="GE1004",
                hint=f"its inputs are {', '.join(i.name for i in inputs) or 'none'}",
            )
        types: list[Attribute] = []
        attrs: list[DictionaryAttr] = []
        for value in inputs:
            if value.name in scope:
                raise GeError(f"two inputs are named {value.name!r}", code="GE1007")
            if value.type.tensor_type.elem_type == TensorProto.STRING:
                self._value_argument(value, scope, {}, types, attrs)
                continue
            if value.type.WhichOneof("value") in ("sequence_type", "optional_type"):
                if not _holds_tensor(value) or value.name not in shapes:
                    self._value_argument(value, scope, shapes, types, attrs)
                    continue
                value = onnx.ValueInfoProto(name=value.name, type=value.type.optional_type.elem_type)
            spec, dims, dtype = spec_of_tensor_type(value)
            if value.name in shapes:
                given = tuple(shapes[value.name])
                spec = Spec(dtype, given) if spec is None else _specialize(value.name, spec, given)
            if spec is None:
                raise GeError(
                    f"the rank of input {value.name!r} is unknown",
                    code="GE1014",
                    hint=f'give its shape: --input-shape "{value.name}:1,..."',
                )
            types.append(tensor_type(spec))
            arg = self.block.insert_arg(types[-1], len(self.block.args))
            name_value(arg, value.name)
            scope[value.name] = arg
            entry: dict[str, Attribute] = {"ge.name": StringAttr(value.name)}
            if not spec.is_static:
                names = [
                    n if s == DYNAMIC else str(s) for n, s in zip(dims or ["?"] * spec.rank, spec.shape, strict=True)
                ]
                entry["ge.dims"] = ArrayAttr([StringAttr(n) for n in names])
            attrs.append(DictionaryAttr(entry))
        return types, attrs

    def _value_argument(
        self,
        value: onnx.ValueInfoProto,
        scope: Scope,
        shapes: Mapping[str, Sequence[int]],
        types: list[Attribute],
        attrs: list[DictionaryAttr],
    ) -> None:
        """An input that is a sequence, strings, or may be missing."""
        if value.name in shapes:
            raise GeError(f"input {value.name!r} is a sequence and has no shape", code="GE1004")
        types.append(TextType() if value.type.HasField("tensor_type") else ValueType())
        arg = self.block.insert_arg(types[-1], len(self.block.args))
        name_value(arg, value.name)
        scope[value.name] = arg
        attrs.append(DictionaryAttr({"ge.name": StringAttr(value.name)}))

    def _drop_unused(self) -> None:
        """Remove what nothing reads, such as arithmetic on sizes that turned out to be known."""
        for op in reversed(list(self.block.ops)):
            if isinstance(op, GeOp) and (isinstance(op, ConstantOp | HostOp) or foldable(type(op))):
                if not any(r.first_use is not None for r in op.results):
                    self.block.erase_op(op)

    def _results(self, graph: GraphProto, scope: Scope) -> list[SSAValue]:
        results: list[SSAValue] = []
        seen: set[str] = set()
        for output in graph.output:
            if output.name in seen:
                raise GeError(f"{output.name!r} is listed twice as a graph output", code="GE1007")
            seen.add(output.name)
            value = scope.get(output.name)
            if value is None:
                raise GeError(f"graph output {output.name!r} is not computed by any node", code="GE1007")
            results.append(self.ctx.ssa(value))
        return results

    # ------------------------------------------------------------------ nodes
    def convert(
        self,
        nodes: Sequence[NodeProto],
        scope: Scope,
        opsets: Mapping[str, int],
        attributes: Attributes = {},
        depth: int = 0,
        *,
        nested: bool = False,
    ) -> None:
        """Convert sorted nodes, reading and adding names in ``scope``; ``attributes`` are a function's own.

        ``nested``: the nodes are those of a graph inside a node.
        """
        if nested:
            self.nesting += 1
            if self.nesting > functions.MAX_DEPTH:
                raise GeError(f"graphs are nested {self.nesting} deep", code="GE1008", hint="flatten them")
        ctx = self.ctx
        outer = (ctx.location, ctx.node)
        try:
            for proto in nodes:
                # inside a function ops keep the name of the calling node
                if depth == 0:
                    ctx.location = sources.name_loc(node_name(proto))
                try:
                    self._count(depth > 0 or nested)
                    self._convert(proto, scope, opsets, attributes, depth)
                except GeError as e:
                    place = f"node {node_name(proto)}"
                    if e.where is None and not isinstance(e, functions.UnsupportedOps):
                        if f"{proto.op_type}" not in e.message:
                            e.message = f"{proto.op_type}: {e.message}"
                        e.where = f"{self.file}: {place}" if self.file else place
                    raise
        finally:
            ctx.location, ctx.node = outer
            self.nesting -= nested

    def _count(self, inside: bool) -> None:
        """GE1008 for functions that call others several times each, down to billions of nodes."""
        self.expanded += inside
        if self.expanded > functions.MAX_NODES:
            raise GeError(
                f"functions and graphs inside nodes expand to more than {functions.MAX_NODES} nodes",
                code="GE1008",
                hint="call them less often",
            )

    def _convert(
        self, proto: NodeProto, scope: Scope, opsets: Mapping[str, int], attributes: Attributes, depth: int
    ) -> None:
        domain = canonical_domain(proto.domain)
        inputs: list[Value | None] = []
        for name in proto.input:
            value = scope.get(name) if name else None
            if name and value is None:
                raise GeError(f"{proto.op_type} reads {name!r}, which is not defined", code="GE1007")
            inputs.append(value)
        version = opsets.get(domain, 1)
        node = Node(proto, inputs, version, _resolve(proto, attributes))
        ctx = self.ctx
        ctx.node = node
        values: list[Value | None]
        converter = lookup(domain, proto.op_type, version)
        if (domain, proto.op_type) in functions.WITH_GRAPHS:
            values = Subgraphs(self, node, scope, opsets, attributes, depth).convert()
        elif converter is None:
            late = functions.needs_types(self, node) and any(v is not None and self._is_late(v) for v in inputs)
            values = defer(ctx, node, version) if late else functions.expand(self, node, opsets, depth)
        else:
            values = self._through(converter, node)
        values += [None] * (len(proto.output) - len(values))
        for name, value in zip(proto.output, values, strict=False):
            if name:
                if name in scope:
                    raise GeError(f"{name!r} is defined twice", code="GE1007", hint="names of a graph are unique")
                if value is None:
                    raise UnsupportedError(f"{proto.op_type}: its result {name!r} is not supported", code="GE1205")
                scope[name] = value
                if not isinstance(value, Const):
                    name_value(value, name)

    @staticmethod
    def _is_late(value: Value) -> bool:
        return not isinstance(value, Const) and is_late(value)

    def _through(self, converter: Converter, node: Node) -> list[Value | None]:
        """The results of a converter, or of the node kept for later where it cannot be converted yet."""
        ctx = self.ctx
        may_wait = node.proto is not self.pinned
        if any(_is_text(v) for v in node.inputs) and not takes_any_value(node.op_type):
            instead = lookup(TEXT, node.op_type, node.version)
            if instead is None:
                raise UnsupportedError(f"{node.op_type} of strings is not supported", code="GE1203")
            return [cast("Value", instead(ctx, node))]
        blind = any(v is not None and self._is_late(v) for v in node.inputs)
        if (blind or (self.waiting and waits(ctx, node.inputs))) and not takes_any_value(node.op_type):
            if may_wait:
                return defer(ctx, node, node.version)
            raise LateError(f"{node.op_type} needs tensors of known sizes", code="GE1205")
        before = ctx.block.last_op
        try:
            outputs = converter(ctx, node)
        except UnsupportedError as e:
            # what fails for want of sizes may do with them
            sizes = e.code == "GE1205" and waits(ctx, node.inputs) and not takes_any_value(node.op_type)
            if may_wait and (isinstance(e, LateError) or sizes):
                return defer(ctx, node, node.version)
            raise
        except (ArithmeticError, MemoryError) as e:
            what = f"{node.op_type} cannot have these attributes and sizes: {str(e) or type(e).__name__}"
            raise GeError(what, code="GE1005", hint="correct the node") from e
        values: list[Value | None] = list(outputs) if isinstance(outputs, list | tuple) else [cast("Value", outputs)]
        if may_wait and self.waiting and any(unknown(v) for v in values) and takes_operands(ctx, before):
            return defer(ctx, node, node.version)
        return values


def _is_text(value: Value | None) -> bool:
    return value is not None and not isinstance(value, Const) and isinstance(value.type, TextType)


def _holds_tensor(value: onnx.ValueInfoProto) -> bool:
    """Whether an input is an optional tensor, which is there if its shape is given."""
    return value.type.HasField("optional_type") and value.type.optional_type.elem_type.HasField("tensor_type")


def _resolve(proto: NodeProto, outer: Attributes) -> dict[str, AttributeProto]:
    """The node's attributes by name; references to attributes of the enclosing function are followed."""
    found: dict[str, AttributeProto] = {}
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in outer:
            found[attribute.name] = outer[attribute.ref_attr_name]
    return found


def _specialize(name: str, spec: Spec, given: tuple[int, ...]) -> Spec:
    fits = len(given) == spec.rank and all(
        g in (s, DYNAMIC) or s == DYNAMIC for g, s in zip(given, spec.shape, strict=True)
    )
    if not fits or any(d < DYNAMIC for d in given):
        raise GeError(
            f"shape {format_input_shapes({name: given})} does not fit input {name!r} of type {spec}", code="GE1004"
        )
    return spec.with_shape([s if g == DYNAMIC else g for g, s in zip(given, spec.shape, strict=True)])


def reads(node: NodeProto) -> Iterable[str]:
    """Names a node reads: its inputs, and what its graphs read from outside."""
    if (canonical_domain(node.domain), node.op_type) not in functions.WITH_GRAPHS:
        return node.input
    names = list(node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            graph = attribute.g
            inside = {t.name for t in graph.initializer} | {i.name for i in graph.input}
            inside.update(o for inner in graph.node for o in inner.output)
            names += [n for inner in graph.node for n in reads(inner) if n not in inside]
            names += [o.name for o in graph.output if o.name not in inside]
    return names


def sorted_nodes(nodes: Sequence[NodeProto], defined: set[str]) -> list[NodeProto]:
    """The nodes so that each comes after those it reads, in the given order where that is so already.

    Raises GE1007 if a name is defined nowhere or by two nodes, or if there is a cycle (naming a node on it).
    """
    seen = set(defined)
    in_order = True
    for node in nodes:
        if in_order and any(i and i not in seen for i in reads(node)):
            in_order = False
        seen.update(node.output)
    if in_order:
        return list(nodes)
    producer: dict[str, int] = {o: i for i, n in enumerate(nodes) for o in n.output if o}
    order: list[NodeProto] = []
    state = [0] * len(nodes)  # 0 new, 1 being visited, 2 done
    for root in range(len(nodes)):
        stack = [root]
        while stack:
            at = stack[-1]
            if state[at] == 2:
                stack.pop()
                continue
            state[at] = 1
            waiting = None
            for name in reads(nodes[at]):
                if not name or name in defined:
                    continue
                if name not in producer:
                    raise GeError(
                        f"{nodes[at].op_type} node {node_name(nodes[at])} reads {name!r}, which is not defined",
                        code="GE1007",
                    )
                before = producer[name]
                if state[before] == 1:
                    raise GeError(
                        f"the graph has a cycle through node {node_name(nodes[before])}",
                        code="GE1007",
                        hint="a node may not depend on its own result",
                    )
                if state[before] == 0:
                    waiting = before
                    break
            if waiting is None:
                state[at] = 2
                order.append(nodes[at])
                stack.pop()
            else:
                stack.append(waiting)
    return order
