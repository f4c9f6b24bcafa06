"""Optimisers of ``ai.onnx.preview.training``: a step of each, for any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import GeError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.registry import onnx_op
from gedialect.frontends.onnx.values import Value

DOMAIN = "ai.onnx.preview.training"


def _groups(node: Node, kinds: int) -> list[list[Value]]:
    """The inputs after rate and step number, as ``kinds`` values for each tensor."""
    count, rest = divmod(len(node.inputs) - 2, kinds)
    if count < 1 or rest:
        raise GeError(f"{len(node.inputs)} inputs are not 2 and {kinds} for each tensor", code="GE1005")
    return [[node.input(2 + kind * count + i) for kind in range(kinds)] for i in range(count)]


def _scaled(ctx: Context, x: Value, factor: float) -> Value:
    return ctx("mul", x, ctx.scalar_like(x, factor))


def _regularised(ctx: Context, node: Node, x: Value, gradient: Value) -> Value:
    norm = node.float("norm_coefficient", 0.0)
    return gradient if norm == 0 else ctx("add", _scaled(ctx, x, norm), gradient)


def _like(ctx: Context, scalar: Value, x: Value) -> Value:
    """A scalar input (rate, step number) in x's type."""
    scalar = ctx.cast(scalar, ctx.dtype(x))
    return ctx.reshape(scalar, []) if ctx.rank(scalar) else scalar


def _ordered(results: Sequence[Sequence[Value]]) -> list[Value]:
    """All first results, then all second ones, ..."""
    return [r[i] for i in range(len(results[0])) for r in results]


@onnx_op("Adagrad", domain=DOMAIN)
def adagrad(ctx: Context, node: Node) -> Sequence[Value]:
    out: list[list[Value]] = []
    for x, gradient, squares in _groups(node, 3):
        rate, step = (_like(ctx, node.input(i), x) for i in (0, 1))
        one = ctx.scalar_like(x, 1)
        rate = ctx("div", rate, ctx("add", one, _scaled(ctx, step, node.float("decay_factor", 0.0))))
        g = _regularised(ctx, node, x, gradient)
        squares = ctx("add", squares, ctx("mul", g, g))
        root = ctx("add", ctx("sqrt", squares), ctx.scalar_like(x, node.float("epsilon", 0.0)))
        out.append([ctx("sub", x, ctx("div", ctx("mul", rate, g), root)), squares])
    return _ordered(out)


@onnx_op("Adam", domain=DOMAIN)
def adam(ctx: Context, node: Node) -> Sequence[Value]:
    alpha, beta = node.float("alpha", 0.9), node.float("beta", 0.999)
    out: list[list[Value]] = []
    for x, gradient, mean, squares in _groups(node, 4):
        rate, step = (_like(ctx, node.input(i), x) for i in (0, 1))
        one = ctx.scalar_like(x, 1)
        g = _regularised(ctx, node, x, gradient)
        mean = ctx("add", _scaled(ctx, mean, alpha), _scaled(ctx, g, 1 - alpha))
        squares = ctx("add", _scaled(ctx, squares, beta), _scaled(ctx, ctx("mul", g, g), 1 - beta))
        root = ctx("add", ctx("sqrt", squares), ctx.scalar_like(x, node.float("epsilon", 0.0)))

        def rest(base: float, step: Value = step, one: Value = one) -> Value:
            return ctx("sub", one, ctx("pow", ctx.scalar_like(one, base), step))

        corrected = ctx("div", ctx("mul", rate, ctx("sqrt", rest(beta))), rest(alpha))
        started = ctx("greater", step, ctx.scalar_like(x, 0))
        rate = ctx("select", started, corrected, rate)
        x = ctx("sub", x, ctx("mul", rate, ctx("div", mean, root)))
        post = node.float("norm_coefficient_post", 0.0)
        out.append([x if post == 0 else _scaled(ctx, x, 1 - post), mean, squares])
    return _ordered(out)


@onnx_op("Momentum", domain=DOMAIN)
def momentum(ctx: Context, node: Node) -> Sequence[Value]:
    alpha, beta = node.float("alpha"), node.float("beta")
    mode = node.str("mode")
    if mode not in ("standard", "nesterov"):
        raise GeError(f"mode {mode!r} does not exist", code="GE1005")
    out: list[list[Value]] = []
    for x, gradient, velocity in _groups(node, 3):
        rate, step = (_like(ctx, node.input(i), x) for i in (0, 1))
        g = _regularised(ctx, node, x, gradient)
        started = ctx("greater", step, ctx.scalar_like(x, 0))
        factor = ctx("select", started, ctx.scalar_like(x, beta), ctx.scalar_like(x, 1))
        velocity = ctx("add", _scaled(ctx, velocity, alpha), ctx("mul", factor, g))
        move = velocity if mode == "standard" else ctx("add", g, _scaled(ctx, velocity, alpha))
        out.append([ctx("sub", x, ctx("mul", rate, move)), velocity])
    return _ordered(out)
