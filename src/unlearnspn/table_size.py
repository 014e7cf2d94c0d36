"""What follows from how many records there are, where nobody says otherwise: how small leaves are, how fine bins are.

The number of leaves is bounded, and with it the time that a query takes, or a batch of removals; what more records tell
goes into the leaves. These then have enough of them for finer bins. Both go in steps, and together, because a step
means to learn everything anew.
"""

from __future__ import annotations

#: Among how many records the first step is taken; the next among twice as many, and so on.
_AMONG = 40_000
#: Below that: up to how many records a node is not split (the paper's t), and how many bins there are.
_MIN_ROWS, _N_BINS = 200, 6
#: How many bins come with a step, and how many there are in the end: tables of pairs grow by the square.
_MORE_BINS, _MOST_BINS = 4, 14


def min_rows_among(n_records: int) -> int:
    """Return up to how many of so many records a node is not split: twice as many with every step.

    >>> [min_rows_among(n) for n in (100, 39_999, 40_000, 100_000, 1_000_000)]
    [200, 200, 400, 800, 6400]
    """
    return _MIN_ROWS << _steps(n_records)


def n_bins_among(n_records: int) -> int:
    """Return into how many bins numeric columns of so many records are coded.

    >>> [n_bins_among(n) for n in (100, 39_999, 40_000, 100_000, 1_000_000)]
    [6, 6, 10, 14, 14]
    """
    return min(_N_BINS + _MORE_BINS * _steps(n_records), _MOST_BINS)


def sized_alike(one: int, other: int) -> bool:
    """Tell whether the same follows from so many records as from so many others."""
    return one // _AMONG == other // _AMONG or _steps(one) == _steps(other)


def _steps(n_records: int) -> int:
    return (n_records // _AMONG).bit_length()
