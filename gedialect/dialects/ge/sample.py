"""``ge.grid_sample``: values of x at arbitrary positions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from gedialect.dialects.ge import sampling
from gedialect.dialects.ge.base import BOOL, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np, wide, widen
from gedialect.dialects.ge.shapes import mismatch
from gedialect.errors import UnsupportedError
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


@irdl_op_definition
class GridSampleOp(GeOp):
    """x [N, C, *spatial] at ``grid`` [N, *out, n]: positions from -1 to 1, the last axis of x first.

    ``interpolation_mode`` bilinear (ONNX linear; trilinear for 3-D), nearest, bicubic (2-D);
    ``padding_mode`` zeros, border, reflection. -1 and 1 are the centres of the border cells with
    ``align_corners``, their outer edges without.
    """

    name = "ge.grid_sample"
    GE_TYPES: ClassVar = ("GridSampler2D", "GridSampler3D")
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    grid = operand_def(TENSOR)
    interpolation_mode = prop_def(words("bilinear", "nearest", "bicubic"))
    padding_mode = prop_def(words("zeros", "border", "reflection"))
    align_corners = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, grid = operands
        check_words(cls, attrs)
        n = x.rank - 2
        if n not in (2, 3) or grid.rank != x.rank or grid.shape[-1] not in (n, DYNAMIC) or not grid.dtype.is_float:
            raise mismatch(f"grid {grid} does not fit {x}")
        if attrs.interpolation_mode == "bicubic" and n != 2:
            raise mismatch("bicubic sampling needs rank 4")
        if x.shape[0] != grid.shape[0] and DYNAMIC not in (x.shape[0], grid.shape[0]):
            raise mismatch(f"{x} and grid {grid} have different batches")
        return [x.with_shape([*x.shape[:2], *grid.shape[1:-1]])]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, grid = operands
        value, n = wide(x), x.ndim - 2
        steps: list[list[tuple[Any, Any]]] = []  # per axis: (positions, weights) of each tap
        for i, size in enumerate(x.shape[2:]):
            at = wide(grid[..., n - 1 - i])
            half = at.dtype.type(2)
            at = (at + 1) / half * (size - 1) if attrs.align_corners else ((at + 1) * size - 1) / half
            steps.append(_taps(attrs.interpolation_mode, at))
        batch = np.arange(len(x)).reshape(-1, *[1] * n)
        y: Any = 0
        for taps in product(*steps):
            weight: Any = 1
            places: list[Any] = []
            for (at, share), size in zip(taps, x.shape[2:], strict=True):
                place, inside = _place(attrs, at, size)
                places.append(place)
                weight = weight * np.where(inside, share, 0)
            cells = value[(batch, slice(None), *places)]  # [N, *out, C]
            y = y + cells * weight[..., None].astype(cells.dtype)
        return np.ascontiguousarray(np.moveaxis(y, -1, 1)).astype(x.dtype, copy=False)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """Rows of C elements picked for each tap."""
        x, grid = operands
        spec, n = b.spec(x), b.spec(x).rank - 2
        if spec.dtype.name == "f64" or not spec.dtype.is_float or b.spec(grid).dtype.name == "f64":
            raise UnsupportedError(f"grid_sample of {spec.dtype}", code="GE1205")
        table = sampling.Table(b, widen(b, x), 1)
        grid = widen(b, grid)
        axis = b.spec(grid).rank - 1
        steps: list[list[tuple[Any, Any]]] = []
        for i, size in enumerate(spec.shape[2:]):
            at = b.slice(grid, None, None, None, begin=[n - 1 - i], end=[n - i], axes=[axis], strides=[1])
            at = b.add(b.reshape(at, shape=list(b.spec(at).shape[:-1])), 1.0)
            if attrs.align_corners:
                at = b.mul(b.div(at, 2.0), float(size - 1))
            else:
                at = b.div(b.add(b.mul(at, float(size)), -1.0), 2.0)
            taps: list[tuple[Any, Any]] = []
            match attrs.interpolation_mode:
                case "nearest":
                    taps = [(b.round(at), None)]
                case "bilinear":
                    taps = sampling.bilinear_taps(b, at)
                case _:
                    taps = sampling.cubic_taps(b, at)
            steps.append([_place_in_ops(b, attrs, t, w, size) for t, w in taps])
        y = table.weighted(steps, table.first(axis))
        rank = b.spec(y).rank
        return b.cast(b.transpose(y, perm=[0, rank - 1, *range(1, rank - 1)]), spec.dtype)


def _place_in_ops(b: GeBuilder, attrs: Attrs, at: Any, weight: Any, size: int) -> tuple[Any, Any]:
    """``_place`` in ops, with the tap's weight."""
    if attrs.padding_mode == "zeros":
        return sampling.inside_or_zero(b, at, weight, size)
    if attrs.padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if attrs.align_corners else (-0.5, size - 0.5)
        at = sampling.reflected(b, at, low, high)
    return sampling.clamped(b, at, size), weight


def _taps(mode: str, at: Any) -> list[tuple[Any, Any]]:
    """(integer positions, weights) of the elements that make up the value at ``at``."""
    if mode == "nearest":
        return [(np.rint(at), np.ones_like(at))]
    base = np.floor(at)
    t = at - base
    if mode == "bilinear":
        return [(base, 1 - t), (base + 1, t)]
    a = -0.75

    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [(base - 1, far(t + 1)), (base, near(t)), (base + 1, near(1 - t)), (base + 2, far(2 - t))]


def _place(attrs: Attrs, at: Any, size: int) -> tuple[Any, Any]:
    """(element index, whether it counts) of integer positions, by the padding mode."""
    if attrs.padding_mode == "zeros":
        inside = (at >= 0) & (at < size)
        return np.where(inside, at, 0).astype(np.int64), inside
    if attrs.padding_mode == "reflection":
        low, high = (0.0, size - 1.0) if attrs.align_corners else (-0.5, size - 0.5)
        span = max(high - low, 1e-30)
        away = np.mod(at - low, 2 * span)
        at = low + np.where(away > span, 2 * span - away, away)
    return np.clip(np.nan_to_num(at), 0, size - 1).astype(np.int64), np.True_
