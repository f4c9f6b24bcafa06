"""Values an op takes as an attribute or as an operand: shapes, sizes, bounds."""

from __future__ import annotations

from typing import Any, cast

from gedialect.dialects.ge.base import Attrs, GeOp
from gedialect.dialects.ge.shapes import mismatch
from gedialect.errors import UnsupportedError
from gedialect.ir.spec import DYNAMIC, Spec


def given(attrs: Attrs, name: str, operand: Any) -> Any:
    """The attribute, or the array of the operand as a list of Python numbers; None if both are absent."""
    value = attrs.get(name)
    if value is None and operand is not None:
        return operand.reshape(-1).tolist()
    return value


def required(attrs: Attrs, name: str, operand: Any) -> Any:
    """``given``; GE1005 if there is neither."""
    value = given(attrs, name, operand)
    if value is None:
        raise mismatch(f"{name} is given neither as an attribute nor as an operand")
    return value


def unknown_shape(attrs: Attrs, operand: Spec | None, name: str) -> tuple[int, ...]:
    """The shape when operand ``name`` (1-D, one entry an axis) is only known at run time: the result type's, else
    unknown sizes of the rank that its length tells. GE1205 if not even the rank is known."""
    if operand is None:
        raise mismatch(f"{name} is given neither as an attribute nor as an operand")
    if attrs.results:
        return attrs.shape
    if operand.rank != 1:
        raise mismatch(f"operand {name} has rank {operand.rank}, a vector is needed")
    if operand.shape[0] == DYNAMIC:
        raise UnsupportedError(
            f"the rank of the result is not known: operand {name} has an unknown length",
            code="GE1205",
            hint="fix the input shapes, so that it becomes a constant",
        )
    return (DYNAMIC,) * operand.shape[0]


def check_words(cls: type[GeOp], attrs: Attrs) -> None:
    """GE1005 unless attributes that are one of some words are one of those."""
    for name, known in cls.word_attrs():
        value = attrs.get(name)
        for word in cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,):
            if word is not None and word not in known.allowed:
                raise mismatch(f"{name} of {cls.name}: {known.refusal(word)}")
