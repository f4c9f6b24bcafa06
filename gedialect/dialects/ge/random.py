"""Random generators: never merged, folded or dropped (not ``Pure``), run on the host.

With ``seed`` (ONNX's float) every run gives the same numbers; without, each run gives others. The numbers are
numpy's, not those of another framework.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from xdsl.irdl import OpTraits, irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def
from xdsl.traits import MemoryWriteEffect

from gedialect.dialects.ge.base import FLOAT, INT, INTS, TENSOR, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.numeric import np
from gedialect.dialects.ge.shapes import mismatch
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec

T = TypeVar("T", bound=type[GeOp])


def effectful(cls: T) -> T:
    """Replaces the inherited ``Pure`` (xDSL only adds traits) by a write effect: the generator's state."""
    traits = OpTraits(lambda: (MemoryWriteEffect(),))
    cls.get_irdl_definition().traits = traits
    cls.traits = traits
    return cls


def generator(attrs: Attrs) -> Any:
    """numpy's generator for the op's seed; an absent seed takes one from the system."""
    if attrs.seed is None:
        return np.random.default_rng()
    return np.random.default_rng(int(np.float64(attrs.seed).view(np.uint64)))


class RandomOp(GeOp):
    """Numbers of a float result type; the shape is ``shape``, or that of operand ``x`` (whose values do not matter)."""

    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = opt_operand_def(TENSOR)
    shape_attr = opt_prop_def(INTS, prop_name="shape")
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        shape: Any = attrs.get("shape")
        if (x is None) == (shape is None):
            raise mismatch(f"{cls.name} takes either x or shape")
        dtype = attrs.dtype if attrs.results else x.dtype if x is not None else dtypes.F32
        if not dtype.is_float:
            raise mismatch(f"{cls.name} gives floats, not {dtype}")
        return [Spec(dtype, x.shape if x is not None else shape)]


def _shape(attrs: Attrs, x: Any) -> Any:
    return x.shape if x is not None else attrs["shape"]


@effectful
@irdl_op_definition
class RandomUniformOp(RandomOp):
    """Uniform in [low, high)."""

    name = "ge.random_uniform"
    GE_TYPES: ClassVar = ("RandomUniform",)
    FLOAT_ATTRS: ClassVar = frozenset({"low", "high", "seed"})
    low = prop_def(FLOAT)
    high = prop_def(FLOAT)
    seed = opt_prop_def(FLOAT)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        y = generator(attrs).uniform(attrs.low, attrs.high, _shape(attrs, operands[0]))
        return np.asarray(y).astype(attrs.dtype.numpy)


@effectful
@irdl_op_definition
class RandomNormalOp(RandomOp):
    """Normal with mean ``mean`` and standard deviation ``scale``."""

    name = "ge.random_normal"
    GE_TYPES: ClassVar = ("RandomStandardNormal",)
    FLOAT_ATTRS: ClassVar = frozenset({"mean", "scale", "seed"})
    mean = prop_def(FLOAT)
    scale = prop_def(FLOAT)
    seed = opt_prop_def(FLOAT)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        y = generator(attrs).normal(attrs.mean, attrs.scale, _shape(attrs, operands[0]))
        return np.asarray(y).astype(attrs.dtype.numpy)


@effectful
@irdl_op_definition
class BernoulliOp(GeOp):
    """1 with probability x, else 0, in the result's element type (x's own unless told)."""

    name = "ge.bernoulli"
    GE_TYPES: ClassVar = ("StatelessBernoulliV2",)
    FLOAT_ATTRS: ClassVar = frozenset({"seed"})
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    seed = opt_prop_def(FLOAT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        return [operands[0].with_dtype(attrs.dtype) if attrs.results else operands[0]]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        hit = generator(attrs).random(x.shape) < x.astype(np.float64)
        return np.asarray(hit).astype(attrs.dtype.numpy)


@effectful
@irdl_op_definition
class MultinomialOp(GeOp):
    """``sample_size`` class numbers (i32 or i64) for each row of x [batch, classes], unnormalised log-probabilities."""

    name = "ge.multinomial"
    GE_TYPES: ClassVar = ("Multinomial",)
    FLOAT_ATTRS: ClassVar = frozenset({"seed"})
    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    x = operand_def(TENSOR)
    sample_size = prop_def(INT)
    seed = opt_prop_def(FLOAT)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        dtype = attrs.dtype if attrs.results else dtypes.I32
        if x.rank != 2 or not x.dtype.is_float or dtype not in (dtypes.I32, dtypes.I64):
            raise mismatch(f"{cls.name} takes floats of rank 2 and gives i32 or i64, not {x} and {dtype}")
        return [Spec(dtype, (x.shape[0], attrs.sample_size))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        x = operands[0].astype(np.float64)
        weights = np.exp(x - x.max(1, keepdims=True))
        total = np.cumsum(weights, 1)
        draws = generator(attrs).random((len(x), attrs.sample_size)) * total[:, -1:]
        return np.asarray((draws[:, :, None] >= total[:, None, :]).sum(2)).astype(attrs.dtype.numpy)
