"""What is asked of a database, and what it answers; a source is only ever read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from unlearnspn.errors import InvalidTableError
from unlearnspn.sources.names import require_names
from unlearnspn.sources.options import Options

Columns = dict[str, list[Any]]

ONLY_READ = "a source is only read, so the query must be one SELECT"
#: How queries begin that only read, as far as one can tell from outside; comments may well precede them.
_READING = re.compile(r"\s*(\(|(SELECT|WITH|VALUES|TABLE|FROM)\b)", re.IGNORECASE)


def choose(options: Options) -> str | None:
    """Return the query, or None if a table is asked for."""
    if (options.table is None) == (options.query is None):
        raise InvalidTableError("say what to read from the database: either a table or a query")
    return options.query


def quoted(name: str) -> str:
    """Return the name of a table, with its schema perhaps, as standard SQL quotes it.

    >>> quoted('main.my "own" table')
    '"main"."my ""own"" table"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def refusal(who: str, reason: Any, query: str | None) -> InvalidTableError:
    """Say why a database did not answer, and that it would not have let the query write."""
    told = str(reason).strip().split("\n", 1)[0]
    hint = "" if query is None or _READING.match(query) else f"; {ONLY_READ}"
    return InvalidTableError(f"{who} refused: {told}{hint}")


def to_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    """Return an answer by columns."""
    if not names:
        raise InvalidTableError(f"the query returns no columns: {ONLY_READ}")
    require_names(names)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
