"""Constness, aliasing, liveness and op counts on small graphs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from gedialect.analysis.aliasing import root, roots
from gedialect.analysis.constness import const_derived, is_const_derived
from gedialect.analysis.liveness import BEFORE, liveness
from gedialect.analysis.opcount import count_ops
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import Spec, tensor_type

X = Spec(F32, (4, 6))


def graph(build):
    block = Block(arg_types=[tensor_type(X)])
    b = GeBuilder(block)
    outputs = build(b, block.args[0])
    block.add_op(ReturnOp(*outputs))
    function = FuncOp("main", ([block.args[0].type], [v.type for v in outputs]), Region(block))
    return ModuleOp([function]), block, b


def test_const_derived_follows_pure_ops_only():
    kept = {}

    def build(b, x):
        c = b.splat(2.0, F32, (4, 6))
        kept["derived"] = b.exp(b.reshape(c, shape=[24]))
        kept["mixed"] = b.add(x, c)
        body = Block(arg_types=[c.type])
        body.add_op(YieldOp.create(operands=[GeBuilder(body).exp(body.args[0])]))
        kept["fused"] = b.insert(FusionOp.of([c], Region(body))).results[0]
        return [kept["mixed"]]

    _, block, _ = graph(build)
    found = const_derived(block)
    for name, want in (("derived", True), ("mixed", False), ("fused", False)):
        assert (kept[name] in found) is want
        assert is_const_derived(kept[name]) is want
    assert not is_const_derived(block.args[0])
    assert kept["mixed"] in const_derived(block, known=block.args)


def test_views_share_their_root_and_lengthen_its_life():
    kept = {}

    def build(b, x):
        a = kept["a"] = b.exp(x)
        v = kept["v"] = b.reshape(b.unsqueeze(a, axes=[0]), shape=[24])
        w = kept["w"] = b.reshape(x, shape=[24])
        kept["dead"] = b.exp(a)
        return [b.add(v, w), v]

    _, block, _ = graph(build)
    assert root(kept["v"]) is kept["a"]
    assert root(kept["w"]) is block.args[0]
    assert roots(block)[kept["v"]] is kept["a"]
    live = liveness(block)
    a, dead, x = live.of(kept["v"]), live.of(kept["dead"]), live.of(block.args[0])
    assert (a.start, a.end) == (0, 6)  # returned by the terminator, position 6
    assert (dead.start, dead.end) == (4, 4)
    assert (x.start, x.end) == (BEFORE, 5)
    assert not dead.overlaps(live.of(live.outputs[0]))
    assert live.outputs[1] is kept["v"]


def test_op_count():
    def build(b, x):
        c = b.splat(2.0, F32, (4, 6))
        d = b.exp(c)
        y = b.add(b.exp(b.reshape(b.reshape(x, shape=[24]), shape=[4, 6])), d)
        body = Block(arg_types=[y.type, d.type])
        f = GeBuilder(body)
        t = f.reshape(f.mul(f.exp(body.args[1]), f.relu(body.args[0])), shape=[24])  # exp of a constant
        body.add_op(YieldOp.create(operands=[t]))
        return [b.insert(FusionOp.of([y, d], Region(body))).results[0]]

    module, _, _ = graph(build)
    assert count_ops(module) == 2 + 2
