"""Rules: the engine against xDSL's PatternRewriteWalker with the same rules written by hand.

    python bench/rules.py [--ops 10000] [--runs 5] [--load 200]

A synthetic module of groups of ten ops (constants, transposes, casts, add, mul, relu, exp) is rewritten by five
rules; both ways must give the same text. With ``--load`` further rules are loaded that match nothing, 40 % of them
rooted at add and mul as in the catalogue; their cost is the ratio to the used rules alone. Where ``mlir-opt`` is
installed, its PDL runs the rules that PDL can say beside it.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from gedialect.dialects.ge.builder import GeBuilder
from gedialect.dialects.ge.constant import ConstantOp
from gedialect.dialects.ge.elementwise import AddOp, IdentityOp, MulOp, ReluOp
from gedialect.dialects.ge.shape import TransposeOp
from gedialect.ir.dtypes import F32
from gedialect.ir.spec import Spec, tensor_type
from gedialect.patterns import Rule, RuleSet, attr, ge, rule
from gedialect.patterns.values import number_of


# ---------------------------------------------------------------- the rules, as data
@rule(exact="value")
def add_zero(x):
    return ge.add(x, 0), x


@rule(exact="bits")
def mul_one(x):
    return ge.mul(x, 1), x


@rule(exact="bits")
def relu_relu(x):
    return ge.relu(ge.relu(x)), ge.relu(x)


@rule(exact="bits")
def identity(x):
    return ge.identity(x), x


@rule(exact="bits", shared=True)
def transposes(x, p: attr, q: attr):
    return ge.transpose(ge.transpose(x, perm=p), perm=q), ge.transpose(x, perm=lambda p, q: [p[i] for i in q])


RULES = [add_zero, mul_one, relu_relu, identity, transposes]


# ---------------------------------------------------------------- the same by hand
def _is_number(value: object, want: float) -> bool:
    return number_of(value) == want  # type: ignore[arg-type]


class AddZero(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        for x, c in ((op.x1, op.x2), (op.x2, op.x1)):
            if isinstance(c.owner, ConstantOp) and _is_number(c, 0.0) and x.type == op.y.type:
                rewriter.replace(op, (), (x,))
                return


class MulOne(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for x, c in ((op.x1, op.x2), (op.x2, op.x1)):
            if isinstance(c.owner, ConstantOp) and _is_number(c, 1.0) and x.type == op.y.type:
                rewriter.replace(op, (), (x,))
                return


class ReluRelu(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        inner = op.x.owner
        if isinstance(inner, ReluOp) and inner.y.has_one_use():
            rewriter.replace(op, ReluOp.create(operands=(inner.x,), result_types=(op.y.type,), location=op.location))


class Identity(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: IdentityOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, (), (op.x,))


class Transposes(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.x.owner
        if not isinstance(inner, TransposeOp):
            return
        p, q = inner.perm.get_values(), op.perm.get_values()  # type: ignore[attr-defined]
        perm = DenseArrayBase.from_list(i64, [p[i] for i in q])
        rewriter.replace(
            op,
            TransposeOp.create(
                operands=(inner.x,), result_types=(op.y.type,), properties={"perm": perm}, location=op.location
            ),
        )


HAND = [AddZero(), MulOne(), ReluRelu(), Identity(), Transposes()]


# ---------------------------------------------------------------- the module
def synthetic(ops: int) -> ModuleOp:
    """Groups of ten ops, each group feeding the next."""
    block = Block(arg_types=[tensor_type(Spec(F32, (8, 16)))])
    b = GeBuilder(block)
    x = block.args[0]
    for i in range(ops // 10):
        zero, factor = b.splat(0.0, F32), b.splat(float(i + 2) if i % 2 else 1.0, F32)
        x = b.transpose(b.transpose(x, perm=[1, 0]), perm=[1, 0])
        x = b.add(zero, x)
        x = b.mul(x, factor) if i % 2 else b.mul(factor, x)
        x = b.relu(b.relu(x)) if i % 3 else b.exp(b.relu(x))
        x = b.identity(b.exp(x)) if i % 2 else b.exp(x)
    b.insert(ReturnOp(x))
    function = FuncOp("main", ([a.type for a in block.args], [x.type]), Region(block))
    return ModuleOp([function])


def unused(count: int) -> list[Rule]:
    """Rules that match nothing here, 40 % of them at add and mul. They look like those that do: the same roots and
    operands, told apart by a constant or one op further down."""
    at_add_and_mul = [
        lambda x, k: (ge.add(x, k), x),
        lambda x, k: (ge.mul(x, k), x),
        lambda x, k: (ge.add(ge.transpose(x), k), ge.sub(x, 1)),
        lambda x, k: (ge.mul(ge.add(x, k), k + 1), ge.sub(x, 1)),
        lambda x, k: (ge.mul(ge.add(ge.transpose(x), 0), k), ge.sub(x, 1)),
    ]
    elsewhere = [
        lambda x, k: (ge.relu(ge.relu(ge.tanh(ge.add(x, k)))), x),
        lambda x, k: (ge.exp(ge.relu(ge.mul(x, k))), ge.exp(x)),
        lambda x, k: (ge.identity(ge.exp(ge.sub(x, k))), x),
        lambda x, k: (ge.exp(ge.exp(ge.relu(ge.mul(x, k)))), x),
        lambda x, k: (ge.div(x, k), x),
        lambda x, k: (ge.sigmoid(ge.sub(x, k)), x),
    ]

    def make(i: int) -> Rule:
        side = at_add_and_mul[i // 5 % 5] if i % 5 < 2 else elsewhere[i % 6]

        def pattern(x):
            return side(x, 100.5 + i)

        pattern.__name__ = f"unused_{i}"
        return rule(exact="tolerance")(pattern)

    return [make(i) for i in range(count)]


def beside_mlir_opt(ops: int, runs: int) -> None:
    """The rules PDL can say, here and in mlir-opt's PDL bytecode; its time is the pass alone, as it prints it."""
    import subprocess

    from gedialect.errors import GeError
    from gedialect.patterns.formats.pdl_export import rule_to_pdl
    from gedialect.testing.mlir_pdl import find_mlir_opt, generic

    path = find_mlir_opt()
    if path is None:
        print("mlir-opt is not installed: not compared")
        return
    said: list[Rule] = []
    patterns: list[str] = []
    for r in RULES:
        try:
            patterns += rule_to_pdl(r)
            said.append(r)
        except GeError as error:
            print(f"  {error.message}")
    measure(f"engine, the {len(said)} rules PDL can say", ops, runs, RuleSet(said).apply)
    body = "\n".join(patterns)
    text = f"module {{\n{generic(synthetic(ops), '@ir')}\nmodule @patterns {{\n{body}\n}}\n}}\n"
    base = [path, "-allow-unregistered-dialect"]
    text = subprocess.run(
        [*base, "-convert-pdl-to-pdl-interp"], input=text, capture_output=True, text=True, check=True
    ).stdout
    times: list[float] = []
    for _ in range(runs):
        done = subprocess.run(
            [*base, "-test-pdl-bytecode-pass", "-mlir-timing", "-mlir-timing-display=list", "-o", "/dev/null"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        (line,) = [x for x in done.stderr.split("\n") if "PDLByteCode" in x]
        times.append(float(line.split()[0]))
    print(f"{'mlir-opt, the same rules as PDL bytecode':44} {statistics.median(times) * 1e3:8.1f} ms")


def measure(name: str, ops: int, runs: int, apply: Callable[[ModuleOp], object]) -> tuple[float, str]:
    """Median seconds of process time, and the text it gives."""
    times: list[float] = []
    text = ""
    for _ in range(runs):
        module = synthetic(ops)
        gc.collect()
        start = time.process_time()
        apply(module)
        times.append(time.process_time() - start)
        text = str(module)
    median = statistics.median(times)
    print(f"{name:44} {median * 1e3:8.1f} ms  {median / ops * 1e6:6.2f} us/op")
    return median, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--load", type=int, default=200)
    args = parser.parse_args()
    total = sum(1 for _ in synthetic(args.ops).walk())
    print(f"{total} ops, median of {args.runs}")
    rules = RuleSet(RULES)
    ours, text = measure("engine, 5 rules", args.ops, args.runs, rules.apply)
    print(f"  rewrites: { {n: s.matched // args.runs for n, s in rules.stats.items()} }")

    def walker(module: ModuleOp) -> None:
        PatternRewriteWalker(GreedyRewritePatternApplier(list(HAND))).rewrite_module(module)

    theirs, other = measure("PatternRewriteWalker, same by hand", args.ops, args.runs, walker)
    print(f"  same text: {text == other};  engine is {theirs / ours:.2f} times faster")
    start = time.process_time()
    loaded = RuleSet([*RULES, *unused(args.load)])
    defined = time.process_time() - start
    more, again = measure(f"engine, {args.load} more rules loaded", args.ops, args.runs, loaded.apply)
    beside_mlir_opt(args.ops, args.runs)
    print(f"  defined in {defined * 1e3:.0f} ms;  same text: {again == text};  {more / ours:.2f} times the used alone")


if __name__ == "__main__":
    main()
