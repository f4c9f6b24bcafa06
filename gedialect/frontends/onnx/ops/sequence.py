"""Sequences and optional values, which the host holds."""

from __future__ import annotations

from gedialect.dialects.ge.control import FLAG, INDEX, is_late
from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Const, Value


@onnx_op("SequenceEmpty", since=11, any_value=True)
def sequence_empty(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_construct", [])[0]


@onnx_op("SequenceConstruct", since=11, any_value=True)
def sequence_construct(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_construct", [node.input(i) for i in range(len(node.inputs))])[0]


@onnx_op("SequenceAt", since=11, any_value=True)
def sequence_at(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_at", node.input(0), node.input(1))[0]


@onnx_op("SequenceInsert", since=11, any_value=True)
def sequence_insert(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_insert", node.input(0), node.input(1), node.optional(2))[0]


@onnx_op("SequenceErase", since=11, any_value=True)
def sequence_erase(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_erase", node.input(0), node.optional(1))[0]


@onnx_op("SequenceLength", since=11, any_value=True)
def sequence_length(ctx: Context, node: Node) -> Value:
    return ctx.host("sequence_length", node.input(0), types=[INDEX])[0]


@onnx_op("ConcatFromSequence", since=11, any_value=True)
def concat_from_sequence(ctx: Context, node: Node) -> Value:
    new = bool(node.int("new_axis", 0))
    return ctx.host("sequence_concat", node.input(0), axis=node.int("axis"), new_axis=new)[0]


@onnx_op("SplitToSequence", since=11, any_value=True)
def split_to_sequence(ctx: Context, node: Node) -> Value:
    keep = bool(node.int("keepdims", 1))
    x, split = node.input(0), node.optional(1)
    return ctx.host("sequence_split", x, split, axis=node.int("axis", 0), keepdims=keep)[0]


@onnx_op("Optional", since=15, any_value=True)
def optional(ctx: Context, node: Node) -> Value:
    """A value that is there is itself."""
    value = node.optional(0)
    return ctx.host("optional", None)[0] if value is None else value


@onnx_op("OptionalHasElement", since=15, any_value=True)
def optional_has_element(ctx: Context, node: Node) -> Value:
    value = node.optional(0)
    if value is None or isinstance(value, Const) or not is_late(value):
        return ctx.const(value is not None)
    return ctx.host("optional_has_element", value, types=[FLAG])[0]


@onnx_op("OptionalGetElement", since=15, any_value=True)
def optional_get_element(ctx: Context, node: Node) -> Value:
    value = node.optional(0)
    if value is None:
        raise GeError("the optional value is missing", code="GE1005")
    if isinstance(value, Const) or not is_late(value):
        return value
    return ctx.host("optional_get_element", value)[0]
