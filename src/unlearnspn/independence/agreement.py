"""In what many rows agree with one, as bits: how many agree in two variables at once is then soon counted.

Bits lie in words of 64 rows, [word, column], so that the loops over columns are done many at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from unlearnspn.coding import Codes
from unlearnspn.slices import Counts, Rows

Bits = npt.NDArray[np.uint64]


@njit(cache=True, nogil=True)
def compare_rows(codes: Codes, rows: Rows, row: int) -> tuple[Bits, Bits]:
    """Tell of some rows in which columns they have the code of another one, and in which no value.

    The second answer is empty if all values are there.
    """
    own, n_columns, no = codes[row], codes.shape[1], np.uint8(0)
    agrees = np.zeros((8 * ((rows.size + 63) // 64), n_columns), np.uint8)
    absent = np.zeros_like(agrees)
    for i in range(rows.size):
        codes_of_row, bit = codes[rows[i]], np.uint8(1 << (i & 7))
        agreeing, missing = agrees[i >> 3], absent[i >> 3]
        for v in range(n_columns):
            agreeing[v] |= bit if codes_of_row[v] == own[v] else no
            missing[v] |= bit if codes_of_row[v] == no else no
    return _as_words(agrees), _as_words(absent) if absent.any() else np.zeros((0, n_columns), np.uint64)


@njit(cache=True, nogil=True)
def _as_words(octets: npt.NDArray[np.uint8]) -> Bits:
    n_columns = octets.shape[1]
    words = np.zeros((len(octets) // 8, n_columns), np.uint64)
    for i in range(len(octets)):
        line, word, shift = octets[i], words[i >> 3], np.uint64(8 * (i & 7))
        for v in range(n_columns):
            word[v] |= np.uint64(line[v]) << shift
    return words


@njit(cache=True, nogil=True)
def _ones(word: np.uint64) -> np.int64:
    """Count the bits of a word; the compiler knows this form, and takes an instruction for it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def count_all(bits: Bits) -> Counts:
    """Count the bits of each column."""
    counts = np.zeros(bits.shape[1], np.int64)
    for i in range(len(bits)):
        line = bits[i]
        for v in range(counts.size):
            counts[v] += _ones(line[v])
    return counts


@njit(cache=True, nogil=True)
def count_among(bits: Bits, chosen: Bits, column: int) -> Counts:
    """Count the bits of each column among the rows that are chosen for one."""
    counts = np.zeros(bits.shape[1], np.int64)
    for i in range(len(bits)):
        line, mask = bits[i], chosen[i, column]
        if mask:
            for v in range(counts.size):
                counts[v] += _ones(line[v] & mask)
    return counts
