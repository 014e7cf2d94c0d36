"""How many records of a node have each code of each of its variables; and which variables are informative by that.

A variable is informative if its values are not all equal (σ² > 0). Two codes mean different values; a single code may
hide some, then values have to be looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import chain

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.unlearnspn.mixing import mix64
from cython.cimports.unlearnspn.prefetching import ROWS_AHEAD, prefetch
from cython.cimports.unlearnspn.rows.array_data import data_of
from cython.cimports.unlearnspn.rows.coded import CodedRows
from cython.cimports.unlearnspn.rows.sorted_rows import is_among

Counts = npt.NDArray[np.int64]
Flags = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

#: What codes tell of a variable: it has no two values, it has, or values have to be looked at.
CONSTANT, INFORMATIVE, UNDECIDED = 0, 1, 2

_CONSTANT = cython.declare(cython.uchar, CONSTANT)
_INFORMATIVE = cython.declare(cython.uchar, INFORMATIVE)
_UNDECIDED = cython.declare(cython.uchar, UNDECIDED)
_HASH = struct.Struct("<QQ")
_NOBODY = np.zeros(0, np.int64)


@cython.no_gc
@cython.final
@cython.cclass
class Marginals:
    """Counts of codes, variable after variable in the order of the scope, and their hash.

    The hash sums count·hash over all codes, twice: it depends neither on their order nor on codes that nobody has.
    """

    def __init__(self, counts: Counts, low: cython.ulonglong = 0, high: cython.ulonglong = 0) -> None:
        self.counts = counts
        self._counts = data_of(counts)
        self._n_counts = counts.size
        self.low = low
        self.high = high

    @staticmethod
    def learn(coded: CodedRows, scope: cython.longlong[::1], rows: cython.longlong[::1]) -> Marginals:
        """Count the codes of some rows."""
        marginals = Marginals(np.zeros(n_codes(coded, scope), np.int64))
        marginals.shift(coded, scope, rows, 1)
        return marginals

    @cython.ccall
    def shift(
        self, coded: CodedRows, scope: cython.longlong[::1], rows: cython.longlong[::1], sign: cython.longlong
    ) -> cython.void:
        """Count rows in (`sign` = 1), or out (-1)."""
        i: cython.Py_ssize_t
        if rows.shape[0] * scope.shape[0] < self._n_counts:
            for i in range(rows.shape[0]):
                self.shift_row(coded, scope, rows[i], sign)
            return
        with cython.nogil:
            _count(self._counts, coded, scope, rows, sign)
            self._add_up_hash(coded, scope)

    @cython.ccall
    def shift_row(
        self, coded: CodedRows, scope: cython.longlong[::1], row: cython.Py_ssize_t, sign: cython.longlong
    ) -> cython.void:
        """Count one row in, or out."""
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        code: cython.Py_ssize_t
        name: cython.ulonglong
        start: cython.Py_ssize_t = 0
        low: cython.ulonglong = 0
        high: cython.ulonglong = 0
        for i in range(scope.shape[0]):
            v = scope[i]
            code = coded.codes[row, v]
            self._counts[start + code] += sign
            name = mix64(coded.prints[v, code])
            low += name
            high += mix64(name)
            start += coded.sizes[v]
        self.low += cython.cast(cython.ulonglong, sign) * low
        self.high += cython.cast(cython.ulonglong, sign) * high

    def merge(self, other: Marginals) -> Marginals:
        """Return the counts of the rows of both, which have none in common."""
        return Marginals(self.counts + other.counts, self.low + other.low, self.high + other.high)

    def copy(self) -> Marginals:
        """Return marginals that no change to these reaches."""
        return Marginals(self.counts.copy(), self.low, self.high)

    def fingerprint(self) -> bytes:
        """Return the hash: equal for equal counts, whatever codes the categories have."""
        return _HASH.pack(self.low, self.high)

    def fingerprint_of(self, coded: CodedRows, scope: cython.longlong[::1], variables: list[int]) -> bytes:
        """Return some variables, and hashes of their counts, in the order of the scope, missing values left out."""
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        code: cython.Py_ssize_t
        count: cython.ulonglong
        name: cython.ulonglong
        found: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t = 0
        n_variables: cython.Py_ssize_t = len(variables)
        words = np.zeros(3 * n_variables, np.uint64)
        view: cython.ulonglong[::1] = words
        for i in range(scope.shape[0]):
            v = scope[i]
            if found < n_variables and v == cython.cast(cython.Py_ssize_t, variables[found]):
                view[found] = v
                for code in range(1, coded.sizes[v]):
                    count = self._counts[start + code]
                    if count:
                        name = mix64(coded.prints[v, code])
                        view[n_variables + 2 * found] += count * name
                        view[n_variables + 2 * found + 1] += count * mix64(name)
                found += 1
            start += coded.sizes[v]
        return bytes(words.tobytes())

    def dump(self) -> bytes:
        """Return the marginals as bytes."""
        return self.fingerprint() + bytes(self.counts.astype("<i8", copy=False).tobytes())

    @staticmethod
    def load(data: bytes) -> Marginals:
        """Return what was dumped; see `fits` for bytes that somebody else may have written."""
        low, high = _HASH.unpack_from(data)
        return Marginals(np.frombuffer(data, "<i8", offset=_HASH.size).astype(np.int64), low, high)

    def __reduce__(self) -> tuple[Callable[[bytes], Marginals], tuple[bytes]]:
        return Marginals.load, (self.dump(),)

    def fits(self, coded: CodedRows, scope: cython.longlong[::1]) -> bool:
        """Tell whether there is a count for each code of some variables; only then it is safe to shift."""
        return n_codes(coded, scope) == int(self._n_counts)

    def counts_of(self, coded: CodedRows, scope: cython.longlong[::1]) -> dict[int, Counts]:
        """Return by variable how many records have each of its codes but for the missing one; nothing is copied."""
        counts, start = {}, 0
        for i in range(scope.shape[0]):
            end = start + coded.sizes[scope[i]]
            counts[scope[i]] = self.counts[start + 1 : end]
            start = end
        return counts

    # -- which variables are informative ---------------------------------------------------------------------------

    def informative(self, coded: CodedRows, scope: cython.longlong[::1]) -> tuple[Flags, int]:
        """Return what codes tell of each variable (see `INFORMATIVE`), and of how many it is `UNDECIDED`."""
        i: cython.Py_ssize_t
        start: cython.Py_ssize_t = 0
        n_undecided: cython.Py_ssize_t = 0
        flags = np.empty(scope.shape[0], np.uint8)
        view: cython.uchar[::1] = flags
        for i in range(scope.shape[0]):
            view[i] = self._state(coded, scope[i], start)
            n_undecided += view[i] == _UNDECIDED
            start += coded.sizes[scope[i]]
        return flags, n_undecided

    @cython.ccall
    def still_informative(
        self,
        coded: CodedRows,
        scope: cython.longlong[::1],
        informative: cython.uchar[::1],
        minus: cython.longlong[::1],
        plus: cython.longlong[::1],
        n_records: cython.longlong,
        parts: Callable[[], Iterable[Rows]],
    ) -> cython.bint:
        """Tell whether the same variables are informative as before a change, which these marginals went through.

        `n_records` is how many records there are now. Where codes do not tell, values are looked at: `parts()` gives
        the rows in any number of arrays, as they were before the change or as they are now.
        """
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        others: cython.longlong
        state: cython.uchar
        start: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = 0
        one_leaves: cython.bint = minus.shape[0] == 1 and plus.shape[0] == 0
        for i in range(scope.shape[0]):
            v, start = scope[i], end
            end += coded.sizes[v]
            if one_leaves:
                # If others have the code of the row that is gone, and yet others another one, no more need be counted.
                others = self._counts[start + coded.codes[minus[0], v]]
                if not informative[i] or (others and others + self._counts[start] < n_records):
                    continue
            state = self._state(coded, v, start)
            if state == _UNDECIDED:
                if informative[i] or plus.shape[0]:
                    state = varies_in_parts(coded, chain((np.asarray(plus),), parts()), v, minus)
                else:  # no two values were there, and none has come
                    state = _CONSTANT
            if state != informative[i]:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _state(self, coded: CodedRows, v: cython.Py_ssize_t, start: cython.Py_ssize_t) -> cython.uchar:
        """Return what codes tell of a variable whose counts start somewhere."""
        code: cython.Py_ssize_t
        occurring: cython.Py_ssize_t = 0
        for code in range(1, coded.sizes[v]):
            if self._counts[start + code]:
                occurring += 1
                if occurring > 1:
                    return _INFORMATIVE
        return _UNDECIDED if occurring and coded.hides[v] else _CONSTANT

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_up_hash(self, coded: CodedRows, scope: cython.longlong[::1]) -> cython.void:
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        code: cython.Py_ssize_t
        count: cython.ulonglong
        name: cython.ulonglong
        start: cython.Py_ssize_t = 0
        low: cython.ulonglong = 0
        high: cython.ulonglong = 0
        for i in range(scope.shape[0]):
            v = scope[i]
            for code in range(coded.sizes[v]):
                count = self._counts[start + code]
                if count:
                    name = mix64(coded.prints[v, code])
                    low += count * name
                    high += count * mix64(name)
            start += coded.sizes[v]
        self.low = low
        self.high = high


def n_codes(coded: CodedRows, scope: cython.longlong[::1]) -> int:
    """Return how many codes some variables have together."""
    i: cython.Py_ssize_t
    total: cython.Py_ssize_t = 0
    for i in range(scope.shape[0]):
        total += coded.sizes[scope[i]]
    return int(total)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(
    counts: cython.p_longlong,
    coded: CodedRows,
    scope: cython.longlong[::1],
    rows: cython.longlong[::1],
    sign: cython.longlong,
) -> cython.void:
    """Add `sign` to the count of every row's code, variable after variable."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    start: cython.Py_ssize_t
    codes: cython.uchar[:, ::1] = coded.codes
    sizes: cython.longlong[::1] = coded.sizes
    for i in range(rows.shape[0]):
        if i + ROWS_AHEAD < rows.shape[0]:
            prefetch(cython.address(codes[rows[i + ROWS_AHEAD], 0]))
        row = rows[i]
        start = 0
        for j in range(scope.shape[0]):
            counts[start + codes[row, scope[j]]] += sign
            start += sizes[scope[j]]


# -- looking at values -------------------------------------------------------------------------------------------------


def settle(
    informative: cython.uchar[::1], coded: CodedRows, scope: cython.longlong[::1], rows: cython.longlong[::1]
) -> Counts:
    """Look at the values of the variables that are `UNDECIDED`, and put in whether they are informative.

    Returns something that tells the first value of each apart from others, -1 where there is none or nobody looked.
    """
    i: cython.Py_ssize_t
    nobody: cython.longlong[::1] = _NOBODY
    found = np.full(scope.shape[0], -1)
    firsts: cython.longlong[::1] = found
    with cython.nogil:
        for i in range(scope.shape[0]):
            if informative[i] == _UNDECIDED:
                informative[i] = _finds_another(coded, rows, nobody, scope[i], cython.address(firsts[i]))
    return found


def varies(coded: CodedRows, rows: Rows, v: cython.Py_ssize_t, without: Rows = _NOBODY) -> bool:
    """Tell whether a variable has two different values among some rows but for others, stopping at the second."""
    return bool(varies_in_parts(coded, (rows,), v, without))


@cython.ccall
def varies_in_parts(
    coded: CodedRows, parts: Iterable[Rows], v: cython.Py_ssize_t, without: cython.longlong[::1]
) -> cython.bint:
    """Tell whether a variable has two different values among the rows of several arrays but for others.

    Those left out are sorted. Missing values do not count.
    """
    rows: cython.longlong[::1]
    found: cython.bint
    first: cython.longlong = -1
    for part in parts:
        rows = part
        with cython.nogil:
            found = _finds_another(coded, rows, without, v, cython.address(first))
        if found:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _finds_another(
    coded: CodedRows,
    rows: cython.longlong[::1],
    without: cython.longlong[::1],
    v: cython.Py_ssize_t,
    first: cython.p_longlong,
) -> cython.bint:
    """Look for a value that differs from the first, which is the first one found if it is -1."""
    i: cython.Py_ssize_t
    value: cython.longlong
    for i in range(rows.shape[0]):
        value = coded.value(rows[i], v)
        if value == -1 or value == first[0] or is_among(without, rows[i]):
            continue
        if first[0] != -1:
            return True
        first[0] = value
    return False
