"""Turns a function of a kernel into Python source that runs it: one line per instruction.

On-chip views at fixed addresses are made once, when the function is bound to a core; the rest inline. Flags
and barriers cost nothing: blocks run in program order, which is a legal order of the pipes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from ...binary.isa import CROSS_CORE_LIMIT
from ...binary.kernel import BLOCK_IDX, FIRST_LOOP, Function, Inst, Linear, Loop, View
from . import semantics
from .memory import Core

UFUNCS: dict[str, str] = {
    "vadd": "add", "vsub": "subtract", "vmul": "multiply", "vdiv": "divide", "vmax": "maximum", "vmin": "minimum",
    "vand": "bitwise_and", "vor": "bitwise_or", "vxor": "bitwise_xor", "vshl": "left_shift", "vshr": "right_shift",
    "vabs": "absolute", "vneg": "negative", "vexp": "exp", "vln": "log", "vsqrt": "sqrt", "vnot": "invert",
    "vfloor": "floor", "vceil": "ceil", "vrint": "rint", "vtrunc": "trunc", "vsin": "sin", "vcos": "cos",
}  # fmt: skip
SCALAR_UFUNCS = {
    "vadds": "add",
    "vsubs": "subtract",
    "vmuls": "multiply",
    "vdivs": "divide",
    "vmaxs": "maximum",
    "vmins": "minimum",
}
COMPARES = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
REDUCTIONS = {
    "vreduce_sum": "add",
    "vreduce_max": "maximum",
    "vreduce_min": "minimum",
    "vreduce_prod": "multiply",
    "vreduce_any": "logical_or",
    "vreduce_all": "logical_and",
}
NO_EFFECT = {"set_flag", "wait_flag", "pipe_barrier"}
CROSS = {"cross_core_set", "cross_core_wait"}


class CrossCore:
    """The cross-core flags of one block: what the cube signalled to each vector and the other way round."""

    def __init__(self) -> None:
        self.to_vector = [[0, 0] for _ in range(16)]
        self.to_cube = [[0, 0] for _ in range(16)]
        self.waiting: dict[str, int] = {}

    def set(self, who: int, flag: int) -> None:
        """``who``: -1 the cube, 0 or 1 a vector sub-block."""
        if who < 0:
            counts = self.to_vector[flag]
            counts[0] += 1
            counts[1] += 1
        else:
            counts = self.to_cube[flag]
            counts[who] += 1
        if max(counts) > CROSS_CORE_LIMIT:
            raise OverflowError(f"cross-core flag {flag} was set {max(counts)} times without a wait")

    def take(self, who: int, flag: int) -> bool:
        """Whether the flag was there; if so it is used up."""
        counts = self.to_cube[flag] if who < 0 else self.to_vector[flag]
        if who < 0:
            if min(counts) < 1:
                return False
            counts[0] -= 1
            counts[1] -= 1
            return True
        if counts[who] < 1:
            return False
        counts[who] -= 1
        return True


@dataclass
class Program:
    """Generated source of a function and what it refers to."""

    source: str
    constants: list[Any]
    lines: dict[int, int] = field(default_factory=dict[int, int])
    """Source line -> number of the instruction."""
    is_generator: bool = False
    views: list[View] = field(default_factory=list[View])
    """On-chip views made when the program is bound to a core; rotating ones as a tuple of slots."""

    def bind(self, core: Core) -> Callable[..., Any]:
        """The callable ``run(args, bid, sub, cross)`` of this program on ``core``."""
        space: dict[str, Any] = {"np": np, "nd": np.ndarray, "cp": np.copyto, "S": semantics, "K": self.constants}
        space["V"] = [_bind_view(core, v) for v in self.views]
        exec(compile(self.source, "<kernel>", "exec"), space)
        return space["bind"]()


def _bind_view(core: Core, view: View) -> Any:
    if view.rotation is None:
        return core.view(view, view.base.const)
    return tuple(core.view(view, view.base.const + i * view.rotation.slot_bytes) for i in range(view.rotation.slots))


def generate(function: Function) -> Program:
    """The program of ``function``."""
    return _Generator().run(function)


class _Generator:
    def __init__(self) -> None:
        self.body: list[str] = []
        self.numbers: list[int] = []
        self.constants: list[Any] = []
        self._constant_number: dict[Any, int] = {}
        self._views: dict[View, int] = {}
        self._expressions: dict[View, str] = {}
        self._number = 0
        self._ufuncs: dict[str, None] = {}
        self.is_generator = False

    def run(self, function: Function) -> Program:
        self.block(function.body, 0)
        n = len(self.constants)
        lines = ["def bind():"]
        if n:
            lines.append(f"    ({', '.join(f'k{i}' for i in range(n))},) = K")
        if self._views:
            lines.append(f"    ({', '.join(f'v{i}' for i in range(len(self._views)))},) = V")
        lines += [f"    {u} = np.{u}" for u in self._ufuncs]
        lines.append("    def run(A, bid, sub, cross):")
        first = len(lines) + 1
        lines += [f"        {b}" for b in self.body] or ["        pass"]
        lines.append("    return run")
        numbers = {first + i: number for i, number in enumerate(self.numbers)}
        return Program("\n".join(lines) + "\n", self.constants, numbers, self.is_generator, list(self._views))

    def emit(self, indent: str, text: str) -> None:
        self.body.append(indent + text)
        self.numbers.append(self._number)

    def block(self, body: tuple[Inst | Loop, ...], depth: int) -> None:
        indent = "    " * depth
        before = len(self.body)
        for item in body:
            if not isinstance(item, Loop):
                if item.op.name not in NO_EFFECT:
                    self.inst(item, indent, depth)
                self._number += 1
                continue
            bounds = f"range({_linear(item.lo)}, {_linear(item.hi)}, {item.step})"
            slots = _slots(item, depth)
            if slots:
                self.emit(indent, f"for n{depth}, i{depth} in enumerate({bounds}):")
                for n in slots:
                    self.emit(indent + "    ", f"s{depth}_{n} = n{depth} % {n}")
            else:
                self.emit(indent, f"for i{depth} in {bounds}:")
            self.block(item.body, depth + 1)
        if len(self.body) == before and depth:
            self.emit(indent, "pass")

    def constant(self, value: Any, key: Any = None) -> str:
        if key is None:
            key = (type(value), id(cast(object, value)) if isinstance(value, np.ndarray) else value)
        number = self._constant_number.get(key)
        if number is None:
            number = self._constant_number[key] = len(self.constants)
            self.constants.append(value)
        return f"k{number}"

    def ufunc(self, name: str) -> str:
        self._ufuncs[name] = None
        return name

    # views

    def view(self, view: View) -> str:
        text = self._expressions.get(view)
        if text is None:
            text = self._expressions[view] = self._view(view)
        return text

    def _view(self, v: View) -> str:
        if v.space == "gm":
            shape = self.constant(v.shape)
            dtype = self.constant(v.dtype.numpy, ("dtype", v.dtype.name))
            strides = self.constant(tuple(s * v.dtype.itemsize for s in v.strides))
            return f"nd({shape}, {dtype}, A[{v.arg}], {_address(v)}, {strides})"
        if not v.base.terms:
            number = self._views.setdefault(v, len(self._views))
            if v.rotation is None:
                return f"v{number}"
            return f"v{number}[s{v.rotation.depth}_{v.rotation.slots}]"
        at = _address(v)
        number = self._views.setdefault(_whole(v), len(self._views))
        scale = Core.scale(v)
        dtype = self.constant(*Core.stored(v))
        shape = self.constant(v.shape)
        strides = self.constant(tuple(s * v.dtype.itemsize * scale for s in v.strides))
        return f"nd({shape}, {dtype}, v{number}, ({at}) * {scale}, {strides})"

    # instructions

    def inst(self, inst: Inst, indent: str, depth: int) -> None:
        name = inst.op.name
        if name in CROSS:
            self._cross(inst, indent, depth)
            return
        if any(0 in v.shape for v in inst.views) and not name.startswith(("vreduce", "mmad")):
            return
        e = [self.view(v) for v in inst.views]
        attrs = {s.name: v for s, v in zip(inst.op.attrs, inst.attrs, strict=True)}
        self.emit(indent, self.text(name, inst, e, attrs))

    def text(self, name: str, inst: Inst, e: list[str], a: dict[str, Any]) -> str:
        views = inst.views
        is_bool = bool(views) and views[-1].dtype.name == "i1"
        if name in UFUNCS:
            ufunc = UFUNCS[name]
            if is_bool:
                ufunc = ufunc.replace("bitwise_", "logical_").replace("invert", "logical_not")
            return f"{self.ufunc(ufunc)}({', '.join(e[1:])}, out={e[0]})"
        if name in SCALAR_UFUNCS:
            operands = [e[1], self.scalar(a["scalar"], views[1])]
            if a.get("reverse"):
                operands.reverse()
            return f"{self.ufunc(SCALAR_UFUNCS[name])}({', '.join(operands)}, out={e[0]})"
        if name in ("vcmp", "vcmps"):
            other = e[2] if name == "vcmp" else self.scalar(a["scalar"], views[1])
            return f"{self.ufunc(COMPARES[a['mode']])}({e[1]}, {other}, out={e[0]})"
        if name in REDUCTIONS:
            wide = bool(a.get("f32_acc")) and views[1].dtype.name in ("f16", "bf16")
            return f"S.reduce({e[0]}, {e[1]}, {self.ufunc(REDUCTIONS[name])}, {a['accumulate']}, {wide})"
        special = getattr(self, f"_{name}", None)
        if special is None:
            raise AssertionError(f"no semantics for {name}")
        return special(views, e, a)

    def scalar(self, value: float, view: View) -> str:
        return self.constant(
            semantics.as_scalar(value, view.dtype.numpy), ("scalar", view.dtype.name, type(value), repr(value))
        )

    Views = tuple[View, ...]

    def _load(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"cp({e[0]}, {e[1]})"

    _load2d = _load_bias = _vcopy = _load

    def _store(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"cp({e[0]}, {e[1]})" if a["atomic"] == "none" else f"S.combine({e[0]}, {e[1]}, {a['atomic']!r})"

    def _gather_rows(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.gather_rows({', '.join(e)})"

    _vgather = _gather_rows

    def _vgather_elems(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.gather_elems({', '.join(e)})"

    def _scatter_rows(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.scatter_rows({', '.join(e)}, {a['mode']!r})"

    def _load3d(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.img2col({e[0]}, {e[1]}, {self.constant(a, ('attrs', repr(a)))})"

    def _mmad(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        shape = views[0].shape
        # f32 products are summed in f64 and rounded once a step: BLAS sums in an order that depends on a tile's size
        # and on where in it an element stands, and equal rows would differ
        exact = views[1].dtype.name == "f32"
        matmul = (
            self.constant(partial(np.matmul, dtype=np.float64), ("matmul", "f64")) if exact else self.ufunc("matmul")
        )
        if views[0].dtype.name == "f32" and a["init"]:
            product = f"{matmul}({e[1]}, {e[2]}, out={e[0]})"
            return product if len(e) < 4 else f"{product}; {self.ufunc('add')}({e[0]}, {e[3]}, out={e[0]})"
        scratch = self.constant(np.empty(shape, np.float32), ("scratch", shape))
        if views[0].dtype.name == "f32":
            product = f"{matmul}({e[1]}, {e[2]}, out={scratch})"
            return f"{product}; {self.ufunc('add')}({e[0]}, {scratch}, out={e[0]})"
        bias = e[3] if len(e) > 3 else "None"
        return f"S.mmad({e[0]}, {e[1]}, {e[2]}, {bias}, {a['init']}, {scratch})"

    def _fixpipe(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        plain = a["scale"] == 1.0 and a["atomic"] == "none" and views[0].dtype.name == views[1].dtype.name
        if plain and a["relu"] == "none":
            return f"cp({e[0]}, {e[1]})"
        if plain and a["relu"] == "relu":
            return f"{self.ufunc('maximum')}({e[1]}, {self.scalar(0, views[1])}, out={e[0]})"
        return f"S.fixpipe({e[0]}, {e[1]}, {self.constant(a, ('attrs', repr(a)))})"

    def _vidiv(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        if a["mode"] == "floor":
            return f"{self.ufunc('floor_divide')}({e[1]}, {e[2]}, out={e[0]})"
        return f"S.idiv_trunc({', '.join(e)})"

    def _vmod(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"{self.ufunc('remainder' if a['mode'] == 'floor' else 'fmod')}({e[1]}, {e[2]}, out={e[0]})"

    def _vpow(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.power({', '.join(e)})"

    def _vrsqrt(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        one = self.scalar(1, views[1])
        return f"{self.ufunc('divide')}({one}, {self.ufunc('sqrt')}({e[1]}), out={e[0]})"

    def _vrec(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"{self.ufunc('divide')}({self.scalar(1, views[1])}, {e[1]}, out={e[0]})"

    def _vrelu(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"{self.ufunc('maximum')}({e[1]}, {self.scalar(0, views[1])}, out={e[0]})"

    def _vlrelu(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.lrelu({e[0]}, {e[1]}, {self.scalar(a['slope'], views[1])})"

    def _vsign(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.sign({e[0]}, {e[1]})"

    def _vsel(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.select({', '.join(e)})"

    def _vcast(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        dst, src = views[0].dtype, views[1].dtype
        if dst.is_float or (src.name == "i1" and dst.name != "i1"):
            return f"cp({e[0]}, {e[1]}, 'unsafe')"
        return f"S.cast({e[0]}, {e[1]}, {a['round']!r}, {a['saturate']})"

    def _vdup(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"{e[0]}.fill({self.scalar(a['scalar'], views[0])})"

    def _vargmax(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.arg_reduce({e[0]}, {e[1]}, np.argmax, {a['last']})"

    def _vargmin(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.arg_reduce({e[0]}, {e[1]}, np.argmin, {a['last']})"

    def _varange(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        view = views[0]
        axis = int(a["axis"]) % len(view.shape)
        whole = isinstance(a["start"], int) and isinstance(a["step"], int)
        steps = np.arange(int(view.shape[axis]), dtype=np.int64 if whole else np.float64)
        values = (a["start"] + a["step"] * steps).astype(view.dtype.numpy)
        values = values.reshape([-1 if i == axis else 1 for i in range(len(view.shape))])
        return f"cp({e[0]}, {self.constant(values)})"

    def _vcumsum(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.cumsum({e[0]}, {e[1]}, {a['exclusive']}, {a['reverse']})"

    def _vsort(self, views: Views, e: list[str], a: dict[str, Any]) -> str:
        return f"S.sort({', '.join(e)}, {a['descending']})"

    def _cross(self, inst: Inst, indent: str, depth: int) -> None:
        flag, slots = inst.attr("flag"), inst.attr("slots")
        if depth and isinstance(slots, int) and slots > 1:
            flag = f"{flag} + s{depth - 1}_{slots}"
        if inst.op.name == "cross_core_set":
            self.emit(indent, f"cross.set(sub, {flag})")
            return
        self.is_generator = True
        self.emit(indent, f"while not cross.take(sub, {flag}): yield {flag}")


def _slots(loop: Loop, depth: int) -> list[int]:
    """Slot counts of the views and cross-core flags in ``loop`` that rotate with it."""
    found: set[int] = set()
    for item in loop.body:
        if isinstance(item, Inst) and item.op.name in CROSS:
            slots = item.attr("slots")
            if isinstance(slots, int) and slots > 1:
                found.add(slots)
    stack: list[Inst | Loop] = list(loop.body)
    while stack:
        item = stack.pop()
        if isinstance(item, Loop):
            stack.extend(item.body)
            continue
        for v in item.views:
            if v.rotation is not None and v.rotation.depth == depth:
                found.add(v.rotation.slots)
    return sorted(found)


def _whole(view: View) -> View:
    """All of the view's space, as bytes that views at varying addresses are cut from."""
    return View(view.space, view.dtype, (-1,), (1,), Linear())


def _address(view: View) -> str:
    at = _linear(view.base)
    if view.rotation is not None:
        at += f" + {view.rotation.slot_bytes} * s{view.rotation.depth}_{view.rotation.slots}"
    return at


def _linear(form: Linear) -> str:
    names = {BLOCK_IDX: "bid", 1: "sub"}
    terms = [f"{names.get(v, f'i{v - FIRST_LOOP}')} * {c}" for v, c in form.terms if c]
    if form.const or not terms:
        terms.append(str(form.const))
    return " + ".join(terms)
