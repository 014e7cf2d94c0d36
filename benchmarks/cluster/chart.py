"""A cluster beside one process, as a picture."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.charts import COLOURS, linear_scale, log_scale, panels, value_of
from benchmarks.reports import Report, Row


def draw(report: Report) -> Picture:
    """Draw time, peak memory and bytes over the number of rows, or of columns if there are several of these."""
    rows, sent = (section.rows if (section := report.section(key)) else [] for key in ("training", "traffic"))
    grows = "columns" if len({row["columns"] for row in rows}) > 1 else "rows"
    places = _by_place(rows)
    sent_by = _by_place(sent)
    picture, (time, memory, traffic) = panels(3, "One process and clusters as tables grow")
    for (where, own), colour in zip(places.items(), COLOURS * len(places), strict=False):
        is_local = where == "local"
        _line(time, own, grows, "total_s", where, colour)
        _line(memory, own, grows, "peak_gib", where if is_local else None, colour, "o-" if is_local else "x:")
        if not is_local:
            _line(memory, own, grows, "worker_gib", f"largest of {where}" if where != "1 worker" else where, colour)
            _line(traffic, sent_by[where], grows, "round_kb", where, colour)
    for ax in (time, memory, traffic):
        ax.set_xscale("log")
        ax.set_xlabel(grows, fontsize=8.5)
        ax.legend(fontsize=8, frameon=False)
    log_scale(time, "Reading and training", "seconds")
    log_scale(memory, "Peak memory (dotted: coordinators)", "GiB")
    linear_scale(traffic, "Bytes a round", "kB")
    traffic.set_ylim(bottom=0.0)
    return picture


def _by_place(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each place."""
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(str(row["where"]), []).append(row)
    return places


def _line(ax: Axes, rows: list[Row], grows: str, key: str, label: str | None, colour: str, style: str = "o-") -> None:
    values = [value_of(row.get(key)) for row in rows]
    ax.plot([value_of(row[grows]) for row in rows], values, style, color=colour, label=label)
