"""A model in onnxruntime (graph optimisation off), in the interpreter and in the simulator at every level.

How far results may lie apart is measured, not guessed: onnxruntime runs the model again with every float result changed
by a random rounding error. What that does to the outputs, several times over, is the slack; integers and bools that it
turns are not compared. So a comparison next to its threshold is no finding, and a wrong number is.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from gedialect.errors import GeError
from gedialect.switches import Switches

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

Array = npt.NDArray[Any]
INTERPRETER = "interpreter"
LEVELS = ("O0", "O1", "O2", "O3")
STAGES = (INTERPRETER, *LEVELS)
TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 5e-3}
"""Relative to the largest value of the output, beside the slack."""
NOISE = {"float64": 1e-12, "float32": 2e-6, "float16": 2.0**-10}
"""Rounding error put on every float result, relative to the value."""
EXACT = frozenset({"Resize", "Upsample", "Pow", "Range"})
"""Operators with weights that are no data: sizes follow from them, or the domain of a function."""
CANCELS = frozenset({"Gelu", "BiasGelu", "FastGelu", "QuickGelu", "Elu", "Selu", "Celu"})
"""Operators that take the difference of numbers near 1: their error is not relative to the result."""
PAIRS = 2
"""Draws of rounding errors, each with one sign and with the other."""
SURE = 6
"""How many times more draws are taken before a result is called wrong."""
SLACK = 8.0
"""How much more than the largest effect seen of rounding errors is allowed."""


class ReferenceFailed(Exception):
    """onnxruntime does not run the model."""


@dataclass(frozen=True)
class Expected:
    """What an output should be, and by how much each element may differ; ``unsure`` elements are not compared."""

    value: Array
    limit: Array
    unsure: npt.NDArray[np.bool_]

    def wrong(self, got: Array) -> str | None:
        """What is wrong with ``got``; None if it agrees."""
        want = self.value
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
        if want.size == 0:
            return None
        if want.dtype.kind not in "fc":
            bad = (got != want) & ~self.unsure
            sizes = bad.astype(np.float64)
        else:
            with np.errstate(all="ignore"):
                same = (got == want) | ((got != got) & (want != want))
                far = np.abs(got.astype(np.float64) - want.astype(np.float64))
                bad = ~same & ~self.unsure & ~(far <= self.limit)
                sizes = np.where(bad, np.where(np.isfinite(far), far, np.inf), -1.0)
        if not bad.any():
            return None
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
        place = f"[{', '.join(map(str, at))}]"
        return f"at {place} is {got[at]}, not {want[at]} ({int(bad.sum())} of {want.size} elements differ)"


@dataclass(frozen=True)
class Finding:
    """What is wrong at a stage. ``kind``: "wrong" result, "crash" (any error that is none of the next), or
    "unsupported". ``signature`` is equal for failures of one kind."""

    stage: str
    kind: str
    message: str
    signature: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.kind}: {self.message}"


REFERENCE_SECONDS = 20.0
"""After which a run of the reference is given up."""


def session_outputs(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of onnxruntime, graph optimisation off, one thread; ``ReferenceFailed``."""
    ort = cast(Any, importlib.import_module("onnxruntime"))  # it has no type stubs
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        wanted = {i.name for i in session.get_inputs()}
        run = ort.RunOptions()
        # a loop without end, as a reduction may leave one, ends here
        timer = threading.Timer(REFERENCE_SECONDS, lambda: setattr(run, "terminate", True))
        timer.start()
        try:
            values = session.run(names, {k: v for k, v in inputs.items() if k in wanted}, run)
        finally:
            timer.cancel()
        return dict(zip(names, values, strict=True))
    except Exception as error:  # its exceptions share no base class
        raise ReferenceFailed(str(error)[:500]) from None


def all_values(model: onnx.ModelProto, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Every value the nodes of the graph compute, by name."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    have = {o.name for o in wide.graph.output}
    for name in [n for node in wide.graph.node for n in node.output if n and n not in have]:
        wide.graph.output.append(onnx.ValueInfoProto(name=name))
    return session_outputs(wide, inputs)


def tensor(value: Any) -> Array | None:
    """An array, or None for sequences and the like."""
    return cast("Array", value) if isinstance(value, np.ndarray) else None


def with_noise(
    model: onnx.ModelProto, inputs: Mapping[str, Any], values: Mapping[str, Any], seed: int, sign: float
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model and its inputs with each float input, weight and result multiplied by 1 plus a rounding error.

    The factors are inputs of unknown shape: what onnxruntime infers of shapes is not always what it computes.
    """
    rng = np.random.default_rng(seed)

    def factor(array: Array) -> Array:
        error = sign * NOISE[array.dtype.name] * rng.choice([-1.0, -0.5, 0.5, 1.0], array.shape)
        return np.asarray(1 + error).astype(array.dtype)

    noisy = onnx.ModelProto()
    noisy.CopyFrom(model)
    given = {n: np.asarray(x * factor(x)) if x.dtype.name in NOISE else x for n, x in inputs.items()}
    exact = {name for node in model.graph.node if node.op_type in EXACT for name in node.input}
    for weight in noisy.graph.initializer:
        if weight.name not in exact and (array := numpy_helper.to_array(weight)).dtype.name in NOISE:
            weight.CopyFrom(numpy_helper.from_array(np.asarray(array * factor(array)), weight.name))
    del noisy.graph.node[:]
    for node in model.graph.node:
        copy = noisy.graph.node.add()
        copy.CopyFrom(node)
        for i, name in enumerate(node.output):
            value = tensor(values.get(name))
            if value is None or value.dtype.name not in NOISE or value.size == 0:
                continue
            cancels = node.op_type in CANCELS
            given[f"{name}__noise"] = np.asarray(4 * (factor(value) - 1)) if cancels else factor(value)
            info = onnx.ValueInfoProto(name=f"{name}__noise")
            info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
            noisy.graph.input.append(info)
            copy.output[i] = f"{name}__exact"
            noisy.graph.node.append(
                helper.make_node("Add" if cancels else "Mul", [f"{name}__exact", f"{name}__noise"], [name])
            )
    return noisy, given


def expected(
    model: onnx.ModelProto, inputs: Mapping[str, Any], seed: int = 0, pairs: int = PAIRS
) -> dict[str, Expected]:
    """What the outputs should be; ``ReferenceFailed`` if onnxruntime cannot say."""
    values = all_values(model, inputs)
    kinds = [(seed + i, sign) for i in range(pairs) for sign in (1.0, -1.0)]
    draws = [session_outputs(*with_noise(model, inputs, values, s, sign)) for s, sign in kinds]
    found: dict[str, Expected] = {}
    for output in model.graph.output:
        name = output.name
        want = tensor(values[name])
        if want is None:
            raise ReferenceFailed(f"output {name} is no tensor")
        found[name] = _expected(want, [np.asarray(d[name]) for d in draws])
    return found


def _expected(want: Array, draws: Sequence[Array]) -> Expected:
    limit = np.zeros(want.shape)
    unsure = np.zeros(want.shape, bool)
    if any(d.shape != want.shape for d in draws):  # sizes turn with rounding errors
        return Expected(want, limit, ~unsure)
    if want.dtype.name not in TOLERANCE:
        for d in draws:
            unsure |= d != want
        return Expected(want, limit, unsure)
    with np.errstate(all="ignore"):
        wide = want.astype(np.float64)
        finite = np.isfinite(wide)
        scale = float(np.abs(wide[finite]).max(initial=0.0))
        effect = np.zeros(want.shape)
        for d in draws:
            unsure |= np.isfinite(d) != finite
            effect = np.maximum(effect, np.nan_to_num(np.abs(d.astype(np.float64) - wide), posinf=0.0))
        limit = TOLERANCE[want.dtype.name] * scale + SLACK * effect
    return Expected(want, limit, unsure)


def run_stage(
    model: onnx.ModelProto | ModuleOp | str,
    inputs: Mapping[str, Any],
    stage: str,
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
) -> dict[str, Any]:
    """Outputs at a stage: the interpreter, or the simulator with the sanitizer on after compiling at a level."""
    from gedialect import api, interpreter

    shapes = {name: np.asarray(value).shape for name, value in inputs.items()}
    module = api.import_source(model, shapes)
    if stage == INTERPRETER:
        return interpreter.run(module, inputs)
    executable = api.build(module, api.Settings(stage, rules=tuple(rules), switches=switches))
    return executable.run(inputs, sanitize=True)


def signature(error: BaseException) -> str:
    """The code of an error, or the type of an exception, and the function of ours that raised it."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "gedialect" in code.co_filename or "lowering" in code.co_filename:
            place = f"{code.co_filename.rpartition('/')[2]}:{code.co_name}"
        trace = trace.tb_next
    name = error.code if isinstance(error, GeError) else type(error).__name__
    return f"{name} in {place}"


def check_stage(
    model: onnx.ModelProto | ModuleOp | str,
    inputs: Mapping[str, Any],
    stage: str,
    want: Mapping[str, Expected],
    rules: Sequence[Rule] = (),
    switches: Switches = Switches(),
) -> Finding | None:
    """Run and compare; what is wrong, or None."""
    try:
        got = run_stage(model, inputs, stage, rules, switches)
    except GeError as error:
        kind = "unsupported" if error.code.startswith("GE12") else "crash"
        return Finding(stage, kind, str(error).partition("\n")[0], signature(error))
    except (Exception, RecursionError) as error:
        text = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:300]}"
        return Finding(stage, "crash", text, signature(error))
    for name, expect in want.items():
        if (text := expect.wrong(np.asarray(got[name]))) is not None:
            what = "values" if text.startswith("at ") else "type"
            return Finding(stage, "wrong", f"output {name} {text}", f"wrong {what}")
    return None


def check_model(
    model: onnx.ModelProto, inputs: Mapping[str, Any], stages: Sequence[str] = STAGES, seed: int = 0
) -> list[Finding]:
    """All that is wrong; ``ReferenceFailed`` if onnxruntime cannot run the model."""
    want = expected(model, inputs, seed)
    found = [f for stage in stages if (f := check_stage(model, inputs, stage, want)) is not None]
    if any(f.kind == "wrong" for f in found):  # or is it a threshold that few draws did not reach?
        want = expected(model, inputs, seed, SURE * PAIRS)
        found = [f for old in found if (f := check_stage(model, inputs, old.stage, want)) is not None]
    return found
