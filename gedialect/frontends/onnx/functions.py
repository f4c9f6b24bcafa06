"""Ops without a converter: bodies of functions (the model's own, or those ONNX states for its ops)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto, defs

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Node, node_name
from gedialect.frontends.onnx.registry import lookup
from gedialect.frontends.onnx.values import Value
from gedialect.ir.spec import DYNAMIC

if TYPE_CHECKING:
    from gedialect.frontends.onnx.graph import Importer

MAX_NODES = 1 << 16
"""Nodes inside functions and graphs of nodes, each counted as often as it is called."""
MAX_DEPTH = 16


class UnsupportedOps(UnsupportedError):
    """The one error that lists all op types without a converter."""


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


@cache
def _schema(domain: str, op_type: str, version: int) -> Any:
    """The op's schema, None if there is none; onnx's stubs lack its members about functions."""
    try:
        return defs.get_schema(op_type, version, domain)
    except (defs.SchemaError, TypeError):  # TypeError: a version beyond 32 bits
        return None


@cache
def _schema_has_body(domain: str, op_type: str, version: int) -> bool:
    schema = _schema(domain, op_type, version)
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def check_text(nodes: Iterable[NodeProto], named: Iterable[onnx.ValueInfoProto | onnx.TensorProto]) -> None:
    """GE1003 if a name is not UTF-8 text, which protobuf then hands out as bytes."""
    try:
        for node in nodes:
            "".join((node.op_type, node.domain, node.name, *node.input, *node.output))
        "".join(value.name for value in named)
    except TypeError:
        raise GeError("a name in the model is not UTF-8 text", code="GE1003", hint="the file is damaged") from None


WITH_GRAPHS = frozenset({("", "If"), ("", "Loop"), ("", "Scan"), ("", "SequenceMap")})
"""Op types whose attributes are graphs."""


def needs_types(importer: Importer, node: Node) -> bool:
    """Whether the body of a node without converter depends on the types of its inputs."""
    domain = _domain(node.domain)
    if (domain, node.op_type, node.proto.overload) in importer.functions:
        return False
    schema = _schema(domain, node.op_type, node.version)
    return schema is not None and not schema.has_function and bool(schema.has_context_dependent_function)


def check_supported(importer: Importer, nodes: Sequence[NodeProto]) -> None:
    """One UnsupportedError GE1201 that lists every op type that can be neither converted nor expanded."""
    missing: dict[tuple[str, str, int], list[str]] = {}
    known: set[tuple[str, str, int]] = set()
    functions_of = {id(f): {_domain(o.domain): o.version for o in f.opset_import} for f in importer.functions.values()}
    entered: set[tuple[str, str, str]] = set()
    work: list[tuple[Sequence[NodeProto], Mapping[str, int]]] = [(nodes, importer.opsets)]
    while work:
        batch, opsets = work.pop()
        check_text(batch, ())
        for proto in batch:
            domain = _domain(proto.domain)
            key = (domain, proto.op_type, opsets.get(domain, 0))
            if key in known:
                continue
            local = (domain, proto.op_type, proto.overload)
            if (domain, proto.op_type) in WITH_GRAPHS:
                work += [(a.g.node, opsets) for a in proto.attribute if a.type == AttributeProto.GRAPH]
            elif lookup(*key) is not None:
                known.add(key)
            elif local in importer.functions:
                if local not in entered:
                    entered.add(local)
                    body = importer.functions[local]
                    work.append((body.node, {**importer.opsets, **functions_of[id(body)]}))
            elif _schema_has_body(*key):
                known.add(key)
            else:
                missing.setdefault(key, []).append(node_name(proto))
    if not missing:
        return
    lines = [
        f"{domain + '.' if domain else ''}{op} (opset {version}): {len(names)} node{'s' * (len(names) > 1)}, "
        f"such as {names[0]}"
        for (domain, op, version), names in sorted(missing.items())
    ]
    count = sum(len(n) for n in missing.values())
    raise UnsupportedOps(
        f"{len(missing)} op type{'s' * (len(missing) > 1)} of this model ({count} node{'s' * (count > 1)}) "
        f"{'are' if len(missing) > 1 else 'is'} not supported: {', '.join(op for _, op, _ in sorted(missing))}",
        hint="export the model without them",
        details=tuple(lines),
    )


def expand(importer: Importer, node: Node, opsets: Mapping[str, int], depth: int) -> list[Value | None]:
    """Convert a node through the body of its function."""
    body = _body(importer, node)
    if body is None:
        raise UnsupportedOps(
            f"op type {node.op_type} (domain {node.domain or 'ai.onnx'}, opset {node.version}) is not supported",
            details=(f"such as node {node.name}",),
        )
    if depth >= MAX_DEPTH:
        raise GeError(
            f"functions call each other {MAX_DEPTH} deep, or in a cycle, at function {body.name}",
            code="GE1008",
            hint="a function may not call itself",
        )
    from gedialect.frontends.onnx.graph import sorted_nodes

    scope: dict[str, Value] = {}
    absent: set[str] = set()
    for i, name in enumerate(body.input):
        value = node.optional(i)
        if value is None:
            absent.add(name)
        else:
            scope[name] = value
    attributes: dict[str, AttributeProto] = {a.name: a for a in body.attribute_proto}
    attributes.update(_defaults(node))
    attributes.update({a.name: node.attribute(a.name) for a in node.proto.attribute if node.has(a.name)})
    nodes = [_without(n, absent) for n in body.node]
    inner = {**opsets, **{_domain(o.domain): o.version for o in body.opset_import}}
    importer.convert(sorted_nodes(nodes, set(scope)), scope, inner, attributes, depth + 1)
    return [scope.get(o) for o in body.output]


def _without(proto: NodeProto, absent: set[str]) -> NodeProto:
    """The node with absent optional inputs written as such."""
    if not absent.intersection(proto.input):
        return proto
    copy = NodeProto()
    copy.CopyFrom(proto)
    for i, name in enumerate(copy.input):
        if name in absent:
            copy.input[i] = ""
    return copy


def _defaults(node: Node) -> dict[str, AttributeProto]:
    schema = _schema(_domain(node.domain), node.op_type, node.version)
    if schema is None:
        return {}
    found: dict[str, AttributeProto] = {}
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        if default.type != AttributeProto.UNDEFINED:
            proto = AttributeProto()
            proto.CopyFrom(default)
            proto.name = name
            found[name] = proto
    return found


def _body(importer: Importer, node: Node) -> FunctionProto | None:
    domain = _domain(node.domain)
    local = importer.functions.get((domain, node.op_type, node.proto.overload))
    if local is not None:
        return local
    schema = _schema(domain, node.op_type, node.version)
    if schema is None:
        return None
    if schema.has_function:
        return schema.function_body
    if not schema.has_context_dependent_function:
        return None
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.version]
    types = [_type_proto(importer, node.optional(i)) for i in range(len(node.inputs))]
    data = schema.get_context_dependent_function_with_opset_version(
        max(versions, default=schema.since_version), node.resolved().SerializeToString(), types
    )
    body = onnx.FunctionProto()
    body.ParseFromString(data)
    return body if len(body.node) else None


def _type_proto(importer: Importer, value: Value | None) -> bytes:
    proto = TypeProto()
    if value is not None:
        spec = importer.ctx.spec(value)
        proto.tensor_type.elem_type = spec.dtype.onnx
        shape = proto.tensor_type.shape
        for size in spec.shape:
            dim = shape.dim.add()
            if size != DYNAMIC:
                dim.dim_value = size
    return proto.SerializeToString()
