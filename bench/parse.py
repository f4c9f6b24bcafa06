"""Our parser beside xDSL's, on the text of a model.

python bench/parse.py MODEL.mlir [--runs 3]
python bench/parse.py                    # on generated text of 2000 ops
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from xdsl.parser import Parser

from gedialect.ir.context import GeContext
from gedialect.ir.parser import FastParser


def generated(ops: int = 2000) -> str:
    """A chain of convolutions and activations."""
    t, w = "tensor<1x64x56x56xf32>", "tensor<64x64x3x3xf32>"
    attrs = '{strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"}'
    lines = [f'func.func @main(%v0: {t} {{ge.name = "x"}}) -> ({t} {{ge.name = "y"}}) {{']
    for i in range(ops // 3):
        lines += [
            f'  %w{i} = ge.constant #ge.weight<"model.onnx", {147456 * i}, 147456> : {w}',
            f"  %c{i} = ge.conv2d(%v{i}, %w{i}, none) {attrs} : ({t}, {w}) -> {t}",
            f"  %v{i + 1} = ge.relu(%c{i}) : ({t}) -> {t}",
        ]
    lines += [f"  func.return %v{ops // 3} : {t}", "}", ""]
    return "\n".join(lines)


def best(make: type[Parser], text: str, runs: int) -> tuple[float, str]:
    """The least CPU time of ``runs`` parses, and the module's text."""
    times: list[float] = []
    printed = ""
    for _ in range(runs):
        ctx = GeContext()
        ctx.load_registered_dialect("ge")
        start = time.process_time()
        module = make(ctx, text).parse_module()
        times.append(time.process_time() - start)
        printed = str(module)
    return min(times), printed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    text = generated() if args.model is None else Path(args.model).read_text(encoding="utf-8")
    ours, our_text = best(FastParser, text, args.runs)
    theirs, their_text = best(Parser, text, args.runs)
    ops = max(len(re.findall(r"(?m)^ *%.*? = ", text)), 1)
    print(f"xdsl   {1e6 * theirs / ops:7.0f} us/op")
    print(f"ours   {1e6 * ours / ops:7.0f} us/op   {theirs / ours:.1f} times faster")
    print("same result" if our_text == their_text else "RESULTS DIFFER")
    return 0 if our_text == their_text else 1


if __name__ == "__main__":
    sys.exit(main())
