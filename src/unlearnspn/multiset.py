"""A digest of a set of records: digests of disjoint sets add up, in any order, so that one record is soon taken out.

Sums of digests all the way down: that of a record is the digest of its key, its numbers, and the sum of the digests of
its categories, each of which is salted with its column.
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.unlearnspn.blake2b import digest_words
from cython.cimports.unlearnspn.const_types import const_int16, const_int32, const_level

from unlearnspn.coding import DIGEST_WORDS, IS_NUMERIC, LEVELS_START, PLACE

Multiset = npt.NDArray[np.uint64]
Array = npt.NDArray[np.generic]

_N_WORDS = cython.declare(cython.Py_ssize_t, DIGEST_WORDS)
_BLOCK_WORDS = cython.declare(cython.Py_ssize_t, 16)
_IS_NUMERIC = cython.declare(cython.Py_ssize_t, IS_NUMERIC)
_PLACE = cython.declare(cython.Py_ssize_t, PLACE)
_LEVELS_START = cython.declare(cython.Py_ssize_t, LEVELS_START)


def no_records() -> Multiset:
    """Return the digest of nobody."""
    return np.zeros(DIGEST_WORDS, np.uint64)


def digest_records(
    columns: cython.longlong[:, ::1],
    keys: cython.ulonglong[::1],
    bits: cython.longlong[:, ::1],
    levels: Array,
    level_digests: cython.ulonglong[:, ::1],
    rows: cython.longlong[::1],
) -> Multiset:
    """Digest some records: who they are, their numbers bit by bit, and the digests of their categories."""
    n_words: cython.Py_ssize_t = 1 + bits.shape[1] + _N_WORDS
    total = no_records()
    sums: cython.ulonglong[::1] = total
    short_levels: const_int16[:, ::1]
    long_levels: const_int32[:, ::1]
    # Behind the words that are digested there are zeros up to the end of a block.
    line: cython.p_ulonglong = cython.cast(
        cython.p_ulonglong, calloc(n_words + _BLOCK_WORDS, cython.sizeof(cython.ulonglong))
    )
    if not line:
        raise MemoryError
    try:
        if levels.itemsize == 2:
            short_levels = levels
            with cython.nogil:
                _add_digests(columns, keys, bits, short_levels, level_digests, rows, line, sums)
        else:
            long_levels = levels
            with cython.nogil:
                _add_digests(columns, keys, bits, long_levels, level_digests, rows, line, sums)
    finally:
        free(line)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_digests(
    columns: cython.longlong[:, ::1],
    keys: cython.ulonglong[::1],
    bits: cython.longlong[:, ::1],
    levels: const_level[:, ::1],
    level_digests: cython.ulonglong[:, ::1],
    rows: cython.longlong[::1],
    line: cython.p_ulonglong,
    sums: cython.ulonglong[::1],
) -> cython.void:
    """Add the digest of each record: of a line of its key, its numbers, and the sum of its categories' digests."""
    digest = cython.declare(cython.ulonglong[8])
    n_numbers: cython.Py_ssize_t = bits.shape[1]
    row: cython.Py_ssize_t
    level: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    for i in range(rows.shape[0]):
        row = rows[i]
        line[0] = keys[row]
        for j in range(n_numbers):
            line[1 + j] = cython.cast(cython.ulonglong, bits[row, j])
        for k in range(_N_WORDS):
            line[1 + n_numbers + k] = 0
        for v in range(columns.shape[0]):
            if columns[v, _IS_NUMERIC]:
                continue
            level = levels[row, columns[v, _PLACE]]
            if level >= 0:
                for k in range(_N_WORDS):
                    line[1 + n_numbers + k] += level_digests[columns[v, _LEVELS_START] + level, k]
        digest_words(line, 1 + n_numbers + _N_WORDS, digest)
        for k in range(_N_WORDS):
            sums[k] += digest[k]
