"""What holds for every op class."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_check import ge_run, spec, static_dims_agree, unknown
from samples import SAMPLES, Sample

from gedialect.dialects.ge import op_class, op_classes
from gedialect.dialects.ge.base import FusionClass, GeOp
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

GE_TYPES = {
    line
    for line in (Path(__file__).parents[3] / "data" / "ge_types.txt").read_text().splitlines()
    if line and not line.startswith("#")
}


@pytest.mark.parametrize("cls", op_classes(), ids=lambda c: c.name)
def test_class(cls: type[GeOp]) -> None:
    words = re.findall(r"[A-Z][a-z]*|[0-9]+[a-z]*", cls.__name__.removesuffix("Op"))
    assert re.fullmatch(r"ge\.[a-z][a-z0-9]*(_[a-z0-9]+)*", cls.name)
    assert "".join(words).lower() == cls.name.removeprefix("ge.").replace("_", "")
    assert cls.__doc__ is not None
    assert cls.__doc__.strip().endswith(".")
    assert set(cls.GE_TYPES) <= GE_TYPES
    assert len(set(cls.GE_TYPES)) == len(cls.GE_TYPES)
    operands = [n for n, _ in cls.operand_kinds()]
    assert all(o in operands and a in cls.attr_names() for o, a in cls.CONST_OPERANDS)
    assert set(cls.attr_names()) >= cls.FLOAT_ATTRS
    if cls.PRIMITIVE is not None:
        from gedialect.binary import isa

        assert cls.PRIMITIVE in isa.BY_NAME
        # what works on lines may come apart where a line is too long to hold
        assert not cls.has_expansion() or cls.FUSION_CLASS is FusionClass.REDUCTION


def test_operands_of_a_base_class_come_first() -> None:
    """IRDL lists a class's own fields before inherited ones; evaluation and text are by position."""
    names = [n for n, _ in op_class("lstm").operand_kinds()]
    assert names == ["x", "w", "r", "b", "sequence_lens", "initial_h", "initial_c", "p"]
    results = [n for n, _ in op_class("batch_norm_training").get_irdl_definition().results]
    assert results == ["y", "batch_mean", "batch_variance"]
    assert [n for n, _ in op_class("apply_adam").operand_kinds()][:6] == [
        "var",
        "m",
        "v",
        "beta1_power",
        "beta2_power",
        "lr",
    ]


def test_elementwise_ops_are_primitive_or_expand() -> None:
    for cls in op_classes():
        if cls.FUSION_CLASS is FusionClass.ELEMENTWISE:
            assert cls.PRIMITIVE is not None or cls.has_expansion(), cls.name


def of(sample: Sample) -> tuple[list[Any], list[Spec] | None]:
    """Operands, one for each that the op declares, and the result where it is free."""
    missing = len(op_class(sample.op).operand_kinds()) - len(sample.operands)
    shape = sample.operands[0].shape if sample.operands[0] is not None else ()
    result = None if sample.result is None else [Spec(dtypes.from_numpy(sample.result), shape)]
    return [*sample.operands, *[None] * missing], result


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_inference_agrees_with_evaluation(sample: Sample, dtype: Any) -> None:
    """Exactly with known sizes; with none known, wherever it commits itself."""
    sample = sample.of_type(dtype)
    operands, result = of(sample)
    arrays = ge_run(sample.op, operands, sample.attrs, result)
    assert all(isinstance(a, np.ndarray) for a in arrays)
    static_dims_agree(unknown(sample.op, operands, sample.attrs, result), arrays)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_operands_stay_as_they_are(sample: Sample) -> None:
    operands, result = of(sample)
    before = [None if o is None else o.copy() for o in operands]
    ge_run(sample.op, operands, sample.attrs, result)
    for old, new in zip(before, operands, strict=True):
        if old is not None:
            np.testing.assert_array_equal(old, new)


def test_every_op_of_these_families_has_a_sample() -> None:
    families = {
        "activation",
        "attention",
        "elementwise",
        "glu",
        "logic",
        "norm",
        "optimizer",
        "reduce",
        "search",
        "unary",
    }
    names = {c.name.removeprefix("ge.") for c in op_classes() if c.__module__.rsplit(".", 1)[1] in families}
    assert names == {s.op for s in SAMPLES}


def test_attributes_survive_construction() -> None:
    """``make`` from Python values, and back."""
    from xdsl.ir import Block

    from gedialect.ir.spec import tensor_type

    for sample in SAMPLES:
        operands, result = of(sample)
        present = [o for o in operands if o is not None]
        values = iter(Block(arg_types=[tensor_type(spec(o)) for o in present]).args)
        op = op_class(sample.op).make(
            [None if o is None else next(values) for o in operands], sample.attrs, results=result
        )
        op.verify()
        attrs = dict(op.attrs())
        assert attrs == {k: tuple(v) if isinstance(v, list) else v for k, v in sample.attrs.items()}
        assert [g is None for g in op.operand_groups()] == [o is None for o in operands]
