# cython: cdivision=True
"""Log-densities of many rows under joint normals; what is missing is left out.

Covariances are never taken apart: lines of the factor are turned into a triangle, which keeps small deviations.
Every operation is done row by row, so that a row's result depends neither on the others nor on the blocks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY, isnan, sqrt
from cython.cimports.unlearnspn.circuit.inputs import Rows
from cython.cimports.unlearnspn.circuit.row_loops import standardise
from cython.cimports.unlearnspn.const_types import const_float64
from cython.cimports.unlearnspn.portable_math import log

from unlearnspn.circuit.expressions import Normal
from unlearnspn.circuit.layout import Floats, Indices, Layout, starts_of
from unlearnspn.portable_math import add_up

_LOG_SQRT_TWO_PI = cython.declare(cython.double, 0.5 * math.log(2.0 * math.pi))
_TINY = cython.declare(cython.double, 2.0**-1022)


class PreparedNormal(NamedTuple):
    """A joint normal, prepared for the evaluation of rows; see the header of `NormalDensities`."""

    variables: Indices
    means: Floats
    inverses: Floats
    units: Floats
    factors: Floats
    lines: Floats
    constant: float

    @classmethod
    def of(cls, normal: Normal) -> PreparedNormal:
        """Prepare a normal."""
        factor = normal.factor
        diagonal, units = np.diag(factor), _units(factor)
        with np.errstate(over="ignore", under="ignore"):
            inverses, factors, lines = 1.0 / diagonal, factor / diagonal[:, None], factor / units[:, None]
        return cls(normal.variables, normal.mean, inverses, units, factors.ravel(), lines.ravel(), _at_mean(diagonal))


@cython.final
@cython.cclass
class NormalDensities:
    """The joint normals of a circuit, ready for the evaluation of rows.

    `slots_by_variable` has the line of each variable among the columns of its kind.
    """

    def __init__(self, normals: list[PreparedNormal], slots_by_variable: Indices) -> None:
        counts = np.array([normal.means.size for normal in normals], np.int64)
        self.n_normals = len(normals)
        self.most = max(counts, default=0)
        self.starts, self.square_starts = starts_of(counts), starts_of(counts * counts)
        variables = np.concatenate([np.zeros(0, np.int32), *(normal.variables for normal in normals)])
        self.slots = slots_by_variable[variables].astype(np.int32)
        self.means = _joined([normal.means for normal in normals])
        self.inverses = _joined([normal.inverses for normal in normals])
        self.units = _joined([normal.units for normal in normals])
        self.factors = _joined([normal.factors for normal in normals])
        self.lines = _joined([normal.lines for normal in normals])
        self.constants = np.array([normal.constant for normal in normals], np.float64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def room(self, n_rows: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return how many numbers of memory so many rows take."""
        return self.most * (n_rows + self.most + 4) + 1 + n_rows

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(
        self,
        number: cython.Py_ssize_t,
        rows: Rows,
        start: cython.Py_ssize_t,
        n_rows: cython.Py_ssize_t,
        total: cython.p_double,
        room: cython.p_double,
    ) -> cython.void:
        """Write the log-densities of some rows under a normal, by its number."""
        first: cython.Py_ssize_t = self.starts[number]
        size: cython.Py_ssize_t = self.starts[number + 1] - first
        i: cython.Py_ssize_t
        r: cython.Py_ssize_t
        is_complete: cython.bint = True
        lines = room + self.most * (self.most + 4)
        for r in range(n_rows):
            total[r] = 0.0
        for i in range(size):
            standardise(
                lines + i * n_rows,
                total,
                rows.numbers + self.slots[first + i] * rows.n_rows + start,
                self.means[first + i],
                self.inverses[first + i],
                cython.address(self.factors[self.square_starts[number] + i * size]),
                lines,
                i,
                n_rows,
            )
        constant: cython.double = self.constants[number]
        for r in range(n_rows):
            total[r] = constant - 0.5 * total[r]
            is_complete = is_complete and total[r] == total[r]
        if not is_complete:
            self.evaluate_marginals(number, rows, start, n_rows, total, room)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate_marginals(
        self,
        number: cython.Py_ssize_t,
        rows: Rows,
        start: cython.Py_ssize_t,
        n_rows: cython.Py_ssize_t,
        total: cython.p_double,
        room: cython.p_double,
    ) -> cython.void:
        """Write the log-densities of rows that lack something, which are NaN: those that know the same together."""
        heads = cython.declare(cython.Py_ssize_t[256])
        following = room + self.most * (self.most + 4) + self.most * n_rows
        k: cython.int
        r: cython.Py_ssize_t
        for k in range(256):
            heads[k] = -1
        for r in range(n_rows):
            if isnan(total[r]):
                k = self.bucket(number, rows, start + r)
                following[r], heads[k] = heads[k], r
        # No pattern of missing values is known at first.
        room[0] = -1.0
        for k in range(256):
            r = heads[k]
            while r >= 0:
                total[r] = self.marginal(number, rows, start + r, room)
                r = cython.cast(cython.Py_ssize_t, following[r])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def bucket(self, number: cython.Py_ssize_t, rows: Rows, row: cython.Py_ssize_t) -> cython.int:
        """Return a number that rows have in common that know the same variables."""
        i: cython.Py_ssize_t
        end: cython.Py_ssize_t = self.starts[number + 1]
        pattern: cython.ulonglong = 1
        for i in range(self.starts[number], end):
            pattern *= 2
            if not isnan(rows.numbers[self.slots[i] * rows.n_rows + row]):
                pattern += 1
        pattern *= 1000003
        return cython.cast(cython.int, (pattern >> 12) % 256)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def marginal(
        self, number: cython.Py_ssize_t, rows: Rows, row: cython.Py_ssize_t, room: cython.p_double
    ) -> cython.double:
        """Return the log-density of what is known of a row.

        `room` holds how many variables are known, which they are, and their factor: those of the row before, which
        mostly are the same.
        """
        first: cython.Py_ssize_t = self.starts[number]
        size: cython.Py_ssize_t = self.starts[number + 1] - first
        n_known: cython.Py_ssize_t = 0
        is_same: cython.bint = room[0] >= 0.0
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        known = room + 1
        for i in range(size):
            if not isnan(rows.numbers[self.slots[first + i] * rows.n_rows + row]):
                is_same = is_same and n_known < room[0] and known[n_known] == i
                known[n_known] = i
                n_known += 1
        is_same = is_same and n_known == room[0]
        if n_known == 0:
            return 0.0
        if n_known == size:  # distances so large that nothing can be said of their differences
            return -INFINITY
        lines = known + 2 * self.most
        scores = known + self.most
        if not is_same:
            self.prepare(number, known, n_known, lines)
            room[0] = n_known
        total: cython.double = 0.0
        density: cython.double = -_LOG_SQRT_TWO_PI * n_known
        for i in range(n_known):
            place: cython.Py_ssize_t = first + cython.cast(cython.Py_ssize_t, known[i])
            score: cython.double = rows.numbers[self.slots[place] * rows.n_rows + row] - self.means[place]
            score /= self.units[place]
            for j in range(i):
                score -= lines[i * self.most + j] * scores[j]
            scores[i] = score / lines[i * self.most + i]
            total += scores[i] * scores[i]
            density -= log(lines[i * self.most + i] * self.units[place])
        return -INFINITY if isnan(total) else density - 0.5 * total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def prepare(
        self,
        number: cython.Py_ssize_t,
        known: cython.p_double,
        n_known: cython.Py_ssize_t,
        lines: cython.p_double,
    ) -> cython.void:
        """Write the factor of some variables of a normal, in units of their own."""
        first: cython.Py_ssize_t = self.starts[number]
        size: cython.Py_ssize_t = self.starts[number + 1] - first
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        for i in range(n_known):
            line: cython.Py_ssize_t = cython.cast(cython.Py_ssize_t, known[i])
            for j in range(size):
                lines[i * self.most + j] = self.lines[self.square_starts[number] + line * size + j]
        for i in range(n_known):
            line = cython.cast(cython.Py_ssize_t, known[i])
            own = lines + i * self.most
            for j in range(i + 1, line + 1):
                if own[j] != 0.0:
                    _rotate(lines + i * self.most, self.most, n_known - i, i, j)
            # What is left of a variance given some of the variables before is at least that given all of them.
            least: cython.double = max(self.lines[self.square_starts[number] + line * (size + 1)], _TINY)
            own[i] = max(own[i], least)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rotate(
    lines: cython.p_double,
    width: cython.Py_ssize_t,
    n_lines: cython.Py_ssize_t,
    to: cython.Py_ssize_t,
    out: cython.Py_ssize_t,
) -> cython.void:
    """Turn two columns so that the first line has nothing in one of them, and something positive in the other."""
    r: cython.Py_ssize_t
    length: cython.double = sqrt(lines[to] * lines[to] + lines[out] * lines[out])
    if length == 0.0:  # both are too small to be squared
        lines[out] = 0.0
        return
    cosine: cython.double = lines[to] / length
    sine: cython.double = lines[out] / length
    for r in range(n_lines):
        line = lines + r * width
        kept: cython.double = cosine * line[to] + sine * line[out]
        line[out] = cosine * line[out] - sine * line[to]
        line[to] = kept
    lines[to], lines[out] = length, 0.0


def normal_values(layout: Layout, slots_by_variable: Indices, numbers: Floats) -> Floats:
    """Return the log-density of what is known of each row under each joint normal, [normal, row]."""
    normals = [PreparedNormal.of(layout.normal_at(number)) for number in range(len(layout.normals))]
    densities: NormalDensities = NormalDensities(normals, slots_by_variable)
    result = np.zeros((densities.n_normals, numbers.shape[1]))
    number_lines: const_float64[:, ::1] = numbers
    values: cython.double[:, ::1] = result
    number: cython.Py_ssize_t
    n_rows: cython.Py_ssize_t = number_lines.shape[1]
    if result.size == 0:
        return result
    rows: Rows = Rows(cython.address(number_lines[0, 0]), cython.NULL, n_rows)
    room: cython.double[::1] = np.empty(densities.room(n_rows))
    with cython.nogil:
        for number in range(densities.n_normals):
            densities.evaluate(number, rows, 0, n_rows, cython.address(values[number, 0]), cython.address(room[0]))
    return result


def _joined(parts: list[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *parts])


def _units(factor: Floats) -> Floats:
    """Return powers of 2 about as large as the largest number in each line."""
    return np.asarray(np.ldexp(1.0, np.frexp(np.abs(factor).max(axis=1, initial=0.0))[1] - 1))


def _at_mean(diagonal: Floats) -> float:
    return -add_up(log(deviation) + _LOG_SQRT_TWO_PI for deviation in diagonal.tolist())
