"""Target files: every number is complete, and wrong files are named."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gedialect import targets
from gedialect.errors import GeError, UsageError
from gedialect.targets import load_target, parse_table, target_names, target_of


def raw(name: str) -> dict:
    folder = os.path.dirname(targets.__file__)
    with open(os.path.join(folder, f"{name}.toml"), "rb") as f:
        return parse_table(f.read(), name)


def leaves(table: dict, path: str = ""):
    """Every value of the file that is not a table of numbers; independent of the reader."""
    for key, value in table.items():
        at = f"{path}.{key}" if path else key
        if isinstance(value, dict) and not {"value", "unit"} & value.keys():
            yield from leaves(value, at)
        else:
            yield at, value


@pytest.mark.parametrize("name", target_names())
def test_every_number_has_unit_source_and_confidence(name: str):
    table = raw(name)
    sources = dict(raw("ascend910b1")["sources"]) | table["sources"]
    count = 0
    for path, value in leaves(table):
        if path.startswith("sources.") or isinstance(value, str):
            assert isinstance(value, str)
            continue
        assert isinstance(value, dict), f"{path} is a bare number"
        assert value["confidence"] in ("A", "B", "C"), path
        assert value["unit"], path
        assert len(sources[value["source"]]) > 10, path
        assert value["source"] != "ours" or value["confidence"] == "C", path
        count += 1
    assert count >= 4


@pytest.mark.parametrize("name", target_names())
def test_facts_are_the_values(name: str):
    target = load_target(name)
    assert target.name == name
    for path, fact in target.facts.items():
        at = target
        for part in path.split("."):
            at = at[part] if hasattr(at, "keys") else getattr(at, part)
        if isinstance(fact.value, tuple) and path.startswith("vector.cost"):
            assert (at.head, at.repeat, at.tail) == fact.value
        else:
            assert at == fact.value


def test_peaks_follow_the_published_rule():
    # 8192 FLOP per cycle and core: 24 cores at 1.85 GHz, 20 at 1.8 GHz (294.9 TFLOPS published)
    assert load_target("ascend910b1").cube_flops["f16"] == pytest.approx(8192 * 24 * 1.85e9)
    assert load_target("ascend910b3").cube_flops["bf16"] == pytest.approx(294.9e12, rel=1e-3)
    assert load_target("ascend910b1").cube.cycles(100, 40, 17, "f16", 2) == 7 * 3 * 2
    assert load_target("ascend910b1").cube.cycles(16, 8, 16, "f32", 4) == 2


def test_transfers():
    t = load_target()
    assert t.size("ub") == 192 << 10
    assert t.align("l0a") == 512
    port = t.ports["gm_to_ub"]
    k = port.half_size
    assert t.transfer_cycles("gm_to_ub", k) == pytest.approx(2 * k / port.bytes_per_second * t.hertz)
    assert [t.gm.burst_bytes(n) for n in (0, 1, 128, 129, 512, 513, 1000)] == [0, 128, 128, 256, 512, 640, 1024]
    assert t.microseconds(1850) == pytest.approx(1.0)


def test_one_object_per_name():
    assert load_target("Ascend910B1") is load_target("ascend910b1")
    assert hash(load_target()) == hash(load_target())


def test_inheritance_states_only_what_differs():
    a, b = load_target("ascend910b1"), load_target("ascend910b3")
    assert (b.cores.cube, b.cores.vector) == (20, 40)
    assert b.memory.ub == a.memory.ub
    assert b.facts["memory.l2"].confidence == "C"
    assert b.facts["memory.ub"] == a.facts["memory.ub"]


def test_unknown_target_names_the_near_ones():
    with pytest.raises(UsageError, match="ascend910b3") as e:
        load_target("ascend910b2")
    assert e.value.code == "GE1010"
    with pytest.raises(UsageError, match="no memory space l7"):
        load_target().size("l7")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("cores", "cube"), 24, "must be a table"),
        (("cores", "cube"), None, "cores.cube is missing"),
        (("cores", "cube"), {"value": 1, "unit": "cores", "source": "npu_ir"}, "needs exactly"),
        (("cores", "cube"), {"value": 1, "unit": "c", "source": "nobody", "confidence": "A"}, "not in \\[sources\\]"),
        (("cores", "cube"), {"value": 1, "unit": "c", "source": "npu_ir", "confidence": "D"}, "must be A, B or C"),
        (("cores", "cube"), {"value": 1.5, "unit": "c", "source": "npu_ir", "confidence": "A"}, "not of type"),
        (("cores", "cube"), {"value": -1, "unit": "c", "source": "npu_ir", "confidence": "A"}, "none negative"),
        (("cores", "cubes"), {"value": 1, "unit": "c", "source": "npu_ir", "confidence": "A"}, "nothing reads"),
        (("vector", "cost", "v_add"), {"value": [1, 2], "unit": "c", "source": "ini", "confidence": "A"}, "head"),
    ],
)
def test_bad_files(path: tuple[str, ...], value: object, message: str):
    table = raw("ascend910b1")
    at = table
    for part in path[:-1]:
        at = at[part]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    with pytest.raises(GeError, match=message) as e:
        target_of(table)
    assert e.value.code == "GE1016"


def test_not_toml():
    with pytest.raises(GeError, match="not a target file"):
        parse_table(b"\xff", "x.toml")
    with pytest.raises(GeError, match="not a target file"):
        parse_table(b"a = ", "x.toml")


def test_reading_needs_no_numpy():
    code = (
        "import sys, gedialect.targets as t; t.load_target(); sys.exit('numpy' in sys.modules or 'xdsl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
