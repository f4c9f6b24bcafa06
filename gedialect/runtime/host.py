"""Host tasks: an op's numpy semantics, run from the name and attributes in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy.typing as npt

from gedialect.binary.tasks import SEGMENTS, HostTask
from gedialect.errors import GeError
from gedialect.ir.spec import Spec


def run_host_task(task: HostTask, operands: Sequence[npt.NDArray[Any] | None]) -> list[npt.NDArray[Any]]:
    """Results of a host task; GE1309 if the file's operands do not fit the op."""
    from gedialect.dialects.ge import op_class
    from gedialect.dialects.ge.base import Attrs

    attributes: Mapping[str, Any] = task.attributes
    values = {k: tuple(cast("list[Any]", v)) if isinstance(v, list) else v for k, v in attributes["attrs"].items()}
    groups: list[Any] = []
    rest = list(operands)
    for n in attributes[SEGMENTS]:
        groups.append(rest.pop(0) if n < 0 else [rest.pop(0) for _ in range(n)])
    specs = [Spec(r.dtype, r.shape) for r in task.results]
    results = op_class(task.op).evaluated(Attrs(values, specs), *groups)
    arrays: list[npt.NDArray[Any]] = list(cast("tuple[Any, ...]", results)) if isinstance(results, tuple) else [results]
    for array, spec in zip(arrays, specs, strict=True):
        if array.shape != spec.shape or array.dtype != spec.dtype.numpy:
            raise GeError(f"{task.op} gave {array.dtype}{list(array.shape)}, the file says {spec}", code="GE1309")
    return arrays
