"""A Python surface for writing npu kernels.

    k = KernelBuilder("add", kind="vector", blocks=8, args=[Arg("x", F32, 16384), Arg("y", F32, 16384, "out")])
    with k.vector():
        with k.loop(k.block_idx * 512, k.block_idx * 512 + 512, 128) as i:
            t = k.alloc("ub", (128,), F32, buffers=2)
            k.load(t, k.gm("x").view(i, (128,)))
            k.vadds(t, t, 1.0)
            k.store(k.gm("y").view(i, (128,)), t)
    kernel = k.finish()

Building creates ops without verifying them (a model has tens of thousands): tests verify, and so does
``ge-opt --verify-each``. Generators need no flags or addresses: `npu-allocate` and `npu-insert-sync` add them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import TracebackType

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from gedialect.binary.isa import AttrSpec, Instr, Value
from gedialect.binary.kernel import KernelArg, contiguous
from gedialect.dialects.npu import (
    OPS,
    AllocOp,
    ArgsAttr,
    CubeOp,
    ForOp,
    FunctionOp,
    GmType,
    KernelOp,
    LinearAttr,
    LinearForm,
    StridesAttr,
    Tile,
    TileType,
    VectorOp,
    ViewOp,
)
from gedialect.dialects.npu.ops import INDEX
from gedialect.dialects.npu.types import to_attr
from gedialect.errors import GeError
from gedialect.ir.dtypes import DType

from .instructions import Instructions

ONCE = 1 << 40
"""A step no loop reaches twice: the body runs once if lo < hi, else not at all."""


def Arg(name: str, dtype: DType, nbytes: int, role: str = "in") -> KernelArg:
    """A kernel argument: ``nbytes`` bytes of global memory; role in, out, inout or workspace."""
    return KernelArg(name, dtype, nbytes, role)


@lru_cache(4096)
def _attr_i64(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


@lru_cache(4096)
def _instr_attr(spec: AttrSpec, kind: type, value: Value) -> Attribute:
    """``kind`` keeps 1 and 1.0 apart."""
    return to_attr(spec, value)


@lru_cache(4096)
def _tile_type(shape: tuple[int, ...], dtype: DType, space: str) -> TileType:
    return TileType(Tile(shape, dtype, space))


class Affine:
    """``const`` + sum of integer * index variable; + - and * by integers stay affine."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int = 0, terms: dict[SSAValue, int] | None = None):
        self.const = const
        self.terms: dict[SSAValue, int] = {} if terms is None else terms

    @staticmethod
    def of(value: Affine | int) -> Affine:
        return value if isinstance(value, Affine) else Affine(int(value))

    def __add__(self, other: Affine | int) -> Affine:
        if not isinstance(other, Affine):
            return Affine(self.const + int(other), self.terms)
        terms = dict(self.terms)
        for v, c in other.terms.items():
            terms[v] = terms.get(v, 0) + c
        return Affine(self.const + other.const, terms)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Affine:
        factor = int(factor)
        return Affine(self.const * factor, {v: c * factor for v, c in self.terms.items()} if factor else None)

    __rmul__ = __mul__

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + -other

    def __rsub__(self, other: int) -> Affine:
        return -self + other

    def divided(self, factor: int) -> Affine:
        """Exact division; GE1901 when some coefficient does not divide."""
        if self.const % factor or any(c % factor for c in self.terms.values()):
            raise GeError(f"offset is no multiple of {factor}", code="GE1901")
        return Affine(self.const // factor, {v: c // factor for v, c in self.terms.items()})

    def __repr__(self) -> str:
        terms = [f"{v.name_hint or 'i'} * {c}" for v, c in self.terms.items() if c]
        return " + ".join([*terms, str(self.const)])


Index = Affine | int
_ZERO = Affine()


class TileRef:
    """A tile or a view of one: what instructions take.

    ``offset`` counts elements from the first element of ``root`` (an alloc, or a kernel argument); ``strides`` are
    in elements. Views are folded into one `npu.view` when an instruction first uses them.
    """

    __slots__ = ("_block", "_builder", "_value", "dtype", "offset", "root", "shape", "space", "strides")

    def __init__(
        self,
        builder: KernelBuilder,
        root: SSAValue,
        space: str,
        dtype: DType,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: Affine,
        value: SSAValue | None = None,
        block: Block | None = None,
    ):
        self._builder = builder
        self._value = value
        self._block = block
        self.root = root
        self.space = space
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset

    def _derive(self, offset: Affine, shape: tuple[int, ...], strides: tuple[int, ...]) -> TileRef:
        return TileRef(self._builder, self.root, self.space, self.dtype, shape, strides, offset)

    def view(
        self, offset: Index, shape: Sequence[int], strides: Sequence[int] | None = None, dtype: DType | None = None
    ) -> TileRef:
        """Elements from ``offset`` on, as ``shape`` with element ``strides`` (contiguous if None).

        Offset and strides count elements of ``dtype`` (default: this tile's) in the underlying memory; they do not
        multiply with this view's own strides.
        """
        shape = tuple(shape)
        strides = contiguous(shape) if strides is None else tuple(strides)
        base = self.offset
        if dtype is not None and dtype is not self.dtype:
            base = (base * self.dtype.itemsize).divided(dtype.itemsize)
            return TileRef(self._builder, self.root, self.space, dtype, shape, strides, base + offset)
        return self._derive(base + offset, shape, strides)

    def ring(self, offset: Index, elements: int, slots: int) -> TileRef:
        """See `GmArg.ring`; the view is made here, at the current place."""
        op = self._builder.make_ring(self.view(offset, (elements,)), slots)
        value, block = op.results[0], self._builder.blocks[-1]
        return TileRef(self._builder, value, self.space, self.dtype, (elements,), (1,), _ZERO, value, block)

    def __getitem__(self, key: tuple[slice | Index, ...] | slice | Index) -> TileRef:
        """numpy-like: ``t[a:b, i]``; slices have int bounds and a step of 1 or more, indices may be affine."""
        keys = key if isinstance(key, tuple) else (key,)
        offset, shape, strides = self.offset, list[int](), list[int]()
        for axis, (n, s) in enumerate(zip(self.shape, self.strides, strict=True)):
            k = keys[axis] if axis < len(keys) else slice(None)
            if isinstance(k, slice):
                r = range(n)[k]
                offset = offset + r.start * s
                shape.append(len(r))
                strides.append(s * r.step)
            else:
                offset = offset + (k * s)
        return self._derive(offset, tuple(shape), tuple(strides))

    def window(self, starts: Sequence[Index], sizes: Sequence[int]) -> TileRef:
        """The box of ``sizes`` at ``starts`` (affine), with this view's strides."""
        offset = self.offset
        for start, s in zip(starts, self.strides, strict=True):
            offset = offset + (start * s)
        return self._derive(offset, tuple(sizes), self.strides)

    def broadcast(self, shape: Sequence[int]) -> TileRef:
        """numpy broadcasting to ``shape``: repeated dimensions get stride 0."""
        shape = tuple(shape)
        lead = len(shape) - len(self.shape)
        strides = [0] * lead
        for n, s, want in zip(self.shape, self.strides, shape[lead:], strict=True):
            if n not in (want, 1):
                raise GeError(f"cannot broadcast {self.shape} to {shape}", code="GE1901")
            strides.append(s if n == want else 0)
        return self._derive(self.offset, shape, tuple(strides))

    def permute(self, perm: Sequence[int]) -> TileRef:
        """Axes in the order ``perm``, as numpy.transpose."""
        return self._derive(self.offset, tuple(self.shape[p] for p in perm), tuple(self.strides[p] for p in perm))

    def reshape(self, shape: Sequence[int]) -> TileRef:
        """Another shape of the same elements in order; only for a contiguous view."""
        shape = tuple(shape)
        if any(n != 1 and s != c for n, s, c in zip(self.shape, self.strides, contiguous(self.shape), strict=True)):
            raise GeError(f"cannot reshape a strided view of {self.shape}", code="GE1901")
        return self._derive(self.offset, shape, contiguous(shape))

    def expand_dims(self, axis: int) -> TileRef:
        """With a dimension of size 1 before ``axis`` (negative: as numpy.expand_dims)."""
        axis = axis + len(self.shape) + 1 if axis < 0 else axis
        shape, strides = self.shape, self.strides
        return self._derive(self.offset, (*shape[:axis], 1, *shape[axis:]), (*strides[:axis], 0, *strides[axis:]))

    @property
    def value(self) -> SSAValue:
        """The SSA value, made at the current place unless one is already visible here."""
        if self._value is not None and (self._block is None or self._block in self._builder.blocks):
            return self._value
        self._value = self._builder.make_view(self)
        self._block = self._builder.blocks[-1]
        return self._value

    def __repr__(self) -> str:
        return f"TileRef({self.space}, {self.dtype}, {self.shape}, strides={self.strides}, offset={self.offset})"


class GmArg:
    """A kernel argument; `view` gives the tiles that load, store and fixpipe take."""

    __slots__ = ("arg", "dtype", "ref")

    def __init__(self, arg: KernelArg, ref: TileRef):
        self.arg = arg
        self.dtype = arg.dtype
        self.ref = ref

    def view(
        self, offset: Index, shape: Sequence[int], strides: Sequence[int] | None = None, dtype: DType | None = None
    ) -> TileRef:
        """Elements from ``offset`` on (see `TileRef.view`)."""
        return self.ref.view(offset, shape, strides, dtype)

    def ring(self, offset: Index, elements: int, slots: int = 1) -> TileRef:
        """``elements`` from ``offset`` on; with several ``slots``, iterations of the loop around this place take as
        many such pieces, one after the other in memory, in turn."""
        return self.ref.ring(offset, elements, slots)

    def tensor(self, shape: Sequence[int]) -> TileRef:
        """The whole argument as a row-major tensor, to slice with `TileRef.window` or ``[...]``."""
        return self.ref.view(0, shape)


class _Scope:
    """``with`` body of a loop or function: pushes its block, pops it at the end."""

    __slots__ = ("block", "builder", "result")

    def __init__(self, builder: KernelBuilder, block: Block, result: Affine):
        self.builder = builder
        self.block = block
        self.result = result

    def __enter__(self) -> Affine:
        self.builder.blocks.append(self.block)
        return self.result

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        self.builder.leave(self.block)


class KernelBuilder(Instructions):
    """Builds one `npu.kernel`; see the module's example. ``blocks`` is the number of blocks launched.

    ``kind`` is vector, cube or mix; functions are written in ``with k.vector():`` and ``with k.cube():``.
    """

    def __init__(self, name: str, *, kind: str, blocks: int, args: Sequence[KernelArg]):
        self.name = name
        self.kind = kind
        self.num_blocks = blocks
        self.args = tuple(args)
        self.blocks: list[Block] = []
        self._functions: dict[str, FunctionOp] = {}
        self._gm: dict[str, GmArg] = {}
        self._indices: list[Affine] = []

    # functions and loops

    def vector(self) -> _Scope:
        """``with k.vector():`` the program of the vector cores."""
        return self._function(VectorOp, 2 if self.kind == "mix" else 1)

    def cube(self) -> _Scope:
        """``with k.cube():`` the program of the cube cores."""
        return self._function(CubeOp, 1)

    def _function(self, kind: type[FunctionOp], indices: int) -> _Scope:
        block = Block(arg_types=[INDEX] * indices + [GmType(a.dtype) for a in self.args])
        self._functions[kind.name] = kind.create(regions=(Region(block),))
        for value, name in zip(block.args, ["bid", "sub"][:indices], strict=False):
            value.name_hint = name
        self._indices = [Affine(0, {v: 1}) for v in block.args[:indices]]
        self._gm = {}
        for arg, value in zip(self.args, block.args[indices:], strict=True):
            value.name_hint = _hint(arg.name)
            n = arg.nbytes // arg.dtype.itemsize
            self._gm[arg.name] = GmArg(arg, TileRef(self, value, "gm", arg.dtype, (n,), (1,), _ZERO))
        return _Scope(self, block, self._indices[0])

    @property
    def block_idx(self) -> Affine:
        """Number of the block, 0 .. blocks - 1."""
        return self._indices[0]

    @property
    def sub_block_idx(self) -> Affine:
        """0 or 1: which of a mix block's two vector cores this is."""
        return self._indices[1]

    def loop(self, lo: Index, hi: Index, step: int = 1, name: str = "i") -> _Scope:
        """``with k.loop(lo, hi, step) as i:`` for i in range(lo, hi, step)."""
        a, b = Affine.of(lo), Affine.of(hi)
        values = [*a.terms, *(v for v in b.terms if v not in a.terms)]
        body = Block(arg_types=(INDEX,))
        iv = body.args[0]
        iv.name_hint = name
        op = ForOp.create(
            operands=values,
            properties={
                "lo": LinearAttr(LinearForm(a.const, tuple(a.terms.get(v, 0) for v in values))),
                "hi": LinearAttr(LinearForm(b.const, tuple(b.terms.get(v, 0) for v in values))),
                "step": _attr_i64(step),
            },
            regions=(Region(body),),
        )
        self.blocks[-1].add_op(op)
        return _Scope(self, body, Affine(0, {iv: 1}))

    def once_if_less(self, lo: Index, hi: Index) -> _Scope:
        """``with k.once_if_less(lo, hi):`` the body runs once if lo < hi, else not."""
        return self.loop(lo, hi, ONCE, "once")

    def leave(self, block: Block) -> None:
        """End the innermost scope (called by ``with``)."""
        assert self.blocks[-1] is block
        self.blocks.pop()

    # tiles

    def gm(self, name: str) -> GmArg:
        """The kernel argument ``name``."""
        return self._gm[name]

    def alloc(self, space: str, shape: Sequence[int], dtype: DType, *, buffers: int = 1, name: str = "t") -> TileRef:
        """A new on-chip tile; with ``buffers`` > 1 (inside a loop only) iterations take slots in turn."""
        shape = tuple(shape)
        op = AllocOp.create(
            result_types=(_tile_type(shape, dtype, space),),
            properties={"buffers": _attr_i64(buffers)} if buffers > 1 else {},
        )
        op.tile.name_hint = name
        block = self.blocks[-1]
        block.add_op(op)
        return TileRef(self, op.tile, space, dtype, shape, contiguous(shape), _ZERO, op.tile, block)

    def make_ring(self, ref: TileRef, slots: int) -> ViewOp:
        """The view of ``ref`` at the current place, its pieces taking turns (called by `TileRef.ring`)."""
        op = self._view(ref)
        if slots > 1:
            op.properties["slots"] = _attr_i64(slots)
            op.properties["slot"] = _attr_i64(ref.shape[0])
        return op

    def make_view(self, ref: TileRef) -> SSAValue:
        """The `npu.view` of ``ref`` at the current place (called by `TileRef.value`)."""
        return self._view(ref).tile

    def _view(self, ref: TileRef) -> ViewOp:
        offset, shape = ref.offset, ref.shape
        values = [v for v, c in offset.terms.items() if c]
        properties: dict[str, Attribute] = {
            "offset": LinearAttr(LinearForm(offset.const, tuple(offset.terms[v] for v in values)))
        }
        if ref.strides != contiguous(shape):
            properties["strides"] = StridesAttr(ref.strides)
        op = ViewOp.create(
            operands=(ref.root, *values),
            result_types=(_tile_type(shape, ref.dtype, ref.space),),
            properties=properties,
        )
        self.blocks[-1].add_op(op)
        return op

    # instructions

    def emit(self, instr: Instr, tiles: Sequence[TileRef], **attrs: Value) -> None:
        """Append an instruction: ``tiles`` in the table's order, attributes that equal their default are left out."""
        properties: dict[str, Attribute] = {}
        if attrs:
            for spec in instr.attrs:
                value = attrs.get(spec.name)
                if value is not None and (value != spec.default or type(value) is not type(spec.default)):
                    properties[spec.name] = _instr_attr(spec, type(value), value)
        values = [t.value for t in tiles]
        self.blocks[-1].add_op(OPS[instr.name].create(operands=values, properties=properties))

    def finish(self) -> KernelOp:
        """The finished kernel op (not verified, no flags or addresses yet)."""
        functions: list[Operation] = [self._functions[n] for n in (CubeOp.name, VectorOp.name) if n in self._functions]
        return KernelOp.create(
            properties={
                "sym_name": StringAttr(self.name),
                "kind": StringAttr(self.kind),
                "blocks": _attr_i64(self.num_blocks),
                "args": ArgsAttr(self.args),
            },
            regions=(Region(Block(functions)),),
        )


def _hint(name: str) -> str | None:
    """A usable SSA name for a model's name; None if there is none."""
    text = "".join(c if c.isascii() and (c.isalnum() or c in "_$.-") else "_" for c in name)
    return SSAValue.extract_valid_name(text if not text[:1].isdigit() else f"_{text}")
