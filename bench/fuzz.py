"""Hostile files for every reader: what comes of each, and the files that find a fault.

    python bench/fuzz.py [--target onnx,text,...] [--seconds 60] [--seed 0] [--keep FOLDER]

Files of a corpus (the tests' texts, small models of the onnx package, compiled ones) are changed with their structure
in mind and read in a process of its own, with limits of time and memory. An input ends in success or in an error with
a code; anything else is a fault: another exception, an internal error, a crash, more than --timeout seconds, more
memory than --memory MB, a file left half-written. Exit code 1 if there was one. With --coverage, inputs are chosen by
atheris (``pip install atheris``) from what code they reach; without it, by the seed alone, and reproducible.
``--replay FILE --target NAME`` says what comes of one file.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from random import Random

HERE = os.path.abspath(__file__)


class Tally:
    """Verdicts, and one kept input for each kind of fault."""

    def __init__(self, target: str, suffix: str, keep: str | None):
        self.target, self.suffix, self.keep = target, suffix, keep
        self.verdicts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()

    def add(self, verdict: str, path: str) -> None:
        if not verdict.startswith("FAULT"):
            self.verdicts[verdict] += 1
            return
        self.verdicts["FAULT"] += 1
        kind = verdict.partition(": ")[0]
        self.faults[kind] += 1
        if self.faults[kind] > 1:
            return
        print(f"{self.target}: {verdict}", flush=True)
        if self.keep is not None:
            os.makedirs(self.keep, exist_ok=True)
            with open(path, "rb") as file:
                data = file.read()
            name = f"{self.target}-{hashlib.sha256(kind.encode()).hexdigest()[:10]}{self.suffix}"
            with open(os.path.join(self.keep, name), "wb") as out:
                out.write(data)
            with open(os.path.join(self.keep, "faults.txt"), "a", encoding="utf-8") as out:
                out.write(f"{name}: {verdict}\n")

    def report(self) -> None:
        total = sum(self.verdicts.values())
        counts = ", ".join(f"{n} {v}" for v, n in self.verdicts.most_common())
        print(f"{self.target:9} {total:7} inputs: {counts}", flush=True)
        for kind, n in self.faults.most_common():
            print(f"  {n:5} {kind}", flush=True)


def campaign(name: str, args: argparse.Namespace) -> int:
    """Run inputs in worker processes until time or count is over; returns the number of faults."""
    suffix = {"onnx": ".onnx", "text": ".mlir", "om": ".om"}.get(name, "." + name.replace("pdl", "pdl.mlir"))
    tally = Tally(name, suffix, args.keep)
    start = time.monotonic()
    end = start + args.seconds if args.inputs is None else None
    with tempfile.TemporaryDirectory() as folder:
        current = os.path.join(folder, "current")
        started = 0
        while (end is None or time.monotonic() < end) and (args.inputs is None or started < args.inputs):
            left = 1 << 60 if args.inputs is None else args.inputs - started
            command = [sys.executable, HERE, "--worker", current, "--target", name, "--seed", f"{args.seed}"]
            command += ["--inputs", f"{left}", "--skip", f"{started}", "--corpus", f"{args.corpus}"]
            command += ["--memory", f"{args.memory}", "--timeout", f"{args.timeout}"]
            if args.coverage:
                command += ["--coverage", "--pool", args.pool or os.path.join(folder, "pool")]
            worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            started += _follow(worker, tally, current, end, args.timeout)
    tally.report()
    return tally.verdicts["FAULT"]


def _follow(worker: subprocess.Popen[bytes], tally: Tally, current: str, end: float | None, limit: float) -> int:
    """Read a worker's verdicts until it ends, hangs or the time is over; the inputs it was given."""
    assert worker.stdout is not None
    handle = worker.stdout.fileno()
    seen, rest, ready = 0, b"", False
    while True:
        # the first answer takes the time of making the corpus
        wait = limit + 5 if ready else 600.0
        if end is not None:
            wait = min(wait, max(end - time.monotonic(), 0.0))
        if not select.select([handle], [], [], wait)[0]:
            worker.kill()
            worker.wait()
            if end is None or time.monotonic() < end:
                tally.add(f"FAULT hangs for more than {limit:g} s", current)
                return seen + 1
            return seen
        data = os.read(handle, 1 << 16)
        if not data:
            code = worker.wait()
            if code != 0:
                assert worker.stderr is not None
                said = worker.stderr.read().decode("utf-8", "replace").strip().split("\n")
                if not ready:
                    raise SystemExit("\n".join(["the worker does not start", *said[-20:]]))
                what = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                tally.add(f"FAULT the process ends, {what}: {said[-1][:200]}", current)
                return seen + 1
            return seen
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            verdict = line.decode("utf-8", "replace")
            if verdict == "READY":
                ready = True
                continue
            seen += 1
            tally.add(verdict, current if not verdict.startswith("FAULT") else current + ".fault")


def work(args: argparse.Namespace) -> None:
    """The worker: write each input to a file, judge it, say so on stdout."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if args.coverage:
        import atheris

        with atheris.instrument_imports(include=["gedialect", "lowering", "xdsl.parser", "xdsl.utils"]):
            from gedialect import api  # noqa: F401
            from gedialect.cli import arrays, ge_import, ge_opt, ge_run, opt_main  # noqa: F401
            from gedialect.testing import fuzzing
    else:
        from gedialect.testing import fuzzing
    warnings.simplefilter("ignore")
    target = fuzzing.TARGETS[args.target]
    corpus = target.corpus(Random(args.seed), args.corpus)
    fuzzing.judge(target, corpus[0])  # imports what is needed before memory is limited
    limit = _address_space() + (args.memory << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    out.write("READY\n")

    def one(data: bytes) -> None:
        with open(args.worker, "wb") as file:
            file.write(data)
        signal.setitimer(signal.ITIMER_REAL, args.timeout)
        try:
            verdict = fuzzing.judge(target, data)
        except Slow:
            verdict = f"FAULT takes more than {args.timeout:g} s"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if verdict.startswith("FAULT"):
            with open(args.worker + ".fault", "wb") as file:
                file.write(data)
        out.write(" ".join(verdict.split()) + "\n")

    signal.signal(signal.SIGALRM, _slow)
    if args.coverage:
        os.makedirs(args.pool, exist_ok=True)
        for data in corpus:
            with open(os.path.join(args.pool, hashlib.sha256(data).hexdigest()[:20]), "wb") as file:
                file.write(data)

        def custom(data: bytes, max_size: int, seed: int) -> bytes:
            rng = Random(seed)
            for _ in range(rng.choice((1, 1, 2, 3))):
                data = target.mutate(data, rng, corpus)
            return data[:max_size]

        seed = args.seed * 1000 + args.skip + 1
        options = [f"-seed={seed}", "-timeout=600", "-rss_limit_mb=0", "-max_len=100000", "-artifact_prefix=/dev/null"]
        atheris.Setup(
            [sys.argv[0], *options, "-use_value_profile=0", "-reload=0", args.pool], one, custom_mutator=custom
        )
        atheris.Fuzz()
        return
    for number in range(args.skip, args.skip + args.inputs):
        rng = Random(f"{args.seed}:{number}")
        one(fuzzing.mutated(target, rng, corpus))


class Slow(BaseException):
    """Raised by the timer; no reader may catch it."""


def _slow(signum: int, frame: object) -> None:
    raise Slow


def _address_space() -> int:
    """Bytes of address space in use."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 2 << 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="onnx,text,om,rules,json,pdl,switches,npz", help="readers, with commas")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader (default 60)")
    parser.add_argument("--inputs", type=int, help="number of inputs for each reader, instead of a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=int, default=200, help="about how many files to start from (default 200)")
    parser.add_argument("--keep", metavar="FOLDER", help="one input of each kind of fault goes here")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for one input (default 10)")
    parser.add_argument("--memory", type=int, default=1500, help="MB for one input (default 1500)")
    parser.add_argument("--coverage", action="store_true", help="let atheris choose the inputs")
    parser.add_argument("--pool", metavar="FOLDER", help="where atheris keeps inputs that reach new code")
    parser.add_argument("--replay", metavar="FILE", help="judge one file, or print the traceback of its fault")
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker is not None:
        work(args)
        return 0
    names = args.target.split(",")
    if args.replay is not None:
        from gedialect.testing import fuzzing

        with open(args.replay, "rb") as file:
            print(fuzzing.judge(fuzzing.TARGETS[names[0]], file.read(), trace=True))
        return 0
    return min(1, sum(campaign(name, args) for name in names))


if __name__ == "__main__":
    sys.exit(main())
