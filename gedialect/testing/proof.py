"""``check_rule``: both sides of a rewrite rule on random instances, from the ops' own semantics.

The left side is built as a module with random types, shapes, attributes and values; the engine itself rewrites a copy;
the interpreter runs both. So the check covers the rule, its conditions, and what the engine makes of them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import OptPropertyDef
from xdsl.rewriter import Rewriter
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from gedialect import interpreter
from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import Attrs, GeOp, to_python
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.elementwise import BinaryOp
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type
from gedialect.patterns.engine import RuleSet
from gedialect.patterns.language import AllResults, AttrCapture, Capture, ManyCapture, Node, Number, Pattern, ResultOf
from gedialect.patterns.rule import Rule, Variant
from gedialect.patterns.sampling import arguments
from gedialect.patterns.values import holds, number_is, shown, tolerance
from gedialect.testing.closeness import Double, difference, in_double, largest
from gedialect.testing.sample_ops import SPECIAL as SPECIAL_OPS
from gedialect.testing.sample_ops import complete
from gedialect.testing.samples import DTYPES, POSITIVE, ROUNDED, UNKNOWN, Known, Sampler, number, total, values

SPECIAL = {"bits": 0.6, "value": 0.6, "tolerance": 0.3}
"""How many instances have infinities, NaN and numbers whose squares overflow among their inputs."""
ALIKE = 0.25
"""How many instances have one size for almost all dimensions."""
UNKNOWN_SIZES = 0.35
"""How many instances have inputs of unknown sizes."""
OFF = 0.999
"""Constants matched within a tolerance are drawn at this part of it, to either side, and at its middle."""


MAX_ELEMENTS = 1 << 20
"""Larger shapes are not drawn: many instances are run."""


@dataclass
class Counterexample:
    """An instance on which the two sides differ."""

    before: str
    after: str
    inputs: list[Any]
    expected: Any
    got: Any
    reason: str
    elements: int

    def __str__(self) -> str:
        inputs = "\n".join(f"  input {i}: {np.array2string(a, threshold=20)}" for i, a in enumerate(self.inputs))
        return (
            f"{self.reason}\n{self.before}\nbecomes\n{self.after}\n{inputs}\n"
            f"  before: {np.array2string(np.asarray(self.expected), threshold=20)}\n"
            f"  after:  {np.array2string(np.asarray(self.got), threshold=20)}"
        )


@dataclass
class Proof:
    """What ``check_rule`` found: instances drawn, those the rule rewrote, and the smallest counterexample."""

    rule: Rule
    tried: int = 0
    matched: int = 0
    unmatched_forms: list[int] = field(default_factory=list[int])
    """Forms (choices of alternatives) of which no instance was found."""
    rejected: dict[str, int] = field(default_factory=dict[str, int])
    """Conditions that did not hold -> how often."""
    refused: Counter[str] = field(default_factory=Counter[str])
    """Of forms without an instance: what ops did not take -> how often."""
    counterexample: Counterexample | None = None

    @property
    def holds(self) -> bool:
        """Whether instances of every form matched and none is a counterexample."""
        return self.counterexample is None and self.matched > 0 and not self.unmatched_forms

    def __str__(self) -> str:
        head = f"{self.rule.name} ({self.rule.exact}): {self.matched} of {self.tried} instances rewritten"
        if self.counterexample is not None:
            return f"{self.rule.where}: {head}; counterexample: {self.counterexample}"
        if not self.unmatched_forms:
            return head
        lines = [f"{self.rule.where}: {head}; forms without an instance: {self.unmatched_forms}"]
        lines += [f"  refused {n} times, for one: {what}" for what, n in self.refused.most_common(3)]
        lines += [f"  {n} times the condition did not hold: {name}" for name, n in self.rejected.items()]
        if not self.refused and not self.rejected:
            lines.append("  instances were made, and the rule matched none of them")
        if any("give samples=" in what for what in self.refused):
            return "\n".join(lines)
        captures = [f'"{n}": lambda shapes: (2, 3)' for n, p in self.rule.params.items() if type(p) is Capture][:1]
        example = ", ".join([*captures, '"dtypes": ["i32"]'])
        lines.append(f"  hint: say what to draw with samples={{{example}}}; see docs/patterns.md, Proof")
        return "\n".join(lines)


def _specs(group: SSAValue | list[SSAValue] | None) -> Any:
    """What type inference takes for an operand, an absent one, or a variadic one."""
    if isinstance(group, list):
        return [spec_of(v.type) for v in group]
    return None if group is None else spec_of(group.type)


class _Retry(Exception):
    """These choices do not fit together; ``op`` is what refused them."""

    def __init__(self, op: str, why: str):
        super().__init__(why if why.startswith(op) else f"{op}: {why}")
        self.op = op


DOES_NOT_FIT = (_Retry, GeError, IndexError, ValueError, OverflowError, TypeError)


class _Instance:
    """One module that is an instance of a form of a rule."""

    def __init__(self, rule: Rule, variant: Variant, sampler: Sampler, *, dynamic: bool = True):
        self.rule = rule
        self.sampler = sampler
        self.block = Block()
        self.builder = GeBuilder(self.block)
        self.made: dict[int, SSAValue] = {}
        self.ops: dict[int, GeOp] = {}
        self.attrs: dict[str, Any] = {}
        self.hints = sampler.chance(0.6)
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self.slack = 0.0
        """Parts of themselves by which constants differ from what the rule says, added up."""
        outputs = [self.value(b) for b in variant.before]
        self.shapes = [spec_of(r.type).shape for op in self.block.ops for r in op.results]
        end = self.builder.insert(ReturnOp(*outputs))
        self.static = not (dynamic and sampler.chance(UNKNOWN_SIZES))
        if not self.static:
            self.forget_sizes(sampler.pick([0.4, 0.4, 1.0]))
        types = ([a.type for a in self.block.args], [o.type for o in end.operands])
        self.function = FuncOp("main", types, Region(self.block))
        self.module = ModuleOp([self.function])

    def without_sizes(self) -> _Instance:
        """The same instance with no size of the inputs known: types that differ no longer stop the rule."""
        self.static = False
        self.forget_sizes(1.0)
        self.function.update_function_type()
        return self

    def forget_sizes(self, often: float) -> None:
        """Sizes of the inputs become unknown, and those that follow from them."""
        for arg in self.block.args:
            spec = spec_of(arg.type)
            shape = [DYNAMIC if self.sampler.chance(often) else d for d in spec.shape]
            Rewriter.replace_value_with_new_type(arg, tensor_type(spec.with_shape(shape)))
        for op in self.block.ops:
            if not isinstance(op, GeOp) or isinstance(op, ConstantOp):
                continue
            groups = [_specs(g) for g in op.operand_groups()]
            attrs = op.attrs()
            if op.name != "ge.cast":
                attrs = Attrs(attrs)
            for result, spec in zip(op.results, type(op).infer(attrs, *groups), strict=True):
                Rewriter.replace_value_with_new_type(result, tensor_type(spec))

    def value(self, p: Pattern) -> SSAValue:
        if isinstance(p, ResultOf):
            self.value(p.node)
            return self.ops[id(p.node)].results[p.index]
        if id(p) not in self.made:
            assert isinstance(p, Node)
            self.ops[id(p)] = self.node(p)
            self.made[id(p)] = self.ops[id(p)].results[0]
        return self.made[id(p)]

    def node(self, node: Node) -> GeOp:
        cls = node.cls
        if cls is ConstantOp:
            return self.constant(node)
        for a in node.args:
            if isinstance(a, Node | ResultOf):
                self.value(a)
            elif isinstance(a, AllResults):
                self.value(a.node)
        kinds = cls.operand_kinds()
        variadic = any(k == "variadic" for _, k in kinds)
        args: list[Pattern | None] = []
        for a in node.args:
            if isinstance(a, ManyCapture):
                args += [Capture(f"{a.name}{i}") for i in range(2)]
            elif isinstance(a, AllResults):
                args += [a.node[i] for i in range(len(self.ops[id(a.node)].results))]
            else:
                args.append(a)
        if not variadic:
            args += [None] * (len(kinds) - len(args))
        known: list[Known] = [None if a is None else self.known(a) for a in args]
        fixed = self.fixed(node)
        known = [self.hinted(a) if k is UNKNOWN else k for a, k in zip(args, known, strict=True)]
        try:
            specs, attrs = complete(self.sampler, cls, known, fixed)
        except (ValueError, IndexError) as e:
            raise _Retry(cls.name, f"nothing fits {_shown(known)} ({e})") from e
        bounds = self.sampler.bounds
        attrs = {k: v for k, v in attrs.items() if k in cls.attr_names()}
        self.check_given(node, attrs)
        operands: list[SSAValue | None] = []
        for i, (a, spec) in enumerate(zip(args, specs, strict=True)):
            name = kinds[min(i, len(kinds) - 1)][0]
            if a is None:
                operands.append(None)
                continue
            assert isinstance(spec, Spec)
            if _is_number(a):
                spec = spec.with_dtype(self.number_type(cls, i, args, specs))
            operands.append(self.operand(a, spec, (cls.name, name) in POSITIVE, bounds.get(i)))
        if cls.has_trait(Commutative) and self.sampler.chance(0.5):
            operands = operands[::-1]
        groups: list[Any] = [operands] if variadic else list(operands)
        try:
            op = self.builder.create(cls, groups, attrs)
        except GeError as e:
            if e.code != "GE1903":
                raise _Retry(cls.name, f"{e.message} (given {_shown([spec_of(o.type) for o in operands if o])})") from e
            some = ["f64", "f32", "f16", "bf16", "i32", "i64", "i8", "ui8", "i1", *[self.sampler.dtype.name] * 7]
            target = node.dtype or self.sampler.pick(some)
            first = spec_of(next(o for o in operands if o is not None).type)
            op = self.builder.create(cls, groups, attrs, results=[first.with_dtype(dtypes.BY_NAME[target])])
        self.bind(node, op)
        shapes = [self.sampler.largest or (), *(spec_of(v.type).shape for v in [*op.operands, *op.results])]
        self.sampler.largest = max(shapes, key=lambda d: (len(d), total([d])))
        return op

    def check_given(self, node: Node, attrs: Mapping[str, Any]) -> None:
        """Attributes the op must have that neither the rule nor the sampler knows."""
        for name, definition in node.cls.get_irdl_definition().properties.items():
            if name in attrs or isinstance(definition, OptPropertyDef) or name == "operandSegmentSizes":
                continue
            want = node.attrs.get(name)
            capture = want.name if isinstance(want, AttrCapture) else name
            raise _Retry(
                node.cls.name,
                f'no values are known for {name}; capture it, and give samples={{"{capture}": lambda rng: …}}',
            )

    def number_type(
        self, cls: type[GeOp], index: int, args: Sequence[Pattern | None], specs: Sequence[Known]
    ) -> dtypes.DType:
        """The element type of a constant: that of the values beside it, a condition excepted."""
        own = specs[index]
        assert isinstance(own, Spec)
        if index in self.sampler.bounds and not issubclass(cls, BinaryOp):
            return own.dtype if own.dtype.is_int else dtypes.I64
        if cls.name in ("ge.quantize", "ge.dequantize"):
            return own.dtype
        beside = [s.dtype for a, s in zip(args, specs, strict=True) if isinstance(s, Spec) and not _is_number(a)]
        return next((t for t in beside if t.kind != "b"), beside[0] if beside else own.dtype)

    def constant(self, node: Node) -> GeOp:
        """A constant that the pattern writes as an attribute."""
        value = node.attrs.get("value")
        if isinstance(value, SplatAttr):
            if isinstance(value.python, float) != self.sampler.dtype.is_float:
                raise _Retry(node.cls.name, f"{value.python} is no {self.sampler.dtype}")
            spec = Spec(self.sampler.dtype, self.sampler.pick([(), (), (1,)]))
        elif isinstance(value, DenseIntOrFPElementsAttr):
            spec = spec_of(value.get_type())
        else:
            raise _Retry(node.cls.name, "a constant needs its value")
        made = ConstantOp.of(cast(Attribute, value), spec)
        self.builder.insert(made)
        return made

    def known(self, p: Pattern) -> Known:
        if isinstance(p, Number) and id(p) not in self.made:
            return Spec(self.sampler.dtype, ())
        if isinstance(p, Capture) and p.kind == "number" and id(p) not in self.made:
            return Spec(self.sampler.dtype, self.sampler.pick([(), (), (1,)]))
        if isinstance(p, ResultOf):
            return spec_of(self.value(p).type)
        return spec_of(self.made[id(p)].type) if id(p) in self.made else UNKNOWN

    def hinted(self, p: Pattern | None) -> Known:
        """The type the rule's own hint gives a capture: of all in three instances of five, else now and then."""
        own = self.rule.samples.get(p.name) if isinstance(p, Capture) and p.kind != "number" else None
        if own is None or not (self.hints or self.sampler.chance(0.4)):
            return UNKNOWN
        shapes = {n: spec_of(self.made[id(c)].type).shape for n, c in self.rule.params.items() if id(c) in self.made}
        assert isinstance(p, Capture)
        drawn = self.drawn(p.name, *(shapes, self.sampler.rng)[: arguments(own)])
        if not isinstance(drawn, list | tuple) or not all(_is_size(d) for d in cast("Sequence[Any]", drawn)):
            raise _Retry("samples", f"{p.name} gave {drawn!r}, which is no shape")
        shape = tuple(int(d) for d in cast("Sequence[Any]", drawn))
        if total([shape]) > MAX_ELEMENTS:
            raise _Retry("samples", f"{p.name} gave {drawn!r}, which has more than {MAX_ELEMENTS} elements")
        return Spec(self.sampler.dtype, shape)

    def drawn(self, name: str, *given: Any) -> Any:
        """What the rule's own hint draws."""
        try:
            return self.rule.samples[name](*given)
        except Exception as e:
            raise _Retry("samples", f"{name} failed: {type(e).__name__}: {e}") from e

    def fixed(self, node: Node) -> dict[str, Any]:
        """Attributes the pattern or an earlier node decides."""
        found: dict[str, Any] = {}
        if node.rest is not None and node.rest.name in self.attrs:
            found.update(self.attrs[node.rest.name])
        for key, want in node.attrs.items():
            if not isinstance(want, AttrCapture):
                found[key] = want
            elif want.name in self.attrs:
                found[key] = self.attrs[want.name]
            elif want.name in self.rule.samples and (not self.has_sampler(node) or self.sampler.chance(0.7)):
                found[key] = self.drawn(want.name, self.sampler.rng)
        return found

    def bind(self, node: Node, op: GeOp) -> None:
        have: Mapping[str, Any] = {k: to_python(v) for k, v in op.properties.items() if k != "operandSegmentSizes"}
        for key, want in node.attrs.items():
            if isinstance(want, AttrCapture):
                self.attrs[want.name] = have.get(key)
        if node.rest is not None:
            self.attrs[node.rest.name] = {k: v for k, v in have.items() if k not in node.attrs}

    @staticmethod
    def has_sampler(node: Node) -> bool:
        """Whether values for the attributes of the op are drawn without a hint too."""
        return node.cls.name.removeprefix("ge.") in SPECIAL_OPS

    def operand(self, p: Pattern, spec: Spec, positive: bool, within: tuple[int, int] | None) -> SSAValue:
        if id(p) in self.made or isinstance(p, ResultOf):
            return self.value(p)
        b, s = self.builder, self.sampler
        if isinstance(p, Number):
            made = self.written(p, spec)
            self.made[id(p)] = made
            return made
        assert isinstance(p, Capture)
        own = self.rule.samples.get(p.name)
        if p.kind == "number":
            drawn = float(s.rng.integers(*within)) if within is not None and within[0] < within[1] else number(s)
            if own is not None:
                given = self.drawn(p.name, s.rng)
                drawn = cast("Any", given.item() if isinstance(given, np.generic) else given)
                if not isinstance(drawn, bool | int | float):
                    raise _Retry("samples", f"{p.name} gave {drawn!r}, which is no number")
                if not holds(spec.dtype, drawn):
                    raise _Retry("ge.constant", f"{shown(drawn)} is no {spec.dtype}")
            made = b.splat(drawn, spec.dtype, spec.shape)
        elif p.kind == "const" or s.chance(0.1):
            special, s.special = s.special, False
            self.constants.append(values(s, spec, positive=positive, within=within))
            s.special = special
            made = b.array(self.constants[-1])
        else:
            self.inputs.append(values(s, spec, positive=positive, within=within))
            made = self.block.insert_arg(tensor_type(spec), len(self.block.args))
        self.made[id(p)] = made
        return made

    def written(self, p: Number, spec: Spec) -> SSAValue:
        """A constant that the rule writes: as it stands, or at either end of what the rule takes for it."""
        if not holds(spec.dtype, p.value):
            raise _Retry("ge.constant", f"{shown(p.value)} is no {spec.dtype}")
        side = self.sampler.pick([0, 0, -1, 1])
        part = OFF * side * tolerance(p.value, p.tol, spec.dtype)
        if part and spec.dtype.is_float and isfinite(p.value):
            made = self.builder.array(np.full(spec.shape, p.value * (1 + part)).astype(spec.dtype.numpy))
            if number_is(made, p.value, p.tol):  # rounding may have taken it across
                self.slack += abs(part)
                return made
        return self.builder.splat(p.value, spec.dtype, spec.shape)


def _is_size(d: Any) -> bool:
    return isinstance(d, int | np.integer) and not isinstance(d, bool) and bool(d >= 0)


def _is_number(p: Pattern | None) -> bool:
    return isinstance(p, Number) or (isinstance(p, Capture) and p.kind == "number")


def _shown(specs: Sequence[Known]) -> str:
    return ", ".join(str(s) if isinstance(s, Spec) else "none" if s is None else "any" for s in specs)


def draw_instance(
    rule: Rule, variant: Variant, rng: np.random.Generator, dtype: dtypes.DType, *, dynamic: bool = True
) -> ModuleOp | None:
    """A random module that is an instance of a form of a rule; None if the draw did not fit together."""
    try:
        return _Instance(rule, variant, Sampler(rng, dtype, 3, empty=False, special=False), dynamic=dynamic).module
    except DOES_NOT_FIT:
        return None


class _Types:
    """Element types of a rule's instances: those that never gave one are drawn seldom."""

    PATIENCE = 20

    def __init__(self, rng: np.random.Generator, types: Sequence[dtypes.DType]):
        self.rng = rng
        self.types = types
        self.misses: Counter[str] = Counter()

    def draw(self) -> dtypes.DType:
        while True:
            dtype = self.types[int(self.rng.integers(len(self.types)))]
            if self.misses[dtype.name] < self.PATIENCE or self.rng.random() < 0.1:
                return dtype

    def told(self, dtype: dtypes.DType, matched: bool) -> None:
        if matched:
            self.misses[dtype.name] = -(10**9)
        else:
            self.misses[dtype.name] += 1


def check_rule(rule: Rule, *, instances: int = 12, seed: int = 0, attempts: int = 60) -> Proof:
    """Tries ``instances`` rewritten instances of every form of ``rule`` (at most ``attempts`` draws for each of them).

    All kinds of element types are tried; those that the ops refuse, or the conditions, fall away. Inputs may be empty,
    infinite, NaN, or so large that intermediate steps overflow. Results are compared as ``closeness.difference`` says.
    The counterexample reported is the smallest of those found.
    """
    proof = Proof(rule)
    rng = np.random.default_rng(seed)
    rules = RuleSet([rule])
    own = rule.samples.get("dtypes")
    usual = ROUNDED if rule.exact == "tolerance" else DTYPES
    types = [dtypes.BY_NAME[n] for n in (usual if own is None else own)]
    infinite = bool(rule.samples.get("infinite", True))
    drawn = _Types(rng, types)
    for form, variant in enumerate(rule.variants):
        matched = 0
        refused: dict[str, list[str]] = {}
        blocked = _blocked(rules, rule)
        for draw in range(instances * attempts):
            if matched >= instances or (draw >= 20 * attempts and not matched):
                break
            dtype = drawn.draw()
            special = bool(rng.random() < SPECIAL[rule.exact])
            alike = bool(rng.random() < ALIKE)
            sampler = Sampler(rng, dtype, 2 + draw % 4, special=special, infinite=infinite, alike=alike, turn=matched)
            try:
                instance = _Instance(rule, variant, sampler)
            except DOES_NOT_FIT as e:
                refused.setdefault(e.op if isinstance(e, _Retry) else "sampling", []).append(str(e))
                drawn.told(dtype, False)
                continue
            proof.tried += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing, casts of what does not fit
                found = _compare(rules, rule, instance)
                if found is None and instance.static and blocked != (blocked := _blocked(rules, rule)):
                    try:
                        found = _compare(rules, rule, instance.without_sizes())
                    except DOES_NOT_FIT:
                        found = None
            drawn.told(dtype, found is not None)
            if found is None:
                continue
            matched += 1
            proof.matched += 1
            if isinstance(found, Counterexample) and (
                proof.counterexample is None or found.elements < proof.counterexample.elements
            ):
                proof.counterexample = found
        if not matched:
            proof.unmatched_forms.append(form)
            for messages in refused.values():
                proof.refused[Counter(messages).most_common(1)[0][0]] += len(messages)
    proof.rejected = dict(rules.stats[rule.name].rejected)
    return proof


def _blocked(rules: RuleSet, rule: Rule) -> int:
    """How often the engine held the rule back since types would differ."""
    return sum(n for reason, n in rules.stats[rule.name].rejected.items() if reason.endswith("of the replacement"))


def _compare(rules: RuleSet, rule: Rule, instance: _Instance) -> Counterexample | bool | None:
    """None if the rule did not rewrite, True if both sides agree."""
    module = instance.module
    copy = module.clone()

    def wrong(reason: str, expected: Any = 0, got: Any = 0) -> Counterexample:
        return Counterexample(str(module), str(copy), instance.inputs, expected, got, reason, total(instance.shapes))

    try:
        if not rules.apply(copy).rewrites:
            return None
    except GeError as e:
        if e.code != "GE1106":
            raise
        return wrong("the rule applies to its own result, without end")
    try:
        copy.verify()
    except VerifyException as e:
        return wrong(f"the result does not verify: {e}")
    try:
        expected = interpreter.run(module, instance.inputs)
    except (GeError, ValueError, IndexError):  # positions in an empty axis: there is nothing to agree with
        return None
    try:
        got = interpreter.run(copy, instance.inputs)
    except (GeError, ValueError, IndexError) as e:  # possible where sizes are unknown until then
        return wrong(f"the result does not run: {e}")
    most = max((largest(x) for x in [*instance.inputs, *instance.constants]), default=0.0)
    double: Double | None = None
    for i, (a, b) in enumerate(zip(expected.values(), got.values(), strict=True)):
        reason = difference(a, b, rule.exact, most, instance.slack)
        if reason is not None and rule.exact == "tolerance":
            double = double if double is not None else in_double(module, instance.inputs)
            if double is not None:
                right = double.results[i]
                reason = difference(a, b, rule.exact, most, instance.slack, right, double.overflowed)
        if reason is not None:
            return wrong(reason, a, b)
    return True
