"""Random kernels are silent after both passes; a flag less or an address more is noticed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gedialect.binary.kernel import Function, Inst, Kernel, Linear, Loop
from gedialect.dialects.npu import InstrOp, KernelOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import F16, F32
from gedialect.runtime.simulator import sanitize
from gedialect.targets import load_target
from lowering.emit.kernel import to_kernel
from lowering.kernels.builder import Affine, Arg, Index, KernelBuilder, TileRef
from lowering.transforms.npu_allocate import allocate_kernel
from lowering.transforms.npu_insert_sync import insert_sync

SYNC = ("set_flag", "wait_flag", "pipe_barrier")


class RandomVector:
    """A vector kernel of nested loops; ``width`` elements per tile decide how much tiles must share bytes."""

    def __init__(self, rng: random.Random, width: int, busy: int = 5):
        self.rng = rng
        self.busy = busy
        self.width = width
        arg = 1 << 22
        args = [Arg("x", F32, arg), Arg("y", F32, arg, "out"), Arg("w", F32, arg, "inout")]
        self.k = KernelBuilder("k", kind="vector", blocks=rng.choice([1, 2]), args=args)

    def build(self) -> KernelOp:
        with self.k.vector():
            self.body(0, [], [])
        return self.k.finish()

    def place(self, variables: list[Affine]) -> Index:
        at: Index = self.k.block_idx * (1 << 19)
        for v in variables:
            if self.rng.random() < 0.7:
                at = at + v * self.rng.choice([0, 64, 128, 256])
        return at + self.rng.choice([0, 128, 512])

    def body(self, depth: int, outer: list[TileRef], variables: list[Affine]) -> None:
        k, rng, width = self.k, self.rng, self.width
        tiles = list(outer)
        for _ in range(rng.randint(1, self.busy)):
            what = rng.random()
            if what < 0.25 and depth < 3:
                if rng.random() < 0.2:
                    with k.once_if_less(k.block_idx, 1):
                        self.body(depth + 1, tiles, variables)
                    continue
                lo: Index = variables[-1] if variables and rng.random() < 0.2 else 0
                with k.loop(lo, rng.choice([0, 1, 2, 3, 4, 5]), rng.choice([1, 1, 2])) as i:
                    self.body(depth + 1, tiles, [*variables, i])
            elif what < 0.55:
                t = k.alloc("ub", (width,), F32, buffers=rng.choice([1, 2, 2, 3]) if depth else 1)
                if rng.random() < 0.7:
                    k.load(t, k.gm(rng.choice("xxw")).view(self.place(variables), (width,)))
                else:
                    k.vdup(t, 0.0)
                tiles.append(t)
            elif what < 0.8 and tiles:
                d, a, b = (rng.choice(tiles) for _ in range(3))
                if variables and rng.random() < 0.3:
                    at = variables[-1] * rng.choice([8, 16])
                    k.vadd(d.view(at, (16,)), a.view(at, (16,)), b.view(0, (16,)))
                else:
                    lo8, hi8 = rng.choice([(0, 8), (0, 4), (4, 8), (2, 6)])
                    part = slice(lo8 * width // 8, hi8 * width // 8)
                    k.vadd(d[part], a[part], b[part])
            elif tiles:
                k.store(k.gm(rng.choice("yyw")).view(self.place(variables), (width,)), rng.choice(tiles))


def random_matmul(rng: random.Random) -> KernelOp:
    """A tiled product, tiles and buffers drawn, with a loop over k and accumulators that may be doubled."""
    tm, tn, tk = rng.choice([16, 32]), rng.choice([16, 64]), rng.choice([16, 48])
    nm, nn, nk = rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 4)
    m, n, kk = tm * nm, tn * nn, tk * nk
    k = KernelBuilder(
        "mm",
        kind="cube",
        blocks=1,
        args=[Arg("a", F16, m * kk * 2), Arg("b", F16, kk * n * 2), Arg("c", F32, m * n * 4, "out")],
    )

    def buffers(depth: int) -> int:
        return rng.choice([1, 2, 2]) if depth else 1

    with k.cube(), k.loop(0, m, tm) as i, k.loop(0, n, tn) as j:
        c = k.alloc("l0c", (tm, tn), F32, buffers=buffers(2), name="c")

        def step(at: Index, init: bool, depth: int) -> None:
            a1, b1 = (k.alloc("l1", s, F16, buffers=buffers(depth)) for s in ((tm, tk), (tk, tn)))
            a0 = k.alloc("l0a", (tm, tk), F16, buffers=buffers(depth))
            b0 = k.alloc("l0b", (tk, tn), F16, buffers=buffers(depth))
            k.load(a1, k.gm("a").tensor((m, kk)).window((i, at), (tm, tk)))
            k.load(b1, k.gm("b").tensor((kk, n)).window((at, j), (tk, tn)))
            k.load2d(a0, a1)
            k.load2d(b0, b1)
            k.mmad(c, a0, b0, init=init)

        step(0, True, 2)
        with k.loop(tk, kk, tk) as at:
            step(at, False, 3)
        k.fixpipe(k.gm("c").tensor((m, n)).window((i, j), (tm, tn)), c)
    return k.finish()


def finished(op: KernelOp) -> KernelOp | None:
    """With addresses and flags; None if it does not fit."""
    try:
        allocate_kernel(op, load_target())
    except GeError:
        return None
    insert_sync(op)
    op.verify()
    return op


def kernels(rng: random.Random) -> KernelOp | None:
    if rng.random() < 0.25:
        return finished(random_matmul(rng))
    return finished(RandomVector(rng, rng.choice([128, 128, 5120]), rng.choice([5, 5, 12])).build())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 1 << 32))
def test_random_kernels_are_silent(seed: int):
    op = kernels(random.Random(seed))
    if op is not None:
        assert [str(f) for f in sanitize(to_kernel(op)) if f.kind != "bounds"] == [], str(op)


def test_a_missing_flag_is_noticed():
    rng = random.Random(1)
    noticed: Counter[bool] = Counter()
    for _ in range(120):
        op = kernels(rng)
        if op is None or sanitize(to_kernel(op)):
            continue
        ops = [o for o in op.walk() if isinstance(o, InstrOp) and o.INSTR.name in ("set_flag", "wait_flag")]
        if ops:
            rng.choice(ops).detach()
            noticed[bool(sanitize(to_kernel(op)))] += 1
    assert noticed[True] > 60
    assert noticed[True] > 5 * noticed[False], noticed  # loops that never run hide the rest


def _instructions(body: tuple[Inst | Loop, ...]) -> Iterator[Inst]:
    for item in body:
        if isinstance(item, Loop):
            yield from _instructions(item.body)
        else:
            yield item


def _mapped(body: tuple[Inst | Loop, ...], change: Callable[[Inst], Inst]) -> tuple[Inst | Loop, ...]:
    return tuple(replace(i, body=_mapped(i.body, change)) if isinstance(i, Loop) else change(i) for i in body)


def test_a_wrong_address_is_noticed():
    rng = random.Random(2)
    noticed: Counter[bool] = Counter()
    for _ in range(120):
        op = finished(random_matmul(rng))
        assert op is not None
        kernel = to_kernel(op)
        assert sanitize(kernel) == []
        assert kernel.cube is not None
        reads = [i for i in _instructions(kernel.cube.body) if i.op.name in ("load2d", "mmad", "fixpipe")]
        victim = rng.choice(reads)
        view = victim.views[1]
        moved = replace(view, base=Linear(view.base.const + rng.choice([512, 4096, 1 << 19]), view.base.terms))
        views = (victim.views[0], moved, *victim.views[2:])
        body = _mapped(kernel.cube.body, lambda i: replace(i, views=views) if i is victim else i)
        noticed[bool(sanitize(replace(kernel, cube=Function(body))))] += 1
    assert noticed[True] > 3 * noticed[False], noticed


def build(code: Callable[[KernelBuilder], None], blocks: int = 1, role: str = "inout") -> Kernel:
    k = KernelBuilder("k", kind="vector", blocks=blocks, args=[Arg("x", F32, 4096), Arg("y", F32, 4096, role)])
    with k.vector():
        code(k)
    op = k.finish()
    allocate_kernel(op, load_target())
    return to_kernel(op)


def tile(k: KernelBuilder, n: int = 8) -> TileRef:
    return k.alloc("ub", (n,), F32)


def faults(code: Callable[[KernelBuilder], None], blocks: int = 1, role: str = "inout") -> list[tuple[str, str]]:
    return [(f.kind, f.what) for f in sanitize(build(code, blocks, role))]


def test_messages():
    def race(k: KernelBuilder) -> None:
        t = tile(k)
        k.load(t, k.gm("x").view(0, (8,)))
        k.vadds(t, t, 1.0)

    found = sanitize(build(race))
    assert [str(f).split(": ")[0] for f in found] == ["vector instruction 1"]
    assert found[0].kind == "race"
    assert "that MTE2 wrote, without a flag from it" in str(found[0])
    assert "vadds ub[0 : 8xf32], ub[0 : 8xf32] {scalar = 1.0}" in str(found[0])

    def missing_barrier(k: KernelBuilder) -> None:
        t = tile(k)
        k.vdup(t, 0.0)
        k.vadds(t, t, 1.0)

    assert [kind for kind, _ in faults(missing_barrier)] == ["barrier"]

    def unwritten(k: KernelBuilder) -> None:
        t = tile(k)
        k.vdup(t[:7], 0.0)
        k.pipe_barrier("V")
        k.vadds(t, t, 1.0)

    assert faults(unwritten) == [("unwritten", "reads bytes of ub that nothing wrote")]

    def outside(k: KernelBuilder) -> None:
        k.load(tile(k), k.gm("x").view(1020, (8,)))

    assert faults(outside) == [("bounds", "bytes 4080 to 4112 lie outside argument 'x' (4096 bytes)")]

    def writes_input(k: KernelBuilder) -> None:
        t = tile(k)
        k.vdup(t, 0.0)
        k.set_flag("V", "MTE3", 0)
        k.wait_flag("V", "MTE3", 0)
        k.store(k.gm("x").view(0, (8,)), t)

    assert faults(writes_input) == [("role", "argument 'x' is only to be read")]

    def across_blocks(k: KernelBuilder) -> None:
        t = tile(k)
        k.load(t, k.gm("y").view(k.block_idx * 4, (8,)))
        k.set_flag("MTE2", "MTE3", 0)
        k.wait_flag("MTE2", "MTE3", 0)
        k.store(k.gm("y").view(k.block_idx * 4, (8,)), t)

    assert ("block", "reads bytes of 'y' that another block wrote") in faults(across_blocks, 2)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        (lambda k: k.wait_flag("V", "MTE3", 1), "flag V->MTE3 1 was not set"),
        (lambda k: k.set_flag("V", "MTE3", 1), "flag V->MTE3 1 is never waited for"),
        (lambda k: [k.set_flag("V", "MTE3", 1)] * 2 and k.set_flag("V", "MTE3", 1), "set again before it was waited"),
        (
            lambda k: [(k.set_flag("V", "MTE3", 1), k.wait_flag("V", "MTE3", 1)) for _ in range(2)],
            "may be set again before its last wait has run",
        ),
    ],
)
def test_flag_protocol(code: Callable[[KernelBuilder], object], what: str):
    found = faults(lambda k: (code(k), None)[1])
    assert {kind for kind, _ in found} == {"flag"}
    assert what in found[0][1]


def test_a_mix_kernel_without_its_signal_is_a_deadlock():
    k = KernelBuilder("m", kind="mix", blocks=1, args=[])
    with k.cube():
        k.cross_core_wait(3, "FIX")
    with k.vector():
        pass
    found = sanitize(to_kernel(k.finish()))
    assert [f.what for f in found] == ["deadlock: cores wait for cross-core flags never set"]


def test_ids_run_out_gracefully():
    """More flags than ids: still silent, at top level and in a loop."""

    def many(k: KernelBuilder) -> None:
        a = [k.alloc("ub", (8,), F32, buffers=2) for _ in range(12)]
        for n, t in enumerate(a):
            k.load(t, k.gm("x").view(n * 8, (8,)))
            k.vadds(t, t, 1.0)
            k.store(k.gm("y").view(n * 8, (8,)), t)

    k = KernelBuilder("k", kind="vector", blocks=1, args=[Arg("x", F32, 4096), Arg("y", F32, 4096, "out")])
    with k.vector():
        flat = [k.alloc("ub", (8,), F32) for _ in range(30)]
        for n, t in enumerate(flat):
            k.load(t, k.gm("x").view(n * 8, (8,)))
        for n, t in enumerate(flat):
            k.vadds(t, t, 1.0)
            k.store(k.gm("y").view(n * 8, (8,)), t)
        with k.loop(0, 4):
            many(k)
    op = finished(k.finish())
    assert op is not None
    assert sanitize(to_kernel(op)) == []


def test_flags_are_written_once_only():
    k = KernelBuilder("k", kind="vector", blocks=1, args=[])
    with k.vector():
        k.pipe_barrier("V")
    with pytest.raises(GeError, match="there already") as e:
        insert_sync(k.finish())
    assert e.value.code == "GE1403"


def test_overflow_lists_the_tiles():
    k = KernelBuilder("big", kind="vector", blocks=1, args=[])
    with k.vector(), k.loop(0, 3):
        small = k.alloc("ub", (100,), F32, name="small")
        large = k.alloc("ub", (25000,), F32, buffers=2, name="large")
        k.vdup(small, 0.0)
        k.vdup(large, 0.0)
        k.vadds(small, small, 1.0)
    with pytest.raises(GeError) as e:
        allocate_kernel(k.finish(), load_target())
    assert e.value.code == "GE1402"
    assert "ub overflow: tiles need 200416 bytes at once, ascend910b1 has 196608" in str(e.value)
    assert [line.strip() for line in e.value.details] == [
        "200000 bytes  large : 25000xf32, ub x 2 buffers",
        "416 bytes  small : 100xf32, ub",
    ]


def test_sibling_loops_share_ids_rather_than_fall_back_to_barriers():
    """Six peeled cases in one loop, each with its own double-buffered tiles: 24 ids per pair if nothing were shared."""
    k = KernelBuilder("k", kind="vector", blocks=1, args=[Arg("x", F32, 1 << 16), Arg("y", F32, 1 << 16, "out")])
    with k.vector(), k.loop(0, 3) as i:
        for case in range(6):
            with k.once_if_less(i, case), k.loop(0, 512, 64) as j:
                at = i * 4096 + j + case * 512
                a, b = (k.alloc("ub", (64,), F32, buffers=2) for _ in range(2))
                k.load(a, k.gm("x").view(at, (64,)))
                k.load(b, k.gm("x").view(at, (64,)))
                k.vadd(b, a, b)
                k.store(k.gm("y").view(at, (64,)), b)
    op = finished(k.finish())
    assert op is not None
    assert sanitize(to_kernel(op)) == []
    assert "pipe = ALL" not in str(op)
    assert "slots = 2" in str(op)
