"""Growth as a picture."""

from __future__ import annotations

from matplotlib.figure import Figure as Picture

from benchmarks.charts import COLOURS, log_scale, panels, value_of
from benchmarks.reports import Report, Row

_SERIES = {"train_s": "training", "batch_s": "batch of 1 %", "p99_ms": "removal, p99", "median_ms": "removal, median"}
_PERCENT = {"batch_percent": "batch of 1 %", "p99_percent": "removal, p99", "median_percent": "removal, median"}


def draw(report: Report) -> Picture:
    """Draw times and shares of training over the number of rows, or of columns if there are several of these.

    Tables that are not generated are single marks.
    """
    rows = _rows(report)
    grows = "columns" if len({row["columns"] for row in rows if _is_generated(row)}) > 1 else "rows"
    picture, axes = panels(2, "Training and removal as tables grow")
    for ax, series in zip(axes, (_SERIES, _PERCENT), strict=True):
        for number, (key, name) in enumerate(series.items(), start=len(_SERIES) - len(series)):
            unit = 1e-3 if key.endswith("_ms") else 1.0
            for generated, style in ((True, "o-"), (False, "x")):
                chosen = [row for row in rows if _is_generated(row) is generated]
                ax.plot(
                    [value_of(row[grows]) for row in chosen],
                    [unit * value_of(row[key]) for row in chosen],
                    style,
                    color=COLOURS[number],
                    label=name if generated else None,
                )
        ax.set_xscale("log")
        ax.set_xlabel(f"{grows} (crosses: Adult, flights)", fontsize=8.5)
        ax.legend(fontsize=8, frameon=False)
    log_scale(axes[0], "Time", "seconds")
    log_scale(axes[1], "Share of a training", "percent")
    return picture


def _rows(report: Report) -> list[Row]:
    """Return what both sections say about each table."""
    training, removal = report.section("training"), report.section("removal")
    if training is None or removal is None:
        return []
    return [row | other for row, other in zip(training.rows, removal.rows, strict=True)]


def _is_generated(row: Row) -> bool:
    return " by " in str(row["data"])
