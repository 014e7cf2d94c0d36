"""Generated tables of any length: columns of mixed kinds that depend on each other, with missing values.

Each row has a class and a few factors, neither of which is a column; each column follows the class and some factors.
Rows are made in chunks with a seed each, so a table is a function of its columns and seed, needs little memory beside
itself, and a longer table begins with the shorter one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.datasets import Dataset

Floats = npt.NDArray[np.float64]

CHUNK = 16_384
N_CLASSES, N_FACTORS = 6, 4
#: Every so many columns one has missing cells, this share of them.
MISSING_EVERY, MISSING_SHARE = 4, 0.05
_DESIGN, _ROWS = 0, 1  # what a stream of random numbers is for


def generate(n_rows: int, n_columns: int, seed: int = 0) -> Dataset:
    """Return a table of numbers, counts, categories and flags.

    >>> generate(5, 4).frame.dtypes.astype(str).tolist()
    ['float64', 'float64', 'category', 'category']
    """
    design = _design(n_columns, seed)
    arrays = [np.empty(n_rows, column.dtype) for column in design]
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        rows = slice(start, min(start + CHUNK, n_rows))
        for array, values in zip(arrays, _chunk(design, number, seed), strict=True):
            array[rows] = values[: rows.stop - rows.start]
    series = {column.name: column.finish(array) for column, array in zip(design, arrays, strict=True)}
    return Dataset(f"generated, {n_rows:,} rows", pd.DataFrame(series, copy=False))


@dataclass(frozen=True)
class _Column(ABC):
    """How a column follows the latent class and the factors."""

    name: str
    shifts: Floats  # by class, and by category if it has some
    loadings: Floats  # by factor, and by category if it has some
    has_missing: bool

    @property
    def dtype(self) -> npt.DTypeLike:
        return np.float64

    @abstractmethod
    def draw(self, signal: Floats, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Return a value for each row's signal, which is what class and factors say about it."""

    def finish(self, array: npt.NDArray[Any]) -> Any:
        """Return the whole column as it goes into the table."""
        return array


class _Measure(_Column):
    """A number, Gaussian given class and factors."""

    def draw(self, signal: Floats, rng: np.random.Generator) -> npt.NDArray[Any]:
        return signal[:, 0] + 0.7 * rng.standard_normal(len(signal))


class _Amount(_Column):
    """A positive number with a long tail, rounded to cents."""

    def draw(self, signal: Floats, rng: np.random.Generator) -> npt.NDArray[Any]:
        return np.round(np.exp(3.0 + 0.5 * signal[:, 0] + 0.4 * rng.standard_normal(len(signal))), 2)


class _Count(_Column):
    """A small whole number."""

    def draw(self, signal: Floats, rng: np.random.Generator) -> npt.NDArray[Any]:
        return rng.poisson(np.exp(np.clip(1.0 + 0.5 * signal[:, 0], -3.0, 4.0))).astype(np.float64)


class _Category(_Column):
    """One of a few categories; -1 is a missing one."""

    @property
    def dtype(self) -> npt.DTypeLike:
        return np.int8

    def draw(self, signal: Floats, rng: np.random.Generator) -> npt.NDArray[Any]:
        chosen: npt.NDArray[Any] = np.argmax(signal + rng.gumbel(size=signal.shape), axis=1)
        return chosen

    def finish(self, array: npt.NDArray[Any]) -> Any:
        names = [f"{self.name} {letter}" for letter in "abcdefghijkl"[: self.shifts.shape[1]]]
        return pd.Categorical.from_codes(array, pd.Index(names))


#: Kinds of columns in turn, with the number of their signals: a category has one for each alternative.
_KINDS: list[tuple[str, Callable[..., _Column], int]] = [
    ("measure", _Measure, 1),
    ("count", _Count, 1),
    ("flag", _Category, 2),
    ("category", _Category, 5),
    ("amount", _Amount, 1),
    ("measure", _Measure, 1),
    ("category", _Category, 12),
    ("flag", _Category, 2),
]


def _design(n_columns: int, seed: int) -> list[_Column]:
    rng = np.random.default_rng([seed, _DESIGN])
    columns = []
    for number in range(n_columns):
        kind, make, n_signals = _KINDS[number % len(_KINDS)]
        shifts = 1.2 * rng.standard_normal((N_CLASSES, n_signals))
        # A column follows one factor or two, not all: otherwise everything would depend on everything alike.
        loads = rng.permutation(N_FACTORS) < 1 + rng.integers(2)
        loadings = np.where(loads[:, None], rng.standard_normal((N_FACTORS, n_signals)), 0.0)
        columns.append(make(f"{kind}_{number}", shifts, loadings, number % MISSING_EVERY == MISSING_EVERY - 1))
    return columns


def _chunk(design: list[_Column], number: int, seed: int) -> list[npt.NDArray[Any]]:
    """Return one chunk of all columns, always of full length."""
    rng = np.random.default_rng([seed, _ROWS, number])
    classes = np.minimum(rng.geometric(0.3, CHUNK) - 1, N_CLASSES - 1)
    factors = rng.standard_normal((CHUNK, N_FACTORS))
    return [_cells(column, classes, factors, rng) for column in design]


def _cells(
    column: _Column, classes: npt.NDArray[np.int64], factors: Floats, rng: np.random.Generator
) -> npt.NDArray[Any]:
    values = column.draw(column.shifts[classes] + factors @ column.loadings, rng)
    if column.has_missing:
        values[rng.random(CHUNK) < MISSING_SHARE] = -1 if isinstance(column, _Category) else np.nan
    return values
