"""The tables, and how each is divided: rows held out, rows that count as public, and private rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.datasets import Dataset, load, split_missing
from benchmarks.generated import generate
from unlearnspn import SPN

GENERATED = "generated"
FROM_FOLDER = ("adult", "nltcs", "plants", "abalone", "flights")
ALWAYS = ("digits", "breast_cancer", GENERATED)
#: What a quick run measures of both.
QUICK = ("adult", "nltcs", "digits", GENERATED)
#: The share of the rows that are learned from.
TRAIN_SHARE = 0.8
#: The share of these that count as public, and how many there are at least.
PUBLIC_SHARE, LEAST_PUBLIC = 0.05, 60
_GENERATED_ROWS, _GENERATED_COLUMNS = 6_000, 10
#: A longer table is a sample of so many rows.
_MOST_ROWS, _QUICK_ROWS = 40_000, 3_000


@dataclass(frozen=True)
class Records:
    """Records to learn from; the index of the frame has their ids, which are numbers."""

    frame: pd.DataFrame
    categorical_features: str = "from_dtype"

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def ids(self) -> list[int]:
        """The ids, in the order of the rows."""
        ids: list[int] = self.frame.index.tolist()
        return ids

    def take(self, ids: Iterable[int]) -> Records:
        """Return some of the records."""
        return Records(self.frame.loc[list(ids)], self.categorical_features)

    def without(self, ids: Iterable[int]) -> Records:
        """Return all records but some."""
        return Records(self.frame.drop(index=list(ids)), self.categorical_features)

    def beside(self, other: Records) -> Records:
        """Return these records and others."""
        return Records(pd.concat([self.frame, other.frame]), self.categorical_features)

    def learn(self, seed: int) -> SPN:
        """Learn the default network."""
        with usual_warnings():
            spn = SPN(categorical_features=self.categorical_features, random_state=seed)
            return spn.fit(self.frame, ids=self.frame.index.to_numpy())


@dataclass(frozen=True)
class Split:
    """Private rows, rows that count as public, and rows held out; nobody has the same id as another."""

    private: Records
    public: Records
    held_out: Records

    @property
    def train(self) -> Records:
        """All rows to learn from."""
        return self.public.beside(self.private)


@dataclass(frozen=True)
class Table:
    """A table to be split."""

    name: str
    frame: pd.DataFrame
    categorical_features: str = "from_dtype"

    @property
    def n_train(self) -> int:
        """How many rows are learned from."""
        return int(TRAIN_SHARE * len(self.frame))

    @property
    def n_public(self) -> int:
        """How many of these count as public."""
        return max(LEAST_PUBLIC, round(PUBLIC_SHARE * self.n_train))

    def split(self, seed: int) -> Split:
        """Return a random division, a function of the seed and of the number of rows.

        >>> split = Table("numbers", pd.DataFrame({"x": range(1000)})).split(0)
        >>> len(split.public), len(split.private), len(split.held_out)
        (60, 740, 200)
        """
        order = np.random.default_rng([seed, 0]).permutation(len(self.frame))
        parts = np.split(order, [self.n_public, self.n_train])
        public, private, held_out = (Records(self.frame.iloc[part], self.categorical_features) for part in parts)
        return Split(private, public, held_out)


def at_hand(folder: Path | None, quick: bool, wanted: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return which tables are there, and why others are not."""
    names = list(FROM_FOLDER if folder is not None else ALWAYS) if wanted is None else list(wanted)
    left_out = []
    if wanted is None and quick:
        left_out = [f"{name} is not part of a quick run" for name in names if name not in QUICK]
        names = [name for name in names if name in QUICK]
    found, missing = split_missing([name for name in names if name != GENERATED], folder)
    if wanted is None and folder is None:
        missing += split_missing(FROM_FOLDER, None)[1]
    return [name for name in names if name == GENERATED or name in found], left_out + missing


@lru_cache(maxsize=8)
def load_table(name: str, folder: Path | None, quick: bool) -> Table:
    """Load a table, or a sample of one that is long; rows are numbered."""
    data = generate(_GENERATED_ROWS, _GENERATED_COLUMNS) if name == GENERATED else load(name, folder)
    sample: Dataset = data.sample(_QUICK_ROWS if quick else _MOST_ROWS, 0)
    return Table(name, sample.frame.reset_index(drop=True), data.categorical_features)


@contextmanager
def usual_warnings() -> Iterator[None]:
    """Let nobody be warned of columns in which nearly every record has a value of its own, or of unknown categories."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
