"""A digest of a set of records: digests of disjoint sets add up, in any order, so that one record is soon taken out.

Sums of digests all the way down: that of a record is the digest of its key, its numbers, and the sum of the digests of
its categories, each of which is salted with its column.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from unlearnspn.blake2 import DIGEST_WORDS, total_digest
from unlearnspn.coding import IS_NUMERIC, LEVELS_START, PLACE, Columns, Digests, Levels
from unlearnspn.compiling import late_kernel, per_row
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
    words = level_digests.view(np.int64)
    if rows.size == 1:
        line = _record_lines(columns, keys, bits, levels, words, rows)
        return np.frombuffer(blake2b(line.tobytes()).digest(), "<u8")
    total = no_records()
    for start in range(0, rows.size, _AT_A_TIME):
        total += total_digest(_record_lines(columns, keys, bits, levels, words, rows[start : start + _AT_A_TIME]))
    return total


@late_kernel(per_row(200))
def _record_lines(
    columns: Columns,
    keys: Keys,
    bits: Bits,
    levels: Levels,
    level_digests: npt.NDArray[np.int64],
    rows: Rows,
) -> npt.NDArray[np.int64]:
    """Write each record as a line of words: its key, its numbers, and the sum of its categories' digests."""
    n_numbers = bits.shape[1]
    lines = np.zeros((rows.size, 1 + n_numbers + DIGEST_WORDS), np.int64)
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
    return lines
