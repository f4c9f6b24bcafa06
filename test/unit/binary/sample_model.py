"""A small OM made of every feature: convolution with kernel, view, host task, labels, events, a weight used twice."""

from __future__ import annotations

import struct

from gedialect.binary.inout import TensorInfo
from gedialect.binary.memory import Arg, Memory
from gedialect.binary.model_def import Edge, ModelWriter, TensorDesc, build_om
from gedialect.binary.om import OmFile
from gedialect.binary.tasks import (
    CopyTask,
    EventRecord,
    EventWait,
    HostTask,
    HostValue,
    KernelTask,
    LabelGoto,
    LabelSet,
    LabelSwitch,
    Task,
)
from gedialect.ir.dtypes import F32, I64

FILTER = struct.pack("<16f", *range(16))  # [4, 1, 2, 2]
BIAS = struct.pack("<4f", 0.5, -1.0, 2.0, 3.0)
X = TensorInfo("x", F32, (1, 1, 4, 4), "NCHW")
Y = TensorInfo("y", F32, (1, 4, 9), "ND")
K = TensorInfo("k", I64, (1, 2), "ND")


def sample(name: str = "sample") -> OmFile:
    """Data -> Conv2D -> Relu -> (reshape seen by) NetOutput, beside a host TopK."""
    memory = Memory(workspace=1024, inputs=[X.nbytes], outputs=[Y.nbytes, K.nbytes], weights=0)
    writer = ModelWriter(name, memory)
    graph = writer.graph("main")
    conv_desc = TensorDesc(F32, (1, 4, 3, 3), "NCHW")
    graph.add_data("x", TensorDesc(F32, X.shape, "NCHW"))
    filt = graph.add_const("w", TensorDesc(F32, (4, 1, 2, 2), "NCHW"), FILTER)
    bias = graph.add_const("b", TensorDesc(F32, (4,)), BIAS)
    again = graph.add_const("b2", TensorDesc(F32, (4,)), bytearray(BIAS))
    assert again == bias
    y_arg = Arg("output", 0, Y.nbytes, 0, "out")
    graph.add_op(
        "conv", "Conv2D", [("x", 0), ("w", 0), ("b", 0), None], [conv_desc],
        attrs={"strides": [1, 1, 1, 1], "pads": [0, 0, 0, 0], "groups": 1, "data_format": "NCHW"},
        input_names=["x", "filter", "bias", "offset_w"], output_names=["y"], optional_inputs=["bias", "offset_w"],
    )  # fmt: skip
    relu = graph.add_op(
        "relu", "Relu", [("conv", 0)], [conv_desc], places=[y_arg], input_names=["x"], output_names=["y"],
        kernel=("conv_relu", 2), original_names=["conv", "relu"], workspace=[Arg("workspace", 512, 256)],
    )  # fmt: skip
    k_arg = Arg("output", 0, K.nbytes, 1, "out")
    topk = graph.add_op(
        "topk", "TopK", [Edge("x", 0, (1, 16), "ND")], [TensorDesc(I64, (1, 2))], places=[k_arg], control=["relu"],
        stream_id=1,
    )  # fmt: skip
    graph.add_net_output("Node_Output", [Edge("relu", 0, (1, 4, 9), "ND"), ("topk", 0)])
    x_arg = Arg("input", 0, X.nbytes)
    tasks: list[Task] = [
        KernelTask(
            "conv_relu", 2,
            (x_arg, Arg("weight", filt.offset, filt.size), Arg("weight", bias.offset, bias.size), y_arg,
             Arg("workspace", 512, 256, 0, "scratch")),
            op_index=relu,
        ),
        EventRecord(0, op_index=relu),
        EventWait(0, op_index=topk, stream=1),
        LabelSwitch(Arg("workspace", 0, 4), (0, 1), op_index=topk, stream=1),
        LabelSet(0, op_index=topk, stream=1),
        HostTask(
            "ge.topk", {"k": 2, "largest": True, "nested": [1.5, None, "s"]}, (HostValue(x_arg, F32, (1, 16)), None),
            (HostValue(k_arg, I64, (1, 2)),), op_index=topk, stream=1,
        ),
        LabelGoto(1, op_index=topk, stream=1),
        LabelSet(1, op_index=topk, stream=1),
        CopyTask(Arg("workspace", 0, 16), Arg("workspace", 16, 16, 0, "out"), op_index=topk, stream=1),
    ]  # fmt: skip
    return build_om(
        writer, inputs=[X], outputs=[Y, K], tasks=tasks, kernels={"conv_relu": b"\x01kernel\x00bytes"},
        target="Ascend910B1", report={"kernels": 1, "host_ops": [{"op": "ge.topk", "node": "topk"}]},
    )  # fmt: skip
