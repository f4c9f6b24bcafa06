"""The table of converters: (domain, op type) -> versions.

A converter is registered for the opset it is valid from::

    @onnx_op("Squeeze", since=13)
    def squeeze(ctx: Context, node: Node) -> Value: ...

and holds until a later registration of the same op. ``lookup`` picks by the model's opset import.
"""

from __future__ import annotations

import importlib
import pkgutil
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gedialect.frontends.onnx.context import Context, Node
    from gedialect.frontends.onnx.values import Value

Converter: TypeAlias = "Callable[[Context, Node], Value | Sequence[Value | None]]"
F = TypeVar("F", bound="Converter")

_TABLE: dict[tuple[str, str], list[tuple[int, Converter]]] = {}


TEXT = "ge.text"
"""Domain of converters that take the place of an op's own where an input is a tensor of strings."""
_ANY_VALUE: set[str] = set()


def onnx_op(op_type: str, *, since: int = 1, domain: str = "", any_value: bool = False) -> Callable[[F], F]:
    """Register a converter of ``op_type`` from opset ``since`` on; ``any_value``: it takes values that are no
    tensors, or of unknown sizes."""

    def register(f: F) -> F:
        add(op_type, f, since=since, domain=domain)
        if any_value:
            _ANY_VALUE.add(op_type)
        return f

    return register


def add(op_type: str, converter: Converter, *, since: int = 1, domain: str = "") -> None:
    """``onnx_op`` as a call, for tables."""
    versions = _TABLE.setdefault((domain, op_type), [])
    versions.append((since, converter))
    versions.sort(key=lambda v: v[0])


@cache
def _load() -> None:
    from gedialect.frontends.onnx import ops

    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")


def lookup(domain: str, op_type: str, version: int) -> Converter | None:
    """The converter valid at opset ``version``; None if there is none."""
    _load()
    versions = _TABLE.get((domain, op_type))
    if versions is None:
        return None
    at = bisect_right(versions, version, key=lambda v: v[0])
    return versions[at - 1][1] if at else None


def takes_any_value(op_type: str) -> bool:
    """Whether the converter takes values that are no tensors."""
    _load()
    return op_type in _ANY_VALUE


def supported() -> list[tuple[str, str, int]]:
    """(domain, op type, first opset) of every converter, sorted."""
    _load()
    return sorted((d, o, since) for (d, o), versions in _TABLE.items() for since, _ in versions)
