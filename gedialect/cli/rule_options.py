"""The options about rules that ge-opt and ge-compile share, and what ge-opt does with rules instead of a model."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gedialect.errors import EXIT_CHECK_FAILED, EXIT_OK, GeError

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

KINDS = "FILE.py, FILE.rules, FILE.json or FILE.pdl.mlir"


def add_rules_option(parser: argparse.ArgumentParser) -> None:
    """``--rules FILE``, any number of times."""
    parser.add_argument(
        "--rules", metavar="FILE", action="append", default=[], help=f"load rewrite rules, repeatable: {KINDS}"
    )


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """What ge-opt has on rules."""
    add_rules_option(parser)
    add = parser.add_argument
    add(
        "--debug-rule",
        metavar="NAME",
        action="append",
        default=[],
        help="say for each op it could start at how far a rule came and what stopped it",
    )
    add("--trace-rules", action="store_true", help="print the ops before and after each application of a rule")
    add("--rule-stats", action="store_true", help="print a table of rules: tried, matched, rejected by what, time")
    add(
        "--verify-rules",
        metavar="FILE",
        nargs="?",
        const="",
        help="prove the rules of a file (or all there are) on random instances, and stop; exit code 3 if one is wrong",
    )
    add("--instances", metavar="N", type=_positive, default=24, help="instances of each form to prove (default 24)")
    add("--dump-pdl", action="store_true", help="print the rules as PDL where PDL can say them, and stop")
    add("--dump-rules", action="store_true", help="print the rules in text form where it can say them, and stop")


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return int(text)


def load_all(paths: Sequence[str]) -> tuple[Rule, ...]:
    """The rules of all files, in order; a rule that a format cannot say is told on stderr, the others are loaded."""
    from gedialect.patterns.formats import load_rules

    found: list[Rule] = []
    for path in paths:
        refused: list[GeError] = []
        loaded = load_rules(path, refused)
        if not loaded and refused:
            raise refused[0]
        for error in refused:
            print(str(error).replace("error ", "warning ", 1), file=sys.stderr)
        found += [r for r in loaded if r not in found]
    names: dict[str, Rule] = {}
    for r in found:
        if (other := names.setdefault(r.name, r)) is not r:
            raise GeError(
                f"two rules are named {r.name}", code="GE1105", where=r.where, hint=f"the other is at {other.where}"
            )
    return tuple(found)


def alone(rules: Sequence[Rule]) -> str:
    """The pipeline that applies these rules and no others."""
    return f"apply-rules{{rules={','.join(r.name for r in rules)}}}"


def without_model(args: argparse.Namespace) -> int | None:
    """Do what the options ask for about rules alone; None if they ask for nothing of the kind."""
    if args.verify_rules is not None:
        paths = [*args.rules, *([args.verify_rules] if args.verify_rules else [])]
        rules = chosen(paths)
        if paths:
            check_names(rules)
        return verify(rules, args.instances)
    if args.dump_pdl:
        from gedialect.patterns.formats.pdl_export import dump_pdl

        print(dump_pdl(chosen(args.rules)), end="")
        return EXIT_OK
    if args.dump_rules:
        print(dump_text(chosen(args.rules)), end="")
        return EXIT_OK
    return None


def chosen(paths: Sequence[str]) -> tuple[Rule, ...]:
    """The rules of the files; without files, those of the catalogue and of packages."""
    if paths:
        return load_all(paths)
    from gedialect.patterns.catalogue import select
    from gedialect.patterns.formats import entry_point_rules

    return select(level=9, extra=entry_point_rules())


def check_names(loaded: Sequence[Rule]) -> None:
    """GE1105 if a name is taken, as when the rules run; a file of the catalogue or of a package may be its own."""
    from gedialect.patterns.catalogue import all_rules, select
    from gedialect.patterns.formats import entry_point_rules

    places = {(r.name, os.path.realpath(r.file), r.line) for r in (*all_rules(), *entry_point_rules())}
    others = [r for r in loaded if (r.name, os.path.realpath(r.file), r.line) not in places]
    select(extra=(*entry_point_rules(), *others))


def dump_text(rules: Sequence[Rule]) -> str:
    """The text form; rules that it cannot say are comments with the reason."""
    from gedialect.patterns.formats.text_printer import print_rule

    parts: list[str] = []
    for r in rules:
        try:
            parts.append(print_rule(r))
        except GeError as error:
            parts.append(f"# {error.message}\n")
    return "\n".join(parts)


def verify(rules: Sequence[Rule], instances: int) -> int:
    """Prove rules and print a line for each; a wrong one with its smallest counterexample."""
    from gedialect.testing import check_rule

    wrong = tried = 0
    for r in rules:
        try:
            proof = check_rule(r, instances=instances)
        except GeError as error:  # a function of the rule that fails for some values
            wrong += 1
            print(f"WRONG {r.name}\n  {error}")
            continue
        tried += proof.matched
        forms = len(r.variants)
        what = f"{r.name:32} {r.exact:9} {proof.matched:5} instances of {forms} form{'s' if forms > 1 else ''}"
        if proof.holds:
            print(f"ok    {what}")
            continue
        wrong += 1
        print(f"WRONG {what}" if proof.counterexample is not None else f"?     {what}")
        print("  " + str(proof).replace("\n", "\n  "))
        sys.stdout.flush()
    print(f"{len(rules) - wrong} of {len(rules)} rules hold on {tried} instances")
    return EXIT_CHECK_FAILED if wrong else EXIT_OK
