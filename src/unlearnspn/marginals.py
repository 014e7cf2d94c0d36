"""Kernels on marginal counts: which variables of a node are uninformative (σ² = 0: all their values are equal)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.coding import Codes
from unlearnspn.compiling import inner_kernel, kernel, per_element
from unlearnspn.exact_sum import Words
from unlearnspn.fetching import FEW, fetch
from unlearnspn.hashing import Keys, mix64, unsigned
from unlearnspn.slices import Counts, Rows, Scope


@inner_kernel(per_element(1, 1, 2))
def add_codes(codes: Codes, rows: Rows, scope: Scope, sizes: Counts, counts: Counts, sign: int) -> None:
    """Add `sign` to the count of every row's code, variable after variable."""
    for first in range(0, rows.size, FEW):
        few = rows[first : first + FEW]
        fetch(codes, few)
        for row in few:
            start = 0
            for v in scope:
                counts[start + np.int64(codes[row, v])] += sign
                start += sizes[v]


@inner_kernel(per_element(6, 4, 5))
def shift_marginals(
    words: Words, at: int, hash_at: int, codes: Codes, rows: Rows, scope: Scope, sizes: Counts, prints: Keys, sign: int
) -> None:
    """Count rows in, or out, in counts that start at a word, and in what `hash_marginals` says of them."""
    low, high = np.uint64(words[hash_at]), np.uint64(words[hash_at + 1])
    factor = unsigned(sign)
    for v in scope:
        for row in rows:
            code = np.int64(codes[row, v])
            words[at + code] += sign
            name = mix64(prints[v, code])
            low += factor * name
            high += factor * mix64(name)
        at += sizes[v]
    words[hash_at], words[hash_at + 1] = np.int64(low), np.int64(high)


@kernel
def informativeness(counts: Counts, scope: Scope, sizes: Counts) -> tuple[npt.NDArray[np.bool_], int]:
    """Tell from the codes what they can tell: two codes mean different values, one code may hide some.

    Return which variables have two codes or more, and how many have exactly one.
    """
    informative = np.empty(scope.size, np.bool_)
    undecided = 0
    start = 0
    for i in range(scope.size):
        occurring = 0
        for code in range(1, sizes[scope[i]]):
            if counts[start + code]:
                occurring += 1
        informative[i] = occurring > 1
        undecided += occurring == 1
        start += sizes[scope[i]]
    return informative, undecided


@kernel
def varies(column: npt.NDArray[Any], rows: Rows, missing: float) -> bool:
    """Scan for two different values, stopping at the first difference; NaN and `missing` do not count."""
    first = column[0]
    found = False
    for row in rows:
        value = column[row]
        if value != value or value == missing:
            continue
        if found and value != first:
            return True
        first = value
        found = True
    return False


@kernel
def hash_marginals(counts: Counts, scope: Scope, sizes: Counts, prints: Keys) -> Keys:
    """Sum count·hash over all codes: independent of their order and of codes that nobody has."""
    hashes = np.zeros(2, np.uint64)
    start = 0
    for v in scope:
        for code in range(sizes[v]):
            count = np.uint64(counts[start + code])
            if count:
                name = mix64(prints[v, code])
                hashes[0] += count * name
                hashes[1] += count * mix64(name)
        start += sizes[v]
    return hashes
