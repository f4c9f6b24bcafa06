"""Random generators. Without a seed each run draws other numbers; with one, the same (not onnxruntime's)."""

from __future__ import annotations

from typing import Any

from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import Converter, add, onnx_op
from gedialect.frontends.onnx.values import Value, dtype_of
from gedialect.ir.dtypes import DType
from gedialect.ir.spec import Spec


def _seed(node: Node) -> float | None:
    return node.float("seed") if node.has("seed") else None


def _random(mnemonic: str, parameters: dict[str, float], like: bool) -> Converter:
    def convert(ctx: Context, node: Node) -> Value:
        x = node.input(0) if like else None
        default = ctx.dtype(x).onnx if x is not None else 1
        dtype = dtype_of(node.int("dtype", default))
        shape = tuple(node.ints("shape")) if x is None else ctx.shape(x)
        spec = Spec(dtype, shape)
        attrs: dict[str, Any] = {name: node.float(name, value) for name, value in parameters.items()}
        attrs["seed"] = _seed(node)
        if spec.is_static:  # only the shape of x matters
            return ctx(mnemonic, None, results=[spec], shape=shape, **attrs)
        return ctx(mnemonic, x, results=[spec], **attrs)

    return convert


for _op, _mnemonic, _parameters in (
    ("RandomUniform", "random_uniform", {"low": 0.0, "high": 1.0}),
    ("RandomNormal", "random_normal", {"mean": 0.0, "scale": 1.0}),
):
    add(_op, _random(_mnemonic, _parameters, like=False))
    add(_op + "Like", _random(_mnemonic, _parameters, like=True))


@onnx_op("Bernoulli", since=15)
def bernoulli(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    dtype: DType = dtype_of(node.int("dtype", ctx.dtype(x).onnx))
    return ctx("bernoulli", x, results=[ctx.spec(x).with_dtype(dtype)], seed=_seed(node))


@onnx_op("Multinomial", since=7)
def multinomial(ctx: Context, node: Node) -> Value:
    x = node.input(0)
    count = node.int("sample_size", 1)
    spec = Spec(dtype_of(node.int("dtype", 6)), (ctx.shape(x)[0], count))
    return ctx("multinomial", x, results=[spec], sample_size=count, seed=_seed(node))
