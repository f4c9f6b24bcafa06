"""Rules from files: Python, the text form ``.rules``, GE's JSON fusion rules, PDL; see ``load_rules``."""

from gedialect.patterns.formats.loading import entry_point_rules, load_rules

__all__ = ["entry_point_rules", "load_rules"]
