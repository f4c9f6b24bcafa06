"""xDSL's printer, with names that are different.

xDSL numbers values of one name hint (``a``, ``a_1``, ``a_2``) without looking whether another value has the hint
``a_1``; two values of one name do not parse again.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.printer import Printer


class UniquePrinter(Printer):
    """As ``Printer``; a name that is taken is counted on from."""

    def print_ssa_value(self, value: SSAValue) -> str:
        hint = value.name_hint
        if hint and value not in self._ssa_values:
            taken = self.ssa_names  # names in this scope -> how often they were asked for
            count = taken.get(hint, 0)
            name = f"{hint}_{count}" if count else hint
            while count and name in taken:
                count += 1
                name = f"{hint}_{count}"
            taken[hint] = count + 1
            taken.setdefault(name, 1)
            self._ssa_values[value] = name
        return super().print_ssa_value(value)
