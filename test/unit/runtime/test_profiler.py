"""Times of whole models: tasks, launches, the chip's shared rates, L2; how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hand_kernels import pipelined

from gedialect import api
from gedialect.binary.kernel import Kernel
from gedialect.binary.memory import Arg
from gedialect.binary.tasks import CopyTask, HostTask, HostValue, KernelTask, LabelGoto, LabelSet, Task
from gedialect.cli.ge_compile import command as ge_compile
from gedialect.cli.ge_run import command as ge_run
from gedialect.ir.dtypes import F32
from gedialect.runtime.profiler import Timing, chrome_trace, moved_bytes, table_rows, time_model, time_tasks
from gedialect.runtime.simulator.l2 import L2
from gedialect.runtime.simulator.timing import kernel_time
from gedialect.targets import load_target
from gedialect.testing.agree import parse, random_inputs

T = load_target("ascend910b1")
MIB = 1 << 20


def arg(region: str, nbytes: int, offset: int = 0, index: int = 0) -> Arg:
    return Arg(region, offset, nbytes, index)  # type: ignore[arg-type]


def launch(kernel: Kernel, *args: Arg) -> KernelTask:
    return KernelTask("k", kernel.blocks, args)


def timed(tasks: list[Task], kernel: Kernel | None = None) -> Timing:
    return time_tasks(tasks, {} if kernel is None else {"k": kernel}, T, lambda task: f"n{task.op_index}")


def hbm_us(nbytes: int) -> float:
    return nbytes / (1638.4 * 0.6 * 2**30) * 1e6


def test_a_kernel_costs_its_launch_and_its_slowest_block() -> None:
    k = pipelined(3, 2, blocks=4)
    size = 3 * 4 * 32768
    found = timed([launch(k, arg("input", size), arg("output", size))], k)
    (task,) = found.tasks
    assert task.launch_us == 2
    assert task.us == found.us == pytest.approx(2 + kernel_time(k, T).cycles / 1850)
    assert task.gm_bytes == 2 * size
    assert task.hbm_bytes == size  # what is written stays in L2
    assert (task.kind, task.blocks, task.name) == ("vector", 4, "n0")
    assert 0 < task.utilisation["mte2"] < task.utilisation["vec"] < 1
    assert task.utilisation["mac"] == 0


def test_compute_and_launch_bounds() -> None:
    size = 48 * 20 * 8192
    busy = pipelined(20, 2, elements=2048, adds=100, blocks=48)
    assert timed([launch(busy, arg("input", size), arg("output", size))], busy).tasks[0].bound == "compute"
    small = pipelined(1, 1, elements=64)
    assert timed([launch(small, arg("input", 256), arg("output", 256))], small).tasks[0].bound == "launch"


def test_the_chip_caps_what_its_cores_ask_for() -> None:
    """48 cores ask for more than HBM gives: then the bytes over its rate count."""
    times = {}
    for blocks in (1, 6, 24, 48):
        k = pipelined(960 // blocks, 4, adds=1, elements=4096, blocks=blocks)
        size = 960 * 16384
        times[blocks] = timed([launch(k, arg("input", size), arg("output", size))], k).us
    assert times[1] > 5 * times[6] > 10 * times[24]
    # half of the bytes are written and stay in L2, whose rate is not reached
    assert times[48] == pytest.approx(max(hbm_us(960 * 16384), kernel_time(k, T).cycles / 1850) + 2)
    k = pipelined(960, 4, elements=4096, blocks=48)
    size = 48 * 960 * 16384  # more than L2 holds: everything counts
    found = timed([launch(k, arg("input", size), arg("output", size))], k).tasks[0]
    assert found.hbm_bytes == 2 * size
    assert found.us == pytest.approx(hbm_us(2 * size) + 2)
    assert found.bound == "memory"
    assert found.us - 2 > kernel_time(k, T).cycles / 1850


def test_reading_what_was_just_written_hits_l2() -> None:
    k = pipelined(20, 2, blocks=48)
    size = 48 * 20 * 32768
    here, there = arg("workspace", size), arg("workspace", size, size)
    found = timed([launch(k, arg("input", size), here), launch(k, here, there), launch(k, there, here)], k)
    assert [t.hbm_bytes for t in found.tasks] == [size, 0, 0]
    assert found.tasks[1].us <= found.tasks[0].us
    assert found.us == pytest.approx(sum(t.us for t in found.tasks))
    starts = [t.start_us for t in found.tasks]
    assert starts[0] == 0
    assert starts[2] == pytest.approx(found.tasks[0].us + found.tasks[1].us)


def test_l2_keeps_the_most_recent() -> None:
    cache = L2(100)
    assert cache.read("weight", 0, 0, 60) == 60
    assert cache.read("weight", 0, 20, 60) == 20  # 20..60 is there
    assert cache.evict() == 0
    cache.write("workspace", 0, 0, 50)
    assert cache.held == 130
    assert cache.evict() == 0  # clean bytes go first, and 0..20 of the weights are the oldest
    assert cache.held == 100
    assert cache.read("weight", 0, 0, 20) == 20
    assert cache.evict() == 0
    assert cache.read("input", 0, 0, 100) == 100
    assert cache.evict() == 50  # the workspace goes back to memory
    assert cache.held == 100
    assert cache.read("input", 1, 0, 10) == 10


def test_host_copy_and_label_tasks() -> None:
    size = 64 * MIB
    value = HostValue(arg("workspace", size), F32, (size // 4,))
    host = HostTask("ge.topk", {}, (value, None), (value,))
    copy = CopyTask(arg("workspace", size), arg("output", size))
    found = timed([host, copy, LabelSet(label=0), LabelGoto(label=0)])
    assert [t.kind for t in found.tasks] == ["host", "copy", "label"]
    assert found.tasks[0].us == pytest.approx(30 + hbm_us(2 * size))
    assert found.tasks[0].bound == "memory"
    assert found.tasks[1].us == pytest.approx(2 + hbm_us(2 * size))
    assert found.tasks[2].us == 1
    assert moved_bytes([host, copy], {}) == 2 * size


def test_a_compiled_model_is_timed() -> None:
    text = CNN
    executable = api.compile(parse(text))
    assert isinstance(executable, api.Executable)
    timing = executable.timing()
    assert timing.us > 0
    assert timing.gm_bytes == executable.report.gm_bytes
    assert executable.report.latency_us is None
    again = api.compile(parse(text), time=True)
    assert again.report.latency_us == pytest.approx(timing.us)


X, A, W = "tensor<1x8x20x20xf32>", "tensor<1x16x20x20xf32>", "tensor<16x8x3x3xf32>"
CONV = '{strides = [1, 1], pads = [1, 1, 1, 1], dilations = [1, 1], groups = 1, data_format = "NCHW"}'
CNN = f"""func.func @main(%x: {X}, %w: {W}, %b: tensor<16xf32>) -> tensor<1x16xf32> {{
  %c = ge.conv2d(%x, %w, %b) {CONV} : ({X}, {W}, tensor<16xf32>) -> {A}
  %r = ge.relu(%c) : ({A}) -> {A}
  %s = ge.sigmoid(%r) : ({A}) -> {A}
  %a = ge.add(%r, %s) : ({A}, {A}) -> {A}
  %m = ge.reduce_mean(%a) {{axes = [2, 3], keep_dims = false}} : ({A}) -> tensor<1x16xf32>
  func.return %m : tensor<1x16xf32>
}}
"""


def test_optimisation_makes_it_faster() -> None:
    reports = [api.compile(parse(CNN), level=level, time=True).report for level in ("O0", "O1", "O2")]
    times = [r.latency_us or 0 for r in reports]
    assert times[0] >= times[1] >= times[2] > 0
    assert reports[2].kernels < reports[0].kernels
    assert reports[2].gm_bytes < reports[0].gm_bytes


def test_bytes_of_one_op() -> None:
    text = """func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
      %y = ge.relu(%x) : (tensor<4096xf32>) -> tensor<4096xf32>
      func.return %y : tensor<4096xf32> }"""
    assert api.compile(parse(text)).report.gm_bytes == 2 * 16384


@pytest.fixture
def saved(tmp_path: Path) -> tuple[str, str]:
    model, inputs = tmp_path / "m.om", tmp_path / "in.npz"
    api.compile(parse(CNN)).save(model)
    np.savez(inputs, **random_inputs(parse(CNN)))
    return str(model), str(inputs)


def test_ge_run_prints_a_table(saved: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    assert ge_run([saved[0], "--inputs", saved[1], "--time", "--trace", str(trace)]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = next(line for line in lines if line.startswith("us\t")).split("\t")
    first = lines[lines.index("\t".join(heads)) + 1].split("\t")
    assert len(first) == len(heads)
    rows = [line.split("\t") for line in lines if line.count("\t") == len(heads) - 1][1:]
    times = [float(r[0]) for r in rows]
    assert times == sorted(times, reverse=True)
    latency = float(next(line for line in lines if line.startswith("latency ")).split()[1].replace(",", ""))
    assert latency == pytest.approx(sum(times), abs=0.1 * len(times))
    events = json.loads(trace.read_text())["traceEvents"]
    tasks = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
    assert len(tasks) == len(times)
    assert max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") == pytest.approx(latency, abs=0.1)


def test_tables_and_traces_of_nothing() -> None:
    empty = Timing("ascend910b1", 0.0, ())
    assert table_rows(empty) == []
    assert all(e["ph"] == "M" for e in json.loads(chrome_trace(empty))["traceEvents"])


def test_loaded_files_are_timed_on_their_target(saved: tuple[str, str]) -> None:
    loaded = api.load(saved[0])
    assert loaded.timing() == loaded.timing()
    from gedialect.runtime.loader import load

    slower = time_model(load(saved[0]), load_target("ascend910b3"))
    assert slower.us > loaded.timing().us


def test_ge_compile_prints_the_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "m.mlir"
    source.write_text(CNN)
    for emit in ("om", "ge"):
        report = tmp_path / f"{emit}.json"
        assert (
            ge_compile([str(source), "-o", str(tmp_path / "out"), "--emit", emit, "--time", "--report", str(report)])
            == 0
        )
        latency = json.loads(report.read_text())["latency_us"]
        assert f"latency {latency:,.1f} us on ascend910b1" in capsys.readouterr().out
