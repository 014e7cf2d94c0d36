"""The categories of a column as they are shown: likely ones each on their own, the rest together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.plots.data_columns import places_of
from unlearnspn.plots.style import count
from unlearnspn.plots.texts import shorten
from unlearnspn.tables import Category, Column

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    """A category, or several that are shown as one."""

    name: str
    members: tuple[Category, ...]
    #: Their places among all categories of the column.
    places: tuple[int, ...]
    probability: float


def probabilities(circuit: Circuit, column: str) -> Floats:
    """Return the probability of each category of a column."""
    categories = circuit.categories(column)
    table = np.empty((len(categories), 1), object)
    table[:, 0] = categories
    return np.exp(circuit.marginal(column).score_samples(table))


def shown_categories(circuit: Circuit, column: str, most: int) -> list[Shown]:
    """Return at most so many: numbers and truth values in their order, words by probability."""
    categories, shares = circuit.categories(column), probabilities(circuit, column)
    by_share = np.argsort(-shares, kind="stable").tolist()
    n_alone = len(categories) if len(categories) <= most else most - 1
    alone, rest = by_share[:n_alone], sorted(by_share[n_alone:])
    if not any(isinstance(category, str) for category in categories):
        alone = sorted(alone)
    shown = [Shown(shorten(str(categories[p])), (categories[p],), (p,), float(shares[p])) for p in alone]
    if rest:
        members = tuple(categories[place] for place in rest)
        shown.append(Shown(count(len(rest), "other"), members, tuple(rest), float(shares[rest].sum())))
    return shown


def shown_places(shown: list[Shown], column: Column, categories: list[Category]) -> npt.NDArray[np.int64]:
    """Return for each row which of the categories shown it has; -1 for none."""
    index = np.full(len(categories) + 1, -1, np.int64)
    for number, item in enumerate(shown):
        index[list(item.places)] = number
    return index[places_of(column, categories)]
