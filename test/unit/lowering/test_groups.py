"""Random graphs of vector and movement ops: grouped or not, kernels compute what the interpreter computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from gedialect import interpreter
from gedialect.api import Settings, compile_module
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec, spec_of, tensor_type
from gedialect.testing.agree import TOLERANCE, check_levels, random_array

FLOATS = (dtypes.F32, dtypes.F16)
INTS = (dtypes.I32, dtypes.I64)
TYPES = (dtypes.F32, dtypes.F32, dtypes.F16, dtypes.I32, dtypes.I64, dtypes.I1)
SIZES = (1, 2, 3, 5, 8)
UNARY = ("tanh", "sigmoid", "abs", "neg", "relu", "sqrt_abs", "erf", "swish")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
COMPARE = ("less", "greater", "equal", "not_equal", "less_equal", "greater_equal")
REDUCE = ("reduce_sum", "reduce_max", "reduce_min", "reduce_mean")
LARGEST = 1e4
"""Values beyond it are not computed with: products would leave the range of f16."""


class Graph:
    """A function in the making: each step adds one op over values there are."""

    def __init__(self, draw: Any):
        self.draw = draw
        self.block = Block()
        self.b = GeBuilder(self.block)
        self.values: list[SSAValue] = []

    def pick(self, items: Any) -> Any:
        return self.draw(st.sampled_from(list(items)))

    def input(self) -> SSAValue:
        dtype = self.pick(TYPES)
        shape = [self.pick(SIZES) for _ in range(self.draw(st.integers(0, 4)))]
        value = self.block.insert_arg(tensor_type(Spec(dtype, tuple(shape))), len(self.block.args))
        self.values.append(value)
        return value

    def like(self, x: SSAValue) -> SSAValue:
        """A value that broadcasts with x, of its type: one there is, or a new input or constant."""
        spec = spec_of(x.type)

        def fits(v: SSAValue) -> bool:
            other = spec_of(v.type)
            pairs = zip(reversed(other.shape), reversed(spec.shape), strict=False)
            return other.dtype is spec.dtype and all(a == b or 1 in (a, b) for a, b in pairs)

        found = [v for v in self.values if fits(v)]
        how = self.draw(st.integers(0, 5))
        if how == 0:
            return self.b.splat(1 if spec.dtype.kind == "b" else 3, spec.dtype)
        if how <= 2 or not found:
            kept = spec.shape[self.draw(st.integers(0, spec.rank)) :]
            shape = tuple(1 if self.draw(st.integers(0, 2)) == 0 else d for d in kept)
            return self.block.insert_arg(tensor_type(Spec(spec.dtype, shape)), len(self.block.args))
        return self.pick(found)

    def step(self) -> None:
        x = self.pick(self.values[-4:] if self.draw(st.booleans()) else self.values)
        spec = spec_of(x.type)
        kinds = ["move", "reduce", "binary", "index"]
        kinds += {
            "f": ["unary", "unary", "softmax", "compare", "cast", "line", "window", "product"],
            "b": ["logic", "select", "cast"],
        }.get(spec.dtype.kind, ["compare", "cast"])
        y = getattr(self, f"_{self.pick(kinds)}")(x, spec)
        if y is not None and spec_of(y.type).size <= 20000:
            self.values.append(y)

    def _unary(self, x: SSAValue, spec: Spec) -> SSAValue:
        name = self.pick(UNARY)
        if name == "sqrt_abs":
            return self.b.sqrt(self.b.abs(x))
        return self.b.swish(x, scale=1.0) if name == "swish" else getattr(self.b, name)(x)

    def _binary(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.dtype.kind == "b":
            return self._logic(x, spec)
        return getattr(self.b, self.pick(BINARY))(x, self.like(x))

    def _compare(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        # of inputs only: a difference of one rounding may turn a comparison of computed floats
        if spec.dtype.is_float and x not in self.block.args:
            return None
        y = self.like(x)
        computed = spec.dtype.is_float and y in self.values and y not in self.block.args
        return None if computed else getattr(self.b, self.pick(COMPARE))(x, y)

    def _logic(self, x: SSAValue, spec: Spec) -> SSAValue:
        if self.draw(st.integers(0, 3)) == 0:
            return self.b.logical_not(x)
        return getattr(self.b, self.pick(("logical_and", "logical_or", "logical_xor")))(x, self.like(x))

    def _select(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        others = [v for v in self.values if spec_of(v.type).shape == spec.shape]
        y = self.pick(others)
        return self.b.select(x, y, self.like(y))

    def _cast(self, x: SSAValue, spec: Spec) -> SSAValue:
        if spec.dtype.is_float:
            return self.b.cast(x, self.pick(FLOATS))
        return self.b.cast(x, self.pick((*FLOATS, *INTS)))

    def _reduce(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.rank == 0:
            return None
        axes = sorted({self.draw(st.integers(0, spec.rank - 1)) for _ in range(self.draw(st.integers(1, 2)))})
        names = ("reduce_any", "reduce_all") if spec.dtype.kind == "b" else REDUCE
        return getattr(self.b, self.pick(names))(x, axes=axes, keep_dims=self.draw(st.booleans()))

    def _softmax(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        return self.b.softmax(x, axes=[self.draw(st.integers(0, spec.rank - 1))]) if spec.rank else None

    def _index(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        """Rows by constant or computed positions."""
        if spec.rank == 0:
            return None
        axis = self.draw(st.integers(0, spec.rank - 1))
        n = spec.shape[axis]
        at = np.array([self.draw(st.integers(-n, n - 1)) for _ in range(self.draw(st.integers(1, 4)))], np.int64)
        return self.b.gather(x, self.b.array(at), axis=axis, batch_dims=0)

    def _line(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.rank == 0:
            return None
        axis = self.draw(st.integers(0, spec.rank - 1))
        return self.b.cumsum(x, axis=axis, exclusive=self.draw(st.booleans()), reverse=self.draw(st.booleans()))

    def _window(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.rank != 4:
            return None
        layout = self.pick(("NCHW", "NHWC"))
        shape: dict[str, Any] = {"ksize": (2, 2), "strides": (1, self.pick((1, 2))), "pads": (1, 0, 1, 1)}
        if self.draw(st.booleans()):
            return self.b.max_pool2d(x, **shape, dilations=(1, 1), ceil_mode=False, data_format=layout)
        include = self.draw(st.booleans())
        return self.b.avg_pool2d(x, **shape, ceil_mode=False, count_include_pad=include, data_format=layout)

    def _product(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.rank < 2:
            return None
        w = Spec(spec.dtype, (spec.shape[-1], self.pick(SIZES)))
        y = self.block.insert_arg(tensor_type(w), len(self.block.args))
        return self.b.matmul(x, y, transpose_x1=False, transpose_x2=False)

    def _move(self, x: SSAValue, spec: Spec) -> SSAValue | None:
        if spec.rank == 0:
            return self.b.unsqueeze(x, axes=[0])
        axis = self.draw(st.integers(0, spec.rank - 1))
        n = spec.shape[axis]
        match self.draw(st.integers(0, 7)):
            case 0:
                return self.b.transpose(x, perm=self.draw(st.permutations(range(spec.rank))))
            case 1:
                return self.b.reshape(x, shape=[-1])
            case 2:
                begin = self.draw(st.integers(0, n - 1))
                step = self.pick((1, 2))
                return self.b.slice(x, begin=[begin], end=[n], axes=[axis], strides=[step])
            case 3:
                return self.b.concat([x, x], concat_dim=axis)
            case 4:
                return self.b.expand(x, shape=[2, *spec.shape])
            case 5:
                pads = [self.pick((0, 1)) for _ in range(2 * spec.rank)]
                return self.b.pad(x, paddings=pads, mode="constant")
            case 6 if n > 1:
                first, second = self.b.split(x, size_splits=[1, n - 1], split_dim=axis, results=[
                    spec.with_shape([k if i == axis else d for i, d in enumerate(spec.shape)]) for k in (1, n - 1)
                ])  # fmt: skip
                self.values.append(first)
                return second
            case _:
                return self.b.unsqueeze(x, axes=[axis])

    def module(self, outputs: list[SSAValue]) -> ModuleOp:
        self.block.add_op(ReturnOp(*outputs))
        types = ([a.type for a in self.block.args], [v.type for v in outputs])
        module = ModuleOp([FuncOp("main", types, Region(self.block))])
        module.verify()
        return module


class Case:
    """A module, and the same module returning every value; shown as text."""

    def __init__(self, module: ModuleOp, whole: ModuleOp):
        self.module = module
        self.whole = whole

    def __repr__(self) -> str:
        return str(self.module)


@st.composite
def graphs(draw: Any) -> Case:
    """A random graph."""
    graph = Graph(draw)
    for _ in range(draw(st.integers(1, 3))):
        graph.input()
    for _ in range(draw(st.integers(3, 12))):
        graph.step()
    computed = [v for v in graph.values if v not in graph.block.args]
    every = computed or list(graph.values)
    outputs = [every[-1]] + [v for v in every[:-1] if not any(True for _ in v.uses) or draw(st.integers(0, 5)) == 0]
    module = graph.module(outputs)
    whole = module.clone()
    function = whole.body.block.first_op
    assert isinstance(function, FuncOp)
    last = function.body.block.last_op
    assert last is not None
    values = [r for op in function.body.block.ops if op is not last for r in op.results] or list(
        function.body.block.args
    )
    last.detach()
    last.erase()
    function.body.block.add_op(ReturnOp(*values))
    function.update_function_type()
    for key in ("arg_attrs", "res_attrs"):
        function.properties.pop(key, None)
    return Case(module, whole)


def check(module: ModuleOp, whole: ModuleOp, seed: int) -> None:
    rng = np.random.default_rng(seed)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    names = interpreter.input_names(function)
    inputs = {n: random_array(rng, spec_of(t)) for n, t in zip(names, function.function_type.inputs, strict=True)}
    with np.errstate(all="ignore"):
        everything = interpreter.run(whole, inputs)
        expected = interpreter.run(module, inputs)
    largest = max(
        (float(np.abs(a.astype(np.float64)).max(initial=0)) for a in everything.values() if a.dtype.kind != "b"),
        default=0,
    )
    if not largest < LARGEST:
        return
    for level in ("O0", "O1", "O2", "O3"):
        executable = compile_module(module.clone(), Settings(level))
        outputs = executable.run(inputs, sanitize=True)
        assert not executable.report.host_ops, executable.report.host_ops
        for name, want in expected.items():
            got = outputs[name]
            assert (got.dtype, got.shape) == (want.dtype, want.shape), f"{name} at {level}"
            limit = TOLERANCE.get(dtypes.from_numpy(want.dtype).name)
            if limit is None:
                assert np.array_equal(got, want), f"{name} at {level}: {got} instead of {want}"
            else:
                # roundings differ from value to value; what a small result is the difference of may be large
                error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
                halves = any(a.dtype == np.float16 for a in everything.values())
                most = 2 * (TOLERANCE["f16"] if halves else limit) * max(largest, 1.0)
                assert error <= most, f"{name} at {level}: off by {error}, {most} allowed"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(graphs(), st.integers(0, 3))
def test_random_graphs(case: Case, seed: int) -> None:
    check(case.module, case.whole, seed)


def test_slices_of_a_tile_that_strides_cannot_say() -> None:
    """A tile is read with its axis in two; slices across the seam read nothing by strides, however many there are."""
    text = """func.func @main(%x: tensor<4xi32> {ge.name = "x"}) -> (tensor<8xi32> {ge.name = "y"}, tensor<8xi32> {ge.name = "z"}) {
      %t = ge.tile(%x) {multiples = [2]} : (tensor<4xi32>) -> tensor<8xi32>
      %a = ge.slice(%t) {begin = [0], end = [7]} : (tensor<8xi32>) -> tensor<7xi32>
      %b = ge.slice(%t) {begin = [7], end = [12]} : (tensor<8xi32>) -> tensor<1xi32>
      %y = ge.concat(%b, %a) {concat_dim = 0} : (tensor<1xi32>, tensor<7xi32>) -> tensor<8xi32>
      %u = ge.tile(%x) {multiples = [3]} : (tensor<4xi32>) -> tensor<12xi32>
      %c = ge.slice(%u) {begin = [1], end = [9]} : (tensor<12xi32>) -> tensor<8xi32>
      %d = ge.slice(%u) {begin = [3], end = [11]} : (tensor<12xi32>) -> tensor<8xi32>
      %z = ge.add(%c, %d) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
      func.return %y, %z : tensor<8xi32>, tensor<8xi32> }"""
    check_levels(text, ("O0", "O2"))


@pytest.mark.parametrize("shape", ["", "3x", "1x3x", "2x3x"])
def test_a_reduction_over_no_axes_in_a_kernel_that_reduces(shape: str) -> None:
    """It changes nothing, whatever else the kernel reduces."""
    text = f"""func.func @main(%x: tensor<{shape}f32> {{ge.name = "x"}}, %y: tensor<2x3xf32> {{ge.name = "y"}}) -> tensor<1x3xf32> {{
      %s = ge.reduce_sum(%x) {{axes = [], keep_dims = true}} : (tensor<{shape}f32>) -> tensor<{shape}f32>
      %a = ge.add(%s, %y) : (tensor<{shape}f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %m = ge.reduce_max(%a) {{axes = [0], keep_dims = true}} : (tensor<2x3xf32>) -> tensor<1x3xf32>
      func.return %m : tensor<1x3xf32> }}"""
    (report,) = check_levels(text, ("O2",))
    assert report.kernels == 1
