"""The instruction set and the target speak of the same machine."""

from __future__ import annotations

from gedialect.binary import isa
from gedialect.targets import load_target


def test_sizes_and_alignments_agree():
    target = load_target("ascend910b1")
    assert {s: target.size(s) for s in isa.SPACE_BYTES} == isa.SPACE_BYTES
    assert {s: target.align(s) for s in isa.SPACE_ALIGN} == isa.SPACE_ALIGN
    assert target.sync.flag_ids == isa.FLAG_IDS
    assert target.sync.cross_core_flags == isa.CROSS_CORE_FLAGS


def test_every_vector_instruction_has_a_cost():
    target = load_target()
    tables = [v for v in vars(isa).values() if isinstance(v, list | tuple) and v and isinstance(v[0], isa.Instr)]
    classes = {i.cost for i in tables[0] if i.pipe is isa.Pipe.V}
    assert len(classes) > 10
    assert classes - {"v_macro"} <= set(target.vector.cost)
