"""The joint probabilities of two categorical columns as a table in shades."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unlearnspn.circuit import Circuit
from unlearnspn.plots.canvas import axes_for_chart, size_in_points
from unlearnspn.plots.categories import Shown, shown_categories, shown_places
from unlearnspn.plots.style import INK, MODEL_COLOUR, TEXT_SIZE, tint
from unlearnspn.plots.texts import text_width
from unlearnspn.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]

_MOST_ROWS, _MOST_COLUMNS = 16, 10
#: In points: names at the edge of the table.
_NAME_SIZE = 9.0
#: From this share of the largest probability on, a cell is so dark that its text is white.
_DARK = 0.92
#: In inches: how wide a cell is at least and at most.
_NARROW, _WIDE = 0.75, 1.3


def draw_table(circuit: Circuit, columns: list[Column] | None, ax: Axes | None) -> Axes:
    """Draw the table: what the model says and, in brackets, how it is in the data, both in percent."""
    a, b = circuit.columns
    down, right = shown_categories(circuit, a, _MOST_ROWS), shown_categories(circuit, b, _MOST_COLUMNS)
    shares = joint_probabilities(circuit, down, right)
    counted = None if columns is None else _data_shares(circuit, columns, down, right)
    widest = max(text_width(item.name, _NAME_SIZE) for item in right) / 72 + 0.15
    width = 2.4 + min(max(widest, _NARROW), _WIDE if len(right) <= _MOST_COLUMNS // 2 else _NARROW) * len(right)
    chart = axes_for_chart(ax, width, 1.4 + (0.3 if counted is None else 0.42) * len(down))
    chart.spines[:].set_visible(False)
    chart.tick_params(length=0)
    strengths = shares / max(float(shares.max()), np.finfo(float).tiny)
    colours = [[tint(MODEL_COLOUR, strength) for strength in line] for line in strengths.tolist()]
    chart.pcolormesh(np.arange(len(right) + 1) - 0.5, np.arange(len(down) + 1) - 0.5, np.array(colours))
    for i, j in product(range(len(down)), range(len(right))):
        text = _percent(shares[i, j]) + ("" if counted is None else f"\n({_percent(counted[i, j])})")
        colour = "white" if strengths[i, j] > _DARK else INK
        chart.text(j, i, text, ha="center", va="center", size=TEXT_SIZE, color=colour, linespacing=1.1)
    _label(chart, circuit, down, right, counted is not None)
    return chart


def joint_probabilities(circuit: Circuit, down: list[Shown], right: list[Shown]) -> Floats:
    """Return the probability of each pair of what is shown, [down, right]."""
    first, second = (circuit.categories(column) for column in circuit.columns)
    table = np.empty((len(first) * len(second), 2), object)
    table[:] = list(product(first, second))
    joint = np.exp(circuit.score_samples(table)).reshape(len(first), len(second))
    return np.array([[joint[np.ix_(i.places, j.places)].sum() for j in right] for i in down])


def _data_shares(circuit: Circuit, columns: list[Column], down: list[Shown], right: list[Shown]) -> Floats:
    sides = zip((down, right), columns, circuit.columns, strict=True)
    i, j = (shown_places(shown, column, circuit.categories(name)) for shown, column, name in sides)
    both = (i >= 0) & (j >= 0)
    observed = ~(columns[0].missing() | columns[1].missing())
    shares = np.zeros((len(down), len(right)))
    np.add.at(shares, (i[both], j[both]), 1 / max(1, int(observed.sum())))
    return shares


def _percent(share: float) -> str:
    return "<0.1" if 0 < share < 0.0005 else f"{100 * share:.1f}" if share else "0"


def _label(ax: Axes, circuit: Circuit, down: list[Shown], right: list[Shown], with_data: bool) -> None:
    a, b = circuit.columns
    names = [item.name for item in right]
    room = size_in_points(ax)[0] / len(right)
    crowded = max(text_width(name, _NAME_SIZE) for name in names) + 6 > room
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(range(len(right)), names, parse_math=False, size=_NAME_SIZE, **turned)
    ax.set_yticks(range(len(down)), [item.name for item in down], parse_math=False, size=_NAME_SIZE)
    ax.set(xlim=(-0.5, len(right) - 0.5), ylim=(len(down) - 0.5, -0.5))
    note = "percent, data in brackets" if with_data else "percent"
    ax.set_xlabel(f"{b}\n({note})", parse_math=False)
    ax.set_ylabel(a, parse_math=False)
