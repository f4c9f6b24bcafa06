"""Stored cases of the onnx package through the whole path: ops with rules of their own, and the long tail."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest

import gedialect

KERNELS = """
adagrad_multiple adam basic_deform_conv_with_padding bitcast_float32_to_int32 bitcast_bool_to_uint8
cast_FLOAT_to_BFLOAT16 col2im col2im_5d col2im_dilations col2im_pads col2im_strides cumprod_1d_reverse_exclusive
cumprod_2d_axis_0 cumprod_2d_int32 dequantizelinear_blocked dft dft_inverse dft_irfft dft_rfft dft_axis_opset19
eyelike_populate_off_main_diagonal gridsample_bicubic gridsample_border_padding gridsample_reflection_padding
gridsample_volumetric_bilinear_align_corners_0 gru_batchwise gru_seq_length lppool_3d_default
lstm_bidirectional lstm_with_peepholes maxunpool_export_with_output_shape melweightmatrix nesterov_momentum
qlinearconv qlinearmatmul_3D_int8_float16 quantizelinear_blocked_asymmetric quantizelinear_int16
resize_upsample_sizes_nearest_axes_3_2 roialign_aligned_false simple_rnn_reverse stft_with_window tensorscatter_circular
""".split()
HOST = """
cast_FLOAT_to_FLOAT4E2M1 cast_INT2_to_FLOAT cast_UINT2_to_UINT8 cast_e8m0_FLOAT_to_FLOAT8E8M0
cast_no_saturate_FLOAT_to_FLOAT8E4M3FN compress_negative_axis dequantizelinear_e4m3fn_zero_point
dequantizelinear_float4e2m1 dequantizelinear_int4 det_nd nonmaxsuppression_center_point_box_format
nonmaxsuppression_flipped_coordinates quantizelinear_e5m2 quantizelinear_uint2
roialign_mode_max tfidfvectorizer_tf_batch_uniandbigrams_skip5 unique_not_sorted_without_axis
unique_sorted_with_negative_axis
""".split()


@cache
def cases() -> dict[str, Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def value(x: Any) -> Any:
    return onnx.numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)


@pytest.mark.parametrize(("name", "host"), [*((n, False) for n in KERNELS), *((n, True) for n in HOST)])
def test_case(name: str, host: bool) -> None:
    case = cases()[f"test_{name}"]
    model: onnx.ModelProto = case.model
    for given, stored in case.data_sets:
        inputs = {i.name: value(x) for i, x in zip(model.graph.input, given, strict=True)}
        executable = gedialect.compile(model, input_shapes={k: v.shape for k, v in inputs.items()})
        got = executable.run(inputs, sanitize=True)
        assert host or executable.report.host_ops == []
        for g, w in zip(got.values(), map(value, stored), strict=True):
            assert g.dtype == w.dtype
            assert g.shape == w.shape
            if w.dtype.kind in "iub":
                np.testing.assert_array_equal(g, w)
            else:
                a, b = g.astype(np.float64), w.astype(np.float64)
                np.testing.assert_allclose(a, b, rtol=case.rtol, atol=1e-4 * np.abs(b[np.isfinite(b)]).max(initial=0))
