"""Which ops a kernel can hold, and which may share one. Lowering accepts all that is admitted here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from xdsl.ir import Operation, SSAValue

from gedialect.analysis.primitives import instruction, profile_of
from gedialect.binary import isa
from gedialect.binary.kernel import MAX_RANK
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.shapes import broadcast
from gedialect.errors import GeError
from gedialect.ir.access import Access, collapse
from gedialect.ir.spec import spec_of

MAX_OPS = 160
"""Primitive ops of one vector kernel: beyond it code size and buffers outgrow the gain."""
MIRRORED_AXES = 4
"""Axes that pad may fill from the data: each triples the number of copies."""
MAX_LOADS = 14
"""Operands of one vector kernel: each needs double-buffered room in UB."""
CUBE_DTYPES = frozenset(("f32", "f16", "bf16"))


def kernel_kind(op: Operation) -> str | None:
    """The kind of kernel that can compute ``op`` alone: cube, window, vector, move; None means the host."""
    if not isinstance(op, GeOp) or not all(spec_of(v.type).is_static for v in (*op.operands, *op.results)):
        return None
    if op.name in LINE_OPS:
        return "lines" if _line_fits(op) else None
    if op.name in SCATTER_OPS:
        return "scatter" if _scatter_fits(op) else None
    match op.FUSION_CLASS:
        case FusionClass.CUBE if is_depthwise(op):
            return "window" if _window_fits(op) else None
        case FusionClass.CUBE:
            return "cube" if _cube_fits(op) else None
        case FusionClass.WINDOW:
            return "window" if _window_fits(op) else None
        case FusionClass.ELEMENTWISE | FusionClass.REDUCTION:
            return "vector" if vector_reason(op) is None else None
        case FusionClass.BROADCAST | FusionClass.DATA_MOVEMENT:
            return "move" if movement_fits(op) else None
        case _:
            return None


def vector_reason(op: GeOp) -> str | None:
    """Why the vector unit cannot compute ``op``, or None if it can."""
    if any(0 in spec_of(v.type).shape for v in (*op.operands, *op.results)):
        return "empty tensors stay on the host"
    if approximate(op):
        return "its expansion is exact to f32 only"
    profile = profile_of(op)
    if profile.other:
        return f"{profile.other[0]} is no vector operation"
    if not profile.calls:
        return f"{op.name} has no expansion in vector instructions"
    return next((r for r in (_call_error(*c) for c in profile.calls) if r is not None), None)


def approximate(op: GeOp) -> bool:
    """Whether an op's expansion is less exact than its element type."""
    return op.name in F32_EXPANSIONS and any(spec_of(v.type).dtype.name == "f64" for v in op.operands)


@lru_cache(maxsize=4096)
def _call_error(cls: type[GeOp], dtypes: tuple[str, ...]) -> str | None:
    return isa.BY_NAME[instruction(cls, dtypes)].type_error(dtypes)


def _cube_fits(op: GeOp) -> bool:
    specs = [spec_of(v.type) for v in op.operands]
    if op.name not in CUBE_OPS or any(0 in s.shape for s in (*specs, spec_of(op.results[0].type))):
        return False
    names = [s.dtype.name for s in specs]
    return set(names) <= CUBE_DTYPES or (set(names[:2]) <= {"i8", "ui8"} and set(names[2:]) <= {"i32"})


def is_depthwise(op: Operation) -> bool:
    """A convolution with one input and one output channel per group: the vector unit does it better."""
    if op.name != "ge.conv2d" or not isinstance(op, GeOp):
        return False
    filter_shape = spec_of(op.operands[1].type).shape
    return op.attrs().groups == filter_shape[0] and filter_shape[1] == 1 and filter_shape[0] > 1


def _window_fits(op: GeOp) -> bool:
    specs = [spec_of(v.type) for v in (*op.operands, *op.results)]
    names = {s.dtype.name for s in specs}
    if any(0 in s.shape for s in specs) or not (op.name in WINDOW_OPS or is_depthwise(op)):
        return False
    attrs = op.attrs()
    kernel = specs[1].shape[2:] if is_depthwise(op) else attrs.ksize
    extent = prod((k - 1) * d + 1 for k, d in zip(kernel, attrs.dilations or (1,) * len(kernel), strict=True))
    if extent * WINDOW_BYTES > isa.SPACE_BYTES["ub"] // 2:
        return False
    return names <= {*isa.FLOATS} or (op.name == "ge.max_pool2d" and names <= {*isa.INTS})


WINDOW_BYTES = 8 * 12
"""UB bytes per cell of one window: eight channels, double-buffered and widened."""
CUBE_OPS = frozenset(("ge.matmul", "ge.conv2d", "ge.conv3d", "ge.conv2d_transpose", "ge.conv3d_transpose"))
"""Ops a cube generator exists for."""
F32_EXPANSIONS = frozenset(
    f"ge.{n}"
    for n in ("tanh", "erf", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh")
) | frozenset(("ge.gelu", "ge.ge_glu", "ge.log1p", "ge.expm1"))
"""Ops whose expansion approximates a function as f32 needs it: f64 stays on the host."""
WINDOW_OPS = frozenset(("ge.max_pool2d", "ge.avg_pool2d"))
"""Ops a window generator exists for."""
LINE_OPS = frozenset(("ge.arg_max", "ge.arg_min", "ge.topk", "ge.cumsum", "ge.gather_elements"))
"""Ops that treat one axis as a whole."""
SCATTER_OPS = frozenset(("ge.scatter_elements", "ge.scatter_nd"))
"""Ops that write by index into a copy of their operand."""
LINE_BYTES = isa.SPACE_BYTES["ub"] * 3 // 4
"""Most bytes that a line of all operands and results may take, slots included."""
FIXPIPE_OPS = frozenset(("ge.relu", "ge.leaky_relu", "ge.cast"))
"""What fixpipe can do to a cube result on its way out."""


def strided_results(op: Operation, operand: Access) -> tuple[Access, ...] | None:
    """The results of a movement or view op as strided reads of what ``operand`` reads."""
    if not isinstance(op, GeOp) or len(op.operands) != 1:
        return None
    whole = operand.reshape(spec_of(op.operands[0].type).shape)  # an access may have split axes
    results = None if whole is None else type(op).strided(op.attrs(), whole)
    if results is None or any(len(collapse([Access.contiguous(a.shape), a])) > MAX_RANK for a in results):
        return None
    return results


def _line_fits(op: GeOp) -> bool:
    """Whether a whole line of every operand and result fits on the chip, and one instruction takes their types."""
    specs = [spec_of(v.type) for v in (*op.operands, *op.results)]
    x, attrs = specs[0], op.attrs()
    if x.rank == 0 or any(0 in s.shape for s in specs):
        return False
    dtypes = [s.dtype.name for s in specs]
    axis: int = next(attrs[a] for a in ("dimension", "dim", "axis") if attrs.get(a) is not None) % x.rank
    n, size = x.shape[axis], x.dtype.itemsize
    match op.name:
        case "ge.arg_max" | "ge.arg_min":
            calls, line = [("vargmax", (dtypes[1], dtypes[0]))], 2 * n * size
        case "ge.topk":
            if len(op.operands) != 1:
                return False
            calls, line = [("vsort", (dtypes[0], dtypes[2], dtypes[0]))], n * (3 * size + specs[2].dtype.itemsize)
        case "ge.cumsum":
            half = x.dtype.is_float and size < 4
            calls, line = [("vcumsum", (dtypes[0], dtypes[0]))], n * (4 * size + 8 * half)
        case _:
            index = specs[1]
            if any(a != b for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True)) if i != axis):
                return False
            calls = [("vgather_elems", (dtypes[0], dtypes[0], dtypes[1]))]
            line = 2 * (n * size + index.shape[axis] * (size + index.dtype.itemsize))
    return line <= LINE_BYTES and all(isa.BY_NAME[name].type_error(types) is None for name, types in calls)


def _scatter_fits(op: GeOp) -> bool:
    x, index, updates = (spec_of(v.type) for v in op.operands)
    if any(0 in s.shape for s in (x, index, updates)):
        return False
    if isa.BY_NAME["scatter_rows"].type_error((x.dtype.name, x.dtype.name, index.dtype.name)) is not None:
        return False
    if op.attrs().reduction != "none" and x.dtype.kind == "b":
        return False
    if op.name == "ge.scatter_nd":
        return x.rank == index.rank == 2 and index.shape[1] == 1
    axis: int = op.attrs().axis % x.rank
    return all(a == b for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True)) if i != axis)


MOVED_TENSORS = 512
"""Operands and results of one movement kernel; the order of its transfers is worked out pair by pair."""


def movement_fits(op: GeOp) -> bool:
    """Whether a data movement kernel exists for ``op``."""
    specs = [spec_of(v.type) for v in (*op.operands, *op.results)]
    if any(0 in s.shape or s.dtype.name not in isa.DTYPES for s in specs) or len(specs) > MOVED_TENSORS:
        return False
    match op.name:
        case "ge.concat":
            return True
        case "ge.gather":
            return op.attrs().batch_dims == 0 and specs[1].dtype.name in ("i32", "i64")
        case "ge.pad":
            _, paddings, fill = op.single_operands()
            attrs = op.attrs()
            known = paddings is None and min(attrs.paddings, default=0) >= 0
            rank = specs[0].rank
            padded = known and sum(any(attrs.paddings[i::rank]) for i in range(rank))
            if known and attrs.mode != "constant" and padded > MIRRORED_AXES:
                return False
            return known and (fill is None or attrs.mode != "constant" or isinstance(fill.owner, ConstantOp))
        case _:
            pass
    return strided_results(op, Access.contiguous(specs[0].shape)) is not None


@dataclass(eq=False)
class Group:
    """Ops that become one kernel; ``ops`` are kept in program order by the pass."""

    kind: str
    ops: list[GeOp]
    domain: tuple[int, ...] = ()
    reduced: frozenset[int] = frozenset()
    calls: int = 0
    fixed: bool = False
    """takes no further ops (a trailing transpose was added)"""
    tail: SSAValue | None = field(default=None)

    @classmethod
    def of(cls, op: GeOp, kind: str) -> Group:
        group = cls(kind, [op], tail=op.results[0])
        if kind == "vector":
            profile = profile_of(op)
            group.domain, group.reduced, group.calls = profile.domain, profile.reduced, len(profile.calls)
            group.fixed = profile.reshaped
        return group

    def loads(self) -> int:
        inside = {r for op in self.ops for r in op.results}
        return len({v for op in self.ops for v in op.operands if v not in inside})


def reduced_shape(domain: tuple[int, ...], reduced: frozenset[int]) -> tuple[int, ...]:
    """``domain`` with its reduced axes (counted from the end) set to 1."""
    rank = len(domain)
    return tuple(1 if i - rank in reduced else d for i, d in enumerate(domain))


def _uses_inside(value: SSAValue, ops: set[Operation]) -> bool:
    return all(u.operation in ops for u in value.uses)


def join_vector(group: Group, op: GeOp) -> Group | None:
    """The vector group extended by the element-wise or reduction ``op``, or None if they do not fit."""
    if group.kind != "vector":
        return None
    return merge_vector(group, Group.of(op, "vector"))


def merge_vector(a: Group, b: Group) -> Group | None:
    """Two vector groups as one, ``b`` the reader: same iteration space, at most one set of reduced axes.

    ``b`` may also work on ``a``'s reduced values, or repeat ``a``'s smaller values if nothing else reads them.
    """
    if a.fixed or a.calls + b.calls > MAX_OPS or (a.reduced and b.reduced and a.reduced != b.reduced):
        return None
    try:
        domain = broadcast(a.domain, b.domain)
    except GeError:
        return None
    ops: set[Operation] = {*a.ops, *b.ops}
    reduced = a.reduced | b.reduced
    if not _aligned(a, b) or not _aligned(b, a):
        return None
    for part in (a, b):
        if part.domain == domain:
            continue
        if len(part.domain) == len(domain) and part.domain == reduced_shape(domain, reduced) and not part.reduced:
            continue
        if part.reduced or not all(_uses_inside(r, ops) for o in part.ops for r in o.results):
            return None
    merged = Group("vector", [*a.ops, *b.ops], domain, reduced, a.calls + b.calls, b.fixed)
    return merged if merged.loads() <= MAX_LOADS else None


def _aligned(group: Group, reader: Group) -> bool:
    """Whether ``reader`` takes what ``group`` computes as it is, with the reduced axes kept, so that axes align."""
    inside: set[Operation] = set(group.ops)
    for op in reader.ops:
        viewed = profile_of(op).viewed if kernel_kind(op) == "vector" else frozenset[int]()
        if any(op.operands[i].owner in inside for i in viewed):
            return False
    if not group.reduced:
        return True
    fine = (group.domain, reduced_shape(group.domain, group.reduced))
    return all(spec_of(v.type).shape in fine for op in reader.ops for v in op.operands if v.owner in inside)


def valid_output(group: Group, shape: tuple[int, ...]) -> bool:
    """Whether a vector group can store a value of ``shape``: every element once."""
    if shape == group.domain:
        return True
    kept = reduced_shape(group.domain, group.reduced)
    dropped = tuple(d for i, d in enumerate(group.domain) if i - len(group.domain) not in group.reduced)
    return bool(group.reduced) and shape in (kept, dropped)


def join_window(group: Group, op: GeOp) -> Group | None:
    """The window group with the element-wise ``op`` done on its tiles, or None."""
    if group.kind != "window":
        return None
    anchor = next(o for o in group.ops if o.FUSION_CLASS in (FusionClass.WINDOW, FusionClass.CUBE))
    domain = spec_of(anchor.results[0].type).shape
    profile = profile_of(op)
    if profile.reduced or profile.domain != domain or spec_of(op.results[0].type).shape != domain:
        return None
    merged = Group("window", [*group.ops, op], domain, calls=group.calls + len(profile.calls))
    return merged if merged.loads() <= MAX_LOADS and merged.calls <= MAX_OPS else None


def join_epilogue(group: Group, op: GeOp) -> Group | None:
    """The cube group with ``op`` done by fixpipe on the way out, or None."""
    tail = group.tail
    if group.kind != "cube" or group.fixed or tail is None or op.name not in FIXPIPE_OPS:
        return None
    if len(op.operands) != 1 or op.operands[0] is not tail or not tail.has_one_use():
        return None
    done = {o.name for o in group.ops[1:]}
    source, target = spec_of(tail.type).dtype.name, spec_of(op.results[0].type).dtype.name
    if op.name == "ge.cast":
        if "ge.cast" in done or (source, target) not in (("f32", "f16"), ("f32", "bf16")):
            return None
    elif done & FIXPIPE_OPS:
        return None
    return Group("cube", [*group.ops, op], tail=op.results[0])


def join_mix(cube: Group, vector: Group) -> Group | None:
    """One mixed kernel of a product and a vector group that works on each of its elements by itself, or None.

    The vector group keeps to the product's shape: no reductions, and smaller values only for use inside.
    """
    tail = cube.tail
    if cube.kind != "cube" or cube.fixed or tail is None or vector.kind != "vector":
        return None
    if vector.fixed or vector.reduced or vector.domain != spec_of(tail.type).shape or not _aligned(cube, vector):
        return None
    inside: set[Operation] = {*cube.ops, *vector.ops}
    if not any(tail in op.operands for op in vector.ops):
        return None
    for op in (*cube.ops, *vector.ops):
        for r in op.results:
            stored = not r.uses or any(u.operation not in inside for u in r.uses)
            if stored and spec_of(r.type).shape != vector.domain:
                return None
    return Group("mix", [*cube.ops, *vector.ops], vector.domain, calls=vector.calls)
