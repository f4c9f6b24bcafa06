"""Lists of tensors and values that may be missing: Python lists and None between the executables of a model."""

from __future__ import annotations

from typing import Any

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    var_operand_def,
)

from gedialect.dialects.ge.attrs import ANY
from gedialect.dialects.ge.base import BOOL, INT, Attrs, Results
from gedialect.dialects.ge.control import HostOp
from gedialect.dialects.ge.numeric import np
from gedialect.errors import GeError


def _items(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise GeError(f"{what} needs a sequence, not {'nothing' if value is None else 'a tensor'}", code="GE1005")
    return value  # pyright: ignore[reportUnknownVariableType]


def _position(at: Any, count: int, end: int) -> int:
    position = int(np.asarray(at).reshape(-1)[0])
    if not -count <= position < end:
        raise GeError(f"position {position} is out of range for {count} elements", code="GE1006")
    return position + count if position < 0 else position


@irdl_op_definition
class SequenceConstructOp(HostOp):
    """The sequence of its operands, which may be none."""

    name = "ge.sequence_construct"
    x = var_operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return list(operands[0])


@irdl_op_definition
class SequenceAtOp(HostOp):
    """The element at ``position``; negative positions count from the end."""

    name = "ge.sequence_at"
    x = operand_def(ANY)
    position = operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, position = operands
        items = _items(x, "sequence_at")
        return items[_position(position, len(items), len(items))]


@irdl_op_definition
class SequenceInsertOp(HostOp):
    """A copy with ``value`` before ``position``, at the end if that is absent."""

    name = "ge.sequence_insert"
    x = operand_def(ANY)
    value = operand_def(ANY)
    position = opt_operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, value, position = operands
        items = _items(x, "sequence_insert")
        at = len(items) if position is None else _position(position, len(items), len(items) + 1)
        return [*items[:at], value, *items[at:]]


@irdl_op_definition
class SequenceEraseOp(HostOp):
    """A copy without the element at ``position``, the last if that is absent."""

    name = "ge.sequence_erase"
    x = operand_def(ANY)
    position = opt_operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, position = operands
        items = _items(x, "sequence_erase")
        at = _position(-1 if position is None else position, len(items), len(items))
        return [*items[:at], *items[at + 1 :]]


@irdl_op_definition
class SequenceLengthOp(HostOp):
    """The number of elements, i64 of rank 0."""

    name = "ge.sequence_length"
    x = operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.array(len(_items(operands[0], "sequence_length")), np.int64)


@irdl_op_definition
class SequenceConcatOp(HostOp):
    """The elements joined along ``axis``, stacked along a new one if ``new_axis``."""

    name = "ge.sequence_concat"
    x = operand_def(ANY)
    axis = prop_def(INT)
    new_axis = prop_def(BOOL)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        items = _items(operands[0], "sequence_concat")
        if not items:
            raise GeError("an empty sequence cannot be joined", code="GE1005")
        try:
            return np.stack(items, attrs.axis) if attrs.new_axis else np.concatenate(items, attrs.axis)
        except ValueError as e:
            raise GeError(f"elements do not join: {e}", code="GE1005") from None


@irdl_op_definition
class SequenceSplitOp(HostOp):
    """Parts of ``x`` along ``axis``: of ``split`` elements each (rank 0; the last may be shorter), of the sizes in
    ``split`` (rank 1), or of one element each, without the axis unless ``keepdims``."""

    name = "ge.sequence_split"
    x = operand_def(ANY)
    split = opt_operand_def(ANY)
    axis = prop_def(INT)
    keepdims = prop_def(BOOL)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, split = operands
        if not -x.ndim <= attrs.axis < x.ndim:
            raise GeError(f"axis {attrs.axis} is out of range for rank {x.ndim}", code="GE1005")
        size: int = x.shape[attrs.axis]
        if split is None:
            parts = [x.take([i], attrs.axis) for i in range(size)]
            return parts if attrs.keepdims else [p.squeeze(attrs.axis) for p in parts]
        if split.ndim == 0:
            each = int(split)
            if each <= 0:
                raise GeError(f"parts of {each} elements do not end", code="GE1005")
            sizes = [min(each, size - i) for i in range(0, size, each)]
        else:
            sizes = [int(s) for s in split]
        if min(sizes, default=0) < 0 or sum(sizes) != size:
            raise GeError(f"sizes {sizes} do not split {size} elements", code="GE1005")
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [x.take(range(at, at + n), attrs.axis) for at, n in zip(starts, sizes, strict=True)]


@irdl_op_definition
class OptionalOp(HostOp):
    """A value that may be missing: ``x``, nothing if that is absent."""

    name = "ge.optional"
    x = opt_operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return operands[0]


@irdl_op_definition
class OptionalHasElementOp(HostOp):
    """Whether there is a value, i1 of rank 0."""

    name = "ge.optional_has_element"
    x = opt_operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return np.array(operands[0] is not None)


@irdl_op_definition
class OptionalGetElementOp(HostOp):
    """The value; GE1005 if it is missing."""

    name = "ge.optional_get_element"
    x = operand_def(ANY)
    y = result_def(ANY)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        if operands[0] is None:
            raise GeError("the optional value is missing", code="GE1005")
        return operands[0]
