"""A digest of a set of records: digests of disjoint sets add up, in any order, so that one record is soon taken out."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import IS_NUMERIC, LEVELS_START, PLACE, Columns, Levels
from unlearnspn.compiling import late_kernel, per_row
from unlearnspn.exact_sum import Bits, Rows
from unlearnspn.hashing import Keys

Multiset = npt.NDArray[np.uint64]

#: How many words of 64 bits a digest has.
_LANES = 8


def no_records() -> Multiset:
    """Return the digest of nobody."""
    return np.zeros(_LANES, np.uint64)


def digest_records(
    columns: Columns, keys: Keys, bits: Bits, levels: Levels, level_digests: npt.NDArray[np.uint8], rows: Rows
) -> Multiset:
    """Digest some records: who they are, their numbers bit by bit, and the digests of their categories."""
    if rows.size == 0:
        return no_records()
    lines = _record_lines(columns, keys, bits, levels, level_digests.view(np.int64), rows)
    if rows.size == 1:
        return np.frombuffer(hashlib.blake2b(lines.tobytes()).digest(), np.uint64)
    digests = b"".join([hashlib.blake2b(line).digest() for line in lines])
    lanes = np.frombuffer(digests, "<u8").reshape(-1, _LANES)
    return np.asarray(lanes.sum(axis=0, dtype=np.uint64))


@late_kernel(per_row(100))
def _record_lines(
    columns: Columns,
    keys: Keys,
    bits: npt.NDArray[np.int64],
    levels: Levels,
    level_digests: npt.NDArray[np.int64],
    rows: Rows,
) -> npt.NDArray[np.int64]:
    """Write each record as a line of words: its key, its numbers, and two words for each of its categories."""
    n_numbers, n_levels = bits.shape[1], levels.shape[1]
    lines = np.empty((rows.size, 1 + n_numbers + 2 * n_levels), np.int64)
    for i in range(rows.size):
        row = rows[i]
        lines[i, 0] = np.int64(keys[row])
        for j in range(n_numbers):
            lines[i, 1 + j] = bits[row, j]
        for v in range(len(columns)):
            if not columns[v, IS_NUMERIC]:
                j = columns[v, PLACE]
                level = levels[row, j]
                place = columns[v, LEVELS_START] + level if level >= 0 else len(level_digests) - 1
                lines[i, 1 + n_numbers + 2 * j] = level_digests[place, 0]
                lines[i, 2 + n_numbers + 2 * j] = level_digests[place, 1]
    return lines
