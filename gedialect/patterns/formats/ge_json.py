"""GE's JSON fusion rules: the graph before, the graph after, and which attributes go where.

Fields: ``Rules`` with ``RuleName``, ``OuterInputs``, ``OuterOutputs``, ``OriginGraph`` and ``FusionGraph`` (``Nodes``
with one ``type`` each, ``Edges`` from ``src`` to ``dst``, ends being outer names or ``node:index``) and
``FusionGraph.Attrs`` (``attr`` of a new node, ``value`` an attribute of an old node or a literal). GE matches operands
in the order written; here those of commutative ops may swap. Exactness is not said, so it is a tolerance.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, cast

from gedialect.dialects.ge import op_classes
from gedialect.dialects.ge.base import GeOp
from gedialect.errors import GeError
from gedialect.patterns.formats.json_lines import Array, Object, load
from gedialect.patterns.language import AttrCapture, Capture, Node, Pattern, at_place, check_value
from gedialect.patterns.rule import Rule, make_rule, mentioned

Json = dict[str, Any]
MAX_NODES = 200


def parse_json(text: str, file: str, topic: str, refused: list[GeError] | None = None) -> list[Rule]:
    """The rules of a text. GE1115 for a malformed file; a rule that cannot be said is a GE1116, which goes to
    ``refused`` if that is given. All at FILE:LINE."""

    def malformed(what: str, line: int, hint: str | None = None) -> GeError:
        return GeError(what, code="GE1115", where=f"{file}:{line}", hint=hint)

    try:
        data = load(text, lambda key, line: malformed(f"{key} is there twice", line, "keep one of them"))
    except json.JSONDecodeError as error:
        hint = "JSON has no comments and no comma before ] or }"
        raise malformed(f"JSON: {error.msg}", error.lineno, hint) from None
    except ValueError:
        raise malformed("JSON: a number of thousands of digits", 1, "write it shorter") from None
    if not isinstance(data, Object) or not isinstance(data.get("Rules"), Array):
        raise malformed("no list of Rules", 1, 'it holds {"Rules": [...]}')
    entries = cast(Array, data["Rules"])
    found: list[Rule] = []
    names: dict[str, int] = {}
    for i, (entry, line) in enumerate(zip(entries, entries.lines, strict=True)):
        name = entry.get("RuleName") if isinstance(entry, Object) else None
        if not isinstance(entry, Object) or not isinstance(name, str) or not name:
            raise malformed(f"rule {i} has no RuleName", line, 'a rule is {"RuleName": "...", ...}')
        line = entry.lines["RuleName"]
        if name in names:
            raise malformed(f"two rules are named {name}", line, f"rename one; the other is at line {names[name]}")
        names[name] = line
        try:
            found.append(_Reader(entry, name, file, line, topic).rule())
        except GeError as error:
            if refused is None or error.code == "GE1115":
                raise
            refused.append(error)
    if not entries:
        raise malformed("the list of Rules is empty", 1, "docs/patterns.md has a complete rule")
    return found


def class_of(ge_type: str) -> type[GeOp] | None:
    """The op class of a GE type name; the one whose first name it is, if several have it."""
    found = [c for c in op_classes() if ge_type in c.GE_TYPES]
    return min(found, key=lambda c: c.GE_TYPES.index(ge_type), default=None)


class _Reader:
    def __init__(self, entry: Object, name: str, file: str, line: int, topic: str):
        self.entry = entry
        self.name = name
        self.file = file
        self.line = line
        self.topic = topic
        self.place = f"{file}:{line}"
        self.params: dict[str, Any] = {}
        self.used: set[str] = {"out"}

    def at(self, part: Object | None, key: str = "") -> str:
        """The place of a key, of the object if it lacks the key, or of the rule."""
        return self.place if part is None else f"{self.file}:{part.lines.get(key, part.line)}"

    def malformed(self, what: str, part: Object | None = None, key: str = "", hint: str = "") -> GeError:
        hint = hint or "docs/patterns.md has a complete rule"
        return GeError(f"{self.name}: {what}", code="GE1115", where=self.at(part, key), hint=hint)

    def refusal(self, what: str, part: Object | None = None, key: str = "") -> GeError:
        hint = "write the rule in Python or text"
        return GeError(f"{self.name}: {what}", code="GE1116", where=self.at(part, key), hint=hint)

    # ------------------------------------------------------------ reading
    def items(self, where: Object, key: str, fields: Sequence[str], *, needed: bool = True) -> list[Object]:
        """The entries of a list, objects with these fields; all but ``type``, ``value`` and ``expr`` are strings."""
        value = where.get(key)
        if value is None and not needed:
            return []
        if not isinstance(value, Array):
            raise self.malformed(f"{key} is no list", where, key, f'write "{key}": [...]')
        found: list[Object] = []
        for item, line in zip(cast("list[Any]", value), value.lines, strict=True):
            lacking = [f for f in fields if not isinstance(item, Object) or f not in item]
            if not isinstance(item, Object) or lacking:
                raise GeError(
                    f"{self.name}: an entry of {key} lacks {' and '.join(lacking)}",
                    code="GE1115",
                    where=f"{self.file}:{line}",
                    hint=f"an entry of {key} has {', '.join(fields)}",
                )
            for f in fields:
                if f not in ("type", "value") and not isinstance(item[f], str):
                    raise self.malformed(f"{f} of {key} is {json.dumps(item[f])}, not a string", item, f)
            found.append(item)
        return found

    def graph(self, key: str) -> Object:
        value = self.entry.get(key)
        if not isinstance(value, Object):
            what = f"{key} is no object" if key in self.entry else f"it has no {key}"
            hint = 'write {"Nodes": [...], "Edges": [...]}'
            raise self.malformed(what, self.entry, key if key in self.entry else "RuleName", hint)
        return value

    def identifier(self, wanted: str) -> str:
        base = re.sub(r"\W", "_", wanted).lstrip("_") or "x"
        base = base if base[0].isalpha() else f"x{base}"
        found, n = base, 1
        while found in self.used:
            n += 1
            found = f"{base}_{n}"
        self.used.add(found)
        return found

    def rule(self) -> Rule:
        with at_place(self.place):
            origin, fusion = self.graph("OriginGraph"), self.graph("FusionGraph")
            outer: dict[str, Pattern] = {}
            for item in self.items(self.entry, "OuterInputs", ["name"]):
                name = self.identifier(str(item["name"]))
                outer[str(item["name"])] = self.params[name] = Capture(name)
            outputs = [str(o["name"]) for o in self.items(self.entry, "OuterOutputs", ["name"])]
            if not outputs:
                raise self.malformed("OuterOutputs is empty", self.entry, "OuterOutputs")
            old, new = self.nodes(origin), self.nodes(fusion)
            attrs = self.attributes(fusion, old, new)
            taken: dict[str, Json] = {}
            for (node, key), capture in self.captured.items():
                taken.setdefault(node, {})[key] = capture
            before = self.connect(origin, old, outer, outputs, taken)
            after = self.connect(fusion, new, outer, outputs, attrs)
            used = mentioned(before)
            for p in [p for p in self.params.values() if isinstance(p, Capture) and p.name not in used]:
                del self.params[p.name]  # an input that only the replacement has is an error, one of neither is not
                if p.name in mentioned(after):
                    raise self.refusal(f"input {p.name} enters the new graph only")
            return make_rule(
                name=self.name,
                doc="GE fusion rule.",
                params=self.params,
                before=before,
                after=after,
                file=self.file,
                line=self.line,
                exact="tolerance",
                topic=self.topic,
            )

    def nodes(self, graph: Object) -> dict[str, type[GeOp]]:
        found: dict[str, type[GeOp]] = {}
        entries = self.items(graph, "Nodes", ["name", "type"])
        if len(entries) > MAX_NODES:
            raise self.refusal(f"more than {MAX_NODES} nodes")
        for item in entries:
            types = item["type"]
            if not isinstance(types, Array) or not all(isinstance(t, str) for t in types):
                hint = f'write "type": [{json.dumps(types)}]' if isinstance(types, str) else 'write "type": ["Relu"]'
                raise self.malformed(f"the type of node {item['name']} is no list of names", item, "type", hint)
            if len(types) != 1:
                raise self.refusal(f"node {item['name']} has {len(types)} types; GE takes one", item, "type")
            cls = class_of(types[0])
            if cls is None:
                raise self.refusal(f"the ge dialect has no op for GE type {types[0]}", item, "type")
            if item["name"] in found:
                raise self.malformed(f"two nodes are named {item['name']}", item, "name")
            found[str(item["name"])] = cls
        return found

    # ------------------------------------------------------------ attributes
    def attributes(self, graph: Object, old: dict[str, type[GeOp]], new: dict[str, type[GeOp]]) -> dict[str, Json]:
        """Attributes of new nodes; those taken from old nodes become captures there."""
        self.captured: dict[tuple[str, str], AttrCapture] = {}
        found: dict[str, Json] = {}
        for item in self.items(graph, "Attrs", ["attr", "value"], needed=False):
            if item.get("expr", "=") != "=":
                raise self.refusal(f"the expression {item.get('expr')!r} of attribute {item['attr']}", item, "expr")
            node, _, attr = str(item["attr"]).partition(".")
            if node not in new:
                raise self.malformed(
                    f"attribute {item['attr']} is of no new node", item, "attr", f'write "attr": "NODE.{attr or node}"'
                )
            self.known(new[node], attr, item, "attr")
            value = item["value"]
            source, dot, key = value.partition(".") if isinstance(value, str) else ("", "", "")
            if dot and source in old:
                self.known(old[source], key, item, "value")
                value = self.captured.get((source, key))
                if value is None:
                    name = self.identifier(f"{source}_{key}")
                    value = self.captured[source, key] = self.params[name] = AttrCapture(name)
            elif isinstance(value, dict | type(None)):
                raise self.malformed(f"the value of attribute {item['attr']} is no value", item, "value")
            else:
                check_value(new[node], attr, value, self.at(item, "value"))
            found.setdefault(node, {})[attr] = value
        return found

    def known(self, cls: type[GeOp], attr: str, item: Object, key: str) -> None:
        if attr not in cls.attr_names():
            known = ", ".join(cls.attr_names()) or "none"
            raise self.refusal(f"{cls.name} has no attribute {attr}; it has: {known}", item, key)

    # ------------------------------------------------------------ edges
    def connect(
        self,
        graph: Object,
        classes: dict[str, type[GeOp]],
        outer: dict[str, Pattern],
        outputs: list[str],
        attrs: dict[str, Json],
    ) -> tuple[Pattern, ...]:
        inputs: dict[str, dict[int, str]] = {n: {} for n in classes}
        leaving: dict[str, str] = {}
        sources: dict[str, Object] = {}
        for edge in self.items(graph, "Edges", ["src", "dst"]):
            src, dst = str(edge["src"]), str(edge["dst"])
            sources.setdefault(src, edge)
            node, index = self.end(dst, classes, edge, "dst")
            if node is None:
                if dst.partition(":")[0] not in outputs:
                    raise self.malformed(f"edge to {dst}, which is no node and no output", edge, "dst")
                leaving[dst.partition(":")[0]] = src
            elif inputs[node].setdefault(index, src) != src:
                raise self.malformed(f"two edges lead to {dst}", edge, "dst")
        made: dict[str, Node] = {}
        open_: set[str] = set()

        def value(end: str) -> Pattern:
            if end in outer:
                return outer[end]
            node, index = self.end(end, classes, sources.get(end), "src")
            if node is None:
                raise self.malformed(f"edge from {end}, which is no node and no input", sources.get(end), "src")
            made_node = build(node)
            try:
                return made_node[index]
            except IndexError:
                raise self.refusal(f"{made_node.cls.name} has no result {index}") from None

        def build(name: str) -> Node:
            if name not in made:
                if name in open_:
                    raise self.malformed(f"node {name} is on a cycle")
                open_.add(name)
                ends = inputs[name]
                args = [value(ends[i]) if i in ends else None for i in range(max(ends, default=-1) + 1)]
                cls = classes[name]
                kinds = cls.operand_kinds()
                if len(args) > len(kinds) and not any(k == "variadic" for _, k in kinds):
                    raise self.refusal(f"{name}: {cls.name} takes {len(kinds)} operands, the others are attributes")
                made[name] = Node(cls, args, dict(attrs.get(name, {})), self.place)
            return made[name]

        missing = [o for o in outputs if o not in leaving]
        if missing:
            raise self.malformed(f"no edge leads to output {missing[0]}")
        found = tuple(value(leaving[o]) for o in outputs)
        unused = [n for n in classes if n not in made]
        if unused:
            raise self.refusal(f"node {unused[0]} leads to no output")
        return found

    def end(self, text: str, classes: dict[str, type[GeOp]], edge: Object | None, key: str) -> tuple[str | None, int]:
        """Node and index of an end of an edge; None for outer names."""
        if text in classes:
            return text, 0
        node, colon, index = text.rpartition(":")
        if colon and node in classes:
            if not re.fullmatch(r"\d{1,4}", index):
                raise self.malformed(f"{text} has no index", edge, key, "write NODE:0 for its first operand or result")
            return node, int(index)
        return None, 0
