"""Ops on strings. Those that ONNX states for numbers too are registered under the domain ``TEXT``."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from gedialect.dialects.ge.attrs import TextType, ValueType
from gedialect.dialects.ge.text import compiled
from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import TEXT, onnx_op
from gedialect.frontends.onnx.values import Value


@onnx_op("StringConcat", since=20, any_value=True)
def string_concat(ctx: Context, node: Node) -> Value:
    return ctx.host("text_concat", node.input(0), node.input(1), types=[TextType()])[0]


@onnx_op("Equal", domain=TEXT)
def equal(ctx: Context, node: Node) -> Value:
    return ctx.host("text_equal", node.input(0), node.input(1), types=[ValueType()])[0]


@onnx_op("Identity", domain=TEXT)
def identity(ctx: Context, node: Node) -> Value:
    return node.input(0)


@onnx_op("StringSplit", since=20, any_value=True)
def string_split(ctx: Context, node: Node) -> Sequence[Value]:
    return ctx.host(
        "text_split",
        node.input(0),
        delimiter=node.str("delimiter", "") or None,
        maxsplit=node.int("maxsplit") if node.has("maxsplit") else None,
        types=[TextType(), ValueType()],
    )


@onnx_op("RegexFullMatch", since=20, any_value=True)
def regex_full_match(ctx: Context, node: Node) -> Value:
    compiled(node.str("pattern"))
    return ctx.host("text_match", node.input(0), pattern=node.str("pattern"), types=[ValueType()])[0]


@onnx_op("StringNormalizer", since=10, any_value=True)
def string_normalizer(ctx: Context, node: Node) -> Value:
    action = node.str("case_change_action", "NONE")
    if action not in ("LOWER", "UPPER", "NONE"):
        raise GeError(f"case_change_action {action} is none of LOWER, UPPER, NONE", code="GE1005")
    return ctx.host(
        "text_normalize",
        node.input(0),
        action=action,
        case_sensitive=bool(node.int("is_case_sensitive", 0)),
        stopwords=ArrayAttr([StringAttr(w) for w in node.strs("stopwords")]),
        types=[TextType()],
    )[0]
