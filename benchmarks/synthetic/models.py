"""Our models: the default one, and the one whose leaves are independent."""

from __future__ import annotations

from collections.abc import Callable

from unlearnspn import SPN

DEFAULT, NAIVE = "SPN()", 'SPN(factorization="naive")'
MODELS: dict[str, Callable[[], SPN]] = {DEFAULT: SPN, NAIVE: lambda: SPN(factorization="naive")}
