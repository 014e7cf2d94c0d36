"""Rates as a picture."""

from __future__ import annotations

from matplotlib.figure import Figure as Picture

from benchmarks.charts import grouped_bars, log_scale, panels
from benchmarks.reports import Report, Row


def draw(report: Report) -> Picture:
    """Draw the rates of all libraries on each data set."""
    section = report.section("rates")
    groups: dict[str, Row] = {}
    for row in [] if section is None else section.rows:
        groups.setdefault(str(row["data"]), {"data": row["data"]})[str(row["library"])] = row["rate"]
    libraries = dict.fromkeys(key for group in groups.values() for key in group if key != "data")
    picture, (ax,) = panels(1, "Log-densities, networks of the same size", width=6.0)
    if groups:
        grouped_bars(ax, list(groups.values()), "data", {name: name for name in libraries})
    log_scale(ax, "Throughput", "rows per second")
    return picture
