"""What the pictures of all benchmarks look alike in."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.figures import Figure
from benchmarks.reports import Cell, Row
from unlearnspn.plots.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION

COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE)
_BARS_WIDTH = 0.8
#: In inches, with the title.
_HEIGHT = 4.0


def panels(number: int, title: str, width: float = 4.6, lines: int = 1) -> tuple[Picture, list[Axes]]:
    """Return a picture with so many panels side by side, in one line or several below each other."""
    picture = Picture(figsize=(width * number, _HEIGHT * lines), layout="constrained", dpi=150)
    picture.suptitle(title, color=INK, fontsize=12, x=0.01, ha="left")
    axes = [picture.add_subplot(lines, number, place + 1) for place in range(lines * number)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8, colors=INK)
        ax.grid(axis="y", color="#E8E8E8", linewidth=0.7)
        ax.set_axisbelow(True)
    return picture, axes


def value_of(cell: Cell) -> float:
    """Return the number of a cell; NaN, which is not drawn, if it has none."""
    if isinstance(cell, Figure):
        return cell.value
    return float("nan") if cell is None or isinstance(cell, str) else float(cell)


def std_of(cell: Cell) -> float:
    """Return the deviation of a cell, 0 if it has none."""
    return cell.std or 0.0 if isinstance(cell, Figure) else 0.0


def grouped_bars(ax: Axes, rows: Sequence[Row], label: str, series: dict[str, str]) -> None:
    """Draw a group of bars for each row, with one bar for each key of `series`, which gives their names."""
    width = _BARS_WIDTH / len(series)
    for number, (key, name) in enumerate(series.items()):
        places = [place - _BARS_WIDTH / 2 + (number + 0.5) * width for place in range(len(rows))]
        heights = [value_of(row.get(key)) for row in rows]
        errors = [std_of(row.get(key)) for row in rows]
        colour = COLOURS[number % len(COLOURS)]
        ax.bar(
            places, heights, width * 0.92, yerr=errors, color=colour, label=name, error_kw={"ecolor": INK, "lw": 0.8}
        )
    ax.set_xticks(range(len(rows)), [str(row[label]) for row in rows], rotation=25, ha="right")
    ax.margins(y=0.15)
    ax.legend(fontsize=8, frameon=False, loc="upper left", ncols=len(series))


def mark_targets(ax: Axes, rows: Sequence[Row], key: str) -> None:
    """Draw the target of each row's figure as a short line across its group."""
    for place, row in enumerate(rows):
        cell = row.get(key)
        if isinstance(cell, Figure) and cell.target is not None:
            ax.hlines(cell.target.bound, place - 0.45, place + 0.45, color=GREY, linestyles="dashed", linewidth=1.0)


def log_scale(ax: Axes, title: str, unit: str) -> None:
    """Give the panel a title and a logarithmic axis with a unit."""
    ax.set_yscale("log")
    linear_scale(ax, title, unit)


def linear_scale(ax: Axes, title: str, unit: str) -> None:
    """Give the panel a title and an axis with a unit."""
    ax.set_title(title, fontsize=9.5, loc="left", color=INK)
    ax.set_ylabel(unit, fontsize=8.5, color=INK)
