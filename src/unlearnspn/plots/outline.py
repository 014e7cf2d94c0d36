"""What of a network is drawn: every node as a box while there is room, leaves of one node in one box, the rest folded.

Nothing here knows how boxes look; `tree_layout` places them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count

from unlearnspn.spn.operations import Operation
from unlearnspn.spn.views import NodeView

#: With so many rows, nodes that a picture is not about stay folded.
ROWS_FOR_OTHERS = 24


@dataclass(eq=False)
class Sketch:
    """A node on its way into a picture."""

    view: NodeView
    depth: int
    #: The weight of the branch that leads here, if a mixture is above.
    weight: float | None = None
    children: list[Sketch] = field(default_factory=list)
    #: With all below it.
    n_nodes: int = 1

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf of the network."""
        return self.view.operation is Operation.CREATE_LEAF

    def below(self) -> Iterator[Sketch]:
        """Yield all nodes below this one."""
        pending = list(self.children)
        while pending:
            sketch = pending.pop()
            yield sketch
            pending.extend(sketch.children)


@dataclass(eq=False)
class Box:
    """One box of the picture: an inner node, or leaves of one node."""

    sketches: list[Sketch]
    children: list[Box] = field(default_factory=list)

    @property
    def first(self) -> Sketch:
        """The node, or the first of the leaves."""
        return self.sketches[0]

    @property
    def depth(self) -> int:
        """How many branches lead here from the root."""
        return self.first.depth

    @property
    def folded(self) -> int:
        """How many nodes below an inner node are not drawn."""
        return 0 if self.children else self.first.n_nodes - 1

    def walk(self) -> Iterator[Box]:
        """Yield this box and all below it, parents first, from top to bottom."""
        pending = [self]
        while pending:
            box = pending.pop()
            yield box
            pending.extend(reversed(box.children))


@dataclass(frozen=True)
class Limits:
    """How much can be drawn: rows, columns, and how deep the user wants to see."""

    rows: int
    columns: int
    depth: int | None = None

    def allow(self, box: Box, children: list[Box], n_rows: int, central: bool) -> bool:
        """Tell whether a node may be unfolded if there are so many rows then."""
        wanted = self.depth is None or box.depth < self.depth
        # Leaves in a single box stand right behind their node and need neither row nor column.
        if leaves_only(children):
            return wanted
        most_rows = self.rows if central else min(self.rows, ROWS_FOR_OTHERS)
        return wanted and box.depth + 1 < self.columns and n_rows <= most_rows


def leaves_only(children: list[Box]) -> bool:
    """Tell whether all there is below a node is one box of leaves."""
    return len(children) == 1 and children[0].first.is_leaf


#: Leaves of one node share a box if this gives the same for them.
Likeness = Callable[[NodeView], Hashable]
#: Whether a picture is about a node; the others are there for orientation.
Centrality = Callable[[Sketch], bool]


def sketch_network(root: NodeView) -> Sketch:
    """Gather the nodes of a network."""
    top = Sketch(root, 0)
    order, pending = [], [top]
    while pending:
        sketch = pending.pop()
        order.append(sketch)
        view, depth = sketch.view, sketch.depth + 1
        weights = view.weights or (None,) * len(view.children)
        sketch.children = [Sketch(child, depth, weight) for child, weight in zip(view.children, weights, strict=True)]
        pending.extend(sketch.children)
    for sketch in reversed(order):
        sketch.n_nodes += sum(child.n_nodes for child in sketch.children)
    return top


def outline(top: Sketch, limits: Limits, is_central: Centrality, likeness: Likeness) -> Box:
    """Unfold as long as there is room: first the nodes that the picture is about, then those with many records."""
    root = Box([top])
    n_rows = 1
    waiting: list[tuple[bool, int, int, Box]] = []

    arrivals = count()

    def wait(box: Box) -> None:
        heapq.heappush(waiting, (not is_central(box.first), -box.first.view.n_records, next(arrivals), box))

    wait(root)
    while waiting:
        other, *_, box = heapq.heappop(waiting)
        children = _boxes_below(box.first, likeness)
        if not children or not limits.allow(box, children, n_rows + len(children) - 1, not other):
            continue
        n_rows += len(children) - 1
        box.children = children
        for child in children:
            if not child.first.is_leaf:
                wait(child)
    return root


def _boxes_below(sketch: Sketch, likeness: Likeness) -> list[Box]:
    """Return the boxes right below a node: leaves that are alike in one, joint leaves and inner nodes on their own."""
    groups: dict[Hashable, list[Sketch]] = {}
    for number, child in enumerate(sketch.children):
        alone = not child.is_leaf or len(child.view.scope) > 1
        groups.setdefault(number if alone else ("leaves", likeness(child.view)), []).append(child)
    boxes = [Box(members) for members in groups.values()]
    return sorted(boxes, key=lambda box: not box.first.is_leaf)
