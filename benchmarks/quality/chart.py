"""Likelihoods beside published ones, as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.charts import COLOURS, linear_scale, panels, value_of
from benchmarks.reports import Report, Row
from unlearnspn.plots.style import GREY

_PUBLISHED = {"learn_spn": "LearnSPN, published", "id_spn": "ID-SPN, published"}


def draw(report: Report) -> Picture:
    """Draw a panel for each set: a mark for each model, a line for each published figure."""
    section = report.section("likelihood")
    rows = [] if section is None else section.rows
    names = list(dict.fromkeys(str(row["data"]) for row in rows))
    picture, axes = panels(max(1, len(names)), "Test log-likelihood (higher is better)", width=3.6)
    for ax, name in zip(axes, names, strict=False):
        _draw_set(ax, [row for row in rows if row["data"] == name])
        linear_scale(ax, name, "nats per row")
    return picture


def _draw_set(ax: Axes, rows: list[Row]) -> None:
    for place, row in enumerate(rows):
        ax.plot(place, value_of(row["test"]), "o", color=COLOURS[0], markersize=9, label=None if place else "tuned")
        ax.plot(place, value_of(row["untuned_test"]), "o", color=COLOURS[1], label=None if place else "untuned")
    for (key, label), style in zip(_PUBLISHED.items(), ("dashed", "dotted"), strict=True):
        if rows[0][key] is not None:
            ax.axhline(value_of(rows[0][key]), color=GREY, linestyle=style, label=label)
    ax.set_xticks(range(len(rows)), [str(row["model"]).replace(", ", ",\n") for row in rows])
    ax.margins(x=0.3)
    ax.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
