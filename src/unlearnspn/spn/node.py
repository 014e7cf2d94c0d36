"""A node of the network, with the state that lets it be revised: what was asked to choose its operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import cython
import numpy as np
import numpy.typing as npt

from unlearnspn.mixing import key_of_cluster, key_of_scope
from unlearnspn.rows.row_set import RowSet
from unlearnspn.slices import Rows, Scope
from unlearnspn.spn.operations import Operation
from unlearnspn.statistics.marginals import Marginals
from unlearnspn.statistics.trees import TreeHashes

Flags = npt.NDArray[np.uint8]


#: The fields of a node, as it is stored.
_FIELDS = (
    "operation",
    "place",
    "scope",
    "key",
    "n_records",
    "marginals",
    "informative",
    "independence",
    "clustering",
    "rows",
    "children",
    "clusters",
    "factors",
    "digests",
    "shown",
    "number",
    "is_stored",
)


class Digests(NamedTuple):
    """Digests of a sub-network: of what is released of it, and of all that is kept."""

    released: bytes
    kept: bytes


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where a node stands: its variables, its key, and what its parent already knows of it."""

    scope: Scope
    key: int
    #: The node is a cluster, and keeps its rows unless it splits them.
    keeps_rows: bool = False
    #: The parent split variables, so that these belong together: independence is not asked again.
    connected: bool = False

    def variables(self, scope: Scope, connected: bool) -> Place:
        """Step into a group of variables."""
        return Place(scope, key_of_scope(self.key, scope), connected=connected)

    def cluster(self, number: int) -> Place:
        """Step into a cluster."""
        return Place(self.scope, key_of_cluster(self.key, number), keeps_rows=True)


@cython.no_gc  # statistics know nothing of the network that they are in
@cython.final
@cython.cclass
class Factor:
    """A leaf of a product: its variables, and its statistics unless they are among the product's marginals."""

    def __init__(self, scope: Scope, statistics: Any) -> None:
        self.scope = scope
        self.statistics = statistics
        self.is_tree = isinstance(statistics, TreeHashes)
        #: The only variable, or the first of several.
        self.variable = scope[0]

    def __reduce__(self) -> tuple[type[Factor], tuple[Scope, Any]]:
        return Factor, (self.scope, self.statistics)


@cython.final
@cython.cclass
class Node:
    """A node with its state.

    Rows are kept once on each way down: by the first node below a split of the data that does not split it further. The
    rows of a split are those of its children; products hand theirs on; those of the root are all there are.
    """

    def __init__(
        self,
        operation: Operation,
        place: Place,
        n_records: int,
        marginals: Marginals,
        informative: Flags,
        independence: Any = None,
        clustering: Any = None,
        rows: RowSet | None = None,
        children: list[Node] | None = None,
        clusters: tuple[int, ...] = (),
        factors: tuple[Factor, ...] = (),
    ) -> None:
        self.operation = operation
        self.place = place
        #: The node's variables, and the key of its address, which all its random choices hang on.
        self.scope = place.scope
        self.key = place.key
        self.n_records = n_records
        #: How many records have each code of each variable, and which variables have two different values.
        self.marginals = marginals
        self.informative = informative
        #: What was asked about independence and clusters, if it was.
        self.independence = independence
        self.clustering = clustering
        self.rows = rows
        #: The sub-networks below, each of several variables; leaves are in `factors`.
        self.children = children or cast("list[Node]", [])
        #: Split data: the cluster number of each child.
        self.clusters = clusters
        self.factors = factors
        #: None as long as they are not known.
        self.digests = cast("Digests | None", None)
        #: How the node is shown to readers, if somebody may hold it.
        self.shown = cast(Any, None)
        #: The number under which the node is stored, if it is, and whether it is stored as it is now.
        self.number = -1
        self.is_stored = False

    def gather_rows(self) -> Rows:
        """Return the rows of a cluster, those of one node below it after another."""
        if self.rows is not None:
            return self.rows.rows
        return np.concatenate([child.gather_rows() for child in self.children])

    def row_sets(self) -> list[RowSet]:
        """Return the sets of rows that a cluster consists of."""
        if self.rows is not None:
            return [self.rows]
        return [row_set for child in self.children for row_set in child.row_sets()]

    @cython.ccall
    def touch(self) -> cython.void:
        """Forget what holds only as long as nothing changes."""
        self.digests = self.shown = None
        self.is_stored = False

    def keep(self) -> Callable[[], None]:
        """Return what makes the node what it is now, but for statistics that are changed in place."""
        n_records, informative, rows, children, clusters = (
            self.n_records,
            self.informative,
            self.rows,
            self.children,
            self.clusters,
        )
        independence, clustering, factors = self.independence, self.clustering, self.factors
        digests, shown, is_stored = self.digests, self.shown, self.is_stored

        def restore() -> None:
            self.n_records, self.informative, self.rows = n_records, informative, rows
            self.children, self.clusters, self.factors = children, clusters, factors
            self.independence, self.clustering = independence, clustering
            self.digests, self.shown, self.is_stored = digests, shown, is_stored

        return restore

    def copy(self) -> Node:
        """Return the node with statistics that no change to this one reaches; children are the same."""
        copied = Node(
            self.operation,
            self.place,
            self.n_records,
            self.marginals.copy(),
            self.informative,
            _copy(self.independence),
            _copy(self.clustering),
            None if self.rows is None else self.rows.copy(),
            self.children,
            self.clusters,
            self.factors,
        )
        copied.digests = self.digests
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # A picture belongs to this process, a number to whoever stores the network; digests are to be found anew.
        left_out = {"shown": None, "number": -1, "is_stored": False, "digests": None}
        return {name: left_out.get(name, getattr(self, name)) for name in _FIELDS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays may come from a file that is mapped read-only, but statistics take those that can be written.
        for name, value in state.items():
            setattr(self, name, _writable(value))
        self.place = replace(self.place, scope=self.scope)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


def copy_network(root: Node) -> Node:
    """Return a network that no change to another one reaches."""
    copied = root.copy()
    copied.children = [copy_network(child) for child in root.children]
    return copied


def _writable(value: Any) -> Any:
    """Return a value in which arrays, and those in tuples, can be written."""
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="W")
    if isinstance(value, tuple):
        parts = [_writable(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _copy(statistics: Any) -> Any:
    """Return statistics that may be changed in place; those that cannot be copied are never changed."""
    return statistics.copy() if hasattr(statistics, "copy") else statistics
