"""Fourier transforms. Complex numbers are pairs along the last axis, real ones have one entry there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from gedialect.dialects.ge.base import BOOL, INT, TENSOR, Attrs, GeOp, Results
from gedialect.dialects.ge.numeric import np, require_kinds, wide
from gedialect.dialects.ge.shapes import mismatch, normalize_axis, same_dtype
from gedialect.errors import UnsupportedError
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

TABLE_LIMIT = 1 << 21
"""Elements of the matrix of a transform; longer ones run on the host."""


def _transform(x: Any, length: int, inverse: bool, onesided: bool) -> Any:
    """Of [.., n, 1 or 2] along its second last axis, in f64."""
    x = x.astype(np.float64)
    signal = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
    if inverse and onesided:
        return np.fft.irfft(signal, n=length)[..., None]
    y = np.fft.ifft(signal, n=length) if inverse else np.fft.fft(signal, n=length)
    if onesided:
        y = y[..., : length // 2 + 1]
    return np.stack([y.real, y.imag], axis=-1)


def _matrix(count: int, parts: int, length: int, inverse: bool, onesided: bool) -> Any:
    """The transform of ``count`` elements of ``parts`` numbers as a matrix [count * parts, outputs * numbers]."""
    unit = np.eye(count * parts).reshape(count * parts, count, parts)
    return _transform(unit, length, inverse, onesided).reshape(count * parts, -1)


@irdl_op_definition
class DftOp(GeOp):
    """The discrete Fourier transform of x along ``axis``, cut or filled with zeros to ``length``.

    With ``onesided`` the first ``length / 2 + 1`` results, or, ``inverse``, the real signal of as many.
    """

    name = "ge.dft"
    GE_TYPES: ClassVar = ()
    x = operand_def(TENSOR)
    axis = prop_def(INT)
    length = prop_def(INT)
    inverse = prop_def(BOOL)
    onesided = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        require_kinds(cls.name, "f", x)
        if x.rank < 2 or x.shape[-1] not in (1, 2, DYNAMIC):
            raise mismatch(f"x of {cls.name} is {x}; its last axis has 1 or 2 entries")
        axis = normalize_axis(attrs.axis, x.rank)
        if axis == x.rank - 1 or attrs.length < 1:
            raise mismatch(f"{cls.name} of length {attrs.length} along axis {axis} of {x}")
        shape = list(x.shape)
        real = attrs.inverse and attrs.onesided
        shape[axis] = attrs.length // 2 + 1 if attrs.onesided and not attrs.inverse else attrs.length
        shape[-1] = 1 if real else 2
        return [x.with_shape(shape)]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0]
        axis = attrs.axis % x.ndim
        moved = np.moveaxis(x, axis, -2)
        y = _transform(moved, attrs.length, attrs.inverse, attrs.onesided)
        return np.ascontiguousarray(np.moveaxis(y, -2, axis)).astype(x.dtype)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """A product with the transform's matrix."""
        (x,) = operands
        spec = b.spec(x)
        axis: int = attrs.axis % spec.rank
        bins = attrs.length // 2 + 1 if attrs.inverse and attrs.onesided else attrs.length
        count = min(spec.shape[axis], bins)
        parts = spec.shape[-1]
        if count * parts * 2 * attrs.length > TABLE_LIMIT or spec.dtype.itemsize > 4:
            raise UnsupportedError(f"a transform of {attrs.length} elements as a matrix", code="GE1205")
        if count < spec.shape[axis]:
            x = b.slice(x, None, None, None, begin=[0], end=[count], axes=[axis], strides=[1])
        order = [i for i in range(spec.rank) if i != axis]
        order.insert(spec.rank - 2, axis)
        if order != list(range(spec.rank)):
            x = b.transpose(x, perm=order)
        lead = list(b.spec(x).shape[:-2])
        table = _matrix(count, parts, attrs.length, attrs.inverse, attrs.onesided)
        x = b.reshape(x, shape=[-1, count * parts])
        y = b.matmul(x, b.array(table.astype(spec.dtype.numpy)), None, transpose_x1=False, transpose_x2=False)
        last = attrs.shape[-1]
        y = b.reshape(y, shape=[*lead, table.shape[1] // last, last])
        if order == list(range(spec.rank)):
            return y
        return b.transpose(y, perm=[order.index(i) for i in range(spec.rank)])


@irdl_op_definition
class StftOp(GeOp):
    """Transforms of frames of ``frame_length`` elements, ``frame_step`` apart, times ``window`` [frame_length].

    x is [batch, n, 1 or 2]; the result [batch, frames, frame_length or frame_length / 2 + 1, 2].
    """

    name = "ge.stft"
    GE_TYPES: ClassVar = ("STFT",)
    x = operand_def(TENSOR)
    window = opt_operand_def(TENSOR)
    frame_step = prop_def(INT)
    frame_length = prop_def(INT)
    onesided = prop_def(BOOL)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, window = operands
        require_kinds(cls.name, "f", x)
        same_dtype(x, window)
        size = attrs.frame_length
        if x.rank != 3 or x.shape[2] not in (1, 2, DYNAMIC) or (attrs.onesided and x.shape[2] == 2):
            raise mismatch(f"x of {cls.name} is {x}; [batch, n, 1], or 2 if all frequencies are wanted")
        if window is not None and window.shape not in ((size,), (DYNAMIC,)):
            raise mismatch(f"window {window} does not fit frames of {size}")
        if size < 1 or attrs.frame_step < 1 or -1 < x.shape[1] < size:
            raise mismatch(f"frames of {size}, {attrs.frame_step} apart, do not fit {x}")
        frames = DYNAMIC if x.shape[1] == DYNAMIC else (x.shape[1] - size) // attrs.frame_step + 1
        return [x.with_shape((x.shape[0], frames, size // 2 + 1 if attrs.onesided else size, 2))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x, window = operands
        size = attrs.frame_length
        frames = np.lib.stride_tricks.sliding_window_view(x, size, axis=1)[:, :: attrs.frame_step]
        frames = wide(frames.swapaxes(2, 3))
        if window is not None:
            frames = frames * wide(window)[:, None]
        return _transform(frames, size, False, attrs.onesided).astype(x.dtype)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        """A convolution whose filters are the waves under the window."""
        x, window = operands
        spec = b.spec(x)
        batch, n, parts = spec.shape
        size: int = attrs.frame_length
        bins = attrs.shape[2]
        if size * parts * 2 * bins > TABLE_LIMIT or spec.dtype.itemsize > 4:
            raise UnsupportedError(f"a transform of {size} elements as filters", code="GE1205")
        table = _matrix(size, parts, size, False, attrs.onesided).reshape(size, parts, bins * 2)
        filters = b.array(np.ascontiguousarray(table.transpose(2, 1, 0))[:, :, None].astype(spec.dtype.numpy))
        if window is not None:
            filters = b.mul(filters, window)
        x = b.transpose(x, perm=[0, 2, 1]) if parts > 1 else x
        y = b.conv2d(
            b.reshape(x, shape=[batch, parts, 1, n]),
            filters,
            None,
            strides=[1, attrs.frame_step],
            pads=[0, 0, 0, 0],
            dilations=[1, 1],
            groups=1,
            data_format="NCHW",
        )
        return b.transpose(b.reshape(y, shape=[batch, bins, 2, attrs.shape[1]]), perm=[0, 3, 1, 2])
