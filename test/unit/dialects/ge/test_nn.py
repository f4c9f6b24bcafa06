"""Convolutions, matrix products and einsum against onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx_check import expanded, ge_run, onnx_run, same, spec, static_dims_agree, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

RNG = np.random.default_rng(0)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def conv_attrs(n: int, strides: Any = 1, pads: Any = 0, dilations: Any = 1, groups: int = 1) -> dict[str, Any]:
    def each(v: Any, k: int) -> tuple[int, ...]:
        return (v,) * k if isinstance(v, int) else tuple(v)

    return {
        "strides": each(strides, n),
        "pads": each(pads, 2 * n),
        "dilations": each(dilations, n),
        "groups": groups,
        "data_format": "NCHW" if n == 2 else "NCDHW",
    }


def to_onnx(attrs: dict[str, Any]) -> dict[str, Any]:
    keep = {"strides", "pads", "dilations", "output_padding", "output_shape"}
    return {k: list(v) for k, v in attrs.items() if k in keep} | {"group": attrs["groups"]}


def last(x: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def channels_last(attrs: dict[str, Any]) -> dict[str, Any]:
    return attrs | {"data_format": "NHWC" if len(attrs["strides"]) == 2 else "NDHWC"}


CONVS = [
    ((1, 3, 8, 9), (4, 3, 3, 3), {}),
    ((2, 4, 9, 7), (6, 4, 1, 1), {"strides": 2}),
    ((2, 4, 9, 7), (6, 2, 3, 2), {"strides": (2, 1), "pads": (1, 0, 2, 1), "groups": 2}),
    ((1, 6, 10, 10), (6, 1, 3, 3), {"pads": 1, "groups": 6}),
    ((1, 6, 10, 10), (12, 1, 5, 3), {"pads": 2, "groups": 6, "dilations": (2, 3), "strides": (1, 3)}),
    ((0, 3, 8, 8), (4, 3, 3, 3), {}),
    ((1, 2, 5, 6, 7), (4, 2, 2, 3, 1), {"strides": (1, 2, 3), "pads": (0, 1, 2, 1, 0, 0)}),
    ((2, 4, 5, 5, 5), (4, 1, 3, 3, 3), {"groups": 4, "dilations": (2, 1, 1), "pads": 1}),
]


@pytest.mark.parametrize(("shape", "kernel", "extra"), CONVS)
@pytest.mark.parametrize("bias", [False, True])
def test_conv(shape: Any, kernel: Any, extra: Any, bias: bool) -> None:
    x, w = floats(*shape), floats(*kernel)
    b = floats(kernel[0]) if bias else None
    attrs = conv_attrs(len(shape) - 2, **extra)
    name = f"conv{len(shape) - 2}d"
    got = ge_run(name, [x, w, b], attrs)
    if shape[0]:
        same(got, onnx_run("Conv", [x, w, b], to_onnx(attrs)), 1e-5)
    nhwc = ge_run(name, [last(x), w, b], channels_last(attrs))
    same(nhwc, [last(got[0])], 1e-6)
    loose = op_class(name).infer(Attrs(attrs), Spec(dtypes.F32, (DYNAMIC,) * len(shape)), spec(w), None)
    static_dims_agree(list(loose), got)
    assert loose[0].shape == (DYNAMIC, kernel[0], *(DYNAMIC,) * (len(shape) - 2))


TRANSPOSED = [
    ((1, 3, 5, 6), (3, 4, 3, 3), {}, {}),
    ((2, 4, 5, 3), (4, 3, 2, 3), {"strides": 2, "groups": 2, "pads": (1, 0, 0, 1)}, {}),
    ((1, 4, 5, 3), (4, 1, 3, 3), {"strides": 3, "groups": 4, "pads": 1}, {"output_padding": (2, 1)}),
    ((1, 2, 4, 4), (2, 3, 3, 3), {"dilations": 2, "strides": (2, 3)}, {"output_padding": (1, 2)}),
    ((1, 2, 3, 4, 2), (2, 2, 2, 3, 2), {"strides": (2, 1, 2), "pads": (0, 1, 0, 1, 0, 1)}, {}),
]


@pytest.mark.parametrize(("shape", "kernel", "extra", "more"), TRANSPOSED)
def test_conv_transpose(shape: Any, kernel: Any, extra: Any, more: Any) -> None:
    n = len(shape) - 2
    x, w = floats(*shape), floats(*kernel)
    attrs = conv_attrs(n, **extra) | {"output_padding": (0,) * n} | more
    b = floats(kernel[1] * attrs["groups"])
    got = ge_run(f"conv{n}d_transpose", [x, w, b], attrs)
    same(got, onnx_run("ConvTranspose", [x, w, b], to_onnx(attrs)), 1e-5)
    nhwc = ge_run(f"conv{n}d_transpose", [last(x), w, b], channels_last(attrs))
    same(nhwc, [last(got[0])], 1e-6)


def test_conv_transpose_output_shape() -> None:
    """ONNX splits the padding that output_shape implies; we take its begin pads and the shape."""
    x, w = floats(1, 2, 5, 5), floats(2, 3, 3, 3)
    full = onnx_run("ConvTranspose", [x, w], {"strides": [2, 2], "output_shape": [10, 9]})
    # total padding 4 * 2 + 3 - (10, 9) = (1, 2): NOTSET puts the larger half at the begin
    attrs = conv_attrs(2, strides=2, pads=(1, 1, 0, 0)) | {"output_padding": (0, 0), "output_shape": (10, 9)}
    same(ge_run("conv2d_transpose", [x, w, None], attrs), full, 1e-5)
    longer = ge_run("conv2d_transpose", [x, w, None], attrs | {"output_shape": (12, 9)})[0]
    assert longer.shape == (1, 3, 12, 9)
    assert not longer[:, :, 11].any()
    assert longer[:, :, 9].any()


def test_conv_half_accumulates_wide() -> None:
    x, w = floats(1, 64, 6, 6, dtype=np.float16), floats(8, 64, 3, 3, dtype=np.float16)
    got = ge_run("conv2d", [x, w, None], conv_attrs(2, pads=1))
    wide = onnx_run("Conv", [x.astype(np.float32), w.astype(np.float32)], {"pads": [1] * 4})
    same(got, [wide[0].astype(np.float16)], 1e-3)
    bf = [a.astype(ml_dtypes.bfloat16) for a in (x, w)]
    got = ge_run("conv2d", [*bf, None], conv_attrs(2, pads=1))
    want = onnx_run("Conv", [a.astype(np.float32) for a in bf], {"pads": [1] * 4})
    same(got, [want[0].astype(ml_dtypes.bfloat16)], 1e-2)


def test_conv_integers() -> None:
    x = RNG.integers(0, 256, (2, 3, 6, 6)).astype(np.uint8)
    w = RNG.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8)
    want = onnx_run("ConvInteger", [x, w], {"pads": [1, 1, 1, 1]}, opset=10)
    same(ge_run("conv2d", [x, w, None], conv_attrs(2, pads=1)), want)


def test_large_conv_goes_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    for shape, kernel, extra in CONVS:
        x, w, attrs = floats(*shape), floats(*kernel), conv_attrs(len(shape) - 2, **extra)
        at_once = ge_run(f"conv{len(shape) - 2}d", [x, w, None], attrs)
        for limit in (1, 5000):
            with monkeypatch.context() as patch:
                patch.setattr("gedialect.dialects.ge.convolve.COLUMN_LIMIT", limit)
                same(ge_run(f"conv{len(shape) - 2}d", [x, w, None], attrs), at_once, 1e-6)


def test_conv_bad_operands() -> None:
    f32 = dtypes.F32
    cls = op_class("conv2d")
    for x, w, extra in [
        ((1, 4, 8, 8), (4, 3, 3, 3), {}),
        ((1, 3, 8, 8), (4, 3, 3), {}),
        ((1, 3, 2, 8), (4, 3, 3, 3), {}),
        ((1, 4, 8, 8), (5, 2, 3, 3), {"groups": 2}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"strides": (1,)}),
    ]:
        with pytest.raises(GeError) as e:
            cls.infer(Attrs(conv_attrs(2, **extra)), Spec(f32, x), Spec(f32, w), None)
        assert e.value.code == "GE1005"
    with pytest.raises(GeError, match="data_format"):
        cls.infer(
            Attrs(conv_attrs(2) | {"data_format": "CHWN"}), Spec(f32, (1, 3, 8, 8)), Spec(f32, (4, 3, 3, 3)), None
        )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 6)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 2)),
        ((1, 7), (7, 1)),
    ],
)
def test_matmul(a: Any, b: Any) -> None:
    x1, x2 = floats(*a), floats(*b)
    want = onnx_run("MatMul", [x1, x2], {})
    plain = {"transpose_x1": False, "transpose_x2": False}
    same(ge_run("matmul", [x1, x2, None], plain), want, 1e-5)
    t1, t2 = x1.swapaxes(-1, -2).copy(), x2.swapaxes(-1, -2).copy()
    bias = floats(b[-1])
    turned = {"transpose_x1": True, "transpose_x2": True}
    same(ge_run("matmul", [t1, t2, bias], turned), [want[0] + bias], 1e-5)
    same(ge_run("matmul", [x1, t2, None], plain | {"transpose_x2": True}), want, 1e-5)
    static_dims_agree(unknown("matmul", [x1, x2, None], plain), want)


def test_matmul_types() -> None:
    plain = {"transpose_x1": False, "transpose_x2": False}
    x1, x2 = floats(5, 300, dtype=np.float16), floats(300, 4, dtype=np.float16)
    wide = x1.astype(np.float32) @ x2.astype(np.float32)
    same(ge_run("matmul", [x1, x2, None], plain), [wide.astype(np.float16)], 1e-3)
    i1 = RNG.integers(0, 256, (5, 300)).astype(np.uint8)
    i2 = RNG.integers(-128, 128, (300, 4)).astype(np.int8)
    same(ge_run("matmul", [i1, i2, None], plain), onnx_run("MatMulInteger", [i1, i2], {}, opset=10))
    for dtype in (np.int32, np.int64, np.float64):
        a, b = (RNG.integers(-(10**4), 10**4, s).astype(dtype) for s in ((3, 4), (4, 2)))
        same(ge_run("matmul", [a, b, None], plain), onnx_run("MatMul", [a, b], {}))
    full = [np.full((2, 70000), 255, np.uint8), np.full((70000, 1), 255, np.uint8)]
    wrapped = (np.int64(70000) * 255 * 255).astype(np.int32)
    assert (ge_run("matmul", [*full, None], plain)[0] == wrapped).all()


def test_matmul_bad_operands() -> None:
    cls = op_class("matmul")
    plain = Attrs({"transpose_x1": False, "transpose_x2": False})
    for a, b in [((3,), (3, 2)), ((2, 3), (4, 5)), ((2, 3, 4), (3, 4, 5))]:
        with pytest.raises(GeError):
            cls.infer(plain, Spec(dtypes.F32, a), Spec(dtypes.F32, b), None)
    with pytest.raises(GeError, match="element types differ"):
        cls.infer(plain, Spec(dtypes.F32, (2, 2)), Spec(dtypes.F16, (2, 2)), None)
    with pytest.raises(GeError, match="bias"):
        cls.infer(plain, Spec(dtypes.F32, (2, 2)), Spec(dtypes.F32, (2, 3)), Spec(dtypes.F32, (2,)))


def test_quant_matmul() -> None:
    plain = {"transpose_x1": False, "transpose_x2": True}
    x1 = RNG.integers(-128, 128, (2, 3, 16)).astype(np.int8)
    x2 = RNG.integers(-128, 128, (5, 16)).astype(np.int8)
    scale, offset = np.abs(floats(5)) / 500, floats(1)
    bias = RNG.integers(-1000, 1000, 5).astype(np.int32)
    total = x1.astype(np.int64) @ x2.T.astype(np.int64)
    want = (total + bias) * scale.astype(np.float64)
    got = ge_run("quant_matmul", [x1, x2, scale, None, bias], plain, [Spec(dtypes.F16, (2, 3, 5))])
    same(got, [want.astype(np.float16)], 1e-3)
    got = ge_run("quant_matmul", [x1, x2, scale, offset, None], plain, [Spec(dtypes.I8, (2, 3, 5))])
    same(got, [np.clip(np.rint(total * scale + offset), -128, 127).astype(np.int8)])


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_bias_add(data_format: str, rank: int) -> None:
    x = floats(*(2, 3, 4, 5)[:rank])
    axis = 1 if data_format == "NCHW" else rank - 1
    bias = floats(x.shape[axis])
    want = onnx_run("Add", [x, bias.reshape(-1, *[1] * (rank - 1 - axis))], {})
    same(ge_run("bias_add", [x, bias], {"data_format": data_format}), want)
    same(expanded("bias_add", [x, bias], {"data_format": data_format}), want)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bhqd , bhkd -> bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (1, 5, 4, 2)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->", [(3, 4)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("b...d->...b", [(2, 3, 4, 5)]),
        ("Ab,bA->A", [(2, 3), (3, 2)]),
    ],
)
def test_einsum(equation: str, shapes: Any) -> None:
    arrays = [floats(*s) for s in shapes]
    want = onnx_run("Einsum", list(arrays), {"equation": equation})
    same(ge_run("einsum", [arrays], {"equation": equation}), want, 1e-5)
    static_dims_agree(unknown("einsum", [arrays], {"equation": equation}), want)


def test_einsum_bad_equations() -> None:
    for equation, shapes in [("ij,jk->ik", [(2, 3), (4, 4)]), ("ij->ik", [(2, 3)]), ("ij", [(2,)]), ("i,j", [(2,)])]:
        with pytest.raises(GeError):
            op_class("einsum").infer(Attrs({"equation": equation}), [Spec(dtypes.F32, s) for s in shapes])
