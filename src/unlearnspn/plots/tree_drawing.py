"""A network as boxes and branches; what colours mean is for the picture to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unlearnspn.plots.canvas import axes_for_drawing, measure_in_points
from unlearnspn.plots.outline import Box, Centrality, Likeness, Limits, Sketch, outline
from unlearnspn.plots.shapes import SHAPES
from unlearnspn.plots.style import FADED, GREY, INK, SMALL_TEXT_SIZE, TEXT_SIZE, count, tint
from unlearnspn.plots.texts import cut, list_names, shorten, text_width
from unlearnspn.plots.tree_layout import (
    BRANCH,
    MARGIN,
    PADDING,
    ROW,
    Columns,
    branch_text,
    node_text,
    place_columns,
    place_rows,
)
from unlearnspn.plots.tree_legend import Entry, draw_legends, legend_height, legends_that_fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: In inches: the size of a figure of our own.
WIDTH, LARGEST_HEIGHT = 10.0, 12.0
#: In points: a line of the notes, and what matplotlib leaves free around a picture.
LINE, PAD = 11.0, 3.0


@dataclass(frozen=True)
class Pencil:
    """How the boxes of a picture are coloured, and what is written beside them."""

    colour: Callable[[Box], str]
    #: One legend above the other; the first is the one that counts.
    legend: Sequence[Sequence[Entry]]
    #: Whether the picture is about a node: such nodes are unfolded first.
    is_central: Centrality = lambda sketch: True
    #: Leaves of one node share a box if this gives the same for them.
    likeness: Likeness = lambda view: None
    #: The colour of the branch to a box.
    branch: Callable[[Box], str] = lambda box: GREY
    #: What is to be said of the nodes that are folded into a box; if nothing is, their variables are named.
    remarks: Callable[[Box], Sequence[str]] = lambda box: ()
    #: Lines below the picture.
    notes: Sequence[str] = ()


def draw_tree(top: Sketch, pencil: Pencil, ax: Axes | None, max_depth: int | None) -> Axes:
    """Draw a network on the axes, or on a figure as high as it needs to be."""
    _check_depth(max_depth)
    if ax is None:
        width, height = WIDTH * 72 - 2 * PAD, LARGEST_HEIGHT * 72
    else:
        width, height = measure_in_points(axes_for_drawing(ax, 0, 0))
    columns = place_columns(top, width)
    legends = legends_that_fit(pencil.legend, width, height)
    header = legend_height(legends, width) + MARGIN
    footer = LINE * (len(pencil.notes) + 1) + MARGIN
    limits = Limits(max(1, int((height - header - footer) // ROW)), len(columns), max_depth)
    root = outline(top, limits, pencil.is_central, pencil.likeness)
    if ax is None:
        n_rows = sum(not box.children for box in root.walk())
        ax = axes_for_drawing(None, WIDTH, (header + ROW * n_rows + footer + 2 * PAD) / 72)
        width, height = measure_in_points(ax)
    rows = place_rows(root, header, height - footer)
    drawing = _Drawing(ax, columns, rows, width, pencil)
    drawing.draw()
    drawing.write_notes([*pencil.notes, _describe_folding(list(rows))])
    draw_legends(ax, legends, width)
    return ax


def _check_depth(max_depth: int | None) -> None:
    if max_depth is not None and (isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 0):
        raise ValueError(f"max_depth={max_depth!r} must be a whole number, 0 or more, or None for as deep as fits")


@dataclass(frozen=True)
class _Drawing:
    """A network while it is being drawn."""

    ax: Axes
    columns: Columns
    rows: Mapping[Box, float]
    width: float
    pencil: Pencil

    def draw(self) -> None:
        """Draw all boxes, each with the branch that leads to it."""
        root = next(iter(self.rows))
        self.box(root, self.columns.left(0))
        for parent in self.rows:
            for child in parent.children:
                start = self.columns.start(parent, child)
                self.branch(parent, child, start)
                self.box(child, start)

    def branch(self, parent: Box, child: Box, end: float) -> None:
        start = self.columns.centres[parent.depth]
        bend = self.columns.right(parent.depth) + BRANCH / 2
        from_y, to_y = self.rows[parent], self.rows[child]
        within = end + PADDING if child.first.is_leaf else self.columns.centres[child.depth]
        xs, ys = [start, bend, bend, within], [from_y, from_y, to_y, to_y]
        colour = self.pencil.branch(child)
        # Where branches run side by side, those in colour are seen.
        order = 1.0 if colour in (GREY, FADED) else 1.5
        self.ax.plot(xs, ys, color=colour, linewidth=0.9, solid_joinstyle="round", zorder=order)
        self._write((bend + end) / 2, to_y - 1.5, branch_text(child.first), ha="center", va="bottom")

    def box(self, box: Box, start: float) -> None:
        sketch, colour, y = box.first, self.pencil.colour(box), self.rows[box]
        shape = SHAPES[sketch.view.operation]
        style = shape.style(1.0, 0.35)
        bbox = {"boxstyle": style, "linestyle": shape.line, "edgecolor": colour, "facecolor": tint(colour)}
        if sketch.is_leaf:
            x = start + PADDING
            text = _leaves_text(box, self.width - MARGIN - PADDING - x)
            self._write(x, y, text, color=INK, bbox={**bbox, "linewidth": 0.8, "facecolor": tint(colour, 0.1)})
            return
        centre, right = self.columns.centres[box.depth], self.columns.right(box.depth)
        self._write(centre, y, node_text(sketch), size=TEXT_SIZE, color=INK, ha="center", bbox=bbox)
        x = right + PADDING
        self._write(x, y, _beside(box, self.pencil.remarks(box), self.width - MARGIN - x))

    def write_notes(self, lines: Sequence[str]) -> None:
        top = max(self.rows.values()) + ROW / 2 + MARGIN
        for number, line in enumerate(lines):
            self._write(MARGIN, top + LINE * number, cut(line, _small_width, self.width - 2 * MARGIN))

    def _write(self, x: float, y: float, text: str, **style: Any) -> None:
        if text:
            looks = {"size": SMALL_TEXT_SIZE, "color": GREY, "ha": "left", "va": "center", "parse_math": False}
            self.ax.text(x, y, text, **{**looks, **style})


def _leaves_text(box: Box, room: float) -> str:
    """Return the names of the variables of some leaves, as many as there is room for."""
    names = [name for sketch in box.sketches for name in sketch.view.scope]
    if len(box.sketches) > 1:
        return _titled(count(len(box.sketches), "leaf", "leaves"), names, room)
    if len(names) > 1:
        return _titled(f"{box.first.view.distribution} leaf of {len(names)}", names, room)
    return cut(shorten(names[0]), _small_width, room)


def _beside(box: Box, remarks: Sequence[str], room: float) -> str:
    """Return what is written behind a box: what of the network below it is not drawn."""
    if not box.folded:
        return ""
    return _titled(f"{count(box.folded, 'node')} folded", remarks or box.first.view.scope, room)


def _titled(title: str, names: Sequence[str], room: float) -> str:
    listed = list_names(names, _small_width, room - _small_width(f"{title}: "))
    return cut(f"{title}: {listed}" if listed else title, _small_width, room)


def _small_width(text: str) -> float:
    return text_width(text, SMALL_TEXT_SIZE)


def _describe_folding(boxes: Sequence[Box]) -> str:
    """Say how many nodes there are, and where those are that have no box of their own."""
    shared = [box for box in boxes if len(box.sketches) > 1]
    folded = sum(box.folded for box in boxes if not box.first.is_leaf)
    n_nodes = sum(len(box.sketches) for box in boxes) + folded
    parts = [count(n_nodes, "node")]
    if shared:
        n_leaves = sum(len(box.sketches) for box in shared)
        parts.append(f"{count(n_leaves, 'leaf', 'leaves')} in {count(len(shared), 'box', 'boxes')}")
    if folded:
        parts.append(f"{folded:,} folded")
    return ", ".join(parts)
