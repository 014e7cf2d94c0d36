"""A digest of a set of records: digests of disjoint sets add up, in any order, so that one record is soon taken out.

Sums of digests all the way down: that of a record is the digest of its key, its numbers, and the sum of the digests of
its categories, each of which is salted with its column.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from unlearnspn.blake2 import DIGEST_WORDS, Lines, total_digest
from unlearnspn.coding import IS_NUMERIC, LEVELS_START, PLACE, Columns, Digests, Levels
from unlearnspn.compiling import late_kernel
from unlearnspn.exact_sum import Bits, Rows
from unlearnspn.hashing import Keys

Multiset = npt.NDArray[np.uint64]

#: Lines of so many records at a time take little memory.
_AT_A_TIME = 1 << 16


def no_records() -> Multiset:
    """Return the digest of nobody."""
    return np.zeros(DIGEST_WORDS, np.uint64)


def digest_records(
    columns: Columns, keys: Keys, bits: Bits, levels: Levels, level_digests: Digests, rows: Rows
) -> Multiset:
    """Digest some records: who they are, their numbers bit by bit, and the digests of their categories."""
    words, width = level_digests.view(np.int64), 1 + bits.shape[1] + DIGEST_WORDS
    if rows.size == 1:
        line = np.zeros((1, width), np.int64)
        _write_records(columns, keys, bits, levels, words, rows, line)
        return np.frombuffer(blake2b(line.tobytes()).digest(), "<u8")
    total = no_records()
    for start in range(0, rows.size, _AT_A_TIME):
        some = rows[start : start + _AT_A_TIME]
        lines = np.zeros((some.size, width), np.int64)
        _write_records(columns, keys, bits, levels, words, some, lines)
        total += total_digest(lines)
    return total


def _steps_of_writing(
    columns: Columns, keys: Keys, bits: Bits, levels: Levels, level_digests: Lines, rows: Rows, lines: Lines
) -> int:
    return 200 * int(rows.size)


@late_kernel(_steps_of_writing)
def _write_records(
    columns: Columns, keys: Keys, bits: Bits, levels: Levels, level_digests: Lines, rows: Rows, lines: Lines
) -> None:
    """Write each record as a line of words, where there are zeros: its key, its numbers, the sum of its categories'."""
    n_numbers = bits.shape[1]
    for i in range(rows.size):
        row, line = rows[i], lines[i]
        line[0] = np.int64(keys[row])
        for j in range(n_numbers):
            line[1 + j] = bits[row, j]
        total = line[1 + n_numbers :]
        for v in range(len(columns)):
            if not columns[v, IS_NUMERIC]:
                level = levels[row, columns[v, PLACE]]
                if level >= 0:
                    place = np.uint64(columns[v, LEVELS_START] + level)
                    for k in range(DIGEST_WORDS):
                        total[k] += level_digests[place, k]
