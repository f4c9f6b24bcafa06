"""Which values the attributes of an op may have, said for people who write rules."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, f64
from xdsl.ir import Attribute
from xdsl.irdl import OptPropertyDef, VerificationContext
from xdsl.utils.exceptions import VerifyException

from gedialect.dialects.ge import base
from gedialect.dialects.ge.base import GeOp, Words, to_attr, to_python

_CONTEXT = VerificationContext()
_GOOD: dict[tuple[type[GeOp], str, int], Attribute] = {}
"""Attributes that an op is known to take, by their identity."""
MAX_GOOD = 1 << 12


@cache
def is_optional(cls: type[GeOp], name: str) -> bool:
    """Whether the attribute may be absent."""
    return isinstance(cls.get_irdl_definition().properties[name], OptPropertyDef)


def converted(cls: type[GeOp], name: str, value: Any) -> Attribute | None:
    """The attribute for a Python value; None if the op takes no such value."""
    try:
        if getattr(value, "ndim", None) == 0:  # a number of numpy
            value = value.item()
        found = to_attr(value, floats=name in cls.FLOAT_ATTRS)
    except (TypeError, ValueError, OverflowError):
        return None
    key = (cls, name, id(found))
    if _GOOD.get(key) is found:  # attributes of one value are mostly one object
        return found
    if _takes(cls, name, found):
        if len(_GOOD) >= MAX_GOOD:
            _GOOD.clear()
        _GOOD[key] = found
        return found
    return None


def _takes(cls: type[GeOp], name: str, found: Attribute) -> bool:
    constraint = cls.get_irdl_definition().properties[name].constr
    try:
        constraint.verify(found, _CONTEXT)
    except VerifyException:
        return False
    # the dialect tells neither of these apart, and values of the other never match
    if constraint in (base.BOOL, base.INT) and isinstance(to_python(found), bool) != (constraint is base.BOOL):
        return False
    if constraint is base.INTS and name not in cls.FLOAT_ATTRS:
        return cast("DenseArrayBase[Any]", found).elt_type != f64
    return True


def expected(cls: type[GeOp], name: str, value: object = None) -> str:
    """What the attribute may be; what was probably meant by a misspelt word."""
    constraint = cls.get_irdl_definition().properties[name].constr
    if isinstance(constraint, Words):
        close = get_close_matches(value, constraint.allowed, 1, 0.5) if isinstance(value, str) else []
        allowed = ", ".join(f'"{w}"' for w in constraint.allowed)
        return f'did you mean "{close[0]}"? Words are {allowed}' if close else f"{name} is one of {allowed}"
    kind = next((k for c, k in _KINDS if constraint is c), "what docs/ops.md says")
    if name in cls.FLOAT_ATTRS:
        kind = kind.replace("integers", "floats")
    return f"{name} is {kind}"


_KINDS = (
    (base.BOOL, "True or False"),
    (base.INT, "an integer"),
    (base.FLOAT, "a float"),
    (base.STR, "a string"),
    (base.INTS, "a list of integers"),
    (base.FLOATS, "a list of floats"),
    (base.STRS, "a list of strings"),
)
