"""The network as a picture, and as a list that can be unfolded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unlearnspn.plots.outline import Box, Centrality, Likeness, Limits, Sketch, outline, sketch_network
from unlearnspn.plots.texts import shorten
from unlearnspn.plots.touched import Touch, count_below, find_concerned, find_touches
from unlearnspn.plots.tree_layout import branch_text, node_text, place_rows
from unlearnspn.service.console.formats import Formats
from unlearnspn.service.errors import NotThereError
from unlearnspn.spn.operations import Operation
from unlearnspn.spn.views import NodeView

#: Of the picture, in units of its own.
_COLUMN, _BOX_WIDTH, _BOX_HEIGHT, _ROW, _MARGIN, _ROOM_FOR_NAMES = 168.0, 92.0, 22.0, 28.0, 8.0, 190.0
#: What distributions are known by.
LEAF = "ƒ"
_MOST_ROWS, _MOST_COLUMNS = 22, 4
#: Of the list: how deep, how many below one node, and below the one that it begins with.
_DEPTH, _MOST_BELOW, _MOST_AT_TOP = 3, 8, 100
_MOST_NAMES, _MOST_PARAMETERS = 4, 4


@dataclass(frozen=True)
class DrawnBox:
    """A node, or leaves of one node, in the picture."""

    x: float
    y: float
    width: float
    height: float
    operation: str
    text: str
    #: Beside it.
    remark: str
    #: Nothing for leaves.
    address: str
    #: What a request did to it, and to how many nodes below it that are not drawn; nothing where no request is shown.
    touch: str = ""
    n_touched_below: int = 0


@dataclass(frozen=True)
class DrawnBranch:
    """A branch of the picture, as thick as its weight says."""

    path: str
    thickness: float
    label: str
    x: float
    y: float


@dataclass(frozen=True)
class NetworkPicture:
    """The network from some node on."""

    width: float
    height: float
    boxes: tuple[DrawnBox, ...]
    branches: tuple[DrawnBranch, ...]
    #: Those that occur.
    operations: tuple[str, ...]
    #: How many nodes a request did what to; nothing where no request is shown.
    touches: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Unfolded:
    """A node in the list, with some of those below it."""

    address: str
    operation: str
    n_records: int
    #: Of a mixture; None elsewhere.
    weight: float | None
    names: tuple[str, ...]
    n_more_names: int
    n_children: int
    children: tuple[Unfolded, ...]
    distribution: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def n_more(self) -> int:
        """How many below it are not listed."""
        return self.n_children - len(self.children)


def way_to(root: NodeView, address: str) -> list[NodeView]:
    """Return the nodes on the way from the root to the one with an address, both included; or raise."""
    way = [root]
    while way[-1].address != address:
        below = (child for child in way[-1].children if f"{address}/".startswith(f"{child.address}/"))
        found = next(below, None)
        if found is None:
            raise NotThereError("the network has no such node: it may have changed meanwhile")
        way.append(found)
    return way


def draw(top: NodeView) -> NetworkPicture:
    """Return the picture of the network from some node on."""
    return _draw(sketch_network(top), lambda sketch: True, lambda view: None, {})


def draw_change(before: NodeView, after: NodeView, recoded: bool) -> NetworkPicture:
    """Return the picture of the network after a request, with what the request touched; that is unfolded first."""
    touches, top = find_touches(before, after, recoded), sketch_network(after)
    concerned = find_concerned(top, touches)
    return _draw(top, concerned.__contains__, lambda view: touches[view.address], touches)


def _draw(top: Sketch, is_central: Centrality, likeness: Likeness, touches: Mapping[str, Touch]) -> NetworkPicture:
    root = outline(top, Limits(_MOST_ROWS, _MOST_COLUMNS), is_central, likeness)
    n_rows = sum(not box.children for box in root.walk())
    heights = place_rows(root, _MARGIN, _MARGIN + _ROW * n_rows)
    boxes = list(heights)
    operations = {box.first.view.operation for box in boxes}
    numbers = Counter(touches.values())
    return NetworkPicture(
        max(_left(box) for box in boxes) + _BOX_WIDTH + _ROOM_FOR_NAMES,
        max(heights.values()) + _ROW / 2 + _MARGIN,
        tuple(_drawn(box, heights[box], touches) for box in boxes),
        tuple(_branch(box, child, heights) for box in boxes for child in box.children),
        tuple(operation.name.lower() for operation in Operation if operation in operations),
        tuple((touch.name.lower(), numbers[touch]) for touch in Touch if numbers[touch]),
    )


def _left(box: Box) -> float:
    return _MARGIN + _COLUMN * box.depth


def _drawn(box: Box, middle: float, touches: Mapping[str, Touch]) -> DrawnBox:
    first, views = box.first, [sketch.view for sketch in box.sketches]
    names = dict.fromkeys(name for view in views for name in view.scope)
    remark = "" if box.children else ", ".join(shorten(name, 18) for name in list(names)[:2])
    more = f" +{len(names) - 2}" if len(names) > 2 and not box.children else ""
    below = count_below(box, touches) if touches and not box.children else Counter()
    return DrawnBox(
        _left(box),
        round(middle - _BOX_HEIGHT / 2, 1),
        _BOX_WIDTH,
        _BOX_HEIGHT,
        first.view.operation.name.lower(),
        _text(box),
        remark + more,
        "" if first.is_leaf else first.view.address,
        touches[first.view.address].name.lower() if touches else "",
        below.total() - below[Touch.UNTOUCHED],
    )


def _text(box: Box) -> str:
    if not box.first.is_leaf:
        return node_text(box.first)
    return LEAF if len(box.sketches) == 1 else f"{len(box.sketches)} {LEAF}"


def _branch(box: Box, child: Box, heights: Mapping[Box, float]) -> DrawnBranch:
    start, end = _left(box) + _BOX_WIDTH, _left(child)
    y0, y1, middle = heights[box], heights[child], (start + end) / 2
    weight = child.first.weight
    return DrawnBranch(
        f"M{start:.1f} {y0:.1f} C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {end:.1f} {y1:.1f}",
        round(1.2 + 5 * weight, 1) if weight is not None else 1.2,
        branch_text(child.first) if weight is not None else "",
        round(end - 6, 1),
        round(y1 - 4, 1),
    )


def unfold(view: NodeView, formats: Formats, hidden: frozenset[str]) -> Unfolded:
    """Return a node with some of those below it; of the columns that are hidden no category is shown."""
    return _unfold(view, None, _DEPTH, _MOST_AT_TOP, formats, hidden)


def _unfold(
    view: NodeView, weight: float | None, depth: int, most: int, formats: Formats, hidden: frozenset[str]
) -> Unfolded:
    children = view.children
    weights = view.weights or (None,) * len(children)
    # Those with most records come first: the others are folded.
    order = sorted(range(len(children)), key=lambda place: -children[place].n_records)[: most if depth else 0]
    return Unfolded(
        view.address,
        view.operation.name.lower(),
        view.n_records,
        weight,
        view.scope[:_MOST_NAMES],
        max(len(view.scope) - _MOST_NAMES, 0),
        len(children),
        tuple(_unfold(children[i], weights[i], depth - 1, _MOST_BELOW, formats, hidden) for i in order),
        view.distribution or "",
        () if hidden.intersection(view.scope) else _parameters(view.parameters, formats),
    )


def _parameters(parameters: Mapping[str, Any], formats: Formats) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a leaf that are numbers, and its likeliest categories."""
    shown = [(name, formats.number(value)) for name, value in parameters.items() if isinstance(value, float)]
    shares = parameters.get("probabilities")
    if isinstance(shares, Mapping) and all(isinstance(share, float) for share in shares.values()):
        likely = sorted(shares.items(), key=lambda item: -item[1])[:_MOST_PARAMETERS]
        return tuple((str(category), formats.percent(share)) for category, share in likely)
    return tuple(shown[:_MOST_PARAMETERS])
