"""Interpreter and simulator compared: a module compiled at every level, run with the sanitizer on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from gedialect import interpreter
from gedialect.analysis.graph import graph_function
from gedialect.api import Report, Settings, compile_module
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module
from gedialect.ir.spec import Spec, spec_of

Array = npt.NDArray[Any]
TOLERANCE = {"f32": 1e-5, "f16": 5e-3, "bf16": 4e-2, "f64": 1e-12}
"""Largest difference allowed, relative to the largest value; other types must be equal bit for bit."""


def parse(text: str) -> ModuleOp:
    """A verified module from text."""
    module = parse_module(GeContext(), text)
    module.verify()
    return module


def random_inputs(module: ModuleOp, seed: int = 0) -> dict[str, Array]:
    """Normal floats, small integers and coin tosses for the graph's inputs."""
    rng = np.random.default_rng(seed)
    function = graph_function(module)
    specs = [spec_of(t) for t in function.function_type.inputs]
    return dict(zip(interpreter.input_names(function), (random_array(rng, s) for s in specs), strict=True))


def random_array(rng: np.random.Generator, spec: Spec) -> Array:
    """One random array of ``spec``."""
    if spec.dtype.kind == "b":
        return rng.random(spec.shape) < 0.5
    if spec.dtype.is_int:
        low = 0 if spec.dtype.kind == "u" else -9
        return rng.integers(low, 10, spec.shape).astype(spec.dtype.numpy)
    return rng.normal(size=spec.shape).astype(spec.dtype.numpy)


def check_levels(
    module: ModuleOp | str,
    levels: Sequence[str] = ("O0", "O1", "O2", "O3"),
    *,
    inputs: Mapping[str, Any] | None = None,
    host_ops: int | None = 0,
    tolerance: Mapping[str, float] = TOLERANCE,
) -> list[Report]:
    """Compile and run a module at each level; AssertionError where the simulator and the interpreter differ, where
    the sanitizer finds something, or where more than ``host_ops`` ops run on the host (None: any number)."""
    source = parse(module) if isinstance(module, str) else module
    given = random_inputs(source) if inputs is None else inputs
    expected = interpreter.run(source, given)
    reports: list[Report] = []
    for level in levels:
        executable = compile_module(source.clone(), Settings(level))
        outputs = executable.run(given, sanitize=True)
        for name, want in expected.items():
            compare(outputs[name], want, f"{name} at {level}", tolerance)
        report = executable.report
        assert host_ops is None or len(report.host_ops) <= host_ops, report.host_ops
        reports.append(report)
    return reports


def compare(got: Array, want: Array, what: str, tolerance: Mapping[str, float] = TOLERANCE) -> None:
    """AssertionError unless ``got`` has the dtype, the shape and (within its tolerance) the values of ``want``."""
    from gedialect.ir import dtypes

    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    limit = tolerance.get(dtypes.from_numpy(want.dtype).name)
    if limit is None:
        assert np.array_equal(got, want), f"{what}: {int((got != want).sum())} of {want.size} elements differ"
        return
    if want.size == 0:
        return
    g, w = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(w)
    assert np.array_equal(g[~finite], w[~finite], equal_nan=True), f"{what}: inf or nan differ"
    if finite.any():
        scale = max(float(np.abs(w[finite]).max()), 1e-30)
        error = float(np.abs(g[finite] - w[finite]).max()) / scale
        assert error <= limit, f"{what}: relative difference {error:.2e}, limit {limit:g}"
