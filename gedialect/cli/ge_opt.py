"""``ge-opt``: read MLIR text or an ONNX model, run passes, print MLIR text.

Everything ``xdsl-opt`` has, plus levels, a list of passes, dumps, statistics, checked diagnostics and reproducers.
Dumps, timings and statistics go to stderr, the result to stdout or ``-o FILE``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gedialect.cli.common import run

PROG = "ge-opt"


def command(arguments: Sequence[str]) -> int:
    """Run ge-opt on ``arguments``; raises ``GeError``."""
    from gedialect.cli.opt_main import GeOptMain

    return GeOptMain(arguments).execute()


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (0 fine, 1 error, 2 usage)."""
    return run(PROG, command, argv)


if __name__ == "__main__":
    sys.exit(main())
