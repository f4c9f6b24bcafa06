"""The ``ge`` dialect: a graph of tensor ops. One file per family of ops."""

from __future__ import annotations

from functools import cache
from typing import cast

from xdsl.ir import Dialect, Operation

from gedialect.dialects.ge import (
    activation,
    attention,
    attrs,
    constant,
    control,
    detect,
    elementwise,
    fusion,
    glu,
    index,
    logic,
    make,
    matmul,
    move,
    ngram,
    nn,
    norm,
    optimizer,
    placing,
    pool,
    quant,
    random,
    recurrent,
    reduce,
    resize,
    sample,
    search,
    sequence,
    shape,
    signal,
    text,
    unary,
)
from gedialect.dialects.ge.base import GeOp
from gedialect.errors import UnsupportedError

_FAMILIES = (
    activation,
    attention,
    constant,
    control,
    detect,
    elementwise,
    fusion,
    glu,
    index,
    logic,
    make,
    matmul,
    move,
    ngram,
    nn,
    norm,
    optimizer,
    placing,
    pool,
    quant,
    random,
    recurrent,
    reduce,
    resize,
    sample,
    search,
    sequence,
    shape,
    signal,
    text,
    unary,
)


def _ops() -> list[type[GeOp]]:
    found = [
        v
        for family in _FAMILIES
        for v in vars(family).values()
        if isinstance(v, type) and v.__module__ == family.__name__ and getattr(v, "name", "").startswith("ge.")
    ]
    return cast("list[type[GeOp]]", found)


GE = Dialect(
    "ge",
    list[type[Operation]](_ops()),
    [
        attrs.ValueType,
        attrs.TextType,
        attrs.WeightAttr,
        attrs.SplatAttr,
        attrs.KernelAttr,
        attrs.IntListAttr,
        attrs.LayoutAttr,
        attrs.PlaceAttr,
    ],
)


@cache
def _by_name() -> dict[str, type[GeOp]]:
    return {op.name: op for op in GE.operations if issubclass(op, GeOp)}


def op_class(mnemonic: str) -> type[GeOp]:
    """The op class of ``relu`` or ``ge.relu``; GE1202 if the dialect has none."""
    name = mnemonic if mnemonic.startswith("ge.") else f"ge.{mnemonic}"
    try:
        return _by_name()[name]
    except KeyError:
        raise UnsupportedError(f"the ge dialect has no op {name}", code="GE1202") from None


def op_classes() -> list[type[GeOp]]:
    """All op classes, in order of their names."""
    return [c for _, c in sorted(_by_name().items())]
