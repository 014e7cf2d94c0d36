"""The structure of a private network: all of it from the public sample.

The columns' codes, seeds of clusters, and a forest of columns. A record belongs to the cluster of the nearest seed,
which depends on the record and the seeds alone. The forest is the maximum spanning forest of mutual information, less
what independent columns would have by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from sklearn.cluster import kmeans_plusplus

from benchmarks.alternatives.coding import Categories, Codes, Coding, Numbers
from benchmarks.alternatives.methods import Floats
from benchmarks.alternatives.tables import Records
from unlearnspn import Circuit
from unlearnspn.schema import Kind

#: An edge must be worth so many nats for each of its degrees of freedom.
_PENALTY = 1.0


@dataclass(frozen=True)
class Coded:
    """Records as codes, with the cluster of each, and where numbers are in their bins."""

    codes: Codes
    positions: Floats
    clusters: Codes

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class Edge:
    """A column, and the one that it depends on; -1 if on none."""

    parent: int
    child: int


@dataclass(frozen=True, eq=False)
class Structure:
    """What is known from the public sample."""

    #: The default network of the public sample.
    circuit: Circuit
    #: The names of the columns, and how each is coded.
    columns: list[Any]
    codings: tuple[Coding, ...]
    #: A line of features for each cluster.
    seeds: Codes
    #: Parents before children.
    edges: tuple[Edge, ...]
    public: Coded

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.seeds)

    @cached_property
    def n_codes(self) -> list[int]:
        """How many codes each column has."""
        return [coding.n_codes for coding in self.codings]

    @cached_property
    def cells(self) -> list[int]:
        """How many cells each edge's table has in one cluster."""
        return [self.n_codes[each.child] * self.n_given(each) for each in self.edges]

    def n_given(self, edge: Edge) -> int:
        """Return how many codes an edge's parent has; 1 if there is none."""
        return 1 if edge.parent < 0 else self.n_codes[edge.parent]

    def code(self, frame: pd.DataFrame) -> Coded:
        """Return records in codes."""
        codes, positions, features = _code(self.codings, frame[self.columns])
        return Coded(codes, positions, _nearest(features, self.seeds))

    @classmethod
    def learn(cls, public: Records, n_clusters: int, n_bins: int, seed: int) -> Structure:
        """Learn all of it."""
        circuit = public.learn(seed).circuit_
        codings = tuple(
            Categories(domain) if domain.kind is Kind.CATEGORICAL else Numbers.of(values, n_bins)
            for domain, (_, values) in zip(circuit.domains.columns, public.frame.items(), strict=True)
        )
        codes, positions, features = _code(codings, public.frame)
        seeds, _ = kmeans_plusplus(features.astype(np.float64), min(n_clusters, len(features)), random_state=seed)
        seeds = np.unique(np.rint(seeds).astype(np.int64), axis=0)
        edges = _forest(_gains(codes, [coding.n_codes for coding in codings]))
        coded = Coded(codes, positions, _nearest(features, seeds))
        return cls(circuit, list(public.frame.columns), codings, seeds, tuple(edges), coded)


def _code(codings: tuple[Coding, ...], frame: pd.DataFrame) -> tuple[Codes, Floats, Codes]:
    """Return codes and positions, a column for each of the table's, and features."""
    columns = [values for _, values in frame.items()]
    codes = [coding.codes(values) for coding, values in zip(codings, columns, strict=True)]
    both = list(zip(codings, columns, codes, strict=True))
    positions = [coding.positions(values, own) for coding, values, own in both]
    features = [coding.features(values, own) for coding, values, own in both]
    return np.column_stack(codes), np.column_stack(positions), np.concatenate(features, axis=1)


def _nearest(features: Codes, seeds: Codes) -> Codes:
    """Return the nearest seed of each record; whole numbers, so no record has a say in another one's cluster."""
    distances = [((features - seed) ** 2).sum(axis=1) for seed in seeds]
    nearest: Codes = np.argmin(distances, axis=0)
    return nearest


def _gains(codes: Codes, n_codes: list[int]) -> Floats:
    """Return what each pair of columns gains by depending on each other, in nats; a missing value is in no table."""
    starts = np.cumsum([0, *n_codes])
    indicators = np.zeros((len(codes), starts[-1]))
    rows, columns = np.nonzero(codes >= 0)
    indicators[rows, starts[columns] + codes[rows, columns]] = 1.0
    tables, n = indicators.T @ indicators, len(n_codes)
    gains = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1, n):
            gains[a, b] = _gain(tables[starts[a] : starts[a + 1], starts[b] : starts[b + 1]])
    return gains


def _gain(table: Floats) -> float:
    """Return the log-likelihood that a table gains over independence, less a penalty for each degree of freedom."""
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    seen = table > 0
    expected = np.outer(rows, columns)[seen] / max(total, 1.0)
    freedom = max(int(np.count_nonzero(rows)) - 1, 0) * max(int(np.count_nonzero(columns)) - 1, 0)
    return float((table[seen] * np.log(table[seen] / expected)).sum() - _PENALTY * freedom)


def _forest(gains: Floats) -> list[Edge]:
    """Return the maximum spanning forest, each tree from its first column on."""
    chosen = minimum_spanning_tree(-np.maximum(gains, 0.0))
    _, labels = connected_components(chosen, directed=False)
    edges = []
    for label in range(labels.max() + 1):
        first = int(np.flatnonzero(labels == label)[0])
        order, parents = breadth_first_order(chosen, first, directed=False)
        edges += [Edge(int(parents[each]) if each != first else -1, int(each)) for each in order]
    return edges


def starts_of(sizes: list[int]) -> list[tuple[int, int]]:
    """Return where parts of these sizes begin and end, one after another.

    >>> starts_of([2, 3])
    [(0, 2), (2, 5)]
    """
    return list(pairwise(np.cumsum([0, *sizes]).tolist()))
