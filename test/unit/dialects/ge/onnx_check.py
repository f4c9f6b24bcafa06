"""Checks ge ops against onnxruntime: one-node ONNX models, graph optimisation off."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from gedialect.analysis.primitives import expand_all
from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs, FusionClass, GeOp
from gedialect.interpreter import run
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec, tensor_type

Array = npt.NDArray[Any]


def spec(array: Array) -> Spec:
    return Spec(dtypes.from_numpy(array.dtype), array.shape)


def onnx_run(
    op_type: str,
    inputs: list[Array | None],
    attrs: dict[str, Any],
    *,
    opset: int = 21,
    outputs: int = 1,
    domain: str = "",
) -> list[Array]:
    """Results of a one-node model in onnxruntime."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, domain=domain, **attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
        if a is not None
    ]
    outs = [onnx.ValueInfoProto(name=r) for r in results]
    model = helper.make_model(
        helper.make_graph([node], "g", infos, outs), opset_imports=[helper.make_opsetid("", opset)], ir_version=10
    )
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {n: a for n, a in zip(names, inputs, strict=True) if a is not None})


def _map(operands: list[Any], f: Any) -> list[Any]:
    return [None if o is None else [f(v) for v in o] if isinstance(o, list) else f(o) for o in operands]


def ge_run(mnemonic: str, operands: list[Any], attrs: dict[str, Any], results: list[Spec] | None = None) -> list[Array]:
    """Results of ``evaluate``; also checks that they have exactly the inferred types, and that inference with
    every size unknown agrees wherever it commits itself."""
    cls = op_class(mnemonic)
    given = Attrs(attrs, results or ())
    want = list(cls.infer(given, *_map(operands, spec)))
    with np.errstate(all="ignore"):
        got = cls.evaluate(Attrs(attrs, results or want), *operands)
    arrays = list(got) if isinstance(got, tuple) else [got]
    assert len(arrays) == len(want)
    for array, w in zip(arrays, want, strict=True):
        assert array.dtype == w.dtype.numpy, (array.dtype, w)
        assert array.ndim == w.rank, (array.shape, w)
        assert all(b in (DYNAMIC, a) for a, b in zip(array.shape, w.shape, strict=True)), (array.shape, w)
    return arrays


def unknown(mnemonic: str, operands: list[Any], attrs: dict[str, Any], results: list[Spec] | None = None) -> list[Spec]:
    """Inferred specs when no size of an operand is known, but the lengths of i64 vectors, which tell ranks."""
    loose = _map(
        operands, lambda a: Spec(spec(a).dtype, a.shape if a.dtype == np.int64 and a.ndim == 1 else (DYNAMIC,) * a.ndim)
    )
    return list(op_class(mnemonic).infer(Attrs(attrs, results or ()), *loose))


def same(got: list[Array], want: list[Array], tolerance: float = 0.0) -> None:
    """Equal dtypes, shapes and values; ``tolerance`` is relative to the largest value."""
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        assert g.shape == w.shape
        if tolerance and w.size:
            a, b = g.astype(np.float64), w.astype(np.float64)
            np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
            finite = np.isfinite(b)
            scale = np.abs(b[finite]).max(initial=1e-30)
            assert np.abs(a[finite] - b[finite]).max(initial=0) <= tolerance * scale
        else:
            np.testing.assert_array_equal(g, w)


def static_dims_agree(specs: list[Spec], arrays: list[Array]) -> None:
    """Sizes that inference commits itself to are the real ones."""
    for s, a in zip(specs, arrays, strict=True):
        assert s.rank == a.ndim
        assert all(d in (DYNAMIC, n) for d, n in zip(s.shape, a.shape, strict=True)), (s, a.shape)


def expanded(mnemonic: str, operands: list[Any], attrs: dict[str, Any], results: list[Spec] | None = None) -> list[Any]:
    """Results of the op's expansion, run op by op; every op of it is primitive, a view or ge.expand."""
    present = [o for o in operands if o is not None]
    block = Block(arg_types=[tensor_type(spec(o)) for o in present])
    values = iter(block.args)
    op = op_class(mnemonic).make([None if o is None else next(values) for o in operands], attrs, results=results)
    types = [r.type for r in op.results]
    block.add_ops([op, ReturnOp(*op.results)])
    expand_all(block)
    module = ModuleOp([FuncOp("main", ([a.type for a in block.args], types), Region(block))])
    module.verify()
    for inner in block.ops:
        if isinstance(inner, GeOp) and inner.name != "ge.constant":
            assert inner.PRIMITIVE is not None or inner.FUSION_CLASS in (FusionClass.VIEW, FusionClass.BROADCAST)
    return list(run(module, present).values())
