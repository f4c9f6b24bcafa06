"""numpy arrays as constant attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from gedialect.dialects.ge.attrs import SplatAttr, WeightAttr
from gedialect.dialects.ge.constant import DENSE_LIMIT
from gedialect.ir import dtypes
from gedialect.ir.lazy import np
from gedialect.ir.spec import Spec, tensor_type
from gedialect.ir.weights import STORE

if TYPE_CHECKING:
    import numpy.typing as npt


def attribute_of(array: npt.NDArray[Any]) -> tuple[Attribute, Spec]:
    """(attribute, spec): splat if all elements have the same bits, dense up to 1 kB, else a weight kept in memory."""
    dtype = dtypes.from_numpy(array.dtype)
    spec = Spec(dtype, array.shape)
    if array.size > 1 and dtype.kind != "c":
        # a broadcast view of one element needs no scan
        first = array.reshape(-1)[:1] if array.size else array
        if all(s == 0 or n == 1 for s, n in zip(array.strides, array.shape, strict=True)) or _same_bits(array, first):
            value = first[0]
            number = float(value) if dtype.is_float else int(value)
            if dtype.name != "f64" and not (dtype.is_float and number != number):
                return SplatAttr.get(number), spec
    data = np.ascontiguousarray(array)
    if data.nbytes <= DENSE_LIMIT:
        raw = (data.astype(np.int8) * -1 if dtype.kind == "b" else data).tobytes()
        return DenseIntOrFPElementsAttr(tensor_type(spec), BytesAttr(raw)), spec
    return WeightAttr.get(STORE.register(data.reshape(-1).view(np.uint8)), 0, data.nbytes), spec


def _same_bits(array: Any, first: Any) -> bool:
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, array.itemsize)
    one = np.ascontiguousarray(first).view(np.uint8)
    return bool((raw == one).all())
