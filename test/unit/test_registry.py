"""Registries come from the folders, import nothing, and stay disjoint from xDSL's."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from xdsl.passes import ModulePass
from xdsl.universe import XDSL_UNIVERSE, Universe

from gedialect.errors import UsageError
from gedialect.ir import registry
from gedialect.ir.context import GeContext, count
from gedialect.pipelines import LEVELS, pass_name, pipeline, unknown_pass
from gedialect.switches import Switches
from gedialect.universe import GE_UNIVERSE

OURS = registry.pass_modules()


@pytest.mark.parametrize("name", OURS)
def test_pass_file_and_class_agree(name: str):
    cls = registry.pass_factories()[name]()
    assert issubclass(cls, ModulePass)
    assert cls.name == name
    assert cls.__module__ == OURS[name], "the class must be defined in the file of its name"


@pytest.mark.parametrize("name", OURS)
def test_pass_says_what_it_does(name: str):
    doc = importlib.import_module(OURS[name]).__doc__
    assert doc and doc.strip(), "the first line of the module's docstring is shown by --list-passes"


def test_names_are_disjoint_from_xdsl():
    for part in ("all_dialects", "all_passes", "all_targets", "all_frontends"):
        ours, theirs = getattr(GE_UNIVERSE, part), getattr(XDSL_UNIVERSE, part)
        assert not set(ours) & set(theirs), part


def test_plain_xdsl_opt_knows_us():
    multiverse = Universe.get_multiverse()
    assert "ge" in multiverse.all_dialects
    assert set(OURS) <= set(multiverse.all_passes)
    assert multiverse.all_dialects["ge"]().name == "ge"


@pytest.mark.parametrize("name", sorted(registry.dialect_factories()))
def test_dialect_loads_under_its_name(name: str):
    assert registry.load_dialect(name).name == name


def test_listing_imports_no_pass_and_no_dialect():
    code = (
        "import sys; from gedialect.universe import GE_UNIVERSE; from gedialect.cli.pass_list import listing;"
        "listing([]); bad = [m for m in sys.modules if m.startswith(('gedialect.transforms.', 'lowering.transforms.',"
        "'gedialect.dialects.', 'gedialect.frontends.', 'numpy', 'onnx'))]; assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("level", LEVELS)
def test_levels_name_passes_that_exist(level: int):
    known = GeContextPasses.names()
    assert [p for p in map(pass_name, pipeline(level)) if p not in known] == []


class GeContextPasses:
    @staticmethod
    def names() -> set[str]:
        return {*XDSL_UNIVERSE.all_passes, *OURS}


def test_levels_grow():
    sizes = [len(pipeline(level)) for level in LEVELS]
    assert sizes == sorted(sizes)
    assert pipeline("O2") == pipeline(2) == pipeline("2")


def test_disable_removes_every_occurrence():
    assert "cse" in map(pass_name, pipeline(3))
    assert "cse" not in map(pass_name, pipeline(3, switches=Switches(("cse",))))


def test_disabled_rules_strictness_and_target_reach_the_passes():
    off = Switches(("gelu_erf", "cse", "softmax"), strict=True)
    found = pipeline("O2", target="ascend910b3", switches=off)
    assert "apply-rules{level=2 strict=true disable=gelu_erf,softmax}" in found
    assert "select-kernels{target=ascend910b3}" in found


@pytest.mark.parametrize("level", ["O4", "x", -1, ""])
def test_unknown_level(level: str | int):
    with pytest.raises(UsageError, match="unknown level"):
        pipeline(level)


def test_unknown_pass_suggests_near_ones():
    assert "canonicalize" in (unknown_pass("canonicalise", ["canonicalize", "cse"]).hint or "")


def test_context_clone_keeps_what_it_knows():
    ctx = GeContext(allow_unregistered=True)
    count(ctx, "p", "hits", 2)
    ctx.load_registered_dialect("ge")
    copy = ctx.clone()
    assert type(copy) is GeContext
    assert copy.allow_unregistered
    assert set(copy.registered_dialect_names) == set(ctx.registered_dialect_names)
    assert copy.get_optional_op("ge.add") is not None
    assert copy.weights is ctx.weights
    assert not copy.statistics and ctx.statistics["p", "hits"] == 2
