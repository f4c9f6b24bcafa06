"""Rules as straight-line Python: one function per form of a rule, the first failed test leaves it.

Nothing is created before types are inferred and agree, so a match that is blocked leaves no trace. The same generator
makes the explaining form, whose failures report how far they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.ir import Operation

from gedialect.dialects.ge.base import to_attr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.elementwise import SelectOp
from gedialect.ir.spec import spec_of
from gedialect.patterns.attributes import is_optional
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
)
from gedialect.patterns.matching import Matching, Why, has_segments, root_class, segment_sizes
from gedialect.patterns.places import place_of
from gedialect.patterns.rule import Rule, Variant, node_of, nodes, parameters
from gedialect.patterns.support import Found, segments

OTHER_TYPE = "the replacement has another type"
Matcher: TypeAlias = "Callable[[Operation], Found | None]"


def compile_variant(
    rule: Rule, variant: Variant, rejected: Counter[str], why: Why | None = None
) -> Callable[[Operation], Found | None]:
    """The matcher of one form; ``rejected`` counts conditions that failed, ``why`` gets (depth, reason, op)."""
    source, env = _Generator(rule, variant, rejected, why).generate()
    exec(compile(source, f"<rule {rule.name}>", "exec"), env)
    return env["match"]


def needed_classes(variant: Variant) -> frozenset[type[Operation]]:
    """Op classes that must make an operand of the root, whatever the operand order."""
    found = (root_class(a) for a in node_of(variant.before[0]).args)
    return frozenset(c for c in found if c is not None)


class _Generator(Matching):
    """Writes one matcher: the tests, then what replaces the match."""

    def generate(self) -> tuple[str, dict[str, Any]]:
        """Source of the function ``match`` and its global names."""
        self.left_side()
        self.right_side()
        return "\n".join(self.lines), self.env

    def right_side(self) -> None:
        left = set(self.ops)
        new = [n for n in nodes(self.variant.after) if id(n) not in left]
        specs: dict[int, str] = {}
        wanted: dict[int, str] = {}
        for before, after in zip(self.variant.before, self.variant.after, strict=True):
            if isinstance(after, Node) and id(after) not in left:
                wanted[id(after)] = f"spec_of({self.values[id(before)]}.type)"
        leave = "continue" if self.loops else "return None"
        pairs = list(zip(self.variant.before, self.variant.after, strict=True))
        wholes: dict[int, tuple[str, str]] = {}
        """outputs that a constant replaces -> its value and spec"""
        if new or any(isinstance(a, Number | Computed) for a in self.variant.after):
            self.emit("try:")
            self.indent += 1
            for node in new:
                self.plan(node, specs, wanted)
            for i, (before, after) in enumerate(pairs):
                if isinstance(after, Number | Computed):
                    wholes[i] = self.plan_whole(after, self.values[id(before)])
            self.indent -= 1
            self.emit("except NoMatch as e:")
            self.emit("    rejected['types of the replacement'] += 1")
            if self.explain:
                self.emit(f"    why({len(self.ops)}, 'no replacement: ' + str(e), op)")
            self.emit(f"    {leave}")
        for i, (before, after) in enumerate(pairs):
            old = self.values[id(before)]
            spec = wholes[i][1] if i in wholes else self.spec(after, specs)
            self.fail_if(f"{spec} != spec_of({old}.type)", OTHER_TYPE, count="type of the replacement")
        by_id = {id(n): n for n in self.nodes}
        real = [o for k, o in self.ops.items() if by_id[k].cls is not ConstantOp][::-1]  # operands before users
        created: list[str] = []
        if new or wholes:
            self.emit(f"loc = merged(({', '.join(real)},))")
        for node in new:
            self.build(node, specs, created)
        replaced: list[str] = []
        for i, (before, after) in enumerate(pairs):
            new_value = self.constant(*wholes[i], created) if i in wholes else self.values[id(after)]
            replaced.append(f"({self.values[id(before)]}, {new_value})")
        matched = ", ".join(self.ops.values())
        self.emit(f"return Found(({''.join(c + ', ' for c in created)}), ({', '.join(replaced)},), ({matched},))")
        if self.loops:
            self.indent = 1
            self.emit("return None")

    def spec(self, p: Pattern | None, specs: dict[int, str]) -> str:
        if p is None:
            return "None"
        if id(p) in specs:
            return specs[id(p)]
        if isinstance(p, ResultOf) and id(p.node) in specs:
            return f"{specs[id(p.node)][: -len('[0]')]}[{p.index}]"
        if isinstance(p, ResultOf) and id(p.node) in self.ops:
            self.values[id(p)] = f"{self.ops[id(p.node)]}.results[{p.index}]"
        return f"spec_of({self.values[id(p)]}.type)"

    def plan(self, node: Node, specs: dict[int, str], wanted: dict[int, str]) -> None:
        """Attributes and result types of a new op."""
        entries: list[str] = []
        if node.rest is not None:
            entries.append(f"**{self.raw[node.rest.name]}")
        optional = False
        k = self.const(node.cls)
        at = f"{self.const(node.where)}, {self.const(self.rule.name)}"
        about = f'{k}, "{{}}", {at}'
        for key, value in node.attrs.items():
            may_lack = is_optional(node.cls, key)
            if isinstance(value, AttrCapture):
                if value.name in self.raw:
                    raw = self.raw[value.name]
                    entries.append(f'"{key}": {raw if may_lack else f"captured({raw}, {about.format(key)})"}')
                    optional |= may_lack
            elif callable(value) or isinstance(value, Capture):
                got = self.python_value(value.name) if isinstance(value, Capture) else self.call(value)
                entries.append(f'"{key}": attribute({got}, {about.format(key)})')
                optional |= may_lack
            elif value is not None:
                entries.append(f'"{key}": {self.const(to_attr(value, floats=key in node.cls.FLOAT_ATTRS))}')
        props = self.name("p")
        self.emit(f"{props} = {{{', '.join(entries)}}}")
        if optional:
            self.emit(f"{props} = {{k: v for k, v in {props}.items() if v is not None}}")
        beside = [
            a for a in node.args if a is not None and not isinstance(a, Number | Computed | ManyCapture | AllResults)
        ]
        if node.cls is SelectOp and len(beside) > 1 and beside[0] is node.args[0]:
            beside = beside[1:]  # the condition says nothing about the type of a number
        like = beside[0] if beside else None
        for a in node.args:
            if isinstance(a, Number | Computed) and id(a) not in specs:
                self.plan_constant(a, like, specs)
        known = wanted.get(id(node), "None")
        if node.dtype is not None:
            source = self.dtype(node.dtype)
            known = f"({self.spec(like, specs)}.with_dtype({source}),)"
        elif isinstance(node.type_of, Pattern):
            known = f"({self.spec(node.type_of, specs)},)"
        elif node.type_of is not None:
            known = f"({self.const(spec_of(node.type_of))},)"
        elif known != "None":
            known = f"({known},)"
        t = self.name("t")
        self.emit(f"{t} = infer_types({k}, {props}, ({self.groups(node, specs)}), {known}, {at})")
        self.ops_props[id(node)] = (k, props, t)
        specs[id(node)] = f"{t}[0]"

    def plan_constant(self, a: Number | Computed, like: Pattern | None, specs: dict[int, str]) -> None:
        """The value and type of a constant that is an operand: it has the element type of what is beside it."""
        c, t = self.name("c"), self.name("t")
        self.emit(f"{c} = {self.constant_value(a)}")
        self.emit(f"{t} = constant_spec({c}, {self.spec(like, specs)}.dtype)")
        specs[id(a)] = t
        self.planned[id(a)] = c, t

    def plan_whole(self, a: Number | Computed, old: str) -> tuple[str, str]:
        """The value and type of a constant that replaces the value ``old``: it has the type of that."""
        c, t = self.name("c"), self.name("t")
        self.emit(f"{c} = {self.constant_value(a)}")
        self.emit(f"{t} = whole_spec({c}, spec_of({old}.type))")
        return c, t

    def constant_value(self, a: Number | Computed) -> str:
        if isinstance(a, Number):
            return self.const(a.value)
        about = f"{self.const(place_of(a.function, self.rule.file, self.rule.where))}, {self.const(self.rule.name)}"
        return f"constant_value({self.call(a.function)}, {about})"

    def constant(self, value: str, spec: str, created: list[str]) -> str:
        """The value of a new constant."""
        n = self.name("c")
        self.emit(f"{n} = constant_op({value}, {spec}, loc)")
        created.append(n)
        return f"{n}.results[0]"

    def dtype(self, value: Any) -> str:
        if isinstance(value, Capture):
            return f"dtype_of({self.captures[value.name]})"
        if callable(value):
            return f"dtype_of({self.call(value)})"
        return f"dtype_of({self.const(value)})"

    def call(self, function: Callable[..., Any]) -> str:
        return f"{self.const(function)}({', '.join(self.python_value(p) for p in parameters(function))})"

    def groups(self, node: Node, specs: dict[int, str]) -> str:
        """Specs of the operands, one entry per declared operand."""
        return "".join(f"{g}, " for g in self.grouped(node, lambda p: self.spec(p, specs), "spec_of(v.type)"))

    def grouped(self, node: Node, one: Callable[[Pattern | None], str], each: str) -> list[str]:
        kinds = node.cls.operand_kinds()
        out: list[str] = []
        at = 0
        for i, (_, kind) in enumerate(kinds):
            if kind != "variadic":
                out.append(one(node.args[at]) if at < len(node.args) else "None")
                at += 1
                continue
            after = len(kinds) - i - 1
            part = node.args[at : len(node.args) - after]
            at += len(part)
            out.append(
                "["
                + ", ".join(
                    f"*({each} for v in {self.values[id(a)]})" if isinstance(a, ManyCapture) else one(a) for a in part
                )
                + "]"
            )
        return out

    def build(self, node: Node, specs: dict[int, str], created: list[str]) -> None:
        """Create the op and the constants it needs, detached."""
        for a in node.args:
            if isinstance(a, Number | Computed) and id(a) not in self.values:
                self.values[id(a)] = self.constant(*self.planned[id(a)], created)
        k, props, t = self.ops_props[id(node)]
        values = "".join(
            f"*{self.values[id(a)]}, " if isinstance(a, ManyCapture) else f"{self.value(a)}, "
            for a in node.args
            if a is not None
        )
        if has_segments(node.cls):
            if any(isinstance(a, ManyCapture) for a in node.args):
                sizes = ", ".join(
                    f"len({g})" if g.startswith("[") else "0" if g == "None" else "1"
                    for g in self.grouped(node, lambda p: "None" if p is None else "0", "0")
                )
                self.emit(f'{props}["operandSegmentSizes"] = segments(({sizes},))')
            else:
                sizes = self.const(segments(segment_sizes(node.cls, node.args)))
                self.emit(f'{props}["operandSegmentSizes"] = {sizes}')
        n = self.name("n")
        self.emit(
            f"{n} = {k}.create(operands=({values}), result_types=[tensor_type(t) for t in {t}], "
            f"properties={props}, location=loc)"
        )
        created.append(n)
        self.values[id(node)] = f"{n}.results[0]"
        for i, result in node.used_results.items():
            self.values[id(result)] = f"{n}.results[{i}]"

    def value(self, p: Pattern) -> str:
        if isinstance(p, ResultOf) and id(p) not in self.values:
            return f"{self.ops[id(p.node)]}.results[{p.index}]"
        return self.values[id(p)]
