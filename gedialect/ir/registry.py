"""Lazy registries of dialects, passes, frontends and output targets, read from the folders.

Nothing is imported to list names: a dialect is a package in ``gedialect/dialects``, a pass is a file in
``gedialect/transforms`` or ``lowering/transforms`` named like the pass with ``-`` written ``_``, a frontend is a
package in ``gedialect/frontends``. Files and folders starting with ``_`` are helpers. Our names must stay disjoint
from xDSL's, or plain ``xdsl-opt`` refuses to start.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass
    from xdsl.utils.frontend import Frontend
    from xdsl.utils.target import Target

PASS_PACKAGES = ("gedialect.transforms", "lowering.transforms")
DIALECT_PACKAGE = "gedialect.dialects"
FRONTEND_PACKAGE = "gedialect.frontends"


def _package_dirs(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return list(spec.submodule_search_locations)


def _entries(package: str) -> list[os.DirEntry[str]]:
    found = [e for d in _package_dirs(package) for e in os.scandir(d) if not e.name.startswith(("_", "."))]
    return sorted(found, key=lambda e: e.name)


def _subpackages(package: str) -> list[str]:
    return [e.name for e in _entries(package) if e.is_dir() and os.path.exists(os.path.join(e.path, "__init__.py"))]


@cache
def pass_modules() -> dict[str, str]:
    """Pass name -> the module that defines it, over both pass folders; nothing is imported."""
    found: dict[str, str] = {}
    for package in PASS_PACKAGES:
        for entry in _entries(package):
            stem, ext = os.path.splitext(entry.name)
            if ext == ".py":
                name = stem.replace("_", "-")
                if name in found:
                    raise ValueError(f"pass {name} is defined twice: {found[name]} and {package}.{stem}")
                found[name] = f"{package}.{stem}"
    return found


def load_pass(name: str, module: str) -> type[ModulePass]:
    """The class of pass ``name``: the ``ModulePass`` of that ``name`` that ``module`` defines."""
    from xdsl.passes import ModulePass

    members = vars(importlib.import_module(module)).values()
    for member in members:
        if isinstance(member, type) and issubclass(member, ModulePass) and getattr(member, "name", None) == name:
            return member
    raise ImportError(f"{module} defines no pass named {name!r}; file name and `name` must agree")


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """Our passes for xDSL's registries; each factory imports its module when called."""

    def factory(name: str, module: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name, module)

    return {name: factory(name, module) for name, module in pass_modules().items()}


def load_dialect(name: str) -> Dialect:
    """The ``Dialect`` object of ``gedialect.dialects.<name>``, exported under the upper-case name."""
    return getattr(importlib.import_module(f"{DIALECT_PACKAGE}.{name}"), name.upper())


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """Our dialects for xDSL's registries."""

    def factory(name: str) -> Callable[[], Dialect]:
        return lambda: load_dialect(name)

    return {name: factory(name) for name in _subpackages(DIALECT_PACKAGE)}


def frontend_modules() -> dict[str, str]:
    """Model format -> the package that reads it."""
    return {name.replace("_", "-"): f"{FRONTEND_PACKAGE}.{name}" for name in _subpackages(FRONTEND_PACKAGE)}


def frontend_factories() -> dict[str, Callable[[], type[Frontend]]]:
    """Our model readers as xDSL frontends, by file extension."""

    def onnx() -> type[Frontend]:
        from gedialect.ir.model_frontend import OnnxFrontend

        return OnnxFrontend

    return {"onnx": onnx} if "onnx" in frontend_modules() else {}


def target_factories() -> dict[str, Callable[[], type[Target]]]:
    """Output forms beyond xDSL's; an OM is written by ``ge-compile``, so there are none."""
    found: dict[str, Any] = {}
    return found
