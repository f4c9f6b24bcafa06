"""How a model is compiled."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gedialect.api.report import Report
from gedialect.errors import UsageError
from gedialect.pipelines import level_number
from gedialect.switches import Switches
from gedialect.targets import load_target

if TYPE_CHECKING:
    from gedialect.patterns.rule import Rule

PRECISIONS = ("origin", "fp16")


@dataclass(frozen=True)
class Settings:
    """``rules`` come beside those of the catalogue; ``time``: predict the latency."""

    level: str | int = "O2"
    target: str = "ascend910b1"
    precision: str = "origin"
    time: bool = False
    rules: tuple[Rule, ...] = ()
    switches: Switches = field(default_factory=Switches)

    def check(self) -> Settings:
        """GE1001 or GE1016 for a level, target or precision that is none."""
        level_number(self.level)
        load_target(self.target)
        if self.precision not in PRECISIONS:
            raise UsageError(
                f"unknown precision {self.precision}", code="GE1001", hint=f"one of {', '.join(PRECISIONS)}"
            )
        return self

    @property
    def names(self) -> dict[str, str]:
        """Level, target and precision as a file or report holds them."""
        return {"level": f"O{level_number(self.level)}", "target": self.target, "precision": self.precision}

    def report(self) -> Report:
        """An empty report."""
        return Report(target=self.target, level=self.names["level"], precision=self.precision)

    @property
    def said_by_names(self) -> bool:
        """Whether ``names`` are all there is to say: a file can hold them, but no rules and switches."""
        return not self.rules and self.switches == Switches()

    @staticmethod
    def of_names(names: Mapping[str, str]) -> Settings:
        """The settings that ``names`` says; errors as of ``check``."""
        return Settings(names["level"], names["target"], names["precision"]).check()


def load_rules(rules: Sequence[str | os.PathLike[str] | Rule]) -> tuple[Rule, ...]:
    """Rules as they are, and those of files; see ``gedialect.patterns.formats.load_rules``."""
    found: list[Rule] = []
    for r in rules:
        if isinstance(r, str | os.PathLike):
            from gedialect.patterns.formats import load_rules as load_file

            found += load_file(r)
        else:
            found.append(r)
    return tuple(found)
