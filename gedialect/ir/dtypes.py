"""The one table of element types.

Numbers: ONNX ``TensorProto.DataType``; GE proto ``DataType`` (``TensorDescriptor.dtype``) and C++
``ge::DataType`` (attributes), which differ (metadef ``data_type_serializer.cc``, Apache-2.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from xdsl.ir import Attribute


@dataclass(frozen=True)
class DType:
    """One element type; ``name`` is short ("f32"), ``itemsize`` in bytes (bool and types below 8 bits take one)."""

    name: str
    itemsize: int
    kind: str
    """"f" float, "i" signed, "u" unsigned, "b" bool, "c" complex."""
    onnx: int
    ge_proto: int
    ge: int
    numpy_name: str

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    @property
    def bits(self) -> int:
        """Bits of an element in a model file, where narrow ones are packed."""
        return NARROW.get(self.name, 8 * self.itemsize)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype; loads ml_dtypes for types numpy lacks."""
        return _numpy_dtype(self.numpy_name)

    def __str__(self) -> str:
        return self.name


@cache
def _numpy_dtype(name: str) -> np.dtype[Any]:
    import numpy

    if hasattr(numpy, name):
        return numpy.dtype(getattr(numpy, name))
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, name))


TABLE: tuple[DType, ...] = (
    DType("f32", 4, "f", 1, 1, 0, "float32"),
    DType("f16", 2, "f", 10, 2, 1, "float16"),
    DType("bf16", 2, "f", 16, 27, 27, "bfloat16"),
    DType("f64", 8, "f", 11, 12, 11, "float64"),
    DType("i8", 1, "i", 3, 3, 2, "int8"),
    DType("i16", 2, "i", 5, 5, 6, "int16"),
    DType("i32", 4, "i", 6, 7, 3, "int32"),
    DType("i64", 8, "i", 7, 8, 9, "int64"),
    DType("ui8", 1, "u", 2, 4, 4, "uint8"),
    DType("ui16", 2, "u", 4, 6, 7, "uint16"),
    DType("ui32", 4, "u", 12, 9, 8, "uint32"),
    DType("ui64", 8, "u", 13, 10, 10, "uint64"),
    DType("i1", 1, "b", 9, 11, 12, "bool_"),
    DType("i4", 1, "i", 22, 28, 29, "int4"),
    DType("ui4", 1, "u", 21, 0, 28, "uint4"),
    DType("f8E4M3FN", 1, "f", 17, 35, 36, "float8_e4m3fn"),
    DType("f8E5M2", 1, "f", 19, 34, 35, "float8_e5m2"),
    DType("f8E4M3FNUZ", 1, "f", 18, 0, 28, "float8_e4m3fnuz"),
    DType("f8E5M2FNUZ", 1, "f", 20, 0, 28, "float8_e5m2fnuz"),
    DType("i2", 1, "i", 26, 30, 31, "int2"),
    DType("ui2", 1, "u", 25, 31, 32, "uint2"),
    DType("f4E2M1FN", 1, "f", 23, 39, 40, "float4_e2m1fn"),
    DType("f8E8M0FNU", 1, "f", 24, 36, 37, "float8_e8m0fnu"),
    DType("complex<f32>", 8, "c", 14, 16, 16, "complex64"),
    DType("complex<f64>", 16, "c", 15, 17, 17, "complex128"),
)
NARROW = {"i4": 4, "ui4": 4, "f4E2M1FN": 4, "i2": 2, "ui2": 2}
BY_NAME = {t.name: t for t in TABLE}
BY_ONNX = {t.onnx: t for t in TABLE}
BY_GE_PROTO = {t.ge_proto: t for t in TABLE if t.ge_proto}

F32, F16, BF16, F64 = (BY_NAME[n] for n in ("f32", "f16", "bf16", "f64"))
I8, I16, I32, I64 = (BY_NAME[n] for n in ("i8", "i16", "i32", "i64"))
UI8, UI16, UI32, UI64 = (BY_NAME[n] for n in ("ui8", "ui16", "ui32", "ui64"))
I1 = BY_NAME["i1"]


@cache
def _xdsl_types() -> dict[str, Attribute]:
    from xdsl.dialects import builtin as b

    floats: dict[str, Attribute] = {
        "f32": b.f32,
        "f16": b.f16,
        "bf16": b.bf16,
        "f64": b.f64,
        "f8E4M3FN": b.Float8E4M3FNType(),
        "f8E5M2": b.Float8E5M2Type(),
        "f8E4M3FNUZ": b.Float8E4M3FNUZType(),
        "f8E5M2FNUZ": b.Float8E5M2FNUZType(),
        "f4E2M1FN": b.Float4E2M1FNType(),
        "f8E8M0FNU": b.Float8E8M0FNUType(),
        "complex<f32>": b.ComplexType(b.f32),
        "complex<f64>": b.ComplexType(b.f64),
    }
    ints: dict[str, Attribute] = {}
    for t in TABLE:
        if t.name.startswith("ui"):
            ints[t.name] = b.IntegerType(int(t.name[2:]), b.Signedness.UNSIGNED)
        elif t.name.startswith("i"):
            ints[t.name] = b.IntegerType(int(t.name[1:]))
    return floats | ints


@cache
def _from_xdsl() -> dict[Attribute, DType]:
    return {v: BY_NAME[k] for k, v in _xdsl_types().items()}


def to_xdsl(t: DType) -> Attribute:
    """The xDSL element type of ``t``."""
    return _xdsl_types()[t.name]


def from_xdsl(element: Attribute) -> DType:
    """The entry of an xDSL element type; KeyError if the table lacks it."""
    return _from_xdsl()[element]


def from_numpy(dtype: Any) -> DType:
    """The entry of a numpy dtype; KeyError if the table lacks it."""
    import numpy

    name = numpy.dtype(dtype).name
    return _by_numpy_name()["bool_" if name == "bool" else name]


@cache
def _by_numpy_name() -> dict[str, DType]:
    return {t.numpy_name: t for t in TABLE}
