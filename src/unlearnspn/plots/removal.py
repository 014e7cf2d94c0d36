"""What a removal touched, drawn on the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unlearnspn.plots.canvas import require_matplotlib
from unlearnspn.plots.network import operation_entries, root_of
from unlearnspn.plots.outline import Box, sketch_network
from unlearnspn.plots.shapes import SHAPES
from unlearnspn.plots.style import BLUE, FADED, GREY, ORANGE, VERMILION, count
from unlearnspn.plots.touched import Touch, count_below, find_concerned, find_touches
from unlearnspn.plots.tree_drawing import Pencil, draw_tree
from unlearnspn.plots.tree_legend import Entry
from unlearnspn.spn.operations import Operation
from unlearnspn.spn.report import Report
from unlearnspn.spn.views import NodeView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {Touch.UNTOUCHED: FADED, Touch.VISITED: BLUE, Touch.CHANGED: VERMILION, Touch.LEARNED: ORANGE}
_IN_A_WORD = {Touch.CHANGED: "changed", Touch.LEARNED: "learned", Touch.VISITED: "visited"}
_CHANGES_NAMED = 3


def plot_removal(
    before: Any, after: Any, report: Report | None = None, ax: Axes | None = None, max_depth: int | None = None
) -> Axes:
    """Draw the network after a removal, an addition or a correction, and show in colours what the request touched.

    Shapes, weights and folding are as in `plot_network`, except that untouched nodes are folded first. Nodes before
    and after, at the same address, are compared just as well: so a part of a large network can be drawn.

    Parameters
    ----------
    before : NodeView
        The root of the same model before the request: keep ``spn.root_``, then make it.
    after : SPN, SPNClassifier or NodeView
        The model after the request, or its root.
    report : Report, default=None
        The report of the request, for the caption.
    ax : matplotlib Axes, default=None
        Where to draw; None for a new figure.
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
    >>> before = spn.root_
    >>> report = spn.unlearn([7])
    >>> ax = plot_removal(before, spn, report)
    >>> ax.figure.savefig("removal.png")  # doctest: +SKIP
    """
    require_matplotlib()
    if report is not None and report.dry_run:
        raise ValueError("the report is of a dry run, which changes nothing: carry the request out to see what it did")
    old, new = root_of(before), root_of(after)
    if old.node is new.node and (before is after or (report is not None and _says_change(report))):
        raise ValueError("before and after are the same network: keep before = spn.root_, then make the request")
    touches = find_touches(old, new, None if report is None else report.recoded)
    top = sketch_network(new)
    concerned = find_concerned(top, touches)

    def colour(box: Box) -> str:
        return _COLOURS[touches[box.first.view.address]]

    pencil = Pencil(
        colour=colour,
        branch=colour,
        legend=[_legend(touches), operation_entries(top, dict.fromkeys(Operation, GREY))],
        notes=[_summary(touches, report), *_changes(old, new, touches)],
        is_central=concerned.__contains__,
        likeness=lambda view: touches[view.address],
        remarks=lambda box: _remarks(box, touches),
    )
    return draw_tree(top, pencil, ax, max_depth)


def _says_change(report: Report) -> bool:
    return report.state_digest_before != report.state_digest_after


def _legend(touches: Mapping[str, Touch]) -> list[Entry]:
    numbers = Counter(touches.values())
    shape = SHAPES[Operation.CREATE_LEAF]
    return [
        Entry(shape, _COLOURS[touch], f"{touch} ({count(numbers[touch], 'node')})") for touch in Touch if numbers[touch]
    ]


def _remarks(box: Box, touches: Mapping[str, Touch]) -> list[str]:
    """Say what happened to the nodes that are folded."""
    numbers = count_below(box, touches)
    return [f"{numbers[touch]:,} {word}" for touch, word in _IN_A_WORD.items() if numbers[touch]]


def _summary(touches: Mapping[str, Touch], report: Report | None) -> str:
    """Say in one line what was asked for and how much of the network it took."""
    n_touched = sum(touch is not Touch.UNTOUCHED for touch in touches.values())
    work = f"{n_touched:,} of {count(len(touches), 'node')} touched"
    if report is None:
        return work
    requests = [(report.records_removed, "removed"), (report.records_added, "added")]
    done = ", ".join(f"{count(number, 'record')} {verb}" for number, verb in requests if number)
    return f"{done} in {report.seconds * 1e3:.1f} ms: {work}" + _why_all(report)


def _why_all(report: Report) -> str:
    return "; the coding of the values changed, so everything was learned anew" if report.recoded else ""


def _changes(before: NodeView, after: NodeView, touches: Mapping[str, Touch]) -> list[str]:
    """Say which operations changed, from what to what."""
    changed = [view for view in after.walk() if touches[view.address] is Touch.CHANGED]
    operations = {view.address: view.operation for view in before.walk()} if changed else {}
    lines = [
        f"{operations[view.address]} → {view.operation}, {count(view.n_records, 'record')}, at {view.address}"
        for view in changed[:_CHANGES_NAMED]
    ]
    more = len(changed) - _CHANGES_NAMED
    return [*lines, f"and {more:,} more changed operations"] if more > 0 else lines
