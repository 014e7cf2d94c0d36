"""A shard: what one worker holds of the records. It counts and labels what it is asked, and decides nothing.

A request is prepared in `_next`, which asks read from then on, and is made real or dropped. So nothing that exists
changes before all shards are ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from unlearnspn.circuit.expressions import Expression
from unlearnspn.cluster import folder
from unlearnspn.cluster.folder import StoredPart
from unlearnspn.cluster.part_records import PartRecords, RawRecords, Tally
from unlearnspn.cluster.reading import Part, Reading, ReadPart, Summary, in_partition, read_part
from unlearnspn.cluster.selections import Selection
from unlearnspn.coding import Coder, Encoding
from unlearnspn.hashing import Keys
from unlearnspn.ids import RecordId
from unlearnspn.leaves import check_support
from unlearnspn.leaves.tree_statistics import TreeStatistics
from unlearnspn.rows.row_set import RowSet
from unlearnspn.rows.sorted_rows import difference, in_order, merged, split_by_label
from unlearnspn.schema import Schema
from unlearnspn.settings import Settings
from unlearnspn.slices import Counts, Rows, Scope
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor
from unlearnspn.statistics.clusters import Clusters
from unlearnspn.statistics.distances import gather
from unlearnspn.statistics.marginals import Marginals, settle
from unlearnspn.statistics.pair_search import count_hub
from unlearnspn.statistics.rounds import sum_rows
from unlearnspn.statistics.seeds import Candidates
from unlearnspn.statistics.space import Space
from unlearnspn.subsampling import Subsampling
from unlearnspn.tables import Table
from unlearnspn.totals import Totals

_NOBODY = np.zeros(0, np.int64)


class GivenTree(NamedTuple):
    """What a shard knows of a tree."""

    scope: Scope
    statistics: TreeStatistics

    def merge(self, other: GivenTree) -> GivenTree:
        """Return what two shards know of it."""
        return GivenTree(self.scope, self.statistics.merge(other.statistics, self.scope))


class Shard:
    """Some of the records, and the rows that the coordinator has numbered."""

    settings: Settings
    records: PartRecords
    #: What asks read: the records, or the same under other codes.
    _next: PartRecords

    def __init__(self, number: int) -> None:
        self.number = number
        self._parts: list[Part] = []
        self._read: list[ReadPart] = []
        self._learner: Learner | None = None
        self._everyone: Rows | None = None
        #: The slots of records that are to come with a request.
        self._reserved: Rows = _NOBODY
        self._handles: dict[int, Rows] = {}
        self._searches: dict[int, _SeedSearch] = {}

    # -- reading ---------------------------------------------------------------------------------------------------

    def add(self, part: Part) -> None:
        """Take a partition over, which is read when all are there."""
        self._parts.append(part)

    def read(self, reading: Reading) -> list[Summary]:
        """Read the partitions."""
        summaries = []
        while self._parts:  # a partition that was read need not be held as it came
            read, summary = read_part(self._parts.pop(0), reading)
            self._read.append(read)
            summaries.append(summary)
        return summaries

    def load(self, path: str, parts: Mapping[int, StoredPart], schema: Schema, string_ids: bool) -> None:
        """Read partitions from their files; those without records have none."""
        self._read = [
            folder.read_part(path, number, part, schema, string_ids) for number, part in parts.items() if part.n_records
        ]

    def open(self, settings: Settings, string_ids: bool, starts: Mapping[int, int] | None) -> None:
        """Take the values of what was read; records without ids are numbered from where their partition starts."""
        for read in self._read:
            with in_partition(read.number):
                check_support(settings.leaves, read.table)
        parts = [read if read.ids is not None else read.numbered((starts or {})[read.number]) for read in self._read]
        self._read = []
        self.hold(settings, PartRecords.read(settings.schema, settings.seed, string_ids, parts))

    def hold(self, settings: Settings, records: PartRecords) -> None:
        """Hold these records from now on."""
        self.settings, self.records = settings, records
        self._renew(records)

    # -- what selections find rows in ------------------------------------------------------------------------------

    @property
    def everyone(self) -> Rows:
        """All rows."""
        if self._everyone is None:
            self._everyone = self.records.rows
        return self._everyone

    def handled(self, number: int) -> Rows:
        """The rows of a handle."""
        return self._handles[number]

    @property
    def learner(self) -> Learner:
        """What statistics are learned with: the same as the coordinator's, but for the records."""
        if self._learner is None:
            self._learner = self.settings.learner(self._next, self._next.encoding)
        return self._learner

    # -- rounds ----------------------------------------------------------------------------------------------------

    def answer(self, asks: Sequence[tuple[str, tuple[Any, ...]]], released: Sequence[int] = ()) -> list[Any]:
        """Answer what is asked in a round, and forget what nobody needs any more."""
        self.forget(released)
        return [getattr(self, method)(*arguments) for method, arguments in asks]

    def forget(self, released: Sequence[int]) -> None:
        """Forget handles and searches."""
        for number in released:
            self._handles.pop(number, None)
            self._searches.pop(number, None)

    # -- coding ----------------------------------------------------------------------------------------------------

    def survey(self, selection: Selection) -> tuple[list[list[Any]], Any]:
        """Return the categories that occur, and the totals of numbers."""
        rows = selection.rows(self)
        return self._next.categories(rows), self._next.number_totals(rows)

    def answer_column(self, v: int, ask: Any, selection: Selection) -> Any:
        """Answer what the coding of a numeric column asks."""
        return self._next.answer_column(v, ask, selection.rows(self))

    def recode(self, coders: Sequence[Coder], n_bins: int, selection: Selection) -> None:
        """Prepare the same records under other codes, those of a selection that are not there yet, too."""
        plus = difference(selection.rows(self), self.everyone)
        self._renew(self.records.recoded_by(coders, n_bins, plus))

    def tally(self, selection: Selection) -> Tally:
        """Count what is to be known of the records, as they are coded now."""
        return self._next.tally(selection.rows(self))

    def spans(self) -> Any:
        """Return the smallest and the largest number of each column."""
        return self.records.spans_of(self.everyone)

    def _renew(self, records: PartRecords) -> None:
        self._next, self._learner = records, None

    # -- statistics ------------------------------------------------------------------------------------------------

    def open_node(self, scope: Scope, selection: Selection, is_kept: bool) -> tuple[Marginals, tuple[int, int]]:
        """Return the marginals of some rows, and their fingerprint if they are to be kept."""
        rows, coded = selection.rows(self), self.learner.coded
        members = RowSet.of(coded, rows).members if is_kept else (0, 0)
        return Marginals.learn(coded, scope, rows), members

    def settle(self, informative: Any, scope: Scope, selection: Selection) -> tuple[Any, Counts]:
        """Look for two values of each variable that is undecided; return what tells the first of each from others."""
        informative = informative.copy()
        return informative, settle(informative, self.learner.coded, scope, selection.rows(self))

    def count_hub(self, hub: int, others: Counts, selection: Selection) -> Counts:
        """Count the tables of a variable with others."""
        return count_hub(self.learner.coded, selection.rows(self), hub, others)

    def count_classes(self, selection: Selection) -> Counts:
        """Count the classes of the target, and those that are missing last."""
        v = self.settings.target
        assert v is not None
        n_levels = len(self._next.encoding.categorical(v).categories)
        levels = self._next.levels[selection.rows(self), self._next.place[v]].astype(np.int64)
        return np.bincount(np.where(levels < 0, n_levels, levels), minlength=n_levels + 1)

    def learn_factors(self, asked: Sequence[tuple[Scope, Selection]]) -> list[Factor]:
        """Learn leaves."""
        return [self.learner.learn_factor(scope, selection.rows(self)) for scope, selection in asked]

    # -- clusters --------------------------------------------------------------------------------------------------

    def propose_seed(
        self, search: int, space: SpaceSettings, selection: Selection, features: Any
    ) -> tuple[float, int, int, Any] | None:
        """Return the best next seed: score, draw, key and features; `features` are those of the seed before it."""
        found = self._searches.get(search)
        if found is None:
            found = self._searches[search] = _SeedSearch(space.over(self.learner), selection.rows(self))
        if features is not None:
            found.candidates.add(features)
        best = found.candidates.propose()
        if best is None:
            return None
        score, draw, row = best
        return score, draw, int(self._next.keys[row]), self._next.features[row].copy()

    def sum_around(self, space: SpaceSettings, clusters: Clusters, selection: Selection) -> tuple[Any, Any]:
        """Return the sums of the rows nearest to each of the last centroids, and how many these are."""
        own, rows = space.over(self.learner), selection.rows(self)
        return sum_rows(own, rows, clusters.label(own, rows), clusters.n_clusters)

    def label(self, space: SpaceSettings, clusters: Clusters, selection: Selection, handles: Sequence[int]) -> Counts:
        """Put rows into the clusters of the last centroids, note those of each, and count them."""
        rows = selection.rows(self)
        return self._note(rows, clusters.label(space.over(self.learner), rows), handles)

    def split(self, statistics: Any, scope: Scope, key: int, selection: Selection, handles: Sequence[int]) -> Counts:
        """Put rows into the clusters of a clustering's statistics, note those of each, and count them."""
        rows, learner = selection.rows(self), self.learner
        return self._note(rows, learner.clustering.assign(statistics, learner.slice(scope, key), rows), handles)

    def note_rows(self, selection: Selection, handle: int) -> int:
        """Note the rows of a selection, and count them."""
        rows = self._handles[handle] = selection.rows(self)
        return rows.size

    def _note(self, rows: Rows, labels: Any, handles: Sequence[int]) -> Counts:
        parts = split_by_label(rows, labels, len(handles))
        self._handles.update(zip(handles, map(in_order, parts), strict=True))
        return np.array([part.size for part in parts], np.int64)

    # -- the circuit -----------------------------------------------------------------------------------------------

    def tree_statistics(
        self, totals: Totals, trees: Sequence[tuple[Scope, Selection]], owners: Sequence[int], n_shards: int
    ) -> list[list[GivenTree]]:
        """Give each shard the statistics of the trees that it is to express, laid out as the totals of all say."""
        self._next.totals, learner = totals, self.learner
        given: list[list[GivenTree]] = [[] for _ in range(n_shards)]
        for (scope, selection), owner in zip(trees, owners, strict=True):
            statistics = learner.joint_leaf.learn(learner.slice(scope, 0), selection.rows(self))
            given[owner].append(GivenTree(scope, statistics))
        return given

    def express_trees(self, pieces: Sequence[Sequence[GivenTree]]) -> list[Expression]:
        """Return trees as parts of a circuit, given what all shards know of them."""
        learner = self.learner
        trees = [reduce(GivenTree.merge, parts) for parts in zip(*pieces, strict=True)]
        return [learner.joint_leaf.express(tree.statistics, learner.slice(tree.scope, 0)) for tree in trees]

    # -- requests --------------------------------------------------------------------------------------------------

    def find(self, ids: Sequence[RecordId], with_records: bool) -> tuple[Counts, Rows, RawRecords | None]:
        """Return which of some ids are here, as places among them, in which slots, and their records if wanted."""
        slots = self.records.find(ids)
        places = np.flatnonzero(slots >= 0)
        return places, slots[places], self.records.raw(slots[places]) if with_records else None

    def ids(self) -> list[RecordId]:
        """Return the ids of all records."""
        return self.records.ids_of(self.everyone)

    def last_id(self) -> RecordId | None:
        """Return the largest id; None if there is no record."""
        return max(self.ids(), default=None)

    def split_keys(self, n_shards: int) -> list[Keys]:
        """Give each shard the keys that it is to compare with those of others."""
        keys = self.records.keys[self.records.live]
        return [keys[keys % np.uint64(n_shards) == np.uint64(number)] for number in range(n_shards)]

    def repeated_keys(self, pieces: Sequence[Keys]) -> Keys:
        """Return the keys that several records have."""
        keys = np.sort(np.concatenate(pieces))
        return np.unique(keys[1:][keys[1:] == keys[:-1]])

    def ids_with(self, keys: Keys) -> list[tuple[RecordId, int]]:
        """Return the ids of the records that have one of some keys, each with its partition."""
        rows = np.flatnonzero(self.records.live & np.isin(self.records.keys, keys))
        return list(zip(self.records.ids_of(rows), self.records.partition[rows].tolist(), strict=True))

    def n_by_partition(self) -> dict[int, int]:
        """Return how many records each partition has."""
        counts = np.bincount(self.records.partition[self.everyone])
        return {number: int(counts[number]) for number in np.flatnonzero(counts).tolist()}

    def homes(self, ids: Sequence[RecordId]) -> list[tuple[RecordId, int]]:
        """Return those of some ids that are here, each with its partition."""
        slots = self.records.find(ids).tolist()
        return [(item, int(self.records.partition[slot])) for item, slot in zip(ids, slots, strict=True) if slot >= 0]

    def prepare(self, encoding: Encoding, raw: RawRecords | None, partitions: Counts) -> Rows:
        """Get ready for another encoding with the same codes, and for records that come; return their slots."""
        if raw is not None:
            self._reserved = self.records.reserve(raw, partitions, encoding)
        self.records.encoding = encoding
        self._renew(self.records)
        return self._reserved

    def first_of(self, number: int, member: int, subsampling: Subsampling) -> tuple[list[RecordId], Table]:
        """Return the records of a partition that no member before this one has."""
        rows = self.everyone[self.records.partition[self.everyone] == number]
        ids = self.records.ids_of(rows)
        rows = rows[subsampling.holders(ids).argmax(axis=0) == member] if ids else rows
        return self.records.ids_of(rows), self.records.export(rows, self.records.encoding)

    def store(self, path: str, generation: str, minus: Rows, plus: Rows, everything: bool) -> dict[int, StoredPart]:
        """Write the partitions that records leave or come to as new files, or all of them."""
        records, rows = self.records, merged(difference(self.everyone, minus), np.sort(plus))
        numbers = records.partition[rows]
        concerned = numbers if everything else records.partition[np.concatenate([minus, plus])]
        stored = {}
        for number in np.unique(concerned).tolist():
            own = rows[numbers == number]
            name = folder.part_name(number, generation) if own.size else ""
            if own.size:
                folder.write_part(path, name, records, own)
            stored[number] = StoredPart(name, own.size)
        return stored

    def commit(self, minus: Rows, plus: Rows, changes: Mapping[int, tuple[Rows, Rows]], is_recoded: bool) -> None:
        """Make what was prepared real: records come and go, also where handles have them."""
        if is_recoded:
            self.records.take_codes(self._next)
        for number, (leaving, coming) in changes.items():
            staying = difference(self._handles[number], leaving)
            self._handles[number] = merged(staying, difference(coming, staying))
        self.records.occupy(plus)
        self.records.wipe(minus)
        self._everyone, self._reserved = None, _NOBODY
        self._renew(self.records)

    def discard(self, encoding: Encoding) -> None:
        """Drop what was prepared."""
        reserved, self._reserved = self._reserved, _NOBODY
        self.records.give_back(reserved)
        self.records.encoding = encoding
        self._renew(self.records)


class SpaceSettings:
    """What a `Space` is made of, beside the records."""

    def __init__(self, space: Space, scope: Scope) -> None:
        self._scope = scope
        self._numbers = (int(space.key), int(space.n_clusters), int(space.spacing), int(space.max_rounds))

    def over(self, learner: Learner) -> Space:
        """Return the space over a learner's records."""
        return Space(learner.coded, self._scope, *self._numbers)


class _SeedSearch:
    """Rows among which seeds are picked, step by step."""

    def __init__(self, space: Space, rows: Rows) -> None:
        self.candidates = Candidates(space, rows, gather(space, rows))
