"""Writes lowering/kernels/instructions.py: one typed method per instruction of the table."""

from __future__ import annotations

import sys
from pathlib import Path

from gedialect.binary.isa import INSTRS, AttrSpec, Instr

TARGET = Path(__file__).parents[1] / "lowering" / "kernels" / "instructions.py"
HEAD = '''"""One method per instruction; made by tools/gen_instructions.py from the instruction table, not by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gedialect.binary.isa import BY_NAME, Instr, Value

if TYPE_CHECKING:
    from .builder import TileRef


class Instructions:
    """Methods that append an instruction: tiles in the table's order, then its attributes."""

    def emit(self, instr: Instr, tiles: Sequence[TileRef], **attrs: Value) -> None:
        raise NotImplementedError
'''
TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "enum": "str",
    "ints": "tuple[int, ...]",
    "scalar": "float",
}


def _parameter(spec: AttrSpec) -> str:
    if spec.default is None:
        return f"{spec.name}: {TYPES[spec.kind]}"
    default = f'"{spec.default}"' if isinstance(spec.default, str) else repr(spec.default)
    return f"{spec.name}: {TYPES[spec.kind]} = {default}"


def method(instr: Instr) -> str:
    """The method of one instruction, as source."""
    tiles = [f"{o.name}: TileRef" for o in instr.operands if not o.optional]
    optional = [f"{o.name}: TileRef | None = None" for o in instr.operands if o.optional]
    required = [_parameter(s) for s in instr.attrs if s.default is None]
    other = [_parameter(s) for s in instr.attrs if s.default is not None]
    keyword = ["*", *other] if other else []
    parameters = ", ".join(["self", *tiles, *required, *optional, *keyword])
    names = "".join(f"{o.name}, " for o in instr.operands if not o.optional)
    lines = [f"    def {instr.name}({parameters}) -> None:", f'        """{instr.doc}"""']
    passed = f"({names.strip()})" if names else "()"
    for o in instr.operands:
        if o.optional:
            lines.append(f"        tiles = ({names}) if {o.name} is None else ({names}{o.name})")
            passed = "tiles"
    attrs = "".join(f", {s.name}={s.name}" for s in instr.attrs)
    lines.append(f"        self.emit(_{instr.name.upper()}, {passed}{attrs})")
    return "\n".join(lines) + "\n"


def text() -> str:
    """The whole module, before formatting."""
    constants = "\n".join(f'_{i.name.upper()} = BY_NAME["{i.name}"]' for i in INSTRS)
    return HEAD + "\n" + "\n".join(method(i) for i in INSTRS) + "\n\n" + constants + "\n"


if __name__ == "__main__":
    TARGET.write_text(text())
    sys.stdout.write(f"wrote {TARGET.name}; run ruff format on it\n")
