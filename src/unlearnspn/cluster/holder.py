"""The holder of rows that lie in shards: asks all of them, merges what they count, and has the engine decide by that.

What is asked for the nodes of a level is asked together. Which question comes next is for `choose_operation` to say: it
is called with what is known of a node, and again whenever something more is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast
from weakref import finalize

import numpy as np

from unlearnspn.circuit.expressions import Expression
from unlearnspn.cluster.asking import Answers, Ask, Question, Shards, added, ask_one, ask_together
from unlearnspn.cluster.revision import SharedRevision
from unlearnspn.cluster.row_sets import MODULUS, SharedRowSet, rows_of
from unlearnspn.cluster.selections import Handle, Selection
from unlearnspn.cluster.shard import SpaceSettings
from unlearnspn.cluster.shared_records import SharedRecords
from unlearnspn.clustering.by_class import ByClass, Classes, Split
from unlearnspn.clustering.qkmeans import QKMeans
from unlearnspn.errors import NotOnAClusterError
from unlearnspn.independence.gtest import GTest
from unlearnspn.leaves.from_counts import FromCounts
from unlearnspn.leaves.from_moments import FromMoments
from unlearnspn.leaves.histogram import Histogram
from unlearnspn.rows.row_set import RowSet
from unlearnspn.settings import Settings
from unlearnspn.slices import Rows, Scope, Slice
from unlearnspn.spn.derive import Pending, express_beside
from unlearnspn.spn.learn_spn import Decision, Flags, Opened, choose_operation
from unlearnspn.spn.learner import Learner
from unlearnspn.spn.node import Factor, Place
from unlearnspn.statistics.clusters import Clusters
from unlearnspn.statistics.marginals import CONSTANT, INFORMATIVE, Marginals
from unlearnspn.statistics.pairs import PAIR, AskedPairs
from unlearnspn.statistics.rounds import before_rounds, quantised, repeats

_NO_VALUE = -1


@dataclass(eq=False)
class SharedHolder:
    """Gathers statistics of rows that lie in shards."""

    records: SharedRecords

    def __post_init__(self) -> None:
        self.shards: Shards = self.records.shards
        #: What a request changes of the rows that nodes keep: by handle and guest, 1 for one that comes.
        self.changes: dict[int, dict[int, int]] = {}
        #: Clusters whose rows the shards have noted already, by what they are as objects: each is held, so that no
        #: other can be taken for it.
        self._noted: dict[int, tuple[Any, list[Handle]]] = {}
        self._members: dict[int, tuple[int, int]] = {}

    # -- the verbs of a holder -------------------------------------------------------------------------------------

    def choose_operations(self, learner: Learner, opened: Sequence[Opened]) -> list[Decision]:
        """Choose the operation of each node, by statistics of its rows."""
        self._make_room(learner, len(opened))
        n_cells = len(self.records) * len(learner.leaves)
        n_open = sum(_selected(each.rows).size * each.place.scope.size for each in opened)
        self.shards.steps.settled(n_cells - n_open, n_cells)
        evidence = [FromShards(self, learner, each.place, _selected(each.rows)) for each in opened]
        return ask_together(self.shards, [each.decide() for each in evidence])

    def learn_factors(self, learner: Learner, asked: Sequence[tuple[Scope, Rows]]) -> list[Factor]:
        """Learn leaves of some variables and rows each."""
        is_counted = [not learner.is_tree(scope) and learner.is_counted[int(scope[0])] for scope, _ in asked]
        questions = [pair for pair, counted in zip(asked, is_counted, strict=True) if not counted]
        parts = self.shards.ask([Ask("learn_factors", (questions,))])[0] if questions else []
        learned = iter([reduce(_merge_factors, factors) for factors in zip(*parts, strict=True)])
        pairs = zip(asked, is_counted, strict=True)
        return [Factor(scope, None) if counted else next(learned) for (scope, _), counted in pairs]

    def split(self, learner: Learner, asked: Sequence[tuple[Decision, Place, Rows]]) -> list[dict[int, Rows]]:
        """Return the rows of each cluster that has any."""
        return [self._split(learner, *each) for each in asked]

    def keep(self, learner: Learner, rows: Rows) -> RowSet:
        """Return the rows as a node keeps them."""
        handle: Any = rows
        members = self._members.pop(handle.number, None)
        if members is None:
            ask = Ask("open_node", (np.zeros(0, np.int64), handle, True))
            members = _sum_members([members for _, members in self.shards.ask([ask])[0]])
        return SharedRowSet(self.changes, handle, members)

    def revision(self, learner: Learner) -> Any:
        """Return what revises a network of these rows."""
        return SharedRevision(learner, self)

    def express_leaves(self, learner: Learner, pending: list[Pending]) -> list[list[Expression]]:
        """Return the leaves of nodes as parts of a circuit; trees by the workers, one by one worker each."""
        trees = [(each, factor) for each in pending for factor in each.node.factors if factor.is_tree]
        found: dict[int, dict[int, Expression]] = {id(each): {} for each in pending}
        for (each, factor), expression in zip(trees, self._express_trees(trees), strict=True):
            found[id(each)][factor.variable] = expression
        return express_beside(learner, pending, [found[id(each)] for each in pending])

    def _express_trees(self, trees: Sequence[tuple[Pending, Factor]]) -> list[Expression]:
        if not trees:
            return []
        asked = [(factor.scope, self._rows_of(each)) for each, factor in trees]
        owners = spread_evenly([selection.size for _, selection in asked], self.shards.number)
        given = Ask("tree_statistics", (self.records.totals, asked, owners, self.shards.number))
        expressed = list(map(iter, self.shards.exchange(given, Ask("express_trees"))))
        return [next(expressed[owner]) for owner in owners]

    def _rows_of(self, each: Pending) -> Selection:
        return self.records.rows if each.holder is None else rows_of(each.holder)

    # -- handles ---------------------------------------------------------------------------------------------------

    def handle(self, size: int) -> Handle:
        """Return a new handle, which shards forget when nobody has it any more."""
        handle = Handle(self.shards.new_number(), size)
        finalize(handle, self.shards.release, handle.number).atexit = False
        return handle

    def noted(self, selection: Selection) -> Handle:
        """Have shards note the rows of a selection."""
        handle = self.handle(0)
        handle.size = sum(self.shards.ask([Ask("note_rows", (selection, handle.number))])[0])
        return handle

    def note(self, clustering: Any, handles: list[Handle], sizes: Any) -> None:
        """Remember which rows the shards have noted for the clusters of a clustering."""
        for handle, size in zip(handles, sizes.tolist(), strict=True):
            handle.size = size
        self._noted[id(clustering)] = clustering, handles

    def forget(self) -> None:
        """Forget what was noted for nodes that are not learned now."""
        self._noted.clear()
        self._members.clear()

    def _split(self, learner: Learner, decision: Decision, place: Place, rows: Rows) -> dict[int, Rows]:
        clustering = decision.clustering
        clusters = clustering.clusters if isinstance(clustering, Split) and clustering.classes is None else clustering
        _, handles = self._noted.pop(id(clusters), (None, []))
        if not handles:
            n_clusters = learner.clustering.sizes(clustering).size
            handles = [self.handle(0) for _ in range(n_clusters)]
            numbers = [handle.number for handle in handles]
            ask = Ask("split", (clustering, place.scope, place.key, _selected(rows), numbers))
            sizes = added(self.shards.ask([ask])[0]).tolist()
            for handle, size in zip(handles, sizes, strict=True):
                handle.size = size
        parts: dict[int, Any] = {number: handle for number, handle in enumerate(handles) if handle.size}
        return parts

    def members_of(self, selection: Selection, members: Sequence[tuple[int, int]]) -> None:
        """Remember the fingerprint of rows that a node may keep."""
        if isinstance(selection, Handle):
            self._members[selection.number] = _sum_members(members)

    # -- statistics ------------------------------------------------------------------------------------------------

    def learn_statistics(self, learner: Learner, block: Any, data: Slice, selection: Selection) -> Any:
        """Learn what a building block asks of some rows."""
        self._make_room(learner, 1)
        data = learner.slice(data.scope, data.key)
        if block is learner.independence:
            return ask_one(self.shards, self.ask_pairs(block, data, selection))
        return ask_one(self.shards, self.ask_clusters(block, data, selection))

    def settle(self, informative: Flags, scope: Scope, selection: Selection) -> Question[Flags]:
        """Put in whether variables are informative of which codes do not tell."""
        answers = yield Ask("settle", (informative, scope, selection))
        flags = np.array([part for part, _ in answers])
        firsts = np.array([first for _, first in answers])
        settled: Flags = flags.max(axis=0, initial=CONSTANT, where=flags == INFORMATIVE).astype(np.uint8)
        for i in np.flatnonzero((firsts != _NO_VALUE).any(axis=0)).tolist():
            if len(set(firsts[:, i].tolist()) - {_NO_VALUE}) > 1:
                settled[i] = INFORMATIVE
        return settled

    def ask_pairs(self, test: Any, data: Slice, selection: Selection) -> Question[AskedPairs]:
        """Search for groups of dependent variables: breadth-first, one variable asking all others at a time."""
        scope = data.scope
        waiting, asked, tables = list(range(scope.size)), [], []
        while waiting:
            queue = [waiting.pop(0)]
            for hub in queue:
                if not waiting:
                    break
                counted = yield Ask("count_hub", (int(scope[hub]), scope[waiting], selection))
                table = added(counted)
                pairs = np.zeros(len(waiting), PAIR)
                pairs["hub"], pairs["other"] = hub, waiting
                pairs = AskedPairs.associated(data.coded, scope, float(test.threshold), pairs, table)
                depends = pairs["depends"].tolist()
                asked.append(pairs)
                tables.append(table)
                queue.extend(other for other, joins in zip(waiting, depends, strict=True) if joins)
                waiting = [other for other, joins in zip(waiting, depends, strict=True) if not joins]
        known = np.concatenate([np.zeros(0, PAIR), *asked])
        cells = np.concatenate([np.zeros(0, np.int64), *tables])
        return AskedPairs.of_tables(data.coded, scope, float(test.threshold), selection.size, known, cells)

    def ask_clusters(self, clustering: Any, data: Slice, selection: Selection) -> Question[Any]:
        """Learn the statistics of a clustering."""
        if not isinstance(clustering, ByClass):
            return (yield from self._ask_qkmeans(clustering, data, selection))
        answers, inner = Answers(), cast(QKMeans, clustering.clustering)

        def learn() -> Split:
            return clustering.split_by(
                data,
                selection.size,
                lambda: answers.get("clusters", lambda: self._ask_qkmeans(inner, data, selection)),
                lambda: answers.get("classes", lambda: self._ask_classes(clustering, data, selection)),
            )

        return (yield from answers.completing(learn))

    def _ask_classes(self, clustering: ByClass, data: Slice, selection: Selection) -> Question[Classes]:
        counts = added((yield Ask("count_classes", (selection,))))
        return clustering.in_order(data, counts)

    def _ask_qkmeans(self, clustering: QKMeans, data: Slice, selection: Selection) -> Question[Clusters]:
        """Pick seeds, one a round, and run the rounds of Q-k-means; rows are noted by cluster in the end."""
        space = clustering.space(data)
        settings, search = SpaceSettings(space, data.scope), self.handle(0)
        seeds = yield from self._ask_seeds(settings, search, max(int(space.n_clusters), 1), selection)
        # Arrays may have been replaced for more guests.
        found, counts, sums, centroids = before_rounds(space, seeds)
        while len(seeds) > 1 and len(sums) < space.max_rounds and not repeats(centroids, len(sums)):
            known = Clusters(found, counts[:0].ravel(), counts, sums, centroids)
            answers = yield Ask("sum_around", (settings, known, selection))
            more, numbers = (added(part) for part in zip(*answers, strict=True))
            sums, counts = np.concatenate([sums, more[np.newaxis]]), np.concatenate([counts, numbers[np.newaxis]])
            led = quantised(space, more, numbers, centroids[-1])
            centroids = np.concatenate([centroids, led[np.newaxis]])
        if len(seeds) < 2:
            return Clusters(found, np.array([selection.size]), counts, sums, centroids)
        known = Clusters(found, counts[:0].ravel(), counts, sums, centroids)
        handles = [self.handle(0) for _ in range(len(seeds))]
        numbers = [handle.number for handle in handles]
        sizes = added((yield Ask("label", (settings, known, selection, numbers))))
        clusters = Clusters(found, sizes, counts, sums, centroids)
        self.note(clusters, handles, sizes)
        return clusters

    def _ask_seeds(self, space: SpaceSettings, search: Handle, most: int, selection: Selection) -> Question[Rows]:
        """Return the slots of the seeds: the best of what the shards propose, one after another."""
        slots: list[int] = []
        features: Any = None
        while len(slots) < most:
            proposed = yield Ask("propose_seed", (search.number, space, selection, features))
            proposed = [each for each in proposed if each is not None]
            if not proposed:
                break
            _, _, key, features = min(proposed, key=lambda each: each[:2])
            slots.append(self.records.seat(key, features))
        return np.array(slots, np.int64)

    def _make_room(self, learner: Learner, n_nodes: int) -> None:
        """Make room for all seeds that some nodes may have."""
        clustering: Any = learner.clustering
        if isinstance(clustering, ByClass):
            clustering = clustering.clustering
        if self.records.make_room(n_nodes * max(clustering.n_clusters_among(0), 1)):
            vars(learner).pop("coded", None)


def _selected(rows: Any) -> Selection:
    """Return rows as what they are with this holder."""
    selection: Selection = rows
    return selection


def _merge_factors(one: Factor, other: Factor) -> Factor:
    if one.statistics is None:
        return one
    return Factor(one.scope, one.statistics.merge(other.statistics))


def _sum_members(members: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(low for low, _ in members) % MODULUS, sum(high for _, high in members) % MODULUS


def spread_evenly(sizes: Sequence[int], n_shards: int) -> list[int]:
    """Spread work over shards, so that each has about as many records to look at; return the shard of each."""
    loads, owners = [0] * n_shards, [0] * len(sizes)
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        owner = loads.index(min(loads))
        owners[place] = owner
        loads[owner] += int(sizes[place])
    return owners


def require_mergeable(settings: Settings) -> None:
    """Raise unless all statistics can be put together from those of parts of the records."""
    test, clustering = settings.independence, settings.clustering
    if type(test) is not GTest:
        raise NotOnAClusterError(
            f"independence={test!r} cannot be learned on a cluster: what it knows of parts of the records cannot be "
            "put together (RDC ranks values among all records). Use independence='gtest'"
        )
    if type(clustering) is not QKMeans:
        raise NotOnAClusterError(
            f"clustering={clustering!r} cannot be learned on a cluster: only Q-k-means is. Use clustering='qkmeans'"
        )
    for variable, leaf in zip(settings.schema.variables, settings.leaves, strict=True):
        if not isinstance(leaf, FromCounts | FromMoments | Histogram):
            raise NotOnAClusterError(
                f"the leaf {leaf!r} of column {variable.name!r} cannot be learned on a cluster: only leaves from "
                "counts or moments are, which all leaves of this library are"
            )


@dataclass(eq=False)
class FromShards:
    """The evidence of some rows: what is not known yet is asked, round by round."""

    holder: SharedHolder
    learner: Learner
    place: Place
    selection: Selection

    def __post_init__(self) -> None:
        self._answers = Answers()

    def decide(self) -> Question[Decision]:
        """Choose the node's operation."""
        return self._answers.completing(lambda: choose_operation(self.learner, self.place, self))

    @property
    def data(self) -> Slice:
        """What the node sees of the table."""
        return self.learner.slice(self.place.scope, self.place.key)

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return self.selection.size

    def marginals(self) -> Marginals:
        """Count codes."""
        return self._answers.get("marginals", self._ask_marginals)

    def informative(self, marginals: Marginals) -> Flags:
        """Look for two different values of each variable: at codes if they suffice, else at values."""
        informative, n_undecided = marginals.informative(self.learner.coded, self.place.scope)
        if not n_undecided:
            return informative
        return self._answers.get(
            "informative", lambda: self.holder.settle(informative, self.place.scope, self.selection)
        )

    def independence(self) -> Any:
        """Learn the statistics of the independence test."""
        return self._answers.get(
            "independence", lambda: self.holder.ask_pairs(self.learner.independence, self.data, self.selection)
        )

    def clustering(self) -> Any:
        """Learn the statistics of the clustering."""
        return self._answers.get(
            "clustering", lambda: self.holder.ask_clusters(self.learner.clustering, self.data, self.selection)
        )

    def _ask_marginals(self) -> Question[Marginals]:
        is_kept = self.place.keeps_rows
        answers = yield Ask("open_node", (self.place.scope, self.selection, is_kept))
        if is_kept:
            self.holder.members_of(self.selection, [members for _, members in answers])
        merged: Marginals = reduce(Marginals.merge, [marginals for marginals, _ in answers])
        return merged
