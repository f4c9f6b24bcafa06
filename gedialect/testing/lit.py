"""A reusable lit configuration. In a project's ``lit.cfg``::

    from gedialect.testing.lit import configure

    config.name = "my-project"
    configure(config)

It gives ``%ge-opt``, ``%filecheck`` (checks this file), ``%not`` and ``%ge-roundtrip``, which prints a file in custom
and in generic form, parses both back and compares::

    // RUN: %ge-opt %s -p "my-pass" | %filecheck
    // RUN: %ge-roundtrip %s | %filecheck

``ge-opt`` and ``filecheck`` without ``%`` work too.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

SUFFIXES = (".mlir",)


def substitutions() -> list[tuple[str, str]]:
    """(text in a RUN line, command) pairs, longest first."""
    python = f'"{sys.executable}" -m'
    return [
        ("%ge-roundtrip", f"{python} gedialect.testing.roundtrip"),
        ("%ge-opt", f"{python} gedialect.cli.ge_opt"),
        ("%filecheck", f"{python} filecheck %s"),
        ("%not", "not"),
    ]


def configure(config: Any) -> None:
    """Set test format, suffixes, substitutions and environment of a lit ``config``.

    The folders of the interpreter's scripts come first in PATH, so that the commands are those of this environment.
    """
    formats: Any = importlib.import_module("lit.formats")
    config.test_format = formats.ShTest(False)
    config.suffixes = sorted({*getattr(config, "suffixes", ()), *SUFFIXES})
    config.substitutions.extend(substitutions())
    scripts = os.path.dirname(os.path.abspath(sys.executable))
    config.environment["PATH"] = os.pathsep.join([scripts, config.environment.get("PATH", os.environ.get("PATH", ""))])
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "HOME"):
        if name in os.environ:
            config.environment.setdefault(name, os.environ[name])
