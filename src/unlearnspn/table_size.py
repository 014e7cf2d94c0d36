"""What follows from how many records there are, where nobody says otherwise.

Of few records a network is learned as in the paper: clusters of clusters, down to nodes of some two hundred records. Of
many it is a sum of many clusters at once, whose number does not grow any more, and with it neither the time that a
query takes nor what a batch of removals costs; what more records tell goes into the trees of these clusters, and into
finer bins. All of it goes in steps, because a step means to learn everything anew.
"""

from __future__ import annotations

from bisect import bisect_right

#: Among how many records the first step is taken; the next among twice as many, and so on. No round number, at which
#: tables tend to end.
_AMONG = 1 << 13
#: Of categories alone so many: trees of a few of their records are as good as others, and small nodes better.
_AMONG_CATEGORIES = 1 << 16
#: Below that: up to how many records a node is not split (the paper's t), and how many clusters there are.
_MIN_ROWS, _N_CLUSTERS = 200, 8
#: A tree of more variables needs more records: so many for each.
_ROWS_PER_VARIABLE = 4
#: From then on: by how many doublings more nodes that are not split are larger, so that few clusters are split again;
#: and how many of these there are.
_DOUBLINGS, _MANY_CLUSTERS = 1, 64
#: How many bins there are, and from how many records on as many as the next says: few records tell little of many pairs
#: of bins, and tables of these grow by the square.
_N_BINS = (5, 9, 13, 17, 21, 25)
_FINER_AMONG = (384, 768, 1 << 15, 1 << 16, 1 << 17)


def counted(n_records: int, has_numbers: bool) -> int:
    """Return as how many records so many count for clusters and leaves: without numbers, as none while they are few.

    >>> [counted(n, has_numbers=False) for n in (100, 65_535, 65_536)]
    [0, 0, 65536]
    """
    return n_records if has_numbers or n_records >= _AMONG_CATEGORIES else 0


def min_rows_among(n_records: int, n_variables: int) -> int:
    """Return up to how many of so many records a node is not split: twice as many with every step.

    >>> [min_rows_among(n, 20) for n in (100, 8_191, 8_192, 100_000, 1_000_000)]
    [200, 200, 800, 6400, 51200]
    >>> [min_rows_among(n, 300) for n in (100, 8_191, 8_192, 100_000, 1_000_000)]
    [1200, 1200, 1200, 6400, 51200]
    """
    steps = _steps(n_records)
    return max(_MIN_ROWS << (steps + _DOUBLINGS if steps else 0), _ROWS_PER_VARIABLE * n_variables)


def n_clusters_among(n_records: int) -> int:
    """Return into how many clusters a node of a network of so many records is split.

    >>> [n_clusters_among(n) for n in (100, 8_191, 8_192, 1_000_000)]
    [8, 8, 64, 64]
    """
    return _MANY_CLUSTERS if _steps(n_records) else _N_CLUSTERS


def n_bins_among(n_records: int) -> int:
    """Return into how many bins numeric columns of so many records are coded.

    >>> [n_bins_among(n) for n in (100, 1_000, 32_767, 32_768, 100_000, 1_000_000)]
    [5, 13, 13, 17, 21, 25]
    """
    return _N_BINS[bisect_right(_FINER_AMONG, n_records)]


def sized_alike(one: int, other: int) -> bool:
    """Tell whether the same follows from so many records as from so many others."""
    return _steps(one) == _steps(other) and n_bins_among(one) == n_bins_among(other)


def _steps(n_records: int) -> int:
    return (n_records // _AMONG).bit_length()
