"""The compiled walk: shift the statistics of every node that holds some records, as long as all decisions stay.

The walk goes down from a node. It takes rows out of a node's statistics and puts others in, in place, and asks the
questions of LearnSPN again. Where the answers are what they were, it goes on; where they are not, it takes its change
back; there, and where answers cannot be known here, it names the node, for `revision` to see to. All statistics are
integers, so taking a change back restores every bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unlearnspn import blocks
from unlearnspn.arrays import count_of, first_reaching, joined, places_of, put, with_room
from unlearnspn.blocks import (
    CLUSTERING,
    CONNECTED,
    DIGESTED,
    INDEPENDENCE,
    KEY,
    MARGINALS,
    MARGINALS_HASH,
    MEMBERS,
    N_RECORDS,
    N_ROWS,
    OPERATION,
    PARENT,
    ROOM,
    ROWS,
    TREE,
    WIDTH,
    informative_at,
    leaves_at,
    numbers_at,
    parts_at,
    rows_at,
    scope_at,
)
from unlearnspn.clustering.lloyd import rounds_that_hold, shift_rounds
from unlearnspn.clustering.rounds import Rounds, rounds_at
from unlearnspn.clustering.space import Space, label
from unlearnspn.compiling import IN, OUT, kernel, late_kernel, per_row
from unlearnspn.exact_sum import Rows, Words, add_value, carry
from unlearnspn.ground import Ground, look_for_another, shift_tree, space_of, tree_scope
from unlearnspn.hashing import mix64, mix_member, unsigned
from unlearnspn.independence.asked_pairs import N_PAIRS, answers_hold, keeps_tables, shift_pairs, wants_tables
from unlearnspn.rebuilding import LARGE_SHARE, holder_of_rows, pairs_of, rows_staying

#: So many rows are looked at in one go where all there are may have to be.
_CHUNK = 1024
#: With more rows than this, what is known of pairs is counted anew rather than shifted by each of them.
_FEW_ROWS = 10


class Trail:
    """Where a walk has been: a line for each node, and the rows that changed there.

    Compiled code hands it over in one piece, for each array that it returns takes Python a microsecond: the lengths of
    the three arrays below, how many steps are left to do, and the arrays one after another.
    """

    def __init__(self, packed: Words) -> None:
        n_steps, n_rows, _, self.n_left = packed[:_N_COUNTS].tolist()
        first, second = _N_COUNTS + n_steps, _N_COUNTS + n_steps + n_rows
        #: [node, start of minus, start of plus, end of plus, what became of it]
        self.steps: Words = packed[_N_COUNTS:first]
        #: The rows that steps refer to.
        self.rows: Rows = packed[first:second]
        #: For each node that is to be rebuilt, how many words follow, and the pairs that were asked, as they are now.
        self.pairs: Words = packed[second:]

    @property
    def n_steps(self) -> int:
        """How many nodes were visited."""
        return self.steps.size // STEP

    def visits(self) -> Iterator[tuple[int, int, Rows, Rows]]:
        """Yield nodes, what became of them, and which rows leave and come there."""
        rows = self.rows
        for node, start, middle, end, outcome in self.steps.reshape(-1, STEP).tolist():
            yield node, outcome, rows[start:middle], rows[middle:end]


STEP, VISIT = 5, 4
_N_COUNTS = 4

#: A node to be visited, and which rows leave and come there: start of minus, start of plus, end of plus.
Visit = tuple[int, int, int, int]

#: What became of a change: it is left to Python, it was made, it was made but for statistics that lie outside, or
#: another node is to take the place of this one.
REFUSED, MADE, MADE_INSIDE, TO_REBUILD = range(4)


@kernel
def _space(ground: Ground, words: Words, node: int) -> Space:
    return space_of(ground, scope_at(words, node), np.uint64(words[node + KEY]))


@kernel
def rounds_of(words: Words, node: int, space: Space) -> Rounds:
    """Return what is kept of a node's clusters."""
    return rounds_at(words, node + words[node + CLUSTERING], space.offsets[-1])


@kernel
def _shift_marginals(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    low, high = np.uint64(words[node + MARGINALS_HASH]), np.uint64(words[node + MARGINALS_HASH + 1])
    factor = unsigned(sign)
    at = node + words[node + MARGINALS]
    for v in scope_at(words, node):
        for row in rows:
            code = np.int64(ground.codes[row, v])
            words[at + code] += sign
            name = mix64(ground.prints[v, code])
            low += factor * name
            high += factor * mix64(name)
        at += ground.sizes[v]
    words[node + MARGINALS_HASH], words[node + MARGINALS_HASH + 1] = np.int64(low), np.int64(high)


@kernel
def _shift_leaves(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    leaves = leaves_at(words, node)
    for i in range(0, leaves.size, 2):
        v, at = leaves[i], leaves[i + 1]
        if at <= 0:
            continue
        if v == TREE:
            tree = tree_scope(ground, scope_at(words, node), informative_at(words, node))
            shift_tree(ground, words, node + at, tree, rows, sign)
            continue
        window = (ground.windows[v, 0], ground.windows[v, 1], ground.windows[v, 2])
        for row in rows:
            add_value(words, node + at, ground.bits[row, ground.place[v]], window, sign)
        carry(words, node + at, window)


@kernel
def _drop_rows(words: Words, node: int, rows: Rows) -> None:
    start, end = words[node + ROWS], words[node + ROWS] + words[node + N_ROWS]
    place, gone = start + first_reaching(words[start:end], rows[0]), 0
    for at in range(place, end):
        if gone < rows.size and words[at] == rows[gone]:
            gone += 1
        else:
            words[place] = words[at]
            place += 1
    for at in range(place, end):
        words[at] = 0
    words[node + N_ROWS] -= rows.size


@kernel
def _insert_rows(words: Words, node: int, rows: Rows) -> None:
    start, coming = words[node + ROWS], rows.size
    at = start + words[node + N_ROWS]
    while coming:
        if at > start and words[at - 1] > rows[coming - 1]:
            words[at - 1 + coming] = words[at - 1]
            at -= 1
        else:
            coming -= 1
            words[at + coming] = rows[coming]
    words[node + N_ROWS] += rows.size


@kernel
def _shift_rows(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    """Take rows out of those that a node keeps in increasing order, if it does, or put them in."""
    if words[node + ROWS] < 0:
        return
    if sign < 0:
        _drop_rows(words, node, rows)
    else:
        _insert_rows(words, node, rows)
    for row in rows:
        low, high = mix_member(ground.keys[row])
        words[node + MEMBERS] += sign * np.int64(low)
        words[node + MEMBERS + 1] += sign * np.int64(high)


@kernel
def _shift(words: Words, ground: Ground, node: int, rows: Rows, sign: int) -> None:
    """Take rows out of all that a node knows but for independence, or put them in."""
    if rows.size == 0:
        return
    words[node + N_RECORDS] += sign * rows.size
    words[node + DIGESTED] = 0
    _shift_marginals(words, ground, node, rows, sign)
    if words[node + CLUSTERING] > 0:
        space = _space(ground, words, node)
        shift_rounds(space, rounds_of(words, node, space), rows, sign)
    _shift_leaves(words, ground, node, rows, sign)
    _shift_rows(words, ground, node, rows, sign)


@kernel
def _count_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> Words:
    """Count for the one row that comes or goes how many others have its codes."""
    scope, at = scope_at(words, node), node + words[node + MARGINALS]
    row = minus[0] if minus.size else plus[0]
    alike = np.empty(scope.size, np.int64)
    for i in range(scope.size):
        alike[i] = words[at + np.int64(ground.codes[row, scope[i]])] - minus.size
        at += ground.sizes[scope[i]]
    return alike


@kernel
def _shift_independence(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> None:
    """Make a change in what is known of pairs, before it is made in the marginals."""
    start, scope = node + words[node + INDEPENDENCE], scope_at(words, node)
    staying, alike = minus[:0].copy(), minus[:0].copy()
    if not keeps_tables(words, start):
        staying = rows_staying(words, ground, node, minus, plus)
    elif minus.size + plus.size == 1:
        alike = _count_alike(words, ground, node, minus, plus)
    sizes, prints = ground.sizes, ground.prints
    shift_pairs(words, start, ground.codes, staying, minus, plus, scope, sizes, prints, ground.logs, alike)


@kernel
def _make(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows, pairs: Words) -> None:
    """Make a change in all that a node knows; the opposite change takes it back.

    `pairs` is what becomes known of pairs, if somebody knows that already.
    """
    if pairs.size:
        put(pairs_of(words, node), 0, pairs)
    elif words[node + INDEPENDENCE] > 0:
        _shift_independence(words, ground, node, minus, plus)
    # A loop, so that the compiler has one call to work on.
    for sign in (OUT, IN):
        _shift(words, ground, node, minus if sign == OUT else plus, sign)


@kernel
def _varies(words: Words, ground: Ground, node: int, v: int, minus: Rows, plus: Rows) -> bool:
    """Tell whether a variable has two values among the records of a node after a change, stopping at the second."""
    first, found = look_for_another(ground, plus, plus[:0], v, -1)
    holder = holder_of_rows(words, node)
    if holder < 0:
        for start in range(0, ground.live.size, _CHUNK):
            if not found:
                rows = start + places_of(ground.live[start : start + _CHUNK], True)
                first, found = look_for_another(ground, rows, minus, v, first)
        return found
    pending = [holder]
    while pending and not found:
        part = pending.pop()
        if words[part + ROWS] >= 0:
            first, found = look_for_another(ground, rows_at(words, part), minus, v, first)
        else:
            for child in parts_at(words, part):
                pending.append(child)
    return found


@kernel
def _informative_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> bool:
    """Tell whether the same variables are informative as before a change that was made already."""
    scope, before = scope_at(words, node), informative_at(words, node)
    at = node + words[node + MARGINALS]
    for i in range(scope.size):
        v, occurring = scope[i], 0
        if minus.size == 1 and plus.size == 0:
            # If others have the code of the row that is gone, and yet others another one, no more need be counted.
            others = words[at + np.int64(ground.codes[minus[0], v])]
            if before[i] == 0 or (others and others + words[at] < words[node + N_RECORDS]):
                at += ground.sizes[v]
                continue
        for code in range(1, ground.sizes[v]):
            if words[at + code]:
                occurring += 1
        at += ground.sizes[v]
        informative = occurring > 1
        if occurring == 1 and ground.hides[v] and (before[i] or plus.size):
            informative = _varies(words, ground, node, v, minus, plus)
        if informative != (before[i] == 1):
            return False
    return True


@kernel
def _answers_hold(words: Words, ground: Ground, node: int) -> bool:
    """Tell whether the same pairs would be asked and give the same answers, and as much be kept of them."""
    start = node + words[node + INDEPENDENCE]
    wanted = wants_tables(words[node + N_RECORDS], words[node + WIDTH], ground.tables_above)
    kept_alike = keeps_tables(words, start) == wanted
    return kept_alike and answers_hold(words, start, ground.cut)


@kernel
def _clusters_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> bool:
    """Tell whether the centroids stay, and which clusters have rows."""
    space = _space(ground, words, node)
    rounds = rounds_of(words, node, space)
    if rounds_that_hold(space, rounds, minus, plus) < len(rounds.sums):
        return False
    n_parts = 0
    for size in rounds.sizes:
        n_parts += size > 0
    if words[node + OPERATION] != blocks.SPLIT_DATA:
        return n_parts == 1
    if n_parts != words[node + blocks.N_PARTS]:
        return False
    for number in numbers_at(words, node):
        if rounds.sizes[number] == 0:
            return False
    return True


@kernel
def _decides_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> bool:
    """Ask the questions of Algorithm 1 again, after a change that was made already."""
    if words[node + OPERATION] == blocks.CREATE_LEAF:
        return True
    if not _informative_alike(words, ground, node, minus, plus):
        return False
    if count_of(informative_at(words, node), 0):
        return True
    n_records = words[node + N_RECORDS]
    if (n_records <= ground.min_rows) != (n_records - plus.size + minus.size <= ground.min_rows):
        return False
    if words[node + INDEPENDENCE] > 0 and not _answers_hold(words, ground, node):
        return False
    return words[node + CLUSTERING] == 0 or _clusters_alike(words, ground, node, minus, plus)


@kernel
def _try_to_shift(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> tuple[bool, Words]:
    """Make a change at a node if all its decisions stay; otherwise leave everything as it was.

    Then the pairs that were asked are returned, brought up to date, for the node is to be asked anew.
    """
    nothing = np.empty(0, np.int64)
    no_room = words[node + ROWS] >= 0 and words[node + N_ROWS] + plus.size - minus.size > words[node + ROOM]
    n_after = words[node + N_RECORDS] + plus.size - minus.size
    if no_room or n_after == 0 or minus.size + plus.size > max(LARGE_SHARE * n_after, 1):
        return False, nothing
    before = pairs_of(words, node)
    # To count pairs back takes longer than to keep them; tables are long, and soon counted back.
    before = before.copy() if before.size and not keeps_tables(before, 0) else nothing
    _make(words, ground, node, minus, plus, nothing)
    if _decides_alike(words, ground, node, minus, plus):
        return True, nothing
    after = pairs_of(words, node).copy()
    _make(words, ground, node, plus, minus, before)
    return False, after


@kernel
def has_leaves_outside(words: Words, node: int) -> bool:
    """Tell whether the statistics of some leaves of a node lie outside."""
    leaves = leaves_at(words, node)
    for i in range(1, leaves.size, 2):
        if leaves[i] < 0:
            return True
    return False


@kernel
def _can_be_rebuilt(words: Words, ground: Ground, node: int) -> bool:
    """Tell whether compiled code can ask all that has to be asked of a node whose decisions change."""
    if ground.is_compiled:
        return True
    in_one_group = words[node + CONNECTED] == 1 or words[node + INDEPENDENCE] < 0
    return bool(words[node + OPERATION] == blocks.SPLIT_DATA and words[node + CLUSTERING] > 0 and in_one_group)


@kernel
def _outcome(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows, is_answered: bool) -> tuple[int, Words]:
    if (words[node + INDEPENDENCE] < 0 and not is_answered) or words[node + CLUSTERING] < 0:
        return REFUSED, np.empty(0, np.int64)
    stays, pairs = _try_to_shift(words, ground, node, minus, plus)
    if not stays:
        return TO_REBUILD if _can_be_rebuilt(words, ground, node) else REFUSED, pairs
    return MADE_INSIDE if has_leaves_outside(words, node) else MADE, pairs


@late_kernel(per_row(1))
def mark_undigested(words: Words, nodes: Words) -> None:
    """Say of some nodes, and of all above them, that their digests do not hold any more."""
    for first in nodes:
        node = first
        while node >= 0 and words[node + DIGESTED]:
            words[node + DIGESTED] = 0
            node = words[node + PARENT]


@late_kernel(per_row(0))
def link(words: Words, old: int, new: int) -> None:
    """Put a node in another one's place, below the same parent and above its own parts; all above are undigested."""
    parent = words[old + PARENT]
    mark_undigested(words, words[old + PARENT : old + PARENT + 1])
    words[new + PARENT] = parent
    for part in parts_at(words, new):
        if part >= 0:
            words[part + PARENT] = new
    if parent >= 0:
        parts = parts_at(words, parent)
        for i in range(parts.size):
            if parts[i] == old:
                parts[i] = new


@kernel
def _go_down(
    words: Words, ground: Ground, visit: Visit, rows: Rows, n_rows: int, pending: list[Visit]
) -> tuple[Rows, int]:
    """Add the parts of a node to those that are to be visited, with their shares of a change."""
    node, start, middle, end = visit
    parts, numbers = parts_at(words, node), numbers_at(words, node)
    if words[node + OPERATION] != blocks.SPLIT_DATA:
        for part in parts:
            pending.append((part, start, middle, end))
        return rows, n_rows
    space = _space(ground, words, node)
    labels = label(space, rows[start:end], rounds_of(words, node, space).centroids[-1])
    rows = with_room(rows, n_rows, end - start)
    for k in range(parts.size):
        first, second = n_rows, n_rows
        for i in range(start, end):
            if labels[i - start] == numbers[k]:
                rows[n_rows] = rows[i]
                n_rows += 1
                second += i < middle
        if n_rows > first:
            pending.append((parts[k], first, second, n_rows))
    return rows, n_rows


def _steps_of_shift(words: Words, node: int, n_rows: int) -> int:
    """Return about how many steps the interpreter takes to make a change of so many rows at a node."""
    width, start = int(words[node + WIDTH]), int(words[node + INDEPENDENCE])
    n_pairs = int(words[node + start + N_PAIRS]) if start > 0 else 0
    return 100 * width * n_rows + 200 * n_pairs * min(n_rows, _FEW_ROWS)


def _steps_below(words: Words, ground: Ground, node: int, n_rows: int) -> int:
    """Return about how many steps it takes below a node: pairs are asked again of clusters that are large enough."""
    width, n_records, n_clusters = int(words[node + WIDTH]), int(words[node + N_RECORDS]), max(ground.n_clusters, 2)
    steps, n_records = 100 * width * n_rows, n_records // n_clusters
    while n_records > ground.min_rows:
        steps += 100 * width * width * n_rows
        n_records //= n_clusters
    return steps


def _steps_of_walk(words: Words, ground: Ground, visits: Words, changed: Rows, answered: int) -> int:
    steps = 0
    for node, start, middle, end in visits.reshape(-1, VISIT).tolist():
        n_rows, n_after = end - start, int(words[node + N_RECORDS]) + (end - middle) - (middle - start)
        if n_rows <= max(LARGE_SHARE * n_after, 1):
            steps += _steps_of_shift(words, node, n_rows) + _steps_below(words, ground, node, n_rows)
    return steps


def _steps_of_walking_back(words: Words, ground: Ground, steps: Words, rows: Rows) -> int:
    made = (step for step in steps.reshape(-1, STEP).tolist() if step[-1] in (MADE, MADE_INSIDE))
    return sum(_steps_of_shift(words, node, end - start) for node, start, _, end, _ in made)


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
    while pending:
        visit = pending.pop()
        node, start, middle, end = visit
        outcome, pairs = _outcome(words, ground, node, rows[start:middle], rows[middle:end], node == answered)
        steps = with_room(steps, n_steps, STEP)
        for place in (node, start, middle, end, outcome):
            steps[n_steps] = place
            n_steps += 1
        n_left += outcome != MADE
        if outcome == TO_REBUILD:
            kept = joined(joined(kept, np.full(1, pairs.size)), pairs)
        elif outcome != REFUSED:
            rows, n_rows = _go_down(words, ground, visit, rows, n_rows, pending)
    trail = np.empty(_N_COUNTS + n_steps + n_rows + kept.size, np.int64)
    trail[0], trail[1], trail[2], trail[3] = n_steps, n_rows, kept.size, n_left
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
            _make(words, ground, node, rows[middle:end], rows[start:middle], nothing)
