"""Rules broken on purpose: how many of them the proof catches.

    python bench/mutants.py [--instances 6] [--again 60] [RULE ...]

Every mutant of every rule (a constant, an attribute, the operand order changed) is proved on a few instances; those
that survive are tried again on more. What survives then is listed: a change that means the same, or a gap; and apart
from it what is provably the same, since the op expands to commutative ops.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from gedialect.patterns.catalogue import all_rules
from gedialect.testing.mutation import judge, mutants


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
            outcomes[verdict.outcome] += 1
            if not verdict.caught:
                print(f"{verdict.outcome}: {mutant.what}", flush=True)
    made = sum(outcomes.values())
    caught = made - outcomes["survived"] - outcomes["equivalent"]
    print(f"{len(rules)} rules, {made} mutants, {caught} caught: {dict(outcomes)}, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
