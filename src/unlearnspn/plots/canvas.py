"""What a picture is drawn on; matplotlib is imported here, and only when a picture is asked for."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from unlearnspn.circuit import Circuit
from unlearnspn.circuit.queries import Queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def require_matplotlib() -> ModuleType:
    """Return pyplot, or say how to install it."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'unlearnspn[plot]'") from error
    return pyplot


def circuit_of(model: Any) -> Circuit:
    """Return the circuit whose distribution is drawn."""
    if not isinstance(model, Queries):
        raise TypeError(f"a distribution is drawn of an SPN or a Circuit, not of {type(model).__name__}")
    return model.circuit_


def axes_for_chart(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of a size in inches, without the frame that charts can spare."""
    pyplot = require_matplotlib()
    chart: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax
    chart.spines[["top", "right"]].set_visible(False)
    return chart


def axes_for_drawing(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of a size in inches, without ticks or frame."""
    pyplot = require_matplotlib()
    drawing: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax
    drawing.set_axis_off()
    return drawing


def measure_in_points(ax: Axes) -> tuple[float, float]:
    """Make a point the unit of the axes, from the upper left corner on, and return their width and height."""
    figure = ax.figure.canvas.figure
    layout = figure.get_layout_engine()
    if layout is not None:
        # Otherwise axes get their place only when the figure is drawn.
        layout.execute(figure)
    width, height = size_in_points(ax)
    ax.set(xlim=(0, width), ylim=(height, 0))
    return width, height


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of the axes as they are now."""
    extent, dpi = ax.get_window_extent(), ax.figure.dpi
    return extent.width * 72 / dpi, extent.height * 72 / dpi


def add_legend(ax: Axes, loc: Literal["best", "lower right"] = "best") -> None:
    """Add a legend, the model first."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda number: labels[number] != "model")
    ax.legend([handles[i] for i in order], [labels[i] for i in order], loc=loc, edgecolor="none", framealpha=0.8)
