"""The ONNX backend cases of the onnx package on the whole path: verdicts, and what runs on the host.

    python bench/onnx_suite.py [--kinds node,simple,...] [--filter REGEX] [--level O2] [--json OUT.json] [--list]

Each case is imported, compiled, lowered and simulated in a process of its own (``tools/onnx_node_suite.py``).
Printed are the verdicts by kind; the share of *plain* node cases without a host task, that is of those whose inputs
and outputs are all f32, f16, i32, i8, bool or i64; and which ops those host tasks are. ``--list`` names the cases.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
LOG = "GE_SUITE_LOG"
PLAIN = {"FLOAT", "FLOAT16", "INT32", "INT8", "BOOL", "INT64"}
KINDS = "node,simple,pytorch-operator,pytorch-converted,light"


def run(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """The backend: notes each run's host ops in the log, a JSON line each."""
    import gedialect

    shapes = {name: value.shape for name, value in inputs.items() if hasattr(value, "shape")}
    executable = gedialect.compile(model, level=os.environ.get("GE_LEVEL", "O2"), input_shapes=shapes)
    outputs = executable.run(inputs)
    hosts = [h["op"] for h in executable.report.host_ops]
    with open(os.environ[LOG], "a", encoding="utf-8") as log:
        log.write(json.dumps({"name": model.graph.name, "host": hosts}) + "\n")
    return list(outputs.values())


def plain_cases() -> set[str]:
    """Names of the node cases whose inputs and outputs are all of plain types."""
    from onnx import TensorProto
    from onnx.backend.test.loader import load_model_tests

    found: set[str] = set()
    for case in load_model_tests(kind="node"):
        assert case.model is not None
        values = [*case.model.graph.input, *case.model.graph.output]
        types = [v.type.tensor_type.elem_type for v in values if v.type.HasField("tensor_type")]
        if len(types) == len(values) and {TensorProto.DataType.Name(t) for t in types} <= PLAIN:
            found.add(case.name)
    return found


def measure(kinds: str, pattern: str | None, level: str) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """(a row for each case, the host ops of each case by name)."""
    with tempfile.TemporaryDirectory() as folder:
        log, rows = os.path.join(folder, "log"), os.path.join(folder, "rows.json")
        open(log, "w").close()
        paths = [HERE, os.path.dirname(HERE), os.environ.get("PYTHONPATH", "")]
        env = {**os.environ, LOG: log, "GE_LEVEL": level, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}
        command = [sys.executable, os.path.join(HERE, "tools", "onnx_node_suite.py"), "--backend", "onnx_suite:run"]
        command += ["--kinds", kinds, "--atol-scale", "1e-4", "--json", rows]
        command += ["--filter", pattern] if pattern else []
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        with open(rows, encoding="utf-8") as handle:
            found = json.load(handle)
        hosts: dict[str, list[str]] = {}
        with open(log, encoding="utf-8") as handle:
            for line in handle:
                entry = json.loads(line)
                hosts.setdefault(entry["name"], []).extend(entry["host"])
        return found, hosts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--filter")
    parser.add_argument("--level", default="O2")
    parser.add_argument("--json", help="write all rows, each with its host ops, to this file")
    parser.add_argument("--list", action="store_true", help="name the cases that did not pass, or use the host")
    args = parser.parse_args()
    rows, hosts = measure(args.kinds, args.filter, args.level)
    kinds: dict[str, Counter[str]] = {}
    for row in rows:
        kinds.setdefault(row["kind"], Counter())[row["verdict"]] += 1
        row["host"] = hosts.get(row["name"])
    for kind, verdicts in kinds.items():
        print(
            f"{kind:18} {sum(verdicts.values()):5} cases: " + ", ".join(f"{n} {v}" for v, n in verdicts.most_common())
        )
    total = Counter(row["verdict"] for row in rows)
    print(f"{'all':18} {len(rows):5} cases: " + ", ".join(f"{n} {v}" for v, n in total.most_common()))
    plain = plain_cases()
    judged = [r for r in rows if r["kind"] == "node" and r["name"] in plain]
    free = [r for r in judged if r["verdict"] == "pass" and not r["host"]]
    if judged:
        share = len(free) / len(judged)
        print(f"without a host task: {len(free)} of {len(judged)} plain node cases ({share:.1%})")
        used = Counter(op for r in judged for op in set(r["host"] or ()))
        print("host tasks: " + ", ".join(f"{op} {n}" for op, n in used.most_common()))
    if args.list:
        for row in rows:
            if row["verdict"] != "pass":
                print(f"{row['verdict']:12} {row['name']}: {' '.join(row['message'].split())[:200]}")
        for row in judged:
            if row["host"]:
                print(f"{'host':12} {row['name']}: {', '.join(row['host'])}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as handle:
            json.dump(rows, handle, indent=1)


if __name__ == "__main__":
    main()
