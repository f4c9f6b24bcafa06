"""The left side of a rule as Python: tests in a row, and loops where operands may come in either order.

A commutative op opens a loop over its operand orders, so a failure anywhere below tries the next order. Tests that
need no choice are made first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Operation
from xdsl.traits import Commutative

from gedialect.dialects.ge.base import GeOp, to_attr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.patterns.language import (
    AllResults,
    AttrCapture,
    Capture,
    ManyCapture,
    Node,
    Number,
    Pattern,
    ResultOf,
    result_count,
    rule_error,
)
from gedialect.patterns.rule import Rule, Variant, node_of, nodes
from gedialect.patterns.support import ENV, dtype_of, segments
from gedialect.patterns.values import shown

MAX_LOOPS = 18
"""Python allows 20 nested blocks."""

Why: TypeAlias = "Callable[[int, str, Operation], None]"


def root_class(p: Pattern | None) -> type[GeOp] | None:
    """The only op class that can make a value of this pattern."""
    match p:
        case Number():
            return ConstantOp
        case Capture() if p.kind == "number":
            return ConstantOp
        case Node():
            return p.cls
        case ResultOf():
            return p.node.cls
        case _:
            return None


class Matching:
    """Writes the tests of one form of a rule."""

    def __init__(self, rule: Rule, variant: Variant, rejected: Counter[str], why: Why | None):
        self.rule = rule
        self.variant = variant
        self.env: dict[str, Any] = {**ENV, "rejected": rejected, "why": why}
        self.explain = why is not None
        self.at = "op"
        """op whose operands are being looked at; what an explanation points to"""
        self.lines: list[str] = ["def match(op):"]
        self.indent = 1
        self.loops = 0
        self.count = 0
        self.values: dict[int, str] = {}
        """pattern object -> expression of the SSA value"""
        self.ops: dict[int, str] = {}
        """node -> variable of the matched op, in the order matched"""
        self.captures: dict[str, str] = {}
        """capture name -> expression of what Python functions get"""
        self.raw: dict[str, str] = {}
        """attribute capture -> variable of the attribute"""
        self.planned: dict[int, tuple[str, str]] = {}
        """new constant -> variables of its value and its spec"""
        self.ops_props: dict[int, tuple[str, str, str]] = {}
        """new node -> names of its class, attributes and result types"""
        self.nodes = list(nodes(variant.before))
        self.edges: Counter[int] = Counter()
        for node in self.nodes:
            for a in node.args:
                if a is not None:
                    self.edges[id(node_of(a)) if isinstance(a, Node | ResultOf | AllResults) else id(a)] += 1

    # ------------------------------------------------------------ writing
    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def const(self, value: Any) -> str:
        key = self.name("K")
        self.env[key] = value
        return key

    def fail_if(
        self, test: str, reason: str, op: str | None = None, count: str | None = None, *, note: bool = False
    ) -> None:
        """Leave if ``test`` holds: ``count`` is what statistics call it; with ``note`` an explanation goes on with the
        variable of this name."""
        leave = "continue" if self.loops else "return None"
        if not self.explain and count is None:
            self.emit(f"if {test}: {leave}")
            return
        self.emit(f"if {test}:")
        if count is not None:
            self.emit(f"    rejected[{count!r}] += 1")
        if self.explain:
            more = " + note" if note else ""
            self.emit(f"    why({len(self.ops)}, {self.const(reason)}{more}, {op or self.at})")
        self.emit(f"    {leave}")

    def loop(self, header: str) -> None:
        self.loops += 1
        if self.loops > MAX_LOOPS:
            raise rule_error(f"{self.rule.name} has too many commutative ops", "split the rule", self.rule.sides)
        self.emit(header)
        self.indent += 1

    # ------------------------------------------------------------ left side
    def left_side(self) -> None:
        root = self.variant.before[0]
        pending: list[Any] = []
        self.match_node(node_of(root), "op", pending)
        self.drain(pending)
        for output in self.variant.before[1:]:
            if id(node_of(output)) not in self.ops:
                self.find(node_of(output), pending)
        for output in self.variant.before:
            node = node_of(output)
            index = output.index if isinstance(output, ResultOf) else 0
            self.values[id(output)] = f"{self.ops[id(node)]}.results[{index}]"
        self.boundaries()
        self.conditions()

    def drain(self, pending: list[tuple[Node, list[tuple[Pattern | None, str]]]]) -> None:
        """Match the children of commutative nodes, those first whose order is certain."""
        while pending:
            pending.sort(key=lambda p: self.ambiguity(p[1][0][0], p[1][1][0]))
            node, children = pending.pop(0)
            (a, s0), (b, s1) = children
            self.at = self.ops[id(node)]
            assert a is not None and b is not None
            first, second = self.name("v"), self.name("v")
            bound = next((x for x in (a, b) if id(x) in self.values), None)
            if bound is not None:
                other = b if bound is a else a
                v = self.values[id(bound)]
                self.emit(f"{second} = {s1} if {s0} is {v} else {s0}")
                self.fail_if(
                    f"{s0} is not {v} and {s1} is not {v}", f"{node.cls.name} joins other values", self.ops[id(node)]
                )
                self.match_value(other, second, pending)
                continue
            classes = (root_class(a), root_class(b))
            if None not in classes and classes[0] is not classes[1]:
                k = "ConstantOp" if classes[0] is ConstantOp else self.const(classes[0])
                self.emit(f"{first}, {second} = ({s0}, {s1}) if type({s0}.owner) is {k} else ({s1}, {s0})")
            else:
                self.loop(f"for {first}, {second} in (({s0}, {s1}), ({s1}, {s0})):")
            for child, value in sorted(((a, first), (b, second)), key=lambda c: root_class(c[0]) is None):
                self.at = self.ops[id(node)]
                self.match_value(child, value, pending)

    def ambiguity(self, a: Pattern | None, b: Pattern | None) -> int:
        if id(a) in self.values or id(b) in self.values:
            return 0
        classes = (root_class(a), root_class(b))
        return 1 if None not in classes and classes[0] is not classes[1] else 2 if any(classes) else 3

    def match_value(self, p: Pattern, v: str, pending: list[Any]) -> None:
        """Code that checks that the SSA value in variable ``v`` is an instance of ``p``."""
        if id(p) in self.values:
            self.fail_if(f"{v} is not {self.values[id(p)]}", "not the same value")
            return
        match p:
            case Number():
                k, tol = self.const(p.value), self.const(p.tol)
                self.fail_if(
                    f"type({v}.owner) is not ConstantOp or not number_is({v}, {k}, {tol})",
                    f"no constant {shown(p.value)}",
                )
            case Capture():
                self.values[id(p)] = v
                if p.kind == "number":
                    n = self.name("n")
                    self.emit(f"{n} = number_of({v})")
                    self.fail_if(f"{n} is None", f"{p.name} is no constant with one value")
                    self.captures[p.name] = n
                else:
                    self.captures[p.name] = f"Value({v})"
            case Node():
                self.match_owner(p, 0, v, pending)
            case ResultOf():
                self.match_owner(p.node, p.index, v, pending)
                self.values[id(p)] = v
            case _:
                raise rule_error(f"{type(p).__name__} cannot be matched", where=self.rule.sides)

    def match_owner(self, node: Node, index: int, v: str, pending: list[Any]) -> None:
        if id(node) in self.ops:
            self.fail_if(f"{v}.owner is not {self.ops[id(node)]} or {v}.index != {index}", "not the same op")
            return
        o = self.name("o")
        self.emit(f"{o} = {v}.owner")
        self.fail_if(f"type({o}) is not {self.const(node.cls)}", f"operand is no {node.cls.name}")
        if index or result_count(node.cls) != 1:
            self.fail_if(f"{v}.index != {index}", f"another result of {node.cls.name}", o)
        self.match_node(node, o, pending)

    def match_node(self, node: Node, o: str, pending: list[Any]) -> None:
        """Attributes and operands of an op whose class is known to be right."""
        self.values[id(node)] = f"{o}.results[0]"
        if node.name is not None:
            self.captures[node.name] = f"Value({o}.results[0])"
        if node.dtype is not None:
            k = self.const(dtype_of(node.dtype))
            self.fail_if(f"spec_of({o}.results[0].type).dtype is not {k}", f"result is not {node.dtype}", o)
        for key, want in node.attrs.items():
            self.match_attr(node, key, want, o)
        if node.rest is not None:
            self.match_rest(node, o)
        s = self.name("s")
        self.emit(f"{s} = {o}._operands")
        children = self.operands(node, o, s, pending)
        self.ops[id(node)] = o
        if not self.rule.ordered and is_commutative(node.cls) and len(children) == 2:
            pending.append((node, children))
        else:
            for child, value in sorted(children, key=lambda c: root_class(c[0]) is None):
                if child is not None:
                    self.at = o
                    v = self.name("v")
                    self.emit(f"{v} = {value}")
                    self.match_value(child, v, pending)

    def match_attr(self, node: Node, key: str, want: Any, o: str) -> None:
        got = f'{o}.properties.get("{key}")'
        if not isinstance(want, AttrCapture):
            if callable(want):
                raise rule_error("a function cannot be matched", "capture the attribute and use where=", node.where)
            floats = key in node.cls.FLOAT_ATTRS
            k = self.const(to_attr(want, floats=floats))
            self.fail_if(f"not attrs_equal({got}, {k})", f"{key} of {node.cls.name} is not {want}", o)
        elif want.name in self.raw:
            self.fail_if(f"{got} != {self.raw[want.name]}", f"{key} of {node.cls.name} differs", o)
        else:
            a = self.name("a")
            self.emit(f"{a} = {got}")
            self.raw[want.name] = a
            p = self.name("p")
            self.emit(f"{p} = None if {a} is None else seen(to_python({a}))")
            self.captures[want.name] = p

    def match_rest(self, node: Node, o: str) -> None:
        assert node.rest is not None
        skip = self.const(frozenset([*node.attrs, "operandSegmentSizes"]))
        r = self.name("r")
        self.emit(f"{r} = {{k: v for k, v in {o}.properties.items() if k not in {skip}}}")
        if node.rest.name in self.raw:
            self.fail_if(f"{r} != {self.raw[node.rest.name]}", f"attributes of {node.cls.name} differ", o)
            return
        self.raw[node.rest.name] = r
        p = self.name("p")
        self.emit(f"{p} = Attrs({{k: seen(to_python(v)) for k, v in {r}.items()}})")
        self.captures[node.rest.name] = p

    def operands(self, node: Node, o: str, s: str, pending: list[Any]) -> list[tuple[Pattern | None, str]]:
        """(pattern, expression) for each operand, after checking which operands are there."""
        kinds = node.cls.operand_kinds()
        many = next((i for i, a in enumerate(node.args) if isinstance(a, ManyCapture | AllResults)), None)
        if many is not None:
            p = node.args[many]
            assert isinstance(p, ManyCapture | AllResults)
            tail = len(node.args) - many - 1
            self.fail_if(f"len({s}) < {many + tail}", f"{node.cls.name} has fewer operands", o)
            v = self.name("m")
            self.emit(f"{v} = {s}[{many}:len({s}) - {tail}]")
            if isinstance(p, AllResults):
                self.all_results(p.node, v, pending)
            elif id(p) in self.values:
                self.fail_if(f"tuple({v}) != tuple({self.values[id(p)]})", "not the same operands", o)
            else:
                self.captures[p.name] = f"tuple(Value(v) for v in {v})"
            self.values[id(p)] = v
            return [(a, f"{s}[{i if i < many else i - len(node.args)}]") for i, a in enumerate(node.args) if i != many]
        args = node.args + [None] * max(len(kinds) - len(node.args), 0)
        if any(k == "variadic" for _, k in kinds):
            args = list(node.args)
        present = [a for a in args if a is not None]
        self.fail_if(f"len({s}) != {len(present)}", f"{node.cls.name} has no {len(present)} operands", o)
        if has_segments(node.cls):
            sizes = segment_sizes(node.cls, node.args)
            k = self.const(segments(sizes))
            self.fail_if(f'{o}.properties["operandSegmentSizes"] != {k}', f"other operands of {node.cls.name}", o)
        if not present:
            return []
        each = [self.name("s") for _ in present]  # indexing the operands of xDSL is a call
        self.emit(f"{', '.join(each)}, = {s}")
        return list(zip(present, each, strict=True))

    def all_results(self, node: Node, v: str, pending: list[Any]) -> None:
        """The values of tuple ``v`` are all results of one op, in order."""
        if id(node) in self.ops:
            o = self.ops[id(node)]
        else:
            o = self.name("o")
            self.emit(f"{o} = {v}[0].owner if {v} else None")
            self.fail_if(f"type({o}) is not {self.const(node.cls)}", f"operands are not made by {node.cls.name}")
        self.fail_if(f"tuple({o}.results) != tuple({v})", f"not all results of {node.cls.name} in order", o)
        if id(node) not in self.ops:
            self.match_node(node, o, pending)

    def find(self, node: Node, pending: list[Any]) -> None:
        """An output that no matched op uses: look for it among the users of what is matched."""
        for a in node.args:
            if a is not None and id(a) not in self.values and isinstance(a, Node) and self.anchor(a) is not None:
                self.find(a, pending)
        at = next((a for a in node.args if a is not None and id(a) in self.values), None)
        if at is None:
            raise rule_error(
                f"an output of {self.rule.name} is not connected to the others",
                "outputs of one rule share a value, directly or through other ops",
                self.rule.sides,
            )
        u, o = self.name("u"), self.name("o")
        # newest use first is the reverse of program order; a tuple, since the match may be put in
        self.loop(f"for {u} in reversed(tuple({self.values[id(at)]}.uses)):")
        self.emit(f"{o} = {u}.operation")
        taken = ", ".join(self.ops.values())
        self.fail_if(f"type({o}) is not {self.const(node.cls)} or {o} in ({taken},)", f"no other {node.cls.name}", o)
        self.fail_if(f"{o}.parent is not op.parent", "in another block", o)
        self.match_node(node, o, pending)
        self.drain(pending)

    def anchor(self, node: Node) -> Pattern | None:
        for a in node.args:
            if a is not None and (id(a) in self.values or (isinstance(a, Node) and self.anchor(a) is not None)):
                return a
        return None

    # ------------------------------------------------------------ what must hold
    def boundaries(self) -> None:
        """Values inside the match have no users outside, unless they are outputs or stay in use on the right."""
        outputs = {id(node_of(b)): b for b in self.variant.before}
        kept = {id(n) for n in nodes(self.variant.after)} | {
            id(a) for n in nodes(self.variant.after) for a in n.args if a is not None
        }
        matched = f"({', '.join(self.ops.values())},)"
        by_id = {id(n): n for n in self.nodes}
        for key, o in self.ops.items():
            node = by_id[key]
            count = result_count(node.cls)
            if key in outputs:
                if count == 1:
                    continue
                used = {b.index if isinstance(b, ResultOf) else 0 for b in self.variant.before if node_of(b) is node}
                self.fail_if(
                    f"not inside({o}, {matched}, {self.const(frozenset(used))})",
                    f"other results of {node.cls.name} have users",
                    o,
                )
                continue
            if self.rule.shared or key in kept:
                continue
            quick = f"{o}.results[0].first_use._next_use is not None and " if count == 1 else ""
            self.fail_if(f"{quick}not inside({o}, {matched})", f"{node.cls.name} has other users", o)

    def conditions(self) -> None:
        self.at = list(self.ops.values())[-1]
        for p in self.rule.params.values():
            if isinstance(p, Capture) and p.kind == "const" and p.name in self.captures:
                self.fail_if(
                    f"not is_const({self.values[id(p)]})", f"{p.name} is not constant", count=f"{p.name} is constant"
                )
        for check in self.rule.checks:
            args = ", ".join(self.python_value(n) for n in check.params)
            h, f = self.name("h"), self.const(check.function)
            if self.explain:
                self.emit("note = ''")
            self.emit(f"try: {h} = {f}({args})")
            self.emit(f"except NoMatch{' as e' if self.explain else ''}: {h} = False")
            if self.explain:
                self.lines[-1] += "; note = f', {e}'"
            self.fail_if(f"not {h}", f"{check.name}: no", count=check.name, note=True)

    def python_value(self, name: str) -> str:
        if name == "out":
            return f"Value({self.values[id(self.variant.before[0])]})"
        return self.captures.get(name, "None")


def is_commutative(cls: type[GeOp]) -> bool:
    return cls.has_trait(Commutative, value_if_unregistered=False)


def has_segments(cls: type[GeOp]) -> bool:
    from xdsl.irdl import AttrSizedOperandSegments

    return any(isinstance(o, AttrSizedOperandSegments) for o in cls.get_irdl_definition().options)


def segment_sizes(cls: type[GeOp], args: Sequence[Pattern | None]) -> tuple[int, ...]:
    """Operands per declared operand, for a pattern without ``*xs``."""
    kinds = cls.operand_kinds()
    sizes: list[int] = []
    at = 0
    for i, (_, kind) in enumerate(kinds):
        if kind == "variadic":
            n = max(len(args) - at - (len(kinds) - i - 1), 0)
            sizes.append(n)
            at += n
        else:
            sizes.append(int(at < len(args) and args[at] is not None))
            at += 1
    return tuple(sizes)
