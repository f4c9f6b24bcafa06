"""Bad models give one clear error, quickly."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import floats, i64, model, node

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx import import_model

X = {"x": floats(2, 3)}


def fails(m: onnx.ModelProto, code: str, *words: str, shapes=None) -> GeError:
    start = time.process_time()
    with pytest.raises(GeError) as caught:
        import_model(m, shapes)
    assert time.process_time() - start < 2
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)
    return caught.value


def test_all_unsupported_ops_in_one_error():
    nodes = [
        helper.make_node("Weird", ["x"], ["a"], name="w", domain="my.domain"),
        helper.make_node("Strange", ["x"], ["b"], domain="my.domain", name="s1"),
        helper.make_node("Strange", ["b"], ["d"], domain="my.domain", name="s2"),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    m = model(nodes, {**X, "c": np.array(True)}, ["y"], domains={"my.domain": 4})
    e = fails(m, "GE1201", "2 op types", "3 nodes")
    assert isinstance(e, UnsupportedError)
    assert e.details == (
        "my.domain.Strange (opset 4): 2 nodes, such as s1",
        "my.domain.Weird (opset 4): 1 node, such as w",
    )


def test_unsupported_ops_inside_functions():
    inner = helper.make_function("f", "F", ["x"], ["y"], [node("Strange", ["x"])], [helper.make_opsetid("", 18)])
    m = model([node("F", ["x"], domain="f")], X, ["y"], functions=[inner], domains={"f": 1})
    fails(m, "GE1201", "Strange")


def test_cycles():
    two = [node("Relu", ["b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second")]
    fails(model(two, X, ["a"]), "GE1007", "cycle", "first")
    fails(model([node("Add", ["x", "y"], name="self")], X, ["y"]), "GE1007", "cycle", "self")
    body = helper.make_function("f", "F", ["x"], ["y"], [node("F", ["x"], domain="f")], [helper.make_opsetid("f", 1)])
    m = model([node("F", ["x"], domain="f")], X, ["y"], functions=[body], domains={"f": 1})
    fails(m, "GE1008", "function F")


def test_undefined_and_doubly_defined_names():
    fails(model([node("Relu", ["q"], name="n")], X, ["y"]), "GE1007", "'q'", "n")
    fails(model([node("Relu", ["x"])], X, ["z"]), "GE1007", "'z'")
    fails(model([node("Relu", ["x"]), node("Neg", ["x"])], X, ["y"]), "GE1007", "twice")


def test_absurd_sizes():
    for dims in ([1 << 32, 1 << 32], [-4, -4]):
        m = model([node("Relu", ["w"])], {}, ["y"])
        m.graph.initializer.append(TensorProto(name="w", data_type=1, dims=dims))
        fails(m, "GE1009", "'w'")
    nodes = [node("ConstantOfShape", ["s"], name="c")]
    fails(model(nodes, {}, ["y"], weights={"s": i64(1 << 22, 1 << 22)}), "GE1009", "node c")
    fails(model(nodes, {}, ["y"], weights={"s": i64(-1)}), "GE1009", "node c")
    tile = [node("Tile", ["x", "s"])]
    fails(model(tile, X, ["y"], weights={"s": i64(1 << 40, 1 << 40)}), "GE1009")
    grow = [node("Range", ["a", "b", "c"])]
    bounds = {"a": np.array(0), "b": np.array(1 << 62), "c": np.array(1)}
    fails(model(grow, {}, ["y"], weights=bounds), "GE1009")


def test_parameters_of_absurd_length():
    """What says how an op works is short; it is not expanded to see."""
    large = node("ConstantOfShape", ["s"], ["a"], value=numpy_helper.from_array(i64(1)))
    nodes = [large, node("ReduceSum", ["x", "a"])]
    fails(model(nodes, X, ["y"], weights={"s": i64(1 << 36)}), "GE1005", "axes")
    split = node("Split", ["x"], ["y"], num_outputs=1 << 40)
    fails(model([split], X, ["y"]), "GE1005", "num_outputs")


def test_payload_of_the_wrong_length():
    m = model([node("Relu", ["w"])], {}, ["y"])
    m.graph.initializer.append(TensorProto(name="w", data_type=1, dims=[2, 2], raw_data=b"123"))
    fails(m, "GE1003", "'w'", "3 bytes")
    m.graph.initializer[0].CopyFrom(TensorProto(name="w", data_type=1, dims=[2, 2], float_data=[1.0]))
    fails(m, "GE1003", "'w'", "1 elements")


def test_operands_that_do_not_fit():
    e = fails(model([node("Add", ["x", "z"], name="sum")], {**X, "z": floats(4)}, ["y"]), "GE1005", "broadcast")
    assert e.where == "node sum"
    fails(model([node("Add", ["x", "z"])], {**X, "z": i64(1, 2, 3)}, ["y"]), "GE1005", "i64")
    fails(model([node("Relu", [])], X, ["y"]), "GE1005", "missing")
    fails(model([node("Softmax", ["x"], axis=7)], X, ["y"]), "GE1005", "axis")
    fails(model([node("Softmax", ["x"], axis="1")], X, ["y"]), "GE1005", "axis")
    fails(model([node("Gather", ["t", "i"])], X, ["y"], weights={"t": floats(2), "i": i64(7)}), "GE1006")
    fails(model([node("Conv", ["x", "w"])], {**X, "w": floats(1, 3, 3, 3)}, ["y"]), "GE1005", "rank")


def test_input_shapes_that_do_not_fit():
    m = model([node("Relu", ["x"])], {"x": helper.make_tensor_value_info("x", 1, ["N", 3])}, ["y"])
    fails(m, "GE1004", "its inputs are x", shapes={"z": [1]})
    fails(m, "GE1004", "x:2,4", shapes={"x": [2, 4]})
    fails(m, "GE1004", "x:2", shapes={"x": [2]})
    unranked = model([node("Relu", ["x"])], {"x": helper.make_tensor_value_info("x", 1, None)}, ["y"])
    fails(unranked, "GE1014", "--input-shape")
    import_model(unranked, {"x": [2]})


def test_inputs_that_are_no_tensors():
    sparse = helper.make_sparse_tensor_value_info("x", 1, [2])
    fails(model([node("Identity", ["x"])], {"x": sparse}, ["y"]), "GE1203", "sparse_tensor")
    text = helper.make_tensor_value_info("x", TensorProto.STRING, [1])
    fails(model([node("Relu", ["x"])], {"x": text}, ["y"]), "GE1203", "Relu of strings")


def test_external_data_outside_the_folder(tmp_path: Path):
    m = model([node("Relu", ["w"])], {}, ["y"])
    w = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    w.external_data.add(key="location", value="../secret")
    m.graph.initializer.append(w)
    fails(m, "GE1002", "secret")
    w.external_data[0].value = "missing.bin"
    m.graph.initializer[0].CopyFrom(w)
    (tmp_path / "m.onnx").write_bytes(m.SerializeToString())
    with pytest.raises(GeError) as caught:
        import_model(tmp_path / "m.onnx")
    assert caught.value.code == "GE1002"


def nested(depth: int) -> onnx.GraphProto:
    """Branches within branches; big enough at each level that the reader must look inside."""
    pad = helper.make_node("Constant", [], ["pad"], value=numpy_helper.from_array(floats(400)))
    graph = helper.make_graph([pad], "g", [], [onnx.ValueInfoProto(name="pad")])
    for i in range(depth):
        both = helper.make_node("If", ["c"], ["y"], name=f"if{i}", then_branch=graph, else_branch=graph)
        graph = helper.make_graph([both], "g", [], [onnx.ValueInfoProto(name="y")])
    return graph


def test_nesting(tmp_path: Path):
    """Built by hand: protobuf refuses to write what is nested this deep."""

    def message(number: int, payload: bytes) -> bytes:
        head, length = bytearray([number << 3 | 2]), len(payload)
        while length >= 0x80:
            head.append(length & 0x7F | 0x80)
            length >>= 7
        return bytes(head) + bytes([length]) + payload

    graph = message(1, message(4, b"Relu") + message(6, b"x" * 2000))
    for _ in range(2000):
        attribute = message(1, b"then_branch") + b"\xa0\x01\x05" + message(6, graph)
        graph = message(1, message(2, b"y") + message(4, b"If") + message(5, attribute))
    (tmp_path / "deep.onnx").write_bytes(b"\x08\x08" + message(7, graph) + message(8, b"\x10\x11"))
    start = time.process_time()
    with pytest.raises(GeError) as caught:
        import_model(tmp_path / "deep.onnx")
    assert caught.value.code == "GE1008"
    assert time.process_time() - start < 1
    wide = nested(8)
    wide.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    onnx.save(helper.make_model(wide), tmp_path / "wide.onnx")
    module = import_model(tmp_path / "wide.onnx")
    assert sum(op.name == "ge.if" for op in module.walk()) == 2**8 - 1


def test_loops_whose_types_change_are_not_converted_time_and_again():
    """Each level is converted again until its types settle: that must not multiply."""
    graph = None
    for i in range(12):
        inputs = [
            helper.make_tensor_value_info(f"i{i}", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"g{i}", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"v{i}", TensorProto.FLOAT, None),
        ]
        last = f"v{i}"
        nodes = [helper.make_node("Unsqueeze", [last, "axes"], [f"u{i}"])]
        if graph is not None:
            nodes.append(helper.make_node("Loop", ["n", "", f"u{i}"], [f"l{i}"], body=graph))
        outputs = [inputs[1], onnx.ValueInfoProto(name=f"l{i}" if graph is not None else f"u{i}")]
        graph = helper.make_graph(nodes, f"body{i}", inputs, outputs)
    m = model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=graph)],
        X,
        ["y"],
        weights={"n": np.array(2), "axes": np.array([0])},
    )
    start = time.process_time()
    module = import_model(m)
    assert sum(op.name == "ge.loop" for op in module.walk()) == 12
    assert time.process_time() - start < 5


@pytest.mark.parametrize("cut", [0, 1, 10, 100, 1500, 3000, -40, -1])
def test_truncated_files(tmp_path: Path, cut: int):
    m = model([node("MatMul", ["x", "w"])], {"x": floats(2, 32)}, ["y"], weights={"w": floats(32, 32)})
    path = tmp_path / "m.onnx"
    path.write_bytes(m.SerializeToString()[:cut])
    with pytest.raises(GeError) as caught:
        import_model(path)
    assert caught.value.code in ("GE1003", "GE1007", "GE1201")
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("content", [b"<html></html>", b"PK\x03\x04" + b"\0" * 100, b"\xff" * 5000])
def test_files_of_another_kind(tmp_path: Path, content: bytes):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(GeError) as caught:
        import_model(path)
    assert caught.value.code == "GE1003"


def test_damaged_files(tmp_path: Path):
    """Random bytes changed: an error of ours or a model, never anything else."""
    m = model(
        [
            node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            node("Reshape", ["c", "s"], ["r"]),
            node("Softmax", ["r"]),
        ],
        {"x": floats(1, 2, 4, 4)},
        ["y"],
        weights={"w": floats(20, 2, 3, 3), "s": i64(0, -1)},
    )
    data = m.SerializeToString()
    random = np.random.default_rng(0)
    path = tmp_path / "m.onnx"
    failed = 0
    for _ in range(150):
        broken = bytearray(data)
        for at in random.integers(0, len(data), 3):
            broken[at] = random.integers(0, 256)
        path.unlink(missing_ok=True)
        path.write_bytes(broken)
        places: list[str | None] = []
        try:
            import_model(path).verify()
        except GeError as e:
            places.append(e.where)
        failed += len(places)
        assert all(p is not None and p.startswith(str(path)) for p in places)
    assert failed > 10
