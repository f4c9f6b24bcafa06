"""The text form of rules, ``FILE.rules``.

A rule is a header and indented lines; what is written in them are Python's expressions::

    # comment
    rule matmul_bias(x, w: const, b, **attrs) exact=tolerance level=2:
        "x @ w + b is one product with a bias."
        matmul(x, w, **attrs) + b
            => matmul(x, w, b, **attrs)
        where "one value per column": b.shape == out.shape[-1:]

Grammar::

    file    = { rule }
    rule    = "rule" NAME "(" [ param { "," param } ] ")" { option } ":" { line }
    param   = NAME [ ":" ("const" | "number" | "attr") ] | "*" NAME | "**" NAME
    option  = "exact=" ("bits" | "value" | "tolerance") | "level=" INT | "benefit=" INT | "topic=" NAME
            | "shared" | "ordered" | "finite"
    line    = STRING                                   what the rule does; first
            | NAME { "," NAME } "=" pattern            a name for a value or for the results of an op
            | pattern "=>" pattern                     before and after; once
            | "where" [ STRING ":" ] condition
    pattern = NAME | NUMBER | "None" | OP "(" pattern, ... , NAME "=" attribute, ... ")"
            | pattern ("+" | "-" | "*" | "/" | "**") pattern | "-" pattern | pattern "[" INT "]"
            | pattern "|" pattern                      alternatives
            | pattern "," pattern                      several outputs
            | "optional" "(" pattern [ "," pattern ] ")" | "any_order" "(" OP "," pattern, ... ")"
            | "choice" "(" NAME "," pattern, ... ")"   alternatives, decided alike wherever NAME is the same
            | "given" "(" pattern "," pattern "," pattern ")" | "number" "(" NUMBER [ "," "tol=" NUMBER ] ")"
            | "{" expression "}"                       right side: a constant computed from captures

An attribute is a literal, a captured attribute, or (right side) an expression. Lines go on inside brackets, and where
the next one begins with ``=>``. Expressions: see ``expressions``. A name given to a node can be used in conditions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from gedialect.errors import GeError
from gedialect.patterns.formats.expressions import FUNCTIONS, constant_of, free_names, function_of
from gedialect.patterns.language import (
    REST,
    AttrCapture,
    Capture,
    Computed,
    ManyCapture,
    Node,
    OneOf,
    Pattern,
    RestCapture,
    any_order,
    as_pattern,
    at_place,
    ge,
    given,
    number,
    one_of,
    optional,
    rule_error,
)
from gedialect.patterns.rule import Check, Rule, make_rule, parameters

HEADER = re.compile(r"rule\s+([A-Za-z_]\w*)\s*\(([^()]*)\)\s*([^:]*):\s*$")
ASSIGN = re.compile(r"([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=(?![=>])(.*)$", re.DOTALL)
WHERE = re.compile(r"where\b\s*(?:(\"(?:[^\"\\]|\\.)*\")\s*:)?(.*)$", re.DOTALL)
MAX_DEPTH = 60
OPTIONS = "exact=, level=, benefit=, topic=, shared, ordered, finite"


@dataclass
class Line:
    """A line with those it goes on in."""

    number: int
    indented: bool
    text: str


@dataclass
class Choice:
    """What several ``choice(NAME, ...)`` of a rule have in common."""

    name: str


@dataclass
class Scope:
    """Names of the rule that is being read."""

    params: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    choices: dict[str, Choice] = field(default_factory=dict[str, Choice])


def parse_rules(text: str, file: str, topic: str) -> list[Rule]:
    """The rules of a text; errors are GE1105 or GE1115 at FILE:LINE."""
    blocks: list[list[Line]] = []
    for line in _lines(text, file):
        if not line.indented:
            blocks.append([line])
        elif not blocks:
            raise syntax_error("a line is indented before the first rule", f"{file}:{line.number}")
        else:
            blocks[-1].append(line)
    found = [_rule(block, file, topic) for block in blocks]
    seen: dict[str, Rule] = {}
    for r in found:
        if r.name in seen:
            raise syntax_error(f"two rules are named {r.name}", r.where, f"the first is at {seen[r.name].where}")
        seen[r.name] = r
    return found


def syntax_error(message: str, where: str, hint: str | None = None) -> GeError:
    return GeError(message, code="GE1115", where=where, hint=hint or "docs/patterns.md has the grammar")


def _lines(text: str, file: str) -> Iterator[Line]:
    current: Line | None = None
    depth = 0
    for number_, raw in enumerate(text.split("\n"), 1):
        stripped = _without_comment(raw).rstrip()
        body = stripped.strip()
        if not body:
            continue
        opens = _balance(body)
        if current is not None and (depth > 0 or body.startswith("=>") or current.text.endswith("=>")):
            current.text += " " + body
        else:
            if current is not None:
                yield current
            current = Line(number_, stripped[0] in " \t", body)
            depth = 0
        depth += opens
        if depth < 0:
            raise syntax_error("a bracket is closed that was not opened", f"{file}:{number_}")
    if current is not None:
        if depth > 0:
            raise syntax_error("a bracket is not closed", f"{file}:{current.number}")
        yield current


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    """Characters of a line, and whether they are inside a string."""
    quote = ""
    skip = False
    for char in line:
        if quote:
            yield char, True
            if skip:
                skip = False
            elif char == "\\":
                skip = True
            elif char == quote:
                quote = ""
        else:
            quote = char if char in "\"'" else ""
            yield char, bool(quote)


def _without_comment(line: str) -> str:
    kept = ""
    for char, quoted in _pieces(line):
        if char == "#" and not quoted:
            break
        kept += char
    return kept


def _balance(line: str) -> int:
    plain = [c for c, quoted in _pieces(line) if not quoted]
    return sum(c in "([{" for c in plain) - sum(c in ")]}" for c in plain)


def _rule(block: list[Line], file: str, topic: str) -> Rule:
    head, *body = block
    place = f"{file}:{head.number}"
    match = HEADER.match(head.text)
    if match is None:
        raise syntax_error("this is no header of a rule", place, "write: rule NAME(x, c: number) exact=value:")
    name, params_text, options_text = match.groups()
    params = _params(params_text, place)
    options = _options(options_text, place)
    scope = Scope(params, {n: p for n, p in params.items() if isinstance(p, Pattern)})
    doc = ""
    sides: tuple[tuple[Pattern, ...], tuple[Pattern, ...]] | None = None
    checks: list[Check] = []
    for i, line in enumerate(body):
        where = f"{file}:{line.number}"
        with at_place(where):
            try:
                if i == 0 and line.text[0] in "\"'":
                    doc = str(ast.literal_eval(line.text))
                elif line.text.startswith("where") and (found := WHERE.match(line.text)):
                    label, condition = found.groups()
                    tree = _expression(condition)
                    checks.append(_check(tree, ast.literal_eval(label) if label else None))
                elif (arrow := _arrow(line.text)) >= 0:
                    if sides is not None:
                        raise syntax_error(f"rule {name} has two =>", where)
                    left = _side(line.text[:arrow], scope)
                    sides = (left, _side(line.text[arrow + 2 :], scope))
                elif found := ASSIGN.match(line.text):
                    _assign([n.strip() for n in found[1].split(",")], _expression(found[2]), scope)
                else:
                    raise syntax_error("expected before => after, NAME = value or where condition", where)
            except SyntaxError as error:
                raise syntax_error(f"this does not parse: {error.msg}", where) from None
            except (TypeError, ValueError, RecursionError, MemoryError) as error:
                raise syntax_error(f"this does not parse: {error}", where) from None
    if sides is None:
        raise syntax_error(f"rule {name} has no =>", place)
    with at_place(place):
        return make_rule(
            name=name,
            doc=doc,
            params=params,
            before=sides[0],
            after=sides[1],
            checks=tuple(checks),
            file=file,
            line=head.number,
            **cast("dict[str, Any]", {"topic": topic, **options}),
        )


def _params(text: str, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"(\*{0,2})([A-Za-z]\w*)(?:\s*:\s*(\w+))?", part)
        if match is None:
            raise syntax_error(f"{part} is no parameter", place, "write x, w: const, c: number, p: attr, *xs or **a")
        stars, name, kind = match.groups()
        if name in found:
            raise syntax_error(f"{name} is a parameter twice", place)
        if stars:
            found[name] = RestCapture(name) if len(stars) == 2 else ManyCapture(name)
        elif kind == "attr":
            found[name] = AttrCapture(name)
        elif kind in (None, "const", "number"):
            found[name] = Capture(name, kind or "value")
        else:
            raise syntax_error(f"{kind} is no kind of parameter", place, "kinds are const, number, attr")
    return found


def _options(text: str, place: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in text.split():
        key, equals, value = part.partition("=")
        if key in ("shared", "ordered") and not equals:
            found[key] = True
        elif part == "finite":
            found["samples"] = {"infinite": False}
        elif key in ("level", "benefit") and re.fullmatch(r"-?\d{1,9}", value):
            found[key] = int(value)
        elif key in ("exact", "topic") and value:
            found[key] = value
        else:
            raise syntax_error(f"{part} is no option", place, f"options are {OPTIONS}")
    return found


def _arrow(text: str) -> int:
    quoted = [q for _, q in _pieces(text)]
    at = text.find("=>")
    while at >= 0 and quoted[at]:
        at = text.find("=>", at + 1)
    return at


def _expression(text: str) -> ast.expr:
    if (
        max((text[: i + 1].count("(") - text[: i + 1].count(")") for i in range(0, len(text), 8)), default=0)
        > MAX_DEPTH
    ):
        raise SyntaxError("brackets are nested too deeply")
    return ast.parse(text.strip(), mode="eval").body


def _check(tree: ast.expr, label: str | None) -> Check:
    function = function_of(tree)
    return Check(label or ast.unparse(tree), function, parameters(function))


def _side(text: str, scope: Scope) -> tuple[Pattern, ...]:
    tree = _expression(text)
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return tuple(_some(_pattern(p, scope)) for p in parts)


def _some(p: Pattern | None) -> Pattern:
    if p is None:
        raise rule_error("a side of a rule is a value or several")
    return p


def _assign(names: list[str], tree: ast.expr, scope: Scope) -> None:
    for n in names:
        if n in scope.params or n in scope.values:
            raise rule_error(f"the name {n} is taken")
    value = _pattern(tree, scope)
    if len(names) == 1:
        scope.values[names[0]] = value.named(names[0]) if isinstance(value, Node) and value.name is None else value
        return
    if not isinstance(value, Node):
        raise rule_error("only the results of an op can be given several names")
    for i, n in enumerate(names):
        scope.values[n] = value[i]


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: ge.add(a, b),
    ast.Sub: lambda a, b: ge.sub(a, b),
    ast.Mult: lambda a, b: ge.mul(a, b),
    ast.Div: lambda a, b: ge.div(a, b),
    ast.Pow: lambda a, b: ge.pow(a, b),
}


def _is_constant(tree: ast.expr) -> bool:
    """Whether nothing but numbers and functions of numbers is in it."""
    return all(
        isinstance(n, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.expr_context)
        or (isinstance(n, ast.Name) and n.id in ("sqrt", "log", "pi", "abs", "float", "int"))
        or isinstance(n, ast.Call)
        for n in ast.walk(tree)
    ) and not isinstance(tree, ast.Constant | ast.Name)


def _pattern(tree: ast.expr, scope: Scope) -> Pattern | None:
    if _is_constant(tree):
        return as_pattern(constant_of(tree))
    match tree:
        case ast.Name():
            if tree.id not in scope.values:
                raise rule_error(f"{tree.id} is no parameter and no name", _hint(tree.id, scope))
            return scope.values[tree.id]
        case ast.Constant():
            if isinstance(tree.value, str | bytes | complex) or tree.value is ...:
                raise rule_error(f"{tree.value!r} cannot be an operand")
            return as_pattern(tree.value)
        case ast.BinOp(op=ast.BitOr()):
            return one_of(*(_pattern(p, scope) for p in _alternatives(tree)))
        case ast.BinOp() if type(tree.op) in OPERATORS:
            return OPERATORS[type(tree.op)](_pattern(tree.left, scope), _pattern(tree.right, scope))
        case ast.UnaryOp(op=ast.USub()):
            return ge.neg(_pattern(tree.operand, scope))
        case ast.Set() if len(tree.elts) == 1:
            return Computed(function_of(tree.elts[0]))
        case ast.Subscript(slice=ast.Constant(value=int() as index)):
            node = _pattern(tree.value, scope)
            if not isinstance(node, Node):
                raise rule_error(f"{ast.unparse(tree.value)} has no results to choose from")
            return _result(node, index)
        case ast.Call(func=ast.Name()):
            return _call(tree, scope)
        case _:
            raise rule_error(f"{ast.unparse(tree)} is no pattern")


def _result(node: Node, index: int) -> Pattern:
    try:
        return node[index]
    except IndexError:
        raise rule_error(f"{node.cls.name} has no result {index}") from None


def _hint(name: str, scope: Scope) -> str | None:
    if isinstance(scope.params.get(name), AttrCapture | RestCapture):
        return "it stands for attributes"
    return f"parameters are {', '.join(scope.params)}" if scope.params else None


def _alternatives(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return [*_alternatives(tree.left), tree.right]
    return [tree]


def _call(tree: ast.Call, scope: Scope) -> Pattern | None:
    name = cast(ast.Name, tree.func).id
    match name:
        case "any_order":
            op, *terms = tree.args
            if not isinstance(op, ast.Name):
                raise rule_error("any_order begins with the name of an op")
            return any_order(getattr(ge, op.id), *(_pattern(t, scope) for t in terms))
        case "choice":
            key, *terms = tree.args
            if not isinstance(key, ast.Name):
                raise rule_error("choice begins with a name")
            choice = scope.choices.setdefault(key.id, Choice(key.id))
            return OneOf([_pattern(t, scope) for t in terms], choice)
        case "optional":
            return optional(*(_pattern(t, scope) for t in tree.args))
        case "given":
            first, then, otherwise = (_pattern(t, scope) for t in tree.args)
            return given(_some(first), then, otherwise)
        case "number":
            return number(
                *(constant_of(a) for a in tree.args), **{str(k.arg): constant_of(k.value) for k in tree.keywords}
            )
        case _ if name in FUNCTIONS and name not in ("abs", "log", "sqrt"):
            raise rule_error(f"{name} computes; write it in braces, on the right side")
        case _:
            return _node(name, tree, scope)


def _node(name: str, tree: ast.Call, scope: Scope) -> Pattern:
    operands: list[Any] = []
    for a in tree.args:
        if isinstance(a, ast.Starred):
            value = _pattern(a.value, scope)
            operands += list(value) if isinstance(value, Node) else [value]
        else:
            operands.append(_pattern(a, scope))
    attrs: dict[str, Any] = {}
    for k in tree.keywords:
        if k.arg is None:
            rest = scope.params.get(k.value.id) if isinstance(k.value, ast.Name) else None
            if not isinstance(rest, RestCapture):
                raise rule_error("** stands before a parameter of the same form")
            attrs[REST] = rest
        else:
            attrs[k.arg] = _attribute(k.value, scope)
    return partial(getattr(ge, name), *operands, **attrs)()


def _attribute(tree: ast.expr, scope: Scope) -> Any:
    if isinstance(tree, ast.Name) and tree.id in scope.params:
        own = scope.params[tree.id]
        return own if isinstance(own, AttrCapture | Capture) else function_of(tree)
    if not free_names(tree):
        value = constant_of(tree)
        return value.name if hasattr(value, "ge_proto") else value
    return function_of(tree)
