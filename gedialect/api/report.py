"""What a compilation did, as attributes and as JSON; kept inside the OM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gedialect.binary.gears import Gear


@dataclass
class Report:
    """Sizes in bytes; ``latency_us`` is None unless timing was asked for.

    ``kernel_list`` has one entry per launch ({name, kind, nodes, blocks}), ``host_ops`` one per host task
    ({op, node}), ``stages`` one per step of the pipeline ({stage, ops}); ``ops`` counts ops after
    optimisation without views and const-derived ones; ``gm_bytes`` is what kernels and copies move through global
    memory in one run. ``segments`` counts the executables a run is made of, ``variants`` those kept compiled.

    ``gears`` has one entry per gear: its name, values, shapes of inputs and outputs, and its own kernels, host_ops and
    ops (counts), workspaces, gm_bytes and latency_us. The figures above then count all gears (kernels, kernel_list,
    host_ops, ops, whose entries name their gear), or are the largest of a run: workspaces, gm_bytes, latency_us.
    """

    kernels: int = 0
    kernel_list: list[dict[str, Any]] = field(default_factory=lambda: [])
    host_ops: list[dict[str, str]] = field(default_factory=lambda: [])
    ops: int = 0
    workspace_bytes: int = 0
    workspace_bytes_no_reuse: int = 0
    workspace_lower_bound: int = 0
    weight_bytes: int = 0
    gm_bytes: int = 0
    latency_us: float | None = None
    stages: list[dict[str, Any]] = field(default_factory=lambda: [])
    target: str = ""
    level: str = ""
    precision: str = ""
    segments: int = 1
    variants: int = 1
    gears: list[dict[str, Any]] = field(default_factory=lambda: [])

    def add(self, part: Report) -> None:
        """Count in a part of a model that runs in several."""
        self.kernels += part.kernels
        self.kernel_list += part.kernel_list
        self.host_ops += part.host_ops
        self.ops += part.ops
        self.workspace_bytes = max(self.workspace_bytes, part.workspace_bytes)
        self.workspace_bytes_no_reuse = max(self.workspace_bytes_no_reuse, part.workspace_bytes_no_reuse)
        self.workspace_lower_bound = max(self.workspace_lower_bound, part.workspace_lower_bound)
        self.weight_bytes += part.weight_bytes
        self.gm_bytes += part.gm_bytes
        self.stages += part.stages
        self.target, self.level, self.precision = part.target, part.level, part.precision
        self.segments += part.segments

    def add_gear(self, name: str, gear: Gear, part: Report) -> None:
        """Count in a gear, of which one runs at a time."""
        latency, moved = (self.latency_us, part.latency_us), self.gm_bytes
        self.add(part)
        self.segments = 1
        self.gm_bytes = max(moved, part.gm_bytes)
        self.latency_us = max((t for t in latency if t is not None), default=None)
        self.gears.append(
            {
                "name": name,
                "values": list(gear.values),
                "inputs": [list(shape) for shape in gear.inputs],
                "outputs": [list(shape) for shape in gear.outputs],
                "kernels": part.kernels,
                "host_ops": len(part.host_ops),
                "ops": part.ops,
                "workspace_bytes": part.workspace_bytes,
                "workspace_bytes_no_reuse": part.workspace_bytes_no_reuse,
                "workspace_lower_bound": part.workspace_lower_bound,
                "gm_bytes": part.gm_bytes,
                "latency_us": part.latency_us,
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def json(self) -> str:
        """The report as JSON text."""
        return json.dumps(self.as_dict(), indent=2)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:
        """From JSON values; unknown keys of newer files are left out."""
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known})
