"""Clusters of Q-k-means: Lloyd's algorithm in integers, with centroids on a randomly shifted lattice.

Learned from rows, and revised when some of them leave or others come.
"""

from __future__ import annotations

import math
import struct
from typing import Any, cast

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.rows.array_data import data_of
from cython.cimports.unlearnspn.statistics.distances import label_rows, nearest
from cython.cimports.unlearnspn.statistics.layout import BLOCK
from cython.cimports.unlearnspn.statistics.seeds import seeds_hold
from cython.cimports.unlearnspn.statistics.space import Space

from unlearnspn.statistics.distances import gather
from unlearnspn.statistics.rounds import before_rounds, label_by_cluster, label_columns, quantised, repeats, run_rounds
from unlearnspn.statistics.seeds import pick_seeds, still_seeds

Array = npt.NDArray[Any]

#: So few rows are shifted one by one.
_FEW_ROWS = cython.declare(cython.Py_ssize_t, 8)
#: How many numbers a dump begins with.
_HEAD = 4
_FINGERPRINT = struct.Struct("<3q")


@cython.no_gc
@cython.cclass
class Clusters:
    """What a run of Q-k-means keeps, so that it can be revised.

    `seeds` are rows; `counts` [round, cluster] and `sums` [round, cluster, entry] are of the rows nearest to the
    `centroids` [round, cluster, entry] that a round begins with, and lead to the next ones; `sizes` are of the rows
    nearest to the last centroids. If there is one seed at most, there is no round, and one size.

    Counts, sums and sizes add and subtract: rows are shifted out and in. Seeds do not. Each is the row with the least
    keyed hash, given those before it: the best of a whole is the best of the best of its parts, but when a seed leaves,
    nothing tells which row comes next. So there is no `subtract`: whoever takes rows out asks `seeds_hold` first, and
    learns anew if they do not. Clusters of parts merge step by step: seed by seed, then the sums around centroids.

    `labels` are the clusters of the rows in `labelled`, if these have just been found; they are no part of what is
    kept, and whoever uses them calls `take_labels`.
    """

    def __init__(self, seeds: Array, sizes: Array, counts: Array, sums: Array, centroids: Array) -> None:
        self.seeds = seeds
        self.sizes = sizes
        self.counts = counts
        self.sums = sums
        self.centroids = centroids
        self.n_rounds, self.n_clusters, self.width = sums.shape
        self.seed_rows = data_of(seeds)
        self.final_sizes = data_of(sizes)
        self.round_counts = data_of(counts)
        self.round_sums = data_of(sums)
        self.round_centroids = data_of(centroids)
        self.labels = cast("Array | None", None)
        self.labelled = cast("Array | None", None)
        self.centroid_hashes = cast("bytes | None", None)
        self.last_row = self.last_label = -1

    @staticmethod
    def learn(space: Space, rows: Array) -> Clusters:
        """Pick seeds and run the rounds; the rows' labels are there afterwards."""
        columns = gather(space, rows)
        seeds = pick_seeds(space, rows, columns, rows[:0])
        return _finish(space, *before_rounds(space, seeds), rows, columns)

    @staticmethod
    def learn_from(space: Space, seeds: Array, rows: Array) -> Clusters:
        """Run the rounds from known seeds; the rows' labels are there afterwards."""
        return _finish(space, *before_rounds(space, seeds), rows, None)

    def seed_anew(self, space: Space, rows: Array, ends: Array) -> Clusters:
        """Learn clusters around seeds, without any round, after some of these seeds have left or rows have come.

        The rows around each seed that there is follow each other in order, from one of the `ends` to the next; after
        them come all others. Where rows belonged tells for most of them to which seeds they can belong now.
        """
        columns = gather(space, rows)
        seeds = pick_seeds(space, rows, columns, still_seeds(self.seeds, rows, ends))
        _, counts, sums, centroids = before_rounds(space, seeds)
        labels = np.zeros(len(rows), np.int64)
        if len(seeds) > 1:
            label_by_cluster(space, columns, self.seeds, seeds, centroids[0], ends, labels)
        return _labelled(seeds, counts, sums, centroids, rows, labels)

    def label(self, space: Space, rows: const_int64[::1]) -> Array:
        """Return the cluster of each row: the nearest of the last centroids, the first of equals."""
        if rows.shape[0] == 1 and rows[0] == self.last_row:
            return np.array([self.last_label])
        labels: Array = label_rows(space, rows, self.centroids_of(self.n_rounds), self.n_clusters)
        return labels

    def take_labels(self, rows: Array) -> Array | None:
        """Return the labels of these very rows if they have just been found, and forget them."""
        labels = self.labels if self.labelled is rows else None
        self.labels = self.labelled = None
        return labels

    def shift(self, space: Space, rows: const_int64[::1], sign: cython.longlong) -> None:
        """Take rows out of all counts, sums and sizes (-1), or put them in (1), in place; centroids stay."""
        r: cython.Py_ssize_t
        labels = self.label_by_round(space, rows)
        for r in range(self.n_rounds + 1):
            self.shift_rows(space, r, rows, labels, sign)

    def seeds_hold(
        self,
        space: Space,
        minus: const_int64[::1],
        plus: const_int64[::1],
    ) -> bool:
        """Tell whether learning without `minus` and with `plus` picks the same seeds."""
        hold: cython.bint
        if minus.shape[0] + plus.shape[0] < BLOCK:  # to let other threads run takes longer
            return bool(seeds_hold(space, self.seed_rows, self.n_clusters, minus, plus))
        with cython.nogil:
            hold = seeds_hold(space, self.seed_rows, self.n_clusters, minus, plus)
        return bool(hold)

    def rounds_that_hold(self, space: Space) -> int:
        """Tell how many rounds lead to the same centroids, after rows have been shifted."""
        r: cython.Py_ssize_t
        scratch: cython.longlong[::1] = np.zeros(2 * space.width, np.int64)
        for r in range(self.n_rounds):
            if not self.leads_alike(space, r, cython.address(scratch[0])):
                return int(r)
        return int(self.n_rounds)

    def revise(
        self,
        space: Space,
        minus: const_int64[::1],
        plus: const_int64[::1],
    ) -> Clusters:
        """Take rows out and put others in, round by round, while seeds are known to hold.

        If all rounds still lead to the same centroids, this is changed in place and returned. Otherwise it stays as it
        was; what is returned has the rounds up to the first that leads elsewhere, and goes on by `go_on`.
        """
        r: cython.Py_ssize_t
        # Whatever takes memory, and may fail, comes before anything changes.
        leaving, coming = self.label_by_round(space, minus), self.label_by_round(space, plus)
        if self.n_rounds == 0:
            self.shift_rows(space, 0, minus, leaving, -1)
            self.shift_rows(space, 0, plus, coming, 1)
            return self
        scratch: cython.longlong[::1] = np.zeros(2 * space.width, np.int64)
        for r in range(self.n_rounds + 1):
            self.shift_rows(space, r, minus, leaving, -1)
            self.shift_rows(space, r, plus, coming, 1)
            if r < self.n_rounds and not self.leads_alike(space, r, cython.address(scratch[0])):
                try:
                    return self._first_rounds(space, r + 1)
                finally:
                    for shifted in range(r + 1):
                        self.shift_rows(space, shifted, plus, coming, -1)
                        self.shift_rows(space, shifted, minus, leaving, 1)
        return self

    def go_on(self, space: Space, rows: Array) -> Clusters:
        """Run the rounds that are missing; the rows' labels are there afterwards."""
        return _finish(space, self.seeds, self.counts, self.sums, self.centroids, rows, None)

    def copy(self) -> Clusters:
        """Return a copy that can be shifted alone."""
        return Clusters(
            self.seeds.copy(), self.sizes.copy(), self.counts.copy(), self.sums.copy(), self.centroids.copy()
        )

    def same_centroids(self, other: Clusters) -> bool:
        """Tell whether both put every row into the same cluster."""
        return np.array_equal(self.centroids[self.n_rounds], other.centroids[other.n_rounds])

    def fingerprint(self, space: Space) -> bytes:
        """Return bytes that are equal exactly if what is kept is, whatever slots records and codes categories have."""
        s: cython.Py_ssize_t
        keys = np.empty(self.seeds.shape[0], np.int64)
        view: cython.longlong[::1] = keys
        for s in range(view.shape[0]):
            view[s] = cython.cast(cython.longlong, space.coded.keys[self.seed_rows[s]])
        if self.centroid_hashes is None:
            # No centroid changes, nor do the fingerprints of the categories that its coordinates stand for.
            self.centroid_hashes = _hash_lines(space, self.centroids).tobytes()
        head = _FINGERPRINT.pack(view.shape[0], self.n_rounds, len(self.sizes))
        sums = _hash_lines(space, self.sums).tobytes() if self.n_rounds else b""
        return b"".join([head, keys.tobytes(), self.counts.tobytes(), self.sizes.tobytes(), sums, self.centroid_hashes])

    def dump(self) -> bytes:
        """Return what is kept as bytes."""
        head = np.array([self.n_clusters, self.n_rounds, len(self.sizes), self.width])
        kept = (self.seeds, self.sizes, self.counts, self.sums, self.centroids)
        return np.concatenate([head, *(array.ravel() for array in kept)]).astype("<i8").tobytes()

    @staticmethod
    def load(dumped: bytes) -> Clusters:
        """Return what `dump` wrote."""
        words = np.frombuffer(dumped, "<i8").astype(np.int64)
        n_clusters, n_rounds, n_sizes, width = words[:_HEAD].tolist()
        shapes = [(n_clusters,), (n_sizes,), (n_rounds, n_clusters), (n_rounds, n_clusters, width)]
        shapes.append((n_rounds + 1, n_clusters, width))
        arrays, start = [], _HEAD
        for shape in shapes:
            size = math.prod(shape)
            arrays.append(words[start : start + size].reshape(shape).copy())
            start += size
        return Clusters(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return Clusters.load, (self.dump(),)

    def fits(self, space: Space, rows: Array) -> bool:
        """Tell whether seeds are among some rows, and everything has the size that it must; only then it is safe."""
        n_sizes = max(int(self.n_clusters), 1)
        return self.width == space.width and len(self.sizes) == n_sizes and bool(np.isin(self.seeds, rows).all())

    def _first_rounds(self, space: Space, number: cython.Py_ssize_t) -> Clusters:
        """Return a copy of the first rounds, with the centroids that the last of them leads to by now."""
        last = number - 1
        led = quantised(space, self.sums[last], self.counts[last], self.centroids[last])
        centroids = np.concatenate([self.centroids[:number], led[np.newaxis]])
        return Clusters(self.seeds, self.sizes[:0], self.counts[:number].copy(), self.sums[:number].copy(), centroids)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sums_of(self, r: cython.Py_ssize_t, c: cython.Py_ssize_t) -> cython.p_longlong:
        """Return the sums of a cluster in a round."""
        return self.round_sums + (r * self.n_clusters + c) * self.width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def centroids_of(self, r: cython.Py_ssize_t) -> cython.p_longlong:
        """Return the centroids that a round begins with; after the last round, the final ones."""
        return self.round_centroids + r * self.n_clusters * self.width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shift_row(
        self,
        space: Space,
        r: cython.Py_ssize_t,
        row: cython.Py_ssize_t,
        c: cython.Py_ssize_t,
        sign: cython.longlong,
    ) -> cython.void:
        """Take a row of a cluster out of a round, or put it in; after the last round, out of the final sizes."""
        if r == self.n_rounds:
            self.final_sizes[c] += sign
        else:
            self.round_counts[r * self.n_clusters + c] += sign
            space.add_row(row, self.sums_of(r, c), sign)

    @cython.cfunc
    def label_by_round(self, space: Space, rows: const_int64[::1]) -> Any:
        """Return the cluster of each of many rows in each round; None if they are few, and found one by one."""
        if self.n_clusters < 2 or rows.shape[0] < _FEW_ROWS:
            return None
        return [label_rows(space, rows, self.centroids_of(r), self.n_clusters) for r in range(self.n_rounds + 1)]

    @cython.cfunc
    def shift_rows(
        self,
        space: Space,
        r: cython.Py_ssize_t,
        rows: const_int64[::1],
        labels_by_round: Any,
        sign: cython.longlong,
    ) -> None:
        """Take rows out of one round, or put them in; after the last round, out of the final sizes."""
        j: cython.Py_ssize_t
        if self.n_clusters < 2:
            self.final_sizes[0] += sign * rows.shape[0]
            return
        if labels_by_round is None:
            for j in range(rows.shape[0]):
                c = nearest(space, rows[j], self.centroids_of(r), self.n_clusters)
                self.shift_row(space, r, rows[j], c, sign)
                if r == self.n_rounds:
                    # Whoever takes a row out, or puts it in, asks for its cluster next.
                    self.last_row, self.last_label = rows[j], c
            return
        labels: cython.longlong[::1] = labels_by_round[r]
        with cython.nogil:
            for j in range(rows.shape[0]):
                self.shift_row(space, r, rows[j], labels[j], sign)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def leads_alike(self, space: Space, r: cython.Py_ssize_t, scratch: cython.p_longlong) -> cython.bint:
        """Tell whether a round leads to the centroids that are known to follow it; `scratch` holds two lines."""
        c: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        centroid: cython.p_longlong = scratch + self.width
        place: cython.Py_ssize_t
        space.write_lattice(scratch)
        for c in range(self.n_clusters):
            place = c * self.width
            space.quantise(
                scratch,
                self.sums_of(r, c),
                self.round_counts[r * self.n_clusters + c],
                self.centroids_of(r) + place,
                centroid,
            )
            for entry in range(self.width):
                if centroid[entry] != self.centroids_of(r + 1)[place + entry]:
                    return False
        return True


def _labelled(seeds: Array, counts: Array, sums: Array, centroids: Array, rows: Array, labels: Array) -> Clusters:
    """Return clusters with the labels of all rows; of one cluster nobody needs them."""
    sizes = np.bincount(labels, minlength=max(len(seeds), 1))
    clusters: Clusters = Clusters(seeds, sizes, counts, sums, centroids)
    if np.count_nonzero(sizes) > 1:
        clusters.labels, clusters.labelled = labels, rows
    return clusters


def _finish(
    space: Space, seeds: Array, counts: Array, sums: Array, centroids: Array, rows: Array, columns: Array | None
) -> Clusters:
    """Run the rounds that are missing after those known."""
    if len(seeds) < 2:
        return _labelled(seeds, counts, sums, centroids, rows, np.zeros(len(rows), np.int64))
    columns = gather(space, rows) if columns is None else columns
    if len(sums) == space.max_rounds or repeats(centroids, len(sums)):
        labels = np.empty(len(rows), np.int64)
        label_columns(space, columns, 0, centroids[len(sums)], labels)
    else:
        counts, sums, centroids, labels = run_rounds(space, rows, columns, list(counts), list(sums), list(centroids))
    return _labelled(seeds, counts, sums, centroids, rows, labels)


def _hash_lines(space: Space, lines: Array) -> Array:
    """Return two hashes of each line, whatever codes categories have; codes that nobody has count for nothing."""
    i: cython.Py_ssize_t
    entry: cython.Py_ssize_t
    value: cython.ulonglong
    low: cython.ulonglong
    high: cython.ulonglong
    names: cython.ulonglong[:, ::1] = _hash_entries(space)
    source: cython.longlong[:, ::1] = lines.reshape(-1, space.width)
    hashes = np.empty(2 * source.shape[0], np.int64)
    found: cython.longlong[::1] = hashes
    for i in range(source.shape[0]):
        low = high = 0
        for entry in range(names.shape[0]):
            value = cython.cast(cython.ulonglong, source[i, entry])
            low += value * names[entry, 0]
            high += value * names[entry, 1]
        found[2 * i] = cython.cast(cython.longlong, low)
        found[2 * i + 1] = cython.cast(cython.longlong, high)
    return hashes


def _hash_entries(space: Space) -> Array:
    """Return two hashes for each entry of a line: of the variable and the place, or of the category's fingerprint."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    start: cython.Py_ssize_t
    v: cython.Py_ssize_t
    name: cython.ulonglong
    hashes = np.empty((space.width, 2), np.uint64)
    names: cython.ulonglong[:, ::1] = hashes
    for i in range(space.n_variables):
        v, start = space.variables[i].column, space.variables[i].start
        for place in range(space.variables[i].end - start):
            name = space.coded.prints[v, 0 if space.variables[i].is_numeric else place]
            name += place if space.variables[i].is_numeric else 0
            names[start + place, 0] = mix64(name)
            names[start + place, 1] = mix64(names[start + place, 0])
    return hashes
