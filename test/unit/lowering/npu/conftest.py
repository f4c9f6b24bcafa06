"""Running hand-built kernels: addresses, flags, bytes, sanitizer, simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from gedialect.binary.kernel import Kernel
from gedialect.binary.kernel_codec import decode
from gedialect.dialects.npu import KernelOp
from gedialect.runtime.simulator import Machine
from gedialect.targets import load_target
from lowering.emit.kernel import emit_kernel
from lowering.transforms.npu_allocate import allocate_kernel
from lowering.transforms.npu_insert_sync import insert_sync

Finish = Callable[[KernelOp], Kernel]
Run = Callable[..., None]


@pytest.fixture
def finish() -> Finish:
    """Turns a built kernel into the one decoded from its bytes."""

    def f(op: KernelOp) -> Kernel:
        op.verify()
        allocate_kernel(op, load_target())
        insert_sync(op)
        op.verify()
        return decode(emit_kernel(op))

    return f


@pytest.fixture
def run(finish: Finish) -> Run:
    """Runs a built kernel on arrays, one per argument, after the sanitizer found nothing."""

    def f(op: KernelOp, *arrays: npt.NDArray[Any]) -> None:
        for a in arrays:
            assert a.flags.c_contiguous
        regions = [(a.reshape(-1).view(np.uint8), 0, a.nbytes) for a in arrays]
        Machine(sanitize=True).run(finish(op), regions)

    return f
