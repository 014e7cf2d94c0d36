"""Up to how many records a node is not split any further, where that is to follow from how many there are in all."""

from __future__ import annotations

#: The paper's, and among how many records there begin to be more.
_LEAST, _AMONG = 200, 40_000


def min_rows_among(n_records: int) -> int:
    """Return the default for so many records: 200 below 40,000, and twice as many whenever there are twice as many.

    So the number of leaves is bounded, and with it the time that a query takes, or a batch of removals; what more
    records tell goes into the leaves. It goes in steps, because a step means to learn everything anew.

    >>> [min_rows_among(n) for n in (100, 39_999, 40_000, 100_000, 1_000_000)]
    [200, 200, 400, 800, 6400]
    """
    min_rows, among = _LEAST, _AMONG
    while n_records >= among:
        min_rows, among = 2 * min_rows, 2 * among
    return min_rows
