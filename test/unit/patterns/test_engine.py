"""How rules are matched and applied: operand orders, constants, boundaries, locations, fixpoint, statistics."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from gedialect.errors import GeError
from gedialect.ir import sources
from gedialect.ir.context import GeContext
from gedialect.patterns import RuleSet, attr, const, ge, number, one_of, rule

T = "tensor<2x3xf32>"


def graph(body: str, result: str = T, arguments: str = f"%x: {T}, %y: {T}") -> ModuleOp:
    return Parser(GeContext(), f"func.func @main({arguments}) -> ({result}) {{\n{body}\n}}").parse_module()


def scaled(factor: str) -> ModuleOp:
    return graph(
        f"%c = ge.constant #ge.splat<{factor}> : tensor<f32>\n%a = ge.mul(%x, %c) : ({T}, tensor<f32>) -> {T}\n"
        f"func.return %a : {T}"
    )


def ops(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("ge.")]


def apply(module: ModuleOp, *rules, **kwargs):
    outcome = RuleSet(rules).apply(module, **kwargs)
    module.verify()
    return outcome


@rule(exact="value")
def add_zero(x):
    return ge.add(x, 0), x


@rule(exact="bits")
def relu_relu(x):
    return ge.relu(ge.relu(x)), ge.relu(x)


# ---------------------------------------------------------------- matching
@pytest.mark.parametrize(
    "zero",
    ["#ge.splat<0.0> : tensor<f32>", "dense<0.0> : tensor<2x3xf32>", "dense<[[0.0, 0.0, -0.0]]> : tensor<1x3xf32>"],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_constant_of_any_kind_and_order(zero: str, swapped: bool):
    type_ = zero.split(" : ")[1]
    a, ta, b, tb = ("%z", type_, "%x", T) if swapped else ("%x", T, "%z", type_)
    module = graph(f"%z = ge.constant {zero}\n%a = ge.add({a}, {b}) : ({ta}, {tb}) -> {T}\nfunc.return %a : {T}")
    assert apply(module, add_zero).rewrites == {"add_zero": 1}
    assert ops(module) == []


@pytest.mark.parametrize(
    "type_", ["tensor<4xf16>", "tensor<4xbf16>", "tensor<4xf64>", "tensor<4xi32>", "tensor<4xi64>"]
)
def test_constant_of_any_element_type(type_: str):
    value = "0" if "i" in type_ else "0.0"
    module = graph(
        f"%z = ge.constant #ge.splat<{value}> : {type_}\n%a = ge.add(%x, %z) : ({type_}, {type_}) -> {type_}\n"
        f"func.return %a : {type_}",
        type_,
        f"%x: {type_}",
    )
    assert apply(module, add_zero).changed


@pytest.mark.parametrize("value", ["dense<[[0.0, 0.0, 1.0]]> : tensor<1x3xf32>", "#ge.splat<1.0e-8> : tensor<f32>"])
def test_other_constants_do_not_match(value: str):
    type_ = value.split(" : ")[1]
    module = graph(f"%z = ge.constant {value}\n%a = ge.add(%x, %z) : ({T}, {type_}) -> {T}\nfunc.return %a : {T}")
    assert not apply(module, add_zero).changed


def test_another_type_blocks():
    module = graph(
        "%z = ge.constant #ge.splat<0.0> : tensor<1x1x1xf32>\n"
        f"%a = ge.add(%x, %z) : ({T}, tensor<1x1x1xf32>) -> tensor<1x2x3xf32>\nfunc.return %a : tensor<1x2x3xf32>",
        "tensor<1x2x3xf32>",
    )
    rules = RuleSet([add_zero])
    assert not rules.apply(module).changed
    assert rules.stats["add_zero"].rejected == {"type of the replacement": 1}


@pytest.mark.parametrize("value", ["1.4142135", "1.41421", "1.4142135381698608"])
def test_rounded_constants_match(value: str):
    @rule(exact="tolerance")
    def r(x):
        return x * 2**0.5, ge.sqrt(x)

    assert apply(scaled(value), r).changed
    assert not apply(scaled("1.415"), r).changed


def test_own_tolerance():
    @rule(exact="tolerance")
    def r(x):
        return x * number(1.7, tol=1e-2), ge.sqrt(x)

    assert apply(scaled("1.702"), r).changed
    assert not apply(scaled("1.75"), r).changed


@pytest.mark.parametrize(("a", "b", "c", "d"), ["xyxz", "yxxz", "xyzx", "yxzx"])
def test_commutative_at_every_level(a: str, b: str, c: str, d: str):
    @rule(exact="tolerance")
    def factor(x, y, z):
        return x * y + x * z, x * (y + z)

    for left, right in (("%p", "%q"), ("%q", "%p")):
        module = graph(
            f"%p = ge.mul(%{a}, %{b}) : ({T}, {T}) -> {T}\n%q = ge.mul(%{c}, %{d}) : ({T}, {T}) -> {T}\n"
            f"%r = ge.add({left}, {right}) : ({T}, {T}) -> {T}\nfunc.return %r : {T}",
            arguments=f"%x: {T}, %y: {T}, %z: {T}",
        )
        assert apply(module, factor).changed
        assert sorted(ops(module)) == ["ge.add", "ge.mul"]


def test_not_commutative():
    @rule()
    def r(x):
        return ge.sub(ge.relu(x), x), x

    good = f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.sub(%a, %x) : ({T}, {T}) -> {T}\nfunc.return %b : {T}"
    assert apply(graph(good), r).changed
    assert not apply(graph(good.replace("(%a, %x)", "(%x, %a)")), r).changed


def test_repeated_capture_is_one_value():
    @rule()
    def r(x):
        return ge.sub(x, x), ge.relu(x)

    text = "%a = ge.sub(%x, {}) : ({}, {}) -> {}\nfunc.return %a : {}"
    assert apply(graph(text.format("%x", T, T, T, T)), r).changed
    assert not apply(graph(text.format("%y", T, T, T, T)), r).changed


def test_attributes():
    @rule()
    def same_axes(x, a: attr):
        return ge.softmax(ge.softmax(x, axes=a), axes=a), ge.softmax(x, axes=a)

    text = (
        f"%a = ge.softmax(%x) {{axes = [0]}} : ({T}) -> {T}\n%b = ge.softmax(%a) {{axes = [AXIS]}} : ({T}) -> {T}\n"
        f"func.return %b : {T}"
    )
    module = graph(text.replace("AXIS", "0"))
    assert apply(module, same_axes).changed
    assert "{axes = [0]}" in str(module)
    assert not apply(graph(text.replace("AXIS", "1")), same_axes).changed


def test_const_capture():
    @rule(exact="tolerance")
    def r(x, c: const):
        return ge.relu(x * c), ge.abs(x)

    text = f"{{}}\n%m = ge.mul(%x, %e) : ({T}, {T}) -> {T}\n%r = ge.relu(%m) : ({T}) -> {T}\nfunc.return %r : {T}"
    derived = f"%c = ge.constant #ge.splat<2.0> : {T}\n%e = ge.exp(%c) : ({T}) -> {T}"
    assert apply(graph(text.format(derived)), r).changed
    rules = RuleSet([r])
    assert not rules.apply(graph(text.format(f"%e = ge.exp(%y) : ({T}) -> {T}"))).changed
    assert rules.stats["r"].rejected["c is constant"] >= 1


def test_many_operands():
    @rule(exact="bits")
    def flatten(*xs, d: attr):
        return ge.relu(ge.concat(*xs, concat_dim=d)), ge.concat(*xs, concat_dim=d)

    module = graph(
        f"%a = ge.concat(%x, %y, %x) {{concat_dim = 0}} : ({T}, {T}, {T}) -> tensor<6x3xf32>\n"
        "%r = ge.relu(%a) : (tensor<6x3xf32>) -> tensor<6x3xf32>\nfunc.return %r : tensor<6x3xf32>",
        "tensor<6x3xf32>",
    )
    assert apply(module, flatten).changed
    assert ops(module) == ["ge.concat"]


# ---------------------------------------------------------------- boundaries
TWICE = f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.relu(%a) : ({T}) -> {T}\n"


def test_value_used_outside_blocks():
    module = graph(TWICE + f"func.return %a, %b : {T}, {T}", f"{T}, {T}")
    assert not apply(module, relu_relu).changed


def test_shared_rule_applies_and_keeps_the_value():
    @rule(shared=True)
    def shared(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    module = graph(TWICE + f"func.return %a, %b : {T}, {T}", f"{T}, {T}")
    assert apply(module, shared).changed
    assert ops(module) == ["ge.relu", "ge.relu"]


def test_value_used_on_the_right_may_have_other_users():
    @rule()
    def r(x):
        inner = ge.relu(x)
        return ge.abs(inner), inner

    module = graph(
        f"%a = ge.relu(%x) : ({T}) -> {T}\n%b = ge.abs(%a) : ({T}) -> {T}\nfunc.return %a, %b : {T}, {T}", f"{T}, {T}"
    )
    assert apply(module, r).changed
    assert ops(module) == ["ge.relu"]


def test_user_that_goes_away_unblocks():
    """The second use of %a is by an op that another rewrite removes."""
    module = graph(
        TWICE + f"%z = ge.constant #ge.splat<0.0> : tensor<f32>\n%m = ge.mul(%a, %z) : ({T}, tensor<f32>) -> {T}\n"
        f"%s = ge.sub(%m, %m) : ({T}, {T}) -> {T}\n%r = ge.add(%b, %s) : ({T}, {T}) -> {T}\nfunc.return %r : {T}"
    )

    @rule()
    def nothing(x, y):
        return x + (y - y), x

    outcome = apply(module, nothing, relu_relu)
    assert outcome.rewrites == {"nothing": 1, "relu_relu": 1}
    assert ops(module) == ["ge.relu"]


def test_dead_constants_go_and_others_stay():
    module = graph(
        "%z = ge.constant #ge.splat<0.0> : tensor<f32>\n%k = ge.constant #ge.splat<1.0> : tensor<f32>\n"
        f"%a = ge.add(%x, %z) : ({T}, tensor<f32>) -> {T}\nfunc.return %a : {T}"
    )
    apply(module, add_zero)
    assert ops(module) == ["ge.constant"]  # what nobody used before is not the business of rules


# ---------------------------------------------------------------- what is put in
def test_locations_of_all_matched_ops_once():
    module = graph(
        f'%a = ge.relu(%x) : ({T}) -> {T} loc("first")\n%b = ge.relu(%a) : ({T}) -> {T} loc(fused["first", "second"])\n'
        f"func.return %b : {T}"
    )
    apply(module, relu_relu)
    (new,) = [op for op in module.walk() if op.name == "ge.relu"]
    assert sources.names(new) == ("first", "second")
    assert new.results[0].name_hint == "b"


def test_name_of_a_removed_op_goes_to_what_replaces_it():
    module = graph(
        f'%r = ge.relu(%x) : ({T}) -> {T} loc("act")\n%z = ge.constant #ge.splat<0.0> : tensor<f32>\n'
        f'%a = ge.add(%r, %z) : ({T}, tensor<f32>) -> {T} loc("plus")\nfunc.return %a : {T}'
    )
    apply(module, add_zero)
    (relu,) = [op for op in module.walk() if op.name == "ge.relu"]
    assert sources.names(relu) == ("act", "plus")


@rule(exact="tolerance", where={"rank 2": lambda v, w: v.rank == w.rank == 2})
def two_products(x, v: const, w: const):
    flags = {"transpose_x1": False, "transpose_x2": False}
    both = ge.matmul(x, ge.concat(v, w, concat_dim=1), **flags)
    parts = ge.split(both, size_splits=lambda v, w: [v.shape[1], w.shape[1]], split_dim=-1)
    return (ge.matmul(x, v, **flags), ge.matmul(x, w, **flags)), (parts[0], parts[1])


def products(between: str, second: str = "%x") -> ModuleOp:
    flags = "{transpose_x1 = false, transpose_x2 = false}"
    return graph(
        "%v = ge.constant #ge.splat<1.0> : tensor<3x4xf32>\n"
        f"%a = ge.matmul(%x, %v) {flags} : ({T}, tensor<3x4xf32>) -> tensor<2x4xf32>\n{between}\n"
        "%w = ge.constant #ge.splat<2.0> : tensor<3x5xf32>\n"
        f"%b = ge.matmul({second}, %w) {flags} : ({T}, tensor<3x5xf32>) -> tensor<2x5xf32>\n"
        "func.return %a, %b : tensor<2x4xf32>, tensor<2x5xf32>",
        "tensor<2x4xf32>, tensor<2x5xf32>",
    )


def test_several_outputs():
    module = products("%u = ge.abs(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>")  # a user before the second output
    assert apply(module, two_products).rewrites == {"two_products": 1}
    assert ops(module) == ["ge.constant", "ge.constant", "ge.concat", "ge.matmul", "ge.split", "ge.abs"]


def test_several_outputs_need_one_input():
    assert not apply(products("", "%y"), two_products).changed


# ---------------------------------------------------------------- driver
def chain(length: int) -> ModuleOp:
    lines = [f"%r{i} = ge.relu(%{'x' if i == 0 else f'r{i - 1}'}) : ({T}) -> {T}" for i in range(length)]
    return graph("\n".join([*lines, f"func.return %r{length - 1} : {T}"]))


def test_fixpoint():
    module = chain(50)
    outcome = apply(module, relu_relu)
    assert outcome.rewrites == {"relu_relu": 49}
    assert outcome.iterations == 2
    assert ops(module) == ["ge.relu"]


def test_benefit_decides():
    @rule(benefit=1)
    def small(x):
        return ge.relu(ge.abs(x)), ge.sign(x)

    @rule(benefit=2)
    def big(x):
        return ge.relu(x), ge.neg(x)

    text = f"%a = ge.abs(%x) : ({T}) -> {T}\n%b = ge.relu(%a) : ({T}) -> {T}\nfunc.return %b : {T}"
    for rules in ((small, big), (big, small)):
        assert apply(graph(text), *rules).rewrites == {"big": 1}


def test_loop_is_named():
    @rule()
    def there(x):
        return ge.relu(x), ge.abs(x)

    @rule()
    def back(x):
        return ge.abs(x), ge.relu(x)

    with pytest.raises(GeError, match="GE1106: rules undo each other without end: back, there"):
        RuleSet([there, back, add_zero]).apply(chain(3))


def test_fusion_bodies_are_left_alone():
    module = graph(
        f"%f = ge.fusion(%v = %x : {T}) -> ({T}) {{\n%a = ge.relu(%v) : ({T}) -> {T}\n"
        f"%b = ge.relu(%a) : ({T}) -> {T}\nge.yield %b : {T}\n}}\nfunc.return %f : {T}"
    )
    assert not apply(module, relu_relu).changed


def test_statistics():
    @rule(where={"first axis is even": lambda x: x.shape[0] % 2 == 0, "rank 3": lambda x: x.rank == 3})
    def r(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    rules = RuleSet([r])
    rules.apply(chain(3))
    stats = rules.stats["r"]
    assert (stats.tried, stats.matched) == (2, 0)
    assert stats.rejected == {"rank 3": 2}


def test_explain_names_the_deepest_failure():
    @rule(where={"rank 3": lambda x: x.rank == 3})
    def r(x):
        return one_of(ge.relu(ge.exp(x)), ge.relu(ge.relu(x))), ge.relu(x)

    module = chain(2)
    root = [op for op in module.walk() if op.name == "ge.relu"][-1]
    why = RuleSet([r]).explain("r", root)
    assert why[0][:2] == (2, "rank 3: no")
    assert (1, "operand is no ge.exp", root) in why


def test_two_rules_of_one_name():
    with pytest.raises(GeError, match="two rules are named add_zero"):
        RuleSet([add_zero, add_zero])


def test_linear_time():
    """Ten times the ops: about ten times the calls into matchers, not a hundred."""
    tried = []
    for length in (100, 1000):
        rules = RuleSet([relu_relu])
        rules.apply(chain(length))
        tried.append(rules.stats["relu_relu"].tried)
    assert tried[1] <= 11 * tried[0]


def test_statistics_say_why_each_root_was_rejected():
    """One reason for each root: the one its forms come furthest with, whatever it is."""

    @rule(exact="tolerance")
    def halved(x):
        return ge.relu(ge.mul(x, 0.5)), x

    @rule(exact="tolerance")
    def biased(x, w, b):
        return ge.relu(ge.matmul(x, w, b, transpose_x1=False, transpose_x2=False)), x

    t = "tensor<2x2xf32>"
    module = Parser(
        GeContext(),
        f"""func.func @main(%x: {t}) -> ({t}, {t}, {t}, {t}, {t}) {{
      %half = ge.constant #ge.splat<0.5> : tensor<f32>
      %third = ge.constant #ge.splat<0.3> : tensor<f32>
      %a = ge.mul(%x, %half) : ({t}, tensor<f32>) -> {t}
      %ra = ge.relu(%a) : ({t}) -> {t}
      %b = ge.mul(%x, %third) : ({t}, tensor<f32>) -> {t}
      %rb = ge.relu(%b) : ({t}) -> {t}
      %m = ge.matmul(%x, %x) {{transpose_x1 = false, transpose_x2 = false}} : ({t}, {t}) -> {t}
      %rm = ge.relu(%m) : ({t}) -> {t}
      %n = ge.relu(%x) : ({t}) -> {t}
      func.return %a, %ra, %rb, %rm, %n : {t}, {t}, {t}, {t}, {t}
    }}""",
    ).parse_module()
    rules = RuleSet([halved, biased], timed=True)
    rules.apply(module)
    assert rules.stats["halved"].rejected == {
        "ge.mul has other users": 1,
        "no constant 0.5": 1,
        "operand is no ge.mul": 2,
    }
    assert rules.stats["biased"].rejected == {"ge.matmul has no 3 operands": 1, "operand is no ge.matmul": 3}
    assert all(s.tried == sum(s.rejected.values()) + s.matched == 4 for s in rules.stats.values())


def test_no_rule_pays_for_loading_numpy():
    """In a process of its own: the first rule that reads a constant would."""
    code = """if True:
        import sys
        from xdsl.parser import Parser
        from gedialect.ir.context import GeContext
        from gedialect.patterns import RuleSet, ge, rule

        @rule(exact="value")
        def add_zero(x):
            return ge.add(x, 0), x

        module = Parser(GeContext(), '''func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {
          %zero = ge.constant dense<0.0> : tensor<2xf16>
          %a = ge.add(%zero, %x) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
          func.return %a : tensor<2xf16>
        }''').parse_module()
        assert "numpy" not in sys.modules
        rules = RuleSet([add_zero], timed=True)
        assert "numpy" in sys.modules
        loaded = set(sys.modules)
        assert rules.apply(module).changed
        print([n for n in set(sys.modules) - loaded if n.startswith(("numpy", "gedialect.ir"))])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
