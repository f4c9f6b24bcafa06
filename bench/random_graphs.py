"""Random ONNX models: onnxruntime (graph optimisation off) beside the interpreter and the simulator at every level.

    python bench/random_graphs.py [--seconds N | --models N] [--seed S] [--stages interpreter,O0,O2] [--only Conv,Relu]
        [--nodes N] [--out FOLDER] [--limit SECONDS]

Model number i is made from seed S + i alone, so each can be made again. Printed are the failures as they come, and at
the end how often each operator was in models of each verdict. A failing model goes to FOLDER with its inputs, and the
``ge-reduce`` command that makes it small is printed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from types import FrameType

import numpy as np
import onnx

from gedialect.testing.differential import STAGES, Finding, ReferenceFailed, check_model
from gedialect.testing.random_forms import OPERATORS
from gedialect.testing.random_models import RandomModel, random_model

VERDICTS = ("agree", "wrong", "crash", "unsupported", "no reference")


class TooLong(BaseException):  # no handler of ordinary errors takes it
    """A model that takes longer than its time limit."""


def stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def judge(made: RandomModel, stages: list[str], limit: int) -> tuple[str, list[Finding]]:
    """The verdict of a model, and what was found."""
    signal.alarm(limit)
    try:
        found = check_model(made.model, made.inputs, stages, made.seed)
    except ReferenceFailed as error:
        return "no reference", [Finding("onnxruntime", "no reference", str(error), str(error)[:60])]
    except TooLong:
        return "crash", [Finding("any", "crash", f"not done after {limit} s", "time")]
    finally:
        signal.alarm(0)
    kinds = {f.kind for f in found}
    return next((v for v in VERDICTS if v in kinds), "agree"), found


def save(made: RandomModel, folder: str, found: list[Finding]) -> str:
    """Write a model and its inputs; returns the command that reduces it."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"seed-{made.seed}")
    onnx.save(made.model, f"{path}.onnx")
    np.savez(f"{path}.npz", **made.inputs)
    mode = "--wrong" if found[0].kind == "wrong" else "--crash"
    stage = "--interpreter" if found[0].stage == "interpreter" else f"-{found[0].stage}"
    return f"ge-reduce {path}.onnx {mode} {stage} --inputs {path}.npz -o {path}-small.onnx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long to run (default 60)")
    parser.add_argument("--models", type=int, help="how many models, instead of --seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the first model (default 0)")
    parser.add_argument("--stages", default=",".join(STAGES), help="what to compare (default: everything)")
    parser.add_argument("--only", default="", help="names of OPERATORS in gedialect/testing/random_forms.py")
    parser.add_argument("--nodes", type=int, help="about how many nodes a model has (default: 2 to 24)")
    parser.add_argument("--out", default="out/random", help="folder for failing models (default out/random)")
    parser.add_argument("--limit", type=int, default=120, help="seconds a model may take (default 120)")
    args = parser.parse_args()
    only = [n for n in args.only.split(",") if n]
    if unknown := [n for n in only if n not in OPERATORS]:
        parser.error(f"unknown operators {', '.join(unknown)}")
    signal.signal(signal.SIGALRM, stop)
    counts: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    start = time.monotonic()
    number = 0
    while number < args.models if args.models is not None else time.monotonic() - start < args.seconds:
        made = random_model(args.seed + number, args.nodes, only)
        number += 1
        refused.update(made.refused)
        if not made.model.graph.node:
            continue
        verdict, found = judge(made, args.stages.split(","), args.limit)
        total[verdict] += 1
        for operator in made.operators:
            counts.setdefault(operator, Counter())[verdict] += 1
        if found:
            kinds[f"{found[0].kind}: {found[0].signature}"] += 1
        if found and verdict != "no reference":
            print(f"seed {made.seed} ({len(made.model.graph.node)} nodes, opset {made.model.opset_import[0].version}):")
            print("".join(f"  {f}\n" for f in found), end="")
            print(f"  {save(made, args.out, found)}", flush=True)
    print(f"{'operator':28}" + "".join(f"{v:>14}" for v in VERDICTS))
    for operator, verdicts in sorted(counts.items()):
        print(f"{operator:28}" + "".join(f"{verdicts[v] or '':>14}" for v in VERDICTS))
    print(f"{'models':28}" + "".join(f"{total[v]:>14}" for v in VERDICTS))
    print(f"{time.monotonic() - start:.0f} s, {len(counts)} operators; refused by onnxruntime: {refused.total()}")
    for kind, n in kinds.most_common():
        print(f"  {n:4} {kind}")
    sys.exit(1 if total["wrong"] + total["crash"] else 0)


if __name__ == "__main__":
    main()
