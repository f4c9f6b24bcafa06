"""What the rules do to whole models: ops, kernels and bytes moved at O2 without and with them, and which fired.

    python bench/fusion.py models/*.onnx              # a table, and the rules below it
    python bench/fusion.py model.onnx --level O3 --json out.json

"Without" leaves out every rule of the catalogue, and keeps the passes (constant folding, grouping into kernels).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gedialect
from gedialect.patterns.catalogue import all_rules


def measure(model: Path, level: str, shapes: Mapping[str, Sequence[int]] | None) -> dict[str, Any]:
    """Both figures of one model."""
    names = [r.name for r in all_rules()]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "fusion.json"
        after = gedialect.compile(model, level=level, input_shapes=shapes, fusion_report=report).report
        fused = json.loads(report.read_text(encoding="utf-8"))
    before = gedialect.compile(model, level=level, input_shapes=shapes, disable=names).report
    fired: dict[str, int] = {}
    for entry in fused["rules"]:
        fired[entry["rule"]] = fired.get(entry["rule"], 0) + 1
    figures = {"model": model.name, "fired": dict(sorted(fired.items(), key=lambda f: (-f[1], f[0])))}
    for key in ("ops", "kernels", "gm_bytes"):
        figures |= {f"{key}_before": getattr(before, key), f"{key}_after": getattr(after, key)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--level", default="O2")
    parser.add_argument("--input-shape", help='sizes of inputs: "x:1,3,224,224;y:1,8"')
    parser.add_argument("--json", type=Path, help="write the figures")
    options = parser.parse_args()
    from gedialect.ir.input_shapes import parse_input_shapes

    shapes = parse_input_shapes(options.input_shape) if options.input_shape else None
    rows: list[dict[str, Any]] = []
    print("| model | ops | kernels | moved, MB | rules |\n| --- | --- | --- | --- | --- |")
    for model in options.models:
        r = measure(model, options.level, shapes)
        rows.append(r)
        moved = f"{r['gm_bytes_before'] / 1e6:.2f} to {r['gm_bytes_after'] / 1e6:.2f}"
        fired = ", ".join(f"{n} {k}" for n, k in r["fired"].items())
        print(
            f"| {r['model']} | {r['ops_before']} to {r['ops_after']} | {r['kernels_before']} to {r['kernels_after']} "
            f"| {moved} | {fired} |",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
