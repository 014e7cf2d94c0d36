"""What a request did to each node, read off the networks before and after.

A view shows the same nodes as one before, where a revision did not touch them: identity tells where it has been.
Where it learned anew instead of revising follows from the rules that it goes by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from unlearnspn.plots.outline import Box, Sketch
from unlearnspn.spn.operations import Operation
from unlearnspn.spn.unlearn_spn import LARGE_SHARE
from unlearnspn.spn.views import NodeView


class Touch(StrEnum):
    """What a request did to a node."""

    UNTOUCHED = "untouched"
    VISITED = "visited: statistics revised"
    CHANGED = "changed its operation"
    LEARNED = "learned anew"


def find_touches(before: NodeView, after: NodeView, recoded: bool | None = None) -> Mapping[str, Touch]:
    """Return what happened to each node of the network after, by address.

    `recoded` tells whether the coding of the values changed, so that everything was learned anew; None to find out.
    """
    if recoded is None:
        recoded = not after.encoding.codes_like(before.encoding)
    touches: dict[str, Touch] = {}
    pending: list[tuple[NodeView | None, NodeView]] = [(None if recoded else before, after)]
    while pending:
        old, new = pending.pop()
        if old is None:
            touches.update((view.address, Touch.LEARNED) for view in new.walk())
        elif old.node is new.node:
            touches.update((view.address, Touch.UNTOUCHED) for view in new.walk())
        elif old.operation is not new.operation:
            touches[new.address] = Touch.CHANGED
            pending.extend((None, child) for child in new.children)
        else:
            touches[new.address] = Touch.VISITED
            pending.extend((_predecessor(old, child), child) for child in new.children)
    return touches


def find_concerned(top: Sketch, touches: Mapping[str, Touch]) -> set[Sketch]:
    """Return the nodes that were touched or have one below them that was."""
    concerned: set[Sketch] = set()
    for sketch in reversed([top, *top.below()]):
        if touches[sketch.view.address] is not Touch.UNTOUCHED or not concerned.isdisjoint(sketch.children):
            concerned.add(sketch)
    return concerned


def count_below(box: Box, touches: Mapping[str, Touch]) -> Counter[Touch]:
    """Count what happened to the nodes below the one of a box."""
    return Counter(touches[sketch.view.address] for sketch in box.first.below())


def _predecessor(parent: NodeView, child: NodeView) -> NodeView | None:
    """Return the node that a child was revised from, or None if it was learned anew."""
    for known in parent.children:
        if known.address == child.address:
            anew = parent.operation is Operation.SPLIT_DATA and _learned_anew(known, child)
            return None if anew else known
    return None


def _learned_anew(before: NodeView, after: NodeView) -> bool:
    """Tell whether so many records of a cluster changed that it was not revised."""
    if before.node is after.node:
        return False
    changed = np.setxor1d(before.node.gather_rows(), after.node.gather_rows(), assume_unique=True)
    return bool(changed.size > max(LARGE_SHARE * after.n_records, 1))
