"""What models are worth and what they tell of those who left, as a picture."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.charts import COLOURS, linear_scale, panels, value_of
from benchmarks.reports import Report, Row, Section


def draw(report: Report) -> Picture:
    """Draw a panel for each table: held-out log-likelihood against what the attack finds, a mark for each method."""
    likelihood, membership = _rows(report.section("likelihood")), _rows(report.section("membership"))
    names = list(dict.fromkeys(str(row["data"]) for row in [*likelihood, *membership]))
    title = "Held-out log-likelihood against membership after removal (up and left is better)"
    picture, axes = panels(max(1, len(names)), title, width=5.2)
    for ax, name in zip(axes, names, strict=False):
        own = [[row for row in rows if row["data"] == name] for rows in (likelihood, membership)]
        _draw_table(ax, *own)
        linear_scale(ax, name, "nats per row")
        ax.set_xlabel("true positives at 1 % false ones, the worst kind of targets", fontsize=8.5)
    return picture


def _rows(section: Section | None) -> list[Row]:
    return [] if section is None else section.rows


def _draw_table(ax: Axes, likelihood: list[Row], membership: list[Row]) -> None:
    densities = {str(row["method"]): value_of(row.get("density")) for row in likelihood}
    worst: dict[str, float] = {}
    for row in membership:
        name = str(row["method"])
        worst[name] = max(worst.get(name, 0.0), value_of(row["tpr"]))
    # The three of the default network have one likelihood; slices do not change a model.
    ours = densities.get("SPN.unlearn", math.nan)
    places = {name: densities.get(name.removesuffix(", unsliced"), ours) for name in worst}
    for number, (name, density) in enumerate(places.items()):
        marker = "osD^v"[number // len(COLOURS) % 5]
        ax.plot(worst[name], density, marker, color=COLOURS[number % len(COLOURS)], markersize=7, label=name)
    ax.axvline(0.01, color="#999999", linestyle="dotted", linewidth=1.0)
    ax.margins(0.12)
    if places:
        ax.legend(fontsize=6, frameon=False, loc="best")
