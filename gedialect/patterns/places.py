"""Where parts of a Python rule stand in its file: ``FILE:line`` of a condition, a parameter, a ``return``."""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Callable
from functools import cache, partial
from types import CodeType, TracebackType
from typing import Any


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code of a Python function, also of one with arguments bound; None for others."""
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__code__", None)


def place_of(function: Callable[..., Any], file: str, default: str) -> str:
    """The place of a function of a rule in ``file``; ``default`` if it is from elsewhere."""
    code = code_of(function)
    return f"{file}:{code.co_firstlineno}" if code is not None and code.co_filename == file else default


def failing_line(trace: TracebackType | None, file: str) -> int | None:
    """The line of ``file`` in which an exception was raised, or that called what raised it."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def parameter_line(code: CodeType, name: str) -> int:
    """The line of a parameter of a function."""
    for node in ast.walk(_tree(code.co_filename)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                a = node.args
                every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
                return next((p.lineno for p in every if p is not None and p.arg.lstrip("_") == name), node.lineno)
    return code.co_firstlineno


def return_line(code: CodeType) -> int:
    """The line of the last ``return`` of a function."""
    starts = [i for i in dis.get_instructions(code) if i.opname == "RETURN_VALUE"]
    lines = [i.positions.lineno for i in starts if i.positions is not None and i.positions.lineno is not None]
    return max(lines, default=code.co_firstlineno)


@cache
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])
