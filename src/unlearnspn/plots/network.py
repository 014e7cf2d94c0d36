"""The network, drawn so that one can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unlearnspn.estimators.base import BaseSPN
from unlearnspn.plots.canvas import require_matplotlib
from unlearnspn.plots.outline import Sketch, sketch_network
from unlearnspn.plots.shapes import SHAPES
from unlearnspn.plots.style import BLUE, GREEN, GREY, ORANGE, PLUS, PURPLE, TIMES
from unlearnspn.plots.tree_drawing import Pencil, draw_tree
from unlearnspn.plots.tree_legend import Entry
from unlearnspn.spn.operations import Operation
from unlearnspn.spn.views import NodeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    Operation.SPLIT_DATA: BLUE,
    Operation.SPLIT_VARIABLES: GREEN,
    Operation.SPLIT_UNINFORMATIVE: ORANGE,
    Operation.NAIVE_FACTORIZATION: PURPLE,
    Operation.CREATE_LEAF: GREY,
}
_MEANINGS = {
    Operation.SPLIT_DATA: f"{PLUS} split data: a mixture",
    Operation.SPLIT_VARIABLES: f"{TIMES} split variables",
    Operation.SPLIT_UNINFORMATIVE: f"{TIMES} split uninformative variables",
    Operation.NAIVE_FACTORIZATION: f"{TIMES} naive factorization",
    Operation.CREATE_LEAF: "leaves",
}


def plot_network(spn: Any, ax: Axes | None = None, max_depth: int | None = None) -> Axes:
    """Draw the network of a model.

    The root is to the left. Each box shows how many records its node was learned from, each branch of a mixture its
    weight, each branch of a product how many variables it has. Leaves of one node share a box. What there is no room
    for is folded, nodes with few records first; the picture says how much that is.

    Parameters
    ----------
    spn : SPN, SPNClassifier or NodeView
        A fitted model, or a node of one, whose sub-network is then drawn.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure as high as the network needs, within limits.
    max_depth : int, default=None
        Nodes so many branches below the root are not unfolded; None for as deep as there is room.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from unlearnspn import SPN
    >>> spn = SPN(min_rows=50).fit(load_wine(as_frame=True).data)
    >>> ax = plot_network(spn)
    >>> ax.figure.savefig("wine.png")  # doctest: +SKIP
    """
    require_matplotlib()
    top = sketch_network(root_of(spn))
    pencil = Pencil(
        colour=lambda box: _COLOURS[box.first.view.operation],
        legend=[operation_entries(top, _COLOURS)],
    )
    return draw_tree(top, pencil, ax, max_depth)


def root_of(spn: Any) -> NodeView:
    """Return the node to draw from: the root of a model, or the node itself."""
    if isinstance(spn, NodeView):
        return spn
    if isinstance(spn, BaseSPN):
        return spn.root_
    raise TypeError(f"a network is drawn of an SPN or of a NodeView such as spn.root_, not of {type(spn).__name__}")


def operation_entries(top: Sketch, colours: Mapping[Operation, str]) -> list[Entry]:
    """Return the legend of the operations that occur in a network."""
    present = {sketch.view.operation for sketch in [top, *top.below()]}
    return [
        Entry(SHAPES[operation], colours[operation], meaning)
        for operation, meaning in _MEANINGS.items()
        if operation in present
    ]
