"""Where the boxes of a network go: the root to the left, a row for each box without children, parents amid theirs.

A subtree's rows follow one another and each box stands in the column of its depth, so no branch crosses another one
and text to the right of a box without children meets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unlearnspn.plots.outline import Box, Sketch, leaves_only
from unlearnspn.plots.style import PLUS, SMALL_TEXT_SIZE, TEXT_SIZE, TIMES
from unlearnspn.plots.texts import text_width

#: In points: a row at least and at most, the room around text in a box, and the margin of the picture.
ROW, WIDEST_ROW, PADDING, MARGIN = 19.0, 28.0, 4.0, 10.0
#: The room for the branches behind a column, besides what is written on them.
BRANCH = 22.0
#: The least room for the names on leaves; in narrow pictures, a share of the width.
LEAF_TEXT, LEAF_SHARE = 130.0, 0.3


@dataclass(frozen=True)
class Columns:
    """Where the columns of a picture are, one for each depth, and how wide the widest box in each is."""

    centres: tuple[float, ...]
    widths: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.centres)

    def left(self, depth: int) -> float:
        """Return where the widest boxes of a column begin."""
        return self.centres[depth] - self.widths[depth] / 2

    def right(self, depth: int) -> float:
        """Return where the widest boxes of a column end."""
        return self.centres[depth] + self.widths[depth] / 2

    def start(self, parent: Box, child: Box) -> float:
        """Return where a child begins: in the next column, or right behind its parent if it holds all the leaves."""
        return self.right(parent.depth) + BRANCH if leaves_only(parent.children) else self.left(child.depth)


def node_text(sketch: Sketch) -> str:
    """Return what is written in the box of an inner node: whether it adds or multiplies, and its records."""
    return f"{PLUS if sketch.view.weights else TIMES} {sketch.view.n_records:,}"


def branch_text(sketch: Sketch) -> str:
    """Return what is written on the branch to a node: a weight, or how many variables a factor has."""
    if sketch.weight is not None:
        return f"{sketch.weight:.2f}" if sketch.weight >= 0.005 else "<.01"
    return "" if sketch.is_leaf else f"{len(sketch.view.scope)} vars"


def place_columns(top: Sketch, width: float) -> Columns:
    """Place as many columns as leave room for text to the right of the last one."""
    boxes: dict[int, float] = {}
    branches: dict[int, float] = {}
    for sketch in [top, *top.below()]:
        # Leaves begin where the boxes of their column do, so their own text does not matter.
        text = "" if sketch.is_leaf else node_text(sketch)
        wide = text_width(text, TEXT_SIZE) + 2 * PADDING
        boxes[sketch.depth] = max(boxes.get(sketch.depth, 0.0), wide)
        written = text_width(branch_text(sketch), SMALL_TEXT_SIZE)
        branches[sketch.depth] = max(branches.get(sketch.depth, 0.0), written)
    room = width - min(LEAF_TEXT, LEAF_SHARE * width)
    centres = [MARGIN + boxes[0] / 2]
    for depth in range(1, len(boxes)):
        step = boxes[depth - 1] / 2 + BRANCH + branches[depth] + boxes[depth] / 2
        if centres[-1] + step + boxes[depth] / 2 > room:
            break
        centres.append(centres[-1] + step)
    return Columns(tuple(centres), tuple(boxes[depth] for depth in range(len(centres))))


def place_rows(root: Box, top: float, bottom: float) -> Mapping[Box, float]:
    """Return the height of each box, parents first, downwards; rows are a little wider where there is room."""
    boxes = list(root.walk())
    ends = [box for box in boxes if not box.children]
    row = min(max(ROW, (bottom - top) / len(ends)), WIDEST_ROW)
    heights = {box: top + row * (number + 0.5) for number, box in enumerate(ends)}
    for box in reversed(boxes):
        if box.children:
            heights[box] = (heights[box.children[0]] + heights[box.children[-1]]) / 2
    return {box: heights[box] for box in boxes}
