"""Lloyd's algorithm in integers, with centroids on a randomly shifted lattice: learned from rows, and revised."""

from __future__ import annotations

from typing import Any

import numpy as np

from unlearnspn.arrays import equal, put, tally
from unlearnspn.clustering.columns import gather_columns, label, label_by_distance, shift_distances
from unlearnspn.clustering.reseeding import reseed
from unlearnspn.clustering.rounds import Rounds, copy_lines, copy_rounds, to_words
from unlearnspn.clustering.seeding import seed_centroids, seeds_hold
from unlearnspn.clustering.space import ONE, Lines, Space, add_row, costs_of, move_row, nearest
from unlearnspn.compiling import IN, OUT, inlined, inner_kernel, kernel, late_kernel, per_element
from unlearnspn.exact_sum import Words
from unlearnspn.hashing import mix64
from unlearnspn.slices import Counts, Rows


@kernel
def _lattice(space: Space) -> Counts:
    """Return by how much the lattice is shifted, for each entry of a line that is a coordinate."""
    shifts = np.zeros(space.offsets[-1], np.int64)
    for i in range(space.scope.size):
        v, start = space.scope[i], space.offsets[i]
        # A number's coordinate is its first entry, of a category all but the first one are.
        first, end = (start, start + 1) if space.is_numeric[v] else (start + 1, space.offsets[i + 1])
        for entry in range(first, end):
            shifts[entry] = np.int64(mix64(space.prints[v, entry - start] ^ space.key) % np.uint64(space.spacing))
    return shifts


@inlined
def _snap(shift: np.int64, spacing: int, total: int, count: int) -> np.int64:
    """Round total/count to the lattice {shift + spacing·z}, in integers.

    A quotient of floats is off by one at most, and takes a fraction of the time that one of integers does.
    """
    numerator, width = 2 * (total - count * shift) + count * spacing, 2 * count * spacing
    steps = np.int64(np.floor(np.float64(numerator) / np.float64(width)))
    rest = numerator - steps * width
    return shift + spacing * (steps + (rest >= width) - (rest < 0))


@inner_kernel(per_element(5, 2))
def _quantise(space: Space, lattice: Counts, sums: Lines, counts: Counts, previous: Lines, centroids: Lines) -> None:
    """Write the clusters' means on the lattice, where there are zeros; an empty cluster keeps its centroid.

    A coordinate without a value is 0: so is that of a code that no row of the cluster has, whether or not some row
    elsewhere has it.
    """
    spacing = space.spacing
    for c in range(sums.shape[0]):
        own, line = sums[c], centroids[c]
        if counts[c] == 0:
            put(line, 0, previous[c])
            continue
        for i in range(space.scope.size):
            start, end = space.offsets[i], space.offsets[i + 1]
            if space.is_numeric[space.scope[i]]:
                if own[start + 1]:
                    line[start] = _snap(lattice[start], spacing, own[start], own[start + 1])
                continue
            observed = counts[c] - own[start]
            for place in range(start + 1, end):
                entry = np.uint64(place)
                if own[entry]:
                    line[entry] = _snap(lattice[entry], spacing, own[entry] * ONE, observed)


@kernel
def _same(one: Lines, other: Lines) -> bool:
    """Tell whether two sets of centroids are the same."""
    for c in range(len(one)):
        if not equal(one[c], other[c]):
            return False
    return True


@kernel
def _repeats(centroids: Lines, last: int) -> bool:
    """Tell whether the last set of centroids has occurred before."""
    for earlier in range(last):
        if _same(centroids[earlier], centroids[last]):
            return True
    return False


def _steps_of_moving(space: Space, rows: Rows, before: Counts, *others: Any) -> int:
    return 4 * int(rows.size * space.scope.size)


@inner_kernel(_steps_of_moving)
def _move_rows(space: Space, rows: Rows, before: Counts, after: Counts, sums: Lines, counts: Counts) -> None:
    """Move rows from cluster to cluster; those that were in none before, at -1, come in."""
    for j in range(rows.size):
        if before[j] == after[j]:
            continue
        counts[after[j]] += 1
        if before[j] < 0:
            add_row(space, rows[j], sums[after[j]], IN)
        else:
            counts[before[j]] -= 1
            move_row(space, rows[j], sums[before[j]], sums[after[j]])


@kernel
def _run_rounds(
    space: Space, rows: Rows, first: int, sums: Lines, counts: Lines, centroids: Lines
) -> tuple[int, Counts]:
    """Run rounds from `first` on, until the centroids repeat or room is out.

    Sums and counts of the rounds before are known; where the others are written there are zeros. Returns how many
    rounds there are in all, and the cluster of each row.
    """
    n_clusters, width = centroids.shape[1], centroids.shape[2]
    columns, lattice = gather_columns(space, rows), _lattice(space)
    distances = np.zeros((n_clusters, rows.size), np.int64)
    before, after = np.full(rows.size, -1), np.empty(rows.size, np.int64)
    # From the last round that is known few rows have to be moved.
    costs, r, ended = np.zeros((n_clusters, width), np.int64), max(first - 1, 0), False
    while True:
        found = costs_of(space, centroids[r])
        shift_distances(space, columns, 0, costs, found, distances)
        costs = found
        label_by_distance(distances, after)
        if ended or r == len(sums):
            return r, after
        if r >= first:
            if r > 0:
                copy_lines(sums[r - 1], sums[r])
                put(counts[r], 0, counts[r - 1])
            _move_rows(space, rows, before, after, sums[r], counts[r])
            _quantise(space, lattice, sums[r], counts[r], centroids[r], centroids[r + 1])
        put(before, 0, after)
        r += 1
        ended = _repeats(centroids, r)


@kernel
def _finish(space: Space, known: Rounds, rows: Rows, max_rounds: int | None) -> tuple[Words, Counts]:
    """Run the rounds that are missing after those known; return what is kept, and the cluster of each row."""
    seeds, counts, _, sums, centroids = known
    first, n_seeds, width = len(sums), centroids.shape[1], centroids.shape[2]
    if n_seeds < 2:
        sizes = np.full(1, rows.size)
        return to_words(Rounds(seeds, counts, sizes, sums, centroids)), np.zeros(rows.size, np.int64)
    if max_rounds is None or first == max_rounds or _repeats(centroids, first):
        labels = label(space, rows, centroids[-1])
    else:
        all_counts = np.zeros((max_rounds, n_seeds), np.int64)
        all_sums = np.zeros((max_rounds, n_seeds, width), np.int64)
        all_centroids = np.zeros((max_rounds + 1, n_seeds, width), np.int64)
        copy_rounds(counts, sums, centroids, all_counts, all_sums, all_centroids)
        done, labels = _run_rounds(space, rows, first, all_sums, all_counts, all_centroids)
        counts, sums, centroids = all_counts[:done], all_sums[:done], all_centroids[: done + 1]
    return to_words(Rounds(seeds, counts, tally(labels, n_seeds), sums, centroids)), labels


def _steps_of_learning(space: Space, seeds: Rows, rows: Rows) -> int:
    """Return about how many steps it takes to learn, apart from inner kernels: loops over coordinates."""
    return 4 * int((1 + (space.max_rounds or 0)) * seeds.size * space.offsets[-1])


def _steps_of_revising(space: Space, rounds: Rounds, *others: Any) -> int:
    return _steps_of_learning(space, rounds.seeds, rounds.seeds)


@kernel
def _before_rounds(space: Space, seeds: Rows) -> Rounds:
    """Return what is known before the first round."""
    start = seed_centroids(space, seeds)
    counts, sums = np.zeros((0, seeds.size), np.int64), np.zeros((0, *start.shape), np.int64)
    return Rounds(seeds, counts, np.zeros(0, np.int64), sums, start.reshape(1, *start.shape))


@late_kernel(_steps_of_learning)
def learn_rounds(space: Space, seeds: Rows, rows: Rows) -> tuple[Words, Counts]:
    """Run rounds from known seeds; return what is kept, and the cluster of each row."""
    return _finish(space, _before_rounds(space, seeds), rows, space.max_rounds)


@kernel
def seed_anew(space: Space, before: Rows, rows: Rows, ends: Counts) -> tuple[Words, Counts]:
    """Learn clusters around seeds, without any round, where others were before; see `reseed`."""
    picked, labels = reseed(space, before, rows, ends)
    seeds, counts, _, sums, centroids = _before_rounds(space, picked)
    return to_words(Rounds(seeds, counts, tally(labels, seeds.size), sums, centroids)), labels


@late_kernel(_steps_of_revising)
def go_on(space: Space, rounds: Rounds, r: int, rows: Rows) -> tuple[Words, Counts]:
    """Run rounds again after one that leads elsewhere; return what is kept, and the cluster of each row."""
    n_known = r + 1
    centroids = rounds.centroids[: n_known + 1].copy()
    _lead_on(space, rounds, r, centroids[n_known], space.max_rounds)
    counts, sums = rounds.counts[:n_known].copy(), rounds.sums[:n_known].copy()
    return _finish(space, Rounds(rounds.seeds, counts, rounds.sizes, sums, centroids), rows, space.max_rounds)


@kernel
def _lead_on(space: Space, rounds: Rounds, r: int, centroids: Lines, max_rounds: int | None) -> None:
    """Write the centroids that a round leads to."""
    if max_rounds is not None:
        centroids[:] = 0
        _quantise(space, _lattice(space), rounds.sums[r], rounds.counts[r], rounds.centroids[r], centroids)


def _steps_of_sums(space: Space, rows: Rows, centroids: Lines, sums: Lines, counts: Counts, sign: int) -> int:
    return 3 * int((rows.size + 1) * len(centroids) * space.scope.size)


@inner_kernel(_steps_of_sums)
def _add_to_nearest(space: Space, rows: Rows, centroids: Lines, sums: Lines, counts: Counts, sign: int) -> None:
    costs = costs_of(space, centroids)
    for row in rows:
        c = nearest(space, row, costs)
        counts[c] += sign
        add_row(space, row, sums[c], sign)


@kernel
def _shift_sums(space: Space, rounds: Rounds, r: int, rows: Rows, sign: int, max_rounds: int | None) -> None:
    """Take rows out of the sums of a round, or put them in."""
    if max_rounds is not None:
        _add_to_nearest(space, rows, rounds.centroids[r], rounds.sums[r], rounds.counts[r], sign)


@kernel
def _shift_round(space: Space, rounds: Rounds, r: int, rows: Rows, sign: int) -> None:
    """Take rows out of one round, or put them in; after the last one out of the final sizes."""
    if r < len(rounds.sums):
        _shift_sums(space, rounds, r, rows, sign, space.max_rounds)
    elif len(rounds.sizes) == 1:
        rounds.sizes[0] += sign * rows.size
    else:
        for c in label(space, rows, rounds.centroids[r]):
            rounds.sizes[c] += sign


@kernel
def shift_rounds(space: Space, rounds: Rounds, rows: Rows, sign: int) -> None:
    """Take rows out of every round and of the final sizes, or put them in, in place; centroids stay."""
    for r in range(len(rounds.sums) + 1):
        _shift_round(space, rounds, r, rows, sign)


@kernel
def _leads_alike(space: Space, rounds: Rounds, r: int, max_rounds: int | None) -> bool:
    """Tell whether a round leads to the centroids that are known to follow it."""
    if max_rounds is None:
        return True
    centroids = np.empty(rounds.centroids.shape[1:], np.int64)
    _lead_on(space, rounds, r, centroids, max_rounds)
    return _same(centroids, rounds.centroids[r + 1])


@kernel
def rounds_that_hold(space: Space, rounds: Rounds, minus: Rows, plus: Rows) -> int:
    """Tell how many rounds still lead to the same centroids; -1 if the seeds themselves are others."""
    if not seeds_hold(space, minus, plus, rounds.seeds):
        return -1
    r = 0
    while r < len(rounds.sums) and _leads_alike(space, rounds, r, space.max_rounds):
        r += 1
    return r


@late_kernel(_steps_of_revising)
def revise_rounds(space: Space, rounds: Rounds, minus: Rows, plus: Rows) -> int:
    """Take rows out and put others in, up to the first round that leads elsewhere, if one does.

    Returns how many rounds still lead to the same centroids; -1 if the seeds themselves are others.
    """
    if not seeds_hold(space, minus, plus, rounds.seeds):
        return -1
    for r in range(len(rounds.sums) + 1):
        # A loop, so that the compiler has one call to work on.
        for sign in (OUT, IN):
            _shift_round(space, rounds, r, minus if sign == OUT else plus, sign)
        if r < len(rounds.sums) and not _leads_alike(space, rounds, r, space.max_rounds):
            return r
    return len(rounds.sums)
