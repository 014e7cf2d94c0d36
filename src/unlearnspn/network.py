"""The network: nodes made by the paper's five operations, each with the state that lets it be revised.

Nodes are immutable: they are what LearnSPN makes, and what is read. `flat_network` holds the network that requests
change, and gives nodes out that show it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.exact_sum import Rows
from unlearnspn.hashing import key_of_cluster, key_of_scope
from unlearnspn.slices import Counts, Scope


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


def cluster_key(parent: int, number: int) -> int:
    """Return the key of a node reached through a cluster."""
    return int(key_of_cluster(np.uint64(parent), number))


def scope_key(parent: int, scope: Scope) -> int:
    """Return the key of a node reached through a group of variables."""
    return int(key_of_scope(np.uint64(parent), scope))


class Factor(NamedTuple):
    """A leaf of a product: its variables, and its statistics unless they are among the product's marginals."""

    scope: Scope
    statistics: Any


@dataclass(eq=False, slots=True, weakref_slot=True)
class Node:
    """A node with its state: what was asked to choose its operation, kept so that it can be asked again.

    Rows are kept once on each way down: by the first node below a split of the data that does not split it further. The
    rows of a split are those of its children; products hand theirs on; those of the root are all there are.
    """

    operation: Operation
    key: int
    scope: Scope
    n_records: int
    #: The sub-networks below, each of several variables; leaves are in `factors`.
    parts: tuple[Node, ...] = ()
    #: Split data: the cluster number of each part.
    clusters: tuple[int, ...] = ()
    factors: tuple[Factor, ...] = ()
    #: How many records have each code, variable after variable.
    marginals: Counts | None = None
    #: Which variables have two different values.
    informative: npt.NDArray[np.bool_] | None = None
    independence: Any = None
    clustering: Any = None
    #: Create leaf: the exact statistics of the distribution, or the counts of codes.
    statistics: Any = None
    rows: Rows | None = None
    #: Fingerprint of the rows kept.
    members: tuple[int, int] = (0, 0)
    #: The parent split variables, so that these belong together.
    connected: bool = False
    _children: tuple[Node, ...] | None = field(default=None, repr=False)

    @property
    def children(self) -> tuple[Node, ...]:
        """The leaves and the sub-networks below, in this order; a node that is a leaf itself has none."""
        if self.operation is Operation.CREATE_LEAF:
            return ()
        if self._children is None:
            self._children = (*self.leaves, *self.parts)
        return self._children

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves right below, or the node itself if it is one."""
        if self.operation is Operation.CREATE_LEAF:
            return (self,)
        return tuple(
            Node(Operation.CREATE_LEAF, self.key, scope, self.n_records, statistics=statistics)
            for scope, statistics in self.factors
        )

    def gather_rows(self) -> Rows:
        """Return the rows of a cluster, or of a split of the data, in no particular order."""
        if self.rows is not None:
            return self.rows
        return np.concatenate([part.gather_rows() for part in self.parts])

    def walk(self, address: Address | None = None) -> Iterator[tuple[Address, Node]]:
        """Yield every node with its address, parents first."""
        pending = [(address or Address(), self)]
        while pending:
            place, node = pending.pop()
            yield place, node
            pending.extend(reversed(list(zip(node.addresses(place), node.children, strict=True))))

    def addresses(self, place: Address) -> list[Address]:
        """Return the addresses of the children of a node that is at `place`."""
        if self.operation is Operation.SPLIT_DATA:
            return [place.cluster(number) for number in self.clusters]
        return [place.variables(child.scope) for child in self.children]
