"""What a private network releases of the private records, before noise; and how far one record can move it.

All of it is one vector of whole numbers: how many records each cluster has; for each column a table of its codes by
those of its parent, in each cluster; for each bin of numbers the sum of positions and of their squares. A record is in
one cluster, and in one cell at most of each table; its position in a bin is between -1 and 1. Counts are in units of
1/64, sums in units of 1/32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.alternatives.accounting import Vector
from benchmarks.alternatives.methods import Floats
from benchmarks.alternatives.structure import Coded, Structure, starts_of

#: How many units a record's count has, and its position at the border of its bin.
COUNT, POSITION = 64, 32


@dataclass(frozen=True)
class Parts:
    """The parts of a vector in records, counted with noise or without."""

    sizes: Floats
    #: For each edge: clusters, codes of the parent, codes of the child.
    tables: list[Floats]
    #: For each edge whose child is a number: bins, and the sums of positions and of their squares.
    sums: list[Floats]


@dataclass(frozen=True, eq=False)
class Released:
    """The vector of a structure."""

    structure: Structure

    @cached_property
    def _n_bins(self) -> list[int]:
        return [self.structure.codings[edge.child].n_bins for edge in self.structure.edges]

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Where the sizes are, then each edge's table, then its sums."""
        structure = self.structure
        tables = [structure.n_clusters * cells for cells in structure.cells]
        return starts_of([structure.n_clusters, *tables, *(2 * n_bins for n_bins in self._n_bins)])

    @property
    def length(self) -> int:
        """How many numbers there are."""
        return self._places[-1][1]

    @property
    def sensitivity(self) -> float:
        """The Euclidean distance by which one record more or less can move the vector.

        It counts once in the sizes and once in each edge's table. Of each number it moves two sums, each by one
        position at most.
        """
        n_counts = 1 + len(self.structure.edges)
        n_sums = 2 * sum(n_bins > 0 for n_bins in self._n_bins)
        return math.nextafter(math.sqrt(COUNT**2 * n_counts + POSITION**2 * n_sums), math.inf)

    def count(self, coded: Coded) -> Vector:
        """Return the vector of some records."""
        structure = self.structure
        tables, sums = [], []
        for edge, cells, n_bins in zip(structure.edges, structure.cells, self._n_bins, strict=True):
            child = coded.codes[:, edge.child]
            given = np.zeros_like(child) if edge.parent < 0 else coded.codes[:, edge.parent]
            known = (child >= 0) & (given >= 0)
            places = given * structure.n_codes[edge.child] + child + coded.clusters * cells
            tables.append(COUNT * np.bincount(places[known], minlength=structure.n_clusters * cells))
            inside = known & (child < n_bins)
            sums.append(_sums(child[inside], coded.positions[inside, edge.child], n_bins))
        sizes = COUNT * np.bincount(coded.clusters, minlength=structure.n_clusters)
        return np.concatenate([sizes, *tables, *sums]).astype(np.int64)

    def parts(self, vector: Vector) -> Parts:
        """Return the parts of a vector."""
        structure = self.structure
        sizes, *others = (vector[start:end].astype(np.float64) for start, end in self._places)
        tables = [
            part.reshape(structure.n_clusters, structure.n_given(edge), -1) / COUNT
            for edge, part in zip(structure.edges, others, strict=False)
        ]
        sums = [part.reshape(-1, 2) / POSITION for part in others[len(tables) :]]
        return Parts(sizes / COUNT, tables, sums)


def _sums(bins: Vector, positions: Floats, n_bins: int) -> Vector:
    """Return the sums of positions and of their squares, bin by bin, each record's rounded to a whole number."""
    first = np.rint(POSITION * positions).astype(np.int64)
    second = np.rint(POSITION * positions**2).astype(np.int64)
    sums = np.zeros((n_bins, 2), np.int64)
    np.add.at(sums, bins, np.column_stack([first, second]))
    return sums.ravel()
