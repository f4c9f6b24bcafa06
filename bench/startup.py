"""Start-up of ge-opt on 20 ge ops beside xdsl-opt on 20 arith ops; the aim is at most twice as long.

python bench/startup.py [--runs 9]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 2.0

GE = "tensor<4xf32>"
GE_MODULE = "\n".join(
    [
        f'func.func @main(%v0: {GE} {{ge.name = "x"}}) -> ({GE} {{ge.name = "y"}}) {{',
        *(f"  %v{i + 1} = ge.relu(%v{i}) : ({GE}) -> {GE}" for i in range(20)),
        f"  func.return %v20 : {GE}",
        "}",
        "",
    ]
)
ARITH_MODULE = "\n".join(
    [
        "func.func @main(%v0: i32) -> i32 {",
        *(f"  %v{i + 1} = arith.addi %v{i}, %v{i} : i32" for i in range(20)),
        "  func.return %v20 : i32",
        "}",
        "",
    ]
)


def seconds(command: list[str], runs: int) -> float:
    """Median wall time of ``command``."""
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        ge, arith = Path(folder, "ge.mlir"), Path(folder, "arith.mlir")
        ge.write_text(GE_MODULE)
        arith.write_text(ARITH_MODULE)
        ours = seconds([str(scripts / "ge-opt"), str(ge), "-p", "cse"], runs)
        theirs = seconds([str(scripts / "xdsl-opt"), str(arith), "-p", "cse"], runs)
        version = seconds([str(scripts / "ge-opt"), "--version"], runs)
    print(f"ge-opt, 20 ge ops, cse      {1e3 * ours:7.0f} ms")
    print(f"xdsl-opt, 20 arith ops, cse {1e3 * theirs:7.0f} ms")
    print(f"ratio                       {ours / theirs:7.2f}   (at most {LIMIT})")
    print(f"ge-opt --version            {1e3 * version:7.0f} ms")
    return 0 if ours <= LIMIT * theirs else 1


if __name__ == "__main__":
    sys.exit(main())
