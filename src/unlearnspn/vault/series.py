"""Numbered rows in the database: added at the end, overwritten where they lie, read in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from unlearnspn.vault import schema
from unlearnspn.vault.database import Database
from unlearnspn.vault.errors import DamagedVaultError

Row = tuple[Any, ...]


class Series:
    """The rows of one kind, in tables of `PART_ROWS` rows each; see `unlearnspn.vault.schema` for why."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._columns = schema.columns(name)

    def n_rows(self) -> int:
        """Return how many rows there are."""
        for part in range(self._n_parts() - 1, -1, -1):
            ((number,),) = self._database.rows(f"SELECT count(*) FROM {self._table(part)}")
            if number:
                return part * schema.PART_ROWS + int(number)
        return 0

    def rows(self, *columns: str, first: int = 0) -> Iterator[Row]:
        """Yield rows from one on, each with its number; raise if one is missing."""
        first_part = first // schema.PART_ROWS
        number = first_part * schema.PART_ROWS
        listed = ", ".join(("number", *columns))
        for part in range(first_part, self._n_parts()):
            # All rows of a table, also those before the first: none may have a number that it should not have.
            for row in self._database.rows(f"SELECT {listed} FROM {self._table(part)} ORDER BY number"):
                if row[0] != number:
                    raise DamagedVaultError(
                        f"{self._database.path} is damaged: row {number} of {self._name} is missing"
                    )
                if number >= first:
                    yield row
                number += 1

    def row(self, number: int) -> Row | None:
        """Return a row without its number, or None if it is not there."""
        listed, part = ", ".join(self._columns), number // schema.PART_ROWS
        found = list(self._database.rows(f"SELECT {listed} FROM {self._table(part)} WHERE number = ?", (number,)))
        return found[0] if found else None

    def append(self, number: int, row: Row) -> None:
        """Add a row at the end; its number is the number of rows so far."""
        part = number // schema.PART_ROWS
        if number % schema.PART_ROWS == 0:
            self._database.execute(schema.definition(self._name, part, if_missing=True))
        marks = ", ".join("?" * (1 + len(self._columns)))
        self._database.execute(f"INSERT INTO {self._table(part)} VALUES ({marks})", (number, *row))

    def overwrite(self, lines: Iterable[tuple[int, Row]]) -> None:
        """Put other rows of the same size where some are, given by their numbers."""
        by_part: dict[int, list[Row]] = {}
        for number, row in lines:
            by_part.setdefault(number // schema.PART_ROWS, []).append((*row, number))
        changes = ", ".join(f"{name} = ?" for name in self._columns)
        for part, values in by_part.items():
            self._database.execute_many(f"UPDATE {self._table(part)} SET {changes} WHERE number = ?", values)

    def cut(self, n_rows: int) -> int:
        """Give the room of whole tables back beyond so many rows; return how many rows are left.

        The tables stay, and are empty: to drop them would leave holes in the schema.
        """
        for part in range(-(-n_rows // schema.PART_ROWS), self._n_parts()):
            self._database.execute(f"DELETE FROM {self._table(part)}")
        return self.n_rows()

    def _n_parts(self) -> int:
        return schema.n_parts(self._database.tables(), self._name)

    def _table(self, part: int) -> str:
        return schema.table(self._name, part)
