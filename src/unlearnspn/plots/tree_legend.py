"""The legend of a drawn network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unlearnspn.plots.shapes import Shape
from unlearnspn.plots.style import TEXT_SIZE, tint
from unlearnspn.plots.texts import text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.patches import FancyBboxPatch

#: In points: a row, a mark with the room behind it, and what is between two entries.
_ROW, _MARK, _GAP = 15.0, 20.0, 14.0
#: How much of the height all legends may take.
_LARGEST_SHARE = 0.25


@dataclass(frozen=True)
class Entry:
    """A line of the legend: a shape in a colour, and what it means."""

    shape: Shape
    colour: str
    meaning: str


def legends_that_fit(legends: Sequence[Sequence[Entry]], width: float, height: float) -> Sequence[Sequence[Entry]]:
    """Return the first legend, and the others if all of them leave most of the picture to the network."""
    return legends if legend_height(legends, width) <= _LARGEST_SHARE * height else legends[:1]


def legend_height(legends: Sequence[Sequence[Entry]], width: float) -> float:
    """Return how high the legends are above each other, in points."""
    return sum(-(-len(entries) // _n_columns(entries, width)) * _ROW for entries in legends)


def draw_legends(ax: Axes, legends: Sequence[Sequence[Entry]], width: float) -> None:
    """Draw the legends along the upper edge; the first one is the legend of the axes, which can be moved."""
    for number in reversed(range(len(legends))):
        legend = _draw_legend(ax, legends[number], width, legend_height(legends[:number], width))
        if number:
            ax.add_artist(legend)


def _draw_legend(ax: Axes, entries: Sequence[Entry], width: float, top: float) -> Legend:
    from matplotlib.legend_handler import HandlerPatch  # noqa: PLC0415
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

    handlers = {}
    for entry in entries:
        mark = FancyBboxPatch((0, 0), 1, 1, label=entry.meaning, linestyle=entry.shape.line)
        mark.set(edgecolor=entry.colour, facecolor=tint(entry.colour))
        handlers[mark] = HandlerPatch(patch_func=_marker(entry.shape))
    return ax.legend(
        handles=list(handlers),
        handler_map=handlers,
        loc="upper left",
        bbox_to_anchor=(0, top),
        bbox_transform=ax.transData,
        ncols=_n_columns(entries, width),
        frameon=False,
        fontsize=TEXT_SIZE,
        handlelength=1.6,
        columnspacing=_GAP / TEXT_SIZE,
    )


def _n_columns(entries: Sequence[Entry], width: float) -> int:
    """Return how many entries stand beside each other: as many as fit."""
    widths = [_MARK + _GAP + text_width(entry.meaning, TEXT_SIZE) for entry in entries]
    for n_columns in range(len(entries), 1, -1):
        # This is how matplotlib divides them among columns.
        columns = np.array_split(widths, n_columns)
        if sum(float(column.max()) for column in columns) <= width:
            return n_columns
    return 1


def _marker(shape: Shape) -> Callable[..., FancyBboxPatch]:
    def make(xdescent: float, ydescent: float, width: float, height: float, **_: Any) -> FancyBboxPatch:
        from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415

        return FancyBboxPatch((-xdescent, -ydescent), width, height, boxstyle=shape.style(height * 0.65, 0.0))

    return make
