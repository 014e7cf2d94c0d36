"""The tables, their classes, and random splits into rows to learn from and rows held out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_digits

from benchmarks.datasets import from_sklearn, load, split_missing

#: Those that are always there.
FROM_SKLEARN = ("breast_cancer", "wine", "diabetes", "digits")
FROM_FOLDER = ("abalone", "adult")
#: The share of the rows that are learned from.
TRAIN_SHARE = 0.7
#: The column of classes, of tables that have one.
_CLASSES = {"breast_cancer": "target", "wine": "target", "digits": "target", "adult": "income"}
_QUICK_ROWS = 3000


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows held out."""

    train: pd.DataFrame
    held_out: pd.DataFrame


@dataclass(frozen=True)
class Table:
    """A table, and its column of classes if it has one."""

    name: str
    frame: pd.DataFrame
    classes: str | None = None

    @property
    def numeric(self) -> list[str]:
        """The columns of numbers."""
        return list(self.frame.select_dtypes("number").columns)

    def only_numbers(self) -> Table:
        """Return the table of its numbers, as floats."""
        return Table(self.name, self.frame[self.numeric].astype(float))

    def split(self, seed: int) -> Split:
        """Return a random split, a function of the seed and of the number of rows.

        >>> split = Table("numbers", pd.DataFrame({"x": range(10)})).split(0)
        >>> len(split.train), len(split.held_out)
        (7, 3)
        """
        order = np.random.default_rng(seed).permutation(len(self.frame))
        border = int(TRAIN_SHARE * len(order))
        train, held_out = (self.frame.iloc[part].reset_index(drop=True) for part in (order[:border], order[border:]))
        return Split(train, held_out)


def at_hand(folder: Path | None) -> tuple[list[str], list[str]]:
    """Return which tables are there, and why others are not."""
    found, reasons = split_missing(FROM_FOLDER, folder)
    return [*FROM_SKLEARN, *found], reasons


def load_tables(names: Iterable[str], folder: Path | None, quick: bool) -> list[Table]:
    """Load tables; a quick run takes some rows of each."""
    return [_load(name, folder, quick) for name in names]


def _load(name: str, folder: Path | None, quick: bool) -> Table:
    frame = _frame(name, folder)
    if quick:
        frame = frame.sample(min(_QUICK_ROWS, len(frame)), random_state=0)
    return Table(name, frame, _CLASSES.get(name))


def _frame(name: str, folder: Path | None) -> pd.DataFrame:
    if name == "diabetes":
        frame: pd.DataFrame = load_diabetes(as_frame=True).frame
        return frame
    if name == "digits":  # all pixels, in grey
        return from_sklearn(name, load_digits).frame
    return load(name, folder).frame
