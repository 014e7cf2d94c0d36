"""UnlearnSPN, generalised: bring a network from S to S' = (S without minus) with plus, by propagating the change.

Removal, batch removal, addition and correction are this one function. Its result is what LearnSPN makes of S'. A
compiled walk makes the change wherever all decisions stay; what it could not decide is seen to here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from unlearnspn.blocks import INDEPENDENCE
from unlearnspn.exact_sum import Words
from unlearnspn.flat_network import FlatNetwork
from unlearnspn.interrupts import Uninterrupted
from unlearnspn.learning import Decision, Learner, Place
from unlearnspn.network import Factor, Node, Operation
from unlearnspn.node_rows import rows_after
from unlearnspn.rebuilding import CHANGED_OPERATION, LARGE_SHARE, Rebuilt, read_wanted, rebuild
from unlearnspn.reconsidering import (
    Change,
    changes_by_moving,
    changes_in_place,
    revise_factors,
    revise_operation,
    revise_rows,
    revise_statistics,
)
from unlearnspn.report import ChangedOperation
from unlearnspn.slices import Rows
from unlearnspn.threads import on_all_cores
from unlearnspn.touched import stretches_of
from unlearnspn.traversal import mark_undigested
from unlearnspn.walking import (
    MADE_INSIDE,
    MANY_ROWS,
    REFUSED,
    STEP,
    TO_REBUILD,
    TO_VISIT,
    VISIT,
    Trail,
    walk,
    walk_back,
)

_NOBODY = np.zeros(0, np.int64)
_NO_NODE = -1

#: A node whose decisions change, the pairs that were asked there, if they were brought up to date, and which rows leave
#: and come.
Changing = tuple[int, Words, Rows, Rows]


class Revision:
    """One pass over a network, which changes it; counts what it touches, and can be taken back."""

    def __init__(self, learner: Learner, network: FlatNetwork) -> None:
        self.learner = learner
        self.network = network
        self.nodes_visited = self.subnetworks_learned = self.rows_moved = 0
        self.changed_operations: list[ChangedOperation] = []
        #: What was done, in order: walks, and nodes that took another one's place.
        self._journal: list[Trail | tuple[int, int]] = []
        #: Statistics that lie outside, as they were before.
        self._outside: list[tuple[int, Any]] = []
        #: Nodes that are not needed any more, once the revision is done.
        self._replaced: list[int] = []
        self._before = network.mark()

    # -- the whole network -----------------------------------------------------------------------------------------

    def revise(
        self, minus: Rows, plus: Rows, interruptible: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        """Make the network what LearnSPN would make of the records after a change.

        If Ctrl-C waits it may come where that takes long.
        """
        self._minus, self._plus = np.sort(minus) if minus.size > 1 else minus, np.sort(plus) if plus.size > 1 else plus
        visits, rows = _visit(self.network.root, self._minus, self._plus)
        if rows.size > MANY_ROWS or not self.network.inside.independence:
            with interruptible():
                self._walk_on(visits, rows)
            return
        trail = self._follow(visits, rows)
        if trail.n_left:
            with interruptible():
                self._see_to_the_rest([(trail.visits(), trail.pairs)])

    def _all_rows(self) -> Rows:
        """Return all rows after the change."""
        return self.learner.records.rows_after(self._minus, self._plus)

    def learn_anew(self, place: Place, rows: Rows) -> None:
        """Put a network that is learned anew in the place of the whole."""
        self._learn_anew(self.network.root, place, Change(_NOBODY, _NOBODY, lambda: rows))

    def commit(self) -> bool:
        """Wipe what is not needed any more; tell whether the rest was moved together."""
        if self._replaced:
            self.network.free(self._replaced)
            self._replaced.clear()
        return self.network.tidy_up()

    def touched(self) -> Words:
        """Return the stretches of words that differ, or will once this is committed, from those before."""
        steps = [done.steps[::STEP] for done in self._journal if isinstance(done, Trail)]
        nodes = np.concatenate([*steps, np.array(self._replaced, np.int64)])
        replacing = np.array([done[1] for done in self._journal if not isinstance(done, Trail)], np.int64)
        words, (before, _) = self.network.words, self._before
        written = np.array([[before, self.network.used]], np.int64)
        return np.concatenate([stretches_of(words, nodes, replacing), written])

    def take_back(self) -> None:
        """Make the network what it was before."""
        network = self.network
        for done in reversed(self._journal):
            if isinstance(done, Trail):
                walk_back(network.words, self.learner.ground, done.steps, done.rows)
                mark_undigested(network.words, done.steps[::STEP])
            else:
                old, new = done
                network.link(new, old)
        for place, statistics in reversed(self._outside):
            network.outside[place] = statistics
        network.rewind(self._before)

    # -- walking ---------------------------------------------------------------------------------------------------

    def _revise(self, node: int, minus: Rows, plus: Rows) -> None:
        """Make a change at a node and below it."""
        self._walk_on(*_visit(node, minus, plus))

    def _walk(self, visits: Words, rows: Rows) -> None:
        """Make changes at some nodes and below them, in one walk unless many rows change."""
        if rows.size <= MANY_ROWS:
            with Uninterrupted():
                trail = self._follow(visits, rows)
            if trail.n_left:
                self._see_to_the_rest([(trail.visits(), trail.pairs)])
            return
        lines = visits.reshape(-1, VISIT).tolist()
        self._walk_all([_visit(node, rows[start:middle], rows[middle:end]) for node, start, middle, end in lines])

    def _walk_all(self, walks: Sequence[tuple[Words, Rows]]) -> None:
        """Walk several ways, which do not meet: on all cores if that pays."""
        words, ground = self.network.words, self.learner.ground
        jobs = [(words, ground, visits, rows, _NO_NODE) for visits, rows in walks]
        with Uninterrupted():
            trails: list[Trail] = on_all_cores(walk, jobs, [rows.size for _, rows in walks], self._enter)
            for trail in trails:
                self._take_note(trail)
        self._see_to_the_rest([(trail.visits(), trail.pairs) for trail in trails if trail.n_left])

    def _follow(self, visits: Words, rows: Rows, answered: int = _NO_NODE) -> Trail:
        """Walk as far as compiled code can; `answered` is a node whose variables form the same groups as before.

        Ctrl-C must wait: a walk that is over must be known, or it could not be taken back.
        """
        trail = self._enter(walk(self.network.words, self.learner.ground, visits, rows, answered))
        self._take_note(trail)
        return trail

    def _enter(self, packed: Words) -> Trail:
        """Enter a walk into the journal."""
        trail = Trail(packed)
        self._journal.append(trail)
        return trail

    def _take_note(self, trail: Trail) -> None:
        """Count the nodes that were visited, and forget what was shown of them."""
        self.nodes_visited += trail.n_visited
        if self.network.is_shown:
            self.network.forget_shown(trail.steps[::STEP])

    def _see_to_the_rest(self, left: Sequence[tuple[Iterable[tuple[int, int, Rows, Rows]], Words]]) -> None:
        """Do what walks have left to do: visits, and the pairs of nodes that are to be rebuilt."""
        changing: list[Changing] = []
        later: list[tuple[Words, Rows]] = []
        for visits, pairs in left:
            at = 0
            for node, outcome, minus, plus in visits:
                if outcome == REFUSED:
                    self._reconsider(node, minus, plus)
                elif outcome == MADE_INSIDE:
                    self._revise_outside(node, minus, plus)
                elif outcome == TO_REBUILD:
                    start, at = at + 1, at + 1 + int(pairs[at])
                    changing.append((node, pairs[start:at], minus, plus))
                elif outcome == TO_VISIT:
                    later.append(_visit(node, minus, plus))
        if changing:
            self._rebuild(changing)
        if later:
            self._walk_all(later)

    def _rebuild(self, changing: Sequence[Changing], independence: Any = None) -> None:
        """Put new nodes in the place of those whose decisions change, grow what they ask for, and go on below them.

        Nodes that change at the same time do not know of each other: all cores can work on them.
        """
        network, learner = self.network, self.learner
        jobs = [(network.words, learner.ground, *change) for change in changing]
        rebuilt = on_all_cores(rebuild, jobs, [network.n_records(node) for node, *_ in changing])
        wanted: list[tuple[int, int, Place, Rows]] = []
        for (old, *_), new in zip(changing, rebuilt, strict=True):
            node = self._replace_by(old, new, independence) if new.block.size else old
            for number, scope, rows in read_wanted(new.wanted):
                place = network.place(node) if number < 0 else network.place_of_part(node, number, scope)
                wanted.append((node, number, place, rows))
        if wanted:
            self._grow(wanted)
        visits, rows = _joined([(new.visits, new.rows) for new in rebuilt])
        if visits.size:
            self._walk_on(visits, rows)

    def _replace_by(self, old: int, new: Rebuilt, independence: Any) -> int:
        """Put a new node in the place of an old one; parts that are yet to be grown are missing."""
        network = self.network
        node = network.store_block(new.block)
        self.rows_moved += new.n_moved
        self._replaced.extend(new.dropped.tolist())
        self._link(old, node)
        if independence is not None:
            network.set_independence(node, independence)
        if new.is_open:
            network.learn_open_leaves(self.learner, node, self._all_rows)
        return node

    def _grow(self, wanted: Sequence[tuple[int, int, Place, Rows]]) -> None:
        """Grow parts of nodes, given their numbers, and what is to stand in the place of nodes."""
        grown = self.network.grow_all(self.learner, [(place, rows) for _, _, place, rows in wanted])
        self.subnetworks_learned += len(grown)
        for (node, number, _, _), part in zip(wanted, grown, strict=True):
            if number < 0:
                self._exchange(node, part, reports=number == CHANGED_OPERATION)
            else:
                self.network.set_part(node, number, part)

    def _walk_on(self, visits: Words, rows: Rows) -> None:
        """Make changes at some nodes and below them; where independence lies outside, a walk could not begin."""
        if self.network.inside.independence:
            self._walk(visits, rows)
            return
        others: list[list[int]] = []
        for visit in visits.reshape(-1, VISIT).tolist():
            node, start, middle, end = visit
            if self.network.words[node + INDEPENDENCE] < 0:
                self.nodes_visited += 1
                self._reconsider(node, rows[start:middle], rows[middle:end])
            else:
                others.append(visit)
        if others:
            self._walk(np.array(others).ravel(), rows)

    def _link(self, old: int, new: int) -> None:
        """Put a node in another one's place."""
        # So that it can be taken back whether or not it comes to the next step.
        self.network.set_parent(new, self.network.parent(old))
        self._journal.append((old, new))
        self.network.link(old, new)

    def _exchange(self, old: int, new: int, reports: bool) -> None:
        """Put a network in the place of another, and report the operation if that is what changed."""
        network = self.network
        self._replaced.extend(network.below(old))
        self._link(old, new)
        if reports:
            before, after = network.operation(old), network.operation(new)
            self.changed_operations.append(ChangedOperation(str(network.address(new)), before, after))

    def _revise_outside(self, at: int, minus: Rows, plus: Rows) -> None:
        """Revise the leaves of a node whose statistics lie outside."""
        for place in self.network.leaves_outside(at):
            scope, statistics = self.network.outside[place]
            self._keep_outside(place, Factor(scope, revise_statistics(self.learner, scope, statistics, minus, plus)))

    def _keep_outside(self, number: int, statistics: Any) -> None:
        """Put statistics that lie outside in the place of others."""
        self._outside.append((number, self.network.outside[number]))
        self.network.outside[number] = statistics

    # -- nodes whose decisions change ------------------------------------------------------------------------------

    def _reconsider(self, at: int, minus: Rows, plus: Rows) -> None:
        """Ask a node's questions again, and do what the answers demand."""
        network, learner = self.network, self.learner
        change = Change(minus, plus, lambda: self._rows_after(at, minus, plus))
        n_records = network.n_records(at) + change.growth
        if change.size > LARGE_SHARE * n_records and change.size > 1:
            self._learn_anew(at, network.place(at), change)
            return
        number = network.independence_outside(at)
        if number is None or n_records <= learner.min_rows:
            self._revise_node(at, change)
            return
        test, data, before = learner.independence, network.slice(learner, at), network.outside[number]
        after = test.revise(before, data, minus, plus, change.rows)
        if test.groups(before, data).tobytes() == test.groups(after, data).tobytes():
            self._go_on_from(at, number, change, after)
        else:
            self._revise_node(at, change, after)

    def _go_on_from(self, at: int, number: int, change: Change, independence: Any) -> None:
        """Make a change at a node whose variables form the same groups, as is known, and below it."""
        if self.learner.centroids_move and self.network.operation(at) is Operation.SPLIT_DATA:
            self._rebuild([(at, _NOBODY, change.minus, change.plus)], independence)
            return
        with Uninterrupted():
            trail = self._follow(*_visit(at, change.minus, change.plus), at)
        (_, outcome, minus, plus), *rest = trail.visits()
        self.nodes_visited -= 1  # which was counted before
        pairs = trail.pairs
        if outcome == REFUSED:
            self._revise_node(at, change, independence)
        elif outcome == TO_REBUILD:
            self._rebuild([(at, pairs[:0], minus, plus)], independence)
            pairs = pairs[1:]
        else:
            self._keep_outside(number, independence)
            if outcome == MADE_INSIDE:
                self._revise_outside(at, minus, plus)
        self._see_to_the_rest([(rest, pairs)])

    def _revise_node(self, at: int, change: Change, independence: Any = None) -> None:
        """Put a node in the place of one whose questions are asked again; its independence may be known already."""
        node, place = self.network.shallow(at), self.network.place(at)
        decision = revise_operation(self.learner, node, place, change, independence)
        if decision.operation is not node.operation:
            # What was asked is what learning would ask: only what is below is learned anew.
            self.subnetworks_learned += 1
            learned = self.learner.make(decision, place, change.rows())
            self._exchange(at, self.network.store(learned, self.learner.hash_marginals), reports=True)
        elif decision.operation is Operation.SPLIT_DATA:
            self._revise_split_data(at, node, place, change, decision)
        else:
            self._revise_product(at, node, place, change, decision)

    def _revise_product(self, at: int, node: Node, place: Place, change: Change, decision: Decision) -> None:
        """Match the children by scope: those still there are revised, only new scopes are learned."""
        learner = self.learner
        leaves, groups = learner.split_scope(decision, place)
        known = {self.network.scope_of(part).tobytes(): part for part in _numbers(node.parts)}
        parts, kept = [], []
        for scope in groups:
            if scope.tobytes() in known:
                kept.append(known.pop(scope.tobytes()))
                parts.append(kept[-1])
            else:
                self.subnetworks_learned += 1
                parts.append(self.network.grow(learner, learner.factor_place(decision, place, scope), change.rows()))
        factors = revise_factors(learner, node, leaves, change)
        rows, members = revise_rows(learner, node, change)
        n_records, below = node.n_records + change.growth, {"parts": tuple(parts), "factors": factors}
        revised = learner.node(decision, place, n_records, rows=rows, members=members, **below)
        self._replace(at, revised, known.values())
        for part in kept:
            self._revise(part, change.minus, change.plus)

    def _revise_split_data(self, at: int, node: Node, place: Place, change: Change, decision: Decision) -> None:
        """Hand every change to the cluster it concerns, and rows that change sides from one to the other."""
        clustering = self.learner.clustering
        known = dict(zip(node.clusters, _numbers(node.parts), strict=True))
        if clustering.assigns_like(node.clustering, decision.clustering):
            changes = changes_in_place(self.learner, place, change, decision)
        else:
            before = {c: self._rows_of_cluster(part) for c, part in known.items()}
            changes, n_moved = changes_by_moving(self.learner, before, place, change, decision)
            self.rows_moved += n_moved
        parts: dict[int, int] = {}
        for c in np.flatnonzero(clustering.sizes(decision.clustering)).tolist():
            if c in known:
                parts[c] = known.pop(c)
            else:
                self.subnetworks_learned += 1
                parts[c] = self.network.grow(self.learner, place.cluster(c), changes.pop(c).rows())
        revised = self.learner.node(
            decision, place, node.n_records + change.growth, parts=tuple(parts.values()), clusters=tuple(parts)
        )
        self._replace(at, revised, known.values())
        for c, part in changes.items():
            self._revise(parts[c], part.minus, part.plus)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _rows_of_cluster(self, at: int) -> Rows:
        rows = self.network.rows_of(at)
        assert rows is not None
        return rows

    def _rows_after(self, at: int, minus: Rows, plus: Rows) -> Rows:
        """Return a node's rows after a change, which those above it may have gone through already."""
        return rows_after(self.network.words, self.learner.ground, at, minus, plus)

    def _learn_anew(self, at: int, place: Place, change: Change) -> None:
        self.subnetworks_learned += 1
        self._exchange(at, self.network.grow(self.learner, place, change.rows()), reports=False)

    def _replace(self, at: int, node: Node, dropped: Any) -> None:
        """Put a node in another one's place, with those parts of it that are still there."""
        self._replaced.append(at)
        for part in dropped:
            self._replaced.extend(self.network.below(part))
        self._link(at, self.network.store(node, self.learner.hash_marginals))


def _visit(node: int, minus: Rows, plus: Rows) -> tuple[Words, Rows]:
    """Return how a walk is told of one node, and which rows leave and come there."""
    rows = np.concatenate((minus, plus)) if plus.size else minus
    return np.array([node, 0, minus.size, rows.size]), rows


def _joined(visits: Sequence[tuple[Words, Rows]]) -> tuple[Words, Rows]:
    """Return how one walk is told of all nodes that several would be told of."""
    if len(visits) == 1:
        return visits[0]
    lines, n_rows = [], 0
    for own, rows in visits:
        lines.append(own.reshape(-1, VISIT) + np.array([0, n_rows, n_rows, n_rows]))
        n_rows += rows.size
    return np.concatenate(lines).ravel(), np.concatenate([rows for _, rows in visits])


def _numbers(parts: Sequence[Any]) -> list[int]:
    """Return the parts of a node that lies in a flat network: where they start."""
    return list(parts)
