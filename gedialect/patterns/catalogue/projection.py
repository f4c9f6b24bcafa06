"""Products that share an operand, and blocks of products: merged projections, gated units, feed-forward."""
# pyright: basic

from __future__ import annotations

from gedialect.patterns import Value, attr, const, ge, optional, rule
from gedialect.patterns.catalogue._shapes import is_row

PLAIN = {"transpose_x1": False, "transpose_x2": False}


def matrices(*values: Value) -> bool:
    """Whether all are matrices of one type with equally many, known rows."""
    first = values[0]
    return all(v.rank == 2 and v.is_static and v.dtype is first.dtype and v.shape[0] == first.shape[0] for v in values)


def in_order(*values: Value) -> bool:
    """Whether the values are made in this order, not too far from each other: each choice is found once."""
    op = values[0].op
    for value in values[1:]:
        for _ in range(NEAR):
            op = None if op is None else op.next_op
            if op is None or op is value.op:
                break
        if op is not value.op:
            return False
    return True


def unbiased(*values: Value) -> bool:
    """Whether no constant is added to any of the values: it becomes their bias first."""
    return not any(
        u.operation.name == "ge.add" and any(Value(o).is_const for o in u.operation.operands)
        for v in values
        for u in v.ssa.uses
    )


NEAR = 64
THREE = {
    "float matrices of equal height": lambda u, v, w, x: x.dtype is u.dtype and matrices(u, v, w),
    "in this order": lambda p, q, r: in_order(p, q, r),
}


@rule(exact="tolerance", where={**THREE, "biases agree": lambda u, a, b, c: a.dtype is b.dtype is c.dtype})
def merge_projections_bias(x, u: const, v: const, w: const, a: const, b: const, c: const):
    """Three products of one value with constant matrices, and biases, are one: query, key, value."""
    one = ge.matmul(x, ge.concat(u, v, w, concat_dim=1), ge.concat(a, b, c, concat_dim=0), **PLAIN)
    parts = ge.split(one, size_splits=lambda u, v, w: [u.shape[1], v.shape[1], w.shape[1]], split_dim=-1)
    return (
        (
            ge.matmul(x, u, a, **PLAIN).named("p"),
            ge.matmul(x, v, b, **PLAIN).named("q"),
            ge.matmul(x, w, c, **PLAIN).named("r"),
        ),
        (parts[0], parts[1], parts[2]),
    )


@rule(exact="tolerance", where={**THREE, "no bias is added": lambda p, q, r: unbiased(p, q, r)})
def merge_projections(x, u: const, v: const, w: const):
    """Three products of one value with constant matrices are one: query, key, value."""
    one = ge.matmul(x, ge.concat(u, v, w, concat_dim=1), **PLAIN)
    parts = ge.split(one, size_splits=lambda u, v, w: [u.shape[1], v.shape[1], w.shape[1]], split_dim=-1)
    return (
        (
            ge.matmul(x, u, **PLAIN).named("p"),
            ge.matmul(x, v, **PLAIN).named("q"),
            ge.matmul(x, w, **PLAIN).named("r"),
        ),
        (parts[0], parts[1], parts[2]),
    )


TWO = {"float matrices of equal size": lambda u, v, x: x.dtype is u.dtype and matrices(u, v) and u.shape == v.shape}


@rule(exact="tolerance", where=TWO)
def swiglu_projection(x, u: const, v: const):
    """swish(x @ u) · (x @ v) is a gated unit of one product."""
    return (
        ge.swish(ge.matmul(x, u, **PLAIN), scale=1.0) * ge.matmul(x, v, **PLAIN),
        ge.swi_glu(ge.matmul(x, ge.concat(u, v, concat_dim=1), **PLAIN), dim=-1),
    )


@rule(exact="tolerance", where=TWO, samples={"f": lambda rng: str(rng.choice(["none", "tanh"]))})
def geglu_projection(x, u: const, v: const, f: attr):
    """gelu(x @ u) · (x @ v) is a gated unit of one product."""
    return (
        ge.gelu(ge.matmul(x, u, **PLAIN), approximate=f) * ge.matmul(x, v, **PLAIN),
        ge.ge_glu(ge.matmul(x, ge.concat(u, v, concat_dim=1), **PLAIN), dim=-1, approximate=f, activate_left=True),
    )


def _feed_forward(name: str, act, activation: str):
    @rule(exact="tolerance", name=name, where={"matrices": lambda u, v: u.rank == v.rank == 2})
    def ffn(x, u: const, v: const, a: const, b: const):
        return (
            ge.matmul(act(ge.matmul(x, u, optional(a), **PLAIN)), v, optional(b), **PLAIN),
            ge.ffn(x, u, v, a, b, activation=activation),
        )

    ffn.doc = f"Two products with constant matrices and {activation} between them."
    return ffn


ffn_gelu = _feed_forward("ffn_gelu", lambda y: ge.gelu(y, approximate="none"), "gelu")
ffn_gelu_tanh = _feed_forward("ffn_gelu_tanh", lambda y: ge.gelu(y, approximate="tanh"), "fastgelu")
ffn_relu = _feed_forward("ffn_relu", lambda y: ge.relu(y), "relu")
ffn_silu = _feed_forward("ffn_silu", lambda y: ge.swish(y, scale=1.0), "silu")


@rule(exact="tolerance", where={"one value per column": lambda b, out: is_row(b, out)})
def ffn_bias(x, u, v, a, b: const, **attrs):
    """A constant added to a feed-forward block is its second bias."""
    return (
        ge.ffn(x, u, v, optional(a), **attrs) + b,
        ge.ffn(x, u, v, a, ge.reshape(b, shape=[-1]), **attrs),
    )
