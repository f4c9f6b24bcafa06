"""Which ge ops an ONNX operator becomes, read from the importer: its table of converters and their code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from gedialect.dialects.ge import op_classes
from gedialect.frontends.onnx import registry

MNEMONICS = {c.name.removeprefix("ge.") for c in op_classes()}
PACKAGE = "gedialect.frontends.onnx.ops"
FOLDED = {"constant"}
"""Ops that nearly every converter makes, and that say nothing."""
NO_OPS = {"shape"}
"""Methods of the converters' context that ask, and build nothing."""


@cache
def _functions(file: str) -> dict[tuple[str, int], ast.AST]:
    """Functions of a file by name and first line, as code objects count it (decorators included)."""
    found: dict[tuple[str, int], ast.AST] = {}
    with open(file, encoding="utf-8") as handle:
        for node in ast.walk(ast.parse(handle.read())):
            if isinstance(node, ast.FunctionDef):
                found[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
            elif isinstance(node, ast.Lambda):
                found["<lambda>", node.lineno] = node
    return found


def _strings(node: ast.AST) -> Iterator[str]:
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value in MNEMONICS:
            yield n.value


def _step(function: Callable[..., Any]) -> tuple[set[str], list[Callable[..., Any]]]:
    """Mnemonics of the ops that a function builds itself, and the functions of the importer's ops it uses."""
    code = function.__code__
    body = _functions(code.co_filename)[code.co_name, code.co_firstlineno]
    held = inspect.getclosurevars(function)
    made = {v for v in held.nonlocals.values() if isinstance(v, str) and v in MNEMONICS}
    assigned = {
        t.id: n.value for n in ast.walk(body) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    }
    for call in (n for n in ast.walk(body) if isinstance(n, ast.Call)):
        match call.func:
            case ast.Name(id="ctx") if call.args:
                first = call.args[0]
                made |= set(_strings(assigned.get(first.id, first) if isinstance(first, ast.Name) else first))
            case ast.Attribute(value=ast.Name(id="ctx"), attr=name) if name in MNEMONICS - NO_OPS:
                made.add(name)
            case ast.Attribute(value=ast.Name(id="ctx")) if call.args and isinstance(call.args[0], ast.Constant):
                made |= set(_strings(call.args[0]))
            case _ if any(isinstance(a, ast.Name) and a.id == "ctx" for a in call.args):
                made |= {s for a in call.args if isinstance(a, ast.Constant) for s in _strings(a)}
            case _:
                pass
    names = {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}
    used = [*held.nonlocals.values(), *(v for k, v in sorted(held.globals.items()) if k in names)]
    return made, [f for f in used if inspect.isfunction(f) and f.__module__.startswith(PACKAGE)]


def made_by(converter: Callable[..., Any]) -> set[str]:
    """What a converter builds itself; if it leaves that to others, what they build."""
    level, seen = [converter], {converter}
    while level:
        made: set[str] = set()
        below: list[Callable[..., Any]] = []
        for function in level:
            own, used = _step(function)
            made |= own - FOLDED
            below += [f for f in used if f not in seen]
        if made:
            return made
        seen.update(below)
        level = below
    return set()


@cache
def table() -> dict[tuple[str, str], tuple[tuple[int, ...], tuple[str, ...]]]:
    """(domain, ONNX op) -> (opsets at which its converter changes, ge main ops it may become)."""
    found: dict[tuple[str, str], tuple[tuple[int, ...], tuple[str, ...]]] = {}
    for domain, op, since in registry.supported():
        opsets, names = found.get((domain, op), ((), ()))
        converter = registry.lookup(domain, op, since)
        assert converter is not None
        made = {*names, *made_by(converter)}
        found[domain, op] = ((*opsets, since), tuple(sorted(made)))
    return found


@cache
def sources() -> dict[str, list[str]]:
    """ge mnemonic -> the ONNX ops that may become it."""
    found: dict[str, list[str]] = {}
    for (domain, op), (_, names) in table().items():
        for name in names:
            found.setdefault(name, []).append(f"{domain}.{op}" if domain else op)
    return found


def text() -> str:
    """docs/onnx.md"""
    out = [
        "# ONNX operators\n",
        f"{len(table())} operators are read, with the semantics of the model's own opset. Operators that the schema "
        "defines as a\nfunction are expanded where they have no converter of their own. Types: docs/ops.md.\n",
        "| operator | converters from opset | becomes |",
        "| --- | --- | --- |",
    ]
    for (domain, op), (opsets, names) in sorted(table().items()):
        made = " ".join(f"[{n}](ops.md#ge{n})" for n in names) or "known at import"
        out.append(f"| {f'{domain}.' if domain else ''}{op} | {' '.join(map(str, opsets))} | {made} |")
    return "\n".join(out)
