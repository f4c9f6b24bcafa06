"""Kernels as bytes: our own encoding (the real one is closed), deterministic and checked.

Layout, little endian::

    "GEDK"  version (1 byte)  "L"  body  crc32 of everything before (4 bytes)
    body:  name, kind, blocks, arguments (name, dtype, bytes, role),
           views (a table: each distinct operand once), cube function?, vector function?
    function: instructions: opcode, operand views, mask of attributes set, their values;
              0xF0 lo hi step opens a loop, 0xF1 closes it, 0xFF ends the function

Integers are LEB128 varints, signed ones zigzag; floats are 8 bytes. Every count is checked against the bytes left,
so reading takes time and memory in proportion to the input.
"""

from __future__ import annotations

import hashlib
import struct
from zlib import crc32

from ..errors import GeError
from ..ir.dtypes import BY_NAME as DTYPE_BY_NAME
from .isa import BY_OPCODE, DTYPES, SPACES, VERSION, AttrSpec, Instr, Value, flag_error, load3d_error, shape_error
from .kernel import (
    FIRST_LOOP,
    KINDS,
    MAX_RANK,
    ROLES,
    Function,
    Inst,
    Kernel,
    KernelArg,
    Linear,
    Loop,
    Rotation,
    View,
    steps,
)
from .kernel import contiguous as row_major

MAGIC = b"GEDK"
LOOP, END_LOOP, END = 0xF0, 0xF1, 0xFF
MAX_DEPTH = 32
_LIMIT = 1 << 62
MAX_STEPS = 1 << 28
"""Instructions and iterations of one launch; the simulator takes seconds for as many empty iterations."""

_DTYPE_NUMBER = {name: i for i, name in enumerate(DTYPES)}
_SPACE_NUMBER = {name: i for i, name in enumerate(SPACES)}


def encode(kernel: Kernel) -> bytes:
    """The bytes of ``kernel``; equal kernels give equal bytes."""
    w = _Writer()
    w.string(kernel.name)
    w.unsigned(KINDS.index(kernel.kind))
    w.unsigned(kernel.blocks)
    w.unsigned(len(kernel.args))
    for arg in kernel.args:
        w.string(arg.name)
        w.unsigned(_dtype_number(arg.dtype.name))
        w.unsigned(arg.nbytes)
        w.unsigned(ROLES.index(arg.role))
    code = _Writer()
    for function in (kernel.cube, kernel.vector):
        code.out.append(function is not None)
        if function is not None:
            code.body(function.body)
            code.out.append(END)
    w.unsigned(len(code.views))
    for view in code.views:
        w.view(view)
    data = MAGIC + bytes((VERSION,)) + b"L" + bytes(w.out) + bytes(code.out)
    return data + struct.pack("<I", crc32(data))


def _dtype_number(name: str) -> int:
    number = _DTYPE_NUMBER.get(name)
    if number is None:
        raise GeError(f"kernels have no element type {name}", code="GE1311")
    return number


class _Writer:
    def __init__(self) -> None:
        self.out = bytearray()
        self.views: dict[View, int] = {}
        self._by_id: dict[int, int] = {}

    def unsigned(self, n: int) -> None:
        if not 0 <= n < _LIMIT:
            raise GeError(f"number {n} does not fit the kernel encoding", code="GE1311")
        while n > 0x7F:
            self.out.append(n & 0x7F | 0x80)
            n >>= 7
        self.out.append(n)

    def signed(self, n: int) -> None:
        self.unsigned(n << 1 if n >= 0 else (-n << 1) - 1)

    def wide(self, n: int) -> None:
        """A signed number of up to 64 bits (scalars)."""
        n = n << 1 if n >= 0 else (-n << 1) - 1
        self.unsigned(n & 0xFFFFFFFF)
        self.unsigned(n >> 32)

    def string(self, s: str) -> None:
        data = s.encode()
        self.unsigned(len(data))
        self.out += data

    def linear(self, form: Linear) -> None:
        self.signed(form.const)
        self.unsigned(len(form.terms))
        for var, coef in form.terms:
            self.unsigned(var)
            self.signed(coef)

    def view(self, v: View) -> None:
        packed = v.strides != row_major(v.shape)
        self.out.append(_SPACE_NUMBER[v.space] | packed << 3 | (v.rotation is not None) << 4)
        self.out.append(_dtype_number(v.dtype.name) | len(v.shape) << 4)
        for n in v.shape:
            self.unsigned(n)
        if packed:
            for s in v.strides:
                self.signed(s)
        if v.space == "gm":
            self.unsigned(v.arg)
        self.linear(v.base)
        if v.rotation is not None:
            self.unsigned(v.rotation.depth)
            self.unsigned(v.rotation.slots)
            self.unsigned(v.rotation.slot_bytes)

    def _view_number(self, view: View) -> int:
        number = self._by_id.get(id(view))
        if number is None:
            number = self._by_id[id(view)] = self.views.setdefault(view, len(self.views))
        return number

    def body(self, body: tuple[Inst | Loop, ...]) -> None:
        for item in body:
            if isinstance(item, Loop):
                self.out.append(LOOP)
                self.linear(item.lo)
                self.linear(item.hi)
                self.unsigned(item.step)
                self.body(item.body)
                self.out.append(END_LOOP)
                continue
            self.out.append(item.op.opcode)
            if item.op.operands:
                if item.op.operands[-1].optional:
                    self.out.append(len(item.views))
                for view in item.views:
                    self.unsigned(self._view_number(view))
            if item.op.attrs:
                mask = 0
                for i, (spec, value) in enumerate(zip(item.op.attrs, item.attrs, strict=True)):
                    mask |= (value != spec.default or type(value) is not type(spec.default)) << i
                self.unsigned(mask)
                for i, (spec, value) in enumerate(zip(item.op.attrs, item.attrs, strict=True)):
                    if mask >> i & 1:
                        self.value(spec, value)

    def value(self, spec: AttrSpec, value: Value) -> None:
        match spec.kind, value:
            case "enum", str():
                self.out.append(spec.choices.index(value))
            case "bool", bool():
                self.out.append(value)
            case "ints", tuple():
                self.unsigned(len(value))
                for v in value:
                    self.signed(v)
            case "scalar", float():
                self.out.append(1)
                self.out += struct.pack("<d", value)
            case "scalar", int():
                self.out.append(0)
                self.wide(value)
            case "float", int() | float():
                self.out += struct.pack("<d", value)
            case "int", int():
                self.signed(value)
            case _:
                raise GeError(f"attribute '{spec.name}' is {value!r}, expected {spec.kind}", code="GE1311")


def decode(data: bytes | bytearray | memoryview, *, where: str | None = None) -> Kernel:
    """The kernel that ``data`` encodes.

    Raises GeError GE1312 (not a kernel, or another version), GE1313 (cut short or corrupt), GE1314 (code that
    breaks a rule of the instruction set) or GE1317 (loops that do not end in any sensible time).
    """
    data = bytes(data)
    if data[:4] != MAGIC:
        raise GeError("not a gedialect kernel", code="GE1312", where=where)
    if len(data) < 11 or data[5:6] != b"L" or struct.unpack("<I", data[-4:])[0] != crc32(data[:-4]):
        raise GeError("kernel is cut short or corrupt", code="GE1313", where=where)
    if data[4] != VERSION:
        raise GeError(
            f"kernel encoding version {data[4]}, expected {VERSION}", code="GE1312", where=where, hint="compile again"
        )
    try:
        kernel = _Reader(data[:-4]).kernel(hashlib.sha256(data).digest())
        if (count := steps(kernel)) > MAX_STEPS:
            raise GeError(f"kernel {kernel.name} takes up to {count} steps, more than {MAX_STEPS}", code="GE1317")
        return kernel
    except GeError as e:
        raise e.at(where) if where is not None else e
    except (IndexError, struct.error, UnicodeDecodeError) as e:
        raise GeError("kernel is cut short or corrupt", code="GE1313", where=where) from e


def _bad(what: str) -> GeError:
    return GeError(f"kernel code breaks a rule: {what}", code="GE1314")


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.pos = 6
        self.views: list[View] = []
        self._uses: dict[tuple[int, ...], tuple[View, ...]] = {}
        self._needs: list[int] = []

    def byte(self) -> int:
        b = self.data[self.pos]
        self.pos += 1
        return b

    def unsigned(self) -> int:
        data, pos = self.data, self.pos
        b = data[pos]
        if b < 0x80:
            self.pos = pos + 1
            return b
        n, shift = b & 0x7F, 7
        while True:
            pos += 1
            b = data[pos]
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                break
            if shift > 63:
                raise GeError("kernel is cut short or corrupt", code="GE1313")
        self.pos = pos + 1
        if n >= _LIMIT:
            raise GeError("kernel is cut short or corrupt", code="GE1313")
        return n

    def signed(self) -> int:
        n = self.unsigned()
        return n >> 1 if n & 1 == 0 else -((n + 1) >> 1)

    def count(self) -> int:
        """A number of things that take at least one byte each."""
        n = self.unsigned()
        if n > len(self.data) - self.pos:
            raise GeError("kernel is cut short or corrupt", code="GE1313")
        return n

    def string(self) -> str:
        n = self.count()
        self.pos += n
        return self.data[self.pos - n : self.pos].decode()

    def choice(self, among: tuple[str, ...]) -> str:
        n = self.byte()
        if n >= len(among):
            raise _bad(f"choice {n} of {len(among)}")
        return among[n]

    def double(self) -> float:
        self.pos += 8
        return struct.unpack("<d", self.data[self.pos - 8 : self.pos])[0]

    def kernel(self, digest: bytes) -> Kernel:
        name = self.string()
        kind = self.choice(KINDS)
        blocks = self.unsigned()
        if not 1 <= blocks <= 65535:
            raise _bad(f"{blocks} blocks")
        args: list[KernelArg] = []
        for _ in range(self.count()):
            arg = self.string(), DTYPE_BY_NAME[self.choice(DTYPES)], self.unsigned(), self.choice(ROLES)
            args.append(KernelArg(*arg))
        self.views = [self.view(len(args)) for _ in range(self.count())]
        self._needs = [_variables(v) for v in self.views]
        functions = [self.function() if self.byte() else None for _ in range(2)]
        if self.pos != len(self.data):
            raise GeError("kernel has bytes after its end", code="GE1313")
        if [f is not None for f in functions] != [kind != "vector", kind != "cube"]:
            raise _bad(f"functions do not fit kind {kind}")
        return Kernel(name, kind, blocks, tuple(args), functions[0], functions[1], digest)

    def linear(self) -> Linear:
        const = self.signed()
        return Linear(const, tuple((self.unsigned(), self.signed()) for _ in range(self.count())))

    def view(self, args: int) -> View:
        head = self.byte()
        if head & 7 >= len(SPACES) or head >> 5:
            raise _bad("unknown space")
        space = SPACES[head & 7]
        b = self.byte()
        if b & 15 >= len(DTYPES) or b >> 4 > MAX_RANK:
            raise _bad("unknown element type or rank")
        shape = tuple(self.unsigned() for _ in range(b >> 4))
        strides = tuple(self.signed() for _ in shape) if head & 8 else row_major(shape)
        arg = self.unsigned() if space == "gm" else -1
        if arg >= args:
            raise _bad(f"argument {arg} of {args}")
        base = self.linear()
        rotation = Rotation(self.unsigned(), self.unsigned(), self.unsigned()) if head & 16 else None
        if rotation is not None and not 1 <= rotation.slots <= 1 << 16:
            raise _bad(f"{rotation.slots} slots")
        return View(space, DTYPE_BY_NAME[DTYPES[b & 15]], shape, strides, base, arg, rotation)

    def function(self) -> Function:
        """Loops are read with a stack of their own, so nesting costs no recursion."""
        stack: list[tuple[Linear, Linear, int]] = []
        bodies: list[list[Inst | Loop]] = [[]]
        while True:
            opcode = self.byte()
            if opcode == END:
                if stack:
                    raise _bad("a loop is not closed")
                return Function(tuple(bodies[0]))
            if opcode == LOOP:
                lo, hi, step = self.linear(), self.linear(), self.unsigned()
                variables = max([v for v, _ in lo.terms + hi.terms], default=0)
                if variables >= FIRST_LOOP + len(stack) or step == 0 or len(stack) >= MAX_DEPTH:
                    raise _bad("loop bounds, step or depth")
                stack.append((lo, hi, step))
                bodies.append([])
            elif opcode == END_LOOP:
                if not stack:
                    raise _bad("a loop is closed that was not open")
                body = tuple(bodies.pop())
                bodies[-1].append(Loop(*stack.pop(), body))
            else:
                bodies[-1].append(self.inst(opcode, len(stack)))

    def inst(self, opcode: int, depth: int) -> Inst:
        op = BY_OPCODE.get(opcode)
        if op is None:
            raise _bad(f"unknown opcode 0x{opcode:02x}")
        attrs: tuple[Value, ...] = ()
        views = self.operands(op, depth)
        if op.attrs:
            mask = self.unsigned()
            values: list[Value] = []
            for i, spec in enumerate(op.attrs):
                if mask >> i & 1:
                    values.append(self.value(spec))
                elif spec.default is None:
                    raise _bad(f"{op.name} without '{spec.name}'")
                else:
                    values.append(spec.default)
            attrs = tuple(values)
            error = None
            if op.shape == "load3d":
                named = dict(zip((s.name for s in op.attrs), attrs, strict=True))
                error = load3d_error(views[0].shape, views[1].shape, named)
            elif op.cost == "sync":
                error = flag_error(dict(zip((s.name for s in op.attrs), attrs, strict=True)))
            if error is not None:
                raise _bad(error)
        return Inst(op, views, attrs)

    def operands(self, op: Instr, depth: int) -> tuple[View, ...]:
        if not op.operands:
            return ()
        n = self.byte() if op.operands[-1].optional else len(op.operands)
        numbers = tuple(self.unsigned() for _ in range(n))
        key = (op.opcode, depth, *numbers)
        views = self._uses.get(key)
        if views is not None:
            return views
        least = sum(not o.optional for o in op.operands)
        if not least <= n <= len(op.operands) or any(i >= len(self.views) for i in numbers):
            raise _bad(f"operands of {op.name}")
        views = tuple(self.views[i] for i in numbers)
        for operand, view, i in zip(op.operands, views, numbers, strict=False):
            if view.space not in operand.spaces:
                raise _bad(f"operand '{operand.name}' of {op.name} lies in {view.space}")
            if self._needs[i] >= FIRST_LOOP + depth:
                raise _bad(f"operand '{operand.name}' of {op.name} uses a variable of no enclosing loop")
        error = op.type_error(tuple(v.dtype.name for v in views))
        error = error or shape_error(op.name, op.shape, tuple(v.shape for v in views))
        if error is not None:
            raise _bad(error)
        self._uses[key] = views
        return views

    def value(self, spec: AttrSpec) -> Value:
        match spec.kind:
            case "enum":
                return self.choice(spec.choices)
            case "bool":
                return self.byte() != 0
            case "ints":
                values = tuple(self.signed() for _ in range(self.count()))
                if spec.length is not None and len(values) != spec.length:
                    raise _bad(f"'{spec.name}' with {len(values)} numbers")
                return values
            case "scalar":
                if self.byte():
                    return self.double()
                n = self.unsigned() | self.unsigned() << 32
                return n >> 1 if n & 1 == 0 else -((n + 1) >> 1)
            case "float":
                return self.double()
            case "int":
                return self.signed()


def _variables(view: View) -> int:
    """The highest variable a view uses."""
    used = [v for v, _ in view.base.terms]
    if view.rotation is not None:
        used.append(FIRST_LOOP + view.rotation.depth)
    return max(used, default=0)
