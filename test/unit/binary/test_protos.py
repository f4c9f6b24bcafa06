import pytest

from gedialect.binary.protos.attrs import Typed, get, set_attr, set_attrs, set_name_map, value_of
from gedialect.binary.protos.domi import TaskDef
from gedialect.binary.protos.ge import AttrDef, GraphDef, ModelDef, OpDef, TensorDef
from gedialect.errors import GeError
from gedialect.ir.dtypes import BF16, F16, F32, I64


def test_wire_bytes():
    """Encoded by hand from the field table: name = 1, type = 2, id = 21, input_i = 28 packed, is_input_const = 32."""
    op = OpDef()
    op.name, op.type, op.id = "a", "Add", 300
    op.input_i.extend([0, 512])
    op.is_input_const.append(True)
    expected = b"\x0a\x01a" + b"\x12\x03Add" + b"\xa8\x01\xac\x02" + b"\xe2\x01\x03\x00\x80\x04" + b"\x82\x02\x01\x01"
    assert op.SerializeToString(deterministic=True) == expected


def test_task_wire_bytes():
    task = TaskDef()
    task.type = 23
    task.label_switch_by_index.label_max = 2
    assert task.SerializeToString() == b"\x10\x17" + b"\xba\x02\x02\x10\x02"


def test_unknown_fields_survive():
    raw = b"\x0a\x01g" + b"\x62\x03\x0a\x01x"  # GraphDef.name, attr_groups (12)
    assert GraphDef.FromString(raw).SerializeToString(deterministic=True) == raw


def test_maps_are_sorted():
    first, second = ModelDef(), ModelDef()
    set_attrs(first.attr, {"b": 1, "a": 2, "c": 3})
    for key, value in (("c", 3), ("a", 2), ("b", 1)):
        set_attr(second.attr[key], value)
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "value",
    [
        True,
        False,
        0,
        -(1 << 63),
        1.5,
        "text ü",
        b"\x00\xff",
        F16,
        BF16,
        [1, -2],
        [0.5],
        ["a", ""],
        [True],
        [b"x"],
        [F32],
        [[1, 2], [3]],
    ],
)
def test_values_come_back(value: object):
    attr = AttrDef()
    set_attr(attr, value)  # type: ignore[arg-type]
    again = value_of(AttrDef.FromString(attr.SerializeToString()))
    assert again == value
    assert type(again) is type(value)


def test_encodings():
    model = ModelDef()
    set_attrs(model.attr, {"d": I64, "mixed": [1, 0.5], "none": Typed("i"), "s": "x"})
    assert model.attr["d"].dt == 9  # ge::DataType, not the proto number 8
    assert list(model.attr["mixed"].list.f) == [1.0, 0.5]
    assert model.attr["none"].list.val_type == 2
    assert value_of(model.attr["none"]) == []
    assert model.attr["s"].s == b"x"
    assert get(model.attr, "absent", 7) == 7
    assert "absent" not in model.attr


def test_name_map_has_no_val_type():
    op = OpDef()
    set_name_map(op.attr, "_input_name", ["x", "filter"])
    assert list(op.attr["_input_name_key"].list.s) == [b"x", b"filter"]
    assert list(op.attr["_input_name_value"].list.i) == [0, 1]
    assert op.attr["_input_name_key"].list.val_type == 0


def test_tensor_attribute():
    tensor = TensorDef()
    tensor.data = b"abc"
    attr = AttrDef()
    set_attr(attr, tensor)
    assert value_of(attr).data == b"abc"


@pytest.mark.parametrize("value", [[], None, 1 << 63, [1, "a"], {"a": 1}])
def test_values_without_encoding(value: object):
    with pytest.raises(GeError) as error:
        set_attr(AttrDef(), value, "k")  # type: ignore[arg-type]
    assert error.value.code == "GE1901"
    assert "attribute k" in error.value.message
