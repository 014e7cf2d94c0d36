"""In what many rows agree with one, as bits: how many agree in two variables at once is then soon counted.

Bits lie in words of 64 rows, [column, word], so that the words of two columns are compared many at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import places_of
from unlearnspn.coding import Codes
from unlearnspn.compiling import kernel
from unlearnspn.fetching import fetch
from unlearnspn.slices import Counts, Flags, Rows

Bits = npt.NDArray[np.uint64]


@kernel
def compare_rows(codes: Codes, rows: Rows, row: int) -> tuple[Bits, Bits, Counts]:
    """Tell of some rows in which columns they have the code of another one, and in which no value.

    The second answer has lines only for columns where some values are missing; the third says which line is a
    column's, or -1.
    """
    own, n_columns, no = codes[row], codes.shape[1], np.uint8(0)
    fetch(codes, rows)
    agrees = np.zeros((8 * ((rows.size + 63) // 64), n_columns), np.uint8)
    absent = np.zeros(agrees.shape, np.uint8)
    for i in range(rows.size):
        codes_of_row, bit = codes[rows[i]], np.uint8(1 << (i & 7))
        agreeing, missing = agrees[i >> 3], absent[i >> 3]
        for v in range(n_columns):
            agreeing[v] |= bit if codes_of_row[v] == own[v] else no
            missing[v] |= bit if codes_of_row[v] == no else no
    has_gaps = _have_bits(absent)
    all_columns, gaps, lines = np.empty(n_columns, np.int64), places_of(has_gaps, True), np.empty(n_columns, np.int64)
    for v in range(n_columns):
        all_columns[v], lines[v] = v, -1
    for k in range(gaps.size):
        lines[gaps[k]] = k
    return _as_words(agrees, all_columns), _as_words(absent, gaps), lines


@kernel
def _have_bits(octets: npt.NDArray[np.uint8]) -> Flags:
    """Tell of each column whether it has any bit."""
    found = np.zeros(octets.shape[1], np.bool_)
    for i in range(len(octets)):
        for v in range(found.size):
            found[v] |= octets[i, v] != 0
    return found


@kernel
def _as_words(octets: npt.NDArray[np.uint8], columns: Counts) -> Bits:
    words = np.zeros((columns.size, len(octets) // 8), np.uint64)
    for i in range(len(octets)):
        word, shift = i >> 3, np.uint64(8 * (i & 7))
        for k in range(columns.size):
            words[k, word] |= np.uint64(octets[i, columns[k]]) << shift
    return words


@kernel
def _ones(word: np.uint64) -> int:
    """Count the bits of a word; the compiler knows this form, and takes an instruction for it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def count_common(one: Bits, other: Bits) -> int:
    """Count the rows that have both of two bits."""
    count = 0
    for i in range(one.size):
        count += _ones(one[i] & other[i])
    return count


@kernel
def count_all(bits: Bits) -> Counts:
    """Count the bits of each column."""
    counts = np.empty(len(bits), np.int64)
    for v in range(counts.size):
        counts[v] = count_common(bits[v], bits[v])
    return counts
