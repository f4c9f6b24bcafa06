"""Writes docs/isa.md from the instruction table and the encoding's own description."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from gedialect.binary import kernel_codec
from gedialect.binary.isa import (
    CROSS_CORE_FLAGS,
    CROSS_CORE_LIMIT,
    DTYPES,
    FLAG_IDS,
    INSTRS,
    SPACE_ALIGN,
    SPACE_BYTES,
    VERSION,
    AttrSpec,
    Instr,
    Pipe,
)

TARGET = Path(__file__).parents[1] / "docs" / "isa.md"

PIPES = {
    Pipe.S: ("S", "Synchronisation", "issued by the scalar unit to the pipes it names"),
    Pipe.MTE2: ("MTE2", "Global memory to the core", "GM to UB (vector core), GM to L1 (cube core)"),
    Pipe.MTE1: ("MTE1", "L1 to the cube's buffers", "L1 to L0A, L0B and BT"),
    Pipe.M: ("M", "Cube", "L0A, L0B, BT to L0C"),
    Pipe.FIX: ("FIX", "Fixpipe", "L0C to GM or L1"),
    Pipe.V: ("V", "Vector", "UB to UB"),
    Pipe.MTE3: ("MTE3", "The core to global memory", "UB or L1 to GM"),
}

HEAD = f"""# Instruction set

Made by `tools/gen_isa_doc.py` from `gedialect/binary/isa.py` and `gedialect/binary/kernel_codec.py`, not by hand.
Version {VERSION}.

The instruction encoding of Ascend cores is not public. This one is **our own**: a kernel in it runs on the simulator,
not on a device. What instructions exist, on which pipe, between which memories and for which element types follows
public descriptions of the 910B core (NPU architecture 2201); the source stands in each row. Whatever the hardware lacks
is marked *ours*: it computes as stated, is costed as an emulation, and is never narrowed to a smaller type.

## The machine

A kernel runs on `blocks` blocks. A block is one vector core (kind vector), one cube core (cube), or one cube core with
two vector cores (mix). Each core has pipes, queues that run in order and side by side, and memories of its own; cores
meet in global memory only.

### Memories

| space | bytes (ascend910b1) | alignment of tiles | core |
| --- | --- | --- | --- |
{{spaces}}

`gm` is global memory: the kernel's arguments, each with its own bounds.

### Tiles

An operand is a view of a memory: element type, up to 8 dimensions, a stride in elements per dimension (0 repeats, any
other stride is allowed; the last one should be 1), and the byte address of the first element:
constant + sum of coefficient * index variable. Index variables are block_idx, sub_block_idx (vector cores of a mix
kernel) and the variables of the enclosing loops. An address may also rotate: + slot_bytes * (iteration number of a loop
mod slots), which is how several buffers on the chip, or the slots of a ring in global memory, take turns. L0A, L0B and
L0C hold fractals on the chip; here their tiles are row-major, and fractal order is a matter of addresses.

Element types: {{dtypes}}. An i1 takes a byte, 0 or 1.

### Control

Structured loops only: `for v = lo to hi step s`, lo and hi affine in outer index variables, s constant. A loop whose
step is larger than its range is a condition: it runs once if lo < hi.

### Order

Instructions on one pipe start in order; between pipes nothing is ordered but by flags. `set_flag` is raised when all
earlier work of its source pipe is done, `wait_flag` holds its target pipe until then and clears the flag. There are
{FLAG_IDS} flags per ordered pair of pipes. A flag is binary: setting one that is set is an error, and so is leaving one
set at the end. A dependence inside one pipe needs `pipe_barrier`, except between products that add to one accumulator
in L0C. Cross-core flags (0 to {CROSS_CORE_FLAGS - 1}) count up to {CROSS_CORE_LIMIT}: a cube's set counts for both its
vector cores, and its wait needs a set from each of them.

## Encoding

{{encoding}}

Opcodes 0xF0, 0xF1 and 0xFF open a loop, close it, and end a function.
"""


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _types(instr: Instr) -> str:
    def combos(items: tuple[tuple[str, ...], ...]) -> str:
        return ", ".join("(" + " ".join(c) + ")" for c in items)

    if instr.name == "vcast":
        return f"{combos(instr.combos)}; *ours*: all others"
    if instr.combos or instr.ours_combos:
        hw, ours = combos(instr.combos), combos(instr.ours_combos)
    else:
        hw, ours = " ".join(instr.hw), " ".join(instr.ours)
    fixed = [t for t in instr.types if t not in ("T", "I")]
    text = hw if not ours else f"{hw}; *ours*: {ours}" if hw else f"*ours*: {ours}"
    if "I" in instr.types:
        text += "; indices i32 i64"
    if fixed:
        text += f"; {' '.join(o.name for o, t in zip(instr.operands, instr.types, strict=True) if t in fixed)}: i1"
    return text or "-"


def _attr(spec: AttrSpec) -> str:
    text = f"`{spec.name}`: {' '.join(spec.choices) if spec.choices else spec.kind}"
    if spec.default is not None:
        text += f" = {str(spec.default).lower() if isinstance(spec.default, bool) else spec.default}"
    return text + (f" ({spec.doc})" if spec.doc else "")


def _operands(instr: Instr) -> str:
    marks = {"out": "", "in": "", "inout": " in/out"}
    return (
        ", ".join(
            f"{o.name}: {' or '.join(o.spaces)}{marks[o.role]}{' (optional)' if o.optional else ''}"
            for o in instr.operands
        )
        or "-"
    )


def text() -> str:
    """The whole document."""
    cores = {"ub": "vector"}
    spaces = "\n".join(
        _table((s, f"{n >> 10} K", str(SPACE_ALIGN[s]), cores.get(s, "cube")) for s, n in SPACE_BYTES.items())
    )
    encoding = (kernel_codec.__doc__ or "").strip()
    # the docstring's literal block is a code block here
    before, _, rest = encoding.partition("::\n\n")
    block, _, after = rest.partition("\n\nIntegers")
    lines = "\n".join(line[4:] if line.startswith("    ") else line for line in block.splitlines())
    encoding = f"{before}:\n\n```\n{lines}\n```\n\nIntegers{after}"
    parts = [HEAD.format(spaces=spaces, dtypes=", ".join(DTYPES), encoding=encoding)]
    for pipe, (name, title, doc) in PIPES.items():
        parts.append(f"\n## {name}: {title}\n\n{doc[0].upper()}{doc[1:]}.\n")
        parts.append("| instruction | opcode | meaning | operands | attributes | element types | source |")
        parts.append("| --- | --- | --- | --- | --- | --- | --- |")
        parts += _table(
            (
                f"`{i.name}`",
                f"0x{i.opcode:02x}",
                i.doc,
                _operands(i),
                "; ".join(map(_attr, i.attrs)) or "-",
                _types(i),
                i.source,
            )
            for i in INSTRS
            if i.pipe is pipe
        )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"wrote docs/{TARGET.name}\n")
