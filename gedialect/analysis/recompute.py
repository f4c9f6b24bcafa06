"""What it costs to compute a value again in each kernel that reads it, against storing and loading it.

All in microseconds on the target's numbers: vector work by the cost table of its instructions over all vector cores,
traffic at the rate of the memory that holds it (L2 where the value fits, else HBM), a launch where a kernel falls away.
Latencies are left out on both sides: kernels overlap them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from gedialect.analysis.primitives import instruction, profile_of
from gedialect.binary import isa
from gedialect.dialects.ge.base import GeOp
from gedialect.ir.dtypes import BY_NAME
from gedialect.ir.spec import spec_of
from gedialect.targets import Target


@dataclass(frozen=True)
class Costs:
    """``stored``: compute once, write, and read in every reader; ``again``: compute in every reader. In µs."""

    stored: float
    again: float

    @property
    def worth_it(self) -> bool:
        """Whether computing again is cheaper."""
        return self.again < self.stored


def vector_us(ops: Iterable[GeOp], elements: int, target: Target) -> float:
    """Time of the vector unit for ``ops`` on ``elements`` elements spread over all vector cores; whole repeats."""
    cycles = 0.0
    share = max(elements / target.cores.vector, 1)
    for op in ops:
        for cls, dtypes in profile_of(op).calls:
            inst = isa.BY_NAME[instruction(cls, dtypes)]
            size = max(BY_NAME[d].itemsize for d in dtypes)
            cost = target.vector.cost.get(inst.cost) or target.vector.cost["v_add"]
            repeats = -(-share * size // target.vector.repeat_bytes)
            emulated = inst.hw and dtypes[-1] not in inst.hw and "T" in inst.types
            cycles += cost.head + repeats * cost.repeat * (target.vector.emulated_factor if emulated else 1)
    return target.microseconds(cycles)


def traffic_us(nbytes: int, target: Target) -> float:
    """Time to move ``nbytes`` between global memory and all cores."""
    return target.microseconds(target.chip_cycles(nbytes, l2=nbytes <= target.memory.l2))


def compare(
    value: SSAValue,
    ops: Sequence[GeOp],
    domain: Sequence[int],
    readers: Sequence[tuple[Sequence[int], Iterable[SSAValue]]],
    *,
    kernel_saved: bool,
    target: Target,
) -> Costs:
    """Costs of ``value``, made by ``ops`` over ``domain``, for ``readers``, each with the iteration space and what it
    loads already; ``kernel_saved``: nothing else needs the kernel that makes it now."""
    inside = {r for op in ops for r in op.results}
    inputs = {v for op in ops for v in op.operands if v not in inside}
    nbytes = spec_of(value.type).nbytes
    stored = traffic_us(nbytes, target) * (1 + len(readers))
    if kernel_saved:
        stored += target.launch.vector + vector_us(ops, prod(domain), target)
        stored += sum(traffic_us(spec_of(v.type).nbytes, target) for v in inputs)
    again = 0.0
    for space, loaded in readers:
        again += vector_us(ops, max(prod(space), prod(domain)), target)
        again += sum(traffic_us(spec_of(v.type).nbytes, target) for v in inputs - set(loaded))
    return Costs(stored, again)
