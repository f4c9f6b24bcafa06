"""Rules from a file, by its extension, and from packages through the entry point group ``gedialect.rules``."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from functools import cache
from types import ModuleType

from gedialect import patterns
from gedialect.errors import GeError, UsageError
from gedialect.patterns.compiler import compile_variant
from gedialect.patterns.language import at_place
from gedialect.patterns.rule import Rule

GROUP = "gedialect.rules"
MAX_BYTES = 16 << 20
"""Longer files are no rules."""
RUNS = "the file has to run as a Python module"
KINDS = (".py", ".rules", ".json", ".pdl.mlir")


def load_rules(path: str | os.PathLike[str], refused: list[GeError] | None = None) -> tuple[Rule, ...]:
    """The rules of a file: ``.py`` (every ``Rule`` in the module), ``.rules``, ``.json`` (GE's fusion rules) or
    ``.pdl.mlir``.

    Their topic is the file's name without extension unless they say otherwise. Raises GE1002 (cannot be read), GE1013
    (another kind of file), GE1105 (mistake in a rule), GE1115 (malformed file) and GE1116 (what the format says but
    rules cannot), all at FILE:LINE. With ``refused``, a GE1116 goes there and the other rules of the file are loaded.
    """
    path = os.fspath(path)
    name = os.path.basename(path)
    kind = next((k for k in KINDS if name.endswith(k)), None)
    if kind is None:
        raise UsageError("unknown kind of rule file", code="GE1013", where=path, hint=f"known are {', '.join(KINDS)}")
    topic = re.sub(r"\W", "_", name.removesuffix(kind))
    text = _read(path)
    found = _load(path, kind, topic, text, refused)
    _check_forms(found)
    return found


def _load(path: str, kind: str, topic: str, text: str, refused: list[GeError] | None) -> tuple[Rule, ...]:
    if kind == ".py":
        return tuple(_python(path, topic, text))
    try:
        if kind == ".rules":
            from gedialect.patterns.formats.text import parse_rules

            if not (rules := tuple(parse_rules(text, path, topic))):
                raise GeError(
                    "the file defines no rule", code="GE1115", where=f"{path}:1", hint="docs/patterns.md shows how"
                )
            return rules
        if kind == ".json":
            from gedialect.patterns.formats.ge_json import parse_json

            return tuple(parse_json(text, path, topic, refused))
        from gedialect.patterns.formats.pdl_import import parse_pdl

        return tuple(parse_pdl(text, path, topic, refused))
    except RecursionError:
        raise GeError("the rule is nested too deeply", code="GE1115", where=path, hint="flatten the rule") from None


def _no_rule(path: str) -> GeError:
    return GeError("the file defines no rule", code="GE1115", where=f"{path}:1", hint="docs/patterns.md shows how")


def _read(path: str) -> str:
    try:
        with open(path, "rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise GeError(f"cannot read: {reason}", code="GE1002", where=path, hint="check the path") from None
    if len(data) > MAX_BYTES:
        raise GeError("too long for a file of rules", code="GE1115", where=path, hint="split it")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise GeError("no UTF-8 text", code="GE1102", where=path, hint="is it a binary file?") from None


def _python(path: str, topic: str, text: str) -> list[Rule]:
    """Runs the file as a module of its own; the same file is run once per process and content."""
    return list(_python_rules(os.path.abspath(path), path, topic, text))


@cache
def _python_rules(full: str, path: str, topic: str, text: str) -> tuple[Rule, ...]:
    name = f"gedialect_rules.{topic}"
    try:
        code = compile(text, path, "exec")
    except SyntaxError as error:
        near = f"near {error.text.strip()[:60]!r}; " if error.text and error.text.strip() else ""
        raise GeError(
            f"Python: {error.msg}",
            code="GE1115",
            where=f"{path}:{error.lineno or 1}",
            hint=f"{near}{RUNS}: docs/patterns.md shows how a rule is written",
        ) from None
    except ValueError as error:
        raise GeError(f"Python: {error}", code="GE1115", where=path, hint=RUNS) from None
    module = ModuleType(name)
    module.__file__ = full
    module.__spec__ = importlib.util.spec_from_loader(name, None)
    sys.modules[name] = module
    folder = os.path.dirname(full)
    sys.path.insert(0, folder)
    try:
        exec(code, module.__dict__)
    except GeError:
        raise
    except (Exception, SystemExit) as error:
        steps = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        line = steps[-1].lineno if steps else 1
        message = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise GeError(message, code="GE1115", where=f"{path}:{line}", hint=_advice(error)) from error
    finally:
        sys.path.remove(folder)
        sys.modules.pop(name, None)
    members = list(module.__dict__.values())
    found: list[Rule] = []
    for m in members:
        parts: list[object] = list(m) if isinstance(m, list | tuple) else [m]  # pyright: ignore[reportUnknownArgumentType]
        found += [r for r in parts if isinstance(r, Rule) and r.file == path and r not in found]
    if not found:
        raise _no_rule(path)
    return tuple(found)


def _advice(error: BaseException) -> str:
    if isinstance(error, NameError):
        from gedialect.dialects.ge import op_classes

        if f"ge.{error.name}" in {c.name for c in op_classes()}:
            return f"write ge.{error.name}"
        if error.name in patterns.__all__:
            return f"from gedialect.patterns import {error.name}"
    if isinstance(error, TypeError) and "rule() got" in str(error):
        options = [n for n in inspect.signature(patterns.rule).parameters if n != "function"]
        return f"options of a rule are {', '.join(options)}"
    return RUNS


def _check_forms(rules: Sequence[Rule]) -> None:
    """GE1105 for what shows only when a rule's matcher is made, such as outputs that nothing joins."""
    for r in rules:
        for v in r.variants:
            compile_variant(r, v, Counter())


@cache
def entry_point_rules() -> tuple[Rule, ...]:
    """Rules of installed packages: each entry point of group ``gedialect.rules`` is a rule, a list of rules, or a
    module with rules in it. GE1115 naming the package if one cannot be loaded."""
    from importlib.metadata import entry_points

    found: list[Rule] = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        where = f"{point.dist.name if point.dist is not None else 'package'}: {point.value}"
        try:
            with at_place(where):
                value = point.load()
        except GeError as error:
            raise error.at(where) from None
        except Exception as error:
            raise GeError(
                f"{type(error).__name__}: {error}", code="GE1115", where=where, hint="remove or update the package"
            ) from error
        members: list[object]
        if isinstance(value, ModuleType):
            members = list(vars(value).values())
        else:
            members = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
        rules = [m for m in members if isinstance(m, Rule)]
        if not rules:
            raise GeError("no rule in it", code="GE1115", where=where, hint="name a rule, a list of rules or a module")
        found += [r for r in rules if r not in found]
    return tuple(found)
