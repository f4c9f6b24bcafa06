"""One method per instruction; made by tools/gen_instructions.py from the instruction table, not by hand."""

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

    def load(self, dst: TileRef, src: TileRef) -> None:
        """copy GM to UB or L1; views of equal shape, any strides"""
        self.emit(
            _LOAD,
            (
                dst,
                src,
            ),
        )

    def gather_rows(self, dst: TileRef, table: TileRef, index: TileRef) -> None:
        """dst[i...] = table[index[i...]]; negative indices count from the end; bounds are checked"""
        self.emit(
            _GATHER_ROWS,
            (
                dst,
                table,
                index,
            ),
        )

    def store(self, dst: TileRef, src: TileRef, *, atomic: str = "none") -> None:
        """copy UB or L1 to GM; views of equal shape, any strides"""
        self.emit(
            _STORE,
            (
                dst,
                src,
            ),
            atomic=atomic,
        )

    def scatter_rows(self, table: TileRef, src: TileRef, index: TileRef, *, mode: str = "set") -> None:
        """table[index[i...]] = src[i...], in index order"""
        self.emit(
            _SCATTER_ROWS,
            (
                table,
                src,
                index,
            ),
            mode=mode,
        )

    def load2d(self, dst: TileRef, src: TileRef) -> None:
        """copy a matrix L1 to L0A or L0B; any strides, so also transposed"""
        self.emit(
            _LOAD2D,
            (
                dst,
                src,
            ),
        )

    def load3d(
        self,
        dst: TileRef,
        src: TileRef,
        kernel: tuple[int, ...],
        taps: tuple[int, ...],
        out_w: int,
        *,
        strides: tuple[int, ...] = (1, 1),
        dilations: tuple[int, ...] = (1, 1),
        pads: tuple[int, ...] = (0, 0, 0, 0),
        h_out0: int = 0,
        w_out0: int = 0,
    ) -> None:
        """img2col: src [H, W, C] -> dst [m, k]; m = (oh, ow) over whole output rows, k = (tap, c), c fastest"""
        self.emit(
            _LOAD3D,
            (
                dst,
                src,
            ),
            kernel=kernel,
            strides=strides,
            dilations=dilations,
            pads=pads,
            taps=taps,
            out_w=out_w,
            h_out0=h_out0,
            w_out0=w_out0,
        )

    def load_bias(self, dst: TileRef, src: TileRef) -> None:
        """copy a bias row L1 to BT; halves become f32"""
        self.emit(
            _LOAD_BIAS,
            (
                dst,
                src,
            ),
        )

    def mmad(self, dst: TileRef, a: TileRef, b: TileRef, bias: TileRef | None = None, *, init: bool = False) -> None:
        """dst[m,n] (+)= a[m,k] @ b[k,n] (+ bias[n] when init)"""
        tiles = (
            (
                dst,
                a,
                b,
            )
            if bias is None
            else (dst, a, b, bias)
        )
        self.emit(_MMAD, tiles, init=init)

    def fixpipe(
        self,
        dst: TileRef,
        src: TileRef,
        *,
        relu: str = "none",
        slope: float = 0.0,
        scale: float = 1.0,
        atomic: str = "none",
    ) -> None:
        """dst = cast(relu(src * scale)); integers round to even and saturate"""
        self.emit(
            _FIXPIPE,
            (
                dst,
                src,
            ),
            relu=relu,
            slope=slope,
            scale=scale,
            atomic=atomic,
        )

    def vadd(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a + b; integers wrap"""
        self.emit(
            _VADD,
            (
                dst,
                a,
                b,
            ),
        )

    def vsub(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a - b; integers wrap"""
        self.emit(
            _VSUB,
            (
                dst,
                a,
                b,
            ),
        )

    def vmul(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a * b; integers wrap"""
        self.emit(
            _VMUL,
            (
                dst,
                a,
                b,
            ),
        )

    def vdiv(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a / b of floats"""
        self.emit(
            _VDIV,
            (
                dst,
                a,
                b,
            ),
        )

    def vmax(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """maximum; NaN if either is NaN"""
        self.emit(
            _VMAX,
            (
                dst,
                a,
                b,
            ),
        )

    def vmin(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """minimum; NaN if either is NaN"""
        self.emit(
            _VMIN,
            (
                dst,
                a,
                b,
            ),
        )

    def vand(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """bitwise and (logical on i1)"""
        self.emit(
            _VAND,
            (
                dst,
                a,
                b,
            ),
        )

    def vor(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """bitwise or (logical on i1)"""
        self.emit(
            _VOR,
            (
                dst,
                a,
                b,
            ),
        )

    def vxor(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """bitwise exclusive or (logical on i1)"""
        self.emit(
            _VXOR,
            (
                dst,
                a,
                b,
            ),
        )

    def vshl(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a << b; 0 when b is not below the width"""
        self.emit(
            _VSHL,
            (
                dst,
                a,
                b,
            ),
        )

    def vshr(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a >> b, arithmetic for signed; sign (or 0) when b is too large"""
        self.emit(
            _VSHR,
            (
                dst,
                a,
                b,
            ),
        )

    def vidiv(self, dst: TileRef, a: TileRef, b: TileRef, *, mode: str = "trunc") -> None:
        """integer quotient; 0 where b = 0"""
        self.emit(
            _VIDIV,
            (
                dst,
                a,
                b,
            ),
            mode=mode,
        )

    def vmod(self, dst: TileRef, a: TileRef, b: TileRef, *, mode: str = "trunc") -> None:
        """remainder that goes with vidiv's mode; 0 where an integer b = 0"""
        self.emit(
            _VMOD,
            (
                dst,
                a,
                b,
            ),
            mode=mode,
        )

    def vpow(self, dst: TileRef, a: TileRef, b: TileRef) -> None:
        """a to the power b"""
        self.emit(
            _VPOW,
            (
                dst,
                a,
                b,
            ),
        )

    def vadds(self, dst: TileRef, a: TileRef, scalar: float) -> None:
        """a + scalar"""
        self.emit(
            _VADDS,
            (
                dst,
                a,
            ),
            scalar=scalar,
        )

    def vsubs(self, dst: TileRef, a: TileRef, scalar: float, *, reverse: bool = False) -> None:
        """a - scalar, or scalar - a"""
        self.emit(
            _VSUBS,
            (
                dst,
                a,
            ),
            scalar=scalar,
            reverse=reverse,
        )

    def vmuls(self, dst: TileRef, a: TileRef, scalar: float) -> None:
        """a * scalar"""
        self.emit(
            _VMULS,
            (
                dst,
                a,
            ),
            scalar=scalar,
        )

    def vdivs(self, dst: TileRef, a: TileRef, scalar: float, *, reverse: bool = False) -> None:
        """a / scalar, or scalar / a"""
        self.emit(
            _VDIVS,
            (
                dst,
                a,
            ),
            scalar=scalar,
            reverse=reverse,
        )

    def vmaxs(self, dst: TileRef, a: TileRef, scalar: float) -> None:
        """maximum of a and scalar; NaN propagates"""
        self.emit(
            _VMAXS,
            (
                dst,
                a,
            ),
            scalar=scalar,
        )

    def vmins(self, dst: TileRef, a: TileRef, scalar: float) -> None:
        """minimum of a and scalar; NaN propagates"""
        self.emit(
            _VMINS,
            (
                dst,
                a,
            ),
            scalar=scalar,
        )

    def vabs(self, dst: TileRef, a: TileRef) -> None:
        """absolute value"""
        self.emit(
            _VABS,
            (
                dst,
                a,
            ),
        )

    def vneg(self, dst: TileRef, a: TileRef) -> None:
        """-a"""
        self.emit(
            _VNEG,
            (
                dst,
                a,
            ),
        )

    def vexp(self, dst: TileRef, a: TileRef) -> None:
        """e to the power a"""
        self.emit(
            _VEXP,
            (
                dst,
                a,
            ),
        )

    def vln(self, dst: TileRef, a: TileRef) -> None:
        """natural logarithm"""
        self.emit(
            _VLN,
            (
                dst,
                a,
            ),
        )

    def vsqrt(self, dst: TileRef, a: TileRef) -> None:
        """square root"""
        self.emit(
            _VSQRT,
            (
                dst,
                a,
            ),
        )

    def vrsqrt(self, dst: TileRef, a: TileRef) -> None:
        """1 / sqrt(a)"""
        self.emit(
            _VRSQRT,
            (
                dst,
                a,
            ),
        )

    def vrec(self, dst: TileRef, a: TileRef) -> None:
        """1 / a"""
        self.emit(
            _VREC,
            (
                dst,
                a,
            ),
        )

    def vrelu(self, dst: TileRef, a: TileRef) -> None:
        """max(a, 0); NaN propagates"""
        self.emit(
            _VRELU,
            (
                dst,
                a,
            ),
        )

    def vlrelu(self, dst: TileRef, a: TileRef, slope: float) -> None:
        """a where a >= 0, else slope * a"""
        self.emit(
            _VLRELU,
            (
                dst,
                a,
            ),
            slope=slope,
        )

    def vnot(self, dst: TileRef, a: TileRef) -> None:
        """bitwise not (logical on i1)"""
        self.emit(
            _VNOT,
            (
                dst,
                a,
            ),
        )

    def vfloor(self, dst: TileRef, a: TileRef) -> None:
        """round down"""
        self.emit(
            _VFLOOR,
            (
                dst,
                a,
            ),
        )

    def vceil(self, dst: TileRef, a: TileRef) -> None:
        """round up"""
        self.emit(
            _VCEIL,
            (
                dst,
                a,
            ),
        )

    def vrint(self, dst: TileRef, a: TileRef) -> None:
        """round to even"""
        self.emit(
            _VRINT,
            (
                dst,
                a,
            ),
        )

    def vtrunc(self, dst: TileRef, a: TileRef) -> None:
        """round to zero"""
        self.emit(
            _VTRUNC,
            (
                dst,
                a,
            ),
        )

    def vsin(self, dst: TileRef, a: TileRef) -> None:
        """sine"""
        self.emit(
            _VSIN,
            (
                dst,
                a,
            ),
        )

    def vcos(self, dst: TileRef, a: TileRef) -> None:
        """cosine"""
        self.emit(
            _VCOS,
            (
                dst,
                a,
            ),
        )

    def vsign(self, dst: TileRef, a: TileRef) -> None:
        """-1, 0 or 1; NaN stays NaN"""
        self.emit(
            _VSIGN,
            (
                dst,
                a,
            ),
        )

    def vcmp(self, dst: TileRef, a: TileRef, b: TileRef, mode: str) -> None:
        """a ? b as i1 bytes; NaN as in IEEE"""
        self.emit(
            _VCMP,
            (
                dst,
                a,
                b,
            ),
            mode=mode,
        )

    def vcmps(self, dst: TileRef, a: TileRef, mode: str, scalar: float) -> None:
        """a ? scalar as i1 bytes"""
        self.emit(
            _VCMPS,
            (
                dst,
                a,
            ),
            mode=mode,
            scalar=scalar,
        )

    def vsel(self, dst: TileRef, cond: TileRef, a: TileRef, b: TileRef) -> None:
        """cond ? a : b"""
        self.emit(
            _VSEL,
            (
                dst,
                cond,
                a,
                b,
            ),
        )

    def vcast(self, dst: TileRef, src: TileRef, *, round: str = "trunc", saturate: bool = False) -> None:
        """convert elements; to i1 tests for non-zero; float to a narrower float rounds to even"""
        self.emit(
            _VCAST,
            (
                dst,
                src,
            ),
            round=round,
            saturate=saturate,
        )

    def vdup(self, dst: TileRef, scalar: float) -> None:
        """fill with scalar"""
        self.emit(_VDUP, (dst,), scalar=scalar)

    def vcopy(self, dst: TileRef, a: TileRef) -> None:
        """copy; any strides on both sides, so also transpose and broadcast"""
        self.emit(
            _VCOPY,
            (
                dst,
                a,
            ),
        )

    def vreduce_sum(self, dst: TileRef, src: TileRef, *, accumulate: bool = False, f32_acc: bool = True) -> None:
        """sum over the last axis"""
        self.emit(
            _VREDUCE_SUM,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
            f32_acc=f32_acc,
        )

    def vreduce_max(self, dst: TileRef, src: TileRef, *, accumulate: bool = False) -> None:
        """maximum over the last axis; NaN propagates"""
        self.emit(
            _VREDUCE_MAX,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
        )

    def vreduce_min(self, dst: TileRef, src: TileRef, *, accumulate: bool = False) -> None:
        """minimum over the last axis; NaN propagates"""
        self.emit(
            _VREDUCE_MIN,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
        )

    def vreduce_prod(self, dst: TileRef, src: TileRef, *, accumulate: bool = False, f32_acc: bool = True) -> None:
        """product over the last axis"""
        self.emit(
            _VREDUCE_PROD,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
            f32_acc=f32_acc,
        )

    def vreduce_any(self, dst: TileRef, src: TileRef, *, accumulate: bool = False) -> None:
        """logical or over the last axis"""
        self.emit(
            _VREDUCE_ANY,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
        )

    def vreduce_all(self, dst: TileRef, src: TileRef, *, accumulate: bool = False) -> None:
        """logical and over the last axis"""
        self.emit(
            _VREDUCE_ALL,
            (
                dst,
                src,
            ),
            accumulate=accumulate,
        )

    def vargmax(self, dst: TileRef, src: TileRef, *, last: bool = False) -> None:
        """index of the maximum over the last axis"""
        self.emit(
            _VARGMAX,
            (
                dst,
                src,
            ),
            last=last,
        )

    def vargmin(self, dst: TileRef, src: TileRef, *, last: bool = False) -> None:
        """index of the minimum over the last axis"""
        self.emit(
            _VARGMIN,
            (
                dst,
                src,
            ),
            last=last,
        )

    def varange(self, dst: TileRef, *, start: float = 0, step: float = 1, axis: int = -1) -> None:
        """start + step * position along axis"""
        self.emit(_VARANGE, (dst,), start=start, step=step, axis=axis)

    def vgather(self, dst: TileRef, table: TileRef, index: TileRef) -> None:
        """dst[i...] = table[index[i...]] (rows); negative indices count from the end"""
        self.emit(
            _VGATHER,
            (
                dst,
                table,
                index,
            ),
        )

    def vgather_elems(self, dst: TileRef, table: TileRef, index: TileRef) -> None:
        """dst[..., j] = table[..., index[..., j]]"""
        self.emit(
            _VGATHER_ELEMS,
            (
                dst,
                table,
                index,
            ),
        )

    def vcumsum(self, dst: TileRef, a: TileRef, *, exclusive: bool = False, reverse: bool = False) -> None:
        """running sum along the last axis"""
        self.emit(
            _VCUMSUM,
            (
                dst,
                a,
            ),
            exclusive=exclusive,
            reverse=reverse,
        )

    def vsort(self, dst: TileRef, index: TileRef, src: TileRef, *, descending: bool = False) -> None:
        """stable sort along the last axis, with the positions each value came from"""
        self.emit(
            _VSORT,
            (
                dst,
                index,
                src,
            ),
            descending=descending,
        )

    def set_flag(self, src: str, dst: str, id: int, *, slots: int = 1) -> None:
        """raised when src's earlier work is done"""
        self.emit(_SET_FLAG, (), src=src, dst=dst, id=id, slots=slots)

    def wait_flag(self, src: str, dst: str, id: int, *, slots: int = 1) -> None:
        """dst waits for the flag and clears it"""
        self.emit(_WAIT_FLAG, (), src=src, dst=dst, id=id, slots=slots)

    def pipe_barrier(self, pipe: str) -> None:
        """later work on the pipe starts after its earlier work is done; ALL: on every pipe"""
        self.emit(_PIPE_BARRIER, (), pipe=pipe)

    def cross_core_set(self, flag: int, pipe: str, *, slots: int = 1) -> None:
        """cube: signals both vector sub-blocks; vector: signals its cube once both sub-blocks did"""
        self.emit(_CROSS_CORE_SET, (), flag=flag, pipe=pipe, slots=slots)

    def cross_core_wait(self, flag: int, pipe: str, *, slots: int = 1) -> None:
        """the pipe waits for the other side's signal"""
        self.emit(_CROSS_CORE_WAIT, (), flag=flag, pipe=pipe, slots=slots)


_LOAD = BY_NAME["load"]
_GATHER_ROWS = BY_NAME["gather_rows"]
_STORE = BY_NAME["store"]
_SCATTER_ROWS = BY_NAME["scatter_rows"]
_LOAD2D = BY_NAME["load2d"]
_LOAD3D = BY_NAME["load3d"]
_LOAD_BIAS = BY_NAME["load_bias"]
_MMAD = BY_NAME["mmad"]
_FIXPIPE = BY_NAME["fixpipe"]
_VADD = BY_NAME["vadd"]
_VSUB = BY_NAME["vsub"]
_VMUL = BY_NAME["vmul"]
_VDIV = BY_NAME["vdiv"]
_VMAX = BY_NAME["vmax"]
_VMIN = BY_NAME["vmin"]
_VAND = BY_NAME["vand"]
_VOR = BY_NAME["vor"]
_VXOR = BY_NAME["vxor"]
_VSHL = BY_NAME["vshl"]
_VSHR = BY_NAME["vshr"]
_VIDIV = BY_NAME["vidiv"]
_VMOD = BY_NAME["vmod"]
_VPOW = BY_NAME["vpow"]
_VADDS = BY_NAME["vadds"]
_VSUBS = BY_NAME["vsubs"]
_VMULS = BY_NAME["vmuls"]
_VDIVS = BY_NAME["vdivs"]
_VMAXS = BY_NAME["vmaxs"]
_VMINS = BY_NAME["vmins"]
_VABS = BY_NAME["vabs"]
_VNEG = BY_NAME["vneg"]
_VEXP = BY_NAME["vexp"]
_VLN = BY_NAME["vln"]
_VSQRT = BY_NAME["vsqrt"]
_VRSQRT = BY_NAME["vrsqrt"]
_VREC = BY_NAME["vrec"]
_VRELU = BY_NAME["vrelu"]
_VLRELU = BY_NAME["vlrelu"]
_VNOT = BY_NAME["vnot"]
_VFLOOR = BY_NAME["vfloor"]
_VCEIL = BY_NAME["vceil"]
_VRINT = BY_NAME["vrint"]
_VTRUNC = BY_NAME["vtrunc"]
_VSIN = BY_NAME["vsin"]
_VCOS = BY_NAME["vcos"]
_VSIGN = BY_NAME["vsign"]
_VCMP = BY_NAME["vcmp"]
_VCMPS = BY_NAME["vcmps"]
_VSEL = BY_NAME["vsel"]
_VCAST = BY_NAME["vcast"]
_VDUP = BY_NAME["vdup"]
_VCOPY = BY_NAME["vcopy"]
_VREDUCE_SUM = BY_NAME["vreduce_sum"]
_VREDUCE_MAX = BY_NAME["vreduce_max"]
_VREDUCE_MIN = BY_NAME["vreduce_min"]
_VREDUCE_PROD = BY_NAME["vreduce_prod"]
_VREDUCE_ANY = BY_NAME["vreduce_any"]
_VREDUCE_ALL = BY_NAME["vreduce_all"]
_VARGMAX = BY_NAME["vargmax"]
_VARGMIN = BY_NAME["vargmin"]
_VARANGE = BY_NAME["varange"]
_VGATHER = BY_NAME["vgather"]
_VGATHER_ELEMS = BY_NAME["vgather_elems"]
_VCUMSUM = BY_NAME["vcumsum"]
_VSORT = BY_NAME["vsort"]
_SET_FLAG = BY_NAME["set_flag"]
_WAIT_FLAG = BY_NAME["wait_flag"]
_PIPE_BARRIER = BY_NAME["pipe_barrier"]
_CROSS_CORE_SET = BY_NAME["cross_core_set"]
_CROSS_CORE_WAIT = BY_NAME["cross_core_wait"]
