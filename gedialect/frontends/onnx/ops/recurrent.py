"""LSTM, GRU, RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gedialect.dialects.ge.recurrent import ACTIVATIONS
from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value

DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "LeakyRelu": (0.01, None),
    "ThresholdedRelu": (1.0, None),
    "HardSigmoid": (0.2, 0.5),
    "Elu": (1.0, None),
    "Affine": (1.0, 0.0),
    "ScaledTanh": (1.0, 1.0),
}
"""Alpha and beta of the activations that take them, where none are given."""


def _activations(node: Node, directions: int) -> dict[str, Any]:
    names = node.strs("activations") or DEFAULTS[node.op_type] * directions
    known = {a.lower(): a for a in ACTIVATIONS}
    names = [known.get(n.lower(), n) for n in names]
    unknown = [n for n in names if n not in ACTIVATIONS]
    if unknown:
        raise GeError(f"activation {unknown[0]} does not exist", code="GE1005")
    given = [list(node.floats(f"activation_{n}")) for n in ("alpha", "beta")]
    numbers: list[list[float]] = [[], []]
    for name in names:
        for i, default in enumerate(NUMBERS.get(name, (None, None))):
            numbers[i].append(0.0 if default is None else float(given[i].pop(0)) if given[i] else default)
    return {"activations": names, "activation_alpha": numbers[0], "activation_beta": numbers[1]}


def _recurrent(ctx: Context, node: Node, inputs: int, **attrs: Any) -> Sequence[Value]:
    operands = [node.input(0), node.input(1), node.input(2), *(node.optional(i) for i in range(3, inputs))]
    batch_first = node.int("layout", 0) if node.version >= 14 else 0
    states = [5, 6] if node.op_type == "LSTM" else [5]
    if batch_first:
        for i in (0, *states):
            value = operands[i]
            operands[i] = None if value is None else ctx("transpose", value, perm=[1, 0, 2])
    direction = node.str("direction", "forward").lower()
    rows = ctx.shape(node.input(2))
    clip = node.float("clip", 0.0)
    found = ctx(
        node.op_type.lower(),
        *operands,
        direction=direction,
        hidden_size=node.int("hidden_size", rows[-1]),
        clip=clip if clip > 0 else None,
        **_activations(node, 2 if direction == "bidirectional" else 1),
        **attrs,
    )
    if not batch_first:
        return found
    return [ctx("transpose", found[0], perm=[2, 0, 1, 3]), *(ctx("transpose", s, perm=[1, 0, 2]) for s in found[1:])]


@onnx_op("LSTM", since=7)
def lstm(ctx: Context, node: Node) -> Sequence[Value]:
    return _recurrent(ctx, node, 8, input_forget=bool(node.int("input_forget", 0)))


@onnx_op("GRU", since=7)
def gru(ctx: Context, node: Node) -> Sequence[Value]:
    return _recurrent(ctx, node, 6, linear_before_reset=bool(node.int("linear_before_reset", 0)))


@onnx_op("RNN", since=7)
def rnn(ctx: Context, node: Node) -> Sequence[Value]:
    return _recurrent(ctx, node, 6)
