"""Every expansion computes what ``evaluate`` computes; those of element-wise ops and reductions are primitive."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_check import spec
from samples import SAMPLES, Sample
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from gedialect.analysis.primitives import expand_all
from gedialect.dialects.ge import op_class, op_classes
from gedialect.dialects.ge.base import Attrs, FusionClass, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.interpreter import run
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec, tensor_type

TOLERANCE = {"f32": 1e-5, "f16": 5e-3, "bf16": 4e-2, "f64": 1e-6}
EXPANDED = [s for s in SAMPLES if op_class(s.op).has_expansion()]


def results_of(sample: Sample) -> list[Spec]:
    cls = op_class(sample.op)
    operands = [None if o is None else spec(o) for o in sample.operands]
    operands += [None] * (len(cls.operand_kinds()) - len(operands))
    given = () if sample.result is None else (Spec(dtypes.from_numpy(sample.result), sample.operands[0].shape),)
    return list(cls.infer(Attrs(sample.attrs, given), *operands))


def evaluated(sample: Sample) -> list[Any]:
    cls = op_class(sample.op)
    padding = [None] * (len(cls.operand_kinds()) - len(sample.operands))
    with np.errstate(all="ignore"):
        got = cls.evaluate(Attrs(sample.attrs, results_of(sample)), *sample.operands, *padding)
    return list(got) if isinstance(got, tuple) else [got]


def expanded_module(sample: Sample) -> ModuleOp:
    """A function of one op, expanded to the end."""
    present = [o for o in sample.operands if o is not None]
    block = Block(arg_types=[tensor_type(spec(o)) for o in present])
    values = iter(block.args)
    operands: list[SSAValue | None] = [None if o is None else next(values) for o in sample.operands]
    op = op_class(sample.op).make(operands, sample.attrs)
    types = [r.type for r in op.results]
    block.add_ops([op, ReturnOp(*op.results)])
    expand_all(block)
    module = ModuleOp([FuncOp("main", ([a.type for a in block.args], types), Region(block))])
    module.verify()
    return module


def primitives_only(module: ModuleOp) -> None:
    for op in module.walk():
        if isinstance(op, GeOp) and not isinstance(op, ConstantOp):
            assert op.PRIMITIVE is not None or op.FUSION_CLASS is FusionClass.VIEW or op.name == "ge.slice", op.name


def close(got: list[Any], want: list[Any], tolerance: float, least: float = 0.0) -> None:
    """Within ``tolerance`` of the largest value, taken as at least ``least``."""
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        assert g.shape == w.shape
        if w.dtype.kind in "biu":
            np.testing.assert_array_equal(g, w)
            continue
        a, b = g.astype(np.float64), w.astype(np.float64)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(np.isinf(a), np.isinf(b))
        finite = np.isfinite(b)
        scale = np.abs(b[finite]).max(initial=least)
        assert np.abs(a[finite] - b[finite]).max(initial=0) <= tolerance * scale


@pytest.mark.parametrize("sample", EXPANDED, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
def test_expansion(sample: Sample, dtype: Any) -> None:
    floats = any(o is not None and o.dtype == np.float32 for o in sample.operands)
    if dtype != np.float32 and not floats:
        return
    sample = sample.of_type(dtype)
    module = expanded_module(sample)
    if op_class(sample.op).FUSION_CLASS in (FusionClass.ELEMENTWISE, FusionClass.REDUCTION):
        primitives_only(module)
    got = list(run(module, [o for o in sample.operands if o is not None]).values())
    close(got, evaluated(sample), TOLERANCE[dtypes.from_numpy(dtype).name])


EDGES = np.asarray(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, -1e-30, 88.0, -88.0, 100.0, -100.0, 1.0, -1.0], np.float32
)


UNARY = sorted(
    {
        s.op
        for s in EXPANDED
        if len(s.operands) == 1 and "reduce" not in s.op and not s.op.endswith("_glu") and s.op != "attention"
    }
)


@pytest.mark.parametrize("name", UNARY)
def test_edges(name: str) -> None:
    """NaN, infinities, zeros and large values, one at a time."""
    attrs = next(s.attrs for s in EXPANDED if s.op == name and len(s.operands) == 1)
    for value in EDGES:
        sample = Sample(
            name, (np.full((1, 1, 1), value, np.float32),), {**attrs, **({"axes": [1]} if "axes" in attrs else {})}
        )
        got = list(run(expanded_module(sample), list(sample.operands)).values())
        want = evaluated(sample)
        if name == "gelu" and np.isinf(value):
            continue  # inf * 0: either form may give NaN
        close(got, want, 1e-5, least=1.0)


def test_every_expansion_has_a_sample() -> None:
    modules = {"activation", "elementwise", "norm", "reduce", "unary", "glu", "attention", "optimizer"}
    mine = [c for c in op_classes() if c.has_expansion() and c.__module__.rsplit(".", 1)[1] in modules]
    assert {c.name.removeprefix("ge.") for c in mine} <= {s.op for s in EXPANDED}
