"""Seeds of Q-k-means: rows picked as k-means++ does, by keyed hashes, so that removing others leaves them alone.

Seeds merge step by step: given the seeds before it, the next seed of a whole is the best of what its parts propose.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.math import INFINITY
from cython.cimports.unlearnspn.const_types import const_int16, const_int64
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.portable_math import log
from cython.cimports.unlearnspn.rows.features import FEATURE_MISSING
from cython.cimports.unlearnspn.rows.sorted_rows import is_among
from cython.cimports.unlearnspn.statistics.layout import BLOCK, ONE, count_blocks
from cython.cimports.unlearnspn.statistics.space import Space


def pick_seeds(
    space: Space,
    rows: const_int64[::1],
    columns: const_int16[:, ::1],
    known: const_int64[::1],
) -> npt.NDArray[Any]:
    """Pick up to k rows as k-means++ does, given their features; fewer if there are not k different ones.

    The first of them may be known.
    """
    s: cython.Py_ssize_t
    n_seeds: cython.Py_ssize_t = known.shape[0]
    picked = np.empty(space.n_clusters + 1, np.int64)
    seeds: cython.longlong[::1] = picked
    candidates: Candidates = Candidates(space, rows, columns)
    with cython.nogil:
        for s in range(n_seeds):
            seeds[s] = known[s]
            candidates.take(space.features(seeds[s]))
        while n_seeds < max(space.n_clusters, 1):
            if not candidates.pick():
                break
            seeds[n_seeds] = candidates.best
            candidates.take(space.features(seeds[n_seeds]))
            n_seeds += 1
    return picked[:n_seeds].copy()


@cython.final
@cython.cclass
class Candidates:
    """The rows among which seeds are picked: their keys, and how far they are from the seeds, as far as is known.

    A row is at most at the distance `reach` from the nearest seed, and has been compared with as many as `n_compared`.
    `best` is the row that was picked last; of several picks the one with the least `score` is the next seed, of
    equals the one with the least `draw`. Seeds are known by their features, as they may be rows of others.
    """

    def __init__(self, space: Space, rows: const_int64[::1], columns: const_int16[:, ::1]) -> None:
        self.space = space
        self.rows = rows
        self.columns = columns
        self.keys = np.empty(rows.shape[0], np.uint64)
        self.reach = np.empty(rows.shape[0], np.float64)
        self.n_compared = np.empty(rows.shape[0], np.int32)
        self.seeds = np.empty((max(space.n_clusters, 1), space.coded.features.shape[1]), np.int16)
        self.n_seeds = 0
        self.best = -1
        self.score = INFINITY
        self.draw = 0
        with cython.nogil:
            self.read_keys()

    def propose(self) -> tuple[float, int, int] | None:
        """Return score, draw and row of the best next seed, given those that were added; None if there is none."""
        found: cython.bint
        with cython.nogil:
            found = self.pick()
        return (self.score, self.draw, self.best) if found else None

    def add(self, features: const_int16[::1]) -> None:
        """Add a seed, given its features of all variables of the table."""
        if features.shape[0] != self.seeds.shape[1] or self.n_seeds == self.seeds.shape[0]:
            raise ValueError(f"seed {self.n_seeds} with {features.shape[0]} features")
        with cython.nogil:
            self.take(cython.address(features[0]))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def read_keys(self) -> cython.void:
        """Put the rows' keys side by side, for they are read once for each seed."""
        j: cython.Py_ssize_t
        for j in range(self.rows.shape[0]):
            self.keys[j] = self.space.coded.keys[self.rows[j]]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take(self, features: cython.p_const_short) -> cython.void:
        """Add a seed; all rows are compared with the first one."""
        j: cython.Py_ssize_t
        for j in range(self.seeds.shape[1]):
            self.seeds[self.n_seeds, j] = features[j]
        if self.n_seeds == 0:
            _write_distances(self.space, self.columns, features, self.reach)
            for j in range(self.reach.shape[0]):
                self.n_compared[j] = 1
        self.n_seeds += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick(self) -> cython.bint:
        """Pick the best row, given the seeds there are, and tell whether there is any."""
        self.best = -1
        if self.n_seeds == 0:
            self.pick_first()
        else:
            self.pick_next()
        return self.best >= 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick_first(self) -> cython.void:
        """Pick the row with the least draw as the first seed."""
        j: cython.Py_ssize_t
        draw: cython.ulonglong
        salt: cython.ulonglong = _salt(self.space, 0)
        self.score = 0.0
        for j in range(self.rows.shape[0]):
            draw = mix64(self.keys[j] ^ salt)
            if self.best < 0 or draw < self.draw:
                self.best, self.draw = self.rows[j], draw

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pick_next(self) -> cython.void:
        """Pick the row with the least Exp(draw)/D² as the next seed; none if every row lies on a seed.

        No row is farther from all seeds than its `reach`, and -log(u) >= 1 - u: that tells of nearly all rows that they
        are not the best, without a logarithm or a distance, several at a time, and by more than any rounding, so that
        the order of rows does not matter.
        """
        block: cython.Py_ssize_t
        first: cython.Py_ssize_t
        n_rows: cython.Py_ssize_t
        j: cython.Py_ssize_t
        best: cython.longlong = -1
        best_draw: cython.ulonglong = 0
        best_score: cython.double = INFINITY
        score: cython.double
        uniform: cython.double
        draws = cython.declare(cython.ulonglong[BLOCK])
        is_open = cython.declare(cython.uchar[BLOCK])
        salt: cython.ulonglong = _salt(self.space, self.n_seeds)
        for block in range(count_blocks(self.rows.shape[0])):
            first = block * BLOCK
            n_rows = min(BLOCK, self.rows.shape[0] - first)
            _write_draws(cython.address(self.keys[first]), n_rows, salt, draws)
            if not _find_open(draws, cython.address(self.reach[first]), n_rows, best_score, is_open):
                continue
            for j in range(n_rows):
                if not is_open[j]:
                    continue
                uniform = _uniform(draws[j])
                self.compare(first + j, uniform, best_score)
                if self.reach[first + j] == 0.0 or _is_surely_worse(uniform, self.reach[first + j], best_score):
                    continue
                score = _score(uniform, self.reach[first + j])
                if score < best_score or (score == best_score and draws[j] < best_draw):
                    best, best_score, best_draw = self.rows[first + j], score, draws[j]
        self.best, self.score, self.draw = best, best_score, best_draw

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def compare(self, j: cython.Py_ssize_t, uniform: cython.double, score: cython.double) -> cython.void:
        """Compare a row with more seeds, until it is sure to have a larger score, or has been compared with all."""
        s: cython.Py_ssize_t = self.n_compared[j]
        reach: cython.double = self.reach[j]
        distance: cython.longlong
        while s < self.n_seeds and not _is_surely_worse(uniform, reach, score):
            distance = _distance(self.space, self.space.features(self.rows[j]), cython.address(self.seeds[s, 0]))
            reach = min(reach, cython.cast(cython.double, distance))
            s += 1
        self.n_compared[j], self.reach[j] = s, reach


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def seeds_hold(
    space: Space,
    seeds: cython.p_const_longlong,
    n_seeds: cython.Py_ssize_t,
    minus: const_int64[::1],
    plus: const_int64[::1],
) -> cython.bint:
    """Tell whether learning without `minus` and with `plus` picks the same seeds."""
    i: cython.Py_ssize_t
    s: cython.Py_ssize_t
    block: cython.Py_ssize_t
    for i in range(minus.shape[0]):
        for s in range(n_seeds):
            if minus[i] == seeds[s]:
                return False
    for block in range(count_blocks(plus.shape[0])):
        i = block * BLOCK
        if not _hold_against(space, seeds, n_seeds, cython.address(plus[i]), min(BLOCK, plus.shape[0] - i)):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _hold_against(
    space: Space,
    seeds: cython.p_const_longlong,
    n_seeds: cython.Py_ssize_t,
    rows: cython.p_const_longlong,
    n_rows: cython.Py_ssize_t,
) -> cython.bint:
    """Tell whether seeds stay what they are beside a block of other rows."""
    j: cython.Py_ssize_t
    s: cython.Py_ssize_t
    reach = cython.declare(cython.double[BLOCK])
    if n_seeds == 0:
        return False
    for j in range(n_rows):
        reach[j] = _distance(space, space.features(rows[j]), space.features(seeds[0]))
    for s in range(n_seeds):
        if _is_beaten(space, seeds, s, rows, n_rows, reach):
            return False
    if n_seeds < space.n_clusters:  # nobody may add to them
        for j in range(n_rows):
            if _distance_from_seeds(space, rows[j], seeds, n_seeds) > 0:
                return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_beaten(
    space: Space,
    seeds: cython.p_const_longlong,
    s: cython.Py_ssize_t,
    rows: cython.p_const_longlong,
    n_rows: cython.Py_ssize_t,
    reach: cython.p_double,
) -> cython.bint:
    """Tell whether one of some rows would be picked in the place of a seed, after those before it."""
    j: cython.Py_ssize_t
    draw: cython.ulonglong
    score: cython.double = 0.0
    uniform: cython.double
    salt: cython.ulonglong = _salt(space, s)
    own_draw: cython.ulonglong = mix64(space.coded.keys[seeds[s]] ^ salt)
    own_score: cython.double = 0.0
    if s > 0:
        own_score = _score(_uniform(own_draw), _distance_from_seeds(space, seeds[s], seeds, s))
    for j in range(n_rows):
        draw = mix64(space.coded.keys[rows[j]] ^ salt)
        if s > 0:
            uniform = _uniform(draw)
            if _is_surely_worse(uniform, reach[j], own_score):
                continue
            reach[j] = _distance_from_seeds(space, rows[j], seeds, s)
            if reach[j] == 0.0:
                continue
            score = _score(uniform, reach[j])
        if score < own_score or (score == own_score and draw < own_draw):
            return True
    return False


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _score(uniform: cython.double, distance: cython.double) -> cython.double:
    """Return the Exp(draw)/D² by which rows are compared."""
    return -log(uniform) / distance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_draws(
    keys: cython.p_const_ulonglong,
    n_rows: cython.Py_ssize_t,
    salt: cython.ulonglong,
    draws: cython.p_ulonglong,
) -> cython.void:
    """Hash the keys of rows under a salt."""
    j: cython.Py_ssize_t
    for j in range(n_rows):
        draws[j] = mix64(keys[j] ^ salt)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_open(
    draws: cython.p_const_ulonglong,
    reach: cython.p_const_double,
    n_rows: cython.Py_ssize_t,
    score: cython.double,
    is_open: cython.p_uchar,
) -> cython.bint:
    """Mark the rows that are not sure to have a larger score, and tell whether there are any."""
    j: cython.Py_ssize_t
    found: cython.uchar = 0
    for j in range(n_rows):
        is_open[j] = not _is_surely_worse(_uniform(draws[j]), reach[j], score)
        found |= is_open[j]
    return found


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _salt(space: Space, seed: cython.ulonglong) -> cython.ulonglong:
    return mix64(space.key + seed)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _uniform(draw: cython.ulonglong) -> cython.double:
    """Return a draw as a number above 0 and at most 1."""
    leading: cython.longlong = draw >> 11
    return (cython.cast(cython.double, leading) + 1.0) * 1.1102230246251565e-16  # 2**-53


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_surely_worse(uniform: cython.double, reach: cython.double, score: cython.double) -> cython.bint:
    """Tell whether a row that is no farther from all seeds than `reach` is sure to have a larger score."""
    # The last number is more than the error of a logarithm and of what is done with it.
    return 1.0 - uniform - 1e-12 > score * reach


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _distance_from_seeds(
    space: Space,
    row: cython.Py_ssize_t,
    seeds: cython.p_const_longlong,
    n_seeds: cython.Py_ssize_t,
) -> cython.longlong:
    """Return the squared distance of a row from the nearest of some seeds."""
    s: cython.Py_ssize_t
    features: cython.p_const_short = space.features(row)
    nearest: cython.longlong = _distance(space, features, space.features(seeds[0]))
    for s in range(1, n_seeds):
        nearest = min(nearest, _distance(space, features, space.features(seeds[s])))
    return nearest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _distance(space: Space, features: cython.p_const_short, others: cython.p_const_short) -> cython.longlong:
    """Return the squared distance of a row from a seed; what is missing here or there counts for nothing."""
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    feature: cython.longlong
    other: cython.longlong
    apart: cython.longlong
    distance: cython.longlong = 0
    for i in range(space.n_variables):
        v = space.variables[i].column
        feature, other = features[v], others[v]
        # No branches: nobody can foretell them.
        if space.variables[i].is_numeric:
            apart = feature - other if (feature != FEATURE_MISSING) & (other != FEATURE_MISSING) else 0
            distance += apart * apart
        else:
            distance += 2 * ONE * ONE if (feature != other) & (feature != 0) & (other != 0) else 0
    return distance


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_distances(
    space: Space,
    columns: const_int16[:, ::1],
    seed: cython.p_const_short,
    distances: cython.double[::1],
) -> cython.void:
    """Write the squared distances of rows from a seed: whole numbers, below 2**53."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    block: cython.Py_ssize_t
    first: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t
    feature: cython.short
    few = cython.declare(cython.longlong[BLOCK])
    for block in range(count_blocks(distances.shape[0])):
        first = block * BLOCK
        n_rows = min(BLOCK, distances.shape[0] - first)
        for j in range(n_rows):
            few[j] = 0
        for i in range(space.n_variables):
            feature = seed[space.variables[i].column]
            if not space.variables[i].is_numeric:
                _add_mismatches(cython.address(columns[i, first]), n_rows, feature, few)
            elif feature != FEATURE_MISSING:
                _add_squares(cython.address(columns[i, first]), n_rows, feature, few)
        for j in range(n_rows):
            distances[first + j] = cython.cast(cython.double, few[j])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_squares(
    column: cython.p_const_short,
    n_rows: cython.Py_ssize_t,
    seed: cython.int,
    distances: cython.p_longlong,
) -> cython.void:
    """Add the squared distances of numbers from that of a seed, which 32 bits hold; nothing where one is missing."""
    j: cython.Py_ssize_t
    apart: cython.uint
    for j in range(n_rows):
        apart = column[j] - seed
        distances[j] += apart * apart if column[j] != FEATURE_MISSING else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_mismatches(
    column: cython.p_const_short,
    n_rows: cython.Py_ssize_t,
    seed: cython.short,
    distances: cython.p_longlong,
) -> cython.void:
    """Add the squared distance of two indicators where codes differ from that of a seed; 0 is missing."""
    j: cython.Py_ssize_t
    if seed == 0:
        return
    for j in range(n_rows):
        distances[j] += 2 * ONE * ONE if column[j] != seed and column[j] != 0 else 0


def still_seeds(
    seeds: const_int64[::1],
    rows: const_int64[::1],
    ends: const_int64[::1],
) -> npt.NDArray[Any]:
    """Return the seeds before the first that has left; none if rows have come, for any of these may be one.

    The rows around each seed follow each other in order, from one of the `ends` to the next; after them come others.
    """
    s: cython.Py_ssize_t = 0
    if ends[ends.shape[0] - 1] == ends[ends.shape[0] - 2]:
        while s < seeds.shape[0] and is_among(rows[ends[s] : ends[s + 1]], seeds[s]):
            s += 1
    return np.array(seeds[:s])
