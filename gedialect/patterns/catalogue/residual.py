"""A sum and the normalisation of it in one op: residual connections, embeddings."""
# pyright: basic

from __future__ import annotations

from gedialect.patterns import Value, attr, const, ge, rule

LAST = {
    "over the last axis": lambda s, k: k % s.rank == s.rank - 1,
    "both terms have the sum's type": lambda x, y, s: x.same_type(s) and y.same_type(s),
}


def broadcasts(b: Value, s: Value) -> bool:
    """Whether ``b`` broadcasts to the type of ``s``."""
    at = s.shape[s.rank - b.rank :]
    return b.rank <= s.rank and b.dtype is s.dtype and all(d in (1, e) for d, e in zip(b.shape, at, strict=True))


@rule(exact="tolerance", where=LAST)
def add_layer_norm(x, y, g: const, b: const, k: attr, e: attr):
    """The layer norm of a sum, and the sum: a residual connection."""
    s = (x + y).named("s")
    z = ge.add_layer_norm(x, y, g, b, epsilon=e)
    return (ge.layer_norm(s, g, b, begin_norm_axis=k, epsilon=e), s), (z, z[3])


@rule(
    exact="tolerance",
    where={
        "over the last axis": lambda s, k: k % s.rank == s.rank - 1,
        "x has the sum's type": lambda x, s: x.same_type(s),
        "the others broadcast to it": lambda y, w, s: broadcasts(y, s) and broadcasts(w, s),
    },
)
def add_add_layer_norm(x, y, w, g: const, b: const, k: attr, e: attr):
    """The layer norm of three terms: embeddings of words, types and positions."""
    s = (x + y + w).named("s")
    z = ge.add_layer_norm(x, y, g, b, w, epsilon=e)
    return (ge.layer_norm(s, g, b, begin_norm_axis=k, epsilon=e), s), (z, z[3])


@rule(
    exact="tolerance",
    where={"both terms have the sum's type": lambda x, y, s: x.same_type(s) and y.same_type(s)},
)
def add_rms_norm(x, y, g: const, e: attr):
    """The rms norm of a sum, and the sum: a residual connection."""
    s = (x + y).named("s")
    z = ge.add_rms_norm(x, y, g, epsilon=e)
    return (ge.rms_norm(s, g, epsilon=e), s), (z, z[2])
