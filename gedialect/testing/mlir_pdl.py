"""Runs rules through ``mlir-opt``'s PDL, a second implementation of matching and rewriting, where it is installed.

The rule goes there as PDL, the module in generic form with unregistered ops. ``mlir-opt`` rewrites greedily; ops it
leaves dead are removed here, then both modules must print alike. PDL says neither that values inside have no other
users nor that types agree, so instances are those of ``check_rule``, whose only users are the pattern's own.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import Pure

from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.printer import UniquePrinter
from gedialect.patterns.engine import RuleSet
from gedialect.patterns.formats.pdl_export import rule_to_pdl
from gedialect.patterns.rule import Rule
from gedialect.testing.proof import draw_instance

NAMES = ("mlir-opt-22", "mlir-opt-21", "mlir-opt-20", "mlir-opt-19", "mlir-opt")
TIMEOUT = 60


@dataclass
class Difference:
    """A module that the two make different things of."""

    before: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.before}\nis for the engine\n{self.ours}\nfor mlir-opt\n{self.theirs}"


@dataclass
class Comparison:
    """``compared`` modules, of which ``rewritten`` were changed, and those where results differ."""

    rule: Rule
    compared: int = 0
    rewritten: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])


def find_mlir_opt() -> str | None:
    """The path of ``mlir-opt``; None if it is not installed."""
    return next((p for p in map(shutil.which, NAMES) if p is not None), None)


def run_pdl(patterns: Sequence[str], module: ModuleOp, mlir_opt: str) -> ModuleOp:
    """``module`` as ``mlir-opt`` rewrites it with the PDL patterns; RuntimeError with its message if it fails."""
    text = f"{generic(module, '@ir')}\nmodule @patterns {{\n" + "\n".join(patterns) + "\n}\n"
    text = "module {\n" + text + "}\n"
    options = [mlir_opt, "-allow-unregistered-dialect"]
    text = _piped([*options, "-convert-pdl-to-pdl-interp"], text)
    text = _piped([*options, "-test-pdl-bytecode-pass", "-mlir-print-op-generic"], text)
    return parse_module(GeContext(), _part(text, "ir"), "mlir-opt")


def _part(text: str, name: str) -> str:
    """The lines of the module of this name; the matcher beside it is of a dialect we do not read."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if '"builtin.module"' in line and f'"{name}"' in line)
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    last = next(i for i in range(first, len(lines)) if lines[i].startswith(indent + "})"))
    return "\n".join(lines[first : last + 1])


def _piped(command: list[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[:2000]}")
    return done.stdout


def generic(module: ModuleOp, name: str = "") -> str:
    """The module in generic form, with the properties of ge ops as attributes: unregistered ops have no others."""
    from io import StringIO

    copy = module.clone()
    for op in copy.walk():
        if op.name.startswith("ge."):
            op.attributes.update(op.properties)
            op.properties.clear()
    out = StringIO()
    for op in copy.body.block.ops:
        UniquePrinter(out, print_generic_format=True).print_op(op)
        out.write("\n")
    return f"module {name} {{\n{out.getvalue()}}}"


def canonical(module: ModuleOp) -> str:
    """The text of the module without dead ops, names and places."""
    copy = module.clone()
    copy.properties.pop("sym_name", None)
    while dead := [
        op
        for op in copy.walk()
        if op.has_trait(Pure, value_if_unregistered=False) and not any(r.first_use for r in op.results)
    ]:
        for op in reversed(dead):
            if not any(r.first_use for r in op.results):
                op.detach()
                op.erase()
    for op in copy.walk():
        for r in op.results:
            r.name_hint = None
        for region in op.regions:
            for block in region.blocks:
                for a in block.args:
                    a.name_hint = None
    return _sorted_constants(copy)


def _sorted_constants(module: ModuleOp) -> str:
    """Constants just before their first user: where they stand says nothing."""
    from gedialect.dialects.ge.constant import ConstantOp

    for op in list(module.walk()):
        if isinstance(op, ConstantOp) and op.parent is not None:
            users = {use.operation for use in op.y.uses}
            first = next((u for u in op.parent.ops if u in users), None)
            if first is not None:
                block = op.parent
                op.detach()
                block.insert_op_before(op, first)
    return str(module)


def compare_with_mlir(rule: Rule, mlir_opt: str, *, instances: int = 3, seed: int = 0) -> Comparison:
    """Rewrites random instances of every form of ``rule`` with the engine and with ``mlir-opt``.

    GE1116 if PDL cannot say the rule.
    """
    patterns = rule_to_pdl(rule)
    found = Comparison(rule)
    rng = np.random.default_rng(seed)
    rules = RuleSet([rule])
    for variant in rule.variants:
        good = 0
        for draw in range(40 * instances):
            if good >= instances:
                break
            name = ("f32", "f64", "i32", "f16", "i1")[draw % 5]
            module = draw_instance(rule, variant, rng, dtypes.BY_NAME[name], dynamic=False)
            if module is None:
                continue
            ours = module.clone()
            try:
                outcome = rules.apply(ours)
            except GeError:
                continue
            if not outcome.changed:
                continue
            good += 1
            theirs = run_pdl(patterns, module, mlir_opt)
            found.compared += 1
            found.rewritten += 1
            a, b = canonical(ours), canonical(theirs)
            if a != b:
                found.differences.append(Difference(str(module), a, b))
    return found
