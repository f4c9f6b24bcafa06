"""Plans are sound on random graphs, and unsound ones are found.

The plan is also executed: every op reads and writes its operands and results at their planned bytes.
"""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from ge_graphs import graphs, module_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Block, Operation, Region

from gedialect import interpreter
from gedialect.analysis.constness import const_derived
from gedialect.analysis.graph import graph_block, graph_function
from gedialect.analysis.plan_verifier import verify_plan
from gedialect.dialects.ge.attrs import KernelAttr, PlaceAttr
from gedialect.dialects.ge.base import is_view
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import DYNAMIC, Spec, spec_of
from gedialect.transforms.plan_memory import PlanMemoryPass
from gedialect.transforms.verify_plan import VerifyPlanPass

RANDOM = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def plan(module, **options):
    PlanMemoryPass(**options).apply(GeContext(), module)
    return {
        k.removeprefix("ge."): v.value.data for k, v in graph_function(module).attributes.items() if "workspace" in k
    }


def execute(module, inputs):
    """Runs the graph on the planned bytes; what a wrong plan overwrites is wrong in the result."""
    block = graph_block(module)
    total = graph_function(module).attributes["ge.workspace"].value.data
    workspace = np.full(total, 0xAB, np.uint8)
    results = [np.zeros(spec_of(v.type).nbytes, np.uint8) for v in block.last_op.operands]
    constant = const_derived(block)
    where, fixed = {}, dict(zip(block.args, inputs, strict=True))

    def read(value):
        if value in fixed:
            return fixed[value]
        buffer, offset = where[value]
        spec = spec_of(value.type)
        return buffer[offset : offset + spec.nbytes].view(spec.dtype.numpy).reshape(spec.shape)

    for op in block.ops:
        if op is block.last_op:
            break
        if is_view(type(op)):
            source, result = op.operands[0], op.results[0]
            if source in fixed:
                fixed[result] = fixed[source].reshape(spec_of(result.type).shape)
            else:
                where[result] = where[source]
            continue
        arrays = interpreter.run_op(op, {v: read(v).copy() for v in op.operands})
        if op.results[0] in constant:
            fixed.update(zip(op.results, arrays, strict=True))
            continue
        if "scratch_place" in op.attributes:
            at = op.attributes["scratch_place"].at.data
            workspace[at : at + op.attributes["kernel"].scratch.data] = 0xCD
        for result, array, place in zip(op.results, arrays, op.attributes["place"], strict=True):
            inside = place.region.data == "workspace"
            where[result] = (workspace, place.at.data) if inside else (results[place.at.data], 0)
            read(result)[...] = array
    return [read(v).copy() for v in block.last_op.operands]


def inputs_of(module):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(spec_of(a.type).shape, np.float32) * 0.1 for a in graph_block(module).args]


def expected(module, inputs):
    return interpreter.run_block(graph_block(module), inputs)


def check_runs(module):
    inputs = inputs_of(module)
    for got, want in zip(execute(module, inputs), expected(module, inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@given(graphs())
@RANDOM
def test_random_plans_hold(module):
    figures = plan(module)
    checked = verify_plan(module)
    assert checked.lower_bound == figures["workspace_lower_bound"] <= figures["workspace"]
    assert figures["workspace"] <= figures["workspace_no_reuse"] == checked.no_reuse
    check_runs(module)
    apart = plan(module, reuse=False)
    assert apart["workspace"] == apart["workspace_no_reuse"] == figures["workspace_no_reuse"]
    assert apart["workspace_lower_bound"] == figures["workspace_lower_bound"]
    verify_plan(module)
    check_runs(module)


@given(graphs(), st.integers(0, 10**6), st.sampled_from([512, -512, 1024, 1536, -4096, 100]))
@RANDOM
def test_a_corrupted_offset_is_found_or_harmless(module, seed, by):
    plan(module)
    placed = [
        (op, i)
        for op in graph_block(module).ops
        if "place" in op.attributes
        for i, p in enumerate(op.attributes["place"])
        if p.region.data == "workspace"
    ]
    if not placed:
        return
    op, i = placed[seed % len(placed)]
    entries = list(op.attributes["place"])
    entries[i] = PlaceAttr.workspace(max(0, entries[i].at.data + by))
    op.attributes["place"] = ArrayAttr(entries)
    try:
        verify_plan(module)
        found = None
    except GeError as error:
        found = error.code
    if found is None:
        check_runs(module)
    else:
        assert found in ("GE1401", "GE1405")


@given(graphs())
@RANDOM
def test_plans_do_not_depend_on_what_was_planned_before(module):
    first = plan(module)
    text = str(module)
    plan(module, reuse=False)
    assert plan(module) == first
    assert str(module) == text


def fused(b: GeBuilder, operands, build, scratch=0):
    """A fusion of what ``build`` makes of its arguments."""
    body = Block(arg_types=[v.type for v in operands])
    results = build(GeBuilder(body), *body.args)
    body.add_op(YieldOp.create(operands=results))
    op = FusionOp.of(operands, Region(body))
    op.attributes["kernel"] = KernelAttr.get("vector", [1], 1, scratch)
    b.insert(op)
    return op.results


X = Spec(F32, (64, 64))


def places(module):
    return [
        [(p.region.data, p.at.data) for p in op.attributes["place"]]
        for op in graph_block(module).ops
        if "place" in op.attributes
    ]


def test_scratch_is_planned_while_its_kernel_runs():
    def build(b, x):
        (y,) = fused(b, [x], lambda f, v: [f.exp(v)], scratch=1000)
        (z,) = fused(b, [y], lambda f, v: [f.exp(v)], scratch=3000)
        return [b.exp(z)]

    module = module_of([X], build)
    figures = plan(module)
    assert figures["workspace"] == 2 * X.nbytes + 3072
    assert figures["workspace_no_reuse"] == 2 * X.nbytes + 3072 + 1024
    verify_plan(module)
    check_runs(module)
    first = next(iter(graph_block(module).ops))
    first.attributes["scratch_place"] = first.attributes["place"].data[0]
    with pytest.raises(GeError, match="share bytes"):
        verify_plan(module)


def test_outputs_are_produced_in_place():
    def build(b, x):
        a = b.exp(x)
        flat = b.reshape(a, shape=[4096])
        c = b.splat(1.0, F32, (2,))
        return [flat, a, x, c, b.exp(c), b.exp(a)]

    module = module_of([X], build)
    figures = plan(module)
    assert figures["workspace"] == 0
    # a as output 0 through its view; output 1 is copied from it; inputs and constants have no place
    assert places(module) == [[("output", 0)], [("output", 5)]]
    verify_plan(module)


def test_a_view_keeps_its_base_alive():
    def build(b, x):
        a = b.exp(x)
        view = b.reshape(a, shape=[4096])
        c = b.exp(b.exp(x))
        return [b.concat([view, b.reshape(c, shape=[4096])], concat_dim=0)]

    module = module_of([X], build)
    plan(module)
    check_runs(module)
    ops = list(graph_block(module).ops)
    ops[2].attributes["place"] = ops[0].attributes["place"]
    with pytest.raises(GeError, match="share bytes") as e:
        verify_plan(module)
    assert e.value.code == "GE1401"


def test_unread_results_need_room_while_their_op_runs():
    def build(b, x):
        kept, _ = b.split(b.exp(x), size_splits=[32, 32], split_dim=0)
        return [b.exp(kept)]

    module = module_of([X], build)
    assert plan(module)["workspace"] == 2 * X.nbytes
    check_runs(module)


def test_in_place_needs_the_last_use_and_no_repetition():
    def build(b, x):
        row = b.exp(b.splat(0.0, F32, (1, 64)))
        (a,) = fused(b, [x], lambda f, v: [f.exp(v)])
        (c,) = fused(b, [a, row], lambda f, v, r: [f.add(v, r)])  # a dies: in place
        (d,) = fused(b, [c], lambda f, v: [f.exp(v)])  # c is read again: not in place
        (e,) = fused(b, [c, d], lambda f, v, w: [f.add(v, w)])
        return [b.exp(e)]

    def build_two(b, x):
        (a,) = fused(b, [x], lambda f, v: [f.exp(v)])
        c, d = fused(b, [a], lambda f, v: [f.exp(v), f.neg(v)])
        return [b.exp(c), b.exp(d)]

    def build_views(b, x):
        (a,) = fused(b, [x], lambda f, v: [f.exp(v)])
        t = b.reshape(b.reshape(a, shape=[4096]), shape=[64, 64])
        (c,) = fused(b, [t], lambda f, v: [f.exp(v)])
        return [b.exp(c)]

    for make, plain, better in ((build, 3, 2), (build_two, 3, 2), (build_views, 2, 1)):
        module = module_of([X], make)
        assert plan(module)["workspace"] == plain * X.nbytes
        check_runs(module)
        assert plan(module, in_place=True)["workspace"] == better * X.nbytes
        verify_plan(module)
        check_runs(module)


def test_places_missing_superfluous_or_out_of_bounds():
    def build(b, x):
        return [b.exp(b.reshape(b.exp(b.exp(x)), shape=[4096]))]

    def broken(change):
        module = module_of([X], build)
        plan(module)
        change(module, list(graph_block(module).ops))
        with pytest.raises(GeError) as e:
            verify_plan(module)
        return e.value

    def set_place(index, *entries):
        def change(module, ops: list[Operation]):
            ops[index].attributes["place"] = ArrayAttr(entries)

        return change

    def set_total(module, ops):
        graph_function(module).attributes["ge.workspace"] = IntegerAttr(512, i64)

    assert "no place" in broken(lambda m, ops: ops[0].attributes.pop("place")).message
    assert "no place" in broken(set_place(0)).message
    assert "of its own" in broken(set_place(2, PlaceAttr.workspace(0))).message
    assert "multiple of 512" in broken(set_place(0, PlaceAttr.workspace(8))).message
    assert "of a workspace of" in broken(set_place(0, PlaceAttr.workspace(2**40))).message
    assert "of a workspace of" in broken(set_total).message
    assert "another value" in broken(set_place(0, PlaceAttr.output(0))).message
    assert "another value" in broken(set_place(0, PlaceAttr.output(7))).message
    assert "run plan-memory" in str(broken(lambda m, ops: graph_function(m).attributes.clear()))


def test_unknown_sizes_are_refused():
    module = module_of([Spec(F32, (DYNAMIC, 4))], lambda b, x: [b.exp(b.exp(x))])
    with pytest.raises(GeError, match="unknown size") as e:
        plan(module)
    assert e.value.code == "GE1014"


def test_thousands_of_buffers_plan_fast():
    def build(b, x):
        r = random.Random(1)
        values = [x]
        for _ in range(4000):
            values.append(b.add(values[-1], values[-r.choice([1, 1, 1, 2, 3, 9]) :][0]))
        return values[-1:]

    module = module_of([X], build)
    start = time.process_time()
    figures = plan(module)
    spent = time.process_time() - start
    VerifyPlanPass().apply(GeContext(), module)
    assert figures["workspace"] <= 1.1 * figures["workspace_lower_bound"]
    assert spent < 2  # 0.2 s alone; machines that run tests are busy
