"""Nodes that wait: ``ge.late`` keeps a node until the values that say what it means are there."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto, parser, printer
from xdsl.ir import Block, SSAValue

from gedialect.dialects.ge.attrs import ValueType
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.control import LateOp, is_late
from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, LateError, Node
from gedialect.frontends.onnx.values import Const, TensorReader, Value
from gedialect.ir.sources import names
from gedialect.ir.spec import spec_of

FORMAT = "onnx"


def waits(ctx: Context, values: Sequence[Value | None]) -> bool:
    """Whether one of the values has no tensor type yet, or unknown sizes."""
    return any(unknown(v) for v in values)


def unknown(value: Value | None) -> bool:
    """Whether a value has no tensor type yet, or unknown sizes."""
    if value is None or isinstance(value, Const):
        return False
    return is_late(value) or not spec_of(value.type).is_static


def defer(ctx: Context, node: Node, opset: int) -> list[Value | None]:
    """The results of a ``ge.late`` that keeps ``node``."""
    proto = node.resolved()
    proto.ClearField("name")
    proto.ClearField("doc_string")
    given: list[SSAValue] = []
    for i, value in enumerate(node.inputs):
        proto.input[i] = "" if value is None else f"x{len(given)}"
        if value is not None:
            given.append(ctx.ssa(value))
    wanted = [i for i in range(len(proto.output)) if node.wants(i)]
    for i in range(len(proto.output)):
        proto.output[i] = f"y{i}" if i in wanted else ""
    # large tensors of attributes stay where they are
    file = ctx.reader.file if any(a.t.HasField("segment") or len(a.t.external_data) for a in proto.attribute) else None
    op = LateOp.make(
        [given],
        {"format": FORMAT, "node": _text(proto), "opset": opset, "file": file},
        types=[ValueType()] * len(wanted),
        location=ctx.location,
    )
    ctx.block.add_op(op)
    results = iter(op.results)
    return [next(results) if i in wanted else None for i in range(len(proto.output))]


def _text(proto: NodeProto) -> str:
    """ONNX's text of a node where that says all of it, else its bytes."""
    try:
        text = " ".join(printer.to_text(proto).split())
        if _plain(parser.parse_node(text)) == _plain(proto):
            return text
    except Exception:  # onnx has no class of its own for what its text cannot say
        pass
    return "0x" + proto.SerializeToString().hex()


def _plain(proto: NodeProto) -> NodeProto:
    """A copy without fields that say nothing."""
    copy = NodeProto()
    copy.CopyFrom(proto)
    for name in ("name", "domain", "overload", "doc_string"):
        if not getattr(copy, name):
            copy.ClearField(name)
    for attribute in copy.attribute:
        for name in ("doc_string", "ref_attr_name"):
            if not getattr(attribute, name):
                attribute.ClearField(name)
    return copy


def _node(op: LateOp) -> NodeProto:
    text = op.node.data
    try:
        if text.startswith("0x"):
            return NodeProto.FromString(bytes.fromhex(text[2:]))
        return parser.parse_node(text)
    except (ValueError, DecodeError, parser.ParseError) as e:
        raise GeError(f"the node of ge.late is damaged: {str(e).strip():.200}", code="GE1101") from None


def resolve(op: LateOp) -> list[SSAValue] | None:
    """The values that replace the results of ``op``, made by ops put before it; None if it has to wait on.

    Operands made by ``ge.constant`` count as known. Raises what the node's converter raises, placed at the node.
    """
    from gedialect.frontends.onnx.graph import Importer

    proto = _node(op)
    file = op.file.data if op.file is not None else None
    importer = Importer(ModelProto(), TensorReader(file), None)
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    opset = int(op.opset.value.data)
    ctx = importer.ctx
    ctx.location = op.location
    scope: dict[str, Value] = {}
    for name, value in zip((n for n in proto.input if n), op.x, strict=True):
        owner = value.owner
        if isinstance(owner, ConstantOp):
            constant = Const(spec_of(value.type), attr=owner.value)
            constant.ssa = value
            scope[name] = constant
        else:
            scope[name] = value
    place = next(iter(names(op)), proto.op_type)
    outputs = [o for o in proto.output if o]
    importer.pinned = proto
    importer.waiting = True
    try:
        importer.convert([proto], scope, {"": opset, domain: opset}, {}, 1)
        values = [ctx.ssa(scope[o]) for o in outputs]
    except LateError:
        discard(ctx.block)
        return None
    except GeError as e:
        e.where = f"node {place}"
        raise
    parent = op.parent
    assert parent is not None
    for made in list(ctx.block.ops):
        made.detach()
        parent.insert_op_before(made, op)
    return values


def discard(block: Block) -> None:
    """Erase the ops of a block that nobody needs."""
    for op in reversed(list(block.ops)):
        block.erase_op(op, safe_erase=False)


def takes_operands(ctx: Context, before: object) -> bool:
    """Whether an op made after op ``before`` takes a parameter as an operand."""
    op = ctx.block.last_op
    while op is not None and op is not before:
        pairs = getattr(type(op), "CONST_OPERANDS", ())
        if pairs and any(n in {o for o, _ in pairs} for n in op.operand_names()):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
            return True
        op = op.prev_op
    return False
