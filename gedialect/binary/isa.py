"""The instruction set: one table that every user of instructions reads.

The dialect, encoder, decoder, disassembler, simulator, sanitizer, timing model and ``docs/isa.md`` take names,
opcodes, pipes, operands, attributes and element types from here. The real encoding of the chip is closed: this one
is our own. Pipes, paths and instruction names follow the public description of the 910B core (NPU architecture 2201)
and AscendNPU-IR's HIVM dialect; element types per vector instruction follow the Ascend C API reference for Atlas A2.
What the hardware lacks is listed as *ours*: it computes the same way, costs more, and is never narrowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

VERSION = 1
"""Version of the encoding; a decoder rejects any other."""


class Pipe(IntEnum):
    """In-order queues of a core; different pipes run in parallel. ALL only names every pipe in a barrier."""

    S = 0
    V = 1
    M = 2
    MTE1 = 3
    MTE2 = 4
    MTE3 = 5
    FIX = 6
    ALL = 7


WORK_PIPES = (Pipe.V, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)

FLAG_IDS = 8
"""Flags per ordered pair of pipes (binary semaphores)."""
CROSS_CORE_FLAGS = 11
"""Cross-core flags free for kernels (0..10); each counts to 15."""
CROSS_CORE_LIMIT = 15

SPACES = ("gm", "l1", "l0a", "l0b", "l0c", "ub", "bt")
ON_CHIP = SPACES[1:]
SPACE_BYTES: dict[str, int] = {
    "l1": 512 << 10,
    "l0a": 64 << 10,
    "l0b": 64 << 10,
    "l0c": 128 << 10,
    "ub": 192 << 10,
    "bt": 1 << 10,
}
"""Sizes on ascend910b1 (AscendNPU-IR, NPUTargetSpec.td); a target may give others."""
SPACE_ALIGN: dict[str, int] = {"gm": 1, "l1": 32, "l0a": 512, "l0b": 512, "l0c": 64, "ub": 32, "bt": 64}
"""Alignment of a tile's first byte (NPU architecture 2201)."""

DTYPES = (
    "f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "i1",
)  # fmt: skip
"""Element types of tiles, in the order of their numbers in the encoding."""

AttrKind = Literal["int", "float", "bool", "enum", "ints", "scalar"]
Value = int | float | bool | str | tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """One tile operand: ``role`` is "out", "in" or "inout"."""

    name: str
    role: Literal["out", "in", "inout"]
    spaces: tuple[str, ...]
    optional: bool = False

    @property
    def reads(self) -> bool:
        return self.role != "out"

    @property
    def writes(self) -> bool:
        return self.role != "in"


@dataclass(frozen=True)
class AttrSpec:
    """One attribute; ``scalar`` is an int or float by the value's Python type; without default it is required."""

    name: str
    kind: AttrKind
    default: Value | None = None
    choices: tuple[str, ...] = ()
    length: int | None = None
    doc: str = ""


@dataclass(frozen=True)
class Instr:
    """One instruction.

    ``types`` lists what the operands may be: per operand a type name, "T" (one of ``hw`` or ``ours``, the same for
    all), or "I" (i32 or i64). ``combos`` instead lists whole combinations (hardware ones first, then ``ours_combos``).
    ``shape`` names the rule that relates the operands' shapes; ``cost`` the class of the timing model.
    """

    name: str
    opcode: int
    pipe: Pipe
    operands: tuple[Operand, ...]
    attrs: tuple[AttrSpec, ...] = ()
    types: tuple[str, ...] = ()
    hw: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    combos: tuple[tuple[str, ...], ...] = ()
    ours_combos: tuple[tuple[str, ...], ...] = ()
    shape: str = "same"
    cost: str = "move"
    doc: str = ""
    source: str = ""

    def type_error(self, dtypes: tuple[str, ...]) -> str | None:
        """What is wrong with operand element types ``dtypes`` (of the operands present), or None."""
        if self.combos or self.ours_combos:
            if dtypes in self.combos or dtypes in self.ours_combos:
                return None
            return f"{self.name} does not take ({', '.join(dtypes)})"
        bound: str | None = None
        for operand, want, got in zip(self.operands, self.types, dtypes, strict=False):
            if want == "T":
                if bound is None:
                    bound = got
                    if got not in self.hw and got not in self.ours:
                        return f"{self.name} does not take {got}"
                elif got != bound:
                    return f"operand '{operand.name}' of {self.name} is {got}, expected {bound}"
            elif want == "I":
                if got not in ("i32", "i64"):
                    return f"operand '{operand.name}' of {self.name} is {got}, expected i32 or i64"
            elif got != want:
                return f"operand '{operand.name}' of {self.name} is {got}, expected {want}"
        return None

    def on_hardware(self, dtypes: tuple[str, ...]) -> bool:
        """Whether the hardware has this instruction for these element types (else it is ours: emulated)."""
        if self.combos or self.ours_combos:
            return dtypes in self.combos
        return all(got in self.hw for want, got in zip(self.types, dtypes, strict=False) if want == "T")


INTS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FLOATS = ("f32", "f16", "bf16", "f64")
NUMBERS = FLOATS + INTS


def _others(hw: tuple[str, ...], among: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(t for t in among if t not in hw)


def _out(*spaces: str) -> Operand:
    return Operand("dst", "out", spaces)


def _in(name: str, *spaces: str, optional: bool = False) -> Operand:
    return Operand(name, "in", spaces, optional)


_UB = _out("ub")
_ATOMIC = AttrSpec("atomic", "enum", "none", ("none", "add", "max", "min"), doc="combine with what GM holds")
_C = "Ascend C API reference, Atlas A2"
_HIVM = "AscendNPU-IR HIVM"
_OURS = "ours"


def _moves() -> list[Instr]:
    all_types = DTYPES
    return [
        Instr(
            "load", 0x01, Pipe.MTE2, (_out("ub", "l1"), _in("src", "gm")), types=("T", "T"), hw=all_types,
            cost="gm_load", doc="copy GM to UB or L1; views of equal shape, any strides",
            source="NPU architecture 2201 (GM->UB, GM->L1)",
        ),
        Instr(
            "gather_rows", 0x02, Pipe.MTE2, (_UB, _in("table", "gm"), _in("index", "ub")), types=("T", "T", "I"),
            hw=all_types, shape="gather", cost="gm_gather",
            doc="dst[i...] = table[index[i...]]; negative indices count from the end; bounds are checked",
            source=f"{_HIVM} gather_load; i64 indices {_OURS}",
        ),
        Instr(
            "store", 0x08, Pipe.MTE3, (_out("gm"), _in("src", "ub", "l1")), (_ATOMIC,), types=("T", "T"), hw=all_types,
            cost="gm_store", doc="copy UB or L1 to GM; views of equal shape, any strides",
            source="NPU architecture 2201 (UB->GM, L1->GM)",
        ),
        Instr(
            "scatter_rows", 0x09, Pipe.MTE3, (Operand("table", "inout", ("gm",)), _in("src", "ub"), _in("index", "ub")),
            (AttrSpec("mode", "enum", "set", ("set", "add", "mul", "max", "min"), doc="how a row meets the old one"),),
            types=("T", "T", "I"), hw=all_types, shape="scatter", cost="gm_gather",
            doc="table[index[i...]] = src[i...], in index order", source=f"{_HIVM} indirect_store; i64 indices {_OURS}",
        ),
        Instr(
            "load2d", 0x10, Pipe.MTE1, (_out("l0a", "l0b"), _in("src", "l1")), types=("T", "T"),
            hw=("f32", "f16", "bf16", "i8", "ui8"), shape="same", cost="l0_load",
            doc="copy a matrix L1 to L0A or L0B; any strides, so also transposed",
            source="NPU architecture 2201; transpose of types other than 16 bit ours",
        ),
        Instr(
            "load3d", 0x11, Pipe.MTE1, (_out("l0a", "l0b"), _in("src", "l1")),
            (
                AttrSpec("kernel", "ints", None, length=2, doc="kh, kw"),
                AttrSpec("strides", "ints", (1, 1), length=2),
                AttrSpec("dilations", "ints", (1, 1), length=2),
                AttrSpec("pads", "ints", (0, 0, 0, 0), length=4, doc="top, bottom, left, right: zeros around src"),
                AttrSpec("taps", "ints", None, length=2, doc="range [t0, t1) of kernel taps, row by row"),
                AttrSpec("out_w", "int", None, doc="output columns per output row"),
                AttrSpec("h_out0", "int", 0, doc="first output row, counted from the padded top of src"),
                AttrSpec("w_out0", "int", 0, doc="first output column"),
            ),
            types=("T", "T"), hw=("f32", "f16", "bf16", "i8", "ui8"), shape="load3d", cost="l0_load",
            doc="img2col: src [H, W, C] -> dst [m, k]; m = (oh, ow) over whole output rows, k = (tap, c), c fastest",
            source="NPU architecture 2201 (Load3D); taps outside src read zero",
        ),
        Instr(
            "load_bias", 0x12, Pipe.MTE1, (_out("bt"), _in("src", "l1")),
            combos=(("f32", "f32"), ("i32", "i32"), ("f32", "f16"), ("f32", "bf16")), shape="same", cost="l0_load",
            doc="copy a bias row L1 to BT; halves become f32", source="NPU architecture 2201 (L1->BT)",
        ),
    ]  # fmt: skip


def _cube() -> list[Instr]:
    products = (("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("i32", "i8", "i8"))
    ours = (("f32", "f32", "f32"), ("i32", "ui8", "i8"), ("i32", "i8", "ui8"), ("i32", "ui8", "ui8"))
    return [
        Instr(
            "mmad", 0x18, Pipe.M,
            (Operand("dst", "inout", ("l0c",)), _in("a", "l0a"), _in("b", "l0b"), _in("bias", "bt", optional=True)),
            (AttrSpec("init", "bool", False, doc="start from the bias (or zero) instead of dst"),),
            combos=tuple(c for p in products for c in (p, (*p, p[0]))),
            ours_combos=tuple(c for p in ours for c in (p, (*p, p[0]))),
            shape="mmad", cost="mmad", doc="dst[m,n] (+)= a[m,k] @ b[k,n] (+ bias[n] when init)",
            source="NPU architecture 2201; exact f32 (without HF32 rounding) and unsigned int8 ours",
        ),
        Instr(
            "fixpipe", 0x19, Pipe.FIX, (_out("gm", "l1"), _in("src", "l0c")),
            (
                AttrSpec("relu", "enum", "none", ("none", "relu", "leaky")),
                AttrSpec("slope", "float", 0.0, doc="of leaky"),
                AttrSpec("scale", "float", 1.0, doc="multiplied before relu (pre-quant, scalar)"),
                _ATOMIC,
            ),
            combos=(("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("i8", "f32"), ("i32", "i32"), ("f16", "i32"),
                    ("i8", "i32")),
            ours_combos=(("ui8", "f32"), ("f32", "i32"), ("ui8", "i32"), ("bf16", "i32")),
            shape="same", cost="fixpipe",
            doc="dst = cast(relu(src * scale)); integers round to even and saturate",
            source="NPU architecture 2201 (Fixpipe: pre-quant, relu, NZ->ND)",
        ),
    ]  # fmt: skip


def _vector() -> list[Instr]:
    out: list[Instr] = []

    def v(
        name: str,
        opcode: int,
        operands: tuple[Operand, ...],
        types: tuple[str, ...],
        hw: tuple[str, ...],
        among: tuple[str, ...],
        cost: str,
        doc: str,
        attrs: tuple[AttrSpec, ...] = (),
        shape: str = "same",
        source: str = _C,
    ) -> None:
        out.append(
            Instr(
                name,
                opcode,
                Pipe.V,
                operands,
                attrs,
                types,
                hw,
                _others(hw, among),
                shape=shape,
                cost=cost,
                doc=doc,
                source=source if hw else _OURS,
            )
        )

    ab = (_UB, _in("a", "ub"), _in("b", "ub"))
    ttt, tt = ("T", "T", "T"), ("T", "T")
    arith = ("f32", "f16", "i16", "i32")
    bool_numbers = (*NUMBERS, "i1")
    bits = (*INTS, "i1")
    v("vadd", 0x20, ab, ttt, arith, NUMBERS, "v_add", "a + b; integers wrap")
    v("vsub", 0x21, ab, ttt, arith, NUMBERS, "v_add", "a - b; integers wrap")
    v("vmul", 0x22, ab, ttt, arith, NUMBERS, "v_mul", "a * b; integers wrap")
    v("vdiv", 0x23, ab, ttt, ("f32", "f16"), FLOATS, "v_div", "a / b of floats")
    nan = f"{_C}; NaN propagation {_OURS}"
    v("vmax", 0x24, ab, ttt, arith, bool_numbers, "v_add", "maximum; NaN if either is NaN", source=nan)
    v("vmin", 0x25, ab, ttt, arith, bool_numbers, "v_add", "minimum; NaN if either is NaN", source=nan)
    v("vand", 0x26, ab, ttt, ("i16", "ui16"), bits, "v_add", "bitwise and (logical on i1)")
    v("vor", 0x27, ab, ttt, ("i16", "ui16"), bits, "v_add", "bitwise or (logical on i1)")
    v("vxor", 0x28, ab, ttt, (), bits, "v_add", "bitwise exclusive or (logical on i1)")
    v("vshl", 0x29, ab, ttt, (), INTS, "v_add", "a << b; 0 when b is not below the width")
    v("vshr", 0x2A, ab, ttt, (), INTS, "v_add", "a >> b, arithmetic for signed; sign (or 0) when b is too large")
    divmode = (AttrSpec("mode", "enum", "trunc", ("trunc", "floor"), doc="rounding of the quotient"),)
    v("vidiv", 0x2B, ab, ttt, (), INTS, "v_div", "integer quotient; 0 where b = 0", divmode)
    v(
        "vmod",
        0x2C,
        ab,
        ttt,
        (),
        NUMBERS,
        "v_div",
        "remainder that goes with vidiv's mode; 0 where an integer b = 0",
        divmode,
    )
    v("vpow", 0x2D, ab, ttt, (), NUMBERS, "v_macro", "a to the power b")

    scalar = (AttrSpec("scalar", "scalar", None),)
    flip = (*scalar, AttrSpec("reverse", "bool", False, doc="scalar first"))
    a = (_UB, _in("a", "ub"))
    v("vadds", 0x30, a, tt, arith, NUMBERS, "v_adds", "a + scalar", scalar)
    v("vsubs", 0x31, a, tt, (), NUMBERS, "v_adds", "a - scalar, or scalar - a", flip)
    v("vmuls", 0x32, a, tt, arith, NUMBERS, "v_muls", "a * scalar", scalar)
    v("vdivs", 0x33, a, tt, (), FLOATS, "v_div", "a / scalar, or scalar / a", flip)
    v("vmaxs", 0x34, a, tt, arith, NUMBERS, "v_adds", "maximum of a and scalar; NaN propagates", scalar, source=nan)
    v("vmins", 0x35, a, tt, arith, NUMBERS, "v_adds", "minimum of a and scalar; NaN propagates", scalar, source=nan)

    fl = ("f32", "f16")
    v("vabs", 0x40, a, tt, fl, NUMBERS, "v_abs", "absolute value")
    v("vneg", 0x41, a, tt, (), NUMBERS, "v_muls", "-a")
    v("vexp", 0x42, a, tt, fl, FLOATS, "v_exp", "e to the power a")
    v("vln", 0x43, a, tt, fl, FLOATS, "v_ln", "natural logarithm")
    v("vsqrt", 0x44, a, tt, fl, FLOATS, "v_sqrt", "square root")
    exact = f"{_C}; exact instead of approximate {_OURS}"
    v("vrsqrt", 0x45, a, tt, fl, FLOATS, "v_rsqrt", "1 / sqrt(a)", source=exact)
    v("vrec", 0x46, a, tt, fl, FLOATS, "v_rsqrt", "1 / a", source=exact)
    v("vrelu", 0x47, a, tt, ("f32", "f16", "i32"), NUMBERS, "v_relu", "max(a, 0); NaN propagates")
    v(
        "vlrelu",
        0x48,
        a,
        tt,
        fl,
        FLOATS,
        "v_relu",
        "a where a >= 0, else slope * a",
        (AttrSpec("slope", "float", None),),
    )
    v("vnot", 0x49, a, tt, ("i16", "ui16"), bits, "v_relu", "bitwise not (logical on i1)")
    for i, (name, doc) in enumerate(
        (("vfloor", "round down"), ("vceil", "round up"), ("vrint", "round to even"), ("vtrunc", "round to zero"))
    ):
        v(name, 0x4A + i, a, tt, ("f32",), FLOATS, "v_cast", doc, source="Ascend C Cast f32->f32 with that rounding")
    v("vsin", 0x4E, a, tt, (), FLOATS, "v_macro", "sine")
    v("vcos", 0x4F, a, tt, (), FLOATS, "v_macro", "cosine")
    v("vsign", 0x50, a, tt, (), NUMBERS, "v_macro", "-1, 0 or 1; NaN stays NaN")

    cmp = (AttrSpec("mode", "enum", None, ("eq", "ne", "lt", "le", "gt", "ge")),)
    bytes_ = f"{_C}; result as bytes instead of bits {_OURS}"
    v(
        "vcmp",
        0x58,
        ab,
        ("i1", "T", "T"),
        fl,
        bool_numbers,
        "v_cmp",
        "a ? b as i1 bytes; NaN as in IEEE",
        cmp,
        source=bytes_,
    )
    v(
        "vcmps",
        0x59,
        a,
        ("i1", "T"),
        fl,
        bool_numbers,
        "v_cmp",
        "a ? scalar as i1 bytes",
        (*cmp, *scalar),
        source=bytes_,
    )
    v(
        "vsel",
        0x5A,
        (_UB, _in("cond", "ub"), _in("a", "ub"), _in("b", "ub")),
        ("T", "i1", "T", "T"),
        fl,
        DTYPES,
        "v_sel",
        "cond ? a : b",
        source=bytes_,
    )
    out.append(_vcast())
    v(
        "vdup",
        0x5C,
        (_UB,),
        ("T",),
        ("f32", "f16", "i16", "ui16", "i32", "ui32"),
        DTYPES,
        "v_dup",
        "fill with scalar",
        scalar,
    )
    copy = ("f32", "f16", "bf16", "i16", "ui16", "i32", "ui32")
    v(
        "vcopy",
        0x5D,
        a,
        tt,
        copy,
        DTYPES,
        "v_dup",
        "copy; any strides on both sides, so also transpose and broadcast",
        source=f"{_C} (Copy, Transpose); other types and inner strides {_OURS}",
    )

    acc = (AttrSpec("accumulate", "bool", False, doc="combine with dst"),)
    f32acc = (*acc, AttrSpec("f32_acc", "bool", True, doc="f16 and bf16 sum in f32, rounded once"))
    red = (Operand("dst", "inout", ("ub",)), _in("src", "ub"))
    r = "reduce"
    v("vreduce_sum", 0x60, red, tt, fl, NUMBERS, "v_reduce", "sum over the last axis", f32acc, r)
    v("vreduce_max", 0x61, red, tt, fl, bool_numbers, "v_reduce", "maximum over the last axis; NaN propagates", acc, r)
    v("vreduce_min", 0x62, red, tt, fl, bool_numbers, "v_reduce", "minimum over the last axis; NaN propagates", acc, r)
    v("vreduce_prod", 0x63, red, tt, (), NUMBERS, "v_reduce", "product over the last axis", f32acc, r)
    v("vreduce_any", 0x64, red, tt, (), ("i1",), "v_reduce", "logical or over the last axis", acc, r)
    v("vreduce_all", 0x65, red, tt, (), ("i1",), "v_reduce", "logical and over the last axis", acc, r)
    last = (AttrSpec("last", "bool", False, doc="the last of equal values instead of the first"),)
    arg = (_UB, _in("src", "ub"))
    v(
        "vargmax",
        0x66,
        arg,
        ("I", "T"),
        fl,
        bool_numbers,
        "v_reduce",
        "index of the maximum over the last axis",
        last,
        r,
    )
    v(
        "vargmin",
        0x67,
        arg,
        ("I", "T"),
        fl,
        bool_numbers,
        "v_reduce",
        "index of the minimum over the last axis",
        last,
        r,
    )

    v(
        "varange",
        0x70,
        (_UB,),
        ("T",),
        ("f32", "f16", "i16", "i32"),
        NUMBERS,
        "v_dup",
        "start + step * position along axis",
        (AttrSpec("start", "scalar", 0), AttrSpec("step", "scalar", 1), AttrSpec("axis", "int", -1)),
    )
    v(
        "vgather",
        0x71,
        (_UB, _in("table", "ub"), _in("index", "ub")),
        ("T", "T", "I"),
        ("f32", "f16", "i16", "ui16", "i32", "ui32"),
        DTYPES,
        "v_gather",
        "dst[i...] = table[index[i...]] (rows); negative indices count from the end",
        shape="gather",
    )
    v(
        "vgather_elems",
        0x72,
        (_UB, _in("table", "ub"), _in("index", "ub")),
        ("T", "T", "I"),
        (),
        DTYPES,
        "v_gather",
        "dst[..., j] = table[..., index[..., j]]",
        shape="gather_elems",
    )
    v(
        "vcumsum",
        0x73,
        a,
        tt,
        (),
        NUMBERS,
        "v_macro",
        "running sum along the last axis",
        (AttrSpec("exclusive", "bool", False), AttrSpec("reverse", "bool", False)),
        source=f"{_HIVM} vcumsum",
    )
    v(
        "vsort",
        0x74,
        (_UB, Operand("index", "out", ("ub",)), _in("src", "ub")),
        ("T", "I", "T"),
        fl,
        NUMBERS,
        "v_sort",
        "stable sort along the last axis, with the positions each value came from",
        (AttrSpec("descending", "bool", False),),
        source=f"{_HIVM} vsort; types and stability {_OURS}",
    )
    return out  # fmt: skip


def _vcast() -> Instr:
    hw = (
        ("f32", "f16"), ("f16", "f32"), ("f32", "bf16"), ("bf16", "f32"), ("f32", "i16"), ("f32", "i32"),
        ("f32", "i64"), ("f16", "i8"), ("f16", "ui8"), ("f16", "i16"), ("f16", "i32"), ("bf16", "i32"),
        ("i8", "f16"), ("ui8", "f16"), ("i16", "f16"), ("i16", "f32"), ("i32", "f32"), ("i32", "i16"),
        ("i32", "i64"), ("i64", "f32"), ("i64", "i32"),
    )  # fmt: skip
    combos = tuple((dst, src) for src, dst in hw)
    ours = tuple((d, s) for d in DTYPES for s in DTYPES if (d, s) not in combos)
    return Instr(
        "vcast",
        0x5B,
        Pipe.V,
        (_UB, _in("src", "ub")),
        (
            AttrSpec("round", "enum", "trunc", ("rint", "floor", "ceil", "trunc", "round"), doc="float to integer"),
            AttrSpec("saturate", "bool", False, doc="clamp to the range of dst instead of wrapping; NaN becomes 0"),
        ),
        combos=combos,
        ours_combos=ours,
        cost="v_cast",
        doc="convert elements; to i1 tests for non-zero; float to a narrower float rounds to even",
        source=f"{_C} (Cast); combinations not in its table {_OURS}",
    )


def _control() -> list[Instr]:
    pipes = tuple(p.name for p in WORK_PIPES)
    ident = AttrSpec("id", "int", None, doc="0..7")
    slots = AttrSpec("slots", "int", 1, doc="the id used is id + (iteration of the enclosing loop) mod slots")
    pair = (AttrSpec("src", "enum", None, pipes), AttrSpec("dst", "enum", None, pipes), ident, slots)
    one = AttrSpec("pipe", "enum", None, (*pipes, "ALL"))
    cross = (
        AttrSpec("flag", "int", None, doc="0..10"),
        AttrSpec("pipe", "enum", None, pipes, doc="the queue that signals or waits"),
        AttrSpec("slots", "int", 1, doc="the flag used is flag + (iteration of the enclosing loop) mod slots"),
    )
    sync = "NPU architecture 2201 (synchronisation)"
    return [
        Instr("set_flag", 0x80, Pipe.S, (), pair, cost="sync", source=sync,
              doc="raised when src's earlier work is done"),
        Instr("wait_flag", 0x81, Pipe.S, (), pair, cost="sync", source=sync,
              doc="dst waits for the flag and clears it"),
        Instr("pipe_barrier", 0x82, Pipe.S, (), (one,), cost="sync", source=sync,
              doc="later work on the pipe starts after its earlier work is done; ALL: on every pipe"),
        Instr("cross_core_set", 0x83, Pipe.S, (), cross, cost="sync", source="FFTS mode 2, flags 0..10",
              doc="cube: signals both vector sub-blocks; vector: signals its cube once both sub-blocks did"),
        Instr("cross_core_wait", 0x84, Pipe.S, (), cross, cost="sync", source="FFTS mode 2, flags 0..10",
              doc="the pipe waits for the other side's signal"),
    ]  # fmt: skip


INSTRS: tuple[Instr, ...] = (*_moves(), *_cube(), *_vector(), *_control())
BY_NAME: dict[str, Instr] = {i.name: i for i in INSTRS}
BY_OPCODE: dict[int, Instr] = {i.opcode: i for i in INSTRS}


def flag_error(values: dict[str, Value]) -> str | None:
    """What is wrong with the flags that an instruction of these attributes names."""
    ident, slots, flag = values.get("id"), values.get("slots"), values.get("flag")
    if not isinstance(slots, int):
        return None
    if isinstance(ident, int):
        if not 0 <= ident < ident + slots <= FLAG_IDS:
            return f"flag ids {ident} to {ident + slots - 1} are not within 0 to {FLAG_IDS - 1}"
        if values["src"] == values["dst"]:
            return "a flag joins two different pipes"
    if isinstance(flag, int) and not 0 <= flag < flag + slots <= CROSS_CORE_FLAGS:
        return f"cross-core flags {flag} to {flag + slots - 1} are not within 0 to {CROSS_CORE_FLAGS - 1}"
    return None


def needs_barrier(pipe: Pipe, instr_name: str) -> bool:
    """Whether a dependence inside ``pipe`` on ``instr_name`` needs pipe_barrier.

    The rule of both open compilers for 2201 is: inside one pipe a barrier, between pipes a flag. The one exception is
    the accumulator of the cube, which its own queue keeps in order.
    """
    return not (pipe is Pipe.M and instr_name == "mmad")


def shape_error(name: str, rule: str, shapes: tuple[tuple[int, ...], ...]) -> str | None:
    """What is wrong with the operand ``shapes`` (of the operands present, in order), or None."""
    match rule:
        case "same":
            if any(s != shapes[0] for s in shapes):
                return f"operands of {name} differ in shape: {_shapes(shapes)}"
        case "reduce":
            if shapes[1][:-1] != shapes[0] or len(shapes[1]) == 0:
                return f"{name} over the last axis of {_shapes(shapes[1:])} cannot give {_shapes(shapes[:1])}"
        case "mmad":
            c, a, b = shapes[:3]
            if not (len(c) == len(a) == len(b) == 2 and c[0] == a[0] and a[1] == b[0] and b[1] == c[1]):
                return f"mmad of {_shapes(shapes)} does not fit [m,n] = [m,k] @ [k,n]"
            if len(shapes) > 3 and shapes[3] != (c[1],):
                return f"bias of mmad is {_shapes(shapes[3:])}, expected {c[1]}"
        case "gather":
            dst, table, index = shapes
            if len(table) == 0 or dst != index + table[1:]:
                return f"{name} of rows {_shapes((table,))} by {_shapes((index,))} cannot give {_shapes((dst,))}"
        case "scatter":
            table, src, index = shapes
            if len(table) == 0 or src != index + table[1:]:
                return f"{name} of rows {_shapes((src,))} by {_shapes((index,))} cannot go to {_shapes((table,))}"
        case "gather_elems":
            dst, table, index = shapes
            if len(table) == 0 or dst != index or table[:-1] != index[:-1]:
                return f"{name} of {_shapes((table,))} by {_shapes((index,))} cannot give {_shapes((dst,))}"
        case "load3d":
            if len(shapes[0]) != 2 or len(shapes[1]) != 3:
                return f"load3d takes src [H, W, C] and dst [m, k], got {_shapes(shapes)}"
        case _:
            raise AssertionError(rule)
    return None


def load3d_error(dst: tuple[int, ...], src: tuple[int, ...], attrs: dict[str, Value]) -> str | None:
    """What is wrong with load3d's attributes for these shapes, or None."""
    kernel, taps, out_w = attrs["kernel"], attrs["taps"], attrs["out_w"]
    assert isinstance(kernel, tuple)
    assert isinstance(taps, tuple)
    assert isinstance(out_w, int)
    if not 0 <= taps[0] < taps[1] <= kernel[0] * kernel[1]:
        return f"load3d taps [{taps[0]}, {taps[1]}) lie outside the {kernel[0]}x{kernel[1]} kernel"
    if out_w <= 0 or dst[0] % out_w:
        return f"load3d fills {dst[0]} rows, not a multiple of out_w = {out_w}"
    if dst[1] != (taps[1] - taps[0]) * src[2]:
        return f"load3d of {taps[1] - taps[0]} taps x {src[2]} channels cannot give {dst[1]} columns"
    return None


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    return ", ".join("x".join(map(str, s)) if s else "scalar" for s in shapes)
