"""The density of one column as a curve, with points where it bends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.dependence import quantiles
from unlearnspn.circuit.expressions import Unit
from unlearnspn.tables import Column, Table

if TYPE_CHECKING:
    from matplotlib.axis import Axis

Floats = npt.NDArray[np.float64]

#: Points at equal distances, and at equal shares of probability, that a curve begins with.
_EVEN_POINTS, _LIKELY_POINTS = 257, 33
#: A curve is refined until it is off by less than this share of its height, but not more often than this.
_TOLERANCE, _ROUNDS = 2e-3, 14
#: The share of probability that may lie beyond either end of a picture.
_BEYOND = 1e-3
#: How much more than that is drawn on either side, as a share.
_MARGIN = 0.02
#: More whole numbers than this are not drawn one by one.
MOST_NUMBERS = 150


def densities_at(circuit: Circuit, points: Floats) -> Floats:
    """Return the density at each of some points, [point, column], given by the numbers that dates stand for."""
    pairs = zip(circuit.domains.columns, points.T, strict=True)
    columns = [Column(domain.name, domain.family, np.ascontiguousarray(numbers)) for domain, numbers in pairs]
    return np.exp(circuit.score_samples(Table(columns, len(points), named=False)))


def label_times(axis: Axis, circuit: Circuit, column: Any) -> None:
    """Write dates, times and durations beside an axis, not the numbers that stand for them."""
    variable = circuit.domains.variable(column)
    if circuit.domains.columns[variable].family.is_time:
        axis.set_major_formatter(lambda number, _: str(circuit._value(variable, number)).partition(".")[0])


def is_discrete(circuit: Circuit, column: str) -> bool:
    """Tell whether a numeric column has probabilities of single numbers rather than a density."""
    return _units(circuit, column) <= {Unit.POISSON, Unit.POINT}


def _units(circuit: Circuit, column: str) -> set[int]:
    layout = circuit.layout
    return set(layout.units[layout.inputs_of(circuit.domains.variable(column))].tolist())


def span(circuit: Circuit, column: str, values: Floats) -> tuple[float, float]:
    """Return from where to where a numeric column is drawn: where the model has nearly all, and all of the data."""
    ends = quantiles(circuit.layout, circuit.domains.variable(column), np.array([_BEYOND, 1 - _BEYOND]))
    points = np.concatenate([ends, values[~np.isnan(values)]])
    low, high = float(points.min()), float(points.max())
    margin = _MARGIN * (high - low) if low < high else 0.5
    return low - margin, high + margin


def likely_points(circuit: Circuit, column: str, number: int) -> Floats:
    """Return numbers that divide the probability of a column into equal parts."""
    shares = np.arange(1, number + 1) / (number + 1)
    return quantiles(circuit.layout, circuit.domains.variable(column), shares)


def numbers_between(circuit: Circuit, column: str, low: float, high: float) -> Floats:
    """Return the numbers that have probabilities: whole ones, or the single one that evidence has left."""
    if _units(circuit, column) == {Unit.POINT}:
        return likely_points(circuit, column, 1)
    whole = np.arange(np.ceil(low), np.floor(high) + 1)
    return whole[:: max(1, -(-len(whole) // MOST_NUMBERS))]


def density_curve(circuit: Circuit, low: float, high: float) -> tuple[Floats, Floats]:
    """Return points of the density of a circuit of one column, denser where it bends."""

    def density(x: Floats) -> Floats:
        return densities_at(circuit, x.reshape(-1, 1))

    likely = likely_points(circuit, circuit.columns[0], _LIKELY_POINTS)
    x = np.union1d(np.linspace(low, high, _EVEN_POINTS), likely[(likely > low) & (likely < high)])
    y = density(x)
    suspect = np.ones(len(x) - 1, np.bool_)
    for _ in range(_ROUNDS):
        starts = np.flatnonzero(suspect)
        middle = (x[starts] + x[starts + 1]) / 2
        between = density(middle)
        off = abs(between - (y[starts] + y[starts + 1]) / 2) > _TOLERANCE * max(y.max(), between.max())
        if not off.any():
            break
        suspect = np.zeros(len(x) - 1, np.bool_)
        suspect[starts[off]] = True
        # Both halves of an interval that was off are looked at again.
        suspect = np.insert(suspect, starts[off], True)
        x, y = np.insert(x, starts[off] + 1, middle[off]), np.insert(y, starts[off] + 1, between[off])
    return x, y
