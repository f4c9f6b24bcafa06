"""The simulator: runs kernels from their bytes alone."""

from ...binary.kernel_codec import decode
from .machine import Machine, Region

__all__ = ["Machine", "Region", "decode"]
