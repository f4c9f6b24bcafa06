"""Operand types and attributes of random instances of an op: what each family of ops needs to be well formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from gedialect.dialects.ge.base import FLOAT, GeOp
from gedialect.dialects.ge.layouts import CHANNELS_FIRST
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec
from gedialect.testing.samples import Attributes, Known, Sampler, Unknown

NON_NEGATIVE = ("epsilon", "eps")
"""Float attributes whose op has no meaning below zero: it would take the root of a negative number."""


def complete(s: Sampler, cls: type[GeOp], known: Sequence[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Types of the operands that are free, and all attributes of the op; ``fixed`` ones stay.

    Where nothing is known and the op does not take the instance's element type (a shift of floats), it gets one that
    it takes. ``s.bounds`` says which operands hold positions, and within what.
    """
    name = cls.name.removeprefix("ge.")
    special = SPECIAL.get(name) or next((f for k, f in FAMILIES if name.startswith(k)), _elementwise)
    s.bounds = {}
    kinds: str | None = getattr(cls, "KINDS", None)
    own = s.dtype
    if kinds is not None and own.kind not in kinds and not any(isinstance(k, Spec) for k in known):
        s.dtype = s.of_kinds(kinds)
    try:
        specs, attrs = special(s, cls, list(known), fixed)
    finally:
        s.dtype = own
    return specs, {**_other_attrs(s, cls, attrs), **attrs, **fixed}


def _other_attrs(s: Sampler, cls: type[GeOp], have: Attributes) -> Attributes:
    found: Attributes = {}
    for name, definition in cls.get_irdl_definition().properties.items():
        if name in have or name == "operandSegmentSizes":
            continue
        if definition.constr == FLOAT:
            negative = [] if name in NON_NEGATIVE else [-0.5]
            found[name] = float(s.pick([0.125, 0.5, 1.0, 2.0, *negative]))
    return found


def _first(s: Sampler, known: Sequence[Known], low: int, high: int = 4) -> Spec:
    return known[0] if isinstance(known[0], Spec) else s.spec(low, high)


def _elementwise(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    given = [k for k in known if isinstance(k, Spec)]
    like = max(given, key=lambda k: (k.rank, k.size)) if given else s.spec()
    alone = like.rank == 0  # beside a number: any shape
    if alone:
        like = like.with_shape(s.shape())
    out: list[Known] = []
    for i, k in enumerate(known):
        free = like if alone or (i == 0 and not given) else s.related(like)
        out.append(free if isinstance(k, Unknown) else k)
    return out, {}


def _matmul(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    attrs: Attributes = {k: fixed.get(k, s.chance(0.5)) for k in ("transpose_x1", "transpose_x2")}
    batch = s.shape(0, 2)
    a, b = known[0], known[1]
    m, k, n = s.dim(), s.dim(), s.dim()
    if isinstance(a, Spec) and a.rank >= 2:
        m, k = a.shape[:-3:-1] if attrs["transpose_x1"] else a.shape[-2:]
        batch = a.shape[:-2]
    if isinstance(b, Spec) and b.rank >= 2:
        k2, n = b.shape[:-3:-1] if attrs["transpose_x2"] else b.shape[-2:]
        k = k2 if isinstance(a, Unknown) else k
        batch = b.shape[:-2] if isinstance(a, Unknown) and b.rank > 2 else batch
    if isinstance(a, Unknown):
        a = Spec(s.dtype, (*batch, k, m) if attrs["transpose_x1"] else (*batch, m, k))
    if isinstance(b, Unknown):
        b = Spec(s.dtype, (*(batch if s.chance(0.5) else ()), *((n, k) if attrs["transpose_x2"] else (k, n))))
    bias = Spec(s.dtype, (n,)) if isinstance(known[2], Unknown) else known[2]
    return [a, b, bias], attrs


def _format(s: Sampler, rank: int) -> str:
    return {4: s.pick(["NCHW", "NHWC"]), 5: s.pick(["NCDHW", "NDHWC"])}.get(rank, "NCHW")


def _channels(x: Spec, data_format: str) -> int:
    return x.shape[1] if data_format in CHANNELS_FIRST or x.rank < 3 else x.shape[-1]


def _conv(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    n = 3 if "3d" in cls.name else 2
    transposed = "transpose" in cls.name
    layout = fixed.get("data_format") or _format(s, n + 2)
    groups = fixed.get("groups") or s.pick([1, 1, 2, 3])
    attrs: Attributes = {
        "data_format": layout,
        "groups": groups,
        "strides": [int(s.rng.integers(1, 3)) for _ in range(n)],
        "dilations": [int(s.rng.integers(1, 3)) for _ in range(n)],
        "pads": [int(s.rng.integers(0, 2)) for _ in range(2 * n)],
    }
    if transposed:
        attrs["output_padding"] = [0] * n
    x = known[0]
    spatial = [int(s.rng.integers(3, 6)) for _ in range(n)]
    cin = groups * int(s.rng.integers(1, 3))
    if isinstance(x, Spec):
        cin = _channels(x, layout)
    else:
        batch = int(s.rng.integers(1, 3))
        x = Spec(s.dtype, (batch, cin, *spatial) if layout in CHANNELS_FIRST else (batch, *spatial, cin))
    out = int(s.rng.integers(1, 3))
    kernel = [int(s.rng.integers(1, 3)) for _ in range(n)]
    w = known[1]
    if isinstance(w, Unknown):
        w = Spec(s.dtype, (cin, out, *kernel) if transposed else (groups * out, cin // groups, *kernel))
    bias = known[2]
    if isinstance(bias, Unknown):
        count = cast(Spec, w).shape[1] * groups if transposed else cast(Spec, w).shape[0]
        bias = Spec(s.dtype, (count,))
    return [x, w, bias], attrs


def _per_channel(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """batch_norm, bias_add and the like: first x, then vectors of its channels."""
    x = _first(s, known, 2, 5)
    layout = fixed.get("data_format") or _format(s, x.rank)
    vector = Spec(x.dtype, (_channels(x, layout),))
    rest: list[Known] = [vector if isinstance(k, Unknown) else k for k in known[1:]]
    return [x, *rest], {"data_format": layout, "epsilon": 0.125} if "norm" in cls.name else {"data_format": layout}


def _layer_norm(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    axis = fixed.get("begin_norm_axis", int(s.rng.integers(-x.rank, x.rank)))
    affine = Spec(x.dtype, x.shape[axis:])
    rest: list[Known] = [affine if isinstance(k, Unknown) else k for k in known[1:]]
    attrs: Attributes = {"epsilon": 0.125}
    if "begin_norm_axis" in cls.attr_names():
        attrs["begin_norm_axis"] = axis
    return [x, *rest], attrs


def _axes(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    if x.rank == 0:
        raise ValueError("no axis")
    trailing = int(s.rng.integers(1, x.rank + 1))
    several = sorted({int(a) for a in s.rng.integers(0, x.rank, 2)})
    chosen = s.pick([[-1], list(range(x.rank - trailing, x.rank)), several])
    attrs: Attributes = {"axes": chosen, "keep_dims": s.chance(0.7)}
    return [x], {k: v for k, v in attrs.items() if k in cls.attr_names()}


def _transpose(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Any permutation; the last two axes exchanged; axes rotated, which has an order above two."""
    x = _first(s, known, 0)
    perm = [int(i) for i in s.rng.permutation(x.rank)]
    how = s.rng.random()
    if x.rank >= 2 and how < 0.4:
        perm = list(range(x.rank))
        if s.chance(0.7):
            perm[-1], perm[-2] = perm[-2], perm[-1]
    elif how > 0.7:
        perm = [*range(1, x.rank), 0][: x.rank]
    return [x], {"perm": perm}


def _reshape(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    shape = s.pick([list(x.shape), [-1], [*x.shape, 1], [1, *x.shape], [x.size, 1], list(x.shape[::-1])])
    if 0 in x.shape:
        shape = list(x.shape)
    return [x, None], {"shape": shape}


def _squeeze(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    if isinstance(known[0], Unknown):
        at = int(s.rng.integers(0, x.rank + 1))
        x = x.with_shape((*x.shape[:at], 1, *x.shape[at:]))
    return [x], {"axes": [i for i, d in enumerate(x.shape) if d == 1][:1]}


def _unsqueeze(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    return [x], {"axes": [int(s.rng.integers(0, x.rank + 1))]}


def _expand(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    grown = [d if d != 1 else s.dim() for d in x.shape]
    return [x, None], {"shape": s.pick([list(x.shape), grown, [s.dim(), *x.shape]])}


def _pad(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """By nothing, by a few, cutting some; without a fill value also the other modes."""
    x = _first(s, known, 1)
    some = [int(p) for p in s.rng.integers(-1 if s.chance(0.2) else 0, 3, 2 * x.rank)]
    value = Spec(x.dtype, ()) if isinstance(known[2], Unknown) else known[2]
    modes = ["constant"] if value is not None else ["constant", "constant", "reflect", "edge"]
    return [x, None, value], {"paddings": s.pick([[0] * (2 * x.rank), some, some]), "mode": s.pick(modes)}


def _concat(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    given = [k for k in known if isinstance(k, Spec)]
    like = given[0] if given else s.spec(1)
    axis = int(s.rng.integers(like.rank))
    out: list[Known] = []
    for k in known:
        shape = [s.dim() if i == axis else d for i, d in enumerate(like.shape)]
        out.append(like.with_shape(shape) if isinstance(k, Unknown) else k)
    return out, {"concat_dim": axis}


def _split(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    axis: int = fixed.get("split_dim", int(s.rng.integers(x.rank)))
    sizes: Any = fixed.get("size_splits")
    if sizes is None:
        at = int(s.rng.integers(x.shape[axis] + 1))
        sizes = s.pick([[at, x.shape[axis] - at], [1] * x.shape[axis], [x.shape[axis]]]) or [0]
    return [x], {"split_dim": axis, "size_splits": sizes}


def _quantize(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """One scale for all, or one for each position of an axis; ``dequantize`` reads bytes."""
    x = known[0] if isinstance(known[0], Spec) else s.spec()
    byte = dtypes.BY_NAME[s.pick(["i8", "ui8"])]
    out = x.dtype if cls.name == "ge.dequantize" and x.dtype.itemsize == 1 else byte
    if cls.name == "ge.dequantize":
        x = x.with_dtype(out)
    axis: int = fixed.get("axis", int(s.rng.integers(-x.rank, x.rank)) if x.rank else 0)
    side: tuple[int, ...] = (x.shape[axis],) if x.rank and s.chance(0.4) else ()
    real = s.dtype if s.dtype.is_float else dtypes.F32
    scale, zero = Spec(real, side), Spec(out, side)
    return [
        x,
        scale if isinstance(known[1], Unknown) else known[1],
        zero if isinstance(known[2], Unknown) else known[2],
    ], {"axis": axis}


def _index_type(s: Sampler) -> dtypes.DType:
    return dtypes.BY_NAME[s.pick(["i64", "i64", "i32"])]


def _axis_of(s: Sampler, rank: int, fixed: Attributes, name: str) -> int:
    """The axis that is fixed, or any, negative ones included; ValueError if there is none."""
    return fixed[name] if name in fixed else int(s.rng.integers(-rank, rank))


def _gather(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 1)
    batch: int = fixed.get("batch_dims", s.pick([0, 0, 0, 1]) if x.rank >= 2 else 0)
    axis: int = fixed.get("axis", int(s.rng.integers(batch, x.rank)))
    index = Spec(_index_type(s), (*x.shape[:batch], *s.shape(0, 2)))
    s.bounds[1] = (-x.shape[axis], x.shape[axis])
    return [x, index if isinstance(known[1], Unknown) else known[1]], {"axis": axis, "batch_dims": batch}


def _elements(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """gather_elements and scatter_elements: as many positions as fit; two updates of one element are likely."""
    x = _first(s, known, 1)
    name = "axis" if "axis" in cls.attr_names() else "dim"
    axis = _axis_of(s, x.rank, fixed, name)
    size = x.shape[axis]
    shape = tuple(int(s.rng.integers(1, d + 1)) if i != axis % x.rank else s.dim() for i, d in enumerate(x.shape))
    index = known[1]
    if isinstance(index, Unknown):
        index = Spec(_index_type(s), shape)
    updates = x.with_shape(index.shape) if isinstance(index, Spec) else x
    s.bounds[1] = (-size, size)
    rest: list[Known] = [updates if isinstance(k, Unknown) else k for k in known[2:]]
    attrs: Attributes = {name: axis}
    if rest:
        attrs["reduction"] = s.pick(["none", "none", "add", "mul", "max", "min"])
    return [x, index, *rest], attrs


def _nd(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """gather_nd and scatter_nd; positions fit the shortest of the axes they name."""
    x = _first(s, known, 1)
    depth = int(s.rng.integers(1, x.rank + 1))
    index = known[1]
    if isinstance(index, Unknown):
        index = Spec(_index_type(s), (*s.shape(0, 2), depth))
    if isinstance(index, Spec):
        depth = index.shape[-1]
    size = min(x.shape[:depth], default=1)
    s.bounds[1] = (-size, size)
    attrs: Attributes = {"batch_dims": 0}
    rest: list[Known] = []
    if len(known) > 2:
        updates = x.with_shape((*index.shape[:-1], *x.shape[depth:])) if isinstance(index, Spec) else x
        rest = [updates if isinstance(known[2], Unknown) else known[2]]
        attrs = {"reduction": s.pick(["none", "none", "add", "mul", "max", "min"])}
    return [x, index, *rest], attrs


def _one_hot(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Positions may lie outside 0 .. depth - 1."""
    x = known[0] if isinstance(known[0], Spec) else Spec(_index_type(s), s.shape(0, 3))
    depth = fixed.get("depth", int(s.rng.integers(1, 5)))
    s.bounds[0] = (-depth - 1, depth + 2)
    one = Spec(s.dtype, ())
    on, off = (one if isinstance(k, Unknown) else k for k in known[2:4])
    return [x, None, on, off], {"depth": depth, "axis": _axis_of(s, x.rank + 1, fixed, "axis")}


def _slice(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Some axes, either direction, bounds on either side of the ends."""
    x = _first(s, known, 1)
    lists = [fixed[n] for n in ("begin", "end", "axes", "strides") if fixed.get(n) is not None]
    count = len(lists[0]) if lists else int(s.rng.integers(1, x.rank + 1))
    axes = [int(a) for a in s.rng.permutation(x.rank)[:count]]
    axes = fixed.get("axes") or [a - x.rank if s.chance(0.3) else a for a in axes]
    steps = fixed.get("strides") or [s.pick([1, 1, 1, 2, -1, -2]) for _ in axes]
    begin: list[int] = []
    end: list[int] = []
    for axis, step in zip(axes, steps, strict=True):
        n = x.shape[axis]
        low, high = sorted(int(v) for v in s.rng.integers(0, n + 1, 2))
        if low == high < n and s.chance(0.8):  # seldom empty
            high += 1
        part, beyond = (low, high), (low, s.pick([n + 1, 2**62]))
        low, high = s.pick([part, part, part, (0, n), (low - n - 1, high - n - 1 or -1), beyond, beyond])
        if step < 0:
            low, high = (high - 1 if high > 0 else high), (low - 1 if low > 0 else -(2**62))
        begin.append(low)
        end.append(high)
    attrs: Attributes = {"begin": begin, "end": end, "axes": axes, "strides": steps}
    return [x, None, None, None], attrs


def _tile(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 0)
    return [x, None], {"multiples": [int(s.rng.integers(1, 3)) for _ in x.shape]}


def _along(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Running sums, searches, stacks: one axis and flags."""
    names = cls.attr_names()
    many = any(k == "variadic" for _, k in cls.operand_kinds())
    given = [k for k in known if isinstance(k, Spec)]
    x = given[0] if given else s.spec(0 if many else 1)
    rank = x.rank + 1 if many else x.rank
    axis_name = next(n for n in ("axis", "dimension", "dim") if n in names)
    axis = _axis_of(s, rank, fixed, axis_name)
    attrs: Attributes = {axis_name: axis}
    for flag in ("exclusive", "reverse", "keep_dims", "select_last_index", "largest", "activate_left"):
        if flag in names:
            attrs[flag] = s.chance(0.5)
    if "sorted" in names:
        attrs |= {"sorted": True, "k": s.below(x.shape[axis] + 1) if known[1] is None else None}
    if "approximate" in names:
        attrs["approximate"] = s.pick(["none", "tanh"])
    if cls.name.endswith("_glu") and isinstance(known[0], Unknown):
        x = x.with_shape([2 * d if i == axis % x.rank else d for i, d in enumerate(x.shape)])
    free: list[Known] = [x if isinstance(k, Unknown) else k for k in known]
    return free, attrs


def _pool(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    n = 3 if "3d" in cls.name else 2
    layout = fixed.get("data_format") or _format(s, n + 2)
    x = known[0]
    if not isinstance(x, Spec):
        spatial = [int(s.rng.integers(2, 6)) for _ in range(n)]
        batch, c = int(s.rng.integers(1, 3)), int(s.rng.integers(1, 3))
        x = Spec(s.dtype, (batch, c, *spatial) if layout in CHANNELS_FIRST else (batch, *spatial, c))
    kernel = fixed.get("ksize") or [int(s.rng.integers(1, 4)) for _ in range(n)]
    names = cls.attr_names()
    attrs: Attributes = {
        "ksize": kernel,
        "strides": [int(s.rng.integers(1, 3)) for _ in range(n)],
        "pads": [int(s.rng.integers(0, max((kernel * 2)[i], 1))) if s.chance(0.5) else 0 for i in range(2 * n)],
        "dilations": s.pick([[1] * n, [1] * n, [int(s.rng.integers(1, 3)) for _ in range(n)]]),
        "ceil_mode": s.chance(0.3),
        "count_include_pad": s.chance(0.5),
        "output_size": [int(s.rng.integers(1, 4)) for _ in range(n)],
        "p": s.pick([1, 2, 3]),
        "data_format": layout,
    }
    return [x], {k: v for k, v in attrs.items() if k in names}


def _resize(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    x = known[0] if isinstance(known[0], Spec) else Spec(s.dtype, (1, s.dim(), 1 + s.below(4), 1 + s.below(4)))
    attrs: Attributes = {
        "mode": s.pick(["nearest", "linear", "cubic"]),
        "coordinate_transformation_mode": s.pick(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]),
        "nearest_mode": s.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
    }
    head = [1] * max(x.rank - 2, 0)
    by_scale = "scales" in fixed or ("sizes" not in fixed and s.chance(0.5))
    if by_scale:
        attrs["scales"] = [*head, *(s.pick([1.0, 2.0, 3.0, 0.5]) for _ in range(min(x.rank, 2)))]
    else:
        attrs["sizes"] = [*x.shape[: len(head)], *(int(s.rng.integers(1, 7)) for _ in range(min(x.rank, 2)))]
    return [x, None, None, None], attrs


def _blocks(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """depth_to_space and its inverse."""
    block = fixed.get("block_size", s.pick([1, 2, 2]))
    layout = fixed.get("data_format") or _format(s, 4)
    n, c, h, w = (int(s.rng.integers(1, 3)) for _ in range(4))
    if cls.name == "ge.depth_to_space":
        c *= block * block
    else:
        h, w = h * block, w * block
    x = known[0] if isinstance(known[0], Spec) else Spec(s.dtype, (n, c, h, w) if layout == "NCHW" else (n, h, w, c))
    return [x], {"block_size": block, "mode": s.pick(["DCR", "CRD"]), "data_format": layout}


def _group_norm(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Groups of one channel, of all, and between."""
    layout = fixed.get("data_format") or s.pick(["NCHW", "NHWC"])
    groups = fixed.get("num_groups", s.pick([1, 2, 2, 3]))
    per_group, n = s.pick([1, 2, 2, 3]), s.pick([1, 2])
    spatial = [int(s.rng.integers(1, 4)) for _ in range(2)]
    x = known[0]
    if not isinstance(x, Spec):
        c = groups * per_group
        x = Spec(s.dtype, (n, c, *spatial) if layout == "NCHW" else (n, *spatial, c))
    vector = Spec(x.dtype, (_channels(x, layout),))
    rest: list[Known] = [vector if isinstance(k, Unknown) else k for k in known[1:]]
    return [x, *rest], {"num_groups": groups, "data_format": layout, "epsilon": s.pick([0.125, 1e-5])}


def _triangle(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    return [_first(s, known, 2)], {"diagonal": int(s.rng.integers(-2, 3))}


def _shift(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """By less than the width."""
    specs, attrs = _elementwise(s, cls, known, fixed)
    width = next(k for k in specs if isinstance(k, Spec)).dtype.bits
    s.bounds[1] = (0, width)
    return specs, attrs


def _flags(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """Element by element, with flags or a choice of words."""
    specs, attrs = _elementwise(s, cls, known, fixed)
    for name in cls.attr_names():
        if name in ("fmod", "detect_negative", "detect_positive"):
            attrs[name] = s.chance(0.6)
        elif name == "approximate":
            attrs[name] = s.pick(["none", "tanh"])
    return specs, attrs


def _reverse_sequence(
    s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes
) -> tuple[list[Known], Attributes]:
    x = _first(s, known, 2)
    batch, seq = (int(a) for a in s.rng.permutation(x.rank)[:2])
    batch = int(fixed.get("batch_dim", batch))
    seq = int(fixed.get("seq_dim", seq))
    s.bounds[1] = (0, x.shape[seq] + 1)
    lengths = Spec(_index_type(s), (x.shape[batch],)) if isinstance(known[1], Unknown) else known[1]
    return [x, lengths], {"batch_dim": batch, "seq_dim": seq}


def _attention(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """[B, N, S, D] or its layouts; masks that broadcast."""
    layout = fixed.get("input_layout", "BNSD")
    query, key = known[0], known[1]
    like = query if isinstance(query, Spec) else key if isinstance(key, Spec) else None
    batch, heads, sequence, d = (int(s.rng.integers(1, 4)) for _ in range(4))
    if like is not None and like.rank == 4:
        batch, heads, sequence, d = like.shape
    if like is not None and like.rank == 3:
        batch, sequence = like.shape[:2]
    groups, keys = fixed.get("num_key_value_heads", heads), sequence
    if isinstance(key, Spec) and key.rank >= 3:
        groups, keys = (key.shape[1], key.shape[2]) if key.rank == 4 else (groups, key.shape[1])
    if layout == "BSH":
        shapes = [(batch, sequence, heads * d), *[(batch, keys, groups * d)] * 2]
    else:
        shapes = [(batch, heads, sequence, d), *[(batch, groups, keys, d)] * 2]
    rest = [Spec(s.dtype, s.pick([(sequence, keys), (batch, 1, 1, keys)])), Spec(dtypes.BY_NAME["i1"], (keys,))]
    free = [*(Spec(s.dtype, shape) for shape in shapes), *rest]
    out: list[Known] = [f if isinstance(k, Unknown) else k for f, k in zip(free, known, strict=True)]
    attrs: Attributes = {"num_heads": heads, "num_key_value_heads": groups, "scale": 0.5, "input_layout": layout}
    attrs["mask_value"] = None if known[4] is None else -100.0
    return out, attrs


def _select(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    """A condition, and two values whose type it does not decide."""
    specs, attrs = _elementwise(s, cls, known, fixed)
    of = next((k.dtype for k in known[1:] if isinstance(k, Spec)), s.dtype)
    types = (dtypes.I1, of, of)
    return [
        c.with_dtype(t) if isinstance(k, Unknown) and isinstance(c, Spec) else c
        for c, k, t in zip(specs, known, types, strict=True)
    ], attrs


def _instance_norm(
    s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes
) -> tuple[list[Known], Attributes]:
    """gamma and beta have one value per channel even where a pattern says a number."""
    x = _first(s, known, 3)
    layout = fixed.get("data_format", "NCHW")
    return [x, *[Spec(x.dtype, (_channels(x, layout),))] * 2], {"data_format": layout, "epsilon": 0.125}


def _ffn(s: Sampler, cls: type[GeOp], known: list[Known], fixed: Attributes) -> tuple[list[Known], Attributes]:
    k, n, m = s.dim(), s.dim(), s.dim()
    shapes = [(s.dim(), k), (k, n), (n, m), (n,), (m,)]
    free = [Spec(s.dtype, shape) for shape in shapes]
    out: list[Known] = [f if isinstance(k, Unknown) else k for f, k in zip(free, known, strict=True)]
    return out, {"activation": s.pick(["relu", "gelu", "fastgelu", "silu"])}


Special: TypeAlias = "Callable[[Sampler, type[GeOp], list[Known], Attributes], tuple[list[Known], Attributes]]"

SPECIAL: dict[str, Special] = {
    "matmul": _matmul,
    "batch_norm": _per_channel,
    "bias_add": _per_channel,
    "layer_norm": _layer_norm,
    "rms_norm": _layer_norm,
    "softmax": _axes,
    "log_softmax": _axes,
    "transpose": _transpose,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "expand": _expand,
    "pad": _pad,
    "concat": _concat,
    "split": _split,
    "quantize": _quantize,
    "gather": _gather,
    "gather_elements": _elements,
    "scatter_elements": _elements,
    "gather_nd": _nd,
    "scatter_nd": _nd,
    "one_hot": _one_hot,
    "slice": _slice,
    "tile": _tile,
    "resize": _resize,
    "group_norm": _group_norm,
    "depth_to_space": _blocks,
    "space_to_depth": _blocks,
    "tril": _triangle,
    "triu": _triangle,
    "left_shift": _shift,
    "right_shift": _shift,
    "mod": _flags,
    "is_inf": _flags,
    "gelu": _flags,
    "reverse_sequence": _reverse_sequence,
    "lp_norm": _axes,
    "mvn": _axes,
    "adaptive_avg_pool2d": _pool,
    **dict.fromkeys(("cumsum", "cumprod", "arg_max", "arg_min", "topk", "hardmax", "pack", "unpack"), _along),
    **dict.fromkeys(("ge_glu", "swi_glu"), _along),
    "attention": _attention,
    "ffn": _ffn,
    "select": _select,
    "instance_norm": _instance_norm,
    "dequantize": _quantize,
}
FAMILIES: tuple[tuple[str, Special], ...] = (
    ("reduce_", _axes),
    ("conv", _conv),
    ("max_pool", _pool),
    ("avg_pool", _pool),
    ("lp_pool", _pool),
)
