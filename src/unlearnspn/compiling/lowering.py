"""Arguments that are not counted: whoever calls a function keeps what it hands over until the function returns.

The compiler has every function count the arrays that it is handed, once more while it runs, with instructions that make
all cores take turns. A walk has functions of many arrays and little work: that was a tenth of a removal.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from numba.core.compiler_machinery import register_pass
from numba.core.ir import Arg, Assign
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering


class _Lower(Lower):
    """Makes code for the processor, in which variables that are but arguments own nothing."""

    _is_borrowing = False

    def lower_function_body(self) -> Any:
        """Find out which variables stand for an argument wherever they are used."""
        assigned = [each for block in self.blocks.values() for each in block.find_insts(Assign)]
        times = Counter(each.target.name for each in assigned)
        self._borrowed = {
            each.target.name for each in assigned if isinstance(each.value, Arg) and times[each.target.name] == 1
        }
        return super().lower_function_body()

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Return what is assigned to a variable."""
        self._is_borrowing = inst.target.name in self._borrowed
        try:
            return super().lower_assign(ty, inst)
        finally:
            self._is_borrowing = False

    def incref(self, typ: Any, val: Any) -> None:
        """Count a user."""
        if not self._is_borrowing:
            super().incref(typ, val)

    def delvar(self, name: str) -> None:
        """Do without a variable from here on."""
        if name not in self._borrowed:
            super().delvar(name)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(BaseNativeLowering):
    """The stage of the compiler that makes code for the processor."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return _Lower
