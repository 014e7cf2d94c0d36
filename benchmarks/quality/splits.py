"""The splits of the binary density estimation sets in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from benchmarks.datasets import load_binary, split_for_tuning


@dataclass(frozen=True)
class Splits:
    """Rows to learn from, to tune on, and to report on."""

    learn: pd.DataFrame
    tune: pd.DataFrame
    test: pd.DataFrame


def names_in(folder: Path) -> list[str]:
    """Return the sets that have a valid and a test split in the folder."""
    names = sorted(path.name.removesuffix(".test.data") for path in folder.glob("*.test.data"))
    return [name for name in names if (folder / f"{name}.valid.data").exists()]


def has_train_split(folder: Path, name: str) -> bool:
    """Tell whether the set can be learned as published figures were; otherwise its valid split has to do."""
    return (folder / f"{name}.train.data").exists()


@cache
def load_splits(folder: Path, name: str) -> Splits:
    """Load a set; without a train split the valid one is learned, but for the last tenth, which is for tuning."""
    valid, test = (load_binary(folder, name, split).frame for split in ("valid", "test"))
    if has_train_split(folder, name):
        return Splits(load_binary(folder, name, "train").frame, valid, test)
    return Splits(*split_for_tuning(valid), test)
