"""The Python interface: ``compile`` a model, ``run`` it on the simulated NPU, ``save`` and ``load`` it."""

from gedialect.api.chained import ChainExecutable
from gedialect.api.compiler import build, build_gears, compile, compile_module, import_source
from gedialect.api.executable import Executable, load
from gedialect.api.report import Report

__all__ = [
    "ChainExecutable",
    "Executable",
    "Report",
    "build",
    "build_gears",
    "compile",
    "compile_module",
    "import_source",
    "load",
]
