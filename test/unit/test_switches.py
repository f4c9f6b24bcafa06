"""Switches: names, switch files, options, and what the pipeline makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gedialect.analysis.labels import label_ops
from gedialect.errors import GeError, UsageError
from gedialect.patterns import ge, rule
from gedialect.patterns.catalogue import all_rules, topics
from gedialect.pipelines import DECIDE, OPTIMISE, STEPS, pipeline
from gedialect.switches import GE_PASSES, MODES, Choice, Switches, check_names, from_options, read_switch_file, resolve

PASSES = {step.name for step in (*OPTIMISE, *DECIDE)}


def test_ge_names_stand_for_things_that_exist():
    rules = {r.name for r in all_rules()}
    for name, targets in GE_PASSES.items():
        for target in targets:
            known = target in rules or target in PASSES or target.removeprefix("mode:") in MODES
            assert known or label_ops(target) is not None, (name, target)


def test_modes_and_canonical_rules_are_all_topics():
    assert {t for names in MODES.values() for t in names} | {"canonical"} == set(topics())


@pytest.mark.parametrize(
    ("label", "ops"),
    [
        ("layernorm_add_gelu", ("ge.layer_norm", "ge.add", "ge.gelu")),
        ("layer_norm_add_gelu", ("ge.layer_norm", "ge.add", "ge.gelu")),
        ("add_layer_norm_relu", ("ge.add_layer_norm", "ge.relu")),
        ("conv_bias_relu", ("ge.conv2d", "ge.relu")),
        ("conv_bn_silu", ("ge.conv2d", "ge.batch_norm", "ge.swish")),
        ("relu", None),
        ("no_such_thing", None),
    ],
)
def test_labels(label: str, ops: tuple[str, ...] | None):
    assert label_ops(label) == ops


def names(**switches: object) -> Choice:
    return resolve(Switches(**switches), PASSES)  # type: ignore[arg-type]


def test_each_kind_of_name():
    choice = names(disable=("cse", "gelu_erf", "memory", "conv_relu", "AddLayerNormFusionPass", "RequantFusionPass"))
    assert choice.passes_off == {"cse"}
    assert choice.rules_off == ["gelu_erf", "memory", "add_layer_norm", "add_add_layer_norm"]
    assert choice.labels_off == ["conv_relu"]
    assert choice.without_counterpart == ["RequantFusionPass"]


def test_enable_wins_and_takes_a_rule_out_of_its_topic():
    choice = names(disable=("residual", "cse"), enable=("add_rms_norm", "cse"))
    assert choice.passes_off == set()
    assert choice.rules_off == ["add_layer_norm", "add_add_layer_norm"]


def test_modes():
    choice = names(fusion_modes=("compute",))
    assert not choice.elementwise and not choice.moves
    assert set(choice.rules_off) == {"activation", "memory", "optimizer", "algebra"}
    with pytest.raises(GeError, match=r"GE1001.*modes are"):
        Switches(fusion_modes=("fast",))


def test_later_switches_decide():
    base = Switches(disable=("a", "b"), enable=("c",), max_fusion_ops=3)
    assert Switches(disable=("c",), enable=("a",)).over(base) == Switches(("b", "c"), ("a",), max_fusion_ops=3)


JSON_FORM = {
    "Switch": {
        "GraphFusion": {"LayerNormFusionPass": "off", "ConvBatchnormFusionPass": "on"},
        "UBFusion": {"ALL": "off"},
    }
}


@pytest.mark.parametrize(
    ("text", "off", "on"),
    [
        (json.dumps(JSON_FORM), ("LayerNormFusionPass", "UBFusion"), ("ConvBatchnormFusionPass",)),
        ("LayerNormFusionPass:off\n# comment\n\ngelu_erf : on  # here\n", ("LayerNormFusionPass",), ("gelu_erf",)),
        ("", (), ()),
    ],
)
def test_switch_file(tmp_path: Path, text: str, off: tuple[str, ...], on: tuple[str, ...]):
    path = tmp_path / "fusion_switch.cfg"
    path.write_text(text)
    assert read_switch_file(str(path)) == Switches(off, on)


@pytest.mark.parametrize(
    "text",
    [
        "LayerNormFusionPass off",
        "LayerNormFusionPass:maybe",
        "{",
        "{}",
        '{"Switch": []}',
        '{"Switch": {"Other": {}}}',
        '{"Switch": {"UBFusion": {"A": 1}}}',
        "[" * 100_000,
        '{"a":' + "[" * 100_000,
    ],
)
def test_malformed_switch_file(tmp_path: Path, text: str):
    path = tmp_path / "fusion_switch.cfg"
    path.write_text(text)
    with pytest.raises(GeError, match="GE1018"):
        read_switch_file(str(path))


def test_missing_switch_file(tmp_path: Path):
    with pytest.raises(GeError, match="GE1002"):
        read_switch_file(str(tmp_path / "none.cfg"))


def test_options():
    found = from_options(
        {
            "ge.graph_fusion_patterns.disable": "layernorm_add_gelu, gelu_erf",
            "ge.optimizationSwitch": "cse:off;gelu_erf:on",
            "ge.max_fusion_ops": "4",
            "ge.fusion_modes": ["compute"],
            "ge.strict_numerics": True,
        }
    )
    assert found == Switches(("layernorm_add_gelu", "cse"), ("gelu_erf",), ("compute",), 4, True)
    with pytest.raises(GeError, match=r"GE1001.*unknown option ge.precision_mode"):
        from_options({"ge.precision_mode": "x"})


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        *(("max_fusion_ops", v, "1 or more, or 0") for v in ("x", "", "-1", -1, 2.5, True, None, "9" * 5000)),
        *(("strict_numerics", v, "true, false, 1 or 0") for v in ("maybe", "", 3, 1.0, None, [])),
        *(("fusion_modes", v, "some of elementwise, compute") for v in ("fast", ["memory", "fast"], 3, None, [3])),
        *(("graph_fusion_patterns.disable", v, "names, separated by") for v in (3, None, b"cse", {"cse": 1}, [None])),
        ("graph_fusion_patterns.enable", 3, "names, separated by"),
        *(("fusionSwitchFile", v, "the name of a file") for v in ("", 3, None, b"a")),
        *(("optimizationSwitch", v, "NAME:on or NAME:off") for v in ("cse", "cse:maybe", ":on", 3, {"cse": "on"})),
    ],
)
@pytest.mark.parametrize("prefix", ["", "ge."])
def test_wrong_values_of_options(prefix: str, key: str, value: object, allowed: str):
    with pytest.raises(UsageError, match="GE1001") as caught:
        from_options({prefix + key: value})
    assert caught.value.message == f"option {prefix}{key} is {value!r:.80}"
    assert allowed in (caught.value.hint or "")


def test_forms_of_values_of_options(tmp_path: Path):
    for value in ("1", "true", "TRUE", 1, True):
        assert from_options({"ge.strict_numerics": value}).strict
    for value in ("0", "false", "False", 0, False):
        assert not from_options({"ge.strict_numerics": value}).strict
    assert from_options({"ge.max_fusion_ops": 7}).max_fusion_ops == 7
    assert from_options({"ge.fusion_modes": "compute, memory"}).fusion_modes == ("compute", "memory")
    assert from_options({"ge.fusion_modes": ""}).fusion_modes == ()
    (tmp_path / "switch.cfg").write_text("gelu_erf:off\n")
    assert from_options({"ge.fusionSwitchFile": tmp_path / "switch.cfg"}).disable == ("gelu_erf",)


def test_pipeline():
    found = pipeline(2, switches=Switches(("layernorm_add_gelu", "dce", "gelu_erf"), max_fusion_ops=5, strict=True))
    assert "dce" not in found
    assert "apply-rules{level=2 strict=true disable=gelu_erf}" in found
    assert "group-kernels{target=ascend910b1 forbid=layernorm_add_gelu max-ops=5}" in found
    assert "apply-rules{rules=gelu_erf,swish}" in pipeline(1, switches=Switches(enable=("gelu_erf", "swish")))
    assert "apply-rules{rules=gelu_erf}" in pipeline(0, switches=Switches(enable=("gelu_erf",)))


def test_what_is_enabled_by_name_wins_over_strict_numerics():
    enable = (
        "ConvBatchnormFusionPass",
        "activation",
        "own_rule",
        "integer-products",
        "matmul_gelu_add",
        "AnyFusionPass",
    )
    choice = names(enable=enable)
    assert choice.rules_on == list(GE_PASSES["ConvBatchnormFusionPass"])
    assert choice.others_on == ["activation", "own_rule"]
    enabled = Switches(enable=("conv2d_batch_norm", "own_rule", "integer-products"), strict=True)
    assert names(enable=("SumOfSquares",), disable=("OtherRule",)).without_counterpart == ["OtherRule"]
    own = resolve(Switches(("OtherRule",), ("SumOfSquares",)), PASSES, ("SumOfSquares", "OtherRule"))
    assert (own.others_on, own.rules_off, own.without_counterpart) == (["SumOfSquares"], ["OtherRule"], [])
    found = pipeline(2, switches=enabled)
    assert found.count("apply-rules{level=2 strict=true keep=conv2d_batch_norm,own_rule}") == 2
    assert "integer-products" in found
    assert "integer-products{strict=true}" in pipeline(2, switches=Switches(strict=True))
    assert "apply-rules{rules=conv2d_batch_norm keep=own_rule}" in pipeline(1, switches=enabled)
    assert "apply-rules{level=0 keep=activation disable=swish}" in pipeline(
        1, switches=Switches(("swish",), ("activation",), strict=True)
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gelu_errf", "did you mean the rule gelu_erf"),
        ("fold-constant", "did you mean the pass fold-constants"),
        ("activatoin", "did you mean the topic activation"),
        ("elementwise", "--fusion-modes compute,memory,optimizer,algebra leaves it out"),
        ("qqqq", "docs/rules.md"),
    ],
)
@pytest.mark.parametrize("side", ["disable", "enable"])
def test_unknown_name(name: str, hint: str, side: str):
    with pytest.raises(UsageError, match="GE1107") as caught:
        check_names(Switches(**{side: (name,)}), STEPS, lambda: ())
    assert hint in str(caught.value)


def test_known_names():
    @rule()
    def own(x):
        return ge.relu(ge.relu(x)), ge.relu(x)

    known = ("GraphFusion", "AnyFusionPass", "cse", "gelu_erf", "activation", "layernorm_add_gelu", "own", own.topic)
    check_names(Switches(known, known), STEPS, lambda: (own,))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n "Switch": {\n  "GraphFusion": {\n   "ALL": "on",\n   "a": true}}}', 5),
        ('{\n "Switch": {\n  "GraphFusion": {},\n  "Others": {}}}', 4),
        ('{\n "Switch": {\n  "GraphFusion": {\n   "a": "on",\n   "a": "off"}}}', 5),
        ('{\n "Switch":\n []}', 2),
    ],
)
def test_json_has_lines(tmp_path: Path, text: str, line: int):
    path = tmp_path / "fusion_switch.cfg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="GE1018") as caught:
        read_switch_file(str(path))
    assert caught.value.where == f"{path}:{line}"


def test_docs_list_ge_names():
    text = (Path(__file__).parents[2] / "docs" / "fusion.md").read_text(encoding="utf-8")
    for name, targets in GE_PASSES.items():
        (line,) = [row for row in text.splitlines() if row.startswith(f"| {name} |")]
        assert all(f"`{t.removeprefix('mode:')}`" in line for t in targets), line
