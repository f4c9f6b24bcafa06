"""The simulator: runs kernels from their bytes alone."""

from ...binary.kernel_codec import decode
from .machine import Machine, Region
from .sanitizer import Finding, sanitize

__all__ = ["Finding", "Machine", "Region", "decode", "sanitize"]
