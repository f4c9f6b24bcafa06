"""``ge.proto``: the graph messages of AIR files and of the MODEL_DEF partition of OM files.

Fields and numbers: Ascend/torchair ``proto/ge_ir.proto`` (Apache-2.0). ``attr_groups`` (6, 11, 12: symbolic shapes and
AscendC attributes) is left out: protobuf keeps such fields as unknown bytes.
"""

from __future__ import annotations

from typing import ClassVar

from gedialect.binary.protos.schema import Map, Message, Repeated, bind, int64, no, string, uint32

DataType = ListValueType = int  # open enumerations

DATA_TYPES = {
    "DT_UNDEFINED": 0, "DT_FLOAT": 1, "DT_FLOAT16": 2, "DT_INT8": 3, "DT_UINT8": 4, "DT_INT16": 5, "DT_UINT16": 6,
    "DT_INT32": 7, "DT_INT64": 8, "DT_UINT32": 9, "DT_UINT64": 10, "DT_BOOL": 11, "DT_DOUBLE": 12, "DT_STRING": 13,
    "DT_DUAL_SUB_INT8": 14, "DT_DUAL_SUB_UINT8": 15, "DT_COMPLEX64": 16, "DT_COMPLEX128": 17, "DT_QINT8": 18,
    "DT_QINT16": 19, "DT_QINT32": 20, "DT_QUINT8": 21, "DT_QUINT16": 22, "DT_RESOURCE": 23, "DT_STRING_REF": 24,
    "DT_DUAL": 25, "DT_VARIANT": 26, "DT_BF16": 27, "DT_INT4": 28, "DT_UINT1": 29, "DT_INT2": 30, "DT_UINT2": 31,
    "DT_COMPLEX32": 32, "DT_HIFLOAT8": 33, "DT_FLOAT8_E5M2": 34, "DT_FLOAT8_E4M3FN": 35, "DT_FLOAT8_E8M0": 36,
    "DT_FLOAT6_E3M2": 37, "DT_FLOAT6_E2M3": 38, "DT_FLOAT4_E2M1": 39, "DT_FLOAT4_E1M2": 40,
}  # fmt: skip
"""Proto ``DataType`` (``TensorDescriptor.dtype``); the C++ ``ge::DataType`` of attributes counts differently."""

LIST_VALUE_TYPES = {
    "VT_LIST_NONE": 0, "VT_LIST_STRING": 1, "VT_LIST_INT": 2, "VT_LIST_FLOAT": 3, "VT_LIST_BOOL": 4, "VT_LIST_BYTES": 5,
    "VT_LIST_TENSOR_DESC": 6, "VT_LIST_TENSOR": 7, "VT_LIST_GRAPH": 8, "VT_LIST_NAMED_ATTRS": 9,
    "VT_LIST_DATA_TYPE": 10,
}  # fmt: skip


class ShapeDef(Message):
    """Dims; -1 unknown, the single dim -2 unknown rank, none = scalar."""

    dim: Repeated[int64] = no(1)


class TensorDescriptor(Message):
    name: string = no(1)
    dtype: DataType = no(2)
    shape: ShapeDef = no(3)
    layout: string = no(4)
    attr: Map[AttrDef] = no(5)
    has_out_attr: bool = no(9)
    size: int64 = no(10)
    weight_size: int64 = no(11)
    reuse_input: bool = no(12)
    output_tensor: bool = no(13)
    device_type: string = no(14)
    input_tensor: bool = no(15)
    real_dim_cnt: int64 = no(16)
    reuse_input_index: int64 = no(17)
    data_offset: int64 = no(18)
    cmps_size: int64 = no(19)
    cmps_tab: string = no(20)
    cmps_tab_offset: int64 = no(21)


class TensorDef(Message):
    desc: TensorDescriptor = no(1)
    data: bytes = no(2)


class NamedAttrs(Message):
    name: string = no(1)
    attr: Map[AttrDef] = no(2)


class AttrDef(Message):
    """An attribute; read it with :func:`gedialect.binary.protos.attrs.value_of`."""

    class ListValue(Message):
        s: Repeated[bytes] = no(2)
        i: Repeated[int64] = no(3)
        f: Repeated[float] = no(4)
        b: Repeated[bool] = no(5)
        bt: Repeated[bytes] = no(7)
        td: Repeated[TensorDescriptor] = no(8)
        t: Repeated[TensorDef] = no(9)
        g: Repeated[GraphDef] = no(10)
        na: Repeated[NamedAttrs] = no(11)
        dt: Repeated[int64] = no(12)
        val_type: ListValueType = no(20)

    class ListListInt(Message):
        class ListInt(Message):
            list_i: Repeated[int64] = no(1)

        list_list_i: Repeated[AttrDef.ListListInt.ListInt] = no(1)

    class ListListFloat(Message):
        class ListFloat(Message):
            list_f: Repeated[float] = no(1)

        list_list_f: Repeated[AttrDef.ListListFloat.ListFloat] = no(1)

    ONEOF: ClassVar[str] = "value"

    list: AttrDef.ListValue = no(1)
    s: bytes = no(2)
    i: int64 = no(3)
    f: float = no(4)
    b: bool = no(5)
    bt: bytes = no(7)
    func: NamedAttrs = no(10)
    td: TensorDescriptor = no(11)
    t: TensorDef = no(12)
    g: GraphDef = no(13)
    list_list_int: AttrDef.ListListInt = no(14)
    dt: int64 = no(15)
    list_list_float: AttrDef.ListListFloat = no(16)
    expression: bytes = no(17)


class OpDef(Message):
    """A node; ``input`` holds ``SOURCE:INDEX`` (last colon splits), ``""`` if absent, ``SOURCE:-1`` for control."""

    name: string = no(1)
    type: string = no(2)
    input: Repeated[string] = no(5)
    attr: Map[AttrDef] = no(10)
    has_out_attr: bool = no(20)
    id: int64 = no(21)
    stream_id: int64 = no(22)
    input_name: Repeated[string] = no(23)
    src_name: Repeated[string] = no(24)
    src_index: Repeated[int64] = no(25)
    dst_name: Repeated[string] = no(26)
    dst_index: Repeated[int64] = no(27)
    input_i: Repeated[int64] = no(28)
    output_i: Repeated[int64] = no(29)
    workspace: Repeated[int64] = no(30)
    workspace_bytes: Repeated[int64] = no(31)
    is_input_const: Repeated[bool] = no(32)
    input_desc: Repeated[TensorDescriptor] = no(33)
    output_desc: Repeated[TensorDescriptor] = no(34)
    subgraph_name: Repeated[string] = no(35)


class GraphDef(Message):
    name: string = no(1)
    input: Repeated[string] = no(4)
    output: Repeated[string] = no(5)
    op: Repeated[OpDef] = no(6)
    attr: Map[AttrDef] = no(11)


class ModelDef(Message):
    """A model; ``graph[0]`` is the root, the others are subgraphs that ops name."""

    name: string = no(1)
    version: uint32 = no(2)
    custom_version: string = no(3)
    graph: Repeated[GraphDef] = no(7)
    attr: Map[AttrDef] = no(11)


bind(globals(), "ge.proto", {"DataType": DATA_TYPES, "AttrDef.ListValue.ListValueType": LIST_VALUE_TYPES})
