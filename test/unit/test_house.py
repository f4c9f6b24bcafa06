"""The rules of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(p for top in ("gedialect", "lowering") for p in (ROOT / top).rglob("*.py") if "_pb2" not in p.name)

# Who may import whom (design: dependencies point one way). A part may always import itself.
UP_TO_DIALECTS = {"errors", "ir", "binary", "dialects"}
UP_TO_ANALYSIS = UP_TO_DIALECTS | {"interpreter", "analysis", "targets"}
UP_TO_TRANSFORMS = UP_TO_ANALYSIS | {"patterns", "transforms"}
UP_TO_LOWERING = UP_TO_TRANSFORMS | {"lowering"}
BELOW_API = UP_TO_LOWERING | {"frontends", "runtime", "pipelines", "switches", "universe", "error_codes"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "error_codes": set(),
    "ir": {"errors"},
    "dialects": UP_TO_DIALECTS,
    "targets": {"errors", "ir"},
    "interpreter": UP_TO_DIALECTS | {"analysis"},
    "analysis": UP_TO_ANALYSIS,
    "fusion_modes": set(),
    "patterns": UP_TO_ANALYSIS | {"fusion_modes"},
    "transforms": UP_TO_TRANSFORMS,
    "lowering": UP_TO_LOWERING,
    "frontends": UP_TO_DIALECTS,
    "binary": {"errors", "ir"},
    "runtime": {"errors", "ir", "binary", "targets"},
    "switches": {"errors", "fusion_modes"},
    "pipelines": {"errors", "switches"},
    "universe": {"ir"},
    "api": BELOW_API,
    "cli": BELOW_API | {"api"},
    "testing": BELOW_API | {"api", "cli"},
    "__init__": BELOW_API | {"api"},
}
# Beyond that, inside functions only.
LAZILY: dict[str, set[str]] = {
    "runtime": {"dialects"},  # host tasks evaluate ge ops
    "switches": {"analysis", "patterns"},  # what names stand for
    "lowering": {"runtime"},  # the search for kernels times them
    "cli": {"testing"},  # the demo makes its model
    "ir": {"dialects"},  # reading a constant needs its attribute classes
}
# From ir, these parts use the description of tensors only.
FROM_IR = {"binary": {"dtypes", "lazy"}, "targets": {"dtypes", "lazy"}, "runtime": {"dtypes", "lazy", "spec"}}


@dataclass(frozen=True)
class Import:
    module: str
    lazy: bool
    line: int


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def part_of(module: str) -> str | None:
    """``gedialect.ir.parser`` -> ``ir``; ``lowering...`` -> ``lowering``; None if not ours."""
    names = module.split(".")
    if names[0] == "lowering":
        return "lowering"
    if names[0] != "gedialect":
        return None
    return names[1] if len(names) > 1 else "__init__"


def imports(path: Path) -> Iterator[Import]:
    """All imports of a file but those for type checkers only."""

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                yield from visit(child, lazy)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, lazy, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.relative_to(ROOT).parts[: -node.level]
                base = ".".join([*package, *([base] if base else [])])
            for alias in node.names:
                deeper = f"{base}.{alias.name}"
                yield Import(deeper if base in ("gedialect", "gedialect.ir") else base, lazy, node.lineno)
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, lazy or inside)

    yield from visit(tree(path), False)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_dependencies_point_one_way(path: Path):
    own = part_of(module_name(path))
    assert own in MAY_IMPORT, f"say in MAY_IMPORT what {own} may import"
    wrong: list[str] = []
    for found in imports(path):
        part = part_of(found.module)
        if part is None or part == own:
            continue
        allowed = part in MAY_IMPORT[own] or (found.lazy and part in LAZILY.get(own, ()))
        if own in FROM_IR and part == "ir" and not found.lazy:
            allowed = bool(FROM_IR[own] & set(found.module.split(".")[2:3]))
        if not allowed:
            wrong.append(f"line {found.line}: {own} imports {found.module}")
    assert not wrong, "\n".join(wrong)


HEAVY = {"numpy", "onnx", "ml_dtypes", "onnxruntime", "google"}


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if part_of(module_name(p)) in ("errors", "ir", "dialects", "pipelines", "universe")],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_ir_and_dialects_import_no_numpy_at_top(path: Path):
    """ge-opt starts without it; ``gedialect.ir.lazy.np`` is the way."""
    heavy = [f"line {i.line}: {i.module}" for i in imports(path) if not i.lazy and i.module.split(".")[0] in HEAVY]
    assert not heavy, "\n".join(heavy)


ORACLES = {"onnxruntime", "onnx.reference"}


def test_nothing_computes_with_an_oracle():
    """onnxruntime and onnx's reference are for --check and the demo only."""
    users = {
        str(p.relative_to(ROOT))
        for p in SOURCES
        for i in imports(p)
        if any(i.module == o or i.module.startswith(o + ".") for o in ORACLES)
    }
    assert {u for u in users if not u.startswith(("gedialect/cli/", "gedialect/testing/"))} == set()


def test_importing_the_package_is_light():
    code = "import sys, gedialect; assert not {'numpy', 'xdsl', 'onnx'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def committed() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [p for p in ROOT.rglob("*") if p.is_file() and ".venv" not in p.parts and ".git" not in p.parts]
    return [p for name in done.stdout.split("\0") if name and (p := ROOT / name).is_file()]


MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/|(?<![\w])\.\./shared\b|/tmp/g/")


def test_no_committed_file_names_a_machine_path():
    named: list[str] = []
    for path in committed():
        if path == Path(__file__) or path.suffix in (".onnx", ".npz", ".pb", ".bin", ".png"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        named += [f"{path.relative_to(ROOT)}: {m[0]}" for m in MACHINE.finditer(text)]
    assert not named, "\n".join(named)


def test_source_files_stay_readable():
    long = [f"{p.relative_to(ROOT)}: {n} lines" for p in SOURCES if (n := p.read_text().count("\n")) > 900]
    assert not long, "\n".join(long)


# Zero, false and empty attributes are falsy in xDSL: test them with `is not None`.
ATTRIBUTE_GETTERS = {"get_attr_or_prop", "get_optional_attr", "parse_optional_attribute", "parse_optional_type"}
ATTRIBUTE_DICTS = {"attributes", "properties"}


def gives_attribute(node: ast.expr) -> bool:
    """Whether an expression surely gives an attribute or None."""
    if isinstance(node, ast.NamedExpr):
        return gives_attribute(node.value)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr in ATTRIBUTE_DICTS
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ATTRIBUTE_GETTERS:
            return True
        owner = node.func.value
        return node.func.attr == "get" and isinstance(owner, ast.Attribute) and owner.attr in ATTRIBUTE_DICTS
    return False


def truth_tests(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions whose truth is taken directly."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.BoolOp):
        yield from node.values if isinstance(node.op, ast.And) else node.values[:-1]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def attribute_truths(module: ast.AST) -> list[int]:
    """Lines that take the truth of an attribute, directly or through a local name."""
    lines: list[int] = []
    scopes = [module, *(n for n in ast.walk(module) if isinstance(n, ast.FunctionDef))]
    for scope in scopes:
        held = {
            target.id
            for n in ast.walk(scope)
            if isinstance(n, ast.Assign) and gives_attribute(n.value)
            for target in n.targets
            if isinstance(target, ast.Name)
        }
        other = {
            target.id
            for n in ast.walk(scope)
            if isinstance(n, ast.Assign) and not gives_attribute(n.value)
            for target in n.targets
            if isinstance(target, ast.Name)
        }
        if scope is module:
            held = set()
        for n in ast.walk(scope):
            for test in truth_tests(n):
                if gives_attribute(test) or (isinstance(test, ast.Name) and test.id in held - other):
                    lines.append(test.lineno)
    return sorted(set(lines))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_attributes_are_not_truth_tested(path: Path):
    lines = attribute_truths(tree(path))
    assert not lines, f"{path.relative_to(ROOT)}: use `is not None` in lines {lines}"


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("if op.attributes.get('a'): pass", True),
        ("if not op.get_attr_or_prop('a'): pass", True),
        ("x = op.properties['a'] or y", True),
        ("def f(op):\n a = op.properties.get('a')\n return 1 if a else 2", True),
        ("[1 for o in ops if o.attributes.get('a')]", True),
        ("if (a := op.attributes.get('a')): pass", True),
        ("if op.attributes.get('a') is not None: pass", False),
        ("if 'a' in op.attributes: pass", False),
        ("if op.attributes: pass", False),
        ("def f(op):\n a = op.properties.get('a')\n a = 3\n return 1 if a else 2", False),
    ],
)
def test_the_truth_check_itself(code: str, wrong: bool):
    assert bool(attribute_truths(ast.parse(code))) is wrong
