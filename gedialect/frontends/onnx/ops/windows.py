"""What convolution and pooling share: attributes of windows, resolved to explicit pads; 1-D as 2-D with H = 1."""

from __future__ import annotations

from dataclasses import dataclass

from gedialect.errors import GeError, UnsupportedError
from gedialect.frontends.onnx.context import Context, Node
from gedialect.frontends.onnx.values import Value
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC

DATA_FORMAT = {4: "NCHW", 5: "NCDHW"}


@dataclass
class Window:
    """Spatial attributes; lists have one entry per spatial dim, pads all begins then all ends."""

    ksize: list[int]
    strides: list[int]
    pads: list[int]
    dilations: list[int]

    def widened(self) -> Window:
        """A 1-D window as a 2-D one."""
        n = len(self.ksize)
        return Window(
            [1, *self.ksize],
            [1, *self.strides],
            [0, *self.pads[:n], 0, *self.pads[n:]],
            [1, *self.dilations],
        )


def same_pads(total: list[int], lower: bool) -> list[int]:
    """Begin pads, then end pads: the odd one goes to the end, or to the beginning for SAME_LOWER."""
    small, big = [t // 2 for t in total], [t - t // 2 for t in total]
    return [*big, *small] if lower else [*small, *big]


def padded_window(ctx: Context, node: Node, x: Value, ksize: list[int], fill: float | None) -> tuple[Value, Window]:
    """``x`` and the node's window over it with auto_pad resolved to numbers.

    Where SAME needs a size that is unknown, ``x`` is padded with ``fill`` by an op whose pads are computed from its
    shape (they become numbers, once the sizes are known); GE1205 if ``fill`` is None.
    """
    n = len(ksize)
    if ctx.rank(x) != n + 2:
        raise GeError(f"x has rank {ctx.rank(x)}, a window of {n} dims needs {n + 2}", code="GE1005")
    strides = node.ints("strides", [1] * n)
    dilations = node.ints("dilations", [1] * n)
    pads = node.ints("pads", [0] * 2 * n)
    if len(strides) != n or len(dilations) != n or len(pads) != 2 * n:
        raise GeError(f"strides, dilations or pads do not have {n} spatial dims", code="GE1005")
    if min([*strides, *dilations, *ksize], default=1) < 1:
        raise GeError("strides, dilations and kernel sizes are positive", code="GE1005")
    match auto_pad := node.str("auto_pad", "NOTSET"):
        case "NOTSET" | "":
            pass
        case "VALID":
            pads = [0] * 2 * n
        case "SAME_UPPER" | "SAME_LOWER":
            total: list[int] = []
            for size, k, s, d in zip(ctx.shape(x)[2:], ksize, strides, dilations, strict=True):
                span = d * (k - 1) + 1
                if size == DYNAMIC and s != 1:
                    if fill is None:
                        raise UnsupportedError(
                            f"auto_pad {auto_pad} with stride {s} needs the size of its input",
                            code="GE1205",
                            hint="give it with --input-shape",
                        )
                    window = Window(ksize, strides, [0] * 2 * n, dilations)
                    return _pad_same(ctx, x, window, fill, auto_pad == "SAME_LOWER"), window
                total.append(max(0, (span - 1) if s == 1 else (-(-size // s) - 1) * s + span - size))
            pads = same_pads(total, auto_pad == "SAME_LOWER")
        case _:
            raise GeError(f"auto_pad {auto_pad!r} does not exist", code="GE1005")
    return x, Window(ksize, strides, pads, dilations)


def _pad_same(ctx: Context, x: Value, window: Window, fill: float, lower: bool) -> Value:
    """``x`` padded as SAME asks, by arithmetic on its shape."""
    n = len(window.ksize)

    def row(values: list[int]) -> Value:
        return ctx.const(values, dtypes.I64)

    strides = row(window.strides)
    span = row([d * (k - 1) + 1 for d, k in zip(window.dilations, window.ksize, strict=True)])
    size = ctx("shape", x, start=2, end=n + 2)
    count = ctx("div", ctx("add", size, row([s - 1 for s in window.strides])), strides)
    last = ctx("mul", ctx("sub", count, row([1])), strides)
    total = ctx("maximum", ctx("sub", ctx("add", last, span), size), row([0]))
    small = ctx("div", total, row([2]))
    big = ctx("sub", total, small)
    none = row([0, 0])
    ends = [none, big, none, small] if lower else [none, small, none, big]
    pads = ctx("concat", ends, concat_dim=0)
    shape = [*ctx.shape(x)[:2], *[DYNAMIC] * n]
    return ctx("pad", x, pads, ctx.scalar_like(x, fill), mode="constant", results=[ctx.spec(x).with_shape(shape)])
