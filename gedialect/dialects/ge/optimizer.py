"""Steps of optimisers: the weights and their moments after one gradient, with GE's operands.

Hyperparameters are operands, scalars most often; they broadcast to the weights. Formulas are those of CANN's operator
descriptions, which for ``apply_adam`` and ``apply_momentum`` are TensorFlow's and for ``apply_adam_w`` PyTorch's.
f16 and bf16 are computed in f32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from gedialect.dialects.ge.activation import within
from gedialect.dialects.ge.base import BOOL, TENSOR, Array, Attrs, FusionClass, GeOp, Results
from gedialect.dialects.ge.numeric import np, require_kinds, wide, widen
from gedialect.ir.spec import Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder


class OptimizerOp(GeOp):
    """Base: element-wise; each result has the type of the operand it is the new value of."""

    FUSION_CLASS: ClassVar = FusionClass.ELEMENTWISE
    UPDATES: ClassVar[tuple[int, ...]] = (0,)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Spec) -> Sequence[Spec]:
        require_kinds(cls.name, "f", *operands)
        results = [operands[i] for i in cls.UPDATES]
        for result in results:
            within(result, *operands)
        return results


def _rounded(updates: Sequence[int], operands: Sequence[Array], values: Sequence[Array]) -> Results:
    """Results in the types of the operands they update."""
    kept = [np.asarray(y).astype(operands[i].dtype, copy=False) for i, y in zip(updates, values, strict=True)]
    return tuple(kept) if len(kept) > 1 else kept[0]


def _narrowed(b: GeBuilder, updates: Sequence[int], operands: Sequence[Any], values: Sequence[Any]) -> Any:
    kept = [b.cast(y, b.spec(operands[i]).dtype) for i, y in zip(updates, values, strict=True)]
    return tuple(kept) if len(kept) > 1 else kept[0]


@irdl_op_definition
class ApplyMomentumOp(OptimizerOp):
    """accum = accum momentum + grad; var = var - lr accum, with nesterov var - lr (grad + momentum accum)."""

    name = "ge.apply_momentum"
    GE_TYPES: ClassVar = ("ApplyMomentumD", "ApplyMomentum")
    UPDATES: ClassVar = (0, 1)
    var = operand_def(TENSOR)
    accum = operand_def(TENSOR)
    lr = operand_def(TENSOR)
    grad = operand_def(TENSOR)
    momentum = operand_def(TENSOR)
    use_nesterov = prop_def(BOOL)
    new_var = result_def(TENSOR)
    new_accum = result_def(TENSOR)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        var, accum, lr, grad, momentum = (wide(o) for o in operands)
        accum = accum * momentum + grad
        move = grad + momentum * accum if attrs.use_nesterov else accum
        return _rounded((0, 1), operands, (var - lr * move, accum))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        var, accum, lr, grad, momentum = (widen(b, o) for o in operands)
        accum = b.add(b.mul(accum, momentum), grad)
        move = b.add(grad, b.mul(accum, momentum)) if attrs.use_nesterov else accum
        return _narrowed(b, (0, 1), operands, (b.sub(var, b.mul(move, lr)), accum))


class AdamOp(OptimizerOp):
    """Base of Adam: var, m and v and what moves them."""

    UPDATES: ClassVar = (0, 1, 2)
    var = operand_def(TENSOR)
    m = operand_def(TENSOR)
    v = operand_def(TENSOR)
    beta1_power = operand_def(TENSOR)
    beta2_power = operand_def(TENSOR)
    lr = operand_def(TENSOR)
    new_var = result_def(TENSOR)
    new_m = result_def(TENSOR)
    new_v = result_def(TENSOR)


@irdl_op_definition
class ApplyAdamOp(AdamOp):
    """m += (grad - m) (1 - beta1); v += (grad² - v) (1 - beta2);
    var -= lr √(1 - beta2_power) / (1 - beta1_power) m / (√v + epsilon)."""

    name = "ge.apply_adam"
    GE_TYPES: ClassVar = ("ApplyAdamD", "ApplyAdam")
    beta1 = operand_def(TENSOR)
    beta2 = operand_def(TENSOR)
    epsilon = operand_def(TENSOR)
    grad = operand_def(TENSOR)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        var, m, v, p1, p2, lr, beta1, beta2, epsilon, grad = (wide(o) for o in operands)
        m = m + (grad - m) * (1 - beta1)
        v = v + (grad * grad - v) * (1 - beta2)
        var = var - lr * np.sqrt(1 - p2) / (1 - p1) * m / (np.sqrt(v) + epsilon)
        return _rounded((0, 1, 2), operands, (var, m, v))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        var, m, v, p1, p2, lr, beta1, beta2, epsilon, grad = (widen(b, o) for o in operands)
        m = b.add(m, b.mul(b.sub(grad, m), _rest(b, beta1)))
        v = b.add(v, b.mul(b.sub(b.mul(grad, grad), v), _rest(b, beta2)))
        rate = b.div(b.mul(lr, b.sqrt(_rest(b, p2))), _rest(b, p1))
        var = b.sub(var, b.div(b.mul(m, rate), b.add(b.sqrt(v), epsilon)))
        return _narrowed(b, (0, 1, 2), operands, (var, m, v))


def _rest(b: GeBuilder, x: Any) -> Any:
    """1 - x."""
    return b.add(b.mul(x, -1.0), 1.0)


@irdl_op_definition
class ApplyAdamWOp(AdamOp):
    """var = var (1 - lr weight_decay); m and v as in Adam;
    var -= lr / (1 - beta1_power) m / (√v / √(1 - beta2_power) + epsilon)."""

    name = "ge.apply_adam_w"
    GE_TYPES: ClassVar = ("ApplyAdamW",)
    weight_decay = operand_def(TENSOR)
    beta1 = operand_def(TENSOR)
    beta2 = operand_def(TENSOR)
    epsilon = operand_def(TENSOR)
    grad = operand_def(TENSOR)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        var, m, v, p1, p2, lr, decay, beta1, beta2, epsilon, grad = (wide(o) for o in operands)
        m = m + (grad - m) * (1 - beta1)
        v = v + (grad * grad - v) * (1 - beta2)
        move = m / (np.sqrt(v) / np.sqrt(1 - p2) + epsilon)
        return _rounded((0, 1, 2), operands, (var * (1 - lr * decay) - lr / (1 - p1) * move, m, v))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        var, m, v, p1, p2, lr, decay, beta1, beta2, epsilon, grad = (widen(b, o) for o in operands)
        m = b.add(m, b.mul(b.sub(grad, m), _rest(b, beta1)))
        v = b.add(v, b.mul(b.sub(b.mul(grad, grad), v), _rest(b, beta2)))
        move = b.div(m, b.add(b.div(b.sqrt(v), b.sqrt(_rest(b, p2))), epsilon))
        var = b.sub(b.mul(var, _rest(b, b.mul(lr, decay))), b.mul(move, b.div(lr, _rest(b, p1))))
        return _narrowed(b, (0, 1, 2), operands, (var, m, v))


@irdl_op_definition
class LambApplyOptimizerAssignOp(OptimizerOp):
    """inputv = inputv mul2_x + grad² mul3_x; inputm = inputm mul0_x + grad mul1_x; the update
    inputm / (1 - mul0_x^steps) / (√(inputv / (1 - mul2_x^steps)) + add2_y) + input3 weight_decay_rate do_use_weight."""

    name = "ge.lamb_apply_optimizer_assign"
    GE_TYPES: ClassVar = ("LambApplyOptimizerAssign",)
    UPDATES: ClassVar = (0, 1, 2)
    grad = operand_def(TENSOR)
    inputv = operand_def(TENSOR)
    inputm = operand_def(TENSOR)
    input3 = operand_def(TENSOR)
    mul0_x = operand_def(TENSOR)
    mul1_x = operand_def(TENSOR)
    mul2_x = operand_def(TENSOR)
    mul3_x = operand_def(TENSOR)
    add2_y = operand_def(TENSOR)
    steps = operand_def(TENSOR)
    do_use_weight = operand_def(TENSOR)
    weight_decay_rate = operand_def(TENSOR)
    output0 = result_def(TENSOR)
    new_v = result_def(TENSOR)
    new_m = result_def(TENSOR)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        grad, v, m, var, b1, r1, b2, r2, epsilon, steps, use, decay = (wide(o) for o in operands)
        v, m = v * b2 + grad * grad * r2, m * b1 + grad * r1
        root = np.sqrt(v / (1 - np.power(b2, steps))) + epsilon
        update = m / (1 - np.power(b1, steps)) / root + var * decay * use
        return _rounded((0, 1, 2), operands, (update, v, m))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        grad, v, m, var, b1, r1, b2, r2, epsilon, steps, use, decay = (widen(b, o) for o in operands)
        v = b.add(b.mul(v, b2), b.mul(b.mul(grad, grad), r2))
        m = b.add(b.mul(m, b1), b.mul(grad, r1))
        root = b.add(b.sqrt(b.div(v, _rest(b, _power(b, b2, steps)))), epsilon)
        update = b.div(b.div(m, _rest(b, _power(b, b1, steps))), root)
        update = b.add(update, b.mul(b.mul(var, decay), use))
        return _narrowed(b, (0, 1, 2), operands, (update, v, m))


def _power(b: GeBuilder, x: Any, n: Any) -> Any:
    """x to the power n for positive x."""
    return b.exp(b.mul(b.log(x), n))


@irdl_op_definition
class LambApplyWeightAssignOp(OptimizerOp):
    """input_param - input3 input2 ratio; ratio = input0 / input1 (norms of weights and update), 1 where one is 0."""

    name = "ge.lamb_apply_weight_assign"
    GE_TYPES: ClassVar = ("LambApplyWeightAssign",)
    UPDATES: ClassVar = (4,)
    input0 = operand_def(TENSOR)
    input1 = operand_def(TENSOR)
    input2 = operand_def(TENSOR)
    input3 = operand_def(TENSOR)
    input_param = operand_def(TENSOR)
    y = result_def(TENSOR)

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        weights, updates, lr, update, var = (wide(o) for o in operands)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(weights > 0, np.where(updates > 0, weights / updates, 1), 1).astype(var.dtype)
        return _rounded((4,), operands, (var - update * lr * ratio,))

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        weights, updates, lr, update, var = (widen(b, o) for o in operands)
        one = b.splat(1.0, b.spec(var).dtype)
        ratio = b.select(b.greater(updates, 0.0), b.div(weights, updates), one)
        ratio = b.select(b.greater(weights, 0.0), ratio, one)
        return _narrowed(b, (4,), operands, (b.sub(var, b.mul(b.mul(update, lr), ratio)),))
