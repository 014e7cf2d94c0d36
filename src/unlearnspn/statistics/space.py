"""Where the rows of a node lie for Q-k-means, in integers, and the lattice on which its centroids lie.

The layout of a line of sums or centroids: a numeric variable has two entries (sum and count, or the coordinate and
nothing), a categorical one has an entry for each code (count, or the coordinate of the code's indicator).
"""

from __future__ import annotations

import cython
from cython.cimports.libc.math import floor
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.unlearnspn.const_types import const_int64
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.rows.features import FEATURE_MISSING
from cython.cimports.unlearnspn.statistics.layout import ONE, Variable


@cython.cclass
class Space:
    """The records, a node's scope and its lattice; the node's key shifts the lattice and draws the seeds."""

    def __init__(
        self,
        coded: CodedRows,
        scope: const_int64[::1],
        key: cython.ulonglong,
        n_clusters: cython.Py_ssize_t,
        spacing: cython.longlong,
        max_rounds: cython.Py_ssize_t,
    ) -> None:
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        self.coded = coded
        self.key = key
        self.n_clusters = n_clusters
        self.spacing = spacing
        self.max_rounds = max_rounds
        self.n_variables = scope.shape[0]
        self.width = 0
        self.variables = cython.cast(cython.pointer(Variable), malloc((self.n_variables + 1) * cython.sizeof(Variable)))
        if not self.variables:
            raise MemoryError
        for i in range(self.n_variables):
            v = scope[i]
            self.variables[i].column = v
            self.variables[i].start = self.width
            self.variables[i].is_numeric = coded.is_numeric[v]
            self.width += 2 if coded.is_numeric[v] else coded.sizes[v]
            self.variables[i].end = self.width

    def __dealloc__(self) -> None:
        free(self.variables)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def features(self, row: cython.Py_ssize_t) -> cython.p_short:
        """Return the features of a row, of all variables of the table."""
        return cython.address(self.coded.features[row, 0])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_row(self, row: cython.Py_ssize_t, line: cython.p_longlong, sign: cython.longlong) -> cython.void:
        """Add a row to a line of sums, or take it out."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t
        feature: cython.longlong
        features: cython.p_short = self.features(row)
        for i in range(self.n_variables):
            feature = features[self.variables[i].column]
            start = self.variables[i].start
            if not self.variables[i].is_numeric:
                line[start + feature] += sign
            elif feature != FEATURE_MISSING:
                line[start] += sign * feature
                line[start + 1] += sign

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def move_row(self, row: cython.Py_ssize_t, source: cython.p_longlong, target: cython.p_longlong) -> cython.void:
        """Move a row from one line of sums to another."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t
        feature: cython.longlong
        features: cython.p_short = self.features(row)
        for i in range(self.n_variables):
            feature = features[self.variables[i].column]
            start = self.variables[i].start
            if not self.variables[i].is_numeric:
                source[start + feature] -= 1
                target[start + feature] += 1
            elif feature != FEATURE_MISSING:
                source[start] -= feature
                target[start] += feature
                source[start + 1] -= 1
                target[start + 1] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def seed_line(self, row: cython.Py_ssize_t, line: cython.p_longlong) -> cython.void:
        """Write a row itself as a centroid, where there are zeros."""
        i: cython.Py_ssize_t
        feature: cython.longlong
        features: cython.p_short = self.features(row)
        for i in range(self.n_variables):
            feature = features[self.variables[i].column]
            if self.variables[i].is_numeric:
                line[self.variables[i].start] = feature if feature != FEATURE_MISSING else 0
            elif feature:
                line[self.variables[i].start + feature] = ONE

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    @cython.cdivision(True)
    def write_lattice(self, shifts: cython.p_longlong) -> cython.void:
        """Write by how much the lattice is shifted, for each entry of a line that is a coordinate."""
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        first: cython.Py_ssize_t
        end: cython.Py_ssize_t
        spacing: cython.ulonglong = self.spacing
        for i in range(self.n_variables):
            # A number's coordinate is its first entry, of a category all but the first one are.
            first, end = 0, 1
            if not self.variables[i].is_numeric:
                first, end = 1, self.variables[i].end - self.variables[i].start
            for place in range(first, end):
                shifts[self.variables[i].start + place] = (
                    mix64(self.coded.prints[self.variables[i].column, place] ^ self.key) % spacing
                )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def quantise(
        self,
        lattice: cython.p_const_longlong,
        sums: cython.p_const_longlong,
        count: cython.longlong,
        previous: cython.p_const_longlong,
        centroid: cython.p_longlong,
    ) -> cython.void:
        """Write a cluster's mean on the lattice; an empty cluster keeps its centroid.

        A coordinate without a value is 0: so is that of a code that no row of the cluster has, whether or not some row
        elsewhere has it.
        """
        i: cython.Py_ssize_t
        entry: cython.Py_ssize_t
        start: cython.Py_ssize_t
        observed: cython.longlong
        for entry in range(self.width):
            centroid[entry] = 0 if count else previous[entry]
        if count == 0:
            return
        for i in range(self.n_variables):
            start = self.variables[i].start
            if self.variables[i].is_numeric:
                if sums[start + 1]:
                    centroid[start] = _snap(lattice[start], self.spacing, sums[start], sums[start + 1])
                continue
            observed = count - sums[start]
            for entry in range(start + 1, self.variables[i].end):
                if sums[entry]:
                    centroid[entry] = _snap(lattice[entry], self.spacing, sums[entry] * ONE, observed)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
@cython.cdivision(True)
def _snap(
    shift: cython.longlong, spacing: cython.longlong, total: cython.longlong, count: cython.longlong
) -> cython.longlong:
    """Round total/count to the lattice {shift + spacing·z}, in integers.

    A quotient of floats is off by one at most, and takes a fraction of the time that one of integers does.
    """
    numerator: cython.longlong = 2 * (total - count * shift) + count * spacing
    width: cython.longlong = 2 * count * spacing
    steps: cython.longlong = cython.cast(
        cython.longlong, floor(cython.cast(cython.double, numerator) / cython.cast(cython.double, width))
    )
    rest: cython.longlong = numerator - steps * width
    return shift + spacing * (steps + (rest >= width) - (rest < 0))


def snap(
    shift: cython.longlong, spacing: cython.longlong, total: cython.longlong, count: cython.longlong
) -> cython.longlong:
    """Round total/count to the nearest point of the lattice {shift + spacing·z}; halfway, to the upper one."""
    return _snap(shift, spacing, total, count)
