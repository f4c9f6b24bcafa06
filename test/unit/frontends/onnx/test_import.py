"""Weights by reference, arithmetic on shapes, names and functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import check, floats, i64, model, node, ops, reference, same
from xdsl.dialects.func import FuncOp

from gedialect.dialects.ge.attrs import WeightAttr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import UnsupportedError
from gedialect.frontends.onnx import import_model, registry
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.wire import without_payload
from gedialect.interpreter import input_names, output_names, run
from gedialect.ir import sources
from gedialect.ir.verifier import verify
from gedialect.transforms.specialize_shapes import specialize

DATA = Path(__file__).parents[3] / "data"
W = floats(32, 32, seed=1)


def main(module) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def weights(module) -> list[WeightAttr]:
    values = [op.value for op in module.walk() if isinstance(op, ConstantOp)]
    return [v for v in values if isinstance(v, WeightAttr)]


def info(name: str, *dims: int | str | None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, list(dims))


# ---------------------------------------------------------------------- a trained model
def test_ppocr_cls():
    """The result of a trained model is onnxruntime's, with sizes known at import, later, or only at run time."""
    path = str(DATA / "ppocr_cls" / "ppocr_cls.onnx")
    with np.load(DATA / "ppocr_cls" / "ppocr_cls.npz") as data:
        x, want = data["in:x"], data["out:save_infer_model/scale_0.tmp_1"]
    fixed = import_model(path, {"x": x.shape})
    fixed.verify()
    assert "?" not in str(main(fixed).function_type)
    same(run(fixed, {"x": x})["save_infer_model/scale_0.tmp_1"], want, 1e-4)
    late = import_model(path)
    assert "?" in str(main(late).function_type)
    same(run(late, {"x": x})["save_infer_model/scale_0.tmp_1"], want, 1e-4)
    specialize(late, {"x": x.shape})
    late.verify()
    assert str(main(late).function_type) == str(main(fixed).function_type)
    assert "ge.shape" not in {o.name for o in late.walk()}
    same(run(late, {"x": x})["save_infer_model/scale_0.tmp_1"], want, 1e-4)


# ---------------------------------------------------------------------- weights
def weighted(tensor: TensorProto) -> onnx.ModelProto:
    m = model([node("MatMul", ["x", "w"])], {"x": floats(2, 32)}, ["y"])
    m.graph.initializer.append(tensor)
    return m


def float_data(name: str) -> TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, W.shape, W.reshape(-1).tolist())


@pytest.mark.parametrize("make", [lambda n: numpy_helper.from_array(W, n), float_data], ids=["raw_data", "float_data"])
def test_weights_stay_in_the_file(tmp_path: Path, make):
    path = tmp_path / "m.onnx"
    data = weighted(make("w")).SerializeToString()
    path.write_bytes(data)
    module = import_model(path)
    (weight,) = weights(module)
    assert weight.file.data == str(path)
    assert data[weight.offset.data :][: weight.length.data] == W.tobytes()
    same(run(module, {"x": floats(2, 32)})["y"], floats(2, 32) @ W)
    assert len(without_payload(memoryview(data))) < len(data) - W.nbytes + 32


def test_weights_of_constant_nodes_stay_in_the_file(tmp_path: Path):
    constant = node("Constant", [], ["w"], value=numpy_helper.from_array(W))
    m = model([constant, node("MatMul", ["x", "w"])], {"x": floats(2, 32)}, ["y"])
    onnx.save(m, tmp_path / "m.onnx")
    (weight,) = weights(import_model(tmp_path / "m.onnx"))
    assert (tmp_path / "m.onnx").read_bytes()[weight.offset.data :][: weight.length.data] == W.tobytes()


def test_external_data(tmp_path: Path):
    m = weighted(numpy_helper.from_array(W, "w"))
    onnx.save(m, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    module = import_model(tmp_path / "m.onnx")
    (weight,) = weights(module)
    assert weight.file.data == str(tmp_path / "m.data")
    same(run(module, {"x": floats(2, 32)})["y"], floats(2, 32) @ W)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.bool_, np.uint16])
def test_typed_fields(tmp_path: Path, dtype: type):
    """Encodings other than plain bytes become constants in memory."""
    array = (np.arange(2000).reshape(40, 50) % 90).astype(dtype)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    flat = array.reshape(-1)
    data = flat.view(np.uint16) if dtype is np.float16 else flat
    tensor = TensorProto(name="w", data_type=number, dims=array.shape)
    (tensor.int64_data if dtype is np.int64 else tensor.int32_data).extend(int(v) for v in data)
    m = model([node("Identity", ["w"])], {}, ["y"])
    m.graph.initializer.append(tensor)
    onnx.save(m, tmp_path / "m.onnx")
    got = run(import_model(tmp_path / "m.onnx"), {})["y"]
    np.testing.assert_array_equal(got, array)
    assert got.dtype == array.dtype


def test_a_model_in_memory_is_not_changed():
    m = weighted(numpy_helper.from_array(W, "w"))
    before = m.SerializeToString()
    module = import_model(m)
    assert m.SerializeToString() == before
    assert weights(module)[0].file.data.startswith("memory:")
    same(run(module, {"x": floats(2, 32)})["y"], floats(2, 32) @ W)


def test_initialisers_that_are_inputs_are_constants():
    m = model([node("Add", ["x", "b"])], {"x": floats(2, 3), "b": floats(3)}, ["y"], weights={"b": floats(3)})
    assert input_names(main(import_model(m))) == ["x"]


# ---------------------------------------------------------------------- shapes
def test_arithmetic_on_known_shapes_disappears():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axis"], ["n1"]),
        node("Concat", ["n1", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"]),
    ]
    constants = {"zero": np.array(0), "axis": i64(0), "rest": i64(-1)}
    x = floats(2, 3, 4)
    assert check(model(nodes, {"x": x}, ["y"], weights=constants), {"x": x}) == ["reshape"]


def test_partly_known_shapes_give_static_types():
    """Only the batch is unknown: the other sizes of the result are known."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["r"]),
        node("Relu", ["r"]),
    ]
    m = model(nodes, {"x": info("x", "N", 6)}, ["y"], weights={"zero": i64(0), "rest": i64(2, 3)})
    module = import_model(m)
    assert str(main(module).function_type.outputs.data[0]) == "tensor<?x2x3xf32>"
    for n in (1, 4):
        same(run(module, {"x": floats(n, 6)})["y"], reference(m, {"x": floats(n, 6)})[0])


def test_run_time_shapes_stay_operands_and_specialize():
    """Two unknown sizes: computed at run time, and constants after specialize-shapes."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "one", "three"], ["tail"]),
        node("ReduceProd", ["tail"], ["p"], keepdims=1),
        node("Concat", ["p", "rest"], ["shape"], axis=0),
        node("Expand", ["value", "shape"], ["e"]),
        node("ConstantOfShape", ["s"], ["z"]),
        node("Add", ["x", "z"], ["y"]),
    ]
    constants = {"one": i64(1), "three": i64(3), "rest": i64(2), "value": floats(1, 1)}
    m = model(nodes, {"x": info("x", "N", "T", 4)}, ["y", "e"], opset=13, weights=constants)
    module = import_model(m)
    module.verify()
    x = floats(2, 3, 4)
    for got, want in zip(run(module, {"x": x}).values(), reference(m, {"x": x}), strict=True):
        same(got, want)
    specialize(module, {"x": (2, 3, 4)})
    module.verify()
    assert "?" not in str(main(module).function_type)
    assert {"shape", "concat", "reduce_prod"}.isdisjoint(ops(module))
    for got, want in zip(run(module, {"x": x}).values(), reference(m, {"x": x}), strict=True):
        same(got, want)


def test_range_over_a_run_time_size():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Squeeze", ["s"], ["n"]),
        node("Range", ["zero", "n", "one"]),
    ]
    m = model(nodes, {"x": info("x", "N")}, ["y"], opset=13, weights={"zero": np.array(0), "one": np.array(1)})
    module = import_model(m)
    np.testing.assert_array_equal(run(module, {"x": floats(5)})["y"], np.arange(5))
    specialize(module, {"x": (3,)})
    np.testing.assert_array_equal(run(module, {"x": floats(3)})["y"], np.arange(3))


@pytest.mark.parametrize("op", ["MaxPool", "Conv"])
def test_same_pads_of_unknown_sizes(op: str):
    attrs = {"auto_pad": "SAME_UPPER", "strides": [2, 3]}
    inputs = ["x"] if op == "MaxPool" else ["x", "w"]
    if op == "MaxPool":
        attrs["kernel_shape"] = [3, 4]
    constants = {} if op == "MaxPool" else {"w": floats(2, 3, 3, 2)}
    m = model([node(op, inputs, **attrs)], {"x": info("x", 1, 3, "H", None)}, ["y"], opset=13, weights=constants)
    module = import_model(m)
    module.verify()
    for size in ((7, 8), (4, 9)):
        x = floats(1, 3, *size)
        same(run(module, {"x": x})["y"], reference(m, {"x": x})[0])
    specialize(module, {"x": (1, 3, 7, 8)})
    assert "shape" not in ops(module)


def test_names_of_sizes_survive():
    m = model([node("Relu", ["x"])], {"x": info("x", "batch", 3, None)}, ["y"])
    function = main(import_model(m))
    assert [s.data for s in function.arg_attrs.data[0].data["ge.dims"].data] == ["batch", "3", "?"]
    fixed = main(import_model(m, {"x": [2, 3, -1]}))
    assert [s.data for s in fixed.arg_attrs.data[0].data["ge.dims"].data] == ["2", "3", "?"]
    assert str(fixed.function_type.inputs.data[0]) == "tensor<2x3x?xf32>"


def test_equal_names_of_sizes_are_not_equal_sizes():
    m = model([node("Transpose", ["x"])], {"x": info("x", "?", "?")}, ["y"])
    assert run(import_model(m), {"x": floats(2, 3)})["y"].shape == (3, 2)


def test_negative_sizes_are_unknown():
    m = model([node("Relu", ["x"])], {"x": info("x", -1, 3)}, ["y"])
    assert str(main(import_model(m)).function_type.inputs.data[0]) == "tensor<?x3xf32>"


def test_large_constants_of_one_value_take_no_memory():
    nodes = [node("ConstantOfShape", ["s"], ["c"]), node("Mul", ["c", "x"])]
    module = import_model(model(nodes, {"x": floats()}, ["y"], weights={"s": i64(1 << 16, 1 << 16)}))
    assert ops(module) == ["mul"]
    assert not weights(module)


# ---------------------------------------------------------------------- names
def test_odd_names():
    names = ["a/b", "a_b", 'q"\\', "1", "ü", "a:0"]
    nodes = [helper.make_node("Relu", [n], [n + "'"], name="") for n in names]
    x = floats(2, 2)
    m = model(nodes, {n: x for n in names}, [n + "'" for n in names])
    module = import_model(m)
    assert input_names(main(module)) == names
    assert output_names(main(module)) == [n + "'" for n in names]
    check(m, {n: x for n in names})


def test_ops_know_their_node():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="first"),
        helper.make_node("Gemm", ["r", "w", "c"], ["y"], alpha=2.0),
    ]
    module = import_model(model(nodes, {"x": floats(2, 3), "w": floats(3, 4), "c": floats(4)}, ["y"]))
    found = [(o.name, sources.names(o)) for o in main(module).walk() if o.name.startswith("ge.")]
    assert found == [
        ("ge.relu", ("first",)),
        ("ge.matmul", ("y",)),
        ("ge.constant", ("y",)),
        ("ge.mul", ("y",)),
        ("ge.add", ("y",)),
    ]


def test_nodes_out_of_order():
    m = model([node("Relu", ["h"]), node("Neg", ["x"], ["h"])], {"x": floats(3)}, ["y"])
    assert ops(import_model(m)) == ["neg", "relu"]


def test_an_input_as_output():
    m = model([node("Relu", ["x"])], {"x": floats(3)}, ["x", "y"])
    got = run(import_model(m), {"x": floats(3)})
    same(got["x"], floats(3))


# ---------------------------------------------------------------------- functions
def test_functions_of_the_model():
    """Attributes are passed down, absent inputs stay absent, and the ops keep the caller's name."""
    inner = helper.make_function(
        "local",
        "Scaled",
        ["x", "low"],
        ["y"],
        [helper.make_node("Clip", ["x", "low"], ["c"]), helper.make_node("LeakyRelu", ["c"], ["y"])],
        [helper.make_opsetid("", 18)],
        ["alpha"],
    )
    reference_ = inner.node[1].attribute.add()
    reference_.name = reference_.ref_attr_name = "alpha"
    reference_.type = onnx.AttributeProto.FLOAT
    call = helper.make_node("Scaled", ["x"], ["y"], domain="local", alpha=0.5, name="call")
    m = model([call], {"x": floats(2, 3)}, ["y"], opset=18, functions=[inner], domains={"local": 1})
    module = import_model(m)
    assert {sources.names(o) for o in main(module).walk() if o.name.startswith("ge.")} == {("call",)}
    same(run(module, {"x": floats(2, 3)})["y"], reference(m, {"x": floats(2, 3)})[0])


def test_functions_of_onnx_that_depend_on_types():
    x, labels = floats(3, 5), i64(0, 2, 4)
    m = model([node("NegativeLogLikelihoodLoss", ["x", "t"])], {"x": x, "t": labels}, ["y"], opset=13)
    check(m, {"x": x, "t": labels})


def test_a_converter_can_be_added(monkeypatch: pytest.MonkeyPatch):
    known = {key: list(versions) for key, versions in registry._TABLE.items()}
    monkeypatch.setattr(registry, "_TABLE", known)  # what is added must not outlive the test

    @onnx_op("Twice", domain="test.domain", since=2)
    def twice(ctx, n):
        return ctx("add", n.input(0), n.input(0))

    call = node("Twice", ["x"], domain="test.domain")
    new, old = (model([call], {"x": floats(3)}, ["y"], domains={"test.domain": v}) for v in (3, 1))
    assert ops(import_model(new)) == ["add"]
    with pytest.raises(UnsupportedError):
        import_model(old)


# ---------------------------------------------------------------------- branches
def branching(condition: list[onnx.NodeProto], **constants: np.ndarray) -> onnx.ModelProto:
    """``y = relu(x)`` if the condition ``c`` holds, else ``x``; both read the outer x."""
    branches = {
        "then_branch": helper.make_graph([node("Relu", ["x"], ["t"])], "t", [], [info("t", "N", 3)]),
        "else_branch": helper.make_graph([node("Identity", ["x"], ["e"])], "e", [], [info("e", "N", 3)]),
    }
    nodes = [*condition, helper.make_node("If", ["c"], ["y"], name="choice", **branches)]
    return model(nodes, {"x": info("x", "N", 3)}, ["y"], opset=17, weights=constants)


@pytest.mark.parametrize("size", [3, 4])
def test_a_branch_is_chosen_by_a_known_condition(size: int):
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "one"], ["n"]),
        node("Equal", ["n", "want"], ["c"]),
    ]
    m = branching(nodes, one=np.array(1), want=np.array(size))
    module = import_model(m)
    assert ops(module) == (["relu"] if size == 3 else [])
    same(run(module, {"x": floats(2, 3)})["y"], reference(m, {"x": floats(2, 3)})[0])


def test_a_branch_at_run_time_reads_values_of_the_outside():
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["c"])]
    m = branching(nodes, zero=np.float32(0))
    module = import_model(m)
    verify(module)
    assert "if" in ops(module)
    for x in (floats(2, 3), -np.abs(floats(2, 3))):
        same(run(module, {"x": x})["y"], reference(m, {"x": x})[0])
