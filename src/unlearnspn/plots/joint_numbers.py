"""The joint density of two numeric columns as regions that hold given shares of the probability.

Shares are what one can read off: heights of a density mean little, and a narrow peak would leave nothing else to see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.plots.canvas import axes_for_chart
from unlearnspn.plots.curves import densities_at, is_discrete, label_times, likely_points, numbers_between, span
from unlearnspn.plots.data_columns import describe_rows
from unlearnspn.plots.style import INK, MODEL_COLOUR, percent, tint
from unlearnspn.tables import Column

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
Colour = tuple[float, float, float]

#: The shares of probability that the regions hold, and how strongly each is coloured.
_STRENGTHS = {0.95: 0.15, 0.75: 0.35, 0.5: 0.6, 0.25: 0.9}
SHARES = tuple(_STRENGTHS)
#: Points of each axis at equal distances, and at equal shares of probability.
_EVEN_POINTS, _LIKELY_POINTS = 161, 40
#: Rows drawn to find how high the density is at the edge of each region.
_DRAWN = 20_000
_MOST_POINTS = 2_000


def draw_regions(circuit: Circuit, columns: list[Column] | None, ax: Axes | None) -> Axes:
    """Draw the regions, and the data as points."""
    a, b = circuit.columns
    values = np.empty((0, 2)) if columns is None else np.column_stack([column.numbers() for column in columns])
    xs, ys = _positions(circuit, a, values[:, 0]), _positions(circuit, b, values[:, 1])
    chart = axes_for_chart(ax, 8.0, 5.6)
    colours = [tint(MODEL_COLOUR, strength) for strength in _STRENGTHS.values()]
    bounds = _increasing(region_levels(circuit).tolist())
    draw = _draw_cells if is_discrete(circuit, a) or is_discrete(circuit, b) else _draw_contours
    draw(chart, xs, ys, _densities(circuit, xs, ys), bounds, colours)
    chart.set_xlabel(a, parse_math=False)
    chart.set_ylabel(b, parse_math=False)
    label_times(chart.xaxis, circuit, a)
    label_times(chart.yaxis, circuit, b)
    marks = _marks(colours) if columns is None else [*_marks(colours), _draw_points(chart, values)]
    legend = chart.legend(handles=marks, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    legend.set_title("probability within")
    return chart


def region_levels(circuit: Circuit) -> Floats:
    """Return how high the density is at the edge of each region, from the largest region to the smallest.

    The share of rows drawn from the model whose density is above a level is what the region above that level holds.
    """
    rows = circuit.sample(_DRAWN, random_state=0)
    return np.quantile(np.exp(circuit.score_samples(rows)), [1 - share for share in SHARES])


def _increasing(levels: list[float]) -> list[float]:
    """Return levels that increase; where the density is flat, regions have the same edge."""
    bounds = levels[:1]
    for level in levels[1:]:
        bounds.append(max(level, bounds[-1] * (1 + 1e-9)))
    return bounds


def _positions(circuit: Circuit, column: str, values: Floats) -> Floats:
    low, high = span(circuit, column, values)
    if is_discrete(circuit, column):
        return numbers_between(circuit, column, low, high)
    likely = likely_points(circuit, column, _LIKELY_POINTS)
    return np.union1d(np.linspace(low, high, _EVEN_POINTS), likely)


def _densities(circuit: Circuit, xs: Floats, ys: Floats) -> Floats:
    """Return the densities, [y, x]."""
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    return densities_at(circuit, points).reshape(len(ys), len(xs))


def _draw_contours(
    ax: Axes, xs: Floats, ys: Floats, densities: Floats, bounds: list[float], colours: list[Colour]
) -> None:
    top = 2 * max(float(densities.max()), bounds[-1])
    ax.contourf(xs, ys, densities, levels=[*bounds, top], colors=colours)


def _draw_cells(
    ax: Axes, xs: Floats, ys: Floats, densities: Floats, bounds: list[float], colours: list[Colour]
) -> None:
    """Draw a cell for each point: between whole numbers there is nothing to interpolate."""
    region = np.searchsorted(bounds, densities, side="right")
    cells = np.array([(1.0, 1.0, 1.0), *colours])[region]
    ax.pcolormesh(_edges(xs), _edges(ys), cells)


def _edges(points: Floats) -> Floats:
    """Return the edges of cells around points."""
    if len(points) == 1:
        return np.array([points[0] - 0.5, points[0] + 0.5])
    middles = (points[1:] + points[:-1]) / 2
    return np.array([2 * points[0] - middles[0], *middles, 2 * points[-1] - middles[-1]])


def _marks(colours: list[Colour]) -> list[Artist]:
    from matplotlib.patches import Patch  # noqa: PLC0415

    pairs = zip(reversed(SHARES), reversed(colours), strict=True)
    return [Patch(color=colour, label=percent(share)) for share, colour in pairs]


def _draw_points(ax: Axes, values: Floats) -> Artist:
    """Draw the rows in which neither value is missing, or enough of them."""
    missing = np.asarray(np.isnan(values).any(axis=1))
    points = values[~missing]
    step = max(1, -(-len(points) // _MOST_POINTS))
    label = describe_rows(missing) + (f",\none in {step} drawn" if step > 1 else "")
    return ax.scatter(points[::step, 0], points[::step, 1], s=6, color=INK, alpha=0.5, linewidths=0, label=label)
