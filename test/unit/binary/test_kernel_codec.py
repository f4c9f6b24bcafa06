"""Kernel bytes: what is written reads back, and nothing else is accepted."""

from __future__ import annotations

import random
import runpy
import struct
import time
from pathlib import Path
from zlib import crc32

import pytest

from gedialect.binary.disassemble import disassemble
from gedialect.binary.isa import BY_NAME, INSTRS, SPACES, Instr, Value
from gedialect.binary.kernel import Function, Inst, Kernel, KernelArg, Linear, Loop, Rotation, View, contiguous, steps
from gedialect.binary.kernel_codec import decode, encode
from gedialect.errors import GeError
from gedialect.ir.dtypes import BY_NAME as DTYPES
from gedialect.ir.dtypes import F32

SHAPES = {
    "same": ((4, 8),) * 4,
    "reduce": ((4,), (4, 8)),
    "mmad": ((4, 8), (4, 16), (16, 8), (8,)),
    "gather": ((5, 8), (9, 8), (5,)),
    "scatter": ((9, 8), (5, 8), (5,)),
    "gather_elems": ((4, 5), (4, 8), (4, 5)),
    "load3d": ((6, 16), (3, 4, 8)),
}


def view(space: str, dtype: str, shape: tuple[int, ...], const: int = 64) -> View:
    arg = 1 if space == "gm" else -1
    rotation = Rotation(0, 2, 512) if space in ("ub", "l1") else None
    base = Linear(const, ((0, 32), (2, -4)))
    return View(space, DTYPES[dtype], shape, contiguous(shape), base, arg, rotation)


def sample_value(spec: object, instr: Instr) -> Value:
    name, kind, default, choices, length, _ = vars(spec).values()
    fixed: dict[str, Value] = {"taps": (1, 3), "kernel": (2, 2), "out_w": 3, "id": 5, "flag": 4, "src": "M"}
    if name in fixed:
        return fixed[name]
    if default is not None and kind != "scalar":
        return default
    return {
        "enum": choices[-1:] and choices[-1],
        "scalar": -(1 << 63),
        "float": 0.25,
        "int": 3,
        "ints": (1,) * (length or 1),
    }[kind]


def every_instruction() -> tuple[Inst, ...]:
    out: list[Inst] = []
    for instr in INSTRS:
        dtypes = (instr.combos or instr.ours_combos or ((None,) * 4,))[-1]
        first = (instr.hw or instr.ours or ("f32",))[0]
        views: list[View] = []
        for i, operand in enumerate(instr.operands[: len(dtypes) if dtypes[0] else None]):
            t = dtypes[i] or {"T": first, "I": "i64"}.get(instr.types[i], instr.types[i])
            views.append(view(operand.spaces[-1], t, SHAPES[instr.shape][i]))
        out.append(Inst(instr, tuple(views), tuple(sample_value(s, instr) for s in instr.attrs)))
    return tuple(out)


def sample() -> Kernel:
    args = (KernelArg("x", F32, 4096, "in"), KernelArg('naïve "y"', F32, 1 << 40, "out"))
    inner = Loop(Linear(0, ((2, 1),)), Linear(9), 1 << 40, every_instruction())
    body = (Loop(Linear(-3), Linear(8, ((0, 4), (1, 1))), 2, (inner,)),)
    return Kernel("k", "mix", 24, args, Function(()), Function(body))


def resealed(data: bytes) -> bytes:
    """With a checksum that fits, so that the reader itself has to notice."""
    return data[:-4] + struct.pack("<I", crc32(data[:-4]))


def test_every_instruction_reads_back():
    kernel = sample()
    data = encode(kernel)
    assert decode(data) == kernel
    assert encode(decode(data)) == data
    assert len(data) < 40 * len(INSTRS)
    assert decode(data).digest != b""


def test_listing():
    text = disassemble(sample())
    lines = text.splitlines()
    assert lines[0] == "kernel k kind = mix blocks = 24"
    assert "for i0 = -3 to bid * 4 + sub + 8 step 2" in text
    assert "load l1[bid * 32 + i0 * -4 + 64 : 4x8xf32, slots 2 x 512 by i0], naïve" in text
    for instr in INSTRS:
        assert any(f" {instr.name}" in line for line in lines)


def test_cut_short():
    data = encode(sample())
    for n in range(0, len(data), 7):
        with pytest.raises(GeError) as e:
            decode(data[:n])
        assert e.value.code in ("GE1312", "GE1313")
        if n > 16:
            with pytest.raises(GeError):
                decode(resealed(data[:n]))


def test_flipped_bits_are_noticed():
    data = encode(sample())
    for i in range(4, len(data), 11):
        bad = bytearray(data)
        bad[i] ^= 1 << i % 8
        with pytest.raises(GeError) as e:
            decode(bad)
        assert e.value.code in ("GE1312", "GE1313")


def test_corruption_with_a_fitting_checksum_never_crashes():
    data = encode(sample())
    rng = random.Random(0)
    start = time.perf_counter()
    for _ in range(1500):
        bad = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(6, len(bad) - 4)] = rng.choice((0, 1, 0x7F, 0x80, 0xF0, 0xF1, 0xFF, rng.randrange(256)))
        try:
            decode(resealed(bytes(bad)))
        except GeError as e:
            assert e.code.startswith("GE13")  # noqa: PT017
    assert time.perf_counter() - start < 20


def test_deep_loops_are_refused():
    body: tuple[Inst | Loop, ...] = ()
    for _ in range(40):
        body = (Loop(Linear(), Linear(1), 1, body),)
    data = encode(Kernel("k", "vector", 1, (), None, Function(body)))
    with pytest.raises(GeError, match="depth"):
        decode(data)


def test_rules_are_checked_when_reading():
    ok = view("ub", "f32", (4, 8))
    add = BY_NAME["vadd"]

    def code(*views: View) -> bytes:
        loop = Loop(Linear(), Linear(1), 1, (Inst(add, views),))
        return encode(Kernel("k", "vector", 1, (), None, Function((loop,))))

    decode(code(ok, ok, ok))
    for bad, message in (
        (view("ub", "f16", (4, 8)), "is f16, expected f32"),
        (view("ub", "f32", (4, 9)), "differ in shape"),
        (view("l1", "f32", (4, 8)), "lies in l1"),
        (View("ub", F32, (4, 8), (8, 1), Linear(0, ((3, 1),))), "variable of no enclosing loop"),
        (View("ub", F32, (4, 8), (8, 1), Linear(), -1, Rotation(1, 2, 0)), "variable of no enclosing loop"),
    ):
        with pytest.raises(GeError, match=message) as e:
            decode(code(ok, ok, bad))
        assert e.value.code == "GE1314"


@pytest.mark.parametrize(
    ("name", "attrs", "message"),
    [
        ("set_flag", ("V", "MTE3", 7, 2), "flag ids 7 to 8"),
        ("wait_flag", ("V", "MTE3", 0, 0), "flag ids 0 to -1"),
        ("set_flag", ("V", "V", 0, 1), "two different pipes"),
        ("cross_core_set", (11, "FIX", 1), "cross-core flags 11 to 11"),
        ("cross_core_wait", (1, "FIX", 0), "cross-core flags 1 to 0"),
    ],
)
def test_flags_that_do_not_exist(name: str, attrs: tuple[Value, ...], message: str):
    data = encode(Kernel("k", "vector", 1, (), None, Function((Inst(BY_NAME[name], (), attrs),))))
    with pytest.raises(GeError, match=message) as e:
        decode(data)
    assert e.value.code == "GE1314"


def test_what_cannot_be_written():
    for kernel, code in (
        (Kernel("k", "vector", 1, (KernelArg("x", DTYPES["f8E5M2"], 4, "in"),), None, Function(())), "GE1311"),
        (Kernel("k", "vector", 1, (KernelArg("x", F32, 1 << 63, "in"),), None, Function(())), "GE1311"),
        (Kernel("k", "vector", 1, (), None, Function((Inst(BY_NAME["vdup"], (), ("no",)),))), "GE1311"),
    ):
        with pytest.raises(GeError) as e:
            encode(kernel)
        assert e.value.code == code


def test_another_version():
    data = bytearray(encode(sample()))
    data[4] += 1
    with pytest.raises(GeError, match="version") as e:
        decode(resealed(bytes(data)))
    assert e.value.code == "GE1312"


def test_spaces_fit_the_encoding():
    assert len(SPACES) <= 8


def test_the_reference_is_up_to_date():
    root = Path(__file__).parents[3]
    made = runpy.run_path(str(root / "tools" / "gen_isa_doc.py"))["text"]()
    assert (root / "docs" / "isa.md").read_text(encoding="utf-8") == made


def nest(*bounds: tuple[int, int, int], body: tuple[Loop, ...] = ()) -> Kernel:
    for lo, hi, step in reversed(bounds):
        body = (Loop(Linear(lo), Linear(hi), step, body),)
    return Kernel("k", "vector", 3, (), None, Function(body))


@pytest.mark.parametrize(
    ("kernel", "count"),
    [
        (nest(), 0),
        (nest((0, 10, 1)), 3 * (1 + 10)),
        (nest((0, 10, 3), (5, 5, 1)), 3 * (1 + 4 * 2)),
        (nest((0, 100, 1), (0, 100, 1)), 3 * (1 + 100 * (2 + 100))),
        # from i to i + 4: the difference counts, not the ends
        (nest((0, 100, 1), body=(Loop(Linear(0, ((2, 1),)), Linear(4, ((2, 1),)), 2, ()),)), 3 * (1 + 100 * (2 + 2))),
        # from the block to 7 in steps of 2: as many as block 0 takes
        (nest(body=(Loop(Linear(0, ((0, 1),)), Linear(7), 2, ()),)), 3 * (1 + 4)),
    ],
)
def test_steps_of_loops(kernel: Kernel, count: int):
    assert steps(kernel) == count
    assert decode(encode(kernel)) == kernel


@pytest.mark.parametrize("bounds", [[(0, 1 << 50, 1)], [(0, 100, 1)] * 8, [(-(1 << 60), 1 << 60, 1 << 20)]])
def test_loops_that_do_not_end(bounds: list[tuple[int, int, int]]):
    """Empty ones touch no memory that could stop them."""
    with pytest.raises(GeError) as caught:
        decode(encode(nest(*bounds)))
    assert caught.value.code == "GE1317"
