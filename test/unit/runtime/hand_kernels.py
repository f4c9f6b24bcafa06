"""Kernels written by hand for tests of traffic and timing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gedialect.binary.isa import BY_NAME
from gedialect.binary.kernel import (
    BLOCK_IDX,
    FIRST_LOOP,
    SUB_BLOCK_IDX,
    Function,
    Inst,
    Kernel,
    KernelArg,
    Linear,
    Loop,
    Rotation,
    View,
    contiguous,
)
from gedialect.ir.dtypes import BY_NAME as DTYPES

I0, I1 = FIRST_LOOP, FIRST_LOOP + 1


def lin(const: int = 0, **terms: int) -> Linear:
    """``lin(4, b=2, i0=8)`` is 4 + 2 * block + 8 * i0; ``s`` is the sub-block."""
    numbers = {"b": BLOCK_IDX, "s": SUB_BLOCK_IDX, "i0": I0, "i1": I1, "i2": FIRST_LOOP + 2}
    return Linear(const, tuple(sorted((numbers[k], v) for k, v in terms.items())))


def tile(
    space: str,
    shape: Sequence[int],
    base: Linear | int = 0,
    *,
    dtype: str = "f32",
    arg: int = -1,
    strides: Sequence[int] | None = None,
    rotation: Rotation | None = None,
) -> View:
    base = base if isinstance(base, Linear) else Linear(base)
    return View(
        space,
        DTYPES[dtype],
        tuple(shape),
        contiguous(tuple(shape)) if strides is None else tuple(strides),
        base,
        arg,
        rotation,
    )


def gm(arg: int, shape: Sequence[int], base: Linear | int = 0, **more: Any) -> View:
    return tile("gm", shape, base, arg=arg, **more)


def ub(shape: Sequence[int], base: Linear | int = 0, **more: Any) -> View:
    return tile("ub", shape, base, **more)


def do(name: str, *views: View, **attrs: Any) -> Inst:
    op = BY_NAME[name]
    return Inst(op, views, tuple(attrs.get(s.name, s.default) for s in op.attrs))


def set_flag(src: str, dst: str, number: int = 0, slots: int = 1) -> Inst:
    return do("set_flag", src=src, dst=dst, id=number, slots=slots)


def wait_flag(src: str, dst: str, number: int = 0, slots: int = 1) -> Inst:
    return do("wait_flag", src=src, dst=dst, id=number, slots=slots)


def kernel(
    vector: Sequence[Inst | Loop] | None = None,
    cube: Sequence[Inst | Loop] | None = None,
    *,
    blocks: int = 1,
    sizes: Sequence[int] = (1 << 30, 1 << 30, 1 << 30),
) -> Kernel:
    kind = "mix" if vector is not None and cube is not None else "cube" if cube is not None else "vector"
    args = tuple(KernelArg(f"a{i}", DTYPES["f32"], n, "inout") for i, n in enumerate(sizes))
    return Kernel(
        "k",
        kind,
        blocks,
        args,
        None if cube is None else Function(tuple(cube)),
        None if vector is None else Function(tuple(vector)),
    )


def every_execution(kernel: Kernel) -> Iterator[Inst]:
    """Each instruction as often as it runs, by going through every loop of every block."""

    def value(form: Linear, values: dict[int, int]) -> int:
        return form.const + sum(values[v] * c for v, c in form.terms)

    def body(items: Sequence[Inst | Loop], depth: int, values: dict[int, int]) -> Iterator[Inst]:
        for item in items:
            if isinstance(item, Inst):
                yield item
                continue
            for v in range(value(item.lo, values), value(item.hi, values), item.step):
                yield from body(item.body, depth + 1, {**values, FIRST_LOOP + depth: v})

    for bid in range(kernel.blocks):
        if kernel.cube is not None:
            yield from body(kernel.cube.body, 0, {BLOCK_IDX: bid, SUB_BLOCK_IDX: 0})
        if kernel.vector is not None:
            for sub in range(2 if kernel.kind == "mix" else 1):
                yield from body(kernel.vector.body, 0, {BLOCK_IDX: bid, SUB_BLOCK_IDX: sub})


def pipelined(tiles: int, buffers: int, *, elements: int = 8192, adds: int = 4, blocks: int = 1) -> Kernel:
    """Loads, ``adds`` additions, stores per tile of ``elements`` f32; ``buffers`` tiles in flight."""
    nbytes = elements * 4

    def slot(where: int) -> View:
        return ub((elements,), where, rotation=Rotation(0, buffers, nbytes) if buffers > 1 else None)

    source, result = slot(0), slot(buffers * nbytes)
    at = lin(0, b=tiles * nbytes, i0=nbytes)
    loop = Loop(
        Linear(0),
        Linear(tiles),
        1,
        (
            wait_flag("V", "MTE2", 0, buffers),
            do("load", source, gm(0, (elements,), at)),
            set_flag("MTE2", "V", 0, buffers),
            wait_flag("MTE2", "V", 0, buffers),
            wait_flag("MTE3", "V", 0, buffers),
            *[do("vadd", result, source, source)] * adds,
            set_flag("V", "MTE2", 0, buffers),
            set_flag("V", "MTE3", 0, buffers),
            wait_flag("V", "MTE3", 0, buffers),
            do("store", gm(1, (elements,), at), result),
            set_flag("MTE3", "V", 0, buffers),
        ),
    )
    pairs = [("V", "MTE2"), ("MTE3", "V")]
    return kernel(
        [
            *[set_flag(*p, n) for p in pairs for n in range(buffers)],
            loop,
            *[wait_flag(*p, n) for p in pairs for n in range(buffers)],
        ],
        blocks=blocks,
    )
