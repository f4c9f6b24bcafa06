"""LSTM, GRU and the simple recurrent layer (ONNX's definitions, time first)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from gedialect.dialects.ge.base import BOOL, FLOAT, FLOATS, INT, TENSOR, Attrs, FusionClass, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np, wide, widen
from gedialect.dialects.ge.reproducible import matmul
from gedialect.dialects.ge.shapes import mismatch, same_dtype
from gedialect.errors import UnsupportedError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec

if TYPE_CHECKING:
    from gedialect.dialects.ge.builder import GeBuilder

UNROLLED = 192
"""Steps that are written out, over both directions; longer sequences run on the host."""

ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Sigmoid": ("sigmoid", ()),
    "Tanh": ("tanh", ()),
    "Relu": ("relu", ()),
    "Softsign": ("softsign", ()),
    "Softplus": ("softplus", ()),
    "LeakyRelu": ("leaky_relu", ("negative_slope",)),
    "ThresholdedRelu": ("thresholded_relu", ("alpha",)),
    "HardSigmoid": ("hard_sigmoid", ("alpha", "beta")),
    "Elu": ("elu", ("alpha",)),
    "Affine": ("", ("alpha", "beta")),
    "ScaledTanh": ("tanh", ("alpha", "beta")),
}
"""ONNX's activation -> (ge op, its attributes from activation_alpha and activation_beta)."""


class Algebra(ABC):
    """The few operations that a cell is made of: on arrays, or building ops."""

    @abstractmethod
    def add(self, a: Any, b: Any) -> Any: ...
    @abstractmethod
    def mul(self, a: Any, b: Any) -> Any: ...
    @abstractmethod
    def complement(self, a: Any) -> Any:
        """1 - a."""

    @abstractmethod
    def product(self, x: Any, w: Any) -> Any:
        """x [.., k] by w [n, k]."""

    @abstractmethod
    def part(self, x: Any, axis: int, first: int, count: int) -> Any: ...
    @abstractmethod
    def scaled(self, x: Any, alpha: float, beta: float) -> Any:
        """alpha x + beta."""

    @abstractmethod
    def clamp(self, x: Any, limit: float) -> Any: ...
    @abstractmethod
    def op(self, mnemonic: str, x: Any, attrs: dict[str, Any]) -> Any: ...
    @abstractmethod
    def choose(self, lengths: Any, t: int, new: Any, old: Any) -> Any:
        """``new`` for the sequences longer than t, else ``old`` (None: zero)."""

    @abstractmethod
    def stack(self, parts: Sequence[Any], axis: int) -> Any: ...
    @abstractmethod
    def flat(self, x: Any) -> Any:
        """Without the first axis, of size 1."""

    @abstractmethod
    def zeros(self, like: Any, shape: tuple[int, ...]) -> Any: ...


class OnArrays(Algebra):
    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def complement(self, a: Any) -> Any:
        return a.dtype.type(1) - a

    def product(self, x: Any, w: Any) -> Any:
        return matmul(x, w.T)

    def part(self, x: Any, axis: int, first: int, count: int) -> Any:
        return np.take(x, range(first, first + count), axis)

    def scaled(self, x: Any, alpha: float, beta: float) -> Any:
        return x * x.dtype.type(alpha) + x.dtype.type(beta)

    def clamp(self, x: Any, limit: float) -> Any:
        return np.clip(x, x.dtype.type(-limit), x.dtype.type(limit))

    def op(self, mnemonic: str, x: Any, attrs: dict[str, Any]) -> Any:
        from gedialect.dialects.ge import op_class

        spec = Spec(dtypes.from_numpy(x.dtype), x.shape)
        return op_class(mnemonic).evaluate(Attrs(attrs, [spec]), x)

    def choose(self, lengths: Any, t: int, new: Any, old: Any) -> Any:
        if lengths is None:
            return new
        return np.where(lengths.reshape(-1, 1) > t, new, new.dtype.type(0) if old is None else old)

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        return np.stack(parts, axis)

    def flat(self, x: Any) -> Any:
        return x[0]

    def zeros(self, like: Any, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, like.dtype)


class Building(Algebra):
    def __init__(self, b: GeBuilder):
        self.b = b

    def add(self, a: Any, b: Any) -> Any:
        return self.b.add(a, b)

    def mul(self, a: Any, b: Any) -> Any:
        return self.b.mul(a, b)

    def complement(self, a: Any) -> Any:
        return self.b.sub(self.b.splat(1.0, self.b.spec(a).dtype), a)

    def product(self, x: Any, w: Any) -> Any:
        return self.b.matmul(x, w, None, transpose_x1=False, transpose_x2=True)

    def part(self, x: Any, axis: int, first: int, count: int) -> Any:
        if count == self.b.spec(x).shape[axis]:
            return x
        axis %= self.b.spec(x).rank
        return self.b.slice(x, None, None, None, begin=[first], end=[first + count], axes=[axis], strides=[1])

    def scaled(self, x: Any, alpha: float, beta: float) -> Any:
        return self.b.add(self.b.mul(x, alpha), beta)

    def clamp(self, x: Any, limit: float) -> Any:
        return self.b.minimum(self.b.maximum(x, -limit), limit)

    def op(self, mnemonic: str, x: Any, attrs: dict[str, Any]) -> Any:
        return getattr(self.b, mnemonic)(x, **attrs)

    def choose(self, lengths: Any, t: int, new: Any, old: Any) -> Any:
        if lengths is None:
            return new
        longer = self.b.greater(self.b.reshape(lengths, shape=[-1, 1]), t)
        return self.b.select(longer, new, self.b.splat(0.0, self.b.spec(new).dtype) if old is None else old)

    def stack(self, parts: Sequence[Any], axis: int) -> Any:
        shape = list(self.b.spec(parts[0]).shape)
        shape.insert(axis, 1)
        rows = [self.b.reshape(p, shape=shape) for p in parts]
        return rows[0] if len(rows) == 1 else self.b.concat(rows, concat_dim=axis)

    def flat(self, x: Any) -> Any:
        return self.b.reshape(x, shape=list(self.b.spec(x).shape[1:]))

    def zeros(self, like: Any, shape: tuple[int, ...]) -> Any:
        return self.b.splat(0.0, self.b.spec(like).dtype, shape)


Cell = Callable[..., tuple[Any, ...]]


class RecurrentOp(GeOp):
    """A recurrent layer over x [time, batch, inputs].

    w [directions, gates * hidden, inputs], r [directions, gates * hidden, hidden], b [directions, 2 * gates *
    hidden] (those of w, then of r), sequence_lens [batch] i32, initial states [directions, batch, hidden].
    Results: y [time, directions, batch, hidden] (0 beyond a sequence's end), then the last states. ``direction``
    is forward, reverse or bidirectional; ``activations`` are ONNX's names, with an alpha and a beta for each;
    ``clip`` bounds what goes into them
    (but for the last one of an LSTM, as in onnxruntime). f16 and bf16 are computed in f32 and rounded at the end.
    """

    FUSION_CLASS: ClassVar = FusionClass.OPAQUE
    FLOAT_ATTRS: ClassVar = frozenset(("activation_alpha", "activation_beta", "clip"))
    GATES: ClassVar[int]
    STATES: ClassVar[int] = 1
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    x = operand_def(TENSOR)
    w = operand_def(TENSOR)
    r = operand_def(TENSOR)
    b = opt_operand_def(TENSOR)
    sequence_lens = opt_operand_def(TENSOR)
    initial_h = opt_operand_def(TENSOR)
    direction = prop_def(words("forward", "reverse", "bidirectional"))
    hidden_size = prop_def(INT)
    activations = prop_def(words(*ACTIVATIONS, several=True))
    activation_alpha = prop_def(FLOATS)
    activation_beta = prop_def(FLOATS)
    clip = opt_prop_def(FLOAT)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        x, w, r, b, lengths, *states = operands
        check_words(cls, attrs)
        directions = 2 if attrs.direction == "bidirectional" else 1
        hidden = attrs.hidden_size
        rows = cls.GATES * hidden
        if x.rank != 3:
            raise mismatch(f"x of {cls.name} is {x}, rank 3 is needed")
        time, batch, inputs = x.shape
        sides = [(w, (directions, rows, inputs)), (r, (directions, rows, hidden)), (b, (directions, 2 * rows))]
        sides += [(s, (directions, batch, hidden)) for s in states[: cls.STATES]]
        sides += [(p, (directions, 3 * hidden)) for p in states[cls.STATES :]]
        same_dtype(x, *(s for s, _ in sides))
        if not x.dtype.is_float:
            raise mismatch(f"{cls.name} takes floats, not {x.dtype}")
        for side, shape in (*sides, (lengths, (batch,))):
            if side is not None and (
                side.rank != len(shape)
                or any(a != d and DYNAMIC not in (a, d) for a, d in zip(side.shape, shape, strict=True))
            ):
                raise mismatch(f"{side} of {cls.name} should have the shape {list(shape)}")
        if lengths is not None and not lengths.dtype.is_int:
            raise mismatch(f"sequence_lens are {lengths.dtype}, integers are needed")
        per_direction = len(attrs.activations) // directions
        if len(attrs.activations) != directions * cls.activation_count() or not (
            len(attrs.activation_alpha) == len(attrs.activation_beta) == len(attrs.activations)
        ):
            raise mismatch(f"{cls.name} has {per_direction} activations, {cls.activation_count()} are needed")
        return [
            x.with_shape((time, directions, batch, hidden)),
            *[x.with_shape((directions, batch, hidden))] * cls.STATES,
        ]

    @classmethod
    def activation_count(cls) -> int:
        """Activations of one direction."""
        return 1

    @classmethod
    def cell(cls, attrs: Attrs, m: Algebra, at: int, weights: dict[str, Any]) -> Cell:
        """``f(inputs, *states)`` of direction ``at`` -> the new states; ``inputs`` are x's products [batch, rows]."""
        raise NotImplementedError

    @classmethod
    def layer(cls, attrs: Attrs, m: Algebra, x: Any, sizes: Sequence[int], operands: Sequence[Any]) -> tuple[Any, ...]:
        """The results; ``operands`` are all after x, in the type of the computation."""
        w, r, b, lengths, *rest = operands
        time, batch = sizes
        hidden: int = attrs.hidden_size
        rows = cls.GATES * hidden
        outputs: list[list[Any]] = []
        lasts: list[list[Any]] = []
        directions = ("forward", "reverse") if attrs.direction == "bidirectional" else (attrs.direction,)
        for at, direction in enumerate(directions):

            def own(side: Any, at: int = at) -> Any:
                return None if side is None else m.flat(m.part(side, 0, at, 1))

            weights = {"r": own(r), "peepholes": own(rest[cls.STATES]) if len(rest) > cls.STATES else None}
            bias = own(b)
            weights["bw"], weights["br"] = (
                (None, None) if bias is None else (m.part(bias, 0, 0, rows), m.part(bias, 0, rows, rows))
            )
            inputs = m.product(x, own(w))
            states = [own(s) if s is not None else m.zeros(x, (batch, hidden)) for s in rest[: cls.STATES]]
            step = cls.cell(attrs, m, at, weights)
            ys: list[Any] = [None] * time
            for t in range(time) if direction == "forward" else reversed(range(time)):
                new = step(m.flat(m.part(inputs, 0, t, 1)), *states)
                ys[t] = m.choose(lengths, t, new[0], None)
                states = [m.choose(lengths, t, n, s) for n, s in zip(new, states, strict=False)]
            outputs.append(ys)
            lasts.append(states)
        y = m.stack([m.stack(list(step), 0) for step in zip(*outputs, strict=True)], 0)
        return (y, *(m.stack([s[i] for s in lasts], 0) for i in range(cls.STATES)))

    @classmethod
    def activate(cls, attrs: Attrs, m: Algebra, at: int, which: int, x: Any) -> Any:
        """Activation ``which`` of direction ``at``."""
        index = at * cls.activation_count() + which
        name = attrs.activations[index]
        numbers = (attrs.activation_alpha[index], attrs.activation_beta[index])
        if attrs.clip is not None and which < 2:
            x = m.clamp(x, attrs.clip)
        mnemonic, names = ACTIVATIONS[name]
        if name == "Affine":
            return m.scaled(x, *numbers)
        if name == "ScaledTanh":
            return m.mul(m.op("tanh", m.scaled(x, numbers[1], 0.0), {}), _number(m, x, numbers[0]))
        given: dict[str, Any] = dict(zip(names, numbers, strict=False))
        if name == "Elu":
            given["scale"] = 1.0
        return m.op(mnemonic, x, given)

    @classmethod
    def computed(cls, attrs: Attrs, *operands: Any) -> Results:
        x = wide(operands[0])
        rest = [o if o is None or o.dtype.kind in "iu" else wide(o) for o in operands[1:]]
        rest += [None] * (3 + cls.STATES + 1 - len(rest))
        if not len(x):
            raise mismatch(f"{cls.name} over no steps")
        found = cls.layer(attrs, OnArrays(), x, x.shape[:2], rest)
        return tuple(f.astype(operands[0].dtype, copy=False) for f in found)

    @classmethod
    def written_out(cls, b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        spec = b.spec(operands[0])
        directions = 2 if attrs.direction == "bidirectional" else 1
        if not 0 < spec.shape[0] * directions <= UNROLLED:
            raise UnsupportedError(f"{spec.shape[0]} steps are not written out", code="GE1205")
        x = widen(b, operands[0])
        rest = [o if o is None or not b.spec(o).dtype.is_float else widen(b, o) for o in operands[1:]]
        rest += [None] * (3 + cls.STATES + 1 - len(rest))
        found = cls.layer(attrs, Building(b), x, spec.shape[:2], rest)
        return tuple(b.cast(f, spec.dtype) for f in found)


def _number(m: Algebra, like: Any, value: float) -> Any:
    return like.dtype.type(value) if isinstance(m, OnArrays) else value


def _sum(m: Algebra, *values: Any) -> Any:
    """The sum of those that are there."""
    total = None
    for value in values:
        if value is not None:
            total = value if total is None else m.add(total, value)
    return total


@irdl_op_definition
class RnnOp(RecurrentOp):
    """``h = f(x w' + h r' + b)``."""

    name = "ge.rnn"
    GE_TYPES: ClassVar = ()
    GATES: ClassVar = 1
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)

    @classmethod
    def cell(cls, attrs: Attrs, m: Algebra, at: int, weights: dict[str, Any]) -> Cell:
        bias = _sum(m, weights["bw"], weights["br"])

        def step(inputs: Any, h: Any) -> tuple[Any, ...]:
            return (cls.activate(attrs, m, at, 0, _sum(m, inputs, m.product(h, weights["r"]), bias)),)

        return step

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return RnnOp.computed(attrs, *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return RnnOp.written_out(b, attrs, *operands)


@irdl_op_definition
class GruOp(RecurrentOp):
    """Gates z, r, h: ``h' = (1 - z) g(..) + z h``; ``linear_before_reset`` multiplies r in after h's product."""

    name = "ge.gru"
    GE_TYPES: ClassVar = ("CommonGRU", "DynamicGRUV2")
    GATES: ClassVar = 3
    linear_before_reset = prop_def(BOOL)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)

    @classmethod
    def activation_count(cls) -> int:
        return 2

    @classmethod
    def cell(cls, attrs: Attrs, m: Algebra, at: int, weights: dict[str, Any]) -> Cell:
        n: int = attrs.hidden_size

        def split(side: Any, first: int, count: int, axis: int = 0) -> Any:
            return None if side is None else m.part(side, axis, first * n, count * n)

        r_gates, r_new = split(weights["r"], 0, 2), split(weights["r"], 2, 1)
        gate_bias = _sum(m, split(weights["bw"], 0, 2), split(weights["br"], 0, 2))
        w_bias, r_bias = split(weights["bw"], 2, 1), split(weights["br"], 2, 1)

        def step(inputs: Any, h: Any) -> tuple[Any, ...]:
            gates = _sum(m, split(inputs, 0, 2, -1), m.product(h, r_gates), gate_bias)
            z = cls.activate(attrs, m, at, 0, split(gates, 0, 1, -1))
            reset = cls.activate(attrs, m, at, 0, split(gates, 1, 1, -1))
            mine = split(inputs, 2, 1, -1)
            if attrs.linear_before_reset:
                past = m.mul(reset, _sum(m, m.product(h, r_new), r_bias))
                new = _sum(m, mine, past, w_bias)
            else:
                new = _sum(m, mine, m.product(m.mul(reset, h), r_new), w_bias, r_bias)
            new = cls.activate(attrs, m, at, 1, new)
            return (m.add(m.mul(m.complement(z), new), m.mul(z, h)),)

        return step

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return GruOp.computed(attrs, *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return GruOp.written_out(b, attrs, *operands)


@irdl_op_definition
class LstmOp(RecurrentOp):
    """Gates i, o, f, c with activations f, g, h; p [directions, 3 * hidden] are peepholes of i, o, f.

    With ``input_forget`` the forget gate is 1 - i.
    """

    name = "ge.lstm"
    GE_TYPES: ClassVar = ("CommonLSTM", "DynamicRNN", "DynamicRNNV2", "LSTM")
    GATES: ClassVar = 4
    STATES: ClassVar = 2
    initial_c = opt_operand_def(TENSOR)
    p = opt_operand_def(TENSOR)
    input_forget = prop_def(BOOL)
    y = result_def(TENSOR)
    y_h = result_def(TENSOR)
    y_c = result_def(TENSOR)

    @classmethod
    def activation_count(cls) -> int:
        return 3

    @classmethod
    def cell(cls, attrs: Attrs, m: Algebra, at: int, weights: dict[str, Any]) -> Cell:
        n: int = attrs.hidden_size
        bias = _sum(m, weights["bw"], weights["br"])
        holes = weights["peepholes"]
        p_i, p_o, p_f = (None if holes is None else m.part(holes, 0, i * n, n) for i in range(3))

        def peeped(gate: Any, hole: Any, c: Any) -> Any:
            return gate if hole is None else m.add(gate, m.mul(hole, c))

        def step(inputs: Any, h: Any, c: Any) -> tuple[Any, Any]:
            gates = _sum(m, inputs, m.product(h, weights["r"]), bias)
            i, o, f, g = (m.part(gates, -1, k * n, n) for k in range(4))
            i = cls.activate(attrs, m, at, 0, peeped(i, p_i, c))
            f = m.complement(i) if attrs.input_forget else cls.activate(attrs, m, at, 0, peeped(f, p_f, c))
            g = cls.activate(attrs, m, at, 1, g)
            c = m.add(m.mul(f, c), m.mul(i, g))
            o = cls.activate(attrs, m, at, 0, peeped(o, p_o, c))
            return m.mul(o, cls.activate(attrs, m, at, 2, c)), c

        return step

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        return LstmOp.computed(attrs, *operands)

    @staticmethod
    def expand(b: GeBuilder, attrs: Attrs, *operands: Any) -> Any:
        return LstmOp.written_out(b, attrs, *operands)
