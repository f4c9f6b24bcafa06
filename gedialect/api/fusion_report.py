"""What fused, where, and what it saved: one entry per rule applied and per kernel of several ops."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from gedialect.dialects.ge.base import GeOp, is_view
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.fusion import FusionOp
from gedialect.ir import sources
from gedialect.ir.spec import spec_of
from gedialect.patterns.rule import Rule
from gedialect.patterns.support import Found
from gedialect.patterns.values import is_const
from gedialect.switches import Switches


@dataclass
class FusionLog:
    """``rules``: {rule, topic, nodes, before, after, saved_kernels, saved_bytes}, in the order applied; ``kernels``:
    {label, nodes, ops, saved_kernels, saved_bytes, cut}. Kernels saved are ops that would each have been one; bytes
    saved what they would have written to global memory for each other and read again. Sizes that are unknown count 0.
    ``cut`` is there where a limit kept readers of the kernel out of it; ``cuts`` are all of those, also kernels of one
    op. An application that neither takes in nor makes what costs a kernel is left out.
    """

    rules: list[dict[str, Any]] = field(default_factory=lambda: [])
    kernels: list[dict[str, Any]] = field(default_factory=lambda: [])
    cuts: list[dict[str, Any]] = field(default_factory=lambda: [])
    switches: Switches = field(default_factory=Switches)
    without_counterpart: list[str] = field(default_factory=list[str])

    def watch(self, rule: Rule, found: Found) -> None:
        """Note an application; for ``RuleSession.watch``."""
        matched, new = list(found.matched), list(found.new_ops)
        before = [op for op in matched if _works(op)]
        after = [op for op in new if _works(op)]
        gone = _between(before, {old for old, _ in found.replaced})
        if not before and not after:  # nothing that costs a kernel: views, or what is computed from constants
            return
        names = dict.fromkeys(n for op in matched for n in sources.names(op))
        self.rules.append(
            {
                "rule": rule.name,
                "topic": rule.topic,
                "nodes": list(names),
                "before": [op.name for op in before][::-1],
                "after": [op.name for op in after],
                "saved_kernels": len(before) - len(after),
                "saved_bytes": gone - _between(after, {v for _, v in found.replaced}),
            }
        )

    def read_kernels(self, module: ModuleOp) -> None:
        """Note the kernels of several ops that ``group-kernels`` made."""
        for fusion in module.walk():
            if not isinstance(fusion, FusionOp):
                continue
            body = [op for op in fusion.body.block.ops if isinstance(op, GeOp) and not isinstance(op, ConstantOp)]
            ops = [op for op in body if not is_view(type(op))]
            cut, label = fusion.attributes.get("cut"), fusion.attributes.get("label")
            stored = {v for v in (body[-1].next_op or body[-1]).operands} if body else set[SSAValue]()
            entry: dict[str, Any] = {
                "label": label.data if isinstance(label, StringAttr) else "",
                "nodes": list(sources.names(fusion)),
                "ops": [op.name for op in ops],
                "saved_kernels": len(ops) - 1,
                "saved_bytes": _between(ops, stored),
            }
            if isinstance(cut, StringAttr):
                entry["cut"] = cut.data
                self.cuts.append({k: entry[k] for k in ("label", "nodes", "cut")})
            if len(ops) > 1:
                self.kernels.append(entry)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, with sums."""
        both = [*self.rules, *self.kernels]
        return {
            "rules": self.rules,
            "kernels": self.kernels,
            "cuts": self.cuts,
            "switches": {
                "disable": list(self.switches.disable),
                "enable": list(self.switches.enable),
                "fusion_modes": None if self.switches.fusion_modes is None else list(self.switches.fusion_modes),
                "max_fusion_ops": self.switches.max_fusion_ops,
                "strict_numerics": self.switches.strict,
                "without_counterpart": self.without_counterpart,
            },
            "total": {k: sum(e[k] for e in both) for k in ("saved_kernels", "saved_bytes")},
        }

    def json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.as_dict(), indent=2)


def _works(op: Operation) -> bool:
    """Whether an op costs a kernel: no constant, no view, not computed from constants alone."""
    return (
        isinstance(op, GeOp)
        and not isinstance(op, ConstantOp)
        and not is_view(type(op))
        and not all(is_const(r) for r in op.results)
    )


def _between(ops: list[Any], kept: set[SSAValue]) -> int:
    """Bytes written and read for values that ``ops`` make for each other; those ``kept`` are written all the same."""
    inside: set[Operation] = set(ops)
    total = 0
    for op in ops:
        for result in op.results:
            reads = sum(1 for u in result.uses if u.operation in inside)
            spec = spec_of(result.type)
            if reads and spec.is_static:
                total += spec.nbytes * (reads + (result not in kept))
    return total
