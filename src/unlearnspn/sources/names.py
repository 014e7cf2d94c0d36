"""The names of a table's columns: each once, and no more of them than can be of use."""

from __future__ import annotations

from collections.abc import Collection

from unlearnspn.errors import InvalidTableError, listing, repeated

#: Each column takes its time, whatever the rows; with more of them a file has most likely lost its line ends.
MOST_COLUMNS = 10_000


def require_names(names: Collection[str]) -> None:
    """Raise unless the columns have names of their own, and are not too many."""
    if len(names) > MOST_COLUMNS:
        raise InvalidTableError(
            f"the table has {len(names):,} columns, and {MOST_COLUMNS:,} is the most: "
            "leave out those that are not wanted, or check its line ends"
        )
    twice = repeated(names)
    if twice:
        raise InvalidTableError(f"column names must be unique, but {listing(twice)} occur more than once")
