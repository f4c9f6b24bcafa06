"""Tensors of strings, which the host holds as arrays of Python strings."""

from __future__ import annotations

import re
from typing import Any, cast

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.attrs import ANY
from gedialect.dialects.ge.base import BOOL, INT, INTS, STR, STRS, Attrs, Results, words
from gedialect.dialects.ge.control import HostOp
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch
from gedialect.errors import UnsupportedError

_BEYOND_RE2 = re.compile(r"\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|[*+?}]\+")
"""What Python's patterns have and RE2's, which ONNX asks for, have not."""


def _words(value: Any, what: str) -> Any:
    if not hasattr(value, "dtype") or value.dtype.kind not in "OUS":
        raise mismatch(f"{what} needs a tensor of strings")
    return value


def _array(values: list[Any], shape: Any) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


@irdl_op_definition
class TextOp(HostOp):
    """A constant tensor of strings, in row-major order."""

    name = "ge.text"
    value = prop_def(STRS)
    shape = prop_def(INTS)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return _array(list(attrs["value"]), attrs["shape"])


@irdl_op_definition
class TextConcatOp(HostOp):
    """Each string of x followed by that of z; shapes broadcast."""

    name = "ge.text_concat"
    x = operand_def(ANY)
    z = operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, z = np.broadcast_arrays(*(_words(o, "text_concat") for o in operands))
        return _array([a + b for a, b in zip(x.reshape(-1), z.reshape(-1), strict=True)], x.shape)


@irdl_op_definition
class TextEqualOp(HostOp):
    """Whether strings are the same (i1); shapes broadcast."""

    name = "ge.text_equal"
    x = operand_def(ANY)
    z = operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, z = np.broadcast_arrays(*(_words(o, "text_equal") for o in operands))
        return np.array([a == b for a, b in zip(x.reshape(-1), z.reshape(-1), strict=True)], bool).reshape(x.shape)


@irdl_op_definition
class TextSplitOp(HostOp):
    """Strings split at ``delimiter`` (absent: at white space), at most ``maxsplit`` times: the parts along a new last
    axis, filled up with empty strings, and how many there are (i64)."""

    name = "ge.text_split"
    x = operand_def(ANY)
    delimiter = opt_prop_def(STR)
    maxsplit = opt_prop_def(INT)
    y = result_def(ANY)
    count = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = _words(operands[0], "text_split")
        most: int = -1 if attrs.maxsplit is None else attrs.maxsplit
        # nothing has no parts, as onnxruntime has it
        parts: list[list[str]] = [str(s).split(attrs.delimiter, most) if s else [] for s in x.reshape(-1)]
        longest = max(map(len, parts), default=0)
        padded = [p for part in parts for p in [*part, *[""] * (longest - len(part))]]
        counts = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
        return _array(padded, (*x.shape, longest)), counts


@irdl_op_definition
class TextMatchOp(HostOp):
    """Whether all of a string matches ``pattern`` (i1), a regular expression in RE2's syntax."""

    name = "ge.text_match"
    x = operand_def(ANY)
    pattern = prop_def(STR)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = _words(operands[0], "text_match")
        pattern = compiled(attrs["pattern"])
        return np.array([pattern.fullmatch(s) is not None for s in x.reshape(-1)], bool).reshape(x.shape)


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that means in Python what it does in RE2; UnsupportedError GE1205 for others."""
    try:
        if _BEYOND_RE2.search(pattern) is None:
            return re.compile(pattern, re.ASCII)
    except re.error:
        pass
    raise UnsupportedError(f"the pattern {pattern!r} is not supported", code="GE1205")


@irdl_op_definition
class TextNormalizeOp(HostOp):
    """Strings of a vector, or of a matrix of one row, without ``stopwords``, in lower or upper case (``action``
    "LOWER", "UPPER" or "NONE"). If none is left the result is one empty string."""

    name = "ge.text_normalize"
    x = operand_def(ANY)
    action = prop_def(words("LOWER", "UPPER", "NONE"))
    case_sensitive = prop_def(BOOL)
    stopwords = prop_def(STRS)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = _words(operands[0], "text_normalize")
        if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
            raise mismatch(f"text_normalize takes a vector or one row, not shape {list(x.shape)}")
        check_words(TextNormalizeOp, attrs)

        def key(s: str) -> str:
            return s if attrs["case_sensitive"] else s.lower()

        stops = {key(s) for s in cast("tuple[str, ...]", attrs["stopwords"])}
        kept: list[str] = [s for s in x.reshape(-1) if key(s) not in stops]
        change = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}[attrs["action"]]
        words = [change(s) for s in kept] or [""]
        return _array(words, (1, len(words)) if x.ndim == 2 else (len(words),))
