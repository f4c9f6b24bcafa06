"""LSTM, GRU and RNN through the whole path against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_models import Array, floats, model, node, reference, same

import gedialect

T, B, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(op: str, *, extra: dict[str, Array] = {}, host: bool = False, time: int = T, **attrs: Any) -> None:
    """One layer with weights and bias; ``extra`` operands by name."""
    directions = 2 if attrs.get("direction") == "bidirectional" else 1
    rows = GATES[op] * HIDDEN
    weights = {
        "w": floats(directions, rows, INPUTS, seed=1),
        "r": floats(directions, rows, HIDDEN, seed=2) * np.float32(0.5),
        "b": floats(directions, 2 * rows, seed=3),
    }
    batch_first = attrs.get("layout")
    inputs = {"x": floats(B, time, INPUTS) if batch_first else floats(time, B, INPUTS), **extra}
    names = ["x", "w", "r", "b", *(n if n in extra else "" for n in ("lens", "h", "c", "p"))]
    while not names[-1]:
        names.pop()
    outputs = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    m = model([node(op, names, outputs, hidden_size=HIDDEN, **attrs)], inputs, outputs, weights=weights, opset=14)
    want = reference(m, inputs)
    for level in ("O0", "O2"):
        executable = gedialect.compile(m, level=level)
        got = executable.run(inputs, sanitize=True)
        assert bool(executable.report.host_ops) == host
        for g, w in zip(got.values(), want, strict=True):
            same(g, w, 2e-5)


LENGTHS = {"lens": np.array([5, 2, 3], np.int32)}
H, C = floats(1, B, HIDDEN, seed=4), floats(1, B, HIDDEN, seed=5)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_directions(op: str, direction: str) -> None:
    layer(op, direction=direction)
    layer(op, direction=direction, extra=LENGTHS)


@pytest.mark.parametrize("op", GATES)
def test_states_and_clip(op: str) -> None:
    layer(op, extra={"h": H, "c": C} if op == "LSTM" else {"h": H}, clip=0.4)


def test_peepholes() -> None:
    layer("LSTM", extra={"h": H, "c": C, "p": floats(1, 3 * HIDDEN, seed=6)})


def test_input_forget() -> None:
    layer("LSTM", input_forget=1)


def test_linear_before_reset() -> None:
    layer("GRU", linear_before_reset=1, direction="bidirectional")


@pytest.mark.parametrize(
    "names", [["Relu"], ["HardSigmoid"], ["LeakyRelu"], ["Softsign"], ["Softplus"], ["Affine"], ["ScaledTanh"]]
)
def test_activations(names: list[str]) -> None:
    numbers: dict[str, Any] = {}
    if names[0] in ("HardSigmoid", "LeakyRelu", "Affine", "ScaledTanh"):
        numbers["activation_alpha"] = [0.3]
    if names[0] in ("HardSigmoid", "Affine", "ScaledTanh"):
        numbers["activation_beta"] = [0.4]
    layer("RNN", activations=names, **numbers)


def test_long_sequence_on_the_host() -> None:
    layer("RNN", time=300, host=True)
