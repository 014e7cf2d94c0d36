"""Kernels of Q-k-means: Lloyd's algorithm in integers, with centroids on a randomly shifted lattice.

The layout of a line of sums or centroids: a numeric variable has two entries (sum and count, or the coordinate and
nothing), a categorical one has an entry for each code (count, or the coordinate of the code's indicator).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import equal, joined, put
from unlearnspn.coding import FEATURE_MISSING, FEATURE_STD, Features
from unlearnspn.compiling import IN, OUT, START, kernel
from unlearnspn.exact_sum import Words
from unlearnspn.fetching import FEW, fetch
from unlearnspn.hashing import Keys, mix64
from unlearnspn.portable_math import log
from unlearnspn.slices import Counts, Rows, Scope

_ONE = 2 * FEATURE_STD  # an indicator that is half the time on deviates by one standard deviation

Flags = npt.NDArray[np.bool_]
Lines = npt.NDArray[np.int64]


class Space(NamedTuple):
    """Where the rows lie: what the kernels need of the records, the node's scope and its lattice."""

    features: Features
    keys: Keys
    scope: Scope
    is_numeric: Flags
    #: Where each variable's entries start in a line, and at the end the width of a line.
    offsets: Counts
    prints: Keys
    #: The node's key: it shifts the lattice, and draws the seeds.
    key: np.uint64
    n_clusters: int
    spacing: int


class Rounds(NamedTuple):
    """What a run keeps: the seeds' slots; each round's sums, counts and resulting centroids; the final sizes."""

    seeds: Rows
    counts: Lines
    sizes: Counts
    sums: Lines
    centroids: Lines


#: More than the error of a logarithm and of what is done with it here.
_ROUNDING = 1e-12
#: Indices are unsigned in loops over rows: whether one is negative has not to be asked, which takes longer than to add.
_NEXT = np.uint64(1)
_HEAD = 3  # how many seeds there are, how many rounds, and how many sizes


@kernel
def rounds_at(words: Words, start: int, width: int) -> Rounds:
    """Return what is kept in words from somewhere on, for lines of some width; nothing is copied."""
    n_seeds, n_rounds, n_sizes = words[start], words[start + 1], words[start + 2]
    seeds = start + _HEAD
    counts = seeds + n_seeds
    sizes = counts + n_rounds * n_seeds
    sums = sizes + n_sizes
    centroids = sums + n_rounds * n_seeds * width
    end = centroids + (n_rounds + 1) * n_seeds * width
    return Rounds(
        words[seeds:counts],
        words[counts:sizes].reshape(n_rounds, n_seeds),
        words[sizes:sums],
        words[sums:centroids].reshape(n_rounds, n_seeds, width),
        words[centroids:end].reshape(n_rounds + 1, n_seeds, width),
    )


@kernel
def length_of_rounds(words: Words, start: int, width: int) -> int:
    """Return how many words are kept from somewhere on, for lines of some width."""
    n_seeds, n_rounds, n_sizes = words[start], words[start + 1], words[start + 2]
    return int(_HEAD + n_seeds + n_rounds * n_seeds + n_sizes + (2 * n_rounds + 1) * n_seeds * width)


def line_width(words: Words) -> int:
    """Return the width of the lines of what is kept in words of their own."""
    n_seeds, n_rounds, n_sizes = words[:_HEAD].tolist()
    in_lines = words.size - _HEAD - n_seeds - n_rounds * n_seeds - n_sizes
    return int(in_lines // (n_seeds * (2 * n_rounds + 1)))


@kernel
def line_offsets(scope: Scope, is_numeric: Flags, sizes: Counts) -> Counts:
    """Return where each variable's entries start, and the width of a line."""
    offsets = np.zeros(scope.size + 1, np.int64)
    for i in range(scope.size):
        v = scope[i]
        offsets[i + 1] = offsets[i] + (2 if is_numeric[v] else sizes[v])
    return offsets


@kernel
def _costs(space: Space, centroids: Lines) -> Lines:
    """Turn coordinates into what is added to a squared distance, less what is added to that from the first centroid.

    For a number x that is c² - 2cx: the first entry times x, and the second; for a code it is the code's entry.
    """
    costs = np.zeros(centroids.shape, np.int64)
    for c in range(centroids.shape[0]):
        for i in range(space.scope.size):
            start, end = space.offsets[i], space.offsets[i + 1]
            if space.is_numeric[space.scope[i]]:
                coordinate = centroids[c, start]
                costs[c, start], costs[c, start + 1] = -2 * coordinate, coordinate * coordinate
                continue
            squares = 0
            for entry in range(start + 1, end):
                squares += centroids[c, entry] * centroids[c, entry]
            for entry in range(start + 1, end):  # the first is for missing values
                costs[c, entry] = squares - 2 * _ONE * centroids[c, entry]
    for c in range(centroids.shape[0] - 1, -1, -1):
        for entry in range(centroids.shape[1]):
            costs[c, entry] -= costs[0, entry]
    return costs


@kernel
def nearest(space: Space, row: int, costs: Lines) -> int:
    """Return the nearest centroid, the first of equals; missing values count for nothing."""
    best, smallest = 0, np.int64(0)
    for c in range(1, costs.shape[0]):
        distance = np.int64(0)
        for i in range(space.scope.size):
            feature = np.int64(space.features[row, space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                distance += costs[c, space.offsets[i] + feature]
            elif feature != FEATURE_MISSING:
                distance += costs[c, space.offsets[i]] * feature + costs[c, space.offsets[i] + 1]
        if distance < smallest:
            best, smallest = c, distance
    return best


@kernel
def _add_row(space: Space, row: int, line: Counts, sign: int) -> None:
    features = space.features[row]
    for i in range(space.scope.size):
        v, entry = np.uint64(space.scope[i]), np.uint64(space.offsets[i])
        feature = np.int64(features[v])
        if not space.is_numeric[v]:
            line[entry + np.uint64(feature)] += sign
        elif feature != FEATURE_MISSING:
            line[entry] += sign * feature
            line[entry + _NEXT] += sign


@kernel
def _move_row(space: Space, row: int, source: Counts, target: Counts) -> None:
    features = space.features[row]
    for i in range(space.scope.size):
        v, entry = np.uint64(space.scope[i]), np.uint64(space.offsets[i])
        feature = np.int64(features[v])
        if not space.is_numeric[v]:
            source[entry + np.uint64(feature)] -= 1
            target[entry + np.uint64(feature)] += 1
        elif feature != FEATURE_MISSING:
            source[entry] -= feature
            target[entry] += feature
            source[entry + _NEXT] -= 1
            target[entry + _NEXT] += 1


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


@kernel
def _snap(space: Space, shift: np.int64, total: int, count: int) -> np.int64:
    """Round total/count to the lattice {shift + spacing·z}, in integers."""
    numerator = 2 * (total - count * shift) + count * space.spacing
    return shift + space.spacing * (numerator // (2 * count * space.spacing))


@kernel
def _quantise(space: Space, lattice: Counts, sums: Lines, counts: Counts, previous: Lines, centroids: Lines) -> None:
    """Write the clusters' means on the lattice, where there are zeros; an empty cluster keeps its centroid.

    A coordinate without a value is 0: so is that of a code that no row of the cluster has, whether or not some row
    elsewhere has it.
    """
    for c in range(sums.shape[0]):
        if counts[c] == 0:
            put(centroids[c], START, previous[c])
            continue
        for i in range(space.scope.size):
            start, end = space.offsets[i], space.offsets[i + 1]
            if space.is_numeric[space.scope[i]]:
                if sums[c, start + 1]:
                    centroids[c, start] = _snap(space, lattice[start], sums[c, start], sums[c, start + 1])
                continue
            observed = counts[c] - sums[c, start]
            for entry in range(start + 1, end):
                if sums[c, entry]:
                    centroids[c, entry] = _snap(space, lattice[entry], sums[c, entry] * _ONE, observed)


@kernel
def _distance(space: Space, a: int, b: int) -> np.int64:
    distance = np.int64(0)
    for v in space.scope:
        first, second = np.int64(space.features[a, v]), np.int64(space.features[b, v])
        if space.is_numeric[v]:
            if first != FEATURE_MISSING and second != FEATURE_MISSING:
                distance += (first - second) * (first - second)
        elif first != second and first != 0 and second != 0:
            distance += 2 * _ONE * _ONE
    return distance


@kernel
def _salt(space: Space, seed: int) -> np.uint64:
    return mix64(space.key + np.uint64(seed))


@kernel
def _pick_seed(space: Space, rows: Rows, nearest: Counts, salt: np.uint64) -> int:
    """Return the best row as the next seed, or -1 if every row lies on a seed.

    `nearest` are the squared distances from the nearest seed; with none yet they are -1, and the least draw decides.
    Otherwise it is the least Exp(draw)/D². Logarithms would take most of the time, and -log(u) >= 1 - u tells of nearly
    all rows that they are not the best: by more than any rounding, so that the order of rows does not matter.
    """
    best, best_score, best_draw = -1, np.inf, np.uint64(0)
    for i in range(rows.size):
        if nearest[i] == 0:
            continue
        draw, score, distance = mix64(space.keys[rows[i]] ^ salt), 0.0, np.float64(nearest[i])
        if nearest[i] > 0:
            uniform = (np.float64(draw >> np.uint64(11)) + 1.0) / 9007199254740992.0
            if 1.0 - uniform - _ROUNDING > best_score * distance:
                continue
            score = -log(uniform) / distance
        if score < best_score or (score == best_score and best >= 0 and draw < best_draw):
            best, best_score, best_draw = rows[i], score, draw
    return best


@kernel
def _come_nearer(space: Space, rows: Rows, seed: int, nearest: Counts) -> None:
    """Bring the squared distances from the nearest seed up to date with another seed."""
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        fetch(space.features, few)
        for i in range(first, first + few.size):
            distance = _distance(space, rows[i], seed)
            if nearest[i] < 0 or distance < nearest[i]:
                nearest[i] = distance


@kernel
def pick_seeds(space: Space, rows: Rows) -> Rows:
    """Pick up to k rows as k-means++ does; fewer if there are not k different ones."""
    seeds, nearest = np.empty(space.n_clusters, np.int64), np.full(rows.size, -1)
    for s in range(space.n_clusters):
        seed = _pick_seed(space, rows, nearest, _salt(space, s))
        if seed < 0:
            return seeds[:s].copy()
        seeds[s] = seed
        _come_nearer(space, rows, seed, nearest)
    return seeds


@kernel
def _seeds_hold(space: Space, minus: Rows, plus: Rows, seeds: Rows) -> bool:
    """Tell whether learning without `minus` and with `plus` picks the same seeds."""
    for row in minus:
        for seed in seeds:
            if row == seed:
                return False
    if plus.size == 0:
        return True
    # The seeds that there are, against those that come; and where there are fewer than k, nobody may add to them.
    rows, nearest = joined(seeds, plus), np.full(seeds.size + plus.size, -1)
    for s in range(min(seeds.size + 1, space.n_clusters)):
        seed = _pick_seed(space, rows, nearest, _salt(space, s))
        if seed != (seeds[s] if s < seeds.size else -1):
            return False
        if seed >= 0:
            _come_nearer(space, rows, seed, nearest)
    return True


@kernel
def seed_centroids(space: Space, seeds: Rows) -> Lines:
    """Return the seeds themselves as the first centroids."""
    centroids = np.zeros((seeds.size, space.offsets[-1]), np.int64)
    for s in range(seeds.size):
        for i in range(space.scope.size):
            feature = np.int64(space.features[seeds[s], space.scope[i]])
            if not space.is_numeric[space.scope[i]]:
                if feature:
                    centroids[s, space.offsets[i] + feature] = _ONE
            elif feature != FEATURE_MISSING:
                centroids[s, space.offsets[i]] = feature
    return centroids


@kernel
def _same(one: Lines, other: Lines) -> bool:
    """Tell whether two sets of centroids are the same."""
    for c in range(len(one)):
        if not equal(one[c], other[c]):
            return False
    return True


@kernel
def repeats(centroids: Lines, last: int) -> bool:
    """Tell whether the last set of centroids has occurred before."""
    for earlier in range(last):
        if _same(centroids[earlier], centroids[last]):
            return True
    return False


@kernel
def _shift_rows(space: Space, rows: Rows, costs: Lines, sums: Lines, counts: Counts, sign: int) -> None:
    """Add rows to their clusters, or take them out."""
    for row in rows:
        c = nearest(space, row, costs)
        counts[c] += sign
        _add_row(space, row, sums[c], sign)


@kernel
def _gather_columns(space: Space, rows: Rows) -> Features:
    """Return the features of some rows, [variable, row]."""
    columns = np.empty((space.scope.size, rows.size), space.features.dtype)
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        fetch(space.features, few)
        for i in range(space.scope.size):
            v, column = np.uint64(space.scope[i]), columns[i, first : first + few.size]
            for j in range(few.size):
                column[j] = space.features[np.uint64(few[j]), v]
    return columns


@kernel
def _shift_distances(space: Space, columns: Features, before: Lines, after: Lines, distances: Lines) -> None:
    """Bring the distances of rows up to date with costs, most of which are what they were after a few rounds."""
    changes = np.empty(space.offsets[-1], np.int64)
    for c in range(1, len(after)):
        line = distances[c]
        for i in range(space.scope.size):
            column, changed = columns[i], False
            for k in range(space.offsets[i + 1] - space.offsets[i]):
                changes[k] = after[c, space.offsets[i] + k] - before[c, space.offsets[i] + k]
                changed |= changes[k] != 0
            if changed and space.is_numeric[space.scope[i]]:
                slope, constant = changes[0], changes[1]
                for j in range(column.size):
                    feature = np.int64(column[j])
                    line[j] += slope * feature + constant if feature != FEATURE_MISSING else 0
            elif changed:
                for j in range(column.size):
                    line[j] += changes[np.uint64(column[j])]


@kernel
def _label_by_distance(distances: Lines, labels: Counts) -> None:
    """Write the nearest centroid of each row, the first of equals; the distances from the first one are all 0."""
    least = np.zeros(labels.size, np.int64)
    for j in range(labels.size):
        labels[j] = 0
    for c in range(1, distances.shape[0]):
        for j in range(labels.size):
            closer = distances[c, j] < least[j]
            labels[j] = c if closer else labels[j]
            least[j] = distances[c, j] if closer else least[j]


@kernel
def _move_rows(space: Space, rows: Rows, before: Counts, after: Counts, sums: Lines, counts: Counts) -> None:
    """Move rows from cluster to cluster; those that were in none before, at -1, come in."""
    for j in range(rows.size):
        if before[j] == after[j]:
            continue
        counts[after[j]] += 1
        if before[j] < 0:
            _add_row(space, rows[j], sums[after[j]], IN)
        else:
            counts[before[j]] -= 1
            _move_row(space, rows[j], sums[before[j]], sums[after[j]])


@kernel
def run_rounds(
    space: Space, rows: Rows, first: int, sums: Lines, counts: Lines, centroids: Lines
) -> tuple[int, Counts]:
    """Run rounds from `first` on, until the centroids repeat or room is out.

    Sums and counts of the rounds before are known; where the others are written there are zeros. Returns how many
    rounds there are in all, and the cluster of each row.
    """
    n_clusters, width = centroids.shape[1], centroids.shape[2]
    columns, lattice, distances = (
        _gather_columns(space, rows),
        _lattice(space),
        np.zeros((n_clusters, rows.size), np.int64),
    )
    before, after = np.full(rows.size, -1), np.empty(rows.size, np.int64)
    # From the last round that is known few rows have to be moved.
    costs, r, ended = np.zeros((n_clusters, width), np.int64), max(first - 1, 0), False
    while True:
        found = _costs(space, centroids[r])
        _shift_distances(space, columns, costs, found, distances)
        costs = found
        _label_by_distance(distances, after)
        if ended or r == len(sums):
            return r, after
        if r >= first:
            if r > 0:
                copy_lines(sums[r - 1], sums[r])
                put(counts[r], START, counts[r - 1])
            _move_rows(space, rows, before, after, sums[r], counts[r])
            _quantise(space, lattice, sums[r], counts[r], centroids[r], centroids[r + 1])
        put(before, START, after)
        r += 1
        ended = repeats(centroids, r)


@kernel
def label(space: Space, rows: Rows, centroids: Lines) -> Counts:
    """Return the nearest centroid of each row."""
    costs = _costs(space, centroids)
    labels = np.empty(rows.size, np.int64)
    for i in range(rows.size):
        labels[i] = nearest(space, rows[i], costs)
    return labels


@kernel
def copy_lines(lines: Lines, copy: Lines) -> None:
    """Copy some lines."""
    for i in range(lines.shape[0]):
        put(copy[i], START, lines[i])


@kernel
def _copy_rounds(
    counts: Lines, sums: Lines, centroids: Lines, to_counts: Lines, to_sums: Lines, to_centroids: Lines
) -> None:
    """Copy some rounds to where there may be room for more."""
    copy_lines(counts, to_counts)
    for r in range(len(centroids)):
        copy_lines(centroids[r], to_centroids[r])
        if r < len(sums):
            copy_lines(sums[r], to_sums[r])


@kernel
def _to_words(rounds: Rounds) -> Words:
    """Write what is kept as words."""
    seeds, counts, sizes, sums, centroids = rounds
    words = np.empty(_HEAD + seeds.size + counts.size + sizes.size + sums.size + centroids.size, np.int64)
    words[0], words[1], words[2] = seeds.size, len(counts), sizes.size
    kept = rounds_at(words, START, centroids.shape[2])
    put(kept.seeds, START, seeds)
    put(kept.sizes, START, sizes)
    _copy_rounds(counts, sums, centroids, kept.counts, kept.sums, kept.centroids)
    return words


@kernel
def learn_rounds(space: Space, seeds: Rows, rows: Rows, max_rounds: int) -> tuple[Words, Counts]:
    """Run rounds from known seeds; return what is kept, and the cluster of each row."""
    start = seed_centroids(space, seeds)
    known = start.copy().reshape(1, *start.shape)
    nothing = np.zeros((0, *start.shape), np.int64)
    return go_on(space, seeds, known, np.zeros((0, seeds.size), np.int64), nothing, rows, max_rounds)


@kernel
def go_on(
    space: Space, seeds: Rows, centroids: Lines, counts: Lines, sums: Lines, rows: Rows, max_rounds: int
) -> tuple[Words, Counts]:
    """Go on after some rounds, whose centroids, counts and sums are known, as `learn_rounds` would."""
    first, n_seeds, width = len(centroids) - 1, centroids.shape[1], centroids.shape[2]
    if n_seeds < 2:
        sizes = np.full(1, rows.size)
        return _to_words(Rounds(seeds, counts, sizes, sums, centroids)), np.zeros(rows.size, np.int64)
    if first < max_rounds and not repeats(centroids, first):
        all_counts = np.zeros((max_rounds, n_seeds), np.int64)
        all_sums = np.zeros((max_rounds, n_seeds, width), np.int64)
        all_centroids = np.zeros((max_rounds + 1, n_seeds, width), np.int64)
        _copy_rounds(counts, sums, centroids, all_counts, all_sums, all_centroids)
        done, labels = run_rounds(space, rows, first, all_sums, all_counts, all_centroids)
        counts, sums, centroids = all_counts[:done], all_sums[:done], all_centroids[: done + 1]
    else:
        labels = label(space, rows, centroids[-1])
    sizes = np.zeros(n_seeds, np.int64)
    for k in labels:
        sizes[k] += 1
    return _to_words(Rounds(seeds, counts, sizes, sums, centroids)), labels


@kernel
def _shift_round(space: Space, rounds: Rounds, r: int, rows: Rows, sign: int) -> None:
    """Take rows out of one round, or put them in; after the last one out of the final sizes."""
    if r < len(rounds.sums):
        _shift_rows(space, rows, _costs(space, rounds.centroids[r]), rounds.sums[r], rounds.counts[r], sign)
    elif len(rounds.sizes) == 1:
        rounds.sizes[0] += sign * rows.size
    else:
        costs = _costs(space, rounds.centroids[r])
        for row in rows:
            rounds.sizes[nearest(space, row, costs)] += sign


@kernel
def shift_rounds(space: Space, rounds: Rounds, rows: Rows, sign: int) -> None:
    """Take rows out of every round and of the final sizes, or put them in, in place; centroids stay."""
    for r in range(len(rounds.sums) + 1):
        _shift_round(space, rounds, r, rows, sign)


@kernel
def _leads_alike(space: Space, rounds: Rounds, r: int) -> bool:
    """Tell whether a round leads to the centroids that are known to follow it; nothing follows the last one."""
    return r == len(rounds.sums) or _same(next_centroids(space, rounds, r), rounds.centroids[r + 1])


@kernel
def rounds_that_hold(space: Space, rounds: Rounds, minus: Rows, plus: Rows) -> int:
    """Tell how many rounds still lead to the same centroids; -1 if the seeds themselves are others."""
    if not _seeds_hold(space, minus, plus, rounds.seeds):
        return -1
    r = 0
    while r < len(rounds.sums) and _leads_alike(space, rounds, r):
        r += 1
    return r


@kernel
def revise_rounds(space: Space, rounds: Rounds, minus: Rows, plus: Rows) -> int:
    """Take rows out and put others in, up to the first round that leads elsewhere, if one does.

    Returns how many rounds still lead to the same centroids; -1 if the seeds themselves are others.
    """
    if not _seeds_hold(space, minus, plus, rounds.seeds):
        return -1
    for r in range(len(rounds.sums) + 1):
        # A loop, so that the compiler has one call to work on.
        for sign in (OUT, IN):
            _shift_round(space, rounds, r, minus if sign == OUT else plus, sign)
        if not _leads_alike(space, rounds, r):
            return r
    return len(rounds.sums)


@kernel
def next_centroids(space: Space, rounds: Rounds, r: int) -> Lines:
    """Return the centroids that a round leads to."""
    centroids = np.zeros(rounds.centroids.shape[1:], np.int64)
    _quantise(space, _lattice(space), rounds.sums[r], rounds.counts[r], rounds.centroids[r], centroids)
    return centroids


@kernel
def _hash_line(space: Space, line: Counts) -> tuple[np.uint64, np.uint64]:
    """Hash a line, independently of the codes' order and of codes that nobody has."""
    low, high = np.uint64(0), np.uint64(0)
    for i in range(space.scope.size):
        v, start = space.scope[i], space.offsets[i]
        for entry in range(start, space.offsets[i + 1]):
            value = np.uint64(line[entry])
            if value:
                place = entry - start
                name = space.prints[v, 0] + np.uint64(place) if space.is_numeric[v] else space.prints[v, place]
                name = mix64(name)
                low += value * name
                high += value * mix64(name)
    return low, high


@kernel
def describe_rounds(space: Space, rounds: Rounds) -> Words:
    """Return words that are equal exactly if what is kept is, whatever slots records and codes categories have."""
    n_rounds, n_seeds, _ = rounds.sums.shape
    words = np.empty(3 + n_seeds + rounds.counts.size + rounds.sizes.size + 2 * n_seeds * (2 * n_rounds + 1), np.int64)
    words[0], words[1], words[2] = n_seeds, n_rounds, rounds.sizes.size
    at = 3
    for seed in rounds.seeds:
        words[at] = np.int64(space.keys[seed])
        at += 1
    for counts in rounds.counts:
        put(words, at, counts)
        at += n_seeds
    put(words, at, rounds.sizes)
    at += rounds.sizes.size
    for lines in (rounds.sums, rounds.centroids):
        for r in range(len(lines)):
            for k in range(n_seeds):
                low, high = _hash_line(space, lines[r, k])
                words[at], words[at + 1] = np.int64(low), np.int64(high)
                at += 2
    return words
