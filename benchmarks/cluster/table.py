"""Tables as folders of Parquet files, as they lie before a cluster learns from them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.scale.plan import Case

N_FILES = 16
#: What modules are loaded with, before anything is timed.
_SOME_ROWS = 1000
_WHOLE, _SOME = "whole", "some"


def write_table(case: Case, folder: Path) -> None:
    """Write a table, and some rows of it."""
    _write(case.load().frame, whole_of(folder))
    _write(case.load_some(_SOME_ROWS).frame, some_of(folder))


def whole_of(folder: Path) -> Path:
    """Return where the table is."""
    return folder / _WHOLE


def some_of(folder: Path) -> Path:
    """Return where some rows of it are."""
    return folder / _SOME


def _write(frame: pd.DataFrame, folder: Path) -> None:
    """Write a frame piece by piece, a file each; names are in the order of the rows."""
    folder.mkdir()
    for number in range(N_FILES):
        start, stop = number * len(frame) // N_FILES, (number + 1) * len(frame) // N_FILES
        frame.iloc[start:stop].to_parquet(folder / f"{number:03}.parquet", index=False)
