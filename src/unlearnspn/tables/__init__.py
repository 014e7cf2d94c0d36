"""Tables of all libraries: reading them, and giving answers as the kind of table that went in."""

from unlearnspn.tables.cells import Category, Family, is_missing, token
from unlearnspn.tables.columns import Column, Factor, empty_column
from unlearnspn.tables.reading import (
    OpenTable,
    Table,
    column_meant,
    cut_rows,
    is_column,
    open_table,
    read_column,
    read_table,
)

__all__ = [
    "Category",
    "Column",
    "Factor",
    "Family",
    "OpenTable",
    "Table",
    "column_meant",
    "cut_rows",
    "empty_column",
    "is_column",
    "is_missing",
    "open_table",
    "read_column",
    "read_table",
    "token",
]
