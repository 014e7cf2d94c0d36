"""What pictures of distributions are drawn from: points, bars and labels; templates make SVG of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.exchange.conditions import write_category
from unlearnspn.plots.categories import shown_categories
from unlearnspn.plots.curves import densities_at, density_curve, is_discrete, numbers_between, span
from unlearnspn.schema import Kind
from unlearnspn.service.console.formats import Formats

Floats = npt.NDArray[np.float64]
#: The size of a chart, in units of its own; labels stand between floor and bottom.
WIDTH, TOP, FLOOR, HEIGHT = 320.0, 6.0, 96.0, 116.0
_MOST_CATEGORIES = 8
_TICKS = 4


@dataclass(frozen=True)
class Rect:
    """A rectangle; `strength` is between 0 and 1."""

    x: float
    y: float
    width: float
    height: float
    strength: float = 1.0


@dataclass(frozen=True)
class Tick:
    """A label at a place of an axis; `anchor` says which part of the label is there."""

    at: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Chart:
    """A density as a line and the area below it, or the probabilities of single numbers as bars."""

    line: str
    area: str
    bars: tuple[Rect, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Share:
    """A category, or `n_others` of them together, and how likely it is."""

    name: str
    probability: float
    n_others: int = 0


@dataclass(frozen=True)
class ColumnPicture:
    """The distribution of a column."""

    name: str
    is_numeric: bool
    family: str
    mean: str = ""
    deviation: str = ""
    chart: Chart | None = None
    n_categories: int = 0
    shares: tuple[Share, ...] = ()
    #: Nearly every record has a category of its own: they are not shown.
    identifies: bool = False


def picture_of(circuit: Circuit, variable: int, formats: Formats) -> ColumnPicture:
    """Return the distribution of a column as a picture."""
    domain, column = circuit.domains.columns[variable], circuit.columns[variable]
    if domain.kind is Kind.CATEGORICAL:
        shares = () if domain.identifies else shares_of(circuit, column)
        return ColumnPicture(
            domain.name,
            False,
            domain.family.name.lower(),
            n_categories=len(domain.categories),
            shares=shares,
            identifies=domain.identifies,
        )
    own = circuit.marginal(column)
    deviation = math.sqrt(max(own.variance(column), 0.0))
    return ColumnPicture(
        domain.name,
        True,
        domain.family.name.lower(),
        write_value(own.expectation(column), formats),
        "" if domain.family.is_time else formats.number(deviation),
        chart_of(own, span(own, own.domains.names[0], np.empty(0)), formats),
    )


def shares_of(circuit: Circuit, column: Any, most: int = _MOST_CATEGORIES) -> tuple[Share, ...]:
    """Return the categories of a column with their probabilities; unlikely ones together."""
    return tuple(
        Share(write_category(item.members[0]), item.probability)
        if len(item.members) == 1
        else Share("", item.probability, len(item.members))
        for item in shown_categories(circuit, column, most)
    )


def chart_of(own: Circuit, ends: tuple[float, float], formats: Formats) -> Chart:
    """Return the chart of a circuit of one numeric column between two numbers."""
    low, high = ends
    ticks = axis_ticks(own, 0, ends, WIDTH, formats)
    if is_discrete(own, own.domains.names[0]):
        numbers = numbers_between(own, own.domains.names[0], low, high)
        if not numbers.size:
            return Chart("", "", (), ticks)
        return Chart("", "", _bars(numbers, densities_at(own, numbers.reshape(-1, 1)), ends), ticks)
    x, y = density_curve(own, low, high)
    largest = max(float(y.max()), np.finfo(float).tiny)
    xs, ys = _across(x, ends, WIDTH), FLOOR - (FLOOR - TOP) * y / largest
    line = " L".join(f"{a:.1f} {b:.1f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))
    return Chart(f"M{line}", f"M{xs[0]:.1f} {FLOOR} L{line} L{xs[-1]:.1f} {FLOOR} Z", (), ticks)


def _bars(numbers: Floats, shares: Floats, ends: tuple[float, float]) -> tuple[Rect, ...]:
    largest = max(float(shares.max()), np.finfo(float).tiny)
    middles = _across(numbers, ends, WIDTH)
    step = float(np.diff(middles).min()) if len(middles) > 1 else WIDTH / 8
    width = max(0.7 * step, 1.0)
    heights = (FLOOR - TOP) * shares / largest
    return tuple(
        Rect(round(x - width / 2, 1), round(FLOOR - height, 1), round(width, 1), round(height, 1))
        for x, height in zip(middles.tolist(), heights.tolist(), strict=True)
    )


def _across(numbers: Floats, ends: tuple[float, float], width: float) -> Floats:
    low, high = ends
    return (numbers - low) / (high - low) * width


def axis_ticks(
    circuit: Circuit, variable: int, ends: tuple[float, float], length: float, formats: Formats
) -> tuple[Tick, ...]:
    """Return labels along an axis: round numbers, or the dates at both ends."""
    low, high = ends
    if circuit.domains.columns[variable].family.is_time:
        labels = [write_value(circuit._value(variable, number), formats) for number in ends]
        return Tick(0.0, labels[0], "start"), Tick(length, labels[1], "end")
    at = _round_numbers(low, high)
    ticks = zip(at, _across(np.array(at), ends, length).tolist(), strict=True)
    return tuple(Tick(round(place, 1), formats.number(number, 6), _anchor(place, length)) for number, place in ticks)


def _anchor(place: float, length: float) -> str:
    return "start" if place < 0.05 * length else "end" if place > 0.95 * length else "middle"


def _round_numbers(low: float, high: float) -> list[float]:
    """Return a few numbers between two others that are short to write.

    >>> _round_numbers(13.2, 71.0)
    [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    """
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.6 * rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(number * step) for number in range(first, last + 1)]


def write_value(value: Any, formats: Formats) -> str:
    """Write a number, or a date, a time or a duration as far as it tells something."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return formats.number(float(value))
    return str(value).partition(".")[0].removesuffix(" 00:00:00")
