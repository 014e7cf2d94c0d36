"""Two columns together: how much they tell about each other, and a picture of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.exchange.conditions import write_category
from unlearnspn.plots.categories import Shown, shown_categories
from unlearnspn.plots.curves import densities_at, is_discrete, numbers_between, span
from unlearnspn.plots.joint_categories import joint_probabilities
from unlearnspn.schema import Kind
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.console.pictures import Chart, Rect, Share, Tick, axis_ticks, chart_of

Floats = npt.NDArray[np.float64]
#: The size of a map of two numbers, in units of its own.
WIDTH, HEIGHT = 480.0, 300.0
_MOST_CELLS = 32
_MOST_CATEGORIES = 10
_LEVELS = 9
#: Unlikely numbers would not be seen if colours were in proportion to densities.
_STRENGTH = 0.7


@dataclass(frozen=True)
class Cell:
    """The probability of two categories together, and how strongly it is coloured: from 0 to 9."""

    probability: float
    level: int


@dataclass(frozen=True)
class CategoryTable:
    """Two columns of categories."""

    across: tuple[Share, ...]
    lines: tuple[tuple[Share, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class NumberMap:
    """Two columns of numbers: the darker, the more likely."""

    cells: tuple[Rect, ...]
    across: tuple[Tick, ...]
    #: From the top on.
    upwards: tuple[Tick, ...]


@dataclass(frozen=True)
class Ridge:
    """A column of numbers, given a category of the other one."""

    share: Share
    chart: Chart


@dataclass(frozen=True)
class PairPicture:
    """Two columns together; one of the pictures is there, unless their categories identify people."""

    first: str
    second: str
    #: In nats.
    information: float
    table: CategoryTable | None = None
    map: NumberMap | None = None
    ridges: tuple[Ridge, ...] = ()
    identifies: bool = False


def pair_of(circuit: Circuit, first: int, second: int, formats: Formats) -> PairPicture:
    """Return two different columns together."""
    domains = circuit.domains.columns
    # Numbers come first, so that there are three cases.
    if domains[first].kind is Kind.CATEGORICAL and domains[second].kind is Kind.NUMERIC:
        first, second = second, first
    pair = circuit.marginal([circuit.columns[first], circuit.columns[second]])
    shown = PairPicture(domains[first].name, domains[second].name, max(circuit.mutual_information(*pair.columns), 0.0))
    if any(domain.identifies for domain in pair.domains.columns):
        return replace(shown, identifies=True)
    if domains[first].kind is Kind.CATEGORICAL:
        return replace(shown, table=_table(pair))
    if domains[second].kind is Kind.CATEGORICAL:
        return replace(shown, ridges=_ridges(pair, formats))
    return replace(shown, map=_map(pair, formats))


def _table(pair: Circuit) -> CategoryTable:
    down, right = (shown_categories(pair, column, _MOST_CATEGORIES) for column in pair.columns)
    shares = joint_probabilities(pair, down, right)
    levels = np.rint(_LEVELS * shares / max(float(shares.max()), np.finfo(float).tiny)).astype(int)
    lines = [
        tuple(Cell(share, level) for share, level in zip(*line, strict=True))
        for line in zip(shares.tolist(), levels.tolist(), strict=True)
    ]
    return CategoryTable(tuple(map(_share, right)), tuple(zip(map(_share, down), lines, strict=True)))


def _share(shown: Shown) -> Share:
    if len(shown.members) > 1:
        return Share("", shown.probability, len(shown.members))
    return Share(write_category(shown.members[0]), shown.probability)


def _ridges(pair: Circuit, formats: Formats) -> tuple[Ridge, ...]:
    number, category = pair.columns
    ends = span(pair, pair.domains.names[0], np.empty(0))
    return tuple(
        Ridge(_share(item), chart_of(pair.condition({category: item.members}).marginal(number), ends, formats))
        for item in shown_categories(pair, category, _MOST_CATEGORIES)
        if item.probability > 0
    )


def _map(pair: Circuit, formats: Formats) -> NumberMap:
    (xs, x_ends), (ys, y_ends) = (_positions(pair, name) for name in pair.domains.names)
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    densities = densities_at(pair, points).reshape(len(ys), len(xs))
    strengths = (densities / max(float(densities.max()), np.finfo(float).tiny)) ** _STRENGTH
    width, height = WIDTH / len(xs), HEIGHT / len(ys)
    cells = tuple(
        Rect(round(i * width, 1), round(HEIGHT - (j + 1) * height, 1), round(width, 1), round(height, 1), strength)
        for j, line in enumerate(np.round(strengths, 2).tolist())
        for i, strength in enumerate(line)
        if strength > 0.02
    )
    upwards = axis_ticks(pair, 1, y_ends, HEIGHT, formats)
    return NumberMap(
        cells,
        axis_ticks(pair, 0, x_ends, WIDTH, formats),
        tuple(Tick(round(HEIGHT - tick.at, 1), tick.label) for tick in upwards),
    )


def _positions(pair: Circuit, name: str) -> tuple[Floats, tuple[float, float]]:
    """Return the middles of cells along an axis, and where the axis begins and ends."""
    low, high = span(pair, name, np.empty(0))
    if is_discrete(pair, name):
        numbers = numbers_between(pair, name, low, high)
        numbers = numbers[:: max(1, -(-len(numbers) // _MOST_CELLS))]
        if len(numbers):
            half = (numbers[1] - numbers[0]) / 2 if len(numbers) > 1 else 0.5
            return numbers, (float(numbers[0] - half), float(numbers[-1] + half))
    edges = np.linspace(low, high, _MOST_CELLS + 1)
    return (edges[1:] + edges[:-1]) / 2, (low, high)
