"""Builds a group, compiles its kernel and runs it in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block, Region, SSAValue

import gedialect.dialects.ge  # noqa: F401
from gedialect.dialects.ge.attrs import KernelAttr
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.fusion import FusionOp, YieldOp
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.runtime.simulator import Machine
from gedialect.targets import load_target
from lowering.emit.kernel import emit_kernel
from lowering.kernels.generators import finish_kernel, generator_of

TARGET = load_target()
Body = Callable[..., "SSAValue | Sequence[SSAValue]"]


def group(arrays: Sequence[Any], body: Body) -> FusionOp:
    """A ``ge.fusion`` whose operands have the arrays' types; ``body(builder, *values)`` gives its result or
    results."""
    types = [tensor_type(Spec(dtypes.from_numpy(a.dtype), a.shape)) for a in arrays]
    outer = Block(arg_types=types)
    block = Block(arg_types=types)
    b = GeBuilder(block)
    result = body(b, *block.args)
    block.add_op(YieldOp.create(operands=[result] if isinstance(result, SSAValue) else list(result)))
    fusion = FusionOp.of(list(outer.args), Region(block))
    outer.add_op(fusion)
    return fusion


class Run:
    """A compiled group: ``run.kernel`` decoded, ``run.ys`` its results, ``run.y`` the first."""

    def __init__(self, arrays: Sequence[Any], body: Body, attr: KernelAttr | None = None, *, verify: bool = True):
        self.fusion = group(arrays, body)
        generator = generator_of(self.fusion)
        self.attr = attr or generator.select(self.fusion, TARGET)
        op = generator.lower(self.fusion, "k", self.attr, TARGET)
        finish_kernel(op, TARGET)
        if verify:
            op.verify()
        self.data = emit_kernel(op)
        self.machine = Machine(sanitize=verify)
        self.kernel = self.machine.load(self.data)
        self.ys = self.execute(arrays, [spec_of(r.type) for r in self.fusion.results])
        self.y = self.ys[0]

    def execute(self, arrays: Sequence[Any], specs: Sequence[Spec]) -> list[Any]:
        outs = [np.empty(spec.shape, spec.dtype.numpy) for spec in specs]
        scratch = [np.empty(a.nbytes, np.uint8) for a in self.kernel.args if a.role == "workspace"]
        for out in (*outs, *scratch):
            out.reshape(-1).view(np.uint8).fill(0xAB)
        regions = []
        for a in (*[np.ascontiguousarray(a) for a in arrays], *outs, *scratch):
            flat = a.reshape(-1).view(np.uint8)
            regions.append((flat, 0, flat.nbytes))
        execute(self.machine, self.kernel, regions)
        return outs

    @property
    def instructions(self) -> int:
        """Instructions that all blocks together execute, flags and barriers aside."""
        return sum(count(self.kernel.cube.body, [b]) for b in range(self.kernel.blocks))


def execute(machine: Any, kernel: Any, regions: Any) -> None:
    machine.run(kernel, regions)


def count(body: Any, env: list[int]) -> int:
    """Instructions executed; ``env`` holds block_idx and the loop variables."""
    total = 0
    for item in body:
        if hasattr(item, "body"):
            lo, hi = _value(item.lo, env), _value(item.hi, env)
            for i in range(lo, hi, item.step):
                total += count(item.body, [*env, i])
        elif item.op.pipe.name != "S":
            total += 1
    return total


def _value(form: Any, env: list[int]) -> int:
    return form.const + sum(c * (env[0] if v == 0 else env[v - 1]) for v, c in form.terms)


def close(y: Any, want: Any, tolerance: float = 1e-5) -> None:
    """The largest difference is at most ``tolerance`` of the largest value."""
    assert y.shape == want.shape
    assert y.dtype == want.dtype
    y, want = y.astype(np.float64), want.astype(np.float64)
    scale = max(float(np.max(np.abs(want), initial=0)), 1e-6)
    error = float(np.max(np.abs(y - want), initial=0)) if not np.isnan(y).any() else float("nan")
    assert error <= tolerance * scale, f"off by {error / scale:.2e} of {scale:.3g}"


def onnx_run(op: str, arrays: Sequence[Any], **attrs: Any) -> Any:
    """One ONNX node in onnxruntime, graph optimisation off."""
    import onnxruntime
    from onnx import helper

    names = [f"x{i}" for i in range(len(arrays))]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
    ]
    y = helper.make_tensor_value_info("y", inputs[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attrs)], "g", inputs, [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, arrays, strict=True)))[0]
