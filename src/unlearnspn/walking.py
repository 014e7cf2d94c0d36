"""The compiled walk: shift the statistics of every node that holds some records, as long as all decisions stay.

The walk goes down from a node. It takes rows out of a node's statistics and puts others in, in place, and asks the
questions of LearnSPN again. Where the answers are what they were, it goes on; where they are not, it takes its change
back; there, and where answers cannot be known here, it names the node, for `revision` to see to. All statistics are
integers, so taking a change back restores every bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unlearnspn.arrays import joined, put, with_room
from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    INDEPENDENCE,
    N_RECORDS,
    N_ROWS,
    OPERATION,
    ROOM,
    ROWS,
    SPLIT_DATA,
    WIDTH,
    numbers_at,
    parts_at,
)
from unlearnspn.clustering.columns import label
from unlearnspn.clustering.rounds import seeds_at
from unlearnspn.compiling import inner_kernel, kernel, late_kernel, per_element
from unlearnspn.decisions import decides_alike
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground, among
from unlearnspn.independence.asked_pairs import N_PAIRS, keeps_tables
from unlearnspn.rebuilding import LARGE_SHARE
from unlearnspn.shifting import make_change, pairs_of, rounds_of, space_at
from unlearnspn.slices import Counts
from unlearnspn.traversal import has_leaves_outside


class Trail:
    """Where a walk has been: a line for each node, and the rows that changed there.

    Compiled code hands it over in one piece, for each array that it returns takes Python a microsecond: the lengths of
    the three arrays below, how many steps are left to do and to make, and the arrays one after another.
    """

    def __init__(self, packed: Words) -> None:
        n_steps, n_rows, _, self.n_left, n_later = packed[:_N_COUNTS].tolist()
        #: How many nodes were visited.
        self.n_visited: int = n_steps // STEP - n_later
        self._packed, self._first, self._second = packed, _N_COUNTS + n_steps, _N_COUNTS + n_steps + n_rows

    @property
    def steps(self) -> Words:
        """[node, start of minus, start of plus, end of plus, what became of it], one after another."""
        return self._packed[_N_COUNTS : self._first]

    @property
    def rows(self) -> Rows:
        """The rows that steps refer to."""
        return self._packed[self._first : self._second]

    @property
    def pairs(self) -> Words:
        """For each node that is to be rebuilt, how many words follow, and the pairs that were asked, as they are."""
        return self._packed[self._second :]

    def visits(self) -> Iterator[tuple[int, int, Rows, Rows]]:
        """Yield nodes, what became of them, and which rows leave and come there."""
        rows = self.rows
        for node, start, middle, end, outcome in self.steps.reshape(-1, STEP).tolist():
            yield node, outcome, rows[start:middle], rows[middle:end]


STEP, VISIT = 5, 4
_N_COUNTS = 5

#: A node to be visited, and which rows leave and come there: start of minus, start of plus, end of plus.
Visit = tuple[int, int, int, int]

#: What became of a change: it is left to Python, it was made, it was made but for statistics that lie outside, another
#: node is to take the place of this one, or it is to be made yet.
REFUSED, MADE, MADE_INSIDE, TO_REBUILD, TO_VISIT = range(5)

#: Where more rows than this change, what is below is left for other walks, on all cores.
MANY_ROWS = 2048


@kernel
def _loses_a_seed(words: Words, node: int, minus: Rows) -> bool:
    """Tell whether a record leaves around which there is a cluster: then no more need be asked."""
    if words[node + CLUSTERING] > 0:
        for seed in seeds_at(words, node + words[node + CLUSTERING]):
            if among(minus, seed):
                return True
    return False


@kernel
def _try_to_shift(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> tuple[bool, Words]:
    """Make a change at a node if all its decisions stay; otherwise leave everything as it was.

    Then the pairs that were asked are returned if they were brought up to date, for the node is to be asked anew.
    """
    nothing = np.empty(0, np.int64)
    no_room = words[node + ROWS] >= 0 and words[node + N_ROWS] + plus.size - minus.size > words[node + ROOM]
    n_after = words[node + N_RECORDS] + plus.size - minus.size
    if no_room or n_after == 0 or minus.size + plus.size > max(LARGE_SHARE * n_after, 1):
        return False, nothing
    if _loses_a_seed(words, node, minus):
        return False, nothing
    before = pairs_of(words, node)
    # To count pairs back takes longer than to keep them; tables are long, and soon counted back.
    before = before.copy() if before.size and not keeps_tables(before, 0) else nothing
    make_change(words, ground, node, minus, plus, nothing)
    if decides_alike(words, ground, node, minus, plus):
        return True, nothing
    after = pairs_of(words, node).copy()
    make_change(words, ground, node, plus, minus, before)
    return False, after


@kernel
def _can_be_rebuilt(words: Words, ground: Ground, node: int) -> bool:
    """Tell whether compiled code can ask all that has to be asked of a node whose decisions change."""
    if ground.is_compiled:
        return True
    in_one_group = words[node + CONNECTED] == 1 or words[node + INDEPENDENCE] < 0
    return bool(words[node + OPERATION] == SPLIT_DATA and words[node + CLUSTERING] > 0 and in_one_group)


@kernel
def _outcome(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows, is_answered: bool) -> tuple[int, Words]:
    if (words[node + INDEPENDENCE] < 0 and not is_answered) or words[node + CLUSTERING] < 0:
        return REFUSED, np.empty(0, np.int64)
    stays, pairs = _try_to_shift(words, ground, node, minus, plus)
    if not stays:
        return TO_REBUILD if _can_be_rebuilt(words, ground, node) else REFUSED, pairs
    return MADE_INSIDE if has_leaves_outside(words, node) else MADE, pairs


@inner_kernel(per_element(3, 4, 5))
def _share_out(rows: Rows, n_rows: int, start: int, middle: int, labels: Counts, numbers: Words) -> Counts:
    """Write the rows of each cluster behind all others; return where each one's minus and plus start, and plus ends."""
    shares = np.empty((numbers.size, 3), np.int64)
    for k in range(numbers.size):
        shares[k, 0] = shares[k, 1] = n_rows
        for i in range(labels.size):
            if labels[i] == numbers[k]:
                rows[n_rows] = rows[start + i]
                n_rows += 1
                shares[k, 1] += start + i < middle
        shares[k, 2] = n_rows
    return shares


@kernel
def _go_down(
    words: Words, ground: Ground, visit: Visit, rows: Rows, n_rows: int, pending: list[Visit]
) -> tuple[Rows, int]:
    """Add the parts of a node to those that are to be visited, with their shares of a change."""
    node, start, middle, end = visit
    parts, numbers = parts_at(words, node), numbers_at(words, node)
    if words[node + OPERATION] != SPLIT_DATA:
        for part in parts:
            pending.append((part, start, middle, end))
        return rows, n_rows
    space = space_at(ground, words, node)
    labels = label(space, rows[start:end], rounds_of(words, node, space).centroids[-1])
    rows = with_room(rows, n_rows, end - start)
    shares = _share_out(rows, n_rows, start, middle, labels, numbers)
    for k in range(parts.size):
        first, second, last = shares[k]
        if last > first:
            pending.append((parts[k], first, second, last))
    return rows, shares[-1, -1]


@kernel
def _noted(steps: Words, n_steps: int, visit: Visit, outcome: int) -> tuple[Words, int]:
    """Note what became of a visit."""
    steps = with_room(steps, n_steps, STEP)
    steps[n_steps], steps[n_steps + 1], steps[n_steps + 2], steps[n_steps + 3] = visit
    steps[n_steps + 4] = outcome
    return steps, n_steps + STEP


def _steps_of_shift(width: int, n_pairs: int, n_coordinates: int = 0) -> int:
    """Return about how many steps the interpreter takes to make a change at a node, apart from inner kernels.

    It asks everything again, hence all pairs and all coordinates of a round's centroids.
    """
    return 300 + 30 * width + 20 * n_pairs + 40 * n_coordinates


def _steps_at(words: Words, ground: Ground, node: int) -> int:
    width, start = int(words[node + WIDTH]), int(words[node + INDEPENDENCE])
    n_pairs = int(words[node + start + N_PAIRS]) if start > 0 else 0
    return _steps_of_shift(width, n_pairs, ground.n_clusters * width if ground.max_rounds else 0)


def _steps_below(words: Words, ground: Ground, node: int, n_rows: int) -> int:
    """Return about how many steps it takes below a node: each row goes its own way, as long as there are nodes left.

    Where centroids move the walk ends, and with rounds of k-means they mostly do.
    """
    if ground.max_rounds:
        return 0
    width, n_records, n_clusters = int(words[node + WIDTH]), int(words[node + N_RECORDS]), max(ground.n_clusters, 2)
    n_levels, n_nodes = 1, 3 * n_records // ground.min_rows
    while n_records > ground.min_rows:
        n_records //= n_clusters
        n_levels += 2
    return min(n_rows * n_levels, n_nodes) * _steps_of_shift(width, 2 * width)


def _steps_of_walk(words: Words, ground: Ground, visits: Words, changed: Rows, answered: int) -> int:
    steps = 0
    for node, start, middle, end in visits.reshape(-1, VISIT).tolist():
        n_rows, n_after = end - start, int(words[node + N_RECORDS]) + (end - middle) - (middle - start)
        if n_rows <= max(LARGE_SHARE * n_after, 1):
            steps += _steps_at(words, ground, node) + _steps_below(words, ground, node, n_rows)
    return steps


def _steps_of_walking_back(words: Words, ground: Ground, steps: Words, rows: Rows) -> int:
    made = (step for step in steps.reshape(-1, STEP).tolist() if step[-1] in (MADE, MADE_INSIDE))
    return sum(_steps_at(words, ground, node) for node, *_ in made)


@late_kernel(_steps_of_walk)
def walk(words: Words, ground: Ground, visits: Words, changed: Rows, answered: int) -> Words:
    """Walk down from some nodes, and return where their changes were made and where they could not be.

    `visits` are lines of [node, start of minus, start of plus, end of plus] in `changed`, where each part is sorted.
    `answered` is a node of which Python has found that its variables form the same groups as before, or -1. Returns a
    packed `Trail`.
    """
    steps, n_steps, n_left = np.empty(64 * STEP, np.int64), 0, 0
    rows, n_rows = joined(changed, np.empty(64, np.int64)), changed.size
    kept = np.empty(0, np.int64)
    pending = [(visits[i], visits[i + 1], visits[i + 2], visits[i + 3]) for i in range(0, visits.size, VISIT)]
    later = pending[:0]
    while pending:
        visit = pending.pop()
        node, start, middle, end = visit
        outcome, pairs = _outcome(words, ground, node, rows[start:middle], rows[middle:end], node == answered)
        steps, n_steps = _noted(steps, n_steps, visit, outcome)
        n_left += outcome != MADE
        if outcome == TO_REBUILD:
            kept = joined(joined(kept, np.full(1, pairs.size)), pairs)
        elif outcome != REFUSED:
            rows, n_rows = _go_down(words, ground, visit, rows, n_rows, later if end - start > MANY_ROWS else pending)
    for visit in later:
        steps, n_steps = _noted(steps, n_steps, visit, TO_VISIT)
    trail = np.empty(_N_COUNTS + n_steps + n_rows + kept.size, np.int64)
    trail[0], trail[1], trail[2], trail[3], trail[4] = n_steps, n_rows, kept.size, n_left + len(later), len(later)
    put(trail, _N_COUNTS, steps[:n_steps])
    put(trail, _N_COUNTS + n_steps, rows[:n_rows])
    put(trail, _N_COUNTS + n_steps + n_rows, kept)
    return trail


@late_kernel(_steps_of_walking_back)
def walk_back(words: Words, ground: Ground, steps: Words, rows: Rows) -> None:
    """Take back what a walk has changed."""
    nothing = np.empty(0, np.int64)
    for at in range(steps.size - STEP, -1, -STEP):
        if steps[at + 4] in (MADE, MADE_INSIDE):
            node, start, middle, end = steps[at : at + 4]
            make_change(words, ground, node, rows[middle:end], rows[start:middle], nothing)
