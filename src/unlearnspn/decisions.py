"""The questions of Algorithm 1, asked again of a node whose statistics have changed: does it stay what it is?"""

from __future__ import annotations

import numpy as np

from unlearnspn.arrays import count_of, places_of
from unlearnspn.blocks import (
    CLUSTERING,
    CREATE_LEAF,
    INDEPENDENCE,
    MARGINALS,
    N_PARTS,
    N_RECORDS,
    OPERATION,
    ROWS,
    SPLIT_DATA,
    WIDTH,
    informative_at,
    numbers_at,
    parts_at,
    rows_at,
    scope_at,
)
from unlearnspn.clustering.lloyd import rounds_that_hold
from unlearnspn.compiling import kernel
from unlearnspn.exact_sum import Rows, Words
from unlearnspn.ground import Ground, look_for_another
from unlearnspn.independence.asked_pairs import answers_hold, keeps_tables, wants_tables
from unlearnspn.node_rows import holder_of_rows
from unlearnspn.shifting import rounds_of, space_at

#: So many rows are looked at in one go where all there are may have to be.
_CHUNK = 1024


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
    space = space_at(ground, words, node)
    rounds = rounds_of(words, node, space)
    if rounds_that_hold(space, rounds, minus, plus) < len(rounds.sums):
        return False
    n_parts = 0
    for size in rounds.sizes:
        n_parts += size > 0
    if words[node + OPERATION] != SPLIT_DATA:
        return n_parts == 1
    if n_parts != words[node + N_PARTS]:
        return False
    for number in numbers_at(words, node):
        if rounds.sizes[number] == 0:
            return False
    return True


@kernel
def decides_alike(words: Words, ground: Ground, node: int, minus: Rows, plus: Rows) -> bool:
    """Ask the questions of Algorithm 1 again, after a change that was made already."""
    if words[node + OPERATION] == CREATE_LEAF:
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
