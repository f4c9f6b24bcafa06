"""The Python interface: ``compile`` a model, ``run`` it on the simulated NPU, ``save`` and ``load`` it."""

from gedialect.api.chained import ChainExecutable
from gedialect.api.compiler import build, build_gears, compile, compile_module
from gedialect.api.executable import Executable, load
from gedialect.api.report import Report
from gedialect.api.settings import Settings
from gedialect.api.sources import import_source

__all__ = [
    "ChainExecutable",
    "Executable",
    "Report",
    "Settings",
    "build",
    "build_gears",
    "compile",
    "compile_module",
    "import_source",
    "load",
]
