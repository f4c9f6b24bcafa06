"""Compile time and simulation time as ratios against onnxruntime, same process, one thread each.

    python bench/speed.py MODEL.onnx... [--repeat 5] [--profile] [--no-run]

Compile: import + O2 + OM on disk, divided by onnxruntime's session creation (its default optimisation).
Simulate: one functional run of the OM, divided by one run of that session. Medians.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from gedialect import api  # noqa: E402


def median(repeat: int, run: Callable[[], Any]) -> float:
    times: list[float] = []
    for _ in range(repeat):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def session(path: str) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_for(sess: Any, path: str) -> dict[str, Any]:
    """The ``in:`` arrays of NAME.npz beside the model; without them random ones, unknown sizes being 1."""
    stored = os.path.splitext(path)[0] + ".npz"
    if os.path.exists(stored):
        with np.load(stored) as arrays:
            return {k[3:]: arrays[k] for k in arrays.files if k.startswith("in:")}
    rng = np.random.default_rng(0)
    types = {
        "tensor(float)": np.float32,
        "tensor(float16)": np.float16,
        "tensor(int64)": np.int64,
        "tensor(int32)": np.int32,
    }
    found: dict[str, Any] = {}
    for i in sess.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        dtype = types[i.type]
        found[i.name] = (
            rng.normal(size=shape).astype(dtype) if np.issubdtype(dtype, np.floating) else np.ones(shape, dtype)
        )
    return found


def measure(path: str, repeat: int, profile: bool, run: bool) -> None:
    theirs = median(repeat, lambda: session(path))
    sess = session(path)
    inputs = inputs_for(sess, path)
    shapes = {k: v.shape for k, v in inputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "model.om")

        def compile_it() -> None:
            api.compile(path, input_shapes=shapes).save(out)

        compile_it()  # imports and caches of pure functions
        ours = median(repeat, compile_it)
        name = os.path.basename(path)
        print(f"{name}: compile {ours:.3f} s, onnxruntime session {theirs:.3f} s, ratio {ours / theirs:.1f}")
        if profile:
            import cProfile
            import pstats

            profiler = cProfile.Profile()
            profiler.runcall(compile_it)
            pstats.Stats(profiler).sort_stats("cumulative").print_stats(40)
        executable = api.load(out)
        report = executable.report
        print(
            f"  kernels {report.kernels}, host ops {len(report.host_ops)}, gm_bytes {report.gm_bytes:,}, "
            f"workspace {report.workspace_bytes:,} (bound {report.workspace_lower_bound:,})"
        )
        if run:
            executable.run(inputs)
            simulated = median(repeat, lambda: executable.run(inputs))
            reference = median(repeat, lambda: sess.run(None, inputs))
            print(f"  simulate {simulated:.3f} s, onnxruntime run {reference:.4f} s, ratio {simulated / reference:.1f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    options = parser.parse_args()
    for path in options.model:
        measure(path, options.repeat, options.profile, not options.no_run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
