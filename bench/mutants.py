"""Rules broken on purpose: how many of them the proof catches.

    python bench/mutants.py [--instances 6] [--again 60] [RULE ...]

Every mutant of every rule (a constant, an attribute, the operand order changed) is proved on a few instances; those
that survive are tried again on more. What survives then is listed: "equivalent" is proved to be the same, since the op
expands to the same commutative ops; for "the same" this file says why; "survived" is a gap of the proof.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from gedialect.patterns.catalogue import all_rules
from gedialect.testing.mutation import judge, mutants

LENGTH = "another length is another type, which the engine refuses; where it is cut to the same, it is right"
SHAPE = "another shape is another type, which the engine refuses"
ONE = "of one element every stride is the same"
SAME = {
    "attention_packed_slices: ge.slice before: strides [1] is [2]": ONE,
    "attention_packed_slices: ge.slice before: end [3] is [4]": "there are three: the end is cut to 3",
    "view_view: ge.reshape after: computed shape changed": SHAPE,
    "view_activation_view: ge.reshape after: computed shape changed": SHAPE,
    "concat_empty: ge.concat before: operands 0 and 1 swapped": "becomes the other of the two forms",
    "slice_slice: ge.slice after: computed begin changed": LENGTH,
    "slice_slice: ge.slice after: computed end changed": LENGTH,
    "slice_slice: ge.slice after: strides [1] is [2]": LENGTH,
    "slice_concat_first: ge.slice after: computed end changed": LENGTH,
    "slice_concat_first: ge.slice after: strides [1] is [2]": LENGTH,
    "gather_one: ge.reshape after: computed shape changed": SHAPE,
    "gather_one: ge.slice after: computed end changed": LENGTH,
    "gather_one: ge.slice after: strides [1] is [2]": ONE,
    "layer_norm_tensorflow: ge.sub before: operands 0 and 1 swapped": "the difference is squared",
    "avg_pool_whole: ge.reduce_mean after: computed axes changed": SHAPE,
    "max_pool_whole: ge.reduce_max after: computed axes changed": SHAPE,
    "adam: ge.apply_adam after: computed operand 3 doubled": "it is 0",
    "adamw: ge.apply_adam_w after: computed operand 3 doubled": "it is 0",
    "lamb_update: ge.lamb_apply_optimizer_assign after: computed operand 9 doubled": "any so large is the same",
}
"""Why mutants that survive are no broken rules."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="RULE")
    parser.add_argument("--instances", type=int, default=6)
    parser.add_argument("--again", type=int, default=60)
    args = parser.parse_args()
    start = time.perf_counter()
    outcomes: Counter[str] = Counter()
    rules = [r for r in all_rules() if not args.rules or r.name in args.rules]
    for r in rules:
        for mutant in mutants(r):
            verdict = judge(mutant, instances=args.instances)
            if verdict.outcome == "survived":
                verdict = judge(mutant, instances=args.again, seed=1, attempts=60)
            reason = SAME.get(mutant.what) if verdict.outcome == "survived" else None
            outcome = verdict.outcome if reason is None else "the same"
            outcomes[outcome] += 1
            if not verdict.caught:
                print(f"{outcome}: {mutant.what}" + (f": {reason}" if reason is not None else ""), flush=True)
    made = sum(outcomes.values())
    caught = made - outcomes["survived"] - outcomes["equivalent"] - outcomes["the same"]
    print(f"{len(rules)} rules, {made} mutants, {caught} caught: {dict(outcomes)}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
