"""The page about passes, from their declarations."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from typing import Any


def text() -> str:
    """docs/passes.md"""
    from gedialect.cli.pass_list import summary
    from gedialect.ir import registry
    from gedialect.pipelines import DECIDE, LEVELS, OPTIMISE, pipeline

    out = [
        "# Passes\n",
        "Passes of gedialect; all of xDSL's are there as well (`ge-opt --list-passes`). Options are written\n"
        '`-p "name{option=value other=1,2}"`.\n',
        "## Levels\n",
        "`ge-opt -O2 --print-pipeline` prints what a level runs. canonicalize, cse and dce are xDSL's.\n",
        "```text",
        *(f"O{n}  {', '.join(pipeline(n))}" for n in LEVELS),
        "```\n",
    ]
    steps = (*OPTIMISE, *DECIDE)
    for name, module in sorted(registry.pass_modules().items()):
        cls = registry.load_pass(name, module)
        first = _prose(summary(module))
        out += [f"## {name}\n", f"{first[0].upper()}{first[1:]}\n"]
        rest = (importlib.import_module(module).__doc__ or "").partition("\n")[2].strip()
        own = inspect.getdoc(cls) or ""
        generated = own.startswith(f"{cls.__name__}(")  # what dataclass writes when there is no docstring
        out += [f"{_prose(text)}\n" for text in (rest, "" if generated else own) if text]
        levels = sorted({n for s in steps if s.name == name for n in LEVELS if s.lowest <= n <= s.highest})
        where = ", ".join(f"O{n}" for n in levels)
        out.append(f"Levels: {where or 'none; run it by name'}.\n")
        fields = dataclasses.fields(cls)
        if fields:
            out += ["| option | type | default |", "| --- | --- | --- |"]
            out += [f"| `{f.name.replace('_', '-')}` | {_type(f.type)} | {_default(f)} |" for f in fields]
            out.append("")
    return "\n".join(out)


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    known = {"str": "text", "int": "number", "bool": "true or false", "tuple[str, ...]": "names, with commas"}
    return known.get(text, f"`{text}`").replace("|", "\\|")


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        value: Any = field.default_factory()
    elif field.default is dataclasses.MISSING:
        return "required"
    else:
        value = field.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None or value == () or value == "":
        return "none"
    return f"`{value}`"


def _prose(text: str) -> str:
    """reStructuredText's double backquotes as Markdown's single ones."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)
