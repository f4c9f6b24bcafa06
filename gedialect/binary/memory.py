"""Where a model's bytes live, and the logical addresses that stand for them in task arguments.

Four regions: ``input`` and ``output`` (one each per model input and output, given by the caller at run time),
``weight`` (the WEIGHTS_DATA partition) and ``workspace`` (everything between kernels). In the address space of GE's
loader the feature-map memory starts at ``task_gen_base_addr`` and holds the workspace, then the zero-copy inputs and
outputs; weights start at ``task_gen_weight_addr`` (model attributes; values as GE writes them, see ``docs/om.md``).
The order within the feature map and the spare bytes between slots are ours.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from gedialect.binary.weights import align
from gedialect.errors import GeError

WORKSPACE_BASE = 0x1_0000_0000
VARIABLE_BASE = 0x8_0000_0000
WEIGHT_BASE = 0x10_0000_0000

Region = Literal["input", "output", "weight", "workspace"]
Role = Literal["in", "out", "scratch"]
REGIONS: tuple[Region, ...] = get_args(Region)


@dataclass(frozen=True)
class Arg:
    """``nbytes`` bytes at byte ``offset`` of a region; ``index`` says which input or output, else it is 0.

    ``role`` says what the task does with them: reads them, writes them, or uses them in between.
    """

    region: Region
    offset: int
    nbytes: int
    index: int = 0
    role: Role = "in"

    def __str__(self) -> str:
        number = f" {self.index}" if self.region in ("input", "output") else ""
        return f"{self.region}{number} at {self.offset}+{self.nbytes}"


@dataclass(frozen=True)
class Memory:
    """Sizes of all regions in bytes."""

    workspace: int
    inputs: Sequence[int]
    outputs: Sequence[int]
    weights: int
    base: int = WORKSPACE_BASE
    weight_base: int = WEIGHT_BASE

    @cached_property
    def _slots(self) -> list[tuple[int, Region, int, int]]:
        """(start, region, index, size) of the feature map, ascending; a spare byte ends every slot."""
        regions: list[tuple[Region, Sequence[int]]] = [
            ("workspace", [self.workspace]), ("input", self.inputs), ("output", self.outputs)
        ]  # fmt: skip
        slots: list[tuple[int, Region, int, int]] = []
        at = 0
        for region, sizes in regions:
            for index, size in enumerate(sizes):
                slots.append((at, region, index, size))
                at += align(size + 1)
        return slots

    @property
    def io_start(self) -> int:
        """Bytes of the feature map before the inputs and outputs."""
        return align(self.workspace + 1)

    @cached_property
    def feature_map(self) -> int:
        """Bytes of the feature map: workspace, inputs and outputs (``memory_size``)."""
        start, _, _, size = self._slots[-1]
        return start + align(size + 1)

    def check(self) -> None:
        """GE1310 if the feature map runs into the addresses of the weights."""
        if self.base + self.feature_map > self.weight_base:
            raise GeError(
                f"workspace, inputs and outputs need {self.feature_map} bytes; "
                f"the address space of an OM has {self.weight_base - self.base}",
                code="GE1310",
            )

    def size(self, region: Region, index: int = 0) -> int:
        """Bytes of a region; GE1308 for an input or output that the model lacks."""
        if region == "weight":
            return self.weights
        if region == "workspace":
            return self.workspace
        sizes = self.inputs if region == "input" else self.outputs
        if not 0 <= index < len(sizes):
            raise GeError(f"there is no {region} {index}, the model has {len(sizes)}", code="GE1308")
        return sizes[index]

    def check_arg(self, arg: Arg) -> None:
        """GE1308 unless ``arg`` lies within its region."""
        size = self.size(arg.region, arg.index)
        if arg.offset < 0 or arg.nbytes < 0 or arg.offset + arg.nbytes > size:
            raise GeError(f"{arg} lies outside its {size} bytes", code="GE1308")

    def feature_offset(self, arg: Arg) -> int:
        """Byte offset of ``arg`` in the feature map (or in WEIGHTS_DATA): what ``OpDef.input_i``/``output_i`` hold."""
        self.check_arg(arg)
        if arg.region == "weight":
            return arg.offset
        slot = {"workspace": 0, "input": 1 + arg.index, "output": 1 + len(self.inputs) + arg.index}[arg.region]
        return self._slots[slot][0] + arg.offset

    def address(self, arg: Arg) -> int:
        """The logical address that stands for ``arg`` in task arguments."""
        return (self.weight_base if arg.region == "weight" else self.base) + self.feature_offset(arg)

    def resolve(self, address: int, nbytes: int, role: Role = "in") -> Arg:
        """The bytes an address stands for; GE1308 if they do not lie in one region."""
        if address >= self.weight_base:
            arg = Arg("weight", address - self.weight_base, nbytes, 0, role)
        else:
            offset = address - self.base
            if not 0 <= offset < self.feature_map:
                raise GeError(f"address 0x{address:X} lies in no region", code="GE1308")
            start, region, index, _ = self._slots[bisect_right(self._slots, offset, key=_start) - 1]
            arg = Arg(region, offset - start, nbytes, index, role)
        self.check_arg(arg)
        return arg


def _start(slot: tuple[int, Region, int, int]) -> int:
    return slot[0]
