"""The page about the ge ops, from their classes, the importer's table, and trials of what kernels cover."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import doc_onnx
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, SSAValue
from xdsl.irdl import OptPropertyDef
from xdsl.utils.exceptions import VerifyException

from gedialect.analysis.fusibility import kernel_kind
from gedialect.dialects.ge import base, op_classes
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.dtypes import BY_NAME, DType
from gedialect.ir.parser import parse_module
from gedialect.ir.spec import spec_of, tensor_type
from gedialect.transforms.expand_ops import expand

TYPES = tuple(BY_NAME[n] for n in ("f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui8", "i1"))
KINDS = {
    "cube": "cube",
    "vector": "vector",
    "window": "sliding windows on the vector unit",
    "move": "data movement",
    "lines": "whole lines on the vector unit",
    "scatter": "writes by index",
    "expanded": "after `expand-ops`, as other ops",
}
KIND_OF_ATTRIBUTE = (
    (base.BOOL, "bool"),
    (base.INT, "int"),
    (base.FLOAT, "float"),
    (base.STR, "string"),
    (base.INTS, "ints"),
    (base.FLOATS, "floats"),
    (base.STRS, "strings"),
)


LONGEST = 260
"""Characters of an example."""


# ---------------------------------------------------------------- instances
def instances(folder: Path) -> Iterator[GeOp]:
    """Every ge op of the texts in ``folder`` that are valid."""
    for path in sorted(folder.glob("*.mlir")):
        if path.name.startswith("invalid"):
            continue
        for part in path.read_text(encoding="utf-8").split("// -----"):
            ctx = GeContext()
            ctx.load_registered_dialect("ge")
            try:
                module = parse_module(ctx, part)
            except GeError:  # a part that is about an error
                continue
            yield from (op for op in module.walk() if isinstance(op, GeOp))


def _exchanged(value: SSAValue, old: DType, new: DType, block: Block) -> SSAValue:
    """A value of the type of ``value``, with ``new`` for ``old``; constants stay constants."""
    spec = spec_of(value.type)
    if isinstance(value.owner, ConstantOp) and spec.dtype is not old:
        copy: Any = value.owner.clone()
    else:
        spec = spec.with_dtype(new) if spec.dtype is old else spec
        copy = TestOp(result_types=[tensor_type(spec)])
    block.add_op(copy)
    return copy.results[0]


def variant(op: GeOp, new: DType) -> GeOp | None:
    """A copy of ``op`` that works on ``new`` elements; None where the op does not take them."""
    old = next((spec_of(v.type).dtype for v in (*op.operands, *op.results)), None)
    if old is None or op.regions:
        return None
    block = Block()
    operands = [_exchanged(v, old, new, block) for v in op.operands]
    results = [spec_of(r.type) for r in op.results]
    found = type(op).create(
        operands=operands,
        result_types=[tensor_type(r.with_dtype(new) if r.dtype is old else r) for r in results],
        properties=dict(op.properties),
    )
    block.add_op(found)
    block.add_op(TestOp(operands=list(found.results)))
    try:
        found.verify()
    except (GeError, VerifyException, TypeError, ValueError):
        return None
    return found


@cache
def coverage(folder: Path) -> dict[str, tuple[str | None, dict[str, set[str]], set[str]]]:
    """Op -> (an example, kind of kernel -> element types, all element types it takes)."""
    found: dict[str, tuple[str | None, dict[str, set[str]], set[str]]] = {}
    for op in instances(folder):
        example, kinds, taken = found.get(op.name, (None, {}, set[str]()))
        found[op.name] = example or _example(op), kinds, taken
        if not _static(op):
            continue
        for dtype in TYPES:
            if (dtype.name in taken and kinds and all(dtype.name in k for k in kinds.values())) or (
                copy := variant(op, dtype)
            ) is None:
                continue
            try:
                kind = kernel_kind(copy)
            except GeError:  # the op's expansion does not take the type
                continue
            taken.add(dtype.name)
            if kind is None and _expands(copy):
                kind = "expanded"
            if kind is not None:
                kinds.setdefault(kind, set()).add(dtype.name)
    return found


def _static(op: GeOp) -> bool:
    """Whether all values are tensors of known sizes."""
    try:
        return all(spec_of(v.type).is_static for v in (*op.operands, *op.results))
    except GeError:
        return False


def _expands(op: GeOp) -> bool:
    if not type(op).has_expansion() or base.is_view(type(op)):
        return False
    try:
        return expand(op)
    except (GeError, NotImplementedError):
        return False


def _example(op: GeOp) -> str | None:
    text = str(op)
    return text if "\n" not in text and len(text) <= LONGEST else None


# ---------------------------------------------------------------- text
def signature(cls: type[GeOp]) -> str:
    """``%y = ge.matmul(%x1, %x2, [%bias]) {transpose_x1 = bool, [epsilon = float]}``; brackets: optional."""
    operands = [
        {"one": f"%{n}", "optional": f"[%{n}]", "variadic": f"%{n}..."}[kind] for n, kind in cls.operand_kinds()
    ]
    results = [n for n, _ in cls.get_irdl_definition().results]
    attrs = [f"[{n} = {kind}]" if optional else f"{n} = {kind}" for n, kind, optional in attributes(cls)]
    left = ", ".join(f"%{n}" for n in results)
    braces = f" {{{', '.join(attrs)}}}" if attrs else ""
    bodies = "".join(f" {{{n}}}" for n, _ in cls.get_irdl_definition().regions)
    return f"{left}{' = ' if left else ''}{cls.name}({', '.join(operands)}){braces}{bodies}"


def attributes(cls: type[GeOp]) -> list[tuple[str, str, bool]]:
    """(name, kind, whether it may be absent) of the op's own attributes."""
    found: list[tuple[str, str, bool]] = []
    for name, definition in cls.get_irdl_definition().properties.items():
        if name == "operandSegmentSizes":
            continue
        kind = next((k for c, k in KIND_OF_ATTRIBUTE if definition.constr is c), None)
        kind = kind or next((k for c, k in KIND_OF_ATTRIBUTE if definition.constr == c), "attribute")
        if isinstance(definition.constr, base.Words):
            several = definition.constr.attr is not StringAttr
            kind = "list of " * several + " | ".join(f'"{w}"' for w in definition.constr.allowed)
        if kind == "ints" and name in cls.FLOAT_ATTRS:
            kind = "floats"
        found.append((name, kind, isinstance(definition, OptPropertyDef)))
    return found


def _prose(text: str) -> str:
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    return re.sub(r"::\n\n((?:    .*\n?)+)", lambda m: ":\n\n" + m[1], text)


def _kernels(cls: type[GeOp], kinds: dict[str, set[str]]) -> str:
    if base.is_view(cls):
        return "none: the same bytes under another shape"
    if cls.FUSION_CLASS is FusionClass.CONSTANT:
        return "none"
    order = [t.name for t in TYPES]
    parts = [f"{KINDS[k]} ({' '.join(sorted(kinds[k], key=order.index))})" for k in KINDS if k in kinds]
    return "; ".join(parts) or "host task"


def entry(cls: type[GeOp], example: str | None, kinds: dict[str, set[str]], taken: set[str]) -> Iterator[str]:
    """The section of one op."""
    mnemonic = cls.name.removeprefix("ge.")
    yield f"### {cls.name}\n"
    yield f"```text\n{signature(cls)}\n```\n"
    if doc := inspect.getdoc(cls):
        yield f"{_prose(doc)}\n"
    if example is not None:
        yield f"```mlir\n{example}\n```\n"
    order = [t.name for t in TYPES]
    rows = [("class", cls.FUSION_CLASS.value.replace("_", " "))]
    if taken:
        rows.append(("elements", " ".join(sorted(taken, key=order.index))))
    if not cls.get_irdl_definition().regions:
        rows.append(("kernel", _kernels(cls, kinds)))
    if cls.PRIMITIVE is not None:
        rows.append(("instruction", f"`{cls.PRIMITIVE}`"))
    elif cls.has_expansion():
        rows.append(("expansion", "stated by the op"))
    if cls.CONST_OPERANDS:
        pairs = ", ".join(f"`{o}` / `{a}`" for o, a in cls.CONST_OPERANDS)
        rows.append(("operand or attribute", pairs))
    if cls.GE_TYPES:
        rows.append(("GE types", " ".join(cls.GE_TYPES)))
    if onnx := doc_onnx.sources().get(mnemonic):
        rows.append(("from ONNX", " ".join(onnx)))
    yield "| | |\n| --- | --- |"
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""


def text(folder: Path) -> str:
    """docs/ops.md"""
    covered = coverage(folder)
    classes = op_classes()
    families: dict[str, list[type[GeOp]]] = {}
    for cls in classes:
        families.setdefault(cls.__module__, []).append(cls)
    out = [
        "# The ge ops\n",
        f"{len(classes)} ops in {len(families)} families. All have one syntax: operands in parentheses (`none` for an "
        "absent one before others),\nthe op's own attributes in braces, free ones after `attributes`, then types:\n",
        "```text\n%y = ge.conv2d(%x, %f, %b) {strides = [2, 2], groups = 1} : (T, T, T) -> T\n```\n",
        "Signatures show optional operands and attributes in brackets. *elements* are types the op takes, tried out "
        "with its\nfirst tensor's type exchanged; *kernel* says which kernels compute the op on the NPU by itself, and "
        "for which types:\nwhat is not covered runs as a host task. *instruction* or *expansion* is what the vector "
        "generator uses.\n",
        "| family | ops |",
        "| --- | --- |",
    ]
    families = dict(sorted(families.items()))
    for module, members in families.items():
        links = " ".join(f"[{c.name.removeprefix('ge.')}](#{c.name.replace('.', '')})" for c in members)
        out.append(f"| [{_family(module)}](#{_family(module)}) | {links} |")
    out.append("")
    for module, members in families.items():
        out += [f"## {_family(module)}\n", f"{_prose(inspect.cleandoc(import_module(module).__doc__ or ''))}\n"]
        for cls in members:
            out += entry(cls, *covered.get(cls.name, (None, {}, set())))
    return "\n".join(out)


def _family(module: str) -> str:
    return module.rsplit(".", 1)[-1]
