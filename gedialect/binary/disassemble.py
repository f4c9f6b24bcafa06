"""Kernels as text for people: close to the npu dialect, with addresses written out."""

from __future__ import annotations

from collections.abc import Iterator

from .isa import Value
from .kernel import FIRST_LOOP, Function, Inst, Kernel, Linear, Loop, View, contiguous

VARIABLES = ("bid", "sub")


def variable(number: int) -> str:
    """The printed name of an index variable: bid, sub, i0, i1, ..."""
    return VARIABLES[number] if number < FIRST_LOOP else f"i{number - FIRST_LOOP}"


def linear_text(form: Linear) -> str:
    terms = [variable(v) if c == 1 else f"{variable(v)} * {c}" for v, c in form.terms if c]
    if form.const or not terms:
        terms.append(str(form.const))
    return " + ".join(terms)


def view_text(view: View, kernel: Kernel) -> str:
    """``ub[64 + i0 * 256 : 4x64xf32, strides 128 1, slots 2 x 1024 by i0]``: addresses in bytes."""
    place = kernel.args[view.arg].name if view.space == "gm" else view.space
    shape = "".join(f"{n}x" for n in view.shape)
    text = f"{place}[{linear_text(view.base)} : {shape}{view.dtype.name}"
    if view.strides != contiguous(view.shape):
        text += f", strides {' '.join(map(str, view.strides))}"
    if view.rotation is not None:
        r = view.rotation
        text += f", slots {r.slots} x {r.slot_bytes} by {variable(FIRST_LOOP + r.depth)}"
    return text + "]"


def _value_text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)


def inst_text(inst: Inst, kernel: Kernel) -> str:
    """One instruction; attributes that have their default are left out."""
    parts = [", ".join(view_text(v, kernel) for v in inst.views)] if inst.views else []
    shown = [f"{s.name} = {_value_text(v)}" for s, v in zip(inst.op.attrs, inst.attrs, strict=True) if v != s.default]
    if shown:
        parts.append(f"{{{', '.join(shown)}}}")
    return " ".join([inst.op.name, *parts])


def number_instructions(function: Function) -> Iterator[tuple[int, Inst]]:
    """Instructions in program order with the number that messages and listings show."""
    stack: list[Inst | Loop] = list(reversed(function.body))
    n = 0
    while stack:
        item = stack.pop()
        if isinstance(item, Loop):
            stack.extend(reversed(item.body))
        else:
            yield n, item
            n += 1


def disassemble(kernel: Kernel) -> str:
    """The whole kernel as text, instructions numbered per function."""
    lines = [f"kernel {kernel.name} kind = {kernel.kind} blocks = {kernel.blocks}"]
    lines += [f"  arg {a.name} : {a.dtype.name}, {a.nbytes} bytes, {a.role}" for a in kernel.args]
    for name, function in (("cube", kernel.cube), ("vector", kernel.vector)):
        if function is not None:
            lines.append(f"{name}:")
            _body(function.body, kernel, 0, 0, lines)
    return "\n".join(lines) + "\n"


def _body(body: tuple[Inst | Loop, ...], kernel: Kernel, depth: int, n: int, lines: list[str]) -> int:
    indent = "  " * depth
    for item in body:
        if isinstance(item, Loop):
            head = f"for {variable(FIRST_LOOP + depth)} = {linear_text(item.lo)} to {linear_text(item.hi)}"
            lines.append(f"       {indent}{head} step {item.step}")
            n = _body(item.body, kernel, depth + 1, n, lines)
        else:
            lines.append(f"{n:5}  {indent}{inst_text(item, kernel)}")
            n += 1
    return n
