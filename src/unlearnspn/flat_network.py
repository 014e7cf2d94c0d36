"""The network in memory: all nodes in one array of words, where a compiled walk can change them in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from unlearnspn import blocks
from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    HEAD,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    N_RECORDS,
    OPERATION,
    PARENT,
    ROWS,
    Inside,
    leaves_at,
    numbers_at,
    parts_at,
    room_for,
    rows_at,
    scope_at,
)
from unlearnspn.compiling import as_written
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.growing import OPEN, Growth, grow
from unlearnspn.learning import Learner, Place
from unlearnspn.network import Address, Factor, Node, Operation
from unlearnspn.node_blocks import MASK, OPERATIONS, block_of, read_block, read_leaves
from unlearnspn.node_rows import gather, holder_of_rows
from unlearnspn.packing import pack, relocate, spare_words, trimmed, wipe
from unlearnspn.slices import Slice
from unlearnspn.threads import on_all_cores, pays_on_all_cores
from unlearnspn.traversal import all_below, link, mark_all_undigested, order_rows, places_outside

_read_scope, _read_parts, _read_numbers = as_written(scope_at), as_written(parts_at), as_written(numbers_at)
_read_leaves, _read_rows = as_written(leaves_at), as_written(rows_at)
_make_room = as_written(trimmed)
_FIRST_ROOM = 4096
_NOTHING = np.zeros(0, np.int64)
#: So few words that belong to nobody are no reason to move all others together.
_FEW_WASTED = 1 << 14
#: How many words a digest of a sub-network has.
SHORT_DIGEST = 4


def _seedling(learner: Learner, place: Place, rows: Rows) -> tuple[Any, ...]:
    """Return what a sub-network is grown from, by compiled code, which puts the rows into another order."""
    return learner.ground, place.scope, np.uint64(place.key), (place.connected, place.keeps_rows), rows.copy()


class FlatNetwork:
    """A network whose nodes are blocks of one array; a node is named by where its block starts."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.words: Words = np.zeros(_FIRST_ROOM, np.int64)
        self.used = 0
        #: How many of the words in use belong to nobody any more; they are zeros.
        self.wasted = 0
        self.root = -1
        #: Statistics that only Python can revise, by number.
        self.outside: dict[int, Any] = {}
        self._next_outside = 0
        #: The digests of each sub-network: of the released model, and of the state. No head is shorter than the words
        #: that a line stands for, so each node has one of its own.
        self.digests: Words = np.zeros((0, 2 * SHORT_DIGEST), np.int64)
        #: Digests of released sub-networks that were there before, one after another, until somebody takes note.
        self.outdated: list[Words] = []
        #: The nodes that were shown, by where they are, once some were.
        self._shown: WeakValueDictionary[int, Node] | None = None

    def __getstate__(self) -> dict[str, Any]:
        packed = self.compacted()
        packed.words = packed.words[: packed.used].copy()
        mark_all_undigested(packed.words, packed.root)
        return {**vars(packed), "digests": self.digests[:0], "outdated": [], "_shown": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "words": np.array(state["words"])})

    @classmethod
    def restore(cls, learner: Learner, words: Words, used: int, wasted: int, root: int, rows: Rows) -> FlatNetwork:
        """Return a network whose words are known; what lies outside of them is learned again, digests are not known."""
        network = cls(learner.inside)
        network.words, network.used, network.wasted, network.root = words, used, wasted, root
        order_rows(words, root)
        for node in mark_all_undigested(words, root).tolist():
            network._learn_outside(learner, node, rows)
        network._next_outside = 1 + max(network.outside, default=-1)
        return network

    def _learn_outside(self, learner: Learner, node: int, all_rows: Rows) -> None:
        """Learn what only Python can revise of a node."""
        found = self.rows_of(node)
        rows = all_rows if found is None else found
        asked = ((INDEPENDENCE, learner.independence), (CLUSTERING, learner.clustering))
        for place, block in asked:
            at = int(self.words[node + place])
            if at < 0:
                learn: Callable[[Slice, Rows], Any] = block.learn
                self.outside[-at - 1] = learn(self.slice(learner, node), np.sort(rows))
        for variable, at in _read_leaves(self.words, node).reshape(-1, 2).tolist():
            if at < 0:
                self.outside[-at - 1] = learner.learn_factor(variable, rows)

    # -- writing ---------------------------------------------------------------------------------------------------

    def store(self, node: Node, hash_marginals: Callable[[Node], Words]) -> int:
        """Write a node and all below it; parts that are numbers lie here already."""
        parts = [part if isinstance(part, int) else self.store(part, hash_marginals) for part in node.parts]
        at = self._write(node, parts, hash_marginals(node))
        self.words[np.array(parts, np.int64) + PARENT] = at
        return at

    def grow(self, learner: Learner, place: Place, rows: Rows) -> int:
        """Learn the sub-network of some rows, compiled if that can be."""
        if not self._is_compiled:
            return self.store(learner.learn_spn(place, rows), learner.hash_marginals)
        growth = grow(self.words, self.used, *_seedling(learner, place, rows))
        self.words, self.used = growth.words, growth.used
        self._learn_all_open(learner, growth.opened, rows)
        return int(growth.root)

    def grow_all(self, learner: Learner, wanted: Sequence[tuple[Place, Rows]]) -> list[int]:
        """Learn several sub-networks, on all cores if that pays; they lie here as if they were learned in turn."""
        sizes = [rows.size for _, rows in wanted]
        if not (self._is_compiled and pays_on_all_cores(grow, len(wanted), sum(sizes))):
            return [self.grow(learner, place, rows) for place, rows in wanted]
        growths = on_all_cores(grow, [(_NOTHING, 0, *_seedling(learner, *wish)) for wish in wanted], sizes)
        return [self._graft(learner, growth, rows) for growth, (_, rows) in zip(growths, wanted, strict=True)]

    def _graft(self, learner: Learner, growth: Growth, rows: Rows) -> int:
        """Write a sub-network that has grown elsewhere."""
        at = self._append(growth.words[: growth.used])
        relocate(self.words, at + growth.root, at)
        self._learn_all_open(learner, at + growth.opened, rows)
        return at + growth.root

    @property
    def _is_compiled(self) -> bool:
        """Whether compiled code can learn all but some leaves."""
        return self.inside.independence and self.inside.clustering

    def _learn_all_open(self, learner: Learner, nodes: Words, all_rows: Rows) -> None:
        for node in nodes.tolist():
            self.learn_open_leaves(learner, node, lambda: all_rows)

    def store_block(self, block: Words) -> int:
        """Write a node that was made elsewhere, with its rows behind it; its parts lie here already."""
        at = self._append(block)
        if self.words[at + ROWS] >= 0:
            self.words[at + ROWS] += at
        return at

    def learn_open_leaves(self, learner: Learner, node: int, all_rows: Callable[[], Rows]) -> None:
        """Learn the leaves of a node that compiled code has left open."""
        found = self.rows_of(node)
        rows = all_rows() if found is None else found
        leaves = _read_leaves(self.words, node)
        for i in np.flatnonzero(leaves[1::2] == OPEN).tolist():
            (factor,) = learner.learn_factors([leaves[2 * i : 2 * i + 1].copy()], rows)
            leaves[2 * i + 1] = self.put_outside(factor)

    def put_outside(self, statistics: Any) -> int:
        """Keep statistics outside, and return what stands for them in a block."""
        self.outside[self._next_outside] = statistics
        self._next_outside += 1
        return -self._next_outside

    def _write(self, node: Node, parts: list[int], marginals_hash: Words) -> int:
        rows = self._write_rows(node.rows)
        block = block_of(node, parts, marginals_hash, rows, self.inside, self.put_outside)
        return self._append(block)

    def _append(self, words: Words) -> int:
        """Write some words; return where they start."""
        at = self._allocate(words.size)
        self.words[at : at + words.size] = words
        return at

    def _write_rows(self, rows: Rows | None) -> tuple[int, int, int]:
        if rows is None:
            return -1, 0, 0
        room = room_for(rows.size)
        at = self._allocate(room)
        self.words[at : at + rows.size] = np.sort(rows)
        return at, rows.size, room

    def _allocate(self, number: int) -> int:
        at = self.used
        if at + number > self.words.size:
            grown = np.zeros(at + max(number, spare_words(at)), np.int64)
            grown[:at] = self.words[:at]
            self.words = grown
        self.used += number
        return at

    def link(self, old: int, new: int) -> None:
        """Put a node in another one's place."""
        link(self.words, old, new)
        if self.parent(new) < 0:
            self.root = new

    def free(self, nodes: list[int]) -> None:
        """Wipe nodes; those below them are not concerned."""
        gone = np.array(nodes, np.int64)
        if self.outside:
            for number in self.words[places_outside(self.words, gone)].tolist():
                del self.outside[-number - 1]
        self.wasted += wipe(self.words, gone)
        lines = gone // HEAD
        known = self.room_for_digests()[lines]
        self.outdated.append(known[:, :SHORT_DIGEST].ravel())
        self.digests[lines] = 0
        self.forget_shown(gone)

    def room_for_digests(self) -> Words:
        """Return the digests, with a line for each node."""
        n_lines = self.words.size // HEAD + 1
        if len(self.digests) < n_lines:
            grown = np.zeros((n_lines, 2 * SHORT_DIGEST), np.int64)
            grown[: len(self.digests)] = self.digests
            self.digests = grown
        return self.digests

    def released_digest(self, node: int) -> bytes:
        """Return the digest of a released sub-network."""
        return self.digests[node // HEAD, :SHORT_DIGEST].tobytes()

    def below(self, node: int) -> list[int]:
        """Return a node and all below it, parents first."""
        nodes: list[int] = all_below(self.words, node).tolist()
        return nodes

    def mark(self) -> tuple[int, int]:
        """Return where the next words and statistics would be written."""
        return self.used, self._next_outside

    def rewind(self, mark: tuple[int, int]) -> None:
        """Wipe what was written since, be it that nobody got to know of it."""
        used, next_outside = mark
        for number in [number for number in self.outside if number >= next_outside]:
            del self.outside[number]
        self.words[used:] = 0
        self.digests[used // HEAD :] = 0
        self.used, self._next_outside = mark

    def trim(self) -> None:
        """Leave as much room as will be needed soon."""
        words = _make_room(self.used)
        if words.size != self.words.size:
            words[: self.used] = self.words[: self.used]
            self.words = words

    def tidy_up(self) -> bool:
        """Give room back, once most of it belongs to nobody; tell whether that was so."""
        if self.wasted <= max(self.used // 2, _FEW_WASTED):
            return False
        self._move_together()
        return True

    def compacted(self) -> FlatNetwork:
        """Return the same network without the words that belong to nobody, and nothing that tells how it came about."""
        packed = FlatNetwork(self.inside)
        vars(packed).update({**vars(self), "outdated": []})
        packed._move_together()
        packed._number_outside()
        return packed

    def _move_together(self) -> None:
        """Leave out the words that belong to nobody."""
        nodes, digests = all_below(self.words, self.root), self.room_for_digests()
        self.words, self.used, places = pack(self.words, nodes)
        self.wasted, self.root = 0, int(places[0])
        self.digests = digests[:0]
        self.room_for_digests()[places // HEAD] = digests[nodes // HEAD]
        if self._shown is not None:
            moved = dict(zip(nodes.tolist(), places.tolist(), strict=True))
            shown = {moved[node]: shown for node, shown in self._shown.items() if node in moved}
            self._shown = WeakValueDictionary(shown)

    def _number_outside(self) -> None:
        """Give statistics that lie outside numbers in the order of nodes."""
        known, words = self.outside, self.words
        self.outside, self._next_outside = {}, 0
        for place in places_outside(words, all_below(words, self.root)).tolist():
            words[place] = self.put_outside(known[-int(words[place]) - 1])

    # -- reading ---------------------------------------------------------------------------------------------------

    def shallow(self, node: int) -> Node:
        """Return a node whose parts are numbers; its statistics are copies."""
        return read_block(self.words, node, self.outside)

    def parent(self, node: int) -> int:
        """Return the node above; -1 if there is none."""
        return int(self.words[node + PARENT])

    def n_records(self, node: int) -> int:
        """Return how many records a node has."""
        return int(self.words[node + N_RECORDS])

    def operation(self, node: int) -> Operation:
        """Return the operation that made a node."""
        return OPERATIONS[int(self.words[node + OPERATION])]

    def set_parent(self, node: int, parent: int) -> None:
        """Say which node is above, which need not know yet."""
        self.words[node + PARENT] = parent

    def key_of(self, node: int) -> int:
        """Return the key of a node's address."""
        return int(self.words[node + KEY]) & MASK

    def scope_of(self, node: int) -> Words:
        """Return a node's variables."""
        return _read_scope(self.words, node)

    def place(self, node: int) -> Place:
        """Return where a node stands; a cluster keeps its rows."""
        words, parent = self.words, self.parent(node)
        is_cluster = parent >= 0 and self.operation(parent) is Operation.SPLIT_DATA
        key, connected = self.key_of(node), bool(words[node + CONNECTED])
        return Place(self.scope_of(node).copy(), key, is_cluster, connected)

    def slice(self, learner: Learner, node: int) -> Slice:
        """Return what a node sees."""
        return Slice(learner.records, learner.encoding, self.scope_of(node).copy(), self.key_of(node))

    def place_of_part(self, node: int, number: int, scope: Words) -> Place:
        """Return where a part of a node stands."""
        operation = self.operation(node)
        if operation is Operation.SPLIT_DATA:
            return self.place(node).cluster(int(_read_numbers(self.words, node)[number]))
        return self.place(node).variables(scope.copy(), connected=operation is Operation.SPLIT_VARIABLES)

    def set_part(self, node: int, number: int, part: int) -> None:
        """Put a part below a node."""
        _read_parts(self.words, node)[number] = part
        self.words[part + PARENT] = node

    def independence_outside(self, node: int) -> int | None:
        """Return the number of the statistics of a node's independence, if they lie outside."""
        place = int(self.words[node + INDEPENDENCE])
        return -place - 1 if place < 0 else None

    def set_independence(self, node: int, statistics: Any) -> None:
        """Keep the statistics of a node's independence outside."""
        self.words[node + INDEPENDENCE] = self.put_outside(statistics)

    def leaves_outside(self, node: int) -> list[int]:
        """Return the numbers of the statistics of a node's leaves that lie outside."""
        return [-place - 1 for place in _read_leaves(self.words, node)[1::2].tolist() if place < 0]

    def parts(self, node: int) -> list[int]:
        """Return the parts of a node."""
        parts: list[int] = _read_parts(self.words, node).tolist()
        return parts

    def leaves(self, learner: Learner, node: int) -> Sequence[Factor]:
        """Return the leaves of a node with all that they follow from, but for its marginals."""
        return self._with_tables(learner, node, read_leaves(self.words, node, self.outside))

    def counts(self, learner: Learner, node: int) -> dict[int, Words]:
        """Return how many records of a node have each code of each of its variables, missing values left out."""
        marginals = self.words[node + int(self.words[node + MARGINALS]) :]
        return learner.counts_by_variable(self.scope_of(node), marginals)

    def detailed(self, learner: Learner, node: int) -> Node:
        """Return a node whose parts are numbers, with all that its leaves follow from."""
        found = self.shallow(node)
        found.factors = tuple(self._with_tables(learner, node, found.factors))
        return found

    def _with_tables(self, learner: Learner, node: int, factors: Sequence[Factor]) -> Sequence[Factor]:
        """Return the leaves of a node, trees with the tables that they follow from."""
        if all(factor.scope.size == 1 for factor in factors):
            return factors
        rows = self.rows_of(node)
        return learner.with_tables(factors, learner.records.rows if rows is None else rows)

    def show(self, learner: Learner, node: int) -> Node:
        """Return a node and all below it as they are now; what did not change since it was last shown is the same."""
        if self._shown is None:
            self._shown = WeakValueDictionary()
        known = self._shown.get(node)
        if known is None:
            known = self.detailed(learner, node)
            known.parts = tuple(self.show(learner, part) for part in known.parts)  # type: ignore[arg-type]
            self._shown[node] = known
        return known

    @property
    def is_shown(self) -> bool:
        """Whether somebody may hold a node that shows something."""
        return self._shown is not None

    def forget_shown(self, nodes: Words) -> None:
        """Forget what was shown of nodes that have changed."""
        if self._shown is not None:
            for node in nodes.tolist():
                self._shown.pop(node, None)

    def rows_of(self, node: int) -> Rows | None:
        """Return the rows of a node, those of one part after another; None if they are all there are."""
        holder = holder_of_rows(self.words, node)
        if holder < 0:
            return None
        if self.words[holder + ROWS] < 0:
            return gather(self.words, holder)
        # As nearly always, and `gather` would have to be compiled.
        return _read_rows(self.words, holder).copy()

    def address(self, node: int) -> Address:
        """Return where a node is."""
        parent = self.parent(node)
        if parent < 0:
            return Address()
        above = self.address(parent)
        if self.words[parent + OPERATION] != blocks.SPLIT_DATA:
            return above.variables(self.scope_of(node).copy())
        place = _read_parts(self.words, parent).tolist().index(node)
        return above.cluster(int(_read_numbers(self.words, parent)[place]))
