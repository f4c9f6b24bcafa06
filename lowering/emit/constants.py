"""Where the bytes of constants come from: files as they lie, or expressions evaluated one at a time when written."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from gedialect.binary.weights import Deferred, Source, Span
from gedialect.dialects.ge.attrs import SplatAttr, WeightAttr
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.reproducible import as_result, reproducible
from gedialect.interpreter import run_op
from gedialect.ir.spec import Spec, spec_of
from gedialect.ir.weights import STORE, constant_bytes


class Constants:
    """Sources of const-derived values; nothing is evaluated or copied before the file is written or run."""

    def __init__(self) -> None:
        self._keys: dict[SSAValue, str] = {}

    def source(self, value: SSAValue) -> Source:
        """What the weights of an OM take for a const-derived value."""
        spec = spec_of(value.type)
        op = value.owner
        if isinstance(op, ConstantOp):
            attr = op.value
            if isinstance(attr, WeightAttr) and not attr.file.data.startswith("memory:"):
                return Span(STORE.path(attr.file.data), attr.offset.data, attr.length.data)
            if isinstance(attr, SplatAttr):
                return Deferred(spec.nbytes, partial(_splat, attr.python, spec), f"splat {attr.python!r} {spec}")
            data = constant_bytes(attr, spec)
            if data is not None and spec.dtype.kind != "b":
                return data
        return Deferred(spec.nbytes, partial(_evaluate, value), self.key(value))

    def key(self, value: SSAValue) -> str:
        """A digest of the expression: equal keys have equal values."""
        work = [value]
        while work:
            v = work[-1]
            if v in self._keys:
                work.pop()
                continue
            op = v.owner
            assert isinstance(op, Operation)
            missing = [o for o in op.operands if o not in self._keys]
            if missing:
                work += missing
                continue
            properties = [f"{k}={a}" for k, a in sorted(op.properties.items(), key=lambda item: item[0])]
            for i, result in enumerate(op.results):
                parts = [op.name, str(i), str(spec_of(result.type)), *properties, *(self._keys[o] for o in op.operands)]
                self._keys[result] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
            work.pop()
        return self._keys[value]


def _splat(value: float, spec: Spec) -> bytes:
    return np.full(spec.size, value, spec.dtype.numpy).tobytes()


def _evaluate(value: SSAValue) -> memoryview:
    """The bytes of a const-derived value; what its expression needs on the way is freed after its last use."""
    values: dict[SSAValue, Any] = {}
    waiting: dict[SSAValue, int] = {}
    order: list[Operation] = []
    seen: set[Operation] = set()
    work: list[SSAValue] = [value]
    while work:  # operations in the order they can run, and how often each value is read
        op = work[-1].owner
        assert isinstance(op, Operation)
        missing = [o for o in op.operands if o.owner not in seen]
        if op in seen or not missing:
            work.pop()
            if op not in seen:
                seen.add(op)
                order.append(op)
                for operand in op.operands:
                    waiting[operand] = waiting.get(operand, 0) + 1
            continue
        work += missing
    for op in order:
        with reproducible():
            arrays = run_op(op, values)
        for result, array in zip(op.results, arrays, strict=True):
            if result is value or waiting.get(result):
                values[result] = as_result(array, spec_of(result.type))
        for operand in op.operands:
            waiting[operand] -= 1
            if waiting[operand] == 0 and operand is not value:
                values.pop(operand, None)
    flat: Any = np.ascontiguousarray(values[value]).reshape(-1)
    return memoryview(flat.view(np.uint8))
