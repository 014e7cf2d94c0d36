"""Tables as folders of Parquet files, as they lie before a cluster learns from them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.scale.plan import Case

N_FILES = 16


def write_table(case: Case, folder: Path) -> None:
    """Write a table piece by piece, a file each; names are in the order of the rows."""
    frame = case.load().frame
    for number in range(N_FILES):
        start, stop = number * len(frame) // N_FILES, (number + 1) * len(frame) // N_FILES
        frame.iloc[start:stop].to_parquet(folder / f"{number:03}.parquet", index=False)
