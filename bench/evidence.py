"""Checks every model of a folder on the whole path, and prints what was found.

    python bench/evidence.py FOLDER... [--filter REGEX] [--levels O0,O1,O2,O3] [--json OUT.json]

FOLDER holds NAME.onnx with NAME.npz (``in:<input>`` and ``out:<output>`` arrays; NAME.FORMAT.onnx falls back on
NAME.npz, NAME.caseK.npz are more inputs). For each model and level: the outputs against the stored ones and against
the interpreter, the sanitizer silent, text equal after a round trip before and after the decisions, and the same
bytes under two hash seeds. Then one plan offset is moved: the numbers must change or the verifier must object.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from gedialect import api, interpreter
from gedialect.api.decide import decide
from gedialect.cli.ge_run import difference
from gedialect.errors import GeError
from gedialect.ir.context import GeContext
from gedialect.ir.parser import parse_module

STORED = {"fp16": 2e-2, "int8": 5e-2, "": 1e-4}
"""Tolerance against stored outputs, relative to the largest value, by what the file name says."""
AGREE = {"float16": 5e-3, "float32": 1e-5}
"""Tolerance between interpreter and simulator; other types exact."""


def models(folders: list[str], pattern: str | None) -> list[tuple[str, list[str]]]:
    """(model, its npz files)."""
    found: list[tuple[str, list[str]]] = []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.onnx"), recursive=True)):
            stem = path[:-5]
            first = os.path.join(os.path.dirname(path), os.path.basename(path).split(".")[0])
            npz = next((p for p in (stem + ".npz", first + ".npz") if os.path.exists(p)), None)
            if npz is not None and (pattern is None or re.search(pattern, os.path.basename(path))):
                found.append((path, [npz, *sorted(glob.glob(glob.escape(stem) + ".case*.npz"))]))
    return found


def arrays(npz: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(npz) as z:
        inputs = {k[3:]: z[k] for k in z.files if k.startswith("in:")}
        return inputs, {k[4:]: z[k] for k in z.files if k.startswith("out:")}


def check_model(path: str, npz: str, levels: list[str]) -> dict[str, Any]:
    inputs, stored = arrays(npz)
    shapes = {k: v.shape for k, v in inputs.items()}
    name = os.path.basename(path)
    limit = STORED["fp16" if "fp16" in name else "int8" if "int8" in name or "qdq" in name else ""]
    result: dict[str, Any] = {"model": name, "case": os.path.basename(npz), "problems": []}
    source = api.import_source(path, shapes)
    round_trip(str(source), "imported", result)
    expected = interpreter.run(source, inputs)
    for level in levels:
        module = source.clone()
        started = time.perf_counter()
        executable = api.compile_module(module, api.Settings(level))
        compiled = time.perf_counter()
        outputs = executable.run(inputs, sanitize=True)
        report = executable.report
        round_trip(str(module), level, result)
        error = max(difference(outputs[k], v) for k, v in stored.items())
        decided = interpreter.run(module, inputs)  # the same graph, its decisions ignored
        inner = max(difference(outputs[k], v) for k, v in decided.items())
        for k, v in (*expected.items(), *decided.items()):
            if difference(outputs[k], v) > AGREE.get(v.dtype.name, 0.0):
                result["problems"].append(
                    f"{level}: {k} differs from the interpreter by {difference(outputs[k], v):.1e}"
                )
        if error > limit:
            result["problems"].append(f"{level}: differs from the stored outputs by {error:.1e}")
        result[level] = {
            "error": error,
            "interpreter": inner,
            "kernels": report.kernels,
            "host": len(report.host_ops),
            "host_ops": sorted({h["op"] for h in report.host_ops}),
            "gm_bytes": report.gm_bytes,
            "latency_us": report.latency_us,
            "compile_s": compiled - started,
        }
    result["corrupted"] = corrupted(source.clone(), inputs, expected)
    if result["corrupted"] == "unnoticed":
        result["problems"].append("a moved plan offset went unnoticed")
    return result


def round_trip(text: str, what: str, result: dict[str, Any]) -> None:
    again = str(parse_module(GeContext(), text))
    if again != text:
        result["problems"].append(f"{what}: the text does not parse back to itself")


def corrupted(module: Any, inputs: Any, expected: Any) -> str:
    """Move one result on top of another that is alive: "verifier", "numbers" or "unnoticed"."""
    from xdsl.dialects.builtin import ArrayAttr

    from gedialect.analysis.graph import graph_block
    from gedialect.analysis.plan_verifier import verify_plan
    from gedialect.dialects.ge.attrs import PlaceAttr
    from gedialect.targets import load_target
    from lowering.emit.module import ModuleEmitter

    decide(module, api.Settings("O2"))
    placed = [op for op in graph_block(module).ops if "place" in op.attributes]
    moved = False
    for op in placed:
        for value in op.operands:
            owner = value.owner
            if not moved and owner in placed and owner.attributes["place"].data[0].region.data == "workspace":
                if op.attributes["place"].data[0].region.data == "workspace":
                    same = PlaceAttr.workspace(owner.attributes["place"].data[0].at.data)
                    rest = op.attributes["place"].data[1:]
                    op.attributes["place"] = ArrayAttr([same, *rest])
                    moved = True
    if not moved:
        return "nothing to move"
    try:
        verify_plan(module)
    except GeError:
        return "verifier"
    emitter = ModuleEmitter(module, load_target(), "model")
    emitter.emit()
    outputs = api.Executable.from_om(emitter.build({})).run(inputs)
    return "numbers" if any(difference(outputs[k], v) > 1e-6 for k, v in expected.items()) else "unnoticed"


def digest(path: str, npz: str, seed: str) -> str:
    """SHA-256 of the OM another process writes under a hash seed."""
    inputs, _ = arrays(npz)
    shapes = ";".join(f"{k}:{','.join(map(str, v.shape))}" for k, v in inputs.items())
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "m.om")
        subprocess.run(
            [sys.executable, "-m", "gedialect.cli.ge_compile", path, "-o", out, "--input-shape", shapes],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        with open(out, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--filter")
    parser.add_argument("--levels", default="O0,O1,O2,O3")
    parser.add_argument("--json")
    parser.add_argument("--no-seeds", action="store_true", help="leave out the two compilations in other processes")
    options = parser.parse_args()
    levels = options.levels.split(",")
    results: list[dict[str, Any]] = []
    print(f"{'model':42}{'case':28}" + "".join(f"{f'{lv} k/host':>14}" for lv in levels) + f"{'error':>10}  plan")
    for path, cases in models(options.folder, options.filter):
        for i, npz in enumerate(cases):
            try:
                result = check_model(path, npz, levels)
                if i == 0 and not options.no_seeds and digest(path, npz, "1") != digest(path, npz, "2"):
                    result["problems"].append("two hash seeds give different bytes")
            except GeError as error:
                result = {
                    "model": os.path.basename(path),
                    "case": os.path.basename(npz),
                    "problems": [str(error)[:200]],
                }
            results.append(result)
            cells = "".join(
                f"{result[lv]['kernels']:>9}/{result[lv]['host']:<4}" if lv in result else f"{'-':>14}" for lv in levels
            )
            worst = max((result[lv]["error"] for lv in levels if lv in result), default=float("nan"))
            print(
                f"{result['model'][:41]:42}{result['case'][:27]:28}{cells}{worst:>10.1e}  "
                f"{result.get('corrupted', '-')}",
                flush=True,
            )
            for problem in result["problems"]:
                print(f"    PROBLEM {problem}", flush=True)
    bad = sum(bool(r["problems"]) for r in results)
    print(f"{len(results) - bad} of {len(results)} without a problem")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
