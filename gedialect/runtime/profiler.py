"""Predicted time of a loaded model on a target, task by task (see docs/timing.md), and how to show it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gedialect.binary.isa import Pipe
from gedialect.binary.kernel import Kernel
from gedialect.binary.kernel_codec import decode
from gedialect.binary.memory import Arg
from gedialect.binary.tasks import CopyTask, HostTask, KernelTask, LabelGoto, LabelSwitch, Task
from gedialect.runtime.simulator.l2 import L2
from gedialect.runtime.simulator.timing import KernelTime, kernel_time
from gedialect.runtime.simulator.traffic import gm_traffic
from gedialect.targets import Target

if TYPE_CHECKING:
    from gedialect.runtime.loader import LoadedModel

UNITS: dict[str, Pipe] = {
    "mac": Pipe.M,
    "mte1": Pipe.MTE1,
    "mte2": Pipe.MTE2,
    "mte3": Pipe.MTE3,
    "fixpipe": Pipe.FIX,
    "vec": Pipe.V,
    "scalar": Pipe.S,
}
"""Names of the vendor's profiler for the pipes."""
MEMORY_UNITS = ("mte1", "mte2", "mte3", "fixpipe")


@dataclass(frozen=True)
class TaskTime:
    """One task. Times in microseconds; ``utilisation`` is the share of the kernel's time (without its launch) that
    a unit was at work, the mean over cores in use.

    ``kind`` is vector, cube, mix, host, copy or label; ``gm_bytes`` moved between memory and the cores, of which
    ``hbm_bytes`` had to come from or go to HBM; ``bound`` is compute, memory or launch.
    """

    task: int
    name: str
    kernel: str
    kind: str
    blocks: int
    start_us: float
    us: float
    launch_us: float
    utilisation: dict[str, float]
    gm_bytes: int
    hbm_bytes: int
    bound: str


@dataclass(frozen=True)
class Timing:
    """One run of a model: tasks one after another."""

    target: str
    us: float
    tasks: tuple[TaskTime, ...]

    @property
    def gm_bytes(self) -> int:
        """Moved by all tasks."""
        return sum(t.gm_bytes for t in self.tasks)

    def slowest(self, count: int) -> list[TaskTime]:
        """The ``count`` tasks that take longest, longest first."""
        return sorted(self.tasks, key=lambda t: (-t.us, t.task))[:count]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def time_model(model: LoadedModel, target: Target, gear: int | None = None) -> Timing:
    """Predict one run of ``model`` that starts with an empty L2; every task is counted once, in order. ``gear``: the
    number of the gear that runs, of a model that has some."""
    tasks = model.tasks if gear is None else model.gears[gear].run_of(model.tasks)
    used = {t.kernel for t in tasks if isinstance(t, KernelTask)}
    kernels = {name: decode(code) for name, code in model.kernels.items() if name in used}
    return time_tasks(tasks, kernels, target, model.node_of)


def time_tasks(
    tasks: Sequence[Task], kernels: Mapping[str, Kernel], target: Target, node_of: Callable[[Task], str]
) -> Timing:
    """As `time_model`, from the tasks and the kernels they launch."""
    profiler = _Profiler(kernels, target)
    found: list[TaskTime] = []
    for number, task in enumerate(tasks):
        timed = profiler.task(number, task, node_of(task))
        if timed is not None:
            found.append(timed)
    return Timing(target.name, profiler.now, tuple(found))


def moved_bytes(tasks: Iterable[Task], kernels: Mapping[str, Kernel]) -> int:
    """Bytes that kernels and copies of one run move through global memory; what host tasks touch is not counted."""
    launches = Counter(t.kernel for t in tasks if isinstance(t, KernelTask))
    copies = sum(2 * t.source.nbytes for t in tasks if isinstance(t, CopyTask))
    return copies + sum(count * gm_traffic(kernels[name]) for name, count in launches.items())


class _Profiler:
    def __init__(self, kernels: Mapping[str, Kernel], target: Target):
        self.kernels = kernels
        self.target = target
        self.l2 = L2(target.memory.l2)
        self.now = 0.0
        self.times: dict[str, KernelTime] = {}

    def task(self, number: int, task: Task, name: str) -> TaskTime | None:
        launch = self.target.launch
        match task:
            case KernelTask():
                return self.kernel(number, task, name)
            case HostTask():
                reads = [v.arg for v in task.operands if v is not None]
                return self.transfer(number, name, task.op, "host", launch.host, reads, [v.arg for v in task.results])
            case CopyTask():
                return self.transfer(number, name, "copy", "copy", launch.vector, [task.source], [task.target])
            case LabelGoto() | LabelSwitch():
                return self.transfer(number, name, "label", "label", launch.label, [], [])
            case _:
                return None

    def transfer(
        self, number: int, name: str, what: str, kind: str, launch: float, reads: list[Arg], writes: list[Arg]
    ) -> TaskTime:
        """A task that costs its launch and the time of its bytes at the rate of HBM."""
        nbytes = sum(a.nbytes for a in (*reads, *writes))
        hbm = self.touch([(a, a.nbytes, False) for a in reads] + [(a, a.nbytes, True) for a in writes])
        work = self.target.microseconds(self.target.chip_cycles(nbytes))
        bound = "launch" if launch >= work else "memory"
        return self.entry(number, name, what, kind, 0, work, launch, {}, nbytes, hbm, bound)

    def kernel(self, number: int, task: KernelTask, name: str) -> TaskTime:
        target = self.target
        kernel = self.kernels[task.kernel]
        timed = self.times.get(task.kernel)
        if timed is None:
            timed = self.times[task.kernel] = kernel_time(kernel, target)
        parts: list[tuple[Arg, int, bool]] = []
        for arg, traffic in sorted(timed.traffic.items()):
            at = task.args[arg]
            for moved, writes in ((traffic.read, False), (traffic.written, True)):
                if moved:
                    parts.append((at, min(moved, at.nbytes), writes))
        hbm = self.touch(parts)
        if sum(nbytes for _, nbytes, _ in parts) > target.memory.l2:
            hbm = max(hbm, timed.gm_bytes)
        shared = max(target.chip_cycles(hbm), target.chip_cycles(timed.gm_bytes, l2=True))
        cycles = max(timed.cycles, shared)
        slowdown = timed.cycles / cycles if cycles else 0.0
        use = {unit: timed.utilisation(pipe) * slowdown for unit, pipe in UNITS.items()}
        launch = {"cube": target.launch.cube, "mix": target.launch.mix}.get(kernel.kind, target.launch.vector)
        work = target.microseconds(cycles)
        busiest = max(use, key=lambda unit: use[unit])
        if launch >= work:
            bound = "launch"
        elif shared > timed.cycles or busiest in MEMORY_UNITS:
            bound = "memory"
        else:
            bound = "compute"
        return self.entry(
            number, name, task.kernel, kernel.kind, kernel.blocks, work, launch, use, timed.gm_bytes, hbm, bound
        )

    def touch(self, parts: list[tuple[Arg, int, bool]]) -> int:
        """Bytes that go to or come from HBM when a task reads or writes (argument, bytes of it, writes)."""
        hbm = 0
        for arg, nbytes, writes in parts:
            if writes:
                self.l2.write(arg.region, arg.index, arg.offset, arg.nbytes)
            else:
                hbm += min(nbytes, self.l2.read(arg.region, arg.index, arg.offset, arg.nbytes))
        return hbm + self.l2.evict()

    def entry(
        self,
        number: int,
        name: str,
        what: str,
        kind: str,
        blocks: int,
        work: float,
        launch: float,
        use: dict[str, float],
        moved: int,
        hbm: int,
        bound: str,
    ) -> TaskTime:
        start = self.now
        self.now += work + launch
        return TaskTime(number, name, what, kind, blocks, start, work + launch, launch, use, moved, hbm, bound)


# ------------------------------------------------------------------ showing it

COLUMNS = ("us", "%", "kind", "blocks", "bound", *UNITS, "gm KiB", "kernel", "node")


def table_rows(timing: Timing, count: int = 20) -> list[tuple[str, ...]]:
    """The slowest tasks as cells, in the order of `COLUMNS`; shares of units in percent."""
    rows: list[tuple[str, ...]] = []
    for t in timing.slowest(count):
        share = f"{100 * t.us / timing.us:.1f}" if timing.us else "-"
        units = [f"{100 * t.utilisation[u]:.0f}" if t.utilisation else "" for u in UNITS]
        gm = f"{t.gm_bytes / 1024:,.0f}"
        blocks = str(t.blocks) if t.blocks else ""
        rows.append((f"{t.us:.1f}", share, t.kind, blocks, t.bound, *units, gm, t.kernel, t.name))
    return rows


def summary(timing: Timing) -> str:
    """One line: latency, where it goes, bytes moved."""
    launch = sum(t.launch_us for t in timing.tasks)
    by_kind = Counter[str]()
    for t in timing.tasks:
        by_kind[t.kind] += 1
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(by_kind.items()))
    return (
        f"latency {timing.us:,.1f} us on {timing.target} ({len(timing.tasks)} tasks: {kinds or 'none'}; "
        f"launches {launch:,.1f} us), {timing.gm_bytes / 2**20:,.1f} MiB through global memory"
    )


def print_timing(timing: Timing, count: int = 20) -> None:
    """The slowest tasks as a table on a terminal, as tab-separated text when piped, and the summary."""
    import sys

    rows = table_rows(timing, count)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title="slowest tasks", title_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="left" if column in ("kind", "bound", "kernel", "node") else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    else:
        print("\t".join(COLUMNS))
        for row in rows:
            print("\t".join(row))
    print(summary(timing))


def chrome_trace(timing: Timing) -> str:
    """JSON for chrome://tracing or Perfetto: a row of tasks, and per unit how long it was at work in each."""
    rows = {"tasks": 0, **{unit: n + 1 for n, unit in enumerate(UNITS)}}
    events: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": tid, "args": {"name": name}} for name, tid in rows.items()
    ]
    for t in timing.tasks:
        facts = {"kernel": t.kernel, "kind": t.kind, "bound": t.bound, "gm_bytes": t.gm_bytes, "blocks": t.blocks}
        events.append(_event(t.name, 0, t.start_us, t.us, facts))
        work = t.us - t.launch_us
        for unit, share in t.utilisation.items():
            if share > 0:
                events.append(_event(t.name, rows[unit], t.start_us + t.launch_us, work * share, {}))
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


def _event(name: str, tid: int, start: float, length: float, facts: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "ph": "X", "pid": 0, "tid": tid, "ts": round(start, 3), "dur": round(length, 3)} | (
        {"args": facts} if facts else {}
    )
