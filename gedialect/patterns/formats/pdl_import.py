"""Rules from PDL text, for what rules can say of it; everything else is refused with a reason (GE1116).

A PDL pattern says nothing of other users, operand orders or exactness. So its rule is ``shared`` and ``ordered`` and
counts as a tolerance. Result types come from inference: a type the pattern states for a new op serves where operands
do not tell it, and blocks the rewrite where it differs from the type that is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from xdsl.dialects import pdl
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import GeOp
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_with
from gedialect.patterns.language import AttrCapture, Capture, Node, Pattern, at_place, check_value
from gedialect.patterns.matching import has_segments
from gedialect.patterns.rule import Check, Rule, make_rule
from gedialect.patterns.values import Value

SEGMENTS = "operandSegmentSizes"
REFUSED: dict[type[Operation], str] = {
    pdl.OperandsOp: "ranges of operands cannot be matched",
    pdl.ResultsOp: "ranges of results cannot be matched",
    pdl.TypesOp: "ranges of types cannot be matched",
    pdl.RangeOp: "ranges of values cannot be built",
    pdl.ApplyNativeConstraintOp: "native constraints are C++; write the rule in Python or as text, with where",
    pdl.ApplyNativeRewriteOp: "native rewrites are C++; write the rule in Python or as text",
    pdl.EraseOp: "an op cannot be erased without a replacement",
}


def parse_pdl(text: str, file: str, topic: str, refused: list[GeError] | None = None) -> list[Rule]:
    """Every ``pdl.pattern`` of a text as a rule. GE11xx at FILE:LINE; a pattern that cannot be a rule is a GE1116,
    which goes to ``refused`` if that is given."""
    ctx = GeContext()
    ctx.register_dialect("pdl", lambda: pdl.PDL)
    module, parser = parse_with(ctx, text, file)
    lines = {op: line for op, (_, line, _) in parser.positions().items()}
    found: list[Rule] = []
    seen = 0
    for op in module.walk():
        if isinstance(op, pdl.PatternOp):
            seen += 1
            try:
                found.append(_Reader(op, file, topic, lines, seen).rule())
            except GeError as error:
                if refused is None or error.code != "GE1116":
                    raise
                refused.append(error)
        elif not isinstance(op, ModuleOp) and op.parent_op() is None:
            place = f"{file}:{lines.get(op, 1)}"
            raise GeError(f"{op.name} is no pattern", code="GE1115", where=place, hint="docs/patterns.md shows one")
    if not seen:
        raise GeError("the file has no pdl.pattern", code="GE1115", where=file, hint="docs/patterns.md shows how")
    names = [r.name for r in found]
    for r in found:
        if names.count(r.name) > 1:
            raise GeError(f"two patterns are named {r.name}", code="GE1115", where=r.where, hint="rename one of them")
    return found


class _Reader:
    def __init__(self, op: pdl.PatternOp, file: str, topic: str, lines: dict[Operation, int], index: int):
        self.op = op
        self.file = file
        self.topic = topic
        self.lines = lines
        self.name = op.sym_name.data if op.sym_name is not None else f"{topic}_{index}"
        self.params: dict[str, Any] = {}
        self.values: dict[SSAValue, Any] = {}
        """pdl value -> what it stands for in the rule"""
        self.types: dict[SSAValue, list[Pattern]] = {}
        """pdl.type -> values that have it"""
        self.names: set[str] = {"out"}

    def refuse(self, op: Operation, reason: str) -> NoReturn:
        raise GeError(
            f"{self.name}: {op.name}: {reason}", code="GE1116", where=self.place(op), hint="see PDL in docs/patterns.md"
        )

    def place(self, op: Operation) -> str:
        return f"{self.file}:{self.lines.get(op, self.lines.get(self.op, 1))}"

    def fresh(self, value: SSAValue, base: str) -> str:
        wanted = value.name_hint or base
        wanted = "".join(c if c.isalnum() else "_" for c in wanted).lstrip("_") or base
        wanted = wanted if wanted[0].isalpha() else base + wanted
        found, n = wanted, 0
        while found in self.names:
            n += 1
            found = f"{wanted}_{n}"
        self.names.add(found)
        return found

    # ------------------------------------------------------------ the rule
    def rule(self) -> Rule:
        for op in self.op.walk():
            if type(op) in REFUSED:
                self.refuse(op, REFUSED[type(op)])
        for op in self.op.walk():
            try:
                op.verify(verify_nested_ops=False)
            except VerifyException as error:
                message = str(error).strip().partition("\n")[0]
                raise GeError(
                    f"{self.name}: {op.name}: {message}",
                    code="GE1115",
                    where=self.place(op),
                    hint="the text is no valid PDL",
                ) from None
        self.check_order()
        *matched, rewrite = list(self.op.body.block.ops)
        if not isinstance(rewrite, pdl.RewriteOp):
            self.refuse(rewrite, "the pattern does not end with a rewrite")
        if not rewrite.body.blocks or rewrite.name_ is not None:
            self.refuse(rewrite, "external rewrites are C++; write the rule in Python or as text")
        for op in matched:
            with at_place(self.place(op)):
                self.left(op)
        pairs: list[tuple[Node, list[Pattern]]] = []
        for op in rewrite.body.block.ops:
            with at_place(self.place(op)):
                if isinstance(op, pdl.ReplaceOp):
                    pairs.append(self.replaced(op))
                else:
                    self.right(op)
        root = self.values.get(rewrite.root) if rewrite.root is not None else None
        if not pairs:
            self.refuse(rewrite, "nothing is replaced")
        pairs.sort(key=lambda p: p[0] is not root)
        before = [p[0][i] for p in pairs for i in range(len(p[1]))]
        after = [v for p in pairs for v in p[1]]
        place = self.place(self.op)
        with at_place(place):
            made = make_rule(
                name=self.name,
                doc=f"PDL pattern @{self.name}.",
                params=self.params,
                before=tuple(before),
                after=tuple(after),
                checks=tuple(self.checks()),
                file=self.file,
                line=self.lines.get(self.op, 1),
                exact="tolerance",
                topic=self.topic,
                benefit=self.op.benefit.value.data,
                shared=True,
                ordered=True,
                pdl=pattern_text(self.op),
            )
        reached = {id(n) for v in made.variants for n in _nodes(v.before)}
        for op in matched:
            if isinstance(op, pdl.OperationOp) and id(self.values[op.op]) not in reached:
                self.refuse(op, "nothing connects this op to what is replaced (several roots)")
        return made

    def check_order(self) -> None:
        """The parser takes values that are defined further down."""
        defined: set[SSAValue] = set()
        for op in self.op.walk():
            if any(v not in defined for v in op.operands):
                raise GeError(
                    f"{self.name}: {op.name} reads a value that is defined later, or elsewhere",
                    code="GE1115",
                    where=self.place(op),
                    hint="the text is no valid PDL",
                )
            defined.update(op.results)

    def left(self, op: Operation) -> None:
        match op:
            case pdl.TypeOp():
                self.types[op.result] = []
            case pdl.OperandOp():
                name = self.fresh(op.value, "x")
                self.params[name] = self.values[op.value] = Capture(name)
                if op.value_type is not None:
                    self.types[op.value_type].append(self.values[op.value])
            case pdl.AttributeOp():
                if op.value_type is not None:
                    self.refuse(op, "attributes of a type cannot be matched")
                if op.value is not None:
                    self.values[op.output] = op.value
                else:
                    name = self.fresh(op.output, "a")
                    self.params[name] = self.values[op.output] = AttrCapture(name)
            case pdl.OperationOp():
                node = self.node(op)
                if node.name is None:
                    node.named(self.fresh(op.op, "op"))
                for i, t in enumerate(op.type_values):
                    self.types.setdefault(t, []).append(self.result(node, i, op))
            case pdl.ResultOp():
                self.values[op.val] = self.result(self.values[op.parent_], op.index.value.data, op)
            case _:
                self.refuse(op, "cannot be matched")

    def right(self, op: Operation) -> None:
        match op:
            case pdl.TypeOp():
                self.types[op.result] = []
            case pdl.AttributeOp():
                if op.value is None:
                    self.refuse(op, "a new attribute needs a value")
                self.values[op.output] = op.value
            case pdl.OperationOp():
                node = self.node(op)
                if len(op.type_values) == 1:
                    node.type_of = self.type_of(op.type_values[0])
            case pdl.ResultOp():
                self.values[op.val] = self.result(self.values[op.parent_], op.index.value.data, op)
            case _:
                self.refuse(op, "cannot be part of a rewrite")

    def result(self, node: Node, index: int, op: Operation) -> Pattern:
        try:
            return node[index]
        except IndexError:
            self.refuse(op, f"{node.cls.name} has no result {index}")

    def type_of(self, handle: SSAValue) -> Pattern | Attribute | None:
        have = self.types.get(handle, [])
        if have:
            return have[0]
        owner = handle.owner
        return owner.constantType if isinstance(owner, pdl.TypeOp) else None

    def node(self, op: pdl.OperationOp) -> Node:
        if op.opName is None:
            self.refuse(op, "an op without a name matches every op")
        try:
            cls = op_class(op.opName.data)
        except GeError:
            self.refuse(op, f"the ge dialect has no op {op.opName.data}")
        names = [n.data for n in op.attributeValueNames.data]
        attrs: dict[str, Any] = dict(zip(names, [self.values[a] for a in op.attribute_values], strict=True))
        sizes = attrs.pop(SEGMENTS, None)
        for name in attrs:
            if name not in cls.attr_names():
                known = ", ".join(cls.attr_names()) or "none"
                self.refuse(op, f"{cls.name} has no attribute {name}; it has: {known}")
            check_value(cls, name, attrs[name], self.place(op))
        operands = [self.values[v] for v in op.operand_values]
        node = Node(cls, self.arguments(op, cls, operands, sizes), attrs, self.place(op))
        self.values[op.op] = node
        return node

    def arguments(self, op: Operation, cls: type[GeOp], operands: list[Any], sizes: Any) -> list[Any]:
        """Operands as the op declares them, absent ones as None."""
        kinds = cls.operand_kinds()
        if not isinstance(sizes, DenseArrayBase) or not has_segments(cls):
            if len(operands) > len(kinds) and not any(k == "variadic" for _, k in kinds):
                self.refuse(op, f"{cls.name} takes {len(kinds)} operands, not {len(operands)}")
            return operands
        counts: tuple[int, ...] = cast("DenseArrayBase[Any]", sizes).get_values()
        if len(counts) != len(kinds) or sum(counts) != len(operands) or min(counts) < 0:
            self.refuse(op, f"{SEGMENTS} do not fit {cls.name}")
        found: list[Any] = []
        at = 0
        for (_, kind), n in zip(kinds, counts, strict=True):
            found += operands[at : at + n] if n or kind == "variadic" else [None]
            at += n
        return found

    def replaced(self, op: pdl.ReplaceOp) -> tuple[Node, list[Pattern]]:
        node = cast(Node, self.values[op.op_value])
        owner = op.op_value.owner
        assert isinstance(owner, pdl.OperationOp)
        count = max(len(owner.type_values), 1)
        if op.repl_operation is not None:
            new = cast(Node, self.values[op.repl_operation])
            if count == 1 and new.type_of is None:
                new.type_of = node
            return node, [self.result(new, i, op) for i in range(count)]
        found = [self.values[v] for v in op.repl_values]
        if len(found) != count:
            self.refuse(op, f"{len(found)} values replace {count}")
        for v, old in zip(found, range(count), strict=True):
            if isinstance(v, Node) and v.type_of is None:
                v.type_of = node[old]
        return node, found

    # ------------------------------------------------------------ types
    def checks(self) -> list[Check]:
        """What the types of the pattern ask for: the same type, or a type written out."""
        found: list[Check] = []
        for handle, values in self.types.items():
            named = [n for n in map(self.name_of, values) if n is not None]
            owner = handle.owner
            wanted = owner.constantType if isinstance(owner, pdl.TypeOp) else None
            if wanted is not None:
                found += [Check(f"{n} is {wanted}", _has_type(wanted), (n,)) for n in named]
            found += [Check(f"{named[0]} and {n} have one type", _same_type, (named[0], n)) for n in named[1:]]
        return found

    def name_of(self, p: Pattern) -> str | None:
        return p.name if isinstance(p, Capture | Node) else None


def _nodes(roots: Sequence[Pattern]) -> Sequence[Node]:
    from gedialect.patterns.rule import nodes

    return list(nodes(roots))


def pattern_text(op: pdl.PatternOp) -> str:
    """The pattern as text."""
    from io import StringIO

    from gedialect.ir.printer import UniquePrinter

    out = StringIO()
    UniquePrinter(out).print_op(op)
    return out.getvalue()


def _same_type(a: Value, b: Value) -> bool:
    return a.same_type(b)


def _has_type(wanted: Attribute) -> Callable[[Value], bool]:
    def holds(value: Value) -> bool:
        return value.ssa.type == wanted

    return holds
