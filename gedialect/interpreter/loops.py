"""What ``ge.loop`` and ``ge.if`` do, whatever runs their bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from gedialect.dialects.ge.attrs import ON_HOST
from gedialect.dialects.ge.control import LoopOp, never_ends
from gedialect.dialects.ge.fusion import YieldOp
from gedialect.errors import GeError
from gedialect.ir.spec import DYNAMIC, spec_of

MAX_ROUNDS = 1 << 20
"""Rounds of one loop: a model whose loop never ends does."""


def truth(value: Any) -> bool:
    """A condition: the one element of an array."""
    array = np.asarray(value)
    if array.size != 1:
        raise GeError(f"a condition has {array.size} elements, one is needed", code="GE1005")
    return bool(array.reshape(-1)[0])


def iterate(op: LoopOp, values: Mapping[SSAValue, Any], body: Callable[[Sequence[Any]], Sequence[Any]]) -> list[Any]:
    """Results of a loop; ``body`` takes (count, condition, carried...) and gives (condition, carried..., elements...).

    GE1307 for a loop that does not end.
    """
    limit = None if op.trip is None else int(np.asarray(values[op.trip]).reshape(-1)[0])
    going = op.condition is None or truth(values[op.condition])
    if going and never_ends(op):
        raise GeError("a loop without limit does not end: its condition stays true", code="GE1005")
    carried = [values[v] for v in op.init]
    count = len(carried)
    rounds: list[list[Any]] = []
    at = 0
    while going and (limit is None or at < limit):
        if at >= MAX_ROUNDS:
            raise GeError(f"a loop went round more than {MAX_ROUNDS} times", code="GE1307", hint="it does not end")
        out = body([np.array(at, np.int64), np.array(going), *carried])
        going = truth(out[0])
        carried = list(out[1 : 1 + count])
        rounds.append(list(out[1 + count :]))
        at += 1
    last = op.body.block.last_op
    types = [v.type for v in last.operands][1 + count :] if isinstance(last, YieldOp) else []
    return [*carried, *(_stacked([r[i] for r in rounds], t) for i, t in enumerate(types))]


def _stacked(elements: list[Any], type_: Attribute) -> Any:
    if elements:
        try:
            return np.stack(elements)
        except ValueError:
            shapes = ", ".join(str(list(np.shape(e))) for e in elements[:4])
            raise GeError(f"rounds of a loop give elements of different shapes: {shapes}", code="GE1005") from None
    if isinstance(type_, ON_HOST):
        raise GeError("the type of what a loop without rounds collects is not known", code="GE1005")
    spec = spec_of(type_)
    return np.empty((0, *(0 if d == DYNAMIC else d for d in spec.shape)), spec.dtype.numpy)
