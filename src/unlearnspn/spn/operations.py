"""The five operations of LearnSPN, and the addresses of the nodes that they make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Scope = npt.NDArray[np.int64]


class Operation(StrEnum):
    """How LearnSPN makes a node (Algorithm 1 of the paper)."""

    CREATE_LEAF = "create leaf"
    NAIVE_FACTORIZATION = "naive factorization"
    SPLIT_UNINFORMATIVE = "split uninformative variables"
    SPLIT_DATA = "split data"
    SPLIT_VARIABLES = "split variables"


@dataclass(frozen=True, slots=True, eq=False)
class Address:
    """Where a node is: the cluster numbers and scopes on the way to it.

    >>> print(Address().cluster(1).variables(np.array([0, 2, 3, 4])))
    /1/{0,2-4}
    """

    parent: Address | None = None
    step: int | Scope = 0

    def cluster(self, number: int) -> Address:
        """Step into a cluster of a split of the data."""
        return Address(self, number)

    def variables(self, scope: Scope) -> Address:
        """Step into a group of variables of a product."""
        return Address(self, scope)

    def __str__(self) -> str:
        if self.parent is None:
            return "/"
        step = str(self.step) if isinstance(self.step, int) else "{" + _ranges(self.step.tolist()) + "}"
        return f"{self.parent}".rstrip("/") + "/" + step


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
