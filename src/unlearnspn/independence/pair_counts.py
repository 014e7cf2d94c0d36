"""Counting how many rows have each pair of codes, for a few pairs of variables.

Where variables have few codes, a code's rows are a set of bits and a cell counts the bits that two sets share, 64 rows
at a time. Otherwise rows are counted one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unlearnspn.arrays import largest, put
from unlearnspn.coding import Codes
from unlearnspn.compiling import inner_kernel, kernel, per_element
from unlearnspn.independence.agreement import count_common
from unlearnspn.slices import Counts, Flags, Rows, Scope

#: Up to so many codes a variable's rows are kept as sets of bits, too.
_FEW = 8

Bits = npt.NDArray[np.uint64]
Table = npt.NDArray[np.int32]


class Columns(NamedTuple):
    """The codes of some rows and variables, gathered from the records."""

    records: Codes
    rows: Rows
    scope: Scope
    #: [variable, row]
    codes: Codes
    #: Whether a variable's codes and bits are there yet.
    is_ready: Flags
    #: How many codes each variable can have.
    sizes: Counts
    #: How often each code occurs, [variable, code].
    counts: Counts
    #: Which rows have each code, [variable, code, 64 rows]; only where there are few codes.
    bits: Bits


@inner_kernel(per_element(1, 1, 2))
def gather_codes(codes: Codes, rows: Rows, scope: Scope) -> Codes:
    """Return the codes of some rows and variables, [variable, row]."""
    gathered = np.empty((scope.size, rows.size), np.uint8)
    for i in range(rows.size):
        for j in range(scope.size):
            gathered[j, i] = codes[rows[i], scope[j]]
    return gathered


@inner_kernel(per_element(4, 0))
def _count_codes(codes: Codes, sizes: Counts, counts: Counts, bits: Bits) -> None:
    """Write how often each code occurs, and which rows have it, where there are zeros."""
    n_variables, n_rows = codes.shape
    for v in range(n_variables):
        if sizes[v] > _FEW:
            for i in range(n_rows):
                counts[v, codes[v, i]] += 1
            continue
        for code in range(sizes[v]):
            _write_bits(codes[v], code, bits[v, code])
            counts[v, code] = count_common(bits[v, code], bits[v, code])


@kernel
def count_columns(records: Codes, rows: Rows, scope: Scope, codes: Codes, sizes: Counts) -> Columns:
    """Prepare to count pairs of all variables, whose codes are gathered."""
    n_variables, n_rows = codes.shape
    counts = np.zeros((n_variables, largest(sizes)), np.int64)
    bits = np.zeros((n_variables, _FEW, (n_rows + 63) // 64), np.uint64)
    _count_codes(codes, sizes, counts, bits)
    return Columns(records, rows, scope, codes, np.ones(n_variables, np.bool_), sizes, counts, bits)


@kernel
def counted_columns(records: Codes, rows: Rows, scope: Scope, sizes: Counts, counts: Counts) -> Columns:
    """Prepare to count a few pairs, where it is known how often each code occurs: nothing is gathered yet."""
    codes, is_ready = np.empty((scope.size, rows.size), np.uint8), np.zeros(scope.size, np.bool_)
    bits = np.empty((scope.size, _FEW, (rows.size + 63) // 64), np.uint64)
    return Columns(records, rows, scope, codes, is_ready, sizes, counts, bits)


@kernel
def set_column(columns: Columns, v: int, codes: Codes) -> None:
    """Say what the codes of a variable are."""
    put(columns.codes[v], 0, codes)
    _finish(columns, v)


@kernel
def _gather(columns: Columns, v: int) -> None:
    own, place = columns.codes[v], columns.scope[v]
    for i in range(own.size):
        own[i] = columns.records[columns.rows[i], place]
    _finish(columns, v)


@kernel
def _finish(columns: Columns, v: int) -> None:
    if columns.sizes[v] <= _FEW:
        for code in range(columns.sizes[v]):
            _write_bits(columns.codes[v], code, columns.bits[v, code])
    columns.is_ready[v] = True


@kernel
def _write_bits(codes: Codes, wanted: int, bits: Bits) -> None:
    for word in range(bits.size):
        first = 64 * word
        found = np.uint64(0)
        for i in range(min(64, codes.size - first)):
            found |= np.uint64(codes[first + i] == wanted) << np.uint64(i)
        bits[word] = found


@kernel
def count_pair(columns: Columns, u: int, v: int, table: Table) -> None:
    """Count how many rows have each pair of two variables' codes."""
    codes, sizes, counts, bits = columns.codes, columns.sizes, columns.counts, columns.bits
    for i in (u, v):
        if not columns.is_ready[i]:
            _gather(columns, i)
    for a in range(sizes[u]):
        for b in range(sizes[v]):
            table[a, b] = 0
    if max(sizes[u], sizes[v]) <= _FEW:
        for a in range(sizes[u]):
            for b in range(sizes[v]):
                if counts[u, a] and counts[v, b]:
                    table[a, b] = count_common(bits[u, a], bits[v, b])
    else:
        left, right = codes[u], codes[v]
        for i in range(left.size):
            table[left[i], right[i]] += 1
