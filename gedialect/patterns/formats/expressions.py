"""Conditions and computed values of a ``.rules`` file: Python expressions over captures, and nothing else.

Names are captures, numbers types (``f32``) and a few functions. Nothing can be imported, called or changed besides, so
a rule file from elsewhere can be loaded safely.
"""

from __future__ import annotations

import ast
import linecache
import math
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType
from typing import Any

from gedialect.ir.dtypes import BY_NAME
from gedialect.patterns.language import rule_error

MAX_COUNT = 1 << 16
"""Longest ``range`` and largest literal exponent times base bits."""


def _range(*args: int) -> range:
    found = range(*args)
    if len(found) > MAX_COUNT:
        raise ArithmeticError("range is too long")
    return found


FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "enumerate": enumerate,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "log": math.log,
    "max": max,
    "min": min,
    "prod": math.prod,
    "range": _range,
    "reversed": reversed,
    "set": set,
    "sorted": sorted,
    "sqrt": math.sqrt,
    "sum": sum,
    "tuple": tuple,
    "zip": zip,
}
CONSTANTS: dict[str, Any] = {**BY_NAME, "pi": math.pi, "inf": math.inf}
SAFE: dict[str, Any] = {"__builtins__": {}, **CONSTANTS, **FUNCTIONS}

_ALLOWED = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.expr_context,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.IfExp,
    ast.Tuple,
    ast.List,
    ast.Subscript,
    ast.Slice,
    ast.Starred,
    ast.Call,
    ast.Attribute,
    ast.ListComp,
    ast.GeneratorExp,
    ast.SetComp,
    ast.Set,
    ast.comprehension,
)


def refusal(tree: ast.AST) -> str | None:
    """Why an expression is not allowed; None if it is."""
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            return f"{type(node).__name__} cannot be used in an expression"
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return f"the field {node.attr} cannot be used"
        if isinstance(node, ast.Call) and (
            not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
        ):
            known = ", ".join(FUNCTIONS)
            return f"{ast.unparse(node.func)} cannot be called; functions are {known}"
        if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str | bool | None):
            return f"{node.value!r} cannot be used in an expression"
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) >= 1 << 63:
            return "a number has more than 64 bits"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            exponent = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
            if not isinstance(exponent, ast.Constant) or not isinstance(exponent.value, int | float):
                return "an exponent is a number"
            if abs(exponent.value) > 64:
                return "an exponent is at most 64"
    return None


def free_names(tree: ast.AST) -> tuple[str, ...]:
    """Names an expression asks for, in order, without functions and those of its comprehensions."""
    own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    found = dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in own)
    return tuple(n for n in found if n not in SAFE)


def function_of(tree: ast.expr, where: str | None = None) -> Callable[..., Any]:
    """The expression as a function of the names it asks for; its text is kept as ``text``. Lines of ``tree`` are those
    of the file of ``where``."""
    if (reason := refusal(tree)) is not None:
        hint = "an attribute is computed by an expression of captures: axes=[x.rank - 1]"
        raise rule_error(reason, hint if "Lambda" in reason else None, where)
    names = free_names(tree)
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    whole = ast.copy_location(ast.Lambda(args=arguments, body=tree), tree)
    body = ast.fix_missing_locations(ast.Expression(whole))
    file = "<rule>" if where is None else where.rpartition(":")[0]
    made = eval(compile(body, file, "eval"), dict(SAFE))
    made.text = ast.unparse(tree)
    return made


def constant_of(tree: ast.expr) -> Any:
    """The value of an expression without captures."""
    try:
        return function_of(tree)()
    except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError, MemoryError) as error:
        raise rule_error(f"{ast.unparse(tree)}: {error}") from None


def text_of(function: Callable[..., Any]) -> str | None:
    """The expression of a function: its own text, or the body of a lambda that uses nothing but its parameters and
    what expressions may use; None if it cannot be said."""
    own = getattr(function, "text", None)
    if isinstance(own, str):
        return own
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        return None
    found = [
        node
        for node in _lambdas(code.co_filename)
        if node.lineno == code.co_firstlineno and _arguments(node) == code.co_varnames[: code.co_argcount]
    ]
    if len(found) > 1:  # several on one line: the one whose body begins where the code does
        columns = [p[2] for p in code.co_positions() if p[2] is not None and p[0] == code.co_firstlineno]
        start = min((c for c in columns if c), default=0)
        found = [n for n in found if n.col_offset <= start <= (n.end_col_offset or 0)] or found
        found = found if len(found) == 1 else []
    if not found:
        return None
    body = found[0].body
    known = {*_arguments(found[0])}
    if refusal(body) is not None or any(n not in known for n in free_names(body)):
        return None
    return ast.unparse(body)


def _arguments(node: ast.Lambda) -> tuple[str, ...]:
    return tuple(a.arg for a in node.args.args)


@cache
def _lambdas(file: str) -> Sequence[ast.Lambda]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
