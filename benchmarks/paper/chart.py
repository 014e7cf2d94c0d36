"""The experiment as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.charts import grouped_bars, linear_scale, log_scale, mark_targets, panels, value_of
from benchmarks.paper.likelihood import PEERS
from benchmarks.reports import Report, Row

_PEERS = {key: library for library, key in PEERS.items()}


def draw(report: Report) -> Picture:
    """Draw times of removal and retraining, ratios, and likelihoods."""
    rows, gains = _in_setting(report, "removal", "ours"), _gains(report)
    picture, axes = panels(3 if gains else 2, "Removal against retraining, 1,000 rows")
    _draw_times(axes[0], rows)
    _draw_ratios(axes[1], rows, _in_setting(report, "removal", "paper"))
    if gains:
        grouped_bars(axes[2], gains, "data", _PEERS)
        linear_scale(axes[2], "Held-out log-likelihood: ours above the peer's", "nats per row")
    return picture


def _draw_times(ax: Axes, rows: list[Row]) -> None:
    series = {"unlearn_ms": "unlearn", "retrain_ms": "retrain"}
    if any("spflow_retrain_ms" in row for row in rows):
        series["spflow_retrain_ms"] = "SPFlow retrains"
    grouped_bars(ax, rows, "data", series)
    log_scale(ax, "Time of one removal, default setting", "milliseconds")


def _draw_ratios(ax: Axes, ours: list[Row], paper: list[Row]) -> None:
    rows: list[Row] = [
        {"data": row["data"], "ours": row["ratio"], "paper": other["ratio"]}
        for row, other in zip(ours, paper, strict=True)
    ]
    grouped_bars(ax, rows, "data", {"ours": "default setting", "paper": "the paper's setting"})
    mark_targets(ax, rows, "ours")
    linear_scale(ax, "Retraining / removal (dashed: target)", "times")


def _in_setting(report: Report, key: str, setting: str) -> list[Row]:
    section = report.section(key)
    return [] if section is None else [row for row in section.rows if row["setting"] == setting]


def _gains(report: Report) -> list[Row]:
    """Return how much likelier held-out rows are than under the peers' models: with our floor, where they have it."""
    section = report.section("likelihood")
    rows = [] if section is None else [row for row in section.rows if all(key in row for key in _PEERS)]
    return [{"data": row["data"], **{key: _gain(row, key) for key in _PEERS}} for row in rows]


def _gain(row: Row, key: str) -> float:
    return value_of(row["ours"]) - value_of(row.get(f"{key}_widened", row[key]))
