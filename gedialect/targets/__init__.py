"""Chip descriptions: one TOML file per chip, each number with its unit, source and confidence.

``load_target("ascend910b1")`` reads ``ascend910b1.toml`` of this folder into frozen dataclasses. Passes, kernel
generators and the timing model take sizes and costs from there and state none of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache, cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_type_hints

from gedialect.errors import GeError, UsageError

DEFAULT_TARGET = "ascend910b1"
CONFIDENCES = ("A", "B", "C")


@dataclass(frozen=True)
class Fact:
    """One number (or list of numbers) of a target file: ``source`` is the full citation."""

    value: int | float | tuple[int, ...]
    unit: str
    source: str
    confidence: str
    note: str = ""


@dataclass(frozen=True)
class Cores:
    """How many, and the clock in MHz."""

    cube: int
    vector: int
    vector_per_cube: int
    clock_mhz: float
    max_blocks: int


@dataclass(frozen=True)
class Memory:
    """Sizes in bytes; l2 and hbm of the chip, the others of one core."""

    l1: int
    l0a: int
    l0b: int
    l0c: int
    ub: int
    bt: int
    fb: int
    l2: int
    hbm: int
    icache: int
    dcache: int


@dataclass(frozen=True)
class Alignment:
    """Alignment in bytes of a tile's start per space; ``gm_buffer`` of a planned buffer in global memory."""

    gm: int
    l1: int
    l0a: int
    l0b: int
    l0c: int
    ub: int
    bt: int
    fb: int
    gm_buffer: int


@dataclass(frozen=True)
class Cube:
    """The matrix unit multiplies fractals of fractal_m x (fractal_k_bytes / itemsize) x fractal_n."""

    fractal_m: int
    fractal_n: int
    fractal_k_bytes: int
    start: int
    queue: int
    cycles_per_fractal: Mapping[str, int]
    """Element type of the operands -> cycles; what is missing here the unit cannot multiply."""

    def cycles(self, m: int, k: int, n: int, dtype: str, itemsize: int) -> int:
        """Cycles of one mmad of m x k x n elements, without ``start``. KeyError for a type the unit lacks."""
        steps = ceil(m / self.fractal_m) * ceil(k * itemsize / self.fractal_k_bytes) * ceil(n / self.fractal_n)
        return steps * self.cycles_per_fractal[dtype]


@dataclass(frozen=True)
class VectorCost:
    """Cycles: ``head`` if the pipe was idle, ``repeat`` per 256 bytes, ``tail`` when someone waits."""

    head: int
    repeat: int
    tail: int


@dataclass(frozen=True)
class Vector:
    """The vector unit works in repeats of ``repeat_bytes``; ``cost`` is per cost class of the instruction set."""

    repeat_bytes: int
    block_bytes: int
    max_repeats: int
    partial_repeat: int
    bank_bytes: int
    banks: int
    bank_groups: int
    strided_repeat: int
    emulated_factor: int
    macro_steps: int
    cost: Mapping[str, VectorCost]


@dataclass(frozen=True)
class Port:
    """A path of one core: ``bandwidth`` in GiB/s at saturation, half of it at ``half_size`` bytes per transfer."""

    bandwidth: float
    half_size: int

    @property
    def bytes_per_second(self) -> float:
        return self.bandwidth * 2**30


@dataclass(frozen=True)
class GlobalMemory:
    """Latencies in cycles and the rules of bursts."""

    read_latency: int
    write_latency: int
    l2_hit: int
    l2_miss: int
    l2_line: int
    bursts: tuple[int, ...]
    unaligned_efficiency: float
    full_speed_bytes: int

    def burst_bytes(self, row: int) -> int:
        """Bytes moved for a contiguous row of ``row`` bytes: whole largest bursts, the tail rounded up to a burst."""
        whole, tail = divmod(row, self.bursts[-1])
        return whole * self.bursts[-1] + (next(b for b in self.bursts if b >= tail) if tail else 0)


@dataclass(frozen=True)
class Chip:
    """Rates of all cores together (GiB/s) and shares of peak that are reached."""

    hbm_bandwidth: float
    hbm_efficiency: float
    l2_bandwidth: float
    same_address_efficiency: float
    compute_efficiency: float


@dataclass(frozen=True)
class Launch:
    """Of one task of a loaded graph: microseconds per kind; the rest in cycles."""

    cube: float
    vector: float
    mix: float
    host: float
    label: float
    block_dispatch: int
    task_submit: int
    task_stitch: int
    task_schedule: int
    task_complete: int
    task_resolve: int


@dataclass(frozen=True)
class Sync:
    """Cycles of the instructions themselves; waiting comes on top."""

    set_flag: int
    wait_flag: int
    barrier: int
    cross_core: int
    flag_ids: int
    cross_core_flags: int
    scalar_issue: int


@dataclass(frozen=True, eq=False)
class Target:
    """One chip, hashable by identity.

    ``facts`` maps dotted names (``memory.ub``) to the numbers with unit, source and confidence.
    """

    name: str
    soc_version: str
    core: str
    summary: str
    cores: Cores
    memory: Memory
    alignment: Alignment
    cube: Cube
    vector: Vector
    ports: Mapping[str, Port]
    gm: GlobalMemory
    chip: Chip
    launch: Launch
    sync: Sync
    facts: Mapping[str, Fact]

    @property
    def hertz(self) -> float:
        return self.cores.clock_mhz * 1e6

    def cycles(self, seconds: float) -> float:
        """Core cycles of a time in seconds."""
        return seconds * self.hertz

    def microseconds(self, cycles: float) -> float:
        """Microseconds of core cycles."""
        return cycles / self.cores.clock_mhz

    def size(self, space: str) -> int:
        """Bytes of an on-chip space (``ub``, ``l0c``, …); GE1010 for a name the chip lacks."""
        return cast(int, self._space(self.memory, space))

    def align(self, space: str) -> int:
        """Alignment in bytes of a tile in a space."""
        return cast(int, self._space(self.alignment, space))

    def _space(self, table: object, space: str) -> Any:
        if not hasattr(table, space):
            raise UsageError(f"{self.name} has no memory space {space}", code="GE1010")
        return getattr(table, space)

    def transfer_cycles(self, path: str, nbytes: int) -> float:
        """Cycles one core needs for a transfer of ``nbytes`` over ``gm_to_ub``, ``l1_to_l0a``, …, alone on the chip
        and without the latency of global memory: (nbytes + half_size) / bandwidth."""
        port = self.ports[path]
        return (nbytes + port.half_size) / port.bytes_per_second * self.hertz

    def chip_cycles(self, nbytes: int, *, l2: bool = False) -> float:
        """Cycles all cores together need at least to move ``nbytes`` from HBM (or from L2)."""
        rate = self.chip.l2_bandwidth if l2 else self.chip.hbm_bandwidth * self.chip.hbm_efficiency
        return nbytes / (rate * 2**30) * self.hertz

    @cached_property
    def cube_flops(self) -> Mapping[str, float]:
        """Peak of the whole chip per element type of the operands, in FLOP/s (or OP/s)."""
        sizes = {"f32": 4, "f16": 2, "bf16": 2, "i8": 1, "ui8": 1}
        per_fractal = 2 * self.cube.fractal_m * self.cube.fractal_n * self.cube.fractal_k_bytes
        return {
            t: per_fractal / sizes[t] / c * self.cores.cube * self.hertz
            for t, c in self.cube.cycles_per_fractal.items()
        }


def target_names() -> list[str]:
    """Targets there are, sorted."""
    folder = os.path.dirname(__file__)
    return sorted(n.removesuffix(".toml") for n in os.listdir(folder) if n.endswith(".toml"))


def load_target(name: str = DEFAULT_TARGET) -> Target:
    """The target of that name (letter case does not matter); each is read once, so equal names give one object.

    Raises UsageError GE1010 for an unknown one, GeError GE1016 if a target file is not what it should be.
    """
    return _load(name.lower())


@cache
def _load(key: str) -> Target:
    known = target_names()
    if key not in known:
        near = get_close_matches(key, known, 2)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"unknown target {key}", code="GE1010", hint=f"{hint}targets are {', '.join(known)}")
    with open(os.path.join(os.path.dirname(__file__), f"{key}.toml"), "rb") as f:
        text = f.read()
    base = None
    table = parse_table(text, f"{key}.toml")
    if "inherits" in table:
        parent = str(table["inherits"])
        with open(os.path.join(os.path.dirname(__file__), f"{parent}.toml"), "rb") as f:
            base = parse_table(f.read(), f"{parent}.toml")
    return target_of(table, base, f"{key}.toml")


def parse_table(text: bytes, where: str) -> dict[str, Any]:
    """The tables of a target file; GE1016 if it is not TOML."""
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise GeError(f"not a target file: {e}", code="GE1016", where=where) from None


def target_of(table: Mapping[str, Any], base: Mapping[str, Any] | None = None, where: str = "target") -> Target:
    """A target from its tables; tables of ``base`` stand in for what ``table`` leaves out."""
    merged = _merge(base, table) if base is not None else dict(table)
    merged.pop("inherits", None)
    reader = _Reader(merged, where)
    target = Target(
        name=reader.text("name"),
        soc_version=reader.text("soc_version"),
        core=reader.text("core"),
        summary=reader.text("summary"),
        cores=reader.section("cores", Cores),
        memory=reader.section("memory", Memory),
        alignment=reader.section("alignment", Alignment),
        cube=reader.section("cube", Cube),
        vector=reader.section("vector", Vector),
        ports=MappingProxyType({k: reader.section(f"ports.{k}", Port) for k in reader.table("ports")}),
        gm=reader.section("gm", GlobalMemory),
        chip=reader.section("chip", Chip),
        launch=reader.section("launch", Launch),
        sync=reader.section("sync", Sync),
        facts=MappingProxyType(reader.facts),
    )
    unread = [k for k in _numbers(merged) if k not in reader.facts]
    if unread:
        raise GeError(f"nothing reads {', '.join(unread)}", code="GE1016", where=where, hint="misspelt?")
    return target


def _merge(base: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(base)
    for key, value in table.items():
        old = out.get(key)
        if isinstance(value, dict) and isinstance(old, dict) and "value" not in value:
            out[key] = _merge(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            out[key] = value
    return out


def _numbers(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted names of everything that is not the head of the file."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        if path == "sources":
            continue
        if isinstance(value, dict) and "value" not in value:
            yield from _numbers(cast("dict[str, Any]", value), f"{path}.")
        elif prefix or not isinstance(value, str):
            yield path


S = TypeVar("S")


class _Reader:
    def __init__(self, root: Mapping[str, Any], where: str):
        self.root = root
        self.where = where
        self.facts: dict[str, Fact] = {}
        self.sources = self.table("sources")

    def fail(self, message: str) -> GeError:
        return GeError(message, code="GE1016", where=self.where)

    def text(self, key: str) -> str:
        value = self.root.get(key)
        if not isinstance(value, str):
            raise self.fail(f"{key} must be a string")
        return value

    def table(self, path: str) -> dict[str, Any]:
        at: Any = self.root
        for part in path.split("."):
            at = at.get(part) if isinstance(at, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if not isinstance(at, dict):
            raise self.fail(f"table [{path}] is missing")
        return cast("dict[str, Any]", at)

    def fact(self, path: str, entry: Any) -> Fact:
        """Checks one ``{ value, unit, source, confidence, note }`` and files it under its dotted name."""
        wanted = {"value", "unit", "source", "confidence"}
        if not isinstance(entry, dict):
            raise self.fail(f"{path} must be a table {{ value, unit, source, confidence }}, not a bare value")
        given = cast("dict[str, Any]", entry)
        if not wanted <= given.keys() or given.keys() - wanted - {"note"}:
            raise self.fail(f"{path} needs exactly {', '.join(sorted(wanted))} and perhaps note")
        value: Any = given["value"]
        numbers = tuple(cast("list[Any]", value)) if isinstance(value, list) else (value,)
        if any(isinstance(n, bool) or not isinstance(n, int | float) or n < 0 for n in numbers):
            raise self.fail(f"{path}: value must be a number or a list of numbers, none negative")
        if given["confidence"] not in CONFIDENCES:
            raise self.fail(f"{path}: confidence must be A, B or C")
        if given["source"] not in self.sources:
            raise self.fail(f"{path}: source {given['source']} is not in [sources]")
        fact = Fact(
            numbers if isinstance(value, list) else value,
            given["unit"],
            self.sources[given["source"]],
            given["confidence"],
            given.get("note", ""),
        )
        self.facts[path] = fact
        return fact

    def section(self, path: str, cls: type[S]) -> S:
        """A dataclass from the table of that name: each field is one number, or a table of them."""
        table = self.table(path)
        hints = get_type_hints(cls)
        values: dict[str, Any] = {}
        for field in fields(cast(Any, cls)):
            name = f"{path}.{field.name}"
            if field.name not in table:
                raise self.fail(f"{name} is missing")
            entry = table[field.name]
            kind = hints[field.name]
            if kind == Mapping[str, VectorCost]:
                values[field.name] = MappingProxyType({k: self._cost(f"{name}.{k}", v) for k, v in entry.items()})
            elif kind == Mapping[str, int]:
                values[field.name] = MappingProxyType({k: self.fact(f"{name}.{k}", v).value for k, v in entry.items()})
            else:
                value = self.fact(name, entry).value
                if (kind is int and not isinstance(value, int)) or isinstance(value, tuple) != (
                    kind == tuple[int, ...]
                ):
                    raise self.fail(f"{name}: {value} is not of type {kind}")
                values[field.name] = value
        return cls(**values)

    def _cost(self, path: str, entry: Any) -> VectorCost:
        value = self.fact(path, entry).value
        if not isinstance(value, tuple) or len(value) != 3:
            raise self.fail(f"{path}: value must be [head, per repeat, tail]")
        return VectorCost(*value)


__all__ = [
    "CONFIDENCES",
    "DEFAULT_TARGET",
    "Alignment",
    "Chip",
    "Cores",
    "Cube",
    "Fact",
    "GlobalMemory",
    "Launch",
    "Memory",
    "Port",
    "Sync",
    "Target",
    "Vector",
    "VectorCost",
    "load_target",
    "target_names",
    "target_of",
]
