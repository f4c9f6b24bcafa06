"""Constants during import, and their making from ``TensorProto``."""

from __future__ import annotations

import os
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, numpy_helper
from xdsl.ir import Attribute, SSAValue

from gedialect.dialects.ge.attrs import WeightAttr
from gedialect.dialects.ge.constant import DENSE_LIMIT
from gedialect.dialects.ge.literals import attribute_of
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec
from gedialect.ir.weights import STORE, read_constant

Array = npt.NDArray[Any]

MAX_BYTES = 1 << 42
"""A tensor above 4 TiB is an error in the model, not a size."""

_TYPED_FIELD = {
    "FLOAT": "float_data",
    "COMPLEX64": "float_data",
    "DOUBLE": "double_data",
    "COMPLEX128": "double_data",
    "INT64": "int64_data",
    "UINT32": "uint64_data",
    "UINT64": "uint64_data",
}


class Const:
    """A constant of the model. It becomes an op only where an op needs it as an operand."""

    __slots__ = ("_array", "_attr", "name", "spec", "ssa")

    def __init__(self, spec: Spec, *, array: Array | None = None, attr: Attribute | None = None, name: str = ""):
        self.spec = spec
        self._array = array
        self._attr = attr
        self.name = name
        self.ssa: SSAValue | None = None

    @property
    def attr(self) -> Attribute:
        """The value as an attribute of ``ge.constant``."""
        if self._attr is None:
            assert self._array is not None
            self._attr = attribute_of(self._array)[0]
        return self._attr

    @property
    def array(self) -> Array:
        """The value; bytes of the file stay mapped."""
        if self._array is None:
            assert self._attr is not None
            self._array = read_constant(self._attr, self.spec)
        return self._array

    @property
    def is_small(self) -> bool:
        """Whether import computes with it (at most 1 kB)."""
        return self.spec.nbytes <= DENSE_LIMIT


Value: TypeAlias = SSAValue | Const
"""What a name of the model stands for."""


def dtype_of(number: int) -> DType:
    """The element type of an ONNX type number; UnsupportedError GE1203 for strings and types we lack."""
    found = dtypes.BY_ONNX.get(number)
    if found is None:
        try:
            name = TensorProto.DataType.Name(number)
        except ValueError:
            raise GeError(f"element type number {number} does not exist", code="GE1005") from None
        if number == TensorProto.UNDEFINED:
            raise GeError("a tensor has no element type", code="GE1005")
        raise UnsupportedError(f"element type {name} is not supported", code="GE1203")
    return found


def check_size(spec: Spec, what: str) -> Spec:
    """``spec`` itself; GE1009 if a tensor of it is absurdly large or has a negative size."""
    shape = [d for d in spec.shape if d != -1]
    if any(d < 0 or d >= 1 << 40 for d in shape) or prod(shape) * spec.dtype.itemsize > MAX_BYTES:
        raise GeError(
            f"the size of {what} is absurd: {list(spec.shape)} of {spec.dtype}",
            code="GE1009",
            hint=f"a tensor has at most {MAX_BYTES >> 40} TiB",
        )
    return spec


MAX_TABLE = 1 << 26
"""Bytes of a constant that a node stands for and that import computes."""


def check_table(*shape: int, itemsize: int = 8) -> None:
    """GE1009 before a constant of a node is computed that takes hundreds of megabytes."""
    if prod(shape) * itemsize > MAX_TABLE:
        raise GeError(
            f"a constant of {list(shape)} elements would be computed",
            code="GE1009",
            hint=f"at most {MAX_TABLE >> 20} MB; store it as a tensor",
        )


class TensorReader:
    """Makes ``Const`` from tensors of one model: of the file ``file``, or of a model in memory (None)."""

    def __init__(self, file: str | None, folder: str = ""):
        self.file = file
        self.folder = folder

    def read(self, tensor: TensorProto, name: str = "") -> Const:
        """The tensor's value by reference where its bytes lie as they are, else as an array.

        Raises GE1003 if the payload and the dims disagree, GE1009 for absurd dims.
        """
        name = name or tensor.name
        what = f"tensor {name!r}" if name else "a constant"
        dtype = dtype_of(tensor.data_type)
        dims = tuple(tensor.dims)
        if any(d < 0 for d in dims):
            raise GeError(f"{what} has a negative size: {list(dims)}", code="GE1009")
        spec = check_size(Spec(dtype, dims), what)
        packed = dtype.bits < 8
        nbytes = -(-spec.size * dtype.bits // 8) if packed else spec.nbytes

        def wrong(length: int, unit: str = "bytes") -> GeError:
            return GeError(
                f"{what} has {length} {unit}, {spec} needs {nbytes if unit == 'bytes' else spec.size}", code="GE1003"
            )

        if tensor.data_location == TensorProto.EXTERNAL:
            file, offset, length = self._external(tensor, nbytes, what)
            if length != nbytes:
                raise wrong(length)
            return self._span(spec, file, offset, nbytes, packed, name)
        if tensor.HasField("segment") and self.file is not None and not tensor.HasField("raw_data"):
            begin, end = tensor.segment.begin, tensor.segment.end
            if end - begin != nbytes:
                raise wrong(end - begin)
            return self._span(spec, self.file, begin, nbytes, packed, name)
        if tensor.HasField("raw_data"):
            raw = tensor.raw_data
            if len(raw) != nbytes:
                raise wrong(len(raw))
            if nbytes <= DENSE_LIMIT or packed:
                return Const(spec, array=_from_raw(raw, spec, packed), name=name)
            return Const(spec, attr=WeightAttr.get(STORE.register(raw), 0, nbytes), name=name)
        field = _TYPED_FIELD.get(TensorProto.DataType.Name(tensor.data_type), "int32_data")
        count = len(getattr(tensor, field))
        needed = spec.size * (2 if dtype.kind == "c" else 1)
        if count != (nbytes if packed else needed):
            raise wrong(count, "elements")
        return Const(spec, array=numpy_helper.to_array(tensor), name=name)

    def _span(self, spec: Spec, file: str, offset: int, nbytes: int, packed: bool, name: str) -> Const:
        data = STORE.span(file, offset, nbytes)
        if packed or nbytes <= DENSE_LIMIT:
            return Const(spec, array=_from_raw(data, spec, packed), name=name)
        return Const(spec, attr=WeightAttr.get(file, offset, nbytes), name=name)

    def _external(self, tensor: TensorProto, nbytes: int, what: str) -> tuple[str, int, int]:
        entries = {e.key: e.value for e in tensor.external_data}
        location = entries.get("location", "")
        inside = location and not os.path.isabs(location) and ".." not in location.replace("\\", "/").split("/")
        if not inside:
            raise GeError(f"{what} lies in external file {location!r}, which is not beside the model", code="GE1002")
        try:
            offset = int(entries.get("offset", "0"))
            length = int(entries.get("length", nbytes))
        except ValueError:
            raise GeError(
                f"the external data of {what} has an offset or length that is no number", code="GE1003"
            ) from None
        return os.path.join(self.folder, location), offset, length


def _from_raw(raw: bytes | memoryview, spec: Spec, packed: bool) -> Array:
    if packed:
        bits = spec.dtype.bits
        data = np.frombuffer(raw, np.uint8)
        parts = np.stack([data >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], axis=-1)
        parts = parts.reshape(-1)[: spec.size].reshape(spec.shape)
        if spec.dtype.is_float:  # ml_dtypes keeps the bits in the low end of a byte
            return parts.view(spec.dtype.numpy)
        if spec.dtype.kind == "i":
            top = 1 << bits - 1
            return ((parts ^ top).astype(np.int8) - top).astype(spec.dtype.numpy)
        return parts.astype(spec.dtype.numpy)
    if spec.dtype.kind == "b":
        return (np.frombuffer(raw, np.uint8) != 0).reshape(spec.shape)
    return np.frombuffer(raw, spec.dtype.numpy).reshape(spec.shape)


def spec_of_tensor_type(value: onnx.ValueInfoProto) -> tuple[Spec | None, list[str], DType]:
    """(spec or None if the rank is unknown, the names of the dims, element type) of a graph input.

    Unknown sizes (no value, a name, or a negative value) are DYNAMIC. UnsupportedError GE1203 for what is no tensor.
    """
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise UnsupportedError(
            f"{value.name!r} is of type {(kind or 'unknown').removesuffix('_type')}, not a tensor", code="GE1203"
        )
    tensor = value.type.tensor_type
    dtype = dtype_of(tensor.elem_type)
    if not tensor.HasField("shape"):
        return None, [], dtype
    sizes: list[int] = []
    names: list[str] = []
    for dim in tensor.shape.dim:
        known = dim.HasField("dim_value") and dim.dim_value >= 0
        sizes.append(dim.dim_value if known else -1)
        names.append(str(dim.dim_value) if known else dim.dim_param or "?")
    return check_size(Spec(dtype, tuple(sizes)), f"input {value.name!r}"), names, dtype
