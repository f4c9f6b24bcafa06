"""``--list-passes``: every pass with a line about it, ours without importing them."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterable

from gedialect.ir.registry import pass_modules

_NAMED = re.compile(r"^``[a-z0-9-]+``: ")
"""A docstring may start with the pass's name, which the list shows anyway."""


def summary(module: str) -> str:
    """The first line of the docstring of a module, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    with open(spec.origin, encoding="utf-8") as handle:
        text = ast.get_docstring(ast.parse(handle.read()))
    first = "" if text is None else text.partition("\n")[0]
    return _NAMED.sub("", first)


def listing(available: Iterable[str]) -> str:
    """All passes: ours with a summary each, then the names of xDSL's."""
    ours = pass_modules()
    width = max((len(name) for name in ours), default=0) + 2
    lines = ["gedialect:"]
    lines += [f"  {name:<{width}}{summary(module)}".rstrip() for name, module in sorted(ours.items())]
    lines.append("xdsl:")
    lines += [f"  {name}" for name in sorted(available) if name not in ours]
    return "\n".join(lines)
