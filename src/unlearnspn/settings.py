"""Everything besides the records that a model is a function of."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from unlearnspn.clustering import Clustering, QKMeans
from unlearnspn.clustering.by_class import ByClass
from unlearnspn.coding import Encoding
from unlearnspn.hashing import derive_key, fingerprint
from unlearnspn.independence import IndependenceTest
from unlearnspn.leaves import ChowLiu, Leaf
from unlearnspn.records import Records
from unlearnspn.schema import Kind, Schema
from unlearnspn.spn import digest
from unlearnspn.spn.holder import LOCAL, Holder
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Place
from unlearnspn.table_size import counted, min_rows_among, n_bins_among

#: More records than there can be.
_ANY_NUMBER = (1 << 63) - 1


@dataclass(frozen=True)
class Settings:
    """Everything besides the records that a model is a function of."""

    schema: Schema
    seed: int
    #: Up to how many records a node is not split; None to have it follow from how many there are.
    min_rows: int | None
    #: Into how many bins numeric columns are coded; None likewise.
    n_bins: int | None
    independence: IndependenceTest[Any]
    clustering: Clustering[Any]
    leaves: tuple[Leaf[Any], ...]
    tree: ChowLiu | None = None
    #: The variable that is to be predicted, if there is one.
    target: int | None = None
    #: Categories that fewer records have are left out of the model.
    min_category_count: int = 1

    @cached_property
    def released(self) -> bytes:
        """Fingerprint of what a released model shows of the settings: schema and leaves."""
        return fingerprint([self.schema.digest(), *map(digest.describe, (*self.leaves, self.tree))])

    @cached_property
    def all(self) -> bytes:
        """Fingerprint of everything."""
        numbers = struct.pack("<QqQ", self.seed, self.min_rows or 0, self.n_bins or 0)
        blocks = [digest.describe(block) for block in (self.independence, self.clustering)]
        target = [] if self.target is None else [struct.pack("<q", self.target)]
        rare = [] if self.min_category_count == 1 else [b"rare", struct.pack("<q", self.min_category_count)]
        return fingerprint([self.released, numbers, *blocks, *target, *rare])

    @property
    def without_rare(self) -> list[int]:
        """The variables out of which rare categories are left; classes are never left out."""
        if self.min_category_count == 1:
            return []
        kinds = enumerate(variable.kind for variable in self.schema.variables)
        return [v for v, kind in kinds if kind is Kind.CATEGORICAL and v != self.target]

    @property
    def root_place(self) -> Place:
        """Where the root of a network stands."""
        return Place(np.arange(len(self.schema.variables)), derive_key(self.seed, "root"))

    def min_rows_among(self, n_records: int) -> int:
        """Return up to how many records a node is not split if there are so many in all; any number of one class."""
        if self.min_rows is not None:
            return self.min_rows
        if self.target is not None:
            return _ANY_NUMBER
        return min_rows_among(self._counted(n_records), len(self.schema.variables))

    def learns_alike(self, one: int, other: int) -> bool:
        """Tell whether nodes are split alike if there are so many records and if there are so many others."""
        return self.min_rows_among(one) == self.min_rows_among(other) and (
            self._clustering_among(one) == self._clustering_among(other)
        )

    def n_bins_among(self, n_records: int) -> int:
        """Return into how many bins numeric columns are coded if there are so many records."""
        return n_bins_among(n_records) if self.n_bins is None else self.n_bins

    def _clustering_among(self, n_records: int) -> Clustering[Any]:
        """Return the clustering if there are so many records: many clusters only go with nodes of many records."""
        clustering = self.clustering
        if isinstance(clustering, QKMeans) and clustering.n_clusters is None:
            n_records = self._counted(n_records) if self.min_rows is None else 0
            return replace(clustering, n_clusters=clustering.n_clusters_among(n_records))
        return clustering

    def _counted(self, n_records: int) -> int:
        return counted(n_records, any(variable.kind is Kind.NUMERIC for variable in self.schema.variables))

    def learner(
        self,
        records: Records,
        encoding: Encoding,
        n_records: int | None = None,
        keeps_answers: bool = True,
        holder: Holder = LOCAL,
    ) -> Learner:
        """Return the learner for records under an encoding; `n_records` if there will be more of them, or fewer."""
        n_records = len(records) if n_records is None else n_records
        min_rows, clustering = self.min_rows_among(n_records), self._clustering_among(n_records)
        if self.target is not None:
            clustering = ByClass(self.target, min_rows, clustering)
        blocks = (self.independence, clustering, self.leaves, holder, self.tree)
        return Learner(records, encoding, min_rows, *blocks, keeps_answers)
