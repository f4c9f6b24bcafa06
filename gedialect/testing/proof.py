"""``check_rule``: both sides of a rewrite rule on random instances, from the ops' own semantics.

The left side is built as a module with random types, shapes, attributes and values; the engine itself rewrites a copy;
the interpreter runs both. So the check covers the rule, its conditions, and what the engine makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from gedialect import interpreter
from gedialect.dialects.ge.attrs import SplatAttr
from gedialect.dialects.ge.base import Attrs, GeOp, to_python
from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.errors import GeError
from gedialect.ir import dtypes
from gedialect.ir.spec import DYNAMIC, Spec, spec_of, tensor_type
from gedialect.patterns.engine import RuleSet
from gedialect.patterns.language import AllResults, AttrCapture, Capture, ManyCapture, Node, Number, Pattern, ResultOf
from gedialect.patterns.rule import Rule, Variant
from gedialect.testing.samples import POSITIVE, UNKNOWN, Known, Sampler, dtypes_for, number, total, values

TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "f16": 3e-2, "bf16": 2e-1}
"""Allowed difference, relative to the largest value of the result."""
CANCELLED = 1e-2
"""Results smaller than this part of the inputs come from cancellation, as gelu at -3.5: rounding of the steps shows."""


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
    counterexample: Counterexample | None = None

    @property
    def holds(self) -> bool:
        """Whether instances of every form matched and none is a counterexample."""
        return self.counterexample is None and self.matched > 0 and not self.unmatched_forms

    def __str__(self) -> str:
        head = f"{self.rule.name} ({self.rule.exact}): {self.matched} of {self.tried} instances rewritten"
        if self.counterexample is not None:
            return f"{self.rule.where}: {head}; counterexample: {self.counterexample}"
        if self.unmatched_forms:
            return f"{head}; forms without an instance: {self.unmatched_forms}, rejected by {self.rejected}"
        return head


def _specs(group: SSAValue | list[SSAValue] | None) -> Any:
    """What type inference takes for an operand, an absent one, or a variadic one."""
    if isinstance(group, list):
        return [spec_of(v.type) for v in group]
    return None if group is None else spec_of(group.type)


class _Retry(Exception):
    """These choices do not fit together."""


class _Instance:
    """One module that is an instance of a form of a rule."""

    def __init__(self, rule: Rule, variant: Variant, sampler: Sampler, *, dynamic: bool = True):
        self.rule = rule
        self.sampler = sampler
        self.special = rule.exact != "tolerance"
        self.block = Block()
        self.builder = GeBuilder(self.block)
        self.made: dict[int, SSAValue] = {}
        self.ops: dict[int, GeOp] = {}
        self.attrs: dict[str, Any] = {}
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        outputs = [self.value(b) for b in variant.before]
        self.shapes = [spec_of(r.type).shape for op in self.block.ops for r in op.results]
        end = self.builder.insert(ReturnOp(*outputs))
        if dynamic and sampler.chance(0.25):
            self.forget_sizes()
        types = ([a.type for a in self.block.args], [o.type for o in end.operands])
        self.module = ModuleOp([FuncOp("main", types, Region(self.block))])

    def forget_sizes(self) -> None:
        """Some sizes of the inputs become unknown, and those that follow from them."""
        for arg in self.block.args:
            spec = spec_of(arg.type)
            shape = [DYNAMIC if self.sampler.chance(0.4) else d for d in spec.shape]
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
        specs, attrs = self.sampler.complete(cls, known, fixed)
        attrs = {k: v for k, v in attrs.items() if k in cls.attr_names()}
        operands: list[SSAValue | None] = []
        for i, (a, spec) in enumerate(zip(args, specs, strict=True)):
            name = kinds[min(i, len(kinds) - 1)][0]
            if a is None:
                operands.append(None)
            else:
                assert isinstance(spec, Spec)
                operands.append(self.operand(a, spec, (cls.name, name) in POSITIVE))
        if cls.has_trait(Commutative) and self.sampler.chance(0.5):
            operands = operands[::-1]
        groups: list[Any] = [operands] if variadic else list(operands)
        try:
            op = self.builder.create(cls, groups, attrs)
        except GeError as e:
            if e.code != "GE1903":
                raise _Retry from e
            some = ["f64", "f32", "f16", "bf16", "i32", "i64", "i8", *[self.sampler.dtype.name] * 7]
            target = node.dtype or self.sampler.pick(some)
            first = spec_of(next(o for o in operands if o is not None).type)
            op = self.builder.create(cls, groups, attrs, results=[first.with_dtype(dtypes.BY_NAME[target])])
        self.bind(node, op)
        shapes = [self.sampler.largest or (), *(spec_of(v.type).shape for v in [*op.operands, *op.results])]
        self.sampler.largest = max(shapes, key=lambda d: (len(d), total([d])))
        return op

    def constant(self, node: Node) -> GeOp:
        """A constant that the pattern writes as an attribute."""
        value = node.attrs.get("value")
        if isinstance(value, SplatAttr):
            if isinstance(value.python, float) != self.sampler.dtype.is_float:
                raise _Retry
            spec = Spec(self.sampler.dtype, self.sampler.pick([(), (), (1,)]))
        elif isinstance(value, DenseIntOrFPElementsAttr):
            spec = spec_of(value.get_type())
        else:
            raise _Retry
        made = ConstantOp.of(cast(Attribute, value), spec)
        self.builder.insert(made)
        return made

    def known(self, p: Pattern) -> Known:
        if isinstance(p, Number):
            return Spec(self.sampler.dtype, ())
        if isinstance(p, Capture) and p.kind == "number" and id(p) not in self.made:
            return Spec(self.sampler.dtype, self.sampler.pick([(), (), (1,)]))
        if isinstance(p, ResultOf):
            return spec_of(self.value(p).type)
        return spec_of(self.made[id(p)].type) if id(p) in self.made else UNKNOWN

    def hinted(self, p: Pattern | None) -> Known:
        """The type the rule's own hint gives a capture, every other time."""
        own = self.rule.samples.get(p.name) if isinstance(p, Capture) and p.kind != "number" else None
        if own is None or self.sampler.chance(0.4):
            return UNKNOWN
        shapes = {n: spec_of(self.made[id(c)].type).shape for n, c in self.rule.params.items() if id(c) in self.made}
        return Spec(self.sampler.dtype, own(shapes))

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
            elif want.name in self.rule.samples:
                found[key] = self.rule.samples[want.name](self.sampler.rng)
        return found

    def bind(self, node: Node, op: GeOp) -> None:
        have: Mapping[str, Any] = {k: to_python(v) for k, v in op.properties.items() if k != "operandSegmentSizes"}
        for key, want in node.attrs.items():
            if isinstance(want, AttrCapture):
                self.attrs[want.name] = have.get(key)
        if node.rest is not None:
            self.attrs[node.rest.name] = {k: v for k, v in have.items() if k not in node.attrs}

    def operand(self, p: Pattern, spec: Spec, positive: bool) -> SSAValue:
        if id(p) in self.made or isinstance(p, ResultOf):
            return self.value(p)
        b, s = self.builder, self.sampler
        like = next((spec_of(r.type).dtype for op in self.block.ops for r in op.results), s.dtype)
        if isinstance(p, Number):
            return b.splat(p.value, spec.dtype if spec.dtype is not s.dtype else like, spec.shape)
        assert isinstance(p, Capture)
        own = self.rule.samples.get(p.name)
        if p.kind == "number":
            made = b.splat(own(s.rng) if own is not None else number(s), like, spec.shape)
        elif p.kind == "const" or s.chance(0.1):
            self.constants.append(values(s, spec, positive=positive, special=False))
            made = b.array(self.constants[-1])
        else:
            self.inputs.append(values(s, spec, positive=positive, special=self.special))
            made = self.block.insert_arg(tensor_type(spec), len(self.block.args))
        self.made[id(p)] = made
        return made


def draw_instance(
    rule: Rule, variant: Variant, rng: np.random.Generator, dtype: dtypes.DType, *, dynamic: bool = True
) -> ModuleOp | None:
    """A random module that is an instance of a form of a rule; None if the draw did not fit together."""
    try:
        return _Instance(rule, variant, Sampler(rng, dtype, 3, empty=False), dynamic=dynamic).module
    except (_Retry, GeError, IndexError, ValueError, OverflowError, TypeError):
        return None


def check_rule(rule: Rule, *, instances: int = 12, seed: int = 0, attempts: int = 60) -> Proof:
    """Tries ``instances`` rewritten instances of every form of ``rule`` (at most ``attempts`` draws for each of them).

    "bits" and "value" are compared as declared, also with infinities, NaN and empty dimensions; "tolerance" relative
    to the largest value of the result. The counterexample reported is the smallest of those found.
    """
    proof = Proof(rule)
    rng = np.random.default_rng(seed)
    rules = RuleSet([rule])
    own = rule.samples.get("dtypes")
    types = dtypes_for(rule.exact) if own is None else [dtypes.BY_NAME[n] for n in own]
    for form, variant in enumerate(rule.variants):
        matched = 0
        for draw in range(instances * attempts):
            if matched >= instances or (draw >= 10 * attempts and not matched):
                break
            size = 2 + draw % 4
            dtype = types[int(rng.integers(len(types)))]
            sampler = Sampler(rng, dtype, size, empty=rule.exact != "tolerance")
            try:
                instance = _Instance(rule, variant, sampler)
            except (_Retry, GeError, IndexError, ValueError, OverflowError, TypeError):
                continue
            proof.tried += 1
            found = _compare(rules, rule, instance)
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
    proof.rejected = dict(rules.stats[rule.name].rejected)
    return proof


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
    expected = interpreter.run(module, instance.inputs)
    try:
        got = interpreter.run(copy, instance.inputs)
    except (GeError, ValueError, IndexError) as e:  # possible where sizes are unknown until then
        return wrong(f"the result does not run: {e}")
    floor = CANCELLED * max((_largest(x) for x in [*instance.inputs, *instance.constants]), default=0.0)
    for a, b in zip(expected.values(), got.values(), strict=True):
        if (reason := _difference(a, b, rule.exact, floor)) is not None:
            return wrong(reason, a, b)
    return True


def _largest(x: Any) -> float:
    """The largest finite magnitude of an input; 0 for inputs that are no floats."""
    if not dtypes.from_numpy(x.dtype).is_float:
        return 0.0
    y = np.abs(x.astype(np.float64))
    return float(y[np.isfinite(y)].max(initial=0.0))


def _difference(a: Any, b: Any, exact: str, floor: float) -> str | None:
    """How two arrays differ beyond what ``exact`` allows; None if they do not. Errors are relative to the largest
    element, or to ``floor`` if that is more."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} becomes {b.dtype}{list(b.shape)}"
    floating = dtypes.from_numpy(a.dtype).is_float
    if exact == "bits":
        same = np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
        return None if same else "other bits"
    if exact == "value" or not floating:
        x, y = (a.astype(np.float64), b.astype(np.float64)) if floating else (a, b)
        return None if np.array_equal(x, y, equal_nan=floating) else "other values"
    x, y = a.astype(np.float64), b.astype(np.float64)
    if (np.isnan(x) != np.isnan(y)).any():
        return "NaN on one side only"
    finite = np.isfinite(x) & np.isfinite(y)
    if (x[~finite & ~np.isnan(x)] != y[~finite & ~np.isnan(x)]).any():
        return "infinite on one side only"
    if not finite.any():
        return None
    scale = max(float(np.abs(x[finite]).max()), 1e-3, floor)
    error = float(np.abs(x - y)[finite].max()) / scale
    allowed = TOLERANCE[dtypes.from_numpy(a.dtype).name]
    return None if error <= allowed else f"differs by {error:.3g} of the largest value ({allowed:g} is allowed)"
