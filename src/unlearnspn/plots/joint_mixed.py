"""The density of a numeric column for each category of another one, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.plots.canvas import axes_for_chart
from unlearnspn.plots.categories import shown_categories, shown_places
from unlearnspn.plots.curves import densities_at, density_curve, is_discrete, label_times, numbers_between, span
from unlearnspn.plots.data_columns import bin_edges, describe_rows
from unlearnspn.plots.style import DATA_COLOUR, FADED, MODEL_COLOUR, percent
from unlearnspn.schema import Kind
from unlearnspn.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

_MOST_CATEGORIES = 12
#: How much of its row the highest point of a density takes.
_HEIGHT = 0.88


def draw_ridges(circuit: Circuit, columns: list[Column] | None, ax: Axes | None) -> Axes:
    """Draw a density for each category, in rows from top to bottom, and the data's histograms behind."""
    numeric_first = circuit.domains.columns[0].kind is Kind.NUMERIC
    number, category = circuit.columns if numeric_first else circuit.columns[::-1]
    shown = [item for item in shown_categories(circuit, category, _MOST_CATEGORIES) if item.probability > 0]
    values, rows, missing = np.empty(0), np.empty(0, np.int64), None
    if columns is not None:
        numbers, labels = columns if numeric_first else columns[::-1]
        values, rows = numbers.numbers(), shown_places(shown, labels, circuit.categories(category))
        missing = np.isnan(values) | labels.missing()
    low, high = span(circuit, number, values)
    chart = axes_for_chart(ax, 8.0, max(3.0, 1.2 + 0.62 * len(shown)))
    for row, item in enumerate(shown):
        given = circuit.condition({category: item.members}).marginal(number)
        observed = values[(rows == row) & ~np.isnan(values)]
        _draw_ridge(chart, row, _profile(given, low, high), _histogram(given, observed, low, high))
    names = [f"{item.name}\n{percent(item.probability)}" for item in shown]
    chart.set_yticks(np.arange(len(shown)) - _HEIGHT / 2, names, parse_math=False)
    chart.tick_params(axis="y", length=0)
    chart.spines["left"].set_visible(False)
    chart.set(xlim=(low, high), ylim=(len(shown) - 0.9, -1))
    chart.set_xlabel(number, parse_math=False)
    label_times(chart.xaxis, circuit, number)
    chart.set_ylabel(category, parse_math=False)
    _add_legend(chart, missing)
    return chart


def _profile(given: Circuit, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the density of a column, or the probabilities of its numbers."""
    if not is_discrete(given, given.columns[0]):
        return density_curve(given, low, high)
    numbers = numbers_between(given, given.columns[0], low, high)
    return numbers, densities_at(given, numbers.reshape(-1, 1))


def _histogram(given: Circuit, observed: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Return edges and heights of the histogram of some numbers; nothing of none."""
    if not observed.size:
        return np.array([low, high]), np.zeros(1)
    discrete = is_discrete(given, given.columns[0])
    edges = np.arange(np.floor(low) - 0.5, high + 1) if discrete else bin_edges(observed, low, high)
    heights, _ = np.histogram(observed, edges, density=True)
    return edges, heights


def _draw_ridge(ax: Axes, row: int, profile: tuple[Floats, Floats], histogram: tuple[Floats, Floats]) -> None:
    """Draw one row, upwards from its line; model and data on one scale."""
    (x, density), (edges, heights) = profile, histogram
    scale = _HEIGHT / max(float(density.max()), float(heights.max()))
    ax.axhline(row, color=FADED, linewidth=0.6, zorder=1)
    ax.stairs(row - scale * heights, edges, baseline=row, fill=True, color=DATA_COLOUR)
    ax.plot(x, row - scale * density, color=MODEL_COLOUR, linewidth=1.4)


def _add_legend(ax: Axes, missing: npt.NDArray[np.bool_] | None) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Patch  # noqa: PLC0415

    marks: list[Any] = [Line2D([], [], color=MODEL_COLOUR, label="model")]
    if missing is not None:
        marks.append(Patch(color=DATA_COLOUR, label=describe_rows(missing)))
    ax.legend(handles=marks, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
