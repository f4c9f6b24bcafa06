"""Shape arithmetic shared by the type inference of ge ops. Unknown sizes are ``DYNAMIC`` (-1)."""

from __future__ import annotations

from collections.abc import Sequence

from gedialect.errors import GeError
from gedialect.ir.spec import DYNAMIC, Spec


def mismatch(message: str) -> GeError:
    """Operands that do not fit together (GE1005)."""
    return GeError(message, code="GE1005", hint="check the shapes and types of the operands")


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """numpy broadcasting; an unknown size against n > 1 gives n, against 1 stays unknown."""
    rank = max((len(s) for s in shapes), default=0)
    out: list[int] = []
    for i in range(rank):
        sizes = [s[i - rank + len(s)] for s in shapes if i - rank + len(s) >= 0]
        known = {d for d in sizes if d not in (1, DYNAMIC)}
        if len(known) > 1:
            raise mismatch(f"shapes {', '.join(str(list(s)) for s in shapes)} do not broadcast")
        out.append(known.pop() if known else DYNAMIC if DYNAMIC in sizes else 1)
    return tuple(out)


def normalize_axis(axis: int, rank: int) -> int:
    """A non-negative axis; GE1005 outside [-rank, rank)."""
    if not -rank <= axis < max(rank, 1):
        raise mismatch(f"axis {axis} is out of range for rank {rank}")
    return axis % rank if rank else 0


def normalize_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Sorted non-negative axes without repeats."""
    out = sorted({normalize_axis(a, rank) for a in axes})
    if len(out) != len(axes):
        raise mismatch(f"axes {list(axes)} name one axis twice")
    return tuple(out)


def reduced(shape: Sequence[int], axes: Sequence[int], keep_dims: bool) -> tuple[int, ...]:
    """The shape after reducing ``axes``."""
    drop = set(normalize_axes(axes, len(shape)))
    if keep_dims:
        return tuple(1 if i in drop else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in drop)


def same_dtype(*specs: Spec | None) -> Spec:
    """The first spec; GE1005 unless all have its element type."""
    present = [s for s in specs if s is not None]
    if any(s.dtype is not present[0].dtype for s in present):
        raise mismatch(f"element types differ: {', '.join(s.dtype.name for s in present)}")
    return present[0]


def window(size: int, kernel: int, stride: int, pad: int, dilation: int, *, ceil: bool = False) -> int:
    """Output size of a sliding window over ``size`` elements with ``pad`` added in all.

    With ``ceil`` a last window that would start in the end padding still counts only if it starts
    inside the input or the begin padding (ONNX 1.14 and later); the caller passes begin + end pads.
    """
    if min(kernel, stride, dilation) < 1:
        raise mismatch(f"a window of {kernel} with stride {stride} and dilation {dilation}: each is 1 or more")
    if size == DYNAMIC:
        return DYNAMIC
    span = dilation * (kernel - 1) + 1
    room = size + pad - span
    if room < 0:
        raise mismatch(f"a window of {span} does not fit into {size} + {pad} elements")
    return (-(-room // stride) if ceil else room // stride) + 1
