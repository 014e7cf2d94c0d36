"""How much work there is for a kernel: about how many steps, of a microsecond each, the interpreter would take."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from unlearnspn.compiling.written import arrays_of, n_copied

#: So many elements are copied in a step: in far less time, but tables of which copies take much memory are not small.
_COPIED_IN_A_STEP = 8


def elements(*arguments: Any) -> int:
    """Count a step for each element of the largest array."""
    return max((array.size for array in arrays_of(arguments)), default=0)


def per_row(n_steps: int) -> Callable[..., int]:
    """Count some steps for each element of the last array, which are the rows or nodes that a kernel looks at."""
    return lambda *arguments: n_steps * [array.size for array in arrays_of(arguments)][-1]


def per_element(n_steps: int, *places: int) -> Callable[..., int]:
    """Count some steps for each element of an argument, given its place, or for all combinations of several."""
    return lambda *arguments: n_steps * prod(arguments[place].size for place in places)


def copying(*arguments: Any) -> int:
    """Return to how many steps it comes that arrays are copied first."""
    return n_copied(arguments) // _COPIED_IN_A_STEP
