"""Every arithmetic, activation, reduction, normalisation and search op as a kernel, in every float type it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from gedialect.analysis.fusibility import F32_EXPANSIONS
from gedialect.analysis.graph import graph_function
from gedialect.dialects.ge import op_class
from gedialect.interpreter import input_names
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.testing.agree import check_levels

sys.path.append(str(Path(__file__).parents[1] / "dialects" / "ge"))

from samples import SAMPLES, Sample

HOST = {"ge.batch_norm_training"}
"""Ops without a kernel."""
PRODUCTS = {"ge.attention", "ge.ffn"}
"""Ops that expand to matrix products, which f64 has no unit for."""


def module_of(sample: Sample) -> tuple[ModuleOp, list[Any]]:
    """A function of one op, and its inputs."""
    present = [o for o in sample.operands if o is not None]
    block = Block(arg_types=[tensor_type(Spec(dtypes.from_numpy(o.dtype), o.shape)) for o in present])
    values = iter(block.args)
    given = None if sample.result is None else [Spec(dtypes.from_numpy(sample.result), sample.operands[0].shape)]
    operands = [None if o is None else next(values) for o in sample.operands]
    op = op_class(sample.op).make(operands, sample.attrs, results=given)
    block.add_ops([op, ReturnOp(*op.results)])
    types = ([a.type for a in block.args], [r.type for r in op.results])
    return ModuleOp([FuncOp("main", types, Region(block))]), present


def on_host(op: Any) -> bool:
    """Whether the op has no kernel for these operands."""
    specs = [spec_of(v.type) for v in (*op.operands, *op.results)]
    empty = any(0 in s.shape for s in specs)
    inexact = op.name in F32_EXPANSIONS or op.name in PRODUCTS
    return empty or op.name in HOST or (inexact and specs[0].dtype is dtypes.F64)


@pytest.mark.parametrize("name", sorted({s.op for s in SAMPLES}))
def test_op(name: str) -> None:
    for sample in (s for s in SAMPLES if s.op == name):
        floats = any(o is not None and o.dtype == np.float32 for o in sample.operands)
        for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64) if floats else (np.float32,):
            module, arrays = module_of(sample.of_type(dtype))
            function = graph_function(module)
            op = next(iter(function.body.block.ops))
            if not all(spec_of(r.type).is_static for r in op.results):
                continue  # sizes known at run time
            inputs = dict(zip(input_names(function), arrays, strict=True))
            with np.errstate(all="ignore"):
                check_levels(module, ("O2",), inputs=inputs, host_ops=int(on_host(op)))
