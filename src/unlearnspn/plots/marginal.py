"""The distribution of one column, against the data's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unlearnspn.circuit import Circuit
from unlearnspn.plots.canvas import add_legend, axes_for_chart, circuit_of, require_matplotlib
from unlearnspn.plots.categories import shown_categories, shown_places
from unlearnspn.plots.curves import densities_at, density_curve, is_discrete, label_times, numbers_between, span
from unlearnspn.plots.data_columns import bin_edges, describe_rows, numbers_of, read_data
from unlearnspn.plots.style import DATA_COLOUR, MODEL_COLOUR
from unlearnspn.schema import Kind
from unlearnspn.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CATEGORIES = 20
#: How much wider than the longest bar the picture is.
_ROOM_FOR_LEGEND = 1.35


def plot_marginal(model: Any, column: str, data: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the distribution of one column: a density, or the probabilities of categories or counts.

    Parameters
    ----------
    model : SPN, SPNClassifier or Circuit
        Whose distribution is drawn. Pass ``model.condition(…)`` for a conditional one.
    column : str
        The column's name.
    data : table, default=None
        Rows to compare with, as a histogram; other columns than this one are ignored.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from unlearnspn import SPN
    >>> wine = load_wine(as_frame=True).data
    >>> ax = plot_marginal(SPN(min_rows=50).fit(wine), "alcohol", data=wine)
    """
    require_matplotlib()
    whole = circuit_of(model)
    circuit = whole.marginal(column)
    columns = read_data(data, whole, [column])
    values = None if columns is None else columns[0]
    if circuit.domains.columns[0].kind is Kind.CATEGORICAL:
        return _draw_categories(circuit, values, ax)
    chart = axes_for_chart(ax, 8.0, 4.5)
    draw = _draw_numbers if is_discrete(circuit, column) else _draw_density
    draw(circuit, values, chart)
    chart.set_xlabel(column, parse_math=False)
    label_times(chart.xaxis, circuit, column)
    chart.set_ylim(bottom=0)
    add_legend(chart)
    return chart


def _draw_density(circuit: Circuit, column: Column | None, ax: Axes) -> None:
    values = numbers_of(column)
    observed = values[~np.isnan(values)]
    low, high = span(circuit, circuit.columns[0], values)
    if observed.size:
        edges = bin_edges(observed, low, high)
        ax.hist(observed, edges.tolist(), density=True, color=DATA_COLOUR, label=describe_rows(np.isnan(values)))
    ax.plot(*density_curve(circuit, low, high), color=MODEL_COLOUR, linewidth=1.6, label="model")
    ax.set_ylabel("density")


def _draw_numbers(circuit: Circuit, column: Column | None, ax: Axes) -> None:
    values = numbers_of(column)
    observed = values[~np.isnan(values)]
    numbers = numbers_between(circuit, circuit.columns[0], *span(circuit, circuit.columns[0], values))
    if observed.size:
        distinct, counts = np.unique(observed, return_counts=True)
        label = describe_rows(np.isnan(values))
        ax.bar(distinct, counts / observed.size, width=0.9, color=DATA_COLOUR, label=label)
    shares = densities_at(circuit, numbers.reshape(-1, 1))
    ax.plot(numbers, shares, color=MODEL_COLOUR, linewidth=0.8, marker="o", markersize=4, label="model")
    ax.set_ylabel("probability")


def _draw_categories(circuit: Circuit, column: Column | None, ax: Axes | None) -> Axes:
    name = circuit.columns[0]
    shown = shown_categories(circuit, name, _MOST_CATEGORIES)
    chart = axes_for_chart(ax, 8.0, 1.3 + 0.27 * len(shown))
    rows = np.arange(len(shown))
    thickness = 0.8
    if column is not None and not column.missing().all():
        places = shown_places(shown, column, circuit.categories(name))
        shares = np.bincount(places[places >= 0], minlength=len(shown)) / (~column.missing()).sum()
        chart.barh(rows, shares, height=thickness, color=DATA_COLOUR, label=describe_rows(column.missing()))
        thickness = 0.35
    chart.barh(rows, [item.probability for item in shown], height=thickness, color=MODEL_COLOUR, label="model")
    chart.set_yticks(rows, [item.name for item in shown], parse_math=False)
    chart.set(xlabel="probability", ylim=(len(shown) - 0.4, -0.6))
    chart.set_xlim(0, _ROOM_FOR_LEGEND * chart.dataLim.x1)
    chart.set_ylabel(name, parse_math=False)
    add_legend(chart, "lower right")
    return chart
