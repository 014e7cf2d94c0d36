"""What tables are held in, one module for each library, imported only once a table of it turns up.

A `Holder` tells the type of a column, reads a column of categories by its own dictionary, writes columns and tables,
and fills in cells.
"""

from __future__ import annotations

from unlearnspn.tables.holders.arrays import Arrays, Lists, MaskedArrays, SingleRows
from unlearnspn.tables.holders.arrow_tables import ArrowTables
from unlearnspn.tables.holders.base import Cells, Encoded, Holder, as_objects, import_library
from unlearnspn.tables.holders.pandas_frames import PandasFrames
from unlearnspn.tables.holders.polars_frames import PolarsFrames
from unlearnspn.tables.origins import Library

__all__ = ["Cells", "Encoded", "Holder", "as_objects", "holder_of", "import_library"]


def holder_of(library: Library) -> Holder:
    """Return what reads and writes the tables of a library."""
    holders: dict[Library, type[Holder]] = {
        Library.PANDAS: PandasFrames,
        Library.POLARS: PolarsFrames,
        Library.PYARROW: ArrowTables,
        Library.NUMPY: Arrays,
        Library.MASKED: MaskedArrays,
        Library.LISTS: Lists,
        Library.ROW: SingleRows,
    }
    return holders[library]()
