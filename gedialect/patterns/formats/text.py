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
from difflib import get_close_matches
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
    """A line with those it goes on in; ``text`` keeps their ends, so that lines in it count on from ``number``."""

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
    file: str = ""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    """Where names were given."""
    used: set[str] = field(default_factory=set[str])
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
    last = 0
    depth = 0
    for number_, raw in enumerate(text.split("\n"), 1):
        stripped = _without_comment(raw).rstrip()
        body = stripped.strip()
        if not body:
            continue
        opens = _balance(body)
        if current is not None and (depth > 0 or body.startswith("=>") or current.text.endswith("=>")):
            current.text += "\n" * (number_ - last) + body
        else:
            if current is not None:
                yield current
            current = Line(number_, stripped[0] in " \t", body)
            depth = 0
        last = number_
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
    scope = Scope(params, file, {n: p for n, p in params.items() if isinstance(p, Pattern)})
    sides_at = head.number
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
                    label = found[1]
                    tree = _expression(found[2], line.number + _lines_before(line.text, found.start(2)))
                    checks.append(_check(tree, ast.literal_eval(label) if label else None, where))
                elif (arrow := _arrow(line.text)) >= 0:
                    if sides is not None:
                        raise syntax_error(f"rule {name} has two =>", where)
                    left = _side(line.text[:arrow], scope, line.number)
                    below = line.number + _lines_before(line.text, arrow + 2)
                    sides = (left, _side(line.text[arrow + 2 :], scope, below))
                    sides_at = line.number
                elif found := ASSIGN.match(line.text):
                    below = line.number + _lines_before(line.text, found.start(2))
                    tree = _expression(found[2], below)
                    names = [n.strip() for n in found[1].split(",")]
                    _assign(names, tree, scope)
                    scope.lines.update((n, line.number) for n in names)
                else:
                    hint = (
                        "write =>, not ->" if "->" in line.text else "what stands before => is what a graph looks like"
                    )
                    raise syntax_error("expected before => after, NAME = value or where condition", where, hint)
            except SyntaxError as error:
                at = line.number + max((error.lineno or 1) - 1, 0) if "\n" in line.text else line.number
                hint = 'write where "what must hold": condition' if line.text.startswith("where") else None
                raise syntax_error(f"this does not parse: {error.msg}", f"{file}:{at}", hint) from None
            except (RecursionError, MemoryError):
                hint = "give parts of it names, on lines of their own"
                raise syntax_error("this is nested too deeply", where, hint) from None
            except (TypeError, ValueError) as error:
                raise syntax_error(f"this does not parse: {error}", where) from None
    if sides is None:
        raise syntax_error(f"rule {name} has no =>", place)
    asked = {*scope.used, *(p for c in checks for p in c.params)}
    for n, at in scope.lines.items():
        if n not in asked:
            raise rule_error(f"the name {n} is not used", "use it, or take the line away", f"{file}:{at}")
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
            sides_at=f"{file}:{sides_at}",
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
    seen: set[str] = set()
    for part in text.split():
        key, equals, value = part.partition("=")
        if key in seen:
            raise syntax_error(f"{key} is there twice", place, "say it once")
        seen.add(key)
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


def _lines_before(text: str, position: int) -> int:
    return text.count("\n", 0, position)


def _expression(text: str, line: int) -> ast.expr:
    """An expression whose first line is ``line`` of the file."""
    line += _lines_before(text, len(text) - len(text.lstrip()))
    if (
        max((text[: i + 1].count("(") - text[: i + 1].count(")") for i in range(0, len(text), 8)), default=0)
        > MAX_DEPTH
    ):
        raise SyntaxError("brackets are nested too deeply")
    tree = ast.parse(text.strip(), mode="eval").body
    ast.increment_lineno(tree, line - 1)
    return tree


def _check(tree: ast.expr, label: str | None, where: str) -> Check:
    function = function_of(tree, where)
    return Check(label or ast.unparse(tree), function, parameters(function), where)


def _side(text: str, scope: Scope, line: int) -> tuple[Pattern, ...]:
    tree = _expression(text, line)
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
    with at_place(f"{scope.file}:{tree.lineno}"):
        return _pattern_here(tree, scope)


def _pattern_here(tree: ast.expr, scope: Scope) -> Pattern | None:
    if _is_constant(tree):
        return as_pattern(constant_of(tree))
    match tree:
        case ast.Name():
            if tree.id not in scope.values:
                raise rule_error(f"{tree.id} is no parameter and no name", _hint(tree.id, scope))
            scope.used.add(tree.id)
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
            return Computed(_function(tree.elts[0], scope))
        case ast.Subscript(slice=ast.Constant(value=int() as index)):
            node = _pattern(tree.value, scope)
            if not isinstance(node, Node):
                raise rule_error(f"{ast.unparse(tree.value)} has no results to choose from")
            return _result(node, index)
        case ast.Call(func=ast.Name()):
            return _call(tree, scope)
        case _:
            raise rule_error(f"{ast.unparse(tree)} is no pattern", _advice(tree))


def _advice(tree: ast.expr) -> str:
    """How to write what somebody wrote as in Python."""
    match tree:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="ge"))):
            return f"ops are written without ge: {ast.unparse(tree).replace('ge.', '')}"
        case ast.BinOp():
            return "operators are + - * / **; other ops go by name, as matmul(x, w)"
        case ast.Compare():
            return "comparisons are ops too, as greater(x, 0); conditions begin with where"
        case ast.List() | ast.Tuple() | ast.Dict():
            return "an operand is a value, a number or None; attributes have names, as axes=[0]"
        case _:
            return "a pattern is made of parameters, numbers, ops and | between alternatives"


def _result(node: Node, index: int) -> Pattern:
    try:
        return node[index]
    except IndexError:
        raise rule_error(f"{node.cls.name} has no result {index}") from None


def _hint(name: str, scope: Scope) -> str | None:
    own = scope.params.get(name)
    if isinstance(own, AttrCapture | RestCapture):
        return f"it stands for {'an attribute: NAME=' if isinstance(own, AttrCapture) else 'attributes: **'}{name}"
    if close := get_close_matches(name, [*scope.params, *scope.values], 1):
        return f"did you mean {close[0]}?"
    return f"parameters are {', '.join(scope.params)}" if scope.params else None


def _function(tree: ast.expr, scope: Scope) -> Callable[..., Any]:
    function = function_of(tree, f"{scope.file}:{tree.lineno}")
    scope.used.update(parameters(function))
    return function


def _alternatives(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return [*_alternatives(tree.left), tree.right]
    return [tree]


def _call(tree: ast.Call, scope: Scope) -> Pattern | None:
    name = cast(ast.Name, tree.func).id
    match name:
        case "any_order":
            op = tree.args[0] if tree.args else None
            if not isinstance(op, ast.Name):
                raise rule_error("any_order begins with the name of an op", "any_order(mul, a, b, c)")
            return any_order(getattr(ge, op.id), *(_pattern(t, scope) for t in tree.args[1:]))
        case "choice":
            key = tree.args[0] if tree.args else None
            if not isinstance(key, ast.Name):
                raise rule_error("choice begins with a name", "choice(act, relu(x), sigmoid(x))")
            choice = scope.choices.setdefault(key.id, Choice(key.id))
            return OneOf([_pattern(t, scope) for t in tree.args[1:]], choice)
        case "optional":
            if len(tree.args) not in (1, 2):
                raise rule_error(f"optional takes one or two values, not {len(tree.args)}", "optional(x * s, x)")
            return optional(*(_pattern(t, scope) for t in tree.args))
        case "given":
            if len(tree.args) != 3:
                raise rule_error(f"given takes three values, not {len(tree.args)}", "given(b, with_b, without_b)")
            first, then, otherwise = (_pattern(t, scope) for t in tree.args)
            return given(_some(first), then, otherwise)
        case "number":
            if not tree.args:
                raise rule_error("number needs a value", "number(1.702, tol=1e-3)")
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
        return own if isinstance(own, AttrCapture | Capture) else _function(tree, scope)
    if not free_names(tree):
        value = constant_of(tree)
        return value.name if hasattr(value, "ge_proto") else value
    return _function(tree, scope)
