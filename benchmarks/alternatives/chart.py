"""What models are worth and what they tell of those who left, as a picture."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.alternatives.attack_scores import CURVE, FALSE_ALARMS, roc_key
from benchmarks.alternatives.targets import OUTLIERS
from benchmarks.charts import COLOURS, linear_scale, log_scale, panels, value_of
from benchmarks.reports import Report, Row, Section

#: Below, shares are drawn at the border.
_LEAST_SHARE = 1e-3


def draw(report: Report) -> Picture:
    """Draw for each table likelihood against what the attack finds, if both were measured, and the attack's curve."""
    likelihood, membership = _rows(report.section("likelihood")), _rows(report.section("membership"))
    names = list(dict.fromkeys(str(row["data"]) for row in [*likelihood, *membership]))
    lines = 2 if likelihood and membership else 1
    picture, axes = panels(max(1, len(names)), "Membership after removal", width=5.2, lines=lines)
    for place, name in enumerate(names):
        own, attacked = ([row for row in rows if row["data"] == name] for rows in (likelihood, membership))
        if lines == 2:
            above = axes[place]
            _draw_worth(above, own, attacked)
            linear_scale(above, f"{name} (up and left is better)", "held-out nats per row")
            above.set_xlabel("true positives at 1 % false ones, the worst kind of targets", fontsize=8.5)
        below = axes[place - len(names)]
        _draw_curves(below, [row for row in attacked if row["kind"] == OUTLIERS])
        log_scale(below, f"{name}, {OUTLIERS}", "true positives")
        below.set_xlabel("false positives", fontsize=8.5)
    return picture


def _rows(section: Section | None) -> list[Row]:
    return [] if section is None else section.rows


def _draw_worth(ax: Axes, likelihood: list[Row], membership: list[Row]) -> None:
    densities = {str(row["method"]): value_of(row.get("density")) for row in likelihood}
    worst: dict[str, float] = {}
    for row in membership:
        name = str(row["method"])
        worst[name] = max(worst.get(name, 0.0), value_of(row["tpr"]))
    # The three of the default network have one likelihood; slices do not change a model.
    ours = densities.get("SPN.unlearn", math.nan)
    places = {name: densities.get(name.removesuffix(", unsliced"), ours) for name in worst}
    for number, (name, density) in enumerate(places.items()):
        ax.plot(worst[name], density, _marker(number), color=_colour(number), markersize=7, label=name)
    ax.axvline(FALSE_ALARMS, color="#999999", linestyle="dotted", linewidth=1.0)
    ax.margins(0.12)
    if places:
        ax.legend(fontsize=6, frameon=False, loc="best")


def _draw_curves(ax: Axes, rows: list[Row]) -> None:
    for number, row in enumerate(rows):
        shares = [max(value_of(row[roc_key(share)]), _LEAST_SHARE) for share in CURVE]
        ax.plot(CURVE, shares, f"-{_marker(number)}", color=_colour(number), markersize=3, linewidth=1.0)
    ax.plot(CURVE, CURVE, color="#999999", linestyle="dotted", linewidth=1.0)
    ax.set_xscale("log")


def _marker(number: int) -> str:
    return "osD^v"[number // len(COLOURS) % 5]


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
