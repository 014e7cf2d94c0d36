"""What keeps compilation short: the compiler works on a kernel once for itself, and again wherever it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
from numba import njit

F = TypeVar("F", bound=Callable[..., object])

#: Whether rows are counted in or out. NumPy's numbers: of Python's own, there would be a kernel for each.
IN, OUT = cast(int, np.int64(1)), cast(int, np.int64(-1))
#: Words that stand alone start here.
START = cast(int, np.int64(0))


def inlined(kernel: F) -> F:
    """Compile a kernel that has but one caller as a part of it."""
    return cast(F, njit(cache=True, nogil=True, inline="always")(kernel))
