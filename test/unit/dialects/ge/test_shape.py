"""Views, movement and index ops against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_check import expanded, ge_run, onnx_run, same, spec, static_dims_agree, unknown

from gedialect.dialects.ge import op_class
from gedialect.dialects.ge.base import Attrs
from gedialect.errors import GeError, UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

RNG = np.random.default_rng(1)
F32 = dtypes.F32


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: Any) -> Any:
    return np.array(values, np.int64)


def both(mnemonic: str, operands: list[Any], attrs: dict[str, Any], want: list[Any]) -> None:
    """evaluate gives what onnxruntime gave, and inference from ranks alone does not contradict it."""
    same(ge_run(mnemonic, operands, attrs), want)
    static_dims_agree(unknown(mnemonic, operands, attrs), want)


@pytest.mark.parametrize(
    ("shape", "target", "allowzero"),
    [
        ((2, 3, 4), (6, 4), 0),
        ((2, 3, 4), (0, -1), 0),
        ((2, 3, 4), (-1,), 0),
        ((2, 3, 4), (2, 0, 2, -1), 0),
        ((), (1, 1), 0),
        ((1, 1), (), 0),
        ((0, 3), (3, 0), 1),
        ((0, 3), (0, 5, 7), 1),
        ((0, 4), (-1, 4), 0),
    ],
)
def test_reshape(shape: Any, target: Any, allowzero: int) -> None:
    x = floats(*shape)
    want = onnx_run("Reshape", [x, ints(*target)], {"allowzero": allowzero})
    attrs = {"allowzero": bool(allowzero)}
    both("reshape", [x, None], attrs | {"shape": target}, want)
    both("reshape", [x, ints(*target)], attrs, want)


def test_reshape_unknown_sizes() -> None:
    def infer(shape: Any, target: Any) -> Any:
        return op_class("reshape").infer(Attrs({"shape": target}), Spec(F32, shape), None)[0].shape

    q = DYNAMIC
    assert infer((q, 12, 64), (0, 12, 8, 8)) == (q, 12, 8, 8)
    assert infer((q, q, 768), (0, 0, 12, 64)) == (q, q, 12, 64)
    assert infer((q, q, 768), (0, 0, -1, 64)) == (q, q, 12, 64)
    assert infer((q, 4), (-1,)) == (q,)
    assert infer((q, 4), (2, -1)) == (2, q)
    assert infer((q, 4), (2, 8)) == (2, 8)
    bad = [((2, 3), (4, 2)), ((2, 3), (-1, 4)), ((0, 4), (0, -1)), ((2, 3), (-1, -1)), ((2,), (0, 0)), ((2,), (-2, 3))]
    for shape, target in bad:
        with pytest.raises(GeError) as e:
            infer(shape, target)
        assert e.value.code == "GE1005"
    with pytest.raises(UnsupportedError) as e:
        op_class("reshape").infer(Attrs(), Spec(F32, (2, 3)), Spec(dtypes.I64, (q,)))
    assert e.value.code == "GE1205"


@pytest.mark.parametrize("axes", [(0,), (0, 2), (-2,), None])
def test_squeeze(axes: Any) -> None:
    x = floats(1, 3, 1, 2) if axes != (-2,) else floats(3, 1, 2)
    want = onnx_run("Squeeze", [x] if axes is None else [x, ints(*axes)], {})
    same(ge_run("squeeze", [x], {"axes": axes}), want)
    if axes is not None:
        static_dims_agree(unknown("squeeze", [x], {"axes": axes}), want)
    with pytest.raises(GeError, match="is not 1"):
        op_class("squeeze").infer(Attrs({"axes": (1,)}), Spec(F32, (1, 3)))


@pytest.mark.parametrize("axes", [(0,), (0, -1), (2, 1), (1,)])
@pytest.mark.parametrize("shape", [(2, 3), ()])
def test_unsqueeze(axes: Any, shape: Any) -> None:
    if not shape and axes == (1,):
        with pytest.raises(GeError):
            op_class("unsqueeze").infer(Attrs({"axes": axes}), Spec(F32, shape))
        return
    if not shape and axes == (2, 1):
        return
    x = floats(*shape)
    both("unsqueeze", [x], {"axes": axes}, onnx_run("Unsqueeze", [x, ints(*axes)], {}))


@pytest.mark.parametrize(("shape", "perm"), [((2, 3, 4), (2, 0, 1)), ((2, 0, 4), (1, 2, 0)), ((), ()), ((5,), (0,))])
def test_transpose(shape: Any, perm: Any) -> None:
    x = floats(*shape)
    both("transpose", [x], {"perm": perm}, onnx_run("Transpose", [x], {"perm": list(perm)} if perm else {}))
    with pytest.raises(GeError):
        op_class("transpose").infer(Attrs({"perm": (0, 0)}), Spec(F32, (2, 3)))


def test_concat_pack_unpack() -> None:
    parts = [floats(2, n, 3) for n in (1, 0, 4)]
    for axis in (1, -2):
        want = onnx_run("Concat", list(parts), {"axis": axis})
        both("concat", [parts], {"concat_dim": axis}, want)
    one = [floats(2, 3) for _ in range(3)]
    for axis in (0, 1, -1):
        stacked = [np.concatenate([np.expand_dims(p, axis) for p in one], axis)]
        both("pack", [one], {"axis": axis}, stacked)
        same(ge_run("unpack", [stacked[0]], {"axis": axis}), one)
    cls = op_class("concat")
    q = DYNAMIC
    assert cls.infer(Attrs({"concat_dim": 1}), [Spec(F32, (q, 2)), Spec(F32, (3, q))])[0].shape == (3, q)
    for specs in ([], [Spec(F32, (2, 3)), Spec(F32, (3, 3))], [Spec(F32, (2,)), Spec(dtypes.F16, (2,))]):
        with pytest.raises(GeError):
            cls.infer(Attrs({"concat_dim": 1}), specs)


def test_split() -> None:
    x = floats(2, 7, 3)
    want = onnx_run("Split", [x, ints(2, 0, 5)], {"axis": 1}, outputs=3)
    both("split", [x], {"size_splits": (2, 0, 5), "split_dim": 1}, want)
    both("split", [x], {"size_splits": (2, 0, -1), "split_dim": -2}, want)
    for sizes in [(2, 2), (3, -1, -1), (8, -1), (-2, 9), ()]:
        with pytest.raises(GeError):
            op_class("split").infer(Attrs({"size_splits": sizes, "split_dim": 1}), spec(x))


@pytest.mark.parametrize(
    ("shape", "target"), [((3, 1), (2, 1, 6)), ((3, 1), (3, 4)), ((), (2, 2)), ((2, 3), (1,)), ((1,), (0,)), ((), ())]
)
def test_expand(shape: Any, target: Any) -> None:
    x = floats(*shape)
    want = onnx_run("Expand", [x, ints(*target)], {})
    both("expand", [x, None], {"shape": target}, want)
    both("expand", [x, ints(*target)], {}, want)


def test_tile() -> None:
    x = floats(2, 1, 3)
    for m in [(1, 2, 3), (2, 0, 1)]:
        want = onnx_run("Tile", [x, ints(*m)], {})
        both("tile", [x, None], {"multiples": m}, want)
        both("tile", [x, ints(*m)], {}, want)


def test_fill() -> None:
    for dims in [(2, 3), (), (0, 4)]:
        want = [np.full(dims, 7, np.int32)]
        both("fill", [None, np.array([7], np.int32)], {"dims": dims}, want)
        same(expanded("fill", [None, np.array([7], np.int32)], {"dims": dims}), want)
        both("fill", [ints(*dims), np.array(7, np.int32)], {}, want)
    with pytest.raises(GeError, match="one element"):
        op_class("fill").infer(Attrs({"dims": (2,)}), None, Spec(F32, (2,)))


@pytest.mark.parametrize(("start", "end"), [(None, None), (1, None), (-2, None), (0, -1), (2, 1), (-9, 9)])
def test_shape_size(start: Any, end: Any) -> None:
    x = floats(2, 0, 4)
    attrs = {k: v for k, v in (("start", start), ("end", end)) if v is not None}
    both("shape", [x], attrs, onnx_run("Shape", [x], attrs))
    both("size", [x], {}, onnx_run("Size", [x], {}))
    assert ge_run("shape", [x], {}, [Spec(dtypes.I32, (3,))])[0].dtype == np.int32


@pytest.mark.parametrize(
    ("start", "limit", "delta", "dtype"),
    [
        (0, 10, 3, np.int64),
        (10, 0, -3, np.int32),
        (3, 3, 1, np.int64),
        (5, 3, 1, np.int64),
        (0.5, 3, 0.25, np.float32),
        (1, -1, -0.3, np.float32),
        (2**60 + 1, 2**60 + 4, 1, np.int64),
    ],
)
def test_range(start: Any, limit: Any, delta: Any, dtype: Any) -> None:
    bounds = [np.array(v, dtype) for v in (start, limit, delta)]
    want = onnx_run("Range", list(bounds), {})
    same(ge_run("range", list(bounds), {}), want, 1e-6 if dtype is np.float32 else 0)
    values = {"start": bounds[0].item(), "limit": bounds[1].item(), "delta": bounds[2].item()}
    same(ge_run("range", [None] * 3, values, [Spec(spec(want[0]).dtype, (DYNAMIC,))]), want, 1e-6)
    one = {"start": values["start"], "delta": values["delta"]}
    same(ge_run("range", [None, bounds[1], None], one), want, 1e-6)
    with pytest.raises(GeError, match="delta 0"):
        ge_run("range", [*bounds[:2], np.array(0, dtype)], {})


BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("begin", "end", "axes", "strides"),
    [
        ((1,), (3,), (0,), (1,)),
        ((1, 0), (BIG, 2), (1, 2), (2, 1)),
        ((-1,), (-BIG - 1,), (1,), (-1,)),
        ((-2,), (BIG,), (-1,), (1,)),
        ((5, 9), (1, -9), (1, 0), (-2, -1)),
        ((3,), (1,), (1,), (1,)),
        ((100,), (0,), (1,), (-1,)),
        ((0, 1, 2), (4, 5, 6), (0, 1, 2), (1, 2, 3)),
    ],
)
def test_slice(begin: Any, end: Any, axes: Any, strides: Any) -> None:
    x = floats(4, 6, 5)
    want = onnx_run("Slice", [x, *(ints(*v) for v in (begin, end, axes, strides))], {})
    both("slice", [x, None, None, None], {"begin": begin, "end": end, "axes": axes, "strides": strides}, want)
    both("slice", [x, ints(*begin), ints(*end), ints(*strides)], {"axes": axes}, want)
    both("slice", [x, ints(*begin), None, None], {"end": end, "axes": axes, "strides": strides}, want)
    if set(strides) == {1}:
        both("slice", [x, None, None, None], {"begin": begin, "end": end, "axes": axes}, want)


def test_slice_bad() -> None:
    for attrs in [
        {"begin": (0,), "end": (1,), "axes": (3,)},
        {"begin": (0, 0), "end": (1,), "axes": (0,)},
        {"begin": (0,), "end": (1,), "axes": (0,), "strides": (0,)},
        {"begin": (0, 0), "end": (1, 1), "axes": (0, -3)},
        {"begin": (0,)},
    ]:
        with pytest.raises(GeError):
            op_class("slice").infer(Attrs(attrs), Spec(F32, (2, 3, 4)), None, None, None)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(0, 1, 2, 0, 2, 1), (1, 0, 3, 0, 0, 0), (0, 0, 0, 0, 0, 0), (0, -1, 2, 0, 1, -1)])
def test_pad(mode: str, pads: Any) -> None:
    x = floats(2, 4, 5)
    if mode == "wrap" and min(pads) < 0:
        return  # onnxruntime wraps around what was cut, the specification says otherwise
    want = onnx_run("Pad", [x, ints(*pads)], {"mode": mode})
    both("pad", [x, None, None], {"paddings": pads, "mode": mode}, want)
    both("pad", [x, ints(*pads), None], {"mode": mode}, want)
    if mode == "constant":
        value = np.array(-3.5, np.float32)
        both("pad", [x, None, value], {"paddings": pads, "mode": mode}, onnx_run("Pad", [x, ints(*pads), value], {}))


def test_pad_empty_and_scalar() -> None:
    x = floats(0, 3)
    both(
        "pad",
        [x, None, None],
        {"paddings": (1, 0, 1, 0), "mode": "constant"},
        onnx_run("Pad", [x, ints(1, 0, 1, 0)], {}),
    )
    with pytest.raises(GeError):
        ge_run("pad", [x, None, None], {"paddings": (1, 0, 1, 0), "mode": "edge"})
    with pytest.raises(GeError):
        op_class("pad").infer(Attrs({"paddings": (-2, -2), "mode": "constant"}), Spec(F32, (3,)), None, None)
    with pytest.raises(GeError):
        op_class("pad").infer(Attrs({"paddings": (1, 1), "mode": "mirror"}), Spec(F32, (3,)), None, None)
    scalar = floats()
    same(ge_run("pad", [scalar, None, None], {"paddings": (), "mode": "constant"}), [scalar])


@pytest.mark.parametrize("k", [-7, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 5), (2, 4, 3), (0, 3)])
def test_triangles(k: int, shape: Any) -> None:
    x = floats(*shape)
    for name, upper in (("tril", 0), ("triu", 1)):
        both(name, [x], {"diagonal": k}, onnx_run("Trilu", [x, np.array(k, np.int64)], {"upper": upper}))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_and_space(mode: str) -> None:
    x = floats(2, 12, 2, 3)
    attrs = {"block_size": 2, "mode": mode, "data_format": "NCHW"}
    want = onnx_run("DepthToSpace", [x], {"blocksize": 2, "mode": mode})
    both("depth_to_space", [x], attrs, want)
    last = [np.ascontiguousarray(np.moveaxis(a, 1, -1)) for a in (x, want[0])]
    both("depth_to_space", [last[0]], attrs | {"data_format": "NHWC"}, [last[1]])
    same(ge_run("space_to_depth", [want[0]], attrs), [x])
    same(ge_run("space_to_depth", [last[1]], attrs | {"data_format": "NHWC"}), [last[0]])
    if mode == "DCR":
        y = floats(1, 2, 4, 6)
        both(
            "space_to_depth",
            [y],
            {"block_size": 2, "data_format": "NCHW"},
            onnx_run("SpaceToDepth", [y], {"blocksize": 2}),
        )


def test_reverse_sequence() -> None:
    x = floats(4, 3, 2)
    for seq, batch, lengths in ((0, 1, (4, 0, 2)), (1, 0, (1, 2, 3, 0))):
        want = onnx_run("ReverseSequence", [x, ints(*lengths)], {"time_axis": seq, "batch_axis": batch})
        both("reverse_sequence", [x, ints(*lengths)], {"seq_dim": seq, "batch_dim": batch}, want)
    with pytest.raises(GeError):
        ge_run("reverse_sequence", [x, ints(5, 0, 0)], {"seq_dim": 0, "batch_dim": 1})


def test_trans_data() -> None:
    x = floats(2, 3)
    attrs = {"src_format": "ND", "dst_format": "FRACTAL_NZ"}
    (s,) = op_class("trans_data").infer(Attrs(attrs), spec(x))
    assert str(s.encoding) == "#ge.layout<FRACTAL_NZ>"
    same(ge_run("trans_data", [x], attrs), [x])
    (s,) = op_class("trans_data").infer(Attrs(attrs | {"dst_format": "ND"}), s)
    assert s.encoding is None


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(), (2,), (3, 2), (0,)])
def test_gather(axis: int, shape: Any) -> None:
    x = floats(4, 5, 3)
    index = RNG.integers(-3, 3, shape).astype(np.int64)
    want = onnx_run("Gather", [x, index], {"axis": axis})
    both("gather", [x, index], {"axis": axis, "batch_dims": 0}, want)
    both("gather", [x, index.astype(np.int32)], {"axis": axis, "batch_dims": 0}, want)


def test_gather_batch_dims() -> None:
    x, index = floats(2, 3, 4, 5), RNG.integers(0, 4, (2, 3, 6))
    want = [np.stack([np.stack([x[i, j][index[i, j]] for j in range(3)]) for i in range(2)])]
    both("gather", [x, index], {"axis": 2, "batch_dims": 2}, want)
    x = floats(2, 3, 4)
    index = RNG.integers(-4, 4, (2, 2))
    want = [np.stack([x[i][:, index[i]] for i in range(2)])]
    both("gather", [x, index], {"axis": 2, "batch_dims": 1}, want)
    for bad in (5, -6):
        with pytest.raises(GeError) as e:
            ge_run("gather", [floats(5), ints(bad)], {"axis": 0, "batch_dims": 0})
        assert e.value.code == "GE1006"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis: int) -> None:
    x = floats(4, 5, 3)
    index = RNG.integers(-3, 3, (3, 2, 3)).astype(np.int64)
    both("gather_elements", [x, index], {"dim": axis}, onnx_run("GatherElements", [x, index], {"axis": axis}))
    empty = np.zeros((0, 2, 3), np.int64)
    both("gather_elements", [x, empty], {"dim": axis}, onnx_run("GatherElements", [x, empty], {"axis": axis}))


@pytest.mark.parametrize(
    ("shape", "batch"),
    [((2,), 0), ((3, 1), 0), ((3, 2, 3), 0), ((4, 2), 1), ((4, 5, 1), 2), ((0, 2), 0), ((4, 6, 1), 1)],
)
def test_gather_nd(shape: Any, batch: int) -> None:
    x = floats(4, 5, 3)
    index = RNG.integers(-3, 3, shape).astype(np.int64)
    want = onnx_run("GatherND", [x, index], {"batch_dims": batch})
    same(ge_run("gather_nd", [x, index], {"batch_dims": batch}), want)
    loose = Spec(dtypes.I64, (*(DYNAMIC,) * (index.ndim - 1), shape[-1]))
    static_dims_agree(list(op_class("gather_nd").infer(Attrs({"batch_dims": batch}), spec(x), loose)), want)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, -1])
def test_scatter_elements(reduction: str, axis: int) -> None:
    x = floats(4, 5)
    index = RNG.integers(-4, 4, (2, 3)).astype(np.int64)
    if reduction == "none":  # the order of equal positions is open in ONNX
        index = ints([0, 1, 2], [3, -3, 0]) if axis == 0 else ints([0, 1, 2], [4, 1, -2])
    updates = floats(2, 3)
    want = onnx_run("ScatterElements", [x, index, updates], {"axis": axis, "reduction": reduction})
    same(ge_run("scatter_elements", [x, index, updates], {"axis": axis, "reduction": reduction}), want, 1e-6)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd(reduction: str) -> None:
    x = floats(4, 5, 3)
    for index in (ints([0], [-1]), ints([[0, 1], [2, -1]]), ints([0, 1, 2]), ints(3)):
        updates = floats(*index.shape[:-1], *x.shape[index.shape[-1] :])
        want = onnx_run("ScatterND", [x, index, updates], {"reduction": reduction})
        same(ge_run("scatter_nd", [x, index, updates], {"reduction": reduction}), want, 1e-6)
    repeated = ints([1], [1], [1])
    updates = floats(3, 5, 3)
    if reduction != "none":
        want = onnx_run("ScatterND", [x, repeated, updates], {"reduction": reduction})
        same(ge_run("scatter_nd", [x, repeated, updates], {"reduction": reduction}), want, 1e-6)
    with pytest.raises(GeError):
        ge_run("scatter_nd", [x, ints([0]), floats(2, 5, 3)], {"reduction": reduction})


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(axis: int) -> None:
    x = ints([0, 5, -1], [4, -5, -7])
    values = np.array([2, 3], np.float32)
    want = onnx_run("OneHot", [x, ints(5), values], {"axis": axis})
    both("one_hot", [x, None, values[1:], values[:1]], {"depth": 5, "axis": axis}, want)
    both("one_hot", [x, np.array(5), values[1], values[0]], {"axis": axis}, want)
    if axis != 1:
        hot = ge_run("one_hot", [np.array(-3), None, values[1:], values[:1]], {"depth": 5, "axis": axis})
        same(hot, [np.array([2, 2, 3, 2, 2], np.float32)])


@pytest.mark.parametrize("shape", [(3, 4), (5,), (), (0, 2), (2, 1, 3)])
def test_nonzero(shape: Any) -> None:
    for x in (RNG.integers(0, 2, shape).astype(np.int32), np.ones(shape, bool)):
        both("nonzero", [np.asarray(x)], {}, onnx_run("NonZero", [np.asarray(x)], {}))
