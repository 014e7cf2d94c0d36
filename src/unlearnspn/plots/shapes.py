"""The shapes that stand for the operations of LearnSPN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unlearnspn.spn.operations import Operation


@dataclass(frozen=True)
class Shape:
    """The outline of a box: how round its corners are, and its line as matplotlib has it."""

    #: In heights of the text within; 0 for right angles.
    rounding: float
    line: Any = "-"

    def style(self, height: float, padding: float) -> str:
        """Return matplotlib's name for the outline of a box around a text of this height."""
        if not self.rounding:
            return f"square,pad={padding}"
        return f"round,pad={padding},rounding_size={self.rounding * height}"


SHAPES = {
    Operation.SPLIT_DATA: Shape(0.75),
    Operation.SPLIT_VARIABLES: Shape(0.0),
    Operation.SPLIT_UNINFORMATIVE: Shape(0.0, (0, (3, 1.5))),
    Operation.NAIVE_FACTORIZATION: Shape(0.0, (0, (1, 1))),
    Operation.CREATE_LEAF: Shape(0.2),
}
