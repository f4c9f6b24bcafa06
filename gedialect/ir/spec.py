"""``Spec``: element type and shape of a tensor, cheap to make, hash and compare.

Type inference works on specs; xDSL's ``TensorType`` costs 10 us to build, so the two are mapped by cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType
from xdsl.ir import Attribute

from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.dtypes import DType

DYNAMIC = -1
"""An unknown size; printed ``?``. In a ``TensorType`` it is xDSL's own number, ``DYNAMIC_INDEX``."""

AnyTensor = TensorType[Any]


@dataclass(frozen=True)
class Spec:
    """``shape`` is in memory order, unknown sizes are ``DYNAMIC``; ``encoding`` marks blocked storage."""

    dtype: DType
    shape: tuple[int, ...]
    encoding: Attribute | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return DYNAMIC not in self.shape

    @property
    def size(self) -> int:
        """Number of elements; the shape must be static."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes in memory; the shape must be static."""
        return prod(self.shape) * self.dtype.itemsize

    def with_shape(self, shape: tuple[int, ...] | list[int]) -> Spec:
        return Spec(self.dtype, tuple(shape))

    def with_dtype(self, dtype: DType) -> Spec:
        return Spec(dtype, self.shape, self.encoding)

    def __str__(self) -> str:
        return "x".join([*("?" if d == DYNAMIC else str(d) for d in self.shape), self.dtype.name])


@lru_cache(maxsize=65536)
def spec_of(type_: Attribute) -> Spec:
    """The spec of a tensor type; UnsupportedError GE1203 for other types."""
    if not isinstance(type_, TensorType):
        raise UnsupportedError(f"a tensor type is needed, not {type_}", code="GE1203")
    tensor = cast("AnyTensor", type_)
    encoding = None if isinstance(tensor.encoding, NoneAttr) else tensor.encoding
    try:
        dtype = dtypes.from_xdsl(tensor.element_type)
    except KeyError:
        raise UnsupportedError(f"element type {tensor.element_type} is not supported", code="GE1203") from None
    return Spec(dtype, tuple(DYNAMIC if d == DYNAMIC_INDEX else d for d in tensor.get_shape()), encoding)


@lru_cache(maxsize=65536)
def tensor_type(spec: Spec) -> AnyTensor:
    """The tensor type of a spec."""
    element = dtypes.to_xdsl(spec.dtype)
    shape = [DYNAMIC_INDEX if d == DYNAMIC else d for d in spec.shape]
    if spec.encoding is None:
        return TensorType(element, shape)
    return TensorType(element, shape, spec.encoding)
