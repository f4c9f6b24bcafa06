"""The machine: what it refuses, and that it reads bytes and the given regions only."""

from __future__ import annotations

import numpy as np
import pytest

from gedialect.binary.isa import BY_NAME, SPACE_BYTES, Value
from gedialect.binary.kernel import Function, Inst, Kernel, KernelArg, Linear, Loop, View
from gedialect.binary.kernel_codec import decode, encode
from gedialect.errors import GeError
from gedialect.ir.dtypes import F32, I32
from gedialect.runtime.simulator import Machine

UB = View("ub", F32, (8,), (1,), Linear(64))
X = View("gm", F32, (8,), (1,), Linear(0, ((0, 32),)), 0)
Y = View("gm", F32, (8,), (1,), Linear(0, ((0, 32),)), 1)


def inst(name: str, *views: View, **attrs: Value) -> Inst:
    op = BY_NAME[name]
    values: list[Value] = []
    for spec in op.attrs:
        value = attrs.get(spec.name, spec.default)
        assert value is not None
        values.append(value)
    return Inst(op, views, tuple(values))


def kernel(*body: Inst | Loop, blocks: int = 1, kind: str = "vector") -> Kernel:
    args = (KernelArg("x", F32, 64, "in"), KernelArg("y", F32, 64, "out"))
    return decode(encode(Kernel("k", kind, blocks, args, None, Function(body))))


ADD_ONE = (inst("load", UB, X), inst("vadds", UB, UB, scalar=1.0), inst("store", Y, UB))


def test_regions_are_given_by_offset():
    memory = np.zeros(1000, np.uint8)
    x = np.arange(16, dtype=np.float32)
    memory[100:164] = x.view(np.uint8)
    Machine().run(kernel(*ADD_ONE, blocks=2), [(memory, 100, 64), (memory, 300, 64)])
    np.testing.assert_array_equal(memory[300:364].view(np.float32), x + 1)
    assert not memory[364:].any()
    assert not memory[164:300].any()


def test_bytes_run_as_well():
    memory = np.zeros(128, np.uint8)
    machine = Machine()
    data = encode(kernel(*ADD_ONE))
    assert machine.load(data) is machine.load(data)
    machine.run(data, [(memory, 0, 64), (memory, 64, 64)])
    assert memory[64:96].view(np.float32).tolist() == [1.0] * 8


def test_arguments_that_do_not_fit():
    memory = np.zeros(128, np.uint8)
    for regions in ([(memory, 0, 64)], [(memory, 0, 64), (memory, 0, 63)], [(memory, 0, 64), (memory, 100, 64)]):
        with pytest.raises(GeError) as e:
            Machine().run(kernel(*ADD_ONE), regions)
        assert e.value.code == "GE1307"


def regions() -> list[tuple[np.ndarray, int, int]]:
    return [(np.zeros(64, np.uint8), 0, 64), (np.zeros(64, np.uint8), 0, 64)]


def test_an_access_outside_its_argument_names_the_instruction():
    code = kernel(inst("vdup", UB, scalar=0.0), Loop(Linear(), Linear(3), 1, ADD_ONE), blocks=3)
    with pytest.raises(GeError) as e:
        Machine().run(code, regions())
    assert e.value.code == "GE1308"
    assert "kernel k, block 2, vector: error GE1308: instruction 1: load ub[64 : 8xf32], x[bid * 32 : 8xf32]:" in str(
        e.value
    )


def test_a_bad_index_names_the_instruction():
    index = View("ub", I32, (1,), (1,), Linear(0))
    row = View("ub", F32, (1, 4), (4, 1), Linear(64))
    table = View("gm", F32, (4, 4), (4, 1), Linear(), 0)
    code = kernel(inst("vdup", index, scalar=4), inst("gather_rows", row, table, index))
    with pytest.raises(GeError, match="instruction 1: gather_rows") as e:
        Machine().run(code, regions())
    assert e.value.code == "GE1308"


def test_a_tile_outside_its_space():
    far = View("ub", F32, (8,), (1,), Linear(SPACE_BYTES["ub"] - 16))
    with pytest.raises(GeError, match="lies outside ub") as e:
        Machine().run(kernel(inst("vdup", far, scalar=0.0)), regions())
    assert e.value.code == "GE1308"
    code = kernel(inst("vdup", View("ub", F32, (8,), (1,), Linear(600)), scalar=0.0))
    Machine().run(code, regions())
    with pytest.raises(GeError, match="lies outside ub"):
        Machine({**SPACE_BYTES, "ub": 512}).run(code, regions())


def test_a_vector_core_has_no_l1():
    tile = View("l1", F32, (8,), (1,), Linear())
    with pytest.raises(GeError, match="this core has no l1"):
        Machine().run(kernel(inst("load", tile, X)), regions())


def test_a_wait_nobody_answers():
    args = (KernelArg("x", F32, 64, "in"),)
    wait = Function((inst("cross_core_wait", flag=3, pipe="FIX"),))
    mix = decode(encode(Kernel("k", "mix", 1, args, wait, Function(()))))
    with pytest.raises(GeError) as e:
        Machine().run(mix, [(np.zeros(64, np.uint8), 0, 64)])
    assert e.value.code == "GE1315"
    assert "cube for flag 3" in str(e.value)


def test_cross_core_flags_count_to_fifteen():
    args = (KernelArg("x", F32, 64, "in"),)
    sets = Function((Loop(Linear(), Linear(16), 1, (inst("cross_core_set", flag=3, pipe="FIX"),)),))
    mix = decode(encode(Kernel("k", "mix", 1, args, sets, Function(()))))
    with pytest.raises(GeError, match="flag 3 was set 16 times"):
        Machine().run(mix, [(np.zeros(64, np.uint8), 0, 64)])


def test_the_sanitizer_refuses_to_run():
    with pytest.raises(GeError) as e:
        Machine(sanitize=True).run(kernel(*ADD_ONE), regions())
    assert e.value.code == "GE1316"
    assert len(e.value.details) == 2
