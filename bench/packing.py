#!/usr/bin/env python3
"""Peak and time of ``analysis.packing`` beside the lower bound: minimalloc's hard instances, and random chains.

    bench/packing.py [--steps N] [CSV ...]

Columns of a CSV: id, lower, upper (exclusive), size.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from pathlib import Path

from gedialect.analysis.packing import STEPS, Buffer, pack

DATA = Path(__file__).parent / "data" / "minimalloc"


def read(path: Path) -> list[Buffer]:
    with open(path, encoding="utf-8") as f:
        return [Buffer(int(r["size"]), int(r["lower"]), int(r["upper"]) - 1) for r in csv.DictReader(f)]


def chains(count: int, life: int) -> list[Buffer]:
    """``count`` results, one a position, read up to ``life`` positions later: like a network's."""
    r = random.Random(count + life)
    return [Buffer(r.choice([1, 2, 4, 8, 8, 16]) * 65536, i, i + r.randrange(1, life + 1)) for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="*", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    sets = [(p.stem, read(p)) for p in options.csv or sorted(DATA.glob("*.csv"))]
    if not options.csv:
        sets += [(f"chain {n} x {life}", chains(n, life)) for n, life in ((300, 3), (3000, 4), (3000, 40), (5000, 8))]
    print(f"{'instance':16} {'buffers':>8} {'bound':>12} {'peak':>12} {'ratio':>6} {'ms':>7}  order")
    for name, buffers in sets:
        start = time.process_time()
        packing = pack(buffers, steps=options.steps)
        spent = 1000 * (time.process_time() - start)
        ratio = packing.peak / packing.lower_bound
        print(
            f"{name:16} {len(buffers):8} {packing.lower_bound:12} {packing.peak:12} {ratio:6.3f} {spent:7.1f}  "
            f"{packing.order}"
        )


if __name__ == "__main__":
    main()
