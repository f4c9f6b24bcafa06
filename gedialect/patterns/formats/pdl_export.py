"""Rules as PDL, for what PDL can say: the others are refused with a reason (GE1116).

PDL knows neither operand orders nor alternatives, so a rule becomes a pattern for each. It cannot say that a value
has no other users; nor that a constant of any kind has a value: patterns ask for splats. Types are not inferred: where
a new op's type is neither that of the replaced value nor of its operands, the rule is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute

from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import FusionClass, GeOp, to_attr
from gedialect.dialects.ge.elementwise import CastOp
from gedialect.dialects.ge.quant import DequantizeOp, QuantizeOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import F64, I64
from gedialect.patterns.language import (
    AllResults,
    AttrCapture,
    Capture,
    Computed,
    ManyCapture,
    Node,
    Number,
    Pattern,
    ResultOf,
    result_count,
)
from gedialect.patterns.matching import has_segments, is_commutative, segment_sizes
from gedialect.patterns.rule import Rule, Variant, nodes
from gedialect.patterns.values import holds, in_range, is_short, shown

MAX_PATTERNS = 256
MAX_BENEFIT = 0xFFFF


def dump_pdl(rules: Sequence[Rule]) -> str:
    """A module of PDL patterns; rules that cannot be said are comments with the reason."""
    lines: list[str] = ["builtin.module {"]
    for r in rules:
        try:
            texts = rule_to_pdl(r)
        except GeError as error:
            lines.append(f"  // {error.message}")
            continue
        for text in texts:
            lines += [f"  {line}" for line in text.split("\n")]
    return "\n".join([*lines, "}", ""])


def rule_to_pdl(rule: Rule) -> list[str]:
    """One pattern for each form and operand order of a rule, or the pattern it was read from; GE1116 with the reason if
    PDL cannot say it."""
    if rule.pdl is not None:
        return [rule.pdl]
    if rule.checks:
        raise _refusal(rule, f"the condition {rule.checks[0].name!r} is a function")
    found: list[str] = []
    for variant in rule.variants:
        forms = list(_forms(rule, variant))
        if len(found) + len(forms) > MAX_PATTERNS:
            raise _refusal(rule, f"it has more than {MAX_PATTERNS} forms")
        for swapped, splats in forms:
            several = len(rule.variants) * len(forms) > 1
            name = f"{rule.name}_{len(found)}" if several else rule.name
            # forms are tried in order; PDL knows no order but benefit
            benefit = max(rule.benefit, 0) * MAX_PATTERNS - len(found) if several else rule.benefit
            found.append(_Writer(rule, variant, swapped, splats, name).text(min(max(benefit, 0), MAX_BENEFIT)))
    return found


def _refusal(rule: Rule, reason: str) -> GeError:
    return GeError(
        f"{rule.name}: PDL cannot say it: {reason}", code="GE1116", where=rule.where, hint="write it as .rules instead"
    )


def _forms(rule: Rule, variant: Variant) -> Iterator[tuple[frozenset[int], Mapping[int, Attribute]]]:
    """Operand orders (nodes swapped) times the ways to write each number: as float, and if whole as integer."""
    left = list(nodes(variant.before))
    uses = [id(a) for n in left for a in n.args if a is not None]
    swaps = [n for n in left if _order_matters(rule, n, uses)]
    numbers = list({id(a): a for n in left for a in n.args if isinstance(a, Number)}.values())
    for p in numbers:
        if not in_range(p.value) and not holds(F64, p.value):
            raise _refusal(rule, f"no type holds the constant {shown(p.value)}")
        if p.tol is not None or not is_short(p.value):
            raise _refusal(rule, f"the constant {p.value} matches within a tolerance")
    choices = [_splats(p.value) for p in numbers]
    for chosen in itertools.product(*[(False, True)] * len(swaps)):
        swapped = frozenset(id(n) for n, on in zip(swaps, chosen, strict=True) if on)
        for values in itertools.product(*choices):
            yield swapped, {id(p): v for p, v in zip(numbers, values, strict=True)}


def _splats(value: float | bool) -> list[Attribute]:
    found: list[Attribute] = [SplatAttr.get(float(value))]
    if holds(I64, value):
        found.append(SplatAttr.get(int(value)))
    return found


def _order_matters(rule: Rule, node: Node, uses: list[int]) -> bool:
    if rule.ordered or not is_commutative(node.cls) or len(node.args) != 2 or node.args[0] is node.args[1]:
        return False
    plain = [isinstance(a, Capture) and a.kind == "value" and uses.count(id(a)) == 1 for a in node.args]
    return not all(plain)


class _Writer:
    """One pattern."""

    def __init__(
        self, rule: Rule, variant: Variant, swapped: frozenset[int], splats: Mapping[int, Attribute], name: str
    ):
        self.rule = rule
        self.variant = variant
        self.swapped = swapped
        self.splats = splats
        self.name = name
        self.lines: list[str] = []
        self.indent = "  "
        self.count = itertools.count()
        self.values: dict[int, str] = {}
        self.ops: dict[int, str] = {}
        self.types: dict[int, str] = {}
        """value -> its pdl.type"""
        self.attrs: dict[str, str] = {}

    def text(self, benefit: int) -> str:
        v = self.variant
        if len(v.before) != 1:
            raise _refusal(self.rule, "it replaces several values")
        (before,), (after,) = v.before, v.after
        if isinstance(before, ResultOf) or result_count(before.cls) != 1:
            raise _refusal(
                self.rule, f"{before.cls.name if isinstance(before, Node) else 'its root'} has several results"
            )
        if isinstance(after, Number | Computed):
            raise _refusal(self.rule, "a new constant takes its type from what it replaces")
        if not (isinstance(after, Node) and id(after) not in {id(n) for n in nodes(v.before)}):
            self.types[id(after)] = self.types[id(before)] = self.type_handle()
        self.match(before)
        self.emit(f"pdl.rewrite {self.ops[id(before)]} {{")
        self.indent = "    "
        left = {id(n) for n in nodes(v.before)}
        for node in nodes(v.after):
            if id(node) not in left:
                self.build(node, root=before if node is after else None)
        if id(after) in self.ops and id(after) not in left:
            self.emit(f"pdl.replace {self.ops[id(before)]} with {self.ops[id(after)]}")
        else:
            self.emit(f"pdl.replace {self.ops[id(before)]} with ({self.value(after)} : !pdl.value)")
        self.indent = "  "
        self.emit("}")
        head = f"pdl.pattern @{self.name} : benefit({benefit}) {{"
        return "\n".join([head, *self.lines, "}"])

    def emit(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def fresh(self, prefix: str) -> str:
        return f"%{prefix}{next(self.count)}"

    def type_handle(self) -> str:
        t = self.fresh("t")
        self.emit(f"{t} = pdl.type")
        return t

    def type_of(self, p: Pattern) -> str:
        if id(p) not in self.types:
            self.types[id(p)] = self.type_handle()
        return self.types[id(p)]

    # ------------------------------------------------------------ left side
    def match(self, p: Pattern) -> str:
        if id(p) in self.values:
            return self.values[id(p)]
        match p:
            case Capture() if p.kind == "value":
                t = self.type_of(p)
                self.values[id(p)] = f"%{p.name}"
                self.emit(f"%{p.name} = pdl.operand : {t}")
            case Capture():
                raise _refusal(self.rule, f"{p.name} is a {'constant' if p.kind == 'const' else 'number'}")
            case Number():
                c, o, t = self.fresh("c"), self.fresh("op"), self.type_of(p)
                self.emit(f"{c} = pdl.attribute = {self.splats[id(p)]}")
                self.emit(f'{o} = pdl.operation "ge.constant" {{"value" = {c}}} -> ({t} : !pdl.type)')
                self.values[id(p)] = self.result(o, 0)
            case Node():
                if result_count(p.cls) != 1:
                    raise _refusal(self.rule, f"{p.cls.name} has several results")
                if p.rest is not None or p.dtype is not None:
                    raise _refusal(self.rule, f"other attributes or the element type of {p.cls.name} are asked for")
                args = p.args[::-1] if id(p) in self.swapped else p.args
                operands = [self.match(a) for a in args if a is not None and self.single(a)]
                attributes = self.attributes(p, new=False)
                self.ops[id(p)] = o = self.fresh("op")
                self.operation(o, p, operands, attributes, self.type_of(p))
                if p is not self.variant.before[0]:
                    self.values[id(p)] = self.result(o, 0)
            case _:
                raise _refusal(self.rule, f"it asks for a {type(p).__name__}")
        return self.values.get(id(p), "")

    def single(self, p: Pattern) -> bool:
        if isinstance(p, ManyCapture | AllResults):
            raise _refusal(self.rule, "it has any number of operands")
        return True

    def result(self, op: str, index: int) -> str:
        v = self.fresh("v")
        self.emit(f"{v} = pdl.result {index} of {op}")
        return v

    def operation(self, o: str, p: Node, operands: list[str], attributes: list[str], t: str) -> None:
        types = ", ".join(["!pdl.value"] * len(operands))
        args = f" ({', '.join(operands)} : {types})" if operands else ""
        attrs = f" {{{', '.join(attributes)}}}" if attributes else ""
        self.emit(f'{o} = pdl.operation "{p.cls.name}"{args}{attrs} -> ({t} : !pdl.type)')

    def attributes(self, p: Node, *, new: bool) -> list[str]:
        found: list[str] = []
        for key, want in p.attrs.items():
            if isinstance(want, AttrCapture):
                if want.name not in self.attrs:
                    self.attrs[want.name] = f"%{want.name}"
                    self.emit(f"%{want.name} = pdl.attribute")
                found.append(f'"{key}" = {self.attrs[want.name]}')
            elif callable(want):
                raise _refusal(self.rule, f"{key} of {p.cls.name} is computed")
            elif want is not None:
                found.append(f'"{key}" = {self.literal(to_attr(want, floats=key in p.cls.FLOAT_ATTRS))}')
        if has_segments(p.cls):
            from gedialect.patterns.support import segments

            found.append(f'"operandSegmentSizes" = {self.literal(segments(segment_sizes(p.cls, p.args)))}')
        return found

    def literal(self, value: Attribute) -> str:
        c = self.fresh("c")
        self.emit(f"{c} = pdl.attribute = {value}")
        return c

    # ------------------------------------------------------------ right side
    def build(self, node: Node, root: Pattern | None) -> None:
        if result_count(node.cls) != 1 or node.rest is not None or node.dtype is not None:
            raise _refusal(self.rule, f"results or attributes of the new {node.cls.name} are not all known")
        operands: list[str] = []
        for a in node.args:
            if isinstance(a, Number | Computed):
                raise _refusal(self.rule, "a new constant takes its type from inference")
            if a is not None and self.single(a):
                operands.append(self.value(a))
        attributes = self.attributes(node, new=True)
        t = self.types[id(root)] if root is not None else self.inner_type(node)
        self.types[id(node)] = t
        self.ops[id(node)] = o = self.fresh("op")
        self.operation(o, node, operands, attributes, t)
        if root is None:
            self.values[id(node)] = self.result(o, 0)

    def value(self, p: Pattern) -> str:
        if id(p) in self.values:
            return self.values[id(p)]
        raise _refusal(self.rule, "the replaced value is used on the right side")

    def inner_type(self, node: Node) -> str:
        handles = {self.types.get(id(a)) for a in node.args if a is not None}
        if not keeps_type(node.cls) or len(handles) != 1 or None in handles:
            raise _refusal(self.rule, f"the type of the new {node.cls.name} inside comes from inference")
        return str(handles.pop())


def keeps_type(cls: type[GeOp]) -> bool:
    """Whether results have the type of the operands, where those have one type."""
    from gedialect.ir.dtypes import BY_NAME
    from gedialect.ir.spec import Spec

    if cls.FUSION_CLASS is not FusionClass.ELEMENTWISE or issubclass(cls, CastOp | QuantizeOp | DequantizeOp):
        return False
    from gedialect.dialects.ge.base import Attrs

    count = len(cls.operand_kinds())
    x = Spec(BY_NAME["f32"], (2, 3))
    try:
        return list(cls.infer(Attrs(dict[str, Any]()), *[x] * count)) == [x]
    except (GeError, TypeError, AttributeError):
        return False
