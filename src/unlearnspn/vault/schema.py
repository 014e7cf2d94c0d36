"""The one schema that a vault's database may have: tables of numbered rows, and the seal; no trigger, view or index.

Rows are numbered from 0 on, added at the end, and overwritten where they lie; only whole tables are emptied. A table
takes a limited number of them, then the next one begins: so the inner page of a table's tree never has to be divided,
and SQLite has no reason to move rows or parts of them about. What lies between rows is zero, always, and `verify` can
say so of every byte.
"""

from __future__ import annotations

from collections.abc import Iterable

#: So many rows fit below the one inner page of a table's tree, with room to spare.
PART_ROWS = 512
SEAL = "CREATE TABLE seal (one INTEGER PRIMARY KEY CHECK (one = 1), statement BLOB NOT NULL, signature BLOB NOT NULL)"
_COLUMNS = {
    "ledger": ("envelope",),
    "pages": ("place", "digest", "data"),
}


def columns(series: str) -> tuple[str, ...]:
    """Return the columns of a series of rows, besides their number."""
    return _COLUMNS[series]


def table(series: str, part: int) -> str:
    """Return the name of the table with a part of the rows of a series."""
    return f"{series}_{part}"


def definition(series: str, part: int, if_missing: bool = False) -> str:
    """Return the statement that makes that table."""
    listed = "".join(f", {name} BLOB NOT NULL" for name in columns(series))
    unless = "IF NOT EXISTS " if if_missing else ""
    return f"CREATE TABLE {unless}{table(series, part)} (number INTEGER PRIMARY KEY{listed})"


def n_parts(names: Iterable[str], series: str) -> int:
    """Return how many tables there are of a series, from the names of all tables."""
    return sum(name.startswith(f"{series}_") for name in names)


def differences(found: Iterable[tuple[str, str, str, str | None]]) -> list[str]:
    """Say what belongs into a schema and is not there, and what is there and does not belong.

    >>> rows = [("table", "seal", "seal", SEAL)]
    >>> rows += [("table", f"{series}_0", f"{series}_0", definition(series, 0)) for series in ("ledger", "pages")]
    >>> differences(rows), differences([*rows, ("trigger", "keep", "pages_0", "CREATE TRIGGER keep …")])
    ([], ["there is a trigger 'keep' on 'pages_0'"])
    """
    rows = set(found)
    names = [name for kind, name, _, _ in rows if kind == "table"]
    wanted = {("table", "seal", "seal", SEAL)}
    for series in _COLUMNS:
        parts = ((table(series, part), definition(series, part)) for part in range(max(n_parts(names, series), 1)))
        wanted.update(("table", name, name, statement) for name, statement in parts)
    extra = [_describe(*row) for row in sorted(rows - wanted, key=str)]
    missing = [f"the table {name!r} is missing" for _, name, _, _ in sorted(wanted - rows) if name not in names]
    return extra + missing


def _describe(kind: str, name: str, on: str, _: str | None) -> str:
    if kind == "table":
        return f"there is a table {name!r} that is not one of ours"
    article = "an" if kind == "index" else "a"
    return f"there is {article} {kind} {name!r}" + ("" if kind == "view" else f" on {on!r}")
