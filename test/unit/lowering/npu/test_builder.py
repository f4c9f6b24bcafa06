"""The builder, its views, and the text of what it builds."""

from __future__ import annotations

import ast
import io
import runpy
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.npu import NPU, KernelOp
from gedialect.errors import GeError
from gedialect.ir.dtypes import F16, F32, I1, I32
from lowering.kernels.builder import Affine, Arg, KernelBuilder

ROOT = Path(__file__).parents[4]


def sample() -> KernelOp:
    k = KernelBuilder("k", kind="vector", blocks=2, args=[Arg("x", F32, 4096), Arg("a b:0", F32, 4096, "out")])
    with k.vector(), k.loop(k.block_idx * 512, k.block_idx * 512 + 512, 128) as i:
        t = k.alloc("ub", (2, 64), F32, buffers=2, name="x")
        k.load(t, k.gm("x").view(i, (2, 64)))
        k.vmaxs(t, t, float("-inf"))
        k.vmuls(t, t, 1e-5)
        k.vcmps(k.alloc("ub", (2, 64), I1), t, "lt", 3)
        k.store(k.gm("a b:0").tensor((8, 128)).window((i, 5), (2, 64)), t[:, :].permute((0, 1)))
    return k.finish()


def parse(text: str) -> KernelOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(NPU)
    op = Parser(context, text).parse_op()
    op.verify()
    assert isinstance(op, KernelOp)
    return op


def test_text_reads_back_in_both_forms():
    op = sample()
    op.verify()
    text = str(op)
    assert str(parse(text)) == text
    generic = io.StringIO()
    Printer(generic, print_generic_format=True).print_op(op)
    assert str(parse(generic.getvalue())) == text


def test_affine_arithmetic():
    k = KernelBuilder("k", kind="vector", blocks=2, args=[])
    with k.vector():
        b = k.block_idx
        e = 3 * (b + 2) - b * 2 + (1 - b)
        assert (e.const, list(e.terms.values())) == (7, [0])
        assert (b * 8 + 4).divided(4).const == 1
        with pytest.raises(GeError):
            (b * 6).divided(4)
        assert Affine.of(5).const == 5


def test_views_compose():
    k = KernelBuilder("k", kind="vector", blocks=1, args=[Arg("x", F32, 4 * 1000)])
    with k.vector():
        t = k.alloc("ub", (4, 6, 8), F32)
        v = t[1:3, ::2, 3]
        assert (v.shape, v.strides, v.offset.const) == ((2, 3), (48, 16), 48 + 3)
        assert v.permute((1, 0)).strides == (16, 48)
        assert t[0, 0].broadcast((5, 8)).strides == (0, 1)
        assert t.reshape((24, 8))[2].offset.const == 16
        assert t.view(8, (4,), dtype=F16).shape == (4,)
        assert t[1].view(0, (4,), dtype=F16).offset.const == 96
        assert t[0].expand_dims(-1).shape == (6, 8, 1)
        with pytest.raises(GeError):
            t.permute((2, 1, 0)).reshape((192,))
        with pytest.raises(GeError):
            t.broadcast((3, 6, 8))
        i = k.block_idx
        w = k.gm("x").tensor((10, 100)).window((i * 2, 5), (2, 4))
        assert (w.strides, w.offset.const, list(w.offset.terms.values())) == ((100, 1), 5, [200])


def test_a_view_made_in_a_loop_is_made_again_outside():
    k = KernelBuilder("k", kind="vector", blocks=1, args=[])
    with k.vector():
        t = k.alloc("ub", (4, 4), F32)
        part = t[0]
        k.vdup(t, 0.0)
        with k.loop(0, 2):
            k.vadds(part, part, 1.0)
        k.vadds(part, part, 1.0)
        k.vadds(part, part, 1.0)
    op = k.finish()
    op.verify()
    assert str(op).count("npu.view") == 2
    parse(str(op))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda k, t: k.vadd(t, t, t[:2]), "differ in shape"),
        (lambda k, t: k.vadd(t, t, t.view(0, (4, 4), dtype=I32)), "is i32, expected f32"),
        (lambda k, t: k.vand(t, t, t), "does not take f32"),
        (lambda k, t: k.load(t, t), "lies in ub, load takes gm"),
        (lambda k, t: k.vreduce_sum(t, t), "cannot give"),
        (lambda k, t: k.set_flag("V", "V", 0), "two different pipes"),
        (lambda k, t: k.set_flag("V", "MTE3", 7, slots=2), "not within 0 to 7"),
        (lambda k, t: k.cross_core_set(11, "MTE3"), "not within 0 to 10"),
        (lambda k, t: k.vcmps(t.view(0, (4, 4), dtype=I1), t, "about", 1), "expected eq, ne"),
        (lambda k, t: k.vadds(t, t, None), "'scalar' is missing"),
    ],
)
def test_the_verifier_names_what_is_wrong(build, message):
    k = KernelBuilder("k", kind="vector", blocks=1, args=[])
    with k.vector():
        build(k, k.alloc("ub", (4, 4), F32))
    with pytest.raises(VerifyException, match=message):
        k.finish().verify()


def test_several_buffers_need_a_loop():
    k = KernelBuilder("k", kind="vector", blocks=1, args=[])
    with k.vector():
        k.alloc("ub", (4,), F32, buffers=2)
    with pytest.raises(VerifyException, match="need a loop"):
        k.finish().verify()


def test_methods_are_those_of_the_table():
    made = runpy.run_path(str(ROOT / "tools" / "gen_instructions.py"))["text"]()
    kept = (ROOT / "lowering" / "kernels" / "instructions.py").read_text()
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(kept))
