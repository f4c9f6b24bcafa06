"""What a compilation leaves out or limits, said as GE's users say it: names, groups, a switch file, options.

A name is a pass, a rule or topic of the catalogue, the name of a GE pass that means the same (``GE_PASSES``), or the
label of a kernel such as ``layer_norm_add_gelu`` (``layernorm_add_gelu`` too): the ops of one kernel in order.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from gedialect.errors import GeError, UsageError
from gedialect.fusion_modes import MODES

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

GE_PASSES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ConvBatchnormFusionPass": tuple(f"conv{n}_batch_norm" for n in ("2d", "3d", "2d_transpose", "3d_transpose")),
        "ConvScaleFusionPass": tuple(f"conv{n}_scale" for n in ("2d", "3d", "2d_transpose", "3d_transpose")),
        "AConv2dMulFusion": ("conv2d_scale",),
        "AABiasaddConvFusion": ("bias_add_constant", "conv2d_bias", "conv3d_bias"),
        "BatchNormBnInferFusionPass": ("batch_norm_affine",),
        "SingleBatchNormFusion": ("batch_norm_affine",),
        "PadConv2dFusionPass": ("pad_conv2d",),
        "PaddConv2dFusionPass": ("pad_conv2d",),
        "MatMulBiasAddFusionPass": ("matmul_bias", "matmul_bias_bias"),
        "BatchMatMulTransposeFusionPass": ("matmul_transpose_x1", "matmul_transpose_x2"),
        "LayerNormFusionPass": ("layer_norm", "layer_norm_gamma", "layer_norm_beta", "layer_norm_tensorflow"),
        "LayerNormONNXFusionPass": ("layer_norm", "layer_norm_gamma", "layer_norm_beta"),
        "AddLayerNormFusionPass": ("add_layer_norm", "add_add_layer_norm"),
        "AddRmsNormFusionGraphPass": ("add_rms_norm",),
        "GLUFusionPass": ("swiglu_split", "swiglu_projection"),
        "GeGluV2FusionPass": ("geglu_split", "geglu_tanh_split", "geglu_projection"),
        "RotaryMul2RotaryPositionEmbeddingFusionPass": ("rotary_halves", "rotary_halves_split"),
        "CastRemoveFusionPass": ("cast_same", "cast_cast"),
        "CastRemovePass": ("cast_same", "cast_cast"),
        "PermuteFusionPass": ("transpose_transpose", "transpose_identity"),
        "PermutePass": ("transpose_identity",),
        "ReshapeRemovePass": ("reshape_same", "view_view"),
        "ASliceConcatV2FusionPass": ("concat_slices",),
        "ZConcatv2dFusionPass": ("concat_one", "concat_empty"),
        "CommonSubexpressionEliminationPass": ("cse",),
        "ConstantFoldingPass": ("fold-constants",),
        "TransOpWithoutReshapeFusionPass": ("convert-layout",),
        "AutoFusePass": ("mode:elementwise", "mode:memory"),
        "TbeEltwiseFusionPass": ("mode:elementwise",),
        "TbeReduceElemwiseFusionPass": ("mode:elementwise",),
        "MatmulConfusiontransposeUbFusion": ("matmul_transpose", "transpose_matmul"),
        "ATbeMatmulElemwiseFusionPass": ("matmul_relu", "matmul_leaky_relu", "matmul_cast"),
        "TbeConvDequantVaddReluFusionPass": ("conv2d_relu",),
    }
)
"""GE's names (graph and UB fusion passes, node passes) -> what of ours does the same."""

GRAPH_FUSION, UB_FUSION = "GraphFusion", "UBFusion"
ON, OFF = "on", "off"


@dataclass(frozen=True)
class Switches:
    """``disable`` and ``enable`` are names (see the module), the latter wins. ``fusion_modes`` are the groups of
    ``MODES`` to use, None means all. ``max_fusion_ops`` bounds the ops of a kernel, 0: what the chip's buffers hold.
    ``strict`` leaves out what can change floating-point results and is not enabled by name."""

    disable: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    fusion_modes: tuple[str, ...] | None = None
    max_fusion_ops: int = 0
    strict: bool = False

    def __post_init__(self) -> None:
        for mode in self.fusion_modes or ():
            if mode not in MODES:
                raise UsageError(f"unknown fusion mode {mode}", code="GE1001", hint=f"modes are {', '.join(MODES)}")
        if self.max_fusion_ops < 0:
            raise UsageError(
                f"max_fusion_ops is {self.max_fusion_ops}", code="GE1001", hint="give 1 or more, or 0 for the default"
            )

    def over(self, base: Switches) -> Switches:
        """These after ``base``: what both speak of is decided here."""
        return Switches(
            tuple(dict.fromkeys([*(n for n in base.disable if n not in self.enable), *self.disable])),
            tuple(dict.fromkeys([*(n for n in base.enable if n not in self.disable), *self.enable])),
            base.fusion_modes if self.fusion_modes is None else self.fusion_modes,
            self.max_fusion_ops or base.max_fusion_ops,
            self.strict or base.strict,
        )


@dataclass
class Choice:
    """``Switches`` as the pipeline needs them."""

    passes_off: set[str] = field(default_factory=set[str])
    rules_off: list[str] = field(default_factory=list[str])
    rules_on: list[str] = field(default_factory=list[str])
    """Rules of the catalogue named to be on, whatever their level and exactness."""
    others_on: list[str] = field(default_factory=list[str])
    """So for topics, and for rules and topics of files."""
    passes_on: set[str] = field(default_factory=set[str])
    labels_off: list[str] = field(default_factory=list[str])
    elementwise: bool = True
    moves: bool = True
    without_counterpart: list[str] = field(default_factory=list[str])
    """Names of GE passes that nothing here corresponds to."""


def resolve(switches: Switches, passes: Iterable[str], own: Collection[str] = ()) -> Choice:
    """What the names stand for; ``own`` are rules and topics beside the catalogue. Names that nothing here knows are
    taken for rules: ``apply-rules``, which also knows those of files, refuses them (GE1107)."""
    choice = Choice()
    if not (switches.disable or switches.enable or switches.fusion_modes is not None):
        return choice
    from gedialect.analysis.labels import label_ops
    from gedialect.patterns.catalogue import all_rules, topics

    known = set(passes)
    rules = {r.name: r for r in all_rules()}
    on = [t for name in switches.enable for t in GE_PASSES.get(name, (name,))]
    off: list[str] = []
    for name in switches.disable:
        if name == GRAPH_FUSION:
            off += [t for t in topics() if t != "canonical"]
        elif name == UB_FUSION:
            off += ["mode:elementwise", "mode:memory"]
        elif name in GE_PASSES:
            off += GE_PASSES[name]
        elif _of_ge(name) and name not in own:
            choice.without_counterpart.append(name)
        else:
            off.append(name)
    if switches.fusion_modes is not None:
        off += [t for m, names in MODES.items() if m not in switches.fusion_modes for t in names]
        choice.elementwise = "elementwise" in switches.fusion_modes
        choice.moves = "memory" in switches.fusion_modes
    choice.passes_on = known.intersection(on)
    kernels = {GRAPH_FUSION, UB_FUSION, "mode:elementwise", "mode:memory"}
    for name in dict.fromkeys(on):
        if name in rules:
            choice.rules_on.append(name)
        elif name in topics() or name in own:
            choice.others_on.append(name)
        elif not (name in known or name in kernels or _of_ge(name) or label_ops(name) is not None):
            choice.others_on.append(name)
    for name in dict.fromkeys(off):
        if name in on:
            continue
        if name == "mode:elementwise":
            choice.elementwise = False
        elif name == "mode:memory":
            choice.moves = False
        elif name in known:
            choice.passes_off.add(name)
        elif name in topics():
            inside = [r for r in rules.values() if r.topic == name]
            kept = [r.name for r in inside if r.name in on]
            choice.rules_off += [r.name for r in inside if r.name not in kept] if kept else [name]
        elif name not in rules and label_ops(name) is not None:
            choice.labels_off.append(name)
        else:
            choice.rules_off.append(name)
    return choice


def check_names(switches: Switches, passes: Iterable[str], extra: Callable[[], Iterable[Rule]]) -> None:
    """GE1107 for a name that stands for nothing; ``extra`` gives the rules beside the catalogue."""
    names = [n for n in (*switches.disable, *switches.enable) if n not in (GRAPH_FUSION, UB_FUSION, *GE_PASSES)]
    names = [n for n in names if not _of_ge(n)]
    if not names:
        return
    from gedialect.analysis.labels import label_ops
    from gedialect.patterns.catalogue import all_rules

    kinds = dict.fromkeys(MODES, "the group of fusions")
    rules = (*all_rules(), *extra())
    kinds |= dict.fromkeys((r.name for r in rules), "the rule") | dict.fromkeys((r.topic for r in rules), "the topic")
    kinds |= dict.fromkeys(passes, "the pass")
    for name in names:
        kind = kinds.get(name)
        if kind == "the group of fusions":
            others = ",".join(m for m in MODES if m != name)
            hint = f"it is a group of fusions: --fusion-modes {others} leaves it out"
        elif kind is not None or label_ops(name) is not None:
            continue
        else:
            near = get_close_matches(name, kinds, 3)
            hint = f"did you mean {' or '.join(f'{kinds[n]} {n}' for n in near)}?" if near else LISTED
        raise UsageError(f"no pass, rule, topic or kernel is named {name}", code="GE1107", hint=hint)


def say_left_out(error: GeError, switches: Switches, passes: Iterable[str]) -> GeError:
    """The error of a later pass; if it asks for a pass that ``switches`` leave out, its hint says so."""
    off = resolve(switches, passes).passes_off if switches.disable else set[str]()
    for name in sorted(off):
        if error.hint is not None and re.search(rf"\brun {name}\b", error.hint):
            error.hint = f"{name} is left out by a switch (--disable or its like): take it out of the switches"
    return error


LISTED = "docs/rules.md lists rules and topics, ge-opt --list-passes the passes"


def _of_ge(name: str) -> bool:
    """Whether a name is written as GE's passes are."""
    return re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) is not None


# ---------------------------------------------------------------- switch file, options
def read_switch_file(path: str) -> Switches:
    """``fusion_switch.cfg``: GE's JSON, ``{"Switch": {"GraphFusion": {NAME: "on" | "off"}, "UBFusion": {...}}}`` with
    ALL for the whole group, or lines ``NAME:on``; # begins a comment. GE1002, GE1018 with the line at fault."""
    try:
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
    except OSError as error:
        raise GeError(f"cannot read: {error.strerror}", code="GE1002", where=path, hint="check the path") from None
    except UnicodeDecodeError:
        raise _bad(path, "it is no text") from None
    pairs = _from_json(path, text) if text.lstrip().startswith("{") else _from_lines(path, text)
    return Switches(
        tuple(dict.fromkeys(n for n, on in pairs if not on)), tuple(dict.fromkeys(n for n, on in pairs if on))
    )


def _bad(where: str, message: str) -> GeError:
    return UsageError(
        f"no fusion switch file: {message}", code="GE1018", where=where, hint="write NAME:on, NAME:off, or GE's JSON"
    )


def _state(where: str, name: str, value: object) -> tuple[str, bool]:
    if not isinstance(value, str) or value.lower() not in (ON, OFF):
        raise _bad(where, f"{name} is {value!r}, not on or off")
    return name, value.lower() == ON


def _from_json(path: str, text: str) -> list[tuple[str, bool]]:
    from gedialect.patterns.formats.json_lines import Object, load

    try:
        whole: object = load(text, lambda key, line: _bad(f"{path}:{line}", f"{key} is there twice"))
    except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits
        line = f"{path}:{error.lineno}" if isinstance(error, json.JSONDecodeError) else path
        raise _bad(line, "it is no JSON") from None
    top = whole.get("Switch") if isinstance(whole, Object) else None
    if not isinstance(whole, Object) or not isinstance(top, Object):
        raise _bad(f"{path}:{whole.lines.get('Switch', 1) if isinstance(whole, Object) else 1}", 'there is no "Switch"')
    pairs: list[tuple[str, bool]] = []
    for group, entries in top.items():
        if group not in (GRAPH_FUSION, UB_FUSION) or not isinstance(entries, Object):
            message = f"{group} is not {GRAPH_FUSION} or {UB_FUSION} with its switches"
            raise _bad(f"{path}:{top.lines[group]}", message)
        for name, value in entries.items():
            name, on = _state(f"{path}:{entries.lines[name]}", name, value)
            if name != "ALL":
                pairs.append((name, on))
            elif not on:
                pairs.append((group, False))
    return pairs


def _from_lines(path: str, text: str) -> list[tuple[str, bool]]:
    pairs: list[tuple[str, bool]] = []
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if content:
            name, colon, value = (part.strip() for part in content.partition(":"))
            if not colon or not name:
                raise _bad(f"{path}:{number}", f"{content!r} is not NAME:on or NAME:off")
            pairs.append(_state(f"{path}:{number}", name, value))
    return pairs


def from_options(options: Mapping[str, object]) -> Switches:
    """Switches from options under GE's keys: ``ge.graph_fusion_patterns.disable`` and ``.enable`` (names, separated
    by commas), ``ge.fusionSwitchFile`` (a path), ``ge.optimizationSwitch`` (``NAME:on;NAME:off``), and
    ``ge.max_fusion_ops``, ``ge.fusion_modes``, ``ge.strict_numerics``. GE1001 for another key or value."""
    found = Switches()
    for key, value in options.items():
        match key.removeprefix("ge."):
            case "graph_fusion_patterns.disable":
                found = Switches(disable=_names(key, value)).over(found)
            case "graph_fusion_patterns.enable":
                found = Switches(enable=_names(key, value)).over(found)
            case "fusionSwitchFile":
                found = read_switch_file(_path(key, value)).over(found)
            case "optimizationSwitch":
                found = _states(key, value).over(found)
            case "max_fusion_ops":
                found = replace(found, max_fusion_ops=_count(key, value))
            case "fusion_modes":
                found = replace(found, fusion_modes=_names(key, value, MODES))
            case "strict_numerics":
                found = replace(found, strict=_flag(key, value))
            case _:
                raise UsageError(
                    f"unknown option {key}",
                    code="GE1001",
                    hint="ge.graph_fusion_patterns.disable, ge.graph_fusion_patterns.enable, ge.fusionSwitchFile, "
                    "ge.optimizationSwitch, ge.max_fusion_ops, ge.fusion_modes, ge.strict_numerics",
                )
    return found


def _wrong(key: str, value: object, allowed: str) -> UsageError:
    return UsageError(f"option {key} is {value!r:.80}", code="GE1001", hint=f"it is {allowed}")


def _names(key: str, value: object, allowed: Iterable[str] = ()) -> tuple[str, ...]:
    """Names, as text between commas or as a list; of ``allowed`` if there are any."""
    what = f"some of {', '.join(allowed)}" if allowed else "names"
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, Collection) or isinstance(items, bytes | Mapping):
        raise _wrong(key, value, f"{what}, separated by commas")
    names: list[str] = []
    for item in cast("Collection[object]", items):
        if not isinstance(item, str) or (allowed and item.strip() and item.strip() not in allowed):
            raise _wrong(key, value, f"{what}, separated by commas")
        names.append(item.strip())
    return tuple(n for n in names if n)


def _path(key: str, value: object) -> str:
    text = os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or not text:
        raise _wrong(key, cast("object", value), "the name of a file")
    return text


def _states(key: str, value: object) -> Switches:
    """``NAME:on;NAME:off``."""
    if not isinstance(value, str):
        raise _wrong(key, value, "NAME:on or NAME:off, separated by ;")
    try:
        pairs = _from_lines(key, value.replace(";", "\n"))
    except UsageError:
        raise _wrong(key, value, "NAME:on or NAME:off, separated by ;") from None
    return Switches(tuple(n for n, on in pairs if not on), tuple(n for n, on in pairs if on))


def _count(key: str, value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}", text := str(value).strip()):
        raise _wrong(key, value, "a number of ops, 1 or more, or 0 for what the chip's buffers hold")
    return int(text)


def _flag(key: str, value: object) -> bool:
    text = str(value).lower() if isinstance(value, str | int) else ""
    if text not in ("0", "1", "false", "true"):
        raise _wrong(key, value, "true, false, 1 or 0")
    return text in ("1", "true")
