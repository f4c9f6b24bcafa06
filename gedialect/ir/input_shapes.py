"""The command-line form of input shapes: ``x:1,3,224,224;y:1,8``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gedialect.errors import UsageError
from gedialect.ir.spec import DYNAMIC

FORM = 'write it as "x:1,3,224,224;y:1,8"'


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Input name -> sizes. Names may hold colons: each part is split at its last one.

    A size is a non-negative number, or ``?`` (also ``-1``) for one that stays unknown; nothing after the colon is
    a scalar. A part without a colon continues the name before it, since names may hold semicolons too.
    Raises UsageError GE1001.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    pending = ""
    for part in text.split(";"):
        part = pending + part
        name, colon, sizes = part.rpartition(":")
        if not part.strip():
            continue
        dims = _sizes(sizes) if colon else None
        if dims is None:
            pending = part + ";"
            continue
        pending = ""
        name = name.strip()
        if not name:
            raise UsageError(f"input shape {part!r} names no input", hint=FORM)
        if name in shapes:
            raise UsageError(f"the shape of input {name} is given twice", hint=FORM)
        shapes[name] = dims
    if pending:
        raise UsageError(f"input shape {pending[:-1]!r} does not end in sizes", hint=FORM)
    return shapes


def _sizes(text: str) -> tuple[int, ...] | None:
    dims: list[int] = []
    for item in text.split(",") if text.strip() else []:
        item = item.strip()
        if item in ("?", "-1"):
            dims.append(DYNAMIC)
        elif item.isascii() and item.isdigit():
            dims.append(int(item))
        else:
            return None
    return tuple(dims)


def format_input_shapes(shapes: Mapping[str, Sequence[int]]) -> str:
    """The inverse of ``parse_input_shapes``."""
    return ";".join(
        f"{name}:{','.join('?' if d == DYNAMIC else str(d) for d in sizes)}" for name, sizes in shapes.items()
    )
