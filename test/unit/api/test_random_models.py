"""Random ONNX models: onnxruntime (graph optimisation off) beside the interpreter and the simulator.

``bench/random_graphs.py`` runs more of them, for as long as one likes.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from gedialect.testing.differential import STAGES, check_model, expected
from gedialect.testing.random_forms import OPERATORS
from gedialect.testing.random_models import random_model

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_agree(seed: int):
    """O3 takes most of the time of a model, so not every model has it."""
    made = random_model(seed)
    stages = [s for s in STAGES if s != "O3" or seed % 5 == 0]
    assert [str(f) for f in check_model(made.model, made.inputs, stages, seed) if f.kind != "unsupported"] == []


def test_models_are_the_same_for_the_same_seed_and_valid():
    for seed in SEEDS:
        one, other = random_model(seed), random_model(seed)
        assert one.model.SerializeToString(deterministic=True) == other.model.SerializeToString(deterministic=True)
        onnx.checker.check_model(one.model)
        assert set(one.inputs) == {i.name for i in one.model.graph.input}
        for name, array in one.inputs.items():
            assert np.array_equal(array, other.inputs[name])


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_operator_can_be_made(operator: str):
    """None is refused by onnxruntime at every attempt."""
    assert any(random_model(seed, 1, [operator]).model.graph.node for seed in range(20))


def small(op: str, *weights: np.ndarray, **attrs) -> onnx.ModelProto:
    names = [f"w{i}" for i in range(len(weights))]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *names], ["y"], **attrs)],
        "g",
        [info("x", onnx.TensorProto.FLOAT, [3])],
        [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(w, n) for n, w in zip(names, weights, strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_what_rounding_errors_turn_is_not_compared_and_nothing_else():
    """Seven is next to no threshold, 0.1 + 0.2 next to 0.3 is."""
    x = np.array([0.1, 7, np.inf], np.float32)
    nodes = [
        helper.make_node("Add", ["x", "two"], ["s"]),
        helper.make_node("Less", ["s", "three"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3])],
        [onnx.ValueInfoProto(name="y"), onnx.ValueInfoProto(name="s")],
        [numpy_helper.from_array(np.float32(v), n) for n, v in (("two", 0.2), ("three", np.float32(0.1) + 0.2))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    want = expected(model, {"x": x})
    assert want["y"].unsure.tolist() == [True, False, False]
    assert want["y"].wrong(np.array([True, False, False])) is None
    assert want["y"].wrong(np.array([False, False, False])) is None
    assert want["y"].wrong(np.array([False, True, False])) == "at [1] is True, not False (1 of 3 elements differ)"
    sums = x + np.float32(0.2)
    assert want["s"].wrong(sums) is None
    said = want["s"].wrong(sums + np.array([0, 1e-3, 0], np.float32))
    assert said is not None and said.startswith("at [1] is 7.20") and said.endswith("(1 of 3 elements differ)")
    assert want["s"].wrong(np.array([0.3, 7.2, np.nan], np.float32)) is not None
    assert want["s"].wrong(sums.astype(np.float64)) == "is float64[3], not float32[3]"


def test_a_wrong_result_is_found():
    """What a rule that is wrong does to a model."""
    from gedialect.patterns import ge, rule
    from gedialect.testing.differential import check_stage

    @rule(exact="value")
    def relu_is_nothing(x):
        """Wrong on purpose."""
        return ge.relu(x), x

    model, x = small("Relu"), np.array([-1, 0, 2], np.float32)
    want = expected(model, {"x": x})
    assert check_stage(model, {"x": x}, "O2", want) is None
    found = check_stage(model, {"x": x}, "O2", want, rules=[relu_is_nothing])
    assert str(found) == "O2: wrong: output y at [0] is -1.0, not 0.0 (1 of 3 elements differ)"
