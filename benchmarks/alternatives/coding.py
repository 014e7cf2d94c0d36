"""How the cells of a table are coded for a private network: by what the public sample alone says of each column.

A category that the public sample does not have, and a number beyond its least and greatest, have a code of their own,
the last. A missing value has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.alternatives.methods import Floats
from unlearnspn.circuit.domains import Domain
from unlearnspn.circuit.expressions import Input, Unit, categorical, numeric

Codes = npt.NDArray[np.int64]

MISSING = -1
#: As in the default network: the least deviation of a number, as a share of its column's; that of a value that more
#: than half of the records have, in a column of whole numbers; and how much wider than the column is what is beyond.
_LEAST_STD, _USUAL_STD, _BEYOND = 0.05, 0.25, 4.0
_USUAL_SHARE = 0.5
#: Features for nearest seeds are whole numbers, so that a record's cluster depends on no rounding: this is one
#: deviation, and no number is farther from the centre than so many of them.
_UNIT, _FARTHEST = 256, 3


class Coding(Protocol):
    """The codes of one column."""

    @property
    def n_codes(self) -> int:
        """How many codes there are, with the last, for what the public sample does not have."""

    @property
    def n_bins(self) -> int:
        """How many of the codes, the first ones, are bins of numbers, whose moments are worth knowing."""

    def codes(self, values: pd.Series) -> Codes:
        """Return the code of each value."""

    def positions(self, values: pd.Series, codes: Codes) -> Floats:
        """Return where in its bin each number is, from -1 to 1; 0 for those in none."""

    def features(self, values: pd.Series, codes: Codes) -> Codes:
        """Return whole numbers by which records are near each other or far, a column for each."""

    def inputs(self, variable: int, moments: Floats) -> list[Input]:
        """Return the distribution of the variable for each code, given mean and variance of positions by bin."""

    def values(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        """Return values that have these codes; numbers are drawn evenly from their bins."""


@dataclass(frozen=True)
class Categories:
    """The categories of a column."""

    domain: Domain

    @property
    def n_codes(self) -> int:
        """One for each category, and the last."""
        return len(self.domain.categories) + 1

    @property
    def n_bins(self) -> int:
        """There are no numbers."""
        return 0

    def codes(self, values: pd.Series) -> Codes:
        """Return the place of each category."""
        found, known = pd.factorize(values)
        plain = [each.item() if isinstance(each, np.generic) else each for each in known]
        places = np.array([*map(self.domain.place, plain), MISSING], np.int64)
        return places[found]

    def positions(self, values: pd.Series, codes: Codes) -> Floats:
        """Return zeros."""
        return np.zeros(len(codes))

    def features(self, values: pd.Series, codes: Codes) -> Codes:
        """Return an indicator of each category."""
        return _UNIT * np.equal(codes[:, np.newaxis], np.arange(self.n_codes)).astype(np.int64)

    def inputs(self, variable: int, moments: Floats) -> list[Input]:
        """Return that the category is certain."""
        with np.errstate(divide="ignore"):
            return [categorical(variable, line) for line in np.log(np.eye(self.n_codes))]

    def values(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        """Return the categories; missing ones for what the public sample does not have."""
        known = np.array([*self.domain.categories, None, None], object)
        return pd.Series(known[codes])


@dataclass(frozen=True)
class Numbers:
    """The bins of a column of numbers, with the bounds that the public sample has."""

    edges: Floats
    #: The value that more than half of the public records have, which has a code of its own.
    usual: float | None
    centre: float
    std: float
    least_std: float
    usual_std: float
    #: Whether all public values are whole numbers.
    whole: bool

    @classmethod
    def of(cls, public: pd.Series, n_bins: int) -> Numbers:
        """Lay a bin around each whole number, if there are few; else bins with equally many public values in each."""
        known = public.dropna().to_numpy(np.float64)
        if known.size == 0:
            known = np.zeros(1)
        found, counts = np.unique(known, return_counts=True)
        usual = float(found[counts.argmax()]) if counts.max() > _USUAL_SHARE * known.size else None
        others = known[known != usual] if usual is not None and found.size > 1 else known
        whole = bool((known == np.round(known)).all())
        if whole and np.ptp(others) < n_bins:
            edges = np.arange(others.min(), others.max() + 2.0) - 0.5
        else:
            edges = np.unique(np.quantile(others, np.linspace(0.0, 1.0, n_bins + 1)))
        std = float(known.std()) or 1.0
        if edges.size == 1:
            edges = edges[0] + std * np.array([-0.5, 0.5])
        least = _LEAST_STD * std
        return cls(edges, usual, float(known.mean()), std, least, min(least, _USUAL_STD) if whole else least, whole)

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def n_codes(self) -> int:
        """The bins, the usual value, and what is beyond."""
        return self.n_bins + (self.usual is not None) + 1

    @cached_property
    def _middles(self) -> Floats:
        return (self.edges[1:] + self.edges[:-1]) / 2.0

    @cached_property
    def _halves(self) -> Floats:
        return np.diff(self.edges) / 2.0

    def codes(self, values: pd.Series) -> Codes:
        """Return the bin of each number."""
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        found = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.n_bins - 1)
        found[(numbers < self.edges[0]) | (numbers > self.edges[-1])] = self.n_codes - 1
        if self.usual is not None:
            found[numbers == self.usual] = self.n_bins
        found[np.isnan(numbers)] = MISSING
        return found

    def positions(self, values: pd.Series, codes: Codes) -> Floats:
        """Return where in its bin each number is."""
        numbers = values.to_numpy(np.float64, na_value=np.nan)
        inside = (codes >= 0) & (codes < self.n_bins)
        positions, own = np.zeros(len(codes)), codes[inside]
        positions[inside] = np.clip((numbers[inside] - self._middles[own]) / self._halves[own], -1.0, 1.0)
        return positions

    def features(self, values: pd.Series, codes: Codes) -> Codes:
        """Return how many deviations a number is from the centre; none if it is missing."""
        numbers = np.nan_to_num((values.to_numpy(np.float64, na_value=np.nan) - self.centre) / self.std)
        return np.rint(_UNIT * np.clip(numbers, -_FARTHEST, _FARTHEST)).astype(np.int64)[:, np.newaxis]

    def inputs(self, variable: int, moments: Floats) -> list[Input]:
        """Return a normal distribution for each bin, for the usual value, and for what is beyond."""
        means = self._middles + self._halves * moments[:, 0]
        stds = np.maximum(self._halves * np.sqrt(moments[:, 1]), self.least_std)
        normals = list(zip(means.tolist(), stds.tolist(), strict=True))
        if self.usual is not None:
            normals.append((self.usual, self.usual_std))
        normals.append((self.centre, _BEYOND * self.std))
        return [numeric(Unit.GAUSSIAN, variable, mean, std) for mean, std in normals]

    def values(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        """Return numbers; a bound for what is beyond."""
        lows, highs = np.full((2, self.n_codes + 1), np.nan)
        lows[-2] = highs[-2] = self.edges[-1]
        lows[: self.n_bins], highs[: self.n_bins] = self.edges[:-1], self.edges[1:]
        if self.usual is not None:
            lows[self.n_bins] = highs[self.n_bins] = self.usual
        numbers = lows[codes] + (highs[codes] - lows[codes]) * rng.random(len(codes))
        return pd.Series(np.rint(numbers) if self.whole else numbers)
