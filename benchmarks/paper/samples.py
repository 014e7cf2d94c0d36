"""Rows to learn from and rows held out, drawn by a seed, for us as a data frame and for peers as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.coded import Rows, coded
from benchmarks.datasets import Dataset
from benchmarks.paper.plan import N_HELD_OUT, N_ROWS


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a data set."""

    seed: int
    data: Dataset
    rows: Rows
    held_out: Rows
    n_categories: list[int]

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from other samples."""
        return self.data.name, self.seed

    @property
    def numeric(self) -> list[int]:
        """The places of the numeric columns."""
        return [place for place, n in enumerate(self.n_categories) if n == 0]


@dataclass(frozen=True, eq=False)
class Source:
    """A whole data set, coded once, of which samples are drawn."""

    data: Dataset
    rows: Rows
    n_categories: list[int]

    @classmethod
    def of(cls, data: Dataset) -> Source:
        """Code a data set."""
        return cls(data, *coded(data))

    def sample(self, seed: int, n_rows: int = N_ROWS) -> Sample:
        """Draw rows to learn from, and others to score."""
        drawn = np.random.default_rng(seed).permutation(len(self.rows))[: n_rows + N_HELD_OUT]
        learned, held_out = drawn[:n_rows], drawn[n_rows:]
        data = replace(self.data, frame=self.data.frame.iloc[learned])
        return Sample(seed, data, self.rows[learned], self.rows[held_out], self.n_categories)
