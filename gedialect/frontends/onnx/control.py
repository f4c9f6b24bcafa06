"""If, Loop, Scan and SequenceMap: ge.if and ge.loop, whose bodies read values of the outside directly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from onnx import AttributeProto, GraphProto
from xdsl.ir import Attribute, Block, Region, SSAValue

from gedialect.dialects.ge.attrs import ON_HOST, ValueType
from gedialect.dialects.ge.control import FLAG, INDEX, IfOp, LoopOp, is_late, merged_type
from gedialect.dialects.ge.fusion import YieldOp
from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Node
from gedialect.frontends.onnx.functions import check_text
from gedialect.frontends.onnx.late import discard
from gedialect.frontends.onnx.values import Const, Value
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type

if TYPE_CHECKING:
    from gedialect.frontends.onnx.graph import Importer

Attributes = Mapping[str, AttributeProto]
MAX_BODIES = 2000
"""Bodies of loops converted for one model, each time counted."""
UNREACHED = ("GE1005", "GE1009", "GE1205")
"""Errors of a branch that only matter if it is taken."""
MAX_WIDENINGS = 4
"""Times a loop is converted again because a value it carries changes its type; then it has none."""


class Subgraphs:
    """Converts the graphs inside one node, in the scope of that node."""

    def __init__(
        self,
        importer: Importer,
        node: Node,
        scope: dict[str, Value],
        opsets: Mapping[str, int],
        attributes: Attributes,
        depth: int,
    ):
        self.importer = importer
        self.ctx = importer.ctx
        self.node = node
        self.scope = scope
        self.opsets = opsets
        self.attributes = attributes
        self.depth = depth

    def convert(self) -> list[Value | None]:
        """The results of the node."""
        kinds: dict[str, Callable[[], Sequence[Value]]] = {
            "If": self._if,
            "Loop": self._loop,
            "Scan": self._scan,
            "SequenceMap": self._sequence_map,
        }
        return list(kinds[self.node.op_type]())

    # ------------------------------------------------------------------ graphs
    def _graph(self, name: str) -> GraphProto:
        return self.node.graph(name)

    def _inline(self, graph: GraphProto, arguments: Sequence[Value]) -> list[Value]:
        """The outputs of a graph, its ops added where the context stands."""
        from gedialect.frontends.onnx.graph import sorted_nodes

        check_text(graph.node, (*graph.input, *graph.output, *graph.initializer))
        if len(arguments) != len(graph.input):
            raise GeError(f"graph {graph.name} takes {len(graph.input)} inputs, not {len(arguments)}", code="GE1005")
        inner = dict(self.scope)
        for defined in (o for n in graph.node for o in n.output):
            inner.pop(defined, None)  # a name of the outside that the graph defines again
        for tensor in graph.initializer:
            inner[tensor.name] = self.ctx.read(tensor)
        for value, argument in zip(graph.input, arguments, strict=True):
            inner[value.name] = argument
        self.importer.convert(
            sorted_nodes(graph.node, set(inner)), inner, self.opsets, self.attributes, self.depth, nested=True
        )
        outputs: list[Value] = []
        for output in graph.output:
            value = inner.get(output.name)
            if value is None:
                raise GeError(f"graph output {output.name!r} is not computed by any node", code="GE1007")
            outputs.append(value)
        return outputs

    def _body(self, types: Sequence[Attribute], build: Callable[[list[SSAValue]], Sequence[Value]]) -> Block:
        """A block with arguments of ``types`` that yields what ``build`` makes of them."""
        ctx = self.ctx
        outer, ctx.block = ctx.block, Block(arg_types=types)
        try:
            outputs = build(list(ctx.block.args))
            ctx.block.add_op(YieldOp.create(operands=[ctx.ssa(v) for v in outputs]))
            return ctx.block
        except GeError:
            discard(ctx.block)
            raise
        finally:
            ctx.block = outer

    def _failing(self, error: GeError, results: int) -> Block:
        """A body that raises ``error`` if it is reached."""
        place = f"{error.where}: " if error.where is not None else ""

        def build(_: list[SSAValue]) -> Sequence[Value]:
            message = f"{place}{error.message}"
            return self.ctx.host("fail", types=[ValueType()] * results, message=message)

        return self._body((), build)

    def _type(self, value: Value) -> Attribute:
        return tensor_type(value.spec) if isinstance(value, Const) else value.type

    # ------------------------------------------------------------------ If
    def _if(self) -> Sequence[Value]:
        ctx, condition = self.ctx, self.node.input(0)
        known = ctx.known(condition)
        if known is not None:
            if known.size != 1:
                raise GeError(f"the condition has {known.size} elements, one is needed", code="GE1005")
            return self._inline(self._graph("then_branch" if known.reshape(-1)[0] else "else_branch"), ())
        then_graph, else_graph = self._graph("then_branch"), self._graph("else_branch")
        if len(then_graph.output) != len(else_graph.output):
            raise GeError("the branches have different numbers of outputs", code="GE1005")
        bodies: list[Block] = []
        errors: list[GeError] = []
        for graph in (then_graph, else_graph):
            try:
                bodies.append(self._body((), lambda _, g=graph: self._inline(g, ())))
            except GeError as e:
                # exporters write branches that only hold for other sizes
                errors.append(e)
                if e.code not in UNREACHED or len(errors) == 2:
                    raise
                bodies.append(self._failing(e, len(graph.output)))
        op = IfOp.of(ctx.ssa(condition), bodies[0], bodies[1], ctx.location)
        ctx.block.add_op(op)
        return op.results

    # ------------------------------------------------------------------ loops
    def _repeat(
        self,
        trip: Value | None,
        condition: Value | None,
        init: Sequence[Value],
        build: Callable[[list[SSAValue]], Sequence[Value]],
        rounds: int = DYNAMIC,
    ) -> Sequence[SSAValue]:
        """A ``ge.loop``; the types of carried values are widened until the body keeps them."""
        ctx = self.ctx
        types = [self._type(v) for v in init]
        for attempt in range(MAX_WIDENINGS + 1):
            self.importer.bodies += 1
            if self.importer.bodies > MAX_BODIES:
                raise GeError("the loops of the model do not settle", code="GE1008", hint="flatten nested loops")
            block = self._body([INDEX, FLAG, *types], build)
            last = block.last_op
            assert last is not None
            given = [v.type for v in last.operands]
            wider = [merged_type(a, b) for a, b in zip(types, given[1 : 1 + len(types)], strict=True)]
            if wider == types:
                break
            types = wider if attempt < MAX_WIDENINGS - 1 else [ValueType()] * len(types)
            discard(block)
        else:
            raise GeError("the types of what the loop carries do not settle", code="GE1005")
        op = LoopOp.make(
            [
                None if trip is None else ctx.ssa(trip),
                None if condition is None else ctx.ssa(condition),
                [ctx.ssa(v) for v in init],
            ],
            types=[*types, *(_stacked(t, rounds) for t in given[1 + len(types) :])],
            location=ctx.location,
        )
        op.add_region(Region(block))
        ctx.block.add_op(op)
        return op.results

    def _loop(self) -> Sequence[Value]:
        node, graph = self.node, self._graph("body")
        init = [node.input(i) for i in range(2, len(node.inputs))]
        if len(graph.input) != 2 + len(init) or len(graph.output) < 1 + len(init):
            raise GeError(f"the body does not fit the {len(init)} values the loop carries", code="GE1005")
        return self._repeat(node.optional(0), node.optional(1), init, lambda args: self._inline(graph, args))

    def _scan(self) -> Sequence[Value]:
        """A loop that picks its element of each scanned input. Before opset 9 there is a batch axis in front."""
        ctx, node, graph = self.ctx, self.node, self._graph("body")
        old = node.version < 9
        if old and node.optional(0) is not None:
            raise UnsupportedError("sequence_lens of Scan are not supported", code="GE1205")
        values = [node.input(i) for i in range(1 if old else 0, len(node.inputs))]
        scanned = node.int("num_scan_inputs")
        if not 1 <= scanned <= len(values) or len(graph.output) < len(values) - scanned:
            raise GeError(f"{scanned} scan inputs do not fit the node", code="GE1005")
        outputs = len(graph.output) - (len(values) - scanned)
        if not old:
            axes = self._list("scan_input_axes", scanned), self._list("scan_output_axes", outputs)
            turns = self._list("scan_input_directions", scanned), self._list("scan_output_directions", outputs)
            return self._scan_one(graph, values, scanned, axes, turns)
        turns = self._list("directions", scanned), [0] * outputs
        batch = ctx.shape(values[0])[0]
        if batch in (DYNAMIC, 0):
            raise UnsupportedError("a Scan over an unknown number of sequences is not supported", code="GE1205")
        each = [
            self._scan_one(graph, [_row(self, v, b) for v in values], scanned, ([0] * scanned, [0] * outputs), turns)
            for b in range(batch)
        ]
        return [ctx("pack", list(column), axis=0) for column in zip(*each, strict=True)]

    def _list(self, name: str, count: int) -> list[int]:
        found = self.node.ints(name, [0] * count)
        if len(found) != count:
            raise GeError(f"{name} has {len(found)} entries, {count} are needed", code="GE1005")
        return found

    def _scan_one(
        self,
        graph: GraphProto,
        values: Sequence[Value],
        scanned: int,
        axes: tuple[list[int], list[int]],
        turns: tuple[list[int], list[int]],
    ) -> list[Value]:
        ctx = self.ctx
        init, inputs = values[: len(values) - scanned], values[len(values) - scanned :]
        places = [ctx.axis(a, ctx.rank(v)) for a, v in zip(axes[0], inputs, strict=True)]
        lengths = {ctx.shape(v)[a] for a, v in zip(places, inputs, strict=True)}
        if len(lengths - {DYNAMIC}) > 1:
            raise GeError(f"scan inputs have different lengths: {sorted(lengths)}", code="GE1005")
        length = max(lengths)
        trip: Value = ctx.const(length, dtypes.I64)
        if length == DYNAMIC:
            size = ctx("shape", inputs[0], start=places[0], end=places[0] + 1)
            trip = ctx.reshape(size, [])

        def build(args: list[SSAValue]) -> list[Value]:
            at, going, *state = args
            backwards = ctx("sub", ctx("sub", trip, ctx.const(1, dtypes.I64)), at) if any(turns[0]) else at
            picked = [
                ctx("gather", v, backwards if turn else at, axis=axis, batch_dims=0)
                for v, axis, turn in zip(inputs, places, turns[0], strict=True)
            ]
            return [going, *self._inline(graph, [*state, *picked])]

        results = self._repeat(trip, None, init, build, length)
        final: list[Value] = list(results[: len(init)])
        for value, axis, turn in zip(results[len(init) :], axes[1], turns[1], strict=True):
            made: Value = value
            if turn:
                made = ctx("slice", made, None, None, None, begin=[-1], end=[-(2**31)], axes=[0], strides=[-1])
            rank = ctx.rank(made)
            place = ctx.axis(axis, rank)
            if place:
                made = ctx("transpose", made, perm=[*range(1, place + 1), 0, *range(place + 1, rank)])
            final.append(made)
        return final

    def _sequence_map(self) -> Sequence[Value]:
        """A loop over the elements of the first sequence; other inputs are sequences too, or tensors for all rounds."""
        ctx, node, graph = self.ctx, self.node, self._graph("body")
        values = [node.input(i) for i in range(len(node.inputs))]
        if not values or isinstance(values[0], Const) or not is_late(values[0]):
            raise GeError("the first input is no sequence", code="GE1005")
        if len(values) != len(graph.input):
            raise GeError(f"the body takes {len(graph.input)} inputs, not {len(values)}", code="GE1005")
        sequences = [_is_sequence(v) for v in values]
        trip = ctx.host("sequence_length", values[0], types=[INDEX])[0]
        empty = [ctx.host("sequence_construct", [])[0] for _ in graph.output]

        def build(args: list[SSAValue]) -> list[Value]:
            at, going, *made = args
            elements = [ctx.host("sequence_at", v, at)[0] if s else v for v, s in zip(values, sequences, strict=True)]
            outputs = self._inline(graph, elements)
            return [going, *(ctx.host("sequence_insert", m, o, None)[0] for m, o in zip(made, outputs, strict=True))]

        return self._repeat(trip, None, cast("list[Value]", empty), build)


def _is_sequence(value: Value) -> bool:
    return not isinstance(value, Const) and is_late(value)


def _row(graphs: Subgraphs, value: Value, index: int) -> Value:
    """One entry of the first axis, without it."""
    ctx = graphs.ctx
    row = ctx("slice", value, None, None, None, begin=[index], end=[index + 1], axes=[0], strides=[1])
    return ctx("squeeze", row, axes=[0])


def _stacked(type_: Attribute, rounds: int) -> Attribute:
    if isinstance(type_, ON_HOST):
        return type_
    spec = spec_of(type_)
    return tensor_type(Spec(spec.dtype, (rounds, *spec.shape)))
