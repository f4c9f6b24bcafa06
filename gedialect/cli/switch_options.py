"""Options of ge-opt and ge-compile that switch fusions on and off; see ``gedialect.switches``."""

from __future__ import annotations

import argparse

from gedialect.switches import MODES, Switches, from_options, read_switch_file


def add_switch_options(parser: argparse.ArgumentParser) -> None:
    """``--disable``, ``--enable``, ``--fusion-switch-file``, ``--fusion-modes``, ``--max-fusion-ops``,
    ``--strict-numerics``, ``--option``."""
    add = parser.add_argument
    names = "passes, rules, topics, labels of kernels, GE's passes"
    add("--disable", metavar="NAMES", action="append", default=[], help=f"leave out {names}")
    add("--enable", metavar="NAMES", action="append", default=[], help="use these whatever leaves them out")
    add("--fusion-switch-file", metavar="FILE", help="GE's fusion_switch.cfg, or lines NAME:on")
    add("--fusion-modes", metavar="MODES", help=f"of {','.join(MODES)}")
    add("--max-fusion-ops", metavar="N", type=int, default=0, help="most ops of a kernel")
    add("--strict-numerics", action="store_true", help="keep floating-point results")
    add("--option", metavar="KEY=VALUE", action="append", default=[], help="switches under GE's keys")


def switches_of(options: argparse.Namespace) -> Switches:
    """What the options say: the switch file first, then ``--option``, then the others."""
    found = Switches()
    if options.fusion_switch_file is not None:
        found = read_switch_file(options.fusion_switch_file)
    pairs = dict(text.partition("=")[::2] for text in options.option)
    if pairs:
        found = from_options(pairs).over(found)
    modes = None if options.fusion_modes is None else tuple(m for m in options.fusion_modes.split(",") if m)
    disable = tuple(n for text in options.disable for n in text.split(",") if n)
    enable = tuple(n for text in options.enable for n in text.split(",") if n)
    return Switches(disable, enable, modes, options.max_fusion_ops, options.strict_numerics).over(found)


def unused_switches(options: argparse.Namespace) -> list[str]:
    """The options of ``add_switch_options`` that were given, for a run without the passes they are about."""
    given = {
        "--disable": options.disable,
        "--enable": options.enable,
        "--fusion-switch-file": options.fusion_switch_file is not None,
        "--fusion-modes": options.fusion_modes is not None,
        "--max-fusion-ops": options.max_fusion_ops,
        "--strict-numerics": options.strict_numerics,
        "--option": options.option,
    }
    return [name for name, value in given.items() if value]
